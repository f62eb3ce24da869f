"""The ledger as a SQLite file: for one machine, with many processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from postri.cost import NOTHING, Cost, check_amount
from postri.errors import InputError, LedgerError, RetryKeyUsed
from postri.ledger.accountants import Accountant
from postri.ledger.book import Book
from postri.ledger.connection import Database, create_private, worded
from postri.ledger.entry import Entry
from postri.ledger.facts import Answered, Failed, Reserved, Restored, Terms
from postri.ledger.head import Head, HeadFile, trouble
from postri.ledger.limits import check_limits
from postri.ledger.schema import migrate, schema_of
from postri.ledger.store import (
    LONGEST_NAME,
    Asking,
    DatasetUsage,
    Indexes,
    Limits,
    Past,
    Recorded,
    Request,
    check_name,
    check_text,
)

ACCEPT = (
    "look for a newer copy, or accept this one: SqliteLedger(path, head, "
    "audit=True).accept_restored()"
)


class SqliteLedger:
    """A ledger in a file, made if it is not there; its head in another file, `<path>.head` if none
    is named.

    A ledger that is older than its head is refused. `audit=True` opens it all the same, to verify,
    export or accept it: no file is made, and what would answer a question still refuses. `patience`
    is how long to wait, in seconds, while another process writes.
    """

    def __init__(
        self,
        path: str | Path,
        head: str | Path | None = None,
        *,
        audit: bool = False,
        patience: float = 30.0,
    ) -> None:
        self.path = Path(path)
        self._head = HeadFile(
            Path(head) if head is not None else self.path.with_name(f"{self.path.name}.head"),
            patience,
        )
        # What this process has read and knows: it need not be read again.
        self._understood = 0
        self._database = Database(
            self.path, patience, lambda connection: schema_of(connection, str(self.path))
        )
        try:
            self._check_existing() if audit else self._open()
        except BaseException:
            self._database.close()
            raise

    def _open(self) -> None:
        """Make what is missing, and refuse what does not belong together."""
        create_private(self.path)
        with self._database.writing() as connection:
            migrate(connection, str(self.path))
        with self._database.writing() as connection, self._head.held() as held:
            book = Book(connection)
            # A head from the start: one that is missing later was lost.
            if book.number == 0 and held.newest is None:
                held.replace(book.head())
            self._checked(connection, held.newest)

    def _check_existing(self) -> None:
        with self._database.reading() as connection:
            if schema_of(connection, str(self.path)) == 0:
                raise LedgerError(f"{str(self.path)!r} is empty, and not a ledger")

    def recorded(self, dataset: str, version: str, key: str) -> Recorded | None:
        """The newest recorded answer to this question."""
        with self._reading() as book:
            number = book.answered(dataset, version, key)
            return None if number is None else _recorded(book, number, (dataset, version, key))

    def reserve(self, request: Request, limits: Limits, asking: Asking | None = None) -> int:
        """Check all limits and charge the cost, in one durable transaction.

        The number of the entry; BudgetExceeded writes nothing.

        If the key of a retry has its reservation already, that is returned and nothing is charged.
        """
        with self._writing() as book:
            before = None if asking is None else book.retried(request.analyst, asking)
            if before is not None:
                _check_same(book.reservation(before), request)
                return before
            check_limits(
                request,
                limits,
                book.spent(request.dataset),
                book.spent(request.dataset, request.analyst),
            )
            terms = book.terms(request.dataset)
            wanted = _with_limits(terms, request, limits)
            if wanted != terms:
                book.append(wanted)
            number = book.append(_reserved(request))
            if asking is not None:
                book.keep(number, request.analyst, asking)
            return number

    def retried(self, analyst: str, asking: Asking) -> Past | None:
        """What became of a question that was asked with this key before.

        RetryKeyUsed if that was another one.
        """
        with self._reading() as book:
            number = book.retried(analyst, asking)
            return None if number is None else book.past(number)

    def keep(self, reservation: int, analyst: str, asking: Asking) -> None:
        """Keep how an analyst put the question of a recorded answer: it is a part of the analyst's
        history, and costs nothing.
        """
        with self._reading() as book:
            if book.is_kept(reservation, analyst, asking):
                return
        with self._writing() as book:
            book.reservation(reservation)
            book.keep(reservation, analyst, asking)

    def past(self, reservation: int) -> Past:
        """A reservation and what became of it."""
        with self._reading() as book:
            return book.past(reservation)

    def history(self, analyst: str, before: int | None = None, limit: int = 50) -> list[Past]:
        """What an analyst asked, newest first, below a number."""
        with self._reading() as book:
            return book.history(analyst, before, limit)

    def record(self, reservation: int, answer: str) -> None:
        """Keep the answer of a reservation, durably."""
        check_text(answer, "the answer")
        with self._writing() as book:
            asked = _without_fate(book, reservation)
            book.append(Answered(reservation, asked.dataset, asked.analyst, answer))

    def fail(self, reservation: int, reason: str) -> None:
        """Keep that a reservation has no answer. The cost stays spent."""
        if len(reason) > LONGEST_NAME or not all(part.isidentifier() for part in reason.split(".")):
            # What was given is not shown: it may be a message, and with it a cell.
            raise InputError(
                "the reason of a failure must be the name of a class, such as 'EngineError'"
            )
        with self._writing() as book:
            asked = _without_fate(book, reservation)
            book.append(Failed(reservation, asked.dataset, asked.analyst, reason))

    def spent(self, dataset: str, analyst: str | None = None) -> Cost:
        """All that was spent on a dataset, over all its versions; of one analyst if named."""
        with self._database.reading() as connection:
            return Book(connection).spent(dataset, analyst)

    def set_budget(
        self,
        dataset: str,
        budget: Fraction,
        accountant: Accountant,
        per_question: Fraction | None = None,
        allowances: Mapping[str, Fraction] | None = None,
    ) -> int | None:
        """Keep the terms of a dataset, if they changed. The number of the entry."""
        check_name(dataset, "dataset")
        Limits(budget, accountant, per_question)
        for analyst, allowance in (allowances or {}).items():
            check_name(analyst, "analyst")
            check_amount(allowance, "an allowance")
        wanted = Terms(
            dataset, budget, accountant, per_question, MappingProxyType(dict(allowances or {}))
        )
        with self._writing() as book:
            return None if book.terms(dataset) == wanted else book.append(wanted)

    def summary(self) -> Mapping[str, DatasetUsage]:
        """What was spent, by dataset and analyst."""
        with self._database.reading() as connection:
            return Book(connection).usage()

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The entries above a number, in order; unknown kinds too.

        Nothing is locked between two of them.
        """
        while batch := self._batch(after):
            yield from batch
            after = batch[-1].number

    def _batch(self, after: int) -> list[Entry]:
        with self._database.reading() as connection:
            return Book(connection).batch(after)

    def head(self) -> Head:
        """Where the chain ends now: print `head().line` and keep it elsewhere."""
        with self._database.reading() as connection:
            return Book(connection).head()

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """The ledger at one moment, for audits."""
        head = self._head.read()
        with self._database.aside() as connection:
            yield SqliteSnapshot(connection, head)

    def accept_restored(self) -> int:
        """Accept a ledger that is older than its head, or has lost it.

        Charges what the head knew to be spent and the ledger does not.

        The number of the entry that says so. LedgerError if there is nothing to accept.
        """
        with ExitStack() as stack:
            with self._database.writing() as connection:
                held, book = stack.enter_context(self._head.held()), Book(connection)
                book.understand(0)
                if trouble(held.newest, book.number, book.hash_at) is None:
                    raise LedgerError(
                        f"the ledger {str(self.path)!r} fits its head: there is nothing to accept"
                    )
                number = book.append(_restored(book, held.newest))
            held.replace(book.head())
        return number

    def backup(self, path: str | Path) -> None:
        """A copy of the ledger at one moment, into a file that is not there yet; writers go on
        meanwhile.
        """
        if not create_private(Path(path)):
            raise LedgerError(
                f"there is a file {str(path)!r} already: name another one for the backup"
            )
        with self._database.aside() as connection, worded(Path(path)):
            copy = sqlite3.connect(path)
            try:
                copy.execute("PRAGMA synchronous = FULL")
                connection.backup(copy)
            finally:
                copy.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Iterator[Book]:
        """A transaction that may append: refuses what is unknown or too old, and moves the head
        when all is durable.
        """
        with ExitStack() as stack:
            with self._database.writing() as connection:
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
    def _reading(self) -> Iterator[Book]:
        # The head first: the ledger can only have grown since.
        head = self._head.read()
        with self._database.reading() as connection:
            yield self._checked(connection, head)

    def _checked(self, connection: sqlite3.Connection, head: Head | None) -> Book:
        """The book, if it is all known and no older than its head."""
        book = Book(connection)
        found = trouble(head, book.number, book.hash_at)
        if found is not None:
            raise LedgerError(f"the ledger {str(self.path)!r} is refused: {found}; {ACCEPT}")
        book.understand(self._understood)
        return book


