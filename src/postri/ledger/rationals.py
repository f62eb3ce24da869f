"""Rational numbers as the ledger stores them."""

from __future__ import annotations

from fractions import Fraction


def rational(text: str) -> Fraction:
    """The number that was stored; ValueError if it is not one of ours.

    >>> rational("1/3")
    Fraction(1, 3)
    """
    numerator, _, denominator = text.partition("/")
    if not (text.isascii() and numerator.isdigit() and (denominator or "1").isdigit()):
        raise ValueError("not a rational number of the ledger")
    return Fraction(int(numerator), int(denominator or 1))
