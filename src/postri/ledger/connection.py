"""A SQLite file, shared by threads and processes: connections, transactions, and errors in plain
words.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, RLock
from time import monotonic, sleep
from weakref import WeakSet

from postri import system
from postri.errors import LedgerError

LEDGER = "the ledger"

# What to do about SQLite's errors, by the lower byte of their codes.
_WORDS = {
    sqlite3.SQLITE_READONLY: (
        "cannot be written: make the file and its folder writable for this user"
    ),
    sqlite3.SQLITE_PERM: "may not be used by this user: change the permissions of the file",
    sqlite3.SQLITE_AUTH: "may not be used by this user: change the permissions of the file",
    sqlite3.SQLITE_FULL: (
        "cannot grow, for the disk is full: make room and ask again; what was recorded is safe"
    ),
    sqlite3.SQLITE_IOERR: (
        "cannot be read or written, for the disk failed: check the disk; what was recorded "
        "before is safe"
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened: check that its folder exists and that this user may read and write there"
    ),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged: put back a backup, then accept it (see the documentation of the ledger)"
    ),
    sqlite3.SQLITE_NOTADB: (
        "is not a ledger, or is damaged: name another file, or put back a backup and accept it"
    ),
}


@contextmanager
def worded(path: Path, patience: float = 0.0, what: str = LEDGER) -> Iterator[None]:
    """Errors of SQLite as a LedgerError that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise LedgerError(f"{what} {str(path)!r} {_words(error, patience)}") from None


def _words(error: sqlite3.Error, patience: float) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return (
            f"was locked by another process for {patience:g} seconds: ask again, or end the "
            "process that holds it; nothing was spent"
        )
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return _WORDS.get(code, f"failed with {name}: verify it")


def create_private(path: Path, what: str = LEDGER) -> bool:
    """Make an empty file that nobody else may read, whatever the umask, and those that SQLite makes
    beside it; False if there is one.
    """
    try:
        os.close(system.create(path))
    except FileExistsError:
        return False
    except OSError as error:
        raise LedgerError(
            f"{what} {str(path)!r} cannot be made ({error.strerror}): check that its folder "
            "exists and is writable"
        ) from None
    return True


class SqliteFile:
    """One SQLite file.

    Threads take turns on one connection, and each process has its own. `check` refuses a file that
    is somebody else's; messages call the file `what`. What is not `durable` may lose its last
    transactions if the power fails, and waits for no disk.
    """

    def __init__(
        self,
        path: Path,
        patience: float,
        check: Callable[[sqlite3.Connection], object],
        what: str = LEDGER,
        *,
        durable: bool = True,
    ) -> None:
        self.path = path
        self.patience = patience
        self.what = what
        self.durable = durable
        self._check = check
        self.lock = RLock()
        self._connection: sqlite3.Connection | None = None
        # Not on all file systems.
        self._has_journal_ahead = False
        self._closed = False
        _OPEN.add(self)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its start, so that what it reads is what it
        changes.
        """
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The file at one moment. Writers go on meanwhile."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def reading_at_once(self) -> Iterator[sqlite3.Connection | None]:
        """The file at one moment if nobody is to be waited for; None otherwise.

        Who writes holds up no reader of a file that has its journal ahead.
        """
        if not self.lock.acquire(blocking=False):
            yield None
            return
        try:
            if self._connection is None or not self._has_journal_ahead:
                yield None
                return
            with self.reading() as connection:
                yield connection
        finally:
            self.lock.release()

    @contextmanager
    def aside(self) -> Iterator[sqlite3.Connection]:
        """The file at one moment on a connection of its own, so that the thread may use the other
        one meanwhile.
        """
        with self.lock, worded(self.path, self.patience, self.what):
            self._check_open()
            connection = self._connect()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self.lock, worded(self.path, self.patience, self.what):
            connection = self._connected()
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _connected(self) -> sqlite3.Connection:
        self._check_open()
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _check_open(self) -> None:
        if self._closed:
            raise LedgerError(f"{self.what} {str(self.path)!r} is closed")

    def _connect(self) -> sqlite3.Connection:
        # SQLite would open a file that cannot be written to read it, and leave a file beside it
        # that stays unwritable. Opening the file to find out would drop the locks of this process
        # on it.
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise LedgerError(f"{self.what} {str(self.path)!r} {_WORDS[sqlite3.SQLITE_READONLY]}")
        uri = f"{self.path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(
            uri, uri=True, timeout=self.patience, isolation_level=None, check_same_thread=False
        )
        try:
            # First the check: a file of somebody else's keeps its mode.
            self._patiently(lambda: self._check(connection))
            self._patiently(lambda: self._put_journal_ahead(connection))
            connection.execute("PRAGMA synchronous = NORMAL")
            if self.durable:
                # FULL waits for the disk at every commit: what was reserved stays reserved if the
                # power fails. WAL alone would not wait.
                connection.execute("PRAGMA synchronous = FULL")
                # On macOS the disk's own cache needs to be told.
                connection.execute("PRAGMA fullfsync = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _put_journal_ahead(self, connection: sqlite3.Connection) -> None:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        self._has_journal_ahead = mode == "wal"

    def _patiently(self, action: Callable[[], object]) -> None:
        """Do it again while the file is locked: SQLite does not wait by itself when the journal's
        mode changes.
        """
        deadline = monotonic() + self.patience
        while True:
            try:
                action()
                return
            except sqlite3.OperationalError as error:
                is_locked = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_locked or monotonic() > deadline:
                    raise
            sleep(0.01)

    def release(self) -> None:
        """Close the connection; the next transaction opens another."""
        with self.lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def close(self) -> None:
        """Close for good."""
        self.release()
        self._closed = True


# ---- forks: a connection must not cross one, for its locks belong to one process

_OPEN: WeakSet[SqliteFile] = WeakSet()
_PAUSED: list[SqliteFile] = []
_FORKING = Lock()


def _before_fork() -> None:
    """All connections are closed, and both sides open their own."""
    _FORKING.acquire()
    _PAUSED.extend(_OPEN)
    for file in _PAUSED:
        file.lock.acquire()
        file.release()


def _after_fork() -> None:
    while _PAUSED:
        _PAUSED.pop().lock.release()
    _FORKING.release()


system.on_fork(_before_fork, _after_fork)
