"""What questions draw from a budget, as exact rationals that add up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from postri.errors import InputError
from postri.exact import shown


@dataclass(frozen=True)
class Cost:
    """What one question or many draw, in pure differential privacy and in zero-concentrated.

    Both `epsilon` and `rho` add up.

    >>> bounded_range(Fraction(1, 20)) + bounded_range(Fraction(1, 20))
    Cost(epsilon=Fraction(1, 10), rho=Fraction(1, 1600))
    """

    epsilon: Fraction
    rho: Fraction

    def __post_init__(self) -> None:
        check_amount(self.epsilon, "epsilon")
        check_amount(self.rho, "rho")

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.epsilon + other.epsilon, self.rho + other.rho)

    def lacking(self, other: Cost) -> Cost:
        """What must be added to this to reach the other one, in each part."""
        return Cost(
            max(other.epsilon - self.epsilon, Fraction(0)), max(other.rho - self.rho, Fraction(0))
        )


def bounded_range(epsilon: Fraction) -> Cost:
    """One draw of the exponential mechanism, which is noisy max with Gumbel noise: epsilon^2/8 by
    its bounded range (Theorem 13).
    """
    return Cost(epsilon, epsilon**2 / 8)


def pure_draw(epsilon: Fraction) -> Cost:
    """One draw of any other epsilon-DP mechanism, such as permute-and-flip or Laplace noise:
    epsilon^2/2 (Theorem 13).
    """
    return Cost(epsilon, epsilon**2 / 2)


def check_amount(amount: object, name: str) -> None:
    """InputError unless it is an exact amount of at least 0."""
    if not isinstance(amount, Fraction) or amount.numerator < 0:
        raise InputError(f"{name} must be a Fraction of at least 0, got {shown(amount)}")


NOTHING = Cost(Fraction(0), Fraction(0))
