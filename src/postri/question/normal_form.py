"""A question to a policy's dataset: in normal form, with the key by which its answer is recorded.

The key is every parameter of the question, whatever words and order it was asked in: aggregates and
keys are put in one order for the draw, and back into the asked one for the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Self

from postri.answer import Answer
from postri.columns import MAX_TEXT
from postri.domain import Domain
from postri.engines.rows import GroupColumn, Key, Keys, group_column
from postri.engines.table import Table
from postri.exact import Number
from postri.expressions import Predicate
from postri.mechanisms.coins import Coins
from postri.question.checking import NONE_TOLD, plain_question
from postri.question.dataset import By, Computed, KnownDataset, cautions, keys_of, on_dataset
from postri.question.expected import PublicRows
from postri.question.population import (
    CellWords,
    about,
    cells_of_dataset,
    misses_texts,
    texts_of_dataset,
)
from postri.question.question import Question
from postri.question.rules import (
    check_aggregates,
    check_by,
    check_flag,
    check_wishes,
    shares_of,
    wishes_divide,
)
from postri.statistics.statistic import Asked, Statistic

# What stands before an expression that divides rows, so that no column has its name.
COMPUTED = "computed"


@dataclass(frozen=True)
class DatasetQuestion(Question):
    """A question to a policy's dataset: it has a key, by which its answer is recorded."""

    dataset: KnownDataset = field(kw_only=True)

    @cached_property
    def normal(self) -> str:
        """The normal form, as text."""
        where = None
        if self.where is not None:
            where = str(self.where)
        fields: dict[str, object] = {
            "dataset": self.dataset.name,
            "version": self.dataset.version,
            "aggregates": [_asked_fields(asked) for asked in self.asked],
            "by": [_group_fields(column) for column in self._key_columns],
            "where": where,
            "protect": str(self.dataset.protect),
        }
        if self.dataset.max_text != MAX_TEXT:
            fields["max_text"] = self.dataset.max_text
        if self.computed:
            fields["computed"] = {name: str(each) for name, each in sorted(self.computed.items())}
        if public := self._public:
            fields["public"] = public
        if self._decider is not None and self.simultaneous:
            # Whose beta is divided when the groups are known.
            fields["simultaneous"] = True
        return _text(fields)

    @property
    def _public(self) -> dict[str, str]:
        """The public columns that it looks at: another content makes another question."""
        names = {str(asked.statistic.column) for asked in self.asked}
        expressions = list(self.computed.values())
        for column in self._key_columns:
            names.add(column.column)
            if column.expression is not None:
                expressions.append(column.expression)
        for filtering in (self.where, *(asked.statistic.where for asked in self.asked)):
            if filtering is not None:
                expressions.append(filtering.expression)
        if expressions:
            from postri.expressions.tree import columns_of

            names.update(*map(columns_of, expressions))
        known = {
            name: self.dataset.columns[name].public for name in names & {*self.dataset.columns}
        }
        return {name: part.digest for name, part in sorted(known.items()) if part is not None}

    def _cells(self, table: Table) -> list[CellWords]:
        # The policy tells them: an answer that is recorded may outlive the table.
        return self.cells

    @property
    def cells(self) -> list[CellWords]:
        """Which cells each answer is about, in the order of the draws."""
        return self._of_answers([cells_of_dataset(self.dataset, asked) for asked in self.asked])

    def about(self, answers: Sequence[Sequence[Answer]]) -> Sequence[list[Answer]]:
        """Recorded answers, each with the rows that it is about."""
        return about(self.found_in(answers), answers, self.cells, self.texts)

    def _texts(self, table: Table) -> int | None:
        return self.texts

    @property
    def texts(self) -> int | None:
        """How long texts may be, where the filter may miss longer ones: by the policy alone."""
        texts = texts_of_dataset(self.dataset)
        if not any(misses_texts(each, texts) for each in self._filters):
            return None
        return self.dataset.max_text

    @property
    def key(self) -> str:
        """By which an answer is found again."""
        from hashlib import sha256

        return sha256(self.normal.encode("utf-8", "surrogatepass")).hexdigest()


def dataset_question(
    dataset: KnownDataset,
    aggregates: Mapping[str, Statistic | str] | None,
    *,
    epsilon: Number | None,
    by: By | Sequence[str | By] = (),
    where: str | Predicate | None = None,
    weights: Mapping[str, Number] | None = None,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    coins: Coins | None = None,
    computed: Mapping[str, Computed] | None = None,
    parts: Mapping[str, int] = NONE_TOLD,
    selected: Mapping[str, int] = NONE_TOLD,
    expect: int | None = None,
    least: Fraction = Fraction(0),
) -> DatasetQuestion:
    """A question to a policy's dataset, or InputError for the first thing that is wrong with it.

    Nothing but the policy is looked at. `where` is a text, or a predicate in normal form, as SQL
    hands it over. `computed` are expressions that aggregates name as columns. `expect` is the
    analyst's word on about how many rows match, and `least` what a question costs at least.
    """
    wanted = _StatisticsOfDataset.of(dataset, aggregates, computed or {})
    names = list(wanted.statistics)
    check_wishes(epsilon, weights, wanted.statistics)
    divided_by_wishes = weights is None and wishes_divide(epsilon, wanted.statistics)
    shares = shares_of(weights, names)
    predicate = Predicate.of(where)
    if isinstance(where, str) and predicate is not None:
        predicate = predicate.normal(list(dataset.columns))
    question = partial(
        wanted.question,
        keys=keys_of(check_by(by), dataset, predicate),
        where=predicate,
        confidence=confidence,
        simultaneous=check_flag(simultaneous, "simultaneous"),
        coins=coins,
        parts=parts,
        selected=selected,
        public=PublicRows(dataset.rows, dataset.units, expect),
    )
    if divided_by_wishes:
        # Once its epsilons are known, it is the question that has them, whoever asks it how.
        wished = question(shares, epsilon=epsilon, divided_by_wishes=True, least=least)
        epsilon = wished.epsilon
        shares = [wished.asked[place].terms.epsilon / epsilon for place in wished.places]
    return question(shares, epsilon=epsilon)


