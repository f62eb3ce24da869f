"""DuckDB: locked down to the files that it is given, or a connection of the user's. The only module that loads it.

What DuckDB says when it fails may carry a cell, so its messages never leave this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, cast

import duckdb
import numpy as np
from numpy.typing import NDArray

from postri.engines.dialects.duckdb import DuckDialect
from postri.errors import EngineError, InputError, PostriError, SourceError
from postri.exact import shown

CONFIG = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    # No cell is spilled to a disk.
    "temp_directory": "",
}
LOCKED = (
    # Parquet's statistics leave NaN out, and with them DuckDB concludes that there is none: a test for it would be optimized away.
    "SET disabled_optimizers = 'statistics_propagation'",
    "SET enable_external_access = false",
    "SET enable_progress_bar = false",
    "SET lock_configuration = true",
)


FAILED = "DuckDB failed while it counted; the data may be damaged or have changed"


class Database:
    """A connection that can read these files and nothing else, installs nothing and writes nothing."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._connection = duckdb.connect(":memory:", config=dict(CONFIG))
        self._connection.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
        for setting in LOCKED:
            self._connection.execute(setting)

    def schema(self, query: str) -> list[tuple[str, str]]:
        """The names and declared types of a query's columns; reads no row."""
        failure = SourceError("cannot open the file: it is damaged, or of another format than its name says")
        rows = quietly(lambda: self._connection.cursor().execute(f"DESCRIBE {query}").fetchall(), failure)
        return [(str(row[0]), str(row[1])) for row in rows]

    def columns(self, query: str, values: Sequence[Any] = ()) -> list[NDArray[Any]]:
        """The result of a query, a column at a time; the query returns no nulls."""
        found = quietly(lambda: self._connection.cursor().execute(query, list(values)).fetchnumpy(), EngineError(FAILED))
        return [np.ma.getdata(column) for column in found.values()]


class RelationSource:
    """A table, view or query of a connection that the user holds. It is read where it is; nothing is created or changed."""

    dialect = DuckDialect()
    relation = "source"

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation

    def types(self) -> dict[str, str]:
        """The names and declared types of the columns."""
        return dict(zip(self._relation.columns, map(str, self._relation.types), strict=True))

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns."""
        found = quietly(lambda: cast(Any, self._relation.query(self.relation, query)).fetchnumpy(), EngineError(FAILED))
        return [np.ma.getdata(column) for column in found.values()]

    def estimate(self) -> int:
        """DuckDB knows its tables' sizes."""
        return int(self.columns(f"SELECT count(*) AS rows FROM {self.relation}")[0][0])

    def sampled(self, size: int, rows: int) -> str:
        """Blocks of rows."""
        return f"(SELECT * FROM {self.relation} USING SAMPLE {min(100.0, 100 * size / rows):.6f}% (system)) AS sampled"


def quietly(work: Callable[[], Any], failure: PostriError) -> Any:
    """What the work returns; whatever it says when it fails may carry a cell, so that stays in here."""
    try:
        return work()
    except Exception:
        pass
    # Raised outside that block, so that the message stays out of the chain.
    raise failure


def relation_of(database: Any, table: str) -> duckdb.DuckDBPyRelation:
    """A table of a connection, or of a database file, which is opened for reading alone."""
    missing = InputError(f"DuckDB has no table {shown(table)} that can be read; name it as schema.table")
    if isinstance(database, duckdb.DuckDBPyConnection):
        return _table(database, table, missing)
    path = os.fspath(database)
    if not os.path.isfile(path):
        raise InputError(f"there is no database file {path!r}")
    config: dict[str, Any] = {**CONFIG, "enable_external_access": "false"}
    connection = quietly(lambda: duckdb.connect(path, read_only=True, config=config), SourceError(f"DuckDB cannot open {path!r}"))
    return _table(connection, table, missing)


def _table(connection: duckdb.DuckDBPyConnection, table: str, missing: PostriError) -> duckdb.DuckDBPyRelation:
    relation: duckdb.DuckDBPyRelation = quietly(lambda: connection.table(table), missing)
    return relation


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
