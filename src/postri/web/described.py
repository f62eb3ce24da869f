"""Each endpoint as the OpenAPI description has it: what goes in, what comes out, every refusal,
with examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from postri import __version__
from postri.web import examples as e
from postri.web import schemas as s
from postri.web.refusals import PROBLEM, STATUSES, TITLES, Refusal

TITLE = "postri"
ABOUT = """\
Private medians, quantiles, counts, sums and means, each with an error bar, of the datasets of a policy, paid for from one budget.
Numbers such as epsilon are exact: send them as texts ("1/3", "0.1") or as JSON numbers, which mean the decimal that they are written as."""
COMPONENTS = "#/components/schemas/{model}"
# What any request under /v1/ may hear.
ALWAYS = ("unauthorized", "request_too_large", "rate_limited", "ledger_error", "internal")
FAILURES = (
    "busy",
    "shutting_down",
    "timed_out",
    "source_error",
    "source_changed",
    "engine_error",
    "policy_error",
)
HEADERS = {
    "X-Request-Id": {
        "description": "The id of this request in the service's log.",
        "schema": {"type": "string"},
    }
}

# What each operation has beyond what FastAPI finds out, by its summary. FastAPI itself would drop
# every null of an example.
_MORE: dict[str, dict[str, Any]] = {}


def _content(kind: str, shape: Mapping[str, Any], examples: Mapping[str, Any]) -> dict[str, Any]:
    return {
        kind: {
            "schema": shape,
            "examples": {name: {"value": value} for name, value in examples.items()},
        }
    }


def _shape(model: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": COMPONENTS.format(model=model.__name__)}


def _refusals(codes: Iterable[str]) -> dict[str, Any]:
    """The replies to what is refused, by status: codes that share one stand beside one another."""
    found: dict[str, Any] = {}
    for code in dict.fromkeys(codes):
        problem = Refusal(code, e.DETAILS.get(code, TITLES[code]), e.MEMBERS.get(code, {})).fields(
            "0123456789abcdef"
        )
        before = found.setdefault(
            str(STATUSES[code]),
            {
                "description": "",
                "headers": HEADERS,
                "content": _content(PROBLEM, _shape(s.Problem), {}),
            },
        )
        before["description"] += (
            "; " if before["description"] else ""
        ) + f"{TITLES[code]} ({code})"
        before["content"][PROBLEM]["examples"][code] = {"value": problem}
    return found


def _operation(
    summary: str,
    shape: Mapping[str, Any] | None,
    example: Any,
    *refused: str,
    body: type[BaseModel] | None = None,
    bodies: Mapping[str, Any] | None = None,
    parameters: Iterable[Mapping[str, Any]] = (),
    status: int = 200,
    is_guarded: bool = True,
) -> dict[str, Any]:
    """What FastAPI is told of an endpoint."""
    done: dict[str, Any] = {"description": summary, "headers": HEADERS}
    if shape is not None:
        done["content"] = _content("application/json", shape, {"usual": example})
    more: dict[str, Any] = {
        "responses": {
            str(status): done,
            **_refusals((*(ALWAYS if is_guarded else ("internal",)), *refused)),
        }
    }
    if is_guarded:
        more["security"] = [{"token": []}]
    if body is not None:
        more["requestBody"] = {
            "required": True,
            "content": _content("application/json", _shape(body), bodies or {}),
        }
    if parameters:
        more["parameters"] = list(parameters)
    _MORE[summary] = more
    return {"summary": summary, "status_code": status, "response_class": Response}


def _parameter(place: str, name: str, about: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "in": place,
        "name": name,
        "description": about,
        "required": place == "path",
        "schema": dict(schema),
    }


RETRY = _parameter(
    "header",
    "Idempotency-Key",
    (
        "A key of your own: the same question with the same key is paid for once, however often "
        "it is sent."
    ),
    {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"},
)

QUERY = _operation(
    "Ask a question and pay for it",
    _shape(s.Answered),
    e.ANSWERED,
    *("invalid_request", "budget_exceeded", "retry_key_used", "question_failed", *FAILURES),
    body=s.Question,
    bodies=e.QUESTIONS,
    parameters=[RETRY],
)
PRICE = _operation(
    "What a question would cost, and how far its intervals will reach; free",
    _shape(s.Priced),
    e.PRICED,
    "invalid_request",
    body=s.Question,
    bodies=e.QUESTIONS,
)
DATASETS = _operation("What is public of each dataset", _shape(s.Datasets), e.DATASETS)
BUDGET = _operation(
    "What each dataset has left; for stewards also by analyst",
    {"type": "object", "additionalProperties": _shape(s.DatasetBudgetShape)},
    e.BUDGET,
)
ANSWERS = _operation(
    "Own answers, newest first; seeing them again is free",
    _shape(s.History),
    e.HISTORY,
    "invalid_request",
    parameters=[
        _parameter(
            "query",
            "before",
            "Answers with a smaller id than this.",
            {"type": "string", "pattern": "^[0-9]{1,18}$"},
        ),
        _parameter(
            "query",
            "limit",
            "How many at most.",
            {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
        ),
    ],
)
ME = _operation("Whose token this is", _shape(s.Me), e.ME)
TOKENS = _operation("All tokens, for stewards", _shape(s.TokenList), e.TOKENS, "forbidden")
NEW_TOKEN = _operation(
    "Make a token, for stewards; its text is told this once",
    _shape(s.MadeToken),
    e.MADE_TOKEN,
    *("forbidden", "invalid_request"),
    body=s.NewToken,
    bodies=e.NEW_TOKENS,
    status=201,
)
NO_TOKEN = _operation(
    "Revoke a token, for stewards",
    None,
    None,
    *("forbidden", "not_found"),
    parameters=[
        _parameter("path", "id", "The id of the token.", {"type": "string", "minLength": 1})
    ],
    status=204,
)
ALLOWANCES = _operation(
    "The allowances by name, for stewards", _shape(s.Allowances), e.ALLOWANCES, "forbidden"
)
ALLOWANCE = _operation(
    "Set an allowance, for stewards",
    _shape(s.SetAllowance),
    e.SET_ALLOWANCE,
    *("forbidden", "invalid_request", "not_found"),
    body=s.NewAllowance,
    bodies={"some": {"allowance": "2"}, "none": {"allowance": None}},
    parameters=[
        _parameter(
            "path",
            "analyst",
            "The name of the analyst.",
            {"type": "string", "minLength": 1, "maxLength": 200},
        )
    ],
)
LEDGER = _operation(
    "Entries of the ledger without answers, for stewards",
    _shape(s.Trail),
    e.TRAIL,
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
            "limit",
            "How many at most.",
            {"type": "integer", "minimum": 1, "maximum": 1_000, "default": 100},
        ),
    ],
)
HEALTH = _operation("Whether the service runs", _shape(s.State), {"status": "ok"}, is_guarded=False)
READY = _operation(
    "Whether questions could be paid for now",
    _shape(s.State),
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
    for operation in (each for path in found["paths"].values() for each in path.values()):
        operation.update(_MORE[operation["summary"]])
    _, shapes = models_json_schema(
        [(model, "validation") for model in s.SHAPES], ref_template=COMPONENTS
    )
    found["components"] = {
        "schemas": shapes["$defs"],
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    }
    return found