@dataclass(frozen=True)
class _StatisticsOfDataset:
    """What is asked for, in the columns of a dataset and in expressions of them."""

    dataset: KnownDataset
    statistics: Mapping[str, Statistic]
    expressions: Mapping[str, Computed]

    @classmethod
    def of(
        cls,
        dataset: KnownDataset,
        aggregates: Mapping[str, Statistic | str] | None,
        computed: Mapping[str, Computed],
    ) -> Self:
        """The statistics with what the policy says of their columns."""
        columns = list(dataset.columns)
        checked = check_aggregates(aggregates)
        statistics = {name: statistic.normal(columns) for name, statistic in checked.items()}
        expressions = {**computed, **_computed_by(statistics.values())}
        known = {
            name: on_dataset(statistic, dataset, expressions)
            for name, statistic in statistics.items()
        }
        return cls(dataset, known, expressions)

    def question(
        self,
        shares: Sequence[Fraction],
        *,
        keys: Mapping[str, Keys],
        divided_by_wishes: bool = False,
        simultaneous: bool,
        **how: Any,
    ) -> DatasetQuestion:
        """The question in its normal order, with its shares of epsilon."""
        names = list(self.statistics)
        share_of = dict(zip(names, shares, strict=True))
        # The order of their texts is the normal order; equal ones are interchangeable.
        order = sorted(
            names, key=lambda name: f"{_text(_fields(self.statistics[name]))} {share_of[name]}"
        )
        question = plain_question(
            {name: self.statistics[name] for name in order},
            protect=self.dataset.protect,
            by=_in_normal_order(keys) or None,
            weights=None if divided_by_wishes else share_of,
            simultaneous=simultaneous,
            concentrated=self.dataset.accountant == "zcdp",
            **how,
        )
        return DatasetQuestion(
            asked=tuple(
                each.noted(*cautions(each.statistic, self.dataset, self.expressions))
                for each in question.asked
            ),
            aggregates=tuple(names),
            places=tuple(order.index(name) for name in names),
            confidence=question.confidence,
            protect=question.protect,
            coins=question.coins,
            where=question.where,
            groups=question.groups,
            by=tuple(keys),
            simultaneous=question.simultaneous,
            computed={name: each.expression for name, each in self.expressions.items()},
            dataset=self.dataset,
        )


def _in_normal_order(keys: Mapping[str, Keys]) -> dict[str, Keys]:
    """What divides rows in the order of the draws, whatever the result calls it."""
    order = sorted(keys, key=lambda name: group_column(name, keys[name]).source)
    return {name: keys[name] for name in order}


def _computed_by(statistics: Iterable[Statistic]) -> dict[str, Computed]:
    """The columns that statistics bring, with the domains on which these ask about them."""
    found = {}
    for statistic in statistics:
        for name, expression in statistic.computed.items():
            assert statistic.domain is not None
            found[name] = Computed(expression, statistic.domain)
    return found


def _asked_fields(asked: Asked) -> dict[str, Any]:
    """One statistic with all that its draw depends on."""
    return {
        **_fields(asked.statistic),
        "epsilon": str(asked.terms.epsilon),
        **asked.statistic.draw_fields(asked.terms),
    }


def _fields(statistic: Statistic) -> dict[str, Any]:
    """What a statistic is, in plain values."""
    fields = statistic.fields()
    if statistic.where is not None:
        fields["where"] = str(statistic.where)
    if isinstance(fields.get("domain"), Domain):
        domain = fields["domain"]
        fields["domain"] = [_key(domain.lower), _key(domain.upper), _key(domain.step)]
    return fields


def _group_fields(column: GroupColumn) -> list[object]:
    """What divides rows, whatever the result calls it."""
    keys = list(map(_key, column.keys))
    if column.delta is not None:
        return [column.column, "found"]
    if column.expression is None:
        return [column.column, keys]
    return [COMPUTED, column.source, keys]


def _key(key: Key) -> list[object]:
    """A key or a bound with its kind: the text "1" is not the number 1, and 1.0 is."""
    if isinstance(key, str | bool):
        return [type(key).__name__, key]
    if isinstance(key, date):
        return [type(key).__name__, key.isoformat()]
    if isinstance(key, Decimal):
        return ["number", str(Fraction(key))]
    return ["number", str(key)]


def _text(value: object) -> str:
    import json

    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
