"""What a scan returned, and the windows in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.engines.base import Wanted, tally
from postri.engines.keys import Keys
from postri.engines.statements import ANY, LEFT_TO_SUM
from postri.window import Indexes, RankWindow, rank_range

NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Counted:
    """What a scan returned, in the order of the indexes: where each group's rows for a target are,
    and how many rows a group has.
    """

    runs: Mapping[tuple[int, int], slice]
    totals: Mapping[int, int]
    indexes: Indexes
    numbers: Indexes
    upto: Indexes

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any]], keys: Keys) -> Counted:
        """The columns of a statement, with the indexes of its keys."""
        order = _order(*columns[:5])
        groups, targets, held, places, doubts, numbers, upto = (
            _in_order(column, order) for column in columns[:7]
        )
        numbers, upto = numbers.astype(np.int64), upto.astype(np.int64)
        starts = np.flatnonzero(
            (np.diff(groups, prepend=-1) != 0) | (np.diff(targets, prepend=ANY - 1) != 0)
        )
        lengths = np.diff(starts, append=len(groups))
        # The first row of a group knows n, and the rows under those whose ranks are left to be
        # summed.
        summed = np.cumsum(np.where(held == LEFT_TO_SUM, numbers, 0))
        ranks = np.where(
            held == LEFT_TO_SUM, summed + np.repeat(upto[starts] - summed[starts], lengths), upto
        )
        kept = held > 0
        ends = np.cumsum(kept)[starts + lengths - 1].tolist()
        names = list(zip(groups[starts].tolist(), targets[starts].tolist(), strict=True))
        return cls(
            {
                name: slice(start, end)
                for name, start, end in zip(names, [0, *ends], ends, strict=False)
            },
            {
                group: int(total)
                for (group, _), total in zip(names, columns[7][order[starts]].tolist(), strict=True)
            },
            keys.indexes(places[kept], doubts[kept]),
            numbers[kept],
            ranks[kept],
        )

    def n(self, group: int) -> int:
        """How many rows a group has; one that does not occur has none."""
        return self.totals.get(group, 0)

    def window(self, wanted: Wanted, target: int) -> RankWindow:
        """The counts in one bracket, near its target.

        Those of other targets may lie beyond a gap.
        """
        n, run = self.n(wanted.group), self.runs.get((wanted.group, target))
        if run is None:
            run = self._inside(wanted)
        low, high = rank_range(n, wanted.target.p, wanted.target.half)
        indexes, numbers, upto = self.indexes[run], self.numbers[run], self.upto[run]
        start, end = int(upto.searchsorted(low)), int((upto - numbers).searchsorted(high))
        if start >= end:
            return RankWindow(NOTHING, NOTHING, 0, n)
        if self._repeated:
            start, end = (
                int(indexes.searchsorted(indexes[start])),
                int(indexes.searchsorted(indexes[end - 1], "right")),
            )
        below, indexes, numbers = (
            int(upto[start] - numbers[start]),
            indexes[start:end],
            numbers[start:end],
        )
        if self._repeated and (indexes[1:] == indexes[:-1]).any():
            indexes, numbers = tally(indexes, numbers)
        return RankWindow(indexes, numbers, below, n)

    @cached_property
    def _repeated(self) -> bool:
        """Whether some index may have several keys."""
        return bool((self.indexes[1:] == self.indexes[:-1]).any())

    def _inside(self, wanted: Wanted) -> slice:
        """The rows of a bracket, where all targets have theirs together."""
        run = self.runs.get((wanted.group, ANY), slice(0, 0))
        start, end = (
            np.searchsorted(self.indexes[run], wanted.bracket.low),
            np.searchsorted(self.indexes[run], wanted.bracket.high, "right"),
        )
        return slice(run.start + int(start), run.start + int(end))


def _in_order(column: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    """A column by the order; one that is the same all over is so in any order."""
    return column if len(column) and column.min() == column.max() else column[order]


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
    # Whole numbers of 16 bits are sorted in no time.
    narrow = codes.astype(np.uint16) if codes.max(initial=0) < 2**16 else codes
    return order[np.argsort(narrow[order], kind="stable")]
