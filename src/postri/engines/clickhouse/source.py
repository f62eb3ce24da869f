"""ClickHouse as the library `chdb`: a table of a folder, or of the process's own memory.

The only module that loads chdb. What it says when it fails may carry a cell, so its messages never
leave this module.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count
from typing import Any

from numpy.typing import NDArray

from postri.engines.clickhouse.dialect import ClickHouseDialect
from postri.engines.doubts import doubt
from postri.engines.progress import cancellable, interruptibly
from postri.engines.sql.dialect import filled
from postri.engines.sql.engine import SqlEngine
from postri.engines.sql.sampling import Sample
from postri.engines.sql.statements import grouped
from postri.errors import EngineError, InputError, SourceChanged, SourceError, missing_extra
from postri.exact import shown

FAILED = "ClickHouse failed while it counted; the data may be damaged or have changed"
REPLACED = "the table was replaced after it was opened; open it again"
# What tables in memory are opened by.
MEMORY = ":memory:"
# How many rows a sample has, and how many of each group.
SAMPLE = 1 << 16
SAMPLE_OF_GROUP = 1 << 9
LARGEST = 1 << 30

SETTINGS = {
    # Names and types as in the standard: a column before an alias, a null through a cast.
    "prefer_column_name_to_alias": 1,
    "cast_keep_nullable": 1,
    # Days before 1970, and moments that are no local ones.
    "enable_extended_results_for_datetime_functions": 1,
    "session_timezone": "'UTC'",
    # By IN it would compare bits, by which the two zeros differ.
    "optimize_min_equality_disjunction_chain_length": LARGEST,
    # Statements are as long as a question is; no cell makes one longer.
    "max_query_size": LARGEST,
    "max_ast_elements": LARGEST,
    "max_expanded_ast_elements": LARGEST,
    "max_ast_depth": LARGEST,
    "max_parser_depth": 100_000,
    "max_parser_backtracks": LARGEST,
    # No cell is spilled to a disk, and none stays in a log or a cache.
    "max_bytes_ratio_before_external_group_by": 0,
    "max_bytes_ratio_before_external_sort": 0,
    "max_bytes_ratio_before_external_distinct": 0,
    "max_bytes_ratio_before_external_join": 0,
    "log_queries": 0,
    "use_query_condition_cache": 0,
}
SET = f"SET {', '.join(f'{name} = {value}' for name, value in SETTINGS.items())}"
# Nothing is written from here on.
READ_ONLY = "SET readonly = 1"
NUMBER_OF_ROWS = "SELECT count(*) AS rows FROM {relation}"
# Rows from everywhere: a scan.
SAMPLED_ROWS = """
    (SELECT * FROM {relation} WHERE rowNumberInAllBlocks() % {every} = 0) AS sampled
"""
# What the catalogue says of what reading a table computes: its engine, and changes under way.
KIND = """
    SELECT engine, (
        SELECT count(*)
        FROM system.mutations
        WHERE table = {name} AND database = {database} AND NOT is_done
    ) AS changes
    FROM system.tables
    WHERE name = {name} AND database = {database}
"""
COLUMNS = """
    SELECT name, type, default_kind
    FROM system.columns
    WHERE table = {name} AND database = {database}
    ORDER BY position
"""
KILL = "KILL QUERY WHERE endsWith(query, '{mark}') ASYNC"
STORED = ("Memory", "Log", "TinyLog", "StripeLog")
COMPUTED = doubt("a table with columns that have expressions", "one of their expressions")
CHANGING = doubt("a table with changes that are not finished", "one of their expressions")
_numbers = count()


class ClickHouseSource:
    """A table. It is read where it is; nothing is created or changed."""

    dialect = ClickHouseDialect()
    statement = staticmethod(grouped)

    def __init__(self, path: str, table: str) -> None:
        self._path = path
        *before, name = table.split(".")
        database = ".".join(before) or "default"
        self.relation = f"{self.dialect.name(database)}.{self.dialect.name(name)}"
        self._named = {
            "database": self.dialect.text_literal(database),
            "name": self.dialect.text_literal(name),
        }
        self._connection = _connection(path)
        self.types, self.doubts = self._catalogued()

    @contextmanager
    def snapshot(self) -> Iterator[ClickHouseSource]:
        """The table itself: a statement reads one snapshot, several need not. Another table that
        stands there by now is noticed.
        """
        types, doubts = self._catalogued()
        if types != self.types or not set(doubts) <= set(self.doubts):
            raise SourceChanged(REPLACED)
        yield self

    def _catalogued(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """The declared types of the columns, and why reading may fail on a row; no type if there is
        no such table.
        """
        names, types, expressions = self._asked(COLUMNS)
        doubts = []
        for engine, changes in zip(*self._asked(KIND), strict=True):
            if engine.endswith("View"):
                doubts.append(doubt("a view"))
            elif engine not in STORED and not engine.endswith("MergeTree"):
                doubts.append(doubt(f"a table of ClickHouse's engine {engine}", "its reader"))
            if changes:
                doubts.append(CHANGING)
        if any(expressions):
            doubts.append(COMPUTED)
        return dict(zip(names, types, strict=True)), tuple(doubts)

    def _asked(self, query: str) -> list[list[Any]]:
        return [column.tolist() for column in self.columns(filled(query, **self._named))]

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns. An interrupt kills it in ClickHouse too."""
        mark = f"/* postri-{os.getpid()}-{next(_numbers)} */"
        connection = self._connection
        found: list[Any] = []

        def work() -> None:
            found.append(connection.query(f"{query} {mark}", "ArrowTable"))

        def stop() -> None:
            with suppress(Exception):
                _connection(self._path).query(KILL.format(mark=mark))

        with cancellable(stop):
            interruptibly(work, stop)
            if not found:
                # A connection may answer the next statement in the way of the one that failed.
                self._connection = _connection(self._path)
                raise EngineError(FAILED)
        return [column.to_numpy() for column in found[0].columns]

    def estimate(self) -> int:
        """ClickHouse knows its tables' sizes."""
        return int(self.columns(NUMBER_OF_ROWS.format(relation=self.relation))[0][0])

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """Rows from everywhere, by their numbers."""
        every = max(1, rows // max(SAMPLE, SAMPLE_OF_GROUP * groups))
        yield Sample(filled(SAMPLED_ROWS, relation=self.relation, every=every), 1 / every)


def table_engine(folder: str | os.PathLike[str], table: str) -> SqlEngine:
    """The engine of a table of a folder, or of the memory of this process."""
    path = os.fspath(folder)
    # The library would make a folder that is missing, and read settings behind a question mark.
    if path != MEMORY and ("?" in path or not os.path.isdir(os.path.join(path, "metadata"))):
        raise InputError(f"there is no folder of chdb at {shown(path)}")
    source = ClickHouseSource(path, table)
    if not source.types:
        raise InputError(
            f"ClickHouse has no table {shown(table)} that can be read; name it as schema.table"
        )
    return SqlEngine(source, source.types, doubts=source.doubts)


def _connection(path: str) -> Any:
    """A connection of its own, which nobody else's settings concern, and which writes nothing."""
    try:
        library = import_module("chdb")
    except ModuleNotFoundError:
        raise missing_extra("The ClickHouse engine", "chdb", "clickhouse") from None
    with suppress(Exception):
        connection = library.connect(path)
        connection.query(SET)
        connection.query(READ_ONLY)
        return connection
    # Raised outside that block, so that the message stays out of the chain.
    raise SourceError(
        f"chdb cannot open {path!r}; it opens one folder a process, and a folder in one process"
    )
