"""The chain: nested intervals around the drawn value, of which one noisy max picks the first that
is deep enough.

With g_i the depth of the i-th interval, it scores by how far the threshold T lies from the segment
[g_(i-1), g_i]. Later links carry a growing public bonus, which keeps T free of the number of links:
the weights before any link add up to `weight` times its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from postri.grid import Grid
from postri.mechanisms.noisy_max import BOOST_BITS, Noise, boost, log_above
from postri.methods.scores import Scores, Step, infinite, over_target, units_per_row
from postri.methods.value import Shape
from postri.window import Indexes, RankWindow, Windows


@dataclass(frozen=True)
class Chain(Step):
    """The public numbers of the draw."""

    beta: Fraction
    noise: Noise
    growth: Fraction
    weight: int
    lean: int

    @cached_property
    def log_odds(self) -> Fraction:
        """How many noise scales deeper than 1 row the threshold lies, so that all bad links
        together win with beta at most.
        """
        odds = Fraction(self.weight) / (2 * self.beta)
        if self.noise == "gumbel":
            odds = self.weight * (1 - self.beta) / self.beta
        # Each bonus is rounded by less than 2^-BOOST_BITS, so a ratio of two weights is off by less
        # than twice that.
        return max(Fraction(0), log_above(odds) + Fraction(2, 1 << BOOST_BITS))

    @cached_property
    def threshold(self) -> int:
        """T, rounded up to a whole number of units."""
        return ceil(units_per_row(self.p) * (1 + self.scale * self.log_odds))

    def boosts(self, links: int) -> NDArray[np.int64]:
        """ln(w_i), with w_0 = r and w_i = (1 + 1/r)^(i-1)."""
        return np.array(_boosts(self.weight, links), dtype=np.int64)

    def offsets(self, grid: Grid) -> tuple[int, ...]:
        """How far the links reach: 0, then whole steps that grow geometrically, until every shape
        covers the grid.
        """
        return _offsets(self.lean * (grid.last - grid.first), self.growth)

    def links(self, windows: Windows, grid: Grid, index: int, shape: Shape) -> Links:
        """The chain around a value, as the first window shows it."""
        # Offsets may leave int64 on the largest grids; Python's integers do not.
        reach = np.array(self.offsets(grid), dtype=object)
        left = right = reach
        if shape == "right":
            left = reach // self.lean
        elif shape == "left":
            right = reach // self.lean
        lows = np.maximum(index - left, grid.first)
        highs = np.minimum(index + right, grid.last)
        # The first link that is the whole grid is the last one.
        whole = (lows == grid.first) & (highs == grid.last)
        number = 1 + int(np.flatnonzero(whole)[0])
        return Links(
            chain=self,
            windows=windows,
            grid=grid,
            level=0,
            lows=lows[:number].astype(np.int64),
            highs=highs[:number].astype(np.int64),
            chosen=np.arange(number),
        )

    def scores(self, before: Scores, own: Scores) -> Scores:
        """How good each link is, from the depth of the link before it and its own."""
        # How far T lies outside the segment between the two depths.
        short = self.threshold - own
        long = before - self.threshold
        scores: Scores = -np.maximum(np.maximum(short, long), 0)
        return scores


@lru_cache(maxsize=64)
def _offsets(furthest: int, growth: Fraction) -> tuple[int, ...]:
    reach = [0]
    # Steps of one until growth makes more of them.
    while reach[-1] < furthest:
        reach.append(max(reach[-1] + 1, ceil(reach[-1] * growth)))
    return tuple(reach)


@lru_cache(maxsize=64)
def _boosts(weight: int, links: int) -> tuple[int, ...]:
    ratio = 1 + Fraction(1, weight)
    first = boost(Fraction(weight))
    later = [boost(ratio ** (i - 1)) for i in range(1, links)]
    return (first, *later)


@dataclass(frozen=True, eq=False)
class Links:
    """The links of one chain (`chosen` of them), as a window shows them; each is a run of one
    candidate.
    """

    chain: Chain
    windows: Windows
    grid: Grid
    level: int
    lows: Indexes
    highs: Indexes
    chosen: Indexes

    @cached_property
    def _window(self) -> RankWindow:
        return self.windows(self.level)

    @property
    def _infinite(self) -> int:
        return infinite(self._window.n, self.chain.p, self.chain.threshold)

    @cached_property
    def _depths(self) -> tuple[Scores, Scores]:
        """The least and the largest depth that each link can have; they agree where the window
        shows both ends.
        """
        # Rows up to the last grid point are all rows: no index after it is asked for.
        inner = self.highs < self.grid.last
        fewest_before, most_before = self._window.ranks_before(self.lows)
        fewest_upto, most_upto = self._window.ranks_before(self.highs + inner)
        least = self._depth(-self._beyond(most_before), self._beyond(fewest_upto))
        most = self._depth(-self._beyond(fewest_before), self._beyond(most_upto))
        return least, most

    def _beyond(self, ranks: Indexes) -> Scores:
        return over_target(ranks, self._window.n, self.chain.p, self.chain.threshold)

    def _depth(self, left: Scores, right: Scores) -> Scores:
        """The depth; a side on which the link reaches the edge of the grid, a public fact, is
        infinitely deep.
        """
        left[self.lows == self.grid.first] = self._infinite
        right[self.highs == self.grid.last] = self._infinite
        depth: Scores = np.minimum(left, right)
        return depth

    @cached_property
    def _bounds(self) -> tuple[Scores, Scores]:
        """The least and the largest score that each link can have."""
        least, most = self._depths
        start = np.array([-self._infinite], dtype=most.dtype)
        least_before = np.concatenate((start, least[:-1]))
        most_before = np.concatenate((start, most[:-1]))
        return self.chain.scores(most_before, least), self.chain.scores(least_before, most)

    @cached_property
    def scores(self) -> Scores:
        """The largest score that each chosen link can have."""
        return self._bounds[1][self.chosen]

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether that is its score."""
        least, most = self._bounds
        known: NDArray[np.bool_] = (least == most)[self.chosen].astype(bool)
        return known

    @cached_property
    def boosts(self) -> NDArray[np.int64]:
        """The growing bonus."""
        return self.chain.boosts(len(self.lows))[self.chosen]

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """One candidate each: the bonus is a score, not a number of copies."""
        return np.ones(len(self.chosen))

    def span(self, j: int) -> tuple[int, int]:
        """The one copy of a link."""
        return int(self.chosen[j]), int(self.chosen[j]) + 1

    def open(self, j: int) -> Links:
        """One link as the next window shows it."""
        return replace(self, level=self.level + 1, chosen=self.chosen[j : j + 1])

    def ends(self, j: int) -> tuple[int, int]:
        """The interval of a chosen link."""
        link = self.chosen[j]
        return int(self.lows[link]), int(self.highs[link])
