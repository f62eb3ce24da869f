"""Brackets by the order statistics of a sample, which the database picks out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np

from postri.engines.base import SLACK, Bracket
from postri.grid import Grid
from postri.window import Indexes, Target

# How many standard errors beyond the expected window's end the marks of a sample lie that are
# nearer than the bracket's ends.
MARKS = (-1.0, -0.4, 0.2, 0.8, 1.4, 2.0, 2.8)
# By how much a bracket may have to be wider than expected: filters and small groups leave fewer
# cells in a sample.
LADDER = (1.1, 1.5, 2.5, 5.0, 12.0)


@dataclass(frozen=True)
class Pick:
    """Which order statistics of a sample are asked for around a target: for each spare share of the
    rows one below and one above.
    """

    target: Target
    share: float
    spares: Sequence[float]

    @classmethod
    def of(cls, target: Target, share: float, size: float) -> Pick:
        """For groups of which the sample, this share of all rows, should hold so many cells, or a
        good deal fewer.
        """
        bare, size = cls(target, share, ()), max(size, 1.0)
        inner = {abs(bare.reach + mark * bare.error(size)) / size for mark in MARKS}
        outer = [step * bare.spare(size) for step in LADDER]
        return replace(bare, spares=[*sorted(spare for spare in inner if spare < outer[0]), *outer])

    @property
    def reach(self) -> float:
        """How many cells of the sample half a window holds."""
        return self.target.half * self.share

    def error(self, size: float) -> float:
        """The standard error of the target's rank, by a sample of so many cells."""
        p = float(self.target.p)
        return sqrt(size * p * (1 - p))

    def spare(self, size: float) -> float:
        """The share of the rows that a bracket must leave to spare on each side, by a sample of so
        many cells.
        """
        return (SLACK * self.error(size) + self.reach + 4) / size

    @property
    def shares(self) -> list[float]:
        """Below which shares of the sample the wanted cells lie: first the lower ones, then the
        upper ones, both from the target on.
        """
        p = float(self.target.p)
        return [min(max(p + side * spare, 0.0), 1.0) for side in (-1, 1) for spare in self.spares]

    def brackets(self, sizes: Indexes, found: Indexes, grid: Grid) -> list[Bracket]:
        """For groups of which the sample holds so many cells, and such ones, the narrowest brackets
        that leave enough to spare.
        """
        p, spares, number = float(self.target.p), np.array(self.spares), len(self.spares)
        needed = np.array([self.spare(size) if size else inf for size in sizes.tolist()])
        narrowest = np.maximum(np.searchsorted(spares, needed), number - len(LADDER))
        known, rows = narrowest < number, np.arange(len(sizes))
        narrowest = np.where(known, narrowest, 0)
        lows = np.where((p > spares) & known[:, None], found[:, :number], grid.first)
        highs = np.where((p + spares < 1) & known[:, None], found[:, number:], grid.last)
        lows = np.maximum(lows, lows[rows, narrowest][:, None])
        highs = np.minimum(
            highs, np.maximum(highs[rows, narrowest], lows[rows, narrowest])[:, None]
        )
        ends = zip(np.where(known, sizes, 0).tolist(), lows.tolist(), highs.tolist(), strict=True)
        return [
            Marked(low[-1], high[-1], self, size, tuple(low), tuple(high))
            for size, low, high in ends
        ]


@dataclass(frozen=True)
class Marked(Bracket):
    """A bracket with the cells of the sample inside it: at each spare share of the pick one below
    the target, and one above.

    Where the sample has too few cells of the group, their number counts as 0, and all marks are the
    ends of the grid.
    """

    pick: Pick
    size: int
    lows: tuple[int, ...]
    highs: tuple[int, ...]
