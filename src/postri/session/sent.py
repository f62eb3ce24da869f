"""What a service sends of prices, budgets and past answers, and what a client makes of it again."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from postri.answer.forecast import Forecast, Plan, Reach, Unknown
from postri.answer.forms import read_result, result_fields
from postri.privacy import protect_fields, read_protect
from postri.question import Price, read_wording
from postri.session.budget import DatasetBudget
from postri.session.desk import PastAnswer


def price_fields(price: Price) -> dict[str, Any]:
    """A price with its forecasts, each in words and as numbers."""
    forecasts = {name: _forecast_fields(each) for name, each in price.forecasts.items()}
    return {**price.to_dict(), "forecasts": forecasts, "words": str(price)}


def read_price(fields: Mapping[str, Any]) -> Price:
    """The price that was sent."""
    epsilon, charged, remaining = (
        Fraction(fields[name]) for name in ("epsilon", "charged", "remaining")
    )
    forecasts = {name: _read_forecast(each) for name, each in fields["forecasts"].items()}
    return Price(epsilon, charged, remaining, fields["recorded"], fields["refused"], forecasts)


def _forecast_fields(forecast: Forecast) -> dict[str, Any]:
    words = {**forecast.to_dict(), "sentence": str(forecast)}
    if isinstance(forecast, Plan):
        more = {
            "p": str(forecast.p),
            "groups": forecast.groups,
            "protect": protect_fields(forecast.protect),
        }
        return {"kind": "plan", **words, **more, "reach_percentiles": 100 * forecast.reach}
    if isinstance(forecast, Reach):
        return {"kind": "reach", **words, "exact_reach": str(forecast.reach), "rows": forecast.rows}
    return {"kind": "unknown", **words}


def _read_forecast(fields: Mapping[str, Any]) -> Forecast:
    if fields["kind"] == "unknown":
        return Unknown()
    confidence = float(fields["confidence"])
    if fields["kind"] == "reach":
        return Reach(
            fields["statistic"], Fraction(fields["exact_reach"]), confidence, fields["rows"]
        )
    return Plan(
        fields["rows"],
        Fraction(fields["epsilon"]),
        float(fields["reach"]),
        Fraction(fields["p"]),
        confidence,
        read_protect(fields["protect"]),
        fields["groups"],
        fields["rows_needed"],
    )


def budget_fields(budget: DatasetBudget) -> dict[str, Any]:
    """The budget of a dataset, and the analyst's part in it."""
    allowance = None if budget.allowance is None else str(budget.allowance)
    return {
        **budget.to_dict(),
        "own": str(budget.own),
        "allowance": allowance,
        "accountant": budget.accountant,
    }


def read_budget(fields: Mapping[str, Any]) -> DatasetBudget:
    """The budget that was sent."""
    allowance = None if fields["allowance"] is None else Fraction(fields["allowance"])
    amounts = Fraction(fields["budget"]), Fraction(fields["spent"])
    return DatasetBudget(
        *amounts, fields["entries"], Fraction(fields["own"]), allowance, fields["accountant"]
    )


def past_fields(past: PastAnswer) -> dict[str, Any]:
    """A past answer as it was given, and the question in the form in which it may be asked again."""
    return {
        "answer_id": past.answer_id,
        "time": past.time,
        "dataset": past.dataset,
        "question": past.question.to_fields(),
        "epsilon": str(past.epsilon),
        "status": past.status,
        "reason": past.reason,
        "result": None if past.result is None else result_fields(past.result),
    }


def read_past(fields: Mapping[str, Any]) -> PastAnswer:
    """The past answer that was sent."""
    return PastAnswer(
        fields["answer_id"],
        fields["time"],
        fields["dataset"],
        read_wording(fields["question"]),
        Fraction(fields["epsilon"]),
        fields["status"],
        fields["reason"],
        None if fields["result"] is None else read_result(fields["result"]),
    )
