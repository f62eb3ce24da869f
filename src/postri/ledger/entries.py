"""Entries: permanent facts, chained by hashes.

The law of this module: an entry is never changed, removed or put elsewhere. What an entry means is
never changed either. A new fact gets a new kind, a new shape of a body gets a new kind too, and
both raise the number of the schema. A ledger that holds what this version does not know gives no
answers.

An entry is a line of the ledger: number, time, kind and body, with its place in the chain. The body
is a fact as canonical JSON. These are the facts: the steward's terms of a dataset, a reservation,
its answer or its failure, the re-opening of a dataset, what earlier spends count for beyond their
cost under a stronger protection, the acceptance of a protection, and that of a ledger that was put
back. Each knows its JSON, and what it charges to whom.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from types import MappingProxyType
from typing import Any, ClassVar

from postri.cost import NOTHING, Cost
from postri.errors import LedgerError
from postri.ledger.parts import Fields, Share, cost_fields, read_cost, text_of
from postri.ledger.terms import BudgetTerms, DatasetTerms, ProtectionAccepted, Restated

FIRST_HASH = "0" * 64
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


# ---- the chain


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: its number and time in UTC, the kind of the fact, the fact as
    canonical JSON, and its place in the chain.

    `chain` is empty where all datasets share one, else the name of the dataset.
    """

    number: int
    time: str
    kind: str
    body: str
    previous: str
    hash: str
    chain: str = ""

    def is_same(self, other: Entry) -> bool:
        """Whether both say the same in the same place of a chain, whatever its name."""
        return replace(self, chain=other.chain) == other

    def is_whole(self) -> bool:
        """Whether the hash fits the content."""
        try:
            return self.hash == chained(self.previous, self.number, self.time, self.kind, self.body)
        except TypeError:  # A column holds something that is no text.
            return False


def new_entry(previous: str, number: int, time: str, kind: str, body: str) -> Entry:
    """The entry that comes after the one with the previous hash."""
    return Entry(number, time, kind, body, previous, chained(previous, number, time, kind, body))


