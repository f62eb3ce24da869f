"""A session: an analyst's questions, whether the data are here or behind a service.

All that an analyst calls is written once, here, on a few abstract operations. A question reaches
them as a `Wording`: as it was put, with nothing looked up. `LocalSession` and `RemoteSession`
differ in where it goes from there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import Any, Literal, Self, overload

from postri import agg
from postri.answer import Answer, Answers, Result
from postri.answer.population import Covers
from postri.answer.within import Within
from postri.errors import InputError, PostriError, nearest
from postri.exact import Number, parameter, shown
from postri.ledger import ZCDP
from postri.privacy import check_shares
from postri.question import Price, Wording, read_wording
from postri.question.dataset import By
from postri.question.planning import QuestionPlan
from postri.session.facts import Budget, DatasetBudget, DatasetFacts
from postri.statistics.registry import load
from postri.statistics.statistic import Statistic
from postri.tree.distribution import Distribution

# A result from a ledger or from a service holds what its statistics drew, and each reads its own.
load()

MEDIAN = "0.5"
# How many past answers one call gives at most.
MOST_PAST = 200
# How many questions a plan has at most.
MOST_PLANNED = 100
# The digits of an answer's number: SQLite's whole numbers have no more.
LONGEST_NUMBER = 18

Status = Literal["answered", "failed", "open"]


@dataclass(frozen=True)
class PastAnswer:
    """A question that was asked before, and its answer as it was given, if the policy still means
    the same by the question.

    `reason` says why there is no result although it was answered: the policy has changed since. Of
    a failure nothing is told but that it is one. `question` is None if this version does not know
    the form in which it was put.
    """

    answer_id: str
    time: str
    dataset: str
    question: Wording | None
    epsilon: Fraction
    status: Status
    reason: str | None
    result: Result | None


class Session(ABC):
    """An analyst's questions to datasets, each paid for from a ledger. Made by `postri.connect`."""

    analyst: str
    """Who asks."""

    # ---- what a place of the data does

    @abstractmethod
    def _facts(self) -> Mapping[str, DatasetFacts]:
        """What is public of each dataset."""

    @abstractmethod
    def answer(self, wording: Wording, retry: str | None = None) -> Result:
        """The answer to a question as it was put, paid for.

        The same question with the same key of a retry is never paid for twice.
        """

    @abstractmethod
    def quote(self, wording: Wording) -> Price:
        """The price of a question as it was put."""

    @abstractmethod
    def _planned(self, questions: Sequence[Wording], delta: Fraction | None) -> QuestionPlan:
        """The plan of some questions, with rhos told at this delta, or at that of the policy."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the ledger, or of the service."""

    @abstractmethod
    def _budgets(self) -> Mapping[str, DatasetBudget]:
        """The budget of each dataset, with this analyst's part in it."""

    @abstractmethod
    def _past_answers(self, before: int | None, limit: int) -> list[PastAnswer]:
        """What this analyst asked below the number of an answer, newest first."""

    # ---- what an analyst calls

    @property
    def datasets(self) -> list[str]:
        """The names of the datasets."""
        return list(self._facts())

    def _repr_html_(self) -> str:
        """What can be asked about, and what is left of it. A notebook that cannot reach the ledger
        or the service shows whose session it is.
        """
        from postri.answer.notebook import table

        words = f"Session of {self.analyst}"
        try:
            facts, budgets = self.describe(), self.budget()
        except PostriError as error:
            return table((words,), [(str(error),)])
        rows = [
            (
                name,
                "not public" if each.rows is None else f"about {each.rows:,}",
                ", ".join(each.columns),
                str(each.protect),
                str(budgets[name]),
            )
            for name, each in facts.items()
        ]
        return table(("dataset", "rows", "columns", "protects", "budget"), rows, [words])

    @overload
    def describe(self) -> Mapping[str, DatasetFacts]: ...
    @overload
    def describe(self, dataset: str) -> DatasetFacts: ...
    def describe(self, dataset: str | None = None) -> Mapping[str, DatasetFacts] | DatasetFacts:
        """What is public of a dataset: its columns with bounds and keys, what is protected, its
        budget. Of all of them by name, if none is named.
        """
        facts = self._facts()
        if dataset is None:
            return facts
        return facts[check_dataset(dataset, facts)]

    def ask(
        self,
        dataset: str,
        aggregates: Mapping[str, Statistic | str],
        *,
        epsilon: Number | None = None,
        within: Number | Within | None = None,
        by: By | Sequence[str | By] = (),
        where: str | None = None,
        weights: Mapping[str, Number] | None = None,
        confidence: Number = 0.95,
        simultaneous: bool = False,
        fresh: bool = False,
        retry: str | None = None,
        expect: int | None = None,
    ) -> Result:
        """Several aggregates at once, of all rows or group by group; `epsilon` is what all cost
        together.

        `by` names columns that have public keys in the policy, or maps names to what divides rows,
        such as `by.month("t")`: see `postri.by`. The same question asked again
        returns the recorded answer and costs nothing; `fresh` pays for a new draw. BudgetExceeded
        if the budget does not allow it: then nothing was spent. With a key of your own in `retry`,
        a question that was cut off may be asked again with the same key, and is paid for once.
        `expect`, about how many rows match, is for the forecasts of `price` and for wishes: without
        a wish it changes neither the question nor its answer.

        `within` is how near all aggregates are wanted that have no wish of their own, as
        `agg.count(within=50)` has. Without epsilon, each costs the least with which its forecast is
        within its wish; with epsilon, that is divided so that each is as near as it can be in parts
        of its wish, unless `weights` divide it.
        """
        wording = Wording(
            dataset=dataset,
            aggregates=aggregates,
            epsilon=epsilon,
            within=within,
            by=by,
            where=where,
            weights=weights,
            confidence=confidence,
            simultaneous=simultaneous,
            fresh=fresh,
            expect=expect,
        )
        return self.answer(wording, retry)

    def sql(
        self,
        text: str,
        *,
        epsilon: Number | None = None,
        within: Number | Within | None = None,
        confidence: Number = 0.95,
        simultaneous: bool = False,
        fresh: bool = False,
        retry: str | None = None,
        expect: int | None = None,
    ) -> Result:
        """A question in SQL, such as this one.

        `SELECT job, MEDIAN(balance) AS mid, COUNT(*) AS n FROM bank WHERE age < 40 GROUP BY job
        ORDER BY mid DESC`.

        `epsilon` is what all its aggregates cost together. Without it, it follows from `within`, or
        from wishes in the text, such as `COUNT(*) WITHIN 50` or `MEDIAN(x) WITHIN 1 PERCENTILE`.
        What is not answered is refused with the place in the text.
        """
        wording = Wording(
            sql=_sql_text(text),
            epsilon=epsilon,
            within=within,
            confidence=confidence,
            simultaneous=simultaneous,
            fresh=fresh,
            expect=expect,
        )
        return self.answer(wording, retry)

    def median(
        self,
        dataset: str,
        column: str,
        *,
        epsilon: Number | None = None,
        covers: Covers = "table",
        **how: Any,
    ) -> Answer:
        """The median of a column; `within`, `where`, `confidence` and `fresh` as in `ask`.

        With `covers` "population", that of the population from which the rows were drawn.
        """
        return self.quantile(dataset, column, MEDIAN, epsilon=epsilon, covers=covers, **how)

    def quantile(
        self,
        dataset: str,
        column: str,
        p: Number,
        *,
        epsilon: Number | None = None,
        covers: Covers = "table",
        **how: Any,
    ) -> Answer:
        """The p-quantile of a column: 0.9 is the 90th percentile."""
        return self._one(dataset, agg.quantile(column, p, covers=covers), epsilon, **how)

    def quantiles(
        self,
        dataset: str,
        column: str,
        ps: Sequence[Number],
        *,
        epsilon: Number | None = None,
        simultaneous: bool = False,
        covers: Covers = "table",
        **how: Any,
    ) -> Answers:
        """Several quantiles of a column, in the order of `ps`; `epsilon` is what all cost together.

        With `simultaneous`, all intervals hold at once.
        """
        wanted = {
            str(place): agg.quantile(column, p, covers=covers)
            for place, p in enumerate(check_shares(ps, "ps"))
        }
        self._check_how(how)
        result = self.ask(dataset, wanted, epsilon=epsilon, simultaneous=simultaneous, **how)
        return Answers(result.answers)

    @overload
    def distribution(
        self,
        dataset: str,
        column: str,
        *,
        epsilon: Number | None = None,
        by: tuple[()] = (),
        **how: Any,
    ) -> Distribution: ...
    @overload
    def distribution(
        self,
        dataset: str,
        column: str,
        *,
        epsilon: Number | None = None,
        by: By | Sequence[str | By],
        **how: Any,
    ) -> dict[Any, Distribution]: ...
    def distribution(
        self,
        dataset: str,
        column: str,
        *,
        epsilon: Number | None = None,
        by: By | Sequence[str | By] = (),
        **how: Any,
    ) -> Distribution | dict[Any, Distribution]:
        """The whole distribution of a column, paid for once: its quantiles, shares, counts and
        histograms follow from it and cost nothing more.

        With `by`, one for each group, by its key or by the tuple of its keys.
        """
        self._check_how(how)
        wanted = {"distribution": agg.distribution(column)}
        result = self.ask(dataset, wanted, epsilon=epsilon, by=by, **how)
        found = {keys: Distribution(answers[0]) for keys, answers in result.groups}
        if not by:
            return found[()]
        if len(by) == 1:
            return {keys[0]: each for keys, each in found.items()}
        return dict(found)

    def histogram(
        self,
        dataset: str,
        column: str,
        *,
        edges: Sequence[Any],
        epsilon: Number | None = None,
        simultaneous: bool = False,
        **how: Any,
    ) -> Result:
        """How many cells of a column lie from each edge to below the next, a row for each bin;
        `epsilon` is what all bins cost together.

        With `simultaneous`, all intervals hold at once.
        """
        wanted = {"count": agg.histogram(column, edges)}
        self._check_how(how)
        result = self.ask(dataset, wanted, epsilon=epsilon, simultaneous=simultaneous, **how)
        return result.by_bin()

    def count(
        self, dataset: str, column: str | None = None, *, epsilon: Number | None = None, **how: Any
    ) -> Answer:
        """The number of rows, or of those in which a column has a cell that can be read."""
        return self._one(dataset, agg.count(column), epsilon, **how)

    def sum(
        self, dataset: str, column: str, *, epsilon: Number | None = None, **how: Any
    ) -> Answer:
        """The sum of a column, clamped to its domain."""
        return self._one(dataset, agg.sum(column), epsilon, **how)

    def mean(
        self, dataset: str, column: str, *, epsilon: Number | None = None, **how: Any
    ) -> Answer:
        """The mean of a column, clamped to its domain."""
        return self._one(dataset, agg.mean(column), epsilon, **how)

    def share(
        self, dataset: str, condition: str, *, epsilon: Number | None = None, **how: Any
    ) -> Answer:
        """The share of the rows on which a condition in SQL holds."""
        return self._one(dataset, agg.share(condition), epsilon, **how)

    def variance(
        self, dataset: str, column: str, *, epsilon: Number | None = None, **how: Any
    ) -> Answer:
        """The variance of a column, clamped to its domain."""
        return self._one(dataset, agg.variance(column), epsilon, **how)

    def std(
        self, dataset: str, column: str, *, epsilon: Number | None = None, **how: Any
    ) -> Answer:
        """The standard deviation of a column, clamped to its domain."""
        return self._one(dataset, agg.std(column), epsilon, **how)

    def trimmed_mean(
        self, dataset: str, column: str, p: Number, *, epsilon: Number | None = None, **how: Any
    ) -> Answer:
        """The mean of a column without a share `p` of its rows at each end."""
        return self._one(dataset, agg.trimmed_mean(column, p), epsilon, **how)

    def winsorized_mean(
        self, dataset: str, column: str, p: Number, *, epsilon: Number | None = None, **how: Any
    ) -> Answer:
        """The mean of a column in which a share `p` of the rows at each end is moved inwards."""
        return self._one(dataset, agg.winsorized_mean(column, p), epsilon, **how)

    def iqr(
        self, dataset: str, column: str, *, epsilon: Number | None = None, **how: Any
    ) -> Answer:
        """The interquartile range of a column: its third quartile less its first."""
        return self._one(dataset, agg.iqr(column), epsilon, **how)

    def mode(
        self,
        dataset: str,
        column: str,
        *,
        keys: Sequence[Any] | None = None,
        epsilon: Number | None = None,
        **how: Any,
    ) -> Answer:
        """The key of a column that most rows have, as the answer's `key`, and by how many rows it
        leads; of the policy's keys, if no others are given.
        """
        return self._one(dataset, agg.mode(column, keys), epsilon, **how)

    def top_k(
        self,
        dataset: str,
        column: str,
        *,
        k: int,
        keys: Sequence[Any] | None = None,
        epsilon: Number | None = None,
        **how: Any,
    ) -> Result:
        """The k keys of a column that most rows have, a row for each place; `epsilon` is what all
        cost together.
        """
        self._check_how(how)
        wanted = {"top": agg.top_k(column, k, keys)}
        return self.ask(dataset, wanted, epsilon=epsilon, **how).by_place()

    def price(
        self,
        dataset: str,
        aggregates: Mapping[str, Statistic | str] | None = None,
        *,
        epsilon: Number | None = None,
        within: Number | Within | None = None,
        by: By | Sequence[str | By] = (),
        where: str | None = None,
        weights: Mapping[str, Number] | None = None,
        confidence: Number = 0.95,
        simultaneous: bool = False,
        fresh: bool = False,
        expect: int | None = None,
    ) -> Price:
        """What the question would cost, and how far its intervals will reach: from public numbers,
        free. The table is not looked at.

        Takes what `ask` takes, or the text of a question in SQL. `expect` is about how many rows
        match, in each group: forecasts need it where there is a filter, or a unit bound and no
        public number of units.
        """
        named: dict[str, Any] = {"dataset": dataset, "aggregates": aggregates}
        if aggregates is None:
            named = {"sql": _sql_text(dataset)}
        wording = Wording(
            **named,
            epsilon=epsilon,
            within=within,
            by=by,
            where=where,
            weights=weights,
            confidence=confidence,
            simultaneous=simultaneous,
            fresh=fresh,
            expect=expect,
        )
        return self.quote(wording)

    def plan(
        self,
        questions: Sequence[Wording | Mapping[str, Any] | str],
        *,
        delta: Number | None = None,
    ) -> QuestionPlan:
        """What some questions cost together, where epsilons add up and where rhos do, and which
        quantiles to merge into one distribution: from public numbers, free. No table is looked at.

        A question is a text in SQL, such as `SELECT COUNT(*) WITHIN 50 FROM bank`, or a dictionary
        of what `ask` takes. `delta` is that of the policy, or 1e-6, if none is given.
        """
        if isinstance(questions, str | Mapping) or not isinstance(questions, Sequence):
            raise InputError(
                'a plan is made of a list of questions, such as ["SELECT COUNT(*) WITHIN 50 FROM '
                f'bank"], got {shown(questions)}'
            )
        if not 1 <= len(questions) <= MOST_PLANNED:
            raise InputError(
                f"a plan is made of 1 to {MOST_PLANNED} questions, got {len(questions)}"
            )
        checked = None
        if delta is not None:
            checked = check_delta(delta)
        return self._planned([_wording(question) for question in questions], checked)

    def budget(self, dataset: str | None = None) -> Budget:
        """What the datasets, or one of them, have left; and of that, what this analyst has."""
        budgets = self._budgets()
        if dataset is None:
            return Budget(budgets)
        name = check_dataset(dataset, budgets)
        return Budget({name: budgets[name]})

    def answers(self, before: str | None = None, limit: int = 50) -> list[PastAnswer]:
        """What this analyst asked, newest first, with the answers as they were given; below the
        number of an answer, if one is given.
        """
        check_limit(limit)
        return self._past_answers(answer_number(before), limit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _one(
        self, dataset: str, aggregate: Statistic, epsilon: Number | None, **how: Any
    ) -> Answer:
        self._check_how(how)
        if epsilon is not None and how.get("within") is not None:
            raise InputError(
                "give either epsilon (what the answer may cost) or within (how near it is wanted, "
                "which tells the epsilon)"
            )
        result = self.ask(dataset, {"answer": aggregate}, epsilon=epsilon, **how)
        (answer,) = result.answers
        return answer

    @staticmethod
    def _check_how(how: Mapping[str, Any]) -> None:
        known = {"where", "within", "confidence", "fresh", "retry", "expect"}
        for name in how.keys() - known:
            hint = nearest(name, sorted(known))
            if name in ("domain", "protect"):
                hint = "the policy says it, so leave it out"
            raise InputError(f"there is no parameter {name!r}; {hint}")


def check_dataset(name: object, datasets: Mapping[str, object]) -> str:
    """The name, or InputError if no dataset is called so."""
    if not isinstance(name, str) or name not in datasets:
        raise InputError(f"the policy has no dataset {shown(name)}; {nearest(str(name), datasets)}")
    return name


def check_delta(delta: Number) -> Fraction:
    """A delta at which rhos can be told."""
    return ZCDP(parameter(delta, "delta")).delta


def _wording(question: Wording | Mapping[str, Any] | str) -> Wording:
    if isinstance(question, str):
        return Wording(sql=question)
    if isinstance(question, Wording):
        return question
    return read_wording(question)


def _sql_text(text: object) -> str:
    if not isinstance(text, str):
        raise InputError(f"a question in SQL must be a text, got {shown(text)}")
    return text


def check_limit(limit: object) -> None:
    """InputError if it is no number of past answers."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_PAST:
        raise InputError(f"limit must be a whole number from 1 to {MOST_PAST}, got {shown(limit)}")


def answer_number(answer_id: object) -> int | None:
    """The number of an answer; InputError if it is no id of one."""
    if answer_id is None:
        return None
    if (
        not isinstance(answer_id, str)
        or not answer_id.isascii()
        or not answer_id.isdigit()
        or len(answer_id) > LONGEST_NUMBER
    ):
        raise InputError(
            f"before must be the id of an answer, such as '12', got {shown(answer_id)}"
        )
    return int(answer_id)
