"""The ledger inside one transaction: what it knows, and how an entry is appended with all that
follows from it.

The stores differ in how they keep totals and indexes. What follows from them is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Protocol

from postri.cost import Cost
from postri.errors import LedgerError, RetryKeyUsed
from postri.ledger.charges import Attempt
from postri.ledger.entries import (
    Answered,
    Entry,
    Fact,
    Failed,
    Fate,
    Reserved,
    body_of,
    new_entry,
    read_fact,
)
from postri.ledger.head import Head
from postri.ledger.parts import rational, read_epsilon
from postri.ledger.store import AskedQuestion, DatasetUsage, Indexes, Reservation, Unanswered, Usage
from postri.ledger.terms import BudgetTerms, DatasetTerms

BATCH = 500
# How often a store keeps up to which entry all is known: a process that opens it reads no more than
# these.
UNDERSTOOD_EVERY = 128
# Above the number of every entry.
ENDLESS = 1 << 62

# Where the rows of a dataset lay, others' may lie too.
SHARING = """
    SELECT DISTINCT other.dataset FROM places AS mine JOIN places AS other USING (place)
    WHERE mine.dataset = ?
"""
PLACES = "SELECT place FROM places WHERE dataset = ?"
JOINS = "SELECT dataset, other FROM same_people"
FATE = "SELECT number FROM fates WHERE reservation = ?"
RETRY = "SELECT reservation, wording FROM retries WHERE analyst = ? AND retry = ?"
OF_NUMBER = "WHERE number = ?"
# What costs nothing says nothing of protections either.
SPENDS = "kind NOT IN ('answer', 'failure', 'reopened')"
ASKED = """
    SELECT reservation, hash, wording FROM wordings JOIN entries ON number = reservation
    WHERE analyst = ? AND reservation < ? ORDER BY reservation DESC LIMIT ?
"""


class FoundRows(Protocol):
    """What a statement gives."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


@dataclass
class Totals:
    """What a dataset, or an analyst on it, has spent, as it is stored: amounts as texts, how many
    entries and questions; and the number of a dataset's last terms.
    """

    epsilon: str = "0"
    rho: str = "0"
    delta: str = "0"
    entries: int = 0
    questions: int = 0
    terms: int | None = None

    @property
    def cost(self) -> Cost:
        """The totals as exact amounts."""
        return Cost(read_epsilon(self.epsilon), rational(self.rho), rational(self.delta))

    @property
    def in_head(self) -> tuple[str, ...]:
        """The totals as the head keeps them: a delta only where there is one."""
        if self.delta == "0":
            return (self.epsilon, self.rho)
        return (self.epsilon, self.rho, self.delta)

    @property
    def usage(self) -> Usage:
        """The same, as values."""
        return Usage(self.cost, self.entries, questions=self.questions)


