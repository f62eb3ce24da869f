"""A question in SQL, read: what is asked of the session, and what becomes of its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Literal

from postri.answer import Answer, Interval, Result
from postri.answer.drawn import Selected
from postri.answer.population import Covers, joined
from postri.answer.result import ResultColumn, usual_columns, winner_title
from postri.answer.words import SELECTED, WHOLE_RANGE, protection
from postri.cost import rho_of
from postri.errors import InputError
from postri.exact import as_decimal, decimal_places
from postri.expressions import Predicate
from postri.privacy import Spend
from postri.question.dataset import By, Computed
from postri.sql.released import ReleasedAggregate, ReleasedNode, Row, betas_of
from postri.sql.shown_rows import ShownRows
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
    columns. `by` is what divides rows, by the name that the result has for it. `where` is in normal
    form, and `where_words` is what was written. `rows` says which of the rows are shown, of which
    there is one for each of the public `groups`.
    """

    source: SqlText
    dataset: str
    items: Sequence[Item]
    aggregates: Mapping[str, Statistic]
    computed: Mapping[str, Computed] = field(default_factory=dict)
    by: By = field(default_factory=dict)
    where: Predicate | None = None
    where_words: Words = ()
    rows: ShownRows = field(default_factory=ShownRows)
    groups: int = 1

    def __post_init__(self) -> None:
        seen = set()
        for cell in self._layout():
            if cell.title in seen:
                raise self.source.error(
                    self.source.words,
                    f"two columns of the result would have the name {cell.title!r}; name one of "
                    "them with AS",
                )
            seen.add(cell.title)

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
                aggregate = self._aggregate_of[name]
                found[aggregate] = max(found[aggregate], len(names))
        return found

    @cached_property
    def _aggregate_of(self) -> dict[str, str]:
        """The aggregate of each answer, by their names: one may have several answers."""
        return {
            name + suffix: name
            for name, statistic in self.aggregates.items()
            for suffix in statistic.suffixes
        }

    def selected(self) -> dict[str, int]:
        """For each aggregate by whose interval rows are selected, by how much beta is divided at
        most: public numbers alone.

        An interval that is drawn cannot be widened when it is known how many rows are shown. It
        holds whatever its value is, so only its own ends select by it. One for a population does
        not: whatever is drawn from its rows tells of their error, so any draw selects by it.
        """
        return {self._aggregate_of[name]: each for name, each in self._divided.items()}

    @cached_property
    def _divided(self) -> dict[str, int]:
        """The same for each answer."""
        division = self.rows.division(self.groups)
        by_draws = self.rows.by_draws
        return {
            name: division
            for name in self._aggregate_of
            if by_draws and self._widens(name, decides=name in by_draws)
        }

    def _widens(self, name: str, *, decides: bool) -> bool:
        """Whether the selection makes an interval wider; it `decides` by the answer, or not."""
        statistic = self.aggregates[self._aggregate_of[name]]
        if statistic.errs_with_rows:
            return True
        return decides and (name in self.rows.by_ends or not statistic.draws_interval)

    def located(self, error: InputError) -> InputError:
        """An error about the question, with its place in the text."""
        return self.source.located(self.where_words or self.source.words, error)

    def shaped(self, result: Result, beta: Fraction, *, at_once: bool = False) -> Result:
        """The result as the text wants it: columns, rows that HAVING keeps, in order, up to the
        limit, with intervals that hold among the rows shown.
        """
        rows = []
        for keys, answers in result.groups:
            named_answers = dict(zip(result.names, answers, strict=True))
            named_keys = dict(zip(result.keys, keys, strict=True))
            rows.append(Row(named_answers, named_keys, beta))
        shown, share = self.rows.of(rows)
        if not at_once:
            shown = [self._selected(row, share) for row in shown]
        groups = []
        for row in shown:
            values = [_answer(node, row, result) for node in self.values.values()]
            groups.append((tuple(row.keys.values()), values))
        return Result(
            result.keys,
            list(self.values),
            groups,
            answer_id=result.answer_id,
            recorded=result.recorded,
            layout=self._layout(),
            epsilon=result.epsilon,
            about=result.about,
            charged=result.charged,
        )

    def _selected(self, row: Row, share: Fraction) -> Row:
        """A row that is shown, where so large a share of all rows is.

        What does not decide which rows are shown keeps its interval, and so does a quantile that
        decides by its value: how its interval is drawn depends on nothing else that is drawn.
        """
        answers = dict(row.answers)
        for name, division in self._divided.items():
            answer = answers[name]
            if answer.drawn is not None and share < 1:
                drawn = Selected(answer.drawn, share)
                answer = replace(answer, interval=drawn.interval(row.beta), drawn=drawn)
                answers[name] = _with_note(answer, SELECTED)
            elif answer.drawn is None and division > 1:
                answers[name] = _with_note(answer, SELECTED)
        return replace(row, answers=answers)

    def _layout(self) -> list[ResultColumn]:
        """The columns as written, each end with whether it is an edge; where no LOW or HIGH is,
        both are added after each value.
        """
        written = any(item.what in ("low", "high") for item in self.items)
        cells: list[ResultColumn] = []
        for item in self.items:
            finds_key = isinstance(item.node, ReleasedAggregate) and item.node.finds_key
            if item.what == "value" and not written:
                cells += usual_columns(item.title, finds_key=finds_key)
                continue
            name = item.of or item.title
            if item.what == "value" and finds_key:
                cells.append(ResultColumn(winner_title(name), "winner", name))
            cells.append(ResultColumn(item.title, item.what, name))
            # Who takes an end alone must see that it means "here or beyond".
            if item.what == "low":
                cells.append(ResultColumn(f"{item.title}_is_edge", "low_is_edge", name))
            elif item.what == "high":
                cells.append(ResultColumn(f"{item.title}_is_edge", "high_is_edge", name))
        return cells


