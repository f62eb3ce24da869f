"""Columns in memory, counted a few cells at a time: as many as fit the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import cbrt
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from postri.engines.cuts import Cuts
from postri.engines.engine import Bracket, CountRequest, find_windows, sampled_brackets
from postri.engines.memory.brackets import bracket_count, less_than, not_less_than
from postri.engines.memory.chunk import Chunk, without_nan
from postri.engines.memory.scan import CountedColumn, Tally, scan
from postri.engines.progress import check_cancelled
from postri.engines.reading import Reading, exact_sum
from postri.grid import Grid
from postri.window import (
    Indexes,
    MiddleTotal,
    PointCounts,
    RankWindow,
    SquareTotal,
    Target,
    Total,
    trim,
)

if TYPE_CHECKING:
    from postri.engines.stretches import Stretches

# A sample has `cbrt(SAMPLE) * rows^(2/3)` cells.
SAMPLE = 20
# A column of at most this many cells is worth no guess: to sort it takes less time.
FEW_CELLS = 1 << 12
# Two digits of so many bits make up a place on a grid whose squares are added up.
DIGIT_BITS = 31
DIGIT_MASK = (1 << DIGIT_BITS) - 1


class MemoryCounter:
    """One column in memory on one grid."""

    groups = 1

    def __init__(self, chunks: Sequence[Chunk], reading: Reading) -> None:
        self.chunks = chunks
        self.reading = reading
        self.rows = sum(len(chunk.values) for chunk in chunks)

    def total(self) -> Total:
        """One pass: how many cells count, and the exact sum of their indexes."""
        count = _TotalCount(self.chunks, self.reading)
        scan(CountedColumn(self.chunks, count.tally))
        return count.total()

    def square_total(self) -> SquareTotal:
        """One pass: how many cells count, the exact sum of their places, and of the squares."""
        first = self.reading.grid.first
        n = 0
        places = 0
        squares = 0
        for cells in self._stretches():
            # Fewer than 2^62 steps: the upper and the lower digits have 31 bits each, and so their
            # products fit 64 bits.
            here = self.reading.indexes(cells) - first
            upper = here >> DIGIT_BITS
            lower = here & DIGIT_MASK
            n += len(here)
            places += exact_sum(here)
            squares += exact_sum(lower * lower)
            if upper.any():
                squares += exact_sum(upper * lower) << (DIGIT_BITS + 1)
                squares += exact_sum(upper * upper) << (2 * DIGIT_BITS)
        return SquareTotal(n, places, squares)

    def middle_total(self, low: int, high: int) -> MiddleTotal:
        """One pass: how many cells lie up to one index, from another on, and between the two; and
        the exact sum of the latter's distances from the lower one.
        """
        below = 0
        above = 0
        between = 0
        distances = 0
        for cells in self._stretches():
            indexes = self.reading.indexes(cells)
            inside = indexes[(indexes > low) & (indexes < high)]
            below += int(np.count_nonzero(indexes <= low))
            above += int(np.count_nonzero(indexes >= high))
            between += len(inside)
            distances += exact_sum(inside - low)
        return MiddleTotal(below, between, above, distances)

    def thresholds(self, points: Indexes) -> Thresholds:
        """The cells at which grid points begin: they are those of all groups of a column."""
        dtype = np.dtype(np.int64)
        if self.chunks:
            dtype = self.chunks[0].values.dtype
        return Thresholds.of(self.reading, points, dtype)

    def counts_below(self, thresholds: Thresholds) -> PointCounts:
        """One pass: how many cells lie below each of some grid points."""
        below = np.zeros(len(thresholds.cells), np.int64)
        n = 0
        for cells in self._stretches():
            below += thresholds.numbers_below(cells)
            n += len(cells)
        return thresholds.cuts.counts(below, n)

    def counts_inside(self, stretches: Stretches) -> Indexes:
        """One pass: how many cells lie in each part of each stretch."""
        numbers = stretches.numbers
        low = self.reading.cut(stretches.first)
        end = self.reading.cut(stretches.end)
        found = np.zeros(len(numbers) * stretches.parts, np.int64)
        for cells in self._stretches():
            inside = cells[less_than(cells, end) & not_less_than(cells, low)]
            away = self.reading.indexes(inside) - stretches.first
            number = away // stretches.size
            line = numbers.searchsorted(number)
            part = away % stretches.size // stretches.step
            # There may be others between the stretches that are looked at.
            looked_at = numbers[line] == number
            place = (line * stretches.parts + part)[looked_at]
            found += np.bincount(place, minlength=len(found))
        return found.reshape(len(numbers), stretches.parts)

    def every(self, stride: int) -> Indexes:
        """The indexes of one cell in each `stride`."""
        parts = [
            self.reading.indexes(cells)
            for chunk in self.chunks
            for cells in chunk.every(stride).stretches()
        ]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def ordered(self) -> Indexes:
        """The indexes of all cells, in order."""
        check_cancelled()
        parts = [self.reading.indexes(cells) for cells in self._stretches()]
        if len(parts) == 1:
            return np.sort(parts[0])
        return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))

    def _stretches(self) -> Iterator[NDArray[Any]]:
        for chunk in self.chunks:
            yield from chunk.stretches()

    def guesses(self, targets: Sequence[Target], grid: Grid) -> Iterator[list[Bracket]]:
        """By every k-th cell: a fixed stride."""
        stride = stride_of(self.rows)
        parts = [cells for chunk in self.chunks for cells in chunk.every(stride).stretches()]
        # A copy, whose cells may be moved.
        sample = np.concatenate(parts)
        yield from sampled_brackets(sample, 1 / stride, targets, self.reading)

    def windows(self, targets: Sequence[Target]) -> list[RankWindow]:
        """The window of each target."""
        if self.rows > FEW_CELLS:
            return find_windows(self, self.reading.grid, targets, FEW_CELLS)[0]
        # To put few cells in order takes less time than to ask where their window should lie.
        indexes = self.ordered()
        begins = np.empty(len(indexes), np.bool_)
        begins[:1] = True
        np.not_equal(indexes[1:], indexes[:-1], out=begins[1:])
        (starts,) = begins.nonzero()
        ranks = np.empty(len(starts) + 1, np.int64)
        ranks[:-1] = starts
        ranks[-1] = len(indexes)
        whole = RankWindow.of_ranks(indexes[starts], ranks, len(indexes))
        return [trim(whole, target.p, target.half) for target in targets]

    def windows_and_totals(
        self, targets: Sequence[Target], counters: Sequence[MemoryCounter]
    ) -> tuple[list[RankWindow], list[Total]]:
        """The window of each target, and the totals of some counters, of which this may be one: in
        one pass.
        """
        if self.rows <= FEW_CELLS:
            return self.windows(targets), [counter.total() for counter in counters]
        together = _WithTotals(self, counters)
        (windows,) = find_windows(together, self.reading.grid, targets, FEW_CELLS)
        return windows, [count.total() for count in together.totals]

    def count(
        self, requests: Sequence[CountRequest], totals: Sequence[_TotalCount] = ()
    ) -> list[RankWindow]:
        """One pass over the cells, which also adds up those of some columns."""
        brackets = [bracket_count(self.reading, request) for request in requests]
        counts_of: dict[int, list[_Count]] = {id(self.chunks): [*brackets]}
        chunks = {id(self.chunks): self.chunks}
        for total in totals:
            counts_of.setdefault(id(total.chunks), []).append(total)
            chunks[id(total.chunks)] = total.chunks
        scan(
            *(
                CountedColumn(chunks[key], partial(_tallies, counts))
                for key, counts in counts_of.items()
            )
        )
        return [each.window() for each in brackets]


class _WithTotals:
    """A counter whose first pass adds up the cells of some counters as well."""

    groups = 1

    def __init__(self, counter: MemoryCounter, counters: Sequence[MemoryCounter]) -> None:
        self._counter = counter
        self.rows = counter.rows
        self.totals = [_TotalCount(each.chunks, each.reading) for each in counters]
        self._waiting = self.totals

    def guesses(self, targets: Sequence[Target], grid: Grid) -> Iterator[list[Bracket]]:
        """As the counter makes them."""
        return self._counter.guesses(targets, grid)

    def count(self, requests: Sequence[CountRequest]) -> list[RankWindow]:
        """One pass over the cells."""
        totals, self._waiting = self._waiting, []
        return self._counter.count(requests, totals)


class _Count(Protocol):
    """What is counted in tallies, one for each thread."""

    def tally(self) -> Tally:
        """What a thread counts."""


class _TotalCount:
    """What all threads add up."""

    def __init__(self, chunks: Sequence[Chunk], reading: Reading) -> None:
        self.chunks = chunks
        self._reading = reading
        self._tallies: list[_TotalTally] = []

    def tally(self) -> _TotalTally:
        """What a thread adds up."""
        tally = _TotalTally(self._reading)
        self._tallies.append(tally)
        return tally

    def total(self) -> Total:
        """What all threads added up."""
        n = sum(each.n for each in self._tallies)
        return Total(n, sum(each.indexes for each in self._tallies))


class _TotalTally:
    """How many cells there are, and the sum of their indexes."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.n = 0
        self.indexes = 0

    def add(self, cells: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        """Count a stretch of cells."""
        if valid is not None:
            cells = cells[valid]
        cells = without_nan(cells)
        self.n += len(cells)
        self.indexes += self._reading.index_sum(cells)


def stride_of(rows: int) -> int:
    """One cell in so many is in the sample.

    The more cells it has, the fewer lie inside its bracket. With some `rows^(2/3)` of them both
    take the same time, however many rows there are: one inside takes about five times as long.
    """
    return max(1, round(cbrt(rows / SAMPLE)))


def _tallies(counts: Sequence[_Count]) -> Tally:
    """What a thread counts of a column."""
    tallies = [count.tally() for count in counts]
    if len(tallies) == 1:
        return tallies[0]
    return _Together(tallies)


class _Together:
    """Several tallies of one column: a stretch stays in the cache from one to the next."""

    def __init__(self, tallies: Sequence[Tally]) -> None:
        self._tallies = tallies

    def add(self, cells: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        """Count a stretch of cells for each."""
        for tally in self._tallies:
            tally.add(cells, valid)


@dataclass(frozen=True)
class Thresholds:
    """The cells at which some grid points begin, as cells of a column."""

    cuts: Cuts
    cells: NDArray[Any]

    @classmethod
    def of(cls, reading: Reading, points: Indexes, dtype: np.dtype[Any]) -> Thresholds:
        """Those of a column whose cells have this type."""
        grid = reading.grid
        if dtype.kind == "f":
            # Cells of any precision are counted by the nearest number of double precision.
            cuts = Cuts.of(points, grid, reading.cut)
            return cls(cuts, np.array(cuts.cuts, np.float64))
        limits = np.iinfo(dtype)
        least, most = int(limits.min), int(limits.max)
        cuts = Cuts.of(points, grid, reading.cut, least, most, reading.shift)
        return cls(cuts, np.array(cuts.cuts, dtype.newbyteorder("=")))

    def numbers_below(self, cells: NDArray[Any]) -> Indexes:
        """How many cells of a stretch lie below each.

        It fits the processor's cache, where to sort it takes a fraction of the time in which each
        cell could be looked up among the thresholds.
        """
        with np.errstate(over="ignore"):
            ordered = np.sort(cells.astype(self.cells.dtype, copy=False))
        return ordered.searchsorted(self.cells)
