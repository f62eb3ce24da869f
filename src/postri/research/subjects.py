"""What methods are compared on: whole columns, synthetic ones of known shapes, and resamples.

Everything computed from a subject is computed from raw data and is not private.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri import api
from postri.domain import Domain
from postri.engines.table import Table
from postri.grid import Grid, grid_of
from postri.mechanisms.coins import Coins, Draw, SeededCoins
from postri.methods.method import ALL_ROWS
from postri.window import (
    WIDER,
    CountsBelow,
    Indexes,
    PointCounts,
    RankWindow,
    Target,
    Windows,
    trim,
)

Numbers = NDArray[np.float64]

MEDIAN = Fraction(1, 2)
# The paper's domain, and what the shapes `ties`, `zipf` and `constant` are made of.
LARGEST = 10**8
DISTINCT = 12
RANKS = 1_000
USUAL = 40_000


@dataclass(frozen=True, eq=False)
class Subject:
    """Every row of a column, as grid indexes with their counts.

    A method counts in it as in a column of a table.
    """

    name: str
    whole: RankWindow
    grid: Grid

    @classmethod
    def of_table(
        cls, name: str, table: Table, column: str | None, domain: Domain | None
    ) -> Subject:
        """A column of an opened table."""
        column = table.column(column)
        grid = grid_of(table.type_of(column), domain)
        windows = table.windows(column, grid, [Target(MEDIAN, ALL_ROWS)])[0]
        return cls(name, windows(0), grid)

    @classmethod
    def without_rows(cls, name: str, grid: Grid) -> Subject:
        """A column that holds nothing."""
        nothing = np.zeros(0, np.int64)
        return cls(name, RankWindow(nothing, nothing, 0, 0), grid)

    @classmethod
    def of_values(cls, name: str, values: Any, domain: Domain | None) -> Subject:
        """Numbers in memory."""
        return cls.of_table(name, api.open(values), None, domain)

    def with_counts(self, counts: Indexes) -> Subject:
        """The same values, each held by another number of rows."""
        kept = counts > 0
        whole = RankWindow(self.whole.indexes[kept], counts[kept], 0, int(counts.sum()))
        return Subject(self.name, whole, self.grid)

    @property
    def groups(self) -> int:
        """One: a method that counts here is asked about all rows."""
        return 1

    def windows(self, targets: Sequence[Target]) -> list[list[Windows]]:
        """The rank windows around each target, as an engine would give them."""
        return [[self.around(target) for target in targets]]

    def around(self, target: Target) -> Windows:
        """The rank windows around one target."""
        first = trim(self.whole, target.p, target.half)

        def window(level: int) -> RankWindow:
            if level == 0:
                return first
            return trim(self.whole, target.p, target.half * WIDER**level)

        return window

    def sizes(self) -> list[int]:
        """The rows that can be read: the others are left out for every method alike."""
        return [self.rows]

    def counts_below(self, ps: Sequence[Fraction], reach: int) -> CountsBelow:
        """How many rows lie below grid indexes: all of them are known."""
        return self._below

    def _below(self, points: Indexes) -> list[PointCounts]:
        return [PointCounts(points, self.ranks_below(points), self.rows)]

    def ranks_below(self, points: Indexes) -> Indexes:
        """The number of rows below each of some grid indexes."""
        ranks: Indexes = self.whole.ranks[self.whole.indexes.searchsorted(points)]
        return ranks

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.whole.n

    @cached_property
    def median(self) -> Fraction:
        """The true median as a grid index: the middle row, or half-way between the two middle
        rows.
        """
        # The same row twice where their number is odd.
        middle = np.array([(self.rows - 1) // 2, self.rows // 2])
        low, high = self.whole.indexes[np.searchsorted(self.whole.ranks[1:], middle, side="right")]
        return Fraction(int(low) + int(high), 2)

    def point(self, index: int | Fraction) -> float:
        """Where an index lies, in units of the column."""
        return float(self.grid.base + index * self.grid.step)

    def rows_between(self, low: int, high: int) -> int:
        """How many rows lie in an interval, both ends included."""
        first, end = np.searchsorted(self.whole.indexes, [low, high + 1])
        return int(self.whole.ranks[end] - self.whole.ranks[first])


# Shapes: whole numbers in 0..10^8.


def _uniforms(draw: Draw, number: int, *key: str) -> Numbers:
    """Numbers strictly between 0 and 1, from the upper 52 bits of a word each."""
    words = draw.words(("shape", *key), number)
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) / 2**52


def _normals(draw: Draw, number: int) -> Numbers:
    """By Box and Muller: a radius and an angle each."""
    radii = np.sqrt(-2 * np.log(_uniforms(draw, number)))
    normals: Numbers = radii * np.cos(2 * np.pi * _uniforms(draw, number, "angle"))
    return normals


def _whole(numbers: Numbers) -> Indexes:
    """Rounded and clamped onto the domain."""
    return np.clip(np.rint(numbers), 0, LARGEST).astype(np.int64)


def normal(coins: Coins, n: int) -> Indexes:
    """A bell in the middle of the domain."""
    return _whole(5e7 + 5e6 * _normals(coins.draw(), n))


def lognormal(coins: Coins, n: int) -> Indexes:
    """Incomes: a median of 30,000 and a long right tail."""
    return _whole(3e4 * np.exp(_normals(coins.draw(), n)))


def uniform(coins: Coins, n: int) -> Indexes:
    """Spread evenly over the whole domain."""
    return _whole(LARGEST * _uniforms(coins.draw(), n))


def exponential(coins: Coins, n: int) -> Indexes:
    """Waiting times: a mean of 50,000, most dense at 0."""
    return _whole(-5e4 * np.log(_uniforms(coins.draw(), n)))


def bimodal(coins: Coins, n: int) -> Indexes:
    """Two far clusters of n/2 rows each: an even number of rows has a gap at its median."""
    centres = np.where(np.arange(n) < n // 2, 2e7, 8e7)
    return _whole(centres + 1e6 * _normals(coins.draw(), n))


def ties(coins: Coins, n: int) -> Indexes:
    """A dozen values hold everything; which ones, and how much each, is drawn as well."""
    draw = coins.draw()
    values = _uniforms(draw, DISTINCT, "values")
    shares = _uniforms(draw, DISTINCT, "shares")
    ends = np.cumsum(shares) / shares.sum()
    chosen = np.searchsorted(ends[:-1], _uniforms(draw, n))
    return np.sort(_whole(values * 1e6))[chosen]


def zipf(coins: Coins, n: int) -> Indexes:
    """The k-th of a thousand words: twice as frequent as the 2k-th."""
    ends = np.cumsum(1 / np.arange(1, RANKS + 1))
    return 1 + np.searchsorted(ends[:-1] / ends[-1], _uniforms(coins.draw(), n)).astype(np.int64)


def constant(coins: Coins, n: int) -> Indexes:
    """Nearly constant: about 95 % of the rows hold one value, the rest lies anywhere."""
    draw = coins.draw()
    usual = _uniforms(draw, n, "usual") < 0.95
    return np.where(usual, USUAL, _whole(LARGEST * _uniforms(draw, n)))


SHAPES: dict[str, Callable[[Coins, int], Indexes]] = {
    shape.__name__: shape
    for shape in (normal, lognormal, uniform, exponential, bimodal, ties, zipf, constant)
}
"""What draws the rows of a shape, by its name."""


def shape_subject(name: str, n: int, seed: int) -> Subject:
    """A column of `n` rows of this shape. Each shape, size and seed has coins of its own."""
    # A seed for each name, size and seed: no shape shares another's coins.
    own = int.from_bytes(f"{name}/{n}/{seed}".encode())
    return Subject.of_values(name, SHAPES[name](SeededCoins(own), n), Domain(0, LARGEST))


def bootstrap(subject: Subject, coins: Coins) -> Subject:
    """As many rows, drawn from the subject's with replacement."""
    return drawn_rows(subject, subject.rows, coins)


def drawn_rows(subject: Subject, number: int, coins: Coins) -> Subject:
    """So many rows, drawn from the subject's with replacement."""
    rows = np.floor(subject.rows * _uniforms(coins.draw(), number, "rows")).astype(np.int64)
    atoms = np.searchsorted(subject.whole.ranks[1:], rows, side="right")
    counts = np.bincount(atoms, minlength=len(subject.whole.indexes))
    return subject.with_counts(counts.astype(np.int64))
