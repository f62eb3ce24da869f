"""What a ledger is: the protocol that sessions rely on, and the values that go in and out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import Protocol

from postri.cost import NOTHING, Cost, check_amount
from postri.errors import InputError
from postri.exact import shown
from postri.ledger.accountants import Accountant, Pure
from postri.ledger.entry import Entry
from postri.ledger.head import Head

LONGEST_NAME, LONGEST_QUESTION = 200, 4_096


@dataclass(frozen=True)
class Limits:
    """The policy's limits for one analyst on one dataset: public numbers, checked in the one
    transaction that reserves.
    """

    budget: Fraction
    accountant: Accountant = field(default_factory=Pure)
    per_question: Fraction | None = None
    allowance: Fraction | None = None

    def __post_init__(self) -> None:
        check_amount(self.budget, "the budget")
        check_accountant(self.accountant)
        for amount, name in (
            (self.per_question, "the most that one question may cost"),
            (self.allowance, "an allowance"),
        ):
            if amount is not None:
                check_amount(amount, name)


@dataclass(frozen=True)
class Request:
    """One question that asks for budget.

    `key` is the SHA-256 of its normal form, `question` the normal form, with the analyst's words.
    """

    dataset: str
    version: str
    analyst: str
    key: str
    question: str
    cost: Cost

    def __post_init__(self) -> None:
        for name in ("dataset", "version", "analyst"):
            check_name(getattr(self, name), name)
        if not isinstance(self.key, str) or re.fullmatch("[0-9a-f]{64}", self.key) is None:
            raise InputError("the key of a question must be a SHA-256 in hexadecimal")
        check_text(self.question, "the question")
        if self.cost.epsilon == 0:
            raise InputError("a question must cost an epsilon above 0")

    def capped_question(self) -> str:
        """The question as it is stored; a very long one is cut, and says so."""
        if len(self.question) <= LONGEST_QUESTION:
            return self.question
        mark = f"... [cut; {len(self.question)} characters in all]"
        return self.question[: LONGEST_QUESTION - len(mark)] + mark


@dataclass(frozen=True)
class Recorded:
    """An answer that was given before.

    `id` is the number of its reservation, `time` when it was recorded.
    """

    id: int
    answer_text: str
    cost: Cost
    analyst: str
    time: str


@dataclass(frozen=True)
class Asking:
    """How a question was put, as text; and the key under which it may be tried again without a
    second charge.
    """

    wording: str
    retry: str | None = None

    def __post_init__(self) -> None:
        check_text(self.wording, "the wording")
        if self.retry is not None:
            check_retry(self.retry)

    @property
    def digest(self) -> str:
        """The SHA-256 of the wording: a retry must be of the same one."""
        return sha256(self.wording.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Past:
    """A reservation and what became of it: it has its answer, the reason of its failure, or neither
    yet.

    `wording` is how it was put.
    """

    id: int
    time: str
    dataset: str
    version: str
    analyst: str
    key: str
    cost: Cost
    answer_text: str | None = None
    reason: str | None = None
    wording: str | None = None


@dataclass(frozen=True)
class Usage:
    """What was spent, and in how many entries."""

    cost: Cost = NOTHING
    entries: int = 0

    def plus(self, cost: Cost) -> Usage:
        """With one more entry of this cost."""
        return Usage(self.cost + cost, self.entries + 1)


@dataclass(frozen=True)
class DatasetUsage(Usage):
    """What was spent on a dataset, and by whom.

    Charges of a restored ledger belong to no analyst.
    """

    analysts: Mapping[str, Usage] = field(default_factory=dict)


@dataclass(frozen=True)
class Account:
    """A dataset as the policy has it: what `postri budget` sets beside the ledger."""

    dataset: str
    budget: Fraction
    accountant: Accountant = field(default_factory=Pure)
    allowances: Mapping[str, Fraction] = field(default_factory=dict)


class Snapshot(Protocol):
    """A ledger at one moment, for audits: the entries as they are, and the tables that are kept
    beside them for speed.
    """

    @property
    def head(self) -> Head | None:
        """The chain's head as the second place has it."""
        ...

    def entries(self) -> Iterator[Entry]:
        """All entries by number, unknown ones too."""
        ...

    def usage(self) -> Mapping[str, DatasetUsage]:
        """What the totals say."""
        ...

    def indexes(self) -> Indexes:
        """What the other tables say."""
        ...


