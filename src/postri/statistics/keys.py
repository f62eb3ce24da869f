"""Public keys of a column that a statistic is asked about: how they are read and written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal

from postri.errors import InputError
from postri.exact import exact, shown
from postri.expressions.kinds import read_day, read_moment

Key = str | int | Decimal | date
Keys = tuple[Key, ...]

# A part of a list: a text in single quotes, with a word before it for dates, or anything else.
PART = re.compile(r"\s*((?:\w+\s*)?'(?:[^']|'')*'|[^,']+)\s*(?:,|$)")
TYPED = re.compile(r"(?:(?P<kind>\w+)\s*)?'(?P<text>(?:[^']|'')*)'")
TRUTHS = {"true": True, "false": False}


def check_keys(keys: object) -> Keys | None:
    """The keys as given, or None for those of the policy; a list of texts in SQL's form is read.

    Whether they fit a column is found out when there is one.
    """
    if keys is None:
        return None
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise InputError(f"keys must be a list, such as ['Oslo', 'Bergen'], got {shown(keys)}")
    return tuple(keys)


def written_key(key: Key) -> str:
    """A key as a literal of SQL.

    >>> [written_key(key) for key in ("D'Or", 7, True, date(2024, 1, 31))]
    ["'D''Or'", '7', 'true', "DATE '2024-01-31'"]
    """
    if isinstance(key, str):
        escaped = key.replace("'", "''")
        return f"'{escaped}'"
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, datetime):
        return f"TIMESTAMP '{key.isoformat(' ')}'"
    if isinstance(key, date):
        return f"DATE '{key.isoformat()}'"
    if isinstance(key, Decimal):
        return format(key, "f")
    return str(key)


def read_keys(text: str) -> list[Key]:
    """The keys of a list of literals, or InputError.

    >>> read_keys("'D''Or', 7, true, DATE '2024-01-31'")
    ["D'Or", 7, True, datetime.date(2024, 1, 31)]
    """
    return [_read_key(part) for part in split_list(text)]


def split_list(text: str) -> list[str]:
    """The parts of a list between commas, outside of quotes."""
    parts = []
    at = 0
    while at < len(text):
        found = PART.match(text, at)
        if found is None:
            raise InputError(f"keys are literals with commas between them, got {shown(text)}")
        parts.append(found[1].strip())
        at = found.end()
    return parts


def _read_key(part: str) -> Key:
    typed = TYPED.fullmatch(part)
    if typed is not None:
        return _read_typed(part, (typed["kind"] or "").upper(), typed["text"].replace("''", "'"))
    if part.lower() in TRUTHS:
        return TRUTHS[part.lower()]
    try:
        number = exact(part, "a key")
    except InputError:
        raise InputError(
            f"a key is a number, a truth, or a text in single quotes such as 'Oslo', got "
            f"{shown(part)}"
        ) from None
    if number.denominator == 1:
        return int(number)
    return Decimal(part)


def _read_typed(part: str, kind: str, text: str) -> Key:
    if kind == "":
        return text
    if kind == "DATE":
        return read_day(text)
    if kind == "TIMESTAMP":
        return read_moment(text)
    raise InputError(f"a key is a text in single quotes, DATE '...' or TIMESTAMP '...', got {part}")
