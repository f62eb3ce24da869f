"""Counts below grid points for somebody who asks again and again: what may be asked for next is
counted ahead, so that two scans are enough for most.

What is counted ahead follows from a sample and from the counts so far. Speed alone depends on it:
every count that is told is exact, whatever else was counted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from postri.engines.engine import MOST_COUNTS, Engine
from postri.engines.rows import Selection
from postri.engines.stretches import LARGEST, SMALLEST, Lattice, Stretches, lattices
from postri.grid import Grid
from postri.window import Indexes, PointCounts

# Into how many stretches a first scan divides the usual range of the cells. With more of them every
# row costs more; with fewer, more rows lie in those that are divided again.
USUAL_STRETCHES = 1 << 15
# Elsewhere, where hardly a cell lies, a grid without octaves is divided into so many.
FEW_STRETCHES = 1 << 9
# A stretch without cells costs nothing where rows have no groups: with as many more beyond the
# usual range hardly a cell is left that has to be looked up. All numbers of stretches have 16 bits.
WIDE_STRETCHES = (1 << 16) - 2 * FEW_STRETCHES
# So few rows in a stretch are not worth another one.
ROWS_EACH = 16
# Stretches are divided before somebody asks for them if there is room for so many parts of each.
PARTS_EACH = 64
# What holds about this share of the rows of a group is likely to be divided, wherever it lies.
MANY = 1 / 1000


class CountsAhead:
    """The cells of a column below grid points, in each group; more will be asked for within `reach`
    rows of the ranks of the quantiles `ps`.
    """

    def __init__(
        self,
        engine: Engine,
        column: str | None,
        grid: Grid,
        rows: Selection,
        ps: Sequence[Fraction],
        reach: int,
    ) -> None:
        self._engine = engine
        self._column = column
        self._grid = grid
        self._rows = rows
        self._shares = np.array([float(p) for p in ps])
        self._reach = reach
        self._lattices = lattices(grid)
        # No cell lies below the first point.
        self._points = np.array([grid.first], np.int64)
        self._table = np.zeros((1, rows.number), np.int64)
        self._n: Indexes | None = None

    def __call__(self, points: Indexes) -> list[PointCounts]:
        """For each group how many cells lie below each of these points, which are ascending and
        distinct, and how many there are.
        """
        if self._n is None:
            self._n = self._count_points(np.union1d(points, self._usual_points()))
        lacking = self._lacking(points)
        if len(lacking):
            self._count_parts(lacking)
            lacking = self._lacking(lacking)
        if len(lacking):
            self._count_points(lacking)
        found = self._table[self._points.searchsorted(points)]
        return [PointCounts(points, found[:, group], n) for group, n in enumerate(self._n.tolist())]

    def _lacking(self, points: Indexes) -> Indexes:
        return points[~self._is_known(points)]

    def _is_known(self, points: Indexes) -> NDArray[np.bool_]:
        places = self._points.searchsorted(points)
        known: NDArray[np.bool_] = self._points[places % len(self._points)] == points
        return known

    def _count_points(self, points: Indexes) -> Indexes:
        """One scan for any points; how many cells each group has."""
        points = self._lacking(points)
        counted = self._engine.counts_below(self._column, self._grid, points, self._rows)
        self._add(points, np.array([each.counts for each in counted], np.int64).T)
        return np.array([each.n for each in counted], np.int64)

    def _add(self, points: Indexes, below: Indexes) -> None:
        together = np.concatenate((self._points, points))
        order = np.argsort(together, kind="stable")
        self._points = together[order]
        self._table = np.concatenate((self._table, below))[order]

    def _usual_points(self) -> Indexes:
        """Some all over the grid, and many where most cells lie."""
        groups = self._rows.number
        room = max(1, min(USUAL_STRETCHES, self._most_parts // 2))
        few = min(room, FEW_STRETCHES)
        found = [lattice.outline(few) for lattice in self._lattices]
        usual = self._engine.usual_range(self._column, self._grid, self._rows)
        if usual is not None:
            inside = [lattice.within(usual.low, usual.high) for lattice in self._lattices]
            # Where a few rows lie, noise hides how they are spread.
            worth = max(few, usual.rows // (ROWS_EACH * groups))
            size = max(lattice.size_for(min(room, worth)) for lattice in inside)
            found += [lattice.fringe(size) for lattice in inside]
            if groups == 1 and worth >= room == USUAL_STRETCHES:
                inside = self._widened(inside, size)
            found += [lattice.points(size) for lattice in inside]
        return self._within_grid(found)

    def _widened(self, inside: Sequence[Lattice], size: int) -> list[Lattice]:
        """The part of each lattice that holds cells, and as much beyond it as there is room for."""
        lengths = [max(0, lattice.last - lattice.first + 1) for lattice in inside]
        more = WIDE_STRETCHES * size - sum(lengths)
        widened = []
        for lattice, part, length in zip(self._lattices, inside, lengths, strict=True):
            if length:
                share = more * length // sum(lengths)
                widened.append(lattice.around(part.first, part.last, share))
        return widened

    @cached_property
    def _most_parts(self) -> int:
        """Into how many parts of stretches a scan divides the cells of a group."""
        most = self._engine.most_parts(self._column, self._grid, self._rows)
        return max(2, min(most, MOST_COUNTS // self._rows.number))

    def _within_grid(self, points: Iterable[Sequence[int]]) -> Indexes:
        """Those inside the grid, in order."""
        first, last = self._grid.first, self._grid.last
        found = [np.empty(0, np.int64)]
        for each in points:
            if isinstance(each, range):
                # These are many, and in order.
                some = each[bisect_left(each, first) : bisect_right(each, last)]
                found.append(np.fromiter(some, np.int64, len(some)))
            else:
                inside = [point for point in each if first <= point <= last]
                found.append(np.array(inside, np.int64))
        return np.unique(np.concatenate(found))

    def _count_parts(self, lacking: Indexes) -> None:
        """A scan that divides the stretches around these points, and around all ranks near which
        more will be asked for.
        """
        near = np.unique(np.concatenate((lacking, self._near_ranks())))
        for lattice in self._lattices:
            stretches = self._stretches(lattice, near)
            if stretches is not None:
                parts = self._engine.counts_inside(self._column, self._grid, stretches, self._rows)
                self._add_parts(stretches, parts)

    def _add_parts(self, stretches: Stretches, parts: Indexes) -> None:
        # A stretch that begins before the grid does has no cells below it.
        firsts = np.maximum(stretches.firsts, self._grid.first)
        under = self._table[self._points.searchsorted(firsts)]
        upto = under[:, None, :] + parts.transpose(1, 2, 0).cumsum(axis=1)
        points = stretches.starts[:, 1:].ravel()
        below = upto[:, :-1].reshape(len(points), self._rows.number)
        is_new = (points <= self._grid.last) & ~self._is_known(points)
        self._add(points[is_new], below[is_new])

    def _near_ranks(self) -> Indexes:
        """Points between which and the next ones the ranks of the quantiles lie, or many rows, in
        any group.
        """
        assert self._n is not None
        inside = np.diff(self._table, axis=0, append=self._n[None])
        many = np.maximum(MANY * self._n - self._reach, self._reach)
        is_near = (inside > many).any(axis=1)
        # By how much more stretches of places near a rank begin at a place than end there.
        begins = np.zeros(len(self._points) + 1, np.int64)
        for below, n in zip(self._table.T, self._n.tolist(), strict=True):
            ranks = self._shares * n
            first = below.searchsorted(ranks - self._reach, "right") - 1
            end = below.searchsorted(ranks + self._reach, "right")
            np.add.at(begins, np.maximum(first, 0), 1)
            np.subtract.at(begins, end, 1)
        is_near |= begins.cumsum()[:-1] > 0
        is_near &= (inside >= ROWS_EACH).any(axis=1)
        if np.count_nonzero(is_near) * PARTS_EACH > self._most_parts:
            return np.empty(0, np.int64)
        near: Indexes = self._points[is_near]
        return near

    def _stretches(self, lattice: Lattice, near: Indexes) -> Stretches | None:
        """Those around some points that begin where the cells below are known, and have parts that
        are not: as many as there is room for.
        """
        inside = near[(near >= lattice.first) & (near <= lattice.last)]
        places = np.unique(self._points.searchsorted(inside, "right"))
        ends = np.append(self._points, self._grid.last)
        # As Python's numbers: two of 64 bits may lie further apart than one of them reaches.
        together = zip(ends[places - 1].tolist(), ends[places].tolist(), strict=True)
        sizes = {first: end - first for first, end in together if end - first > 1}
        if not sizes:
            return None
        # Most are alike; of the others, the smaller ones are counted once more, and the larger ones
        # are left to another scan.
        usual = sorted(sizes.values())[len(sizes) // 2]
        size = 1 << (usual - 1).bit_length()
        starts = {start for first in sizes for start in lattice.siblings(first, size)}
        fitting = sorted(start for start in starts if SMALLEST <= start <= LARGEST - size)
        firsts = np.array(fitting, np.int64)
        fitting = firsts[self._is_known(firsts) | (firsts < self._grid.first)].tolist()
        fitting = fitting[: self._most_parts // 2]
        if not fitting:
            return None
        fitting = [start for start in fitting if start + size - fitting[0] <= LARGEST]
        step = size
        while step > 1 and len(fitting) * (2 * size // step) <= self._most_parts:
            step //= 2
        return Stretches(np.array(fitting, np.int64), size, step)
