"""The audit: whether a ledger is what it says.

Three things are checked against one another: the chain of hashes, the totals and indexes that are
kept beside the entries for speed, and the head in its second place. `Replay` computes from the
entries alone what the totals and indexes ought to be.
"""

from __future__ import annotations

from collections.abc import Iterator

from postri.cost import Cost
from postri.errors import LedgerError, TermsRefused
from postri.ledger.entries import (
    FIRST_HASH,
    Answered,
    Entry,
    Fact,
    Fate,
    Reopened,
    Reserved,
    read_fact,
)
from postri.ledger.head import trouble
from postri.ledger.parts import epsilon_text
from postri.ledger.protection import Protections
from postri.ledger.store import TRUNK, DatasetUsage, Indexes, Ledger, Snapshot, Usage
from postri.ledger.terms import BudgetTerms, DatasetTerms


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
    chains = Chains()
    replay = Replay()
    for entry in snapshot.entries():
        yield from chains.add(entry)
        yield from replay.add(entry)
    yield from _totals(snapshot, replay)
    yield from _indexes(snapshot, replay)
    for name in sorted({*snapshot.heads, *chains.by_name}):
        chain = chains.by_name.get(name, HashChain(name))
        found = trouble(snapshot.heads.get(name), chain.number, chain.hash_at)
        if found is not None:
            yield f"{chain.title} does not fit its head: {found}."
    if expected_head is not None:
        for line in expected_head.split(","):
            yield from _expected(line, chains)


class Chains:
    """The chains of a ledger: the trunk, and one for each dataset that branches off from it."""

    def __init__(self) -> None:
        self.by_name: dict[str, HashChain] = {}
        self.number = 0
        self._hashes: dict[int, str] = {}

    def hash_at(self, number: int) -> str | None:
        """The hash of the entry of this number, in whichever chain."""
        return self._hashes.get(number)

    def add(self, entry: Entry) -> Iterator[str]:
        """One more entry; says what is wrong with its place."""
        chain = self.by_name.get(entry.chain)
        if chain is None:
            chain = HashChain(entry.chain, self._trunk_hash())
            self.by_name[entry.chain] = chain
        self.number = max(self.number, entry.number)
        self._hashes[entry.number] = entry.hash
        yield from chain.add(entry)

    def _trunk_hash(self) -> str:
        trunk = self.by_name.get(TRUNK)
        if trunk is None:
            return FIRST_HASH
        return trunk.last


class HashChain:
    """The hashes of the entries of a chain that were walked so far; a dataset's own chain goes on
    from where the trunk ended.
    """

    def __init__(self, name: str = TRUNK, previous: str = FIRST_HASH) -> None:
        self.name = name
        self.number = 0
        self.last = previous
        self._hashes: dict[int, str] = {}

    @property
    def title(self) -> str:
        """The chain as the start of a sentence."""
        if self.name == TRUNK:
            return "The ledger"
        return f"The ledger's chain of {self.name!r}"

    def hash_at(self, number: int) -> str | None:
        """The hash of the entry of this number."""
        return self._hashes.get(number)

    def add(self, entry: Entry) -> Iterator[str]:
        """One more entry; says what is wrong with its place."""
        # Datasets share the numbers, so those of one have gaps: there the hashes alone tell.
        if self.name == TRUNK and entry.number != self.number + 1:
            yield f"{_range(self.number + 1, entry.number - 1)} missing."
        if entry.previous != self.last:
            yield (
                f"Entry {entry.number} does not follow the one before it: entries were changed, "
                "moved or cut out."
            )
        if not entry.is_whole():
            yield f"Entry {entry.number} was changed: its hash does not fit what it says."
        self.number = entry.number
        self.last = entry.hash
        self._hashes[entry.number] = entry.hash


def _range(first: int, last: int) -> str:
    if first == last:
        return f"Entry {first} is"
    return f"Entries {first} to {last} are"


