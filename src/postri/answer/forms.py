"""The machine-readable forms of answers and results.

- Fields: what `to_dict` and JSON tell of an answer.
- Records: text that reads back as the same answers, which the ledger keeps.
- The wire: fields with words for readers and a record for clients, which a service sends.

Each form is a typed dictionary beside its writer; the service's description is derived from these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, NotRequired, TypedDict

from postri.answer.answer import Answer
from postri.answer.bins import Bin
from postri.answer.drawn import Interval, read_drawn
from postri.answer.population import Covers, Population
from postri.answer.result import Result, ResultColumn
from postri.answer.words import about
from postri.privacy import ProtectedChange, Spend, protect_fields, read_protect

# The form of the ledger's records. Records are read for ever, so a change needs another number.
FORM = 1
READERS: Mapping[str, Callable[[str], Any]] = {
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal": Decimal,
    "integer": int,
}


class PlainAnswer(TypedDict):
    """A value with its interval, and the key that it is about, if it found one."""

    value: Any
    low: Any
    high: Any
    low_is_edge: bool
    high_is_edge: bool
    confidence: float
    epsilon: str
    method: str
    protects: str
    population: str
    covers: Covers
    private: bool
    notes: list[str]
    key: NotRequired[Any]


class PlainResult(TypedDict):
    """Columns and rows, what they are about, and what they cost.

    `populations` says for each aggregate which rows it is about, `population` for all of them.
    """

    columns: list[str]
    rows: list[dict[str, Any]]
    confidence: float
    population: str
    populations: dict[str, str]
    notes: list[str]
    epsilon: str
    charged: str
    answer_id: str | None


class AnswerRecord(TypedDict):
    """An answer as the ledger keeps it: each value with its kind, each rational as a text.

    `release` is what the release cost of which it is a part, if it is one. Only an interval for a
    population says what it `covers`.
    """

    value: list[str]
    interval: list[Any]
    confidence: float
    spend: list[str]
    method: str
    p: str | None
    private: bool
    notes: list[str]
    statistic: str
    drawn: dict[str, Any] | None
    release: NotRequired[str]
    bin: NotRequired[list[Any]]
    key: NotRequired[Any]
    covers: NotRequired[Covers]


class SentAnswer(AnswerRecord):
    """The same with the rows that it is about, which the ledger knows from the question."""

    rows: dict[str, Any]


class ResultRecord(TypedDict):
    """A result, for clients that rebuild it."""

    keys: list[str]
    names: list[str]
    groups: list[list[Any]]
    layout: list[list[str]]
    about: SentAnswer
    protect: dict[str, str | int]


class BinFields(TypedDict):
    """The bin of a histogram that an answer is about: from one end to below the other, or up to it
    if it is closed. `number` is its place among all, from 0 on.
    """

    low: Any
    high: Any
    number: int
    closed: bool


class QuantileFields(TypedDict):
    """A quantile that follows from a distribution, with its interval."""

    p: NotRequired[float]
    statistic: str
    value: Any
    low: Any
    high: Any
    low_is_edge: bool
    high_is_edge: bool


class OneAnswer(PlainAnswer):
    """A value with its interval, and its words. A bar of a histogram has a bin; what a distribution
    is shown by are some of its quantiles.
    """

    statistic: str
    sentence: str
    bin: BinFields | None
    quantiles: list[QuantileFields]


class Group(TypedDict):
    """The answers of one group; of all rows, if there are no keys."""

    keys: dict[str, Any]
    answers: dict[str, OneAnswer]


class PaidResult(PlainResult):
    """The answer to a question. `record` is for clients that rebuild the result."""

    recorded: bool
    groups: list[Group]
    record: ResultRecord


def json_text(value: Any) -> str:
    """Plain values as JSON text. A decimal keeps its digits: 12.30 stays 12.30."""
    with suppress(_DecimalError):
        return json.dumps(value, default=_date_text)
    return _text_with_decimals(value)


class _DecimalError(Exception):
    """The standard library would write a decimal as a float or not at all."""


def _date_text(value: Any) -> str:
    """What is no plain value as one, if it can be."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        raise _DecimalError
    raise TypeError(f"{type(value).__name__} is no value of JSON")


def _text_with_decimals(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{json.dumps(key)}: {_text_with_decimals(each)}" for key, each in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text_with_decimals, value)) + "]"
    if isinstance(value, Decimal):
        return format(value, "f")
    return json.dumps(value, default=_date_text)


