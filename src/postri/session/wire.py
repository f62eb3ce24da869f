"""What a service sends of its sessions, and what a client makes of it again.

Each shape is written once, as a typed dictionary beside the function that writes it and the one
that reads it back; the service's description is derived from these. Rationals are texts, for JSON
has none. Errors are problem details (RFC 9457).

What reads raises ValueError, KeyError or TypeError for fields of another form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NotRequired, TypedDict, cast

from postri.answer.forecast import Forecast, Plan, Reach, Unknown
from postri.answer.forms import PaidResult, read_result, result_fields
from postri.answer.population import Covers
from postri.domain import Domain
from postri.engines.rows import Key
from postri.errors import (
    BudgetExceeded,
    DatasetClosed,
    EngineError,
    InputError,
    LedgerError,
    PostriError,
    QuestionFailed,
    QuestionsExceeded,
    RetryKeyUsed,
    ServiceError,
    SourceError,
)
from postri.privacy import protect_fields, read_protect
from postri.question import Price, read_wording
from postri.question.planning import (
    Merge,
    PlannedQuestion,
    PlannedTotal,
    QuestionPlan,
    plain_fields,
)
from postri.session.facts import ColumnFacts, DatasetBudget, DatasetFacts
from postri.session.session import PastAnswer, Status

# ---- datasets


class ColumnFields(TypedDict):
    """A column that may be asked about."""

    name: str
    type: str
    lower: Any
    upper: Any
    step: str | None
    keys: list[Any] | None
    discover: bool


class DatasetFields(TypedDict):
    """What is public of a dataset."""

    name: str
    version: str
    rows: int | None
    units: int | None
    accountant: str
    budget: str
    delta: str | None
    max_epsilon_per_question: str | None
    min_epsilon: str
    protects: str
    protect: dict[str, Any]
    columns: list[ColumnFields]


class DatasetsFields(TypedDict):
    """All datasets."""

    datasets: list[DatasetFields]


# JSON has no dates and no decimals: keys of such columns are texts on the wire.
KEY_READERS: Mapping[str, Callable[[Any], Key]] = {
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "decimal": Decimal,
}


def datasets_fields(datasets: Iterable[DatasetFacts]) -> DatasetsFields:
    """All datasets, in the policy's order."""
    return {"datasets": [dataset_fields(facts) for facts in datasets]}


def read_datasets(fields: Mapping[str, Any]) -> dict[str, DatasetFacts]:
    """The datasets that were sent, by name."""
    return {each["name"]: read_dataset(each) for each in fields["datasets"]}


def dataset_fields(facts: DatasetFacts) -> DatasetFields:
    """The public facts of a dataset."""
    return {
        "name": facts.name,
        "version": facts.version,
        "rows": facts.rows,
        "units": facts.units,
        "accountant": facts.accountant,
        "budget": str(facts.budget),
        "delta": _rational_text(facts.delta),
        "max_epsilon_per_question": _rational_text(facts.max_epsilon_per_question),
        "min_epsilon": str(facts.min_epsilon),
        "protects": str(facts.protect),
        "protect": protect_fields(facts.protect),
        "columns": [_column_fields(column) for column in facts.columns.values()],
    }


def read_dataset(fields: Mapping[str, Any]) -> DatasetFacts:
    """The facts that were sent."""
    columns = [_read_column(column) for column in fields["columns"]]
    return DatasetFacts(
        name=fields["name"],
        version=fields["version"],
        rows=fields["rows"],
        units=fields["units"],
        budget=Fraction(fields["budget"]),
        accountant=fields["accountant"],
        delta=_read_rational(fields["delta"]),
        max_epsilon_per_question=_read_rational(fields["max_epsilon_per_question"]),
        min_epsilon=Fraction(fields["min_epsilon"]),
        protect=read_protect(fields["protect"]),
        columns={column.name: column for column in columns},
    )


def _column_fields(column: ColumnFacts) -> ColumnFields:
    fields: ColumnFields = {
        "name": column.name,
        "type": column.type,
        "lower": None,
        "upper": None,
        "step": None,
        "keys": None,
        "discover": column.discover,
    }
    if column.domain is not None:
        fields["lower"] = column.domain.lower
        fields["upper"] = column.domain.upper
        fields["step"] = str(column.domain.step)
    if column.keys is not None:
        fields["keys"] = list(column.keys)
    return fields


