"""What an analyst may know of a dataset without a question: its public facts, and what is left of
its budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from postri.domain import Domain
from postri.engines.rows import Key
from postri.exact import plain
from postri.ledger import ZCDP, Accountant, DatasetUsage, Limits, People, Pure
from postri.policy import Dataset
from postri.privacy import ProtectedChange

# How many keys of a column are listed.
MOST_KEYS = 8


@dataclass(frozen=True)
class ColumnFacts:
    """A column that may be asked about, with its domain and its public keys if it has them. Those
    of one that says `discover` are found by a question that is divided by it.
    """

    name: str
    type: str
    domain: Domain | None
    keys: tuple[Key, ...] | None
    discover: bool = False

    def __str__(self) -> str:
        line = f"{self.name}: {self.type}"
        if self.domain:
            line += f", {self.domain}"
        if self.keys:
            line += f", keys {', '.join(map(str, self.keys[:MOST_KEYS]))}"
            if len(self.keys) > MOST_KEYS:
                line += ", ..."
        if self.discover:
            line += ", keys that are found"
        return line


@dataclass(frozen=True)
class DatasetFacts:
    """A dataset as analysts know it. Where its data are is not a part of it."""

    name: str
    version: str
    rows: int | None
    units: int | None
    budget: Fraction
    accountant: str
    delta: Fraction | None
    max_epsilon_per_question: Fraction | None
    min_epsilon: Fraction
    protect: ProtectedChange
    columns: Mapping[str, ColumnFacts]

    def __str__(self) -> str:
        rows = "" if self.rows is None else f", about {self.rows:,} rows"
        first = f"{self.name}: version {self.version}{rows}, protects {self.protect}"
        return "\n".join([first, *(f"  {column}" for column in self.columns.values())])


def facts_of(dataset: Dataset) -> DatasetFacts:
    """The public part of what a policy says of a dataset."""
    columns = {
        name: ColumnFacts(name, column.type, column.domain, column.keys, column.discover)
        for name, column in dataset.columns.items()
    }
    return DatasetFacts(
        name=dataset.name,
        version=dataset.version,
        rows=dataset.rows,
        units=dataset.units,
        budget=dataset.budget,
        accountant=dataset.accountant,
        delta=dataset.delta,
        max_epsilon_per_question=dataset.max_epsilon_per_question,
        min_epsilon=dataset.least_epsilon,
        protect=dataset.protect,
        columns=columns,
    )


# ---- budgets


@dataclass(frozen=True)
class DatasetBudget:
    """The budget of one dataset; `own` is what this analyst spent of it, `allowance` what this
    analyst may spend in all. While it is `closed`, no question is answered anew.
    """

    budget: Fraction
    spent: Fraction
    entries: int
    own: Fraction
    allowance: Fraction | None
    accountant: str
    closed: bool = False

    @property
    def remaining(self) -> Fraction:
        """What is left for everybody."""
        # A steward may lower a budget below what was spent.
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
        everybody = f"{plain(self.remaining)} left of {plain(self.budget)} ({self.accountant})"
        own = f"you spent {plain(self.own)}"
        if self.allowance is not None:
            own += f" of your {plain(self.allowance)}"
        words = f"{everybody}; {own}"
        if self.closed:
            words += "; closed until the steward opens it again"
        return words


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
        """As plain values: rationals as text."""
        return {name: each.to_dict() for name, each in self._datasets.items()}

    def __str__(self) -> str:
        return "\n".join(f"{name}: {each}" for name, each in self._datasets.items())

    def __repr__(self) -> str:
        return f"<Budget of {', '.join(self._datasets)}>"

    def _repr_html_(self) -> str:
        from postri.answer.notebook import spent_bar, table

        rows = [
            (name, spent_bar(each.budget, each.spent), str(each))
            for name, each in self._datasets.items()
        ]
        return table(("dataset", "spent", "what is left"), rows)


def budget_of(limits: Limits, usage: DatasetUsage, analyst: str, failed: int = 0) -> DatasetBudget:
    """What the ledger says was spent, and how many questions failed since the dataset was last
    opened, beside what the policy allows.
    """
    accountant = limits.accountant
    return DatasetBudget(
        budget=limits.budget,
        spent=accountant.epsilon(usage.cost),
        entries=usage.entries,
        own=accountant.epsilon(usage.of(analyst).cost),
        allowance=limits.allowance,
        accountant=str(accountant),
        closed=limits.failures is not None and failed >= limits.failures,
    )


def limits_of(
    dataset: Dataset, people: People, analyst: str, allowance: Fraction | None = None
) -> Limits:
    """What the policy lets an analyst spend on a dataset about these people.

    `allowance` is another bound on it, such as a token's: the smaller one binds.
    """
    allowances = [dataset.allowances.get(analyst), allowance]
    return Limits(
        budget=dataset.budget,
        accountant=accountant_of(dataset),
        per_question=dataset.max_epsilon_per_question,
        allowance=min((each for each in allowances if each is not None), default=None),
        questions=dataset.questions,
        failures=dataset.max_failures,
        people=people,
    )


def accountant_of(dataset: Dataset) -> Accountant:
    """The accountant that the policy names."""
    if dataset.delta is None:
        return Pure()
    return ZCDP(dataset.delta)
