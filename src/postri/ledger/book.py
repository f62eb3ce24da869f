"""The ledger inside one transaction: what it knows, and how an entry is appended with all that
follows from it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from postri.cost import Cost
from postri.errors import LedgerError, RetryKeyUsed
from postri.ledger.entry import FIRST_HASH, Entry, canonical, new_entry
from postri.ledger.facts import (
    Answered,
    Fact,
    Failed,
    Fate,
    Reserved,
    Share,
    Terms,
    body_of,
    read_fact,
)
from postri.ledger.head import Head
from postri.ledger.rationals import rational
from postri.ledger.schema import check_schema
from postri.ledger.store import Asking, DatasetUsage, Indexes, Past, Usage

BATCH = 500
# How often the file keeps up to which entry all is known: a process that opens it reads no more
# than these.
UNDERSTOOD_EVERY = 128
_LATER = (
    "SELECT number, time, kind, body, previous, hash FROM entries WHERE number > ? ORDER BY "
    "number LIMIT ?"
)


@dataclass
class Row:
    """A dataset's row: its totals as they are stored, and the number of its last terms."""

    epsilon: str = "0"
    rho: str = "0"
    terms: int | None = None

    @property
    def cost(self) -> Cost:
        """The totals."""
        return Cost(rational(self.epsilon), rational(self.rho))