@dataclass(frozen=True)
class Indexes:
    """Where facts stand: the last terms by dataset, fates by reservation, the newest answered
    reservation by (dataset, version, key).
    """

    terms: Mapping[str, int] = field(default_factory=dict)
    fates: Mapping[int, int] = field(default_factory=dict)
    answers: Mapping[tuple[str, str, str], int] = field(default_factory=dict)


class Ledger(Protocol):
    """The durable, append-only store of spends.

    The order of an answer: `reserve`, touch data, `record`, hand over. A crash may waste budget,
    and never leaks an answer that is not paid for. There are no refunds.
    """

    def recorded(self, dataset: str, version: str, key: str) -> Recorded | None:
        """The newest recorded answer to this question."""
        ...

    def reserve(self, request: Request, limits: Limits, asking: Asking | None = None) -> int:
        """Check all limits and charge the cost, in one durable transaction.

        The number of the entry; BudgetExceeded writes nothing.

        If the key of a retry has its reservation already, that is returned and nothing is charged.
        """
        ...

    def retried(self, analyst: str, asking: Asking) -> Past | None:
        """What became of a question that was asked with this key before.

        RetryKeyUsed if that was another one.
        """
        ...

    def keep(self, reservation: int, analyst: str, asking: Asking) -> None:
        """Keep how an analyst put the question of a recorded answer: it is a part of the analyst's
        history, and costs nothing.
        """
        ...

    def past(self, reservation: int) -> Past:
        """A reservation and what became of it."""
        ...

    def history(self, analyst: str, before: int | None = None, limit: int = 50) -> list[Past]:
        """What an analyst asked, newest first, below a number."""
        ...

    def record(self, reservation: int, answer: str) -> None:
        """Keep the answer of a reservation, durably."""
        ...

    def fail(self, reservation: int, reason: str) -> None:
        """Keep that a reservation has no answer:

        `reason` is the name of a class. The cost stays spent.
        """
        ...

    def spent(self, dataset: str, analyst: str | None = None) -> Cost:
        """All that was spent on a dataset, over all its versions; of one analyst if named."""
        ...

    def set_budget(
        self,
        dataset: str,
        budget: Fraction,
        accountant: Accountant,
        per_question: Fraction | None = None,
        allowances: Mapping[str, Fraction] | None = None,
    ) -> int | None:
        """Keep the terms of a dataset, if they changed. The number of the entry."""
        ...

    def summary(self) -> Mapping[str, DatasetUsage]:
        """What was spent, by dataset and analyst."""
        ...

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The entries above a number, in order; unknown kinds too."""
        ...

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The ledger at one moment, for audits."""
        ...

    def close(self) -> None:
        """Let go of the store."""
        ...


def check_name(name: object, what: str) -> None:
    """InputError unless it can name a dataset, a version or an analyst."""
    if not isinstance(name, str) or not name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise InputError(
            f"the name of the {what} must be 1 to {LONGEST_NAME} printable characters, got "
            f"{shown(name)}"
        )


def check_text(text: object, what: str) -> None:
    """InputError unless it is a text: entries are permanent, so what goes in must be what can be
    read again.
    """
    if not isinstance(text, str):
        raise InputError(f"{what} must be a text, got {shown(text)}")


def check_retry(retry: object, name: str = "the key of a retry") -> None:
    """InputError unless it can be the key of a retry, which the caller knows by this name."""
    if (
        not isinstance(retry, str)
        or not retry
        or not retry.isascii()
        or not retry.isprintable()
        or len(retry) > LONGEST_NAME
    ):
        raise InputError(
            f"{name} must be 1 to {LONGEST_NAME} printable ASCII characters, got {shown(retry)}"
        )


def check_accountant(accountant: object) -> None:
    """InputError unless it is an accountant."""
    if not isinstance(accountant, Accountant):
        raise InputError(f"the accountant must be Pure() or ZCDP(delta), got {shown(accountant)}")
