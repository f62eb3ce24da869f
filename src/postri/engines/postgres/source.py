"""PostgreSQL: a table of a server, counted there. The only module that loads its driver.

All queries of one question run on one connection, in one transaction, which reads one snapshot and
can write nothing. What the server says when it fails may carry a cell, and what the driver says of
a URL may carry a password, so no message of theirs leaves this module.
"""

from __future__ import annotations

import json
import os
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from postri.engines.postgres.catalogue import FIND, OTHERS, Definition, definition_of
from postri.engines.postgres.dialect import PostgresDialect
from postri.engines.progress import cancellable, time_limit
from postri.engines.sql.dialect import filled
from postri.engines.sql.engine import SqlEngine
from postri.engines.sql.sampling import Sample
from postri.engines.sql.statements import filtered
from postri.engines.staying import staying_connections
from postri.errors import (
    EngineError,
    InputError,
    PostriError,
    SourceChanged,
    SourceError,
    missing_extra,
    nearest,
)
from postri.exact import shown

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import TransactionStatus
    from psycopg.pq.abc import PGresult
    from psycopg.rows import tuple_row
except ImportError:
    raise missing_extra("The PostgreSQL engine", "psycopg", "postgres") from None

BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
# To compile the many small steps of a statement takes longer than it saves, unless there are far
# more rows than a server likes to scan.
UNCOMPILED = "SELECT set_config('jit', 'off', true) WHERE current_setting('jit', true) IS NOT NULL"
# The server itself ends a statement, or a transaction that nobody goes on with, after the time that
# a question may take: also one that it could not be told to cancel. A lower limit of the role's own
# stays.
LIMITED = """
SELECT set_config(name, '{limit}', true)
FROM pg_catalog.pg_settings
WHERE CASE
    WHEN name IN ('statement_timeout', 'idle_in_transaction_session_timeout')
    THEN setting::bigint NOT BETWEEN 1 AND {limit}
END
"""
# While it runs a query, the server looks every second whether anybody waits for it. Not all can.
WATCHFUL = """
SELECT set_config('client_connection_check_interval', '1000', false)
WHERE current_setting('client_connection_check_interval', true) = '0'
"""
# A server that has gone away without a word is given up, unless the URL or the environment says
# when.
PATIENCE: Mapping[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
# The types of a result's columns, by the numbers that the server gives them.
WIDTHS = {20: ">i8", 21: ">i2", 23: ">i4", 701: ">f8"}
BYTES = 17
# How many rows a sample has, and how many of each group.
SAMPLE = 1 << 13
SAMPLE_OF_GROUP = 1 << 8
# A prime, so that lines of all numbers are taken.
STRIDE = 7919
# How long the server may take to hear that a query is to be cancelled, in seconds.
CANCEL_TIMEOUT = 5.0
# What can be read, and what can be sampled, by the letters of the catalog: tables, partitioned
# tables, materialized views, views and foreign tables.
READABLE = frozenset("rpmvf")
SAMPLABLE = frozenset("rpm")

NUMBER = "SELECT %(table)s::regclass::oid::bigint"
REPLACED = "the table was replaced or changed after it was opened; open it again"
PAGES = """
SELECT CASE WHEN c.relkind = 'r' AND has_column_privilege(c.oid, 'ctid', 'SELECT')
            THEN pg_relation_size(c.oid) / current_setting('block_size')::bigint ELSE 0 END
FROM pg_catalog.pg_class AS c WHERE c.oid = %(table)s::regclass
"""
# One row from each of many pages, evenly spread: rows in some order do not mislead it. A place
# without a row gives none.
SCATTERED_ROWS = """
    (
        SELECT *
        FROM {relation}
        WHERE ctid = ANY (ARRAY(
            SELECT (
                '(' || spot * {pages} / {size} || ',' || 1 + (spot * {stride}) % {lines} || ')'
            )::tid
            FROM generate_series(0::bigint, {last}) AS spot
        ))
    ) AS sampled
"""
SAMPLED_ROWS = "{relation} TABLESAMPLE {how} ({percent:.6f}) REPEATABLE (1)"

Connection = psycopg.Connection[Any]
Result = TypeVar("Result")


class Transactions(Protocol):
    """Where transactions are had."""

    def transaction(self, *, stay: bool = False) -> AbstractContextManager[Connection]:
        """A connection inside a transaction that reads one snapshot and ends without a trace.

        With `stay` the next transaction may be had on the same connection.
        """


class OwnServer:
    """A server by its URL.

    The connection on which a table was opened stays for its first question; each further question
    has one of its own. Where connections stay open between questions, it is one of those.
    """

    def __init__(self, url: str) -> None:
        _check_url(url)
        self._url = url
        self._process = os.getpid()
        # One connection at most. A list, because two threads never pop the same one.
        self._staying: list[Connection] = []
        self._pool = staying_connections()
        weakref.finalize(self, _let_all_go, self._staying, self._process, self._let_go_of())

    @contextmanager
    def transaction(self, *, stay: bool = False) -> Iterator[Connection]:
        """On the connection that stayed, or on a new one, which is closed at the end."""
        with ExitStack() as stack:
            connection = stack.enter_context(closing(self._begun()))
            yield connection
            if stay or self._pool is not None:
                with suppress(PostriError):
                    _run(connection, "ROLLBACK")
                    stack.pop_all()
                    if stay:
                        self._staying.append(connection)
                    else:
                        self._let_go_of()(connection)

    def _let_go_of(self) -> Callable[[Connection], object]:
        """What becomes of a connection that is not needed any more."""
        if self._pool is None:
            return psycopg.Connection.close
        return partial(self._pool.give, self._url)

    def _begun(self) -> Connection:
        while (staying := self._that_stayed()) is not None:
            with suppress(PostriError):
                _begin(staying)
                return staying
            # The server closed it in the meantime.
            staying.close()
        connection = quietly(self._connect, _unreachable)
        _begin(connection)
        return connection

    def _that_stayed(self) -> Connection | None:
        # A forked process shares the socket of its parent: it must not use it.
        if self._process != os.getpid():
            return None
        with suppress(IndexError):
            return self._staying.pop()
        if self._pool is None:
            return None
        return self._pool.take(self._url)

    def _connect(self) -> Connection:
        stated = {**conninfo_to_dict(self._url)}
        if "PGCONNECT_TIMEOUT" in os.environ:
            stated["connect_timeout"] = os.environ["PGCONNECT_TIMEOUT"]
        connection = psycopg.connect(
            self._url,
            autocommit=True,
            client_encoding="utf8",
            fallback_application_name="postri",
            **{name: value for name, value in PATIENCE.items() if name not in stated},
        )
        with suppress(Exception):
            _executed(connection, WATCHFUL)
        return connection


def _let_all_go(
    connections: list[Connection], process: int, let_go_of: Callable[[Connection], object]
) -> None:
    if process == os.getpid():
        for connection in connections:
            let_go_of(connection)


class BorrowedServer:
    """A connection of the user's, which is left as it was."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @contextmanager
    def transaction(self, *, stay: bool = False) -> Iterator[Connection]:
        """Never inside a transaction of the user's, whose work is not ours to end."""
        if self._connection.closed:
            raise InputError("the connection is closed; give an open one or a URL")
        if self._connection.info.transaction_status != TransactionStatus.IDLE:
            raise InputError(
                "the connection is inside a transaction; commit it or roll it back first, or "
                "give a URL"
            )
        autocommit = self._connection.autocommit
        self._connection.autocommit = True
        try:
            _begin(self._connection)
            yield self._connection
        finally:
            with suppress(Exception):
                if self._connection.info.transaction_status != TransactionStatus.IDLE:
                    _run(self._connection, "ROLLBACK")
                self._connection.autocommit = autocommit


@dataclass(frozen=True)
class PostgresSource:
    """A table or view of a server."""

    relation: str
    samplable: bool
    definition: Definition
    server: Transactions = field(repr=False)
    connection: Connection | None = field(default=None, repr=False)

    dialect = PostgresDialect()
    statement = staticmethod(filtered)

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSource]:
        """The same table, all of whose queries run in one transaction."""
        if self.connection is not None:
            yield self
            return
        with self.server.transaction() as connection:
            self._check_unchanged(connection)
            yield replace(self, connection=connection)

    def _check_unchanged(self, connection: Connection) -> None:
        """Refuse a table that became something else after it was opened."""
        # Who reads none of its rows keeps others from replacing it until the end.
        no_rows = f"SELECT FROM {self.relation} LIMIT 0"
        quietly(lambda: _executed(connection, no_rows), lambda: SourceChanged(REPLACED))
        ((table,),) = _rows(connection, NUMBER, {"table": self.relation})
        if definition_of(table, partial(_rows, connection)) != self.definition:
            raise SourceChanged(REPLACED)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """The transaction of the snapshot; outside one, a transaction of its own."""
        if self.connection is not None:
            yield self.connection
            return
        with self.server.transaction() as connection:
            yield connection

    @contextmanager
    def _cancellable(self) -> Iterator[Connection]:
        """The same, where what runs can be cancelled in the server."""
        with self._transaction() as connection:

            def cancel() -> None:
                connection.cancel_safe(timeout=CANCEL_TIMEOUT)

            with cancellable(cancel):
                yield connection

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns."""
        with self._cancellable() as connection:
            return quietly(lambda: _arrays(connection, query), _failed)

    def estimate(self) -> int:
        """What the planner expects, which reads no row."""
        query = f"EXPLAIN (FORMAT JSON) SELECT 1 FROM {self.relation}"
        with self._cancellable() as connection:
            return quietly(lambda: _planned(connection, query), _failed)

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """Single rows by where they lie, or blocks where that may not be known; then rows by a
        scan.

        A view or a foreign table has none.
        """
        rows = max(rows, 1)
        size = min(rows, max(SAMPLE, SAMPLE_OF_GROUP * groups))
        share = size / rows
        pages = self._pages()
        if pages:
            scattered = filled(
                SCATTERED_ROWS,
                relation=self.relation,
                pages=pages,
                size=size,
                last=size - 1,
                stride=STRIDE,
                lines=max(1, rows // pages),
            )
            yield Sample(scattered, share)
        elif self.samplable:
            yield Sample(self._sampled("SYSTEM", share), share)
        if self.samplable:
            yield Sample(self._sampled("BERNOULLI", share), share)

    def _sampled(self, how: str, share: float) -> str:
        return filled(SAMPLED_ROWS, relation=self.relation, how=how, percent=100 * share)

    def _pages(self) -> int:
        """How many pages a plain table has; 0 for others, and where this role may not see where a
        row lies.
        """
        with self._cancellable() as connection:
            ((pages,),) = _rows(connection, PAGES, {"table": self.relation})
        return int(pages)


def postgres_engine(url_or_connection: Any, table: str) -> SqlEngine:
    """The engine for `schema.table`, or for a table in the search path.

    Looks at the catalog, at no cell.
    """
    if not isinstance(table, str) or not table:
        raise InputError(f"the table must be named as 'schema.table', got {shown(table)}")
    server = _server(url_or_connection)
    # A transaction of its own: between the opening and the first question the ledger is written,
    # and a transaction that waits for it would keep the server from tidying up.
    with server.transaction(stay=True) as connection:
        oid, schema, name, kind = _found(connection, table)
        definition = definition_of(oid, partial(_rows, connection))
    quoted = PostgresDialect().name
    relation = f"{quoted(schema)}.{quoted(name)}"
    source = PostgresSource(relation, kind in SAMPLABLE, definition, server)
    return SqlEngine(source, dict(definition.types), doubts=definition.doubts)


def _server(url_or_connection: Any) -> Transactions:
    if isinstance(url_or_connection, str):
        return OwnServer(url_or_connection)
    if isinstance(url_or_connection, psycopg.Connection):
        return BorrowedServer(url_or_connection)
    raise InputError(
        "give the URL of a server or a connection of psycopg 3, got an object of type "
        f"{type(url_or_connection).__name__}"
    )


def _check_url(url: str) -> None:
    """Refuse what is no URL.

    A password may stand anywhere in one that is misspelt, so nothing of it is shown.
    """
    scheme, mark, _ = url.partition("://")
    looks_known = "=" in url
    if mark:
        looks_known = scheme in ("postgresql", "postgres")
    if looks_known:
        with suppress(Exception):
            conninfo_to_dict(url)
            return
    raise InputError(
        "this is not the URL of a PostgreSQL server; write "
        "postgresql://user:password@host:port/database, special signs as %XX"
    )


def _found(connection: Connection, table: str) -> tuple[int, str, str, str]:
    """The table's number, schema, name and kind."""
    schema, name = split_name(table)
    rows: Sequence[tuple[Any, ...]] = []
    # No name holds a NUL, and the server could not be sent one.
    if "\0" not in table:
        rows = _rows(connection, FIND, {"schema": schema, "table": name})
    if not rows:
        others = [
            str(other) for (other,) in _rows(connection, OTHERS, {"qualified": schema is not None})
        ]
        hint = nearest(table, others) if others else "this role can read none"
        raise InputError(f"PostgreSQL has no table {shown(table)}; {hint}")
    oid, found_schema, found_name, kind, readable = rows[0]
    if kind not in READABLE:
        raise InputError(f"{shown(table)} is not a table or view")
    if not readable:
        raise InputError(
            f"the role of this connection may not read {shown(table)}; grant it USAGE on the "
            "schema and SELECT on the table"
        )
    return int(oid), str(found_schema), str(found_name), str(kind)