class Book:
    """The tables of a ledger during one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._do = connection.execute
        last = self._do("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        self.number: int = 0 if last is None else last[0]
        self.hash: str = FIRST_HASH if last is None else last[1]
        self._spent: dict[tuple[str, str | None], Cost] = {}

    @cached_property
    def _datasets(self) -> dict[str, Row]:
        """All datasets, read once: the head needs them all."""
        rows = self._do("SELECT dataset, epsilon, rho, terms FROM datasets")
        return {dataset: Row(epsilon, rho, terms) for dataset, epsilon, rho, terms in rows}

    def understand(self, known: int) -> None:
        """Read the entries above the known ones; LedgerError if this version does not know one of
        them.
        """
        meta = dict(self._do("SELECT name, value FROM meta").fetchall())
        check_schema(meta.get("schema", 0), "of this session")
        known = max(known, meta.get("understood", 0))
        for entry in self.entries(known) if known < self.number else ():
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
        self.number, self.hash = entry.number, entry.hash
        return entry.number

    def _charge(self, share: Share) -> None:
        row = self._datasets.setdefault(share.dataset, Row())
        total = self._spent[share.dataset, None] = self.spent(share.dataset) + share.cost
        row.epsilon, row.rho = str(total.epsilon), str(total.rho)
        self._do(
            "INSERT INTO datasets VALUES (?, ?, ?, 1, NULL) "
            "ON CONFLICT (dataset) DO UPDATE SET epsilon = excluded.epsilon, rho = "
            "excluded.rho, entries = entries + 1",
            (share.dataset, row.epsilon, row.rho),
        )
        if share.analyst is not None:
            total = self._spent[share.dataset, share.analyst] = (
                self.spent(share.dataset, share.analyst) + share.cost
            )
            self._do(
                "INSERT INTO analysts VALUES (?, ?, ?, ?, 1) "
                "ON CONFLICT (dataset, analyst) DO UPDATE SET epsilon = excluded.epsilon, "
                "rho = excluded.rho, entries = entries + 1",
                (share.dataset, share.analyst, str(total.epsilon), str(total.rho)),
            )

    def _index(self, number: int, fact: Fact) -> None:
        if isinstance(fact, Terms):
            self._datasets[fact.dataset].terms = number
            self._do("UPDATE datasets SET terms = ? WHERE dataset = ?", (number, fact.dataset))
        elif isinstance(fact, Fate):
            self._do("INSERT INTO fates VALUES (?, ?)", (fact.reservation, number))
        if isinstance(fact, Answered):
            asked = self.reservation(fact.reservation)
            self._do(
                "INSERT INTO answers VALUES (?, ?, ?, ?) "
                "ON CONFLICT (dataset, version, key) DO UPDATE SET reservation = "
                "max(reservation, excluded.reservation)",
                (asked.dataset, asked.version, asked.key, fact.reservation),
            )

    def spent(self, dataset: str, analyst: str | None = None) -> Cost:
        """The total of a dataset, or of an analyst on it."""
        if (dataset, analyst) not in self._spent:
            self._spent[dataset, analyst] = self._row(dataset, analyst).cost
        return self._spent[dataset, analyst]

    def _row(self, dataset: str, analyst: str | None) -> Row:
        if analyst is None:
            return self._datasets.get(dataset, Row())
        found = self._do(
            "SELECT epsilon, rho FROM analysts WHERE dataset = ? AND analyst = ?",
            (dataset, analyst),
        ).fetchone()
        return Row() if found is None else Row(*found)

    def head(self) -> Head:
        """Where the chain ends, and what was spent by then."""
        return Head(
            self.number,
            self.hash,
            canonical({dataset: (row.epsilon, row.rho) for dataset, row in self._datasets.items()}),
        )

    def terms(self, dataset: str) -> Terms | None:
        """The last terms of a dataset."""
        number = self._datasets.get(dataset, Row()).terms
        fact = None if number is None else self.fact(number)
        return fact if isinstance(fact, Terms) else None

    def reservation(self, number: int) -> Reserved:
        """The reservation of this number; LedgerError if there is none."""
        fact = self.fact(number)
        if not isinstance(fact, Reserved):
            raise LedgerError(f"the ledger has no reservation {number}")
        return fact

    def fate(self, reservation: int) -> tuple[Fate, str] | None:
        """What became of a reservation, and when."""
        row = self._do("SELECT number FROM fates WHERE reservation = ?", (reservation,)).fetchone()
        entry = None if row is None else self.entry(row[0])
        fact = None if entry is None else read_fact(entry.number, entry.kind, entry.body)
        return (fact, entry.time) if entry is not None and isinstance(fact, Fate) else None

    def answered(self, dataset: str, version: str, key: str) -> int | None:
        """The newest reservation of a question that has an answer."""
        where = "WHERE dataset = ? AND version = ? AND key = ?"
        row = self._do(
            f"SELECT reservation FROM answers {where}", (dataset, version, key)
        ).fetchone()
        return None if row is None else int(row[0])

    def past(self, number: int, wording: str | None = None) -> Past:
        """A reservation and what became of it."""
        entry, asked, fate = self.entry(number), self.reservation(number), self.fate(number)
        assert entry is not None
        answer = fate[0].answer if fate and isinstance(fate[0], Answered) else None
        reason = fate[0].reason if fate and isinstance(fate[0], Failed) else None
        names = (asked.dataset, asked.version, asked.analyst, asked.key)
        return Past(number, entry.time, *names, asked.cost, answer, reason, wording)

    def history(self, analyst: str, before: int | None, limit: int) -> list[Past]:
        """What an analyst asked, newest first."""
        rows = self._do(
            (
                "SELECT reservation, wording FROM wordings WHERE analyst = ? AND reservation < ? "
                "ORDER BY reservation DESC LIMIT ?"
            ),
            (analyst, self.number + 1 if before is None else before, limit),
        )
        return [self.past(number, wording) for number, wording in rows.fetchall()]

    def keep(self, reservation: int, analyst: str, asking: Asking) -> None:
        """How the question was put, and the key of its retries."""
        self._do(
            "INSERT OR IGNORE INTO wordings VALUES (?, ?, ?)",
            (analyst, reservation, asking.wording),
        )
        if asking.retry is not None:
            row = (analyst, asking.retry, reservation, asking.digest)
            self._do("INSERT OR IGNORE INTO retries VALUES (?, ?, ?, ?)", row)

    def is_kept(self, reservation: int, analyst: str, asking: Asking) -> bool:
        """Whether there is nothing more to keep."""
        found = self._do(
            "SELECT 1 FROM wordings WHERE analyst = ? AND reservation = ?", (analyst, reservation)
        ).fetchone()
        return found is not None and (
            asking.retry is None or self.retried(analyst, asking) is not None
        )

    def retried(self, analyst: str, asking: Asking) -> int | None:
        """The reservation of a key; RetryKeyUsed if it is that of another wording."""
        where = "WHERE analyst = ? AND retry = ?"
        found = self._do(
            f"SELECT reservation, wording FROM retries {where}", (analyst, asking.retry)
        ).fetchone()
        if found is not None and found[1] != asking.digest:
            raise RetryKeyUsed
        return None if found is None else int(found[0])

    def fact(self, number: int) -> Fact | None:
        """The fact of the entry of this number."""
        entry = self.entry(number)
        return None if entry is None else read_fact(entry.number, entry.kind, entry.body)

    def entry(self, number: int) -> Entry | None:
        """The entry of this number."""
        row = self._do(
            "SELECT number, time, kind, body, previous, hash FROM entries WHERE number = ?",
            (number,),
        ).fetchone()
        return None if row is None else Entry(*row)

    def hash_at(self, number: int) -> str | None:
        """The hash of the entry of this number."""
        if number == self.number:
            return self.hash
        row = self._do("SELECT hash FROM entries WHERE number = ?", (number,)).fetchone()
        return None if row is None else str(row[0])

    def batch(self, after: int) -> list[Entry]:
        """The next entries after a number."""
        return [Entry(*row) for row in self._do(_LATER, (after, BATCH))]

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """All entries after a number."""
        while batch := self.batch(after):
            yield from batch
            after = batch[-1].number

    def usage(self) -> dict[str, DatasetUsage]:
        """The totals by dataset and analyst."""
        analysts: dict[str, dict[str, Usage]] = {}
        for dataset, analyst, epsilon, rho, entries in self._do(
            "SELECT dataset, analyst, epsilon, rho, entries FROM analysts"
        ):
            analysts.setdefault(dataset, {})[analyst] = Usage(
                Cost(rational(epsilon), rational(rho)), entries
            )
        return {
            dataset: DatasetUsage(
                Cost(rational(epsilon), rational(rho)), entries, analysts.get(dataset, {})
            )
            for dataset, epsilon, rho, entries in self._do(
                "SELECT dataset, epsilon, rho, entries FROM datasets ORDER BY dataset"
            )
        }

    def indexes(self) -> Indexes:
        """The tables that tell where facts stand."""
        answers = self._do("SELECT dataset, version, key, reservation FROM answers")
        return Indexes(
            dict(
                self._do("SELECT dataset, terms FROM datasets WHERE terms IS NOT NULL").fetchall()
            ),
            dict(self._do("SELECT reservation, number FROM fates").fetchall()),
            {
                (dataset, version, key): reservation
                for dataset, version, key, reservation in answers
            },
        )
