"""What questions draw from a budget, as exact rationals that add up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from postri.errors import InputError
from postri.exact import shown

# The rho of a pure draw is rounded up to a multiple of one part.
RHO_PARTS = 10**18


@dataclass(frozen=True)
class Cost:
    """What one question or many draw, in pure differential privacy and in zero-concentrated.

    Both `epsilon` and `rho` add up. Gaussian noise has no pure epsilon, however large: the
    `epsilon` of what holds a draw of it is None.

    >>> bounded_range(Fraction(1, 20)) + bounded_range(Fraction(1, 20))
    Cost(epsilon=Fraction(1, 10), rho=Fraction(1, 1600))
    """

    epsilon: Fraction | None
    rho: Fraction

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            check_amount(self.epsilon, "epsilon")
        check_amount(self.rho, "rho")

    def __add__(self, other: Cost) -> Cost:
        epsilon = None
        if self.epsilon is not None and other.epsilon is not None:
            epsilon = self.epsilon + other.epsilon
        return Cost(epsilon, self.rho + other.rho)

    def for_group(self, factor: int) -> Cost:
        """What the same draws cost where `factor` steps lead from a table to its neighbour:
        `factor` times the epsilon, and `factor` squared times the rho (Theorem 21).

        >>> bounded_range(Fraction(1, 20)).for_group(3)
        Cost(epsilon=Fraction(3, 20), rho=Fraction(9, 3200))
        """
        epsilon = None
        if self.epsilon is not None:
            epsilon = factor * self.epsilon
        return Cost(epsilon, factor**2 * self.rho)

    def lacking(self, other: Cost) -> Cost:
        """What must be added to this to reach the other one, in each part."""
        rho = max(other.rho - self.rho, Fraction(0))
        if self.epsilon is None:
            return Cost(Fraction(0), rho)
        if other.epsilon is None:
            return Cost(None, rho)
        return Cost(max(other.epsilon - self.epsilon, Fraction(0)), rho)


def bounded_range(epsilon: Fraction) -> Cost:
    """One draw of the exponential mechanism, which is noisy max with Gumbel noise: epsilon^2/8 by
    its bounded range (Theorem 13).
    """
    return Cost(epsilon, epsilon**2 / 8)


def pure_draw(epsilon: Fraction) -> Cost:
    """One draw of any other epsilon-DP mechanism, such as permute-and-flip or Laplace noise:
    epsilon * tanh(epsilon/2), rounded up (Theorem 13).

    >>> float(pure_draw(Fraction(1)).rho)
    0.46211...
    """
    return Cost(epsilon, _pure_rho(epsilon))


def gaussian_draw(rho: Fraction) -> Cost:
    """Draws of Gaussian noise of this rho in all (Theorem 13). No epsilon bounds them."""
    return Cost(None, rho)


def rho_of(epsilon: Fraction) -> Fraction:
    """What a question of this epsilon may draw in rho: epsilon^2/2. Its Gaussian draws share it.

    >>> rho_of(Fraction(1))
    Fraction(1, 2)
    """
    return epsilon**2 / 2


@lru_cache(maxsize=1024)
def _pure_rho(epsilon: Fraction) -> Fraction:
    from flint import arb, ctx, fmpq

    with ctx.workprec(256):
        number = arb(fmpq(epsilon.numerator, epsilon.denominator))
        top = (number * (number / 2).tanh() * RHO_PARTS).upper().fmpq()
    rounded_up = Fraction(ceil(Fraction(int(top.p), int(top.q))), RHO_PARTS)
    # tanh(x) is at most x; a tiny epsilon is dearer rounded up than by this.
    return min(rounded_up, epsilon**2 / 2)


def check_amount(amount: object, name: str) -> None:
    """InputError unless it is an exact amount of at least 0."""
    if not isinstance(amount, Fraction) or amount.numerator < 0:
        raise InputError(f"{name} must be a Fraction of at least 0, got {shown(amount)}")


NOTHING = Cost(Fraction(0), Fraction(0))
