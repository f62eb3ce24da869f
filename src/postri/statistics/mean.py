"""The mean of a column, clamped to its domain.

Two numbers are drawn: the sums of the cells' distances from both ends of the domain, which one row
moves by the width of the domain together; or, where rows are replaced and there is one group, the
sum of the distances from its middle and the number of rows (Theorem 15). The interval holds the
means that both leave open.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, log10
from typing import Any, ClassVar, Self

from postri.answer import Answer
from postri.answer.drawn import Interval, Noisy, register_drawn
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.answer.words import register_words
from postri.cost import Cost
from postri.domain import Domain, check_domain
from postri.exact import as_decimal, decimal_places
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.privacy import most_rows, moved_ends, moved_ends_squared, replaces
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
from postri.statistics.balance import Balance, Part
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import Fits, Statistic, Terms, TotalBatch
from postri.statistics.sum import CLAMPED
from postri.window import Total

# How many digits a mean has at least beyond those of the domain's step. Rounding moves it by no
# more than its noise over ROUNDED.
FINER = 3
ROUNDED = 100
# At how many places of half a domain a forecast looks.
LOOKED_AT = 8

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class DrawnMean(ABC):
    """Two noisy numbers of a column, from which its mean follows, and the domain."""

    one: Noisy
    other: Noisy
    lower: Fraction
    upper: Fraction
    step: Fraction

    names: ClassVar[tuple[str, str]]
    """What records call the two numbers."""
    clamps: ClassVar[bool] = True
    """Whether cells may lie beyond the domain: then an end of it is "here or beyond"."""

    @property
    def noise(self) -> Noise:
        """That of the first number."""
        return self.one.noise

    @property
    def value(self) -> Decimal:
        """The mean that both give, clamped to the domain and rounded."""
        # There is a mean only if there is a row.
        mean = (self.lower + self.upper) / 2 + self._from_middle / max(self._rows, Fraction(1))
        return self._written(round(self._scaled(mean)))

    def interval(self, beta: Fraction) -> Interval:
        """Holds the mean with probability at least 1 - beta: all that both numbers leave open."""
        places = self._balance.left_open(self.one.drawn, self.other.drawn, beta)
        if places is None:
            # No mean explains the numbers: this happens with probability beta at most, if there is
            # a row at all.
            places = (Fraction(0), Fraction(1))
        least, most = (self.lower + (self.upper - self.lower) * place for place in places)
        return Interval(
            self._written(floor(self._scaled(least))),
            self._written(ceil(self._scaled(most))),
            low_is_edge=self.clamps and least == self.lower,
            high_is_edge=self.clamps and most == self.upper,
        )

    @property
    @abstractmethod
    def _from_middle(self) -> Fraction:
        """The sum of the distances from the middle of the domain."""

    @property
    @abstractmethod
    def _rows(self) -> Fraction:
        """The number of rows."""

    @property
    @abstractmethod
    def _balance(self) -> Balance:
        """What weights make the two numbers nothing together, for each mean of the domain."""

    def to_fields(self) -> dict[str, Any]:
        """As plain values."""
        one, other = self.names
        return {
            one: self.one.to_fields(),
            other: self.other.to_fields(),
            "lower": str(self.lower),
            "upper": str(self.upper),
            "step": str(self.step),
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        one, other = cls.names
        return cls(
            Noisy.from_fields(fields[one]),
            Noisy.from_fields(fields[other]),
            Fraction(fields["lower"]),
            Fraction(fields["upper"]),
            Fraction(fields["step"]),
        )

    @property
    def _places(self) -> int:
        """Three digits beyond those of the step, or as many as tell a hundredth of the noise."""
        noise = told_noise(self.noise) * float(self.one.unit) / max(float(self._rows), 1.0)
        return max((decimal_places(self.step) or 0) + FINER, ceil(-log10(noise / ROUNDED)))

    def _scaled(self, mean: Fraction) -> Fraction:
        """The mean, clamped to the domain, in units of the last digit that is written."""
        return min(max(mean, self.lower), self.upper) * Fraction(10) ** self._places

    def _written(self, scaled: int) -> Decimal:
        return as_decimal(Fraction(scaled, 10**self._places), self._places)


@dataclass(frozen=True)
class MeanFromEnds(DrawnMean):
    """The sum of the distances from the domain's lower end, and that from its upper end."""

    names: ClassVar = ("from_lower", "from_upper")

    @property
    def _from_middle(self) -> Fraction:
        return (self.one.drawn - self.other.drawn) * self.one.unit / 2

    @property
    def _rows(self) -> Fraction:
        return (self.one.drawn + self.other.drawn) * self.one.unit / (self.upper - self.lower)

    @property
    def _balance(self) -> Balance:
        return ends_balance(self.one.noise)


@dataclass(frozen=True)
class MeanFromMiddle(DrawnMean):
    """The sum of the distances from the domain's middle, and the number of rows."""

    names: ClassVar = ("total", "count")

    @property
    def _from_middle(self) -> Fraction:
        return self.one.drawn * self.one.unit

    @property
    def _rows(self) -> Fraction:
        return Fraction(self.other.drawn)

    @property
    def _balance(self) -> Balance:
        unit = 2 * self.one.unit / (self.upper - self.lower)
        return middle_balance(unit, self.one.noise, self.other.noise)


