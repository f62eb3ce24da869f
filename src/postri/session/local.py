"""The session beside the data: the only place where ledger and data meet.

The order of every answer: reserve, touch data, record, hand over. What fails before the reservation
costs nothing; what fails after it has been paid for. Between the data and the record stands the
`Release`: from the record on, everybody can see what became of the question.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from threading import Lock
from weakref import WeakValueDictionary

from postri.answer import Answer, Result
from postri.answer.forms import read_answers, write_answers
from postri.answer.words import from_ledger
from postri.engines.progress import check_cancelled, scans_are_over, waiting_for_others
from postri.engines.table import Table
from postri.errors import InputError, LedgerError, PostriError, QuestionFailed, RetryKeyUsed
from postri.expressions import Predicate
from postri.ledger import (
    Attempt,
    Charge,
    DatasetUsage,
    Ledger,
    Limits,
    Recorded,
    Reservation,
    View,
)
from postri.mechanisms.coins import Coins
from postri.policy import Dataset, Policy, open_dataset
from postri.privacy import check_epsilon
from postri.question import (
    DatasetQuestion,
    Price,
    Wording,
    added,
    dataset_question,
    price_of,
    read_wording,
)
from postri.question.rules import check_expect
from postri.session.facts import DatasetBudget, DatasetFacts, budget_of, facts_of, limits_of
from postri.session.release import AT_ONCE, Release
from postri.session.session import PastAnswer, Session, check_dataset
from postri.sql import Statement, read_sql

CHANGED = "the policy has changed since"


@dataclass(frozen=True)
class ParsedWording:
    """A wording that was understood: the question, and the statement if it was put in SQL."""

    question: DatasetQuestion
    statement: Statement | None

    def shaped(self, result: Result) -> Result:
        """The result with the rows and columns that the statement asks for."""
        if self.statement is None:
            return result
        question = self.question
        return self.statement.shaped(result, question.beta, at_once=question.simultaneous)

    def located(self, error: InputError) -> InputError:
        """An error with its place in the text, if there is one."""
        if self.statement is None:
            return error
        return self.statement.located(error)


class LocalSession(Session):
    """Questions of an analyst to the datasets of a policy, paid for from its ledger.

    `allowance` is the most that the analyst may spend on each dataset; where the policy allows
    less, that binds. `coins` are drawn anew for every question: the system's, if None. `release`
    says when what became of a question may be seen.
    """

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        analyst: str,
        *,
        allowance: Fraction | None = None,
        coins: Callable[[], Coins | None] = lambda: None,
        release: Release = AT_ONCE,
    ) -> None:
        self.analyst = analyst
        self._policy = policy
        self._ledger = ledger
        self._allowance = allowance
        self._coins = coins
        self._release = release

    def _facts(self) -> Mapping[str, DatasetFacts]:
        return {name: facts_of(dataset) for name, dataset in self._policy.datasets.items()}

    def answer(self, wording: Wording, retry: str | None = None) -> Result:
        """The recorded answer to the question, or a new one that is paid for.

        A question that is asked again with the key of a retry is never paid for twice: it gets the
        answer that it had, or QuestionFailed. If nothing became of it, as after a crash, it is
        drawn now: what was drawn before has reached nobody.
        """
        parsed = self._parsed(wording)
        question = parsed.question
        attempt = Attempt(wording.text, retry)
        try:
            with self._turn(question, retry, fresh=wording.fresh):
                self._release.begin()
                result = self._tried_before(question, attempt)
                if result is None:
                    result = self._answer(question, attempt, fresh=wording.fresh)
        except RetryKeyUsed:
            # It is about the key, and has no place in the text.
            raise
        except InputError as error:
            raise parsed.located(error) from None
        if result.answer_id is not None:
            self._handed(attempt.wording, parsed, result.answer_id)
        return parsed.shaped(result)

    def _handed(self, words: str, parsed: ParsedWording, answer_id: str) -> None:
        """An answer is recorded and on its way. The service keeps it for the history."""

    def quote(self, wording: Wording) -> Price:
        """The price, from the policy and the ledger alone: the table is not looked at."""
        question = self._parsed(wording).question
        expect = wording.expect
        if expect is not None:
            check_expect(expect)
        dataset = self._dataset(question.dataset.name)
        recorded = not wording.fresh and self._recorded(question) is not None
        usage = self._view().usage.get(dataset.name, DatasetUsage())
        return price_of(
            question,
            self._charge(question),
            limits_of(dataset, self.analyst, self._allowance),
            usage.cost,
            usage.of(self.analyst).cost,
            recorded=recorded,
            expect=expect,
        )

    def close(self) -> None:
        self._ledger.close()

    def _view(self) -> View:
        """The ledger as prices, budgets and histories tell it."""
        return self._ledger.view()

    def _budgets(self) -> Mapping[str, DatasetBudget]:
        usage = self._view().usage
        budgets = {}
        for name, dataset in self._policy.datasets.items():
            limits = limits_of(dataset, self.analyst, self._allowance)
            budgets[name] = budget_of(limits, usage.get(name, DatasetUsage()), self.analyst)
        return budgets

    # ---- from words to a question

    def _parsed(self, wording: Wording) -> ParsedWording:
        """The question. A wording in SQL has its dataset and its aggregates in its text."""
        if wording.sql is None:
            question = self._question(wording, self._dataset(wording.dataset))
            Result.check_names(question.by, question.names)
            return ParsedWording(question, None)
        statement = read_sql(wording.sql, self._policy.datasets)
        structured = replace(wording, aggregates=statement.aggregates, by=statement.by)
        dataset = self._dataset(statement.dataset)
        return ParsedWording(self._question(structured, dataset, statement), statement)

    def _question(
        self, wording: Wording, dataset: Dataset, statement: Statement | None = None
    ) -> DatasetQuestion:
        where: str | Predicate | None = wording.where
        computed = None
        parts = None
        selected = None
        if statement is not None:
            where = statement.where
            computed = statement.computed
            parts = statement.parts()
            # Where all intervals hold at once, those of any rows do.
            if not wording.simultaneous:
                selected = statement.selected()
        return dataset_question(
            dataset,
            wording.aggregates,
            epsilon=wording.epsilon,
            by=wording.by,
            where=where,
            weights=wording.weights,
            confidence=wording.confidence,
            simultaneous=wording.simultaneous,
            coins=self._coins(),
            computed=computed,
            parts=parts,
            selected=selected,
        )

    def _dataset(self, name: object) -> Dataset:
        datasets = self._policy.datasets
        return datasets[check_dataset(name, datasets)]

    # ---- from a question to an answer that is paid for

    def _turn(
        self, question: DatasetQuestion, retry: str | None, *, fresh: bool
    ) -> AbstractContextManager[None]:
        """Who asks at the same time waits where one answer serves both: the same question, or the
        same key of a retry. A fresh draw is everybody's own.
        """
        if not fresh:
            return turn((id(self._ledger), question.key))
        if retry is not None:
            return turn((id(self._ledger), self.analyst, retry))
        return nullcontext()

    def _tried_before(self, question: DatasetQuestion, attempt: Attempt) -> Result | None:
        """What became of the question when it was tried with the same key before; None if nothing
        did.
        """
        if attempt.retry is None:
            return None
        past = self._ledger.retried(self.analyst, attempt)
        if past is None:
            return None
        if not _is_same(question, past):
            raise RetryKeyUsed
        if past.reason is not None:
            raise QuestionFailed(str(past.id), past.reason)
        if past.answer_text is None:
            return None
        return self._from_ledger(question, past.id, past.answer_text)

    def _answer(self, question: DatasetQuestion, attempt: Attempt, *, fresh: bool) -> Result:
        dataset = self._dataset(question.dataset.name)
        # Everything that can be refused is refused here, by names and declared types: nothing is
        # spent on it.
        bound = question.bound(self._open(dataset))
        if not fresh and (found := self._recorded(question)):
            with suppress(LedgerError):  # It is given whether the history can be written or not.
                self._ledger.keep(found.id, self.analyst, attempt)
            return self._from_ledger(question, found.id, found.answer_text)
        # Nothing is paid for a question that nobody waits for any more.
        check_cancelled()
        limits = limits_of(dataset, self.analyst, self._allowance)
        charged = self._charged(question, limits)
        reservation = self._ledger.reserve(self._charge(question), limits, attempt)
        self._release.paid()
        try:
            answers = bound.answers()
        except BaseException as error:
            scans_are_over()
            self._release.failed()
            # Its budget stays spent, whether the ledger can say why or not.
            with suppress(LedgerError):
                self._ledger.fail(reservation, type(error).__name__)
            _mark_paid(error)
            raise
        scans_are_over()
        self._release.answered()
        return self._handed_over(question, reservation, answers, charged)

    def _charged(self, question: DatasetQuestion, limits: Limits) -> Fraction | None:
        """What a question with Gaussian noise adds to what was spent; others cost their epsilon."""
        if question.cost.epsilon is not None:
            return None
        return added(question.cost, self._ledger.spent(question.dataset.name), limits.accountant)

    def _open(self, dataset: Dataset) -> Table:
        return open_dataset(self._policy, dataset)

    def _handed_over(
        self,
        question: DatasetQuestion,
        reservation: int,
        answers: list[list[Answer]],
        charged: Fraction | None,
    ) -> Result:
        """Record, then hand over. If a retry at the same time was faster, its answer is the one."""
        try:
            self._ledger.record(reservation, write_answers(answers))
        except LedgerError as error:
            # A reservation ends once: whoever recorded it first has the answer, for all.
            with suppress(LedgerError):
                past = self._ledger.past(reservation)
                if past.answer_text is not None:
                    return self._from_ledger(question, reservation, past.answer_text)
            self._release.failed()
            _mark_paid(error)
            raise
        groups = question.arranged(answers)
        return Result(
            question.by, question.names, groups, answer_id=str(reservation), charged=charged
        )

    def _charge(self, question: DatasetQuestion) -> Charge:
        return Charge(
            dataset=question.dataset.name,
            version=question.dataset.version,
            analyst=self.analyst,
            key=question.key,
            normal=question.normal,
            cost=question.cost,
        )

    def _recorded(self, question: DatasetQuestion) -> Recorded | None:
        dataset = question.dataset
        return self._ledger.recorded(dataset.name, dataset.version, question.key)

    def _from_ledger(self, question: DatasetQuestion, number: int, text: str) -> Result:
        """A recorded answer as this question wants it; each value says where it came from."""
        try:
            answers = read_answers(text, question.dataset.protect)
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
            question.arranged(question.about(adapted)),
            answer_id=str(number),
            recorded=True,
        )

    # ---- past answers

    def _past_answers(self, before: int | None, limit: int) -> list[PastAnswer]:
        history = self._ledger.history(self.analyst, self._end(before), limit)
        return [self._past_answer(past) for past in history]

    def _end(self, before: int | None) -> int:
        """The number that all of the history lies below, and of that what lies below another."""
        # What the view does not know of yet has a higher number than all that it knows.
        end = self._view().head.number + 1
        if before is None:
            return end
        return min(end, before)

    def _past_answer(self, past: Reservation, parsed: ParsedWording | None = None) -> PastAnswer:
        """A past answer; `parsed` is its wording if it was understood already."""
        wording = read_wording(json.loads(past.wording or "null"))
        epsilon = past.cost.epsilon
        if epsilon is None:
            # Gaussian noise has no pure epsilon: what was asked for is told.
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
            return replace(found, status="failed", reason=past.reason)
        if past.answer_text is None:
            return found
        result = self._shown_again(parsed or wording, past, past.answer_text)
        if result is None:
            return replace(found, status="answered", reason=CHANGED)
        return replace(found, status="answered", result=result)

    def _shown_again(
        self, wording: Wording | ParsedWording, past: Reservation, text: str
    ) -> Result | None:
        """A past answer as it was asked for; None if the words mean another question by now."""
        try:
            parsed = wording
            if isinstance(parsed, Wording):
                parsed = self._parsed(parsed)
        except InputError:
            return None
        if not _is_same(parsed.question, past):
            return None
        return parsed.shaped(self._from_ledger(parsed.question, past.id, text))


def _is_same(question: DatasetQuestion, past: Reservation) -> bool:
    asked = (question.dataset.name, question.dataset.version, question.key)
    return asked == (past.dataset, past.version, past.key)


def _mark_paid(error: BaseException) -> None:
    """The error says that the question was paid for."""
    if isinstance(error, PostriError):
        error.spent = True


def _noted(answer: Answer, number: int) -> Answer:
    return replace(answer, notes=(*answer.notes, from_ledger(str(number))))


# ---- turns: who asks a question while another thread is finding its answer waits, and then finds
# it recorded


class Turn:
    """A lock that is forgotten when nobody holds or awaits it."""

    def __init__(self) -> None:
        self.lock = Lock()


_turns: WeakValueDictionary[Hashable, Turn] = WeakValueDictionary()
_choosing = Lock()


@contextmanager
def turn(question: Hashable) -> Iterator[None]:
    """One at a time for the same question; others do not wait for it."""
    # Without this lock two threads could each put a turn of their own in place.
    with _choosing:
        mine = _turns.setdefault(question, Turn())
    with waiting_for_others():
        mine.lock.acquire()
    try:
        yield
    finally:
        mine.lock.release()
