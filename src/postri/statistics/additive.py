"""Noise that is added to a count or a sum: its distribution is public, so an interval is free.

Pure functions of what was counted, public numbers and coins.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from postri.answer import Answer
from postri.answer.drawn import Drawn
from postri.cost import Cost, gaussian_draw, pure_draw
from postri.errors import InputError
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.mechanisms.gaussian import discrete_gaussian
from postri.mechanisms.laplace import discrete_laplace
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.privacy import Spend
from postri.statistics.statistic import Terms


def released(title: str, drawn: Drawn, terms: Terms, coins: Coins) -> Answer:
    """What was drawn, as an answer. Its interval costs nothing."""
    rho = None
    if isinstance(drawn.noise, DiscreteGaussian):
        rho = terms.rho
    return Answer(
        value=drawn.value,
        interval=drawn.interval(terms.beta),
        confidence=float(terms.confidence),
        spend=Spend(terms.epsilon, Fraction(0), rho),
        protect=terms.protect,
        method=drawn.noise.name,
        private=coins.private,
        notes=terms.notes,
        statistic=title,
        drawn=drawn,
    )


def additive_cost(terms: Terms) -> Cost:
    """What the draws of one additive statistic cost."""
    if terms.rho is None:
        return pure_draw(terms.epsilon)
    return gaussian_draw(terms.rho)


def additive_fields(terms: Terms) -> dict[str, str]:
    """What a draw of noise depends on beyond its epsilon.

    Its interval is free, so the confidence is no part of the draw.
    """
    if terms.rho is None:
        return {}
    return {"rho": str(terms.rho)}


def noise_of(terms: Terms, moved: Fraction, squared: Fraction) -> Noise:
    """The noise of whole numbers that one person moves by `moved` in all, and whose moves have this
    sum of squares (Theorem 15).
    """
    if terms.rho is None:
        return DiscreteLaplace(moved / terms.epsilon)
    return DiscreteGaussian(squared / (2 * terms.rho))


def drawn_noise(noise: Noise, coins: Coins) -> int:
    """One number of this noise."""
    if isinstance(noise, DiscreteLaplace):
        return discrete_laplace(noise, coins)
    return discrete_gaussian(noise, coins)


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
            f"a {title} of {name} needs a domain, such as domain=Domain(0, 1000): how far one row "
            "can move it is a public choice"
        )


def common_unit(one: Fraction, other: Fraction) -> Fraction:
    """The largest number of which both are whole multiples."""
    return Fraction(
        gcd(one.numerator * other.denominator, other.numerator * one.denominator),
        one.denominator * other.denominator,
    )
