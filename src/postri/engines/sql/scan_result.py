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
from postri.engines.sql.statements import ANY, LEFT_TO_SUM
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
        numbers = numbers.astype(np.int64)
        upto = upto.astype(np.int64)
        new_group = np.diff(groups, prepend=-1) != 0
        new_target = np.diff(targets, prepend=ANY - 1) != 0
        starts = np.flatnonzero(new_group | new_target)
        lengths = np.diff(starts, append=len(groups))
        # The first row of a group knows n, and the rows under those whose ranks are left to be
        # summed.
        left = held == LEFT_TO_SUM
        summed = np.cumsum(np.where(left, numbers, 0))
        under = np.repeat(upto[starts] - summed[starts], lengths)
        ranks = np.where(left, summed + under, upto)
        kept = held > 0
        ends = np.cumsum(kept)[starts + lengths - 1].tolist()
        names = list(zip(groups[starts].tolist(), targets[starts].tolist(), strict=True))
        runs = {
            name: slice(start, end)
            for name, start, end in zip(names, [0, *ends], ends, strict=False)
        }
        n = columns[7][order[starts]].tolist()
        totals = {group: int(total) for (group, _), total in zip(names, n, strict=True)}
        indexes = keys.indexes(places[kept], doubts[kept])
        return cls(runs, totals, indexes, numbers[kept], ranks[kept])

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
        indexes = self.indexes[run]
        numbers = self.numbers[run]
        upto = self.upto[run]
        low, high = rank_range(n, request.target.p, request.target.half)
        start = int(upto.searchsorted(low))
        end = int((upto - numbers).searchsorted(high))
        if start >= end:
            return RankWindow(NOTHING, NOTHING, 0, n)
        if self._repeated:
            # All keys of the window's first and last index belong to it.
            start, end = (
                int(indexes.searchsorted(indexes[start])),
                int(indexes.searchsorted(indexes[end - 1], "right")),
            )
        below = int(upto[start] - numbers[start])
        indexes = indexes[start:end]
        numbers = numbers[start:end]
        if self._repeated and (indexes[1:] == indexes[:-1]).any():
            indexes, numbers = tally(indexes, numbers)
        return RankWindow(indexes, numbers, below, n)

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
