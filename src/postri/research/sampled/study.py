"""`postri compare --sample`: intervals for a population side by side.

The column is the population. Each run draws rows from it with replacement, and an interval should
hold the median of the whole column. What comes out is computed from raw data and is not private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from postri.domain import Domain
from postri.engines.table import Table
from postri.errors import InputError, nearest
from postri.exact import shown
from postri.grid import Grid
from postri.mechanisms.coins import SeededCoins
from postri.methods.depth import Depth
from postri.methods.method import QuantileTerms
from postri.privacy import ReplaceRows, split_spend
from postri.research.compare import chosen_names
from postri.research.experiment import seeded_coins
from postri.research.report.statistics import binomial_interval
from postri.research.sampled.exp_mech import Ends, ExpMech
from postri.research.sampled.noisy_cdf import BinSearch, NoisyCdf, normal_reach
from postri.research.sampled.sampling import SampledMedian
from postri.research.subjects import Subject, drawn_rows

HALF = Fraction(1, 2)
# A tree of noisy counts has no more leaves than this, each drawn in every run.
MOST_POINTS = 2**17

Draw = Callable[[Subject, SeededCoins], Ends]
Prepare = Callable[[SampledMedian, Grid], Draw]


def _by_depth(asked: SampledMedian, grid: Grid) -> Draw:
    spend = split_spend(asked.epsilon, HALF)
    terms = QuantileTerms(HALF, spend, asked.beta, ReplaceRows(1), covers="population")
    method = Depth()

    def draw(sample: Subject, coins: SeededCoins) -> Ends:
        counted = method.count(sample, [terms], grid)
        ((span,),) = method.draw_groups(counted, [terms], grid, coins)
        return span.low, span.high

    return draw


def _by_exp_mech(method: ExpMech) -> Prepare:
    def prepare(asked: SampledMedian, grid: Grid) -> Draw:
        rank = method.rank(asked, grid)
        return lambda sample, coins: method.draw(sample, rank, asked.epsilon, coins)

    return prepare


def _by_noisy_cdf(method: NoisyCdf) -> Prepare:
    def prepare(asked: SampledMedian, grid: Grid) -> Draw:
        if grid.last - grid.first >= MOST_POINTS:
            raise InputError(
                f"{method.name} draws a number for each point of the domain: give one of at most "
                f"{MOST_POINTS:,} points"
            )
        return method.prepared(asked, grid).draw

    return prepare


def _by_bin_search(asked: SampledMedian, grid: Grid) -> Draw:
    method = BinSearch()
    return lambda sample, coins: method.draw(sample, asked, coins)


def _in_public(asked: SampledMedian, grid: Grid) -> Draw:
    """Two order statistics: what sampling alone takes, as a yardstick."""
    reach = normal_reach(asked.rows, asked.beta)

    def draw(sample: Subject, coins: SeededCoins) -> Ends:
        wanted = np.array([sample.rows / 2 - reach, sample.rows / 2 + reach])
        ranks = np.clip(np.floor(wanted), 0, sample.rows - 1)
        low, high = sample.whole.indexes[sample.whole.ranks[1:].searchsorted(ranks, side="right")]
        return int(low), int(high)

    return draw


SAMPLED_WAYS: Mapping[str, Prepare] = MappingProxyType(
    {
        "depth": _by_depth,
        ExpMech().name: _by_exp_mech(ExpMech()),
        ExpMech(union=True).name: _by_exp_mech(ExpMech(union=True)),
        NoisyCdf().name: _by_noisy_cdf(NoisyCdf()),
        NoisyCdf(gaussian=True).name: _by_noisy_cdf(NoisyCdf(gaussian=True)),
        BinSearch().name: _by_bin_search,
        "not-private": _in_public,
    }
)
"""Every way to an interval for a population, by its name."""


@dataclass(frozen=True)
class SampledLine:
    """What one way did: means over the runs, and the share of runs whose interval held the median
    of the population.
    """

    method: str
    half_width: float
    half_width_rows: float
    coverage: float
    coverage_low: float
    coverage_high: float
    at_edge: float


class SampledStudy:
    """A number of runs of each way on samples of one column.

    Wrong requests are refused before the column is read.
    """

    def __init__(
        self,
        table: Table,
        column: str,
        domain: Domain | None,
        ways: Sequence[str],
        asked: SampledMedian,
        runs: int,
    ) -> None:
        for number, name in ((runs, "runs"), (asked.rows, "sample")):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise InputError(
                    f"{name} must be a whole number of at least 1, got {shown(number)}"
                )
        self.asked = asked
        self.runs = runs
        self._ways = list(ways)
        self.population = Subject.of_table(column, table, column, domain)
        if self.population.rows == 0:
            raise InputError(
                "the column holds no value that can be read, so there is no population to draw from"
            )

    def lines(self) -> Iterator[SampledLine]:
        """One line for each way. All ways see the same samples."""
        for name in self._ways:
            yield sampled_line(name, self.asked, self.population, self.runs)


def sampled_line(name: str, asked: SampledMedian, population: Subject, runs: int) -> SampledLine:
    """Draw. A line has coins of its own, and the samples are the same for all lines."""
    draw = SAMPLED_WAYS[name](asked, population.grid)
    rows = seeded_coins("rows", population.name, asked.rows, runs)
    coins = seeded_coins(name, asked, population.name, runs)
    grid = population.grid
    found = []
    counted = []
    for _ in range(runs):
        sample = drawn_rows(population, asked.rows, rows)
        low, high = draw(sample, coins)
        found.append((low, high))
        counted.append(sample.rows_between(low, high) / 2)
    hits = sum(low <= population.median <= high for low, high in found)
    least, most = binomial_interval(hits, runs)
    halves = [(population.point(high) - population.point(low)) / 2 for low, high in found]
    edges = [low == grid.first or high == grid.last for low, high in found]
    return SampledLine(
        method=name,
        half_width=float(np.mean(halves)),
        half_width_rows=float(np.mean(counted)),
        coverage=hits / runs,
        coverage_low=least,
        coverage_high=most,
        at_edge=float(np.mean(edges)),
    )


def check_sampled_ways(names: str) -> list[str]:
    """The names of a comma-separated list, or InputError for the first that is none."""
    chosen = chosen_names(names)
    for name in chosen:
        if name not in SAMPLED_WAYS:
            raise InputError(
                f"there is no interval for a population {name!r}; {nearest(name, SAMPLED_WAYS)}"
            )
    return chosen