class SqliteSnapshot:
    """A SQLite ledger at one moment."""

    def __init__(self, connection: sqlite3.Connection, head: Head | None) -> None:
        self.head = head
        self._book = Book(connection)

    def entries(self) -> Iterator[Entry]:
        """All entries by number, unknown ones too."""
        return self._book.entries()

    def usage(self) -> Mapping[str, DatasetUsage]:
        """What the totals say."""
        return self._book.usage()

    def indexes(self) -> Indexes:
        """What the other tables say."""
        return self._book.indexes()


def _with_limits(terms: Terms | None, request: Request, limits: Limits) -> Terms:
    """The terms as the limits of one analyst have them; the allowances of others stay."""
    allowances = {} if terms is None else dict(terms.allowances)
    allowances.pop(request.analyst, None)
    if limits.allowance is not None:
        allowances[request.analyst] = limits.allowance
    return Terms(
        request.dataset,
        limits.budget,
        limits.accountant,
        limits.per_question,
        MappingProxyType(allowances),
    )


def _reserved(request: Request) -> Reserved:
    names = (request.dataset, request.version, request.analyst, request.key)
    return Reserved(*names, analyst_text=request.capped_question(), cost=request.cost)


def _check_same(asked: Reserved, request: Request) -> None:
    """RetryKeyUsed if the same words mean another question by now: a retry never pays for that."""
    if (asked.dataset, asked.version, asked.analyst, asked.key) != (
        request.dataset,
        request.version,
        request.analyst,
        request.key,
    ):
        raise RetryKeyUsed