class Book(ABC):
    """The tables of a ledger during one transaction."""

    # The columns of an entry, in the order of its fields.
    COLUMNS: ClassVar[str] = "number, time, kind, body, previous, hash"

    def __init__(self) -> None:
        # The sums of this transaction: adding up long fractions twice would take twice as long.
        self._spent: dict[tuple[str, str | None], Cost] = {}

    # ---- what a store does in its own way

    @abstractmethod
    def _do(self, statement: str, given: tuple[Any, ...] = ()) -> FoundRows:
        """Run a statement; each question mark stands for a value."""

    @abstractmethod
    def append(self, fact: Fact) -> int:
        """One more entry, with the totals and indexes that follow from it. Its number."""

    @abstractmethod
    def keep(self, reservation: int, analyst: str, attempt: Attempt) -> None:
        """How the question was put, and the key of its retries."""

    @abstractmethod
    def head(self) -> Head:
        """Where the chain ends, and what was spent by then."""

    @abstractmethod
    def chain_of(self, dataset: str) -> str:
        """The name of the chain to which entries of a dataset are appended."""

    @abstractmethod
    def without_answer(self, dataset: str) -> tuple[int, int]:
        """How many questions have no answer since the dataset was last opened again; and how many
        of them never get one.
        """

    @abstractmethod
    def answered(self, dataset: str, version: str, key: str) -> int | None:
        """The newest reservation of a question that has an answer."""

    @abstractmethod
    def indexes(self) -> Indexes:
        """The tables that tell where facts stand."""

    @abstractmethod
    def _unanswered(self, dataset: str) -> list[int]:
        """The reservations without an answer since the dataset was last opened again, in order."""

    @abstractmethod
    def _totals(self, dataset: str) -> Totals:
        """The row of a dataset."""

    @abstractmethod
    def _own_totals(self, dataset: str, analyst: str) -> Totals:
        """The row of an analyst on a dataset."""

    @abstractmethod
    def _all_totals(self) -> Mapping[str, Totals]:
        """The rows of all datasets."""

    @abstractmethod
    def _all_own_totals(self) -> Iterable[tuple[str, str, Totals]]:
        """All rows of analysts: dataset, analyst, row."""

    @abstractmethod
    def _later_spends(self, after: int, dataset: str) -> Iterable[Entry]:
        """Some entries after a number that may cost something, or say what was protected: at least
        those of a dataset.
        """

    # ---- what was spent

    def spent(self, dataset: str, analyst: str | None = None) -> Cost:
        """The total of a dataset, or of an analyst on it."""
        if (dataset, analyst) not in self._spent:
            row = self._totals(dataset)
            if analyst is not None:
                row = self._own_totals(dataset, analyst)
            self._spent[dataset, analyst] = row.cost
        return self._spent[dataset, analyst]

    def questions(self, dataset: str, analyst: str) -> int:
        """How many questions an analyst has asked of a dataset."""
        return self._own_totals(dataset, analyst).questions

    def unanswered(self, dataset: str) -> list[Unanswered]:
        """The questions without an answer since the dataset was last opened again, in order."""
        found = []
        for number in self._unanswered(dataset):
            past = self.past(number)
            found.append(Unanswered(number, past.time, past.analyst, past.reason))
        return found

    def datasets(self) -> list[str]:
        """The names of all datasets that entries count for."""
        return sorted(self._all_totals())

    def usage(self) -> dict[str, DatasetUsage]:
        """The totals by dataset and analyst."""
        analysts: dict[str, dict[str, Usage]] = {}
        for dataset, analyst, row in self._all_own_totals():
            analysts.setdefault(dataset, {})[analyst] = row.usage
        usage = {}
        for dataset, row in sorted(self._all_totals().items()):
            own = analysts.get(dataset, {})
            questions = sum(each.questions for each in own.values())
            usage[dataset] = DatasetUsage(row.cost, row.entries, own, questions=questions)
        return usage

    # ---- what was asked

    def terms(self, dataset: str) -> DatasetTerms | None:
        """The last terms of a dataset."""
        number = self._totals(dataset).terms
        if number is None:
            return None
        fact = self.fact(number)
        if not isinstance(fact, BudgetTerms):
            return None
        return DatasetTerms.of(fact)

    def same_people(self, dataset: str, joined: Iterable[str] = ()) -> tuple[str, ...]:
        """The datasets about the same people, itself included: those that this one is joined with
        now, and whatever terms ever joined with one of them.
        """
        found = {dataset, *joined}
        pairs = self._joins()
        while more := {name for pair in pairs if found & set(pair) for name in pair} - found:
            found |= more
        return tuple(sorted(found))

    def _joins(self) -> list[tuple[str, str]]:
        return self._do(JOINS).fetchall()

    def places(self, dataset: str) -> set[str]:
        """Where the rows of a dataset ever lay."""
        rows = self._do(PLACES, (dataset,))
        return {place for (place,) in rows}

    def sharing(self, dataset: str, places: Iterable[str]) -> set[str]:
        """The other datasets whose rows ever lay where those of this one did or do now."""
        found = {name for (name,) in self._do(SHARING, (dataset,))}
        for place in set(places) - self.places(dataset):
            rows = self._do("SELECT dataset FROM places WHERE place = ?", (place,))
            found |= {name for (name,) in rows}
        return found - {dataset}

    def reservation(self, number: int) -> Reserved:
        """The reservation of this number; LedgerError if there is none."""
        fact = self.fact(number)
        if not isinstance(fact, Reserved):
            raise LedgerError(f"the ledger has no reservation {number}")
        return fact

    def fate(self, reservation: int) -> tuple[Fate, str] | None:
        """What became of a reservation, and when."""
        row = self._do(FATE, (reservation,)).fetchone()
        if row is None:
            return None
        entry = self.entry(row[0])
        if entry is None:
            return None
        fact = read_fact(entry.number, entry.kind, entry.body)
        if not isinstance(fact, Fate):
            return None
        return fact, entry.time

    def past(self, number: int, wording: str | None = None) -> Reservation:
        """A reservation and what became of it."""
        entry = self.entry(number)
        asked = self.reservation(number)
        assert entry is not None
        answer = None
        reason = None
        match self.fate(number):
            case (Answered() as answered, _):
                answer = answered.answer
            case (Failed() as failed, _):
                reason = failed.reason
        return Reservation(
            id=number,
            time=entry.time,
            dataset=asked.dataset,
            version=asked.version,
            analyst=asked.analyst,
            key=asked.key,
            cost=asked.cost,
            answer_text=answer,
            reason=reason,
            wording=wording,
        )

    def history(self, analyst: str, before: int | None, limit: int) -> list[Reservation]:
        """What an analyst asked, newest first."""
        asked = self.asked(analyst, before, limit)
        return [self.past(each.number, each.wording) for each in asked]

    def asked(self, analyst: str, before: int | None, limit: int) -> list[AskedQuestion]:
        """What an analyst asked, newest first, without what became of it."""
        if before is None:
            before = ENDLESS
        return [AskedQuestion(*row) for row in self._do(ASKED, (analyst, before, limit))]

    def is_kept(self, reservation: int, analyst: str, attempt: Attempt) -> bool:
        """Whether there is nothing more to keep."""
        found = self._do(
            "SELECT 1 FROM wordings WHERE analyst = ? AND reservation = ?", (analyst, reservation)
        ).fetchone()
        if found is None:
            return False
        return attempt.retry is None or self.retried(analyst, attempt) is not None

    def has_retry(self, analyst: str, attempt: Attempt) -> bool:
        """Whether the key was given before, with whatever wording."""
        return self._do(RETRY, (analyst, attempt.retry)).fetchone() is not None

    def retried(self, analyst: str, attempt: Attempt) -> int | None:
        """The reservation of a key; RetryKeyUsed if it is that of another wording."""
        found = self._do(RETRY, (analyst, attempt.retry)).fetchone()
        if found is None:
            return None
        reservation, digest = found
        if digest != attempt.digest:
            raise RetryKeyUsed
        return int(reservation)

    # ---- entries as they are

    def fact(self, number: int) -> Fact | None:
        """The fact of the entry of this number."""
        entry = self.entry(number)
        if entry is None:
            return None
        return read_fact(entry.number, entry.kind, entry.body)

    def entry(self, number: int) -> Entry | None:
        """The entry of this number."""
        found = self._entries(OF_NUMBER, (number,))
        if not found:
            return None
        return found[0]

    def hash_at(self, number: int) -> str | None:
        """The hash of the entry of this number."""
        row = self._do("SELECT hash FROM entries WHERE number = ?", (number,)).fetchone()
        if row is None:
            return None
        return str(row[0])

    def batch(self, after: int) -> list[Entry]:
        """The next entries after a number."""
        return self._entries("WHERE number > ? ORDER BY number LIMIT ?", (after, BATCH))

    def batch_before(self, before: int) -> list[Entry]:
        """The entries before a number that are next to it, the newest first."""
        return self._entries("WHERE number < ? ORDER BY number DESC LIMIT ?", (before, BATCH))

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """All entries after a number."""
        while batch := self.batch(after):
            yield from batch
            after = batch[-1].number

    def spends(self, after: int, dataset: str) -> Iterator[Entry]:
        """The entries after a number that may cost something, or say what was protected: at least
        those of a dataset.
        """
        while batch := list(self._later_spends(after, dataset)):
            yield from batch
            after = batch[-1].number

    def _entries(self, which: str, given: tuple[Any, ...]) -> list[Entry]:
        rows = self._do(self.reading_entries(which), given)
        return [Entry(*row) for row in rows]

    @classmethod
    def reading_entries(cls, which: str) -> str:
        """The statement that reads some entries."""
        return f"SELECT {cls.COLUMNS} FROM entries {which}"

    def all_wordings(self) -> Iterator[tuple[str, int, str]]:
        """How all questions were put: analyst, reservation, wording."""
        yield from self._do("SELECT analyst, reservation, wording FROM wordings")

    def all_retries(self) -> Iterator[tuple[str, str, int, str]]:
        """The keys of all retries: analyst, key, reservation, digest of the wording."""
        yield from self._do("SELECT analyst, retry, reservation, wording FROM retries")

    def _all_places(self) -> frozenset[tuple[str, str]]:
        return frozenset(self._do("SELECT dataset, place FROM places").fetchall())


def entry_of(fact: Fact, number: int, previous: str) -> Entry:
    """A fact as the entry of this number, now."""
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    return new_entry(previous, number, now, fact.kind, body_of(fact))
