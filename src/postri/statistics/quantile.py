"""Quantiles of a column, the median among them: a value and an interval drawn by a method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate
from math import ceil, floor, inf
from typing import Any, ClassVar, cast, get_args

from postri.answer import Answer, Interval
from postri.answer.forecast import ExpectedRows, Forecast, Unknown
from postri.answer.population import Covers, check_covers
from postri.cost import Cost
from postri.domain import Domain, check_domain
from postri.errors import InputError
from postri.exact import Number
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.methods.method import Method, QuantileTerms, Span
from postri.privacy import Spend, check_share, most_rows, split_spend
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import (
    Asked,
    Batch,
    Countable,
    Fits,
    Statistic,
    Terms,
    worst_ratio,
)
from postri.window import CountsBelow, Target, Windows

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class QuantileCounts:
    """What can be counted of the column of some quantiles."""

    table: Countable
    column: str | None
    grid: Grid
    rows: Any

    @property
    def groups(self) -> int:
        """How many groups there are."""
        number: int = self.rows.number
        return number

    def windows(self, targets: Sequence[Target]) -> list[list[Windows]]:
        """For each group the rank windows of each target."""
        return self.table.grouped_windows(self.column, self.grid, targets, self.rows)

    def sizes(self) -> list[int]:
        """For each group its number of rows."""
        return self.table.sizes(None, self.rows)

    def counts_below(self, ps: Sequence[Fraction], reach: int) -> CountsBelow:
        """How many cells lie below grid indexes, most of which are near these quantiles."""
        return self.table.counts_ahead(self.column, self.grid, self.rows, ps, reach)


class QuantileBatch(Batch):
    """Quantiles of one column on one domain, by one method: drawn, then put in order."""

    @classmethod
    def methods(cls, asked: Sequence[Asked], *, fixed: bool) -> Sequence[Method]:
        """One draw each, or one release that all follow from."""
        own = asked[0].terms.method
        # A tree does not cover populations.
        covers_rows = not any(each.statistic.errs_with_rows for each in asked)
        if covers_rows and len(_alone(asked)) > 1 and not fixed:
            from postri.methods.tree import Tree

            return [own, Tree()]
        return [own]

    @classmethod
    def by_method(cls, asked: Sequence[Asked], method: Method) -> Sequence[Asked]:
        """All of them by one method, which may have to know what they pay together."""
        each_alone = _alone(asked)
        epsilon = sum((terms.epsilon for _, terms in each_alone), start=Fraction(0))
        shared = method.shared_by(len(each_alone), epsilon)
        return [replace(each, terms=replace(each.terms, method=shared)) for each in asked]

    @classmethod
    def by_best_method(
        cls,
        asked: Sequence[Asked],
        *,
        fixed: bool,
        rows: int | None,
        expected: Sequence[ExpectedRows | Unknown] = (),
    ) -> Sequence[Asked]:
        """Whichever is narrower by the forecast for smooth data: on average, or if all have a wish,
        the one that is further from its own.
        """
        ways = [cls.by_method(asked, method) for method in cls.methods(asked, fixed=fixed)]
        if len(ways) == 1:
            return ways[0]
        worst = [ratio for way in ways if (ratio := worst_ratio(way, expected)) is not None]
        if len(worst) == len(ways):
            return ways[worst.index(min(worst))]
        return min(ways, key=lambda way: _reach(_alone(way), way[0].terms.method, rows))

    def count(self, table: Countable, rows: Any) -> list[Any]:
        """What the method needs."""
        assert self.grid is not None
        column = QuantileCounts(table, self.column, self.grid, rows)
        return self._method.count(column, self._own_terms, self.grid)

    def draw(self, counted: Any, coins: Coins) -> list[Answer]:
        """The answers for one group."""
        (answers,) = self.draw_groups([counted], coins)
        return answers

    def draw_groups(self, counted: Iterable[Any], coins: Coins) -> Iterator[list[Answer]]:
        """Larger quantiles get larger values."""
        assert self.grid is not None
        ps = [own.p for own in self._own_terms]
        for drawn in self._method.draw_groups(counted, self._own_terms, self.grid, coins):
            spans = drawn
            if self.asked[0].terms.at_once:
                spans = self._tightened(drawn)
            spans = in_order(spans, ps)
            yield [
                quantile.released(span, self.grid, terms, own, coins)
                for (quantile, terms, own), span in zip(self._quantiles, spans, strict=True)
            ]

    def _tightened(self, drawn: Sequence[Span]) -> list[Span]:
        """Quantiles of the rows are in order, and so are those of the population: either among
        themselves.
        """
        spans = list(drawn)
        for covers in get_args(Covers):
            places = [i for i, own in enumerate(self._own_terms) if own.covers == covers]
            ps = [self._own_terms[place].p for place in places]
            cut = tightened([drawn[place] for place in places], ps)
            for place, span in zip(places, cut, strict=True):
                spans[place] = span
        return spans

    @property
    def _method(self) -> Method:
        """One method draws all quantiles of a column."""
        return self.asked[0].terms.method

    @property
    def _own_terms(self) -> list[QuantileTerms]:
        return [own for _, _, own in self._quantiles]

    @cached_property
    def _quantiles(self) -> list[tuple[Quantile, Terms, QuantileTerms]]:
        """Each quantile with its terms, and these as its method knows them: the same for all
        groups.
        """
        return [
            (quantile, terms, quantile.quantile_terms(terms))
            for quantile, terms in _alone(self.asked)
        ]


@dataclass(frozen=True)
class Quantile(Statistic):
    """The p-quantile of a column, on the domain that it is asked on: of its rows, or of the
    population that these were drawn from.

    A source of one column needs no name for it.
    """

    p: Fraction = HALF
    covers: Covers = "table"

    title: ClassVar = "quantile"
    fits: ClassVar[Fits] = "ordered"
    batch = QuantileBatch
    stays_in_domain: ClassVar = True
    draws_interval: ClassVar = True

    def written(self) -> str:
        """As text.

        >>> median("fare").written(), quantile("fare", 0.9).written()
        ('median("fare")', 'quantile("fare", 9/10)')
        >>> median("fare", covers="population").written()
        'population_median("fare")'
        """
        if self.p == HALF:
            return written(named("median", self.covers), self.column)
        return written(named("quantile", self.covers), self.column, self.p)

    def fields(self) -> dict[str, Any]:
        """The column, which quantile, and the domain."""
        name = named("quantile", self.covers)
        return {name: self.column, "p": str(self.p), "domain": self.domain}

    @property
    def errs_with_rows(self) -> bool:
        """Whether the population is meant."""
        return self.covers == "population"

    @property
    def follows_from_distribution(self) -> bool:
        """If it is about the rows."""
        return self.covers == "table"

    def check_terms(self, terms: Terms) -> None:
        """A population needs a method that covers it, and rows that are independent."""
        if self.covers == "population":
            check_population(terms)

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """Its interval is drawn for its confidence, by a method."""
        fields = {
            "beta": str(self._beta(terms)),
            "split": str(terms.split),
            "method": repr(terms.method),
        }
        # Intervals that were cut by one another hold together: none has its own beta any more.
        if terms.at_once:
            fields["at_once"] = "true"
        return fields

    def reversed(self) -> Quantile:
        """The same quantile counted from the largest value down."""
        return replace(self, p=1 - self.p)

    def quantiles(self, terms: Terms) -> list[tuple[Quantile, Terms]]:
        """The quantiles that are drawn for it, each with its terms: itself alone."""
        return [(self, terms)]

    def quantile_terms(self, terms: Terms) -> QuantileTerms:
        """The terms as a method knows them."""
        spend = Spend(terms.epsilon, Fraction(0))
        if terms.method.divides:
            spend = split_spend(terms.epsilon, terms.split)
        beta = self._beta(terms)
        return QuantileTerms(
            self.p, spend, beta, terms.protect, terms.groups, terms.rho, self.covers
        )

    def _beta(self, terms: Terms) -> Fraction:
        """How often its interval may fail: those that are computed into one share beta."""
        return terms.beta / (terms.parts * terms.selected)

    def draw(self, counted: Any, grid: Grid | None, terms: Terms, coins: Coins) -> Answer:
        """One quantile alone."""
        return QuantileBatch((Asked(self, terms),), self.column, grid).draw([counted], coins)[0]

    def released(
        self, span: Span, grid: Grid, terms: Terms, own: QuantileTerms, coins: Coins
    ) -> Answer:
        """What was drawn, as an answer."""
        interval = Interval(
            grid.low_end(span.low),
            grid.high_end(span.high),
            span.low == grid.first,
            span.high == grid.last,
        )
        advice = terms.method.advice(span, own, grid, self.domain)
        return Answer(
            value=grid.value(span.value),
            interval=interval,
            confidence=float(terms.confidence),
            spend=span.spend or own.spend,
            protect=terms.protect,
            method=terms.method.name,
            p=self.p,
            private=coins.private,
            notes=(*terms.notes, *terms.method.notes, *advice),
            covers=self.covers,
        )

    def cost(self, terms: Terms) -> Cost:
        """As the method says."""
        return terms.method.cost(self.quantile_terms(terms))

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """As the method says; for smooth data."""
        if isinstance(rows, Unknown):
            return rows
        # A forecast is of the quantile by itself, whatever it is computed into.
        alone = self.quantile_terms(replace(terms, parts=1))
        plan = terms.method.forecast(alone, rows=rows.rows, groups=terms.groups, domain=self.domain)
        if plan is None:
            return Unknown(terms.groups)
        return replace(plan, most_rows=rows.most)


def named(name: str, covers: Covers) -> str:
    """The name of a form for the rows, or for the population.

    >>> named("median", "table"), named("median", "population")
    ('median', 'population_median')
    """
    if covers == "population":
        return f"population_{name}"
    return name


def check_population(terms: Terms) -> None:
    """Refuse terms on which an interval would not cover the quantile of a population."""
    if not terms.method.covers_population:
        raise InputError(
            f"{terms.method.name} covers the rows alone; for covers='population' use method='depth'"
        )
    rows = most_rows(terms.protect)
    if rows > 1:
        raise InputError(
            f"covers='population' takes rows for independent draws, and one person may have {rows} "
            "of them here, which resemble one another; let one row of each person count, or use "
            "covers='table'"
        )


def _alone(asked: Sequence[Asked]) -> list[tuple[Quantile, Terms]]:
    """Each quantile of some statistics with its own terms."""
    return [
        alone for each in asked for alone in cast("Quantile", each.statistic).quantiles(each.terms)
    ]


def _reach(quantiles: Sequence[tuple[Quantile, Terms]], method: Method, rows: int | None) -> float:
    """How many rows the intervals reach to each side on average, by one method."""
    total = 0.0
    for quantile, terms in quantiles:
        own = quantile.quantile_terms(replace(terms, method=method))
        reach = method.reach_in_rows(own, quantile.domain, rows)
        if reach is None:
            return inf
        total += reach
    return total / len(quantiles)


def in_order(spans: Sequence[Span], ps: Sequence[Fraction]) -> list[Span]:
    """Larger quantiles get larger values: the values are sorted, and each interval stays the one of
    its quantile, widened at most to hold its value.

    An interval can only grow by this, so it holds what it held.
    """
    if len(spans) == 1 and spans[0].low <= spans[0].value <= spans[0].high:
        return list(spans)
    values = sorted(span.value for span in spans)
    ordered = list(spans)
    for place, value in zip(_ascending(ps), values, strict=True):
        span = spans[place]
        low = min(span.low, floor(value))
        high = max(span.high, ceil(value))
        ordered[place] = Span(value, low, high, span.spend)
    return ordered


def tightened(spans: Sequence[Span], ps: Sequence[Fraction]) -> list[Span]:
    """Intervals that hold all at once, cut by one another: a quantile is at least what smaller ones
    are at least, and at most what larger ones are at most (Theorem 8).

    Where that leaves nothing, one of them has failed, and all stay as they were drawn.
    """
    order = _ascending(ps)
    lows = list(accumulate((spans[place].low for place in order), max))
    highs = list(accumulate((spans[place].high for place in reversed(order)), min))[::-1]
    if any(low > high for low, high in zip(lows, highs, strict=True)):
        return list(spans)
    cut = list(spans)
    for place, low, high in zip(order, lows, highs, strict=True):
        cut[place] = replace(spans[place], low=low, high=high)
    return cut


def _ascending(ps: Sequence[Fraction]) -> list[int]:
    """The places of the quantiles, the smallest first."""
    return sorted(range(len(ps)), key=lambda place: ps[place])


def median(column: str, *, domain: Domain | None = None, covers: Covers = "table") -> Quantile:
    """The median of a column; with `covers` "population", that of the population from which its
    rows were drawn.

    >>> median("fare").p
    Fraction(1, 2)
    """
    return quantile(column, HALF, domain=domain, covers=covers)


def quantile(
    column: str, p: Number, *, domain: Domain | None = None, covers: Covers = "table"
) -> Quantile:
    """The p-quantile of a column: `quantile("fare", 0.9)` is the 90th percentile."""
    return Quantile(
        check_column(column), check_domain(domain), check_share(p, "p"), check_covers(covers)
    )


COLUMN = Parameter("column", "column", fits="ordered")
P = Parameter("p", "share", meaning="Quantile p, between 0 and 1", usual="0.9")

register(
    Form(
        name="median",
        make=median,
        meaning="The value in the middle: half of the rows lie below it.",
        parameters=(COLUMN,),
        sql=("MEDIAN",),
        examples=("median(x)",),
        family="everyday",
        place=1,
    )
)
register(
    Form(
        name="quantile",
        make=quantile,
        meaning="The value below which a share p of the rows lies: p = 0.9 is the 90th percentile.",
        parameters=(COLUMN, P),
        sql=("QUANTILE_CONT", "QUANTILE"),
        sql_usage="{function}(x, 0.9): a column and which quantile",
        sql_ordered=("PERCENTILE_CONT",),
        examples=("quantile(x, 0.9)",),
        family="everyday",
        place=2,
    )
)
register(
    Form(
        name="population_median",
        make=partial(median, covers="population"),
        meaning="The median of the population that the rows were drawn from, independently.",
        parameters=(COLUMN,),
        sql=("POPULATION_MEDIAN",),
        family="the population behind the rows",
        place=12,
    )
)
register(
    Form(
        name="population_quantile",
        make=partial(quantile, covers="population"),
        meaning="A quantile of the population that the rows were drawn from, independently.",
        parameters=(COLUMN, P),
        sql=("POPULATION_QUANTILE",),
        sql_usage="{function}(x, 0.9): a column and which quantile",
        family="the population behind the rows",
        place=13,
    )
)
