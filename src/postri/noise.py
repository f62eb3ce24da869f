"""Additive noise whose distribution is public: how far it reaches follows from no data, so its
interval is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil


@dataclass(frozen=True)
class DiscreteLaplace:
    """Whole numbers z with a chance in proportion to exp(-|z| / scale)."""

    scale: Fraction

    def reach(self, beta: Fraction) -> int:
        """The least whole number that the noise passes, to either side, with probability at most
        beta.

        >>> DiscreteLaplace(Fraction(1)).reach(Fraction(1, 20))
        3
        """
        return _reach(self.scale, beta)


@lru_cache(maxsize=4096)
def _reach(scale: Fraction, beta: Fraction) -> int:
    """With q = exp(-1/scale), more than w is passed with probability 2 q^(w+1) / (1+q): so w + 1 >=
    scale * ln(2 / (beta (1+q))).
    """
    from flint import arb, ctx, fmpq

    precision = 128 + scale.numerator.bit_length() + beta.denominator.bit_length()
    while True:
        with ctx.workprec(precision):
            wide, chance = (
                arb(fmpq(number.numerator, number.denominator)) for number in (scale, beta)
            )
            least = wide * (2 / (chance * (1 + (-1 / wide).exp()))).log()
            low, high = (
                ceil(Fraction(int(end.p), int(end.q)))
                for end in (least.lower().fmpq(), least.upper().fmpq())
            )
        if low == high:
            return max(0, high - 1)
        precision *= 2
