"""Accountants: what the costs of many questions mean together, as one epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from postri.cost import Cost
from postri.errors import InputError
from postri.exact import plain, shown
from postri.ledger.conversion import lines

DIGITS = 10**12


@dataclass(frozen=True)
class Pure:
    """Epsilons add up.

    >>> Pure().epsilon(Cost(Fraction(10), Fraction(1, 16)))
    Fraction(10, 1)
    """

    def epsilon(self, cost: Cost) -> Fraction:
        """The epsilon that this total means."""
        return cost.epsilon

    def allows(self, cost: Cost, budget: Fraction) -> bool:
        """Whether this total stays within the budget."""
        return self.epsilon(cost) <= budget

    def __str__(self) -> str:
        return "pure"


@dataclass(frozen=True)
class ZCDP:
    """Rhos add up, and their sum means an epsilon at this delta (Theorem 14).

    Many small questions cost far less.

    >>> float(ZCDP(Fraction("1e-6")).epsilon(Cost(Fraction(10), Fraction(1, 16))))
    1.660...
    """

    delta: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.delta, Fraction) or not 0 < self.delta < 1:
            raise InputError(
                "delta must be a Fraction strictly between 0 and 1, such as "
                f"Fraction('1e-6'), got {shown(self.delta)}"
            )

    def epsilon(self, cost: Cost) -> Fraction:
        """The epsilon that this total means, rounded up; the sum of the epsilons where that is
        less.
        """
        return min(cost.epsilon, Fraction(ceil(lines(self.delta).least(cost.rho) * DIGITS), DIGITS))

    def allows(self, cost: Cost, budget: Fraction) -> bool:
        """Whether this total stays within the budget."""
        return self.epsilon(cost) <= budget

    def __str__(self) -> str:
        return f"zCDP at delta {plain(self.delta)}"


Accountant = Pure | ZCDP
