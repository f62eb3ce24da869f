"""What was drawn for an answer, and the interval that follows from it.

The noise of a count, a sum or a mean is public. Who keeps what was drawn can give an interval of
any confidence, and it costs nothing. A statistic whose draw is more than one noisy number brings a
class of its own and registers it here, so that the ledger's records can be read back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any, Protocol, Self

from postri.exact import as_decimal, decimal_places
from postri.noise import DiscreteLaplace

# How many digits a mean has beyond those of the domain's step.
FINER = 3


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, both included. An end on the domain's edge means "here or beyond".

    >>> 3 in Interval(2, 5)
    True
    """

    low: Any
    high: Any
    low_is_edge: bool = False
    high_is_edge: bool = False

    @property
    def width(self) -> Any:
        """How wide it is: a number, or a timedelta."""
        return self.high - self.low

    def __contains__(self, value: Any) -> bool:
        return bool(self.low <= value <= self.high)

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


class Drawn(Protocol):
    """What a statistic keeps of its draw."""

    @property
    def value(self) -> Any:
        """The released value, as people write it."""
        ...

    def interval(self, beta: Fraction) -> Interval:
        """Holds the true value with probability at least 1 - beta."""
        ...

    def to_fields(self) -> dict[str, Any]:
        """As plain values, for the ledger's record."""
        ...

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        ...


_CLASSES: dict[str, type[Drawn]] = {}


def register_drawn(field: str, cls: type[Drawn]) -> None:
    """Let records that have this field be read by this class. No other class may write the field.

    A record has no tag: ledgers of before are read too, and a field that is particular to its class
    tells it as well.
    """
    if _CLASSES.setdefault(field, cls) is not cls:
        raise ValueError(f"{_CLASSES[field].__name__} has the field {field!r} already")


def read_drawn(fields: Mapping[str, Any]) -> Drawn:
    """What was drawn, from its plain values; ValueError if they are of no registered class."""
    for field, cls in _CLASSES.items():
        if field in fields:
            return cls.from_fields(fields)
    raise ValueError("a draw of another form")


@dataclass(frozen=True)
class Noisy:
    """A whole number of `unit`s with noise on it; one that cannot be negative, as a count, is shown
    as 0 at least.
    """

    drawn: int
    unit: Fraction
    noise: DiscreteLaplace
    negative: bool = True

    @property
    def value(self) -> int | Decimal:
        """The number, as people write it."""
        return self._written(self.drawn)

    def interval(self, beta: Fraction) -> Interval:
        """Holds the number without its noise with probability at least 1 - beta."""
        low, high = self.within(beta)
        return Interval(self._written(low), self._written(high))

    def within(self, beta: Fraction) -> tuple[int, int]:
        """The ends of that interval in units."""
        reach = self.noise.reach(beta)
        return self.drawn - reach, self.drawn + reach

    def to_fields(self) -> dict[str, Any]:
        """As plain values. Numbers are texts, for JSON's have no exact form."""
        return {
            "drawn": str(self.drawn),
            "unit": str(self.unit),
            "scale": str(self.noise.scale),
            "negative": self.negative,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        noise = DiscreteLaplace(Fraction(fields["scale"]))
        return cls(int(fields["drawn"]), Fraction(fields["unit"]), noise, fields["negative"])

    def _written(self, number: int) -> int | Decimal:
        if not self.negative:
            number = max(number, 0)
        exact = number * self.unit
        places = decimal_places(self.unit) or 0
        if places:
            return as_decimal(exact, places)
        return int(exact)


register_drawn("drawn", Noisy)


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


register_drawn("total", NoisyMean)
