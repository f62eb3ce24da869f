"""What a question would cost, and how far its intervals will reach: from the policy and the ledger
alone.

No table is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from postri.answer.forecast import EXPECT, ExpectedRows, Forecast, Unknown
from postri.cost import Cost
from postri.errors import BudgetExceeded
from postri.exact import plain
from postri.question.expected import PublicRows
from postri.question.normal_form import DatasetQuestion

if TYPE_CHECKING:
    from postri.ledger import Accountant, Charge, Limits

# Letters of an epsilon that is told as it is.
BRIEF = 8


@dataclass(frozen=True)
class Price:
    """What a question costs, and how far its intervals will reach.

    `charged` is nothing if its answer is `recorded`. `refused` says why it would be, `remaining`
    what is left.
    """

    epsilon: Fraction
    charged: Fraction
    remaining: Fraction
    recorded: bool
    refused: str | None
    forecasts: Mapping[str, Forecast]

    def to_dict(self) -> dict[str, object]:
        """As plain values: rationals as text."""
        return {
            "epsilon": str(self.epsilon),
            "charged": str(self.charged),
            "remaining": str(self.remaining),
            "recorded": self.recorded,
            "refused": self.refused,
            "forecasts": {name: each.to_dict() for name, each in self.forecasts.items()},
        }

    def __str__(self) -> str:
        return self.told(EXPECT)

    def _repr_html_(self) -> str:
        from postri.answer.notebook import spent_bar, table

        first, *forecasts = str(self).split("\n")
        rows: list[tuple[str, ...]] = [tuple(words.split(": ", 1)) for words in forecasts]
        if self.remaining > 0:
            bar = spent_bar(self.remaining, Fraction(0), self.charged)
            rows.insert(0, ("of what is left", bar))
        return table(("the question", first), rows)

    def told(self, how: str) -> str:
        """As lines of text, with the way to tell about how many rows match in the place where they
        are read.
        """
        cost = f"costs epsilon {brief(self.charged)}"
        if self.recorded:
            cost = "is recorded: costs nothing now"
        first = f"{cost}, of {brief(self.remaining)} that is left"
        if self.refused:
            first += f"; would be refused: {self.refused}"
        forecasts = []
        for name, forecast in self.forecasts.items():
            words = str(forecast)
            if isinstance(forecast, Unknown):
                words = forecast.told(how)
            forecasts.append(f"{name}: {words}")
        return "\n".join([first, *forecasts])


def brief(epsilon: Fraction) -> str:
    """An epsilon as people write it; that of zCDP has more digits than anybody needs.

    >>> brief(Fraction("0.125")), brief(Fraction("1.234567891234"))
    ('0.125', '1.23457')
    """
    text = plain(epsilon)
    if len(text) <= BRIEF:
        return text
    return f"{float(epsilon):.6g}"


def price_of(
    question: DatasetQuestion,
    charge: Charge,
    limits: Limits,
    on_dataset: Cost,
    by_analyst: Cost,
    *,
    recorded: bool,
    refused: str | None = None,
    expect: int | None = None,
) -> Price:
    """The price, by what is spent already on the dataset and by the analyst.

    `refused` says why any question would be refused now, whatever it costs. `expect` is the
    analyst's word on about how many rows match.
    """
    left = limits.budget - limits.accountant.epsilon(on_dataset)
    if limits.allowance is not None:
        left = min(left, limits.allowance - limits.accountant.epsilon(by_analyst))
    charged = added(charge.cost, on_dataset, limits.accountant)
    if recorded:
        charged = Fraction(0)
        refused = None
    elif refused is None:
        refused = _refusal(charge, limits, on_dataset, by_analyst)
    forecasts = {}
    for name, place in zip(question.aggregates, question.places, strict=True):
        asked = question.asked[place]
        rows = expected_rows(question, expect, filtered=asked.statistic.where is not None)
        for suffix, forecast in asked.forecasts(rows).items():
            forecasts[name + suffix] = forecast
    remaining = max(left, Fraction(0))
    return Price(question.epsilon, charged, remaining, recorded, refused, forecasts)


def expected_rows(
    question: DatasetQuestion, expect: int | None, *, filtered: bool = False
) -> ExpectedRows | Unknown:
    """About how many rows count, from the policy's numbers and the analyst's word alone.

    `filtered` says that a statistic has a filter of its own.
    """
    dataset = question.dataset
    public = PublicRows(dataset.rows, dataset.units, expect)
    # Nobody knows into how many groups the rows are divided where keys are found.
    unknown = question.groups is not None and question.groups.unknown is not None
    filtered = filtered or unknown or question.where is not None
    groups = question.asked[0].terms.groups
    return public.expected(dataset.protect, groups, filtered=filtered)


def added(cost: Cost, before: Cost, accountant: Accountant) -> Fraction:
    """What a question is said to cost: its epsilon; with Gaussian noise, which has none, what it
    adds to what was spent before.
    """
    if cost.epsilon is not None:
        return cost.epsilon
    return accountant.epsilon(before + cost) - accountant.epsilon(before)


def _refusal(charge: Charge, limits: Limits, on_dataset: Cost, by_analyst: Cost) -> str | None:
    from postri.ledger.charges import check_limits

    try:
        check_limits(charge, limits, on_dataset, by_analyst)
    except BudgetExceeded as refused:
        return str(refused)
    return None
