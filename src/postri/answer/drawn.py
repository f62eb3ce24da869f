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
from typing import Any, Protocol, Self

from postri.exact import as_decimal, decimal_places
from postri.keeping import KeepingLaw
from postri.noise import Noise, read_noise


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

    @property
    def is_whole_domain(self) -> bool:
        """Whether it reaches from edge to edge, and tells nothing."""
        return self.low_is_edge and self.high_is_edge

    def __contains__(self, value: Any) -> bool:
        return bool(self.low <= value <= self.high)

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


QUARTILES = (Fraction(1, 4), Fraction(3, 4))


def range_between(first: Interval, third: Interval) -> Interval:
    """By how much a third quartile is more than a first one, if both intervals hold: that is never
    negative.

    >>> range_between(Interval(2, 5), Interval(4, 9, high_is_edge=True))
    Interval(low=0, high=7, low_is_edge=False, high_is_edge=True)
    """
    least = third.low - first.high
    return Interval(
        max(least, least * 0),
        third.high - first.low,
        # Beyond an edge a quartile may lie further away.
        high_is_edge=third.high_is_edge or first.low_is_edge,
    )


class Drawn(Protocol):
    """What a statistic keeps of its draw."""

    @property
    def noise(self) -> Noise | KeepingLaw:
        """The noise that was drawn; of several numbers, that of the first."""
        ...

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


# The class of each field by which a record is told.
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
    """A whole number of `unit`s with noise on it.

    One that cannot be negative, as a count or a sum of cells of at least 0, is shown as 0 at least,
    and so are the ends of its interval: that takes away nothing that is possible. One that cannot
    be positive is shown as 0 at most.
    """

    drawn: int
    unit: Fraction
    noise: Noise
    negative: bool = True
    positive: bool = True

    @property
    def value(self) -> int | Decimal:
        """The number, as people write it."""
        return self._written(self.drawn)

    def interval(self, beta: Fraction) -> Interval:
        """Holds the number without its noise with probability at least 1 - beta."""
        reach = self.noise.reach(beta)
        return Interval(self._written(self.drawn - reach), self._written(self.drawn + reach))

    def to_fields(self) -> dict[str, Any]:
        """As plain values. Numbers are texts, for JSON's have no exact form."""
        fields = {
            "drawn": str(self.drawn),
            "unit": str(self.unit),
            **self.noise.to_fields(),
            "negative": self.negative,
        }
        if not self.positive:
            fields["positive"] = False
        return fields

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        return cls(
            int(fields["drawn"]),
            Fraction(fields["unit"]),
            read_noise(fields),
            negative=fields["negative"],
            positive=fields.get("positive", True),
        )

    def _written(self, number: int) -> int | Decimal:
        if not self.negative:
            number = max(number, 0)
        if not self.positive:
            number = min(number, 0)
        exact = number * self.unit
        places = decimal_places(self.unit) or 0
        if places:
            return as_decimal(exact, places)
        return int(exact)


@dataclass(frozen=True)
class Kept:
    """The noisy number of rows of a key that is told because of it.

    Keys whose noise is large are told more often: the interval is right given that this one is.
    """

    noisy: int
    key: Any
    noise: KeepingLaw

    @property
    def value(self) -> int:
        """The noisy number."""
        return self.noisy

    def interval(self, beta: Fraction) -> Interval:
        """Holds the number of rows with probability at least 1 - beta, given that the key is
        told (Theorem 36).
        """
        return Interval(*self.noise.rows_between(self.noisy, beta))

    def to_fields(self) -> dict[str, Any]:
        """As plain values; a key has its kind."""
        return {
            "kept": str(self.noisy),
            "key": _tagged_key(self.key),
            "epsilon": str(self.noise.epsilon),
            "delta": str(self.noise.delta),
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        law = KeepingLaw(Fraction(fields["epsilon"]), Fraction(fields["delta"]))
        return cls(int(fields["kept"]), _read_tagged_key(fields["key"]), law)


def _tagged_key(key: Any) -> Any:
    if isinstance(key, str | bool):
        return key
    kind = "decimal" if isinstance(key, Decimal) else "integer"
    return [kind, str(key)]


def _read_tagged_key(value: Any) -> Any:
    if isinstance(value, str | bool):
        return value
    kind, text = value
    return {"decimal": Decimal, "integer": int}[kind](text)


@dataclass(frozen=True)
class Selected:
    """What was drawn for a row that is shown because of its draw, where a `share` of all rows is.

    Of the intervals of such rows no more than beta miss on average, if each is the one of beta
    times the share: the false coverage rate.
    """

    of: Drawn
    share: Fraction

    @property
    def noise(self) -> Noise | KeepingLaw:
        """That of the draw."""
        return self.of.noise

    @property
    def value(self) -> Any:
        """The released value."""
        return self.of.value

    def interval(self, beta: Fraction) -> Interval:
        """Holds the true value among the rows shown, but for a share of beta of them."""
        return self.of.interval(beta * self.share)

    def to_fields(self) -> dict[str, Any]:
        """As plain values."""
        return {"selected": str(self.share), "of": self.of.to_fields()}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        return cls(read_drawn(fields["of"]), Fraction(fields["selected"]))


register_drawn("drawn", Noisy)
register_drawn("selected", Selected)
register_drawn("kept", Kept)
