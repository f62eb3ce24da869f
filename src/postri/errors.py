"""Every exception that postri raises.

    PostriError
    ├── InputError (also ValueError)   the request is wrong; nothing was read, nothing was spent
    │   └── RetryKeyUsed               the key of a retry belongs to another question
    ├── SourceError                    the data cannot be opened
    │   └── SourceChanged              the data changed while they were counted
    ├── EngineError                    the engine failed while counting
    ├── BudgetExceeded                 the budget does not allow the question; nothing was spent
    ├── QuestionsExceeded              the analyst has asked enough questions; nothing was spent
    ├── DatasetClosed                  too many questions had no answer; nothing was spent
    ├── QuestionFailed                 a question that was paid for has no answer; it stays spent
    ├── LedgerError                    the ledger cannot be read or written; there is no answer
    │   └── TermsRefused               the policy's terms do not fit what the ledger knows
    ├── PolicyError                    the steward's file is wrong; says every problem with its line
    └── ServiceError                   a service cannot be reached, or refuses whoever asks

A message carries parameters, file names and column names: never a cell, a rank or a probability.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction


class PostriError(Exception):
    """The root of the tree. `spent` says whether the question was paid for when it failed."""

    spent = False


class InputError(PostriError, ValueError):
    """The request is wrong. Says what was wrong, what was given and what to do."""


class RetryKeyUsed(InputError):  # noqa: N818  # as its neighbours
    """The key of a retry was used for another question."""

    def __init__(self) -> None:
        super().__init__(
            "this retry key was used for another question; take a new key for each question, "
            "and the same one to try it again"
        )


class SourceError(PostriError):
    """The data cannot be opened."""


class SourceChanged(SourceError):  # noqa: N818  # users know it by this name
    """The data changed between two scans; nothing was drawn."""


class EngineError(PostriError):
    """The engine failed while counting.

    Names the engine and the kind of failure, never its message.
    """


class BudgetExceeded(PostriError):  # noqa: N818  # users know it by this name
    """The question would cost more than is left. It cost nothing.

    `requested`, `remaining` and `short_by` are exact fractions of the `unit`, which is epsilon, or
    delta where keys were to be found; `limit` names what ran out: the dataset's budget, an
    analyst's allowance, or the most that one question may cost.
    """

    def __init__(
        self,
        requested: Fraction,
        remaining: Fraction,
        short_by: Fraction,
        limit: str,
        unit: str = "epsilon",
    ) -> None:
        self.requested, self.remaining, self.short_by, self.limit = (
            requested,
            remaining,
            short_by,
            limit,
        )
        self.unit = unit
        cost, left, lacking = map(_brief, (requested, remaining, short_by))
        super().__init__(
            f"the question costs {unit} {cost}, and {limit} leaves {left}: short by "
            f"{lacking}; nothing was spent"
        )


class QuestionsExceeded(PostriError):  # noqa: N818  # as its neighbours
    """The analyst has asked as many questions of a dataset as the policy allows."""


class DatasetClosed(PostriError):  # noqa: N818  # as its neighbours
    """As many questions of a dataset have no answer as may have none. It cost nothing.

    If `running`, some of them may get theirs still: then it may be asked again.
    """

    def __init__(self, message: str, *, running: bool = False) -> None:
        self.running = running
        super().__init__(message)


class QuestionFailed(PostriError):  # noqa: N818  # as its neighbours
    """A question that was paid for has no answer and never gets one.

    There is one message for all causes, and no cause: that one's row made an engine fail must not
    be told from a lost connection. `charged` is the epsilon that stays spent; with Gaussian noise,
    which has none, the one that was asked for.
    """

    spent = True

    def __init__(self, answer_id: str, charged: Fraction) -> None:
        self.answer_id, self.charged = answer_id, charged
        super().__init__(
            f"question {answer_id} failed after it was paid for: epsilon {_brief(charged)} stays "
            "spent, for data may have been read; the steward can see why, and it may be asked "
            "anew, with another retry key"
        )


class ServiceError(PostriError):
    """A service cannot be reached, or refuses whoever asks: the token is wrong, there are too many
    requests, it took too long.

    `code` is the service's own name of the trouble, `status` that of HTTP; both are None if there
    was no reply.
    """

    def __init__(
        self,
        message: str,
        code: str | None = None,
        status: int | None = None,
        *,
        spent: bool = False,
    ) -> None:
        self.code, self.status, self.spent = code, status, spent
        super().__init__(message)


def _brief(amount: Fraction) -> str:
    if Fraction(f"{float(amount):g}") == amount or amount.denominator > 10**6:
        return f"{float(amount):g}"
    return str(amount)


class LedgerError(PostriError):
    """The ledger cannot be read or written, or is not what it should be.

    No answer is given without it.
    """


class TermsRefused(LedgerError):  # noqa: N818  # as its neighbours
    """What the policy says of a dataset does not fit what the ledger knows of it: the steward must
    decide. Nothing was spent.
    """


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a policy, and where; line 0 if it has no place."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


class PolicyError(PostriError):
    """The policy is wrong: every problem at once."""

    def __init__(self, path: str, problems: Sequence[Problem]) -> None:
        self.path, self.problems = path, tuple(problems)
        super().__init__(
            "\n".join(
                [
                    (
                        f"the policy {path!r} has {len(self.problems)} "
                        f"problem{'s' * (len(self.problems) != 1)}:"
                    ),
                    *(f"  {each}" for each in self.problems),
                ]
            )
        )


def missing_extra(what: str, package: str, extra: str) -> PostriError:
    """The error for a feature whose optional package is not installed."""
    return PostriError(f"{what} needs {package}: pip install 'postri[{extra}]'")


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint that lists the names closest to a misspelt one."""
    from difflib import get_close_matches

    known = list(names)
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(repr(match) for match in close) + "?"
    return (
        "there are: "
        + ", ".join(repr(other) for other in known[:20])
        + (", ..." if len(known) > 20 else "")
    )
