"""What the published methods share: the grid without ties, what they can be asked, and why n must
be public.

The k copies of x become n*x, n*x + 1, ..., n*x + k - 1 on a grid of n*N points. Ranks are step
functions of the position there, and candidates between two steps form runs: nothing walks the grid.
Utilities are whole multiples of 2^-20 rows, because the thresholds of the methods are irrational.

The points of that grid, and with them the answers that can come out, depend on the number of rows
n. So n must be the same on neighbouring tables: the methods answer for every row of a table, and a
cell that is null or cannot be read counts as the domain's lower end.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from postri.errors import InputError
from postri.grid import Grid
from postri.methods.method import QuantileTerms, WindowMethod
from postri.privacy import ReplaceRows
from postri.window import Indexes, RankWindow, Windows

HALF = Fraction(1, 2)
ROWS_ARE_PUBLIC = (
    "the number of rows is taken to be public; a cell that is null or cannot be read counts as "
    "the domain's lower end"
)
NOT_ALWAYS = (
    "as published: the confidence holds only with rows enough and a median away from the domain's "
    "edges; depth holds it always"
)
# How many units of a utility are a row.
UNIT = 1 << 20
MOST_POINTS = 2**62
# How many noise scales a draw may be off before it asks for a wider window: ln of every candidate,
# and 40 bits more.
PATIENCE = log(MOST_POINTS) + 40 * log(2)


class Published(WindowMethod, ABC):
    """A method from a paper: the median alone, one replaced row, n public."""

    notes: ClassVar[tuple[str, ...]] = (ROWS_ARE_PUBLIC, NOT_ALWAYS)
    every_row: ClassVar[bool] = True

    def check(self, terms: QuantileTerms, grid: Grid) -> None:
        """Refuse what the method cannot answer: InputError."""
        if terms.p != HALF:
            raise InputError(
                f"{self.name} answers for the median alone, not for p = {terms.p}; use "
                "method='depth'"
            )
        if terms.protect != ReplaceRows(1):
            raise InputError(
                f"{self.name} protects against one replaced row alone; ask with "
                "protect=ReplaceRows(1), or use method='depth'"
            )
        size_of(1, grid)


@dataclass(frozen=True)
class Tieless:
    """The rows of a window as positions `0..last` of the grid without ties, with `below` rows
    before them and `n` in all.

    `size` is n*N, the size that the formulas speak of. The points 0..N take n positions each, so
    `last` is n - 1 more.
    """

    positions: Indexes
    below: int
    n: int
    size: int
    first: int

    @classmethod
    def of(cls, window: RankWindow, grid: Grid) -> Tieless:
        """The window without its ties."""
        n = window.n
        # Each row's number among the rows of its own value.
        first_of_value = np.repeat(window.ranks[:-1] - window.below, window.counts)
        copies = np.arange(int(window.counts.sum())) - first_of_value
        points = np.repeat(window.indexes - grid.first, window.counts)
        return cls(
            positions=n * points + copies,
            below=window.below,
            n=n,
            size=size_of(n, grid),
            first=grid.first,
        )

    @property
    def last(self) -> int:
        """The last position: that of the last copy, if all rows lie on the upper edge."""
        return self.size + max(self.n, 1) - 1

    @property
    def upto(self) -> int:
        """The rows up to the last one that is seen."""
        return self.below + len(self.positions)

    def rank(self, position: int) -> int:
        """R(y): the rows at or below a position that lies inside the window."""
        return self.below + int(np.searchsorted(self.positions, position, side="right"))

    def holds(self, position: int) -> bool:
        """Whether the window shows the rank of this position."""
        rows_seen = len(self.positions) > 0
        after_first = self.below == 0 or (rows_seen and position >= self.positions[0])
        before_last = self.upto == self.n or (rows_seen and position < self.positions[-1])
        return bool(after_first and before_last)

    def index(self, position: int) -> int:
        """The grid index that a position stands for: floor division by n."""
        return self.first + min(max(position, 0), self.last) // max(self.n, 1)


def size_of(rows: int, grid: Grid) -> int:
    """n*N, the size of the grid without ties."""
    size = max(rows, 1) * (grid.last - grid.first)
    if size >= MOST_POINTS:
        points = grid.last - grid.first + 1
        raise InputError(
            "the published methods work on a grid of the domain's points times the rows, "
            f"which must stay below 2^62; this domain has {points:,} points: give a smaller one, "
            "or use depth"
        )
    return size


@dataclass(frozen=True, eq=False)
class Steps:
    """Runs of candidates `starts..ends` (both included) of equal score; the score of an unknown run
    is a bound.
    """

    starts: Indexes
    ends: Indexes
    scores: Indexes
    known: NDArray[np.bool_]

    @cached_property
    def boosts(self) -> Indexes:
        """No candidate has a bonus."""
        return np.zeros(len(self.starts), np.int64)

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """How many candidates each run holds."""
        return (self.ends - self.starts + 1).astype(np.float64)

    def span(self, j: int) -> tuple[int, int]:
        """The candidates of run j, numbered as they are."""
        return int(self.starts[j]), int(self.ends[j]) + 1


@dataclass(frozen=True, eq=False)
class Ranks(Steps):
    """Positions scored by how near their rank comes to a target: u(y) = -|R(y) - target|."""

    windows: Windows
    grid: Grid
    level: int
    target: Fraction

    @classmethod
    def near(
        cls,
        target: Fraction,
        windows: Windows,
        grid: Grid,
        level: int = 0,
        span: tuple[int, int] | None = None,
    ) -> Ranks:
        """All positions, or those of a span, as one of the windows shows them."""
        seen = Tieless.of(windows(level), grid)
        first, end = span or (0, seen.last + 1)
        positions = seen.positions
        inner = _strictly_between(positions, first, end)
        starts = np.concatenate(([first], inner))
        ends = np.concatenate((inner, [end])) - 1
        ranks = seen.below + np.searchsorted(positions, starts, side="right")
        # Before the first row that is seen ranks may be smaller, from the last one on they may be
        # larger.
        hidden_below = (ranks == seen.below) & (seen.below > 0)
        hidden_above = (ranks == seen.upto) & (seen.upto < seen.n)
        off = ranks * UNIT - _units(target)
        off[hidden_below] = np.minimum(off[hidden_below], 0)
        off[hidden_above] = np.maximum(off[hidden_above], 0)
        off[hidden_below & hidden_above] = 0
        return cls(
            starts=starts,
            ends=ends,
            scores=-np.abs(off),
            known=~(hidden_below | hidden_above),
            windows=windows,
            grid=grid,
            level=level,
            target=target,
        )

    def open(self, j: int) -> Ranks:
        """Run j as the next window shows it."""
        return Ranks.near(self.target, self.windows, self.grid, self.level + 1, self.span(j))


@dataclass(frozen=True, eq=False)
class Widths(Steps):
    """Half-widths b = k*step around a position o, by their number k: q(b) = -|f(b) - aim|, f(b) the
    fewer of the rows to the two sides.

    f(b) = min(R(o+b) - R(o), R(o) - R(o-b)).
    """

    windows: Windows
    grid: Grid
    level: int
    position: int
    step: int
    aim: Fraction

    @classmethod
    def around(
        cls,
        position: int,
        step: int,
        aim: Fraction,
        windows: Windows,
        grid: Grid,
        level: int = 0,
        span: tuple[int, int] | None = None,
    ) -> Widths:
        """All half-widths, or those of a span, as one of the windows shows them."""
        seen = Tieless.of(windows(level), grid)
        first, end = span or (1, max(1, seen.size // step) + 1)
        if not seen.holds(position):
            # Nothing is known of any half-width: one run, which no score can beat.
            starts = np.array([first], np.int64)
            ends = np.array([end - 1], np.int64)
            scores = np.zeros(1, np.int64)
            known = np.zeros(1, dtype=bool)
        else:
            reached = reach_numbers(seen, position, step)
            inner = _strictly_between(reached, first, end)
            starts = distinct(np.concatenate(([first], inner)))
            ends = np.concatenate((starts[1:], [end])) - 1
            fewer = np.searchsorted(reached, starts, side="right")
            rank = seen.rank(position)
            all_seen = len(reached) == min(rank, seen.n - rank)
            known = (fewer < len(reached)) | all_seen
            off = fewer * UNIT - _units(aim)
            # A half-width that reaches past the window has at least as many rows as are seen.
            scores = -np.where(known, np.abs(off), np.maximum(off, 0))
        return cls(
            starts=starts,
            ends=ends,
            scores=scores,
            known=known,
            windows=windows,
            grid=grid,
            level=level,
            position=position,
            step=step,
            aim=aim,
        )

    def open(self, j: int) -> Widths:
        """Run j as the next window shows it."""
        return Widths.around(
            self.position,
            self.step,
            self.aim,
            self.windows,
            self.grid,
            self.level + 1,
            self.span(j),
        )


def reach_numbers(seen: Tieless, position: int, step: int) -> Indexes:
    """The number k of the first half-width that has 1, 2, 3, ... rows to each side, as far as the
    window shows.
    """
    middle = seen.rank(position) - seen.below
    # A row to the right is reached when o + b is at it, one to the left when o - b is before it.
    right = -(-(seen.positions[middle:] - position) // step)
    left = (position - seen.positions[:middle][::-1]) // step + 1
    sides = min(len(left), len(right))
    numbers: Indexes = np.maximum(left[:sides], right[:sides])
    return numbers


def _strictly_between(ordered: Indexes, first: int, end: int) -> Indexes:
    """Those of rising numbers that lie after `first` and before `end`."""
    begin = np.searchsorted(ordered, first, side="right")
    return ordered[begin : np.searchsorted(ordered, end)]


def distinct(ordered: Indexes) -> Indexes:
    """Rising numbers, each once."""
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]


def _units(rows: Fraction) -> int:
    # Rounded, but alike on every table: targets and aims are public.
    return ceil(rows * UNIT)
