"""From words to a question: a wording in parts or in SQL, about a dataset of the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from postri.answer import Result
from postri.answer.within import Within
from postri.errors import InputError
from postri.expressions import Predicate
from postri.mechanisms.coins import Coins
from postri.policy import Dataset
from postri.question import DatasetQuestion, Wording, dataset_question
from postri.question.rules import check_aggregates, with_wish
from postri.session.session import check_dataset
from postri.sql import Statement, read_sql


@dataclass(frozen=True)
class ParsedWording:
    """A wording that was understood: the question, and the statement if it was put in SQL.

    `settled` is the wording as it is kept: what followed from its wishes stands in it.
    """

    question: DatasetQuestion
    statement: Statement | None
    settled: Wording

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


def parsed_wording(
    wording: Wording,
    datasets: Mapping[str, Dataset],
    coins: Coins | None,
    wishes: Mapping[str, Within] | None = None,
) -> ParsedWording:
    """The question. A wording in SQL has its dataset and its aggregates in its text.

    With `wishes`, by the names of its aggregates, these tell its epsilon, whatever the words say.
    """
    if wording.sql is None:
        dataset = datasets[check_dataset(wording.dataset, datasets)]
        question = _question(_wishing(wording, wishes), dataset, coins)
        Result.check_names(question.by, question.names, question.winners)
        return ParsedWording(question, None, _settled(wording, question))
    statement = read_sql(wording.sql, datasets)
    structured = replace(wording, aggregates=statement.aggregates, by=statement.by)
    dataset = datasets[check_dataset(statement.dataset, datasets)]
    question = _question(_wishing(structured, wishes), dataset, coins, statement)
    return ParsedWording(question, statement, _settled(wording, question))


def _wishing(wording: Wording, wishes: Mapping[str, Within] | None) -> Wording:
    if wishes is None:
        return wording
    aggregates = {
        name: statistic.wished(wishes[name])
        for name, statistic in check_aggregates(wording.aggregates).items()
    }
    return replace(wording, aggregates=aggregates, epsilon=None, weights=None)


def _settled(wording: Wording, question: DatasetQuestion) -> Wording:
    if not any(asked.statistic.within for asked in question.asked):
        return wording
    places = zip(question.aggregates, question.places, strict=True)
    return wording.settled({name: question.asked[place].terms.epsilon for name, place in places})


def _question(
    wording: Wording, dataset: Dataset, coins: Coins | None, statement: Statement | None = None
) -> DatasetQuestion:
    where: str | Predicate | None = wording.where
    computed = None
    parts: Mapping[str, int] = {}
    selected: Mapping[str, int] = {}
    if statement is not None:
        where = statement.where
        computed = statement.computed
        parts = statement.parts()
        # Where all intervals hold at once, those of any rows do.
        if not wording.simultaneous:
            selected = statement.selected()
    return dataset_question(
        dataset,
        with_wish(check_aggregates(wording.aggregates), wording.within),
        epsilon=wording.epsilon,
        by=wording.by,
        where=where,
        weights=wording.weights,
        confidence=wording.confidence,
        simultaneous=wording.simultaneous,
        coins=coins,
        computed=computed,
        parts=parts,
        selected=selected,
        expect=wording.expect,
        least=dataset.least_epsilon,
    )
