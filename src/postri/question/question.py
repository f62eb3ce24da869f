"""A question that is checked: everything that it asks for, and how it fits a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from postri.answer import Answer
from postri.answer.lazy import LazySequence
from postri.answer.words import JOINT, ROUNDED_TO_WHOLE, is_wish_note
from postri.cost import Cost
from postri.domain import Domain
from postri.engines.rows import EVERY_ROW, GroupColumn, Groups, Key, Rows, Selection, Units
from postri.engines.table import Table
from postri.expressions import Predicate
from postri.grid import grid_of
from postri.mechanisms.coins import Coins
from postri.privacy import AddOrRemoveUnits, ProtectedChange, ReplaceUnits
from postri.question.bound import BoundBatch, BoundQuestion, ColumnBinding
from postri.question.population import (
    CellWords,
    cells_of_table,
    misses_texts,
    texts_of_table,
    whole_population,
)
from postri.statistics.statistic import Asked, Batch

if TYPE_CHECKING:
    from postri.expressions.tree import Expression
    from postri.question.discovery import FoundKeys

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

        return self.with_found(keys_in(answers, self._answers_of[place][0]))

    def with_found(self, keys: Sequence[Key]) -> Self:
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
    def _bindings(self) -> list[ColumnBinding]:
        """How the question fits the columns that it was last asked of."""
        return []

    def bound(self, table: Table) -> BoundQuestion:
        """The question in terms of a table's columns; InputError if it does not fit them.

        Everything that can be refused is refused here, by names and declared types. No cell is
        touched.
        """
        if self.computed:
            table = table.computed(self.computed)
        return self.bound_again(table)

    def bound_again(self, table: Table) -> BoundQuestion:
        """The same of a table that has the computed columns already."""
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
            known = ColumnBinding(column, declared, batches, self._cells(table), self._texts(table))
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
            asked = tuple(each.noted(ROUNDED_TO_WHOLE) for each in asked)
        return kind(asked, column, grid)

    def _places_of_answers(self, places: Sequence[int]) -> list[int]:
        """Where the answers of some statistics are among all of a group."""
        return [answer for place in places for answer in self._answers_of[place]]

    def found_keys(self, table: Table) -> FoundKeys | None:
        """The keys that are told, by a draw; None if all are declared."""
        place = self._decider
        if place is None or self.groups is None or self.groups.unknown is None:
            return None
        from postri.question.discovery import draw_keys, most_found

        most = most_found(self.asked, self.groups)
        return draw_keys(table, self.rows, self.groups.unknown, self.asked[place], most, self.coins)

    def decided(self, found: FoundKeys) -> Sequence[Mapping[int, Answer]]:
        """For each group the answer that decided on its key, in its place."""
        assert self.groups is not None
        assert self._decider is not None
        (place,) = self._answers_of[self._decider]
        (column,) = [i for i, each in enumerate(self.groups.columns) if each.delta is not None]
        decider = self.asked[self._decider]
        # How many groups follow one another that have the same key.
        of_one_key = prod(len(each.keys) for each in self.groups.columns[column + 1 :])

        def of_group(group: int) -> Mapping[int, Answer]:
            answer = found.answers[group // of_one_key % len(found.keys)]
            if self.simultaneous:
                answer = self._adapted(answer, decider)
            return {place: answer}

        return LazySequence(self.groups.size, of_group)

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
            notes=(*notes, *joint_notes(self.simultaneous, len(self.names) * self.rows.number)),
        )


def joint_notes(simultaneous: bool, intervals: int) -> tuple[str, ...]:
    """What an answer is told whose interval holds at once with others."""
    if simultaneous and intervals > 1:
        return (JOINT,)
    return ()
