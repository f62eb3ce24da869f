"""DuckDB: locked down to the files that it is given, or a connection of the user's.

All queries of one question about a relation run in one transaction, which reads one snapshot and
can write nothing. The only module that loads DuckDB. What it says when it fails may carry a cell,
so its messages never leave this module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from math import cbrt
from threading import Lock
from typing import Any, NamedTuple

import duckdb
import numpy as np
from duckdb.func import SPECIAL
from numpy.typing import NDArray

from postri.engines.doubts import doubt
from postri.engines.duckdb.dialect import DuckDialect
from postri.engines.engine import SMALL
from postri.engines.progress import cancellable, interruptibly, watched
from postri.engines.sql.dialect import filled
from postri.engines.sql.engine import SqlEngine
from postri.engines.sql.sampling import Sample
from postri.engines.sql.scan_result import ScanResult
from postri.engines.sql.statements import Scan, listed
from postri.errors import EngineError, InputError, PostriError, SourceChanged, SourceError
from postri.exact import shown

CONFIG = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    # No cell is spilled to a disk.
    "temp_directory": "",
}
# How many bits the numbers of groups may have that are counted in an array: those of a first scan
# of a distribution have 16, and one more is for null.
MOST_BITS = 17
SET_BITS = "SET SESSION perfect_ht_threshold = {}"
# Progress is told to those who ask for it, and printed nowhere.
TELLING = (
    "SET enable_progress_bar = true",
    "SET enable_progress_bar_print = false",
    "SET progress_bar_time = 0",
)
LOCKED = (
    # Parquet's statistics leave NaN out, and with them DuckDB concludes that there is none: a test
    # for it would be optimized away.
    "SET disabled_optimizers = 'statistics_propagation'",
    "SET enable_external_access = false",
    SET_BITS.format(MOST_BITS),
    *TELLING,
    "SET lock_configuration = true",
)


BEGIN = "BEGIN TRANSACTION READ ONLY"
TRANSACTION = "SELECT txid_current()"

# How many rows a sample of blocks has: of a table at least, of each group, and which share of all
# at most.
BLOCKS_OF_TABLE = 1 << 19
BLOCKS_OF_GROUP = 1 << 12
MOST_OF_TABLE = 1 / 8
# Where groups take two passes, a wider bracket costs less.
FEWER_OF_GROUP = 1 << 10
# How many a sample of single rows has: of a table, and of each group.
SINGLE_ROWS = 1 << 16
ROWS_OF_GROUP = 1 << 9
# A sample of so many times `rows^(2/3)` takes as long as the cells inside its bracket.
FITTING = 1.25
# The settings that the library has, which takes longer to tell than what they are set to.
SETTINGS = "SELECT name FROM duckdb_settings()"
OF_BITS = {"perfect_ht_threshold", "lock_configuration"}
# No row, if it cannot be changed: a statement that fails would end the transaction, which may be
# the user's.
BITS_OF_GROUPS = """
SELECT current_setting('perfect_ht_threshold')
WHERE current_setting('lock_configuration') = false
"""
NUMBER_OF_ROWS = "SELECT count(*) AS rows FROM {relation}"
# How DuckDB writes a relation that is a table, before its name.
WHOLE = "SELECT * FROM "
TABLE = "TABLE_RELATION"
# What statements call a relation that has no name.
UNNAMED = "source"
OWN_DATABASE = "duckdb"
QUOTED_PART = re.compile(r'"((?:[^"]|"")*)"')
# The tables that a name can mean: in what kind of database each is, whether it has columns that are
# computed when they are read, and its full name.
KINDS = """
SELECT d.type, bool_or(c.is_generated), c.database_name, c.schema_name, c.table_name
FROM duckdb_columns() AS c JOIN duckdb_databases() AS d USING (database_oid)
WHERE lower(c.table_name) = lower($name)
      AND ($schema IS NULL OR lower($schema) IN (lower(c.schema_name), lower(c.database_name)))
GROUP BY ALL
"""
QUERY = doubt("a view or a query")
GENERATED = doubt("a table with generated columns", "one of their expressions")
REPLACED = "the table was replaced after it was opened; open it again"
# Blocks of rows, which cost next to nothing.
SAMPLED_BLOCKS = """
    (SELECT * FROM {table} USING SAMPLE {percent:.6f}% (system)) AS sampled
"""
# Rows from everywhere: a scan.
SAMPLED_ROWS = """
    (SELECT * FROM {relation} USING SAMPLE {size} ROWS (reservoir)) AS sampled
