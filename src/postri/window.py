"""The rank window: all that a mechanism sees of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Indexes = NDArray[np.int64]

Windows = Callable[[int], "RankWindow"]
"""The windows of one column around one rank:

`windows(k)` is the k-th, each wider than the one before, of one snapshot.
"""


# A draw hardly ever asks for a wider window; each is this many times as wide as the one before.
WIDER = 8
# Ranks of more rows in all are not told apart by 64 bits.
MOST_STACKED = 2**62


@dataclass(frozen=True, eq=False)
class RankWindow:  # noqa: PLW1641  # windows are compared in tests, never hashed
    """The order statistics around a target rank: distinct grid indexes with their counts, `below`
    rows before them, `n` in all.
    """

    indexes: Indexes
    counts: Indexes
    below: int
    n: int

    @classmethod
    def of_ranks(cls, indexes: Indexes, ranks: Indexes, n: int) -> RankWindow:
        """A window by the number of rows before each atom, and after the last."""
        return cls._known(indexes, ranks[1:] - ranks[:-1], ranks, n)

    @classmethod
    def _known(cls, indexes: Indexes, counts: Indexes, ranks: Indexes, n: int) -> RankWindow:
        """A window whose ranks are known: they would take as long as a cut to sum up again."""
        window = object.__new__(cls)
        vars(window).update(indexes=indexes, counts=counts, below=int(ranks[0]), n=n, ranks=ranks)
        return window

    def between(self, start: int, end: int) -> RankWindow:
        """The window of some of its atoms: from the first of these places to before the second."""
        ranks = self.ranks[start : end + 1]
        return self._known(self.indexes[start:end], self.counts[start:end], ranks, self.n)

    @cached_property
    def ranks(self) -> Indexes:
        """The number of rows before each atom, and after the last: one more entry than there are
        atoms.
        """
        return np.concatenate(([self.below], self.counts)).cumsum(dtype=np.int64)

    @property
    def above(self) -> int:
        """The number of rows beyond the last atom."""
        return self.n - int(self.ranks[-1])

    @property
    def whole(self) -> bool:
        """Whether the window holds every row."""
        return self.below == 0 and self.above == 0

    def ranks_before(self, indexes: Indexes) -> tuple[Indexes, Indexes]:
        """Bounds on the number of rows below each of these grid indexes; they agree inside the
        window.
        """
        exact = self.ranks[self.indexes.searchsorted(indexes)]
        if not len(self.indexes):
            return exact, exact
        # Below its first atom the window knows only the most that there can be, from the second
        # point past its last only the least.
        low = np.where(indexes < self.indexes[0], 0, exact)
        high = np.where(
            (indexes > self.indexes[-1]) & (indexes - 1 > self.indexes[-1]), self.n, exact
        )
        return low, high

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RankWindow)
            and (self.below, self.n) == (other.below, other.n)
            and np.array_equal(self.indexes, other.indexes)
            and np.array_equal(self.counts, other.counts)
        )


def rank_range(n: int, p: Fraction, half: int) -> tuple[int, int]:
    """The first and last order statistic (from 1) that a window with `half` rows per side must
    hold.
    """
    # The floor and the ceiling of p * n: whole numbers are much faster than fractions, and groups
    # are many.
    before, after = p.numerator * n // p.denominator, -(-p.numerator * n // p.denominator)
    return max(1, before - half), min(n, after + 1 + half)


def trim(window: RankWindow, p: Fraction, half: int) -> RankWindow:
    """The window cut to `half` rows on each side of the target rank, out to whole atoms.

    Which rows a bracket happened to hold does not show in the result.
    """
    low, high = rank_range(window.n, p, half)
    ranks = window.ranks
    # Groups are many, and the windows of most have no atom to spare.
    if len(ranks) > 1 and ranks[1] >= low and ranks[-2] < high:
        return window
    # The first atom up to whose end there are so many rows, and the first before which there are.
    start, end = ranks.searchsorted((low, high)).tolist()
    return window.between(max(start - 1, 0), min(end, len(window.indexes)))


def beginning_with(windows: Windows, p: Fraction, *halves: int) -> Windows:
    """The same windows, and before them the first one cut to each of `halves`: what is looked at
    takes time.
    """

    def window(level: int) -> RankWindow:
        if level < len(halves):
            return trim(windows(0), p, halves[level])
        return windows(level - len(halves))

    return window


def holds(window: RankWindow, p: Fraction, half: int) -> bool:
    """Whether the window reaches `half` rows to each side of the target rank, or the end of the
    data.
    """
    low, high = rank_range(window.n, p, half)
    return window.n == 0 or (window.below < low and high <= window.n - window.above)


class Slices(NamedTuple):
    """For each group the places of its atoms in the arrays of a stack: from the first to before the
    second.
    """

    starts: Indexes
    ends: Indexes


@dataclass(frozen=True, eq=False)
class WindowStack:
    """The windows of several groups in the same arrays, those of one group after those of another.

    An atom has `before` rows of its group below it, and `upto` rows up to it. The atoms of the
    windows are their `stretches`.
    """

    indexes: Indexes
    before: Indexes
    upto: Indexes
    stretches: Slices
    n: Sequence[int]

    @classmethod
    def of(cls, windows: Sequence[RankWindow]) -> WindowStack | None:
        """The windows of all groups; None if they have so many rows that their ranks would not fit
        one array.
        """
        n = [window.n for window in windows]
        if sum(n) + len(n) >= MOST_STACKED:
            return None
        lengths = np.array([len(window.indexes) for window in windows], dtype=np.int64)
        ends = lengths.cumsum()
        starts = ends - lengths
        counts = np.concatenate([window.counts for window in windows])
        below = np.array([window.below for window in windows], dtype=np.int64)
        summed = counts.cumsum(dtype=np.int64)
        # What the sum over all groups was before each of them.
        so_far = np.concatenate(([0], summed))[starts]
        upto = summed + np.repeat(below - so_far, lengths)
        return cls(
            indexes=np.concatenate([window.indexes for window in windows]),
            before=upto - counts,
            upto=upto,
            stretches=Slices(starts, ends),
            n=n,
        )

    def cut(self, p: Fraction, halves: Sequence[int]) -> Slices:
        """The atoms of each window cut to so many rows on each side, as `trim` cuts it."""
        lows, highs = self._rank_ranges(p, halves)
        first = self._keys_upto.searchsorted(lows + self._apart)
        end = self._keys_before.searchsorted(highs + self._apart)
        starts, ends = self.stretches
        return Slices(first.clip(starts, ends), end.clip(starts, ends))

    def _rank_ranges(self, p: Fraction, halves: Sequence[int]) -> tuple[Indexes, Indexes]:
        """The `rank_range` of each window."""
        largest = max(p.denominator, p.numerator * max(self.n) + max(halves))
        if largest >= MOST_STACKED:
            ranges = [rank_range(n, p, half) for n, half in zip(self.n, halves, strict=True)]
            lows, highs = np.array(ranges, dtype=np.int64).T
            return lows, highs
        n = np.array(self.n, dtype=np.int64)
        reach = np.array(halves, dtype=np.int64)
        before = p.numerator * n // p.denominator
        after = -(-p.numerator * n // p.denominator)
        return np.maximum(1, before - reach), np.minimum(n, after + 1 + reach)

    @cached_property
    def _apart(self) -> Indexes:
        """What makes the ranks of each group larger than all of the one before."""
        further: Indexes = np.array([0, *self.n[:-1]], dtype=np.int64) + 1
        return further.cumsum()

    @cached_property
    def _keys_upto(self) -> Indexes:
        return self.upto + self._of_atoms(self._apart)

    @cached_property
    def _keys_before(self) -> Indexes:
        return self.before + self._of_atoms(self._apart)

    def _of_atoms(self, of_groups: Indexes) -> Indexes:
        return np.repeat(of_groups, self.stretches.ends - self.stretches.starts)


@dataclass(frozen=True)
class Target:
    """Around which quantile a window is wanted, and how many rows on each side."""

    p: Fraction
    half: int

    def __hash__(self) -> int:
        # Fractions take long.
        return hash((self.p.numerator, self.p.denominator, self.half))


@dataclass(frozen=True)
class Total:
    """How many rows count, and the sum of their grid indexes."""

    n: int
    indexes: int


Ends = tuple[int, int]
"""Two grid indexes, the lower one first."""


@dataclass(frozen=True)
class MiddleTotal:
    """How many rows lie at the lower of two grid points or below it, at the upper one or above it,
    and between the two; and the sum of the latter's distances from the lower one, in steps.
    """

    below: int
    between: int
    above: int
    distances: int


MOST_STEPS = 2**62
"""A grid of more steps has no sums of squares: engines multiply places in 64 bits."""


@dataclass(frozen=True)
class SquareTotal:
    """How many rows count, the sum of their places, and that of the squares of these.

    A place is how many steps of the grid lie below a cell: 0 at its first point.
    """

    n: int
    places: int
    squares: int


@dataclass(frozen=True, eq=False)
class PointCounts:  # noqa: PLW1641  # counts are compared in tests, never hashed
    """How many cells of one group lie below each of some grid points, and how many there are.

    The points are ascending and distinct; `counts[i]` cells have an index below `points[i]`.
    """

    points: Indexes
    counts: Indexes
    n: int

    def below(self, points: Indexes) -> Indexes:
        """The counts at these points, each of which is among its own."""
        found: Indexes = self.counts[self.points.searchsorted(points)]
        return found

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PointCounts)
            and self.n == other.n
            and np.array_equal(self.points, other.points)
            and np.array_equal(self.counts, other.counts)
        )


CountsBelow = Callable[[Indexes], Sequence[PointCounts]]
"""For each group, how many cells lie below each of some grid indexes."""


@dataclass(frozen=True, eq=False)
class OrderedCells:
    """The grid indexes of the cells of each group, in order: whatever is counted of them takes no
    scan, and each group can be asked about points of its own.
    """

    groups: Sequence[Indexes]

    def __call__(self, points: Indexes) -> list[PointCounts]:
        """For each group how many cells lie below each of these points, and how many there are."""
        return [
            PointCounts(points, cells.searchsorted(points), len(cells)) for cells in self.groups
        ]

    def of(self, groups: Sequence[int]) -> OrderedCells:
        """Those of some groups."""
        return OrderedCells([self.groups[group] for group in groups])

    def ranks(self, group: int, firsts: Indexes, lasts: Indexes) -> Indexes:
        """How many cells of a group lie below each of `firsts`, of which each stretch has a line;
        after them, how many lie up to the last index of the stretch.
        """
        cells = self.groups[group]
        below = cells.searchsorted(firsts)
        upto = cells.searchsorted(lasts, "right")
        return np.hstack((below, upto[:, None]))


def with_lowest(windows: Windows, target: Target, *, rows: int, lowest: int) -> Windows:
    """The windows around a target rank of a table whose number of rows is public.

    An engine's windows show the cells that can be read. Here each of the other rows, of `rows` in
    all, counts as a cell at the grid index `lowest`: the windows are those that the engine would
    give had these cells been there.
    """
    if windows(0).n >= rows:
        return windows

    def window(level: int) -> RankWindow:
        half = target.half * WIDER**level
        # The target rank among all rows lies lower than that among the cells that can be read, so
        # a window of the same width may end too early there.
        for wider in count(level):
            padded = _with_lowest(windows(wider), rows, lowest)
            if holds(padded, target.p, half):
                return trim(padded, target.p, half)
        raise AssertionError("unreachable")

    return window


def _with_lowest(window: RankWindow, rows: int, lowest: int) -> RankWindow:
    """The window with the missing rows of `rows` at the lowest index, which it shows if it begins
    with the first cell.
    """
    missing = rows - window.n
    indexes = window.indexes
    counts = window.counts
    if window.below > 0:
        return RankWindow(indexes, counts, window.below + missing, rows)
    if len(indexes) and indexes[0] == lowest:
        counts = counts.copy()
        counts[0] += missing
    else:
        indexes = np.concatenate((np.array([lowest], dtype=np.int64), indexes))
        counts = np.concatenate((np.array([missing], dtype=np.int64), counts))
    return RankWindow(indexes, counts, 0, rows)
