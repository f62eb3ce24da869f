"""A source that is opened once and asked many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import Any

from postri.columns import ColumnType, no_order
from postri.engines.base import Engine
from postri.engines.rows import EVERY_ROW, Rows, Selection, bind
from postri.errors import InputError, nearest
from postri.exact import shown
from postri.expressions import Predicate, Value
from postri.expressions.tree import Expression
from postri.grid import Grid
from postri.window import WIDER, RankWindow, Target, Total, Windows, trim

KEPT = 64

Counted = tuple[str | None, Grid, Selection]


class Table:
    """A table that keeps its rank windows: a thousand questions do not scan a thousand times.

    Made by `postri.open`. It answers for the data as they were at its first question: do not change
    them while it is in use.
    """

    def __init__(self, engine: Engine, computed: Sequence[str] = ()) -> None:
        self._engine, self._computed = engine, computed
        self._kept: dict[
            tuple[str | None, Grid, Selection, Fraction], tuple[int, list[RankWindow]]
        ] = {}

    @classmethod
    def from_duckdb(cls, database: Any, table: str) -> Table:
        """A table or view of DuckDB: of a connection, or of a database file, which is opened for
        reading alone.
        """
        from postri.engines.duckdb import RelationSource, relation_of
        from postri.engines.scans import SqlEngine

        source = RelationSource(relation_of(database, table))
        return cls(SqlEngine(source, source.types()))

    @classmethod
    def from_postgres(cls, url_or_connection: Any, table: str) -> Table:
        """A table or view of PostgreSQL, named as `schema.table`: of a server, by its URL, or of a
        connection of psycopg 3.
        """
        from postri.engines.postgres import postgres_engine

        return cls(postgres_engine(url_or_connection, table))

    @property
    def columns(self) -> list[str]:
        """The names of the columns; none if the source is one column without a name."""
        return list(self._engine.names or ())

    def column(self, name: str | None) -> str | None:
        """The column that a question means: a name that exists, or None for a source that is one
        column.
        """
        names = self._engine.names
        if names is None:
            if name is not None:
                raise InputError(
                    f"the source is one column without a name, got column={shown(name)}; "
                    "leave column out"
                )
            return None
        if name is None and len(names) == 1:
            return names[0]
        if name is None:
            raise InputError(f"choose a column with column=...; {nearest('', names)}")
        # A data frame may have numbers for names.
        same = [
            known
            for known in (*names, *self._computed)
            if isinstance(name, str | int) and str(known) == str(name)
        ]
        if not same:
            raise InputError(
                f"there is no column {shown(name)}; "
                f"{nearest(str(name) if isinstance(name, str) else '', map(str, names))}"
            )
        return same[0]

    def computed(self, columns: Mapping[str, Expression]) -> Table:
        """The same table with more columns to ask about, whose cells are the values of expressions;
        InputError if one does not fit.

        A predicate, keys and units see the table's own columns alone. Looks at names and declared
        types, at no cell.
        """
        names = self._engine.names
        if names is None:
            raise InputError(
                "the source is one column without a name; expressions need a table with "
                "named columns"
            )
        for name in columns:
            if name in (*map(str, names), *self._computed):
                raise InputError(
                    f"the table has a column {shown(name)}; give the expression another name"
                )
        values = {
            name: Value.bind(expression, names, self._engine.type_of)
            for name, expression in columns.items()
        }
        return Table(self._engine.computed(values), (*self._computed, *values))

    def declared(self, column: str | None) -> ColumnType:
        """The declared type of a column, whatever it is."""
        return self._engine.type_of(column)

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column of numbers, dates or timestamps."""
        declared = self.declared(column)
        if declared.kind == "text":
            raise no_order(column, declared.name)
        return declared

    def bind(self, rows: Rows) -> Selection:
        """The rows that a question selects, in terms of this table's columns; InputError if it has
        no such ones.
        """
        return bind(rows, self._engine.names, self._engine.type_of)

    def matching(self, predicates: Sequence[Predicate]) -> list[int]:
        """How many rows there are on which each predicate holds.

        Exact, and so not private: for the steward.
        """
        return self._engine.matching(
            [predicate.bind(self.columns, self._engine.type_of) for predicate in predicates]
        )

    def windows(self, column: str | None, grid: Grid, targets: Sequence[Target]) -> list[Windows]:
        """For each target its windows: the first is here, wider ones are fetched when a draw asks
        for them.
        """
        return self.grouped_windows(column, grid, targets, EVERY_ROW)[0]

    def grouped_windows(
        self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection
    ) -> list[list[Windows]]:
        """The same for each group of the rows that a question selects."""

        def widening(target: Target, group: int, first: RankWindow) -> Windows:
            def window(level: int) -> RankWindow:
                return (
                    first
                    if level == 0
                    else self._fetch(
                        (column, grid, rows), [Target(target.p, target.half * WIDER**level)]
                    )[0][group]
                )

            return window

        found = self._fetch((column, grid, rows), targets)
        return [
            [
                widening(target, group, each[group])
                for target, each in zip(targets, found, strict=True)
            ]
            for group in range(rows.number)
        ]

    def snapshot(self) -> AbstractContextManager[Table]:
        """This table, held still: all that is counted of what it gives sees the same rows."""
        return nullcontext(self)

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Refuse a grid on which the engine cannot give each cell its index: sums and units need
        that.
        """
        self._engine.check_indexed(column, grid)

    def totals(self, column: str | None, grid: Grid, rows: Selection) -> list[Total]:
        """For each group how many cells of a column count, and the sum of their grid indexes."""
        return self._engine.totals(column, grid, rows)

    def sizes(self, column: str | None, rows: Selection) -> list[int]:
        """For each group how many rows there are; with a column, how many in which it has a cell
        that can be read.
        """
        return self._engine.sizes(column, rows)

    def _fetch(self, what: Counted, targets: Sequence[Target]) -> list[list[RankWindow]]:
        """For each target the windows of all groups, cut from kept ones where those are as wide;
        one scan for all that are missing.
        """
        missing = [target for target in targets if self._kept_for(what, target) is None]
        column, grid, rows = what
        fetched = (
            zip(*self._engine.windows(column, grid, missing, rows), strict=True) if missing else ()
        )
        new = {target: list(windows) for target, windows in zip(missing, fetched, strict=True)}
        windows = [new.get(target) or self._trimmed(what, target) for target in targets]
        for target, each in new.items():
            self._keep((*what, target.p), target.half, each)
        return windows

    def _trimmed(self, what: Counted, target: Target) -> list[RankWindow]:
        return [
            trim(window, target.p, target.half) for window in self._kept_for(what, target) or []
        ]

    def _kept_for(self, what: Counted, target: Target) -> list[RankWindow] | None:
        half, windows = self._kept.get((*what, target.p), (-1, []))
        return (
            windows
            if windows and (half >= target.half or all(window.whole for window in windows))
            else None
        )

    def _keep(
        self,
        key: tuple[str | None, Grid, Selection, Fraction],
        half: int,
        windows: list[RankWindow],
    ) -> None:
        """Keep the windows in place of narrower ones; let the oldest go where there are many."""
        self._kept.pop(key, None)
        self._kept[key] = (half, windows)
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
