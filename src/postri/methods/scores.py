"""Whole-number scores: counts of rows against the target rank, in units of 1/(2q) rows for the
quantile p = a/q.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from postri.window import Indexes

Scores = NDArray[Any]
FITS = 2**62


def units_per_row(p: Fraction, fine: int = 1) -> int:
    """How many units one row is, where they are `fine` times as fine as usual.

    Depths are multiples of 1/q rows, and halves of them whole numbers of units as well.
    """
    return 2 * p.denominator * fine


def over_target(counts: Indexes, n: int, p: Fraction, largest: int, fine: int = 1) -> Scores:
    """`counts - p*n` in units.

    Python's integers take over where sums with `largest` could leave int64.
    """
    if not fits_int64(n, p, largest, fine):
        counts = counts.astype(object)
    scores: Scores = counts * units_per_row(p, fine) - target_units(n, p, fine)
    return scores


def fits_int64(n: int, p: Fraction, largest: int, fine: int = 1) -> bool:
    """Whether scores of n rows, and their sums with `largest`, are whole numbers of 64 bits."""
    return 8 * (units_per_row(p, fine) * (n + 1) + largest) < FITS


def target_units(n: int, p: Fraction, fine: int = 1) -> int:
    """The target rank in units."""
    return 2 * p.numerator * fine * n


@dataclass(frozen=True)
class Step:
    """One noisy max over such scores: each moves by at most `sensitivity` rows between neighbours,
    and the draw costs `epsilon`.
    """

    p: Fraction
    sensitivity: Fraction
    epsilon: Fraction

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise, in rows."""
        return 2 * self.sensitivity / self.epsilon

    @property
    def fine(self) -> int:
        """How many times finer than usual the units of its scores are."""
        return 1

    @cached_property
    def rate(self) -> Fraction:
        """How many noise scales one unit of score is."""
        return 1 / (self.scale * units_per_row(self.p, self.fine))
