"""What earlier spends were made under, and what they count for under another protection.

The terms in force when a question is reserved say what its cost protects. `Protections` follows
from the entries alone: it takes them in order, and keeps what each analyst spent under each
protection. Under another one a cost counts as group privacy says (Theorem 21): the difference to
what is charged already is charged by an entry `restated`. So lowering a protection and raising it
again multiplies nothing twice.

Spends under terms that record no protection, as those of older versions, count as made under the
first one that is recorded after them. Nobody knows better: the ledger was not told, and to refuse
every ledger of an older version would teach stewards to accept without looking.
"""

from __future__ import annotations

from collections.abc import Iterator

from postri.cost import NOTHING, Cost
from postri.errors import TermsRefused
from postri.ledger.entries import FIRST_HASH, Fact, Reserved, Restored
from postri.ledger.terms import BudgetTerms, DatasetTerms, ProtectionAccepted, Restated
from postri.privacy import ProtectedChange, group_factor

Under = dict[ProtectedChange | None, Cost]


class Protections:
    """What was spent under which protection, by dataset and analyst; None stands for what belongs
    to no analyst, and for a protection that nobody recorded.

    `number` and `hash` are those of the last entry that was taken.
    """

    def __init__(self) -> None:
        self.number = 0
        self.hash = FIRST_HASH
        self._in_force: dict[str, ProtectedChange | None] = {}
        self._spent: dict[str, dict[str | None, Under]] = {}
        self._restated: dict[tuple[str, str | None], Cost] = {}

    def add(self, fact: Fact) -> None:
        """One more fact, in the order of the entries."""
        match fact:
            case DatasetTerms(protect=protect) if protect is not None:
                self._set(fact.dataset, protect)
            case BudgetTerms():
                # Terms that say nothing of it leave it as it was.
                pass
            case Reserved():
                self._spend(fact.dataset, fact.analyst, fact.cost)
            case Restored():
                for dataset, cost in fact.charged.items():
                    self._spend(dataset, None, cost)
            case Restated():
                charged = self._restated.get((fact.dataset, fact.analyst), NOTHING)
                self._restated[fact.dataset, fact.analyst] = charged + fact.cost
            case ProtectionAccepted():
                self._accept(fact.dataset, fact.protect)
            case _:
                pass

    def _set(self, dataset: str, protect: ProtectedChange) -> None:
        self._in_force[dataset] = protect
        for under in self._spent.get(dataset, {}).values():
            if None in under:
                under[protect] = under.get(protect, NOTHING) + under.pop(None)

    def _spend(self, dataset: str, analyst: str | None, cost: Cost) -> None:
        under = self._spent.setdefault(dataset, {}).setdefault(analyst, {})
        protect = self._in_force.get(dataset)
        under[protect] = under.get(protect, NOTHING) + cost

    def _accept(self, dataset: str, protect: ProtectedChange) -> None:
        for analyst, under in self._spent.get(dataset, {}).items():
            total = sum(under.values(), self._restated.pop((dataset, analyst), NOTHING))
            under.clear()
            under[protect] = total

    def restatements(
        self, dataset: str, protect: ProtectedChange, asked: str | None = None
    ) -> Iterator[Restated]:
        """What must be charged before a dataset is asked under this protection: itself, or another
        one about the same people.

        TermsRefused if no number tells what some spend means under it.
        """
        for analyst, under in self._spent.get(dataset, {}).items():
            charged = sum(under.values(), self._restated.get((dataset, analyst), NOTHING))
            needed = NOTHING
            for before, cost in under.items():
                factor = _factor(asked or dataset, before, protect)
                if factor > 1 and cost.delta:
                    raise TermsRefused(_no_number(asked or dataset, before, protect))
                needed += cost.for_group(factor)
            extra = charged.lacking(needed)
            if extra != NOTHING:
                yield Restated(dataset, analyst, protect, extra)


def _factor(dataset: str, before: ProtectedChange | None, now: ProtectedChange) -> int:
    if before is None:
        return 1
    factor = group_factor(before, now)
    if factor is None:
        raise TermsRefused(_no_number(dataset, before, now))
    return factor


def _no_number(dataset: str, before: ProtectedChange | None, now: ProtectedChange) -> str:
    return (
        f"dataset {dataset!r} is to protect {now}, and answers about the same people were "
        f"given that protect {before}: no number tells what those cost by the new measure; "
        "write the earlier protect again, or accept that they count as they stand, by postri "
        f"budget --accept-protection {dataset}; nothing was spent"
    )
