"""The value step: one noisy max over pairs of a grid point and a shape.

With L = t - #{x < y} and R = #{x <= y} - t, the point y has the depth min(L, R). A lopsided shape
wins where one value holds so many rows that the quantile lies safely inside it on one side.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from postri.grid import Grid
from postri.mechanisms.noisy_max import boost
from postri.methods.leeway import Leeway
from postri.methods.scores import Scores, Step, over_target, units_per_row
from postri.window import Indexes, RankWindow, Windows

T = TypeVar("T", bound=np.generic)

Shape = Literal["even", "right", "left"]
SHAPES: tuple[Shape, ...] = ("even", "right", "left")


@dataclass(frozen=True)
class ValueStep(Step):
    """The public numbers of the draw; an interval around the value that is to hold the quantile of
    a population has a `leeway`.
    """

    margin: int
    bonus: int
    leeway: Leeway | None = None

    @property
    def fine(self) -> int:
        """A leeway has its own unit."""
        if self.leeway is None:
            return 1
        return self.leeway.fine

    @cached_property
    def distrust(self) -> int:
        """How deep inside a value the quantile must lie before a lopsided shape is favoured, in
        units.

        At least a row: with little noise the bonus alone would decide between shapes.
        """
        rows = max(Fraction(1), self.margin * self.scale)
        return ceil(rows * units_per_row(self.p, self.fine))

    def distrust_of(self, n: int) -> int:
        """The same where the interval must be deeper by what n rows may be off."""
        if self.leeway is None:
            return self.distrust
        return self.distrust + self.leeway.units(n)

    def scores(self, shape: Shape, before: Scores, upto: Scores, distrust: int | Indexes) -> Scores:
        """The scores of points with the rows `before` and `upto` them, in units from the target
        rank, where this is the `distrust_of` their table.
        """
        left = -before
        depth: Scores = np.minimum(left, upto)
        if shape == "even":
            return depth
        return self.lopsided(shape, left, upto, depth, distrust)

    def lopsided(
        self, shape: Shape, left: Scores, right: Scores, depth: Scores, distrust: int | Indexes
    ) -> Scores:
        """The same of a lopsided shape, where points lie so deep to both sides, and so at all."""
        if shape == "right":
            inside = left - np.abs(right)
        else:
            inside = right - np.abs(left)
        # Depths are even numbers of units, so halves are exact.
        inside >>= 1
        inside -= distrust
        scores: Scores = np.minimum(depth, inside)
        return scores

    def boost(self, shape: Shape) -> int:
        """The public bonus of a shape."""
        if shape == "even":
            return 0
        return self._lopsided_boost

    @cached_property
    def _lopsided_boost(self) -> int:
        return boost(Fraction(self.bonus))

    def runs(self, windows: Windows, grid: Grid) -> ValueRuns:
        """All candidates, as the first window shows them."""
        segments = _segments(windows(0), grid.first, grid.last)
        return ValueRuns(self, windows, grid, 0, segments, SHAPES)


class Segments(NamedTuple):
    """Runs of grid points that no count tells apart: atoms, the gaps between them, and what lies
    outside the window.

    `ranks` has a row of how many rows lie before each, and one of how many lie up to its end.
    """

    starts: Indexes
    ends: Indexes
    ranks: Indexes
    known: NDArray[np.bool_]
    n: int


def _segments(window: RankWindow, first: int, last: int) -> Segments:
    """The segments of the points `first..last`: gap, atom, gap, ..., atom, gap, without the empty
    gaps.
    """
    begin = int(window.indexes.searchsorted(first))
    end = int(window.indexes.searchsorted(last, side="right"))
    atoms = window.indexes[begin:end]
    number = 2 * len(atoms) + 1
    # Odd places are atoms, even ones the gaps before and after them.
    starts = np.empty(number, np.int64)
    starts[0] = first
    starts[1::2] = atoms
    np.add(atoms, 1, out=starts[2::2])
    ends = np.empty(number, np.int64)
    ends[-1] = last
    ends[1::2] = atoms
    np.subtract(atoms, 1, out=ends[:-1:2])
    twice = window.ranks[begin : end + 1].repeat(2)
    ranks = np.empty((2, number), np.int64)
    ranks[0] = twice[:-1]
    ranks[1] = twice[1:]
    known = _inside(window, starts, ends)
    kept = _nonempty(atoms, first, last)
    if np.count_nonzero(kept) < number:
        starts, ends, ranks, known = starts[kept], ends[kept], ranks[:, kept], known[kept]
    return Segments(starts, ends, ranks, known, window.n)


def _nonempty(atoms: Indexes, first: int, last: int) -> NDArray[np.bool_]:
    kept = np.empty(2 * len(atoms) + 1, np.bool_)
    kept.fill(True)
    if len(atoms):
        kept[0] = atoms[0] > first
        kept[-1] = atoms[-1] < last
        np.not_equal(atoms[1:] - atoms[:-1], 1, out=kept[2:-1:2])
    return kept


def _inside(window: RankWindow, starts: Indexes, ends: Indexes) -> NDArray[np.bool_]:
    """Whether a segment's counts are known: all but the segments beyond an end of the window where
    there are more rows.
    """
    known = np.empty(len(starts), np.bool_)
    known.fill(True)
    if window.below:
        known &= ends >= window.indexes[0]
    if window.above:
        known &= starts <= window.indexes[-1]
    return known


@dataclass(frozen=True, eq=False)
class ValueRuns:
    """Every segment in every shape: run `j` is segment `j % m` in shape `shapes[j // m]`, for m
    segments.
    """

    step: ValueStep
    windows: Windows
    grid: Grid
    level: int
    segments: Segments
    shapes: tuple[Shape, ...]

    def shape(self, j: int) -> Shape:
        """The shape of run j."""
        return self.shapes[j // len(self.segments.starts)]

    def _segment(self, j: int) -> tuple[int, int]:
        i = j % len(self.segments.starts)
        return int(self.segments.starts[i]), int(self.segments.ends[i])

    @cached_property
    def scores(self) -> Scores:
        """Exact inside the window.

        Outside, every shape scores at most the depth next to the window's end.
        """
        seen = self.segments
        step = self.step
        distrust = step.distrust_of(seen.n)
        before, right = over_target(seen.ranks, seen.n, step.p, distrust, step.fine)
        left = -before
        depth = np.minimum(left, right)
        by_shape = []
        for shape in self.shapes:
            scores = depth
            if shape != "even":
                # The score of a lopsided shape is at most the depth.
                lopsided = step.lopsided(shape, left, right, depth, distrust)
                scores = np.where(seen.known, lopsided, depth)
            by_shape.append(scores)
        return np.concatenate(by_shape)

    @cached_property
    def boosts(self) -> NDArray[np.int64]:
        """The bonus of each run's shape."""
        boosts = np.empty((len(self.shapes), len(self.segments.starts)), np.int64)
        for of_shape, shape in zip(boosts, self.shapes, strict=True):
            of_shape.fill(self.step.boost(shape))
        return boosts.ravel()

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether the window shows the run's score."""
        return self._in_all_shapes(self.segments.known)

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """The number of candidates in each run."""
        segments = self.segments
        return self._in_all_shapes(self.grid.sizes_in_order(segments.starts, segments.ends))

    def _in_all_shapes(self, of_segments: NDArray[T]) -> NDArray[T]:
        """What every shape has of the segments."""
        return np.concatenate([of_segments] * len(self.shapes))

    def span(self, j: int) -> tuple[int, int]:
        """The copies of run j, numbered as the grid numbers them."""
        start, end = self._segment(j)
        return self.grid.copies(start), self.grid.copies(end + 1)

    def open(self, j: int) -> ValueRuns:
        """Run j as the next window shows it."""
        level = self.level + 1
        segments = _segments(self.windows(level), *self._segment(j))
        return ValueRuns(self.step, self.windows, self.grid, level, segments, (self.shape(j),))
