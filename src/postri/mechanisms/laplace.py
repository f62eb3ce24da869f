"""Exact discrete Laplace noise, from coins and whole numbers alone (Canonne, Kamath and Steinke,
2020, algorithms 1 and 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import count

from postri.mechanisms.coins import Coins, Draw, below
from postri.noise import DiscreteLaplace


def discrete_laplace(noise: DiscreteLaplace, coins: Coins) -> int:
    """One number of this noise."""
    return laplace_number(noise.scale, Flips(coins.draw(), "laplace"))


def laplace_number(scale: Fraction, flips: Flips) -> int:
    """A whole number z with a chance in proportion to exp(-|z| / scale)."""
    while True:
        # A geometric number of scale `numerator`: its remainder, then its whole turns.
        start = flips.below(scale.numerator)
        if not flips.decays(Fraction(start, scale.numerator)):
            continue
        turns = 0
        while flips.decays(Fraction(1)):
            turns += 1
        number = (start + scale.numerator * turns) // scale.denominator
        negative = bool(flips.below(2))
        if not negative:
            return number
        # Zero has no sign: half of its draws are thrown away.
        if number:
            return -number


class Flips:
    """Coins that are used one after the other, for the noise of this name."""

    def __init__(self, draw: Draw, name: str) -> None:
        self._draw = draw
        self._name = name
        self._turn: Iterator[int] = count()

    def below(self, bound: int) -> int:
        """A uniform whole number in `0..bound-1`."""
        return below(self._draw, (self._name, next(self._turn)), bound)

    def decays(self, rate: Fraction) -> bool:
        """True with probability exp(-rate), for a rate of at most 1."""
        # The first k with a failure is odd with probability 1 - rate + rate^2/2! - ...
        for k in count(1):
            if self.below(k * rate.denominator) >= rate.numerator:
                return k % 2 == 1
        raise AssertionError("unreachable")

    def fades(self, rate: Fraction) -> bool:
        """True with probability exp(-rate), for any rate of at least 0."""
        whole = int(rate)
        if not all(self.decays(Fraction(1)) for _ in range(whole)):
            return False
        return self.decays(rate - whole)