def split_name(text: str) -> tuple[str | None, str]:
    """The schema, if there is one, and the table: the names as they are, or in double quotes, which
    a name with a dot needs.
    """
    found = re.fullmatch(r'(?s:("(?:[^"]|"")+"|[^.]+)\.(.+))', text)
    if found is None or _is_quoted(text):
        return None, _bare(text)
    return _bare(found[1]), _bare(found[2])


def _is_quoted(part: str) -> bool:
    return re.fullmatch(r'"(?:[^"]|"")+"', part) is not None


def _bare(part: str) -> str:
    if _is_quoted(part):
        return part[1:-1].replace('""', '"')
    return part


def quietly(work: Callable[[], Result], failure: Callable[[], PostriError]) -> Result:
    """What the work returns.

    Of what the driver says when it fails nothing goes on, not even its code: it may carry a cell or
    a password, and a code tells what kind of cell it was.
    """
    with suppress(Exception):
        return work()
    # Raised outside that block, so that the message stays out of the chain.
    raise failure()


def _failed() -> PostriError:
    return EngineError("PostgreSQL failed while it counted")


def _unreachable() -> PostriError:
    return SourceError(
        "cannot connect to PostgreSQL; check host, port, database, user and password"
    )


def _executed(
    connection: Connection,
    query: str,
    values: Mapping[str, Any] | None = None,
    *,
    binary: bool = False,
) -> psycopg.Cursor[Any]:
    """The query's cursor, whatever the connection's own settings are."""
    encoded = query.encode(connection.info.encoding)
    return psycopg.Cursor(connection, row_factory=tuple_row).execute(
        encoded, values, prepare=False, binary=binary
    )


