"""What an engine is, and how rank windows are found in it: a sample for a bracket, then one counting scan.

An engine knows nothing of epsilon or of randomness. It is asked for windows by quantile and half-size alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import Protocol

import numpy as np

from postri.columns import ColumnType
from postri.errors import InputError
from postri.exact import shown
from postri.grid import Grid
from postri.window import Indexes, RankWindow, holds, trim

SMALL = 1 << 17
SAMPLE = 1 << 18
# So many standard errors a guess leaves to spare.
SLACKS = (5, 40)


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written. Nothing of it is guessed from the file."""

    delimiter: str = ","
    quote: str = '"'
    header: bool = True

    def __post_init__(self) -> None:
        for name, mark, least in ("delimiter", self.delimiter, 1), ("quote", self.quote, 0):
            if not isinstance(mark, str) or not least <= len(mark) <= 1 or mark in ("\r", "\n") or not mark.isascii():
                raise InputError(f"{name} must be one ASCII character{'' if least else ' or empty'}, got {shown(mark)}")
        if self.delimiter == self.quote:
            raise InputError(f"delimiter and quote must differ, got {shown(self.quote)} for both")


@dataclass(frozen=True)
class Target:
    """Around which quantile a window is wanted, and how many rows on each side."""

    p: Fraction
    half: int


@dataclass(frozen=True)
class Bracket:
    """Grid indexes `low..high` that are counted one by one; everything below is counted in one number."""

    low: int
    high: int


@dataclass(frozen=True)
class Wanted:
    """A bracket to be counted, and the target whose window is wanted: what lies beyond that may be left out."""

    bracket: Bracket
    target: Target


class Engine(Protocol):
    """A table that can count."""

    @property
    def names(self) -> Sequence[str] | None:
        """The names of its columns; None if it is one column without a name."""

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""

    def windows(self, column: str | None, grid: Grid, targets: Sequence[Target]) -> list[RankWindow]:
        """The window of each target, from shared scans. The same for every engine that holds the same cells."""


class Counter(Protocol):
    """One column on one grid, ready to be counted."""

    rows: int
    """About how many rows there are."""

    def guesses(self, targets: Sequence[Target], grid: Grid) -> Iterator[list[Bracket]]:
        """Where the window of each target should lie, by a sample: narrow first, then wider. Only speed depends on it."""

    def count(self, wanted: Sequence[Wanted]) -> list[RankWindow]:
        """For each bracket the counts of its indexes, the rows below them, and n; whole atoms."""


Counts = tuple[Indexes, Indexes]


def tally(indexes: Indexes, counts: Indexes) -> Counts:
    """Counts by index, in order, each index once."""
    atoms, inverse = np.unique(indexes, return_inverse=True)
    totals = np.zeros(len(atoms), np.int64)
    np.add.at(totals, inverse, counts)
    return atoms, totals


def find_windows(counter: Counter, grid: Grid, targets: Sequence[Target]) -> list[RankWindow]:
    """The trimmed window of each target, in a constant number of scans: two guesses at most, then everything."""
    found: dict[int, RankWindow] = {}
    everything = [Bracket(grid.first, grid.last)] * len(targets)
    for brackets in (*(counter.guesses(targets, grid) if counter.rows > SMALL else ()), everything):
        missing = [i for i in range(len(targets)) if i not in found]
        wanted = [Wanted(brackets[i], targets[i]) for i in missing]
        for i, window in zip(missing, counter.count(wanted) if missing else [], strict=True):
            if holds(window, targets[i].p, targets[i].half):
                found[i] = trim(window, targets[i].p, targets[i].half)
    return [found[i] for i in range(len(targets))]


@dataclass(frozen=True)
class Places:
    """The places in a sorted sample (from 0) between which the window should lie: `share*size` of them, give or take.

    That is p of the sample, with `slack` standard errors to spare, and the share of the rows that the window holds on a side.
    """

    p: float
    slack: int
    side: float

    @classmethod
    def of(cls, target: Target, rows: int, slack: int) -> Places:
        """The places for a target."""
        return cls(float(target.p), slack, min(target.half, rows) / rows)

    def ends(self, size: int) -> tuple[int, int]:
        """The first and last place in a sample of this size; they may lie outside."""
        spare = self.slack * sqrt(size * self.p * (1 - self.p)) + self.side * size + 4
        return floor(self.p * size - spare), ceil(self.p * size + spare)


def sampled_brackets(sample: Indexes, rows: int, targets: Sequence[Target], grid: Grid) -> Iterator[list[Bracket]]:
    """Guesses from a sorted sample in memory."""
    size = len(sample)
    for slack in SLACKS:
        ends = [Places.of(target, rows, slack).ends(size) for target in targets]
        yield [Bracket(int(sample[low]) if low >= 0 else grid.first, int(sample[high]) if high < size else grid.last) for low, high in ends]
