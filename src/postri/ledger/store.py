"""What a ledger is: the protocol that sessions rely on, and the values that come out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from postri.cost import NOTHING, Cost
from postri.ledger.accountants import Accountant, Pure
from postri.ledger.charges import Attempt, Charge, Limits, People
from postri.ledger.entries import Entry
from postri.ledger.head import Head

# The chain that is common to all datasets: the only one of a SQLite ledger.
TRUNK = ""


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
class Reservation:
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
class Unanswered:
    """A question that has no answer: the class of its failure, or None if nobody knows its fate."""

    id: int
    time: str
    analyst: str
    reason: str | None


@dataclass(frozen=True)
class AskedQuestion:
    """That an analyst asked a question, and in which words: the number and the hash of its
    reservation.
    """

    number: int
    hash: str
    wording: str


@dataclass(frozen=True)
class Usage:
    """What was spent, in how many entries, and on how many questions."""

    cost: Cost = NOTHING
    entries: int = 0
    questions: int = field(default=0, kw_only=True)

    def plus(self, cost: Cost, questions: int = 0) -> Usage:
        """With one more entry of this cost, which may be a question."""
        return self.and_also(Usage(cost, 1, questions=questions))

    def and_also(self, other: Usage) -> Usage:
        """Both together."""
        asked = self.questions + other.questions
        return Usage(self.cost + other.cost, self.entries + other.entries, questions=asked)


@dataclass(frozen=True)
class DatasetUsage(Usage):
    """What was spent on a dataset, and by whom.

    Charges of a restored ledger belong to no analyst.
    """

    analysts: Mapping[str, Usage] = field(default_factory=dict)

    def joined(self, other: DatasetUsage) -> DatasetUsage:
        """Both together."""
        analysts = dict(self.analysts)
        for analyst, usage in other.analysts.items():
            own = analysts.get(analyst, Usage())
            analysts[analyst] = own.and_also(usage)
        both = self.and_also(other)
        return DatasetUsage(both.cost, both.entries, analysts, questions=both.questions)

    def of(self, analyst: str) -> Usage:
        """One analyst's part."""
        return self.analysts.get(analyst, Usage())


@dataclass(frozen=True)
class View:
    """Where a ledger ended at some moment, and what was spent by then, by dataset."""

    head: Head
    usage: Mapping[str, DatasetUsage]


@dataclass(frozen=True)
class Account:
    """A dataset as the policy has it: what `postri budget` sets beside the ledger."""

    dataset: str
    budget: Fraction
    accountant: Accountant = field(default_factory=Pure)
    allowances: Mapping[str, Fraction] = field(default_factory=dict)
    people: People = field(default_factory=People)


@dataclass(frozen=True)
class Indexes:
    """Where facts stand: the last terms by dataset, fates by reservation, the newest answered
    reservation by (dataset, version, key), and (dataset, reservation) of those without an answer;
    and the places and joins of datasets, in pairs.
    """

    terms: Mapping[str, int] = field(default_factory=dict)
    fates: Mapping[int, int] = field(default_factory=dict)
    answers: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    unanswered: frozenset[tuple[str, int]] = frozenset()
    places: frozenset[tuple[str, str]] = frozenset()
    same_people: frozenset[tuple[str, str]] = frozenset()


class Snapshot(Protocol):
    """A ledger at one moment, for audits: the entries as they are, and the tables that are kept
    beside them for speed.
    """

    @property
    def heads(self) -> Mapping[str, Head | None]:
        """The head of each chain as the second place has it, by the chain's name."""
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


