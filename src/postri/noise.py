"""Additive noise whose distribution is public: how far it reaches follows from no data, so its
interval is free.

Every number here is an upper bound or is rounded so that an interval can only be too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, erfc, inf, isqrt, pi, sinh, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flint import arb

Floats = NDArray[np.float64]

# What floats may have lost: every chance is multiplied by this.
MARGIN = 1 + 1e-9
# Below this standard deviation the chances of Gaussian noise are added up, above it they are
# compared with an integral.
SUMMED = 16
# A table of Gaussian tails has about so many numbers to a standard deviation, and ends after so
# many standard deviations: what is beyond has a chance below TINY.
FINENESS = 512
LAST = 39
TINY = 1e-300
# Noise with a larger 1/scale than this is 0 but for a chance below 1e-303.
LARGEST_RATE = 700.0
# The waves of Gaussian noise are added up number by number for variances below 1, and bell by bell
# above it. So many on each side are left out with less than 1e-20.
BELLS = 2
NUMBERS = 10


@dataclass(frozen=True)
class DiscreteLaplace:
    """Whole numbers z with a chance in proportion to exp(-|z| / scale)."""

    name: ClassVar[str] = "discrete-laplace"

    scale: Fraction

    def to_fields(self) -> dict[str, str]:
        """As plain values."""
        return {"scale": str(self.scale)}

    @cached_property
    def spread(self) -> float:
        """About how far it reaches: the scale."""
        return float(self.scale)

    def reach(self, beta: Fraction) -> int:
        """The least whole number that the noise passes, to either side, with probability at most
        beta.

        >>> DiscreteLaplace(Fraction(1)).reach(Fraction(1, 20))
        3
        """
        return _laplace_reach(self.scale, beta)

    def upper_tail(self, numbers: Floats) -> Floats:
        """At least the chance that the noise is this whole number or a larger one, of each."""
        rate = 1 / self.spread
        falls = np.exp(-rate * np.abs(numbers - 0.5) - rate / 2)
        share = falls / (1 + np.exp(-rate))
        tails = np.where(numbers > 0, share * MARGIN + TINY, 1 - share / MARGIN)
        at_most: Floats = np.minimum(tails, 1.0)
        return at_most

    @cached_property
    def mean_square(self) -> float:
        """The mean of its square, 2q / (1-q)^2 with q = exp(-1/scale); at least 1e-303, so that a
        float can tell it from 0.
        """
        rate = min(1 / self.spread, LARGEST_RATE)
        return 1 / (2 * sinh(rate / 2) ** 2)

    @staticmethod
    def characteristic(frequencies: Floats, squares: Floats) -> Floats:
        """The means of cos(frequency * noise) of noises with these mean squares."""
        return np.asarray(1 / (1 + squares * 2 * np.sin(frequencies / 2) ** 2))

    @staticmethod
    def largest_tilts(squares: Floats) -> Floats:
        """From where on the means of exp(tilt * noise) are infinite: 1/scale of each."""
        return np.asarray(2 * np.arcsinh(1 / np.sqrt(2 * squares)))

    @staticmethod
    def log_moments(tilts: Floats, squares: Floats) -> Floats:
        """The logarithms of the means of exp(tilt * noise), for smaller tilts."""
        return np.asarray(-np.log1p(-squares * 2 * np.sinh(tilts / 2) ** 2))


@dataclass(frozen=True)
class DiscreteGaussian:
    """Whole numbers z with a chance in proportion to exp(-z^2 / (2 variance))."""

    name: ClassVar[str] = "discrete-gaussian"

    variance: Fraction

    def to_fields(self) -> dict[str, str]:
        """As plain values."""
        return {"variance": str(self.variance)}

    @property
    def spread(self) -> float:
        """About how far it reaches: the standard deviation."""
        return sqrt(self.variance)

    def reach(self, beta: Fraction) -> int:
        """A whole number that the noise passes, to either side, with probability at most beta: the
        least one, or from a standard deviation of 16 on hardly ever the one above it.

        >>> DiscreteGaussian(Fraction(1)).reach(Fraction(1, 20))
        2
        """
        return _gaussian_reach(self.variance, beta)

    def upper_tail(self, numbers: Floats) -> Floats:
        """At least the chance that the noise is this whole number or a larger one, of each."""
        step, tails = _gaussian_tails(self.variance)
        most = (len(tails) - 1) // 2
        # A number between two of the table has at most the chance of the one below it.
        places = np.clip(np.floor(numbers / step), -most, most).astype(np.int64)
        return tails[places + most]

    @cached_property
    def mean_square(self) -> float:
        """At least the mean of its square, which is at most the variance."""
        return float(self.variance)

    @staticmethod
    def characteristic(frequencies: Floats, squares: Floats) -> Floats:
        """The means of cos(frequency * noise) of noises with these variances."""
        found = np.empty(np.broadcast_shapes(frequencies.shape, squares.shape))
        narrow = squares < 1
        for chosen, waves in (narrow, _waves_by_numbers), (~narrow, _waves_by_bells):
            found[..., chosen] = waves(frequencies[..., chosen], squares[chosen])
        return found

    @staticmethod
    def largest_tilts(squares: Floats) -> Floats:
        """The means of exp(tilt * noise) are finite for every tilt."""
        return np.full_like(squares, inf)

    @staticmethod
    def log_moments(tilts: Floats, squares: Floats) -> Floats:
        """At least the logarithms of the means of exp(tilt * noise): those of normal noise of the
        same variances (Theorem 16).
        """
        return np.asarray(squares * tilts**2 / 2)


Noise = DiscreteLaplace | DiscreteGaussian


def read_noise(fields: Mapping[str, Any]) -> Noise:
    """What `to_fields` wrote, alone or among other fields."""
    if "variance" in fields:
        return DiscreteGaussian(Fraction(fields["variance"]))
    return DiscreteLaplace(Fraction(fields["scale"]))


@lru_cache(maxsize=4096)
def _laplace_reach(scale: Fraction, beta: Fraction) -> int:
    """With q = exp(-1/scale), more than w is passed with probability 2 q^(w+1) / (1+q): so w + 1 >=
    scale * ln(2 / (beta (1+q))).
    """
    from flint import arb, ctx, fmpq

    precision = 128 + scale.numerator.bit_length() + beta.denominator.bit_length()
    while True:
        with ctx.workprec(precision):
            wide, chance = (
                arb(fmpq(number.numerator, number.denominator)) for number in (scale, beta)
            )
            least = wide * (2 / (chance * (1 + (-1 / wide).exp()))).log()
            low, high = (
                ceil(Fraction(int(end.p), int(end.q)))
                for end in (least.lower().fmpq(), least.upper().fmpq())
            )
        if low == high:
            return max(0, high - 1)
        precision *= 2


@lru_cache(maxsize=4096)
def _gaussian_reach(variance: Fraction, beta: Fraction) -> int:
    """The first number that is certain to keep beta, by bisection: the bounds fall with it."""
    from flint import ctx

    with ctx.workprec(256 + 2 * beta.denominator.bit_length()):
        keeps = _kept_by_sum if variance < SUMMED**2 else _kept_by_integral
        within = keeps(variance, beta)
        high = 1
        while not within(high):
            high *= 2
        low = -1
        while high - low > 1:
            middle = (low + high) // 2
            if within(middle):
                high = middle
            else:
                low = middle
    return high


def _kept_by_sum(variance: Fraction, beta: Fraction) -> Callable[[int], bool]:
    """Whether more than w is passed with probability at most beta: what is within w, added up."""
    from flint import arb

    rate = -1 / (2 * _ball(variance))
    everything = _theta(variance)
    inside = [arb(1)]

    def within(w: int) -> bool:
        while len(inside) <= w:
            inside.append(inside[-1] + 2 * (rate * len(inside) ** 2).exp())
        return bool(1 - inside[w] / everything <= _ball(beta))

    return within


def _kept_by_integral(variance: Fraction, beta: Fraction) -> Callable[[int], bool]:
    """Whether more than w is passed with probability at most beta, by the integral from w + 1/2 on
    (Theorem 16).
    """
    from flint import arb

    width = (2 * _ball(variance)).sqrt()
    # By how much the sum of all chances can pass its integral, as a share.
    little = 3 * (-2 * arb.pi() ** 2 * _ball(variance)).exp()

    def within(w: int) -> bool:
        end = w + Fraction(1, 2)
        beyond = (_ball(end) / width).erfc()
        if end**2 < variance:
            beyond += little
        return bool(beyond <= _ball(beta))

    return within


def _theta(variance: Fraction) -> arb:
    """The sum of exp(-z^2 / (2 variance)) over all whole z, as a ball that holds it."""
    from flint import arb, ctx

    rate = -1 / (2 * _ball(variance))
    # As far as the precision tells.
    last = (isqrt(int(variance)) + 1) * (isqrt(2 * ctx.prec) + 1)
    total = arb(1)
    for z in range(1, last + 1):
        total += 2 * (rate * z**2).exp()
    # Out there each chance is less than half of the one before it.
    rest = 4 * (rate * (last + 1) ** 2).exp()
    return total.union(total + rest)


def _ball(number: Fraction) -> arb:
    from flint import arb, fmpq

    return arb(fmpq(number.numerator, number.denominator))


@lru_cache(maxsize=64)
def _gaussian_tails(variance: Fraction) -> tuple[int, Floats]:
    """At least P(Z >= step * i) for i from -most to most, and the step."""
    deviation = sqrt(variance)
    step = max(1, int(deviation) // FINENESS)
    most = int(LAST * (deviation + 1)) // step + 1
    # The chance of this number or a larger one for those above 0, and a lower bound of the same.
    numbers = np.arange(most + 2, dtype=np.float64) * step
    if deviation < SUMMED:
        above = _summed_tails(float(variance), most + 2)
        surely = np.append(above[1:], 0.0)
    else:
        above = _half_erfc((numbers - 0.5) / deviation)
        # The sum of chances passes the integral by no more than this (Theorem 16).
        more = (deviation + 1) / (24 * float(variance) * deviation * (2 * pi) ** 0.5)
        surely = np.maximum(_half_erfc((numbers + 0.5) / deviation) - more, 0.0)
    positive = np.minimum(above[1 : most + 1] * MARGIN + TINY, 1.0)
    # P(Z >= -m) is 1 - P(Z >= m + 1).
    negative = 1 - surely[: most + 1] / MARGIN
    return step, np.concatenate([negative[::-1], positive])


def _summed_tails(variance: float, size: int) -> Floats:
    """P(Z >= z) for z from 0 on."""
    chances = np.exp(-(np.arange(size, dtype=np.float64) ** 2) / (2 * variance))
    tails = np.cumsum(chances[::-1])[::-1]
    # All numbers: twice those from 0 on, less 0 itself.
    everything = 2 * tails[0] - 1
    return np.asarray(tails / everything)


def _waves_by_numbers(frequencies: Floats, squares: Floats) -> Floats:
    """The means of cos(frequency * noise): the sum over whole numbers, for small variances."""
    waves = np.ones_like(frequencies)
    whole = np.ones_like(squares)
    for number in range(1, NUMBERS + 1):
        chances = 2 * np.exp(-(number**2) / (2 * squares))
        waves += chances * np.cos(number * frequencies)
        whole += chances
    return np.asarray(waves / whole)


def _waves_by_bells(frequencies: Floats, squares: Floats) -> Floats:
    """The same for large variances, by Poisson's summation: a bell around each whole number of
    turns.
    """
    turns = 2 * pi
    near = frequencies - turns * np.round(frequencies / turns)
    waves = np.zeros_like(near)
    whole = np.zeros_like(squares)
    for centre in turns * np.arange(-BELLS, BELLS + 1):
        waves += np.exp(-squares * (near - centre) ** 2 / 2)
        whole += np.exp(-squares * centre**2 / 2)
    return np.asarray(waves / whole)


def _half_erfc(numbers: Floats) -> Floats:
    root = 2**0.5
    return np.array([0.5 * erfc(number / root) for number in numbers.tolist()])
