"""The mean of a column, clamped to its domain.

The sum of the distances from the middle of the domain is half as sensitive as the sum: half of
epsilon goes to it, half to the number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any, ClassVar, Self

from postri.answer import Answer
from postri.answer.drawn import Interval, Noisy, register_drawn
from postri.answer.forecast import Forecast, Reach, Unknown
from postri.answer.words import register_words
from postri.cost import Cost, pure_draw
from postri.domain import Domain, check_domain
from postri.exact import as_decimal, decimal_places
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.statistics.additive import (
    check_total,
    count_noise,
    ends,
    noisy_count,
    noisy_sum,
    released,
    sum_noise,
)
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import Fits, Statistic, Terms, TotalBatch
from postri.statistics.sum import CLAMPED
from postri.window import Total

# How many digits a mean has beyond those of the domain's step.
FINER = 3


@dataclass(frozen=True)
class NoisyMean:
    """The sum of the distances from the middle of the domain, and the number of rows, each with its
    noise.
    """

    total: Noisy
    count: Noisy
    lower: Fraction
    upper: Fraction
    step: Fraction

    @property
    def value(self) -> Decimal:
        """The mean that both give, clamped to the domain and rounded."""
        rows = max(self.count.drawn, 1)
        mean = self._middle + self.total.drawn * self.total.unit / rows
        return self._written(round(self._scaled(mean)))

    def interval(self, beta: Fraction) -> Interval:
        """Holds the mean with probability at least 1 - beta: half of beta for the sum, half for the
        number of rows.

        There is a mean only if there is a row, and it lies in the domain.
        """
        rows = [max(number, 1) for number in self.count.within(beta / 2)]
        low, high = (number * self.total.unit for number in self.total.within(beta / 2))
        least = self._middle + min(low / number for number in rows)
        most = self._middle + max(high / number for number in rows)
        return Interval(
            self._written(floor(self._scaled(least))),
            self._written(ceil(self._scaled(most))),
            low_is_edge=least <= self.lower,
            high_is_edge=most >= self.upper,
        )

    def to_fields(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "total": self.total.to_fields(),
            "count": self.count.to_fields(),
            "lower": str(self.lower),
            "upper": str(self.upper),
            "step": str(self.step),
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        return cls(
            Noisy.from_fields(fields["total"]),
            Noisy.from_fields(fields["count"]),
            Fraction(fields["lower"]),
            Fraction(fields["upper"]),
            Fraction(fields["step"]),
        )

    @property
    def _middle(self) -> Fraction:
        return (self.lower + self.upper) / 2

    @property
    def _places(self) -> int:
        return (decimal_places(self.step) or 0) + FINER

    def _scaled(self, mean: Fraction) -> Fraction:
        """The mean, clamped to the domain, in units of the last digit that is written."""
        return min(max(mean, self.lower), self.upper) * Fraction(10) ** self._places

    def _written(self, scaled: int) -> Decimal:
        return as_decimal(Fraction(scaled, 10**self._places), self._places)


class Mean(Statistic):
    """The mean of a column, clamped to its domain."""

    title = "mean"
    fits: ClassVar[Fits] = "bounded"
    batch = TotalBatch
    needs_indexes: ClassVar = True
    stays_in_domain: ClassVar = True

    def written(self) -> str:
        """As text."""
        return written("mean", self.column)

    def fields(self) -> dict[str, Any]:
        """The column and its domain."""
        return {"mean": self.column, "domain": self.domain}

    def check_grid(self, column: str | None, grid: Grid) -> None:
        """Only numbers with public bounds have a private mean."""
        check_total(self.title, column, grid)

    def draw(self, counted: Total, grid: Grid | None, terms: Terms, coins: Coins) -> Answer:
        """Two draws: of the sum of the distances, then of the number of rows."""
        assert grid is not None
        lower, upper = ends(grid)
        middle = (lower + upper) / 2
        half = terms.epsilon / 2
        total = noisy_sum(counted.n, counted.indexes, grid, middle, terms, half, coins)
        count = noisy_count(counted.n, terms, half, coins)
        drawn = NoisyMean(total, count, lower, upper, grid.step)
        return released(self.title, drawn, terms, coins)

    def cost(self, terms: Terms) -> Cost:
        """That of two draws at half of epsilon."""
        half = pure_draw(terms.epsilon / 2)
        return half + half

    def forecast(self, terms: Terms, rows: int | None) -> Forecast:
        """The reach of the sum and of the count, for as many rows as a group has."""
        if rows is None:
            return Unknown()
        assert self.domain is not None
        lower, upper, step = self.domain.bounds
        half_range = (upper - lower) / 2
        epsilon, beta = terms.epsilon / 2, terms.beta / 2
        unit, noise = sum_noise(-half_range, half_range, step, terms, epsilon)
        fewer = count_noise(terms, epsilon).reach(beta)
        group_rows = rows // terms.groups
        off = unit * noise.reach(beta) + half_range * fewer
        reach = off / max(group_rows - fewer, 1)
        confidence = float(terms.confidence)
        return Reach(self.title, min(reach, upper - lower), confidence, group_rows)


def mean(column: str, *, domain: Domain | None = None) -> Mean:
    """The mean of a column on a domain."""
    return Mean(check_column(column), check_domain(domain))


register_drawn("total", NoisyMean)
register_words("mean", explanation=CLAMPED)
register(
    Form(
        name="mean",
        make=mean,
        meaning="The average; each value is clamped to the column's bounds.",
        parameters=(Parameter("column", "column", fits="bounded"),),
        also=("avg",),
        sql=("AVG", "MEAN"),
        examples=("mean(x)",),
        place=5,
    )
)
