"""One question with everything that it needs: what is asked, of which rows, at which price. Checked before data is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from postri.answer import Answer
from postri.answer.words import JOINT, READ_AS_WHOLE
from postri.columns import ColumnType
from postri.domain import Domain
from postri.engines.base import CsvFormat, Target
from postri.engines.resolve import engine_of
from postri.engines.rows import Groups, Rows, Units
from postri.engines.table import Table
from postri.errors import InputError, nearest
from postri.exact import Number, shown
from postri.grid import grid_of
from postri.intervals.depth import Depth
from postri.intervals.method import Method, Question
from postri.mechanisms.coins import Coins, SystemCoins
from postri.predicates import Predicate
from postri.privacy import AddOrRemoveUnits, ProtectedChange, ReplaceUnits, check_epsilon, check_protect, check_share, split_spend
from postri.queries.quantile import Terms, quantile_answers

METHODS = {"depth": Depth()}


@dataclass(frozen=True)
class Asked:
    """One quantile of one column, and what it may cost."""

    column: str | None
    p: Fraction
    domain: Domain | None
    epsilon: Fraction


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
    def rows(self) -> Rows:
        """The rows that count."""
        units = Units(self.protect.unit, self.protect.rows) if isinstance(self.protect, AddOrRemoveUnits | ReplaceUnits) else None
        return Rows(self.where, self.groups, units)

    def question(self, asked: Asked, groups: int = 1) -> Question:
        """The question in each group: disjoint groups share epsilon; if all intervals are to hold at once, they divide beta."""
        cells = len(self.asked) * groups if self.joint else 1
        return Question(asked.p, split_spend(asked.epsilon, self.split), (1 - self.confidence) / cells, self.protect, groups)

    def answers(self, source: Any) -> list[list[Answer]]:
        """Open the source, count, draw: for each group the answers, in the order in which they were asked for."""
        table = source if isinstance(source, Table) else Table(engine_of(source, None, CsvFormat()))
        rows = table.bind(self.rows)
        sheets = self._sheets(table, rows.number)
        # Nothing is read before everything was checked.
        counted = [table.grouped_windows(sheet.column, sheet.terms.grid, sheet.targets, rows) for sheet in sheets]
        answers: list[dict[int, Answer]] = [{} for _ in range(rows.number)]
        for sheet, groups in zip(sheets, counted, strict=True):
            for group, windows in enumerate(groups):
                drawn = quantile_answers(sheet.questions, windows, sheet.terms, self.coins)
                answers[group] |= dict(zip(sheet.places, drawn, strict=True))
        return [[group[place] for place in range(len(self.asked))] for group in answers]

    def _sheets(self, table: Table, groups: int) -> list[Sheet]:
        """What is asked, column by column."""
        columns = [table.column(asked.column) for asked in self.asked]
        together: dict[tuple[str | None, Domain | None], list[int]] = {}
        for place, asked in enumerate(self.asked):
            together.setdefault((columns[place], asked.domain), []).append(place)
        return [self._sheet(table, column, domain, places, groups) for (column, domain), places in together.items()]

    def _sheet(self, table: Table, column: str | None, domain: Domain | None, places: list[int], groups: int) -> Sheet:
        declared = table.type_of(column)
        terms = Terms(grid_of(declared, domain), domain, self.method, self.confidence, self._notes(declared, domain, groups))
        return Sheet(column, terms, [self.question(self.asked[place], groups) for place in places], places)

    def _notes(self, declared: ColumnType, domain: Domain | None, groups: int) -> tuple[str, ...]:
        whole = declared.kind is None and domain is None
        return (*((READ_AS_WHOLE,) if whole else ()), *((JOINT,) if self.joint and len(self.asked) * groups > 1 else ()))


@dataclass(frozen=True)
class Sheet:
    """The questions about one column on one domain: their windows come from the same scans."""

    column: str | None
    terms: Terms
    questions: list[Question]
    places: list[int]

    @property
    def targets(self) -> list[Target]:
        """The windows that they need."""
        return [Target(question.p, self.terms.method.half(question, self.terms.grid)) for question in self.questions]


def checked_request(
    asked: Sequence[tuple[str | None, Fraction, Domain | None]],
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
) -> Request:
    """The request, or InputError for the first thing that is wrong with it. Epsilon is divided by `shares`, or evenly."""
    total = check_epsilon(epsilon)
    parts = shares or [Fraction(1, len(asked))] * len(asked)
    return Request(
        tuple(Asked(column, p, check_domain(domain), total * part) for (column, p, domain), part in zip(asked, parts, strict=True)),
        check_share(confidence, "confidence"),
        check_protect(protect),
        check_method(method),
        check_share(split, "split"),
        check_coins(coins),
        None if where is None else Predicate.parse(where),
        None if by is None else Groups.of(by),
        joint,
    )


def check_domain(domain: object) -> Domain | None:
    """The domain, or InputError if it is something else."""
    if domain is not None and not isinstance(domain, Domain):
        raise InputError(f"domain must be a Domain, such as Domain(0, 1000, step='0.01'), got {shown(domain)}")
    return domain


def check_method(method: str | Method) -> Method:
    """The method of this name, or the object."""
    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(f"there is no method {method!r}; {nearest(method, METHODS)}")
        return METHODS[method]
    if isinstance(method, type) or not callable(getattr(method, "draw", None)) or not callable(getattr(method, "half", None)):
        raise InputError(f"method must be 'depth' or a method object, such as Depth(noise='gumbel'), got {shown(method)}")
    return method


def check_coins(coins: Coins | None) -> Coins:
    """The coins to draw with: the system's, unless others are given."""
    if coins is None:
        return SystemCoins()
    if isinstance(coins, type) or not callable(getattr(coins, "draw", None)):
        raise InputError(f"coins must be left out, or SeededCoins(seed) for an experiment, got {shown(coins)}")
    return coins
