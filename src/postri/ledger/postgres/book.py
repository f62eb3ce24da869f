"""The tables of a PostgreSQL ledger during one transaction.

A chain a dataset, so that datasets do not wait for one another. Each begins where the trunk ends,
which is the chain of a SQLite ledger that was copied, or nothing. Numbers are common to all.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from postri.errors import LedgerError
from postri.ledger.book import (
    BATCH,
    ENDLESS,
    FATE,
    JOINS,
    OF_NUMBER,
    PLACES,
    RETRY,
    SHARING,
    SPENDS,
    UNDERSTOOD_EVERY,
    Book,
    Totals,
    entry_of,
)
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
    canonical,
    read_fact,
)
from postri.ledger.head import Head, Heads
from postri.ledger.parts import epsilon_text
from postri.ledger.postgres.connection import Fetched, Request, Transaction
from postri.ledger.postgres.schema import MIGRATIONS
from postri.ledger.schema import check_known
from postri.ledger.store import TRUNK, AskedQuestion, Indexes
from postri.ledger.terms import BudgetTerms, DatasetTerms

NUMBER = "SELECT nextval('numbers')"
VERSION = "SELECT max(value) FROM meta WHERE name = 'schema'"
UNDERSTOOD = "SELECT number FROM understood WHERE chain = ? ORDER BY number DESC LIMIT 1"
TIP = "SELECT number, hash FROM entries WHERE chain = ? ORDER BY number DESC LIMIT 1"
ALL_TIPS = """
    SELECT names.dataset, tip.number, tip.hash
    FROM names, LATERAL (
        SELECT number, hash FROM entries
        WHERE chain = names.dataset ORDER BY number DESC LIMIT 1
    ) AS tip
    WHERE names.analyst = ''
"""
DATASET = """
    SELECT epsilon, rho, delta, entries, terms, reopened, unanswered, failed
    FROM datasets WHERE dataset = ? ORDER BY number DESC LIMIT 1
"""
ALL_DATASETS = """
    SELECT names.dataset, epsilon, rho, delta, entries, terms, reopened, unanswered, failed
    FROM names, LATERAL (
        SELECT * FROM datasets
        WHERE dataset = names.dataset ORDER BY number DESC LIMIT 1
    ) AS newest
    WHERE names.analyst = ''
"""
# All that a reservation needs to know of some chains: where they end, the newest totals, and the
# last terms. The server plans it once: how many chains there are shows in the text.
STATES = """
    SELECT chains.chain, tip.number, tip.hash, said.kind, said.body,
        newest.epsilon, newest.rho, newest.delta, newest.entries, newest.terms,
        newest.reopened, newest.unanswered, newest.failed
    FROM (VALUES {chains}) AS chains (chain)
    LEFT JOIN LATERAL (
        SELECT number, hash FROM entries
        WHERE entries.chain = chains.chain ORDER BY number DESC LIMIT 1
    ) AS tip ON true
    LEFT JOIN LATERAL (
        SELECT * FROM datasets WHERE dataset = chains.chain ORDER BY number DESC LIMIT 1
    ) AS newest ON true
    LEFT JOIN entries AS said ON said.number = newest.terms
"""
ANALYST = """
    SELECT epsilon, rho, delta, entries, questions
    FROM analysts WHERE dataset = ? AND analyst = ? ORDER BY number DESC LIMIT 1
"""
ALL_ANALYSTS = """
    SELECT names.dataset, names.analyst, epsilon, rho, delta, entries, questions
    FROM names, LATERAL (
        SELECT * FROM analysts
        WHERE dataset = names.dataset AND analyst = names.analyst ORDER BY number DESC LIMIT 1
    ) AS newest
    WHERE names.analyst <> ''
"""
# Those whose fate is an answer are answered; those before the dataset was last opened again were
# looked at.
WITHOUT_ANSWER = """
    SELECT reservation FROM reservations
    WHERE dataset = ? AND reservation > ? AND NOT EXISTS (
        SELECT FROM fates JOIN entries USING (number)
        WHERE fates.reservation = reservations.reservation AND entries.kind = 'answer'
    )
    ORDER BY reservation
"""
NEWEST_ANSWER = """
    SELECT reservation FROM answers WHERE dataset = ? AND version = ? AND key = ?
    ORDER BY reservation DESC LIMIT 1
