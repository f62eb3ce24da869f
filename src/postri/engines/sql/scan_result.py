"""What a scan returned, and the windows in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.engines.engine import CountRequest, tally
from postri.engines.sql.index_keys import IndexKeys
from postri.engines.sql.statements import ANY
from postri.window import Indexes, RankWindow, rank_range

NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class ScanResult:
    """What a scan returned, in the order of the indexes: where each group's rows for a target are,
    and how many rows a group has.
    """

    runs: Mapping[tuple[int, int], slice]
    totals: Mapping[int, int]
    indexes: Indexes
    numbers: Indexes
    upto: Indexes

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any]], keys: IndexKeys) -> ScanResult:
        """The columns of a statement, with the indexes of its keys."""
        order = _order(*columns[:5])
        groups, targets, held, places, doubts, numbers, upto = (
            _in_order(column, order) for column in columns[:7]
        )
        names, starts = _runs(groups, targets)
        kept = held > 0
        kept_before = np.concatenate(([0], np.cumsum(kept)))
        ends = kept_before[np.append(starts[1:], len(kept))].tolist()
        n = columns[7][order[starts]].tolist()
        return cls(
            runs={
                name: slice(start, end)
                for name, start, end in zip(names, [0, *ends], ends, strict=False)
            },
            totals={group: int(total) for (group, _), total in zip(names, n, strict=True)},
            indexes=keys.indexes(places[kept], doubts[kept]),
            numbers=numbers[kept].astype(np.int64),
            upto=upto[kept].astype(np.int64),
        )

    @classmethod
    def of_cells(
        cls,
        columns: Sequence[NDArray[Any]],
        keys: IndexKeys,
        totals: Mapping[int, int],
        targets: int,
    ) -> ScanResult:
        """Columns of runs, keys, their doubts if there are any, and how many rows there are up to
        each key; of groups that have so many rows in all. A run is the number of a group, times
        that of all targets, plus the number of the target.

        The least of these numbers in a run belongs to the rows under it. A negative one stands for
        a single cell, which is still to be counted: such a run has -1 for no rows under all of its
        cells, and so on downwards.
        """
        runs, places, *told, upto = columns
        doubts = told[0] if told else np.zeros(len(places), np.int8)
        runs, places, doubts, numbers, upto = _counted(runs, places, doubts, upto)
        starts = _starts(runs)
        ends = np.append(starts, len(runs))[1:]
        return cls(
            runs={
                divmod(run, targets): slice(start, end)
                for run, start, end in zip(
                    runs[starts].tolist(), starts.tolist(), ends.tolist(), strict=True
                )
            },
            totals=totals,
            indexes=keys.indexes(places, doubts),
            numbers=numbers,
            upto=upto,
        )

    @classmethod
    def nothing(cls, totals: Mapping[int, int]) -> ScanResult:
        """No row of any window, of groups that have so many rows in all."""
        return cls({}, totals, NOTHING, NOTHING, NOTHING)

    def n(self, group: int) -> int:
        """How many rows a group has; one that does not occur has none."""
        return self.totals.get(group, 0)

    def window(self, request: CountRequest, target: int) -> RankWindow:
        """The counts in one bracket, near its target.

        Those of other targets may lie beyond a gap.
        """
        n = self.n(request.group)
        run = self.runs.get((request.group, target))
        if run is None:
            run = self._inside(request)
        low, high = rank_range(n, request.target.p, request.target.half)
        start = run.start + int(self.upto[run].searchsorted(low))
        end = run.start + int(self._before[run].searchsorted(high))
        if start >= end:
            return RankWindow(NOTHING, NOTHING, 0, n)
        if self._repeated:
            # All keys of the window's first and last index belong to it.
            indexes = self.indexes[run]
            first, last = self.indexes[start], self.indexes[end - 1]
            start = run.start + int(indexes.searchsorted(first))
            end = run.start + int(indexes.searchsorted(last, "right"))
        indexes = self.indexes[start:end]
        if self._repeated and (indexes[1:] == indexes[:-1]).any():
            counted = tally(indexes, self.numbers[start:end])
            return RankWindow(*counted, int(self._before[start]), n)
        ranks = np.concatenate((self._before[start : start + 1], self.upto[start:end]))
        return RankWindow.of_ranks(indexes, ranks, n)

    @cached_property
    def _before(self) -> Indexes:
        """How many rows of its group lie before each."""
        return self.upto - self.numbers

    @cached_property
    def _repeated(self) -> bool:
        """Whether some index may have several keys."""
        return bool((self.indexes[1:] == self.indexes[:-1]).any())

    def _inside(self, request: CountRequest) -> slice:
        """The rows of a bracket, where all targets have theirs together."""
        run = self.runs.get((request.group, ANY), slice(0, 0))
        indexes = self.indexes[run]
        start = np.searchsorted(indexes, request.bracket.low)
        end = np.searchsorted(indexes, request.bracket.high, "right")
        return slice(run.start + int(start), run.start + int(end))


def _runs(groups: NDArray[Any], targets: NDArray[Any]) -> tuple[list[tuple[int, int]], Indexes]:
    """The group and target of each run of rows that have them in common, and where it begins."""
    new_group = np.diff(groups, prepend=-1) != 0
    new_target = np.diff(targets, prepend=ANY - 1) != 0
    starts = np.flatnonzero(new_group | new_target)
    names = list(zip(groups[starts].tolist(), targets[starts].tolist(), strict=True))
    return names, starts


Rows = tuple[NDArray[Any], NDArray[Any], NDArray[Any], Indexes, Indexes]
"""Runs, keys, their doubts, how many rows have each, and how many are up to it."""


def _counted(
    runs: NDArray[Any], places: NDArray[Any], doubts: NDArray[Any], upto: NDArray[Any]
) -> Rows:
    """The rows in order, those that are single cells counted."""
    alone = upto < 0
    if alone.all():
        return _counted_cells(runs, places, doubts, upto)
    cells = _counted_cells(runs[alone], places[alone], doubts[alone], upto[alone])
    others = _counted_keys(runs[~alone], places[~alone], doubts[~alone], upto[~alone])
    runs, places, doubts, numbers, upto = (
        np.concatenate(pair) for pair in zip(cells, others, strict=True)
    )
    order = np.lexsort((upto, runs))
    return runs[order], places[order], doubts[order], numbers[order], upto[order]


def _counted_keys(
    runs: NDArray[Any], places: NDArray[Any], doubts: NDArray[Any], upto: NDArray[Any]
) -> Rows:
    """Keys in order, each of which has as many rows as there are more up to it than up to the one
    before.
    """
    order = np.lexsort((upto, runs))
    runs, upto = runs[order], upto[order].astype(np.int64)
    is_key = np.ones(len(runs), dtype=bool)
    is_key[_starts(runs)] = False
    (keys,) = is_key.nonzero()
    order = order[keys]
    return runs[keys], places[order], doubts[order], upto[keys] - upto[keys - 1], upto[keys]


def _counted_cells(
    runs: NDArray[Any], places: NDArray[Any], doubts: NDArray[Any], told: NDArray[Any]
) -> Rows:
    """Single cells in order, each once, with the number of rows that have it, and of those up to
    it. How many rows lie under all cells of a run was `told` by a negative number.
    """
    told_of_run = np.full(int(runs.max(initial=-1)) + 1, -1)
    told_of_run[runs] = told
    number = len(runs)
    runs, places, doubts, starts = _distinct(runs, places, doubts)
    ends = np.append(starts, number)[1:]
    firsts = _starts(runs)
    further = -1 - told_of_run[runs[firsts]] - starts[firsts]
    upto = further.repeat(np.diff(firsts, append=len(runs)))
    upto += ends
    return runs, places, doubts, np.subtract(ends, starts, out=ends), upto


def _distinct(
    runs: NDArray[Any], places: NDArray[Any], doubts: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Indexes]:
    """The cells that differ by run, then by key, and where each would begin if all were in order.

    Where both fit one number, numbers alone are sorted, which takes a fifth of the time.
    """
    if places.dtype.kind in "iu" and len(places) and not doubts.any():
        least = places.min().astype(np.uint64)
        bits = (int(places.max()) - int(places.min())).bit_length()
        if bits + int(runs.max()).bit_length() <= 63:
            # Distances are right however large the numbers are: they are computed modulo 2^64.
            away = places.astype(np.uint64)
            away -= least
            both = runs.astype(np.uint64)
            both <<= np.uint64(bits)
            both |= away
            both.sort()
            starts = _starts(both)
            both = both[starts]
            runs = (both >> np.uint64(bits)).view(np.int64)
            both &= np.uint64((1 << bits) - 1)
            both += least
            return runs, both.astype(places.dtype, copy=False), doubts[: len(starts)], starts
    order = np.lexsort((doubts, places, runs))
    runs, places, doubts = runs[order], places[order], doubts[order]
    new = np.ones(len(runs), dtype=bool)
    new[1:] = False
    for each in (runs, places, doubts):
        new[1:] |= each[1:] != each[:-1]
    starts = np.flatnonzero(new)
    return runs[starts], places[starts], doubts[starts], starts


def _starts(ordered: NDArray[Any]) -> Indexes:
    """Where each run of equal numbers begins."""
    is_new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return np.flatnonzero(is_new)


def _in_order(column: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    """A column by the order; one that is the same all over is so in any order."""
    if len(column) and column.min() == column.max():
        return column
    return column[order]


def _order(
    groups: NDArray[Any],
    targets: NDArray[Any],
    held: NDArray[Any],
    places: NDArray[Any],
    doubts: NDArray[Any],
) -> NDArray[np.intp]:
    """By group and target, first the rows that hold nothing, then by key."""
    order = np.lexsort((doubts, places)) if doubts.any() else np.argsort(places)
    codes = (groups * (int(targets.max(initial=0)) + 2) + targets + 1) * 2 + (held > 0)
    if codes.max(initial=0) < 2**16:
        # Whole numbers of 16 bits are sorted in no time.
        codes = codes.astype(np.uint16)
    return order[np.argsort(codes[order], kind="stable")]
