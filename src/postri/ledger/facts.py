"""The kinds of facts that the ledger keeps, each with its JSON and with what it charges to whom."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar

from postri.cost import NOTHING, Cost
from postri.errors import LedgerError
from postri.ledger.accountants import ZCDP, Accountant, Pure
from postri.ledger.entry import canonical
from postri.ledger.rationals import rational

Fields = dict[str, Any]


@dataclass(frozen=True)
class Share:
    """A part in an entry: it counts for this dataset, and for this analyst if there is one, and
    charges them this cost.
    """

    dataset: str
    analyst: str | None
    cost: Cost


@dataclass(frozen=True)
class Terms:
    """The steward's limits of a dataset from here on."""

    kind: ClassVar[str] = "budget"

    dataset: str
    budget: Fraction
    accountant: Accountant
    per_question: Fraction | None
    allowances: Mapping[str, Fraction]

    def fields(self) -> Fields:
        return {
            "dataset": self.dataset,
            "budget": str(self.budget),
            "accountant": "pure" if isinstance(self.accountant, Pure) else "zcdp",
            "delta": None if isinstance(self.accountant, Pure) else str(self.accountant.delta),
            "per_question": None if self.per_question is None else str(self.per_question),
            "allowances": {analyst: str(amount) for analyst, amount in self.allowances.items()},
        }

    @classmethod
    def read(cls, fields: Fields) -> Terms:
        accountant = Pure() if fields["accountant"] == "pure" else ZCDP(rational(fields["delta"]))
        per_question = None if fields["per_question"] is None else rational(fields["per_question"])
        allowances = MappingProxyType(
            {analyst: rational(amount) for analyst, amount in fields["allowances"].items()}
        )
        (dataset,) = _texts(fields, "dataset")
        return cls(dataset, rational(fields["budget"]), accountant, per_question, allowances)

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
        words = {
            "dataset": self.dataset,
            "version": self.version,
            "analyst": self.analyst,
            "key": self.key,
        }
        return {**words, "analyst_text": self.analyst_text, **_costs(self.cost)}

    @classmethod
    def read(cls, fields: Fields) -> Reserved:
        dataset, version, analyst, key, text = _texts(
            fields, "dataset", "version", "analyst", "key", "analyst_text"
        )
        return cls(dataset, version, analyst, key, text, _cost(fields))

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
        return cls(int(fields["reservation"]), *_texts(fields, "dataset", "analyst", "answer"))

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
        return cls(int(fields["reservation"]), *_texts(fields, "dataset", "analyst", "reason"))

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
        return {
            "head": self.head,
            "charged": {dataset: _costs(cost) for dataset, cost in self.charged.items()},
        }

    @classmethod
    def read(cls, fields: Fields) -> Restored:
        head = None if fields["head"] is None else _texts(fields, "head")[0]
        return cls(
            head,
            MappingProxyType(
                {dataset: _cost(costs) for dataset, costs in fields["charged"].items()}
            ),
        )

    def shares(self) -> list[Share]:
        return [Share(dataset, None, cost) for dataset, cost in self.charged.items()]


Fact = Terms | Reserved | Answered | Failed | Restored
Fate = Answered | Failed

_READERS: Mapping[str, Callable[[Fields], Fact]] = {
    each.kind: each.read for each in (Terms, Reserved, Answered, Failed, Restored)
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


def _texts(fields: Fields, *names: str) -> list[str]:
    """These fields, which must be texts."""
    texts = [fields[name] for name in names]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is missing")
    return texts


def _costs(cost: Cost) -> dict[str, str]:
    return {"epsilon": str(cost.epsilon), "rho": str(cost.rho)}


def _cost(fields: Fields) -> Cost:
    return Cost(rational(fields["epsilon"]), rational(fields["rho"]))
