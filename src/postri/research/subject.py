"""What methods are compared on: a whole column.

Everything computed from a subject is computed from raw data and is not private.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from postri import api
from postri.domain import Domain
from postri.engines.table import Table
from postri.grid import Grid, grid_of
from postri.methods.method import ALL_ROWS
from postri.window import WIDER, Indexes, RankWindow, Target, Windows, trim


@dataclass(frozen=True, eq=False)
class Subject:
    """Every row of a column, as grid indexes with their counts."""

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
        return cls(
            name, table.windows(column, grid, [Target(Fraction(1, 2), ALL_ROWS)])[0](0), grid
        )

    @classmethod
    def of_values(cls, name: str, values: Any, domain: Domain | None) -> Subject:
        """Numbers in memory."""
        return cls.of_table(name, api.open(values), None, domain)

    def with_counts(self, counts: Indexes) -> Subject:
        """The same values, each held by so many rows."""
        kept = counts > 0
        return Subject(
            self.name,
            RankWindow(self.whole.indexes[kept], counts[kept], 0, int(counts.sum())),
            self.grid,
        )

    def windows(self, half: int) -> Windows:
        """The rank windows around the median, as an engine would give them."""
        first = trim(self.whole, Fraction(1, 2), half)
        return lambda level: (
            trim(self.whole, Fraction(1, 2), half * WIDER**level) if level else first
        )

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.whole.n

    @cached_property
    def median(self) -> Fraction:
        """The true median as a grid index: the middle row, or half-way between the two middle rows."""
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
