"""Results as plain values that read back as the same results: what a service sends, and what its
clients make of it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from postri.answer.answer import Answer
from postri.answer.json import text_of
from postri.answer.record import answer_fields, read_answer, tagged, untagged
from postri.answer.result import Cell, Result
from postri.answer.words import about
from postri.privacy import protect_fields, read_protect


def result_text(result: Result) -> str:
    """A result as JSON text: dates as text, decimals with the step's digits."""
    return text_of(result_fields(result))


def result_fields(result: Result) -> dict[str, Any]:
    """A result with the words for each answer, and a record from which `read_result` makes it
    again.
    """
    return {
        **result.to_dict(),
        "recorded": result.recorded,
        "groups": [
            {
                "keys": dict(zip(result.keys, values, strict=True)),
                "answers": {
                    name: _told(answer) for name, answer in zip(result.names, answers, strict=True)
                },
            }
            for values, answers in result.groups
        ],
        "record": _record(result),
    }


def _told(answer: Answer) -> dict[str, Any]:
    """One answer for readers."""
    return {
        **answer.to_dict(),
        "statistic": about(answer),
        "sentence": str(answer),
        "notes": list(answer.notes),
    }


def _record(result: Result) -> dict[str, Any]:
    return {
        "keys": list(result.keys),
        "names": list(result.names),
        "groups": [
            [[_key(value) for value in values], [answer_fields(each) for each in answers]]
            for values, answers in result.groups
        ],
        "layout": [[cell.title, cell.what, cell.name] for cell in result.layout],
        "about": answer_fields(result.about),
        "protect": protect_fields(result.about.protect),
    }


def read_result(fields: dict[str, Any]) -> Result:
    """The result that `result_fields` wrote.

    ValueError, KeyError or TypeError if it is of another form.
    """
    record = fields["record"]
    protect = read_protect(record["protect"])
    return Result(
        record["keys"],
        record["names"],
        [
            (
                tuple(_read_key(value) for value in values),
                [read_answer(each, protect) for each in answers],
            )
            for values, answers in record["groups"]
        ],
        answer_id=fields["answer_id"],
        recorded=fields["recorded"],
        layout=[Cell(*cell) for cell in record["layout"]],
        epsilon=Fraction(fields["epsilon"]),
        about=read_answer(record["about"], protect),
    )


def _key(value: Any) -> Any:
    """A key: texts and truths are themselves in JSON, and the others have their kind."""
    return value if isinstance(value, str | bool) else tagged(value)


def _read_key(value: Any) -> Any:
    return value if isinstance(value, str | bool) else untagged(value)
