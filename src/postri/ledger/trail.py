"""The audit trail as CSV, one line per entry."""

from __future__ import annotations

import csv
from itertools import islice
from typing import TextIO

from postri.errors import LedgerError
from postri.ledger.entry import Entry
from postri.ledger.facts import Answered, Fact, Failed, Fate, Reserved, Restored, Terms, read_fact
from postri.ledger.store import Ledger, Past, Snapshot

COLUMNS = (
    "number",
    "time",
    "kind",
    "dataset",
    "version",
    "analyst",
    "epsilon",
    "rho",
    "key",
    "question (analyst's text)",
    "fate",
    "hash",
)
UNKNOWN = "unknown, counts as spent"
FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


def export_csv(ledger: Ledger, file: TextIO) -> None:
    """Write the trail. Open the file with `newline=""`."""
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(COLUMNS)
    with ledger.snapshot() as snapshot:
        fates = _fates(snapshot)
        for entry in snapshot.entries():
            cells = (entry.number, entry.time, entry.kind, *_cells(entry, fates), entry.hash)
            lines.writerow([safe(str(cell)) for cell in cells])


def listed(ledger: Ledger, after: int, limit: int) -> list[dict[str, object]]:
    """Some entries of the trail as plain values: who spent what on which question, and what became
    of it; never an answer.
    """
    return [_fields(entry, ledger) for entry in islice(ledger.entries(after), limit)]


def _fields(entry: Entry, ledger: Ledger) -> dict[str, object]:
    fates = {entry.number: _fate(ledger.past(entry.number))} if entry.kind == Reserved.kind else {}
    dataset, _, analyst, epsilon, _, _, question, fate = _cells(entry, fates)
    named = {
        "dataset": dataset or None,
        "analyst": analyst or None,
        "epsilon": str(epsilon),
        "question": question or None,
    }
    # To the second: how long a scan took is nobody's business.
    return {
        "number": entry.number,
        "time": f"{entry.time[:19]}Z",
        "kind": entry.kind,
        **named,
        "fate": fate,
    }


def _fate(past: Past) -> str:
    return (
        UNKNOWN
        if past.answer_text is None and past.reason is None
        else "answered"
        if past.reason is None
        else f"failed with {past.reason}"
    )


def safe(cell: str) -> str:
    r"""A cell that is one line, and that no spreadsheet takes for a formula.

    >>> safe("=1+1\n"), safe("age > 40")
    ("'=1+1\\n", 'age > 40')
    """
    flat = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in cell
    )
    return f"'{flat}" if cell.startswith(FORMULA) else flat


def _fates(snapshot: Snapshot) -> dict[int, str]:
    """What became of each reservation, in words."""
    facts = ((entry.number, _fact(entry)) for entry in snapshot.entries())
    return {
        fact.reservation: _ended(number, fact) for number, fact in facts if isinstance(fact, Fate)
    }


def _ended(number: int, fate: Fate) -> str:
    return (
        f"answered by entry {number}"
        if isinstance(fate, Answered)
        else f"failed with {fate.reason}"
    )


def _fact(entry: Entry) -> Fact | None:
    """The fact of an entry, or None: an unknown one is listed without its parts."""
    try:
        return read_fact(entry.number, entry.kind, entry.body)
    except LedgerError:
        return None


def _cells(entry: Entry, fates: dict[int, str]) -> tuple[object, ...]:
    """Dataset, version, analyst, epsilon, rho, key, question, fate."""
    match _fact(entry):
        case Reserved() as asked:
            words = (
                asked.dataset,
                asked.version,
                asked.analyst,
                asked.cost.epsilon,
                asked.cost.rho,
                asked.key,
                asked.analyst_text,
            )
            return (*words, fates.get(entry.number, UNKNOWN))
        case Answered() as fate:
            return (
                fate.dataset,
                "",
                fate.analyst,
                0,
                0,
                "",
                "",
                f"answer of entry {fate.reservation}",
            )
        case Failed() as fate:
            return (
                fate.dataset,
                "",
                fate.analyst,
                0,
                0,
                "",
                "",
                f"failure of entry {fate.reservation}",
            )
        case Terms() as terms:
            return (
                terms.dataset,
                "",
                "",
                0,
                0,
                "",
                "",
                f"budget {terms.budget}, {terms.accountant}",
            )
        case Restored() as restored:
            return _restored(restored)
        case None:
            return ("", "", "", "", "", "", "", "of a kind that this version does not know")


def _restored(restored: Restored) -> tuple[object, ...]:
    """One line, even if several datasets were charged: their names and costs stand side by side."""
    costs = restored.charged.values()
    epsilons, rhos = (
        "; ".join(str(cost.epsilon) for cost in costs),
        "; ".join(str(cost.rho) for cost in costs),
    )
    return (
        "; ".join(restored.charged),
        "",
        "",
        epsilons or 0,
        rhos or 0,
        "",
        "",
        "an older ledger was accepted",
    )
