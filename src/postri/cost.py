"""What questions draw from a budget, as exact rationals that add up."""

from __future__ import annotations

from dataclasses import dataclass, replace
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

    `epsilon`, `rho` and `delta` add up. Gaussian noise has no pure epsilon, however large: the
    `epsilon` of what holds a draw of it is None. Keys that nobody declared are told with a chance
    of `delta` to tell of a person, which no epsilon and no rho bounds.

    >>> bounded_range(Fraction(1, 20)) + bounded_range(Fraction(1, 20))
    Cost(epsilon=Fraction(1, 10), rho=Fraction(1, 1600), delta=Fraction(0, 1))
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            check_amount(self.epsilon, "epsilon")
        check_amount(self.rho, "rho")
        check_amount(self.delta, "delta")

    def __add__(self, other: Cost) -> Cost:
        epsilon = None
        if self.epsilon is not None and other.epsilon is not None:
            epsilon = self.epsilon + other.epsilon
        return Cost(epsilon, self.rho + other.rho, self.delta + other.delta)

    def for_group(self, factor: int) -> Cost:
        """What the same draws cost where `factor` steps lead from a table to its neighbour:
        `factor` times the epsilon, and `factor` squared times the rho (Theorem 21). Of a delta no
        number is proved that holds for several steps.

        >>> bounded_range(Fraction(1, 20)).for_group(3)
        Cost(epsilon=Fraction(3, 20), rho=Fraction(9, 3200), delta=Fraction(0, 1))
        """
        assert factor == 1 or not self.delta
        epsilon = None
        if self.epsilon is not None:
            epsilon = factor * self.epsilon
        return Cost(epsilon, factor**2 * self.rho, self.delta)

    def lacking(self, other: Cost) -> Cost:
        """What must be added to this to reach the other one, in each part."""
        rho = max(other.rho - self.rho, Fraction(0))
        delta = max(other.delta - self.delta, Fraction(0))
        if self.epsilon is None:
            return Cost(Fraction(0), rho, delta)
        if other.epsilon is None:
            return Cost(None, rho, delta)
        return Cost(max(other.epsilon - self.epsilon, Fraction(0)), rho, delta)


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


def approximate_draw(epsilon: Fraction, delta: Fraction) -> Cost:
    """One draw that is epsilon-DP but for a chance of delta, as that of unknown keys: the cost of a
    pure draw, and delta (Theorem 35).
    """
    return replace(pure_draw(epsilon), delta=delta)


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
