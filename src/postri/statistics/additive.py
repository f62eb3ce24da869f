"""Noise that is added to a count or a sum: its distribution is public, so an interval is free.

Pure functions of what was counted, public numbers and coins.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from postri.answer import Answer
from postri.answer.drawn import Drawn, Noisy
from postri.errors import InputError
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.mechanisms.laplace import discrete_laplace
from postri.noise import DiscreteLaplace
from postri.privacy import Spend, moved_rows, moved_sum
from postri.statistics.statistic import Terms

LAPLACE = "discrete-laplace"


def released(title: str, drawn: Drawn, terms: Terms, coins: Coins) -> Answer:
    """What was drawn, as an answer. Its interval costs nothing."""
    return Answer(
        value=drawn.value,
        interval=drawn.interval(terms.beta),
        confidence=float(terms.confidence),
        spend=Spend(terms.epsilon, Fraction(0)),
        protect=terms.protect,
        method=LAPLACE,
        private=coins.private,
        notes=terms.notes,
        statistic=title,
        drawn=drawn,
    )


def count_noise(terms: Terms, epsilon: Fraction) -> DiscreteLaplace:
    """The noise of a number of rows: it follows from public numbers."""
    return DiscreteLaplace(moved_rows(terms.protect, terms.groups) / epsilon)


def noisy_count(n: int, terms: Terms, epsilon: Fraction, coins: Coins) -> Noisy:
    """The number of rows with noise; there is no negative one."""
    noise = count_noise(terms, epsilon)
    return Noisy(n + discrete_laplace(noise, coins), Fraction(1), noise, negative=False)


def sum_noise(
    lower: Fraction, upper: Fraction, step: Fraction, terms: Terms, epsilon: Fraction
) -> tuple[Fraction, DiscreteLaplace]:
    """The unit of which all sums of cells between two bounds are whole multiples, and the noise in
    that unit: both follow from public numbers.
    """
    unit = _common(lower, step)
    moved = moved_sum(terms.protect, terms.groups, lower, upper)
    return unit, DiscreteLaplace(moved / unit / epsilon)


def noisy_sum(
    n: int,
    indexes: int,
    grid: Grid,
    middle: Fraction,
    terms: Terms,
    epsilon: Fraction,
    coins: Coins,
) -> Noisy:
    """The sum of the distances of n cells from a public number, with noise.

    `indexes` is the sum of the cells' grid indexes.
    """
    first, last = ends(grid)
    unit, noise = sum_noise(first - middle, last - middle, grid.step, terms, epsilon)
    exact = (n * (grid.base - middle) + indexes * grid.step) / unit
    return Noisy(int(exact) + discrete_laplace(noise, coins), unit, noise)


def ends(grid: Grid) -> tuple[Fraction, Fraction]:
    """The first and the last point of a grid, as numbers."""
    return grid.base + grid.first * grid.step, grid.base + grid.last * grid.step


def check_total(title: str, column: str | None, grid: Grid) -> None:
    """Refuse a sum of what has no sum, or of cells without public bounds.

    The bounds alone say how far one person can move it.
    """
    if grid.kind != "number":
        raise InputError(f"there is no {title} of a column of {grid.kind}s; ask for its median")
    if grid.anchor is not None:
        name = "the column" if column is None else repr(column)
        raise InputError(
            f"a {title} of {name} needs a domain, such as Domain(0, 1000): how far one row can "
            "move it is a public choice"
        )


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The largest number of which both are whole multiples."""
    return Fraction(
        gcd(one.numerator * other.denominator, other.numerator * one.denominator),
        one.denominator * other.denominator,
    )
