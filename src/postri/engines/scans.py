"""The scans of a database: a sample for a bracket, then one statement for n, what lies below a
point, and the counts near the window.

The counts are cut to the window inside the database, so that no more returns than the window needs.
Rows are never sorted: only the few distinct keys of a bracket are. All groups share the scans. What
databases write differently is in their `Dialect`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from postri.columns import ColumnType
from postri.engines.base import CHANGED, SMALL, Bracket, Wanted, find_windows
from postri.engines.counted import Counted
from postri.engines.dialects.protocol import Cells, Dialect
from postri.engines.keys import LARGEST_UNSIGNED, keys_of
from postri.engines.reading import Reading
from postri.engines.rows import EVERY_ROW, Selection
from postri.engines.sampled import Pick
from postri.engines.selected import Selected, named
from postri.engines.statements import Scan, grouped
from postri.engines.units import bounded_windows, indexed_keys, sizes, totals
from postri.errors import SourceChanged
from postri.expressions import Bound, Input, Value
from postri.grid import Grid
from postri.window import RankWindow, Target, Total

NOTHING_COMPUTED: Mapping[str | Input, Cells] = {}


@dataclass(frozen=True)
class Sample:
    """The relation of some rows, and about which share of all rows they are."""

    relation: str
    share: float


class Source(Protocol):
    """A table inside a database. It reads one snapshot, or its scans show that it did not."""

    @property
    def dialect(self) -> Dialect:
        """How the database writes."""

    @property
    def relation(self) -> str:
        """What stands after FROM."""

    def statement(self, scan: Scan) -> str:
        """The form of a scan that is the fastest here."""

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns, a column at a time, without nulls."""

    def estimate(self) -> int:
        """About how many rows there are, if that is cheap to know; 0 if not.

        Only speed depends on it.
        """

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """Some of the rows, as cheap as can be, then less cheap where the first may mislead.

        Speed alone depends on them.
        """


