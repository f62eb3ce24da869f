"""Logarithms as rationals that are safe to compute with: public numbers in, rigorous bounds out."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

from postri.mechanisms.noisy_max import BOOST_BITS


@lru_cache(maxsize=4096)
def boost(number: Fraction) -> int:
    """ln(number) in units of 2^-BOOST_BITS, rounded up: a bonus, fixed once and for all."""
    return _upper(number)


@lru_cache(maxsize=4096)
def log_above(number: Fraction) -> Fraction:
    """A rational at or above ln(number), by less than 2^(1 - BOOST_BITS)."""
    return Fraction(_upper(number), 1 << BOOST_BITS)


def _upper(number: Fraction) -> int:
    """ln(number) * 2^BOOST_BITS rounded up, or one more."""
    from flint import arb, ctx, fmpq

    with ctx.workprec(256):
        ball = arb(fmpq(number.numerator, number.denominator)).log() * (1 << BOOST_BITS)
        top = ball.upper().fmpq()
    return ceil(Fraction(int(top.p), int(top.q)))
