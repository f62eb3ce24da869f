"""The mean of a column without its outermost rows, which are left out (trimmed) or moved inwards
(winsorized).

With p = 0.1 the lowest tenth of the rows and the highest one have no say, or that of their
neighbours: g = p * n of them at each end, rounded down, as in R and SciPy. First an interval is
drawn for each of the two quantiles, then the rows between are counted and added up (Theorem 38).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, log10
from typing import Any, ClassVar, cast

import numpy as np

from postri.answer import Answer, Interval
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.answer.words import register_words
from postri.cost import Cost
from postri.domain import Domain, check_domain
from postri.errors import InputError
from postri.exact import Number, as_decimal, decimal_places, plain
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.methods.method import QuantileTerms, Span
from postri.privacy import Spend, check_outer
from postri.statistics.additive import additive_cost, additive_fields, check_total, ends
from postri.statistics.middle import drawn_middle, middle_noises, weights
from postri.statistics.quantile import HALF, Quantile, QuantileCounts
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import Batch, Countable, Fits, Statistic, Terms
from postri.tree.tails import NoiseSum
from postri.window import MOST_STEPS, Ends, MiddleTotal

# How answers call what draws them.
METHOD = "middle"
# The share of beta that the interval of each of the two quantiles has.
BETA_OF_END = Fraction(1, 6)
# How many digits a mean has at least beyond those of the domain's step, and into how many parts an
# interval is divided at least.
FINER = 3
PARTS = 1_000
# At how many places of a domain a forecast looks.
LOOKED_AT = 8


@dataclass(frozen=True)
class MiddleCounts:
    """What is counted for some means of one group: the windows of both quantiles of each, and later
    what lies between.
    """

    column: QuantileCounts
    windows: Sequence[Any]


class MiddleBatch(Batch):
    """Means of one column on one domain without its outermost rows."""

    def count(self, table: Countable, rows: Any) -> list[MiddleCounts]:
        """The rank windows of both quantiles of each."""
        assert self.grid is not None
        column = QuantileCounts(table, self.column, self.grid, rows)
        windows = []
        for each in self.asked:
            statistic = cast("TrimmedMean", each.statistic)
            own = statistic.end_terms(each.terms)
            windows.append(each.terms.method.count(column, own, self.grid))
        return [MiddleCounts(column, group) for group in zip(*windows, strict=True)]

    def draw_groups(self, counted: Iterable[MiddleCounts], coins: Coins) -> Iterator[list[Answer]]:
        """The ends of all groups, then one scan for what lies between them."""
        assert self.grid is not None
        groups = list(counted)
        drawn = []
        for number, each in enumerate(self.asked):
            statistic = cast("TrimmedMean", each.statistic)
            own = statistic.end_terms(each.terms)
            windows = [group.windows[number] for group in groups]
            spans = list(each.terms.method.draw_groups(windows, own, self.grid, coins))
            middles = _middle_totals(groups[0].column, spans, self.grid)
            drawn.append(
                [
                    statistic.drawn(pair, middle, self.grid, each.terms, coins)
                    for pair, middle in zip(spans, middles, strict=True)
                ]
            )
        for answers in zip(*drawn, strict=True):
            yield list(answers)


def _middle_totals(
    column: QuantileCounts, spans: Sequence[Sequence[Span]], grid: Grid
) -> Sequence[MiddleTotal | None]:
    """What lies between the two intervals of each group; None where they meet."""
    between: list[Ends] = [(lower.high, upper.low) for lower, upper in spans]
    if all(low >= high for low, high in between):
        return [None] * len(between)
    # A group whose intervals meet is counted too, and not looked at.
    asked = [(low, high) if low < high else (grid.first, grid.last) for low, high in between]
    found = column.table.middle_totals(column.column, grid, asked, column.rows)
    return [
        total if low < high else None for total, (low, high) in zip(found, between, strict=True)
    ]


@dataclass(frozen=True)
class TrimmedMean(Statistic):
    """The mean of the rows between the p-quantile and the (1-p)-quantile of a column."""

    p: Fraction = Fraction(1, 10)

    title: ClassVar = "trimmed mean"
    name: ClassVar[str] = "trimmed_mean"
    fits: ClassVar[Fits] = "bounded"
    batch = MiddleBatch
    needs_indexes: ClassVar = True
    stays_in_domain: ClassVar = True
    takes_wish: ClassVar = False
    looks_further: ClassVar = True
    end_share: ClassVar[Fraction] = Fraction(2, 5)
    """The share of the budget that the two ends have."""

    @property
    def left_out_share(self) -> Fraction:
        """Which share of the rows is left out at each end."""
        return self.p

    def written(self) -> str:
        """As text.

        >>> trimmed_mean("fare", 0.1).written()
        'trimmed_mean("fare", 1/10)'
        """
        return written(self.name, self.column, self.p)

    def fields(self) -> dict[str, Any]:
        """The column, how much is left out, and the domain."""
        return {self.name: self.column, "p": str(self.p), "domain": self.domain}

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """Its ends are drawn for its confidence, by a method, and noise is drawn besides."""
        return {
            "beta": str(self._beta(terms)),
            "split": str(terms.split),
            "method": repr(terms.method),
            **additive_fields(terms),
        }

    def check_grid(self, column: str | None, grid: Grid) -> None:
        """Only numbers with public bounds, and not too many of them."""
        check_total(self.title, column, grid)
        self._check_steps(grid.last - grid.first)

    def check_domain(self) -> None:
        """The same before there is a table."""
        if self.domain is not None:
            self._check_steps(self.domain.points - 1)

    def _check_steps(self, steps: int) -> None:
        if steps >= MOST_STEPS:
            raise InputError(
                f"a {self.title} needs a domain of fewer than 2^62 steps, got {steps:,}; give a "
                "larger step, or nearer bounds"
            )

    def end_terms(self, terms: Terms) -> list[QuantileTerms]:
        """On what terms the two quantiles are drawn, as their method knows them."""
        return [quantile.quantile_terms(own) for quantile, own in self._ends(terms)]

    def _ends(self, terms: Terms) -> list[tuple[Quantile, Terms]]:
        """The two quantiles with their terms."""
        own = replace(
            terms,
            epsilon=terms.epsilon * self.end_share / 2,
            beta=self._beta(terms) * BETA_OF_END,
            parts=1,
            selected=1,
            rho=None,
        )
        return [(Quantile(self.column, self.domain, p), own) for p in (self.p, 1 - self.p)]

    def _middle_terms(self, terms: Terms) -> Terms:
        """On what terms the rows between are counted and added up."""
        share = 1 - self.end_share
        rho = None
        if terms.rho is not None:
            rho = terms.rho * share
        beta = self._beta(terms) * (1 - 2 * BETA_OF_END)
        return replace(terms, epsilon=terms.epsilon * share, rho=rho, beta=beta)

    def _beta(self, terms: Terms) -> Fraction:
        """How often its interval may fail: those that are computed into one share beta."""
        return terms.beta / (terms.parts * terms.selected)

    def drawn(
        self,
        spans: Sequence[Span],
        counted: MiddleTotal | None,
        grid: Grid,
        terms: Terms,
        coins: Coins,
    ) -> Answer:
        """The answer of one group, from the intervals of both ends and what lies between them."""
        lower, upper = spans
        low = Fraction(min(lower.low, upper.low))
        high = Fraction(max(lower.high, upper.high))
        value = (low + high) / 2
        if counted is not None:
            own = self._middle_terms(terms)
            middle = drawn_middle(spans, counted, self.left_out_share, own, coins)
            value = middle.mean
            low, high = middle.interval(own.beta)
        cost = self.cost(terms)
        rho = None
        if cost.epsilon is None:
            rho = cost.rho
        return Answer(
            value=_written(grid, min(max(value, low), high), high - low, round),
            interval=_interval(grid, low, high),
            confidence=float(terms.confidence),
            spend=Spend(terms.epsilon, Fraction(0), rho),
            protect=terms.protect,
            method=METHOD,
            private=coins.private,
            notes=terms.notes,
            statistic=self.title,
        )

    def cost(self, terms: Terms) -> Cost:
        """That of both quantiles, and of what is drawn between them."""
        cost = additive_cost(self._middle_terms(terms))
        for own in self.end_terms(terms):
            cost += terms.method.cost(own)
        return cost

    def forecasts(self, terms: Terms, rows: ExpectedRows | Unknown) -> Mapping[str, Forecast]:
        """Those of both ends, and how far the sum of what is between will be off, where that is as
        wide as the domain; rows near the ends add to it.
        """
        found: dict[str, Forecast] = {"": self._forecast(terms, rows)}
        for quantile, own in self._ends(terms):
            found[f"_{plain(quantile.p)}"] = quantile.forecast(own, rows)
        return found

    def _forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        if isinstance(rows, Unknown):
            return rows
        assert self.domain is not None
        lower, upper, step = self.domain.bounds
        steps = int((upper - lower) / step)
        own = self._middle_terms(terms)
        row_noise, noise = middle_noises(max(steps, 1), own)
        squares = np.array([each.mean_square for each in (row_noise, row_noise, noise, noise)])
        width = float(max(steps, 1))
        most = 0.0
        for number in range(LOOKED_AT + 1):
            mean = width * number / LOOKED_AT
            share = weights(0.0, width, mean, width, float(self.left_out_share))
            sums = NoiseSum(type(noise), squares, share)
            most = max(most, sums.reach(float(own.beta / 2)))
        group_rows = rows.rows // terms.groups
        counted = max(group_rows, 1) * float(1 - 2 * self.left_out_share)
        reach = min(Fraction(most / counted) * step, upper - lower)
        words = f"{self.title} between its ends"
        return Reach(words, reach, float(terms.confidence), group_rows, terms.groups)


class WinsorizedMean(TrimmedMean):
    """The mean of a column whose cells are clamped to its p-quantile and its (1-p)-quantile."""

    title: ClassVar = "winsorized mean"
    name: ClassVar = "winsorized_mean"
    end_share: ClassVar = HALF

    @property
    def left_out_share(self) -> Fraction:
        """Every row counts."""
        return Fraction(0)


def _interval(grid: Grid, low: Fraction, high: Fraction) -> Interval:
    return Interval(
        _written(grid, low, high - low, floor),
        _written(grid, high, high - low, ceil),
        low_is_edge=low <= grid.first,
        high_is_edge=high >= grid.last,
    )


def _written(grid: Grid, index: Fraction, width: Fraction, rounded: Any) -> Any:
    """A number between two grid points, with digits enough to tell a part of the interval."""
    lower, upper = ends(grid)
    digits = (decimal_places(grid.step) or 0) + FINER
    part = float(width * grid.step) / PARTS
    if part > 0:
        digits = max(digits, ceil(-log10(part)))
    exact = min(max(grid.base + index * grid.step, lower), upper)
    return as_decimal(Fraction(rounded(exact * 10**digits), 10**digits), digits)


def trimmed_mean(column: str, p: Number, *, domain: Domain | None = None) -> TrimmedMean:
    """The mean of a column without a share p of its rows at each end."""
    return TrimmedMean(check_column(column), check_domain(domain), check_outer(p))


def winsorized_mean(column: str, p: Number, *, domain: Domain | None = None) -> WinsorizedMean:
    """The mean of a column in which a share p of the rows at each end is moved inwards, to the
    quantile there.
    """
    return WinsorizedMean(check_column(column), check_domain(domain), check_outer(p))


EXPLANATION = (
    "{} Cells beyond the domain count as its ends; where the outermost rows are those, they have "
    "no say."
)
COLUMN = Parameter("column", "column", fits="bounded")
P = Parameter("p", "share", meaning="Share of the rows at each end, below 0.5", usual="0.1")

register_words(
    TrimmedMean.title,
    explanation=EXPLANATION.format("The outermost rows at both ends are left out."),
)
register_words(
    WinsorizedMean.title,
    explanation=EXPLANATION.format("The outermost rows at both ends are moved inwards."),
)
for place, (kind, make, meaning) in enumerate(
    (
        (TrimmedMean, trimmed_mean, "The average without a share p of the rows at each end."),
        (
            WinsorizedMean,
            winsorized_mean,
            "The average with a share p of the rows at each end moved inwards to their quantile.",
        ),
    )
):
    register(
        Form(
            name=kind.name,
            make=make,
            meaning=meaning,
            parameters=(COLUMN, P),
            sql=(kind.name.upper(),),
            sql_usage="{function}(x, 0.1): a column, and the share of the rows at each end",
            examples=(f"{kind.name}(x, 0.1)",),
            family="means without extremes",
            place=17 + place,
        )
    )
