"""The sum of a column, clamped to its domain."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from postri.answer import Answer
from postri.answer.drawn import Noisy
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.answer.words import register_words
from postri.cost import Cost
from postri.domain import Domain, check_domain
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.noise import Noise
from postri.privacy import moved_sum, moved_sum_squared
from postri.statistics.additive import (
    additive_cost,
    additive_fields,
    check_total,
    common_unit,
    drawn_noise,
    ends,
    noise_of,
    released,
)
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import Fits, Statistic, Terms, TotalBatch
from postri.window import Total

CLAMPED = "It is about the data on the domain: cells beyond its ends are clamped to them."


class Sum(Statistic):
    """The sum of a column, clamped to its domain."""

    title = "sum"
    fits: ClassVar[Fits] = "bounded"
    batch = TotalBatch
    needs_indexes: ClassVar = True

    def written(self) -> str:
        """As text.

        >>> sum("a,b").written()
        'sum("a,b")'
        """
        return written("sum", self.column)

    def fields(self) -> dict[str, Any]:
        """The column and its domain."""
        return {"sum": self.column, "domain": self.domain}

    def check_grid(self, column: str | None, grid: Grid) -> None:
        """Only numbers with public bounds have a private sum."""
        check_total(self.title, column, grid)

    def draw(self, counted: Total, grid: Grid | None, terms: Terms, coins: Coins) -> Answer:
        """One draw of noise, in the unit of which all sums are whole multiples.

        Cells of at least 0 have no sum below 0.
        """
        assert grid is not None
        lower, upper = ends(grid)
        unit, noise = sum_noise(lower, upper, grid.step, terms)
        exact = (counted.n * grid.base + counted.indexes * grid.step) / unit
        drawn = Noisy(
            int(exact) + drawn_noise(noise, coins),
            unit,
            noise,
            negative=lower < 0,
            positive=upper > 0,
        )
        return released(self.title, drawn, terms, coins)

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """Which noise is drawn."""
        return additive_fields(terms)

    def cost(self, terms: Terms) -> Cost:
        """That of one draw."""
        return additive_cost(terms)

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """It reaches as far as the noise, whatever the number of rows."""
        assert self.domain is not None
        lower, upper, step = self.domain.bounds
        unit, noise = sum_noise(lower, upper, step, terms)
        return Reach(self.title, unit * noise.reach(terms.beta), float(terms.confidence))


def sum_noise(
    lower: Fraction, upper: Fraction, step: Fraction, terms: Terms
) -> tuple[Fraction, Noise]:
    """The unit of which all sums of cells between two bounds are whole multiples, and the noise in
    that unit: both follow from public numbers.
    """
    unit = common_unit(lower, step)
    moved = moved_sum(terms.protect, terms.groups, lower, upper) / unit
    squared = moved_sum_squared(terms.protect, terms.groups, lower, upper) / unit**2
    return unit, noise_of(terms, moved, squared)


def sum(column: str, *, domain: Domain | None = None) -> Sum:
    """The sum of a column on a domain."""
    return Sum(check_column(column), check_domain(domain))


register_words("sum", explanation=CLAMPED)
register(
    Form(
        name="sum",
        make=sum,
        meaning="All values added up; each is clamped to the column's bounds.",
        parameters=(Parameter("column", "column", fits="bounded"),),
        sql=("SUM",),
        examples=("sum(x)",),
        family="everyday",
        place=4,
    )
)
