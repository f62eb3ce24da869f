"""The machine-readable form of an answer."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postri.answer.answer import Answer
    from postri.answer.result import Result


def as_dict(answer: Answer) -> dict[str, Any]:
    """The stable keys, with Python's values."""
    interval = answer.interval
    return {
        "value": answer.value,
        "low": interval.low,
        "high": interval.high,
        "low_is_edge": interval.low_is_edge,
        "high_is_edge": interval.high_is_edge,
        "confidence": answer.confidence,
        "epsilon": str(answer.epsilon),
        "method": answer.method,
        "protects": str(answer.protect),
        "private": answer.private,
    }


def as_json(answer: Answer) -> str:
    """The same as JSON text. A decimal keeps its digits: 12.30 stays 12.30."""
    return text_of(as_dict(answer))


def result_json(result: Result) -> str:
    """A result as JSON text."""
    return text_of(result.to_dict())


def text_of(value: Any) -> str:
    """Plain values as JSON text; a decimal keeps its digits."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(key)}: {text_of(each)}" for key, each in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    if isinstance(value, Decimal):
        return format(value, "f")
    return json.dumps(value.isoformat() if isinstance(value, date) else value)
