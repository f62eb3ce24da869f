"""Rows without ties, on a grid that does not depend on how many rows there are.

The published ways to many quantiles take all rows to be distinct; their code moves each row by a
little noise. Here the k copies of grid point x become C*x, C*x + 1, ..., C*x + k - 1 for a public
constant C. A row that is added to k copies adds the position C*x + k, and no other position moves:
the number of rows at or below any position moves by at most 1. Rows beyond C copies share the last
position of their point, which changes nothing of that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from postri.errors import InputError
from postri.grid import Grid
from postri.methods.published import MOST_POINTS
from postri.window import Indexes, RankWindow

COPIES = 1 << 20
"""How many positions a grid point has: more than rows share one, on the tables of the report."""


@dataclass(frozen=True, eq=False)
class Positions:
    """Some rows, as rising positions, and the candidates `first..last` around them."""

    rows: Indexes
    first: int
    last: int

    @classmethod
    def of(cls, whole: RankWindow, grid: Grid, copies: int = COPIES) -> Positions:
        """All rows of a column, of which the window hides nothing."""
        first_of_value = np.repeat(whole.ranks[:-1], whole.counts)
        number = np.minimum(np.arange(whole.n) - first_of_value, copies - 1)
        points = np.repeat(whole.indexes - grid.first, whole.counts)
        return cls(points * copies + number, 0, (grid.last - grid.first + 1) * copies - 1)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @cached_property
    def starts(self) -> Indexes:
        """The first candidate with r rows at or below it, for r from 0 to n: candidates of rank r
        reach from there to before the next start. There is none where two starts are equal.
        """
        return np.concatenate(([self.first], self.rows))

    @cached_property
    def sizes(self) -> Indexes:
        """How many candidates have each rank."""
        sizes: Indexes = np.diff(np.concatenate((self.starts, [self.last + 1])))
        return sizes

    def split(self, position: int) -> tuple[Positions, Positions]:
        """The rows at or below a candidate, and those above: no row lies on both sides.

        The candidate itself stays one on both sides, so that there is always one.
        """
        rank = int(self.rows.searchsorted(position, side="right"))
        below = replace(self, rows=self.rows[:rank], last=position)
        above = replace(self, rows=self.rows[rank:], first=position)
        return below, above


def check_points(grid: Grid, copies: int = COPIES) -> None:
    """Refuse a grid of so many points that positions leave int64."""
    points = grid.last - grid.first + 1
    if points * copies >= MOST_POINTS:
        raise InputError(
            "the published ways to many quantiles need a domain of fewer than "
            f"{MOST_POINTS // copies:,} points, this one has {points:,}: give --lower and --upper"
        )