def plain_answer(answer: Answer) -> PlainAnswer:
    """An answer as Python values."""
    interval = answer.interval
    fields: PlainAnswer = {
        "value": answer.value,
        "low": interval.low,
        "high": interval.high,
        "low_is_edge": interval.low_is_edge,
        "high_is_edge": interval.high_is_edge,
        "confidence": answer.confidence,
        "epsilon": str(answer.epsilon),
        "method": answer.method,
        "protects": str(answer.protect),
        "population": answer.population,
        "covers": answer.covers,
        "private": answer.private,
        "notes": list(answer.notes),
    }
    if answer.key is not None:
        fields["key"] = answer.key
    return fields


def plain_result(result: Result) -> PlainResult:
    """A result as Python values."""
    return {
        "columns": result.columns,
        "rows": result.rows,
        "confidence": result.confidence,
        "population": result.population,
        "populations": result.populations,
        "notes": result.notes,
        "epsilon": str(result.epsilon),
        "charged": str(result.charged),
        "answer_id": result.answer_id,
    }


def write_answers(groups: Sequence[Sequence[Answer]]) -> str:
    """The answers of each group, as the ledger keeps them."""
    records = [[answer_record(answer) for answer in group] for group in groups]
    return json.dumps({"form": FORM, "groups": records}, separators=(",", ":"))


def read_answers(text: str, protect: ProtectedChange) -> list[list[Answer]]:
    """The answers that were written; what they protect is a part of the question.

    ValueError if the text is of another form.
    """
    fields = json.loads(text)
    if fields["form"] != FORM:
        raise ValueError("answers of another form")
    return [[read_answer(record, protect) for record in group] for group in fields["groups"]]


def answer_record(answer: Answer) -> AnswerRecord:
    """One answer as plain values that lose nothing."""
    interval = answer.interval
    p = None
    if answer.p is not None:
        p = str(answer.p)
    drawn = None
    if answer.drawn is not None:
        drawn = answer.drawn.to_fields()
    record: AnswerRecord = {
        "value": _tagged(answer.value),
        "interval": [
            _tagged(interval.low),
            _tagged(interval.high),
            interval.low_is_edge,
            interval.high_is_edge,
        ],
        "confidence": answer.confidence,
        "spend": _spend_texts(answer.spend),
        "method": answer.method,
        "p": p,
        "private": answer.private,
        "notes": list(answer.notes),
        "statistic": answer.statistic,
        "drawn": drawn,
    }
    if answer.spend.release is not None:
        record["release"] = str(answer.spend.release)
    if answer.bin is not None:
        own = answer.bin
        record["bin"] = [_tagged(own.low), _tagged(own.high), own.number, own.closed]
    if answer.key is not None:
        record["key"] = _key(answer.key)
    if answer.covers != "table":
        record["covers"] = answer.covers
    return record


def read_answer(record: Mapping[str, Any], protect: ProtectedChange) -> Answer:
    """The answer that was written."""
    low, high, low_is_edge, high_is_edge = record["interval"]
    release = None
    if "release" in record:
        release = Fraction(record["release"])
    p = None
    if record["p"] is not None:
        p = Fraction(record["p"])
    drawn = None
    if record["drawn"] is not None:
        drawn = read_drawn(record["drawn"])
    key = None
    if "key" in record:
        key = _read_key(record["key"])
    return Answer(
        value=_untagged(record["value"]),
        interval=Interval(_untagged(low), _untagged(high), low_is_edge, high_is_edge),
        confidence=float(record["confidence"]),
        spend=replace(_read_spend(record["spend"]), release=release),
        protect=protect,
        method=record["method"],
        p=p,
        private=record["private"],
        notes=tuple(record["notes"]),
        statistic=record["statistic"],
        drawn=drawn,
        bin=_read_bin(record),
        key=key,
        covers=record.get("covers", "table"),
    )


def _read_bin(record: Mapping[str, Any]) -> Bin | None:
    """The bin of an answer; only bars of histograms have one."""
    if "bin" not in record:
        return None
    low, high, number, closed = record["bin"]
    return Bin(_untagged(low), _untagged(high), int(number), bool(closed))


def _spend_texts(spend: Spend) -> list[str]:
    """The value's part and the interval's; of Gaussian noise its rho too."""
    texts = [str(spend.value), str(spend.interval)]
    if spend.rho is not None:
        texts.append(str(spend.rho))
    return texts