def _read_column(fields: Mapping[str, Any]) -> ColumnFacts:
    domain = None
    if fields["step"] is not None:
        domain = Domain(fields["lower"], fields["upper"], fields["step"])
    keys = fields["keys"]
    if keys is not None:
        keys = tuple(keys)
        if fields["type"] in KEY_READERS:
            keys = tuple(map(KEY_READERS[fields["type"]], keys))
    # A service of before has none whose keys are found.
    discover = fields.get("discover", False) is True
    return ColumnFacts(fields["name"], fields["type"], domain, keys, discover)


def _rational_text(number: Fraction | None) -> str | None:
    if number is None:
        return None
    return str(number)


def _read_rational(text: str | None) -> Fraction | None:
    if text is None:
        return None
    return Fraction(text)


# ---- prices

# How a request tells about how many rows match.
EXPECT = '"expect": 30000'


class PlanFields(TypedDict):
    """The forecast of a quantile, in ranks: how far its interval will reach on average."""

    kind: Literal["plan"]
    rows: int
    most_rows: int | None
    epsilon: str
    reach: float
    low: float
    high: float
    enough: bool
    rows_needed: int
    confidence: float
    protects: str
    sentence: str
    p: str
    groups: int
    protect: dict[str, Any]
    reach_percentiles: float
    covers: Covers


class ReachFields(TypedDict):
    """The forecast of a count, sum or mean, in its own unit."""

    kind: Literal["reach"]
    statistic: str
    reach: float
    confidence: float
    sentence: str
    exact_reach: str
    rows: int | None
    groups: int


class UnknownFields(TypedDict):
    """No forecast: nobody has told what is `missing`; `expect` of the question tells it."""

    kind: Literal["unknown"]
    unknown: str
    sentence: str
    missing: str
    groups: int
    unit: str | None
    most: int | None


ForecastFields = PlanFields | ReachFields | UnknownFields


class PriceFields(TypedDict):
    """What a question would cost."""

    epsilon: str
    charged: str
    remaining: str
    recorded: bool
    refused: str | None
    forecasts: dict[str, ForecastFields]
    words: str


def price_fields(price: Price) -> PriceFields:
    """A price with its forecasts, each in words and as numbers."""
    return {
        "epsilon": str(price.epsilon),
        "charged": str(price.charged),
        "remaining": str(price.remaining),
        "recorded": price.recorded,
        "refused": price.refused,
        "forecasts": {name: _forecast_fields(each) for name, each in price.forecasts.items()},
        "words": price.told(EXPECT),
    }


def read_price(fields: Mapping[str, Any]) -> Price:
    """The price that was sent."""
    return Price(
        epsilon=Fraction(fields["epsilon"]),
        charged=Fraction(fields["charged"]),
        remaining=Fraction(fields["remaining"]),
        recorded=fields["recorded"],
        refused=fields["refused"],
        forecasts={name: _read_forecast(each) for name, each in fields["forecasts"].items()},
    )


def _forecast_fields(forecast: Forecast) -> ForecastFields:
    if isinstance(forecast, Plan):
        return {
            "kind": "plan",
            "rows": forecast.rows,
            "most_rows": forecast.most_rows,
            "epsilon": str(forecast.epsilon),
            "reach": forecast.reach,
            "low": forecast.low,
            "high": forecast.high,
            "enough": forecast.enough,
            "rows_needed": forecast.rows_needed,
            "confidence": forecast.confidence,
            "protects": str(forecast.protect),
            "sentence": str(forecast),
            "p": str(forecast.p),
            "groups": forecast.groups,
            "protect": protect_fields(forecast.protect),
            "reach_percentiles": 100 * forecast.reach,
            "covers": forecast.covers,
        }
    if isinstance(forecast, Reach):
        return {
            "kind": "reach",
            "statistic": forecast.statistic,
            "reach": float(forecast.reach),
            "confidence": forecast.confidence,
            "sentence": str(forecast),
            "exact_reach": str(forecast.reach),
            "rows": forecast.rows,
            "groups": forecast.groups,
        }
    return {
        "kind": "unknown",
        "unknown": f"tell {forecast.missing}",
        "sentence": forecast.told(EXPECT),
        "missing": forecast.missing,
        "groups": forecast.groups,
        "unit": forecast.unit,
        "most": forecast.most,
    }


def _read_forecast(fields: Mapping[str, Any]) -> Forecast:
    if fields["kind"] == "unknown":
        return Unknown(fields["groups"], fields["unit"], fields["most"])
    if fields["kind"] == "reach":
        return Reach(
            statistic=fields["statistic"],
            reach=Fraction(fields["exact_reach"]),
            confidence=float(fields["confidence"]),
            rows=fields["rows"],
            groups=fields["groups"],
        )
    return Plan(
        rows=fields["rows"],
        epsilon=Fraction(fields["epsilon"]),
        reach=float(fields["reach"]),
        p=Fraction(fields["p"]),
        confidence=float(fields["confidence"]),
        protect=read_protect(fields["protect"]),
        groups=fields["groups"],
        rows_needed=fields["rows_needed"],
        most_rows=fields["most_rows"],
        covers=fields["covers"],
    )


