"""The ledger as a SQLite file: for one machine, with many processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from postri.errors import LedgerError
from postri.ledger.charges import People
from postri.ledger.connection import SqliteFile, create_private, worded
from postri.ledger.head import Head, HeadFile, trouble
from postri.ledger.schema import MIGRATIONS, migrate, schema_of
from postri.ledger.sqlite_book import SqliteBook
from postri.ledger.store import TRUNK
from postri.ledger.stored import NOBODY, BookSnapshot, StoredLedger, restored

ACCEPT = (
    "look for a newer copy, or accept this one: SqliteLedger(path, head, "
    "audit=True).accept_restored()"
)


class SqliteLedger(StoredLedger):
    """A ledger in a file, made if it is not there; its head in another file, `<path>.head` if none
    is named.

    A ledger that is older than its head is refused. `audit=True` opens it all the same, to verify,
    export or accept it: no file is made, and what would answer a question still refuses. `patience`
    is how long to wait, in seconds, while another process writes.

    The methods of questions are those of the protocol `Ledger`.
    """

    def __init__(
        self,
        path: str | Path,
        head: str | Path | None = None,
        *,
        audit: bool = False,
        patience: float = 30.0,
    ) -> None:
        super().__init__()
        self.path = Path(path)
        if head is None:
            head = self.path.with_name(f"{self.path.name}.head")
        self._head = HeadFile(Path(head), patience)
        # What this process has read and knows: it need not be read again.
        self._understood = 0
        self._file = SqliteFile(
            self.path, patience, lambda connection: schema_of(connection, str(self.path))
        )
        try:
            if audit:
                self._check_existing()
            else:
                self._open()
        except BaseException:
            self._file.close()
            raise

    def _open(self) -> None:
        """Make what is missing, and refuse what does not belong together."""
        create_private(self.path)
        with self._file.writing() as connection:
            migrate(connection, str(self.path))
        with self._file.writing() as connection, self._head.held() as held:
            book = SqliteBook(connection)
            # A head from the start: one that is missing later was lost.
            if book.number == 0 and held.newest is None:
                held.replace(book.head())
            self._checked(connection, held.newest)

    def _check_existing(self) -> None:
        with self._file.reading() as connection:
            schema = schema_of(connection, str(self.path))
        if schema == 0:
            raise LedgerError(f"{str(self.path)!r} is empty, and not a ledger")
        # An older file is audited with the tables that follow from its entries.
        if schema < len(MIGRATIONS):
            with self._file.writing() as connection:
                migrate(connection, str(self.path))

    # ---- audits

    @contextmanager
    def snapshot(self) -> Iterator[BookSnapshot]:
        head = self._head.read()
        with self._file.aside() as connection:
            yield BookSnapshot(SqliteBook(connection), {TRUNK: head})

    def accept_restored(self) -> int:
        with ExitStack() as stack:
            with self._file.writing() as connection:
                held = stack.enter_context(self._head.held())
                book = SqliteBook(connection)
                book.understand(0)
                if trouble(held.newest, book.number, book.hash_at) is None:
                    raise LedgerError(
                        f"the ledger {str(self.path)!r} fits its head: there is nothing to accept"
                    )
                is_behind = held.newest is not None and held.newest.number > book.number
                number = book.append(restored(book, held.newest, is_behind=is_behind))
            held.replace(book.head())
        return number

    def backup(self, path: str | Path) -> None:
        if not create_private(Path(path)):
            raise LedgerError(
                f"there is a file {str(path)!r} already: name another one for the backup"
            )
        with self._file.aside() as connection, worded(Path(path)):
            copy = sqlite3.connect(path)
            try:
                copy.execute("PRAGMA synchronous = FULL")
                connection.backup(copy)
            finally:
                copy.close()

    def close(self) -> None:
        self._file.close()

    # ---- transactions

    @contextmanager
    def _writing(
        self,
        dataset: str,
        people: People = NOBODY,
        analyst: str | None = None,
        retry: str | None = None,
    ) -> Iterator[SqliteBook]:
        with ExitStack() as stack:
            with self._file.writing() as connection:
                # Held until the head has moved, so that no process moves it back, and writable
                # before anything is spent.
                held = stack.enter_context(self._head.held())
                book = self._checked(connection, held.newest)
                before = book.number
                yield book
            self._understood = book.number
            if book.number > before:
                held.move(book.head())

    @contextmanager
    def _reading(self, dataset: str | None = None) -> Iterator[SqliteBook]:
        # The head first: the ledger can only have grown since.
        head = self._head.read()
        with self._file.reading() as connection:
            yield self._checked(connection, head)

    def _ending(self, reservation: int) -> AbstractContextManager[SqliteBook]:
        # All datasets are locked at once.
        return self._writing("")

    @contextmanager
    def _looking(self) -> Iterator[SqliteBook]:
        with self._file.reading() as connection:
            yield SqliteBook(connection)

    def _checked(self, connection: sqlite3.Connection, head: Head | None) -> SqliteBook:
        """The book, if it is all known and no older than its head."""
        book = SqliteBook(connection)
        found = trouble(head, book.number, book.hash_at)
        if found is not None:
            raise LedgerError(f"the ledger {str(self.path)!r} is refused: {found}; {ACCEPT}")
        book.understand(self._understood)
        return book
