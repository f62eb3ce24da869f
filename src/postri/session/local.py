"""The desk beside the data: the only place where ledger and data meet.

The order of every answer: reserve, touch data, record, hand over. What fails before the reservation
costs nothing; what fails after it has been paid for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from postri.answer import Answer, Result
from postri.answer.record import read, written
from postri.answer.words import from_ledger
from postri.engines.progress import check_cancelled
from postri.engines.table import Table
from postri.errors import (
    InputError,
    LedgerError,
    PostriError,
    QuestionFailed,
    RetryKeyUsed,
    nearest,
)
from postri.exact import shown
from postri.ledger import ZCDP, Accountant, Asking, Ledger, Limits, Past, Pure, Recorded, Request
from postri.mechanisms.coins import Coins
from postri.policy import Dataset, Policy, open_dataset
from postri.session.budget import Budget, budget_of
from postri.session.desk import PastAnswer, check_page
from postri.session.facts import DatasetFacts, facts_of
from postri.session.price import Price, price_of
from postri.session.question import Question, read_question
from postri.session.turns import turn
from postri.session.wording import Wording, read_wording
from postri.sql import Statement, located, read_sql

CHANGED = "the policy has changed since"


@dataclass(frozen=True)
class Read:
    """A wording that was understood: the question, and the statement if it was put in SQL."""

    question: Question
    statement: Statement | None

    def shaped(self, result: Result) -> Result:
        """The result as the words want it."""
        return (
            result
            if self.statement is None
            else self.statement.shaped(result, self.question.request.beta(self.question.groups))
        )

    def located(self, error: InputError) -> InputError:
        """An error with its place in the text, if there is one."""
        if self.statement is None:
            return error
        return located(
            self.statement.source, self.statement.where_words or self.statement.source.words, error
        )


class LocalDesk:
    """Questions of an analyst to the datasets of a policy, paid for from its ledger.

    `allowance` is the most that the analyst may spend on each dataset; where the policy allows
    less, that binds.
    """

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        analyst: str,
        *,
        allowance: Fraction | None = None,
        coins: Callable[[], Coins | None] = lambda: None,
    ) -> None:
        self._policy, self._ledger, self.analyst = policy, ledger, analyst
        self._allowance, self._coins = allowance, coins

    def describe(self) -> Mapping[str, DatasetFacts]:
        """What the policy says of each dataset, without where its data are."""
        return {name: facts_of(dataset) for name, dataset in self._policy.datasets.items()}

    def answer(self, wording: Wording, retry: str | None = None) -> Result:
        """The recorded answer to the question, or a new one that is paid for.

        A question that is asked again with the key of a retry is never paid for twice: it gets the
        answer that it had, or QuestionFailed. If nothing became of it, as after a crash, it is
        drawn now: what was drawn before has reached nobody.
        """
        read = self._read(wording)
        asking = Asking(wording.text, retry)
        try:
            with self._turn(read.question, retry, fresh=wording.fresh):
                tried = self._tried(read.question, asking)
                result = (
                    self._answer(read.question, asking, fresh=wording.fresh)
                    if tried is None
                    else tried
                )
        except RetryKeyUsed:
            raise
        except InputError as error:
            raise read.located(error) from None
        return read.shaped(result)

    def _turn(
        self, question: Question, retry: str | None, *, fresh: bool
    ) -> AbstractContextManager[None]:
        """A new draw for each who wants one, once for each key of a retry; all others pay for one
        answer.
        """
        if not fresh:
            return turn((id(self._ledger), question.key))
        return nullcontext() if retry is None else turn((id(self._ledger), self.analyst, retry))

    def price(self, wording: Wording) -> Price:
        """What the question would cost, and how far its intervals will reach.

        The table is not looked at.
        """
        question = self._read(wording).question
        name = question.dataset.name
        recorded = not wording.fresh and self._recorded(question) is not None
        spent = self._ledger.spent(name), self._ledger.spent(name, self.analyst)
        return price_of(
            question,
            self._request(question),
            self._limits(question.dataset),
            *spent,
            recorded=recorded,
        )

    def budget(self, dataset: str | None = None) -> Budget:
        """What the datasets, or one of them, have left; and of that, what this analyst has."""
        chosen = self._policy.datasets.values() if dataset is None else [self._dataset(dataset)]
        return budget_of(
            {each.name: self._limits(each) for each in chosen}, self._ledger.summary(), self.analyst
        )

    def answers(self, before: str | None = None, limit: int = 50) -> list[PastAnswer]:
        """What this analyst asked, newest first."""
        return [
            self._past(past)
            for past in self._ledger.history(self.analyst, *check_page(before, limit))
        ]

    def close(self) -> None:
        """Let go of the ledger."""
        self._ledger.close()

    def _read(self, wording: Wording) -> Read:
        """The question. A wording in SQL has its dataset and its aggregates in its text."""
        if wording.sql is None:
            question = self._question(wording, self._dataset(wording.dataset))
            Result.check_names(question.by, question.names)
            return Read(question, None)
        statement = read_sql(wording.sql, self._policy.datasets)
        words = replace(
            wording, aggregates=statement.aggregates, by=statement.by, where=statement.where
        )
        return Read(self._question(words, self._dataset(statement.dataset), statement), statement)

    def _question(
        self, wording: Wording, dataset: Dataset, statement: Statement | None = None
    ) -> Question:
        return read_question(
            dataset,
            wording.aggregates,
            epsilon=wording.epsilon,
            by=wording.by,
            where=wording.where,
            weights=wording.weights,
            confidence=wording.confidence,
            simultaneous=wording.simultaneous,
            coins=self._coins(),
            computed=None if statement is None else statement.computed,
            parts=None if statement is None else statement.parts(),
        )

    def _tried(self, question: Question, asking: Asking) -> Result | None:
        """What became of the question when it was tried with the same key before; None if nothing
        did.
        """
        past = None if asking.retry is None else self._ledger.retried(self.analyst, asking)
        if past is None:
            return None
        if not _same(question, past):
            raise RetryKeyUsed
        if past.reason is not None:
            raise QuestionFailed(str(past.id), past.reason)
        return (
            None
            if past.answer_text is None
            else self._from_ledger(question, past.id, past.answer_text)
        )

    def _answer(self, question: Question, asking: Asking, *, fresh: bool) -> Result:
        table = self._open(question.dataset)
        # Everything that can be refused is refused here, by names and declared types: nothing is
        # spent on it.
        bound = question.request.bound(
            table.computed(question.computed) if question.computed else table
        )
        if not fresh and (found := self._recorded(question)):
            with suppress(LedgerError):  # It is given whether the history can be written or not.
                self._ledger.keep(found.id, self.analyst, asking)
            return self._from_ledger(question, found.id, found.answer_text)
        # Nothing is paid for a question that nobody waits for any more.
        check_cancelled()
        reservation = self._ledger.reserve(
            self._request(question), self._limits(question.dataset), asking
        )
        try:
            answers = bound.answers()
        except BaseException as error:
            # Its budget stays spent, whether the ledger can say why or not.
            with suppress(LedgerError):
                self._ledger.fail(reservation, type(error).__name__)
            _mark_paid(error)
            raise
        return self._handed_over(question, reservation, answers)

    def _open(self, dataset: Dataset) -> Table:
        return open_dataset(self._policy, dataset)

    def _handed_over(
        self, question: Question, reservation: int, answers: list[list[Answer]]
    ) -> Result:
        """Record, then hand over. If a retry at the same time was faster, its answer is the one."""
        try:
            self._ledger.record(reservation, written(answers))
        except LedgerError as error:
            with suppress(LedgerError):
                past = self._ledger.past(reservation)
                if past.answer_text is not None:
                    return self._from_ledger(question, reservation, past.answer_text)
            _mark_paid(error)
            raise
        return Result(
            question.by, question.names, question.arranged(answers), answer_id=str(reservation)
        )

    def _dataset(self, name: object) -> Dataset:
        if not isinstance(name, str) or name not in self._policy.datasets:
            raise InputError(
                f"the policy has no dataset {shown(name)}; "
                f"{nearest(str(name), self._policy.datasets)}"
            )
        return self._policy.datasets[name]

    def _limits(self, dataset: Dataset) -> Limits:
        allowances = [
            each
            for each in (dataset.allowances.get(self.analyst), self._allowance)
            if each is not None
        ]
        return Limits(
            dataset.budget,
            accountant_of(dataset),
            dataset.max_epsilon_per_question,
            min(allowances, default=None),
        )

    def _request(self, question: Question) -> Request:
        dataset = question.dataset
        return Request(
            dataset.name,
            dataset.version,
            self.analyst,
            question.key,
            question.normal,
            question.cost,
        )

    def _recorded(self, question: Question) -> Recorded | None:
        return self._ledger.recorded(question.dataset.name, question.dataset.version, question.key)

    def _from_ledger(self, question: Question, number: int, text: str) -> Result:
        try:
            answers = read(text, question.dataset.protect)
        except (ValueError, KeyError, TypeError):
            raise LedgerError(
                f"answer {number} of the ledger is not of a form that this version knows; ask "
                "with fresh=True"
            ) from None
        adapted = [
            [_noted(question.adapted(answer), number) for answer in group] for group in answers
        ]
        return Result(
            question.by,
            question.names,
            question.arranged(adapted),
            answer_id=str(number),
            recorded=True,
        )

    def _past(self, past: Past) -> PastAnswer:
        wording = read_wording(json.loads(past.wording or "null"))
        facts = (str(past.id), past.time, past.dataset, wording, past.cost.epsilon)
        if past.reason is not None:
            return PastAnswer(*facts, "failed", past.reason, None)
        if past.answer_text is None:
            return PastAnswer(*facts, "open", None, None)
        result = self._again(wording, past, past.answer_text)
        return PastAnswer(*facts, "answered", CHANGED if result is None else None, result)

    def _again(self, wording: Wording, past: Past, text: str) -> Result | None:
        """A past answer as it was asked for; None if the words mean another question by now."""
        try:
            question = self._read(wording)
        except InputError:
            return None
        return (
            question.shaped(self._from_ledger(question.question, past.id, text))
            if _same(question.question, past)
            else None
        )


def accountant_of(dataset: Dataset) -> Accountant:
    """The accountant that the policy names."""
    return Pure() if dataset.delta is None else ZCDP(dataset.delta)


def _same(question: Question, past: Past) -> bool:
    return (question.dataset.name, question.dataset.version, question.key) == (
        past.dataset,
        past.version,
        past.key,
    )


def _mark_paid(error: BaseException) -> None:
    """The error says that the question was paid for."""
    if isinstance(error, PostriError):
        error.spent = True


def _noted(answer: Answer, number: int) -> Answer:
    """An answer that says where it came from."""
    return replace(answer, notes=(*answer.notes, from_ledger(str(number))))