class Ledger(Protocol):
    """The durable, append-only store of spends.

    The order of an answer: `reserve`, touch data, `record`, hand over. A crash may waste budget,
    and never leaks an answer that is not paid for. There are no refunds.
    """

    def recorded(self, dataset: str, version: str, key: str) -> Recorded | None:
        """The newest recorded answer to this question."""
        ...

    def reserve(self, charge: Charge, limits: Limits, attempt: Attempt | None = None) -> int:
        """Check all limits and charge the cost, in one durable transaction.

        The number of the entry. BudgetExceeded, QuestionsExceeded and DatasetClosed charge nothing
        for the question; TermsRefused writes nothing. What earlier spends count for under a
        stronger protection is charged first, and stays if the question is refused.

        If the key of a retry has its reservation already, that is returned and nothing is charged.
        """
        ...

    def retried(self, analyst: str, attempt: Attempt) -> Reservation | None:
        """What became of a question that was asked with this key before.

        RetryKeyUsed if that was another one.
        """
        ...

    def keep(self, reservation: int, analyst: str, attempt: Attempt) -> None:
        """Keep how an analyst put the question of a recorded answer: it is a part of the analyst's
        history, and costs nothing.
        """
        ...

    def turn(self, *words: str) -> AbstractContextManager[None]:
        """One at a time for the same words, among all processes that share a ledger in a database;
        those that share a file do not wait for one another.
        """
        ...

    def past(self, reservation: int) -> Reservation:
        """A reservation and what became of it."""
        ...

    def history(
        self, analyst: str, before: int | None = None, limit: int = 50
    ) -> list[Reservation]:
        """What an analyst asked, newest first, below a number."""
        ...

    def asked(
        self, analyst: str, before: int | None = None, limit: int = 50
    ) -> list[AskedQuestion]:
        """The same questions as `history`, without what became of them."""
        ...

    def record(self, reservation: int, answer: str) -> None:
        """Keep the answer of a reservation, durably."""
        ...

    def fail(self, reservation: int, reason: str) -> None:
        """Keep that a reservation has no answer. The cost stays spent.

        `reason` is the name of a class: a message might hold a cell.
        """
        ...

    def unanswered(self, dataset: str) -> list[Unanswered]:
        """The questions about the people of a dataset without an answer since it was last opened
        again: failed ones, and those whose fate nobody knows (yet).
        """
        ...

    def open_again(self, dataset: str) -> list[Unanswered]:
        """Keep that the steward has looked at the questions without an answer, which are returned:
        they no longer count towards the closing of the dataset, and of those about the same
        people. Writes nothing if there are none.
        """
        ...

    def questions(self, dataset: str, analyst: str) -> int:
        """How many questions an analyst has paid for, answered or not."""
        ...

    def spent(self, dataset: str, analyst: str | None = None, people: People | None = None) -> Cost:
        """All that was spent on the people of a dataset, over all its versions and all datasets
        that are joined with it; of one analyst if named.

        With what a policy says, as it counts for the next question: TermsRefused if that is
        refused.
        """
        ...

    def usage(self, dataset: str, people: People, view: View | None = None) -> DatasetUsage:
        """The same for everybody, now or in a view; where a question is refused, as the entries add
        up.
        """
        ...

    def datasets(self) -> list[str]:
        """The names of all datasets that entries count for."""
        ...

    def same_people(self, dataset: str, joined: Iterable[str] = ()) -> tuple[str, ...]:
        """The datasets about the same people, itself included: those that it is joined with now,
        and those that it ever was.
        """
        ...

    def accept_protection(self, dataset: str, people: People) -> list[int]:
        """Accept that what was spent so far counts as it stands under the protection that is named
        now, though no number tells what it means there.

        The numbers of the entries. LedgerError if there is nothing to accept.
        """
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
        """What was spent, by dataset and analyst: each dataset by itself."""
        ...

    def view(self, last: View | None = None) -> View:
        """The ledger as it is now; the last view itself if nothing was written since."""
        ...

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The entries above a number, in order; unknown kinds too."""
        ...

    def entries_before(self, before: int) -> Iterator[Entry]:
        """The entries below a number, the newest first; unknown kinds too."""
        ...

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The ledger at one moment, for audits."""
        ...

    def close(self) -> None:
        """Let go of the store."""
        ...
