"""Epsilon, and the protected change: what two neighbouring tables may differ in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from postri.errors import InputError
from postri.exact import Number, exact, shown


@dataclass(frozen=True)
class AddOrRemoveRows:
    """One person's presence adds or removes at most `k` rows. The number of rows is private.

    >>> AddOrRemoveRows(1).sensitivity(Fraction(1, 2))
    Fraction(1, 2)
    """

    k: int = 1

    def __post_init__(self) -> None:
        _check_rows(self.k)

    def sensitivity(self, p: Fraction) -> Fraction:
        """How far one person moves `#{x <= u} - p*n`: an added row moves it by 1-p or by -p."""
        return self.k * max(p, 1 - p)

    def __str__(self) -> str:
        return f"adding or removing {_rows(self.k)}"


@dataclass(frozen=True)
class ReplaceRows:
    """One person's presence changes the content of at most `k` rows. The number of rows may be public.

    >>> ReplaceRows(2).sensitivity(Fraction(1, 2))
    Fraction(2, 1)
    """

    k: int = 1

    def __post_init__(self) -> None:
        _check_rows(self.k)

    def sensitivity(self, p: Fraction) -> Fraction:
        """How far one person moves `#{x <= u} - p*n`: a replaced row moves the count by 1 and leaves n.

        A row that becomes null is a removed row, which moves it by less.
        """
        return Fraction(self.k)

    def __str__(self) -> str:
        return f"replacing {_rows(self.k)}"


ProtectedChange = AddOrRemoveRows | ReplaceRows


def _rows(k: int) -> str:
    return "any one row" if k == 1 else f"any {k} rows"


def _check_rows(k: object) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"the rows per person must be a whole number of at least 1, got {shown(k)}")


def check_protect(protect: object) -> ProtectedChange:
    """The protected change, or InputError if it is something else."""
    if not isinstance(protect, AddOrRemoveRows | ReplaceRows):
        raise InputError(f"protect must be AddOrRemoveRows(k) or ReplaceRows(k), got {shown(protect)}")
    return protect


@dataclass(frozen=True)
class Spend:
    """What one value and its interval cost: exact fractions of epsilon."""

    value: Fraction
    interval: Fraction

    @property
    def epsilon(self) -> Fraction:
        """What both cost together."""
        return self.value + self.interval


LARGEST_EPSILON = 1_000_000


def check_epsilon(epsilon: Number) -> Fraction:
    """Epsilon as an exact positive rational."""
    number = exact(epsilon, "epsilon")
    if number <= 0:
        raise InputError(f"epsilon must be positive, got {shown(epsilon)}")
    if number > LARGEST_EPSILON:
        raise InputError(f"epsilon must be at most {LARGEST_EPSILON}, got {shown(epsilon)}; far smaller ones protect nothing already")
    return number


def check_share(value: Number, name: str) -> Fraction:
    """A number strictly between 0 and 1: a confidence, a quantile, a split."""
    number = exact(value, name)
    if not 0 < number < 1:
        raise InputError(f"{name} must lie strictly between 0 and 1, got {shown(value)}")
    return number


def split_spend(epsilon: Fraction, split: Fraction) -> Spend:
    """`split` of epsilon for the value, the rest for its interval."""
    return Spend(epsilon * split, epsilon * (1 - split))
