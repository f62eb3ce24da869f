"""A desk: where an analyst's questions are answered. One is here, beside the data; another is across a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

from postri.answer import Result
from postri.session.budget import Budget
from postri.session.facts import DatasetFacts
from postri.session.price import Price
from postri.session.wording import Wording

Status = Literal["answered", "failed", "open"]


@dataclass(frozen=True)
class PastAnswer:
    """A question that was asked before, and its answer as it was given, if the policy still means the same by the question.

    `reason` says why there is no result: the kind of a failure, or that the policy has changed since.
    """

    answer_id: str
    time: str
    dataset: str
    question: Wording
    epsilon: Fraction
    status: Status
    reason: str | None
    result: Result | None


class Desk(Protocol):
    """What a session needs of wherever its questions go."""

    analyst: str

    def describe(self) -> Mapping[str, DatasetFacts]:
        """What is public of each dataset."""
        ...

    def answer(self, wording: Wording, retry: str | None = None) -> Result:
        """The answer, paid for. The same question with the same key of a retry is never paid for twice."""
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
