"""The cells of one bracket, counted in one pass: compared where they lie, and taken out where they
are inside, which few are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.engines.engine import Bracket, CountRequest, Counts, divide
from postri.engines.engine import tally as tallied
from postri.engines.memory.chunk import without_nan
from postri.engines.reading import Raw, Reading
from postri.window import RankWindow, Target, rank_range

# How many cells inside a bracket wait until they are counted.
MOST_WAITING = 1 << 20
# A bracket of fewer indexes than this is counted in an array with a place for each.
NARROW = 1 << 16
# Where a bracket has at most so many indexes, many cells have each. To compare all cells with each
# index is faster than to take them out.
FEW = 8
# So many whole numbers are compared with both ends of a bracket before the next ones: the nearest
# cache holds them, and one call of NumPy goes through all such blocks of a stretch.
BLOCK = 1 << 15
# So many cells of a mask make up one number of 64 bits.
EIGHT = 8
# Where fewer than one in so many of these numbers tell of a cell inside, the others are passed
# over.
FEW_EIGHTS = 12

NOTHING: Counts = (np.empty(0, np.int64), np.empty(0, np.int64))
Valid = NDArray[np.bool_] | None


def bracket_count(reading: Reading, request: CountRequest) -> PointCount | CellCount:
    """What counts a bracket fastest."""
    bracket = request.bracket
    if bracket.high - bracket.low < FEW:
        return PointCount(reading, bracket)
    return CellCount(reading, bracket, request.target)


class PointCount:
    """A bracket of few indexes, counted by how many cells lie below each."""

    def __init__(self, reading: Reading, bracket: Bracket) -> None:
        self._points = np.arange(bracket.low, bracket.high + 1)
        self._cuts = [reading.cut(index) for index in range(bracket.low, bracket.high + 2)]
        self._tallies: list[_PointTally] = []

    def tally(self) -> _PointTally:
        """What a thread counts."""
        tally = _PointTally(self._cuts)
        self._tallies.append(tally)
        return tally

    def window(self) -> RankWindow:
        """What all threads counted."""
        below = np.sum([tally.below for tally in self._tallies], axis=0)
        counts = np.diff(below)
        inside = np.flatnonzero(counts)
        n = sum(tally.n for tally in self._tallies)
        return RankWindow(self._points[inside], counts[inside], int(below[0]), n)


class _PointTally:
    """How many cells lie below each cut."""

    def __init__(self, cuts: Sequence[Raw]) -> None:
        self._cuts = cuts
        self.below = [0] * len(cuts)
        self.n = 0

    def add(self, cells: NDArray[Any], valid: Valid) -> None:
        """Count a stretch of cells."""
        n = _number(cells, valid)
        if cells.dtype.kind == "f":
            n -= _count(np.isnan(cells), valid)
        self.n += n
        for place, cut in enumerate(self._cuts):
            if cut == inf:
                self.below[place] += n
            elif cut != -inf:
                self.below[place] += _count(less_than(cells, cut), valid)


class CellCount:
    """A bracket whose cells are taken out."""

    def __init__(self, reading: Reading, bracket: Bracket, target: Target) -> None:
        self._reading = reading
        self._bracket = bracket
        self._target = target
        self._tallies: list[_CellTally] = []

    def tally(self) -> _CellTally:
        """What a thread counts."""
        tally = _CellTally(self._reading, self._bracket)
        self._tallies.append(tally)
        return tally

    def window(self) -> RankWindow:
        """What all threads counted: of the whole bracket where its cells are many, else of the
        target's window alone.
        """
        below = sum(tally.below for tally in self._tallies)
        n = sum(tally.n for tally in self._tallies)
        if not any(len(tally.counts[0]) for tally in self._tallies):
            waiting = [cells for tally in self._tallies for cells in tally.waiting]
            return self._target_window(waiting, below, n)
        for tally in self._tallies:
            tally.merge()
        indexes = np.concatenate([tally.counts[0] for tally in self._tallies])
        counts = np.concatenate([tally.counts[1] for tally in self._tallies])
        return RankWindow(*tallied(indexes, counts), below, n)

    def _target_window(self, waiting: Sequence[NDArray[Any]], below: int, n: int) -> RankWindow:
        """The window of the target. The cells are divided around its ends, which is much faster
        than to put all of them in order.
        """
        missed = RankWindow(*NOTHING, below, n)
        if not waiting:
            return missed
        cells = np.concatenate(waiting)
        cells = cells.astype(cells.dtype.newbyteorder("="), copy=False)
        low, high = rank_range(n, self._target.p, self._target.half)
        first = low - 1 - below
        last = high - 1 - below
        if first < 0 or last >= len(cells):
            return missed
        divide(cells, first, last)
        atoms, counts = np.unique(
            self._reading.indexes(cells[first : last + 1]), return_counts=True
        )
        # A cell before or after these has the index of one of the two ends, or lies beyond.
        beyond = _number_less(cells[:first], self._reading.cut(int(atoms[0])))
        counts[0] += first - beyond
        counts[-1] += _number_less(cells[last + 1 :], self._reading.cut(int(atoms[-1]) + 1))
        return RankWindow(atoms, counts, below + beyond, n)


class _CellTally:
    """The cells of a bracket so far: they wait in memory, or are counted where they are many."""

    def __init__(self, reading: Reading, bracket: Bracket) -> None:
        self._reading = reading
        self._bracket = bracket
        self._low = reading.cut(bracket.low)
        self._end = reading.cut(bracket.high + 1)
        self._number_waiting = 0
        self.below = 0
        self.n = 0
        self.waiting: list[NDArray[Any]] = []
        self.counts = NOTHING

    def add(self, cells: NDArray[Any], valid: Valid) -> None:
        """Count a stretch of cells.

        A NaN is neither below the bracket nor beyond it. So it comes out with the cells inside,
        and no pass of its own looks for it.
        """
        self.n += _number(cells, valid)
        found = self._taken_out(cells, valid)
        numbers = without_nan(found)
        self.n -= len(found) - len(numbers)
        if not len(numbers):
            return
        self.waiting.append(numbers)
        self._number_waiting += len(numbers)
        if self._number_waiting > MOST_WAITING:
            self.merge()

    def _taken_out(self, cells: NDArray[Any], valid: Valid) -> NDArray[Any]:
        """The cells that are not outside the bracket. Counts those below it."""
        if self._low == -inf and self._end == inf and valid is None:
            return cells
        masks = self._masks(cells)
        if valid is not None:
            masks &= valid.reshape(len(masks), 1, -1)
        if self._low != -inf:
            self.below += int(np.count_nonzero(masks[:, 0]))
        return _only_upto(cells, masks)

    def _masks(self, cells: NDArray[Any]) -> NDArray[np.bool_]:
        """For each block of cells which of them lie below the bracket, and which up to its last
        cell.
        """
        ends = self._low, self._end
        if len(cells) % BLOCK == 0 and _are_whole(ends, cells.dtype):
            cuts = np.array(ends, cells.dtype).reshape(2, 1)
            below: NDArray[np.bool_] = np.less(cells.reshape(-1, 1, BLOCK), cuts)
            return below
        masks = np.empty((1, 2, len(cells)), np.bool_)
        masks[0, 0] = self._low != -inf and less_than(cells, self._low)
        masks[0, 1] = self._end == inf or _not_from(cells, self._end)
        return masks

    def merge(self) -> None:
        """Turn the cells that wait into counts."""
        if not self.waiting:
            return
        indexes, counts = self._waiting_counts()
        self.counts = tallied(
            np.concatenate((self.counts[0], indexes)), np.concatenate((self.counts[1], counts))
        )
        self.waiting = []
        self._number_waiting = 0

    def _waiting_counts(self) -> Counts:
        low, high = self._bracket.low, self._bracket.high
        indexes = self._reading.indexes(np.concatenate(self.waiting))
        if high - low < NARROW:
            counts = np.bincount(indexes - low)
            inside = np.flatnonzero(counts)
            return inside + low, counts[inside]
        indexes, counts = np.unique(indexes, return_counts=True)
        return indexes, counts


def _number(cells: NDArray[Any], valid: Valid) -> int:
    if valid is None:
        return len(cells)
    return int(np.count_nonzero(valid))


def _count(mask: NDArray[np.bool_], valid: Valid) -> int:
    return int(np.count_nonzero(_both(mask, valid)))


def _both(mask: NDArray[np.bool_], valid: Valid) -> NDArray[np.bool_]:
    if valid is None:
        return mask
    return mask & valid


def _not_from(cells: NDArray[Any], end: Raw) -> NDArray[np.bool_]:
    """Which cells are not at the end or beyond it: NaN is neither."""
    if cells.dtype.kind != "f":
        return less_than(cells, end)
    beyond = not_less_than(cells, end)
    return np.logical_not(beyond, out=beyond)


def _are_whole(ends: Sequence[Raw], dtype: np.dtype[Any]) -> bool:
    """Whether both are whole numbers that cells of this type may have."""
    if dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return all(isinstance(end, int) and limits.min <= end <= limits.max for end in ends)


def _only_upto(cells: NDArray[Any], masks: NDArray[np.bool_]) -> NDArray[Any]:
    """The cells that the second mask of a block has and the first has not, which has none but those
    of the second.

    Masks are compared eight cells at a time, and most eights of most stretches have no such cell.
    """
    if masks.shape[-1] % EIGHT == 0:
        eights = masks.view(np.uint64)
        (places,) = (eights[:, 0] != eights[:, 1]).ravel().nonzero()
        if len(places) * FEW_EIGHTS * EIGHT <= len(cells):
            return cells.take(_inside(eights, places))
    # Faster than to index by the mask, by a tenth where few are inside.
    return cells.compress(np.not_equal(masks[:, 0], masks[:, 1]).ravel())


def _inside(eights: NDArray[np.uint64], places: NDArray[np.intp]) -> NDArray[np.intp]:
    """The places of the cells inside, all of which are in the eights at these places."""
    length = eights.shape[-1]
    # The masks of a block stand one after the other.
    under = places + places // length * length
    values = eights.ravel()
    inside = values.take(under) ^ values.take(under + length)
    (spots,) = inside.view(np.bool_).nonzero()
    found: NDArray[np.intp] = places.take(spots // EIGHT) * EIGHT + (spots & (EIGHT - 1))
    return found


def _number_less(cells: NDArray[Any], cut: Raw) -> int:
    if cut == inf:
        return len(cells)
    if cut == -inf:
        return 0
    return int(np.count_nonzero(less_than(cells, cut)))


def less_than(cells: NDArray[Any], cut: Raw) -> NDArray[np.bool_]:
    less: NDArray[np.bool_] = cells < _exact(cut)
    return less


def not_less_than(cells: NDArray[Any], cut: Raw) -> NDArray[np.bool_]:
    not_less: NDArray[np.bool_] = cells >= _exact(cut)
    return not_less


def _exact(cut: Raw) -> Raw | np.float64:
    """A Python float would be cut down to the cells' precision."""
    if isinstance(cut, float):
        return np.float64(cut)
    return cut
