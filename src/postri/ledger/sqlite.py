"""The ledger as a SQLite file: for one machine, with many processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from postri.cost import NOTHING, Cost, check_amount
from postri.errors import InputError, LedgerError, RetryKeyUsed, TermsRefused
from postri.ledger.accountants import Accountant
from postri.ledger.book import Book
from postri.ledger.charges import (
    LONGEST_NAME,
    Attempt,
    Charge,
    Limits,
    People,
    check_name,
    check_text,
)
from postri.ledger.connection import SqliteFile, create_private, worded
from postri.ledger.entries import (
    Answered,
    Entry,
    Failed,
    Reopened,
    Reserved,
    ReservedWithDelta,
    Restored,
    RestoredWithDelta,
    read_fact,
)
from postri.ledger.head import Head, HeadFile, trouble
from postri.ledger.people import (
    Standing,
    refusal_of,
    standing_of,
    terms_under,
    without_number,
    write_terms,
)
from postri.ledger.protection import Protections
from postri.ledger.schema import MIGRATIONS, migrate, schema_of
from postri.ledger.store import (
    AskedQuestion,
    DatasetUsage,
    Indexes,
    Recorded,
    Reservation,
    Unanswered,
    View,
)
from postri.ledger.terms import ProtectionAccepted

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
        self.path = Path(path)
        if head is None:
            head = self.path.with_name(f"{self.path.name}.head")
        self._head = HeadFile(Path(head), patience)
        # What this process has read and knows: it need not be read again.
        self._understood = 0
        self._protections = Protections()
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
            book = Book(connection)
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

    # ---- questions

    def recorded(self, dataset: str, version: str, key: str) -> Recorded | None:
        with self._reading() as book:
            number = book.answered(dataset, version, key)
            if number is None:
                return None
            return _recorded(book, number, (dataset, version, key))

    def reserve(self, charge: Charge, limits: Limits, attempt: Attempt | None = None) -> int:
        with self._writing() as book:
            if attempt is not None:
                before = book.retried(charge.analyst, attempt)
                if before is not None:
                    _check_same(book.reservation(before), charge)
                    return before
            standing = self._standing(book, charge.dataset, limits.people)
            refused = refusal_of(book, charge, limits, standing)
            if refused is not None and not standing.facts:
                raise refused
            for fact in standing.facts:
                book.append(fact)
            write_terms(book, charge, limits, standing.names)
            if refused is None:
                number = book.append(_reserved(charge))
                if attempt is not None:
                    book.keep(number, charge.analyst, attempt)
                return number
        # What earlier spends count for was written all the same: it is no part of the question.
        raise refused

    def retried(self, analyst: str, attempt: Attempt) -> Reservation | None:
        with self._reading() as book:
            number = book.retried(analyst, attempt)
            if number is None:
                return None
            return book.past(number)

    def keep(self, reservation: int, analyst: str, attempt: Attempt) -> None:
        # Most questions are kept already: reading takes no lock that others wait for.
        with self._reading() as book:
            if book.is_kept(reservation, analyst, attempt):
                return
        with self._writing() as book:
            book.reservation(reservation)
            book.keep(reservation, analyst, attempt)

    def past(self, reservation: int) -> Reservation:
        with self._reading() as book:
            return book.past(reservation)

    def history(
        self, analyst: str, before: int | None = None, limit: int = 50
    ) -> list[Reservation]:
        with self._reading() as book:
            return book.history(analyst, before, limit)

    def asked(
        self, analyst: str, before: int | None = None, limit: int = 50
    ) -> list[AskedQuestion]:
        with self._reading() as book:
            return book.asked(analyst, before, limit)

    def record(self, reservation: int, answer: str) -> None:
        check_text(answer, "the answer")
        with self._writing() as book:
            asked = _without_fate(book, reservation)
            book.append(Answered(reservation, asked.dataset, asked.analyst, answer))

    def fail(self, reservation: int, reason: str) -> None:
        if len(reason) > LONGEST_NAME or not all(part.isidentifier() for part in reason.split(".")):
            # What was given is not shown: it may be a message, and with it a cell.
            raise InputError(
                "the reason of a failure must be the name of a class, such as 'EngineError'"
            )
        with self._writing() as book:
            asked = _without_fate(book, reservation)
            book.append(Failed(reservation, asked.dataset, asked.analyst, reason))

    def unanswered(self, dataset: str) -> list[Unanswered]:
        with self._file.reading() as connection:
            book = Book(connection)
            found = [each for name in book.same_people(dataset) for each in book.unanswered(name)]
        return sorted(found, key=lambda each: each.id)

    def open_again(self, dataset: str) -> list[Unanswered]:
        check_name(dataset, "dataset")
        with self._writing() as book:
            looked_at: list[Unanswered] = []
            for name in book.same_people(dataset):
                found = book.unanswered(name)
                if found:
                    book.append(Reopened(name, tuple(each.id for each in found)))
                looked_at += found
            return looked_at

    def questions(self, dataset: str, analyst: str) -> int:
        with self._file.reading() as connection:
            return Book(connection).questions(dataset, analyst)

    # ---- budgets

    def spent(self, dataset: str, analyst: str | None = None, people: People | None = None) -> Cost:
        with self._file.reading() as connection:
            book = Book(connection)
            if people is None:
                return Standing(book.same_people(dataset)).spent(book, analyst)
            return self._standing(book, dataset, people).spent(book, analyst)

    def usage(self, dataset: str, people: People, view: View | None = None) -> DatasetUsage:
        with self._file.reading() as connection:
            book = Book(connection)
            try:
                standing = self._standing(book, dataset, people)
            except TermsRefused:
                standing = Standing(book.same_people(dataset, people.same_people))
            if view is not None:
                return standing.usage(view.usage)
            return standing.usage(book.usage())

    def datasets(self) -> list[str]:
        with self._file.reading() as connection:
            return Book(connection).datasets()

    def same_people(self, dataset: str, joined: Iterable[str] = ()) -> tuple[str, ...]:
        with self._file.reading() as connection:
            return Book(connection).same_people(dataset, joined)

    def set_budget(
        self,
        dataset: str,
        budget: Fraction,
        accountant: Accountant,
        per_question: Fraction | None = None,
        allowances: Mapping[str, Fraction] | None = None,
    ) -> int | None:
        check_name(dataset, "dataset")
        limits = Limits(budget, accountant, per_question)
        given = dict(allowances or {})
        for analyst, allowance in given.items():
            check_name(analyst, "analyst")
            check_amount(allowance, "an allowance")
        with self._writing() as book:
            terms = book.terms(dataset)
            # What is protected, where and of whom is not the budget's business: it stays.
            names = book.same_people(dataset)
            wanted = replace(
                terms_under(terms, dataset, limits, names), allowances=MappingProxyType(given)
            )
            if terms is not None and replace(terms, places=()) == wanted:
                return None
            return book.append(wanted)

    def accept_protection(self, dataset: str, people: People) -> list[int]:
        with self._writing() as book:
            found = without_number(book, dataset, people, lambda: self._walked(book))
            if not found:
                raise LedgerError(
                    f"there is nothing to accept: whatever was spent on {dataset!r} has its number "
                    "under the protection that the policy names"
                )
            numbers = []
            for terms, protect in found:
                numbers.append(book.append(ProtectionAccepted(terms.dataset, protect)))
                book.append(replace(terms, protect=protect, places=()))
            return numbers

    def _standing(self, book: Book, dataset: str, people: People) -> Standing:
        return standing_of(book, dataset, people, lambda: self._walked(book))

    def _walked(self, book: Book) -> Protections:
        """What spends were made under, by all entries: walks on from where the last walk ended."""
        known = self._protections
        if known.number and book.hash_at(known.number) != known.hash:
            known = Protections()
        for entry in book.spends(known.number):
            known.add(read_fact(entry.number, entry.kind, entry.body))
            known.number = entry.number
            known.hash = entry.hash
        self._protections = known
        return known

    def summary(self) -> Mapping[str, DatasetUsage]:
        with self._file.reading() as connection:
            return Book(connection).usage()

    def view(self, last: View | None = None) -> View:
        with self._file.reading() as connection:
            book = Book(connection)
            if last is not None and last.head.hash == book.hash:
                return last
            return View(book.head(), book.usage())

    # ---- audits

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The entries above a number, in order; unknown kinds too.

        Nothing is locked between two of them.
        """
        while batch := self._batch(after):
            yield from batch
            after = batch[-1].number

    def _batch(self, after: int) -> list[Entry]:
        with self._file.reading() as connection:
            return Book(connection).batch(after)

    def head(self) -> Head:
        """Where the chain ends now: print `head().line` and keep it elsewhere."""
        with self._file.reading() as connection:
            return Book(connection).head()

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        head = self._head.read()
        with self._file.aside() as connection:
            yield SqliteSnapshot(connection, head)

    def accept_restored(self) -> int:
        """Accept a ledger that is older than its head, or has lost it.

        Charges what the head knew to be spent and the ledger does not.

        The number of the entry that says so. LedgerError if there is nothing to accept.
        """
        with ExitStack() as stack:
            with self._file.writing() as connection:
                held = stack.enter_context(self._head.held())
                book = Book(connection)
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
        with self._file.aside() as connection, worded(Path(path)):
            copy = sqlite3.connect(path)
            try:
                copy.execute("PRAGMA synchronous = FULL")
                connection.backup(copy)
            finally:
                copy.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ---- transactions

    @contextmanager
    def _writing(self) -> Iterator[Book]:
        """A transaction that may append: refuses what is unknown or too old, and moves the head
        when all is durable.
        """
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
    def _reading(self) -> Iterator[Book]:
        # The head first: the ledger can only have grown since.
        head = self._head.read()
        with self._file.reading() as connection:
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
        return self._book.entries()

    def usage(self) -> Mapping[str, DatasetUsage]:
        return self._book.usage()

    def indexes(self) -> Indexes:
        return self._book.indexes()