"""
FAILED = "DuckDB failed while it counted; the data may be damaged or have changed"
# What DuckDB says, in a plain RuntimeError, if it hears a Ctrl-C before Python does.
INTERRUPTED = "Query interrupted"


@dataclass(frozen=True)
class Function:
    """A function of a text that a query calls, and the type of what it returns."""

    read: Callable[[str], int | float | str | None]
    returns: str


NO_FUNCTIONS: Mapping[str, Function] = {}

# Two threads that share a connection look and begin one after the other.
_beginning = Lock()
# The user's setting on a connection that has another one for now, and how many questions need it.
_in_arrays: dict[int, tuple[int, int]] = {}
# The names of all settings, once they were asked for.
_settings: set[str] = set()


def limit_memory(size: int) -> None:
    """Databases that this process opens from now on keep to `size` bytes; a query that needs more
    fails.
    """
    CONFIG["memory_limit"] = f"{size}B"


class Database:
    """A connection that can read these files alone, installs nothing and writes nothing."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._connection = duckdb.connect(":memory:", config=dict(CONFIG))
        with hearing_interrupts():
            self._connection.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
            for setting in LOCKED:
                self._connection.execute(setting)
        # These settings are the connection's own, so it is the one that works: one query at a time.
        self._turn = Lock()

    def schema(self, query: str) -> list[tuple[str, str]]:
        """The names and declared types of a query's columns; reads no row."""
        failure = SourceError(
            "cannot open the file: it is damaged, or of another format than its name says"
        )
        with self._turn:
            rows = quietly(
                lambda: self._connection.execute(f"DESCRIBE {query}").fetchall(), failure
            )
        return [(str(row[0]), str(row[1])) for row in rows]

    def keep(self, name: str, columns: Mapping[str, Sequence[str | None]]) -> None:
        """A table of texts beside the files, in memory."""
        lists = ", ".join(f"unnest(CAST(? AS VARCHAR[])) AS {column}" for column in columns)
        self._store(f"CREATE TABLE {name} AS SELECT {lists}", *columns.values())

    def keep_numbers(self, name: str, numbers: Mapping[str, Sequence[int]]) -> None:
        """A table of whole numbers, `place`, each with the `file` that it belongs to."""
        self._store(f"CREATE TABLE {name} (file VARCHAR, place BIGINT)")
        for file, places in numbers.items():
            insert = f"INSERT INTO {name} SELECT ?, unnest(CAST(? AS BIGINT[]))"
            self._store(insert, file, places)

    def _store(self, statement: str, *values: Any) -> None:
        with self._turn:
            quietly(lambda: self._connection.execute(statement, list(values)), EngineError(FAILED))

    def columns(
        self,
        query: str,
        values: Sequence[Any] = (),
        functions: Mapping[str, Function] = NO_FUNCTIONS,
    ) -> list[NDArray[Any]]:
        """The result of a query, a column at a time; the query returns no nulls.

        It may call functions of a text.
        """
        with self._turn, watched(self._connection.query_progress), ExitStack() as stack:
            for name, function in functions.items():
                self._connection.create_function(
                    name, function.read, ["VARCHAR"], function.returns, null_handling=SPECIAL
                )
                stack.callback(self._connection.remove_function, name)
            return run_query(
                lambda: self._connection.execute(query, list(values)).fetchnumpy(), self._connection
            )


