"""Tables small enough to try them all, and which of them are neighbours."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from postri.grid import Grid
from postri.privacy import AddOrRemoveRows, ProtectedChange, most_rows
from postri.window import RankWindow, Windows, trim

Rows = tuple[int, ...]
"""A table: the sorted grid indexes of its rows that are not null."""


def plain_grid(points: int) -> Grid:
    return Grid(0, points - 1, Fraction(0), Fraction(1))


def all_tables(grid: Grid, most: int) -> list[Rows]:
    """Every table of up to `most` rows.

    A row may be null, so each is also a table of any larger number of rows.
    """
    points = range(grid.first, grid.last + 1)
    return [
        rows for size in range(most + 1) for rows in combinations_with_replacement(points, size)
    ]


def whole_window(rows: Rows) -> RankWindow:
    indexes, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return RankWindow(indexes, counts.astype(np.int64), 0, len(rows))


def whole_windows(rows: Rows) -> Windows:
    """Windows that hide nothing."""
    window = whole_window(rows)
    return lambda level: window


def narrow_windows(rows: Rows, p: Fraction, half: int) -> Windows:
    """Windows that begin with `half` rows per side and double from level to level."""
    window = whole_window(rows)
    return cache(lambda level: trim(window, p, (half + 1) * 2**level - 1))


def neighbours(tables: list[Rows], protect: ProtectedChange) -> NDArray[np.int64]:
    """All ordered pairs of different tables that the protected change does not let one tell apart,
    as two columns of numbers.
    """
    step = _one_row_apart(tables, replaced=not isinstance(protect, AddOrRemoveRows))
    reached = np.eye(len(tables), dtype=bool)
    for _ in range(most_rows(protect)):
        reached |= reached @ step
    np.fill_diagonal(reached, False)
    return np.argwhere(reached)


def _one_row_apart(tables: list[Rows], *, replaced: bool) -> NDArray[np.bool_]:
    """A row added or removed; where rows are `replaced`, that is one which was or becomes null, and
    others may change their value.
    """
    number = {rows: i for i, rows in enumerate(tables)}
    apart = np.zeros((len(tables), len(tables)), dtype=bool)
    points = sorted({point for rows in tables for point in rows})
    for i, rows in enumerate(tables):
        for k in range(len(rows)):
            fewer = rows[:k] + rows[k + 1 :]
            others = (
                [fewer, *(tuple(sorted((*fewer, point))) for point in points)]
                if replaced
                else [fewer]
            )
            for other in others:
                apart[i, number[other]] = apart[number[other], i] = i != number[other]
    return apart


def holds_quantile(low: int, high: int, rows: Rows, p: Fraction, grid: Grid) -> bool:
    """Whether [low, high] holds x_(floor t) to x_(ceil t + 1) for t = p*n, and the grid's end where
    there is no such row.

    Written from the promise alone: it counts no depth.
    """
    target, n = p * len(rows), len(rows)
    first, last = floor(target), ceil(target) + 1
    least = rows[first - 1] if first >= 1 else grid.first
    largest = rows[last - 1] if last <= n else grid.last
    return low <= least and largest <= high
