"""What is left of the budgets, as a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from postri.exact import plain
from postri.ledger import DatasetUsage, Limits, Usage


@dataclass(frozen=True)
class DatasetBudget:
    """The budget of one dataset; `own` is what this analyst spent of it, `allowance` what this
    analyst may spend in all.
    """

    budget: Fraction
    spent: Fraction
    entries: int
    own: Fraction
    allowance: Fraction | None
    accountant: str

    @property
    def remaining(self) -> Fraction:
        """What is left for everybody."""
        return max(self.budget - self.spent, Fraction(0))

    def to_dict(self) -> dict[str, object]:
        """As plain values: rationals as text."""
        return {
            "budget": str(self.budget),
            "spent": str(self.spent),
            "remaining": str(self.remaining),
            "entries": self.entries,
        }

    def __str__(self) -> str:
        own = f"; you spent {plain(self.own)}" + (
            "" if self.allowance is None else f" of your {plain(self.allowance)}"
        )
        return f"{plain(self.remaining)} left of {plain(self.budget)} ({self.accountant}){own}"


class Budget(Mapping[str, DatasetBudget]):
    """The budgets of some datasets, by name."""

    def __init__(self, datasets: Mapping[str, DatasetBudget]) -> None:
        self._datasets = dict(datasets)

    def __getitem__(self, name: str) -> DatasetBudget:
        return self._datasets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._datasets)

    def __len__(self) -> int:
        return len(self._datasets)

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {name: each.to_dict() for name, each in self._datasets.items()}

    def __str__(self) -> str:
        return "\n".join(f"{name}: {each}" for name, each in self._datasets.items())

    def __repr__(self) -> str:
        return f"<Budget of {', '.join(self._datasets)}>"


def budget_of(
    limits: Mapping[str, Limits], usage: Mapping[str, DatasetUsage], analyst: str
) -> Budget:
    """What the ledger says, beside what the policy allows."""
    found = {}
    for name, each in limits.items():
        spent = usage.get(name, DatasetUsage())
        own = spent.analysts.get(analyst, Usage())
        epsilon = each.accountant.epsilon
        found[name] = DatasetBudget(
            each.budget,
            epsilon(spent.cost),
            spent.entries,
            epsilon(own.cost),
            each.allowance,
            str(each.accountant),
        )
    return Budget(found)
