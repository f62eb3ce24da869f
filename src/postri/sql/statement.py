"""A question in SQL, read: what is asked of the session, and what becomes of its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key
from math import ceil, floor
from typing import Literal

from postri.answer import Answer, Interval, Result
from postri.answer.result import ResultColumn, usual_columns
from postri.cost import rho_of
from postri.errors import InputError
from postri.exact import as_decimal, decimal_places
from postri.expressions import Predicate
from postri.privacy import Spend
from postri.question.dataset import Computed
from postri.sql.released import ReleasedAggregate, ReleasedNode, Row
from postri.sql.text import SqlText, Words
from postri.statistics.statistic import Statistic

DIGITS = 6


@dataclass(frozen=True)
class Item:
    """A column of the result: a key, a released value, or an end of another item's interval."""

    title: str
    what: Literal["key", "value", "low", "high"]
    node: ReleasedNode | None = None
    of: str = ""


@dataclass(frozen=True)
class Statement:
    """One SELECT.

    `aggregates` are asked of the dataset once each; `computed` are the expressions among their
    columns. `where` is in normal form, and `where_words` is what was written.
    """

    source: SqlText
    dataset: str
    items: Sequence[Item]
    aggregates: Mapping[str, Statistic]
    computed: Mapping[str, Computed] = field(default_factory=dict)
    by: Sequence[str] = ()
    where: Predicate | None = None
    where_words: Words = ()
    having: ReleasedNode | None = None
    order: Sequence[tuple[ReleasedNode, bool]] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def values(self) -> dict[str, ReleasedNode]:
        """The released values by their titles."""
        return {
            item.title: item.node
            for item in self.items
            if item.what == "value" and item.node is not None
        }

    def parts(self) -> dict[str, int]:
        """For each aggregate the number of intervals that must hold at once: that of the aggregates
        in the largest value that it is part of.
        """
        found = dict.fromkeys(self.aggregates, 1)
        for node in self.values.values():
            names = set(node.drawn())
            for name in names:
                found[name] = max(found[name], len(names))
        return found

    def located(self, error: InputError) -> InputError:
        """An error about the question, with its place in the text."""
        return self.source.located(self.where_words or self.source.words, error)

    def shaped(self, result: Result, beta: Fraction) -> Result:
        """The result as the text wants it: columns, rows that HAVING keeps, in order, up to the
        limit.
        """
        rows = []
        for keys, answers in result.groups:
            named_answers = dict(zip(result.names, answers, strict=True))
            named_keys = dict(zip(result.keys, keys, strict=True))
            rows.append(Row(named_answers, named_keys))
        if self.having is not None:
            rows = [row for row in rows if self.having.value(row)]
        if self.order:
            rows.sort(key=cmp_to_key(self._compared))
        rows = rows[self.offset :]
        if self.limit is not None:
            rows = rows[: self.limit]
        groups = []
        for row in rows:
            values = [_answer(node, row, beta, result) for node in self.values.values()]
            groups.append((tuple(row.keys.values()), values))
        return Result(
            result.keys,
            list(self.values),
            groups,
            answer_id=result.answer_id,
            recorded=result.recorded,
            layout=self._layout(),
            epsilon=result.epsilon,
            about=result.answers[0],
            charged=result.charged,
        )

    def _compared(self, one: Row, other: Row) -> int:
        for node, descending in self.order:
            left = node.value(one)
            right = node.value(other)
            if left != right:
                comes_first = (left < right) != descending
                return -1 if comes_first else 1
        return 0

    def _layout(self) -> list[ResultColumn]:
        """The columns as written; where no LOW or HIGH is, both are added after each value."""
        written = any(item.what in ("low", "high") for item in self.items)
        cells: list[ResultColumn] = []
        for item in self.items:
            if item.what == "value" and not written:
                cells += usual_columns(item.title)
            else:
                cells.append(ResultColumn(item.title, item.what, item.of or item.title))
        return cells


def _answer(node: ReleasedNode, row: Row, beta: Fraction, result: Result) -> Answer:
    """A released value as an answer: the aggregate's own, or one that is computed from several."""
    if isinstance(node, ReleasedAggregate):
        return row.answers[node.name]
    names = sorted(set(node.drawn()))
    parts = [row.answers[name] for name in names]
    # The union bound: all parts hold at once with the confidence of the question.
    low, high = node.bounds(row, beta / len(names))
    spend = Spend(
        sum((part.spend.value for part in parts), start=Fraction(0)),
        sum((part.spend.interval for part in parts), start=Fraction(0)),
        _rho(parts),
    )
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    return Answer(
        value=_written(node.value(row), round),
        interval=Interval(_written(low, floor), _written(high, ceil)),
        confidence=parts[0].confidence,
        spend=spend,
        protect=parts[0].protect,
        method="computed",
        private=result.private,
        notes=tuple(notes),
        statistic="computed",
    )


def _rho(parts: Sequence[Answer]) -> Fraction | None:
    """The rho of all parts, if one has Gaussian noise; of the others at most."""
    if all(part.spend.rho is None for part in parts):
        return None
    rho = Fraction(0)
    for part in parts:
        rho += rho_of(part.epsilon) if part.spend.rho is None else part.spend.rho
    return rho


def _written(number: Fraction, rounded: Callable[[Fraction], int]) -> int | Decimal:
    """A number as people write it: exactly where that is short, else to some digits after the
    point.
    """
    places = decimal_places(number)
    if places is None or places > DIGITS:
        number = Fraction(rounded(number * 10**DIGITS), 10**DIGITS)
        places = DIGITS
    return as_decimal(number, places) if places else int(number)