def _with_note(answer: Answer, note: str) -> Answer:
    return replace(answer, notes=(*answer.notes, note))


def _answer(node: ReleasedNode, row: Row, result: Result) -> Answer:
    """A released value as an answer: the aggregate's own, or one that is computed from several."""
    if isinstance(node, ReleasedAggregate):
        return row.answers[node.name]
    names = sorted(set(node.drawn()))
    parts = [row.answers[name] for name in names]
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    bounds = node.bounds(row, betas_of(node, row.beta))
    if bounds.low_is_edge and bounds.high_is_edge:
        bounds = bounds.over(node.range)
        notes[WHOLE_RANGE] = None
    spend = Spend(
        sum((part.spend.value for part in parts), start=Fraction(0)),
        sum((part.spend.interval for part in parts), start=Fraction(0)),
        _rho(parts),
        _release(parts),
    )
    return Answer(
        value=_written(node.value(row), round),
        interval=Interval(
            _written(bounds.low, floor),
            _written(bounds.high, ceil),
            bounds.low_is_edge,
            bounds.high_is_edge,
        ),
        confidence=parts[0].confidence,
        spend=spend,
        protect=parts[0].protect,
        method="computed",
        private=result.private,
        notes=tuple(notes),
        statistic="computed",
        rows=joined({name: row.answers[name].rows for name in names}),
        covers=_covers(parts),
    )


def _covers(parts: Sequence[Answer]) -> Covers:
    """What is computed from an interval for a population is about that population."""
    if any(part.covers == "population" for part in parts):
        return "population"
    return "table"


def _rho(parts: Sequence[Answer]) -> Fraction | None:
    """The rho of all parts, if one has Gaussian noise; of the others at most."""
    if all(part.spend.rho is None for part in parts):
        return None
    rho = Fraction(0)
    for part in parts:
        rho += rho_of(part.epsilon) if part.spend.rho is None else part.spend.rho
    return rho


def _release(parts: Sequence[Answer]) -> Fraction | None:
    """What protects all parts, at most, if one is a part of a release: two of one release are
    counted twice.
    """
    if all(part.spend.release is None for part in parts):
        return None
    return sum((protection(part.spend) for part in parts), start=Fraction(0))


def _written(number: Fraction, rounded: Callable[[Fraction], int]) -> int | Decimal:
    """A number as people write it: exactly where that is short, else to some digits after the
    point.
    """
    places = decimal_places(number)
    if places is None or places > DIGITS:
        number = Fraction(rounded(number * 10**DIGITS), 10**DIGITS)
        places = DIGITS
    return as_decimal(number, places) if places else int(number)