def _run(connection: Connection, command: str) -> None:
    quietly(lambda: _executed(connection, command), _failed)


def _begin(connection: Connection) -> None:
    _run(connection, BEGIN)
    _run(connection, UNCOMPILED)
    limit = time_limit()
    if limit is not None:
        _run(connection, LIMITED.format(limit=ceil(1000 * limit)))


def _rows(
    connection: Connection, query: str, values: Mapping[str, Any]
) -> Sequence[tuple[Any, ...]]:
    return quietly(lambda: _executed(connection, query, values).fetchall(), _failed)


def _arrays(connection: Connection, query: str) -> list[NDArray[Any]]:
    """The cells as the server sends them: whole numbers and double precision, which need no
    conversion, and texts.
    """
    result = _executed(connection, query, binary=True).pgresult
    assert result is not None
    columns = []
    for column in range(result.nfields):
        if result.ftype(column) == BYTES:
            columns.append(_texts(result, column))
            continue
        width = np.dtype(WIDTHS[result.ftype(column)])
        data = b"".join(result.get_value(row, column) or b"" for row in range(result.ntuples))
        columns.append(np.frombuffer(data, width).astype(width.newbyteorder("=")))
    return columns


def _texts(result: PGresult, column: int) -> NDArray[Any]:
    """Texts that are sent as bytes of UTF-8."""
    texts = np.empty(result.ntuples, object)
    for row in range(result.ntuples):
        texts[row] = (result.get_value(row, column) or b"").decode()
    return texts


def _planned(connection: Connection, query: str) -> int:
    result = _executed(connection, query).pgresult
    assert result is not None
    (plan,) = json.loads(result.get_value(0, 0) or b"")
    return int(plan["Plan"]["Plan Rows"])
