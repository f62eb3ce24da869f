"""Answers that the ledger holds, as they were asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from postri.answer import Answer, Result
from postri.answer.forms import read_answers
from postri.answer.words import from_ledger
from postri.errors import InputError, LedgerError
from postri.ledger import Reservation
from postri.ledger.charges import question_epsilon
from postri.privacy import check_epsilon
from postri.question import DatasetQuestion, Wording, read_wording
from postri.session.parsed import ParsedWording
from postri.session.session import PastAnswer

CHANGED = "the policy has changed since"
UNKNOWN_WORDS = "it was put in a form that this version does not know"

Parse = Callable[[Wording], ParsedWording]


def is_same(question: DatasetQuestion, past: Reservation) -> bool:
    """Whether what was reserved is this question."""
    asked = (question.dataset.name, question.dataset.version, question.key)
    return asked == (past.dataset, past.version, past.key)


def result_from_ledger(question: DatasetQuestion, number: int, text: str) -> Result:
    """A recorded answer as this question wants it; each value says where it came from."""
    try:
        answers = read_answers(text, question.dataset.protect)
    except (ValueError, KeyError, TypeError):
        raise LedgerError(
            f"answer {number} of the ledger is not of a form that this version knows; ask "
            "with fresh=True"
        ) from None
    known = question.found_in(answers)
    adapted = [[_noted(answer, number) for answer in known.adapted(each)] for each in answers]
    empty = question.nothing_found(answers)
    if empty is not None:
        empty = _noted(empty, number)
    return Result(
        question.by,
        question.names,
        question.arranged(question.about(adapted)),
        answer_id=str(number),
        recorded=True,
        epsilon=question.epsilon,
        about=empty,
    )


def past_answer(past: Reservation, parse: Parse, parsed: ParsedWording | None) -> PastAnswer:
    """What became of a question; `parsed` is its wording if it was understood already."""
    wording = None
    with suppress(InputError):
        wording = read_wording(json.loads(past.wording or "null"))
    epsilon = past.cost.epsilon
    if epsilon is None:
        # Gaussian noise has no pure epsilon: what was asked for is told.
        epsilon = question_epsilon(past.cost)
        if wording is not None and wording.epsilon is not None:
            epsilon = check_epsilon(wording.epsilon)
    found = PastAnswer(
        answer_id=str(past.id),
        time=past.time,
        dataset=past.dataset,
        question=wording,
        epsilon=epsilon,
        status="open",
        reason=None,
        result=None,
    )
    if past.reason is not None:
        # Why it failed is for the steward.
        return replace(found, status="failed")
    if past.answer_text is None:
        return found
    if wording is None:
        return replace(found, status="answered", reason=UNKNOWN_WORDS)
    result = _shown_again(parsed or wording, parse, past, past.answer_text)
    if result is None:
        return replace(found, status="answered", reason=CHANGED)
    return replace(found, status="answered", result=result)


def _shown_again(
    wording: Wording | ParsedWording, parse: Parse, past: Reservation, text: str
) -> Result | None:
    """A past answer as it was asked for; None if the words mean another question by now."""
    try:
        parsed = wording
        if isinstance(parsed, Wording):
            parsed = parse(parsed)
    except InputError:
        return None
    if not is_same(parsed.question, past):
        return None
    return parsed.shaped(result_from_ledger(parsed.question, past.id, text))


def _noted(answer: Answer, number: int) -> Answer:
    return replace(answer, notes=(*answer.notes, from_ledger(str(number))))
