"""The totals of several columns by one statement: a database reads its rows once for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from postri.engines.reading import Reading
from postri.engines.sql.dialect import filled
from postri.engines.sql.index_keys import LARGEST, IndexKeys
from postri.engines.sql.row_source import RowSource, named
from postri.engines.sql.units import indexed_keys, joined_sum
from postri.window import Total

TOTALS = """
    SELECT grp, {sums}
    FROM {places}
    GROUP BY grp
"""
# The same where there is one group: to group by a constant takes several times as long.
TOTALS_OF_ALL = """
    SELECT 0 AS grp, {sums}
    FROM {places}
"""
PLACES = """
    (
        SELECT grp, {columns}
        FROM {raws}
    ) AS numbered
"""
SURE_PLACE = "CASE WHEN NOT {doubtful} THEN {place} END"
Columns = Callable[[str], list[NDArray[Any]]]


@dataclass(frozen=True)
class SummedColumn:
    """One of several columns: each row has its raw cell, and the place of that on the grid."""

    number: int
    row_source: RowSource
    reading: Reading

    @property
    def raw(self) -> str:
        """The name of the raw cell."""
        return f"raw{self.number}"

    @property
    def place(self) -> str:
        """The name of the place."""
        return f"place{self.number}"

    @cached_property
    def keys(self) -> IndexKeys:
        """The places."""
        return indexed_keys(self.reading, self.row_source.dialect, self.raw)

    @property
    def shift(self) -> int:
        """By how much an index exceeds its place."""
        assert self.keys.shift is not None
        return self.keys.shift

    @property
    def is_signed(self) -> bool:
        """Whether its places are numbers with a sign. A database that has no others wraps around
        what lies beyond them.
        """
        return self.reading.grid.first - self.shift <= LARGEST

    @property
    def places(self) -> dict[str, str]:
        """Each place, null where the index is in doubt; and the raw cell, where some may be."""
        if self.keys.doubtful is None:
            return {self.place: self.keys.key}
        place = self.row_source.dialect.integer(self.keys.key, unsigned=False)
        sure = filled(SURE_PLACE, doubtful=self.keys.doubtful, place=place)
        return {self.place: sure, self.raw: self.raw}

    @property
    def sums(self) -> dict[str, str]:
        """How many places there are, and their sum; and how many cells, where some have none."""
        high, low = self.row_source.dialect.total(self.place)
        sums = {
            f"n{self.number}": f"count({self.place})",
            f"high{self.number}": f"coalesce({high}, 0)",
            f"low{self.number}": f"coalesce({low}, 0)",
        }
        if self.keys.doubtful is not None:
            sums[f"cells{self.number}"] = f"count({self.raw})"
        return sums

    def totals(self, found: Mapping[str, NDArray[Any]]) -> list[Total] | None:
        """Those of each group, by the sums that were found; None where an index is in doubt."""
        n, *halves = (found[f"{name}{self.number}"] for name in ("n", "high", "low"))
        if (found.get(f"cells{self.number}", n) != n).any():
            return None
        totals = [Total(0, 0)] * self.row_source.rows.number
        for group, cells, high, low in zip(found["grp"], n, *halves, strict=True):
            indexes = joined_sum(high, low) + int(cells) * self.shift
            totals[int(group)] = Total(int(cells), indexes)
        return totals


def totals_together(
    relation: str, columns: Columns, rows: RowSource, summed: Sequence[SummedColumn]
) -> list[list[Total] | None]:
    """For each column how many cells count in each group, and the sum of their indexes; None where
    the index of a cell is in doubt.
    """
    raws = rows.raws_of(relation, [each.row_source for each in summed])
    places = {name: place for each in summed for name, place in each.places.items()}
    sums = {name: total for each in summed for name, total in each.sums.items()}
    statement = filled(
        TOTALS if rows.rows.keys else TOTALS_OF_ALL,
        sums=named(sums),
        places=filled(PLACES, columns=named(places), raws=raws),
    )
    found = dict(zip(["grp", *sums], columns(statement), strict=True))
    return [each.totals(found) for each in summed]
