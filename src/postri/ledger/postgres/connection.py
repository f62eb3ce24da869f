"""A PostgreSQL database that a ledger, or its head, lies in: connections, transactions, and errors
in plain words. The only module of the ledger that loads the driver.

What the server says when it fails may carry what was written, and what the driver says of a URL may
carry a password: no message of theirs leaves this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from time import sleep
from typing import Any

from postri.errors import LedgerError, missing_extra

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import TransactionStatus
except ImportError:
    raise missing_extra("A ledger in PostgreSQL", "psycopg", "postgres") from None

Request = tuple[str, tuple[Any, ...]]

# A server that has gone away without a word is given up, unless the URL says when.
PATIENCE = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
# Connections that wait for the next transaction; more are closed.
IDLE = 8

WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# All for one transaction, so that a pool between may give each to another connection. A commit
# waits for the disk, and for the standbys that the server waits for; never for less. Whoever stops
# in the middle of a transaction does not hold up the others for ever.
SETTINGS = """
    SELECT set_config('search_path', ?, true),
        set_config('lock_timeout', ?, true),
        set_config('idle_in_transaction_session_timeout', ?, true),
        set_config(
            'synchronous_commit',
            CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
                ELSE current_setting('synchronous_commit') END,
            true
        )
"""
# Waited for after the settings, from left to right.
LOCK = ",\n        pg_advisory_xact_lock(?)"
# A row if the lock was free.
TRY_LOCK = "SELECT 1 WHERE pg_try_advisory_xact_lock(?)"
# For a lock that is held while data are read: its transaction is idle meanwhile. It holds no
# snapshot, so nothing is kept from being vacuumed. A machine that has gone away without a word
# is given up by the server soon.
UNHURRIED = """
    SELECT set_config('idle_in_transaction_session_timeout', '0', true),
        set_config('tcp_keepalives_idle', '10', true),
        set_config('tcp_keepalives_interval', '5', true),
        set_config('tcp_keepalives_count', '3', true)
