"""What entries add up to, computed from nothing: the check on the totals and indexes that are kept
beside them.
"""

from __future__ import annotations

from collections.abc import Iterator

from postri.errors import LedgerError
from postri.ledger.entry import Entry
from postri.ledger.facts import Answered, Fact, Fate, Reserved, Terms, read_fact
from postri.ledger.store import DatasetUsage, Indexes, Usage


class Replay:
    """Takes entries in order, and keeps what follows from them."""

    def __init__(self) -> None:
        self.terms: dict[str, int] = {}
        self.fates: dict[int, int] = {}
        self.answers: dict[tuple[str, str, str], int] = {}
        self._reservations: dict[int, Reserved] = {}
        self._usage: dict[str, Usage] = {}
        self._analysts: dict[str, dict[str, Usage]] = {}

    def add(self, entry: Entry) -> Iterator[str]:
        """One more entry; says what is wrong with it."""
        try:
            fact = read_fact(entry.number, entry.kind, entry.body)
        except LedgerError as error:
            yield f"{error}."
            return
        self._count(fact)
        if isinstance(fact, Terms):
            self.terms[fact.dataset] = entry.number
        elif isinstance(fact, Reserved):
            self._reservations[entry.number] = fact
        elif isinstance(fact, Fate):
            yield from self._end(entry.number, fact)

    def _end(self, number: int, fate: Fate) -> Iterator[str]:
        asked = self._reservations.get(fate.reservation)
        if asked is None or (asked.dataset, asked.analyst) != (fate.dataset, fate.analyst):
            yield (
                f"Entry {number} ends reservation {fate.reservation}, and there is no such "
                "reservation before it."
            )
            return
        if fate.reservation in self.fates:
            yield f"Entry {number} ends reservation {fate.reservation} a second time."
        self.fates[fate.reservation] = number
        if isinstance(fate, Answered):
            question = (asked.dataset, asked.version, asked.key)
            self.answers[question] = max(fate.reservation, self.answers.get(question, 0))

    def _count(self, fact: Fact) -> None:
        for share in fact.shares():
            self._usage[share.dataset] = self._usage.get(share.dataset, Usage()).plus(share.cost)
            if share.analyst is not None:
                analysts = self._analysts.setdefault(share.dataset, {})
                analysts[share.analyst] = analysts.get(share.analyst, Usage()).plus(share.cost)

    def usage(self) -> dict[str, DatasetUsage]:
        """The totals."""
        return {
            dataset: DatasetUsage(total.cost, total.entries, self._analysts.get(dataset, {}))
            for dataset, total in self._usage.items()
        }

    def indexes(self) -> Indexes:
        """Where facts stand."""
        return Indexes(self.terms, self.fates, self.answers)
