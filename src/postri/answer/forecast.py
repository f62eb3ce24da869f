"""Forecasts, as values: what an interval will look like, from public numbers alone.

A quantile's is a `Plan`, that of additive noise a `Reach`; where nobody has told about how many
rows count, it is `Unknown`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log10

from postri.answer.population import Covers
from postri.answer.words import about_rows, name, ordinal, percent
from postri.exact import plain
from postri.privacy import ProtectedChange

# How many digits a reach has that is itself an estimate.
DIGITS = 4
# How Python is told about how many rows match. Other places have words of their own.
EXPECT = "expect=30_000"


@dataclass(frozen=True)
class ExpectedRows:
    """About how many rows count in all groups together, as public numbers tell.

    Where they tell no more than a range, `rows` is its lower end, at which an interval reaches
    furthest, and `most` its upper one.
    """

    rows: int
    most: int | None = None


@dataclass(frozen=True)
class Plan:
    """A forecast for smooth data; many equal values or a gap at the quantile change it.

    `reach` is how far the interval will extend to each side of the true quantile on average, as a
    share of the rows: from the quantile `low` to the quantile `high`. `enough` says whether the
    table has rows enough for that; if not, the interval will end on the domain's edge. Where no
    more than a range of rows is known, all of this is about its lower end, `rows`; `most_rows` may
    count, and the interval then reaches less far. If several `quantiles` share epsilon, it is that
    of all of them. An interval that `covers` the population reaches as far as both its errors take
    it.
    """

    rows: int
    epsilon: Fraction
    reach: float
    p: Fraction
    confidence: float
    protect: ProtectedChange
    groups: int
    rows_needed: int
    most_rows: int | None = None
    quantiles: int = 1
    covers: Covers = "table"

    def _repr_html_(self) -> str:
        from postri.answer.notebook import plan_html

        return plan_html(self)

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
            "most_rows": self.most_rows,
            "epsilon": str(self.epsilon),
            "reach": self.reach,
            "low": self.low,
            "high": self.high,
            "enough": self.enough,
            "rows_needed": self.rows_needed,
            "confidence": self.confidence,
            "protects": str(self.protect),
            "covers": self.covers,
        }

    def __str__(self) -> str:
        rows = f"{self.rows // self.groups:,} rows"
        if self.covers == "population":
            rows = f"the population behind {rows}"
        if self.groups > 1:
            rows += f" (if each of {self.groups:,} groups has as many)"
        if self.quantiles > 1 and self.enough:
            return self._of_several(rows)
        start = f"at epsilon {plain(self.epsilon)} the"
        needed = about_rows(self.rows_needed)
        if not self.enough and self.most_rows is not None:
            return (
                f"{start} interval of the {name(self.p)} may end on the domain's edge: it takes "
                f"{needed} rows, and {_between(self.rows, self.most_rows, self.groups)} count"
            )
        if not self.enough:
            return (
                f"{start} interval of the {name(self.p)} of {rows} will end on the domain's edge: "
                f"it takes {needed} rows, and with half as many twice the epsilon"
            )
        nearer = ""
        if self.most_rows is not None:
            nearer = f", less far if more count (up to {self.most_rows // self.groups:,})"
        return (
            f"{start} {percent(self.confidence)} interval of the {name(self.p)} of {rows} will "
            f"reach from about the {_percentile(self.low, self.reach)} to the "
            f"{_percentile(self.high, self.reach)} percentile{nearer}, if the data are smooth "
            "there (many equal values or a gap change that)"
        )

    def _of_several(self, rows: str) -> str:
        reach = round(self.reach * (self.rows // self.groups))
        return (
            f"at epsilon {plain(self.epsilon)} for all of them, the {percent(self.confidence)} "
            f"intervals of {self.quantiles:,} quantiles of {rows} will each reach about "
            f"{reach:,} rows to each side, if the data are smooth (many equal values or gaps "
            "change that)"
        )


@dataclass(frozen=True)
class Reach:
    """How far the interval of an additive statistic reaches to each side.

    Where that depends on the number of rows, it is a bound for `rows` of them or more, in each of
    `groups` groups.
    """

    statistic: str
    reach: Fraction
    confidence: float
    rows: int | None = None
    groups: int = 1

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {
            "statistic": self.statistic,
            "reach": float(self.reach),
            "confidence": self.confidence,
            "rows": self.rows,
        }

    def __str__(self) -> str:
        start = f"the {percent(self.confidence)} interval of the {self.statistic} will reach"
        reach = float(self.reach)
        if self.rows is None:
            return f"{start} {reach:,.10g} to each side"
        where = "count"
        if self.groups > 1:
            where = f"count in each of {self.groups:,} groups"
        return (
            f"{start} {reach:,.{DIGITS}g} to each side at most, if at least {self.rows:,} rows "
            f"{where}"
        )


@dataclass(frozen=True)
class Unknown:
    """No forecast: nobody has told about how many rows count.

    With several `groups`, the number in each is wanted. At most `most` rows of each `unit` count.
    """

    groups: int = 1
    unit: str | None = None
    most: int | None = None

    @property
    def missing(self) -> str:
        """What nobody has told."""
        words = "about how many rows match"
        if self.groups > 1:
            words += " in each group"
        if self.unit is not None:
            words += f", counting at most {self.most:,} of each {self.unit}"
        return words

    def told(self, how: str) -> str:
        """As a sentence, with the way to tell it in the place where it is read."""
        return f"unknown: tell {self.missing} ({how})"

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {"unknown": f"tell {self.missing}"}

    def __str__(self) -> str:
        return self.told(EXPECT)


Forecast = Plan | Reach | Unknown


def _between(rows: int, most: int, groups: int) -> str:
    words = f"between {rows // groups:,} and {most // groups:,}"
    if groups > 1:
        words += f" in each of {groups:,} groups"
    return words


def _percentile(share: float, reach: float) -> str:
    """A percentile with digits enough to tell it from the quantile.

    >>> _percentile(0.4990, 0.0010)
    '49.9th'
    """
    places = max(0, ceil(-log10(max(100 * reach, 1e-12))))
    return ordinal(f"{100 * share:.{places}f}")
