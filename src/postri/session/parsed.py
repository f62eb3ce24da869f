"""From words to a question: a wording in parts or in SQL, about a dataset of the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from postri.answer import Result
from postri.errors import InputError
from postri.expressions import Predicate
from postri.mechanisms.coins import Coins
from postri.policy import Dataset
from postri.question import DatasetQuestion, Wording, dataset_question
from postri.session.session import check_dataset
from postri.sql import Statement, read_sql


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


def parsed_wording(
    wording: Wording, datasets: Mapping[str, Dataset], coins: Coins | None
) -> ParsedWording:
    """The question. A wording in SQL has its dataset and its aggregates in its text."""
    if wording.sql is None:
        dataset = datasets[check_dataset(wording.dataset, datasets)]
        question = _question(wording, dataset, coins)
        Result.check_names(question.by, question.names, question.winners)
        return ParsedWording(question, None)
    statement = read_sql(wording.sql, datasets)
    structured = replace(wording, aggregates=statement.aggregates, by=statement.by)
    dataset = datasets[check_dataset(statement.dataset, datasets)]
    return ParsedWording(_question(structured, dataset, coins, statement), statement)


def _question(
    wording: Wording, dataset: Dataset, coins: Coins | None, statement: Statement | None = None
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
        coins=coins,
        computed=computed,
        parts=parts,
        selected=selected,
    )
