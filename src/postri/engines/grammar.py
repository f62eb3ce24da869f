"""The one grammar of cells without a declared type: items of lists and object arrays, and texts of
CSV files.

    number    = [sign] (digits ["." [digits]] | "." digits) [("e" | "E") [sign] digits]
    infinity  = [sign] ("inf" | "infinity"), in any case
    date      = YYYY-MM-DD
    timestamp = date, then optionally (" " | "T") HH:MM[:SS[.ffffff]] and an offset
                (Z | ±HH | ±HHMM | ±HH:MM)

White space around a number, a date or a timestamp is ignored; every blank of a text counts. Digits
are ASCII. Numbers from 10^1000 on count as infinite, and digits after the thousandth that matters
are ignored. A timestamp with an offset is that instant in UTC, one without is taken as UTC; one
with parts of a microsecond is not read. An object counts as what it is: a whole number, a fraction,
a decimal, a float (by its exact binary value), a date, a datetime. True, False, None, NaN and
everything else are dropped, without an error.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import inf, isinf, isnan
from typing import Any

import numpy as np

from postri.columns import BOOLEAN, ColumnType, Kind
from postri.domain import position
from postri.engines.reading import index_of
from postri.grid import Grid

NUMBER = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:e([+-]?\d+))?", re.ASCII | re.IGNORECASE)
INFINITY = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
TIMESTAMP = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
BLANKS = " \t\r\n\f\v"
# No domain reaches this many decimal digits; a longer number is as good as infinite, or as good as
# zero.
FAR = 1_000
# The largest whole number of 64 bits.
FURTHEST = 2**63 - 1

Cell = Fraction | float


def read_index(cell: Any, grid: Grid, *, whole: bool) -> int | None:
    """The grid index of an untyped cell, or None if it is dropped.

    `whole` reads whole numbers only.
    """
    number = read(cell, grid.kind)
    if number is None:
        return None
    if isinstance(number, float):
        return grid.last if number > 0 else grid.first
    if whole and number.denominator != 1:
        return None
    return index_of(number, grid)


def read(cell: Any, kind: Kind) -> Cell | None:
    """The number that a cell means on a grid of this kind, an infinity, or None."""
    if isinstance(cell, str):
        cell = cell.strip(BLANKS)
        return _number(cell) if kind == "number" else _moment(cell, kind)
    try:
        return _object_number(cell) if kind == "number" else _object_moment(cell, kind)
    except Exception:
        # Whatever an odd object does when it is looked at, it is dropped: an error would tell of
        # it.
        return None


def reads_whole(column: ColumnType, grid: Grid) -> bool:
    """Whether untyped cells are read as whole numbers, because they were declared so."""
    return grid.kind == "number" and column.unit == 1


def read_as(cell: Any, wanted: ColumnType) -> str | int | float | None:
    """An untyped cell as the raw cell of this type; None if it cannot be read as one."""
    if wanted.kind == "text":
        return _as_text(cell)
    if wanted == BOOLEAN:
        return int(cell) if isinstance(cell, bool | np.bool_) else None
    number = read(cell, wanted.kind or "number")
    if number is None:
        return None
    if wanted.unit is None:
        return _as_float(number)
    return _as_multiple(number, wanted.unit)


def key_of(cell: Any, wanted: ColumnType) -> str | Fraction | float | None:
    """An untyped cell as what keys of this type are."""
    if wanted.kind == "text":
        return _as_text(cell)
    if wanted == BOOLEAN:
        return Fraction(int(cell)) if isinstance(cell, bool | np.bool_) else None
    return read(cell, wanted.kind or "number")


def unit_of(cell: Any, declared: ColumnType) -> str | None:
    """The text of an untyped unit: of text and of whole numbers, or of whole numbers alone where
    they were declared.
    """
    if declared.kind == "number":
        return _as_whole(cell)
    if isinstance(cell, int | np.integer) and not isinstance(cell, bool | np.timedelta64):
        return _digits(int(cell))
    return _as_text(cell)


def is_present(cell: Any, declared: ColumnType) -> bool:
    """Whether an untyped cell can be read as what was declared; as anything, if nothing was."""
    if declared.kind is None:
        # NaN is the one number that differs from itself.
        return cell is not None and not (isinstance(cell, float | np.floating) and cell != cell)  # noqa: PLR0124
    if is_whole(declared):
        return _as_whole(cell) is not None
    return read_as(cell, declared) is not None


def is_whole(declared: ColumnType) -> bool:
    """Whether whole numbers were declared."""
    return declared.unit == 1 and declared.kind == "number" and declared != BOOLEAN


def _as_text(cell: Any) -> str | None:
    """A text with all its blanks, as in every database; None for everything else."""
    return cell if isinstance(cell, str) else None


def _as_whole(cell: Any) -> str | None:
    number = read(cell, "number")
    if isinstance(number, Fraction) and number.denominator == 1:
        return _digits(number.numerator)
    return None


def _as_multiple(number: Cell, unit: Fraction) -> int | None:
    """How many units a number is; an infinity lies beyond all others. None if that is not whole."""
    if isinstance(number, float):
        return FURTHEST if number > 0 else -FURTHEST
    raw = number / unit
    if raw.denominator != 1:
        return None
    return min(max(int(raw), -FURTHEST - 1), FURTHEST)


def _digits(whole: int) -> str:
    try:
        return str(whole)
    except ValueError:  # Python writes no whole number of some thousand digits, except like this.
        return hex(whole)


def _as_float(number: Cell) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _number(text: str) -> Cell | None:
    if text.isdigit() and text.isascii() and len(text) < 19:
        return Fraction(int(text))
    if found := INFINITY.fullmatch(text):
        return -inf if found[1] == "-" else inf
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    return _assembled(found[1] == "-", found[2], found[3] or "0")


def _assembled(negative: bool, digits: str, exponent: str) -> Cell:
    whole, _, part = digits.partition(".")
    mantissa = (whole + part).lstrip("0")
    if not mantissa:
        return Fraction(0)
    # The number is 0.mantissa * 10^power.
    power = len(mantissa) - len(part) + _power(exponent)
    if power > FAR:
        return -inf if negative else inf
    digits = mantissa[:FAR]
    number = Fraction(int(digits), 10 ** len(digits)) * Fraction(10) ** max(power, -FAR)
    return -number if negative else number


def _power(exponent: str) -> int:
    """The exponent, or one that is far enough: Python reads no number of some thousand digits."""
    digits = exponent.lstrip("+-").lstrip("0")
    size = int(digits or "0") if len(digits) < 9 else 10**9
    return -size if exponent.startswith("-") else size


def _object_number(cell: Any) -> Cell | None:
    if isinstance(cell, bool | np.bool_ | np.timedelta64):
        return None
    if isinstance(cell, int | np.integer):
        return Fraction(int(cell))
    if isinstance(cell, float | np.floating):
        with np.errstate(over="ignore"):
            return _float_number(float(cell))
    if isinstance(cell, Fraction):
        return cell
    if isinstance(cell, Decimal):
        return _number(str(cell))
    return None


def _float_number(number: float) -> Cell | None:
    if isnan(number):
        return None
    return number if isinf(number) else Fraction(number)


def _moment(text: str, kind: Kind) -> Cell | None:
    try:
        if kind == "date" and DATE.fullmatch(text):
            return _object_moment(date.fromisoformat(text), kind)
        if kind != "date" and TIMESTAMP.fullmatch(text):
            return _object_moment(datetime.fromisoformat(text), kind)
        return None
    except (ValueError, OverflowError):
        # No such day, or a zone that pushes it past the calendar's end.
        return None


def _object_moment(cell: Any, kind: Kind) -> Cell | None:
    if isinstance(cell, np.datetime64):
        if np.isnat(cell):
            return None
        unit = "D" if kind == "date" else "us"
        whole = cell.astype(f"datetime64[{unit}]")
        cell = whole.item() if whole == cell else None
    is_day = isinstance(cell, date) and not isinstance(cell, datetime)
    if kind == "date":
        return position(cell) if is_day else None
    if is_day:
        cell = datetime(cell.year, cell.month, cell.day)
    if not isinstance(cell, datetime):
        return None
    if getattr(cell, "nanosecond", 0) != 0:
        return None
    return position(cell)
