"""Rational numbers as the ledger stores them."""

from __future__ import annotations

from fractions import Fraction

from postri.errors import LedgerError


def rational(text: str) -> Fraction:
    """The number that was stored; LedgerError if it is not one of ours.

    >>> rational("1/3")
    Fraction(1, 3)
    """
    try:
        numerator, _, denominator = text.partition("/")
        if text.isascii() and numerator.isdigit() and (denominator or "1").isdigit():
            return Fraction(int(numerator), int(denominator or 1))
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        pass  # Whatever else stands there, the ledger did not write it.
    raise LedgerError(
        "the ledger holds an amount that is no number: verify it, and put back a backup"
    )
