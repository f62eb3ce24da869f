"""The kinds of values, the literals of dates and timestamps, and the keys of groups."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from enum import Enum

from postri.columns import BOOLEAN, DATE, TEXT, ColumnType, float_type, timestamp_type
from postri.domain import position
from postri.errors import InputError
from postri.exact import shown

# What a group is known by, and how many there may be.
Key = str | int | Decimal | date
MOST_KEYS = 100_000

DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d(?::\d\d)?)?)?", re.ASCII
)


class Kind(Enum):
    """What a value is, in words."""

    NUMBER = "a number"
    TEXT = "a text"
    TRUTH = "a condition"
    DATE = "a date"
    TIMESTAMP = "a timestamp without a time zone"
    ZONED = "a timestamp with a time zone"


CALENDAR = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.ZONED})
# How the cells of a column without a type are read where they are used as this kind.
READ_AS = {
    Kind.NUMBER: float_type(64),
    Kind.TEXT: TEXT,
    Kind.TRUTH: BOOLEAN,
    Kind.DATE: DATE,
    Kind.TIMESTAMP: timestamp_type("timestamp", 10**6),
    Kind.ZONED: timestamp_type("timestamp", 10**6, zoned=True),
}


def kind_of_type(declared: ColumnType) -> Kind | None:
    """The kind of a column's cells; None for a column without a type."""
    if declared.kind is None:
        return None
    if declared.kind == "timestamp":
        return Kind.ZONED if declared.zoned else Kind.TIMESTAMP
    if declared == BOOLEAN:
        return Kind.TRUTH
    return {"number": Kind.NUMBER, "date": Kind.DATE, "text": Kind.TEXT}[declared.kind]


def read_day(text: str) -> date:
    """The date that a literal means."""
    try:
        if DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise InputError(f"{shown(text)} is not a date; write DATE '2024-01-31'")


def read_moment(text: str) -> datetime:
    """The timestamp that a literal means, with a time zone where it has one."""
    try:
        if MOMENT.fullmatch(text):
            moment = datetime.fromisoformat(text)
            position(moment)
            return moment
    except (ValueError, OverflowError):
        pass
    raise InputError(
        f"{shown(text)} is not a timestamp; write TIMESTAMP '2024-01-31 18:30:00', with "
        "+00:00 at its end for a time zone"
    )
