"""Exact discrete Gaussian noise, from coins and whole numbers alone (Canonne, Kamath and Steinke,
2020, algorithm 3).

A number y of discrete Laplace noise of scale t is kept with probability
exp(-(|y| - variance/t)^2 / (2 variance)). Together with exp(-|y|/t) that is in proportion to
exp(-y^2 / (2 variance)), whatever t is. With t next to the standard deviation more than a third of
the numbers are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from postri.mechanisms.coins import Coins, Wanted
from postri.mechanisms.laplace import Flips, laplace_number
from postri.noise import DiscreteGaussian


def discrete_gaussian(noise: DiscreteGaussian, coins: Coins) -> int:
    """One number of this noise."""
    return gaussian_number(noise.variance, Flips(coins.draw(), "gaussian"))


def gaussian_numbers(noises: Sequence[DiscreteGaussian], wanted: Sequence[Wanted]) -> list[int]:
    """Independent numbers, with the coins of some keys: for each as many as are wanted, of its own
    noise.
    """
    return [
        gaussian_number(noise.variance, Flips(draw, f"gaussian {key} {place}"))
        for noise, (draw, key, number) in zip(noises, wanted, strict=True)
        for place in range(number)
    ]


def gaussian_number(variance: Fraction, flips: Flips) -> int:
    """A whole number z with a chance in proportion to exp(-z^2 / (2 variance))."""
    scale = isqrt(int(variance)) + 1
    while True:
        number = laplace_number(Fraction(scale), flips)
        off = abs(number) - variance / scale
        if flips.fades(off**2 / (2 * variance)):
            return number