def chained(previous: str, number: int, time: str, kind: str, body: str) -> str:
    """SHA-256 of an entry and of all before it; JSON keeps the parts apart."""
    return sha256(canonical([previous, number, time, kind, body]).encode()).hexdigest()


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted names, no blanks, ASCII."""
    return _ENCODER.encode(value)


# ---- the facts


@dataclass(frozen=True)
class Reserved:
    """A question is about to be answered: its cost is spent, whatever comes after."""

    kind: ClassVar[str] = "reserve"

    dataset: str
    version: str
    analyst: str
    key: str
    analyst_text: str
    cost: Cost

    def fields(self) -> Fields:
        return {
            "dataset": self.dataset,
            "version": self.version,
            "analyst": self.analyst,
            "key": self.key,
            "analyst_text": self.analyst_text,
            **cost_fields(self.cost),
        }

    @classmethod
    def read(cls, fields: Fields) -> Reserved:
        return cls(
            dataset=text_of(fields, "dataset"),
            version=text_of(fields, "version"),
            analyst=text_of(fields, "analyst"),
            key=text_of(fields, "key"),
            analyst_text=text_of(fields, "analyst_text"),
            cost=read_cost(fields),
        )

    def shares(self) -> list[Share]:
        return [Share(self.dataset, self.analyst, self.cost)]


@dataclass(frozen=True)
class ReservedWithDelta(Reserved):
    """The same of a question that finds keys nobody declared: its cost has a delta."""

    kind: ClassVar[str] = "reserve-delta"


@dataclass(frozen=True)
class Answered:
    """A reservation has its answer, as it is handed over."""

    kind: ClassVar[str] = "answer"

    reservation: int
    dataset: str
    analyst: str
    answer: str

    def fields(self) -> Fields:
        return {
            "reservation": self.reservation,
            "dataset": self.dataset,
            "analyst": self.analyst,
            "answer": self.answer,
        }

    @classmethod
    def read(cls, fields: Fields) -> Answered:
        return cls(
            reservation=int(fields["reservation"]),
            dataset=text_of(fields, "dataset"),
            analyst=text_of(fields, "analyst"),
            answer=text_of(fields, "answer"),
        )

    def shares(self) -> list[Share]:
        return [Share(self.dataset, self.analyst, NOTHING)]


@dataclass(frozen=True)
class Failed:
    """A reservation has no answer and never gets one.

    Its cost stays spent, for data may have been read.
    """

    kind: ClassVar[str] = "failure"

    reservation: int
    dataset: str
    analyst: str
    reason: str

    def fields(self) -> Fields:
        return {
            "reservation": self.reservation,
            "dataset": self.dataset,
            "analyst": self.analyst,
            "reason": self.reason,
        }

    @classmethod
    def read(cls, fields: Fields) -> Failed:
        return cls(
            reservation=int(fields["reservation"]),
            dataset=text_of(fields, "dataset"),
            analyst=text_of(fields, "analyst"),
            reason=text_of(fields, "reason"),
        )

    def shares(self) -> list[Share]:
        return [Share(self.dataset, self.analyst, NOTHING)]


@dataclass(frozen=True)
class Reopened:
    """The steward has looked at the questions of a dataset that had no answer until here: they
    count no more towards its closing.
    """

    kind: ClassVar[str] = "reopened"

    dataset: str
    unanswered: tuple[int, ...]

    def fields(self) -> Fields:
        return {"dataset": self.dataset, "unanswered": list(self.unanswered)}

    @classmethod
    def read(cls, fields: Fields) -> Reopened:
        return cls(text_of(fields, "dataset"), tuple(map(int, fields["unanswered"])))

    def shares(self) -> list[Share]:
        return [Share(self.dataset, None, NOTHING)]


@dataclass(frozen=True)
class Restored:
    """The steward accepted a ledger that is older than its head, or has lost it.

    What only the head knew to be spent is charged.
    """

    kind: ClassVar[str] = "restored"

    head: str | None
    charged: Mapping[str, Cost]

    def fields(self) -> Fields:
        charged = {dataset: cost_fields(cost) for dataset, cost in self.charged.items()}
        return {"head": self.head, "charged": charged}

    @classmethod
    def read(cls, fields: Fields) -> Restored:
        head = None
        if fields["head"] is not None:
            head = text_of(fields, "head")
        charged = {dataset: read_cost(costs) for dataset, costs in fields["charged"].items()}
        return cls(head, MappingProxyType(charged))

    def shares(self) -> list[Share]:
        return [Share(dataset, None, cost) for dataset, cost in self.charged.items()]


@dataclass(frozen=True)
class RestoredWithDelta(Restored):
    """The same where some of what is charged has a delta."""

    kind: ClassVar[str] = "restored-delta"


Fact = (
    BudgetTerms
    | DatasetTerms
    | Reserved
    | Answered
    | Failed
    | Reopened
    | Restored
    | Restated
    | ProtectionAccepted
)
Fate = Answered | Failed
RESERVING = (Reserved.kind, ReservedWithDelta.kind)

_READERS: Mapping[str, Callable[[Fields], Fact]] = {
    each.kind: each.read
    for each in (
        BudgetTerms,
        DatasetTerms,
        Reserved,
        ReservedWithDelta,
        Answered,
        Failed,
        Reopened,
        Restored,
        RestoredWithDelta,
        Restated,
        ProtectionAccepted,
    )
}


def body_of(fact: Fact) -> str:
    """The fact as it is stored."""
    return canonical(fact.fields())


@lru_cache(maxsize=256)
def read_fact(number: int, kind: str, body: str) -> Fact:
    """The fact of an entry; LedgerError if this version does not know its kind or its shape."""
    reader = _READERS.get(kind)
    if reader is None:
        raise LedgerError(
            f"entry {number} of the ledger is of a kind that this version of postri does not "
            "know; use the version that wrote it"
        )
    try:
        fact = reader(json.loads(body))
        # Written again it must be the same text: a field that is not known would be lost.
        known = body_of(fact) == body
    except Exception:
        # Whatever is wrong with a body, it is not one that this version writes.
        known = False
    if not known:
        raise LedgerError(
            f"entry {number} of the ledger has a shape that this version of postri does not "
            "know; use the version that wrote it"
        )
    return fact
