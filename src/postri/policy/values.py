"""How single values of a policy are read.

Each function takes what is read, for its message, and the value that TOML gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from postri.domain import position
from postri.engines.rows import Key
from postri.errors import InputError, nearest
from postri.exact import as_decimal, decimal_places, exact, parameter, plain, shown
from postri.ledger import is_database
from postri.privacy import LARGEST_DELTA, LARGEST_EPSILON, SMALLEST_EPSILON, check_share

SIZES = {"MB": 10**6, "GB": 10**9}
SIZE = re.compile(r"([0-9]{1,6}) ?(MB|GB)", re.ASCII)
LEAST_SIZE = 100 * SIZES["MB"]
FULL_TIME = re.compile(r"at the next full (?:([0-9]{1,2}) )?(second|minute|hour)s?", re.ASCII)
FULL_UNITS = {"second": 1, "minute": 60, "hour": 3600}
ON_THE_GRID = "on the time grid"
ACCEPTED = re.compile(r"up to ([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%", re.ASCII)


def given(value: object) -> str:
    """A value as the file writes it, or what it is."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "a table"
    return shown(value)


def a_table(what: str, value: object) -> Mapping[str, Any]:
    """A table of keys and values."""
    if not isinstance(value, dict):
        raise InputError(f"{what} must be a table, got {given(value)}")
    return value


def a_list(what: str, value: object) -> list[Any]:
    """A list that is not empty."""
    if isinstance(value, list) and value:
        return value
    got = given(value)
    if value == []:
        got = "an empty list"
    raise InputError(f'{what} must be a list, such as {what} = ["one", "two"], got {got}')


def a_file(what: str, value: object, folder: Path) -> Path:
    """The path of a file, as seen from a folder."""
    if "://" in a_name(what, value):
        raise InputError(f"{what} must be the path of a file, not a URL")
    return folder / str(value)


def a_ledger_place(what: str, value: object, folder: Path) -> Path | str:
    """The path of a file, as seen from a folder, or the URL of a PostgreSQL database."""
    name = a_name(what, value)
    if is_database(name):
        return name
    if "://" in name:
        # Not shown: a URL may hold a password.
        raise InputError(
            f"{what} must be the path of a file, or the URL of a PostgreSQL database, such as "
            '"postgresql://user@host/database"'
        )
    return a_file(what, value, folder)


def a_text(what: str, value: object) -> str:
    """A text, perhaps empty."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be text in quotes, got {given(value)}")
    return value


def a_name(what: str, value: object) -> str:
    """A text that is not empty."""
    if a_text(what, value) == "":
        raise InputError(f"{what} must not be empty")
    return str(value)


def a_version(what: str, value: object) -> str:
    """A text, or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return a_name(what, value)


def a_number(what: str, value: object) -> Fraction:
    """An exact number, as TOML or as text."""
    # A truth is a number to Python, not to a steward.
    if isinstance(value, bool | date | time | list | dict):
        raise InputError(f"{what} must be a number, got {given(value)}")
    return exact(value, what)


def an_epsilon(what: str, value: object) -> Fraction:
    """A positive number that is an epsilon, or a sum of some."""
    number = a_number(what, value)
    if not 0 < number <= LARGEST_EPSILON:
        raise InputError(
            f"{what} must be positive and at most {LARGEST_EPSILON}, got {given(value)}"
        )
    if number < SMALLEST_EPSILON:
        raise InputError(
            f"{what} must be at least 1e-12, got {given(value)}: no question may cost less"
        )
    return parameter(value, what)


def a_share(what: str, value: object) -> Fraction:
    """A number strictly between 0 and 1."""
    a_number(what, value)
    return check_share(value, what)  # type: ignore[arg-type]  # it was read as a number


def a_delta(what: str, value: object) -> Fraction:
    """With which probability the promise may fail altogether: that must be next to never."""
    share = a_share(what, value)
    if share > LARGEST_DELTA:
        raise InputError(
            f"{what} must be at most {plain(LARGEST_DELTA)}, got {given(value)}: with that "
            "probability the promise may fail altogether, so it should be far below one over the "
            'number of persons, such as "1e-6"'
        )
    return share


def an_accepted_share(what: str, value: object) -> Fraction:
    """The share of cells that may be lost: "up to 2%"."""
    found = ACCEPTED.fullmatch(value) if isinstance(value, str) else None
    if found is None or Fraction(found[1]) > 100:
        raise InputError(
            f'{what} must say how many cells may be lost, such as "up to 2%", got {given(value)}'
        )
    return Fraction(found[1]) / 100


def a_whole(what: str, value: object) -> int:
    """A whole number."""
    number = a_number(what, value)
    if number.denominator != 1:
        raise InputError(f"{what} must be a whole number, got {given(value)}")
    return int(number)


def a_count(what: str, value: object) -> int:
    """A whole number of at least 1."""
    number = a_whole(what, value)
    if number < 1:
        raise InputError(f"{what} must be at least 1, got {given(value)}")
    return number


def a_whole_between(what: str, value: object, low: int, high: int) -> int:
    """A whole number from low to high."""
    number = a_whole(what, value)
    if not low <= number <= high:
        raise InputError(f"{what} must be from {low} to {high}, got {given(value)}")
    return number


def a_size(what: str, value: object) -> int:
    """A size of memory in bytes: "2GB" or "500MB"."""
    found = SIZE.fullmatch(value) if isinstance(value, str) else None
    size = 0
    if found is not None:
        size = int(found[1]) * SIZES[found[2]]
    if size < LEAST_SIZE:
        raise InputError(
            f'{what} must be a size of at least 100MB, such as "2GB" or "500MB", got {given(value)}'
        )
    return size


