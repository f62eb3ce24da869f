"""A session: an analyst's questions to a policy's datasets. The only place where ledger and data meet.

The order of every answer: reserve, touch data, record, hand over. What fails before the reservation costs nothing; what fails after it has
been paid for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from getpass import getuser
from types import TracebackType
from typing import Any, Self

from postri.agg import Aggregate, Count, Mean, Quantile, Sum
from postri.answer import Answer, Result
from postri.answer.record import read, written
from postri.answer.words import from_ledger
from postri.errors import InputError, LedgerError, nearest
from postri.exact import Number, shown
from postri.ledger import ZCDP, Accountant, Ledger, Limits, Pure, Recorded, Request, SqliteLedger
from postri.mechanisms.coins import Coins
from postri.policy import Dataset, Policy, open_dataset, read_policy
from postri.privacy import check_share
from postri.session.budget import Budget, budget_of
from postri.session.price import Price, price_of
from postri.session.question import Question, read_question
from postri.sql import Statement, located, read_sql

ANALYST = "POSTRI_ANALYST"
MEDIAN = "0.5"


def connect(policy_or_url: str | os.PathLike[str], *, analyst: str | None = None, token: str | None = None) -> Session:
    """A session with a policy's datasets, for an analyst: the one named, or $POSTRI_ANALYST, or the user of this machine.

    Close it at the end, or use it in a `with` block.
    """
    place = os.fspath(policy_or_url)
    if place.startswith(("http://", "https://")) or token is not None:
        raise InputError("a session needs the path of a policy; services with tokens are not known to this version")
    policy = read_policy(place)
    return Session(policy, SqliteLedger(policy.ledger, policy.head), _analyst(analyst))


def _analyst(name: str | None) -> str:
    if name is None:
        name = os.environ.get(ANALYST) or getuser()
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"the analyst must have a name, got {shown(name)}")
    return name


class Session:
    """An analyst's questions to the datasets of a policy, each paid for from the ledger. Made by `postri.connect`."""

    def __init__(self, policy: Policy, ledger: Ledger, analyst: str, *, coins: Callable[[], Coins | None] = lambda: None) -> None:
        self._policy, self._ledger, self.analyst = policy, ledger, analyst
        self._coins = coins

    @property
    def datasets(self) -> list[str]:
        """The names of the datasets."""
        return list(self._policy.datasets)

    def describe(self) -> Mapping[str, Dataset]:
        """What the policy says of each dataset: all of it is public but where the data are."""
        return dict(self._policy.datasets)

    def ask(
        self,
        dataset: str,
        aggregates: Mapping[str, Aggregate | str],
        *,
        epsilon: Number,
        by: Sequence[str] = (),
        where: str | None = None,
        weights: Mapping[str, Number] | None = None,
        confidence: Number = 0.95,
        simultaneous: bool = False,
        fresh: bool = False,
    ) -> Result:
        """Several aggregates at once, of all rows or group by group; `epsilon` is what all cost together.

        `by` names columns that have public keys in the policy. The same question asked again returns the recorded answer and costs
        nothing; `fresh` pays for a new draw. BudgetExceeded if the budget does not allow it: then nothing was spent.
        """
        question = self._question(dataset, aggregates, epsilon, by, where, weights, confidence, simultaneous)
        Result.check_names(question.by, question.names)
        return self._answer(question, fresh=fresh)

    def sql(self, text: str, *, epsilon: Number, confidence: Number = 0.95, simultaneous: bool = False, fresh: bool = False) -> Result:
        """A question in SQL: `SELECT job, MEDIAN(balance) AS mid, COUNT(*) AS n FROM bank WHERE age < 40 GROUP BY job ORDER BY mid DESC`.

        `epsilon` is what all its aggregates cost together. What is not answered is refused with the place in the text.
        """
        statement = read_sql(text, self._policy.datasets)
        question = self._sql_question(statement, epsilon, confidence, simultaneous)
        try:
            result = self._answer(question, fresh=fresh)
        except InputError as error:
            raise located(statement.source, statement.where_words or statement.source.words, error) from None
        return statement.shaped(result, question.request.beta(question.groups))

    def _sql_question(self, statement: Statement, epsilon: Number, confidence: Number, simultaneous: bool) -> Question:
        return read_question(
            self._dataset(statement.dataset),
            statement.aggregates,
            epsilon=epsilon,
            by=statement.by,
            where=statement.where,
            confidence=confidence,
            simultaneous=simultaneous,
            coins=self._coins(),
            computed=statement.computed,
            parts=statement.parts(),
        )

    def _answer(self, question: Question, *, fresh: bool) -> Result:
        table = open_dataset(self._policy, question.dataset)
        # Everything that can be refused is refused here, by names and declared types: nothing is spent on it.
        bound = question.request.bound(table.computed(question.computed) if question.computed else table)
        if not fresh and (found := self._recorded(question)):
            return self._from_ledger(question, found)
        reservation = self._ledger.reserve(self._request(question), self._limits(question.dataset))
        try:
            answers = bound.answers()
        except BaseException as error:
            # Its budget stays spent, whether the ledger can say why or not.
            with suppress(LedgerError):
                self._ledger.fail(reservation, type(error).__name__)
            raise
        self._ledger.record(reservation, written(answers))
        return Result(question.by, question.names, question.arranged(answers), answer_id=str(reservation))

    def median(self, dataset: str, column: str, *, epsilon: Number, **how: Any) -> Answer:
        """The median of a column; `where`, `confidence` and `fresh` as in `ask`."""
        return self.quantile(dataset, column, MEDIAN, epsilon=epsilon, **how)

    def quantile(self, dataset: str, column: str, p: Number, *, epsilon: Number, **how: Any) -> Answer:
        """The p-quantile of a column: 0.9 is the 90th percentile."""
        return self._one(dataset, Quantile(column, check_share(p, "p")), epsilon, **how)

    def count(self, dataset: str, column: str | None = None, *, epsilon: Number, **how: Any) -> Answer:
        """The number of rows, or of those in which a column has a cell that can be read."""
        return self._one(dataset, Count(column), epsilon, **how)

    def sum(self, dataset: str, column: str, *, epsilon: Number, **how: Any) -> Answer:
        """The sum of a column, clamped to its domain."""
        return self._one(dataset, Sum(column), epsilon, **how)

    def mean(self, dataset: str, column: str, *, epsilon: Number, **how: Any) -> Answer:
        """The mean of a column, clamped to its domain."""
        return self._one(dataset, Mean(column), epsilon, **how)

    def price(
        self,
        dataset: str,
        aggregates: Mapping[str, Aggregate | str] | None = None,
        *,
        epsilon: Number,
        by: Sequence[str] = (),
        where: str | None = None,
        weights: Mapping[str, Number] | None = None,
        confidence: Number = 0.95,
        simultaneous: bool = False,
        fresh: bool = False,
    ) -> Price:
        """What the question would cost, and how far its intervals will reach: from public numbers, free. The table is not looked at.

        Takes what `ask` takes, or the text of a question in SQL.
        """
        if aggregates is None:
            statement = read_sql(dataset, self._policy.datasets)
            question = self._sql_question(statement, epsilon, confidence, simultaneous)
        else:
            question = self._question(dataset, aggregates, epsilon, by, where, weights, confidence, simultaneous)
        name = question.dataset.name
        recorded = not fresh and self._recorded(question) is not None
        spent = self._ledger.spent(name), self._ledger.spent(name, self.analyst)
        return price_of(question, self._request(question), self._limits(question.dataset), *spent, recorded=recorded)

    def budget(self, dataset: str | None = None) -> Budget:
        """What the datasets, or one of them, have left; and of that, what this analyst has."""
        chosen = self._policy.datasets.values() if dataset is None else [self._dataset(dataset)]
        return budget_of({each.name: self._limits(each) for each in chosen}, self._ledger.summary(), self.analyst)

    def close(self) -> None:
        """Let go of the ledger."""
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _one(self, dataset: str, aggregate: Aggregate, epsilon: Number, **how: Any) -> Answer:
        known = {"where", "confidence", "fresh"}
        for name in how.keys() - known:
            raise InputError(f"there is no parameter {name!r}; {nearest(name, sorted(known))}")
        result = self.ask(dataset, {"answer": aggregate}, epsilon=epsilon, **how)
        (answer,) = result.answers
        return answer

    def _question(
        self,
        dataset: str,
        aggregates: Mapping[str, Aggregate | str],
        epsilon: Number,
        by: Sequence[str],
        where: str | None,
        weights: Mapping[str, Number] | None,
        confidence: Number,
        simultaneous: bool,
    ) -> Question:
        return read_question(
            self._dataset(dataset),
            aggregates,
            epsilon=epsilon,
            by=by,
            where=where,
            weights=weights,
            confidence=confidence,
            simultaneous=simultaneous,
            coins=self._coins(),
        )

    def _dataset(self, name: object) -> Dataset:
        if not isinstance(name, str) or name not in self._policy.datasets:
            raise InputError(f"the policy has no dataset {shown(name)}; {nearest(str(name), self._policy.datasets)}")
        return self._policy.datasets[name]

    def _limits(self, dataset: Dataset) -> Limits:
        return Limits(dataset.budget, accountant_of(dataset), dataset.max_epsilon_per_question, dataset.allowances.get(self.analyst))

    def _request(self, question: Question) -> Request:
        dataset = question.dataset
        return Request(dataset.name, dataset.version, self.analyst, question.key, question.normal, question.cost)

    def _recorded(self, question: Question) -> Recorded | None:
        return self._ledger.recorded(question.dataset.name, question.dataset.version, question.key)

    def _from_ledger(self, question: Question, found: Recorded) -> Result:
        try:
            answers = read(found.answer_text, question.dataset.protect)
        except (ValueError, KeyError, TypeError):
            raise LedgerError(f"answer {found.id} of the ledger is not of a form that this version knows; ask with fresh=True") from None
        adapted = [[_noted(question.adapted(answer), found.id) for answer in group] for group in answers]
        return Result(question.by, question.names, question.arranged(adapted), answer_id=str(found.id), recorded=True)


def accountant_of(dataset: Dataset) -> Accountant:
    """The accountant that the policy names."""
    return Pure() if dataset.delta is None else ZCDP(dataset.delta)


def _noted(answer: Answer, number: int) -> Answer:
    """An answer that says where it came from."""
    return replace(answer, notes=(*answer.notes, from_ledger(str(number))))
