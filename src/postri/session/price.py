"""What a question would cost, and how far its intervals will reach: from the policy and the ledger
alone.

No table is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from postri.agg import Aggregate, Count, Mean, Quantile
from postri.answer import Plan
from postri.answer.words import plan_words
from postri.asking import Asked
from postri.domain import position
from postri.errors import BudgetExceeded
from postri.exact import plain
from postri.ledger import Cost, Limits
from postri.ledger import Request as LedgerRequest
from postri.ledger.limits import check_limits
from postri.session.question import Question
from postri.statistics.count import Ask, count_noise
from postri.statistics.sum import sum_noise

DIGITS = 4


@dataclass(frozen=True)
class Reach:
    """How far the interval of a count, sum or mean reaches to each side; of a mean at most, if
    there are about as many rows as said.
    """

    statistic: str
    reach: Fraction
    confidence: float
    rows: int | None = None

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {
            "statistic": self.statistic,
            "reach": float(self.reach),
            "confidence": self.confidence,
        }

    def __str__(self) -> str:
        number = (
            f"{float(self.reach):,.{DIGITS}g}"
            if self.rows is not None
            else f"{float(self.reach):,.10g}"
        )
        words = (
            f"the {self.confidence * 100:.10g}% interval of the {self.statistic} will reach "
            f"{number} to each side"
        )
        return (
            words
            if self.rows is None
            else f"{words} at most, if there are about {self.rows:,} rows"
        )


@dataclass(frozen=True)
class Unknown:
    """No forecast: the policy does not say about how many rows there are."""

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {"unknown": str(self)}

    def __str__(self) -> str:
        return (
            "how far the interval will reach depends on the number of rows, which the policy "
            "does not tell"
        )


Forecast = Plan | Reach | Unknown


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
            [first, *(f"{name}: {_words(each)}" for name, each in self.forecasts.items())]
        )


def _words(each: Forecast) -> str:
    return plan_words(each) if isinstance(each, Plan) else str(each)


def price_of(
    question: Question,
    request: LedgerRequest,
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
        None if recorded else _refusal(request, limits, on_dataset, by_analyst),
        {
            name: _forecast(question, question.request.asked[place])
            for name, place in zip(question.names, question.places, strict=True)
        },
    )


def _refusal(
    request: LedgerRequest, limits: Limits, on_dataset: Cost, by_analyst: Cost
) -> str | None:
    try:
        check_limits(request, limits, on_dataset, by_analyst)
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
        if rows is None:
            return Unknown()
        terms = request.question(aggregate.p, asked.epsilon, question.groups)
        plan = request.method.forecast(
            terms, rows=rows, groups=question.groups, domain=aggregate.domain
        )
        return plan or Unknown()
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
