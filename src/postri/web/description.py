"""The OpenAPI description: each endpoint with what goes in, what comes out, every refusal, and
examples.

The shapes of replies are derived from the typed dictionaries beside their writers, and the examples
are made by these writers, so that neither can say something else than the service does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from postri import __version__
from postri.answer import Answer, Interval, Result
from postri.answer.forecast import Reach
from postri.answer.forms import PaidResult, json_text, result_fields
from postri.domain import Domain
from postri.errors import QuestionFailed
from postri.privacy import AddOrRemoveRows, Spend
from postri.question import Price, Wording
from postri.question.planning import PlannedQuestion, PlannedTotal, QuestionPlan
from postri.session.facts import ColumnFacts, DatasetBudget, DatasetFacts
from postri.session.session import PastAnswer
from postri.session.wire import (
    PROBLEM,
    BudgetFields,
    DatasetsFields,
    HistoryFields,
    PriceFields,
    QuestionPlanFields,
    budget_fields,
    datasets_fields,
    past_fields,
    plan_fields,
    price_fields,
    problem_members,
)
from postri.statistics.registry import described
from postri.web.refusals import STATUSES, TITLES, ProblemFields, Refusal, unauthorized
from postri.web.schema import Schemas
from postri.web.shapes import (
    AllowanceFields,
    AllowancesFields,
    MadeTokenFields,
    MeFields,
    Name,
    NewAllowanceFields,
    NewTokenFields,
    OpeningFields,
    PlanRequestFields,
    QuestionFields,
    RenewalFields,
    StateFields,
    StatisticsFields,
    TokensFields,
    TrailFields,
    VerificationFields,
    VerificationRequestFields,
    made_token_fields,
    me_fields,
)
from postri.web.tokens import Token

TITLE = "postri"
ABOUT = (
    "Private medians, quantiles, counts, sums and means, each with an error bar, of the datasets "
    "of a policy, paid for from one budget.\n"
    'Numbers such as epsilon are exact: send them as texts ("1/3", "0.1") or as JSON numbers, '
    "which mean the decimal that they are written as."
)
# What any request under /v1/ may hear.
ALWAYS = ("unauthorized", "request_too_large", "rate_limited", "ledger_error", "internal")
# What a question may hear, once it is on its way.
FAILURES = (
    "busy",
    "shutting_down",
    "timed_out",
    "source_error",
    "engine_error",
    "policy_error",
)

# ---- examples

_ROW = AddOrRemoveRows(1)
_MOMENT = "2026-11-16T12:00:00Z"
_MEDIAN = Answer(
    value=500,
    interval=Interval(480, 520),
    confidence=0.95,
    spend=Spend(Fraction(1, 4), Fraction(1, 4)),
    protect=_ROW,
    method="depth",
    p=Fraction(1, 2),
)
_TOKEN = Token(
    id="0a1b2c3d",
    name="ann",
    role="analyst",
    created=_MOMENT,
    expires="2027-02-01T00:00:00Z",
    revoked=None,
    datasets=("bank",),
    allowance=Fraction(2),
)


def _result(*, recorded: bool) -> Result:
    return Result([], ["mid"], [((), [_MEDIAN])], answer_id="12", recorded=recorded)


QUESTIONS = {
    "sql": {
        "sql": "SELECT job, MEDIAN(balance) AS mid FROM bank WHERE age < 40 GROUP BY job",
        "epsilon": "1/2",
    },
    "structured": {
        "dataset": "bank",
        "aggregates": {"mid": "median(balance)", "n": "count()"},
        "by": ["job"],
        "where": "age < 40",
        "weights": {"mid": "2", "n": "1"},
        "epsilon": "1/2",
    },
    "wish": {
        "dataset": "bank",
        "aggregates": {"mid": "median(balance)"},
        "within": "1 percentile",
    },
}
PRICED = Price(
    epsilon=Fraction(1, 2),
    charged=Fraction(1, 2),
    remaining=Fraction(9, 2),
    recorded=False,
    refused=None,
    forecasts={"n": Reach("count", Fraction(6), 0.95)},
)
PLANNED = QuestionPlan(
    questions=(
        PlannedQuestion(
            "SELECT COUNT(*) WITHIN 6 AS n FROM bank",
            "bank",
            PRICED,
            Fraction(1, 2),
            Fraction(2, 5),
        ),
    ),
    totals={
        "bank": PlannedTotal(
            pure=Fraction(1, 2),
            zcdp=Fraction(2, 5),
            delta=Fraction(1, 10**6),
            merged_pure=Fraction(1, 2),
            merged_zcdp=Fraction(2, 5),
            accountant="pure",
            remaining=Fraction(9, 2),
        )
    },
    merges=(),
)
BANK = DatasetFacts(
    name="bank",
    version="1",
    rows=45_000,
    units=None,
    budget=Fraction(5),
    accountant="pure",
    delta=None,
    max_epsilon_per_question=Fraction(1),
    min_epsilon=Fraction(1, 200),
    protect=_ROW,
    columns={
        "balance": ColumnFacts("balance", "integer", Domain(-10_000, 200_000), None),
        "job": ColumnFacts("job", "text", None, ("admin.", "technician")),
    },
)
BUDGET = DatasetBudget(
    budget=Fraction(5),
    spent=Fraction(1, 2),
    entries=3,
    own=Fraction(1, 2),
    allowance=Fraction(2),
    accountant="pure",
)
PAST = PastAnswer(
    answer_id="12",
    time=_MOMENT,
    dataset="bank",
    question=Wording(sql="SELECT MEDIAN(balance) AS mid FROM bank", epsilon="0.5"),
    epsilon=Fraction(1, 2),
    status="answered",
    reason=None,
    result=_result(recorded=True),
)
TRAIL: TrailFields = {
    "head": "12 9f86d081884c7d65...",
    "entries": [
        {
            "number": 12,
            "time": _MOMENT,
            "kind": "reserve",
            "dataset": "bank",
            "analyst": "ann",
            "epsilon": "1/2",
            "question": "...",
            "fate": "answered",
        }
    ],
    "next": None,
}
DETAILS = {
    "unauthorized": unauthorized().detail,
    "forbidden": "this is for stewards; the token is an analyst's",
    "invalid_request": "the policy has no dataset 'bnak'; did you mean 'bank'?",
    "budget_exceeded": (
        "the question costs epsilon 0.5, and the budget of 'bank' leaves 0.25: short by 0.25; "
        "nothing was spent"
    ),
    "questions_exceeded": (
        "'ann' has asked 10,000 questions of 'bank', and the policy allows 10,000; nothing was "
        "spent; recorded answers stay free, and the steward can raise questions in the policy"
    ),
    "closed": (
        "'bank' is closed, for too many of its questions failed; nothing was spent; the steward "
        "looks why, and opens it with 'postri open-again bank'"
    ),
    "timed_out": "the question took too long; nothing was spent",
    "question_failed": str(QuestionFailed("12", Fraction(1, 2))),
    "not_ready": "the disk of the ledger is full",
}
MEMBERS: Mapping[str, Mapping[str, Any]] = {
    "budget_exceeded": {
        "requested": "1/2",
        "remaining": "1/4",
        "short_by": "1/4",
        "limit": "the budget of 'bank'",
    },
    "questions_exceeded": {"spent": False},
    "closed": {"running": False, "spent": False},
    "timed_out": {"spent": False},
    "question_failed": problem_members(QuestionFailed("12", Fraction(1, 2))),
    "engine_error": {"spent": False},
    "source_error": {"spent": False},
}

# ---- endpoints

HEADERS = {
    "X-Request-Id": {
        "description": "The id of this request in the service's log.",
        "schema": {"type": "string"},
    }
}

# A request has the names that are described and no others; a reply may get more one day.
_schemas = Schemas(
    closed=(
        QuestionFields,
        NewTokenFields,
        RenewalFields,
        NewAllowanceFields,
        VerificationRequestFields,
    )
)
# What each operation has beyond what FastAPI finds out, by its summary. FastAPI itself would drop
# every null of an example.
_operations: dict[str, dict[str, Any]] = {}


def _operation(
    summary: str,
    shape: Any,
    example: Any,
    *refused: str,
    body: Any = None,
    bodies: Mapping[str, Any] | None = None,
    parameters: Iterable[Mapping[str, Any]] = (),
    status: int = 200,
    is_guarded: bool = True,
) -> dict[str, Any]:
    """What FastAPI is told of an endpoint. `shape` is the type of its reply."""
    done: dict[str, Any] = {"description": summary, "headers": HEADERS}
    if shape is not None:
        done["content"] = _content("application/json", shape, {"usual": example})
    codes = (*ALWAYS, *refused)
    if not is_guarded:
        codes = ("internal", *refused)
    operation: dict[str, Any] = {"responses": {str(status): done, **_refusals(codes)}}
    if is_guarded:
        operation["security"] = [{"token": []}]
    if body is not None:
        content = _content("application/json", body, bodies or {})
        operation["requestBody"] = {"required": True, "content": content}
    if parameters:
        operation["parameters"] = list(parameters)
    _operations[summary] = operation
    return {"summary": summary, "status_code": status, "response_class": Response}


def _content(media_type: str, shape: Any, examples: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: {"value": _plain(value)} for name, value in examples.items()}
    return {media_type: {"schema": _schemas.of(shape), "examples": values}}


def _plain(value: Any) -> Any:
    """A value as a client reads it."""
    return json.loads(json_text(value))


def _refusals(codes: Iterable[str]) -> dict[str, Any]:
    """The replies to what is refused, by status: codes that share one stand beside one another."""
    replies: dict[str, Any] = {}
    for code in dict.fromkeys(codes):
        refusal = Refusal(code, DETAILS.get(code, TITLES[code]), MEMBERS.get(code, {}))
        words = f"{TITLES[code]} ({code})"
        status = str(STATUSES[code])
        if status in replies:
            replies[status]["description"] += f"; {words}"
        else:
            content = _content(PROBLEM, ProblemFields, {})
            replies[status] = {"description": words, "headers": HEADERS, "content": content}
        examples = replies[status]["content"][PROBLEM]["examples"]
        examples[code] = {"value": refusal.fields("0123456789abcdef")}
    return replies


def _parameter(place: str, name: str, about: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "in": place,
        "name": name,
        "description": about,
        "required": place == "path",
        "schema": dict(schema),
    }


def _limit(most: int, default: int) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": default}
    return _parameter("query", "limit", "How many at most.", schema)


QUERY = _operation(
    "Ask a question and pay for it",
    PaidResult,
    result_fields(_result(recorded=False)),
    *("invalid_request", "budget_exceeded", "questions_exceeded", "closed", "retry_key_used"),
    *("question_failed", *FAILURES),
    body=QuestionFields,
    bodies=QUESTIONS,
    parameters=[
        _parameter(
            "header",
            "Idempotency-Key",
            "A key of your own: the same question with the same key is paid for once, however "
            "often it is sent.",
            {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"},
        )
    ],
)
PRICE = _operation(
    "What a question would cost, and how far its intervals will reach; free",
    PriceFields,
    price_fields(PRICED),
    "invalid_request",
    body=QuestionFields,
    bodies=QUESTIONS,
)
PLAN = _operation(
    "What some questions would cost together, and which to merge; free",
    QuestionPlanFields,
    plan_fields(PLANNED),
    "invalid_request",
    body=PlanRequestFields,
    bodies={
        "wishes": {
            "questions": [
                "SELECT MEDIAN(balance) WITHIN 1 PERCENTILE FROM bank",
                "SELECT COUNT(*) WITHIN 50 FROM bank",
            ],
            "delta": "1e-6",
        }
    },
)
STATISTICS = _operation(
    "What can be asked: each statistic with its parameters and its forms",
    StatisticsFields,
    {"statistics": described()[:2]},
)
DATASETS = _operation("What is public of each dataset", DatasetsFields, datasets_fields([BANK]))
BUDGETS = _operation(
    "What each dataset has left; for stewards also by analyst",
    dict[str, BudgetFields],
    {
        "bank": {
            **budget_fields(BUDGET),
            "analysts": {"ann": {"spent": "1/2", "entries": 2, "allowance": "2"}},
        }
    },
)
ANSWERS = _operation(
    "Own answers, newest first; seeing them again is free",
    HistoryFields,
    {"answers": [past_fields(PAST)], "next": None},
    "invalid_request",
    parameters=[
        _parameter(
            "query",
            "before",
            "Answers with a smaller id than this.",
            {"type": "string", "pattern": "^[0-9]{1,18}$"},
        ),
        _limit(200, default=50),
    ],
)
ME = _operation("Whose token this is", MeFields, me_fields(_TOKEN, _TOKEN.allowance))
TOKENS = _operation(
    "All tokens, for stewards", TokensFields, {"tokens": [_TOKEN.to_fields()]}, "forbidden"
)
NEW_TOKEN = _operation(
    "Make a token, for stewards; its text is told this once",
    MadeTokenFields,
    made_token_fields(_TOKEN, "ptr_0a1b2c3d_..."),
    *("forbidden", "invalid_request"),
    body=NewTokenFields,
    bodies={"usual": {"name": "ann", "role": "analyst", "allowance": "2", "datasets": ["bank"]}},
    status=201,
)
TOKEN_ID = _parameter("path", "id", "The id of the token.", {"type": "string", "minLength": 1})
RENEWED_TOKEN = _operation(
    "Make a token in place of another, which is revoked, for stewards",
    MadeTokenFields,
    made_token_fields(_TOKEN, "ptr_0a1b2c3d_..."),
    *("forbidden", "invalid_request", "not_found"),
    body=RenewalFields,
    bodies={"usual": {}, "short": {"expires": "12h"}},
    parameters=[TOKEN_ID],
    status=201,
)
NO_TOKEN = _operation(
    "Revoke a token, for stewards",
    None,
    None,
    *("forbidden", "not_found"),
    parameters=[TOKEN_ID],
    status=204,
)
ALLOWANCES = _operation(
    "The allowances by name, for stewards",
    AllowancesFields,
    {"allowances": {"ann": "2"}},
    "forbidden",
)
ALLOWANCE = _operation(
    "Set an allowance, for stewards",
    AllowanceFields,
    {"name": "ann", "allowance": "2"},
    *("forbidden", "invalid_request", "not_found"),
    body=NewAllowanceFields,
    bodies={"some": {"allowance": "2"}, "none": {"allowance": None}},
    parameters=[_parameter("path", "analyst", "The name of the analyst.", _schemas.of(Name))],
)
LEDGER = _operation(
    "Entries of the ledger without answers, for stewards",
    TrailFields,
    TRAIL,
    *("forbidden", "invalid_request"),
    parameters=[
        _parameter(
            "query",
            "after",
            "Entries with a larger number than this.",
            {"type": "integer", "minimum": 0, "maximum": 10**15},
        ),
        _parameter(
            "query",
            "order",
            "Which entries come first. A page may have fewer than the limit, even none, and "
            "there may still be a `next`.",
            {"type": "string", "enum": ["oldest", "newest"], "default": "oldest"},
        ),
        _parameter(
            "query",
            "before",
            "With the newest first: entries with a smaller number than this.",
            {"type": "integer", "minimum": 1, "maximum": 10**15},
        ),
        *(
            _parameter("query", name, f"Entries of this {name} alone.", _schemas.of(Name))
            for name in ("dataset", "analyst", "kind")
        ),
        _limit(1_000, default=100),
    ],
)
VERIFICATION = _operation(
    "Whether the ledger is what it says, for stewards: every entry is read",
    VerificationFields,
    {"head": TRAIL["head"], "entries": 12, "problems": []},
    *("forbidden", "invalid_request"),
    body=VerificationRequestFields,
    bodies={"usual": {}, "kept": {"head": "9 60303ae22b998861..."}},
)
OPENING = _operation(
    "Open a dataset again that was closed because questions failed, for stewards who looked why",
    OpeningFields,
    {
        "dataset": "bank",
        "unanswered": [{"id": 12, "time": _MOMENT, "analyst": "ann", "reason": "EngineError"}],
    },
    *("forbidden", "invalid_request", "not_found"),
    parameters=[_parameter("path", "dataset", "The name of the dataset.", _schemas.of(Name))],
)
HEALTH = _operation("Whether the service runs", StateFields, {"status": "ok"}, is_guarded=False)
READY = _operation(
    "Whether questions could be paid for now",
    StateFields,
    {"status": "ready"},
    "not_ready",
    "shutting_down",
    is_guarded=False,
)


def description(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description of the whole service."""
    found = get_openapi(
        title=TITLE,
        version=__version__,
        openapi_version="3.1.0",
        description=ABOUT,
        routes=app.routes,
    )
    for methods in found["paths"].values():
        for operation in methods.values():
            operation.update(_operations[operation["summary"]])
    found["components"] = {
        "schemas": _schemas.named,
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    }
    return found
