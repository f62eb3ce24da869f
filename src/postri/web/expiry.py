"""When a token expires, as people write it."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from postri.errors import InputError
from postri.exact import shown

UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
SPAN = re.compile(r"([0-9]{1,6})([dhms])", re.ASCII)


def read_expiry(text: object, now: datetime | None = None) -> datetime:
    """A span from now, such as 90d or 12h, or a day, through whose end (in UTC) the token is valid,
    or a timestamp.

    >>> read_expiry("2027-01-31").isoformat(), read_expiry("2d", datetime(2027, 1, 30, tzinfo=UTC)).isoformat()
    ('2027-02-01T00:00:00+00:00', '2027-02-01T00:00:00+00:00')
    """
    try:
        if isinstance(text, str):
            return _read(text.strip(), now or datetime.now(UTC))
    except (ValueError, OverflowError):
        pass
    raise InputError(
        f"expires must be a span or a day, such as 90d or 2027-01-31, got {shown(text)}"
    )


def _read(text: str, now: datetime) -> datetime:
    if span := SPAN.fullmatch(text):
        return now + timedelta(**{UNITS[span[2]]: int(span[1])})
    if len(text) <= len("2027-01-31"):
        day = date.fromisoformat(text) + timedelta(days=1)
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    moment = datetime.fromisoformat(text)
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)
