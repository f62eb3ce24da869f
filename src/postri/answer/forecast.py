"""Forecasts, as values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from postri.answer.plan import Plan

DIGITS = 4


@dataclass(frozen=True)
class Reach:
    """How far the interval of a count, sum or mean reaches to each side; of a mean at most, if
    there are about as many rows as said.
    """

    statistic: str
    reach: Fraction
    confidence: float
    rows: int | None = None

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {
            "statistic": self.statistic,
            "reach": float(self.reach),
            "confidence": self.confidence,
        }

    def __str__(self) -> str:
        number = (
            f"{float(self.reach):,.{DIGITS}g}"
            if self.rows is not None
            else f"{float(self.reach):,.10g}"
        )
        words = (
            f"the {self.confidence * 100:.10g}% interval of the {self.statistic} will reach "
            f"{number} to each side"
        )
        return (
            words
            if self.rows is None
            else f"{words} at most, if there are about {self.rows:,} rows"
        )


@dataclass(frozen=True)
class Unknown:
    """No forecast: the policy does not say about how many rows there are."""

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {"unknown": str(self)}

    def __str__(self) -> str:
        return (
            "how far the interval will reach depends on the number of rows, which the policy "
            "does not tell"
        )


Forecast = Plan | Reach | Unknown
