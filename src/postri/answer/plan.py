"""A forecast, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from postri.answer.words import plan_words
from postri.privacy import ProtectedChange


@dataclass(frozen=True)
class Plan:
    """A forecast for smooth data; many equal values or a gap at the quantile change it.

    `reach` is how far the interval will extend to each side of the true quantile on average, as a
    share of the rows: from the quantile `low` to the quantile `high`. `enough` says whether the
    table has rows enough for that; if not, the interval will end on the domain's edge.
    """

    rows: int
    epsilon: Fraction
    reach: float
    p: Fraction
    confidence: float
    protect: ProtectedChange
    groups: int
    rows_needed: int

    @property
    def low(self) -> float:
        """The quantile at which the interval will begin, on average."""
        return max(0.0, float(self.p) - self.reach)

    @property
    def high(self) -> float:
        """The quantile at which the interval will end, on average."""
        return min(1.0, float(self.p) + self.reach)

    @property
    def enough(self) -> bool:
        """Whether the table (each group of it) has rows enough for an interval that stays off the
        domain's edges.
        """
        return self.rows // self.groups >= self.rows_needed

    def to_dict(self) -> dict[str, object]:
        """The forecast as plain values: epsilon as a rational text."""
        return {
            "rows": self.rows,
            "epsilon": str(self.epsilon),
            "reach": self.reach,
            "low": self.low,
            "high": self.high,
            "enough": self.enough,
            "rows_needed": self.rows_needed,
            "confidence": self.confidence,
            "protects": str(self.protect),
        }

    def __str__(self) -> str:
        return plan_words(self)
