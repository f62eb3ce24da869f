"""Columns in memory, counted a few cells at a time: as many as fit the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.engines.cuts import Cuts
from postri.engines.engine import (
    SAMPLE,
    Bracket,
    CountRequest,
    Counts,
    sampled_brackets,
    tally,
)
from postri.engines.reading import Raw, Reading
from postri.engines.stretches import Stretches
from postri.grid import Grid
from postri.window import Indexes, PointCounts, RankWindow, SquareTotal, Target, Total

# How many cells are looked at in one go.
STRETCH = 1 << 16
# How many cells inside a bracket wait until they are counted.
MOST_WAITING = 1 << 20
# A bracket of fewer indexes than this is counted in an array with a place for each.
NARROW = 1 << 16
HALF_BITS = 32
HALF_MASK = (1 << HALF_BITS) - 1
# Two digits of so many bits make up a place on a grid whose squares are added up.
DIGIT_BITS = 31
DIGIT_MASK = (1 << DIGIT_BITS) - 1


@dataclass(frozen=True)
class Chunk:
    """Raw cells that lie together in memory, and which of them count (None: all)."""

    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None

    @classmethod
    def joined(cls, chunks: Sequence[Chunk]) -> Chunk:
        """All chunks of a column as one."""
        if len(chunks) == 1:
            return chunks[0]
        if not chunks:
            return cls(np.empty(0, np.int64))
        values = np.concatenate([chunk.values for chunk in chunks])
        if all(chunk.valid is None for chunk in chunks):
            return cls(values)
        return cls(values, np.concatenate([chunk._known_valid() for chunk in chunks]))

    def stretches(self) -> Iterator[NDArray[Any]]:
        """The cells that count, a stretch at a time; NaN never does."""
        for start in range(0, len(self.values), STRETCH):
            cells = self.values[start : start + STRETCH]
            if self.valid is not None:
                cells = cells[self.valid[start : start + STRETCH]]
            if cells.dtype.kind == "f":
                missing = np.isnan(cells)
                if missing.any():
                    cells = cells[~missing]
            yield cells

    def counting(self) -> NDArray[np.bool_]:
        """Which cells count; NaN never does."""
        valid = self._known_valid()
        if self.values.dtype.kind == "f":
            valid = valid & ~np.isnan(self.values)
        return valid

    def _known_valid(self) -> NDArray[np.bool_]:
        if self.valid is None:
            return np.ones(len(self.values), np.bool_)
        return self.valid

    def every(self, stride: int) -> Chunk:
        """One cell in each `stride`."""
        return self.at(slice(None, None, stride))

    def at(self, places: slice | NDArray[np.intp]) -> Chunk:
        """Some of its cells."""
        if self.valid is None:
            return Chunk(self.values[places])
        return Chunk(self.values[places], self.valid[places])


class MemoryCounter:
    """One column in memory on one grid."""

    groups = 1

    def __init__(self, chunks: Sequence[Chunk], reading: Reading) -> None:
        self.chunks = chunks
        self.reading = reading
        self.rows = sum(len(chunk.values) for chunk in chunks)

    def total(self) -> Total:
        """One pass: how many cells count, and the exact sum of their indexes."""
        n = 0
        whole = 0
        for cells in self._stretches():
            indexes = self.reading.indexes(cells)
            n += len(indexes)
            whole += _exact_sum(indexes)
        return Total(n, whole)

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
            places += _exact_sum(here)
            squares += _exact_sum(lower * lower)
            if upper.any():
                squares += _exact_sum(upper * lower) << (DIGIT_BITS + 1)
                squares += _exact_sum(upper * upper) << (2 * DIGIT_BITS)
        return SquareTotal(n, places, squares)

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
            inside = cells[_less(cells, end) & ~_less(cells, low)]
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

    def _stretches(self) -> Iterator[NDArray[Any]]:
        for chunk in self.chunks:
            yield from chunk.stretches()

    def guesses(self, targets: Sequence[Target], grid: Grid) -> Iterator[list[Bracket]]:
        """By every k-th cell: a fixed stride."""
        stride = max(1, ceil(self.rows / SAMPLE))
        sample = np.sort(self.every(stride))
        yield from sampled_brackets(sample, 1 / stride, targets, grid)

    def count(self, requests: Sequence[CountRequest]) -> list[RankWindow]:
        """One pass over the cells."""
        tallies = [_Tally(self.reading, request.bracket) for request in requests]
        n = 0
        for cells in self._stretches():
            n += len(cells)
            for counting in tallies:
                counting.add(cells)
        return [counting.window(n) for counting in tallies]


def _exact_sum(numbers: Indexes) -> int:
    """The sum of a stretch, of which the upper and the lower halves each fit one of 64 bits."""
    upper = int((numbers >> HALF_BITS).sum())
    lower = int((numbers & HALF_MASK).sum())
    return (upper << HALF_BITS) + lower


class _Tally:
    """The counts of one bracket so far."""

    def __init__(self, reading: Reading, bracket: Bracket) -> None:
        self.reading = reading
        self.bracket = bracket
        self.low = reading.cut(bracket.low)
        self.end = reading.cut(bracket.high + 1)
        self.below = 0
        self.waiting: list[NDArray[Any]] = []
        self.number_waiting = 0
        self.counts: Counts = (np.empty(0, np.int64), np.empty(0, np.int64))

    def add(self, cells: NDArray[Any]) -> None:
        """Count a stretch of cells."""
        under = _less(cells, self.low)
        upto = _less(cells, self.end)
        below = int(np.count_nonzero(under))
        inside = int(np.count_nonzero(upto)) - below
        self.below += below
        self.number_waiting += inside
        # Of a bracket of one index nothing but the number of cells matters.
        if inside == 0 or self.bracket.low == self.bracket.high:
            return
        if inside < len(cells):
            cells = cells[under ^ upto]
        self.waiting.append(cells)
        if self.number_waiting > MOST_WAITING:
            self._merge()

    def _merge(self) -> None:
        """Turn the cells that wait into counts."""
        if not self.number_waiting:
            return
        indexes, counts = self._waiting_counts()
        self.counts = tally(
            np.concatenate((self.counts[0], indexes)), np.concatenate((self.counts[1], counts))
        )
        self.waiting = []
        self.number_waiting = 0

    def _waiting_counts(self) -> Counts:
        low, high = self.bracket.low, self.bracket.high
        if low == high:
            return np.array([low]), np.array([self.number_waiting])
        indexes = self.reading.indexes(np.concatenate(self.waiting))
        if high - low < NARROW:
            counts = np.bincount(indexes - low)
            inside = np.flatnonzero(counts)
            return inside + low, counts[inside]
        indexes, counts = np.unique(indexes, return_counts=True)
        return indexes, counts

    def window(self, n: int) -> RankWindow:
        """What was counted, of n rows in all."""
        self._merge()
        return RankWindow(*self.counts, self.below, n)


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


def _less(cells: NDArray[Any], threshold: Raw) -> NDArray[np.bool_]:
    if isinf(threshold):
        return np.full(len(cells), threshold > 0)
    # A Python float would be cut down to the cells' precision.
    exact = np.float64(threshold) if isinstance(threshold, float) else threshold
    less: NDArray[np.bool_] = cells < exact
    return less