"""
# How often a lock is tried again that another holds, in seconds.
PACE = 0.02
# Rows that wait in a queue go out as one statement, unless they are more.
MOST_TOGETHER = 16

# What to do about the server's errors, by their codes.
_WORDS = {
    "42P01": "has no ledger: make one with 'postri ledger init', as the owner of the database",
    "3F000": "has no ledger: make one with 'postri ledger init', as the owner of the database",
    "42501": (
        "may not be used by this role: give it the rights that 'postri ledger init' prints; "
        "nothing was spent"
    ),
    "25006": (
        "cannot be written, for the database is a standby or still in recovery: name the "
        "primary, or ask again when recovery is over; nothing was spent"
    ),
    "53100": (
        "cannot grow, for the disk of the database is full: make room and ask again; what was "
        "recorded is safe"
    ),
    "53300": "takes no more connections: raise max_connections, or run fewer services",
    "55P03": (
        "was locked by another process for longer than it is waited for: ask again, or end the "
        "process that holds it; nothing was spent"
    ),
    "57014": "had its statement cancelled: ask again; nothing was spent",
    "23505": (
        "was written by something that is no service of this version, at the same time: verify "
        "it; nothing was spent"
    ),
    "58030": (
        "cannot be read or written, for the disk of the database failed: check the disk; what "
        "was recorded before is safe"
    ),
    "XX001": "is damaged: put back a backup of the database, then accept it",
    "XX002": "is damaged: put back a backup of the database, then accept it",
}
LOST = (
    "lost its connection before anything was written: check that the server runs, and ask again; "
    "nothing was spent"
)
UNREACHABLE = (
    "cannot be reached, or does not let this user in: check that the server runs, and the host, "
    "port, user, password and database of its URL; nothing was spent"
)


class ConnectionLost(LedgerError):  # noqa: N818  # says what happened
    """The connection broke in the midst of something."""


def lock_key(*words: str) -> int:
    """The number of an advisory lock. Two names may have one number: then they wait for each other,
    and no more.
    """
    digest = sha256("\0".join(words).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


@lru_cache(maxsize=256)
def _in_style(statement: str) -> bytes:
    """A statement as the driver wants it: values are %s."""
    return statement.replace("?", "%s").encode()


class LedgerServer:
    """A database by its URL. Each transaction has a connection to itself; those that are free wait
    for the next one.
    """

    def __init__(self, url: str, schema: str, patience: float, what: str) -> None:
        try:
            self._stated = conninfo_to_dict(url)
        except psycopg.Error:
            raise LedgerError(
                f"the URL of {what} cannot be read: write it as "
                "postgresql://user:password@host:port/database, special signs as %XX"
            ) from None
        self._url = url
        self._patience = patience
        self._schema = schema
        host = self._stated.get("host") or "localhost"
        port = self._stated.get("port") or "5432"
        database = self._stated.get("dbname") or self._stated.get("user") or ""
        self.title = f"{what} '{host}:{port}/{database}'"
        self._idle: list[psycopg.Connection[Any]] = []
        self._process = os.getpid()
        self._closed = False

    # ---- transactions

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """The database at one moment. Writers go on meanwhile."""
        transaction = self.begin(READ)
        try:
            yield transaction
        finally:
            self.end(transaction)

    @contextmanager
    def writing(
        self, locks: Sequence[int] = (), then: Sequence[Request] = ()
    ) -> Iterator[Transaction]:
        """A transaction that holds locks from its start; it is gone at the end unless it was
        committed.
        """
        transaction = self.begin(WRITE, locks, then)
        try:
            yield transaction
        finally:
            self.end(transaction)

    @contextmanager
    def holding(
        self, taking: Request, look_up: Callable[[], object] = lambda: None
    ) -> Iterator[None]:
        """Hold a lock for the time of the block, however long that is. `taking` gives a row if it
        could be had; else it is tried again and again, and `look_up` may end that by an error.

        It is gone when this process or its connection is.
        """
        transaction = self.begin(WRITE, then=[(UNHURRIED, ()), taking])
        try:
            taken = transaction.first[-1].fetchone()
            while taken is None:
                look_up()
                sleep(PACE)
                taken = transaction.do(*taking).fetchone()
            yield
        finally:
            self.end(transaction)

    def begin(
        self, how: str, locks: Sequence[int] = (), then: Sequence[Request] = ()
    ) -> Transaction:
        """A transaction. Locks are taken in one order, whoever asks; statements after them see what
        was committed by then, the first of them in the same trip to the server.
        """
        milliseconds = str(int(self._patience * 1000))
        keys = sorted(set(locks))
        settings = SETTINGS.rstrip() + LOCK * len(keys)
        given = (self._schema, milliseconds, milliseconds, *keys)
        opening: list[Request] = [(how, ()), (settings, given)]
        while True:
            connection, was_idle = self._connected()
            transaction = Transaction(connection, self.title)
            try:
                fetched = transaction.ask_all([*opening, *then])
                transaction.first = fetched[len(opening) :]
            except ConnectionLost:
                transaction.drop()
                # It may have been closed long ago, by whatever lies between: another is tried.
                if not was_idle:
                    raise
            except BaseException:
                transaction.drop()
                raise
            else:
                return transaction

    def end(self, transaction: Transaction) -> None:
        """Roll back what was not committed, and keep the connection for the next."""
        connection = transaction.connection
        if transaction.is_over() and not self._closed and len(self._idle) < IDLE:
            self._idle.append(connection)
            return
        transaction.drop()

    # ---- connections

    def _connected(self) -> tuple[psycopg.Connection[Any], bool]:
        if self._closed:
            raise LedgerError(f"{self.title} is closed")
        # A forked process shares the sockets of its parent: it must not use them, nor close them.
        if self._process != os.getpid():
            self._idle = []
            self._process = os.getpid()
        # Two threads never pop the same one.
        with suppress(IndexError):
            return self._idle.pop(), True
        return self._connect(), False

    def _connect(self) -> psycopg.Connection[Any]:
        patience: dict[str, Any] = {
            name: value for name, value in PATIENCE.items() if name not in self._stated
        }
        try:
            return psycopg.connect(
                self._url,
                autocommit=True,
                client_encoding="utf8",
                fallback_application_name="postri",
                **patience,
            )
        except (psycopg.Error, UnicodeError):
            pass
        # Outside that block, so that no message of the driver is in the chain.
        raise LedgerError(f"{self.title} {UNREACHABLE}")

    def close(self) -> None:
        """Close all connections that are free, and those in use at their end."""
        self._closed = True
        while self._process == os.getpid() and self._idle:
            self._idle.pop().close()


class Fetched:
    """Rows that were fetched already."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def fetchone(self) -> Any:
        if not self._rows:
            return None
        return self._rows[0]

    def fetchall(self) -> list[Any]:
        return self._rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


