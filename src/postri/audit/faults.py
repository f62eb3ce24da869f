"""The faults attack: something breaks after a question was paid for. Whatever it is, the analyst
sees one face, pays in full, and after a few of them the dataset is closed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from postri.audit.attack import Attack, AttackNotes, Size
from postri.audit.scratch import KINDS, opened, scratch_folder, some_rows, spent, write_policy
from postri.audit.swapped import swapped
from postri.errors import DatasetClosed, EngineError, QuestionFailed, SourceChanged
from postri.ledger import SqliteLedger
from postri.question.bound import BoundQuestion
from postri.session.local import LocalSession

EPSILON = Fraction(1, 2)
MOST_FAILURES = 3
# What nobody but the steward may read in an error.
CELL = "47110815"


class Panic(BaseException):
    """What some libraries raise when they break: no Exception."""


CAUSES: tuple[Callable[[], BaseException], ...] = (
    lambda: EngineError(f"a cell {CELL} cannot be cast"),
    lambda: SourceChanged(CELL),
    lambda: MemoryError(CELL),
    lambda: TimeoutError(CELL),
    lambda: ZeroDivisionError(CELL),
    lambda: RecursionError(CELL),
    lambda: UnicodeDecodeError("utf-8", CELL.encode(), 0, 1, CELL),
    lambda: OSError(5, CELL),
    lambda: Panic(CELL),
)


@dataclass(frozen=True)
class Fault:
    """Where something breaks, and what is raised there."""

    where: str
    cause: Callable[[], BaseException]

    def injected(self) -> AbstractContextManager[None]:
        """The fault, for the time of a block."""
        return PLACES[self.where](self.cause)


def _while_counting(cause: Callable[[], BaseException]) -> AbstractContextManager[None]:
    def answers(bound: Any) -> Any:
        raise cause()

    return swapped(BoundQuestion, "answers", answers)


def _after_the_draw(cause: Callable[[], BaseException]) -> AbstractContextManager[None]:
    original = BoundQuestion.answers

    def answers(bound: BoundQuestion) -> Any:
        original(bound)
        raise cause()

    return swapped(BoundQuestion, "answers", answers)


def _while_recording(cause: Callable[[], BaseException]) -> AbstractContextManager[None]:
    def record(ledger: Any, reservation: int, answer: str) -> Any:
        raise cause()

    return swapped(SqliteLedger, "record", record)


PLACES = {
    "while counting": _while_counting,
    "after the draw": _after_the_draw,
    "while recording": _while_recording,
}


def all_faults() -> list[Fault]:
    """Every cause at every place."""
    return [Fault(where, cause) for where in PLACES for cause in CAUSES]


def ask(session: LocalSession) -> BaseException | None:
    """Ask, and return the error, whatever it is; None if there is an answer."""
    try:
        session.ask("people", {"mid": "median(x)"}, epsilon=EPSILON, fresh=True)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return error
    return None


def face(error: BaseException | None) -> tuple[str, str]:
    """What an analyst sees of an error, but for the number of the question."""
    words = re.sub(r"question \d+", "question N", str(error))
    return type(error).__name__, words


def try_faults(notes: AttackNotes, kinds: Iterable[str] = KINDS) -> int:
    """Every fault on every kind of source; returns how many were injected."""
    seen: set[tuple[str, str]] = set()
    number = 0
    for kind in kinds:
        with scratch_folder() as folder:
            path = write_policy(folder, kind, some_rows(30), more=f"max_failures = {MOST_FAILURES}")
            for fault in all_faults():
                notes.tell(f"{kind}, {fault.where}")
                seen.add(_one_fault(notes, path, kind, fault))
                number += 1
            _closing(notes, path, kind)
    if len(seen) > 1:
        notes.findings.append(f"failures have {len(seen)} faces: {sorted(seen)}")
    return number


def _one_fault(notes: AttackNotes, path: Path, kind: str, fault: Fault) -> tuple[str, str]:
    """A question that breaks: charged in full, no cause in sight. Returns its face."""
    cause = type(fault.cause()).__name__
    name = f"{kind}, {cause} {fault.where}"
    with opened(path) as (session, ledger):
        before = spent(ledger)
        with fault.injected():
            error = ask(session)
        charged = spent(ledger) - before
        if charged != EPSILON:
            notes.findings.append(f"{name}: charged {charged} in place of {EPSILON}")
        if not isinstance(error, QuestionFailed):
            notes.findings.append(f"{name}: {type(error).__name__} in place of QuestionFailed")
            return face(error)
        if error.charged != EPSILON or not error.spent:
            notes.findings.append(f"{name}: the error says that {error.charged} was charged")
        if error.__cause__ is not None or error.__context__ is not None:
            notes.findings.append(f"{name}: the error carries its cause")
        shown = str(session.answers(limit=1)[0])
        if CELL in shown or cause in shown:
            notes.findings.append(f"{name}: the history tells the cause")
        if len(ledger.unanswered("people")) != 1:
            notes.findings.append(f"{name}: not counted among the failures")
        ledger.open_again("people")
        return face(error)


def _closing(notes: AttackNotes, path: Path, kind: str) -> None:
    """After `MOST_FAILURES` nothing more is asked, and nothing spent, until it is opened again."""
    with opened(path) as (session, ledger):
        with _while_counting(lambda: MemoryError(CELL)):
            for _ in range(MOST_FAILURES):
                ask(session)
        before = spent(ledger)
        error = ask(session)
        if not isinstance(error, DatasetClosed):
            notes.findings.append(f"{kind}: open after {MOST_FAILURES} failures")
        if spent(ledger) != before:
            notes.findings.append(f"{kind}: a closed dataset was paid for")
        ledger.open_again("people")
        if ask(session) is not None:
            notes.findings.append(f"{kind}: opened again, and still no answer")


def attempt(size: Size, notes: AttackNotes) -> None:
    """All faults on all kinds of sources that need no server."""
    number = try_faults(notes)
    notes.figures["faults injected"] = f"{number:,}"
    notes.figures["places"] = ", ".join(PLACES)
    notes.figures["causes"] = ", ".join(type(cause()).__name__ for cause in CAUSES)


ATTACK = Attack(
    name="faults",
    tried=(
        "engines that fail, run out of memory or time after a question was paid for: one face, "
        "the full charge, counted, closed after a few"
    ),
    attempt=attempt,
)
