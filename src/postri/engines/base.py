"""What an engine is, and how rank windows are found in it: a sample for a bracket, then one counting scan.

An engine knows nothing of epsilon or of randomness. It is asked for windows by quantile and half-size alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import Protocol

import numpy as np

from postri.columns import ColumnType
from postri.errors import InputError
from postri.exact import shown
from postri.grid import Grid
from postri.window import Indexes, RankWindow, holds, rank_range, trim

SMALL = 1 << 17
SAMPLE = 1 << 18


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
    """A bracket to be counted, and the order statistics (from 1) that the window must hold: what lies beyond may be left out."""

    bracket: Bracket
    first: int
    last: int


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

    def sample(self, size: int) -> Indexes:
        """The indexes of about so many rows, in any order; which rows must not depend on chance that matters."""

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
    sample = np.sort(counter.sample(SAMPLE)) if counter.rows > SMALL else np.empty(0, np.int64)
    for slack in (5, 40, None):
        missing = [i for i in range(len(targets)) if i not in found]
        wanted = [
            Wanted(_bracket(sample, counter.rows, targets[i], grid, slack), *rank_range(counter.rows, targets[i].p, targets[i].half))
            for i in missing
        ]
        for i, window in zip(missing, counter.count(wanted) if missing else [], strict=True):
            if holds(window, targets[i].p, targets[i].half):
                found[i] = trim(window, targets[i].p, targets[i].half)
    return [found[i] for i in range(len(targets))]


def _bracket(sample: Indexes, rows: int, target: Target, grid: Grid, slack: int | None) -> Bracket:
    """Where the window should lie, by the sample, with `slack` standard errors to spare."""
    size = len(sample)
    if slack is None or not size:
        return Bracket(grid.first, grid.last)
    p = float(target.p)
    spare = slack * sqrt(size * p * (1 - p)) + min(target.half, rows) * size / rows + 4
    low, high = floor(p * size - spare), ceil(p * size + spare)
    return Bracket(int(sample[low]) if low >= 0 else grid.first, int(sample[high]) if high < size else grid.last)
