"""A question that is checked and in normal form, and one that is bound to a table.

The key of a recorded answer is every parameter of the question, whatever words and order it was
asked in: aggregates and keys are put in one order for the draw, and back into the asked one for the
result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from postri.answer import Answer
from postri.answer.forecast import ExpectedRows, Unknown
from postri.answer.lazy import LazySequence
from postri.answer.words import JOINT, ROUNDED_TO_WHOLE, is_wish_note, wish_note
from postri.columns import MAX_TEXT, ColumnType
from postri.cost import Cost, rho_of
from postri.domain import Domain, check_domain
from postri.engines.progress import check_cancelled
from postri.engines.rows import (
    EVERY_ROW,
    MOST_GROUPS,
    GroupColumn,
    Groups,
    Key,
    Keys,
    Rows,
    Selection,
    Units,
    group_column,
)
from postri.engines.table import Table
from postri.exact import Number
from postri.expressions import Predicate
from postri.grid import grid_of
from postri.mechanisms.coins import Coins
from postri.methods.method import Method, check_rows
from postri.privacy import (
    AddOrRemoveUnits,
    ProtectedChange,
    ReplaceUnits,
    check_protect,
    check_share,
)
from postri.question.dataset import By, Computed, KnownDataset, cautions, keys_of, on_dataset
from postri.question.expected import PublicRows
from postri.question.population import (
    CellWords,
    about,
    cells_of_dataset,
    cells_of_table,
    misses_texts,
    texts_of_dataset,
    texts_of_table,
    whole_population,
)
from postri.question.rules import (
    check_aggregates,
    check_by,
    check_coins,
    check_flag,
    check_method,
    check_wishes,
    check_wishes_of_groups,
    shares_of,
    wishes_divide,
)
from postri.statistics.statistic import Asked, Batch, Statistic, Terms

if TYPE_CHECKING:
    from postri.expressions.tree import Expression
    from postri.question.discovery import FoundKeys

# What stands before an expression that divides rows, so that no column has its name.
COMPUTED = "computed"
NOTHING_PUBLIC = PublicRows()

BatchKey = tuple[type[Batch], str | None, Domain | None, Predicate | None]
"""What statistics have in common that are answered from the same counts."""


@dataclass(frozen=True)
class Question:
    """Everything that a caller asks for, checked. It has not seen the source.

    `asked` stands in the order of the draws. `places` says where there each of the `aggregates` is,
    which stand in the order of the result, and `by` in which order the result has the columns of
    its keys. `computed` are the expressions that statistics name as columns. Where the keys of a
    column are to be found, one of the `asked` decides which are told, and may not be shown.
    """

    asked: tuple[Asked, ...]
    aggregates: tuple[str, ...]
    places: tuple[int, ...]
    confidence: Fraction
    protect: ProtectedChange
    coins: Coins
    where: Predicate | None = None
    groups: Groups | None = None
    by: tuple[str, ...] = ()
    simultaneous: bool = False
    computed: Mapping[str, Expression] = field(default_factory=dict)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the answers of a group: those of the aggregates, of which some have several
        answers.
        """
        return tuple(
            aggregate + suffix
            for aggregate, place in zip(self.aggregates, self.places, strict=True)
            for suffix in self.asked[place].statistic.suffixes
        )

    @property
    def winners(self) -> list[str]:
        """The names of those answers that are about a key which they find."""
        statistics = [
            self.asked[place].statistic
            for place in self.places
            for _ in self.asked[place].statistic.suffixes
        ]
        named = zip(self.names, statistics, strict=True)
        return [name for name, statistic in named if statistic.finds_key]

    @cached_property
    def _answers_of(self) -> list[range]:
        """Where the answers of each statistic are among all of a group, in the order of the
        draws.
        """
        found = []
        start = 0
        for asked in self.asked:
            end = start + len(asked.statistic.suffixes)
            found.append(range(start, end))
            start = end
        return found

    @property
    def _decider(self) -> int | None:
        """The place of what decides which groups there are, if something does."""
        places = [place for place, asked in enumerate(self.asked) if asked.statistic.decides]
        return places[0] if places else None

    def found_in(self, answers: Sequence[Sequence[Answer]]) -> Self:
        """The question with the keys that were found for these answers; itself, if all its keys
        are declared.
        """
        place = self._decider
        if place is None:
            return self
        from postri.question.discovery import keys_in

        return self._with_found(keys_in(answers, self._answers_of[place][0]))

    def _with_found(self, keys: Sequence[Key]) -> Self:
        """The question with the keys that were found. Intervals that are to hold at once divide
        beta by their number, which is known now.
        """
        assert self.groups is not None
        groups = self.groups.with_found(keys)
        asked = self.asked
        if self.simultaneous and groups.size:
            intervals = len(self.names) * groups.size
            asked = tuple(
                replace(each, terms=replace(each.terms, beta=each.terms.beta / intervals))
                for each in self.asked
            )
        return replace(self, groups=groups, asked=asked)

    def nothing_found(self, answers: Sequence[Sequence[Answer]]) -> Answer | None:
        """What a result without any row is about; None if there are rows."""
        if answers or self._decider is None:
            return None
        from postri.statistics.found import FoundCount

        decider = self.asked[self._decider]
        assert isinstance(decider.statistic, FoundCount)
        empty = decider.statistic.nothing(decider.terms, self.coins)
        return replace(empty, rows=whole_population(self, None))

    @property
    def epsilon(self) -> Fraction:
        """What all of it may cost."""
        return sum((asked.terms.epsilon for asked in self.asked), start=Fraction(0))

    @property
    def cost(self) -> Cost:
        """What all its draws cost. Disjoint groups share it."""
        first, *rest = (asked.cost for asked in self.asked)
        return sum(rest, start=first)

    @property
    def beta(self) -> Fraction:
        """How often each interval may fail."""
        return self.asked[0].terms.beta

    @property
    def rows(self) -> Rows:
        """The rows that count for all that is asked."""
        units = None
        if isinstance(self.protect, AddOrRemoveUnits | ReplaceUnits):
            units = Units(self.protect.unit, self.protect.rows)
        return Rows(self.where, self.groups, units)

    def rows_where(self, own: Predicate | None) -> Rows:
        """Those of them that count for statistics with a filter of their own."""
        filters = [each.expression for each in (self.where, own) if each is not None]
        if len(filters) < 2:
            return replace(self.rows, where=self.where or own)
        from postri.expressions.tree import And

        return replace(self.rows, where=Predicate(And(tuple(filters))))

    @property
    def _filters(self) -> list[Predicate]:
        """Every filter, of the question and of its statistics."""
        own = [asked.statistic.where for asked in self.asked]
        return [each for each in (self.where, *own) if each is not None]

    @property
    def _key_columns(self) -> tuple[GroupColumn, ...]:
        if self.groups is None:
            return ()
        return self.groups.columns

    def with_coins(self, coins: Coins) -> Self:
        """The same with other coins, and with all that is kept of it: that is public, and no coins
        are in it.
        """
        question = object.__new__(type(self))
        vars(question).update(vars(self), coins=coins, _bindings=self._bindings)
        return question

    @cached_property
    def _bindings(self) -> list[_Binding]:
        """How the question fits the columns that it was last asked of."""
        return []

    def bound(self, table: Table) -> BoundQuestion:
        """The question in terms of a table's columns; InputError if it does not fit them.

        Everything that can be refused is refused here, by names and declared types. No cell is
        touched.
        """
        if self.computed:
            table = table.computed(self.computed)
        return self._bound(table)

    def _bound(self, table: Table) -> BoundQuestion:
        """The same of a table that has the computed columns."""
        if self._is_plain:
            return self._bound_to_column(table)
        rows: dict[Predicate | None, Selection] = {None: table.bind(self.rows)}
        together: dict[BatchKey, list[int]] = {}
        for place, asked in enumerate(self.asked):
            statistic = asked.statistic
            if statistic.decides:
                # It is drawn before the groups are known.
                continue
            column = None
            if statistic.needs_column or statistic.column is not None:
                column = table.column(statistic.column)
            if statistic.public_keys is not None:
                table.check_keys(column, statistic.public_keys, rows[None])
            key = (statistic.batch, column, statistic.domain, statistic.where)
            together.setdefault(key, []).append(place)
        batches = []
        for (kind, column, domain, where), places in together.items():
            batch = self._batch(table, kind, column, domain, places)
            if where not in rows:
                rows[where] = table.bind(self.rows_where(where))
            batches.append(BoundBatch(self._places_of_answers(places), batch, rows[where]))
        cells = self._cells(table)
        return BoundQuestion(self, table, rows[None], batches, cells, self._texts(table))

    @cached_property
    def _is_plain(self) -> bool:
        """Whether it is one statistic of the order of one column, of all rows: then how it fits a
        table follows from the name and the type of the column alone.
        """
        if len(self.asked) > 1 or self.rows != Rows() or self.computed:
            return False
        statistic = self.asked[0].statistic
        return (
            statistic.needs_column
            and not statistic.needs_indexes
            and not statistic.decides
            and statistic.where is None
            and statistic.public_keys is None
        )

    def _bound_to_column(self, table: Table) -> BoundQuestion:
        """The same of a plain question: most ask the same of many tables."""
        statistic = self.asked[0].statistic
        column = table.column(statistic.column)
        declared = table.type_of(column)
        for known in self._bindings:
            if known.fits(column, declared):
                break
        else:
            batch = self._batch(table, statistic.batch, column, statistic.domain, [0])
            batches = [BoundBatch(self._places_of_answers([0]), batch, EVERY_ROW)]
            known = _Binding(column, declared, batches, self._cells(table), self._texts(table))
            self._bindings[:] = [known]
        return BoundQuestion(self, table, EVERY_ROW, known.batches, known.cells, known.texts)

    def _cells(self, table: Table) -> list[CellWords]:
        """Which cells each answer is about, in the order of the draws."""
        return self._of_answers([cells_of_table(asked, table) for asked in self.asked])

    def _of_answers(self, found: Sequence[CellWords]) -> list[CellWords]:
        """What was found for each statistic, for each of its answers."""
        return [each for each, places in zip(found, self._answers_of, strict=True) for _ in places]

    def _texts(self, table: Table) -> int | None:
        """How long texts may be, where the filter may miss longer ones."""
        if not self._filters:
            return None
        texts = texts_of_table(table)
        if not any(misses_texts(each, texts) for each in self._filters):
            return None
        return table.max_text

    def _batch(
        self,
        table: Table,
        kind: type[Batch],
        column: str | None,
        domain: Domain | None,
        places: Sequence[int],
    ) -> Batch:
        asked = tuple(self.asked[place] for place in places)
        if not any(each.statistic.needs_column for each in asked):
            if column is not None:
                table.declared(column)
            return kind(asked, column, None)
        declared = table.type_of(column)
        grid = grid_of(declared, domain)
        for each in asked:
            each.statistic.check_grid(column, grid)
        indexes = any(each.statistic.needs_indexes for each in asked)
        if indexes or self.rows.units is not None:
            table.check_indexed(column, grid)
        if declared.kind is None and domain is None:
            asked = tuple(_noted(each, ROUNDED_TO_WHOLE) for each in asked)
        return kind(asked, column, grid)

    def _places_of_answers(self, places: Sequence[int]) -> list[int]:
        """Where the answers of some statistics are among all of a group."""
        return [answer for place in places for answer in self._answers_of[place]]

    def _found(self, table: Table) -> FoundKeys | None:
        """The keys that are told, by a draw; None if all are declared."""
        place = self._decider
        if place is None or self.groups is None or self.groups.unknown is None:
            return None
        from postri.question.discovery import draw_keys, most_found

        most = most_found(self.asked, self.groups)
        return draw_keys(table, self.rows, self.groups.unknown, self.asked[place], most, self.coins)

    def _begun(self, found: FoundKeys) -> Sequence[Mapping[int, Answer]]:
        """For each group the answer that decided on its key, in its place."""
        assert self.groups is not None
        assert self._decider is not None
        (place,) = self._answers_of[self._decider]
        (column,) = [i for i, each in enumerate(self.groups.columns) if each.delta is not None]
        decider = self.asked[self._decider]
        # How many groups follow one another that have the same key.
        of_one_key = prod(len(each.keys) for each in self.groups.columns[column + 1 :])

        def begun(group: int) -> Mapping[int, Answer]:
            decided = found.answers[group // of_one_key % len(found.keys)]
            if self.simultaneous:
                decided = self._adapted(decided, decider)
            return {place: decided}

        return LazySequence(self.groups.size, begun)

    def arranged(
        self, answers: Sequence[Sequence[Answer]]
    ) -> Sequence[tuple[tuple[Any, ...], list[Answer]]]:
        """Answers in the order of the draws as rows in the order in which they were asked for."""
        if self._decider is not None and not self.rows.number:
            return self.found_in(answers).arranged(answers) if answers else []
        columns = {column.name: column.keys for column in self._key_columns}
        names = list(columns)
        places = self._places_of_answers(self.places)
        keys = list(product(*(columns[name] for name in self.by)))
        # The number of each row's group among the draws, which may divide by the columns in
        # another order.
        drawn = np.arange(len(keys)).reshape([len(each) for each in columns.values()])
        group_of = drawn.transpose([names.index(name) for name in self.by]).reshape(-1)

        def row(place: int) -> tuple[tuple[Any, ...], list[Answer]]:
            group = answers[int(group_of[place])]
            return keys[place], [group[each] for each in places]

        return LazySequence(len(keys), row)

    def adapted(self, answers: Sequence[Answer]) -> list[Answer]:
        """The recorded answers of a group as this question wants them, in the order of the
        draws.
        """
        found = []
        for asked, places in zip(self.asked, self._answers_of, strict=True):
            found += [self._adapted(answers[place], asked) for place in places]
        return found

    def _adapted(self, answer: Answer, asked: Asked) -> Answer:
        """A recorded answer with the interval of this question's confidence, which is free where
        the noise is public, and with its own wish, if it has one.

        The interval of a quantile was drawn for this question's beta, or for a part of it, by
        whatever confidence that was asked for.
        """
        interval = answer.interval
        if answer.drawn is not None:
            interval = answer.drawn.interval(self.beta)
        notes = tuple(note for note in answer.notes if note != JOINT and not is_wish_note(note))
        notes += tuple(note for note in asked.terms.notes if is_wish_note(note))
        return replace(
            answer,
            interval=interval,
            confidence=float(self.confidence),
            notes=(*notes, *_joint(self.simultaneous, len(self.names) * self.rows.number)),
        )


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


@dataclass(frozen=True)
class BoundBatch:
    """What is counted together, the rows that it is counted of, and the places of its answers among
    all of a group.
    """

    places: Sequence[int]
    batch: Batch
    rows: Selection


@dataclass(frozen=True)
class _Binding:
    """What is public of a plain question that fits a column of this name and declared type."""

    column: str | None
    declared: ColumnType
    batches: Sequence[BoundBatch]
    cells: Sequence[CellWords]
    texts: int | None

    def fits(self, column: str | None, declared: ColumnType) -> bool:
        """Whether it is a column of this name and type."""
        known = self.declared
        same = known is declared or (known == declared and known.complete == declared.complete)
        # A data frame may have numbers for names, and 1 is True.
        return same and column == self.column and type(column) is type(self.column)


@dataclass(frozen=True)
class DrawnAnswers:
    """The answers of each group in the order of the draws, and the question that they answer, with
    the keys that were found for it.
    """

    question: Question
    answers: Sequence[Sequence[Answer]]

    @property
    def rows(self) -> Sequence[tuple[tuple[Any, ...], list[Answer]]]:
        """The same as rows in the order in which they were asked for."""
        return self.question.arranged(self.answers)


@dataclass(frozen=True)
class BoundQuestion:
    """A question that fits its table: from here on, cells are touched.

    `rows` are those that count for all batches.
    """

    question: Question
    table: Table
    rows: Selection
    batches: Sequence[BoundBatch]
    cells: Sequence[CellWords]
    texts: int | None

    def answers(self) -> list[list[Answer]]:
        """Count everything, then draw: for each group the answers, in the order of the draws."""
        return [list(group) for group in self.drawn().answers]

    def drawn(self) -> DrawnAnswers:
        """The same, of which nothing is made that nobody looks at.

        All counts see the same rows, and so do those that a draw asks for later.
        """
        with self.table.snapshot() as table:
            found = self.question._found(table)
            if found is None:
                return self._drawn(table, [{}] * self.rows.number)
            if not found.keys:
                return DrawnAnswers(self.question, [])
            known = self.question._with_found(found.keys)
            return known._bound(table)._drawn(table, known._begun(found))

    def _drawn(self, table: Table, begun: Sequence[Mapping[int, Answer]]) -> DrawnAnswers:
        """The answers of each group, some of which are drawn already."""
        groups: list[dict[int, Answer]] = [{} for _ in range(len(begun))]
        for each, counts in zip(self.batches, self._counted(table), strict=True):
            drawn_groups = each.batch.draw_groups(counts, self.question.coins)
            for group, drawn in zip(groups, drawn_groups, strict=True):
                # Draws of many groups take their time too.
                check_cancelled()
                group.update(zip(each.places, drawn, strict=True))
        order = range(len(self.cells))

        def in_order(place: int) -> list[Answer]:
            of_group = {**begun[place], **groups[place]}
            return [of_group[each] for each in order]

        answers = LazySequence(len(groups), in_order)
        return DrawnAnswers(self.question, about(self.question, answers, self.cells, self.texts))

    def _counted(self, table: Table) -> list[Sequence[Any]]:
        """What is counted for each batch. In which order does not show: what others may count in
        passing comes last.
        """
        if len(self.batches) == 1:
            return [each.batch.count(table, each.rows) for each in self.batches]
        for each in self.batches:
            each.batch.announce(table, each.rows)
        places = range(len(self.batches))
        counted: dict[int, Sequence[Any]] = {}
        for place in sorted(places, key=lambda place: self.batches[place].batch.in_passing):
            each = self.batches[place]
            counted[place] = each.batch.count(table, each.rows)
        return [counted[place] for place in places]


def plain_question(
    aggregates: Mapping[str, Statistic],
    *,
    epsilon: Number | None,
    confidence: Number,
    protect: ProtectedChange,
    method: str | Method | None = None,
    split: Number = 0.5,
    coins: Coins | None = None,
    where: str | Predicate | None = None,
    by: Mapping[str, Keys] | None = None,
    weights: object = None,
    simultaneous: bool = False,
    parts: Mapping[str, int] | None = None,
    selected: Mapping[str, int] | None = None,
    concentrated: bool = False,
    public: PublicRows = NOTHING_PUBLIC,
    least: Fraction = Fraction(0),
) -> Question:
    """A question to a table without a policy, drawn in the order in which it was asked.

    Without a method, each column's quantiles get the one that suits them best, by the forecast for
    as many rows as are `public`.

    Epsilon is divided evenly, or by `weights`; if all aggregates have a wish, so that each is as
    good as it can be in parts of it. Without epsilon each gets the least that its wish takes, and
    all together `least` at least. `parts` says how many intervals must hold at once
    with that of an aggregate, `selected` by how much more beta is divided for those by which rows
    are selected. If the privacy is to be `concentrated`, Gaussian noise is drawn where noise is
    added, and its draws divide the rho of the question in place of its epsilon.
    """
    total = check_wishes(epsilon, weights, aggregates)
    _check_statistics(aggregates.values(), protect)
    terms = _terms(confidence, protect, method, split, concentrated=concentrated)
    checked_coins = check_coins(coins)
    predicate = Predicate.of(where)
    groups = None
    if by is not None:
        groups = Groups.of(by)
    check_rows(
        terms.method,
        where=predicate is not None or any(each.where for each in aggregates.values()),
        by=groups is not None,
        protect=terms.protect,
    )
    answers = sum(len(statistic.suffixes) for statistic in aggregates.values())
    terms = _in_groups(terms, answers, groups, simultaneous=simultaneous)
    names = tuple(aggregates)
    divides = weights is None and wishes_divide(total, aggregates)
    shares: Sequence[Fraction] = ()
    if not divides:
        shares = shares_of(weights, list(names))
    unknown = groups is not None and groups.unknown is not None
    if groups is not None and unknown:
        from postri.question.discovery import with_decider

        check_wishes_of_groups(divides=divides)
        aggregates, shares = with_decider(aggregates, shares, groups)
    asked = []
    expected = []
    for name, statistic in aggregates.items():
        together = (parts or {}).get(name, 1)
        own = replace(terms, parts=together, selected=(selected or {}).get(name, 1))
        asked.append(Asked(statistic, own))
        # The rows of groups that nobody knows are not known either.
        filtered = unknown or predicate is not None or statistic.where is not None
        expected.append(public.expected(terms.protect, terms.groups, filtered=filtered))
    choice = Choice(asked, expected, fixed=method is not None, concentrated=concentrated)
    if divides:
        asked = choice.wished(list(aggregates), total, least)
    else:
        assert total is not None
        asked = choice.paying([total * share for share in shares])
    best = choice.by_best_methods(asked, public.rows)
    for each in best:
        each.statistic.check_terms(each.terms)
    columns = groups.columns if groups else ()
    return Question(
        asked=_told_found([_with_wish(each) for each in best]),
        aggregates=names,
        places=tuple(range(len(names))),
        confidence=terms.confidence,
        protect=terms.protect,
        coins=checked_coins,
        where=predicate,
        groups=groups,
        by=tuple(column.name for column in columns),
        simultaneous=simultaneous,
        computed=_own_columns(aggregates.values()),
    )


def _check_statistics(statistics: Iterable[Statistic], protect: ProtectedChange) -> None:
    for statistic in statistics:
        check_domain(statistic.domain)
        statistic.check_protect(check_protect(protect))
        if statistic.public_keys is not None:
            Groups.of({str(statistic.column): statistic.public_keys})


def _terms(
    confidence: Number,
    protect: ProtectedChange,
    method: str | Method | None,
    split: Number,
    *,
    concentrated: bool,
) -> Terms:
    """The terms of all statistics, but for what each pays."""
    sure = check_share(confidence, "confidence")
    usual = "depth"
    if concentrated:
        # The exponential mechanism has the smaller rho at the same epsilon (Theorem 13).
        usual = "depth-gumbel"
    return Terms(
        Fraction(1),
        1 - sure,
        sure,
        check_protect(protect),
        method=check_method(method or usual),
        split=check_share(split, "split"),
    )


def _told_found(asked: Sequence[Asked]) -> tuple[Asked, ...]:
    """Each with what one of them has to say to all, such as how the keys are found."""
    notes = [note for each in asked if (note := each.statistic.note_to_all(each.terms))]
    found = tuple(asked)
    for note in notes:
        found = tuple(_noted(each, note) for each in found)
    return found


def _own_columns(statistics: Iterable[Statistic]) -> dict[str, Expression]:
    """The columns that statistics bring, by name."""
    found: dict[str, Expression] = {}
    for statistic in statistics:
        found.update(statistic.computed)
    return found


@dataclass(frozen=True)
class Choice:
    """Some statistics on all their terms but for epsilon and their methods, which are to be chosen
    by forecasts. `expected` is how many rows count for each.
    """

    asked: Sequence[Asked]
    expected: Sequence[ExpectedRows | Unknown]
    fixed: bool
    concentrated: bool

    def paying(self, epsilons: Sequence[Fraction]) -> list[Asked]:
        """Each with its epsilon. Gaussian draws divide the rho of all in the same way."""
        total = sum(epsilons, start=Fraction(0))
        found = []
        for each, epsilon in zip(self.asked, epsilons, strict=True):
            rho = rho_of(total) * epsilon / total if self.concentrated else None
            found.append(replace(each, terms=replace(each.terms, epsilon=epsilon, rho=rho)))
        return found

    def wished(self, names: Sequence[str], total: Fraction | None, least: Fraction) -> list[Asked]:
        """Each with the epsilon that its wish takes, or with its part of a total."""
        from postri.question.wishes import Wisher, divided_epsilons, least_epsilons

        wishers = [
            Wisher(name, each, rows)
            for name, each, rows in zip(names, self.asked, self.expected, strict=True)
        ]
        together = [
            (batch, [wishers[place] for place in places]) for batch, places in self._together()
        ]
        how = {"fixed": self.fixed, "concentrated": self.concentrated}
        if total is None:
            epsilons = least_epsilons(together, least=least, **how)
        else:
            epsilons = divided_epsilons(together, total, **how)
        return self.paying([epsilons[name] for name in names])

    def by_best_methods(self, asked: Sequence[Asked], rows: int | None) -> list[Asked]:
        """Each on terms that suit those best which are answered together, in the same order."""
        chosen = list(asked)
        for batch, places in self._together():
            best = batch.by_best_method(
                [asked[place] for place in places],
                fixed=self.fixed,
                rows=rows,
                expected=[self.expected[place] for place in places],
            )
            for place, each in zip(places, best, strict=True):
                chosen[place] = each
        return chosen

    def _together(self) -> list[tuple[type[Batch], list[int]]]:
        """Where those are that are answered together."""
        found: dict[BatchKey, list[int]] = {}
        for place, each in enumerate(self.asked):
            statistic = each.statistic
            key = (statistic.batch, statistic.column, statistic.domain, statistic.where)
            found.setdefault(key, []).append(place)
        return [(batch, places) for (batch, *_), places in found.items()]


def _with_wish(asked: Asked) -> Asked:
    """The same with a note that tells the wish, if there is one."""
    wish = asked.statistic.within
    if wish is None:
        return asked
    return _noted(asked, wish_note(wish.words, asked.terms.epsilon))


def _in_groups(terms: Terms, answers: int, groups: Groups | None, *, simultaneous: bool) -> Terms:
    """The terms of all statistics, which have so many answers in each group.

    Intervals that are to hold at once divide beta.
    """
    number = groups.size if groups else 1
    if groups is not None and groups.unknown is not None:
        # As many as there may be: how many there are is known when they are found.
        joint = _joint(simultaneous, MOST_GROUPS)
        return replace(terms, groups=MOST_GROUPS, at_once=simultaneous, notes=joint)
    if not simultaneous:
        return replace(terms, groups=number)
    intervals = answers * number
    notes = _joint(simultaneous, intervals)
    beta = terms.beta / intervals
    return replace(terms, groups=number, beta=beta, at_once=True, notes=notes)


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
    parts: Mapping[str, int] | None = None,
    selected: Mapping[str, int] | None = None,
    expect: int | None = None,
    least: Fraction = Fraction(0),
) -> DatasetQuestion:
    """A question to a policy's dataset, or InputError for the first thing that is wrong with it.

    Nothing but the policy is looked at. `where` is a text, or a predicate in normal form, as SQL
    hands it over. `computed` are expressions that aggregates name as columns. `expect` is the
    analyst's word on about how many rows match, and `least` what a question costs at least.
    """
    columns = list(dataset.columns)
    statistics = {
        name: statistic.normal(columns) for name, statistic in check_aggregates(aggregates).items()
    }
    expressions = {**(computed or {}), **_computed_by(statistics.values())}
    wanted = {
        name: on_dataset(statistic, dataset, expressions) for name, statistic in statistics.items()
    }
    names = list(wanted)
    check_wishes(epsilon, weights, wanted)
    divided_by_wishes = weights is None and wishes_divide(epsilon, wanted)
    shares = dict(zip(names, shares_of(weights, names), strict=True))
    predicate = Predicate.of(where)
    if isinstance(where, str) and predicate is not None:
        predicate = predicate.normal(list(dataset.columns))
    keys = keys_of(check_by(by), dataset, predicate)
    # The order of their texts is the normal order; equal ones are interchangeable.
    order = sorted(names, key=lambda name: f"{_text(_fields(wanted[name]))} {shares[name]}")
    question = plain_question(
        {name: wanted[name] for name in order},
        epsilon=epsilon,
        confidence=confidence,
        protect=dataset.protect,
        coins=coins,
        where=predicate,
        by=_in_normal_order(keys) or None,
        weights=None if divided_by_wishes else shares,
        simultaneous=check_flag(simultaneous, "simultaneous"),
        parts=parts,
        selected=selected,
        concentrated=dataset.accountant == "zcdp",
        public=PublicRows(dataset.rows, dataset.units, expect),
        least=least,
    )
    if divided_by_wishes:
        # Now that its epsilons are known, it is the question that has them, whoever asks it how.
        parts_of_epsilon = {
            name: each.terms.epsilon for name, each in zip(order, question.asked, strict=True)
        }
        return dataset_question(
            dataset,
            aggregates,
            epsilon=question.epsilon,
            by=by,
            where=where,
            weights=parts_of_epsilon,
            confidence=confidence,
            simultaneous=simultaneous,
            coins=coins,
            computed=computed,
            parts=parts,
            selected=selected,
            expect=expect,
        )
    asked = tuple(
        _noted(each, *cautions(each.statistic, dataset, expressions)) for each in question.asked
    )
    return DatasetQuestion(
        asked=asked,
        aggregates=tuple(names),
        places=tuple(order.index(name) for name in names),
        confidence=question.confidence,
        protect=question.protect,
        coins=question.coins,
        where=predicate,
        groups=question.groups,
        by=tuple(keys),
        simultaneous=question.simultaneous,
        computed={name: each.expression for name, each in expressions.items()},
        dataset=dataset,
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


def _joint(simultaneous: bool, intervals: int) -> tuple[str, ...]:
    if simultaneous and intervals > 1:
        return (JOINT,)
    return ()


def _noted(asked: Asked, *notes: str) -> Asked:
    return replace(asked, terms=replace(asked.terms, notes=(*notes, *asked.terms.notes)))


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
