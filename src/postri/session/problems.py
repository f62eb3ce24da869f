"""Errors as problem details (RFC 9457), and as errors again: the same kinds on both sides of a
service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from postri.errors import (
    BudgetExceeded,
    EngineError,
    InputError,
    LedgerError,
    PostriError,
    QuestionFailed,
    RetryKeyUsed,
    ServiceError,
    SourceChanged,
    SourceError,
)

PROBLEM = "application/problem+json"
AMOUNTS = ("requested", "remaining", "short_by")


@dataclass(frozen=True)
class Kind:
    """A kind of error on the wire: its stable code and its status."""

    code: str
    status: int


# From the special to the general: the first that fits is taken.
KINDS: Mapping[type[PostriError], Kind] = {
    RetryKeyUsed: Kind("retry_key_used", 422),
    InputError: Kind("invalid_request", 400),
    BudgetExceeded: Kind("budget_exceeded", 409),
    QuestionFailed: Kind("question_failed", 502),
    SourceChanged: Kind("source_changed", 502),
    SourceError: Kind("source_error", 502),
    EngineError: Kind("engine_error", 502),
    LedgerError: Kind("ledger_error", 503),
}

_PLAIN: Mapping[str, Callable[[str], PostriError]] = {
    kind.code: error
    for error, kind in KINDS.items()
    if error not in (RetryKeyUsed, BudgetExceeded, QuestionFailed)
}


def members(error: PostriError) -> dict[str, Any]:
    """What a problem of this error has beyond its code and its words."""
    if isinstance(error, BudgetExceeded):
        return {**{name: str(getattr(error, name)) for name in AMOUNTS}, "limit": error.limit}
    if isinstance(error, QuestionFailed):
        return {"answer_id": error.answer_id, "reason": error.reason, "spent": True}
    return {} if isinstance(error, InputError) else {"spent": error.spent}


def read_problem(status: int, fields: Any) -> PostriError:
    """The error that a problem tells."""
    try:
        error = _error(status, fields)
    except (ValueError, KeyError, TypeError, AttributeError):
        return ServiceError(f"the service refused with status {status}", status=status)
    if fields.get("spent") is True:
        error.spent = True
    return error


def _error(status: int, fields: Mapping[str, Any]) -> PostriError:
    code, detail = fields["code"], str(fields["detail"])
    if code == "budget_exceeded":
        requested, remaining, short_by = (Fraction(fields[name]) for name in AMOUNTS)
        return BudgetExceeded(requested, remaining, short_by, fields["limit"])
    if code == "retry_key_used":
        return RetryKeyUsed()
    if code == "question_failed":
        return QuestionFailed(fields["answer_id"], fields["reason"])
    return _PLAIN[code](detail) if code in _PLAIN else ServiceError(detail, code, status)
