"""The black-box attack: draw from the shipped functions on two neighbouring tables, and try to tell
them apart.

The tables are known to be tight: an attack that is worth its name finds at least half of the
promised epsilon, and it must never find more than all of it. A question that fails is an outcome
like others: an error that depends on a row tells the tables apart as well as a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

import postri
from postri.answer import Answer
from postri.audit.attack import Attack, AttackNotes, Size
from postri.audit.distinguisher import ALPHA, Draw, Found, Label, distinguish, draw_both
from postri.audit.scratch import (
    Row,
    opened,
    scratch_folder,
    some_rows,
    table_in_memory,
    write_policy,
)
from postri.domain import Domain
from postri.errors import PostriError
from postri.session.local import LocalSession

# Labels are cut off so far from the true number: what is beyond has one label.
FAR = 12
# A gap on which the median is tight at epsilon 4 and a confidence of one half: by the exact chances
# the value 0 with an interval short of the other end has 0.353, and with one row more there 0.0135.
GAP = 5
GAP_ROWS = [0] * 11 + [GAP] * 10
# A crowd at one end of a long domain: all other points together outweigh it, by weights that are
# e^-17 each, or e^-18 with one row more. Half precision ends between the two.
LONG = 10**9
CROWD = [0] * 17


@dataclass(frozen=True)
class DrawSubject:
    """A shipped function on two neighbouring tables: what it promises, how often it is drawn.

    `is_tight` says that an attack on these tables can find most of epsilon: then less than half of
    it is a failure of the attack.
    """

    name: str
    epsilon: float
    least: int
    draws: tuple[Draw, Draw]
    is_tight: bool = True

    def attacked(self, until: float) -> Found:
        """What draws until a moment of the clock tell."""
        return distinguish(*draw_both(self.draws, least=self.least, until=until))

    def problem(self, found: Found) -> str | None:
        """What is wrong with what was found, if anything is."""
        told = f"{self.name}: {found.told(self.epsilon)}"
        if found.bound > self.epsilon:
            return f"{told}: more than was promised"
        if self.is_tight and found.bound < self.epsilon / 2:
            return f"{told}: the attack is too weak to say anything"
        return None


def labelled(ask: Callable[[], Answer], label: Callable[[Answer], Label]) -> Label:
    """What was seen: of an answer or of an error."""
    try:
        answer = ask()
    except PostriError as error:
        return (type(error).__name__, str(error))
    return label(answer)


def near(true: int, *parts: str) -> Callable[[Answer], Label]:
    """The whole numbers that were drawn for an answer, by their distance from a true one."""

    def label(answer: Answer) -> Label:
        drawn: Any = answer.drawn
        numbers = [drawn] if not parts else [getattr(drawn, part) for part in parts]
        return tuple(max(-FAR, min(FAR, number.drawn - true)) for number in numbers)

    return label


def places(*points: int) -> Callable[[Answer], Label]:
    """Where the value and both ends of a quantile lie among points: on, below or between them."""

    def place(value: Any) -> int:
        return sum((value > point) + (value >= point) for point in points)

    def label(answer: Answer) -> Label:
        ends = answer.interval
        return place(answer.value), place(ends.low), place(ends.high)

    return label


def both(
    ask: Callable[[Any], Answer], tables: Sequence[Any], label: Callable[[Answer], Label]
) -> tuple[Draw, Draw]:
    """The draws of a function on two tables, which are opened once."""
    one, other = (postri.open(np.array(table, dtype=np.int64)) for table in tables)
    return (
        lambda: labelled(lambda: ask(one), label),
        lambda: labelled(lambda: ask(other), label),
    )


def function_subjects() -> list[DrawSubject]:
    """The functions of the package. The draws use the coins that ship.

    So many draws each that an honest product is found to be tight but with odds below one in a
    million: the bound expected lies more than five of its deviations above half of epsilon.
    """
    rows = 63
    ones = [[1] * rows, [1] * (rows + 1)]
    unit = Domain(0, 1)
    gap = [GAP_ROWS, [*GAP_ROWS, GAP]]
    crowd = [CROWD, [*CROWD, 0]]
    return [
        DrawSubject(
            "count", 1, 4_000, both(lambda t: postri.count(t, epsilon=1), ones, near(rows))
        ),
        DrawSubject(
            "sum",
            1,
            4_000,
            both(lambda t: postri.sum(t, epsilon=1, domain=unit), ones, near(rows)),
        ),
        DrawSubject(
            "mean",
            2,
            1_400,
            both(lambda t: postri.mean(t, epsilon=2, domain=unit), ones, near(rows, "one")),
        ),
        DrawSubject(
            "median",
            4,
            8_000,
            both(
                lambda t: postri.median(t, epsilon=4, domain=Domain(0, GAP), confidence=0.5),
                gap,
                places(0, GAP),
            ),
        ),
        DrawSubject(
            "median of a long domain",
            2,
            600,
            both(
                lambda t: postri.median(t, epsilon=2, domain=Domain(0, LONG)),
                crowd,
                places(0, LONG),
            ),
            is_tight=False,
        ),
    ]


@contextmanager
def session_subject() -> Iterator[DrawSubject]:
    """A session's `ask`, with its policy and its ledger."""
    rows = some_rows(40)
    # One person more in group "a", which the question counts.
    tables: tuple[list[Row], list[Row]] = (rows, [*rows, (5, 1.5, "a", 99)])
    true = sum(row[2] == "a" for row in rows)
    with scratch_folder() as folder, ExitStack() as stack:
        draws = []
        for side, rows_of_side in enumerate(tables):
            path = write_policy(folder / str(side), "csv", rows_of_side)
            # In memory: opening a file takes longer than all the rest of an answer.
            table = table_in_memory(rows_of_side)
            session, _ = stack.enter_context(opened(path, in_memory=table))
            draws.append(_session_draw(session, true))
        yield DrawSubject("a session's ask", 2, 1_400, (draws[0], draws[1]))


def _session_draw(session: LocalSession, true: int) -> Draw:
    label = near(true)

    def ask() -> Answer:
        result = session.ask("people", {"n": "count()"}, where="g = 'a'", epsilon=2, fresh=True)
        return result.answers[0]

    return lambda: labelled(ask, label)


def attempt(size: Size, notes: AttackNotes) -> None:
    """Every subject, each with its share of the time."""
    with session_subject() as session:
        subjects = [*function_subjects(), session]
        share = size.black_box_seconds / len(subjects)
        for subject in subjects:
            notes.tell(subject.name)
            found = subject.attacked(monotonic() + share)
            notes.figures[subject.name] = found.told(subject.epsilon)
            problem = subject.problem(found)
            if problem is not None:
                notes.findings.append(problem)
    notes.figures["odds of a false alarm"] = f"below {len(subjects) * 2 * ALPHA:.0e}"


ATTACK = Attack(
    name="black-box",
    tried=(
        "to tell neighbouring tables apart by draws of the shipped functions: at least half of "
        "the promised epsilon must be found, never more than it"
    ),
    attempt=attempt,
)
