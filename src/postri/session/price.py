"""What a question would cost, and how far its intervals will reach: from the policy and the ledger
alone.

No table is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from postri.agg import Aggregate, Count, Mean, Quantile
from postri.answer.forecast import Forecast, Reach, Unknown
from postri.asking import Asked
from postri.domain import position
from postri.errors import BudgetExceeded
from postri.exact import plain
from postri.ledger import Charge, Cost, Limits
from postri.ledger.charges import check_limits
from postri.methods.depth import Depth
from postri.methods.plan import forecast
from postri.session.question import Question
from postri.statistics.count import Ask, count_noise
from postri.statistics.sum import sum_noise


@dataclass(frozen=True)
class Price:
    """What a question costs:

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
        cost = (
            "is recorded: costs nothing now"
            if self.recorded
            else f"costs epsilon {plain(self.charged)}"
        )
        first = f"{cost}, of {plain(self.remaining)} that is left" + (
            f"; would be refused: {self.refused}" if self.refused else ""
        )
        return "\n".join(
            [first, *(f"{name}: {each}" for name, each in self.forecasts.items())]
        )


def price_of(
    question: Question,
    charge: Charge,
    limits: Limits,
    on_dataset: Cost,
    by_analyst: Cost,
    *,
    recorded: bool,
) -> Price:
    """The price, by what is spent already."""
    left = [limits.budget - limits.accountant.epsilon(on_dataset)]
    if limits.allowance is not None:
        left.append(limits.allowance - limits.accountant.epsilon(by_analyst))
    epsilon = question.request.epsilon
    return Price(
        epsilon,
        Fraction(0) if recorded else epsilon,
        max(min(left), Fraction(0)),
        recorded,
        None if recorded else _refusal(charge, limits, on_dataset, by_analyst),
        {
            name: _forecast(question, question.request.asked[place])
            for name, place in zip(question.names, question.places, strict=True)
        },
    )


def _refusal(charge: Charge, limits: Limits, on_dataset: Cost, by_analyst: Cost) -> str | None:
    try:
        check_limits(charge, limits, on_dataset, by_analyst)
    except BudgetExceeded as refused:
        return str(refused)
    return None


def _forecast(question: Question, asked: Asked) -> Forecast:
    rows, aggregate, request = question.dataset.rows, asked.aggregate, question.request
    ask = Ask(
        asked.epsilon,
        request.beta(question.groups),
        request.confidence,
        request.protect,
        question.groups,
    )
    if isinstance(aggregate, Count):
        return Reach(
            "count",
            Fraction(count_noise(ask, asked.epsilon).reach(ask.beta)),
            float(request.confidence),
        )
    if isinstance(aggregate, Quantile):
        method = request.method
        if rows is None or not isinstance(method, Depth):
            return Unknown()
        each = request.question(aggregate.p, asked.epsilon, question.groups)
        return forecast(
            each, method, rows=rows, groups=question.groups, domain=aggregate.domain, reach=None
        )
    lower, upper, step = _bounds(aggregate)
    if not isinstance(aggregate, Mean):
        unit, noise = sum_noise(lower, upper, step, ask, asked.epsilon)
        return Reach("sum", unit * noise.reach(ask.beta), float(request.confidence))
    if rows is None:
        return Unknown()
    half, part = (upper - lower) / 2, asked.epsilon / 2
    unit, noise = sum_noise(-half, half, step, ask, part)
    most, each_rows = count_noise(ask, part).reach(ask.beta / 2), rows // question.groups
    reach = (unit * noise.reach(ask.beta / 2) + half * most) / max(each_rows - most, 1)
    return Reach("mean", min(reach, upper - lower), float(request.confidence), each_rows)


def _bounds(aggregate: Aggregate) -> tuple[Fraction, Fraction, Fraction]:
    domain = getattr(aggregate, "domain", None)
    assert domain is not None
    return position(domain.lower), position(domain.upper), Fraction(domain.step)
