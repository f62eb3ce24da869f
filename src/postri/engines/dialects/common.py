"""What the dialects share."""

from __future__ import annotations

from postri.columns import NO_ORDER
from postri.errors import InputError

MOST_DIGITS = 18
FURTHEST = 2**63 - 1
DAYS = ("DATE '0001-01-01'", "DATE '9999-12-31'")
EPOCH = "DATE '1970-01-01'"


def between(cell: str, low: str, high: str) -> str:
    """The cell, clamped. Unlike `least` and `greatest`, this leaves a null alone."""
    return f"CASE WHEN {cell} > {high} THEN {high} WHEN {cell} < {low} THEN {low} ELSE {cell} END"


def check_digits(declared: str, digits: int, scale: int) -> tuple[int, int]:
    if digits > MOST_DIGITS:
        raise InputError(f"the column has the declared type {declared}; cast it to a decimal of at most {MOST_DIGITS} digits")
    return digits, scale


def no_order(column: str, declared: str) -> InputError:
    return InputError(f"the column {column!r} has the declared type {declared}, {NO_ORDER}")
