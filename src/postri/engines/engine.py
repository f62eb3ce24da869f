"""What an engine is, and how rank windows are found in it: a sample for a bracket, then one
counting scan.

An engine knows nothing of epsilon or of randomness. It is asked for windows by quantile and
half-size alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from postri.columns import ColumnType
from postri.engines.reading import Reading
from postri.engines.rows import KeySizes, Selection
from postri.errors import SourceChanged
from postri.expressions import Bound, Value
from postri.grid import Grid
from postri.window import (
    Ends,
    Indexes,
    MiddleTotal,
    OrderedCells,
    PointCounts,
    RankWindow,
    SquareTotal,
    Target,
    Total,
    holds,
    trim,
)

if TYPE_CHECKING:
    from postri.engines.stretches import Stretches

# A table of at most this many rows is worth no guess.
SMALL = 1 << 17
# How many standard errors a guess leaves to spare.
SLACK = 4
# The same in memory, where a missed window is counted anew in no time: that happens to one table in
# a thousand. The second guess, by the same sample, leaves many more.
SHORT_SLACK = 3.3
WIDE_SLACK = 40
# A sample is divided around so many targets in less time than it is put in order.
FEW_TARGETS = 3
# How many grid points are counted in one scan, and how many of all groups together.
MOST_POINTS = 1 << 15
MOST_COUNTS = 1 << 22
# Into how many parts a scan divides stretches: where each row is put into its part by a division,
# and where it is looked up among them.
PARTS_BY_DIVISION = 1 << 18
PARTS_BY_LOOKUP = 1 << 12
# Which share of the cells may lie beyond the usual range, on each side.
UNUSUAL = 1 / 4096
CHANGED = "the rows of the table changed while they were counted; ask again when it is at rest"


@dataclass(frozen=True)
class Bracket:
    """Grid indexes `low..high` that are counted one by one; everything below is counted in one
    number.
    """

    low: int
    high: int


@dataclass(frozen=True)
class CountRequest:
    """A bracket to be counted, and the target whose window is wanted in a group: what lies beyond
    that may be left out.
    """

    bracket: Bracket
    target: Target
    group: int = 0


class UsualRange(NamedTuple):
    """The grid points between which nearly all cells lie, and about how many rows there are."""

    low: int
    high: int
    rows: int


ColumnOnGrid = tuple[str | None, Grid]
"""The name of a column, and the grid on which it is counted."""


class Engine(Protocol):
    """A table that can count."""

    @property
    def names(self) -> Sequence[str] | None:
        """The names of its columns; None if it is one column without a name."""

    @property
    def doubts(self) -> Sequence[str]:
        """Why reading may fail on a row, as the catalogue tells; nothing for stored rows."""

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""

    def computed(self, columns: Mapping[str, Value]) -> Engine:
        """The same table, which can also be asked about these columns, by names that it does not
        list.
        """

    def snapshot(self) -> AbstractContextManager[Engine]:
        """The same table, all of whose counts see the same rows while the block lasts.

        An engine that cannot hold its rows still gives itself, and says in its docs why.
        """

    def windows(
        self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection
    ) -> list[list[RankWindow]]:
        """For each group the window of each target, from shared scans.

        The same for every engine that holds the same cells.
        """

    def with_max_text(self, max_text: int) -> Engine:
        """The same table, whose texts of more characters cannot be read; before anything is
        computed from it.
        """

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Refuse, by the declared type, a grid on which it cannot give each cell its index: sums
        and units need that.
        """

    def totals(self, column: str | None, grid: Grid, rows: Selection) -> list[Total]:
        """For each group how many cells count, and the sum of their indexes."""

    def square_totals(self, column: str | None, grid: Grid, rows: Selection) -> list[SquareTotal]:
        """For each group how many cells count, the sum of their places, and that of the squares.

        The grid has fewer than `MOST_STEPS` steps.
        """

    def middle_totals(
        self, column: str | None, grid: Grid, ends: Sequence[Ends], rows: Selection
    ) -> list[MiddleTotal]:
        """For each group how many cells lie up to the lower of its two ends, from the upper one on
        and between them, and the sum of how far the latter lie above the lower end.

        The grid has fewer than `MOST_STEPS` steps. Which rows of a unit count does not depend on
        the ends.
        """

    def sizes(self, column: str | None, rows: Selection) -> list[int]:
        """For each group how many rows there are; with a column, how many in which it has a cell
        that can be read.
        """

    def key_sizes(self, rows: Selection) -> KeySizes:
        """The raw cells of the one column that rows are divided by, and how many rows have each.

        Of a unit the first rows count by the md5 of `unit::key`.
        """

    def unit_counts(self, rows: Selection) -> list[int]:
        """For each group how many units have a row in it. Of a unit's groups the first ones count,
        as many as rows of it do, by the same order as rows.
        """

    def counts_below(
        self, column: str | None, grid: Grid, points: Indexes, rows: Selection
    ) -> list[PointCounts]:
        """For each group how many cells lie below each of these grid points, and how many there
        are, by one scan.

        The points are ascending and distinct, at most `MOST_POINTS`.
        """

    def usual_range(self, column: str | None, grid: Grid, rows: Selection) -> UsualRange | None:
        """Between which grid points nearly all cells lie, by a sample: FOR SPEED ALONE.

        None if the sample has no cell.
        """

    def most_parts(self, column: str | None, grid: Grid, rows: Selection) -> int:
        """Into how many parts a scan may divide stretches before it becomes slow."""

    def counts_inside(
        self, column: str | None, grid: Grid, stretches: Stretches, rows: Selection
    ) -> Indexes:
        """For each group how many cells lie in each part of each stretch, by one scan.

        There are about `most_parts` of them at most.
        """

    def matching(self, conditions: Sequence[Bound]) -> list[int]:
        """On how many rows each condition holds."""