def ends_balance(noise: Noise) -> Balance:
    """A mean at the place t has (1 - t) * (sum from the lower end) = t * (sum from the upper)."""
    return Balance(
        Part(noise, (Fraction(1), Fraction(0))),
        Part(noise, (Fraction(0), Fraction(-1))),
    )


def middle_balance(unit: Fraction, total: Noise, count: Noise) -> Balance:
    """A mean at the place t has (sum from the middle) = (2t - 1) * (rows), in half widths."""
    return Balance(
        Part(total, (unit, unit)),
        Part(count, (Fraction(1), Fraction(-1))),
    )


def ends_noise(steps: int, terms: Terms) -> Noise:
    """The noise of both sums of `MeanFromEnds`, on a domain of `steps` steps, in steps."""
    moved = moved_ends(terms.protect) * steps
    return noise_of(terms, moved, moved_ends_squared(terms.protect) * steps**2)


def middle_noises(width: Fraction, unit: Fraction, terms: Terms) -> tuple[Noise, Noise]:
    """The noises of `MeanFromMiddle`: of the sum in its unit, and of the number of rows.

    A row that is replaced moves the sum by the whole width and not the number; one that becomes
    null moves the sum by half the width, and what that leaves is the number's.
    """
    rows = most_rows(terms.protect)
    moved = rows * width / unit
    if terms.rho is None:
        return DiscreteLaplace(moved / terms.epsilon), DiscreteLaplace(2 * rows / terms.epsilon)
    total = DiscreteGaussian(moved**2 / (2 * terms.rho))
    return total, DiscreteGaussian(2 * rows**2 / (3 * terms.rho))


def told_noise(noise: Noise) -> float:
    """About how far noise reaches, in its unit, of which there is no part."""
    return max(noise.spread, 1.0)


def counts_rows(terms: Terms) -> bool:
    """Whether the number of rows is drawn: it is where a replaced row stays in its group."""
    return replaces(terms.protect) and terms.groups == 1


class Mean(Statistic):
    """The mean of a column, clamped to its domain."""

    title = "mean"
    fits: ClassVar[Fits] = "bounded"
    batch = TotalBatch
    needs_indexes: ClassVar = True
    stays_in_domain: ClassVar = True
    from_ends: ClassVar[type[MeanFromEnds]] = MeanFromEnds
    from_middle: ClassVar[type[MeanFromMiddle]] = MeanFromMiddle

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
        """Two draws of noise."""
        assert grid is not None
        lower, upper = ends(grid)
        drawn: DrawnMean
        if counts_rows(terms):
            half = (upper - lower) / 2
            unit = common_unit(half, grid.step)
            noise, row_noise = middle_noises(upper - lower, unit, terms)
            from_middle = counted.n * (grid.base - lower - half) + counted.indexes * grid.step
            total = Noisy(int(from_middle / unit) + drawn_noise(noise, coins), unit, noise)
            rows = counted.n + drawn_noise(row_noise, coins)
            count = Noisy(rows, Fraction(1), row_noise, negative=False)
            drawn = self.from_middle(total, count, lower, upper, grid.step)
        else:
            noise = ends_noise(grid.last - grid.first, terms)
            from_lower = counted.indexes - counted.n * grid.first
            from_upper = counted.n * grid.last - counted.indexes
            one, other = (
                Noisy(exact + drawn_noise(noise, coins), grid.step, noise, negative=False)
                for exact in (from_lower, from_upper)
            )
            drawn = self.from_ends(one, other, lower, upper, grid.step)
        return released(self.title, drawn, terms, coins)

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """Which noise is drawn."""
        return additive_fields(terms)

    def cost(self, terms: Terms) -> Cost:
        """That of both draws together."""
        return additive_cost(terms)

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """For a mean at the place where the interval is longest, most often an end of the domain,
        and for as many rows as a group has, less what their number may be off by.
        """
        if isinstance(rows, Unknown):
            return rows
        assert self.domain is not None
        lower, upper, step = self.domain.bounds
        width = upper - lower
        group_rows = rows.rows // terms.groups
        if counts_rows(terms):
            unit = common_unit(width / 2, step)
            noise, row_noise = middle_noises(width, unit, terms)
            balance = middle_balance(2 * unit / width, noise, row_noise)
            each = Fraction(2)
            fewer = Fraction(row_noise.reach(terms.beta))
        else:
            balance = ends_balance(ends_noise(int(width / step), terms))
            each = width / step
            # Both noises together: twice what they come to with weights of a half.
            fewer = 2 * balance.reach(HALF, HALF, terms.beta) / each
        # Both halves of the places are alike.
        looked_at = [Fraction(number, 2 * LOOKED_AT) for number in range(LOOKED_AT + 1)]
        most = max(balance.reach(place, place, terms.beta) for place in looked_at)
        # The value and the end are rounded.
        first = balance.first
        most += 2 * first.weight(Fraction(0)) * Fraction(told_noise(first.noise)) / ROUNDED
        share = most / (each * max(group_rows - fewer, Fraction(1)))
        confidence = float(terms.confidence)
        reach = min(share, Fraction(1)) * width
        return Reach(self.title, reach, confidence, group_rows, terms.groups)


def mean(column: str, *, domain: Domain | None = None) -> Mean:
    """The mean of a column on a domain."""
    return Mean(check_column(column), check_domain(domain))


register_drawn("total", MeanFromMiddle)
register_drawn("from_lower", MeanFromEnds)
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
        family="everyday",
        place=5,
    )
)
