"""What a source declares about a column: a fact of its type, never of its values."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from postri.errors import InputError

NO_ORDER = "which has no order of numbers; choose a column of numbers, dates or timestamps"

# How many characters a text may have, unless a policy says otherwise. A longer one cannot be read,
# like any cell that cannot: so what a row costs has a bound that is public.
MAX_TEXT = 10_000

Kind = Literal["number", "date", "timestamp"]
CellKind = Kind | Literal["text"]


@dataclass(frozen=True)
class ColumnType:
    """The declared type of a column.

    A cell is stored as a whole number `raw` and means `raw * unit` (for dates: days since
    1970-01-01, for timestamps: seconds since 1970-01-01 UTC), or as a float, decimal or text where
    `unit` is None. `low` and `high` bound `raw`. A column of which nothing is declared has no kind:
    the domain decides how its cells are read. `zoned` is None for texts of timestamps, which may
    have an offset or none. Where a column is `complete`, no cell of it can be missing: an array of
    machine integers has no room for that.
    """

    name: str
    kind: CellKind | None = "number"
    unit: Fraction | None = None
    low: int | None = None
    high: int | None = None
    zoned: bool | None = False
    complete: bool = field(default=False, compare=False)


def integer_type(bits: int, *, signed: bool = True) -> ColumnType:
    """The type of a column of machine integers."""
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return ColumnType(f"{'int' if signed else 'uint'}{bits}", unit=Fraction(1), low=low, high=high)


def float_type(bits: int) -> ColumnType:
    """The type of a column of binary floating-point numbers."""
    return ColumnType(f"float{bits}")


def decimal_type(digits: int, scale: int) -> ColumnType:
    """The type of DECIMAL(digits, scale)."""
    largest = 10**digits - 1
    return ColumnType(
        f"decimal({digits},{scale})",
        unit=Fraction(1, 10**scale) if scale >= 0 else Fraction(10**-scale),
        low=-largest,
        high=largest,
    )


def timestamp_type(name: str, units_per_second: int, *, zoned: bool | None = False) -> ColumnType:
    """The type of a column of timestamps, counted in whole units."""
    return ColumnType(
        name, "timestamp", Fraction(1, units_per_second), -(2**63) + 1, 2**63 - 1, zoned
    )


def text_type(name: str) -> ColumnType:
    """The type of a column of text, which has no order of numbers."""
    return ColumnType(name, "text")


def no_order(column: object, declared: str) -> InputError:
    """The error for a question about a column that has no quantiles."""
    return InputError(f"the column {column!r} has the declared type {declared}, {NO_ORDER}")


BOOLEAN = ColumnType("boolean", unit=Fraction(1), low=0, high=1)
DATE = ColumnType("date", "date", Fraction(1), -(2**31), 2**31 - 1)
TEXT = text_type("text")
UNTYPED = ColumnType("untyped", kind=None)

# What a user may declare of a column whose source declares nothing.
DECLARABLE = {
    "integer": ColumnType("integer", unit=Fraction(1), low=-(2**63), high=2**63 - 1),
    "decimal": ColumnType("decimal"),
    "float": ColumnType("float"),
    "date": DATE,
    "timestamp": timestamp_type("timestamp", 10**6, zoned=None),
    "text": TEXT,
}