# ---- plans


class PlannedFields(TypedDict):
    """One question of a plan. `repeats` is the number of an earlier one, counted from 1."""

    words: str
    dataset: str
    pure: str
    zcdp: str
    repeats: int | None
    price: PriceFields


class TotalFields(TypedDict):
    """What all questions to a dataset cost together, under each accountant."""

    pure: str
    zcdp: str
    delta: str
    merged_pure: str
    merged_zcdp: str
    accountant: str
    remaining: str


class MergeFields(TypedDict):
    """Quantiles that cost less as one distribution."""

    dataset: str
    column: str
    questions: list[int]
    aggregates: list[str]
    epsilon: str
    saved: str


class QuestionPlanFields(TypedDict):
    """What some questions cost, each and together, and which to merge."""

    questions: list[PlannedFields]
    totals: dict[str, TotalFields]
    merges: list[MergeFields]
    words: str


def plan_fields(plan: QuestionPlan) -> QuestionPlanFields:
    """A plan, in words and as numbers."""
    fields = {
        "questions": [
            {**plain_fields(each), "price": price_fields(each.price)} for each in plan.questions
        ],
        "totals": {name: plain_fields(each) for name, each in plan.totals.items()},
        "merges": [plain_fields(each) for each in plan.merges],
        "words": str(plan),
    }
    return cast("QuestionPlanFields", fields)


def read_plan(fields: Mapping[str, Any]) -> QuestionPlan:
    """The plan that was sent."""
    return QuestionPlan(
        questions=tuple(
            PlannedQuestion(
                words=each["words"],
                dataset=each["dataset"],
                price=read_price(each["price"]),
                pure=Fraction(each["pure"]),
                zcdp=Fraction(each["zcdp"]),
                repeats=each["repeats"],
            )
            for each in fields["questions"]
        ),
        totals={
            name: PlannedTotal(
                pure=Fraction(each["pure"]),
                zcdp=Fraction(each["zcdp"]),
                delta=Fraction(each["delta"]),
                merged_pure=Fraction(each["merged_pure"]),
                merged_zcdp=Fraction(each["merged_zcdp"]),
                accountant=each["accountant"],
                remaining=Fraction(each["remaining"]),
            )
            for name, each in fields["totals"].items()
        },
        merges=tuple(
            Merge(
                dataset=each["dataset"],
                column=each["column"],
                questions=tuple(each["questions"]),
                aggregates=tuple(each["aggregates"]),
                epsilon=Fraction(each["epsilon"]),
                saved=Fraction(each["saved"]),
            )
            for each in fields["merges"]
        ),
    )


# ---- budgets


class AnalystFields(TypedDict):
    """What an analyst spent of a dataset."""

    spent: str
    entries: int
    allowance: str | None


class BudgetFields(TypedDict):
    """The budget of a dataset, and the asker's part in it. `analysts` is for stewards."""

    budget: str
    spent: str
    remaining: str
    entries: int
    own: str
    allowance: str | None
    accountant: str
    closed: bool
    analysts: NotRequired[dict[str, AnalystFields]]


def budget_fields(budget: DatasetBudget) -> BudgetFields:
    """The budget of a dataset, and the analyst's part in it."""
    return {
        "budget": str(budget.budget),
        "spent": str(budget.spent),
        "remaining": str(budget.remaining),
        "entries": budget.entries,
        "own": str(budget.own),
        "allowance": _rational_text(budget.allowance),
        "accountant": budget.accountant,
        "closed": budget.closed,
    }


def read_budget(fields: Mapping[str, Any]) -> DatasetBudget:
    """The budget that was sent."""
    return DatasetBudget(
        budget=Fraction(fields["budget"]),
        spent=Fraction(fields["spent"]),
        entries=fields["entries"],
        own=Fraction(fields["own"]),
        allowance=_read_rational(fields["allowance"]),
        accountant=fields["accountant"],
        closed=fields["closed"],
    )


# ---- past answers


class PastFields(TypedDict):
    """A question that was asked before."""

    answer_id: str
    time: str
    dataset: str
    question: dict[str, Any] | None
    epsilon: str
    status: Status
    reason: str | None
    result: PaidResult | None


class HistoryFields(TypedDict):
    """Own answers, newest first; `next` goes into `before`."""

    answers: list[PastFields]
    next: str | None


