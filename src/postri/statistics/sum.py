"""The sum of a column, clamped to its domain."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from postri.answer import Answer
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.answer.words import register_words
from postri.cost import Cost, pure_draw
from postri.domain import Domain, check_domain
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.statistics.additive import check_total, noisy_sum, released, sum_noise
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
        """One draw of noise, in the unit of which all sums are whole multiples."""
        assert grid is not None
        drawn = noisy_sum(
            counted.n, counted.indexes, grid, Fraction(0), terms, terms.epsilon, coins
        )
        return released(self.title, drawn, terms, coins)

    def cost(self, terms: Terms) -> Cost:
        """That of one draw."""
        return pure_draw(terms.epsilon)

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """It reaches as far as the noise, whatever the number of rows."""
        assert self.domain is not None
        lower, upper, step = self.domain.bounds
        unit, noise = sum_noise(lower, upper, step, terms, terms.epsilon)
        return Reach(self.title, unit * noise.reach(terms.beta), float(terms.confidence))


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
        place=4,
    )
)