class SqlEngine:
    """The columns of one table inside a database.

    What is computed stands beside them: by its name, or as a predicate reads a column.
    """

    def __init__(
        self,
        source: Source,
        types: dict[str, str],
        computed: Mapping[str | Input, Cells] = NOTHING_COMPUTED,
    ) -> None:
        self._source, self._types, self._computed = source, types, computed

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._types)

    def _cells(self, column: str | None) -> Cells:
        return self._selected(str(column), EVERY_ROW).cells

    def _read(self, wanted: Input) -> Cells:
        return self._selected(None, EVERY_ROW).read(wanted)

    def _selected(self, column: str | None, rows: Selection) -> Selected:
        return Selected(self._source.dialect, column, self._types, rows, self._computed)

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        return self._cells(column).type

    def computed(self, columns: Mapping[str, Value]) -> SqlEngine:
        """The same table, which can also be asked about these columns: expressions of the raw cells
        of others.
        """
        engine, dialect = copy(self), self._source.dialect
        engine._computed = {
            **self._computed,
            **{
                name: Cells(value.type, value.sql(dialect, self._read))
                for name, value in columns.items()
            },
        }
        return engine

    def windows(
        self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection = EVERY_ROW
    ) -> list[list[RankWindow]]:
        """For each group the window of each target."""
        reading = Reading(grid, self._cells(column).type.unit)
        with self.snapshot() as source:
            selected = self._selected(column, rows)
            if rows.units is not None:
                return bounded_windows(source.relation, source.columns, selected, reading, targets)
            return find_windows(SqlCounter(source, selected, reading), grid, targets)

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Refuse a grid whose indexes the database cannot compute."""
        indexed_keys(Reading(grid, self._cells(column).type.unit), self._source.dialect)

    def totals(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> list[Total]:
        """For each group how many cells count, and the sum of their indexes."""
        reading = Reading(grid, self._cells(column).type.unit)
        with self.snapshot() as source:
            return totals(source.relation, source.columns, self._selected(column, rows), reading)

    def sizes(self, column: str | None, rows: Selection = EVERY_ROW) -> list[int]:
        """For each group how many rows there are, or how many in which a column has a cell."""
        with self.snapshot() as source:
            return sizes(source.relation, source.columns, self._selected(column, rows))

    def matching(self, conditions: Sequence[Bound]) -> list[int]:
        """On how many rows each condition holds, by one scan."""
        with self.snapshot() as source:
            counts = [
                source.dialect.count_of(condition.sql(source.dialect, self._read))
                for condition in conditions
            ]
            listed = ", ".join(
                f"{source.dialect.integer(count, unsigned=False)} AS number{i}"
                for i, count in enumerate(counts)
            )
            return [
                int(column[0])
                for column in source.columns(f"SELECT {listed} FROM {source.relation}")
            ]

    def snapshot(self) -> AbstractContextManager[Source]:
        """The source while one question is counted; all its queries see the same rows where the
        database can say so.
        """
        return nullcontext(self._source)


class SqlCounter:
    """One column on one grid, counted by queries."""

    def __init__(self, source: Source, selected: Selected, reading: Reading) -> None:
        self._source, self._selected, self._reading = source, selected, reading
        self.rows, self.groups = source.estimate(), selected.rows.number
        self._dialect = source.dialect
        self._n: dict[int, int] | None = None

    def guesses(self, targets: Sequence[Target], grid: Grid) -> Iterator[list[Bracket]]:
        """By order statistics of samples, which the database picks out: nothing of a sample but
        these returns.
        """
        for sample in self._source.samples(self.rows, self.groups):
            picks = [
                Pick.of(target, sample.share, sample.share * self.rows / self.groups)
                for target in targets
            ]
            groups, sizes, *found = self._source.columns(
                self._ranked(sample.relation, [share for pick in picks for share in pick.shares])
            )
            marks, known = (
                np.full((self.groups, len(found)), grid.first),
                np.zeros(self.groups, np.int64),
            )
            marks[groups], known[groups] = (
                np.column_stack([self._reading.indexes(column) for column in found]),
                sizes,
            )
            starts = np.cumsum([len(pick.shares) for pick in picks])[:-1]
            brackets = [
                pick.brackets(known, part, grid)
                for pick, part in zip(picks, np.split(marks, starts, axis=1), strict=True)
            ]
            yield [bracket for each in zip(*brackets, strict=True) for bracket in each]

    def _ranked(self, relation: str, shares: Sequence[float]) -> str:
        """For each group the number of its cells, and those cells below which such shares of them
        lie.
        """
        aggregates, cells = self._dialect.order_statistics("cell", shares)
        tallied = (
            f"SELECT grp, {named({'size': 'count(*)', **aggregates})} FROM "
            f"{self._selected.kept(relation)} GROUP BY grp"
        )
        raws = ", ".join(f"{self._selected.raw(cell)} AS raw{i}" for i, cell in enumerate(cells))
        return f"SELECT grp, size, {raws} FROM ({tallied}) AS tallied"

    def count(self, wanted: Sequence[Wanted]) -> list[RankWindow]:
        """One scan for all groups and targets."""
        targets = list(dict.fromkeys(each.target for each in wanted))
        brackets = [
            {each.group: each.bracket for each in wanted if each.target == target}
            for target in targets
        ]
        found = self._counted(targets, brackets)
        return [found.window(each, targets.index(each.target)) for each in wanted]

    def _counted(
        self, targets: Sequence[Target], brackets: Sequence[Mapping[int, Bracket]]
    ) -> Counted:
        every = [bracket for each in brackets for bracket in each.values()]
        whole = Bracket(min(each.low for each in every), max(each.high for each in every))
        keys = keys_of(
            self._reading,
            whole,
            self._dialect,
            unsigned=self._selected.cells.type.high == LARGEST_UNSIGNED,
        )
        scan = Scan(self._selected, self._reading, self._source.relation, targets, brackets, keys)
        # Everything is too much for a list.
        everything = self.rows > SMALL and (whole.low, whole.high) == (
            self._reading.grid.first,
            self._reading.grid.last,
        )
        statement = (
            grouped(scan) if everything and self.groups == 1 else self._source.statement(scan)
        )
        found = Counted.of(self._source.columns(statement), keys)
        if self._n is not None and any(
            self._n.get(group, 0) != found.n(group) for group in scan.groups
        ):
            raise SourceChanged(CHANGED)
        self._n = {**(self._n or {}), **{group: found.n(group) for group in scan.groups}}
        return found
