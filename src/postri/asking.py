"""One question with everything that it needs: what is asked, of which rows, at which price.

Checked before data is touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from postri.agg import Aggregate, Count, Quantile, Sum, check_domain
from postri.agg import read as read_aggregate
from postri.answer import Answer
from postri.answer.words import JOINT, READ_AS_WHOLE
from postri.columns import ColumnType
from postri.domain import Domain
from postri.engines.resolve import CsvFormat, engine_of
from postri.engines.rows import Groups, Rows, Selection, Units
from postri.engines.table import Table
from postri.errors import InputError, nearest
from postri.exact import Number, exact, shown
from postri.expressions import Predicate
from postri.grid import Grid, grid_of
from postri.mechanisms.coins import Coins, SystemCoins
from postri.methods.depth import Depth
from postri.methods.method import Method, Question
from postri.privacy import (
    AddOrRemoveUnits,
    ProtectedChange,
    ReplaceUnits,
    check_epsilon,
    check_protect,
    check_share,
    split_spend,
)
from postri.sheets import QuantileSheet, Sheet, SizeSheet, TotalSheet
from postri.statistics.count import Ask
from postri.statistics.quantile import Terms

METHODS = {"depth": Depth()}


@dataclass(frozen=True)
class Asked:
    """One aggregate, and what it may cost.

    The interval of a quantile is drawn so that as many as `parts` hold at once.
    """

    aggregate: Aggregate
    epsilon: Fraction
    parts: int = 1


@dataclass(frozen=True)
class Request:
    """Everything that a caller asks for, checked. It has not seen the source."""

    asked: tuple[Asked, ...]
    confidence: Fraction
    protect: ProtectedChange
    method: Method
    split: Fraction
    coins: Coins
    where: Predicate | None = None
    groups: Groups | None = None
    joint: bool = False

    @property
    def epsilon(self) -> Fraction:
        """What all of it may cost."""
        return sum((asked.epsilon for asked in self.asked), start=Fraction(0))

    @property
    def rows(self) -> Rows:
        """The rows that count."""
        units = (
            Units(self.protect.unit, self.protect.rows)
            if isinstance(self.protect, AddOrRemoveUnits | ReplaceUnits)
            else None
        )
        return Rows(self.where, self.groups, units)

    def beta(self, groups: int) -> Fraction:
        """How often each interval may fail: if all are to hold at once, they divide it."""
        return (1 - self.confidence) / (len(self.asked) * groups if self.joint else 1)

    def question(self, p: Fraction, epsilon: Fraction, groups: int = 1, parts: int = 1) -> Question:
        """A quantile in each group: disjoint groups share epsilon."""
        return Question(
            p, split_spend(epsilon, self.split), self.beta(groups) / parts, self.protect, groups
        )

    def answers(self, source: Any) -> list[list[Answer]]:
        """Open the source, count, draw: for each group the answers, in the order in which they were
        asked for.
        """
        return self.bound(source).answers()

    def bound(self, source: Any) -> BoundRequest:
        """The request in terms of a source's columns; InputError if it does not fit them.

        No cell is touched.
        """
        table = source if isinstance(source, Table) else Table(engine_of(source, None, CsvFormat()))
        rows = table.bind(self.rows)
        return BoundRequest(self, table, rows, self._sheets(table, rows.number))

    def _sheets(self, table: Table, groups: int) -> list[Sheet]:
        """What is asked, sorted by what is counted for it: windows, totals or rows of one column."""
        together: dict[tuple[type, str | None, Domain | None], list[int]] = {}
        for place, asked in enumerate(self.asked):
            aggregate = asked.aggregate
            if isinstance(aggregate, Count):
                column = None if aggregate.column is None else table.column(aggregate.column)
                together.setdefault((Count, column, None), []).append(place)
            else:
                kind = Quantile if isinstance(aggregate, Quantile) else Sum
                together.setdefault(
                    (kind, table.column(aggregate.column), aggregate.domain), []
                ).append(place)
        return [self._sheet(table, *what, places, groups) for what, places in together.items()]

    def _sheet(
        self,
        table: Table,
        kind: type,
        column: str | None,
        domain: Domain | None,
        places: list[int],
        groups: int,
    ) -> Sheet:
        if kind is Count:
            if column is not None:
                table.declared(column)
            return SizeSheet(places, column, [self._ask(place, groups, ()) for place in places])
        declared = table.type_of(column)
        grid, notes = grid_of(declared, domain), self._notes(declared, domain)
        if kind is Sum:
            _check_total(column, grid)
        if kind is Sum or self.rows.units is not None:
            table.check_indexed(column, grid)
        if kind is Sum:
            wanted = [
                (self.asked[place].aggregate, self._ask(place, groups, notes)) for place in places
            ]
            return TotalSheet(places, column, grid, wanted)
        terms = Terms(grid, domain, self.method, self.confidence, (*notes, *self._joint(groups)))
        asked = [self.asked[place] for place in places]
        questions = [
            self.question(each.aggregate.p, each.epsilon, groups, each.parts)
            for each in asked
            if isinstance(each.aggregate, Quantile)
        ]
        return QuantileSheet(places, column, terms, questions)

    def _ask(self, place: int, groups: int, notes: tuple[str, ...]) -> Ask:
        return Ask(
            self.asked[place].epsilon,
            self.beta(groups),
            self.confidence,
            self.protect,
            groups,
            (*notes, *self._joint(groups)),
        )

    def _notes(self, declared: ColumnType, domain: Domain | None) -> tuple[str, ...]:
        return (READ_AS_WHOLE,) if declared.kind is None and domain is None else ()

    def _joint(self, groups: int) -> tuple[str, ...]:
        return (JOINT,) if self.joint and len(self.asked) * groups > 1 else ()


def _check_total(column: str | None, grid: Grid) -> None:
    """Refuse sums and means without public bounds, which alone say how far one person can move
    them.
    """
    if grid.kind != "number":
        raise InputError(f"there is no sum or mean of a column of {grid.kind}s; ask for its median")
    if grid.anchor is not None:
        name = "the column" if column is None else repr(column)
        raise InputError(
            f"a sum or mean of {name} needs a domain, such as Domain(0, 1000): how far one "
            "row can move it is a public choice"
        )


@dataclass(frozen=True)
class BoundRequest:
    """A request that fits its table: from here on, cells are touched."""

    request: Request
    table: Table
    rows: Selection
    sheets: Sequence[Sheet]

    def answers(self) -> list[list[Answer]]:
        """Count everything, then draw: for each group the answers, in the order in which they were
        asked for.
        """
        answers: list[dict[int, Answer]] = [{} for _ in range(self.rows.number)]
        # A draw may ask for wider windows: those come from the same rows.
        with self.table.snapshot() as table:
            counted = [sheet.count(table, self.rows) for sheet in self.sheets]
            for sheet, groups in zip(self.sheets, counted, strict=True):
                for group, each in enumerate(groups):
                    answers[group] |= dict(
                        zip(sheet.places, sheet.draw(each, self.request.coins), strict=True)
                    )
        return [[group[place] for place in range(len(self.request.asked))] for group in answers]


def checked_request(
    asked: Sequence[Aggregate],
    *,
    epsilon: Number,
    confidence: Number,
    protect: ProtectedChange,
    method: str | Method = "depth",
    split: Number = 0.5,
    coins: Coins | None = None,
    where: str | None = None,
    by: Mapping[str, Sequence[Any]] | None = None,
    shares: Sequence[Fraction] | None = None,
    joint: bool = False,
    parts: Sequence[int] | None = None,
) -> Request:
    """The request, or InputError for the first thing that is wrong with it.

    Epsilon is divided by `shares`, or evenly.
    """
    total = check_epsilon(epsilon)
    for aggregate in asked:
        check_domain(getattr(aggregate, "domain", None))
    each = zip(
        asked,
        shares or [Fraction(1, len(asked))] * len(asked),
        parts or [1] * len(asked),
        strict=True,
    )
    return Request(
        tuple(Asked(aggregate, total * share, together) for aggregate, share, together in each),
        check_share(confidence, "confidence"),
        check_protect(protect),
        check_method(method),
        check_share(split, "split"),
        check_coins(coins),
        None if where is None else Predicate.parse(where),
        None if by is None else Groups.of(by),
        joint,
    )


def check_method(method: str | Method) -> Method:
    """The method of this name, or the object."""
    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(f"there is no method {method!r}; {nearest(method, METHODS)}")
        return METHODS[method]
    if (
        isinstance(method, type)
        or not callable(getattr(method, "draw", None))
        or not callable(getattr(method, "half", None))
    ):
        raise InputError(
            "method must be 'depth' or a method object, such as Depth(noise='gumbel'), got "
            f"{shown(method)}"
        )
    return method


def check_coins(coins: Coins | None) -> Coins:
    """The coins to draw with: the system's, unless others are given."""
    if coins is None:
        return SystemCoins()
    if isinstance(coins, type) or not callable(getattr(coins, "draw", None)):
        raise InputError(
            f"coins must be left out, or SeededCoins(seed) for an experiment, got {shown(coins)}"
        )
    return coins


