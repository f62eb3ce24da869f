"""The tables of a SQLite ledger during one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from postri.ledger.book import BATCH, SPENDS, UNDERSTOOD_EVERY, Book, Totals, entry_of
from postri.ledger.charges import Attempt
from postri.ledger.entries import (
    FIRST_HASH,
    Answered,
    Entry,
    Fact,
    Fate,
    Reopened,
    Reserved,
    canonical,
    read_fact,
)
from postri.ledger.head import Head
from postri.ledger.parts import Share, epsilon_text
from postri.ledger.schema import check_schema
from postri.ledger.store import Indexes
from postri.ledger.terms import BudgetTerms, DatasetTerms

LAST_ENTRY = "SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1"
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


class SqliteBook(Book):
    """One chain, and totals that are updated in place."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._execute = connection.execute
        self.number: int = 0
        self.hash: str = FIRST_HASH
        last = self._do(LAST_ENTRY).fetchone()
        if last is not None:
            self.number, self.hash = last

    def _do(self, statement: str, given: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        return self._execute(statement, given)

    @cached_property
    def _datasets(self) -> dict[str, Totals]:
        """All datasets, read once: the head needs them all."""
        rows = self._do("SELECT dataset, epsilon, rho, delta, entries, terms FROM datasets")
        return {
            dataset: Totals(epsilon, rho, delta, entries, terms=terms)
            for dataset, epsilon, rho, delta, entries, terms in rows
        }

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
        entry = entry_of(fact, self.number + 1, self.hash)
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
        row.entries += 1
        self._do(CHARGE_DATASET, (dataset, row.epsilon, row.rho, row.delta))
        if analyst is not None:
            own = self.spent(dataset, analyst) + share.cost
            self._spent[dataset, analyst] = own
            amounts = (epsilon_text(own.epsilon), str(own.rho), str(own.delta))
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
        self._do(
            "INSERT OR IGNORE INTO wordings VALUES (?, ?, ?)",
            (analyst, reservation, attempt.wording),
        )
        if attempt.retry is not None:
            row = (analyst, attempt.retry, reservation, attempt.digest)
            self._do("INSERT OR IGNORE INTO retries VALUES (?, ?, ?, ?)", row)

    # ---- what was spent

    def _totals(self, dataset: str) -> Totals:
        return self._datasets.get(dataset, Totals())

    def _own_totals(self, dataset: str, analyst: str) -> Totals:
        row = self._do(
            "SELECT epsilon, rho, delta, entries, questions FROM analysts "
            "WHERE dataset = ? AND analyst = ?",
            (dataset, analyst),
        ).fetchone()
        if row is None:
            return Totals()
        return Totals(*row)

    def head(self) -> Head:
        spent = {dataset: row.in_head for dataset, row in self._datasets.items()}
        return Head(self.number, self.hash, canonical(spent))

    def _all_totals(self) -> Mapping[str, Totals]:
        return self._datasets

    def _all_own_totals(self) -> Iterator[tuple[str, str, Totals]]:
        for dataset, analyst, *columns in self._do(
            "SELECT dataset, analyst, epsilon, rho, delta, entries, questions FROM analysts"
        ):
            yield dataset, analyst, Totals(*columns)

    def chain_of(self, dataset: str) -> str:
        return ""

    def without_answer(self, dataset: str) -> tuple[int, int]:
        everything, failed = self._do(COUNT_UNANSWERED, (dataset,)).fetchone()
        return int(everything), int(failed)

    def _unanswered(self, dataset: str) -> list[int]:
        rows = self._do(
            "SELECT reservation FROM unanswered WHERE dataset = ? ORDER BY reservation", (dataset,)
        )
        return [number for (number,) in rows]

    def answered(self, dataset: str, version: str, key: str) -> int | None:
        row = self._do(
            "SELECT reservation FROM answers WHERE dataset = ? AND version = ? AND key = ?",
            (dataset, version, key),
        ).fetchone()
        if row is None:
            return None
        return int(row[0])

    # ---- entries as they are

    def hash_at(self, number: int) -> str | None:
        if number == self.number:
            return self.hash
        return super().hash_at(number)

    def _later_spends(self, after: int, dataset: str) -> Iterable[Entry]:
        return self._entries(
            f"WHERE number > ? AND {SPENDS} ORDER BY number LIMIT ?", (after, BATCH)
        )

    def indexes(self) -> Indexes:
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
