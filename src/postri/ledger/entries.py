"""Entries: permanent facts, chained by hashes.

The law of this module: an entry is never changed, removed or put elsewhere. What an entry means is
never changed either. A new fact gets a new kind, a new shape of a body gets a new kind too, and
both raise the number of the schema. A ledger that holds what this version does not know gives no
answers.

An entry is a line of the ledger: number, time, kind and body, with its place in the chain. The body
is a fact as canonical JSON. These are the facts: the steward's terms of a dataset, a reservation,
its answer or its failure, what earlier spends count for beyond their cost under a stronger
protection, the acceptance of a protection, and that of a ledger that was put back. Each knows its
JSON, and what it charges to whom.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from types import MappingProxyType
from typing import Any, ClassVar

from postri.cost import NOTHING, Cost
from postri.errors import LedgerError
from postri.ledger.accountants import ZCDP, Accountant, Pure
from postri.privacy import ProtectedChange, protect_fields, read_protect

FIRST_HASH = "0" * 64
# What stands for the epsilon of draws that have none. A version that does not know it refuses.
NO_EPSILON = "none"
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)

Fields = dict[str, Any]


# ---- the chain


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: its number and time in UTC, the kind of the fact, the fact as
    canonical JSON, and its place in the chain.
    """

    number: int
    time: str
    kind: str
    body: str
    previous: str
    hash: str

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
class Share:
    """A part in an entry: it counts for this dataset, and for this analyst if there is one, and
    charges them this cost.
    """

    dataset: str
    analyst: str | None
    cost: Cost


@dataclass(frozen=True)
class BudgetTerms:
    """The steward's limits of a dataset from here on, as older versions recorded them: new ones are
    `DatasetTerms`.
    """

    kind: ClassVar[str] = "budget"

    dataset: str
    budget: Fraction
    accountant: Accountant
    per_question: Fraction | None
    allowances: Mapping[str, Fraction]

    def fields(self) -> Fields:
        accountant = "pure"
        delta = None
        if isinstance(self.accountant, ZCDP):
            accountant = "zcdp"
            delta = str(self.accountant.delta)
        per_question = None
        if self.per_question is not None:
            per_question = str(self.per_question)
        return {
            "dataset": self.dataset,
            "budget": str(self.budget),
            "accountant": accountant,
            "delta": delta,
            "per_question": per_question,
            "allowances": {analyst: str(amount) for analyst, amount in self.allowances.items()},
        }

    @classmethod
    def read(cls, fields: Fields) -> BudgetTerms:
        accountant: Accountant = Pure()
        if fields["accountant"] != "pure":
            accountant = ZCDP(rational(fields["delta"]))
        per_question = None
        if fields["per_question"] is not None:
            per_question = rational(fields["per_question"])
        allowances = {analyst: rational(each) for analyst, each in fields["allowances"].items()}
        return cls(
            dataset=_text(fields, "dataset"),
            budget=rational(fields["budget"]),
            accountant=accountant,
            per_question=per_question,
            allowances=MappingProxyType(allowances),
        )

    def shares(self) -> list[Share]:
        return [Share(self.dataset, None, NOTHING)]


@dataclass(frozen=True)
class DatasetTerms(BudgetTerms):
    """The steward's terms of a dataset from here on: its limits, what it protects, where its rows
    lie, and which datasets are about the same people.

    `protect` is None if nobody said it. `places` are those that no terms of the dataset named
    before, each as a SHA-256: to tell whether two are one takes no more, and a trail that is
    exported shows no path and no server.
    """

    kind: ClassVar[str] = "terms"

    protect: ProtectedChange | None = None
    places: tuple[str, ...] = ()
    same_people: tuple[str, ...] = ()

    @classmethod
    def of(cls, limits: BudgetTerms) -> DatasetTerms:
        """Limits that were recorded without the rest, as terms."""
        if isinstance(limits, DatasetTerms):
            return limits
        return cls(
            dataset=limits.dataset,
            budget=limits.budget,
            accountant=limits.accountant,
            per_question=limits.per_question,
            allowances=limits.allowances,
        )

    def fields(self) -> Fields:
        return {
            **super().fields(),
            "protect": _protect_fields(self.protect),
            "places": list(self.places),
            "same_people": list(self.same_people),
        }

    @classmethod
    def read(cls, fields: Fields) -> DatasetTerms:
        return replace(
            cls.of(BudgetTerms.read(fields)),
            protect=_read_protect(fields),
            places=_texts(fields, "places"),
            same_people=_texts(fields, "same_people"),
        )


@dataclass(frozen=True)
class Restated:
    """What was spent under a weaker protection counts for more under this one, by group privacy:
    the difference is charged, to the analyst who spent it if there is one.
    """

    kind: ClassVar[str] = "restated"

    dataset: str
    analyst: str | None
    protect: ProtectedChange
    cost: Cost

    def fields(self) -> Fields:
        return {
            "dataset": self.dataset,
            "analyst": self.analyst,
            "protect": _protect_fields(self.protect),
            **_cost_fields(self.cost),
        }

    @classmethod
    def read(cls, fields: Fields) -> Restated:
        analyst = None
        if fields["analyst"] is not None:
            analyst = _text(fields, "analyst")
        return cls(
            dataset=_text(fields, "dataset"),
            analyst=analyst,
            protect=read_protect(fields["protect"]),
            cost=_read_cost(fields),
        )

    def shares(self) -> list[Share]:
        return [Share(self.dataset, self.analyst, self.cost)]