def check_aggregates(aggregates: object) -> dict[str, Aggregate]:
    """The aggregates by their names, or InputError."""
    if not isinstance(aggregates, Mapping) or not aggregates:
        raise InputError(
            f"aggregates must map names to aggregates, such as {{'mid': agg.median('fare')}}, "
            f"got {shown(aggregates)}"
        )
    for name in aggregates:
        if not isinstance(name, str) or not name:
            raise InputError(f"the name of an aggregate must be text, got {shown(name)}")
    return {name: read_aggregate(each) for name, each in aggregates.items()}


def check_weights(weights: object, wanted: Mapping[str, Aggregate]) -> list[Fraction]:
    """The share of epsilon that each aggregate gets."""
    if weights is None:
        return [Fraction(1, len(wanted))] * len(wanted)
    if not isinstance(weights, Mapping) or set(weights) != set(wanted):
        raise InputError(
            f"weights must give each of {', '.join(map(repr, wanted))} its weight, and no "
            f"other; got {shown(weights)}"
        )
    numbers = {name: exact(weight, f"the weight of {name!r}") for name, weight in weights.items()}
    for name, number in numbers.items():
        if number <= 0:
            raise InputError(f"the weight of {name!r} must be positive, got {shown(weights[name])}")
    return [numbers[name] / sum(numbers.values()) for name in wanted]
