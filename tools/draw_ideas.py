"""Draw the pictures of the theory's first ideas: docs/images/depth.png, noisy-max.png and tree.png.

The rows are made up and the noise is seeded: a picture shows an idea, and no result.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import MaxNLocator

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
BLUE, ORANGE, GREY = "#2f6f9f", "#c8641e", "#8a8a8a"
VALUES = np.array([3, 4, 4, 6, 7, 9, 9, 9, 11, 12, 14, 15, 15, 18, 20, 21, 23, 26, 27, 30])
TARGET = len(VALUES) / 2
POINTS = np.arange(1, 33)
LOW, HIGH = 9, 18
SEED = 4
# Inches, and points of texts that can be read where the picture is as wide as a phone.
WIDTH, HEIGHT, DPI = 6.4, 4.2, 150
HEADLINE, WORDS = 11.5, 11
# A node of the tree, and one that is added up.
LIGHT = {False: "#e8eef3", True: "#f0b48a"}


def below(points: Any) -> Any:
    """How many rows lie below each point."""
    return np.searchsorted(VALUES, points, side="left")


def up_to(points: Any) -> Any:
    """How many rows lie at each point or below it."""
    return np.searchsorted(VALUES, points, side="right")


def plain_axes(axes: Any, across: str, up: str) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def draw_depth(axes: Any) -> None:
    """The counts as a staircase, and by how many rows an interval holds the median."""
    axes.step(POINTS, up_to(POINTS), where="post", color=BLUE, lw=1.8, label="#{x ≤ y}")
    axes.axhline(TARGET, color=GREY, ls="--", lw=1)
    axes.text(31, TARGET + 0.3, "target rank t = n/2", ha="right", color=GREY)
    axes.axvspan(LOW, HIGH, color=ORANGE, alpha=0.15, lw=0)
    left = TARGET - below(LOW)
    right = up_to(HIGH) - TARGET
    arrow = {"arrowstyle": "<->", "color": ORANGE, "lw": 1.6}
    for place, count in ((LOW, below(LOW)), (HIGH, up_to(HIGH))):
        axes.annotate("", (place, TARGET), (place, count), arrowprops=arrow)
    words = {"va": "center", "color": ORANGE}
    to_left = f"L = t - #{{x < {LOW}}}\n= {left:g} rows"
    to_right = f"R = #{{x ≤ {HIGH}}} - t = {right:g} rows"
    axes.text(LOW - 0.5, TARGET - left / 2, to_left, ha="right", **words)
    axes.text(HIGH + 0.5, TARGET + right / 2, to_right, ha="left", **words)
    title = f"The depth of [{LOW}, {HIGH}] is the lesser of both: {min(left, right):g} rows"
    axes.set_title(title, loc="left", fontsize=HEADLINE)
    plain_axes(axes, "points of the grid", "rows")


def draw_noisy_max(axes: Any) -> None:
    """Every point's depth, the noise on it, and the point that wins."""
    scores = np.minimum(TARGET - below(POINTS), up_to(POINTS) - TARGET)
    noisy = scores + np.random.default_rng(SEED).exponential(2, len(POINTS))
    winner = int(np.argmax(noisy))
    axes.vlines(POINTS, scores, noisy, color=ORANGE, lw=2, alpha=0.5, label="noise")
    axes.plot(POINTS, scores, "o", color=BLUE, ms=4, label="depth of [y, y]: the score")
    axes.plot(POINTS, noisy, "_", color=ORANGE, ms=9, label="score + noise")
    axes.plot(POINTS[winner], noisy[winner], "o", mfc="none", mec="black", ms=12)
    axes.annotate(
        f"the largest: the value is {POINTS[winner]}",
        (POINTS[winner], noisy[winner]),
        (POINTS[winner] + 3, noisy[winner] - 1.5),
        arrowprops={"arrowstyle": "-", "color": GREY},
        va="center",
    )
    axes.set_title(
        "One row moves each score by half a row at most:\nnoise of a few rows hides it",
        loc="left",
        fontsize=HEADLINE,
    )
    axes.legend(frameon=False, loc="lower center")
    plain_axes(axes, "points of the grid", "rows")


def draw_tree(axes: Any) -> None:
    """A tree of noisy counts, and the nodes of which the rows below a point are the sum."""
    levels, last = 4, 16
    noise = np.random.default_rng(SEED)
    point = 11
    places = (VALUES - 1) // 2
    for level in range(levels + 1):
        width = last >> level
        for place in range(0, last, width):
            count = int(((places >= place) & (places < place + width)).sum())
            inside = place + width <= point and (place // (2 * width) + 1) * 2 * width > point
            colour = LIGHT[inside]
            box = pyplot.Rectangle(
                (place + 0.06, -level - 0.4), width - 0.12, 0.8, fc=colour, ec=BLUE, lw=0.8
            )
            axes.add_patch(box)
            noisy = count + round(noise.laplace(0, 1))
            # The line of the point passes below the numbers.
            around = {"fc": colour, "ec": "none", "pad": 1.5}
            axes.text(place + width / 2, -level, noisy, ha="center", va="center", bbox=around)
    axes.axvline(point, color="black", lw=1, zorder=2)
    axes.text(point + 0.15, 0.62, "a point of the grid")
    axes.set_xlim(0, last)
    axes.set_ylim(-levels - 0.6, 0.9)
    axes.axis("off")
    axes.set_title(
        "The rows below any point are the sum of few noisy counts:\none or none of each level",
        loc="left",
        fontsize=HEADLINE,
    )


def main() -> None:
    pyplot.rcParams["font.size"] = WORDS
    pictures = {"depth": draw_depth, "noisy-max": draw_noisy_max, "tree": draw_tree}
    for name, draw in pictures.items():
        figure, axes = pyplot.subplots(figsize=(WIDTH, HEIGHT), dpi=DPI)
        draw(axes)
        figure.tight_layout()
        figure.savefig(IMAGES / f"{name}.png")
        pyplot.close(figure)
        print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
