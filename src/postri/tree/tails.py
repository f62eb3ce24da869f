"""How far a fixed combination of independent noises reaches, as bounds that hold.

What is estimated from a tree is the truth plus a sum of noises with public weights. A test needs
to know whether such a sum passes a number with a small probability at most. Two bounds answer, both
from above: Chernoff's, which is quick and a little wide, and one by the characteristic function,
which is exact but for a known remainder (Theorem 24).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import erf, exp, inf, isinf, log, pi, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from postri.noise import Noise

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# What floats and the terms that are left out may have lost: it is added to every chance.
LOST = 1e-9
# Normal noise of this share of the sum's deviation smooths it, so that few frequencies tell its
# law. The sum is moved by SHIFT times as much, for which the bound pays next to nothing.
SMOOTHING = 0.02
SHIFT = 2.0
# The sum is looked at on a circle: half of it is this many deviations long. Numbers up to half of
# that are told well, beyond them the other tail comes around the circle.
HALF_CIRCLE = 16
# Beyond this many times 1/smoothing no frequency matters, and often none beyond one of these many
# times 1/deviation.
LAST_FREQUENCY = 6.7
LAST_DEVIATIONS = (8, 16, 32, 64, 128)
# The tilts that Chernoff's bound tries, as shares of the largest possible and in deviations.
TILT_SHARES = np.linspace(0.1, 0.99, 16)
TILT_DEVIATIONS = np.linspace(1.0, 8.0, 24)
# Those tried where many sums are told at once: shares of the tilt that is best for normal noise, up
# to shares of the largest possible.
FEW_TILTS = ((0.8, 0.7), (0.9, 0.85), (1.0, 0.95))


@dataclass(frozen=True)
class NoiseSum:
    """A sum of independent noises of one kind, with these mean squares, each times its weight.

    Its law is symmetric, for that of every noise is.
    """

    kind: type[Noise]
    squares: Floats
    weights: Floats

    @cached_property
    def deviation(self) -> float:
        """Its standard deviation."""
        return sqrt(float(self.squares @ self.weights**2))

    def passes_seldom(self, number: float, chance: float) -> bool:
        """Whether it is certain that the sum is this number or more with no more than this chance.

        False where no bound tells, which a test takes as "it may be".
        """
        if number <= 0 or chance <= 0:
            return False
        if self.deviation == 0:
            return True
        if number < _normal_reach(2 * chance) * self.deviation:
            # Sums of noise hardly ever reach less far than normal noise.
            return False
        if self.chernoff(number) <= log(chance):
            return True
        return self.upper_tail(number) <= chance

    def reach(self, chance: float) -> float:
        """A number that the sum passes with no more than this chance, to one side."""
        if self.deviation == 0:
            return 0.0
        low, high = 0.0, self._chernoff_reach(chance)
        for _ in range(STEPS):
            middle = (low + high) / 2
            if self.passes_seldom(middle, chance):
                high = middle
            else:
                low = middle
        return high

    def upper_tail(self, number: float) -> float:
        """At least the chance that the sum is this number or more."""
        smooth = SMOOTHING * self.deviation
        frequencies, heights, left_out = self._waves
        moved = number - SHIFT * smooth
        waves = float(heights @ np.sin(frequencies * moved))
        around = 0.5 - waves + left_out
        beyond = exp(self.chernoff(moved + HALF_CIRCLE * self.deviation, smooth))
        # The normal noise stays below the shift with this chance, whatever the sum is.
        stays = 0.5 * (1 + erf(SHIFT / sqrt(2)))
        return (max(around, 0.0) + beyond + LOST) / stays

    @cached_property
    def _waves(self) -> tuple[Floats, Floats, float]:
        """The frequencies of the circle that matter, how high the wave of each is, and how high
        those that are left out are together at most.
        """
        smooth = SMOOTHING * self.deviation
        step = pi / (HALF_CIRCLE * self.deviation)
        number = int(LAST_FREQUENCY / (smooth * step)) + 1
        # A half circle is a sum of the odd waves alone.
        odd = np.arange(1, number + 1, 2, dtype=np.float64)
        frequencies = odd * step
        heights = np.exp(-((smooth * frequencies) ** 2) / 2) * 2 / (pi * odd)
        some = self.weights != 0
        weights, squares = np.abs(self.weights[some]), self.squares[some]
        kept, left_out = self._few_waves(frequencies, heights, weights, squares)
        frequencies = frequencies[:kept]
        each = self.kind.characteristic(frequencies[:, None] * weights, squares)
        return frequencies, heights[:kept] * np.prod(each, axis=1), left_out

    def _few_waves(
        self, frequencies: Floats, heights: Floats, weights: Floats, squares: Floats
    ) -> tuple[int, float]:
        """How many of the first waves matter, and how high the others are together at most.

        The wave of a noise falls up to half a turn: from one frequency on, none is higher than
        there.
        """
        falls = weights * frequencies[-1] <= pi
        for last in LAST_DEVIATIONS:
            kept = int(frequencies.searchsorted(last / self.deviation))
            if kept >= len(frequencies):
                break
            at_most = self.kind.characteristic(frequencies[kept] * weights[falls], squares[falls])
            left_out = float(np.prod(at_most) * heights[kept:].sum())
            if left_out <= LOST:
                return kept, left_out
        return len(frequencies), 0.0

    def chernoff(self, number: float, smooth: float = 0.0) -> float:
        """At least the logarithm of the chance that the sum, with normal noise of this deviation on
        it, is this number or more.
        """
        moments = self._moments + (smooth * self._tilts) ** 2 / 2
        return min(float(np.min(moments - self._tilts * number)), 0.0)

    def _chernoff_reach(self, chance: float) -> float:
        """From where on Chernoff's bound is no more than this chance."""
        least = np.min((self._moments - log(chance)) / self._tilts)
        return float(least) * (1 + ROUNDING)

    def tilted_together(
        self, number: float, other: NoiseSum, other_number: float, chance: float
    ) -> bool:
        """Whether Chernoff's bound by one tilt tells that this sum passes a number, and another sum
        of the same noises another one, with no more than this chance each.

        For one tilt the logarithm of the bound is a convex function of weights and number: so the
        same holds for all sums and numbers between the two.
        """
        if number <= 0 or other_number <= 0:
            return False
        if self.deviation == 0 or other.deviation == 0:
            return self.deviation == other.deviation
        tilts = np.concatenate((self._tilts, other._tilts))
        tilts = tilts[tilts < TILT_SHARES[-1] * min(self._most_tilt, other._most_tilt)]
        bounds = self._log_bounds(tilts, number), other._log_bounds(tilts, other_number)
        return bool(np.any(np.maximum(*bounds) <= log(chance)))

    def _log_bounds(self, tilts: Floats, number: float) -> Floats:
        moments = self.kind.log_moments(np.outer(tilts, self.weights), self.squares).sum(axis=1)
        return np.asarray(moments - tilts * number)

    @cached_property
    def _most_tilt(self) -> float:
        """From where on some moment is infinite."""
        some = self.weights != 0
        most = self.kind.largest_tilts(self.squares[some]) / np.abs(self.weights[some])
        return float(np.min(most))

    @cached_property
    def _tilts(self) -> Floats:
        """Any tilt gives a bound; some of these come close to the best one."""
        tilts = TILT_DEVIATIONS / self.deviation
        if isinf(self._most_tilt):
            return tilts
        shares = TILT_SHARES * self._most_tilt
        return np.concatenate((tilts[tilts < shares[-1]], shares))

    @cached_property
    def _moments(self) -> Floats:
        return self._log_bounds(self._tilts, 0.0)