class Replay:
    """What entries add up to, computed from nothing: takes them in order, and keeps what follows
    from them.
    """

    def __init__(self) -> None:
        self.terms: dict[str, int] = {}
        self.fates: dict[int, int] = {}
        self.answers: dict[tuple[str, str, str], int] = {}
        self.unanswered: set[tuple[str, int]] = set()
        self.places: set[tuple[str, str]] = set()
        self.same_people: set[tuple[str, str]] = set()
        self._protections = Protections()
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
        yield from self._check_chain(entry, fact)
        self._count(fact)
        if isinstance(fact, BudgetTerms):
            self.terms[fact.dataset] = entry.number
            yield from self._check_terms(entry.number, DatasetTerms.of(fact))
        elif isinstance(fact, Reserved):
            self._reservations[entry.number] = fact
            self.unanswered.add((fact.dataset, entry.number))
        elif isinstance(fact, Reopened):
            self.unanswered = {each for each in self.unanswered if each[0] != fact.dataset}
        elif isinstance(fact, Fate):
            yield from self._end(entry.number, fact)
        self._protections.add(fact)

    def _check_chain(self, entry: Entry, fact: Fact) -> Iterator[str]:
        others = {share.dataset for share in fact.shares()} - {entry.chain}
        if entry.chain != TRUNK and others:
            yield (
                f"Entry {entry.number} stands in the chain of {entry.chain!r}, and is about "
                f"{min(others)!r}."
            )

    def _check_terms(self, number: int, terms: DatasetTerms) -> Iterator[str]:
        """Whether earlier spends were restated before terms protect more than those before."""
        self.places.update((terms.dataset, place) for place in terms.places)
        self.same_people.update((terms.dataset, other) for other in terms.same_people)
        if terms.protect is None:
            return
        try:
            restated = not list(self._protections.restatements(terms.dataset, terms.protect))
        except TermsRefused:
            restated = False
        if not restated:
            yield (
                f"Entry {number} changes what {terms.dataset!r} protects, and what was spent "
                "before does not count as it should."
            )

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
            self.unanswered.discard((asked.dataset, fate.reservation))

    def _count(self, fact: Fact) -> None:
        asked = int(isinstance(fact, Reserved))
        for share in fact.shares():
            usage = self._usage.get(share.dataset, Usage())
            self._usage[share.dataset] = usage.plus(share.cost, asked)
            if share.analyst is not None:
                analysts = self._analysts.setdefault(share.dataset, {})
                own = analysts.get(share.analyst, Usage())
                analysts[share.analyst] = own.plus(share.cost, asked)

    def usage(self) -> dict[str, DatasetUsage]:
        """The totals."""
        return {
            dataset: DatasetUsage(
                total.cost,
                total.entries,
                self._analysts.get(dataset, {}),
                questions=total.questions,
            )
            for dataset, total in self._usage.items()
        }

    def indexes(self) -> Indexes:
        """Where facts stand."""
        return Indexes(
            terms=self.terms,
            fates=self.fates,
            answers=self.answers,
            unanswered=frozenset(self.unanswered),
            places=frozenset(self.places),
            same_people=frozenset(self.same_people),
        )


def _totals(snapshot: Snapshot, replay: Replay) -> Iterator[str]:
    all_kept = snapshot.usage()
    all_counted = replay.usage()
    for dataset in sorted({*all_kept, *all_counted}):
        kept = all_kept.get(dataset, DatasetUsage())
        counted = all_counted.get(dataset, DatasetUsage())
        yield from _total(repr(dataset), kept, counted)
        for analyst in sorted({*kept.analysts, *counted.analysts}):
            yield from _total(
                f"{analyst!r} on {dataset!r}",
                kept.analysts.get(analyst, Usage()),
                counted.analysts.get(analyst, Usage()),
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
    if kept.questions != counted.questions:
        yield (
            f"The number of questions of {name} is kept as {kept.questions}, and there are "
            f"{counted.questions}."
        )


def _words(cost: Cost) -> str:
    words = f"epsilon {epsilon_text(cost.epsilon)} and rho {cost.rho}"
    if cost.delta:
        words += f" and delta {cost.delta}"
    return words


def _indexes(snapshot: Snapshot, replay: Replay) -> Iterator[str]:
    kept = snapshot.indexes()
    counted = replay.indexes()
    if kept.terms != counted.terms:
        yield "The index of the newest budgets does not fit the entries."
    if kept.fates != counted.fates:
        yield "The index of what became of reservations does not fit the entries."
    if kept.answers != counted.answers:
        yield "The index of recorded answers does not fit the entries."
    if kept.unanswered != counted.unanswered:
        yield "The index of questions without an answer does not fit the entries."
    if kept.places != counted.places:
        yield "The index of where rows lie does not fit the entries."
    if kept.same_people != counted.same_people:
        yield "The index of datasets about the same people does not fit the entries."


def _expected(line: str, chains: Chains) -> Iterator[str]:
    number, _, hash = line.strip().partition(" ")
    if not number.isdecimal():
        yield (
            "The expected head must be a line such as '12 9f86d0...': the number of an entry and "
            "its hash."
        )
    elif int(number) > chains.number:
        yield (
            f"The ledger ends at entry {chains.number}, and the expected head is entry {number}: "
            "an old copy, or entries were cut off."
        )
    elif int(number) and chains.hash_at(int(number)) != hash.strip():
        yield (
            f"Entry {number} is not the one of the expected head: entries were changed, or this "
            "is another ledger."
        )
