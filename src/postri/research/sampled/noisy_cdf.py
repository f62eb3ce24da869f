"""CDFPostProcess and BinSearch of Drechsler and others (2022): intervals from noisy counts.

CDFPostProcess releases a binary tree of noisy counts, makes them consistent as Honaker (2015) does,
and reads the ends off the noisy distribution function. BinSearch spends its noise on the counts
along two searches alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, sqrt
from statistics import NormalDist

import numpy as np

from postri.cost import rho_of
from postri.grid import Grid
from postri.mechanisms.coins import Draw, SeededCoins, Wanted
from postri.mechanisms.gaussian import gaussian_numbers
from postri.mechanisms.laplace import discrete_laplace, discrete_laplaces
from postri.noise import DiscreteGaussian, DiscreteLaplace
from postri.research.sampled.exp_mech import FOR_NOISE, Ends
from postri.research.sampled.sampling import (
    Numbers,
    SampledMedian,
    largest_rank,
    rank_chances,
)
from postri.research.subjects import Subject
from postri.window import Indexes


@dataclass(frozen=True)
class NoisyCdf:
    """A tree of noisy counts whose root, the number of rows, is public.

    Each level has an even part of the budget. With Laplace noise it is epsilon-DP against one
    replaced row, with Gaussian noise epsilon^2/2-zCDP, which is the weaker promise and that of the
    paper. The tail of a sum of noises is taken for normal, which is to its favour.
    """

    gaussian: bool = False

    @property
    def name(self) -> str:
        """How tables call it."""
        if self.gaussian:
            return "noisy-cdf-gaussian"
        return "noisy-cdf"

    def prepared(self, asked: SampledMedian, grid: Grid) -> PreparedCdf:
        """What is public of the draw."""
        levels = max(1, (grid.last - grid.first + 1).bit_length() - 1)
        # A replaced row moves two counts of each level by 1.
        noise: DiscreteGaussian | DiscreteLaplace
        if self.gaussian:
            noise = DiscreteGaussian(levels / rho_of(asked.epsilon))
            variance = float(noise.variance)
        else:
            noise = DiscreteLaplace(2 * levels / asked.epsilon)
            variance = 2 * float(noise.scale) ** 2
        return PreparedCdf(asked, grid, levels, noise, variance)


@dataclass(frozen=True, eq=False)
class PreparedCdf:
    """The tree of one grid: `levels` levels of noisy counts, each of this variance."""

    asked: SampledMedian
    grid: Grid
    levels: int
    noise: DiscreteGaussian | DiscreteLaplace
    variance: float

    @cached_property
    def edges(self) -> Indexes:
        """The first grid point of each leaf, and the one after the last."""
        points = self.grid.last - self.grid.first + 1
        places: Indexes = (np.arange(2**self.levels + 1) * points) // 2**self.levels
        return places + self.grid.first

    @cached_property
    def _from_below(self) -> list[float]:
        """The variance of a count by itself and by what lies below it, from the leaves up."""
        found = [self.variance]
        for _ in range(1, self.levels):
            found.append(1 / (1 / self.variance + 1 / (2 * found[-1])))
        return found

    @cached_property
    def variances(self) -> Numbers:
        """That of the estimated number of rows up to the end of each leaf.

        Two children share what their sum is off evenly, and the rest is their difference, which is
        independent of it: `share` is how much of a node's own error the rows up to a point have.
        """
        share, rest = np.ones(1), np.zeros(1)
        for each in self._from_below:
            difference = 2 * each
            rest = np.concatenate(
                (rest + (share / 2) ** 2 * difference, rest + ((1 - share) / 2) ** 2 * difference)
            )
            share = np.concatenate((share / 2, (1 + share) / 2))
        return rest

    @cached_property
    def reaches(self) -> Numbers:
        """How far each of these may be off the middle, by noise and by sampling."""
        deviate = NormalDist().inv_cdf(1 - float(self.asked.beta) / 2)
        found: Numbers = deviate * np.sqrt(self.variances + self.asked.rows / 4)
        return found

    def draw(self, sample: Subject, coins: SeededCoins) -> Ends:
        """The interval: from the last leaf that surely begins before the median to the first that
        surely ends after it.
        """
        upto = self.estimates(sample, coins).cumsum()
        middle = self.asked.rows / 2
        high_enough = np.flatnonzero(upto >= middle - self.reaches)
        low_enough = np.flatnonzero(upto <= middle + self.reaches)
        first, last = 0, len(upto) - 1
        if len(high_enough):
            first = int(high_enough[0])
        if len(low_enough):
            last = min(int(low_enough[-1]) + 1, last)
        return int(self.edges[first]), int(self.edges[last + 1]) - 1

    def estimates(self, sample: Subject, coins: SeededCoins) -> Numbers:
        """The number of rows in each leaf, made consistent."""
        counts = np.diff(sample.ranks_below(self.edges)).astype(np.float64)
        noisy = []
        draw = coins.draw()
        for level in range(self.levels):
            noisy.append(counts + self._noises(len(counts), draw, level))
            counts = counts.reshape(-1, 2).sum(axis=1)
        weighed = [noisy[0]]
        for level in range(1, self.levels):
            below = weighed[-1].reshape(-1, 2).sum(axis=1)
            of_below = 2 * self._from_below[level - 1]
            weight = of_below / (of_below + self.variance)
            weighed.append(weight * noisy[level] + (1 - weight) * below)
        totals = np.array([float(sample.rows)])
        for estimated in reversed(weighed):
            pairs = estimated.reshape(-1, 2)
            off = (totals - pairs.sum(axis=1)) / 2
            totals = (pairs + off[:, None]).reshape(-1)
        return totals

    def _noises(self, number: int, draw: Draw, level: int) -> Sequence[int]:
        wanted = Wanted(draw, ("noisy-cdf", level), number)
        if isinstance(self.noise, DiscreteGaussian):
            return gaussian_numbers([self.noise], [wanted])
        return discrete_laplaces([self.noise], [wanted])


@dataclass(frozen=True)
class BinSearch:
    """Two searches by halves, for a rank below the middle and one above it, with a noisy count at
    each step; counts that both ask for are asked once.

    A part of beta is for all noises at once, the rest for sampling.
    """

    @property
    def name(self) -> str:
        """How tables call it."""
        return "bin-search"

    def draw(self, sample: Subject, asked: SampledMedian, coins: SeededCoins) -> Ends:
        """The interval."""
        grid = sample.grid
        steps = max(1, (grid.last - grid.first).bit_length())
        noise = DiscreteLaplace(2 * steps / asked.epsilon)
        failing = float(asked.beta * FOR_NOISE) / (2 * steps)
        off = float(noise.scale) * log(1 / (2 * failing))
        ranks, chances = rank_chances(asked.rows)
        sampling = float(asked.beta * (1 - FOR_NOISE)) / 2
        rank = largest_rank(asked.rows, lambda k: chances[ranks <= k].sum(), sampling)
        known: dict[int, float] = {}
        for target in (rank - off, asked.rows - rank + off):
            first, last = grid.first, grid.last
            while first < last:
                middle = (first + last) // 2
                if middle not in known:
                    upto = int(sample.ranks_below(np.array([middle + 1]))[0])
                    known[middle] = upto + discrete_laplace(noise, coins)
                if known[middle] < target:
                    first = middle + 1
                else:
                    last = middle
        low = [point for point, upto in known.items() if upto + off < rank]
        high = [point for point, upto in known.items() if upto - off > asked.rows - rank]
        return max(low, default=grid.first), min(high, default=grid.last)


def normal_reach(rows: int, beta: Fraction) -> float:
    """How far the rank of the median of a sample is off, without any privacy.

    >>> round(normal_reach(10_000, Fraction(1, 20)), 1)
    98.0
    """
    return NormalDist().inv_cdf(1 - float(beta) / 2) * sqrt(rows) / 2