def as_one(requests: Sequence[Request]) -> Request:
    """Several questions as one: a column for each, with its rows as JSON. What a statement costs
    besides its rows, at both ends, is then paid once.
    """
    columns = [
        f"(SELECT json_agg(row_to_json(part)) FROM ({statement}) AS part)"
        for statement, _ in requests
    ]
    given = tuple(value for _, values in requests for value in values)
    return f"SELECT {', '.join(columns)}", given


def one_by_one(fetched: Fetched) -> list[Fetched]:
    """What each of several questions gave that were asked as one."""
    return [Fetched([tuple(row.values()) for row in rows or ()]) for rows in fetched.fetchone()]


def _inserted(queued: Sequence[Request]) -> Sequence[Request]:
    """Rows for several tables as one statement, which is all that a question writes."""
    if len(queued) > MOST_TOGETHER or not all(each[0].startswith("INSERT") for each in queued):
        return queued
    *others, last = [statement for statement, _ in queued] or [""]
    if not others:
        return queued
    parts = [f"part_{number} AS ({statement})" for number, statement in enumerate(others)]
    given = tuple(value for _, values in queued for value in values)
    return [(f"WITH {', '.join(parts)} {last}", given)]


class Transaction:
    """A transaction on a connection of its own. Statements that give no rows may wait in a queue:
    they go out together with the next one that does, or with the commit.
    """

    def __init__(self, connection: psycopg.Connection[Any], title: str) -> None:
        self.connection = connection
        self._title = title
        self._queue: list[Request] = []
        # What the statements gave that it began with.
        self.first: list[Fetched] = []

    def do(self, statement: str, given: tuple[Any, ...] = ()) -> Fetched:
        """Run what is queued, then a statement."""
        return self.ask_all([(statement, given)])[0]

    def queue(self, statement: str, given: tuple[Any, ...] = ()) -> None:
        """Run it later, in its turn."""
        self._queue.append((statement, given))

    def ask_all(self, requests: Sequence[Request]) -> list[Fetched]:
        """Run what is queued, then these statements, in one trip to the server."""
        queued = self._queue
        self._queue = []
        cursors = self._run([*_inserted(queued), *requests])
        return [_fetched(cursor) for cursor in cursors[len(cursors) - len(requests) :]]

    def commit(self) -> None:
        """Make it durable. ConnectionLost if nobody knows whether it is."""
        queued = self._queue
        self._queue = []
        *_, last = self._run([*_inserted(queued), ("COMMIT", ())])
        # A transaction that failed before ends without an error, and without a trace.
        if last.statusmessage != "COMMIT":
            raise LedgerError(f"{self._title} could not be written: verify it; nothing was spent")

    def _run(self, requests: Sequence[Request]) -> list[psycopg.Cursor[Any]]:
        failed: psycopg.Error | None = None
        try:
            if len(requests) == 1:
                return [self._execute(*requests[0])]
            with self.connection.pipeline():
                return [self._execute(*request) for request in requests]
        except psycopg.Error as error:
            failed = error
        # Outside that block, so that no message of the server is in the chain.
        raise self._worded(failed)

    def _execute(self, statement: str, given: tuple[Any, ...]) -> psycopg.Cursor[Any]:
        if not given:
            return self.connection.execute(statement.encode())
        return self.connection.execute(_in_style(statement), given)

    def _worded(self, error: psycopg.Error) -> LedgerError:
        """An error of the server, in words that say what to do."""
        code = error.sqlstate or ""
        # An administrator, a crash, or a server that starts or stops.
        if self._is_lost() or code[:3] == "57P" or code[:2] == "08":
            return ConnectionLost(f"{self._title} {LOST}")
        words = _WORDS.get(code, f"failed with {code or type(error).__name__}: verify it")
        return LedgerError(f"{self._title} {words}")

    def _is_lost(self) -> bool:
        return self.connection.closed or self.connection.broken

    def is_over(self) -> bool:
        """Roll back what is left; False if the connection is of no more use."""
        if self._is_lost():
            return False
        if self.connection.info.transaction_status != TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                self.connection.execute(b"ROLLBACK")
        return self.connection.info.transaction_status == TransactionStatus.IDLE

    def drop(self) -> None:
        """Close the connection: what was not committed is gone."""
        with suppress(Exception):
            self.connection.close()


def _fetched(cursor: psycopg.Cursor[Any]) -> Fetched:
    if cursor.description is None:
        return Fetched([])
    return Fetched(cursor.fetchall())
