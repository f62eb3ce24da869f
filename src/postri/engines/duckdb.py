"""DuckDB, locked down to one file. The only module that loads it.

What DuckDB says when it fails may carry a cell, so its messages never leave this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from postri.errors import EngineError, PostriError, SourceError

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
        rows = self._run(lambda cursor: cursor.execute(f"DESCRIBE {query}").fetchall(), failure)
        return [(str(row[0]), str(row[1])) for row in rows]

    def columns(self, query: str, values: Sequence[Any] = ()) -> list[NDArray[Any]]:
        """The result of a query, a column at a time; the query returns no nulls."""
        failure = EngineError("DuckDB failed while it counted; the file may be damaged or have changed")
        found = self._run(lambda cursor: cursor.execute(query, list(values)).fetchnumpy(), failure)
        return [np.ma.getdata(column) for column in found.values()]

    def _run(self, work: Callable[[duckdb.DuckDBPyConnection], Any], failure: PostriError) -> Any:
        """What the work returns. Rows are fetched in here as well: DuckDB may fail as late as that."""
        try:
            return work(self._connection.cursor())
        except Exception:  # whatever it is, its message may carry a cell
            pass
        # Raised outside that block, so that the message stays out of the chain.
        raise failure


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