def _read_spend(texts: Sequence[str]) -> Spend:
    value, interval, *rho = map(Fraction, texts)
    return Spend(value, interval, *rho)


def _tagged(value: Any) -> list[str]:
    """A value with its kind: JSON alone would lose the digits of a decimal, and what a date is."""
    # A datetime is a date for Python, so it comes first.
    if isinstance(value, datetime):
        return ["timestamp", value.isoformat()]
    if isinstance(value, date):
        return ["date", value.isoformat()]
    if isinstance(value, Decimal):
        return ["decimal", format(value, "f")]
    return ["integer", str(value)]


def _untagged(value: Sequence[str]) -> Any:
    kind, text = value
    return READERS[kind](text)


def result_text(result: Result) -> str:
    """A result as a service sends it, as JSON."""
    return json_text(result_fields(result))


def result_fields(result: Result) -> PaidResult:
    """A result with the words for each answer, and a record from which `read_result` makes it
    again.
    """
    groups: list[Group] = []
    for values, answers in result.groups:
        keys = dict(zip(result.keys, values, strict=True))
        told = {name: _told(answer) for name, answer in zip(result.names, answers, strict=True)}
        groups.append({"keys": keys, "answers": told})
    return {
        **plain_result(result),
        "recorded": result.recorded,
        "groups": groups,
        "record": _result_record(result),
    }


def _told(answer: Answer) -> OneAnswer:
    return {
        **plain_answer(answer),
        "statistic": about(answer),
        "sentence": str(answer),
        "bin": _bin_fields(answer.bin),
        "quantiles": _quantile_fields(answer),
    }


def _quantile_fields(answer: Answer) -> list[QuantileFields]:
    """The quantiles by which a distribution is shown; none of another answer."""
    follow = getattr(answer.drawn, "shown_quantiles", None)
    if follow is None:
        return []
    return [
        {
            "p": float(each.p or 0),
            "statistic": about(each),
            "value": each.value,
            "low": each.interval.low,
            "high": each.interval.high,
            "low_is_edge": each.interval.low_is_edge,
            "high_is_edge": each.interval.high_is_edge,
        }
        for each in follow(answer)
    ]


def _bin_fields(own: Bin | None) -> BinFields | None:
    if own is None:
        return None
    return {"low": own.low, "high": own.high, "number": own.number, "closed": own.closed}


def _result_record(result: Result) -> ResultRecord:
    groups = [
        [[_key(value) for value in values], [sent_answer(answer) for answer in answers]]
        for values, answers in result.groups
    ]
    return {
        "keys": list(result.keys),
        "names": list(result.names),
        "groups": groups,
        "layout": [[cell.title, cell.what, cell.name] for cell in result.layout],
        "about": sent_answer(result.about),
        "protect": protect_fields(result.about.protect),
    }


def sent_answer(answer: Answer) -> SentAnswer:
    """An answer as plain values, with the rows that it is about."""
    return {**answer_record(answer), "rows": answer.rows.to_fields()}


def read_sent(record: Mapping[str, Any], protect: ProtectedChange) -> Answer:
    """The answer that `sent_answer` wrote."""
    answer = read_answer(record, protect)
    return replace(answer, rows=Population.from_fields(record["rows"]))


def read_result(fields: Mapping[str, Any]) -> Result:
    """The result that `result_fields` wrote.

    ValueError, KeyError or TypeError if it is of another form.
    """
    record = fields["record"]
    protect = read_protect(record["protect"])
    groups = []
    for values, answers in record["groups"]:
        keys = tuple(_read_key(value) for value in values)
        groups.append((keys, [read_sent(answer, protect) for answer in answers]))
    return Result(
        record["keys"],
        record["names"],
        groups,
        answer_id=fields["answer_id"],
        recorded=fields["recorded"],
        layout=[ResultColumn(*cell) for cell in record["layout"]],
        epsilon=Fraction(fields["epsilon"]),
        about=read_sent(record["about"], protect),
        charged=Fraction(fields["charged"]),
    )


def _key(value: Any) -> Any:
    """A key: texts and truths are themselves in JSON, and the others have their kind."""
    if isinstance(value, str | bool):
        return value
    return _tagged(value)


def _read_key(value: Any) -> Any:
    if isinstance(value, str | bool):
        return value
    return _untagged(value)
