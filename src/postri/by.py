"""How rows are divided, for `by`: by the month of a timestamp, by bins, by an expression in SQL.

>>> from postri import by
>>> print(by.month("t", "2013-01", "2013-12"))
DATE_TRUNC('month', "t") BETWEEN DATE '2013-01-01' AND DATE '2013-12-01'

The keys are public. They follow from the range that is declared, from the first to the last of them
with both ends; without one, in a session, from the column's domain in the policy. A year of months
is twelve groups, whether or not there are rows. What lies outside of the range is in no group.
Timestamps with a time zone are looked at in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from itertools import islice, pairwise
from typing import Any

from postri.domain import position, read_point
from postri.errors import InputError
from postri.exact import exact, shown
from postri.expressions.calendar import field_named, unit_named
from postri.expressions.grouping import Discovery, Grouping, edge_of, read_grouping
from postri.expressions.reader import MOST_BINS
from postri.expressions.tree import Bins, Column, Extract, Number, Truncate, WidthBucket
from postri.privacy import check_delta

__all__ = [
    "Discovery",
    "Grouping",
    "bins",
    "buckets",
    "day",
    "discover",
    "expression",
    "field",
    "hour",
    "hour_of_day",
    "minute",
    "month",
    "month_of_year",
    "quarter",
    "week",
    "weekday",
    "year",
]

End = int | str | date | None


def year(column: str, first: End = None, last: End = None) -> Grouping:
    """By years, whose keys are numbers: `by.year("t", 2013, 2015)`."""
    return _between(Extract("YEAR", _column(column)), first, last)


def quarter(column: str, first: End = None, last: End = None) -> Grouping:
    """By quarters, whose keys are their first days: `by.quarter("t", "2013-Q1", "2014-Q4")`."""
    return _truncated("quarter", column, first, last)


def month(column: str, first: End = None, last: End = None) -> Grouping:
    """By months, whose keys are their first days: `by.month("t", "2013-01", "2013-12")`."""
    return _truncated("month", column, first, last)


def week(column: str, first: End = None, last: End = None) -> Grouping:
    """By weeks, whose keys are their Mondays; a range is given by any of their days."""
    return _truncated("week", column, first, last)


def day(column: str, first: End = None, last: End = None) -> Grouping:
    """By days: `by.day("t", "2013-01-01", "2013-01-31")`."""
    return _truncated("day", column, first, last)


def hour(column: str, first: End = None, last: End = None) -> Grouping:
    """By hours, each of its own day: `by.hour("t", "2013-01-31 00:00", "2013-01-31 23:00")`."""
    return _truncated("hour", column, first, last)


def minute(column: str, first: End = None, last: End = None) -> Grouping:
    """By minutes, each of its own hour."""
    return _truncated("minute", column, first, last)


def month_of_year(column: str) -> Grouping:
    """By the month, from 1 to 12, of whatever year."""
    return field(column, "month")


def weekday(column: str) -> Grouping:
    """By the day of the week, from 1 for Monday to 7 for Sunday."""
    return field(column, "isodow")


def hour_of_day(column: str) -> Grouping:
    """By the hour, from 0 to 23, of whatever day."""
    return field(column, "hour")


def field(column: str, name: str) -> Grouping:
    """By a field as EXTRACT gives it: `year`, `quarter`, `month`, `week` (of ISO 8601), `day`,
    `doy`, `dow` (0 is Sunday), `isodow` (1 is Monday, 7 is Sunday), `hour`, `minute` or `second`.
    """
    return Grouping(Extract(field_named(_text(name, "a field")), _column(column)))


def bins(column: str, edges: Iterable[Any]) -> Grouping:
    """By bins, each from an edge to below the next; the last one holds its upper edge too.

    >>> bins("fare", [0, 10, 50]).keyed().keys
    ('[0, 10)', '[10, 50]')
    """
    if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
        raise InputError(f"edges must be a list, such as [0, 10, 50], got {shown(edges)}")
    points = [read_point(edge, "an edge") for edge in islice(edges, MOST_BINS + 2)]
    if not 2 <= len(points) <= MOST_BINS + 1:
        raise InputError(f"bins take from 2 to {MOST_BINS + 1:,} edges, got {len(points):,}")
    if len({_kind(point) for point in points}) > 1:
        raise InputError("the edges of bins must be of one kind: numbers, dates or timestamps")
    places = [position(point) for point in points]
    if any(low >= high for low, high in pairwise(places)):
        raise InputError("the edges of bins must ascend, and differ from one another")
    return Grouping(Bins(_column(column), tuple(map(edge_of, points))))


def buckets(column: str, low: Any, high: Any, number: int) -> Grouping:
    """By so many bins of one width from `low` to below `high`, as WIDTH_BUCKET numbers them: from 1
    on, with a group 0 for what is below and one more for what is above.
    """
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST_BINS:
        raise InputError(f"buckets are from 1 to {MOST_BINS:,}, got {shown(number)}")
    first = Number(exact(low, "low"))
    last = Number(exact(high, "high"))
    if first.value >= last.value:
        raise InputError(f"low must be below high, got {shown(low)} and {shown(high)}")
    return Grouping(WidthBucket(_column(column), first, last, number))


def expression(text: str) -> Grouping:
    """By an expression in SQL, such as a CASE whose labels are the keys.

    `BETWEEN first AND last` behind it declares the range of its keys, `IN (...)` lists them.

    >>> expression("CASE WHEN age < 30 THEN 'young' ELSE 'old' END").keyed().keys
    ('young', 'old')
    """
    return read_grouping(_text(text, "an expression to divide by"))


def discover(column: str, *, delta: Any) -> Discovery:
    """By a column whose keys nobody declared: `by.discover("dest", delta="1e-6")`.

    A draw finds those that many rows have, and the others are not told. That protects a person but
    for a chance of `delta`, so it should be far below one over the number of persons. A count, or
    an equal share of epsilon where none is asked for, pays for the draw.

    >>> discover("dest", delta="1e-6")
    Discovery(column='dest', delta=Fraction(1, 1000000))
    """
    return Discovery(_text(column, "a column to divide by"), check_delta(delta))


def _truncated(unit: str, column: str, first: End, last: End) -> Grouping:
    return _between(Truncate(unit_named(unit), _column(column)), first, last)


def _between(found: Truncate | Extract, first: End, last: End) -> Grouping:
    return Grouping(found, first, last)  # type: ignore[arg-type]  # texts become what keys are


def _column(name: object) -> Column:
    return Column(_text(name, "a column to divide by"), quoted=True)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} must be a text, got {shown(value)}")
    return value


def _kind(point: Any) -> str:
    if isinstance(point, date):
        return type(point).__name__
    return "number"
