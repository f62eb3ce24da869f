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


def units_per_row(p: Fraction) -> int:
    """How many units one row is.

    Depths are multiples of 1/q rows, and halves of them whole numbers of units as well.
    """
    return 2 * p.denominator


def over_target(counts: Indexes, n: int, p: Fraction, largest: int) -> Scores:
    """`counts - p*n` in units.

    Python's integers take over where sums with `largest` could leave int64.
    """
    if 8 * (units_per_row(p) * (n + 1) + largest) >= FITS:
        counts = counts.astype(object)
    scores: Scores = counts * units_per_row(p) - 2 * p.numerator * n
    return scores


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

    @cached_property
    def rate(self) -> Fraction:
        """How many noise scales one unit of score is."""
        return 1 / (self.scale * units_per_row(self.p))