class RelationSource:
    """A table, view or query of a connection that the user holds.

    It is read where it is; nothing is created or changed.
    """

    dialect = DuckDialect()

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation
        self._in_snapshot = False
        # What ends with the snapshot.
        self._until_end = ExitStack()
        self.doubts, self._own_name = self._catalogued()

    @contextmanager
    def snapshot(self) -> Iterator[RelationSource]:
        """The same relation, inside a transaction that reads one snapshot and can write nothing."""
        if self._in_snapshot:
            yield self
            return
        connection = self._relation._con
        still = copy(self)
        still._in_snapshot = True
        still._until_end = ExitStack()
        began = _begin(connection)
        try:
            # A view may stand by now where the table stood.
            doubts, _ = self._catalogued()
            if not set(doubts) <= set(self.doubts):
                raise SourceChanged(REPLACED)
            with still._until_end:
                yield still
        finally:
            if began:
                _put_back(connection, "ROLLBACK")

    statement = staticmethod(listed)

    def guided(self, scan: Scan) -> ScanResult | None:
        """Groups of a table take two passes over it.

        Another relation may be no snapshot, or slow to read: it takes one.
        """
        if scan.grouped and scan.sampled and self._is_table:
            from postri.engines.duckdb.guided_scan import guided

            return guided(scan, self.columns)
        return None

    def types(self) -> dict[str, str]:
        """The names and declared types of the columns."""
        return dict(zip(self._relation.columns, map(str, self._relation.types), strict=True))

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns. A connection of the user's tells no progress, unless it is set to
        do so.
        """
        connection = self._relation._con
        with watched(connection.query_progress):
            return run_query(lambda: self._query(query).fetchnumpy(), connection)

    def _query(self, query: str) -> Any:
        """A statement about this relation, as a relation of its own: whoever shares the connection
        keeps the results that it has.
        """
        if self._own_name is None:
            return self._relation.query(UNNAMED, query)
        # Without a view for the relation, which takes longer than most statements are planned.
        return self._relation._con.sql(query)

    @property
    def relation(self) -> str:
        """A table by its own name; other relations have none."""
        return self._own_name or UNNAMED

    def estimate(self) -> int:
        """DuckDB knows its tables' sizes. From now on, until the snapshot ends, the rows of a large
        one are counted in arrays.
        """
        rows = int(self.columns(NUMBER_OF_ROWS.format(relation=self.relation))[0][0])
        if rows > SMALL and self._in_snapshot and self._is_table:
            self._until_end.enter_context(_counting_in_arrays(self._relation._con))
        return rows

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """Blocks of rows; then single rows, which a table that is in some order needs."""
        of_group = FEWER_OF_GROUP if self._is_table else BLOCKS_OF_GROUP
        size = max(BLOCKS_OF_TABLE, of_group * groups, fitting_size(rows))
        share = min(1.0, size / rows, MOST_OF_TABLE)
        blocks = filled(SAMPLED_BLOCKS, table=self.relation, percent=100 * share)
        yield Sample(blocks, share)
        yield single_rows(self.relation, rows, groups)

    @property
    def _is_table(self) -> bool:
        return bool(self._relation.type == TABLE)

    def _catalogued(self) -> _Catalogued:
        """What the catalogue says of the relation now."""
        if not self._is_table:
            return _Catalogued((QUERY,), None)
        name = self._relation.sql_query().removeprefix(WHOLE)
        failure = SourceError(f"DuckDB has no table {name} any more")
        found: _Catalogued = quietly(lambda: _catalogued(self._relation._con, name), failure)
        return found


class _Catalogued(NamedTuple):
    """Why reading may fail on a row, and the full name of a table, which no step of a statement
    has; None without a name, or if there may be several.
    """

    doubts: tuple[str, ...]
    name: str | None


def _catalogued(connection: duckdb.DuckDBPyConnection, name: str) -> _Catalogued:
    """What the catalogue says of a table by its name, which is as quoted as DuckDB quotes it.

    Of several tables that a name could mean, one that is in doubt is enough.
    """
    doubts = []
    if connection.table(name).type != TABLE:
        doubts.append(QUERY)
    parts = [part.replace('""', '"') for part in QUOTED_PART.findall(name)]
    schema = parts[-2] if len(parts) > 1 else None
    tables = connection.execute(KINDS, {"name": parts[-1], "schema": schema}).fetchall()
    if any(computed for _, computed, *_ in tables):
        doubts.append(GENERATED)
    for kind in sorted({str(kind) for kind, *_ in tables if kind != OWN_DATABASE}):
        doubts.append(doubt(f"a table of an attached database of type {kind}", "the other place"))
    full_name = None
    if len(tables) == 1:
        full_name = ".".join(map(DuckDialect().name, tables[0][2:]))
    return _Catalogued(tuple(doubts), full_name)


def _begin(connection: duckdb.DuckDBPyConnection) -> bool:
    """Begin a transaction, unless the connection is in one: that one reads one snapshot too, and is
    the user's to end.
    """
    with _beginning, suppress(duckdb.Error), hearing_interrupts():
        # Inside a transaction it stays the same. To try BEGIN there would undo what the user did.
        first, second = (connection.execute(TRANSACTION).fetchall() for _ in range(2))
        if first != second:
            try:
                with hearing_interrupts():
                    connection.execute(BEGIN)
            except KeyboardInterrupt:
                # It may have begun.
                _put_back(connection, "ROLLBACK")
                raise
            return True
    return False


@contextmanager
def _counting_in_arrays(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let a connection count by groups in an array where their numbers have a few bits more than
    usual, which takes half the time; then put its setting back.

    For speed alone: where settings are locked, all stays as it is.
    """
    key = id(connection)
    is_set = False
    try:
        with _beginning, suppress(duckdb.Error, LookupError), hearing_interrupts():
            # Of several questions at once the first has seen the setting of the user.
            usual, users = _in_arrays.get(key, (0, 0))
            if not users:
                if not _settings:
                    _settings.update(name for (name,) in connection.execute(SETTINGS).fetchall())
                if not _settings >= OF_BITS:
                    raise LookupError
                usual = int(connection.execute(BITS_OF_GROUPS).fetchall()[0][0])
            _in_arrays[key] = (usual, users + 1)
            is_set = True
            if not users:
                connection.execute(SET_BITS.format(max(MOST_BITS, usual)))
        yield
    finally:
        if is_set:
            with _beginning:
                usual, users = _in_arrays.pop(key)
                if users > 1:
                    _in_arrays[key] = (usual, users - 1)
                else:
                    _put_back(connection, SET_BITS.format(usual))


