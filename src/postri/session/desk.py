"""A desk: where an analyst's questions are answered.

One is here, beside the data; another is across a network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

from postri.answer import Result
from postri.errors import InputError
from postri.exact import shown
from postri.question import Price, Wording
from postri.session.budget import Budget
from postri.session.facts import DatasetFacts

MOST_PAST, LONGEST_NUMBER = 200, 18
Status = Literal["answered", "failed", "open"]


@dataclass(frozen=True)
class PastAnswer:
    """A question that was asked before, and its answer as it was given, if the policy still means
    the same by the question.

    `reason` says why there is no result: the kind of a failure, or that the policy has changed
    since.
    """

    answer_id: str
    time: str
    dataset: str
    question: Wording
    epsilon: Fraction
    status: Status
    reason: str | None
    result: Result | None


def check_page(before: object, limit: object) -> tuple[int | None, int]:
    """From below which number, and how many past answers; InputError unless both can be."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_PAST:
        raise InputError(f"limit must be a whole number from 1 to {MOST_PAST}, got {shown(limit)}")
    if before is None:
        return None, limit
    if (
        not isinstance(before, str)
        or not before.isascii()
        or not before.isdigit()
        or len(before) > LONGEST_NUMBER
    ):
        raise InputError(f"before must be the id of an answer, such as '12', got {shown(before)}")
    return int(before), limit


class Desk(Protocol):
    """What a session needs of wherever its questions go."""

    analyst: str

    def describe(self) -> Mapping[str, DatasetFacts]:
        """What is public of each dataset."""
        ...

    def answer(self, wording: Wording, retry: str | None = None) -> Result:
        """The answer, paid for.

        The same question with the same key of a retry is never paid for twice.
        """
        ...

    def price(self, wording: Wording) -> Price:
        """What it would cost."""
        ...

    def budget(self, dataset: str | None = None) -> Budget:
        """What the datasets, or one of them, have left."""
        ...

    def answers(self, before: str | None = None, limit: int = 50) -> list[PastAnswer]:
        """What this analyst asked, newest first; below the number of an answer, if one is given."""
        ...

    def close(self) -> None:
        """Let go of what is held open."""
        ...
