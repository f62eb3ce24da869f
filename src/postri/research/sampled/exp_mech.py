"""ExpMech of Drechsler, Globus-Harris, McMillan, Sarathy and Smith, "Nonparametric Differentially
Private Confidence Intervals for the Median" (Journal of Survey Statistics and Methodology, 2022).

Each end is an order statistic by the exponential mechanism, at a rank that lies so far below or
above the middle that sampling and the mechanism together rarely pass it. No median is released.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log

import numpy as np

from postri.grid import Grid
from postri.mechanisms.coins import SeededCoins
from postri.mechanisms.noisy_max import noisy_max
from postri.methods.published import Steps, distinct
from postri.research.sampled.sampling import SampledMedian, largest_rank, rank_chances
from postri.research.subjects import Subject
from postri.window import RankWindow

Ends = tuple[int, int]

# Of beta, what the variant that adds up two bounds leaves for the mechanism.
FOR_NOISE = Fraction(1, 5)


@dataclass(frozen=True)
class ExpMech:
    """Both ends by the exponential mechanism with half of epsilon each, against one replaced row.

    A grid point scores minus the distance of its rank from the target, where rows up to the target
    are first moved `granularity` steps down and the others up: so at least two points score 0 for
    each of these steps, unless the target lies on the lower edge. `union` adds up bounds on both
    errors in place of averaging the one over the other.
    """

    granularity: int = 1
    union: bool = False

    @property
    def name(self) -> str:
        """How tables call it."""
        if self.union:
            return "exp-mech-union"
        return "exp-mech"

    def rank(self, asked: SampledMedian, grid: Grid) -> int:
        """The rank of the lower end, from which the upper one follows; 0 if there is none."""
        points = grid.last - grid.first + 1
        ratio = points / (2 * self.granularity)
        # Half of epsilon for an end, and half of that a row.
        rate = float(asked.epsilon) / 4
        ranks, chances = rank_chances(asked.rows)
        if self.union:
            noise = float(asked.beta * FOR_NOISE)
            sampling = (float(asked.beta) - noise) / 2
            public = largest_rank(asked.rows, lambda k: chances[ranks <= k].sum(), sampling)
            return max(0, public - ceil(log(2 * ratio / noise) / rate))

        def fails(k: int) -> float:
            missed = np.minimum(1, ratio * np.exp(-rate * np.maximum(ranks - k, 0)))
            missed[ranks <= k] = 1
            return float((chances * missed).sum())

        return largest_rank(asked.rows, fails, float(asked.beta) / 2)

    def draw(self, sample: Subject, rank: int, epsilon: Fraction, coins: SeededCoins) -> Ends:
        """The interval."""
        grid = sample.grid
        if rank == 0:
            return grid.first, grid.last
        ends = []
        for target in (rank, sample.rows - rank):
            points = Near.of(sample.whole, grid, target, self.granularity)
            won = noisy_max(points, rate=epsilon / 4, noise="gumbel", coins=coins)
            ends.append(won.copy)
        low = max(min(ends) - self.granularity, grid.first)
        return low, min(max(ends) + self.granularity, grid.last)


class Near(Steps):
    """Grid points in runs, each scored by how far its rank is from a target, in rows."""

    @classmethod
    def of(cls, rows: RankWindow, grid: Grid, target: int, granularity: int) -> Near:
        """All of them. A point y has the ranks from R(y - g) to R(y + g), once rows are moved: its
        distance is that of the target from these.
        """
        moved = np.concatenate((rows.indexes - granularity, rows.indexes + granularity))
        inner = np.sort(moved[(moved > grid.first) & (moved <= grid.last)])
        starts = distinct(np.concatenate(([grid.first], inner)))
        ends = np.concatenate((starts[1:], [grid.last + 1])) - 1
        least = _upto(rows, starts - granularity)
        most = _upto(rows, starts + granularity)
        distance = np.maximum(0, np.maximum(target - most, least - target))
        return cls(starts, ends, -distance, np.ones(len(starts), dtype=bool))

    def open(self, j: int) -> Near:
        """Every run is known."""
        raise AssertionError("every run is known")


def _upto(rows: RankWindow, points: np.ndarray) -> np.ndarray:
    """How many rows lie at or below each of some points."""
    return rows.ranks[rows.indexes.searchsorted(points, side="right")]
