"""What the steward says of a dataset, as facts: its terms, and what follows from them for earlier
spends when it protects something else.

The law of `entries.py` governs these too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

from postri.cost import NOTHING, Cost
from postri.ledger.accountants import ZCDP, Accountant, Pure
from postri.ledger.parts import (
    Fields,
    Share,
    cost_fields,
    fields_of_protect,
    protect_of,
    rational,
    read_cost,
    text_of,
    texts_of,
)
from postri.privacy import ProtectedChange, read_protect


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
            dataset=text_of(fields, "dataset"),
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
            "protect": fields_of_protect(self.protect),
            "places": list(self.places),
            "same_people": list(self.same_people),
        }

    @classmethod
    def read(cls, fields: Fields) -> DatasetTerms:
        return replace(
            cls.of(BudgetTerms.read(fields)),
            protect=protect_of(fields),
            places=texts_of(fields, "places"),
            same_people=texts_of(fields, "same_people"),
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
            "protect": fields_of_protect(self.protect),
            **cost_fields(self.cost),
        }

    @classmethod
    def read(cls, fields: Fields) -> Restated:
        analyst = None
        if fields["analyst"] is not None:
            analyst = text_of(fields, "analyst")
        return cls(
            dataset=text_of(fields, "dataset"),
            analyst=analyst,
            protect=read_protect(fields["protect"]),
            cost=read_cost(fields),
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
        return {"dataset": self.dataset, "protect": fields_of_protect(self.protect)}

    @classmethod
    def read(cls, fields: Fields) -> ProtectionAccepted:
        return cls(text_of(fields, "dataset"), read_protect(fields["protect"]))

    def shares(self) -> list[Share]:
        return [Share(self.dataset, None, NOTHING)]
