"""The audit: whether a ledger is what it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postri.cost import Cost
from postri.errors import LedgerError
from postri.ledger.entry import FIRST_HASH, Entry
from postri.ledger.head import trouble
from postri.ledger.replay import Replay
from postri.ledger.store import DatasetUsage, Ledger, Snapshot, Usage


def verify(ledger: Ledger, expected_head: str | None = None) -> list[str]:
    """Everything that is wrong with a ledger, in sentences; empty if it is good.

    `expected_head` is a line that was printed earlier and kept elsewhere (`ledger.head().line`):
    the ledger must still hold that entry.
    """
    problems: list[str] = []
    try:
        with ledger.snapshot() as snapshot:
            problems.extend(_problems(snapshot, expected_head))
    except LedgerError as error:
        problems.append(f"{error}.")
    return problems


def _problems(snapshot: Snapshot, expected_head: str | None) -> Iterator[str]:
    chain, replay = Chain(), Replay()
    yield from _walk(snapshot.entries(), chain, replay)
    yield from _totals(snapshot, replay)
    yield from _indexes(snapshot, replay)
    found = trouble(snapshot.head, chain.number, chain.hash_at)
    if found is not None:
        yield f"The ledger does not fit its head: {found}."
    if expected_head is not None:
        yield from _expected(expected_head, chain)


class Chain:
    """The hashes of the entries that were walked so far."""

    def __init__(self) -> None:
        self.number, self.last = 0, FIRST_HASH
        self._hashes: dict[int, str] = {}

    def hash_at(self, number: int) -> str | None:
        """The hash of the entry of this number."""
        return self._hashes.get(number)

    def add(self, entry: Entry) -> Iterator[str]:
        """One more entry; says what is wrong with its place."""
        if entry.number != self.number + 1:
            yield f"{_range(self.number + 1, entry.number - 1)} missing."
        if entry.previous != self.last:
            yield (
                f"Entry {entry.number} does not follow the one before it: entries were changed, "
                "moved or cut out."
            )
        if not entry.is_whole():
            yield f"Entry {entry.number} was changed: its hash does not fit what it says."
        self.number, self.last = entry.number, entry.hash
        self._hashes[entry.number] = entry.hash


def _walk(entries: Iterable[Entry], chain: Chain, replay: Replay) -> Iterator[str]:
    for entry in entries:
        yield from chain.add(entry)
        yield from replay.add(entry)


def _range(first: int, last: int) -> str:
    return f"Entry {first} is" if first == last else f"Entries {first} to {last} are"


def _totals(snapshot: Snapshot, replay: Replay) -> Iterator[str]:
    kept, counted = snapshot.usage(), replay.usage()
    for dataset in sorted({*kept, *counted}):
        here, there = kept.get(dataset, DatasetUsage()), counted.get(dataset, DatasetUsage())
        yield from _total(repr(dataset), here, there)
        for analyst in sorted({*here.analysts, *there.analysts}):
            name = f"{analyst!r} on {dataset!r}"
            yield from _total(
                name, here.analysts.get(analyst, Usage()), there.analysts.get(analyst, Usage())
            )


def _total(name: str, kept: Usage, counted: Usage) -> Iterator[str]:
    if kept.cost != counted.cost:
        yield (
            f"The total of {name} is kept as {_words(kept.cost)}, and the entries add up to "
            f"{_words(counted.cost)}."
        )
    if kept.entries != counted.entries:
        yield (
            f"The number of entries of {name} is kept as {kept.entries}, and there are "
            f"{counted.entries}."
        )


def _words(cost: Cost) -> str:
    return f"epsilon {cost.epsilon} and rho {cost.rho}"


def _indexes(snapshot: Snapshot, replay: Replay) -> Iterator[str]:
    kept, counted = snapshot.indexes(), replay.indexes()
    if kept.terms != counted.terms:
        yield "The index of the newest budgets does not fit the entries."
    if kept.fates != counted.fates:
        yield "The index of what became of reservations does not fit the entries."
    if kept.answers != counted.answers:
        yield "The index of recorded answers does not fit the entries."


def _expected(line: str, chain: Chain) -> Iterator[str]:
    number, _, hash = line.strip().partition(" ")
    if not number.isdecimal():
        yield (
            "The expected head must be a line such as '12 9f86d0...': the number of an entry and "
            "its hash."
        )
    elif int(number) > chain.number:
        yield (
            f"The ledger ends at entry {chain.number}, and the expected head is entry {number}: "
            "an old copy, or entries were cut off."
        )
    elif int(number) and chain.hash_at(int(number)) != hash.strip():
        yield (
            f"Entry {number} is not the one of the expected head: entries were changed, or this "
            "is another ledger."
        )
