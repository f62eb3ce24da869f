"""The domain: the public grid that an answer lives on, from `lower` to `upper` in steps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

from postri.columns import Kind
from postri.errors import InputError
from postri.exact import as_decimal, decimal_places, exact, shown, shown_few

MOST_POINTS = 2**64
LARGEST = 10**300
EPOCH = datetime(1970, 1, 1)
MICROSECOND = Fraction(1, 1_000_000)
FIRST_ORDINAL = EPOCH.toordinal()
ONE_MICROSECOND = timedelta(microseconds=1)

Point = int | Decimal | date | datetime


@dataclass(frozen=True)
class Domain:
    """A public grid: data is rounded onto it, and clamped to its two ends.

    Bounds are numbers, text ("0.01", "2024-01-31"), dates or datetimes. The step is a number: of
    units, of days for dates, of seconds for datetimes (or a timedelta). `upper` must be `lower`
    plus a whole number of steps.

    >>> Domain(0, 5_000, step="0.01").points
    500001
    """

    lower: Any
    upper: Any
    step: Any = 1

    def __post_init__(self) -> None:
        lower, upper = read_point(self.lower, "lower"), read_point(self.upper, "upper")
        kind = kind_of(lower)
        if kind != kind_of(upper) or _zoned(lower) != _zoned(upper):
            raise InputError(
                f"lower and upper must be of one kind, got {shown(self.lower)} and "
                f"{shown(self.upper)}"
            )
        step = _step(self.step, kind)
        _check_grid(self, kind, position(lower), position(upper), step)
        for name, value in ("lower", lower), ("upper", upper), ("step", _number(step)):
            object.__setattr__(self, name, value)

    @property
    def kind(self) -> Kind:
        """Whether the grid holds numbers, dates or timestamps."""
        return kind_of(self.lower)

    @property
    def zoned(self) -> bool:
        """Whether the grid holds timestamps with a time zone; answers are then in UTC."""
        return _zoned(self.lower)

    @property
    def points(self) -> int:
        """How many grid points there are."""
        return int((position(self.upper) - position(self.lower)) / Fraction(self.step)) + 1

    @property
    def bounds(self) -> tuple[Fraction, Fraction, Fraction]:
        """The lower and upper end and the step, as exact numbers."""
        return position(self.lower), position(self.upper), Fraction(self.step)

    @property
    def holds_zero(self) -> bool:
        """Whether 0 lies between the ends."""
        return position(self.lower) <= 0 <= position(self.upper)

    def __str__(self) -> str:
        unit = {"number": "", "date": " days", "timestamp": " seconds"}[self.kind]
        return f"{self.lower} to {self.upper} in steps of {self.step}{unit}"


def check_domain(domain: object) -> Domain | None:
    """The domain, or InputError if it is something else."""
    if domain is not None and not isinstance(domain, Domain):
        raise InputError(
            "domain must be a Domain, such as Domain(0, 1000, step='0.01'), got "
            f"{shown_few(domain)}"
        )
    return domain


def kind_of(point: object) -> Kind:
    """The kind of grid that a bound belongs to."""
    if isinstance(point, datetime):
        return "timestamp"
    return "date" if isinstance(point, date) else "number"


def position(point: Point) -> Fraction:
    """A grid point as a number: itself, or days or seconds since 1970-01-01 (UTC)."""
    if isinstance(point, datetime):
        return microseconds(point) * MICROSECOND
    if isinstance(point, date):
        return Fraction(days(point))
    return Fraction(point)


def days(point: date) -> int:
    """A date as days since 1970-01-01."""
    return point.toordinal() - FIRST_ORDINAL


def microseconds(moment: datetime) -> int:
    """A moment as microseconds since 1970-01-01 (UTC)."""
    # The moment of pandas that is none has no whole number, and is refused here.
    return int((_naive(moment) - EPOCH) // ONE_MICROSECOND)


def _naive(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _zoned(point: object) -> bool:
    return isinstance(point, datetime) and point.tzinfo is not None


def read_point(value: Any, name: str) -> Point:
    """A number, date or timestamp as a domain's bounds may be written; InputError if it is none.

    >>> read_point("2024-01-31", "lower"), read_point(0.5, "lower")
    (datetime.date(2024, 1, 31), Decimal('0.5'))
    """
    if type(value).__name__ == "datetime64":
        value = value.item()
    if isinstance(value, date):
        try:
            position(value)
        except (OverflowError, ValueError):
            raise InputError(
                f"{name} must lie in the years 1 to 9999, got {shown(value)}"
            ) from None
        return value
    if not isinstance(value, str):
        return _number(exact(value, name))
    moment = _moment(value)
    if moment is not None:
        return moment
    try:
        return _number(exact(value, name))
    except InputError:
        raise InputError(
            f"{name} must be a finite number or a date such as '2024-01-31', got {shown(value)}"
        ) from None


def _moment(text: str) -> date | None:
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            # "20240131" is a number, whatever ISO 8601 allows.
            return read(text) if "-" in text[1:] else None
        except ValueError:
            continue
    return None


def _number(value: Fraction) -> int | Decimal:
    if value.denominator == 1:
        return value.numerator
    places = decimal_places(value)
    if places is None:
        raise InputError(f"a domain's bounds and step must be finite decimals, got {value}")
    return as_decimal(value, places)


def _step(value: Any, kind: Kind) -> Fraction:
    if isinstance(value, timedelta):
        if kind == "number":
            raise InputError("a domain of numbers needs a number as its step, got a timedelta")
        seconds = Fraction(value // timedelta(microseconds=1)) * MICROSECOND
        value = seconds if kind == "timestamp" else seconds / 86_400
    step = exact(value, "step")
    if step <= 0:
        raise InputError(f"step must be positive, got {shown(value)}")
    finest = {"number": None, "date": Fraction(1), "timestamp": MICROSECOND}[kind]
    if finest is not None and (step / finest).denominator != 1:
        unit = "whole days" if kind == "date" else "whole microseconds"
        raise InputError(f"the step of a domain of {kind}s must be {unit}, got {shown(value)}")
    return step


def _check_grid(domain: Domain, kind: Kind, low: Fraction, high: Fraction, step: Fraction) -> None:
    if low >= high:
        raise InputError(
            f"lower must be below upper, got lower {shown(domain.lower)} and upper "
            f"{shown(domain.upper)}"
        )
    if max(abs(low), abs(high)) > LARGEST:
        raise InputError("a domain's bounds may have at most 300 digits")
    steps = (high - low) / step
    if steps.denominator != 1:
        if kind == "number":
            nearest = [_number(low + floor(steps) * step), _number(low + ceil(steps) * step)]
        else:
            nearest = []
        raise InputError(
            "upper must be lower plus a whole number of steps, got lower "
            f"{shown(domain.lower)}, upper {shown(domain.upper)}, "
            f"step {shown(domain.step)}"
            + (
                f"; take {nearest[0]} or {nearest[1]}"
                if nearest
                else "; move upper by less than one step"
            )
        )
    if steps >= MOST_POINTS:
        raise InputError(
            "a domain may have at most 2^64 points; take a larger step or closer bounds"
        )
