"""The number of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from postri.answer import Answer
from postri.answer.drawn import Noisy
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.cost import Cost
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.noise import Noise
from postri.privacy import moved_rows, moved_rows_squared
from postri.statistics.additive import (
    additive_cost,
    additive_fields,
    drawn_noise,
    noise_of,
    released,
)
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
        """One draw of noise; there is no negative number of rows."""
        noise = count_noise(terms)
        drawn = Noisy(counted + drawn_noise(noise, coins), Fraction(1), noise, negative=False)
        return released(self.title, drawn, terms, coins)

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """Which noise is drawn."""
        return additive_fields(terms)

    def cost(self, terms: Terms) -> Cost:
        """That of one draw."""
        return additive_cost(terms)

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """It reaches as far as the noise, whatever the number of rows."""
        reach = count_noise(terms).reach(terms.beta)
        return Reach(self.title, Fraction(reach), float(terms.confidence))


def count_noise(terms: Terms) -> Noise:
    """The noise of a number of rows: it follows from public numbers."""
    moved = moved_rows(terms.protect, terms.groups)
    return noise_of(terms, moved, moved_rows_squared(terms.protect, terms.groups))


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
        family="everyday",
        place=3,
    )
)
