"""Accountants: what the costs of many questions mean together, as one epsilon.

`Pure` adds up epsilons. `ZCDP` adds up rhos, and turns their sum and a delta into an epsilon by
Theorem 14, on a fixed grid of orders, in exact arithmetic. For each order alpha the bound is a line
in rho, `alpha * rho + c(alpha)`. The constants c do not depend on rho: they are computed once per
delta with ball arithmetic and rounded up. The smallest of the lines is exact and increases with
rho.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from postri.cost import Cost
from postri.errors import InputError, LedgerError
from postri.exact import plain, shown
from postri.privacy import LARGEST_DELTA

# An epsilon of zCDP is rounded up to a multiple of one part.
EPSILON_PARTS = 10**12

# The orders: alpha - 1 is 2^exponent * (1 + part/PARTS). Two neighbours differ by at most 6 %,
# which moves the least line by less than 0.1 %.
PARTS = 16
LOWEST_EXPONENT = -12
HIGHEST_EXPONENT = 40
# The constants are computed to this many bits, and rounded up to multiples of 2^-ROUNDED_BITS.
PRECISION = 256
ROUNDED_BITS = 100


@dataclass(frozen=True)
class Pure:
    """Epsilons add up.

    >>> Pure().epsilon(Cost(Fraction(10), Fraction(1, 16)))
    Fraction(10, 1)
    """

    def epsilon(self, cost: Cost) -> Fraction:
        """The epsilon that this total means; LedgerError if there is none."""
        if cost.epsilon is None:
            raise LedgerError(
                "the ledger holds draws of Gaussian noise, which have no pure epsilon: keep "
                'accountant = "zcdp" for this dataset'
            )
        if cost.delta:
            raise LedgerError(
                "the ledger holds keys that were found, which a delta protects and no pure epsilon "
                'does: keep accountant = "zcdp" for this dataset'
            )
        return cost.epsilon

    def allows(self, cost: Cost, budget: Fraction) -> bool:
        """Whether this total stays within the budget."""
        return self.epsilon(cost) <= budget

    @property
    def most_delta(self) -> Fraction:
        """Nothing is paid in delta."""
        return Fraction(0)

    def __str__(self) -> str:
        return "pure"


@dataclass(frozen=True)
class ZCDP:
    """Rhos add up, and their sum means an epsilon at this delta (Theorem 14).

    Many small questions cost far less. What was paid in delta, for keys that nobody declared, is
    taken from it first: the sum of the rhos means an epsilon at what is left (Theorem 35).

    >>> float(ZCDP(Fraction("1e-6")).epsilon(Cost(Fraction(10), Fraction(1, 16))))
    1.660...
    """

    delta: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.delta, Fraction) or not 0 < self.delta <= LARGEST_DELTA:
            raise InputError(
                "delta must be a Fraction above 0 and at most 0.01, such as Fraction('1e-6'): with "
                "that probability the promise may fail altogether, so it should be far below one "
                f"over the number of persons, got {shown(self.delta)}"
            )

    def epsilon(self, cost: Cost) -> Fraction:
        """The epsilon that this total means, rounded up; the sum of the epsilons where that is
        less and all draws have one. LedgerError if no delta is left for it.
        """
        left = self.delta - cost.delta
        if left <= 0:
            raise LedgerError(
                f"the keys that were found cost {plain(cost.delta)} of delta, and the policy has "
                f"{plain(self.delta)}: write a delta again that is larger"
            )
        least = lines(left).least(cost.rho)
        rounded_up = Fraction(ceil(least * EPSILON_PARTS), EPSILON_PARTS)
        if cost.epsilon is None:
            return rounded_up
        return min(cost.epsilon, rounded_up)

    def allows(self, cost: Cost, budget: Fraction) -> bool:
        """Whether this total stays within the budget."""
        return self.epsilon(cost) <= budget

    def __str__(self) -> str:
        return f"zCDP at delta {plain(self.delta)}"

    @property
    def most_delta(self) -> Fraction:
        """How much of delta may be paid for keys: half of it, for the rest needs some too."""
        return self.delta / 2


Accountant = Pure | ZCDP


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
    crossings = [
        (constants[i] - constants[i + 1]) / (orders[i + 1] - orders[i])
        for i in range(len(orders) - 1)
    ]
    return Lines(orders, constants, tuple(-rho for rho in crossings))


def _orders() -> list[Fraction]:
    steps = [1 + Fraction(part, PARTS) for part in range(PARTS)]
    exponents = range(LOWEST_EXPONENT, HIGHEST_EXPONENT)
    return [1 + Fraction(2) ** exponent * step for exponent in exponents for step in steps]


def _constant(order: Fraction, delta: Fraction) -> Fraction:
    """log(1/(alpha*delta))/(alpha-1) + log(1-1/alpha), rounded up."""
    from flint import arb, ctx, fmpq

    def log(number: Fraction) -> arb:
        return arb(fmpq(number.numerator, number.denominator)).log()

    with ctx.workprec(PRECISION):
        gap = order - 1
        ball = log(1 / (order * delta)) * fmpq(gap.denominator, gap.numerator) + log(1 - 1 / order)
        top = (ball * (1 << ROUNDED_BITS)).upper().fmpq()
    return Fraction(ceil(Fraction(int(top.p), int(top.q))), 1 << ROUNDED_BITS)
