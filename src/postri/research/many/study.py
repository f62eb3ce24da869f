"""`postri compare --quantiles`: ways to many quantiles side by side on one column.

What comes out is computed from raw data and is not private.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from time import perf_counter

import numpy as np

from postri.domain import Domain
from postri.engines.table import Table
from postri.errors import InputError
from postri.exact import shown
from postri.grid import grid_of
from postri.research.compare import chosen_names
from postri.research.experiment import seeded_coins
from postri.research.many.ways import DrawnQuantile, WantedQuantiles, Way, way_named
from postri.research.subjects import Subject

MOST_QUANTILES = 999


@dataclass(frozen=True)
class ManyLine:
    """What one way did with one number of quantiles: means over all quantiles of all runs.

    Errors and half-widths are in rows. What needs an interval is None where there is none.
    """

    quantiles: int
    method: str
    rank_error: float
    half_width_rows: float | None
    coverage: float | None
    milliseconds: float


class ManyStudy:
    """A number of runs of each way, for each of some numbers of quantiles.

    Wrong requests are refused before the column is read.
    """

    def __init__(
        self,
        table: Table,
        column: str,
        domain: Domain | None,
        ways: Sequence[Way],
        numbers: Sequence[int],
        epsilon: Fraction,
        beta: Fraction,
        runs: int,
    ) -> None:
        if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
            raise InputError(f"runs must be a whole number of at least 1, got {shown(runs)}")
        self.runs = runs
        self._ways = ways
        self._asked = [WantedQuantiles.evenly(number, epsilon, beta) for number in numbers]
        grid = grid_of(table.type_of(table.column(column)), domain)
        for way in ways:
            for asked in self._asked:
                way.check(asked, grid)
        self.subject = Subject.of_table(column, table, column, domain)
        if self.subject.rows == 0:
            raise InputError(
                "the column holds no value that can be read, so there is no quantile to compare "
                "with"
            )

    def lines(self) -> Iterator[ManyLine]:
        """One line for each number of quantiles and each way."""
        for asked in self._asked:
            for way in self._ways:
                yield many_line(way, asked, self.subject, self.runs)


def many_line(way: Way, asked: WantedQuantiles, subject: Subject, runs: int) -> ManyLine:
    """Draw.

    A line has coins of its own: it gives the same draws wherever and whenever it is drawn.
    """
    coins = seeded_coins(way.name, asked, subject.name, runs)
    start = perf_counter()
    draw = way.prepare(asked, subject)
    drawn = [draw(coins) for _ in range(runs)]
    milliseconds = 1e3 * (perf_counter() - start) / runs
    results = [
        _Result.of(estimate, p, subject)
        for estimates in drawn
        for estimate, p in zip(estimates, asked.ps, strict=True)
    ]
    return ManyLine(
        quantiles=len(asked.ps),
        method=way.name,
        rank_error=float(np.mean([result.error for result in results])),
        half_width_rows=_mean([result.half_width for result in results]),
        coverage=_mean([result.held for result in results]),
        milliseconds=milliseconds,
    )


@dataclass(frozen=True)
class _Result:
    """How far an estimate is off, in rows, and whether its interval held the quantile."""

    error: float
    half_width: float | None = None
    held: bool | None = None

    @classmethod
    def of(cls, estimate: DrawnQuantile, p: Fraction, subject: Subject) -> _Result:
        target = p * subject.rows
        value = estimate.value
        error = float(_rows_off(ceil(value), floor(value), target, subject))
        if estimate.ends is None:
            return cls(error)
        low, high = estimate.ends
        return cls(
            error,
            subject.rows_between(low, high) / 2,
            _rows_off(low, high, target, subject) == 0,
        )


def _rows_off(low: int, high: int, target: Fraction, subject: Subject) -> Fraction:
    """By how many rows `[low, high]` misses a target rank: 0 if so many rows lie at or below its
    upper end, and no more below its lower end.
    """
    before, upto = subject.ranks_below(np.array([low, high + 1]))
    return max(Fraction(0), int(before) - target, target - int(upto))


def _mean(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    if not known:
        return None
    return float(np.mean(known))


def check_ways(names: str) -> list[Way]:
    """The ways of a comma-separated list, or InputError for the first that is none."""
    return [way_named(name) for name in chosen_names(names)]


def check_numbers(text: str) -> list[int]:
    """The numbers of quantiles of a comma-separated list."""
    numbers = []
    for word in text.split(","):
        stripped = word.strip()
        if not (stripped.isascii() and stripped.isdigit()):
            raise InputError(
                f"quantiles must be whole numbers, such as 9 or 3,9,99, got {shown(text)}"
            )
        number = int(stripped)
        if not 1 <= number <= MOST_QUANTILES:
            raise InputError(f"quantiles must be 1 to {MOST_QUANTILES} each, got {shown(text)}")
        numbers.append(number)
    return numbers
