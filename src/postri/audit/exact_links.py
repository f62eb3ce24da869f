"""The exact chance of every link of the clock that ships, on a table that is shown whole."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from flint import arb

from postri.audit.exact_chances import ChanceBounds, bounds_of, precisely
from postri.audit.tiny_tables import Rows, whole_window
from postri.grid import Grid
from postri.mechanisms.clock import Clock
from postri.methods.depth import Depth
from postri.methods.links import Links
from postri.methods.method import QuantileTerms
from postri.methods.value import Shape

Ends = tuple[int, int]


def shipped_links(
    method: Depth, terms: QuantileTerms, grid: Grid, index: int, shape: Shape
) -> Links:
    """The links around a place."""
    return method.clock_step(terms).links(grid, index, shape)


def clock_ends(links: Links) -> list[Ends]:
    """The intervals of the links: public."""
    (clock, _) = links.clocks(whole_window(()))
    return [links.ends(k) for k in range(clock.last + 1)]


# By all that the chances follow from, as long as nobody changes the clock.
kept: dict[object, ChanceBounds] = {}


def clock_bounds(links: Links, rows: Rows) -> ChanceBounds:
    """ChanceBounds on the chances of the links on a table, by the clock that ships."""
    (clock, _) = links.clocks(whole_window(rows))
    sides = ((side.starts.tobytes(), side.depths.tobytes(), side.end) for side in clock.sides)
    key = (clock.dial, clock.odds, clock.rate, *sides)
    if key not in kept:
        kept[key] = bounds_of(shipped_chances(clock))
    return kept[key]


def shipped_chances(clock: Clock) -> list[arb]:
    """The chance of each link: to be running before it, and no more after it."""
    with precisely():
        running = [arb(1), *(clock.running_after(k) for k in range(clock.last)), arb(0)]
        return [before - after for before, after in pairwise(running)]


def stacked(each: list[ChanceBounds]) -> ChanceBounds:
    """The bounds of several tables, one below the other."""
    names = ("log_low", "log_high", "high")
    return ChanceBounds(*(np.stack([getattr(one, name) for one in each]) for name in names))
