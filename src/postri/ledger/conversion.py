"""From rho and delta to epsilon: Theorem 14, on a fixed grid of orders, in exact arithmetic.

For each order alpha the bound is a line in rho, `alpha * rho + c(alpha)`. The constants c do not
depend on rho: they are computed once per delta with ball arithmetic and rounded up. The smallest of
the lines is exact and increases with rho.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

# alpha - 1 is 2^exponent * (1 + part/PARTS). Two neighbours differ by at most 6 %, which moves the
# least line by less than 0.1 %.
PARTS, LOWEST, HIGHEST = 16, -12, 40
BITS, PRECISION = 100, 256


@dataclass(frozen=True)
class Lines:
    """The lines of one delta, by rising order; line i is the least one from the rho `-falling[i]`
    down to the next.
    """

    orders: tuple[Fraction, ...]
    constants: tuple[Fraction, ...]
    falling: tuple[Fraction, ...]

    def least(self, rho: Fraction) -> Fraction:
        """The smallest bound on epsilon; a bound below 0 means 0."""
        index = bisect_left(self.falling, -rho)
        return max(self.orders[index] * rho + self.constants[index], Fraction(0))


@lru_cache(maxsize=64)
def lines(delta: Fraction) -> Lines:
    """The lines of all orders below 1/delta: beyond it the bound only grows."""
    orders = tuple(order for order in _orders() if order * delta < 1)
    constants = tuple(_constant(order, delta) for order in orders)
    # Line i lies below line i+1 from this rho on. c is convex in alpha, so these fall with i.
    crossings = (
        (constants[i] - constants[i + 1]) / (orders[i + 1] - orders[i])
        for i in range(len(orders) - 1)
    )
    return Lines(orders, constants, tuple(-rho for rho in crossings))


def _orders() -> list[Fraction]:
    steps = [1 + Fraction(part, PARTS) for part in range(PARTS)]
    return [
        1 + Fraction(2) ** exponent * step for exponent in range(LOWEST, HIGHEST) for step in steps
    ]


def _constant(order: Fraction, delta: Fraction) -> Fraction:
    """log(1/(alpha*delta))/(alpha-1) + log(1-1/alpha), rounded up."""
    from flint import arb, ctx, fmpq

    def log(number: Fraction) -> arb:
        return arb(fmpq(number.numerator, number.denominator)).log()

    with ctx.workprec(PRECISION):
        gap = order - 1
        ball = log(1 / (order * delta)) * fmpq(gap.denominator, gap.numerator) + log(1 - 1 / order)
        top = (ball * (1 << BITS)).upper().fmpq()
    return Fraction(ceil(Fraction(int(top.p), int(top.q))), 1 << BITS)
