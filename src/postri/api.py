"""The functions that users call: an engine and a query, no ledger. Parameters are checked before data is touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from postri.answer import Answer, Answers, Plan
from postri.answer.words import JOINT, READ_AS_WHOLE
from postri.columns import ColumnType
from postri.domain import Domain
from postri.engines.base import CsvFormat, Target
from postri.engines.resolve import engine_of
from postri.engines.table import Table
from postri.errors import InputError, nearest
from postri.exact import Number, shown
from postri.grid import grid_of
from postri.intervals.depth import Depth
from postri.intervals.method import Method, Question
from postri.intervals.plan import forecast
from postri.mechanisms.coins import Coins, SystemCoins
from postri.privacy import AddOrRemoveRows, ProtectedChange, check_epsilon, check_protect, check_share, split_spend
from postri.queries.quantile import Terms, quantile_answers

METHODS = {"depth": Depth()}
ONE_ROW = AddOrRemoveRows(1)


def open(
    source: Any, *, columns: Mapping[str, str | None] | None = None, delimiter: str = ",", quote: str = '"', header: bool = True
) -> Table:
    """Open a source for many questions: a `Table` is accepted wherever a source is, and keeps what it counted.

    `columns` declares types ("integer", "decimal", "float", "date", "timestamp") of columns whose source declares none: lists, object
    arrays, CSV. `delimiter`, `quote` and `header` say how a CSV file is written; nothing is guessed. Without a header, `columns` names
    all columns in order; None leaves one undeclared.

    >>> table = open({"salary": [30_500, 41_000, 38_200]}, columns={"salary": "integer"})
    >>> table.columns
    ['salary']
    """
    return Table(engine_of(source, columns, CsvFormat(delimiter, quote, header)))


def median(
    source: Any,
    *,
    epsilon: Number,
    column: str | None = None,
    domain: Domain | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    method: str | Method = "depth",
    split: Number = 0.5,
    coins: Coins | None = None,
) -> Answer:
    """The private median of a column, with an interval that holds the true one with probability `confidence`.

    Value and interval together cost `epsilon`; `split` is the value's share of it.

    >>> from postri import SeededCoins
    >>> answer = median(range(1_000), epsilon=1, coins=SeededCoins(7))
    >>> answer.interval.low <= 499 <= answer.interval.high
    True
    """
    request = _Request.checked([Fraction(1, 2)], epsilon, domain, confidence, protect, method, split, coins)
    return request.answers(source, column)[0]


def quantile(
    source: Any,
    p: Number,
    *,
    epsilon: Number,
    column: str | None = None,
    domain: Domain | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    method: str | Method = "depth",
    split: Number = 0.5,
    coins: Coins | None = None,
) -> Answer:
    """The private p-quantile of a column: `quantile(source, 0.9, epsilon=1)` is the 90th percentile. Otherwise like `median`."""
    request = _Request.checked([p], epsilon, domain, confidence, protect, method, split, coins)
    return request.answers(source, column)[0]


def quantiles(
    source: Any,
    ps: Sequence[Number],
    *,
    simultaneous: bool = False,
    epsilon: Number,
    column: str | None = None,
    domain: Domain | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    method: str | Method = "depth",
    split: Number = 0.5,
    coins: Coins | None = None,
) -> Answers:
    """Several private quantiles of a column, in the order of `ps`; `epsilon` is what all cost together.

    Each interval holds its quantile with probability `confidence`; with `simultaneous`, all of them do at once.
    """
    request = _Request.checked(ps, epsilon, domain, confidence, protect, method, split, coins)
    return (replace(request, joint=True) if simultaneous else request).answers(source, column)


@dataclass(frozen=True)
class _Request:
    """Everything that a caller asks for, checked. It has not seen the source."""

    ps: tuple[Fraction, ...]
    epsilon: Fraction
    domain: Domain | None
    confidence: Fraction
    protect: ProtectedChange
    method: Method
    split: Fraction
    coins: Coins
    joint: bool = False

    @classmethod
    def checked(
        cls,
        ps: Sequence[Number],
        epsilon: Number,
        domain: Domain | None,
        confidence: Number,
        protect: ProtectedChange,
        method: str | Method,
        split: Number,
        coins: Coins | None,
    ) -> _Request:
        """The request, or InputError for the first thing that is wrong with it."""
        return cls(
            _check_ps(ps),
            check_epsilon(epsilon),
            _check_domain(domain),
            check_share(confidence, "confidence"),
            check_protect(protect),
            _check_method(method),
            check_share(split, "split"),
            _check_coins(coins),
        )

    def questions(self) -> list[Question]:
        """One for each quantile; they share epsilon evenly, and beta as well if they are to hold at once."""
        spend = split_spend(self.epsilon / len(self.ps), self.split)
        beta = (1 - self.confidence) / (len(self.ps) if self.joint else 1)
        return [Question(p, spend, beta, self.protect) for p in self.ps]

    def answers(self, source: Any, column: str | None) -> Answers:
        """Open the source, count, draw."""
        table = source if isinstance(source, Table) else open(source)
        column = table.column(column)
        declared = table.type_of(column)
        grid = grid_of(declared, self.domain)
        questions = self.questions()
        targets = [Target(question.p, self.method.half(question, grid)) for question in questions]
        windows = table.windows(column, grid, targets)
        terms = Terms(grid, self.domain, self.method, self.confidence, self._notes(declared))
        return Answers(quantile_answers(questions, windows, terms, self.coins))

    def _notes(self, declared: ColumnType) -> tuple[str, ...]:
        whole = declared.kind is None and self.domain is None
        return (*((READ_AS_WHOLE,) if whole else ()), *((JOINT,) if self.joint and len(self.ps) > 1 else ()))


def plan(
    *,
    rows: int,
    epsilon: Number | None = None,
    reach: Number | None = None,
    p: Number = 0.5,
    domain: Domain | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    split: Number = 0.5,
    groups: int = 1,
) -> Plan:
    """How far the interval will reach, before anything is spent: from public numbers alone, for smooth data.

    Give `epsilon` to learn the reach, or `reach` (a share of the rows, to each side) to learn the epsilon.

    >>> forecast = plan(rows=45_000, epsilon=1)
    >>> print(f"from quantile {forecast.low:.4f} to {forecast.high:.4f}")
    from quantile 0.4997 to 0.5003
    """
    _check_count(rows, "rows", 0)
    _check_count(groups, "groups", 1)
    if (epsilon is None) == (reach is None):
        raise InputError("give either epsilon (to learn how far the interval will reach) or reach (to learn the epsilon that it takes)")
    share = None if reach is None else check_share(reach, "reach")
    request = _Request.checked([p], 1 if epsilon is None else epsilon, domain, confidence, protect, "depth", split, None)
    return forecast(request.questions()[0], METHODS["depth"], rows=rows, groups=groups, domain=request.domain, reach=share)


def _check_ps(ps: Sequence[Number]) -> tuple[Fraction, ...]:
    if isinstance(ps, str) or not isinstance(ps, Iterable):
        raise InputError(f"ps must be a list of quantiles, such as [0.25, 0.5, 0.75], got {shown(ps)}")
    checked = tuple(check_share(p, "p") for p in ps)
    if not checked:
        raise InputError("ps must hold at least one quantile, got none")
    return checked


def _check_domain(domain: object) -> Domain | None:
    if domain is not None and not isinstance(domain, Domain):
        raise InputError(f"domain must be a Domain, such as Domain(0, 1000, step='0.01'), got {shown(domain)}")
    return domain


def _check_method(method: str | Method) -> Method:
    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(f"there is no method {method!r}; {nearest(method, METHODS)}")
        return METHODS[method]
    if isinstance(method, type) or not callable(getattr(method, "draw", None)) or not callable(getattr(method, "half", None)):
        raise InputError(f"method must be 'depth' or a method object, such as Depth(noise='gumbel'), got {shown(method)}")
    return method


def _check_coins(coins: Coins | None) -> Coins:
    if coins is None:
        return SystemCoins()
    if isinstance(coins, type) or not callable(getattr(coins, "draw", None)):
        raise InputError(f"coins must be left out, or SeededCoins(seed) for an experiment, got {shown(coins)}")
    return coins


def _check_count(number: object, name: str, least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {shown(number)}")
