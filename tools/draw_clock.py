"""Draw docs/images/clock.png: E, the chance to be running and the density of a clock, on a smooth
table and on one of few values.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import postri
from postri import AddOrRemoveRows, Depth, Domain
from postri.grid import grid_of
from postri.methods.method import QuantileTerms
from postri.methods.value import Shape
from postri.privacy import split_spend
from postri.window import Target

mpl.use("Agg")
from matplotlib.ticker import MaxNLocator

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "clock.png"
ROWS, SEED = 1_000, 4
BLUE, ORANGE, GREY = "#2f6f9f", "#c8641e", "#8a8a8a"
# Inches, and points of texts that can be read where the picture is as wide as a phone.
WIDTH, HEIGHT, DPI = 6.4, 7.6, 150
HEADLINE, WORDS = 11.5, 11
TERMS = QuantileTerms(
    Fraction(1, 2), split_spend(Fraction(1), Fraction(1, 2)), Fraction(1, 20), AddOrRemoveRows(1)
)
DOMAIN = Domain(0, 200_000)


def draw(axes: Any, rows: Any, value: int, shape: Shape, title: str, words: str) -> None:
    table = postri.open(rows)
    grid = grid_of(table.type_of(None), DOMAIN)
    method = Depth()
    (windows,) = table.windows(None, grid, [Target(TERMS.p, method.half(TERMS, grid))])
    clock, _ = method.clock_step(TERMS).links(grid, value, shape).clocks(windows(0))

    numbers = np.unique(np.geomspace(1, 4_000, 1_500).astype(np.int64))
    times = clock.dial.readings(numbers)
    here = clock._levels[np.searchsorted(clock._starts, numbers, side="right") - 1]
    density = np.exp(np.minimum(np.log(float(TERMS.beta)) + here + times, 2))
    running = np.array([float(clock.running_after(int(number))) for number in numbers])
    stopping = -np.diff(running) / np.diff(times)

    axes.fill_between(
        times[1:], stopping, step="pre", color=ORANGE, alpha=0.25, lw=0, label="density of the stop"
    )
    axes.step(
        times, density, where="pre", color=ORANGE, lw=1.6, label="E: how much of beta may be used"
    )
    axes.plot(times, running, color=BLUE, lw=1.8, label="S: the chance that the clock runs on")
    crossing = int(np.argmax(4 * density[1:] * (1 - running[:-1]) >= 1))
    axes.plot(times[crossing], running[crossing], "o", color="black", ms=5)
    axes.annotate(
        words,
        (times[crossing], running[crossing]),
        (times[crossing] + 1.1, 0.82),
        arrowprops={"arrowstyle": "-", "color": GREY},
    )
    axes.set_title(title, fontsize=HEADLINE, loc="left")
    axes.set_ylim(0, 2.1)
    # Room for the legend on the left of E, and for the words on its right.
    axes.set_xlim(times[crossing] - 13, times[crossing] + 9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("time y; a link of offset b is passed at 5 ln(1 + b)")
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    from matplotlib import pyplot

    smooth = np.random.default_rng(SEED).normal(50_000, 12_000, ROWS).astype(np.int64)
    few = np.repeat([100, 162, 180, 350], [300, 202, 300, 198])
    pyplot.rcParams["font.size"] = WORDS
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(WIDTH, HEIGHT), dpi=DPI)
    draw(
        above,
        smooth,
        int(np.median(smooth)),
        "even",
        "1,000 smooth rows",
        "the crossing: from here on\nthe clock runs out, at rate 1",
    )
    draw(
        below,
        few,
        162,
        "right",
        "four values: 162 holds the median by two rows, 180 by 302",
        "E jumps where the interval\nreaches 180: most runs stop",
    )
    above.legend(frameon=False, loc="upper left")
    figure.tight_layout()
    figure.savefig(PICTURE)
    print(PICTURE)


if __name__ == "__main__":
    main()
