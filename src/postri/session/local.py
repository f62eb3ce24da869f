"""The session beside the data: the only place where ledger and data meet.

The order of every answer: reserve, touch data, record, hand over. What fails before the reservation
costs nothing. What fails after it has been paid for, and has one face: whatever an engine, a draw
or the ledger did, the analyst gets the same QuestionFailed, and the ledger keeps the cause for the
steward. Between the data and the record stands the `Release`: from the record on, everybody can see
what became of the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from time import monotonic, sleep
from typing import get_args

from postri.answer import Result
from postri.answer.forms import write_answers
from postri.engines.progress import paying, scans_are_over, waiting_for_others
from postri.engines.resolve import Opener, open_here
from postri.engines.table import Table
from postri.errors import (
    DatasetClosed,
    InputError,
    LedgerError,
    PolicyError,
    Problem,
    QuestionFailed,
    QuestionsExceeded,
    RetryKeyUsed,
    TermsRefused,
)
from postri.exact import plain
from postri.ledger import (
    Attempt,
    Charge,
    Cost,
    DatasetUsage,
    Ledger,
    Limits,
    Recorded,
    Reservation,
    Unanswered,
    View,
)
from postri.ledger.charges import check_open, check_questions
from postri.mechanisms.coins import Coins
from postri.policy import (
    Dataset,
    Policy,
    check_people,
    located_people,
    open_dataset,
    people_of,
)
from postri.policy.model import AccountantName
from postri.question import (
    BoundQuestion,
    DatasetQuestion,
    Price,
    Wording,
    added,
    price_of,
)
from postri.question.planning import (
    USUAL_DELTA,
    Planning,
    QuestionPlan,
    question_plan,
    reached,
)
from postri.session.facts import DatasetBudget, DatasetFacts, budget_of, facts_of, limits_of
from postri.session.parsed import ParsedWording, parsed_wording
from postri.session.past import is_same, past_answer, result_from_ledger
from postri.session.release import AT_ONCE, Release
from postri.session.session import PastAnswer, Session, check_dataset
from postri.session.turns import turn

# How long a question waits for others that may still get their answers, and how often it looks, in
# seconds.
PATIENCE = 10.0
PACE = 0.02
# What is the wish of whoever runs this process, and no failure of the question.
WISHES = (KeyboardInterrupt, SystemExit)


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
        # Those that the analyst may know of.
        self._datasets: Mapping[str, Dataset] = policy.datasets
        self._ledger = ledger
        self._allowance = allowance
        self._coins = coins
        self._opener: Opener = open_here
        self._release = release

    def _facts(self) -> Mapping[str, DatasetFacts]:
        return {name: facts_of(dataset) for name, dataset in self._datasets.items()}

    def answer(self, wording: Wording, retry: str | None = None) -> Result:
        """The recorded answer to the question, or a new one that is paid for.

        A question that is asked again with the key of a retry is never paid for twice: it gets the
        answer that it had, or QuestionFailed. If nothing became of it, as after a crash, it is
        drawn now: what was drawn before has reached nobody.
        """
        parsed = self._asked(wording)
        question = parsed.question
        attempt = Attempt(parsed.settled.text, retry)
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
            # An answer is given whether its copy can be kept or not.
            with suppress(Exception):
                self._handed(attempt.wording, parsed, result.answer_id)
        return self._shaped(parsed, result)

    def _shaped(self, parsed: ParsedWording, result: Result) -> Result:
        """The result as the statement wants it. It is paid for: if that fails, so has the
        question.
        """
        with suppress(Exception):
            return parsed.shaped(result)
        raise QuestionFailed(str(result.answer_id), _told_epsilon(parsed.question))

    def _handed(self, words: str, parsed: ParsedWording, answer_id: str) -> None:
        """An answer is recorded and on its way. The service keeps it for the history."""

    def quote(self, wording: Wording) -> Price:
        """The price, from the policy and the ledger alone: the table is not looked at."""
        return self._priced(wording, self._asked(wording).question)

    def _priced(self, wording: Wording, question: DatasetQuestion) -> Price:
        dataset = self._dataset(question.dataset.name)
        recorded = not wording.fresh and self._recorded(question) is not None
        limits = self._limits(dataset)
        usage = self._usage(dataset, limits)
        return price_of(
            question,
            self._charge(question),
            limits,
            usage.cost,
            usage.of(self.analyst).cost,
            recorded=recorded,
            refused=self._refusal(question),
            expect=wording.expect,
        )

    def _planned(self, questions: Sequence[Wording], delta: Fraction | None) -> QuestionPlan:
        planned = []
        deltas: dict[str, Fraction] = {}
        for number, wording in enumerate(questions, start=1):
            try:
                planned.append(self._planning(wording, delta, deltas))
            except InputError as error:
                raise InputError(f"question {number}: {error}") from None
        return question_plan(planned, deltas)

    def _planning(
        self, wording: Wording, delta: Fraction | None, deltas: dict[str, Fraction]
    ) -> Planning:
        """A question under the policy's accountant and under the other one."""
        own = self._asked(wording).question
        dataset = self._dataset(own.dataset.name)
        deltas[dataset.name] = delta or dataset.delta or USUAL_DELTA
        under: dict[str, DatasetQuestion] = {dataset.accountant: own}
        for name in get_args(AccountantName):
            if name not in under:
                under[name] = self._under(replace(dataset, accountant=name), wording, own)
        return Planning(
            words=wording.words,
            under=under,
            accountant=dataset.accountant,
            price=self._priced(wording, own),
            expect=wording.expect,
        )

    def _under(
        self, dataset: Dataset, wording: Wording, question: DatasetQuestion
    ) -> DatasetQuestion:
        """The question on another dataset in place of its own. It reaches as far, where that is
        known; else it has the same epsilon.
        """
        datasets = {**self._datasets, dataset.name: dataset}
        if not any(asked.statistic.within for asked in question.asked):
            wishes = reached(question, wording.expect)
            if wishes is not None:
                with suppress(InputError):
                    return parsed_wording(wording, datasets, self._coins(), wishes).question
        return parsed_wording(wording, datasets, self._coins()).question

    def _refusal(self, question: DatasetQuestion) -> str | None:
        """Why the ledger would refuse any question now, whatever it costs."""
        name = question.dataset.name
        limits = self._limits(self._dataset(name))
        try:
            asked = self._ledger.questions(name, self.analyst)
            check_questions(self._charge(question), limits, asked)
            failed = _failures(self._ledger.unanswered(name))
            # Those that run still are waited for.
            check_open(name, limits, failed, failed)
        except (DatasetClosed, QuestionsExceeded) as refused:
            return str(refused)
        return None

    def close(self) -> None:
        self._ledger.close()

    def _view(self) -> View:
        """The ledger as prices, budgets and histories tell it."""
        return self._ledger.view()

    def _budgets(self) -> Mapping[str, DatasetBudget]:
        budgets = {}
        for name, dataset in self._datasets.items():
            people = people_of(self._policy, dataset)
            limits = limits_of(dataset, people, self.analyst, self._allowance)
            failed = _failures(self._ledger.unanswered(name))
            usage = self._ledger.usage(name, people, self._view())
            budgets[name] = budget_of(limits, usage, self.analyst, failed)
        return budgets

    # ---- from words to a question

    def _asked(self, wording: Wording) -> ParsedWording:
        """The question, if it can be kept in a history and is not too small to be asked now."""
        wording.to_fields()
        parsed = self._parsed(wording)
        question = parsed.question
        least = self._dataset(question.dataset.name).least_epsilon
        if question.epsilon < least:
            raise InputError(
                f"epsilon must be at least {plain(least)}, the least that a question of "
                f"{question.dataset.name!r} may cost, got {plain(question.epsilon)}"
            )
        return parsed

    def _parsed(self, wording: Wording) -> ParsedWording:
        return parsed_wording(wording, self._datasets, self._coins())

    def _dataset(self, name: object) -> Dataset:
        return self._datasets[check_dataset(name, self._datasets)]

    # ---- from a question to an answer that is paid for

    def _turn(
        self, question: DatasetQuestion, retry: str | None, *, fresh: bool
    ) -> AbstractContextManager[None]:
        """Who asks at the same time waits where one answer serves both: the same question, or the
        same key of a retry. A fresh draw is everybody's own.
        """
        if not fresh:
            dataset = question.dataset
            return turn(self._ledger, "question", dataset.name, dataset.version, question.key)
        if retry is not None:
            return turn(self._ledger, "retry", self.analyst, retry)
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
        if not is_same(question, past):
            raise RetryKeyUsed
        if past.reason is not None:
            raise QuestionFailed(str(past.id), _told_epsilon(question))
        if past.answer_text is None:
            return None
        return result_from_ledger(question, past.id, past.answer_text)

    def _answer(self, question: DatasetQuestion, attempt: Attempt, *, fresh: bool) -> Result:
        dataset = self._dataset(question.dataset.name)
        # Everything that can be refused is refused here, by names and declared types: nothing is
        # spent on it.
        bound = question.bound(self._open(dataset))
        if not fresh and (found := self._recorded(question)):
            with suppress(LedgerError):  # It is given whether the history can be written or not.
                self._ledger.keep(found.id, self.analyst, attempt)
            return result_from_ledger(question, found.id, found.answer_text)
        limits = self._limits(dataset)
        charged = self._charged(question, limits)
        reservation = self._reserved(question, limits, attempt)
        return self._paid_for(question, bound, reservation, charged)

    def _reserved(self, question: DatasetQuestion, limits: Limits, attempt: Attempt) -> int:
        """Reserve. Where only questions that are still counted stand in the way, wait a little: one
        that gets its answer makes room.
        """
        charge = self._charge(question)
        dataset = self._dataset(question.dataset.name)
        patient_until = monotonic() + PATIENCE
        while True:
            try:
                # Nothing is paid for a question that nobody waits for any more.
                with paying() as if_abandoned, self._in_policy(dataset):
                    reservation = self._ledger.reserve(charge, limits, attempt)
                    if_abandoned(partial(self._abandoned, question, reservation))
                self._release.paid()
                return reservation
            except DatasetClosed as closed:
                if not closed.running or monotonic() > patient_until:
                    raise
            with waiting_for_others():
                sleep(PACE)

    def _paid_for(
        self,
        question: DatasetQuestion,
        bound: BoundQuestion,
        reservation: int,
        charged: Fraction | None,
    ) -> Result:
        """Touch data, record, hand over; or one failure, whatever went wrong on the way."""
        try:
            answers = bound.answers()
            text = write_answers(answers)
            scans_are_over()
            self._release.answered()
            self._ledger.record(reservation, text)
            groups = question.arranged(answers)
            return Result(
                question.by,
                question.names,
                groups,
                answer_id=str(reservation),
                epsilon=question.epsilon,
                charged=charged,
                about=question.nothing_found(answers),
            )
        except WISHES as wish:
            self._keep_cause(reservation, wish)
            raise
        except BaseException as error:
            # Some libraries raise what is no Exception when they panic.
            scans_are_over()
            self._release.failed()
            self._keep_cause(reservation, error)
        # Outside that block, so that nothing of the cause is in the chain. A reservation ends once:
        # if a retry at the same time was faster, its answer is the one, for all.
        with suppress(Exception):
            past = self._ledger.past(reservation)
            if past.answer_text is not None:
                return result_from_ledger(question, reservation, past.answer_text)
        raise QuestionFailed(str(reservation), _told_epsilon(question))

    def _abandoned(
        self, question: DatasetQuestion, reservation: int, cause: Exception
    ) -> Exception | None:
        """For whoever stops waiting for a question that does not end: it has failed, unless its
        answer was recorded in the last moment.
        """
        self._release.failed()
        self._keep_cause(reservation, cause)
        with suppress(LedgerError):
            if self._ledger.past(reservation).answer_text is not None:
                return None
        return QuestionFailed(str(reservation), _told_epsilon(question))

    def _keep_cause(self, reservation: int, cause: BaseException) -> None:
        """Tell the steward. The budget stays spent whether that can be written or not: a
        reservation without a fate counts like one that failed.
        """
        name = type(cause).__name__
        if not name.isidentifier():
            name = Exception.__name__
        with suppress(Exception):
            self._ledger.fail(reservation, name)

    def _charged(self, question: DatasetQuestion, limits: Limits) -> Fraction | None:
        """What a question with Gaussian noise adds to what was spent; others cost their epsilon."""
        if question.cost.epsilon is not None:
            return None
        spent = self._spent(self._dataset(question.dataset.name), limits)
        return added(question.cost, spent, limits.accountant)

    def _limits(self, dataset: Dataset) -> Limits:
        """What the analyst may spend; PolicyError if spends would not be added up as they must."""
        check_people(self._policy, dataset, self._ledger)
        people = located_people(self._policy, dataset)
        return limits_of(dataset, people, self.analyst, self._allowance)

    def _spent(self, dataset: Dataset, limits: Limits) -> Cost:
        with self._in_policy(dataset):
            return self._ledger.spent(dataset.name, people=limits.people)

    def _usage(self, dataset: Dataset, limits: Limits) -> DatasetUsage:
        """What was spent, as prices tell it; PolicyError where a question would be refused."""
        self._spent(dataset, limits)
        return self._ledger.usage(dataset.name, limits.people, self._view())

    @contextmanager
    def _in_policy(self, dataset: Dataset) -> Iterator[None]:
        """What the ledger refuses because of the policy's terms, as an error of the policy."""
        try:
            yield
        except TermsRefused as refused:
            problem = Problem(dataset.line, str(refused))
            raise PolicyError(str(self._policy.path), [problem]) from None

    def _open(self, dataset: Dataset) -> Table:
        return open_dataset(self._policy, dataset, self._opener)

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
        return past_answer(past, self._parsed, parsed)


def _told_epsilon(question: DatasetQuestion) -> Fraction:
    """What a failure says to stay spent: with Gaussian noise, which has no epsilon, what was asked
    for.
    """
    if question.cost.epsilon is None:
        return question.epsilon
    return question.cost.epsilon


def _failures(unanswered: Sequence[Unanswered]) -> int:
    """How many never get an answer."""
    return sum(each.reason is not None for each in unanswered)