def _without_fate(book: Book, number: int) -> Reserved:
    """The reservation, if it is still open; LedgerError otherwise."""
    asked = book.reservation(number)
    if book.fate(number) is not None:
        raise LedgerError(
            f"reservation {number} of the ledger has its fate already: entries are permanent"
        )
    return asked


def _recorded(book: Book, number: int, question: tuple[str, str, str]) -> Recorded:
    asked, fate = book.reservation(number), book.fate(number)
    if (
        (asked.dataset, asked.version, asked.key) != question
        or fate is None
        or not isinstance(fate[0], Answered)
    ):
        raise LedgerError("the ledger's index of answers does not fit its entries: verify it")
    return Recorded(number, fate[0].answer, asked.cost, asked.analyst, fate[1])


def _restored(book: Book, head: Head | None) -> Restored:
    """Charges what the head knew to be spent and the ledger does not.

    If the ledger went another way, that may be all of it.
    """
    if head is None:
        return Restored(None, MappingProxyType({}))
    behind = head.number > book.number
    lost = {
        dataset: book.spent(dataset).lacking(cost) if behind else cost
        for dataset, cost in head.spent.items()
    }
    return Restored(
        head.line,
        MappingProxyType({dataset: cost for dataset, cost in lost.items() if cost != NOTHING}),
    )
