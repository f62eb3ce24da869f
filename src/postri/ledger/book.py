"""The ledger inside one transaction: what it knows, and how an entry is appended with all that
follows from it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from postri.cost import Cost
from postri.errors import LedgerError, RetryKeyUsed
from postri.ledger.charges import Attempt
from postri.ledger.entries import (
    FIRST_HASH,
    Answered,
    Entry,
    Fact,
    Failed,
    Fate,
    Reopened,
    Reserved,
    body_of,
    canonical,
    new_entry,
    read_fact,
)
from postri.ledger.head import Head
from postri.ledger.parts import Share, epsilon_text, rational, read_epsilon
from postri.ledger.schema import check_schema
from postri.ledger.store import AskedQuestion, DatasetUsage, Indexes, Reservation, Unanswered, Usage
from postri.ledger.terms import BudgetTerms, DatasetTerms

BATCH = 500
# How often the file keeps up to which entry all is known: a process that opens it reads no more
# than these.
UNDERSTOOD_EVERY = 128

LAST_ENTRY = "SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1"
ONE_ENTRY = "SELECT number, time, kind, body, previous, hash FROM entries WHERE number = ?"
LATER_ENTRIES = """
    SELECT number, time, kind, body, previous, hash FROM entries
    WHERE number > ? ORDER BY number LIMIT ?
"""
CHARGE_DATASET = """
    INSERT INTO datasets VALUES (?, ?, ?, 1, NULL, ?)
    ON CONFLICT (dataset) DO UPDATE
    SET epsilon = excluded.epsilon, rho = excluded.rho, delta = excluded.delta,
        entries = entries + 1
"""
CHARGE_ANALYST = """
    INSERT INTO analysts VALUES (?, ?, ?, ?, 1, 0, ?)
    ON CONFLICT (dataset, analyst) DO UPDATE
    SET epsilon = excluded.epsilon, rho = excluded.rho, delta = excluded.delta,
        entries = entries + 1
"""
# The newest reservation counts, in whatever order answers are recorded.
INDEX_ANSWER = """
    INSERT INTO answers VALUES (?, ?, ?, ?)
    ON CONFLICT (dataset, version, key) DO UPDATE
    SET reservation = max(reservation, excluded.reservation)
"""
COUNT_UNANSWERED = """
    SELECT count(*), count(fates.number)
    FROM unanswered LEFT JOIN fates USING (reservation) WHERE dataset = ?
"""
COUNT_QUESTION = """
    UPDATE analysts SET questions = questions + 1 WHERE dataset = ? AND analyst = ?
"""
# Where the rows of a dataset lay, others' may lie too.
SHARING = """
    SELECT DISTINCT other.dataset FROM places AS mine JOIN places AS other USING (place)
    WHERE mine.dataset = ?
"""
# What costs nothing says nothing of protections either.
LATER_SPENDS = """
    SELECT number, time, kind, body, previous, hash FROM entries
    WHERE number > ? AND kind NOT IN ('answer', 'failure', 'reopened') ORDER BY number LIMIT ?
"""
ASKED = """
    SELECT reservation, hash, wording FROM wordings JOIN entries ON number = reservation
    WHERE analyst = ? AND reservation < ? ORDER BY reservation DESC LIMIT ?
"""


@dataclass
class Totals:
    """A dataset's row: its totals as they are stored, and the number of its last terms."""

    epsilon: str = "0"
    rho: str = "0"
    delta: str = "0"
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


