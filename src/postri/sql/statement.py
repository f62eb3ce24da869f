"""A question in SQL, read: what is asked of the session, and what becomes of its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key
from math import ceil, floor
from typing import Any, Literal

from postri.answer import Answer, Interval, Result
from postri.answer.result import Cell, usual_cells
from postri.exact import as_decimal, decimal_places
from postri.privacy import Spend
from postri.question.dataset import Computed
from postri.sql.released import Drawn, Node, Row
from postri.sql.text import SqlText, Words
from postri.statistics.statistic import Statistic

DIGITS = 6


@dataclass(frozen=True)
class Item:
    """A column of the result: a key, a released value, or an end of the interval of another item."""

    title: str
    what: Literal["key", "value", "low", "high"]
    node: Node | None = None
    of: str = ""


@dataclass(frozen=True)
class Statement:
    """One SELECT.

    `aggregates` are asked of the dataset once each; `computed` are the expressions among their
    columns.
    """

    source: SqlText
    dataset: str
    items: Sequence[Item]
    aggregates: Mapping[str, Statistic]
    computed: Mapping[str, Computed] = field(default_factory=dict)
    by: Sequence[str] = ()
    where: str | None = None
    where_words: Words = ()
    having: Node | None = None
    order: Sequence[tuple[Node, bool]] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def values(self) -> dict[str, Node]:
        """The released values by their titles."""
        return {
            item.title: item.node
            for item in self.items
            if item.what == "value" and item.node is not None
        }

    def parts(self) -> dict[str, int]:
        """For each aggregate the most parts of any value that it is in: so many intervals must hold
        at once there.
        """
        found = dict.fromkeys(self.aggregates, 1)
        for node in self.values.values():
            names = set(node.drawn())
            for name in names:
                found[name] = max(found[name], len(names))
        return found

    def shaped(self, result: Result, beta: Fraction) -> Result:
        """The result as the text wants it: columns, rows that HAVING keeps, in order, up to the
        limit.
        """
        rows = [
            Row(
                dict(zip(result.names, answers, strict=True)),
                dict(zip(result.keys, keys, strict=True)),
            )
            for keys, answers in result.groups
        ]
        kept = [row for row in rows if self.having is None or self.having.value(row)]
        ordered = sorted(kept, key=cmp_to_key(self._compared)) if self.order else kept
        chosen = ordered[self.offset : None if self.limit is None else self.offset + self.limit]
        groups = [
            (
                tuple(row.keys.values()),
                [_answer(node, row, beta, result) for node in self.values.values()],
            )
            for row in chosen
        ]
        return Result(
            result.keys,
            list(self.values),
            groups,
            answer_id=result.answer_id,
            recorded=result.recorded,
            layout=self._layout(),
            epsilon=result.epsilon,
            about=result.answers[0],
        )

    def _compared(self, one: Row, other: Row) -> int:
        for node, descending in self.order:
            left, right = node.value(one), node.value(other)
            if left != right:
                return -1 if (left < right) != descending else 1
        return 0

    def _layout(self) -> list[Cell]:
        """The columns as written; where no LOW or HIGH is, both are added after each value."""
        written = any(item.what in ("low", "high") for item in self.items)
        cells: list[Cell] = []
        for item in self.items:
            if item.what == "value" and not written:
                cells += usual_cells(item.title)
            else:
                cells.append(Cell(item.title, item.what, item.of or item.title))
        return cells


def _answer(node: Node, row: Row, beta: Fraction, result: Result) -> Answer:
    """A released value as an answer: the aggregate's own, or one that is computed from several."""
    if isinstance(node, Drawn):
        return row.answers[node.name]
    names = sorted(set(node.drawn()))
    parts = [row.answers[name] for name in names]
    low, high = node.bounds(row, beta / len(names))
    first = parts[0]
    return Answer(
        value=_written(node.value(row), round),
        interval=Interval(_written(low, floor), _written(high, ceil)),
        confidence=first.confidence,
        spend=Spend(
            *(
                sum((getattr(part.spend, name) for part in parts), start=Fraction(0))
                for name in ("value", "interval")
            )
        ),
        protect=first.protect,
        method="computed",
        private=result.private,
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        statistic="computed",
    )


def _written(number: Fraction, rounded: Any) -> int | Decimal:
    """A number as people write it: exactly where that is short, else to some digits after the
    point.
    """
    places = decimal_places(number)
    if places is None or places > DIGITS:
        number, places = Fraction(rounded(number * 10**DIGITS), 10**DIGITS), DIGITS
    return as_decimal(number, places) if places else int(number)
