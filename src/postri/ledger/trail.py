"""The audit trail, one line per entry: as CSV for auditors, as plain values for the service."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import takewhile
from typing import TextIO, TypedDict

from postri.errors import LedgerError
from postri.ledger.entries import (
    RESERVING,
    Answered,
    Entry,
    Fact,
    Failed,
    Fate,
    Reopened,
    Reserved,
    Restored,
    read_fact,
)
from postri.ledger.head import Head
from postri.ledger.parts import epsilon_text
from postri.ledger.store import Ledger, Reservation, Snapshot, Unanswered
from postri.ledger.terms import BudgetTerms, DatasetTerms, ProtectionAccepted, Restated

COLUMNS = (
    "number",
    "time",
    "kind",
    "dataset",
    "version",
    "analyst",
    "epsilon",
    "rho",
    "delta",
    "key",
    "question (analyst's text)",
    "fate",
    "hash",
)
UNKNOWN_FATE = "unknown, counts as spent"
# How many entries are looked at for one page of the trail.
MOST_LOOKED_AT = 5_000
# What a spreadsheet would take for the start of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


class EntryFields(TypedDict):
    """An entry of the ledger: who spent what on which question."""

    number: int
    time: str
    kind: str
    dataset: str | None
    analyst: str | None
    epsilon: str
    question: str | None
    fate: str


class UnansweredFields(TypedDict):
    """A question without an answer; the reason is null if nobody knows what became of it."""

    id: int
    time: str
    analyst: str
    reason: str | None


def unanswered_fields(each: Unanswered) -> UnansweredFields:
    """A question without an answer, as plain values."""
    return {
        "id": each.id,
        "time": to_the_second(each.time),
        "analyst": each.analyst,
        "reason": each.reason,
    }


def to_the_second(time: str) -> str:
    """The time of an entry: how long a scan took is nobody's business.

    >>> to_the_second("2026-11-16T12:00:00.123456Z")
    '2026-11-16T12:00:00Z'
    """
    return f"{time[:19]}Z"


@dataclass(frozen=True)
class TrailCells:
    """What the trail tells of a fact: its words, and whose budget it charges."""

    fate: str
    dataset: str = ""
    version: str = ""
    analyst: str = ""
    epsilon: Fraction | int | str = 0
    rho: Fraction | int | str = 0
    delta: Fraction | int | str = 0
    key: str = ""
    question: str = ""


def export_csv(ledger: Ledger, file: TextIO) -> None:
    """Write the trail. Open the file with `newline=""`."""
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(COLUMNS)
    with ledger.snapshot() as snapshot:
        fates = _fates(snapshot)
        for entry in snapshot.entries():
            told = _cells(entry, fates.get(entry.number, UNKNOWN_FATE))
            cells = (
                entry.number,
                entry.time,
                entry.kind,
                told.dataset,
                told.version,
                told.analyst,
                told.epsilon,
                told.rho,
                told.delta,
                told.key,
                told.question,
                told.fate,
                entry.hash,
            )
            lines.writerow([safe(str(cell)) for cell in cells])


@dataclass(frozen=True)
class TrailWish:
    """Which entries of the trail are wanted: all, or those of a dataset, an analyst, a kind."""

    dataset: str | None = None
    analyst: str | None = None
    kind: str | None = None

    def holds(self, entry: Entry, told: TrailCells) -> bool:
        """Whether an entry is one of them."""
        # What was restored names all its datasets in one line.
        datasets = told.dataset.split("; ")
        return (
            self.kind in (None, entry.kind)
            and self.analyst in (None, told.analyst)
            and (self.dataset is None or self.dataset in datasets)
        )


ALL = TrailWish()


def listed(
    ledger: Ledger, after: int, limit: int, *, until: Head, wanted: TrailWish = ALL
) -> tuple[list[EntryFields], int | None]:
    """Some entries of the trail as plain values, none that the head `until` does not know: who
    spent what on which question, and what became of it; never an answer. With them the number
    after which to go on, None at the end.
    """
    no_later = takewhile(lambda entry: entry.number <= until.number, ledger.entries(after))
    return _page(ledger, filter(until.knows, no_later), limit, wanted)


def newest(
    ledger: Ledger, before: int | None, limit: int, *, until: Head, wanted: TrailWish = ALL
) -> tuple[list[EntryFields], int | None]:
    """The same with the newest entry first: those below a number, or from the head on; with them
    the number below which to go on.
    """
    if before is None:
        before = until.number + 1
    return _page(ledger, filter(until.knows, ledger.entries_before(before)), limit, wanted)


def _page(
    ledger: Ledger, entries: Iterator[Entry], limit: int, wanted: TrailWish
) -> tuple[list[EntryFields], int | None]:
    """The first of some entries that are wanted, and the number of the last that was looked at, if
    there may be more: a page may be short, so that a rare wish holds nobody up.
    """
    found: list[EntryFields] = []
    for looked_at, entry in enumerate(entries, start=1):
        if wanted.holds(entry, _cells(entry, UNKNOWN_FATE)):
            found.append(_fields(entry, ledger))
        if len(found) == limit or looked_at == MOST_LOOKED_AT:
            return found, entry.number
    return found, None


def _fields(entry: Entry, ledger: Ledger) -> EntryFields:
    fate = UNKNOWN_FATE
    if entry.kind in RESERVING:
        fate = _fate_words(ledger.past(entry.number))
    told = _cells(entry, fate)
    return {
        "number": entry.number,
        "time": to_the_second(entry.time),
        "kind": entry.kind,
        "dataset": told.dataset or None,
        "analyst": told.analyst or None,
        "epsilon": str(told.epsilon),
        "question": told.question or None,
        "fate": told.fate,
    }


def _fate_words(past: Reservation) -> str:
    if past.reason is not None:
        return f"failed with {past.reason}"
    if past.answer_text is not None:
        return "answered"
    return UNKNOWN_FATE


def safe(cell: str) -> str:
    r"""A cell that is one line, and that no spreadsheet takes for a formula.

    >>> safe("=1+1\n"), safe("age > 40")
    ("'=1+1\\n", 'age > 40')
    """
    signs = []
    for sign in cell:
        if sign.isprintable():
            signs.append(sign)
        else:
            signs.append(sign.encode("unicode_escape").decode())
    flat = "".join(signs)
    if cell.startswith(FORMULA):
        return f"'{flat}"
    return flat


def _fates(snapshot: Snapshot) -> dict[int, str]:
    """What became of each reservation, in words."""
    fates = {}
    for entry in snapshot.entries():
        fact = _fact(entry)
        if isinstance(fact, Answered):
            fates[fact.reservation] = f"answered by entry {entry.number}"
        elif isinstance(fact, Failed):
            fates[fact.reservation] = f"failed with {fact.reason}"
    return fates


def _fact(entry: Entry) -> Fact | None:
    """The fact of an entry, or None: an unknown one is listed without its parts."""
    try:
        return read_fact(entry.number, entry.kind, entry.body)
    except LedgerError:
        return None


def _cells(entry: Entry, fate: str) -> TrailCells:
    """What is told of an entry; `fate` is what became of it, if it is a reservation."""
    match _fact(entry):
        case Reserved() as asked:
            return TrailCells(
                fate=fate,
                dataset=asked.dataset,
                version=asked.version,
                analyst=asked.analyst,
                epsilon=epsilon_text(asked.cost.epsilon),
                rho=asked.cost.rho,
                delta=asked.cost.delta,
                key=asked.key,
                question=asked.analyst_text,
            )
        case Answered() as answered:
            return _end(answered, f"answer of entry {answered.reservation}")
        case Failed() as failed:
            return _end(failed, f"failure of entry {failed.reservation}")
        case BudgetTerms() | Restated() | ProtectionAccepted() | Reopened() as said:
            return _terms_cells(said)
        case Restored() as restored:
            return _restored(restored)
        case None:
            words = "of a kind that this version does not know"
            return TrailCells(fate=words, epsilon="", rho="", delta="")


def _terms_cells(said: BudgetTerms | Restated | ProtectionAccepted | Reopened) -> TrailCells:
    """What the steward said of a dataset, and what that charges."""
    if isinstance(said, Restated):
        return TrailCells(
            fate=f"what earlier spends count for beyond their cost; protects {said.protect}",
            dataset=said.dataset,
            analyst=said.analyst or "",
            epsilon=epsilon_text(said.cost.epsilon),
            rho=said.cost.rho,
            delta=said.cost.delta,
        )
    if isinstance(said, ProtectionAccepted):
        words = f"accepted: earlier spends count as they stand; protects {said.protect}"
        return TrailCells(fate=words, dataset=said.dataset)
    if isinstance(said, Reopened):
        numbers = ", ".join(map(str, said.unanswered))
        words = f"opened again; without an answer were {numbers}"
        return TrailCells(fate=words, dataset=said.dataset)
    terms = DatasetTerms.of(said)
    words = f"budget {terms.budget}, {terms.accountant}"
    if terms.protect is not None:
        words += f", protects {terms.protect}"
    if terms.same_people:
        words += f", same people as {', '.join(terms.same_people)}"
    return TrailCells(fate=words, dataset=terms.dataset)


def _end(fate: Fate, words: str) -> TrailCells:
    return TrailCells(fate=words, dataset=fate.dataset, analyst=fate.analyst)


def _restored(restored: Restored) -> TrailCells:
    """One line, even if several datasets were charged: their names and costs stand side by side."""
    costs = restored.charged.values()
    return TrailCells(
        fate="an older ledger was accepted",
        dataset="; ".join(restored.charged),
        epsilon="; ".join(epsilon_text(cost.epsilon) for cost in costs) or 0,
        rho="; ".join(str(cost.rho) for cost in costs) or 0,
        delta="; ".join(str(cost.delta) for cost in costs) or 0,
    )
