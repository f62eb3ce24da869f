"""The rows between two quantiles, and what their sum leaves open for the mean of a column that is
trimmed or winsorized there.

Which rows these are is known but for those inside of two intervals, each of which holds a quantile.
Rows at the lower interval or below it are counted, so are those at the upper one or above it, and
those between are added up: every row does one of the three, so one draw is enough (Theorem 38).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from postri.answer.drawn import Noisy
from postri.mechanisms.coins import Coins
from postri.methods.method import Span
from postri.noise import Noise
from postri.privacy import moved_ends, moved_ends_squared
from postri.statistics.additive import drawn_noise, noise_of
from postri.statistics.statistic import Terms
from postri.tree.tails import NoiseSum
from postri.window import MiddleTotal

Floats = NDArray[np.float64]

# How many times an end is halved, and what floats may have lost of the numbers that are added up.
HALVINGS = 40
ROUNDING = 2.0**-44


@dataclass(frozen=True)
class NoisyMiddle:
    """The noisy numbers of the rows up to the `lower` interval and from the `upper` one on, and the
    sums of the distances of those between, from either of these ends, in steps.

    A share `left_out` of the rows is left out at each end, as by a trimmed mean; a winsorized one
    leaves none out.
    """

    lower: Span
    upper: Span
    below: Noisy
    above: Noisy
    from_lower: Noisy
    from_upper: Noisy
    left_out: Fraction

    @property
    def mean(self) -> Fraction:
        """The mean that the numbers give, as a grid index."""
        start = self.lower.high
        below, above, from_lower, from_upper = self._numbers.tolist()
        rows = below + above + (from_lower + from_upper) / self.width
        # As if each row inside of an interval were at its drawn value.
        one, other = (float(span.value - start) for span in (self.lower, self.upper))
        total = float(self._numbers @ self._weights(one, other, 0.0))
        found = total / (max(rows, 1.0) * float(1 - 2 * self.left_out))
        return start + Fraction(min(max(found, self._low_end), self._high_end))

    def interval(self, beta: Fraction) -> tuple[Fraction, Fraction]:
        """From which grid index to which one the mean lies, with probability at least 1 - beta, if
        both intervals hold their quantiles.
        """
        start = float(self.mean - self.lower.high)
        chance = float(beta / 2)
        low = self._end(start, self._low_end, chance, -1)
        high = self._end(start, self._high_end, chance, 1)
        return self.lower.high + Fraction(low), self.lower.high + Fraction(high)

    @property
    def width(self) -> int:
        """How many steps lie between the two intervals."""
        return self.upper.low - self.lower.high

    @property
    def _low_end(self) -> float:
        """Where the lower interval begins, in steps from where it ends."""
        return float(self.lower.low - self.lower.high)

    @property
    def _high_end(self) -> float:
        return float(self.upper.high - self.lower.high)

    @cached_property
    def _numbers(self) -> Floats:
        parts = (self.below, self.above, self.from_lower, self.from_upper)
        return np.array([float(part.drawn) for part in parts])

    @cached_property
    def _squares(self) -> Floats:
        parts = (self.below, self.above, self.from_lower, self.from_upper)
        return np.array([part.noise.mean_square for part in parts])

    def _weights(self, one: float, other: float, mean: float) -> Floats:
        """What each number counts in the sum of the rows, less their mean for each: if those inside
        of the two intervals are at `one` and at `other`.
        """
        return weights(one, other, mean, float(self.width), float(self.left_out))

    def _end(self, start: float, end: float, chance: float, side: int) -> float:
        """The mean nearest to `start` from which on, up to `end`, all are surely wrong; `end` if
        none is.
        """
        last = self._test(end, side)
        kept, gone = start, end
        if not last.is_out(last, chance):
            return end
        for _ in range(HALVINGS):
            middle = (kept + gone) / 2
            if self._test(middle, side).is_out(last, chance):
                gone = middle
            else:
                kept = middle
        return gone

    def _test(self, mean: float, side: int) -> MeanTest:
        """Whether a mean is too low (side -1) or too high (side 1)."""
        # The rows in the intervals are no lower, and no higher, than these.
        one, other = self._low_end, float(self.width)
        if side > 0:
            one, other = 0.0, self._high_end
        own = self._weights(one, other, mean)
        sizes = np.abs(self._numbers * own)
        excess = -side * float(self._numbers @ own) - ROUNDING * float(sizes.sum())
        if self.left_out:
            # A fraction of a row is not left out: p * n is rounded down.
            excess -= max(side * (one + other - 2 * mean), 0.0)
        return MeanTest(excess, NoiseSum(type(self.below.noise), self._squares, own))


@dataclass(frozen=True)
class MeanTest:
    """By how much the rows miss a mean, and the noise that would have to explain it."""

    excess: float
    noise: NoiseSum

    def is_out(self, last: MeanTest, chance: float) -> bool:
        """Whether this mean and the last one, and so all between them, are surely wrong."""
        return self.noise.tilted_together(self.excess, last.noise, last.excess, chance)


def weights(one: float, other: float, mean: float, width: float, left_out: float) -> Floats:
    """What the four numbers of a middle count in the sum of the rows that are not left out, less
    their mean for each; all in steps from where the middle begins.
    """
    each = -mean - left_out * (one + other - 2 * mean)
    return np.array([one + each, other + each, 1 + each / width, each / width])


def middle_noises(width: int, terms: Terms) -> tuple[Noise, Noise]:
    """The noise of a number of rows, and that of a sum of distances over so many steps: a row that
    is counted in one of the numbers is not added to the sums, and moves these by the width.
    """
    moved, squared = moved_ends(terms.protect), moved_ends_squared(terms.protect)
    return noise_of(terms, moved, squared), noise_of(terms, moved * width, squared * width**2)


def numbers_of(counted: MiddleTotal, width: int) -> tuple[int, int, int, int]:
    """The four numbers of a middle of so many steps, without noise."""
    from_upper = counted.between * width - counted.distances
    return counted.below, counted.above, counted.distances, from_upper


def drawn_middle(
    ends: Sequence[Span], counted: MiddleTotal, left_out: Fraction, terms: Terms, coins: Coins
) -> NoisyMiddle:
    """Four draws of noise."""
    lower, upper = ends
    width = upper.low - lower.high
    row_noise, noise = middle_noises(width, terms)
    noises = (row_noise, row_noise, noise, noise)
    below, above, from_lower, from_upper = (
        Noisy(number + drawn_noise(own, coins), Fraction(1), own)
        for number, own in zip(numbers_of(counted, width), noises, strict=True)
    )
    return NoisyMiddle(lower, upper, below, above, from_lower, from_upper, left_out)