def _put_back(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Leave a connection as it was, though an interrupt may come meanwhile."""
    try:
        with suppress(duckdb.Error), hearing_interrupts():
            connection.execute(statement)
    except KeyboardInterrupt:
        with suppress(duckdb.Error), hearing_interrupts():
            connection.execute(statement)
        raise


@contextmanager
def hearing_interrupts() -> Iterator[None]:
    """Short statements on this thread: a Ctrl-C in one of them is a Ctrl-C, and no failure that
    somebody could take for the database's.
    """
    try:
        yield
    except RuntimeError as error:
        if str(error) != INTERRUPTED:
            raise
        raise KeyboardInterrupt from None


def relation_engine(relation: duckdb.DuckDBPyRelation) -> SqlEngine:
    """The engine of a relation."""
    source = RelationSource(relation)
    return SqlEngine(source, source.types(), doubts=source.doubts)


def database_engine(database: Any, table: str) -> SqlEngine:
    """The engine of a table of a connection, or of a database file."""
    return relation_engine(_relation_of(database, table))


def fitting_size(rows: int) -> int:
    """How many rows the sample of a large table should have."""
    return round(FITTING * cbrt(rows) ** 2)


def single_rows(relation: str, rows: int, groups: int) -> Sample:
    """Rows from everywhere."""
    size = min(rows, max(SINGLE_ROWS, ROWS_OF_GROUP * groups))
    return Sample(filled(SAMPLED_ROWS, relation=relation, size=size), size / rows)


def quietly(work: Callable[[], Any], failure: PostriError) -> Any:
    """What the work returns; whatever it says when it fails may carry a cell, so that stays in
    here.
    """
    with suppress(Exception), hearing_interrupts():
        return work()
    # Raised outside that block, so that the message stays out of the chain.
    raise failure


def run_query(
    work: Callable[[], dict[str, Any]], connection: duckdb.DuckDBPyConnection
) -> list[NDArray[Any]]:
    """The columns that a query returns."""
    found: list[dict[str, Any]] = []
    with cancellable(connection.interrupt):
        interruptibly(lambda: found.append(work()), connection.interrupt)
        if not found:
            raise EngineError(FAILED)
    return [_unmasked(column) for column in found[0].values()]


def _unmasked(column: Any) -> NDArray[Any]:
    """The cells, whatever covers them. To load masked arrays takes longer than most statements."""
    if type(column) is np.ndarray:
        return column
    return np.ma.getdata(column)


def _relation_of(database: Any, table: str) -> duckdb.DuckDBPyRelation:
    """A table of a connection, or of a database file, which is opened for reading alone."""
    missing = InputError(
        f"DuckDB has no table {shown(table)} that can be read; name it as schema.table"
    )
    if isinstance(database, duckdb.DuckDBPyConnection):
        return _table(database, table, missing)
    path = os.fspath(database)
    if not os.path.isfile(path):
        raise InputError(f"there is no database file {path!r}")
    config: dict[str, Any] = {**CONFIG, "enable_external_access": "false"}
    connection = quietly(
        lambda: duckdb.connect(path, read_only=True, config=config),
        SourceError(f"DuckDB cannot open {path!r}"),
    )
    with hearing_interrupts():
        for setting in TELLING:
            connection.execute(setting)
    return _table(connection, table, missing)


def _table(
    connection: duckdb.DuckDBPyConnection, table: str, missing: PostriError
) -> duckdb.DuckDBPyRelation:
    relation: duckdb.DuckDBPyRelation = quietly(lambda: connection.table(table), missing)
    return relation


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
