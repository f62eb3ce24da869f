"""Private sums: a pure function of a total on a grid, public numbers and coins."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from postri.answer import Answer
from postri.answer.drawn import Noisy
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.mechanisms.laplace import discrete_laplace
from postri.noise import DiscreteLaplace
from postri.privacy import moved_sum
from postri.statistics.count import Ask, released


def sum_answer(n: int, indexes: int, grid: Grid, ask: Ask, coins: Coins) -> Answer:
    """The sum of n cells whose grid indexes have this sum."""
    return released(
        "sum", noisy_sum(n, indexes, grid, Fraction(0), ask, ask.epsilon, coins), ask, coins
    )


def noisy_sum(
    n: int, indexes: int, grid: Grid, middle: Fraction, ask: Ask, epsilon: Fraction, coins: Coins
) -> Noisy:
    """The sum of the distances of n cells from a public number, with noise: a whole number of the
    unit of which all distances are.
    """
    lower, upper = (grid.base + end * grid.step - middle for end in (grid.first, grid.last))
    unit, noise = sum_noise(lower, upper, grid.step, ask, epsilon)
    exact = (n * (grid.base - middle) + indexes * grid.step) / unit
    return Noisy(int(exact) + discrete_laplace(noise, coins), unit, noise)


def sum_noise(
    lower: Fraction, upper: Fraction, step: Fraction, ask: Ask, epsilon: Fraction
) -> tuple[Fraction, DiscreteLaplace]:
    """The unit of which all sums are, and the noise in that unit: both follow from public numbers."""
    unit = _common(lower, step)
    return unit, DiscreteLaplace(moved_sum(ask.protect, ask.groups, lower, upper) / unit / epsilon)


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The largest number of which both are whole multiples."""
    return Fraction(
        gcd(one.numerator * other.denominator, other.numerator * one.denominator),
        one.denominator * other.denominator,
    )
