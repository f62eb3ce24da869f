"""Examples for the OpenAPI description."""

from __future__ import annotations

from typing import Any

DETAILS = {
    "unauthorized": (
        "send a valid token: 'Authorization: Bearer ptr_...'; the steward makes one with 'postri "
        "token add'"
    ),
    "forbidden": "this is for stewards; the token is an analyst's",
    "invalid_request": "the policy has no dataset 'bnak'; did you mean 'bank'?",
    "budget_exceeded": (
        "the question costs epsilon 0.5, and the budget of 'bank' leaves 0.25: short by 0.25; "
        "nothing was spent"
    ),
    "timed_out": "the question took too long; its budget is spent, for data may have been read",
    "not_ready": "the disk of the ledger is full",
}
MEMBERS: dict[str, dict[str, Any]] = {
    "budget_exceeded": {
        "requested": "1/2",
        "remaining": "1/4",
        "short_by": "1/4",
        "limit": "the budget of 'bank'",
    },
    "timed_out": {"spent": True},
    "question_failed": {"answer_id": "12", "reason": "EngineError", "spent": True},
    "engine_error": {"spent": True},
    "source_error": {"spent": False},
    "source_changed": {"spent": True},
}
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
}
_PROTECTS = "one added or removed row"
_ANSWER = {
    "value": 500,
    "low": 480,
    "high": 520,
    "low_is_edge": False,
    "high_is_edge": False,
    "confidence": 0.95,
    "epsilon": "1/2",
    "method": "depth",
    "protects": _PROTECTS,
    "private": True,
    "statistic": "median",
    "sentence": f"median 500, between 480 and 520 with 95% confidence; protects {_PROTECTS} at epsilon 0.5",
    "notes": [],
}
ANSWERED = {
    "columns": ["mid", "mid_low", "mid_high"],
    "rows": [{"mid": 500, "mid_low": 480, "mid_high": 520}],
    "epsilon": "1/2",
    "charged": "1/2",
    "answer_id": "12",
    "recorded": False,
    "groups": [{"keys": {}, "answers": {"mid": _ANSWER}}],
    "record": {},
}
PRICED = {
    "epsilon": "1/2",
    "charged": "1/2",
    "remaining": "9/2",
    "recorded": False,
    "refused": None,
    "forecasts": {
        "n": {
            "kind": "reach",
            "statistic": "count",
            "reach": 6.0,
            "confidence": 0.95,
            "sentence": "... will reach 6 to each side",
        }
    },
    "words": "costs epsilon 0.5, of 4.5 that is left",
}
DATASETS = {
    "datasets": [
        {
            "name": "bank",
            "version": "1",
            "rows": 45_000,
            "budget": "5",
            "accountant": "pure",
            "delta": None,
            "max_epsilon_per_question": "1",
            "protects": _PROTECTS,
            "protect": {"change": "add-or-remove-rows", "rows": 1},
            "columns": [
                {
                    "name": "balance",
                    "type": "integer",
                    "lower": -10_000,
                    "upper": 200_000,
                    "step": "1",
                    "keys": None,
                },
                {
                    "name": "job",
                    "type": "text",
                    "lower": None,
                    "upper": None,
                    "step": None,
                    "keys": ["admin.", "technician"],
                },
            ],
        }
    ]
}
BUDGET = {
    "bank": {
        "budget": "5",
        "spent": "1/2",
        "remaining": "9/2",
        "entries": 3,
        "own": "1/2",
        "allowance": "2",
        "accountant": "pure",
        "analysts": {"ann": {"spent": "1/2", "entries": 2, "allowance": "2"}},
    }
}
HISTORY = {
    "answers": [
        {
            "answer_id": "12",
            "time": "2026-11-16T12:00:00Z",
            "dataset": "bank",
            "question": {
                "sql": "SELECT MEDIAN(balance) AS mid FROM bank",
                "epsilon": "0.5",
                "confidence": "0.95",
            },
            "epsilon": "1/2",
            "status": "answered",
            "reason": None,
            "result": {**ANSWERED, "charged": "0", "recorded": True},
        }
    ],
    "next": None,
}
ME = {"name": "ann", "role": "analyst", "expires": "2027-02-01T00:00:00Z", "allowance": "2"}
_TOKEN = {
    "id": "0a1b2c3d",
    "name": "ann",
    "role": "analyst",
    "created": "2026-11-16T12:00:00Z",
    "expires": "2027-02-01T00:00:00Z",
    "revoked": None,
}
TOKENS = {"tokens": [_TOKEN]}
NEW_TOKENS = {"usual": {"name": "ann", "role": "analyst", "allowance": "2", "expires": "90d"}}
MADE_TOKEN = {**_TOKEN, "allowance": "2", "token": "ptr_0a1b2c3d_..."}
ALLOWANCES = {"allowances": {"ann": "2"}}
SET_ALLOWANCE = {"name": "ann", "allowance": "2"}
TRAIL = {
    "head": "12 9f86d081884c7d65...",
    "entries": [
        {
            "number": 12,
            "time": "2026-11-16T12:00:00Z",
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
