"""Exact numbers: a float means the decimal that it prints as, so 0.1 is 1/10."""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from numbers import Rational
from typing import Any

from postri.errors import InputError

SHORT, FARTHEST = 12, 400
# A parameter of a question has no more digits above or below its line: it is stored as text, added
# up with others and read again.
MOST_DIGITS = 60
LONGEST_TEXT = 200

# What is a number, whatever its length.
NUMBER = re.compile(
    r"[+-]?(?=\.?[0-9])[0-9]*\.?[0-9]*(e[+-]?[0-9]+)?(/0*[1-9][0-9]*)?", re.I | re.A
)
SCALARS = (int, float, str, Fraction, Decimal, date, timedelta, type(None))
# A list of so many scalars is a parameter; a longer one may be a column.
FEW = 3

Number = int | float | str | Fraction | Decimal


def exact(value: Any, name: str) -> Fraction:
    """The rational that a parameter means; InputError if it is not a finite number.

    >>> exact(0.1, "epsilon")
    Fraction(1, 10)
    >>> exact("1/3", "epsilon")
    Fraction(1, 3)
    """
    number = _rational(value)
    if number is not None:
        return number
    if _is_absurd(value):
        raise InputError(
            f"{name} must be a finite number of fewer digits and a smaller exponent, got "
            f"{shown(value)}"
        )
    raise InputError(f"{name} must be a finite number, got {shown(value)}")


def parameter(value: Any, name: str) -> Fraction:
    """The rational that a parameter of a question means, which must have few digits.

    >>> parameter("0.25", "epsilon")
    Fraction(1, 4)
    """
    number = exact(value, name)
    if max(abs(number.numerator), number.denominator) >= 10**MOST_DIGITS:
        raise InputError(
            f"{name} must have at most {MOST_DIGITS} digits, as a decimal or as a fraction, got "
            f"{shown(value)}"
        )
    return number


def _is_absurd(value: Any) -> bool:
    """Whether it may be a number, and one that takes too long to expand."""
    if isinstance(value, Decimal):
        return value.is_finite()
    if not isinstance(value, str):
        return False
    return NUMBER.fullmatch(value.strip()) is not None


def _rational(value: Any) -> Fraction | None:  # noqa: PLR0911  # one return a type
    if isinstance(value, bool):
        return None
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal):
        # A huge exponent would take for ever to expand; no parameter needs it.
        return Fraction(value) if value.is_finite() and abs(value.adjusted()) <= FARTHEST else None
    if isinstance(value, float):
        return _from_text(repr(float(value))) if isfinite(value) else None
    if isinstance(value, str):
        return _from_text(value)
    # NumPy's scalars print as the decimal that they mean, whatever their width.
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        return _from_text(str(value))
    return None


# Texts of parameters, which are public; most are those of the last question.
@lru_cache(maxsize=256)
def _from_text(text: str) -> Fraction | None:
    if len(text) > LONGEST_TEXT or abs(_exponent(text)) > FARTHEST:
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _exponent(text: str) -> int:
    _, _, digits = text.lower().partition("e")
    try:
        return int(digits or "0")
    except ValueError:
        return 0


def ceiling(number: float, factor: Fraction) -> int:
    """The least whole number that is not below their product, exactly.

    Whole numbers are much faster than fractions.

    >>> ceiling(0.5, Fraction(3)), ceiling(-0.5, Fraction(3))
    (2, -1)
    """
    numerator, denominator = number.as_integer_ratio()
    return -(-numerator * factor.numerator // (denominator * factor.denominator))


def shown(value: object) -> str:
    """A parameter as an error message shows it: short, and never with what a container holds, which
    may be data.
    """
    if not isinstance(value, SCALARS):
        return f"an object of type {type(value).__name__}"
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of some thousand digits.
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."


def shown_few(value: object) -> str:
    """A parameter that is written by hand, such as two bounds or the names of columns: a list or
    tuple of a few scalars is shown with them. A longer one may be a column of data.

    >>> shown_few((0, 10)), shown_few(["city"]), shown_few([1, 2, 3, 4]), shown_few([[1]])
    ('(0, 10)', "['city']", 'an object of type list', 'an object of type list')
    """
    if not isinstance(value, list | tuple) or not 0 < len(value) <= FEW:
        return shown(value)
    if not all(isinstance(each, SCALARS) for each in value):
        return shown(value)
    inside = ", ".join(shown(each) for each in value)
    if isinstance(value, list):
        return f"[{inside}]"
    if len(value) == 1:
        inside += ","
    return f"({inside})"


def plain(number: Fraction) -> str:
    """A rational as people write it: a decimal where it has a short one, else a fraction, else
    about what it is.

    >>> plain(Fraction(1, 2)), plain(Fraction(1, 3)), plain(Fraction(3)), plain(Fraction(1, 10**30))
    ('0.5', '1/3', '3', '1e-30')
    """
    text = written(number)
    brief = "/" not in text or max(abs(number.numerator), number.denominator) < 10**SHORT
    return text if brief else f"{Decimal(number.numerator) / Decimal(number.denominator):.6g}"


def written(number: Fraction) -> str:
    """A rational as text that means exactly it: a decimal where it has a short one, else a
    fraction.

    >>> written(Fraction(1, 2)), written(Fraction(1, 3))
    ('0.5', '1/3')
    """
    digits = decimal_places(number)
    if digits is not None and digits <= SHORT:
        return format(as_decimal(number, digits), "f")
    return str(number)


def decimal_places(number: Fraction) -> int | None:
    """How many decimal places write the number exactly; None if none do."""
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def as_decimal(number: Fraction, places: int) -> Decimal:
    """The number as a Decimal with this many places; it must have one."""
    scaled = number * 10**places
    digits = tuple(int(digit) for digit in str(abs(scaled.numerator)))
    return Decimal((int(scaled < 0), digits, -places))
