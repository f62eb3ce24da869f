"""The one grammar of cells without a declared type: items of lists and object arrays, and texts of
CSV files.

    number    = [sign] (digits ["." [digits]] | "." digits) [("e" | "E") [sign] digits]
    infinity  = [sign] ("inf" | "infinity"), in any case
    date      = YYYY-MM-DD
    timestamp = date, then optionally (" " | "T") HH:MM[:SS[.ffffff]] and a zone (Z | ±HH:MM)

White space around a cell is ignored; digits are ASCII. Numbers from 10^1000 on count as infinite,
and digits after the thousandth that matters are ignored. A timestamp is read if it has a zone just
where the domain has one, and no part of a microsecond. An object counts as what it is: a whole
number, a fraction, a decimal, a float (by its exact binary value), a date, a datetime. True, False,
None, NaN and everything else are dropped, without an error.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import inf, isinf, isnan
from typing import Any

import numpy as np

from postri.columns import Kind
from postri.domain import position
from postri.engines.reading import index_of
from postri.grid import Grid

NUMBER = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:e([+-]?\d+))?", re.ASCII | re.IGNORECASE)
INFINITY = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
TIMESTAMP = re.compile(
    r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
BLANKS = " \t\r\n\f\v"
# No domain reaches this many decimal digits; a longer number is as good as infinite, or as good as
# zero.
FAR = 1_000

Cell = Fraction | float


def read_index(cell: Any, grid: Grid, *, whole: bool) -> int | None:
    """The grid index of an untyped cell, or None if it is dropped.

    `whole` reads whole numbers only.
    """
    number = read(cell, grid.kind, zoned=grid.zoned)
    if number is None:
        return None
    if isinstance(number, float):
        return grid.last if number > 0 else grid.first
    return None if whole and number.denominator != 1 else index_of(number, grid)


def read(cell: Any, kind: Kind, *, zoned: bool = False) -> Cell | None:
    """The number that a cell means on a grid of this kind, an infinity, or None if it means none."""
    if isinstance(cell, str):
        cell = cell.strip(BLANKS)
        return _number(cell) if kind == "number" else _moment(cell, kind, zoned)
    try:
        return _object_number(cell) if kind == "number" else _object_moment(cell, kind, zoned)
    except Exception:
        # Whatever an odd object does when it is looked at, it is dropped: an error would tell of
        # it.
        return None


def _number(text: str) -> Cell | None:
    if text.isdigit() and text.isascii() and len(text) < 19:
        return Fraction(int(text))
    if found := INFINITY.fullmatch(text):
        return -inf if found[1] == "-" else inf
    found = NUMBER.fullmatch(text)
    return _assembled(found[1] == "-", found[2], found[3] or "0") if found else None


def _assembled(negative: bool, digits: str, exponent: str) -> Cell:
    whole, _, part = digits.partition(".")
    mantissa = (whole + part).lstrip("0")
    if not mantissa:
        return Fraction(0)
    # The number is 0.mantissa * 10^power.
    power = len(mantissa) - len(part) + _power(exponent)
    if power > FAR:
        return -inf if negative else inf
    number = Fraction(int(mantissa[:FAR]), 10 ** len(mantissa[:FAR])) * Fraction(10) ** max(
        power, -FAR
    )
    return -number if negative else number


def _power(exponent: str) -> int:
    """The exponent, or one that is far enough:

    Python refuses to read numbers of some thousand digits.
    """
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
            number = float(cell)
        return None if isnan(number) else number if isinf(number) else Fraction(number)
    if isinstance(cell, Fraction):
        return cell
    return _number(str(cell)) if isinstance(cell, Decimal) else None


def _moment(text: str, kind: Kind, zoned: bool) -> Cell | None:
    pattern, reader = (
        (DATE, date.fromisoformat) if kind == "date" else (TIMESTAMP, datetime.fromisoformat)
    )
    try:
        return _object_moment(reader(text), kind, zoned) if pattern.fullmatch(text) else None
    except (ValueError, OverflowError):
        # No such day, or a zone that pushes it past the calendar's end.
        return None


def _object_moment(cell: Any, kind: Kind, zoned: bool) -> Cell | None:
    if isinstance(cell, np.datetime64):
        if np.isnat(cell):
            return None
        whole = cell.astype("datetime64[D]" if kind == "date" else "datetime64[us]")
        cell = whole.item() if whole == cell else None
    if kind == "date":
        return position(cell) if isinstance(cell, date) and not isinstance(cell, datetime) else None
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = datetime(cell.year, cell.month, cell.day)
    if (
        not isinstance(cell, datetime)
        or (cell.tzinfo is not None) != zoned
        or getattr(cell, "nanosecond", 0) != 0
    ):
        return None
    return position(cell)
