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
from postri.mechanisms.logs import boost, log_above
from postri.mechanisms.noisy_max import BOOST_BITS, Noise
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
        reach = np.array(self.offsets(grid), dtype=object)
        left = reach // self.lean if shape == "right" else reach
        right = reach // self.lean if shape == "left" else reach
        lows, highs = np.maximum(index - left, grid.first), np.minimum(index + right, grid.last)
        number = 1 + int(np.flatnonzero((lows == grid.first) & (highs == grid.last))[0])
        return Links(
            self,
            windows,
            grid,
            0,
            lows[:number].astype(np.int64),
            highs[:number].astype(np.int64),
            np.arange(number),
        )

    def scores(self, before: Scores, own: Scores) -> Scores:
        """How good each link is, from the depth of the link before it and its own."""
        short, long = self.threshold - own, before - self.threshold
        scores: Scores = -np.maximum(np.maximum(short, long), 0)
        return scores


@lru_cache(maxsize=64)
def _offsets(furthest: int, growth: Fraction) -> tuple[int, ...]:
    reach = [0]
    while reach[-1] < furthest:
        reach.append(max(reach[-1] + 1, ceil(reach[-1] * growth)))
    return tuple(reach)


@lru_cache(maxsize=64)
def _boosts(weight: int, links: int) -> tuple[int, ...]:
    ratio = 1 + Fraction(1, weight)
    return (boost(Fraction(weight)), *(boost(ratio ** (i - 1)) for i in range(1, links)))


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
        inner = self.highs < self.grid.last
        most_left, least_left = (
            self._beyond(ranks) for ranks in self._window.ranks_before(self.lows)
        )
        least_right, most_right = (
            self._beyond(ranks) for ranks in self._window.ranks_before(self.highs + inner)
        )
        return self._depth(-least_left, least_right), self._depth(-most_left, most_right)

    def _beyond(self, ranks: Indexes) -> Scores:
        return over_target(ranks, self._window.n, self.chain.p, self.chain.threshold)

    def _depth(self, left: Scores, right: Scores) -> Scores:
        """The depth, infinite to a side where the link reaches the edge of the grid: a public fact."""
        left[self.lows == self.grid.first] = right[self.highs == self.grid.last] = self._infinite
        depth: Scores = np.minimum(left, right)
        return depth

    @cached_property
    def _bounds(self) -> tuple[Scores, Scores]:
        """The least and the largest score that each link can have."""
        least, most = self._depths
        start = np.array([-self._infinite], dtype=most.dtype)
        least_before, most_before = (
            np.concatenate((start, depths[:-1])) for depths in (least, most)
        )
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
