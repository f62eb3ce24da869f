"""The operations of a ledger over the book of any store: reserve, record, budgets, audits.

A store says how transactions begin and end, and what is locked meanwhile. What is checked and
written in them is the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from postri.cost import NOTHING, Cost, check_amount
from postri.errors import InputError, LedgerError, RetryKeyUsed, TermsRefused
from postri.ledger.accountants import Accountant
from postri.ledger.book import Book
from postri.ledger.charges import (
    LONGEST_NAME,
    Attempt,
    Charge,
    Limits,
    People,
    check_name,
    check_text,
)
from postri.ledger.entries import (
    Answered,
    Entry,
    Failed,
    Reopened,
    Reserved,
    ReservedWithDelta,
    Restored,
    RestoredWithDelta,
    read_fact,
)
from postri.ledger.head import Head
from postri.ledger.people import (
    Standing,
    refusal_of,
    standing_of,
    terms_under,
    without_number,
    write_terms,
)
from postri.ledger.protection import Protections
from postri.ledger.store import (
    AskedQuestion,
    DatasetUsage,
    Indexes,
    Recorded,
    Reservation,
    Unanswered,
    View,
)
from postri.ledger.terms import DatasetTerms, ProtectionAccepted

# Where nothing is said of the people of a dataset.
NOBODY = People()


class StoredLedger(ABC):
    """A ledger in a store. The methods of questions are those of the protocol `Ledger`."""

    def __init__(self) -> None:
        # What this process has walked of each chain: it need not be read again.
        self._protections: dict[str, Protections] = {}
        # What this ledger has put in force, by dataset and analyst.
        self._said: dict[tuple[str, str], SaidTerms] = {}

    # ---- what a store does in its own way

    @abstractmethod
    def _writing(
        self,
        dataset: str,
        people: People = NOBODY,
        analyst: str | None = None,
        retry: str | None = None,
    ) -> AbstractContextManager[Book]:
        """A transaction that may append to a dataset and to those about the same people: refuses
        what is unknown or too old, and moves the head when all is durable.

        The totals of the analyst will be looked at, if one is named, and the key of a retry.
        """

    @abstractmethod
    def _ending(self, reservation: int) -> AbstractContextManager[Book]:
        """The same for the dataset of a reservation."""

    @abstractmethod
    def _reading(self, dataset: str | None = None) -> AbstractContextManager[Book]:
        """The ledger at one moment, if what it tells of a dataset, or of all, is known and no older
        than the head.
        """

    @abstractmethod
    def _looking(self) -> AbstractContextManager[Book]:
        """The ledger at one moment, whatever its head says."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[BookSnapshot]:
        """The ledger at one moment, for audits."""

    @abstractmethod
    def accept_restored(self) -> int:
        """Accept a ledger that is older than its head, or has lost it.

        Charges what the head knew to be spent and the ledger does not.

        The number of the entry that says so, the last if there are several. LedgerError if there is
        nothing to accept.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the store."""

    def backup(self, path: str | Path) -> None:
        """A copy of the ledger at one moment, into a file that is not there yet; writers go on
        meanwhile.
        """
        raise InputError(
            "a ledger in a database is backed up with the database, by its own tools: see the "
            f"documentation of the ledger; nothing was written to {str(path)!r}"
        )

    def warnings(self) -> list[str]:
        """What the steward should change about the store, though it can be used."""
        return []

    # ---- questions

    def recorded(self, dataset: str, version: str, key: str) -> Recorded | None:
        with self._reading(dataset) as book:
            number = book.answered(dataset, version, key)
            if number is None:
                return None
            return _recorded(book, number, (dataset, version, key))

    def reserve(self, charge: Charge, limits: Limits, attempt: Attempt | None = None) -> int:
        retry = attempt.retry if attempt is not None else None
        with self._writing(charge.dataset, limits.people, charge.analyst, retry) as book:
            if attempt is not None and retry is not None:
                before = book.retried(charge.analyst, attempt)
                if before is not None:
                    _check_same(book.reservation(before), charge)
                    return before
            self._check_in_force(book, charge, limits)
            standing = self._standing(book, charge.dataset, limits.people)
            refused = refusal_of(book, charge, limits, standing)
            if refused is not None and not standing.facts:
                raise refused
            for fact in standing.facts:
                book.append(fact)
            write_terms(book, charge, limits, standing.names)
            if refused is None:
                number = book.append(_reserved(charge))
                if attempt is not None:
                    book.keep(number, charge.analyst, attempt)
        self._said[charge.dataset, charge.analyst] = SaidTerms.of_limits(limits)
        if refused is None:
            return number
        # What earlier spends count for was written all the same: it is no part of the question.
        raise refused

    def retried(self, analyst: str, attempt: Attempt) -> Reservation | None:
        # Most keys are new, and whoever has a new one reserves next: there the head is looked at.
        with self._looking() as book:
            if not book.has_retry(analyst, attempt):
                return None
        with self._reading() as book:
            number = book.retried(analyst, attempt)
            if number is None:
                return None
            return book.past(number)

    def keep(self, reservation: int, analyst: str, attempt: Attempt) -> None:
        # Most questions are kept already: reading takes no lock that others wait for.
        with self._reading() as book:
            if book.is_kept(reservation, analyst, attempt):
                return
        with self._ending(reservation) as book:
            book.reservation(reservation)
            book.keep(reservation, analyst, attempt)

    def turn(self, *words: str) -> AbstractContextManager[None]:
        return nullcontext()

    def past(self, reservation: int) -> Reservation:
        with self._reading() as book:
            return book.past(reservation)

    def history(
        self, analyst: str, before: int | None = None, limit: int = 50
    ) -> list[Reservation]:
        with self._reading() as book:
            return book.history(analyst, before, limit)

    def asked(
        self, analyst: str, before: int | None = None, limit: int = 50
    ) -> list[AskedQuestion]:
        with self._reading() as book:
            return book.asked(analyst, before, limit)

    def record(self, reservation: int, answer: str) -> None:
        check_text(answer, "the answer")
        with self._ending(reservation) as book:
            asked = _without_fate(book, reservation)
            book.append(Answered(reservation, asked.dataset, asked.analyst, answer))

    def fail(self, reservation: int, reason: str) -> None:
        if len(reason) > LONGEST_NAME or not all(part.isidentifier() for part in reason.split(".")):
            # What was given is not shown: it may be a message, and with it a cell.
            raise InputError(
                "the reason of a failure must be the name of a class, such as 'EngineError'"
            )
        with self._ending(reservation) as book:
            asked = _without_fate(book, reservation)
            book.append(Failed(reservation, asked.dataset, asked.analyst, reason))

    def unanswered(self, dataset: str) -> list[Unanswered]:
        with self._looking() as book:
            found = [each for name in book.same_people(dataset) for each in book.unanswered(name)]
        return sorted(found, key=lambda each: each.id)

    def open_again(self, dataset: str) -> list[Unanswered]:
        check_name(dataset, "dataset")
        with self._writing(dataset) as book:
            looked_at: list[Unanswered] = []
            for name in book.same_people(dataset):
                found = book.unanswered(name)
                if found:
                    book.append(Reopened(name, tuple(each.id for each in found)))
                looked_at += found
            return looked_at

    def questions(self, dataset: str, analyst: str) -> int:
        with self._looking() as book:
            return book.questions(dataset, analyst)

    # ---- budgets

    def spent(self, dataset: str, analyst: str | None = None, people: People | None = None) -> Cost:
        with self._looking() as book:
            if people is None:
                return Standing(book.same_people(dataset)).spent(book, analyst)
            return self._standing(book, dataset, people).spent(book, analyst)

    def usage(self, dataset: str, people: People, view: View | None = None) -> DatasetUsage:
        with self._looking() as book:
            try:
                standing = self._standing(book, dataset, people)
            except TermsRefused:
                standing = Standing(book.same_people(dataset, people.same_people))
            if view is not None:
                return standing.usage(view.usage)
            return standing.usage(book.usage())

    def datasets(self) -> list[str]:
        with self._looking() as book:
            return book.datasets()

    def same_people(self, dataset: str, joined: Iterable[str] = ()) -> tuple[str, ...]:
        with self._looking() as book:
            return book.same_people(dataset, joined)

    def set_budget(
        self,
        dataset: str,
        budget: Fraction,
        accountant: Accountant,
        per_question: Fraction | None = None,
        allowances: Mapping[str, Fraction] | None = None,
    ) -> int | None:
        check_name(dataset, "dataset")
        limits = Limits(budget, accountant, per_question)
        given = dict(allowances or {})
        for analyst, allowance in given.items():
            check_name(analyst, "analyst")
            check_amount(allowance, "an allowance")
        with self._writing(dataset) as book:
            terms = book.terms(dataset)
            # What is protected, where and of whom is not the budget's business: it stays.
            names = book.same_people(dataset)
            wanted = replace(
                terms_under(terms, dataset, limits, names), allowances=MappingProxyType(given)
            )
            if terms is not None and replace(terms, places=()) == wanted:
                return None
            return book.append(wanted)

    def accept_protection(self, dataset: str, people: People) -> list[int]:
        with self._writing(dataset, people) as book:
            found = without_number(book, dataset, people, lambda name: self._walked(book, name))
            if not found:
                raise LedgerError(
                    f"there is nothing to accept: whatever was spent on {dataset!r} has its number "
                    "under the protection that the policy names"
                )
            numbers = []
            for terms, protect in found:
                numbers.append(book.append(ProtectionAccepted(terms.dataset, protect)))
                book.append(replace(terms, protect=protect, places=()))
            return numbers

    def say_again(self) -> None:
        """The policy or the allowances were read anew: what the next questions say counts as new,
        though it may be what this process said before.
        """
        self._said.clear()

    def _check_in_force(self, book: Book, charge: Charge, limits: Limits) -> None:
        """TermsRefused if another process has replaced the terms that this one put in force.

        Its policy is the newer one: to go on here would put the older one in force again, and so
        in turn for ever. A process that starts, or reads its policy anew, says something new.
        """
        wanted = SaidTerms.of_limits(limits)
        if self._said.get((charge.dataset, charge.analyst)) != wanted:
            return
        terms = book.terms(charge.dataset)
        if terms is not None and not wanted.are_in(terms, charge.analyst):
            raise TermsRefused(
                f"another service or session with another policy uses this ledger, and has changed "
                f"the terms of {charge.dataset!r} since: start this one again with the policy that "
                "holds, and let all that share a ledger read the same; nothing was spent"
            )

    def _standing(self, book: Book, dataset: str, people: People) -> Standing:
        return standing_of(book, dataset, people, lambda name: self._walked(book, name))

    def _walked(self, book: Book, dataset: str) -> Protections:
        """What spends were made under, by all entries: walks on from where the last walk ended."""
        chain = book.chain_of(dataset)
        known = self._protections.get(chain, Protections())
        if known.number and book.hash_at(known.number) != known.hash:
            known = Protections()
        later = book.spends(known.number, dataset)
        # Another thread may look at what is known meanwhile.
        walked = None
        for entry in later:
            if walked is None:
                walked = deepcopy(known)
            walked.add(read_fact(entry.number, entry.kind, entry.body))
            walked.number = entry.number
            walked.hash = entry.hash
        if walked is None:
            return known
        self._protections[chain] = walked
        return walked

    def summary(self) -> Mapping[str, DatasetUsage]:
        with self._looking() as book:
            return book.usage()

    def view(self, last: View | None = None) -> View:
        with self._looking() as book:
            head = book.head()
            if last is not None and last.head.hash == head.hash:
                return last
            return View(head, book.usage())

    # ---- audits

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The entries above a number, in order; unknown kinds too.

        Nothing is locked between two of them.
        """
        while batch := self._batch(after):
            yield from batch
            after = batch[-1].number

    def entries_before(self, before: int) -> Iterator[Entry]:
        """The entries below a number, the newest first; unknown kinds too.

        Nothing is locked between two of them.
        """
        while batch := self._batch_before(before):
            yield from batch
            before = batch[-1].number

    def _batch(self, after: int) -> list[Entry]:
        with self._looking() as book:
            return book.batch(after)

    def _batch_before(self, before: int) -> list[Entry]:
        with self._looking() as book:
            return book.batch_before(before)

    def head(self) -> Head:
        """Where the ledger ends now: print `head().line` and keep it elsewhere."""
        with self._looking() as book:
            return book.head()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class BookSnapshot:
    """A ledger at one moment, with the heads of its chains as the second place has them."""

    def __init__(self, book: Book, heads: Mapping[str, Head | None]) -> None:
        self.heads = heads
        self._book = book

    def entries(self) -> Iterator[Entry]:
        return self._book.entries()

    def usage(self) -> Mapping[str, DatasetUsage]:
        return self._book.usage()

    def indexes(self) -> Indexes:
        return self._book.indexes()


@dataclass(frozen=True)
class SaidTerms:
    """What limits say of a dataset and of one analyst there, as far as terms record it."""

    budget: Fraction
    accountant: Accountant
    per_question: Fraction | None
    allowance: Fraction | None
    people: People

    @classmethod
    def of_limits(cls, limits: Limits) -> SaidTerms:
        return cls(
            budget=limits.budget,
            accountant=limits.accountant,
            per_question=limits.per_question,
            allowance=limits.allowance,
            people=limits.people,
        )

    def are_in(self, terms: DatasetTerms, analyst: str) -> bool:
        """Whether terms say the same; where these say nothing of a protection, any will do."""
        protect = self.people.protect
        return (
            self.budget == terms.budget
            and self.accountant == terms.accountant
            and self.per_question == terms.per_question
            and self.allowance == terms.allowances.get(analyst)
            and protect in (None, terms.protect)
        )


# ---- from charges to facts


def _reserved(charge: Charge) -> Reserved:
    kind = ReservedWithDelta if charge.cost.delta else Reserved
    return kind(
        dataset=charge.dataset,
        version=charge.version,
        analyst=charge.analyst,
        key=charge.key,
        analyst_text=charge.stored_question(),
        cost=charge.cost,
    )


def _check_same(asked: Reserved, charge: Charge) -> None:
    """RetryKeyUsed if the same words mean another question by now: a retry never pays for that."""
    before = (asked.dataset, asked.version, asked.analyst, asked.key)
    now = (charge.dataset, charge.version, charge.analyst, charge.key)
    if before != now:
        raise RetryKeyUsed


def _without_fate(book: Book, number: int) -> Reserved:
    """The reservation, if it is still open; LedgerError otherwise."""
    asked = book.reservation(number)
    if book.fate(number) is not None:
        raise LedgerError(
            f"reservation {number} of the ledger has its fate already: entries are permanent"
        )
    return asked


def _recorded(book: Book, number: int, question: tuple[str, str, str]) -> Recorded:
    asked = book.reservation(number)
    if (asked.dataset, asked.version, asked.key) == question:
        match book.fate(number):
            case (Answered() as answered, time):
                return Recorded(number, answered.answer, asked.cost, asked.analyst, time)
    raise LedgerError("the ledger's index of answers does not fit its entries: verify it")


def restored(book: Book, head: Head | None, *, is_behind: bool) -> Restored:
    """Charges what the head knew to be spent and the ledger does not.

    If the ledger is not behind the head but went another way, that may be all of it.
    """
    if head is None:
        return Restored(None, MappingProxyType({}))
    charged = {}
    for dataset, cost in head.spent.items():
        lost = cost
        if is_behind:
            lost = book.spent(dataset).lacking(cost)
        if lost != NOTHING:
            charged[dataset] = lost
    return restoring(head.line, charged)


def restoring(line: str | None, charged: Mapping[str, Cost]) -> Restored:
    """The fact that this is charged anew."""
    kind = Restored
    if any(cost.delta for cost in charged.values()):
        kind = RestoredWithDelta
    return kind(line, MappingProxyType(dict(charged)))