def history_text(answers: Sequence[str], limit: int, last: str | None) -> str:
    """A page of past answers as JSON, of the text of each. If it is full, there may be another,
    below the id of the last one.
    """
    more = "null"
    if len(answers) == limit:
        more = json.dumps(last)
    return f'{{"answers": [{", ".join(answers)}], "next": {more}}}'


def read_history(fields: Mapping[str, Any]) -> list[PastAnswer]:
    """The past answers that were sent."""
    return [read_past(each) for each in fields["answers"]]


def past_fields(past: PastAnswer) -> PastFields:
    """A past answer as it was given, and the question in a form in which it may be asked again."""
    result = None
    if past.result is not None:
        result = result_fields(past.result)
    question = None
    if past.question is not None:
        question = past.question.to_fields()
    return {
        "answer_id": past.answer_id,
        "time": past.time,
        "dataset": past.dataset,
        "question": question,
        "epsilon": str(past.epsilon),
        "status": past.status,
        "reason": past.reason,
        "result": result,
    }


def read_past(fields: Mapping[str, Any]) -> PastAnswer:
    """The past answer that was sent."""
    result = None
    if fields["result"] is not None:
        result = read_result(fields["result"])
    question = None
    if fields["question"] is not None:
        question = read_wording(fields["question"])
    return PastAnswer(
        answer_id=fields["answer_id"],
        time=fields["time"],
        dataset=fields["dataset"],
        question=question,
        epsilon=Fraction(fields["epsilon"]),
        status=fields["status"],
        reason=fields["reason"],
        result=result,
    )


# ---- problems

PROBLEM = "application/problem+json"
AMOUNTS = ("requested", "remaining", "short_by")


@dataclass(frozen=True)
class ProblemKind:
    """A kind of error on the wire: its stable code and its status."""

    code: str
    status: int


# From the special to the general: the first that fits is taken.
KINDS: Mapping[type[PostriError], ProblemKind] = {
    RetryKeyUsed: ProblemKind("retry_key_used", 422),
    InputError: ProblemKind("invalid_request", 400),
    BudgetExceeded: ProblemKind("budget_exceeded", 409),
    QuestionsExceeded: ProblemKind("questions_exceeded", 409),
    DatasetClosed: ProblemKind("closed", 409),
    QuestionFailed: ProblemKind("question_failed", 502),
    SourceError: ProblemKind("source_error", 502),
    EngineError: ProblemKind("engine_error", 502),
    LedgerError: ProblemKind("ledger_error", 503),
}

# The errors that are made of their words alone.
_PLAIN: Mapping[str, Callable[[str], PostriError]] = {
    kind.code: error
    for error, kind in KINDS.items()
    if error not in (RetryKeyUsed, BudgetExceeded, DatasetClosed, QuestionFailed)
}


def problem_members(error: PostriError) -> dict[str, Any]:
    """What a problem of this error has beyond its code and its words."""
    if isinstance(error, BudgetExceeded):
        amounts = {name: str(getattr(error, name)) for name in AMOUNTS}
        members = {**amounts, "limit": error.limit}
        if error.unit != "epsilon":
            members["unit"] = error.unit
        return members
    if isinstance(error, QuestionFailed):
        return {"answer_id": error.answer_id, "charged": str(error.charged), "spent": True}
    if isinstance(error, InputError):
        return {}
    if isinstance(error, DatasetClosed):
        return {"running": error.running, "spent": False}
    return {"spent": error.spent}


def read_problem(status: int, fields: Any) -> PostriError:
    """The error that a problem tells; a ServiceError if it is of no form that is known."""
    try:
        error = _read_error(status, fields)
    except (ValueError, KeyError, TypeError, AttributeError):
        return ServiceError(f"the service refused with status {status}", status=status)
    if fields.get("spent") is True and not error.spent:
        error.spent = True
    return error


def _read_error(status: int, fields: Mapping[str, Any]) -> PostriError:
    code = fields["code"]
    detail = str(fields["detail"])
    if code == "budget_exceeded":
        requested, remaining, short_by = (Fraction(fields[name]) for name in AMOUNTS)
        unit = str(fields.get("unit", "epsilon"))
        return BudgetExceeded(requested, remaining, short_by, fields["limit"], unit)
    if code == "retry_key_used":
        return RetryKeyUsed()
    if code == "question_failed":
        return QuestionFailed(fields["answer_id"], Fraction(fields["charged"]))
    if code == "closed":
        return DatasetClosed(detail, running=fields["running"] is True)
    if code in _PLAIN:
        return _PLAIN[code](detail)
    return ServiceError(detail, code, status)
