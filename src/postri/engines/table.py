"""A source that is opened once and asked many times."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from postri.columns import ColumnType
from postri.engines.base import Engine, Target
from postri.errors import InputError, nearest
from postri.exact import shown
from postri.grid import Grid
from postri.window import RankWindow, Windows, trim

# Each draw asks for a wider window with a probability of about 2^-40; the next one is so many times as wide.
WIDER = 8
KEPT = 64


class Table:
    """A table that keeps its rank windows: a thousand questions do not scan a thousand times.

    Made by `postri.open`. It answers for the data as they were at its first question: do not change them while it is in use.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: dict[tuple[str | None, Grid, Fraction], tuple[int, RankWindow]] = {}

    @classmethod
    def from_duckdb(cls, database: Any, table: str) -> Table:
        """A table or view of DuckDB: of a connection, or of a database file, which is opened for reading alone."""
        from postri.engines.duckdb import RelationSource, relation_of
        from postri.engines.scans import SqlEngine

        source = RelationSource(relation_of(database, table))
        return cls(SqlEngine(source, source.types()))

    @classmethod
    def from_postgres(cls, url_or_connection: Any, table: str) -> Table:
        """A table or view of PostgreSQL, named as `schema.table`: of a server, by its URL, or of a connection of psycopg 3."""
        from postri.engines.postgres import postgres_engine

        return cls(postgres_engine(url_or_connection, table))

    @property
    def columns(self) -> list[str]:
        """The names of the columns; none if the source is one column without a name."""
        return list(self._engine.names or ())

    def column(self, name: str | None) -> str | None:
        """The column that a question means: a name that exists, or None for a source that is one column."""
        names = self._engine.names
        if names is None:
            if name is not None:
                raise InputError(f"the source is one column without a name, got column={shown(name)}; leave column out")
            return None
        if name is None and len(names) == 1:
            return names[0]
        if name is None:
            raise InputError(f"choose a column with column=...; {nearest('', names)}")
        # A data frame may have numbers for names.
        same = [known for known in names if isinstance(name, str | int) and str(known) == str(name)]
        if not same:
            raise InputError(f"there is no column {shown(name)}; {nearest(str(name) if isinstance(name, str) else '', map(str, names))}")
        return same[0]

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        return self._engine.type_of(column)

    def windows(self, column: str | None, grid: Grid, targets: Sequence[Target]) -> list[Windows]:
        """For each target its windows: the first is here, wider ones are fetched when a draw asks for them."""

        def widening(target: Target, first: RankWindow) -> Windows:
            def window(level: int) -> RankWindow:
                return first if level == 0 else self._fetch(column, grid, [Target(target.p, target.half * WIDER**level)])[0]

            return window

        return [widening(target, first) for target, first in zip(targets, self._fetch(column, grid, targets), strict=True)]

    def _fetch(self, column: str | None, grid: Grid, targets: Sequence[Target]) -> list[RankWindow]:
        """The window of each target, cut from one that is kept where that is as wide; one scan for all that are missing."""
        missing = [target for target in targets if self._kept_for(column, grid, target) is None]
        fetched = dict(zip(missing, self._engine.windows(column, grid, missing), strict=True)) if missing else {}
        windows = [fetched.get(target) or self._kept_for(column, grid, target) for target in targets]
        for target, window in fetched.items():
            self._keep((column, grid, target.p), target.half, window)
        return [trim(window, target.p, target.half) for target, window in zip(targets, windows, strict=True) if window is not None]

    def _kept_for(self, column: str | None, grid: Grid, target: Target) -> RankWindow | None:
        half, window = self._kept.get((column, grid, target.p), (-1, None))
        return window if window is not None and (half >= target.half or window.whole) else None

    def _keep(self, key: tuple[str | None, Grid, Fraction], half: int, window: RankWindow) -> None:
        """Keep the window in place of a narrower one; let the oldest go where there are many."""
        self._kept.pop(key, None)
        self._kept[key] = (half, window)
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