# ---- from charges to facts


def _reserved(charge: Charge) -> Reserved:
    kind = ReservedWithDelta if charge.cost.delta else Reserved
    return kind(
        dataset=charge.dataset,
        version=charge.version,
        analyst=charge.analyst,
        key=charge.key,
        analyst_text=charge.stored_question(),
        cost=charge.cost,
    )


def _check_same(asked: Reserved, charge: Charge) -> None:
    """RetryKeyUsed if the same words mean another question by now: a retry never pays for that."""
    before = (asked.dataset, asked.version, asked.analyst, asked.key)
    now = (charge.dataset, charge.version, charge.analyst, charge.key)
    if before != now:
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
    asked = book.reservation(number)
    if (asked.dataset, asked.version, asked.key) == question:
        match book.fate(number):
            case (Answered() as answered, time):
                return Recorded(number, answered.answer, asked.cost, asked.analyst, time)
    raise LedgerError("the ledger's index of answers does not fit its entries: verify it")


def _restored(book: Book, head: Head | None) -> Restored:
    """Charges what the head knew to be spent and the ledger does not.

    If the ledger went another way, that may be all of it.
    """
    if head is None:
        return Restored(None, MappingProxyType({}))
    is_behind = head.number > book.number
    charged = {}
    for dataset, cost in head.spent.items():
        lost = cost
        if is_behind:
            lost = book.spent(dataset).lacking(cost)
        if lost != NOTHING:
            charged[dataset] = lost
    kind = Restored
    if any(cost.delta for cost in charged.values()):
        kind = RestoredWithDelta
    return kind(head.line, MappingProxyType(charged))
