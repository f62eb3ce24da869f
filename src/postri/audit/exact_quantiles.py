"""Quantiles by exhaustion: every tiny table, every neighbour, every output, with rigorous bounds on
all chances.

The scores and the clock are those that ship, shown whole windows; their chances are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from postri.answer.population import Covers
from postri.audit.exact_chances import BITS, ChanceBounds, Place, Whole, bounds, value_candidates
from postri.audit.exact_links import clock_bounds, clock_ends, shipped_links, stacked
from postri.audit.tiny_tables import (
    Rows,
    all_tables,
    holds_quantile,
    neighbours,
    plain_grid,
    whole_windows,
)
from postri.grid import Grid
from postri.mechanisms.noisy_max import Noise
from postri.methods.depth import Depth
from postri.methods.links import Links
from postri.methods.method import QuantileTerms
from postri.privacy import ProtectedChange, Spend, most_rows

BETA = Fraction(1, 10)
# No more numbers than this are added up: each is rounded by less than one unit of 2^-BITS.
ROUNDED = 128
SMALL = plain_grid(4)


@dataclass(frozen=True)
class QuantileCase:
    """One configuration: epsilon is for both steps together, half for each."""

    p: Fraction
    protect: ProtectedChange
    noise: Noise
    epsilon: Fraction = Fraction(2)
    grid: Grid = SMALL
    most_rows: int = 3
    groups: int = 1
    covers: Covers = "table"

    @property
    def question(self) -> QuantileTerms:
        """The terms of the draw."""
        return QuantileTerms(
            self.p,
            Spend(self.epsilon / 2, self.epsilon / 2),
            BETA,
            self.protect,
            self.groups,
            covers=self.covers,
        )

    def __str__(self) -> str:
        change = f"{type(self.protect).__name__}({most_rows(self.protect)})"
        words = f"p={self.p}-{change}-{self.noise}-epsilon={self.epsilon}"
        if self.covers == "population":
            words += "-population"
        return words


@dataclass(frozen=True)
class LargestRatios:
    """The largest log ratios between neighbours and the largest chance of a bad interval: upper
    bounds, in 2^-BITS.
    """

    joint: int
    value: int
    interval: int
    failure: int

    def private(self, case: QuantileCase) -> bool:
        """Whether no output is more than e^epsilon times as likely on a neighbour."""
        spend = case.question.spend
        kept = (
            (self.joint, spend.epsilon),
            (self.value, spend.value),
            (self.interval, spend.interval),
        )
        # The clock meets its bounds: its ratios come to epsilon itself, and what the bounds add by
        # being rounded outward lies beyond.
        return all(Fraction(ratio - ROUNDED, 1 << BITS) <= epsilon for ratio, epsilon in kept)

    def covers(self) -> bool:
        """Whether no table sees a bad interval more often than beta."""
        return Fraction(self.failure - ROUNDED, 1 << BITS) <= BETA

    def told(self, case: QuantileCase) -> str:
        """In words."""
        joint, value, interval, failure = (
            each / (1 << BITS) for each in (self.joint, self.value, self.interval, self.failure)
        )
        half = float(case.epsilon / 2)
        return (
            f"largest log ratio {joint:.4f} of {float(case.epsilon):g} "
            f"(value {value:.4f} of {half:g}, interval {interval:.4f} of {half:g}); "
            f"largest failure {failure:.4f} of {float(BETA):g}"
        )


def measure(
    case: QuantileCase, apart: Callable[[Rows, Rows], bool] = lambda one, other: True
) -> LargestRatios:
    """Everything about one configuration; or about those neighbours alone that are `apart` in some
    way.
    """
    tables = all_tables(case.grid, case.most_rows)
    pairs = neighbours(tables, case.protect)
    pairs = pairs[[apart(tables[i], tables[j]) for i, j in pairs]]
    places, values = value_bounds(case, tables)
    joint, interval, failure = 0, 0, 0
    for k, place in enumerate(places):
        links = link_bounds(case, tables, place)
        value = ChanceBounds(
            values.log_low[:, k, None], values.log_high[:, k, None], values.high[:, k, None]
        )
        interval = max(interval, largest_ratio(links, pairs))
        joint = max(joint, largest_ratio(together(value, links), pairs))
        failure = max(failure, largest_failure(case, tables, place, links))
    return LargestRatios(joint, largest_ratio(values, pairs), interval, failure)


def value_bounds(case: QuantileCase, tables: list[Rows]) -> tuple[list[Place], ChanceBounds]:
    """The places that a value step chooses from, and the chances of each on each table."""
    step = Depth(case.noise).value_step(case.question)
    found = [
        value_candidates(step.runs(whole_windows(rows), case.grid), case.grid, step.rate)
        for rows in tables
    ]
    places = found[0][0]
    assert all(each == places for each, _, _ in found)
    return places, stacked([bounds(case.noise, logs, copies) for _, logs, copies in found])


def link_bounds(case: QuantileCase, tables: list[Rows], place: Place) -> ChanceBounds:
    """The chances of each link around a place, on each table."""
    links = links_at(case, place)
    return stacked([clock_bounds(links, rows) for rows in tables])


def links_at(case: QuantileCase, place: Place) -> Links:
    """The links around a place."""
    shape, index = place
    return shipped_links(Depth(case.noise), case.question, case.grid, index, shape)


def together(value: ChanceBounds, links: ChanceBounds) -> ChanceBounds:
    """The chances of a value and then a link: logarithms add up."""
    return ChanceBounds(value.log_low + links.log_low, value.log_high + links.log_high, links.high)


def largest_ratio(found: ChanceBounds, pairs: Whole) -> int:
    """The largest log ratio of one output's chances on two neighbours."""
    return int((found.log_high[pairs[:, 0]] - found.log_low[pairs[:, 1]]).max())


def largest_failure(
    case: QuantileCase, tables: list[Rows], place: Place, links: ChanceBounds
) -> int:
    """The largest chance of an interval that misses the quantile, given the value and its shape,
    over the tables that have one.
    """
    ends = clock_ends(links_at(case, place))
    bad = np.array(
        [
            [not holds_quantile(low, high, rows, case.p, case.grid) for low, high in ends]
            for rows in tables
            if rows
        ]
    )
    kept = [k for k, rows in enumerate(tables) if rows]
    return int((links.high[kept] * bad).sum(axis=1).max())
