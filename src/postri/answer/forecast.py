"""Forecasts, as values: what an interval will look like, from public numbers alone.

A quantile's is a `Plan`, that of additive noise a `Reach`; where the policy tells too little, it is
`Unknown`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log10

from postri.answer.words import about_rows, name, ordinal, percent
from postri.exact import plain
from postri.privacy import ProtectedChange

# How many digits a reach has that is itself an estimate.
DIGITS = 4


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
        if self.groups == 1:
            rows = f"{self.rows:,} rows"
        else:
            rows = f"{self.rows // self.groups:,} rows in each of {self.groups:,} groups"
        start = f"at epsilon {plain(self.epsilon)} the"
        if not self.enough:
            return (
                f"{start} interval of the {name(self.p)} of {rows} will end on the domain's edge: "
                f"it takes {about_rows(self.rows_needed)} rows, and with half as many twice the "
                "epsilon"
            )
        return (
            f"{start} {percent(self.confidence)} interval of the {name(self.p)} of {rows} will "
            f"reach from about the {_percentile(self.low, self.reach)} to the "
            f"{_percentile(self.high, self.reach)} percentile, if the data are smooth there "
            "(many equal values or a gap change that)"
        )


@dataclass(frozen=True)
class Reach:
    """How far the interval of an additive statistic reaches to each side; of a mean at most, if
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
        start = f"the {percent(self.confidence)} interval of the {self.statistic} will reach"
        reach = float(self.reach)
        if self.rows is None:
            return f"{start} {reach:,.10g} to each side"
        return (
            f"{start} {reach:,.{DIGITS}g} to each side at most, if there are about "
            f"{self.rows:,} rows"
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


def _percentile(share: float, reach: float) -> str:
    """A percentile with digits enough to tell it from the quantile.

    >>> _percentile(0.4990, 0.0010)
    '49.9th'
    """
    places = max(0, ceil(-log10(max(100 * reach, 1e-12))))
    return ordinal(f"{100 * share:.{places}f}")