def some_seconds(what: str, value: object, low: Fraction | int = 0, high: int = 86_400) -> Fraction:
    """A time in seconds, from low to high."""
    number = a_number(what, value)
    if not low <= number <= high:
        raise InputError(
            f"{what} must be from {plain(Fraction(low))} to {high} seconds, got {given(value)}"
        )
    return number


def an_address(what: str, value: object) -> tuple[str, int]:
    """A host and a port to listen on.

    >>> an_address("metrics", "127.0.0.1:9464"), an_address("metrics", "[::1]:9464")
    (('127.0.0.1', 9464), ('::1', 9464))
    """
    host, _, port = a_name(what, value).rpartition(":")
    is_port = port.isascii() and port.isdigit() and len(port) <= len("65535")
    if not host or not is_port or int(port) > 65_535:
        raise InputError(
            f'{what} must be a host and a port, such as {what} = "127.0.0.1:9464", got '
            f"{given(value)}"
        )
    return host.removeprefix("[").removesuffix("]"), int(port)


def an_issuer(what: str, value: object) -> str:
    """The address of an issuer of tokens: over TLS, or on this machine."""
    text = a_name(what, value)
    if not is_safe_url(text) or "?" in text or "#" in text:
        raise InputError(
            f"{what} must be the address of an issuer as its tokens name it, such as {what} = "
            f'"https://login.example.org", got {given(value)}'
        )
    return text


def is_safe_url(text: str) -> bool:
    """Whether nobody on the way can change what comes from there: TLS, or this machine itself.

    >>> is_safe_url("https://login.example.org/lab"), is_safe_url("http://login.example.org")
    (True, False)
    """
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        # Raises if it is none.
        _ = parts.port
    except ValueError:
        return False
    if parts.username is not None or not text.isascii() or not text.isprintable() or " " in text:
        return False
    is_here = host in ("127.0.0.1", "::1", "localhost")
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_here))


def answer_times(what: str, value: object) -> int:
    """When answers leave, as the seconds between two fixed times; 0 for on the time grid.

    >>> answer_times("answers", "at the next full minute")
    60
    >>> answer_times("answers", "at the next full 10 seconds")
    10
    """
    words = a_name(what, value)
    if words == ON_THE_GRID:
        return 0
    found = FULL_TIME.fullmatch(words)
    if found is None:
        raise InputError(
            f'{what} must be "{ON_THE_GRID}", or at fixed times, such as "at the next full minute" '
            f'or "at the next full 10 seconds", got {given(value)}'
        )
    number = int(found[1] or 1)
    of_a_larger = 60
    if found[2] == "hour":
        of_a_larger = 24
    if number == 0 or of_a_larger % number:
        raise InputError(
            f"{what} must be at times that every day has alike: a number of {found[2]}s that "
            f"divides {of_a_larger}, got {number}"
        )
    return number * FULL_UNITS[found[2]]


def a_decimal(what: str, value: object) -> int | Decimal:
    """A number that a decimal writes exactly."""
    number = a_number(what, value)
    places = decimal_places(number)
    if places is None:
        raise InputError(f"{what} must be a finite decimal, got {given(value)}")
    if places == 0:
        return int(number)
    return as_decimal(number, places)


def a_truth(what: str, value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InputError(f"{what} must be true or false, got {given(value)}")
    return value


def a_day(what: str, value: object) -> date:
    """A date, as TOML or as ISO text."""
    day = value
    if isinstance(value, str):
        try:
            day = date.fromisoformat(value)
        except ValueError:
            day = None
    if isinstance(day, date) and not isinstance(day, datetime):
        return day
    raise InputError(f"{what} must be a date, such as 2024-01-31, got {given(value)}")


def a_moment(what: str, value: object) -> datetime:
    """A timestamp, as TOML or as ISO text; a date is its first moment."""
    moment = value
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
        elif isinstance(value, date) and not isinstance(value, datetime):
            moment = datetime(value.year, value.month, value.day)
        if isinstance(moment, datetime):
            # A zone may push it past the calendar's end.
            position(moment)
            return moment
    except (ValueError, OverflowError):
        pass
    raise InputError(f"{what} must be a timestamp, such as 2024-01-31T18:30:00, got {given(value)}")


def a_choice(what: str, value: object, known: Iterable[str]) -> str:
    """One of these texts."""
    names = list(known)
    if isinstance(value, str) and value in names:
        return value
    hint = "there are: " + ", ".join(map(repr, names))
    if isinstance(value, str):
        hint = nearest(value, names)
    raise InputError(f"{what} cannot be {given(value)}; {hint}")


# How the keys of a column are read, by its type. Floats are rounded, so they have none.
KEYS: Mapping[str, Callable[[str, object], Key]] = {
    "text": a_text,
    "boolean": a_truth,
    "integer": a_whole,
    "decimal": a_decimal,
    "date": a_day,
    "timestamp": a_moment,
}


def a_key(declared: str, value: object) -> Key:
    """A public key of a column of this type."""
    return KEYS[declared](f"a key of a column of type {declared}", value)


def a_bound(what: str, value: object, declared: str) -> str | int | float:
    """A bound of a column of this type, as a domain reads it and as its messages show it well."""
    if declared == "date":
        return a_day(what, value).isoformat()
    if declared == "timestamp":
        return a_moment(what, value).isoformat()
    a_number(what, value)
    return value  # type: ignore[return-value]  # it was read as a number