@runtime_checkable
class OrdersCells(Protocol):
    """An engine that may put the cells of small groups in order: that of columns in memory."""

    def ordered_cells(self, column: str | None, grid: Grid, rows: Selection) -> OrderedCells | None:
        """The cells of each group in order; None if a group has too many."""


@runtime_checkable
class CountsTogether(Protocol):
    """An engine that counts the windows of a column and totals in less time than one after the
    other: that of columns in memory.
    """

    def windows_and_totals(
        self,
        column: str | None,
        grid: Grid,
        targets: Sequence[Target],
        rows: Selection,
        wanted: Sequence[ColumnOnGrid],
    ) -> tuple[list[list[RankWindow]], dict[ColumnOnGrid, list[Total]]]:
        """For each group the window of each target; and the totals of each group, of those columns
        that are wanted and can be added up in passing.
        """


@runtime_checkable
class AddsUpTogether(Protocol):
    """An engine that adds up several columns by one scan: a table inside a database."""

    def totals_together(
        self, wanted: Sequence[ColumnOnGrid], rows: Selection
    ) -> dict[ColumnOnGrid, list[Total]]:
        """The totals of each group, of those columns that are wanted and can be added up in one
        scan.
        """


class Counter(Protocol):
    """One column on one grid, ready to be counted, group by group."""

    rows: int
    """About how many rows there are."""

    groups: int
    """How many groups there are."""

    def guesses(self, targets: Sequence[Target], grid: Grid) -> Iterator[list[Bracket]]:
        """Where the windows should lie, by a sample, for each group and target: narrow first, then
        wider.
        """

    def count(self, requests: Sequence[CountRequest]) -> list[RankWindow]:
        """For each bracket the counts of its indexes, the rows below them, and n; whole atoms."""


Counts = tuple[Indexes, Indexes]


def tally(indexes: Indexes, counts: Indexes) -> Counts:
    """Counts by index, in order, each index once."""
    atoms, inverse = np.unique(indexes, return_inverse=True)
    totals = np.zeros(len(atoms), np.int64)
    np.add.at(totals, inverse, counts)
    return atoms, totals


def find_windows(
    counter: Counter, grid: Grid, targets: Sequence[Target], small: int | None = None
) -> list[list[RankWindow]]:
    """For each group the trimmed window of each target, in a constant number of scans: two guesses
    at most, then everything.

    Few rows, at most `small` or SMALL, are worth no guess: neither those of a small table, nor
    those of the groups whose windows a first guess missed.
    """
    if small is None:
        small = SMALL
    asked = [(group, target) for group in range(counter.groups) for target in targets]
    everything = [Bracket(grid.first, grid.last)] * len(asked)
    guesses = guessed_brackets(counter, targets, grid)
    found: dict[int, RankWindow] = {}
    missing = list(range(len(asked)))
    rows = counter.rows
    while missing:
        brackets = everything
        if rows > small:
            brackets = next(guesses, everything)
        requests = [CountRequest(brackets[i], asked[i][1], asked[i][0]) for i in missing]
        rows = 0
        for i, window in zip(missing, counter.count(requests), strict=True):
            target = asked[i][1]
            if holds(window, target.p, target.half):
                found[i] = trim(window, target.p, target.half)
            else:
                rows += window.n
        missing = [i for i in missing if i not in found]
        if missing and brackets is everything:
            raise SourceChanged(CHANGED)
    windows = [found[i] for i in range(len(asked))]
    return [windows[i : i + len(targets)] for i in range(0, len(asked), len(targets))]


def guessed_brackets(
    counter: Counter, targets: Sequence[Target], grid: Grid
) -> Iterator[list[Bracket]]:
    """Where the windows should lie, narrow first: FOR SPEED ALONE.

    Every guess is checked against exact counts, and a missed window is counted anew. So this may be
    replaced by an iterator of nothing: all windows stay the same, and take longer.
    """
    return counter.guesses(targets, grid)


def sampled_brackets(
    sample: NDArray[Any], share: float, targets: Sequence[Target], reading: Reading
) -> Iterator[list[Bracket]]:
    """Guesses from a sample of raw cells in memory, which is this share of all rows; it may be put
    in another order.
    """
    in_order = len(targets) > FEW_TARGETS
    if in_order:
        sample.sort()
    for slack in (SHORT_SLACK, WIDE_SLACK):
        brackets = []
        for target in targets:
            error = sqrt(len(sample) * target.p * (1 - target.p))
            spare = slack * error + target.half * share + 4
            low = floor(target.p * len(sample) - spare)
            high = ceil(target.p * len(sample) + spare)
            if not in_order:
                divide(sample, low, high)
            brackets.append(_between(sample, low, high, reading))
        yield brackets


def divide(cells: NDArray[Any], first: int, last: int) -> None:
    """Put those cells into two places, if there are such places, that would be there if all were
    put in order: what lies before, between and after them belongs there.
    """
    # One after the other: NumPy divides at one place several times faster than at two.
    start = 0
    if 0 <= first < len(cells):
        cells.partition(first)
        start = first + 1
    if start <= last < len(cells):
        cells[start:].partition(last - start)


def _between(sample: NDArray[Any], low: int, high: int, reading: Reading) -> Bracket:
    """From one place of a sample to another."""
    first = reading.grid.first
    if low >= 0:
        first = int(reading.indexes(sample[low : low + 1])[0])
    last = reading.grid.last
    if high < len(sample):
        last = int(reading.indexes(sample[high : high + 1])[0])
    return Bracket(first, last)
