"""Dates and timestamps by the calendar: the month that one lies in, its hour, its weekday.

A timestamp with a time zone is looked at in UTC. Everything is proleptic Gregorian from the year 1
to 9999, the years that all engines share: what lies beyond counts as the first or last moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from postri.domain import EPOCH, position
from postri.errors import InputError, nearest
from postri.exact import shown
from postri.expressions.plan import Node, Vector, Vectors, Writer

DAY_SECONDS = 86_400
FIRST_DAY = int(position(date.min))
LAST_DAY = int(position(date.max))
MICROSECOND = Fraction(1, 10**6)

# The units that moments are truncated to: those of whole days, and those of seconds.
DAY_UNITS = ("year", "quarter", "month", "week", "day")
TIME_UNITS = {"hour": 3_600, "minute": 60, "second": 1}
UNITS = (*DAY_UNITS, *TIME_UNITS)

# The fields, each with the least and the largest number that it can be; those of a year follow
# from what the column can be.
FIELDS = {
    "YEAR": (1, 9999),
    "QUARTER": (1, 4),
    "MONTH": (1, 12),
    "WEEK": (1, 53),
    "DAY": (1, 31),
    "DOY": (1, 366),
    "DOW": (0, 6),
    "ISODOW": (1, 7),
    "HOUR": (0, 23),
    "MINUTE": (0, 59),
    "SECOND": (0, 59),
}
TIME_FIELDS = {"HOUR": (3_600, 24), "MINUTE": (60, 60), "SECOND": (1, 60)}
# By how many days the first day of the calendar, a Monday, comes after the day on which a week
# begins, and the number of that day.
WEEKDAY_FIELDS = {"DOW": (1, 0), "ISODOW": (0, 1)}


def unit_named(text: str) -> str:
    """The unit of a text, in any case; InputError if there is none."""
    unit = text.casefold()
    if unit not in UNITS:
        raise InputError(f"DATE_TRUNC has no unit {shown(text)}; {nearest(unit, UNITS)}")
    return unit


def field_named(text: str) -> str:
    """The field of a text, in any case; InputError if there is none."""
    field = text.upper()
    if field not in FIELDS:
        raise InputError(f"EXTRACT has no field {shown(text)}; {nearest(field, FIELDS)}")
    return field


# Moments in Python.


def truncated(moment: date, unit: str) -> date:
    """The first day, or for shorter units the first moment, of the unit that a moment lies in.

    >>> truncated(date(2013, 5, 31), "quarter"), truncated(datetime(2013, 5, 31, 8, 59), "hour")
    (datetime.date(2013, 4, 1), datetime.datetime(2013, 5, 31, 8, 0))
    """
    if unit in TIME_UNITS:
        naive = in_utc(moment)
        seconds = TIME_UNITS[unit]
        whole = (naive - EPOCH) // timedelta(seconds=seconds)
        return EPOCH + timedelta(seconds=seconds) * whole
    day = moment
    if isinstance(moment, datetime):
        day = in_utc(moment).date()
    if unit == "year":
        return day.replace(month=1, day=1)
    if unit == "quarter":
        return day.replace(month=day.month - (day.month - 1) % 3, day=1)
    if unit == "month":
        return day.replace(day=1)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    return day


def following(start: date, unit: str) -> date:
    """The first moment of the next unit; OverflowError where the calendar ends."""
    if unit in TIME_UNITS:
        return start + timedelta(seconds=TIME_UNITS[unit])
    if unit == "year":
        return truncated(start + timedelta(days=366), unit)
    if unit == "quarter":
        return truncated(start + timedelta(days=93), unit)
    if unit == "month":
        return truncated(start + timedelta(days=31), unit)
    return start + timedelta(days=7 if unit == "week" else 1)


def in_utc(moment: date) -> datetime:
    """A moment without its time zone, in UTC; a date is the first moment of its day."""
    if not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(UTC).replace(tzinfo=None)


# Parts of plans.


@dataclass(frozen=True)
class Coarser(Node):
    """A whole number of a fine unit as the coarser one at or below it."""

    operand: Node
    factor: int
    of: Fraction

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        return Vector(np.floor_divide(_whole(found), self.factor), found.valid)

    def sql(self, writer: Writer) -> str:
        quotient = writer.dialect.quotient

        def floored(value: str) -> str:
            # A quotient of databases is cut, not rounded down. No step overflows.
            below = quotient(f"(-1 - {value})", self.factor)
            above = quotient(value, self.factor)
            return f"(CASE WHEN {value} < 0 THEN -1 - {below} ELSE {above} END)"

        return writer.once(self.operand.sql(writer), floored)


@dataclass(frozen=True)
class Finer(Node):
    """A whole number of a coarse unit in a finer one, which has room for all moments."""

    operand: Node
    factor: int
    of: Fraction

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        return Vector(_whole(found) * self.factor, found.valid)

    def sql(self, writer: Writer) -> str:
        return f"({self.operand.sql(writer)} * {self.factor})"


@dataclass(frozen=True)
class CalendarStep(Node):
    """In which step of so many units a whole number lies, that is never below `start`; of a `cycle`
    of steps, where there is one. The first step has the number `first`.
    """

    operand: Node
    width: int
    start: int
    first: int
    of: Fraction
    cycle: int | None = None

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        # What stands in a null cell may lie below the start.
        step = np.floor_divide(_whole(found) - self.start, self.width)
        if self.cycle is not None:
            step = step % self.cycle
        return Vector(step + self.first, found.valid)

    def sql(self, writer: Writer) -> str:
        return self.among(writer, FIRST_DAY, LAST_DAY)

    def among(self, writer: Writer, low: int, high: int) -> str:
        if self._is_day:
            days = self.operand.in_days(writer, low, high)
            if days is not None:
                return days
        text = f"({self.operand.sql(writer)} - ({self.start}))"
        if self.width != 1:
            text = writer.dialect.quotient(text, self.width)
        if self.cycle is not None:
            text = f"({text} % {self.cycle})"
        return f"({text} + ({self.first}))"

    @property
    def _is_day(self) -> bool:
        """Whether steps are days, and numbered from 1970 on."""
        own = self.operand.unit
        is_day = own is not None and self.width * own == DAY_SECONDS
        return is_day and self.cycle is None and self.first * self.width == self.start

    def inside(self, writer: Writer, low: int, high: int) -> str:
        if self.cycle is not None:
            return super().inside(writer, low, high)
        # The first unit of the lowest step, and the last one of the highest.
        start = self.start + (low - self.first) * self.width
        end = self.start + (high - self.first + 1) * self.width - 1
        return self.operand.inside(writer, start, end)


@dataclass(frozen=True)
class OfDay(Node):
    """A field of a day, or the first day of the unit that it lies in.

    Every database knows the calendar, and a day between the years 1 and 9999 fails in none.
    """

    function: str
    days: Node
    of: Fraction = Fraction(1)

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        found = self.days.vector(cells)
        days = np.clip(_whole(found), FIRST_DAY, LAST_DAY)
        return Vector(_of_days(self.function, days), found.valid)

    def sql(self, writer: Writer) -> str:
        text = writer.dialect.of_day(self.function, self.days.sql(writer))
        return writer.dialect.integer(text, unsigned=False)


@dataclass(frozen=True)
class MondayOf(Node):
    """The Monday of the week that a day lies in; the first day of the calendar is one."""

    days: Node
    of: Fraction = Fraction(1)

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        found = self._since.vector(cells)
        return Vector(_whole(found) * 7 + FIRST_DAY, found.valid)

    def sql(self, writer: Writer) -> str:
        return f"({self._since.sql(writer)} * 7 + ({FIRST_DAY}))"

    @property
    def _since(self) -> CalendarStep:
        return CalendarStep(self.days, 7, FIRST_DAY, 0, self.of)


def _whole(vector: Vector) -> Any:
    return np.asarray(vector.values).astype(np.int64)


def _of_days(function: str, days: Any) -> Any:
    """The same function of an array of days."""
    if function == "week":
        # A week belongs to the year of its Thursday.
        thursdays = days - (days + 3) % 7 + 3
        return (_of_days("doy", thursdays) - 1) // 7 + 1
    dates = days.astype("M8[D]")
    years = dates.astype("M8[Y]")
    months = dates.astype("M8[M]")
    number = months.astype(np.int64)
    starts = {
        "first of year": years,
        "first of quarter": (number - number % 3).astype("M8[M]"),
        "first of month": months,
        "doy": years,
        "day": months,
    }
    if function in starts:
        first = starts[function].astype("M8[D]").astype(np.int64)
        return first if function.startswith("first") else days - first + 1
    if function == "year":
        return number // 12 + EPOCH.year
    if function == "quarter":
        return number % 12 // 3 + 1
    return number % 12 + 1


def truncation(operand: Node, unit: str, *, days: bool) -> Node:
    """The plan of DATE_TRUNC: days, or hours, minutes or seconds as they count from 1970 on.

    `days` says that the operand is one of days.
    """
    if unit in TIME_UNITS:
        return _step(operand, TIME_UNITS[unit], Fraction(TIME_UNITS[unit]))
    day = operand if days else _day(operand)
    if unit == "day":
        return day
    if unit == "week":
        return MondayOf(day)
    return OfDay(f"first of {unit}", day)


def extraction(operand: Node, field: str, *, days: bool) -> Node:
    """The plan of EXTRACT: whole numbers."""
    if field in TIME_FIELDS:
        seconds, cycle = TIME_FIELDS[field]
        return _step(operand, seconds, Fraction(1), cycle)
    day = operand if days else _day(operand)
    if field in WEEKDAY_FIELDS:
        before, first = WEEKDAY_FIELDS[field]
        return CalendarStep(day, 1, FIRST_DAY - before, first, Fraction(1), 7)
    return OfDay(field.lower(), day)


def _day(moment: Node) -> Node:
    return _step(moment, DAY_SECONDS, Fraction(1))


def _step(moment: Node, seconds: int, of: Fraction, cycle: int | None = None) -> Node:
    """The number of the step of so many seconds that a moment lies in, counted from 1970 on; in a
    cycle, from 0 on.
    """
    from postri.expressions.measures import common_unit

    assert moment.unit is not None
    own = moment.unit
    unit = max(common_unit(own, Fraction(1)), MICROSECOND)
    if own < unit:
        # The calendar has more nanoseconds than 64 bits.
        moment = Coarser(moment, int(unit / own), unit)
    elif own > unit:
        moment = Finer(moment, int(own / unit), unit)
    start = int(FIRST_DAY * DAY_SECONDS / unit)
    first = 0 if cycle is not None else FIRST_DAY * DAY_SECONDS // seconds
    return CalendarStep(moment, int(seconds / unit), start, first, of, cycle)
