"""The number of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from postri.answer import Answer
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.cost import Cost, pure_draw
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.statistics.additive import count_noise, noisy_count, released
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import RowBatch, Statistic, Terms


class Count(Statistic):
    """The number of rows; with a column, of those in which it has a cell that can be read."""

    title = "count"
    batch = RowBatch
    needs_column: ClassVar = False
    counts_rows: ClassVar = True

    def written(self) -> str:
        """As text.

        >>> count().written(), count("fare").written()
        ('count()', 'count("fare")')
        """
        return written("count", self.column)

    def fields(self) -> dict[str, Any]:
        """A count has no domain."""
        return {"count": self.column}

    def draw(self, counted: int, grid: Grid | None, terms: Terms, coins: Coins) -> Answer:
        """One draw of noise."""
        return released(self.title, noisy_count(counted, terms, terms.epsilon, coins), terms, coins)

    def cost(self, terms: Terms) -> Cost:
        """That of one draw."""
        return pure_draw(terms.epsilon)

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """It reaches as far as the noise, whatever the number of rows."""
        reach = count_noise(terms, terms.epsilon).reach(terms.beta)
        return Reach(self.title, Fraction(reach), float(terms.confidence))


def count(column: str | None = None) -> Count:
    """The number of rows, or of those in which a column has a cell that can be read.

    >>> count().column is None
    True
    """
    if column is None:
        return Count()
    return Count(check_column(column))


register(
    Form(
        name="count",
        make=count,
        meaning="How many rows there are, or in how many of them a column has a value.",
        parameters=(Parameter("column", "column", fits="any", optional=True),),
        sql=("COUNT",),
        sql_usage="COUNT(*) for rows, or COUNT(x) for those in which x is known",
        examples=("count()", "count(x)"),
        place=3,
    )
)
