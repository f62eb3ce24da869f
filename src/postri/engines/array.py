"""The array engine: columns in memory, counted in chunks that fit the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.engines.base import SAMPLE, Bracket, Counts, Wanted, sampled_brackets, tally
from postri.engines.piece import Piece
from postri.engines.reading import Raw, Reading
from postri.grid import Grid
from postri.window import RankWindow, Target, Total

# Cells inside a bracket are held, so many at a time, and then counted: in an array of counters
# where the bracket is narrow.
HELD = 1 << 20
NARROW = 1 << 16
HALF_BITS = 32
HALF_MASK = (1 << HALF_BITS) - 1


class ArrayCounter:
    """One column in memory on one grid."""

    groups = 1

    def __init__(self, pieces: Sequence[Piece], reading: Reading) -> None:
        self.pieces, self.reading = pieces, reading
        self.rows = sum(len(piece.values) for piece in pieces)

    def total(self) -> Total:
        """One pass: how many cells count, and the exact sum of their indexes."""
        n = whole = 0
        for piece in self.pieces:
            for cells in piece.chunks():
                indexes = self.reading.indexes(cells)
                n += len(indexes)
                # A chunk's upper and lower halves each fit a sum of 64 bits.
                whole += (int((indexes >> HALF_BITS).sum()) << HALF_BITS) + int(
                    (indexes & HALF_MASK).sum()
                )
        return Total(n, whole)

    def guesses(self, targets: Sequence[Target], grid: Grid) -> Iterator[list[Bracket]]:
        """By every k-th cell: a fixed stride."""
        stride = max(1, ceil(self.rows / SAMPLE))
        parts = [
            self.reading.indexes(cells)
            for piece in self.pieces
            for cells in piece.every(stride).chunks()
        ]
        yield from sampled_brackets(np.sort(np.concatenate(parts)), 1 / stride, targets, grid)

    def count(self, wanted: Sequence[Wanted]) -> list[RankWindow]:
        """One pass over the chunks."""
        tallies = [_Tally(self.reading, each.bracket) for each in wanted]
        n = 0
        for piece in self.pieces:
            for cells in piece.chunks():
                n += len(cells)
                for counting in tallies:
                    counting.add(cells)
        return [counting.window(n) for counting in tallies]


class _Tally:
    """The counts of one bracket so far."""

    def __init__(self, reading: Reading, bracket: Bracket) -> None:
        self.reading, self.bracket = reading, bracket
        self.low, self.end = reading.cut(bracket.low), reading.cut(bracket.high + 1)
        self.below = self.holding = 0
        self.held: list[NDArray[Any]] = []
        self.counts: Counts = (np.empty(0, np.int64), np.empty(0, np.int64))

    def add(self, cells: NDArray[Any]) -> None:
        """Count a chunk."""
        under, upto = _less(cells, self.low), _less(cells, self.end)
        below = int(np.count_nonzero(under))
        inside = int(np.count_nonzero(upto)) - below
        self.below += below
        self.holding += inside
        if inside and self.bracket.low < self.bracket.high:
            self.held.append(cells[under ^ upto] if inside < len(cells) else cells)
            if self.holding > HELD:
                self._merge()

    def _merge(self) -> None:
        """Turn the cells that are held into counts."""
        if self.holding:
            indexes, counts = self._counted()
            self.counts = tally(
                np.concatenate((self.counts[0], indexes)), np.concatenate((self.counts[1], counts))
            )
            self.held, self.holding = [], 0

    def _counted(self) -> Counts:
        low, high = self.bracket.low, self.bracket.high
        if low == high:
            return np.array([low]), np.array([self.holding])
        indexes = self.reading.indexes(np.concatenate(self.held))
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


def _less(cells: NDArray[Any], threshold: Raw) -> NDArray[np.bool_]:
    if isinf(threshold):
        return np.full(len(cells), threshold > 0)
    # A Python float would be cut down to the cells' precision.
    less: NDArray[np.bool_] = cells < (
        np.float64(threshold) if isinstance(threshold, float) else threshold
    )
    return less