"""
ALL_ANSWERS = """
    SELECT dataset, version, key, max(reservation) FROM answers GROUP BY dataset, version, key
"""

ADD_ENTRY = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)"
ADD_DATASET = "INSERT INTO datasets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
ADD_ANALYST = "INSERT INTO analysts VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
ADD_NAME = "INSERT INTO names VALUES (?, ?) ON CONFLICT DO NOTHING"


def foreseen_of(chains: Sequence[str]) -> list[Request]:
    """What every transaction on datasets about the same people looks at, to be read in one trip;
    and the number of the entry that it appends.
    """
    requests = [_states_of({TRUNK: None, **dict.fromkeys(chains)})]
    requests += [(NUMBER, ()), (VERSION, ()), (JOINS, ())]
    for chain in chains:
        requests += [(PLACES, (chain,)), (SHARING, (chain,))]
    return requests


def reservation_looks_at(
    chains: Sequence[str], analyst: str | None, retry: str | None
) -> list[Request]:
    """What it looks at besides when a question of an analyst is reserved."""
    requests: list[Request] = []
    if analyst is not None:
        requests += [(ANALYST, (chain, analyst)) for chain in chains]
    if retry is not None:
        requests.append((RETRY, (analyst, retry)))
    return requests


def fate_looks_at(reservation: int, dataset: str, analyst: str) -> list[Request]:
    """What it looks at besides when a reservation gets its fate."""
    entry = PostgresBook.reading_entries(OF_NUMBER)
    return [
        (entry, (reservation,)),
        (FATE, (reservation,)),
        (ANALYST, (dataset, analyst)),
    ]


def _states_of(chains: Collection[str]) -> Request:
    places = ", ".join(["(?::text)"] * len(chains))
    return STATES.format(chains=places), tuple(chains)


@dataclass
class DatasetTotals(Totals):
    """A dataset's newest row: also how many of its questions have no answer since the entry by
    which it was last opened again, and how many of those failed.
    """

    reopened: int = field(default=0, kw_only=True)
    unanswered: int = field(default=0, kw_only=True)
    failed: int = field(default=0, kw_only=True)


@dataclass(frozen=True)
class Tip:
    """Where a chain ends: its last number, 0 if it has no entry yet, and the hash that the next one
    follows.
    """

    number: int
    hash: str


class PostgresBook(Book):
    """Chains, and totals of which the newest row counts."""

    COLUMNS = "number, time, kind, body, previous, hash, chain"

    def __init__(
        self,
        transaction: Transaction,
        foreseen: Sequence[Request] = (),
        found: Sequence[Fetched] = (),
    ) -> None:
        super().__init__()
        self._transaction = transaction
        # Numbers that were given out and not used yet.
        self._numbers: list[int] = []
        self._foreseen: dict[tuple[str, tuple[Any, ...]], Fetched] = {}
        self._tips: dict[str, Tip] = {}
        self._rows: dict[str, DatasetTotals] = {}
        self._own_rows: dict[tuple[str, str], Totals] = {}
        # The last entry of each chain that this transaction has written, and all its facts.
        self.written: dict[str, Entry] = {}
        self._facts: dict[int, Fact] = {}
        for request, fetched in zip(foreseen, found, strict=True):
            self._foreseen[request] = fetched
            if request[0] == NUMBER:
                self._numbers += fetched.fetchone()
        if foreseen:
            # The first of them.
            self._take_states(found[0])

    def _do(self, statement: str, given: tuple[Any, ...] = ()) -> Fetched:
        found = self._foreseen.get((statement, given))
        if found is not None and not self.written:
            return found
        return self._transaction.do(statement, given)

    def _take_states(self, states: Fetched) -> None:
        for chain, number, hash, kind, body, *row in states:
            if number is not None:
                self._tips[chain] = Tip(number, hash)
            self._rows[chain] = _dataset_totals(row)
            terms = self._rows[chain].terms
            if terms is not None and kind is not None:
                self._facts[terms] = read_fact(terms, kind, body)
        if TRUNK not in self._tips:
            self._tips[TRUNK] = Tip(0, FIRST_HASH)
        for chain in self._rows:
            self._tips.setdefault(chain, Tip(0, self._tips[TRUNK].hash))

    # ---- chains

    def chain_of(self, dataset: str) -> str:
        return dataset

    def tip(self, chain: str) -> Tip:
        """Where a chain ends."""
        if chain not in self._tips:
            row = self._do(TIP, (chain,)).fetchone()
            if row is not None:
                self._tips[chain] = Tip(*row)
            elif chain == TRUNK:
                self._tips[chain] = Tip(0, FIRST_HASH)
            else:
                self._tips[chain] = Tip(0, self.tip(TRUNK).hash)
        return self._tips[chain]

    def tips(self) -> dict[str, Tip]:
        """The ends of all chains that have entries."""
        found = {chain: Tip(number, hash) for chain, number, hash in self._do(ALL_TIPS)}
        if self.tip(TRUNK).number:
            found[TRUNK] = self.tip(TRUNK)
        return found

    def hash_in(self, chain: str, number: int) -> str | None:
        """The hash of the entry of this number, if it stands in a chain."""
        tip = self.tip(chain)
        if number == tip.number:
            return tip.hash
        row = self._do(
            "SELECT hash FROM entries WHERE number = ? AND chain = ?", (number, chain)
        ).fetchone()
        if row is None:
            return None
        return str(row[0])

    def chain_head(self, chain: str) -> Head:
        """Where a chain ends, and what was spent on its dataset by then; the trunk's knows all."""
        tip = self.tip(chain)
        if chain == TRUNK:
            return Head(tip.number, tip.hash, _spending(self._all_totals()))
        return Head(tip.number, tip.hash, _spending({chain: self._totals(chain)}))

    def head(self) -> Head:
        tips = sorted(self.tips().items())
        chains = tuple((chain, tip.number, tip.hash) for chain, tip in tips)
        number = max((tip.number for _, tip in tips), default=0)
        digest = sha256(canonical(chains).encode()).hexdigest()
        return Heads(number, digest, _spending(self._all_totals()), chains)

    def understand(self, chain: str, known: int) -> None:
        """Read the entries of a chain above the known ones; LedgerError if this version does not
        know one of them.
        """
        (version,) = self._do(VERSION).fetchone()
        check_known(version or 0, len(MIGRATIONS), "of this session")
        last = self.tip(chain).number
        if known >= last:
            return
        row = self._do(UNDERSTOOD, (chain,)).fetchone()
        if row is not None:
            known = max(known, row[0])
        while known < last:
            later = "WHERE chain = ? AND number > ? ORDER BY number LIMIT ?"
            batch = self._entries(later, (chain, known, BATCH))
            for entry in batch:
                read_fact(entry.number, entry.kind, entry.body)
            if not batch:
                return
            known = batch[-1].number

    def commit(self) -> None:
        """Make all that was appended durable."""
        self._transaction.commit()

    # ---- appending

    def append(self, fact: Fact) -> int:
        (chain,) = {share.dataset for share in fact.shares()}
        if not self._numbers:
            self._numbers += self._transaction.do(NUMBER).fetchone()
        number = self._numbers.pop()
        entry = replace(entry_of(fact, number, self.tip(chain).hash), chain=chain)
        self._write(entry, fact)
        return entry.number

    def append_copy(self, entry: Entry) -> None:
        """An entry of another ledger as it is: of the trunk."""
        copy = replace(entry, chain=TRUNK)
        self._write(copy, read_fact(entry.number, entry.kind, entry.body))

    def end_trunk(self) -> None:
        """Numbers go on after those of the trunk, all of which is known."""
        last = self.tip(TRUNK).number
        if last:
            self._transaction.queue("INSERT INTO understood VALUES (?, ?)", (TRUNK, last))
            self._transaction.queue("SELECT setval('numbers', ?)", (last,))

    def _write(self, entry: Entry, fact: Fact) -> None:
        row = (entry.number, entry.chain, entry.time, entry.kind, entry.body, entry.previous)
        # What is looked at by now is what counts: later reads see it as it stands here.
        charged = self._charged(fact)
        self._index(entry.number, fact)
        self._transaction.queue(ADD_ENTRY, (*row, entry.hash))
        for add, key in charged:
            self._add_row(add, key, entry.number)
        if entry.chain != TRUNK and self._totals(entry.chain).entries % UNDERSTOOD_EVERY == 0:
            self._transaction.queue(
                "INSERT INTO understood VALUES (?, ?)", (entry.chain, entry.number)
            )
        self._tips[entry.chain] = Tip(entry.number, entry.hash)
        self.written[entry.chain] = entry
        self._facts[entry.number] = fact

    def _charged(self, fact: Fact) -> list[tuple[str, tuple[str, ...]]]:
        """Count a fact; which rows have changed."""
        changed: list[tuple[str, tuple[str, ...]]] = []
        for share in fact.shares():
            self._count(self._totals(share.dataset), (share.dataset, None), share.cost)
            changed.append((ADD_DATASET, (share.dataset,)))
            if share.analyst is not None:
                own = self._own_totals(share.dataset, share.analyst)
                self._count(own, (share.dataset, share.analyst), share.cost)
                own.questions += int(isinstance(fact, Reserved))
                changed.append((ADD_ANALYST, (share.dataset, share.analyst)))
        return changed

    def _count(self, row: Totals, whose: tuple[str, str | None], cost: Any) -> None:
        if row.entries == 0:
            dataset, analyst = whose
            self._transaction.queue(ADD_NAME, (dataset, analyst or ""))
        total = self.spent(*whose) + cost
        self._spent[whose] = total
        row.epsilon = epsilon_text(total.epsilon)
        row.rho = str(total.rho)
        row.delta = str(total.delta)
        row.entries += 1

    def _add_row(self, statement: str, key: tuple[str, ...], number: int) -> None:
        if statement == ADD_ANALYST:
            own = self._own_rows[key[0], key[1]]
            totals = (own.epsilon, own.rho, own.delta, own.entries, own.questions)
            self._transaction.queue(statement, (*key, number, *totals))
            return
        row = self._rows[key[0]]
        amounts = (row.epsilon, row.rho, row.delta, row.entries)
        rest = (row.terms, row.reopened, row.unanswered, row.failed)
        self._transaction.queue(statement, (*key, number, *amounts, *rest))

    def _index(self, number: int, fact: Fact) -> None:
        queue = self._transaction.queue
        if isinstance(fact, BudgetTerms):
            self._totals(fact.dataset).terms = number
            self._index_terms(DatasetTerms.of(fact))
        elif isinstance(fact, Reserved):
            self._totals(fact.dataset).unanswered += 1
            queue("INSERT INTO reservations VALUES (?, ?)", (fact.dataset, number))
        elif isinstance(fact, Reopened):
            row = self._totals(fact.dataset)
            row.reopened = number
            row.unanswered = 0
            row.failed = 0
        elif isinstance(fact, Fate):
            self._index_fate(number, fact)

    def _index_fate(self, number: int, fate: Fate) -> None:
        queue = self._transaction.queue
        row = self._totals(fate.dataset)
        counts = int(fate.reservation > row.reopened)
        if isinstance(fate, Failed):
            row.failed += counts
        if isinstance(fate, Answered):
            row.unanswered -= counts
            asked = self.reservation(fate.reservation)
            question = (asked.dataset, asked.version, asked.key)
            queue("INSERT INTO answers VALUES (?, ?, ?, ?)", (*question, fate.reservation))
        queue("INSERT INTO fates VALUES (?, ?)", (fate.reservation, number))

    def _index_terms(self, terms: DatasetTerms) -> None:
        for place in terms.places:
            self._transaction.queue(
                "INSERT INTO places VALUES (?, ?) ON CONFLICT DO NOTHING", (terms.dataset, place)
            )
        for other in terms.same_people:
            self._transaction.queue(
                "INSERT INTO same_people VALUES (?, ?) ON CONFLICT DO NOTHING",
                (terms.dataset, other),
            )

    def keep(self, reservation: int, analyst: str, attempt: Attempt) -> None:
        self.keep_wording(analyst, reservation, attempt.wording)
        if attempt.retry is not None:
            self.keep_retry(analyst, attempt.retry, reservation, attempt.digest)

    def keep_wording(self, analyst: str, reservation: int, wording: str) -> None:
        """How an analyst put a question."""
        self._transaction.queue(
            "INSERT INTO wordings VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (analyst, reservation, canonical(wording)),
        )

    def keep_retry(self, analyst: str, retry: str, reservation: int, digest: str) -> None:
        """The key of a question's retries, and the digest of its wording."""
        self._transaction.queue(
            "INSERT INTO retries VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (analyst, retry, reservation, digest),
        )

    # ---- what was spent

    def _totals(self, dataset: str) -> DatasetTotals:
        if dataset not in self._rows:
            row = self._do(DATASET, (dataset,)).fetchone()
            self._rows[dataset] = _dataset_totals(row)
        return self._rows[dataset]

    def _own_totals(self, dataset: str, analyst: str) -> Totals:
        if (dataset, analyst) not in self._own_rows:
            row = self._do(ANALYST, (dataset, analyst)).fetchone()
            self._own_rows[dataset, analyst] = Totals(*(row or ()))
        return self._own_rows[dataset, analyst]

    def _all_totals(self) -> Mapping[str, Totals]:
        return {dataset: _dataset_totals(row) for dataset, *row in self._do(ALL_DATASETS)}

    def _all_own_totals(self) -> Iterator[tuple[str, str, Totals]]:
        for dataset, analyst, *row in self._do(ALL_ANALYSTS):
            yield dataset, analyst, Totals(*row)

    def without_answer(self, dataset: str) -> tuple[int, int]:
        row = self._totals(dataset)
        return row.unanswered, row.failed

    def _unanswered(self, dataset: str) -> list[int]:
        rows = self._do(WITHOUT_ANSWER, (dataset, self._totals(dataset).reopened))
        return [number for (number,) in rows]

    # ---- what was asked

    def answered(self, dataset: str, version: str, key: str) -> int | None:
        row = self._do(NEWEST_ANSWER, (dataset, version, key)).fetchone()
        if row is None:
            return None
        return int(row[0])

    def asked(self, analyst: str, before: int | None, limit: int) -> list[AskedQuestion]:
        found = super().asked(analyst, min(before or ENDLESS, ENDLESS), limit)
        return [replace(each, wording=_text(each.wording)) for each in found]

    def fact(self, number: int) -> Fact | None:
        if number in self._facts:
            return self._facts[number]
        return super().fact(number)

    def entry(self, number: int) -> Entry | None:
        if abs(number) > ENDLESS:
            return None
        return super().entry(number)

    # ---- entries as they are

    def _later_spends(self, after: int, dataset: str) -> Iterable[Entry]:
        which = f"WHERE chain IN (?, ?) AND number > ? AND {SPENDS} ORDER BY number LIMIT ?"
        return self._entries(which, (TRUNK, dataset, after, BATCH))

    def indexes(self) -> Indexes:
        rows = {dataset: _dataset_totals(row) for dataset, *row in self._do(ALL_DATASETS)}
        unanswered = []
        for dataset, row in rows.items():
            numbers = self._unanswered(dataset)
            # How many there are is kept too: one more, of no number, tells that it does not fit.
            if row.unanswered != len(numbers):
                numbers.append(0)
            unanswered += [(dataset, number) for number in numbers]
        fates = self._do("SELECT reservation, number FROM fates")
        answers = self._do(ALL_ANSWERS)
        return Indexes(
            terms={name: row.terms for name, row in rows.items() if row.terms is not None},
            fates=dict(fates.fetchall()),
            answers={tuple(question): reservation for *question, reservation in answers},
            unanswered=frozenset(unanswered),
            places=self._all_places(),
            same_people=frozenset(self._joins()),
        )


def _dataset_totals(row: Any) -> DatasetTotals:
    # Joined to a chain that has none, a row is all nulls.
    if row is None or row[0] is None:
        return DatasetTotals()
    epsilon, rho, delta, entries, terms, reopened, unanswered, failed = row
    return DatasetTotals(
        epsilon,
        rho,
        delta,
        entries,
        terms=terms,
        reopened=reopened,
        unanswered=unanswered,
        failed=failed,
    )


def _spending(rows: Mapping[str, Totals]) -> str:
    return canonical({dataset: row.in_head for dataset, row in rows.items()})


def _text(wording: str) -> str:
    text = json.loads(wording)
    if not isinstance(text, str):
        raise LedgerError("the ledger holds a wording that is no text: verify it")
    return text