@dataclass(frozen=True)
class NoiseSums:
    """Many sums of independent noises of one kind: mean squares and weights have a row for each."""

    kind: type[Noise]
    squares: Floats
    weights: Floats

    def pass_seldom(self, numbers: Floats, chances: Floats) -> tuple[Bools, Bools]:
        """Of which sums it is certain that they are their number or more with no more than their
        chance, and of which `NoiseSum.passes_seldom` may still tell it.
        """
        deviations = np.sqrt((self.squares * self.weights**2).sum(axis=1))
        seldom = (deviations == 0) & (numbers > 0)
        # Sums of noise hardly ever reach less far than normal noise.
        different, which = np.unique(chances, return_inverse=True)
        least = np.array([_normal_reach(2 * chance) for chance in different.tolist()])[which]
        maybe = (numbers > 0) & (numbers >= least * deviations) & ~seldom
        places = np.flatnonzero(maybe)
        sure = self._far_beyond(places, numbers[places], deviations[places], chances[places])
        seldom[places] = sure
        maybe[places] = ~sure
        return seldom, maybe

    def _far_beyond(
        self, places: NDArray[np.intp], numbers: Floats, deviations: Floats, chances: Floats
    ) -> Bools:
        """Whether Chernoff's bound tells it by one of few tilts, of some of the sums."""
        squares, weights = self.squares[places], self.weights[places]
        # Without a weight no tilt is too large, and of noise that is next to none any is small.
        with np.errstate(divide="ignore", over="ignore"):
            largest_tilts = self.kind.largest_tilts(squares) / np.abs(weights)
            normal = numbers / deviations**2
        most = np.min(largest_tilts, axis=1, initial=np.inf)
        needed = np.log(chances)
        seldom = np.zeros(len(places), np.bool_)
        for best, largest in FEW_TILTS:
            tilts = np.minimum(best * normal, largest * most)
            moments = self.kind.log_moments(tilts[:, None] * weights, squares).sum(axis=1)
            seldom |= moments - tilts * numbers <= needed
        return seldom


# How many times a reach is halved: until it is known to less than a thousandth of itself.
STEPS = 12
# By which share floats may have moved it.
ROUNDING = 1e-12


@lru_cache(maxsize=256)
def _normal_reach(chance: float) -> float:
    """How many deviations normal noise passes with this chance, to one side."""
    if chance >= 1:
        return -inf
    return -NormalDist().inv_cdf(chance)
