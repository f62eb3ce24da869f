"""Answers as text that reads back as the same answers: what the ledger keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from postri.answer.answer import Answer
from postri.answer.drawn import Noisy, NoisyMean
from postri.answer.interval import Interval
from postri.noise import DiscreteLaplace
from postri.privacy import ProtectedChange, Spend

FORM = 1
READERS: dict[str, Callable[[str], Any]] = {
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal": Decimal,
    "integer": int,
}


def written(groups: Sequence[Sequence[Answer]]) -> str:
    """The answers of each group."""
    return json.dumps(
        {"form": FORM, "groups": [[answer_fields(answer) for answer in group] for group in groups]},
        separators=(",", ":"),
    )


def read(text: str, protect: ProtectedChange) -> list[list[Answer]]:
    """The answers that were written; what they protect is a part of the question.

    ValueError if the text is of another form.
    """
    fields = json.loads(text)
    if fields["form"] != FORM:
        raise ValueError("answers of another form")
    return [[read_answer(each, protect) for each in group] for group in fields["groups"]]


def answer_fields(answer: Answer) -> dict[str, Any]:
    """One answer as plain values."""
    interval = answer.interval
    return {
        "value": tagged(answer.value),
        "interval": [
            tagged(interval.low),
            tagged(interval.high),
            interval.low_is_edge,
            interval.high_is_edge,
        ],
        "confidence": answer.confidence,
        "spend": [str(answer.spend.value), str(answer.spend.interval)],
        "method": answer.method,
        "p": None if answer.p is None else str(answer.p),
        "private": answer.private,
        "notes": list(answer.notes),
        "statistic": answer.statistic,
        "drawn": None if answer.drawn is None else _drawn_fields(answer.drawn),
    }


def read_answer(fields: dict[str, Any], protect: ProtectedChange) -> Answer:
    """The answer that was written."""
    low, high, *edges = fields["interval"]
    return Answer(
        value=untagged(fields["value"]),
        interval=Interval(untagged(low), untagged(high), *edges),
        confidence=float(fields["confidence"]),
        spend=Spend(*map(Fraction, fields["spend"])),
        protect=protect,
        method=fields["method"],
        p=None if fields["p"] is None else Fraction(fields["p"]),
        private=fields["private"],
        notes=tuple(fields["notes"]),
        statistic=fields["statistic"],
        drawn=None if fields["drawn"] is None else _read_drawn(fields["drawn"]),
    )


def _drawn_fields(drawn: Noisy | NoisyMean) -> dict[str, Any]:
    if isinstance(drawn, NoisyMean):
        ends = {name: str(getattr(drawn, name)) for name in ("lower", "upper", "step")}
        return {"total": _drawn_fields(drawn.total), "count": _drawn_fields(drawn.count), **ends}
    return {
        "drawn": str(drawn.drawn),
        "unit": str(drawn.unit),
        "scale": str(drawn.noise.scale),
        "negative": drawn.negative,
    }


def _read_drawn(fields: dict[str, Any]) -> Noisy | NoisyMean:
    if "total" in fields:
        total, count = (_noisy(fields[name]) for name in ("total", "count"))
        return NoisyMean(
            total, count, *(Fraction(fields[name]) for name in ("lower", "upper", "step"))
        )
    return _noisy(fields)


def _noisy(fields: dict[str, Any]) -> Noisy:
    return Noisy(
        int(fields["drawn"]),
        Fraction(fields["unit"]),
        DiscreteLaplace(Fraction(fields["scale"])),
        fields["negative"],
    )


def tagged(value: Any) -> list[str]:
    """A value with its kind: JSON alone would lose the digits of a decimal, and what a date is."""
    if isinstance(value, datetime):
        return ["timestamp", value.isoformat()]
    if isinstance(value, date):
        return ["date", value.isoformat()]
    return (
        ["decimal", format(value, "f")] if isinstance(value, Decimal) else ["integer", str(value)]
    )


def untagged(value: Sequence[str]) -> Any:
    """The value that was tagged."""
    kind, text = value
    return READERS[kind](text)