class Book:
    """The tables of a ledger during one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._do = connection.execute
        self.number: int = 0
        self.hash: str = FIRST_HASH
        last = self._do(LAST_ENTRY).fetchone()
        if last is not None:
            self.number, self.hash = last
        # The sums of this transaction: adding up long fractions twice would take twice as long.
        self._spent: dict[tuple[str, str | None], Cost] = {}

    @cached_property
    def _datasets(self) -> dict[str, Totals]:
        """All datasets, read once: the head needs them all."""
        rows = self._do("SELECT dataset, epsilon, rho, delta, terms FROM datasets")
        return {dataset: Totals(*totals) for dataset, *totals in rows}

    # ---- appending

    def understand(self, known: int) -> None:
        """Read the entries above the known ones; LedgerError if this version does not know one of
        them.
        """
        meta = dict(self._do("SELECT name, value FROM meta").fetchall())
        check_schema(meta.get("schema", 0), "of this session")
        known = max(known, meta.get("understood", 0))
        if known >= self.number:
            return
        for entry in self.entries(known):
            read_fact(entry.number, entry.kind, entry.body)

    def append(self, fact: Fact) -> int:
        """One more entry, with the totals and indexes that follow from it."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        entry = new_entry(self.hash, self.number + 1, now, fact.kind, body_of(fact))
        row = (entry.number, entry.time, entry.kind, entry.body, entry.previous, entry.hash)
        self._do("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", row)
        if entry.number % UNDERSTOOD_EVERY == 0:
            self._do("UPDATE meta SET value = ? WHERE name = 'understood'", (entry.number,))
        for share in fact.shares():
            self._charge(share)
        self._index(entry.number, fact)
        self.number = entry.number
        self.hash = entry.hash
        return entry.number

    def _charge(self, share: Share) -> None:
        dataset = share.dataset
        analyst = share.analyst
        total = self.spent(dataset) + share.cost
        self._spent[dataset, None] = total
        row = self._datasets.setdefault(dataset, Totals())
        row.epsilon = epsilon_text(total.epsilon)
        row.rho = str(total.rho)
        row.delta = str(total.delta)
        self._do(CHARGE_DATASET, (dataset, row.epsilon, row.rho, row.delta))
        if analyst is not None:
            own = self.spent(dataset, analyst) + share.cost
            self._spent[dataset, analyst] = own
            epsilon = epsilon_text(own.epsilon)
            amounts = (epsilon, str(own.rho), str(own.delta))
            self._do(CHARGE_ANALYST, (dataset, analyst, *amounts))

    def _index(self, number: int, fact: Fact) -> None:
        if isinstance(fact, BudgetTerms):
            self._datasets[fact.dataset].terms = number
            self._do("UPDATE datasets SET terms = ? WHERE dataset = ?", (number, fact.dataset))
            self._index_terms(DatasetTerms.of(fact))
        elif isinstance(fact, Reserved):
            self._do("INSERT INTO unanswered VALUES (?, ?)", (fact.dataset, number))
            self._do(COUNT_QUESTION, (fact.dataset, fact.analyst))
        elif isinstance(fact, Reopened):
            self._do("DELETE FROM unanswered WHERE dataset = ?", (fact.dataset,))
        elif isinstance(fact, Fate):
            self._do("INSERT INTO fates VALUES (?, ?)", (fact.reservation, number))
        if isinstance(fact, Answered):
            asked = self.reservation(fact.reservation)
            row = (asked.dataset, asked.version, asked.key, fact.reservation)
            self._do(INDEX_ANSWER, row)
            answered = (fact.dataset, fact.reservation)
            self._do("DELETE FROM unanswered WHERE dataset = ? AND reservation = ?", answered)

    def _index_terms(self, terms: DatasetTerms) -> None:
        for place in terms.places:
            self._do("INSERT OR IGNORE INTO places VALUES (?, ?)", (terms.dataset, place))
        for other in terms.same_people:
            self._do("INSERT OR IGNORE INTO same_people VALUES (?, ?)", (terms.dataset, other))

    def keep(self, reservation: int, analyst: str, attempt: Attempt) -> None:
        """How the question was put, and the key of its retries."""
        self._do(
            "INSERT OR IGNORE INTO wordings VALUES (?, ?, ?)",
            (analyst, reservation, attempt.wording),
        )
        if attempt.retry is not None:
            row = (analyst, attempt.retry, reservation, attempt.digest)
            self._do("INSERT OR IGNORE INTO retries VALUES (?, ?, ?, ?)", row)

    # ---- what was spent

    def spent(self, dataset: str, analyst: str | None = None) -> Cost:
        """The total of a dataset, or of an analyst on it."""
        if (dataset, analyst) not in self._spent:
            self._spent[dataset, analyst] = self._totals(dataset, analyst).cost
        return self._spent[dataset, analyst]

    def _totals(self, dataset: str, analyst: str | None) -> Totals:
        if analyst is None:
            return self._datasets.get(dataset, Totals())
        found = self._do(
            "SELECT epsilon, rho, delta FROM analysts WHERE dataset = ? AND analyst = ?",
            (dataset, analyst),
        ).fetchone()
        if found is None:
            return Totals()
        return Totals(*found)

    def head(self) -> Head:
        """Where the chain ends, and what was spent by then."""
        spent = {dataset: row.in_head for dataset, row in self._datasets.items()}
        return Head(self.number, self.hash, canonical(spent))

    def usage(self) -> dict[str, DatasetUsage]:
        """The totals by dataset and analyst."""
        analysts: dict[str, dict[str, Usage]] = {}
        for dataset, analyst, *totals, entries, questions in self._do(
            "SELECT dataset, analyst, epsilon, rho, delta, entries, questions FROM analysts"
        ):
            cost = Totals(*totals).cost
            analysts.setdefault(dataset, {})[analyst] = Usage(cost, entries, questions=questions)
        usage = {}
        for dataset, *totals, entries in self._do(
            "SELECT dataset, epsilon, rho, delta, entries FROM datasets ORDER BY dataset"
        ):
            cost = Totals(*totals).cost
            own = analysts.get(dataset, {})
            questions = sum(each.questions for each in own.values())
            usage[dataset] = DatasetUsage(cost, entries, own, questions=questions)
        return usage

    def questions(self, dataset: str, analyst: str) -> int:
        """How many questions an analyst has asked of a dataset."""
        row = self._do(
            "SELECT questions FROM analysts WHERE dataset = ? AND analyst = ?", (dataset, analyst)
        ).fetchone()
        if row is None:
            return 0
        return int(row[0])

    def without_answer(self, dataset: str) -> tuple[int, int]:
        """How many questions have no answer since the dataset was last opened again; and how many
        of them never get one.
        """
        everything, failed = self._do(COUNT_UNANSWERED, (dataset,)).fetchone()
        return int(everything), int(failed)

    def unanswered(self, dataset: str) -> list[Unanswered]:
        """The questions without an answer since the dataset was last opened again, in order."""
        rows = self._do(
            "SELECT reservation FROM unanswered WHERE dataset = ? ORDER BY reservation", (dataset,)
        ).fetchall()
        found = []
        for (number,) in rows:
            past = self.past(number)
            found.append(Unanswered(number, past.time, past.analyst, past.reason))
        return found

    # ---- what was asked

    def terms(self, dataset: str) -> DatasetTerms | None:
        """The last terms of a dataset."""
        number = self._datasets.get(dataset, Totals()).terms
        if number is None:
            return None
        fact = self.fact(number)
        if not isinstance(fact, BudgetTerms):
            return None
        return DatasetTerms.of(fact)

    def datasets(self) -> list[str]:
        """The names of all datasets that entries count for."""
        return sorted(self._datasets)

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
        return self._do("SELECT dataset, other FROM same_people").fetchall()

    def places(self, dataset: str) -> set[str]:
        """Where the rows of a dataset ever lay."""
        rows = self._do("SELECT place FROM places WHERE dataset = ?", (dataset,))
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
        row = self._do("SELECT number FROM fates WHERE reservation = ?", (reservation,)).fetchone()
        if row is None:
            return None
        entry = self.entry(row[0])
        if entry is None:
            return None
        fact = read_fact(entry.number, entry.kind, entry.body)
        if not isinstance(fact, Fate):
            return None
        return fact, entry.time

    def answered(self, dataset: str, version: str, key: str) -> int | None:
        """The newest reservation of a question that has an answer."""
        row = self._do(
            "SELECT reservation FROM answers WHERE dataset = ? AND version = ? AND key = ?",
            (dataset, version, key),
        ).fetchone()
        if row is None:
            return None
        return int(row[0])

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
            before = self.number + 1
        return [AskedQuestion(*row) for row in self._do(ASKED, (analyst, before, limit))]

    def is_kept(self, reservation: int, analyst: str, attempt: Attempt) -> bool:
        """Whether there is nothing more to keep."""
        found = self._do(
            "SELECT 1 FROM wordings WHERE analyst = ? AND reservation = ?", (analyst, reservation)
        ).fetchone()
        if found is None:
            return False
        return attempt.retry is None or self.retried(analyst, attempt) is not None

    def retried(self, analyst: str, attempt: Attempt) -> int | None:
        """The reservation of a key; RetryKeyUsed if it is that of another wording."""
        found = self._do(
            "SELECT reservation, wording FROM retries WHERE analyst = ? AND retry = ?",
            (analyst, attempt.retry),
        ).fetchone()
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
        row = self._do(ONE_ENTRY, (number,)).fetchone()
        if row is None:
            return None
        return Entry(*row)

    def hash_at(self, number: int) -> str | None:
        """The hash of the entry of this number."""
        if number == self.number:
            return self.hash
        row = self._do("SELECT hash FROM entries WHERE number = ?", (number,)).fetchone()
        if row is None:
            return None
        return str(row[0])

    def batch(self, after: int) -> list[Entry]:
        """The next entries after a number."""
        return [Entry(*row) for row in self._do(LATER_ENTRIES, (after, BATCH))]

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """All entries after a number."""
        while batch := self.batch(after):
            yield from batch
            after = batch[-1].number

    def spends(self, after: int) -> Iterator[Entry]:
        """The entries after a number that may cost something, or say what was protected."""
        while rows := self._do(LATER_SPENDS, (after, BATCH)).fetchall():
            for row in rows:
                yield Entry(*row)
            after = rows[-1][0]

    def indexes(self) -> Indexes:
        """The tables that tell where facts stand."""
        terms = self._do("SELECT dataset, terms FROM datasets WHERE terms IS NOT NULL")
        fates = self._do("SELECT reservation, number FROM fates")
        answers = self._do("SELECT dataset, version, key, reservation FROM answers")
        unanswered = self._do("SELECT dataset, reservation FROM unanswered")
        return Indexes(
            terms=dict(terms.fetchall()),
            fates=dict(fates.fetchall()),
            answers={tuple(question): reservation for *question, reservation in answers},
            unanswered=frozenset(unanswered.fetchall()),
            places=self._all_places(),
            same_people=frozenset(self._joins()),
        )

    def _all_places(self) -> frozenset[tuple[str, str]]:
        return frozenset(self._do("SELECT dataset, place FROM places").fetchall())
