"""A source that is opened once and asked many times."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from postri.columns import MAX_TEXT, ColumnType, no_order
from postri.engines.doubts import checked
from postri.engines.engine import (
    CHANGED,
    MOST_COUNTS,
    MOST_POINTS,
    AddsUpTogether,
    ColumnOnGrid,
    CountsTogether,
    Engine,
    OrdersCells,
)
from postri.engines.rows import (
    EVERY_ROW,
    MOST_GROUPS,
    Groups,
    Key,
    KeySizes,
    Rows,
    Selection,
    bind,
)
from postri.errors import InputError, SourceChanged, nearest
from postri.exact import shown
from postri.expressions import Bound, Predicate, Value
from postri.grid import Grid
from postri.window import (
    WIDER,
    Ends,
    Indexes,
    MiddleTotal,
    OrderedCells,
    PointCounts,
    RankWindow,
    SquareTotal,
    Target,
    Total,
    Windows,
    trim,
)

if TYPE_CHECKING:
    from postri.engines.ahead import CountsAhead
    from postri.engines.lost import LostCells
    from postri.expressions.tree import Expression

# How many windows a table keeps.
MOST_KEPT = 64
# More characters than any text has.
NO_LIMIT = 2**31 - 1

T = TypeVar("T")

ScanKey = tuple[str | None, Grid, Selection]
"""What one scan counts: a column on a grid, of some rows."""

KeptKey = tuple[ScanKey, int, int]
"""By what windows are kept: what was counted, and the quantile, of which it is two numbers."""


@dataclass(frozen=True)
class KeptWindows:
    """The windows of all groups for one quantile, and up to which half-size they reach."""

    half: int
    windows: list[RankWindow]

    def reach(self, half: int) -> bool:
        """Whether windows of this half-size can be cut from them."""
        return self.half >= half or all(window.whole for window in self.windows)


class Table:
    """A table that keeps its rank windows: a thousand questions do not scan a thousand times.

    Made by `postri.open`. It answers for the data as they were at its first question: do not change
    them while it is in use.
    """

    def __init__(
        self,
        engine: Engine,
        computed: Sequence[str] = (),
        max_text: int = MAX_TEXT,
        joined: Sequence[str] = (),
    ) -> None:
        self._engine = engine
        self.max_text = max_text
        self._joined = joined
        self._computed = computed
        self._kept: dict[KeptKey, KeptWindows] = {}
        self._counts: dict[tuple[object, ...], list[Any]] | None = None
        self._wanted: list[ScanKey] = []

    @classmethod
    def from_duckdb(cls, database: Any, table: str, *, vouched: bool = False) -> Table:
        """A table of DuckDB: of a connection, or of a database file, which is opened for reading
        alone.

        What may fail on a row, such as a view, is refused unless you say by `vouched` that it
        fails on none.
        """
        from postri.engines.duckdb.source import database_engine

        return cls(checked(database_engine(database, table), vouched=vouched))

    @classmethod
    def from_postgres(cls, url_or_connection: Any, table: str, *, vouched: bool = False) -> Table:
        """A table of PostgreSQL, named as `schema.table`: of a server, by its URL, or of a
        connection of psycopg 3.

        What may fail on a row, such as a view or a foreign table, is refused unless you say by
        `vouched` that it fails on none.
        """
        from postri.engines.postgres.source import postgres_engine

        return cls(checked(postgres_engine(url_or_connection, table), vouched=vouched))

    @classmethod
    def from_chdb(
        cls, folder: str | os.PathLike[str], table: str, *, vouched: bool = False
    ) -> Table:
        """A table of ClickHouse, named as `schema.table`: of a folder that the library chdb keeps,
        or of ":memory:", what it keeps in this process.

        What may fail on a row, such as a view, is refused unless you say by `vouched` that it
        fails on none.
        """
        from postri.engines.clickhouse.source import table_engine

        return cls(checked(table_engine(folder, table), vouched=vouched))

    @property
    def doubts(self) -> Sequence[str]:
        """Why reading may fail on a row, as the catalogue tells; nothing for stored rows."""
        return self._engine.doubts

    @property
    def columns(self) -> list[str]:
        """The names of the columns; none if the source is one column without a name."""
        return list(self._names or ())

    @property
    def _names(self) -> Sequence[str] | None:
        """The names of the columns, with those of public tables that are joined."""
        names = self._engine.names
        if names is None:
            return None
        return [*names, *self._joined]

    def column(self, name: str | None) -> str | None:
        """The column that a question means: a name that exists, or None for a source that is one
        column.
        """
        names = self._names
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
        if isinstance(name, str | int):
            for known in (*names, *self._computed):
                # A data frame may have numbers for names.
                if str(known) == str(name):
                    return known
        text = name if isinstance(name, str) else ""
        hint = nearest(text, map(str, names))
        # The reader of SQL takes a while to load: only for a message.
        from postri.expressions.reader import is_computed

        if is_computed(text, names):
            hint = (
                "what is computed from columns is asked in SQL, under a policy: "
                "postri.connect(...).sql(...)"
            )
        raise InputError(f"there is no column {shown(name)}; {hint}")

    def computed(self, columns: Mapping[str, Expression]) -> Table:
        """The same table with more columns to ask about, whose cells are the values of expressions;
        InputError if one does not fit.

        A predicate, keys and units see the table's own columns alone. Looks at names and declared
        types, at no cell.
        """
        names = self._names
        if names is None:
            raise InputError(
                "the source is one column without a name; expressions need a table with "
                "named columns"
            )
        taken = (*map(str, names), *self._computed)
        for name in columns:
            if name in taken:
                raise InputError(
                    f"the table has a column {shown(name)}; give the expression another name"
                )
        values = {
            name: Value.bind(expression, names, self._engine.type_of)
            for name, expression in columns.items()
        }
        engine = self._engine.computed(values)
        return Table(engine, (*self._computed, *values), self.max_text, self._joined)

    def joined(self, columns: Mapping[str, Value]) -> Table:
        """The same table with columns of public tables beside its own, each a function of the row:
        predicates, keys and expressions see them.
        """
        engine = self._engine.computed(columns)
        return Table(engine, self._computed, self.max_text, (*self._joined, *columns))

    def with_max_text(self, max_text: int) -> Table:
        """The same table, whose texts of more characters cannot be read."""
        engine = self._engine.with_max_text(max_text)
        return Table(engine, max_text=max_text, joined=self._joined)

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
        return bind(rows, self._names, self._engine.type_of)

    @contextmanager
    def snapshot(self) -> Iterator[Table]:
        """The table, held still: all that is counted of what it gives sees the same rows.

        That is one connection and one transaction where the source is in a database. Files, arrays
        and Spark's data frames have no transactions: those are the user's to leave alone. Wider
        windows are fetched while a draw goes on, so the draws belong inside the block.
        """
        with self._engine.snapshot() as engine:
            still = Table(engine, self._computed, self.max_text, self._joined)
            still._kept = self._kept
            still._counts = {}
            yield still

    def matching(self, predicates: Sequence[Predicate]) -> list[int]:
        """How many rows there are on which each predicate holds.

        Exact, and so not private: for the steward.
        """
        return self._engine.matching(
            [predicate.bind(self.columns, self._engine.type_of) for predicate in predicates]
        )

    def lost(self, read: Mapping[str, Predicate], most: int) -> LostCells:
        """What is lost of each column, whose cells are read where its predicate holds; with the
        numbers of the first `most` lines or rows of each kind, where they have some.

        Exact, and so not private: for the steward. Cells of a source that declares their types are
        read or null.
        """
        names = self.columns
        bound = {
            column: predicate.bind(names, self._engine.type_of)
            for column, predicate in read.items()
        }
        found = _lost(self._engine, bound, most)
        # Texts that are too long are null by now.
        texts = {
            column: condition
            for column, condition in bound.items()
            if found.empty[column].count and self.declared(column).kind == "text"
        }
        if not texts:
            return found
        without_limit = _lost(self._engine.with_max_text(NO_LIMIT), texts, most)
        return found.with_unreadable(without_limit.empty)

    def windows(self, column: str | None, grid: Grid, targets: Sequence[Target]) -> list[Windows]:
        """For each target its windows: the first is here, wider ones are fetched when a draw asks
        for them.
        """
        return self.grouped_windows(column, grid, targets, EVERY_ROW)[0]

    def grouped_windows(
        self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection
    ) -> list[list[Windows]]:
        """The same for each group of the rows that a question selects."""
        scan = (column, grid, rows)
        found = self._fetch(scan, targets)
        return [
            [
                self._widening(scan, target, group, windows[group])
                for target, windows in zip(targets, found, strict=True)
            ]
            for group in range(rows.number)
        ]

    def _widening(self, scan: ScanKey, target: Target, group: int, first: RankWindow) -> Windows:
        """The window of a group at each level, of which the first is known."""

        def window(level: int) -> RankWindow:
            if level == 0:
                return first
            wider = Target(target.p, target.half * WIDER**level)
            return self._fetch(scan, [wider])[0][group]

        return window

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Refuse a grid on which the engine cannot give each cell its index: sums and units need
        that.
        """
        self._engine.check_indexed(column, grid)

    def totals(self, column: str | None, grid: Grid, rows: Selection) -> list[Total]:
        """For each group how many cells of a column count, and the sum of their grid indexes."""
        return self._counted(
            ("totals", column, grid, rows), lambda: self._scanned_totals(column, grid, rows)
        )

    def _scanned_totals(self, column: str | None, grid: Grid, rows: Selection) -> list[Total]:
        """By a scan that adds up what else is wanted of the same rows."""
        engine = self._engine
        wanted = self._still_wanted(rows)
        if len(wanted) > 1 and (column, grid) in wanted and isinstance(engine, AddsUpTogether):
            totals = engine.totals_together(wanted, rows)
            self._keep_totals(totals, rows)
            # What is not among them is counted alone.
            self._wanted = [each for each in self._wanted if each[-1] != rows]
            if (column, grid) in totals:
                return totals[column, grid]
        return engine.totals(column, grid, rows)

    def _still_wanted(self, rows: Selection) -> list[ColumnOnGrid]:
        """The columns whose totals will be asked for, of these rows."""
        counts = self._counts
        if counts is None:
            return []
        return [
            (column, grid)
            for column, grid, of_rows in dict.fromkeys(self._wanted)
            if of_rows == rows and ("totals", column, grid, rows) not in counts
        ]

    def _keep_totals(self, totals: Mapping[ColumnOnGrid, list[Total]], rows: Selection) -> None:
        assert self._counts is not None
        for (column, grid), of_groups in totals.items():
            self._counts["totals", column, grid, rows] = of_groups

    def want_totals(self, column: str | None, grid: Grid, rows: Selection) -> None:
        """Totals will be asked for: a scan for something else may count them in passing."""
        self._wanted.append((column, grid, rows))

    def square_totals(self, column: str | None, grid: Grid, rows: Selection) -> list[SquareTotal]:
        """For each group how many cells of a column count, the sum of their places on the grid, and
        that of the squares.
        """
        return self._counted(
            ("squares", column, grid, rows),
            lambda: self._engine.square_totals(column, grid, rows),
        )

    def middle_totals(
        self, column: str | None, grid: Grid, ends: Sequence[Ends], rows: Selection
    ) -> list[MiddleTotal]:
        """For each group how many cells of a column lie up to the lower of its two ends, from the
        upper one on and between them, and the sum of how far the latter lie above the lower end.
        """
        return self._engine.middle_totals(column, grid, ends, rows)

    def counts_below(
        self, column: str | None, grid: Grid, points: Indexes, rows: Selection = EVERY_ROW
    ) -> list[PointCounts]:
        """For each group how many cells of a column lie below each of these grid points, which are
        ascending and distinct, and how many cells there are.

        One scan for up to `MOST_POINTS` of them, and fewer where groups are many: what a scan
        holds in memory has a bound that is public.
        """
        most = min(MOST_POINTS, max(1, MOST_COUNTS // rows.number))
        parts = [
            self._engine.counts_below(column, grid, points[start : start + most], rows)
            for start in range(0, max(len(points), 1), most)
        ]
        return [_joined(of_group) for of_group in zip(*parts, strict=True)]

    def counts_ahead(
        self,
        column: str | None,
        grid: Grid,
        rows: Selection,
        ps: Sequence[Fraction],
        reach: int,
    ) -> CountsAhead | OrderedCells:
        """The same, for points that are asked for one after the other: most of them near the ranks
        of these quantiles, within `reach` rows.
        """
        if isinstance(self._engine, OrdersCells):
            ordered = self._engine.ordered_cells(column, grid, rows)
            if ordered is not None:
                return ordered
        from postri.engines.ahead import CountsAhead

        return CountsAhead(self._engine, column, grid, rows, ps, reach)

    def sizes(self, column: str | None, rows: Selection) -> list[int]:
        """For each group how many rows there are; with a column, how many in which it has a cell
        that can be read.
        """
        return self._counted(("sizes", column, rows), lambda: self._engine.sizes(column, rows))

    def _counted(self, key: tuple[object, ...], count: Callable[[], list[T]]) -> list[T]:
        """What a scan counts for each group. Parts of one question share it, while the table is
        held still; the next question sees what was added since.
        """
        if self._counts is None:
            return count()
        found: list[T] | None = self._counts.get(key)
        if found is None:
            found = count()
            self._counts[key] = found
        return list(found)

    def key_sizes(self, rows: Selection) -> KeySizes:
        """The raw cells of the one column that rows are divided by, and how many rows have each."""
        return self._engine.key_sizes(rows)

    def key_counts(
        self, column: str | None, keys: Sequence[Key], rows: Selection
    ) -> list[list[int]]:
        """For each group how many rows have each of these keys in a column, by one scan."""
        sizes = self._engine.sizes(None, self._divided(column, keys, rows))
        number = len(keys)
        return [sizes[start : start + number] for start in range(0, len(sizes), number)]

    def check_keys(self, column: str | None, keys: Sequence[Key], rows: Selection) -> None:
        """Refuse keys that do not fit the column, or too many of them. Looks at no cell."""
        number = self._divided(column, keys, rows).number
        if number > MOST_GROUPS:
            raise InputError(
                f"there may be at most {MOST_GROUPS:,} keys in all groups together, got "
                f"{number:,}; name fewer"
            )

    def _divided(self, column: str | None, keys: Sequence[Key], rows: Selection) -> Selection:
        """The same rows, each group divided by the keys of one more column."""
        groups = Groups.of({str(column): keys})
        (key_column,) = bind(Rows(groups=groups), self._engine.names, self._engine.type_of).keys
        return replace(rows, keys=(*rows.keys, key_column))

    def unit_counts(self, rows: Selection) -> list[int]:
        """For each group how many units have a row in it; each counts in as many groups at most as
        rows of it do.
        """
        return self._engine.unit_counts(rows)

    def _fetch(self, scan: ScanKey, targets: Sequence[Target]) -> list[list[RankWindow]]:
        """For each target the windows of all groups, cut from kept ones where those are as wide;
        one scan for all that are missing.
        """
        found: dict[Target, list[RankWindow]] = {}
        missing = []
        for target in targets:
            kept = self._kept.get(_kept_key(scan, target))
            if kept is not None and kept.reach(target.half):
                found[target] = [trim(each, target.p, target.half) for each in kept.windows]
            else:
                missing.append(target)
        if missing:
            groups = self._scanned_windows(scan, missing)
            for target, windows in zip(missing, zip(*groups, strict=True), strict=True):
                found[target] = list(windows)
                self._keep(_kept_key(scan, target), KeptWindows(target.half, list(windows)))
        return [found[target] for target in targets]

    def _scanned_windows(self, scan: ScanKey, targets: Sequence[Target]) -> list[list[RankWindow]]:
        """The windows by a scan, which adds up what is wanted next of the same rows."""
        column, grid, rows = scan
        engine = self._engine
        wanted = self._still_wanted(rows)
        if not wanted or not isinstance(engine, CountsTogether):
            return engine.windows(column, grid, targets, rows)
        windows, totals = engine.windows_and_totals(column, grid, targets, rows, wanted)
        self._keep_totals(totals, rows)
        return windows

    def _keep(self, key: KeptKey, windows: KeptWindows) -> None:
        """Keep the windows in place of narrower ones; let the oldest go where there are many."""
        self._kept.pop(key, None)
        self._kept[key] = windows
        if len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]


def _kept_key(scan: ScanKey, target: Target) -> KeptKey:
    return scan, target.p.numerator, target.p.denominator


def _joined(parts: Sequence[PointCounts]) -> PointCounts:
    """The counts of one group, from scans of some of the points each."""
    n = parts[0].n
    if any(part.n != n for part in parts):
        raise SourceChanged(CHANGED)
    return PointCounts(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.counts for part in parts]),
        n,
    )


def _lost(engine: Engine, read: Mapping[str, Bound], most: int) -> LostCells:
    from postri.engines.lost import NOTHING, Lost, LostCells, NumbersRows
    from postri.expressions.tree import Boolean

    if isinstance(engine, NumbersRows):
        return engine.lost(read, most)
    everything = Predicate(Boolean(True)).bind((), engine.type_of)
    rows, *counts = engine.matching([everything, *read.values()])
    empty = {column: Lost(rows - count) for column, count in zip(read, counts, strict=True)}
    return LostCells(rows, NOTHING, empty, dict.fromkeys(read, NOTHING))