@dataclass(frozen=True)
class ProtectionAccepted:
    """The steward accepted a protection under which no number tells what earlier spends mean: from
    here on all of them count under it as they stand.
    """

    kind: ClassVar[str] = "protection"

    dataset: str
    protect: ProtectedChange

    def fields(self) -> Fields:
        return {"dataset": self.dataset, "protect": _protect_fields(self.protect)}

    @classmethod
    def read(cls, fields: Fields) -> ProtectionAccepted:
        return cls(_text(fields, "dataset"), read_protect(fields["protect"]))

    def shares(self) -> list[Share]:
        return [Share(self.dataset, None, NOTHING)]


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
            **_cost_fields(self.cost),
        }

    @classmethod
    def read(cls, fields: Fields) -> Reserved:
        return cls(
            dataset=_text(fields, "dataset"),
            version=_text(fields, "version"),
            analyst=_text(fields, "analyst"),
            key=_text(fields, "key"),
            analyst_text=_text(fields, "analyst_text"),
            cost=_read_cost(fields),
        )

    def shares(self) -> list[Share]:
        return [Share(self.dataset, self.analyst, self.cost)]


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
            dataset=_text(fields, "dataset"),
            analyst=_text(fields, "analyst"),
            answer=_text(fields, "answer"),
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
            dataset=_text(fields, "dataset"),
            analyst=_text(fields, "analyst"),
            reason=_text(fields, "reason"),
        )

    def shares(self) -> list[Share]:
        return [Share(self.dataset, self.analyst, NOTHING)]


@dataclass(frozen=True)
class Restored:
    """The steward accepted a ledger that is older than its head, or has lost it.

    What only the head knew to be spent is charged.
    """

    kind: ClassVar[str] = "restored"

    head: str | None
    charged: Mapping[str, Cost]

    def fields(self) -> Fields:
        charged = {dataset: _cost_fields(cost) for dataset, cost in self.charged.items()}
        return {"head": self.head, "charged": charged}

    @classmethod
    def read(cls, fields: Fields) -> Restored:
        head = None
        if fields["head"] is not None:
            head = _text(fields, "head")
        charged = {dataset: _read_cost(costs) for dataset, costs in fields["charged"].items()}
        return cls(head, MappingProxyType(charged))

    def shares(self) -> list[Share]:
        return [Share(dataset, None, cost) for dataset, cost in self.charged.items()]


Fact = (
    BudgetTerms
    | DatasetTerms
    | Reserved
    | Answered
    | Failed
    | Restored
    | Restated
    | ProtectionAccepted
)
Fate = Answered | Failed

_READERS: Mapping[str, Callable[[Fields], Fact]] = {
    each.kind: each.read
    for each in (
        BudgetTerms,
        DatasetTerms,
        Reserved,
        Answered,
        Failed,
        Restored,
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


# ---- the parts of facts


def rational(text: str) -> Fraction:
    """The number that was stored; LedgerError if it is not one of ours.

    >>> rational("1/3")
    Fraction(1, 3)
    """
    try:
        numerator, _, denominator = text.partition("/")
        if text.isascii() and numerator.isdigit() and (denominator or "1").isdigit():
            return Fraction(int(numerator), int(denominator or 1))
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        pass  # Whatever else stands there, the ledger did not write it.
    raise LedgerError(
        "the ledger holds an amount that is no number: verify it, and put back a backup"
    )


def epsilon_text(epsilon: Fraction | None) -> str:
    """An epsilon as it is stored: Gaussian noise has none."""
    if epsilon is None:
        return NO_EPSILON
    return str(epsilon)


def read_epsilon(text: str) -> Fraction | None:
    """The epsilon that was stored."""
    if text == NO_EPSILON:
        return None
    return rational(text)


def _text(fields: Fields, name: str) -> str:
    text = fields[name]
    if not isinstance(text, str):
        raise TypeError(f"{name} is no text")
    return text


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    texts = fields[name]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{name} are no texts")
    return tuple(texts)


def _protect_fields(protect: ProtectedChange | None) -> dict[str, str | int] | None:
    if protect is None:
        return None
    return protect_fields(protect)


def _read_protect(fields: Fields) -> ProtectedChange | None:
    if fields["protect"] is None:
        return None
    return read_protect(fields["protect"])


def _cost_fields(cost: Cost) -> dict[str, str]:
    return {"epsilon": epsilon_text(cost.epsilon), "rho": str(cost.rho)}


def _read_cost(fields: Fields) -> Cost:
    return Cost(read_epsilon(fields["epsilon"]), rational(fields["rho"]))
