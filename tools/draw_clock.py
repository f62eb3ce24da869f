"""Draw docs/images/clock.png: E, S and the density of a clock on a smooth table."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import numpy as np

import postri
from postri import AddOrRemoveRows, Depth, Domain
from postri.grid import grid_of
from postri.methods.method import QuantileTerms
from postri.privacy import split_spend
from postri.window import Target

mpl.use("Agg")

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "clock.png"
ROWS, SEED = 1_000, 4
BLUE, ORANGE, GREY = "#2f6f9f", "#c8641e", "#8a8a8a"


def main() -> None:
    from matplotlib import pyplot

    rows = np.random.default_rng(SEED).normal(50_000, 12_000, ROWS).astype(np.int64)
    domain = Domain(0, 200_000)
    table = postri.open(rows)
    grid = grid_of(table.type_of(None), domain)
    terms = QuantileTerms(
        Fraction(1, 2),
        split_spend(Fraction(1), Fraction(1, 2)),
        Fraction(1, 20),
        AddOrRemoveRows(1),
    )
    method = Depth()
    (windows,) = table.windows(None, grid, [Target(terms.p, method.half(terms, grid))])
    links = method.clock_step(terms).links(grid, int(np.median(rows)), "even")
    clock, _ = links.clocks(windows(0))

    numbers = np.unique(np.geomspace(1, 4_000, 1_500).astype(np.int64))
    times = clock.dial.readings(numbers)
    starts, levels = clock._levels
    here = levels[np.searchsorted(starts, numbers, side="right") - 1]
    heights = np.log(float(terms.beta)) + here + times
    density = np.exp(np.minimum(heights, 1))
    running = np.array([float(clock.running_after(int(number))) for number in numbers])

    figure, axes = pyplot.subplots(figsize=(8, 4.2), dpi=120)
    axes.fill_between(
        times, np.minimum(density, running), color=ORANGE, alpha=0.25, lw=0, label="density of Y"
    )
    axes.plot(times, density, color=ORANGE, lw=1.6, label="E: how much of beta may be used")
    axes.plot(times, running, color=BLUE, lw=1.8, label="S: the chance that the clock runs on")
    crossing = int(np.argmax(density >= running))
    axes.plot(times[crossing], running[crossing], "o", color="black", ms=5)
    axes.annotate(
        "they meet: from here on\nthe clock runs out at rate 1",
        (times[crossing], running[crossing]),
        (times[crossing] + 1.2, 0.62),
        arrowprops={"arrowstyle": "-", "color": GREY},
    )
    axes.set_ylim(0, 1.25)
    axes.set_xlim(times[crossing] - 14, times[crossing] + 8)
    axes.set_xlabel("time y; a link of offset b is passed at 5 ln(1 + b)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center left")
    figure.tight_layout()
    figure.savefig(PICTURE)
    print(PICTURE)


if __name__ == "__main__":
    main()
