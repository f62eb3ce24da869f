"""What the dialects share."""

from __future__ import annotations

from datetime import date

from postri.engines.reading import Raw
from postri.errors import InputError
from postri.expressions.pattern import ESCAPE

MOST_DIGITS = 18
FURTHEST = 2**63 - 1
# A sum of whole numbers of 64 bits comes back in two parts: so many bits below, the rest above.
UNIT_BITS = 48
UNIT = 1 << UNIT_BITS
DAYS = ("DATE '0001-01-01'", "DATE '9999-12-31'")
EPOCH, EPOCH_DAY = "DATE '1970-01-01'", date(1970, 1, 1).toordinal()


def between(cell: str, low: str, high: str) -> str:
    """The cell, clamped. Unlike `least` and `greatest`, this leaves a null alone."""
    return f"CASE WHEN {cell} > {high} THEN {high} WHEN {cell} < {low} THEN {low} ELSE {cell} END"


def like(text: str, literal: str) -> str:
    """A comparison with a pattern that uses the escape character of all patterns."""
    return f"({text} LIKE {literal} ESCAPE '{ESCAPE}')"


def check_digits(declared: str, digits: int, scale: int) -> tuple[int, int]:
    if digits > MOST_DIGITS:
        raise InputError(
            f"the column has the declared type {declared}; cast it to a decimal of at most "
            f"{MOST_DIGITS} digits"
        )
    return digits, scale


def power(number: int, exponent: int) -> str:
    """A whole number times a power of ten, as an exact literal."""
    if exponent >= 0:
        return str(number * 10**exponent)
    digits = str(number).rjust(1 - exponent, "0")
    return f"{digits[:exponent]}.{digits[exponent:]}"


def decimal_text(raw: Raw, digits: int, scale: int) -> str:
    """A raw number of DECIMAL(digits, scale) as a decimal; one beyond its digits as the nearest
    within.
    """
    most = 10**digits - 1
    number = int(min(max(raw, -most), most))
    return f"{'-' if number < 0 else ''}{power(abs(number), -scale)}"


def date_literal(raw: Raw) -> str:
    """A day by its number since 1970-01-01.

    What lies outside the calendar is as good as infinite, as cells are that do.
    """
    if not date.min.toordinal() <= raw + EPOCH_DAY <= date.max.toordinal():
        return f"DATE '{'' if raw > 0 else '-'}infinity'"
    return f"DATE '{date.fromordinal(int(raw) + EPOCH_DAY).isoformat()}'"
