"""What a statistic is, and what the rest of the package may ask of one.

A module of this folder holds one statistic and everything that is particular to it: its names and
parameters, what is counted for it, how it is drawn, what it costs, its forecast, its words. Nobody
outside asks which statistic it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

from postri.answer import Answer
from postri.answer.forecast import ExpectedRows, Forecast, Unknown
from postri.answer.within import Within
from postri.cost import Cost
from postri.domain import Domain
from postri.exact import Number
from postri.expressions import Predicate
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.methods.depth import Depth
from postri.methods.method import Method
from postri.privacy import ProtectedChange
from postri.statistics.keys import Keys
from postri.window import (
    CountsBelow,
    Ends,
    Indexes,
    MiddleTotal,
    PointCounts,
    SquareTotal,
    Target,
    Total,
    Windows,
)

if TYPE_CHECKING:
    from postri.expressions.tree import Expression

Fits = Literal["any", "ordered", "bounded"]
"""Which columns can be asked: any; those of numbers, dates and times; numbers with bounds."""


@dataclass(frozen=True)
class Terms:
    """On what terms a statistic is drawn in each of `groups` disjoint groups: public numbers only.

    The groups share `epsilon`. Each interval fails with probability `beta` at most; the answer
    says `confidence`, which is less than 1 - beta where all intervals of a question hold at once.
    `parts` intervals are computed into one another, as in `median(x) / count(*)`. By `selected`
    beta is divided because rows are selected by the interval. `at_once` says that all intervals of
    the question hold at once. `method` and `split` matter to quantiles alone, `rho` to counts, sums
    and means: if it is given, they draw Gaussian noise that costs it, and else Laplace noise that
    costs epsilon.
    """

    epsilon: Fraction
    beta: Fraction
    confidence: Fraction
    protect: ProtectedChange
    groups: int = 1
    parts: int = 1
    selected: int = 1
    at_once: bool = False
    method: Method = field(default_factory=Depth)
    split: Fraction = Fraction(1, 2)
    rho: Fraction | None = None
    notes: tuple[str, ...] = ()


class Countable(Protocol):
    """What a table can count. `rows` are the rows of a question, which a statistic never opens."""

    def sizes(self, column: str | None, rows: Any) -> list[int]:
        """For each group its number of rows, or of those in which the column can be read."""

    def totals(self, column: str | None, grid: Grid, rows: Any) -> list[Total]:
        """For each group how many cells count, and the sum of their grid indexes."""

    def want_totals(self, column: str | None, grid: Grid, rows: Any) -> None:
        """Say that totals will be asked for."""

    def square_totals(self, column: str | None, grid: Grid, rows: Any) -> list[SquareTotal]:
        """For each group how many cells count, the sum of their places on the grid, and that of
        the squares.
        """

    def middle_totals(
        self, column: str | None, grid: Grid, ends: Sequence[Ends], rows: Any
    ) -> list[MiddleTotal]:
        """For each group how many cells lie up to the lower of its two ends, from the upper one on
        and between them, and the sum of how far the latter lie above the lower end.
        """

    def key_counts(self, column: str | None, keys: Keys, rows: Any) -> list[list[int]]:
        """For each group how many rows have each of these keys in a column."""

    def unit_counts(self, rows: Any) -> list[int]:
        """For each group how many units have a row in it; each counts in as many groups as rows of
        it do.
        """

    def counts_below(
        self, column: str | None, grid: Grid, points: Indexes, rows: Any
    ) -> list[PointCounts]:
        """For each group how many cells lie below each of these grid points, which are ascending
        and distinct.
        """

    def counts_ahead(
        self, column: str | None, grid: Grid, rows: Any, ps: Sequence[Fraction], reach: int
    ) -> CountsBelow:
        """The same, for points that are asked for one after the other: most of them near the ranks
        of these quantiles, within `reach` rows.
        """

    def grouped_windows(
        self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Any
    ) -> list[list[Windows]]:
        """For each group the rank windows of each target."""


@dataclass(frozen=True)
class Statistic(ABC):
    """One thing that is asked of a column, on a domain if the caller gives one.

    A filter of its own, `where`, selects among the rows of the question. `within` is how near the
    answer is wanted: it decides about epsilon, and is no part of the draw.
    """

    column: str | None = None
    domain: Domain | None = None
    where: Predicate | None = field(default=None, kw_only=True)
    within: Within | None = field(default=None, kw_only=True)

    title: ClassVar[str]
    """What answers call it."""
    fits: ClassVar[Fits] = "any"
    batch: ClassVar[type[Batch]]
    """What is counted for it: statistics of one batch, column, domain and filter share their
    counts.
    """
    needs_column: ClassVar[bool] = True
    """Whether it is about cells; a number of rows is not."""
    needs_indexes: ClassVar[bool] = False
    """Whether each cell's place on the grid is needed, as for a sum, and not its order alone."""
    counts_rows: ClassVar[bool] = False
    """Whether it is a number of rows: a quotient by it is taken as by 1 at least."""
    decides: ClassVar[bool] = False
    """Whether its draw decides which groups there are, as that of unknown keys does."""
    stays_in_domain: ClassVar[bool] = False
    """Whether its value lies in the column's domain, as a mean does and a sum does not."""
    finds_key: ClassVar[bool] = False
    """Whether each of its answers is about one of its keys, which it finds."""
    takes_wish: ClassVar[bool] = True
    """Whether its forecast is about its whole interval, so that a wish tells its epsilon."""
    looks_further: ClassVar[bool] = False
    """Whether it chooses what to draw next by what it has drawn."""
    draws_interval: ClassVar[bool] = False
    """Whether its interval is a draw of its own, which holds whatever the value is; that of public
    noise follows from the value.
    """

    @property
    def errs_with_rows(self) -> bool:
        """Whether its interval is to cover what the choice of the rows brings, so that all that is
        drawn from these rows tells of its error.
        """
        return False

    @property
    def follows_from_distribution(self) -> bool:
        """Whether its answers follow from a release of the column's distribution."""
        return False

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What follows the name of an aggregate in the names of its answers, of which a statistic
        has one unless it says otherwise.
        """
        return ("",)

    @property
    def computed(self) -> Mapping[str, Expression]:
        """The columns that it brings, by the names under which it is asked of them: expressions of
        a row that have a value in every row.
        """
        return {}

    def normal(self, names: Sequence[str]) -> Statistic:
        """The same in normal form, on a table with these columns; InputError if an expression of
        its own names another one.
        """
        return self

    @property
    def public_keys(self) -> Keys | None:
        """Of which keys of its column it tells, if it tells of keys."""
        return None

    def with_keys(self, keys: Keys | None) -> Statistic:
        """The same with the policy's keys of its column, where it needs some and was given none."""
        return self

    def is_of_units(self, protect: ProtectedChange) -> bool:
        """Whether it is about the units that are protected, and not about a column of cells."""
        return False

    def check_protect(self, protect: ProtectedChange) -> None:
        """InputError if it cannot be asked where this is protected."""
        return

    @property
    def about_grid(self) -> bool:
        """Whether it is about cells as they lie on the grid, clamped and rounded, as a sum is; the
        interval of a quantile covers what the grid does.
        """
        return self.needs_indexes

    @property
    def left_out(self) -> str | None:
        """Which cells that can be read it takes no account of, in words; None if there are none."""
        return None

    def filtered(self, where: str | Predicate | None) -> Self:
        """The same of those rows alone on which a predicate holds."""
        return replace(self, where=Predicate.of(where))

    def wished(self, within: Number | Within | None) -> Self:
        """The same with a wish how near it is to be; one that it has stays, if None is given."""
        if within is None:
            return self
        return replace(self, within=Within.of(within))

    @property
    def text(self) -> str:
        """As a text that reads back as the same; the domain is not a part of it."""
        text = self.written()
        if self.where is not None:
            text += f" WHERE {self.where}"
        if self.within is not None:
            text += f" WITHIN {self.within}"
        return text

    @abstractmethod
    def written(self) -> str:
        """The text without its filter and its wish."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """All that it is but for its filter and its wish, in the order of a question's key."""

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """What its draw depends on beyond itself and its epsilon.

        The interval of additive noise is free, so its confidence is no part of the draw.
        """
        return {}

    def reversed(self) -> Statistic:
        """The same counted from the largest value down, as SQL asks by ORDER BY x DESC."""
        raise NotImplementedError

    def check_grid(self, column: str | None, grid: Grid) -> None:
        """InputError if it cannot be asked on this grid. Looks at no cell."""
        return

    def check_domain(self) -> None:
        """InputError if it cannot be asked on the domain that it has. A price needs no table."""
        return

    def check_terms(self, terms: Terms) -> None:
        """InputError if it cannot be drawn on such terms."""
        return

    def draw(self, counted: Any, grid: Grid | None, terms: Terms, coins: Coins) -> Answer:
        """The answer, from what was counted in one group, of a statistic that has one."""
        raise NotImplementedError

    def draw_all(
        self, counted: Any, grid: Grid | None, terms: Terms, coins: Coins
    ) -> Sequence[Answer]:
        """The answers, one for each of its suffixes."""
        return [self.draw(counted, grid, terms, coins)]

    @abstractmethod
    def cost(self, terms: Terms) -> Cost:
        """What its draws cost."""

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """How far its interval will reach if about `rows` count: public numbers only.

        Where that is unknown and matters, so is the forecast.
        """
        raise NotImplementedError

    def note_to_all(self, terms: Terms) -> str | None:
        """What all answers of a question are to say because it is among what is asked."""
        return None

    def forecasts(self, terms: Terms, rows: ExpectedRows | Unknown) -> Mapping[str, Forecast]:
        """The forecasts by what follows the aggregate's name: one for all its answers, unless it
        says otherwise.
        """
        return {"": self.forecast(terms, rows)}


@dataclass(frozen=True)
class Asked:
    """A statistic with the terms on which it is drawn."""

    statistic: Statistic
    terms: Terms

    @property
    def cost(self) -> Cost:
        """What its draws cost."""
        return self.statistic.cost(self.terms)

    def noted(self, *notes: str) -> Asked:
        """The same with notes for its answers, before those that it has."""
        return replace(self, terms=replace(self.terms, notes=(*notes, *self.terms.notes)))

    def forecasts(self, rows: ExpectedRows | Unknown) -> Mapping[str, Forecast]:
        """How far its intervals will reach if about `rows` count; if rows are selected by
        them, if as few are shown as may be.
        """
        terms = replace(self.terms, beta=self.terms.beta / self.terms.selected, selected=1)
        return self.statistic.forecasts(terms, rows)

    def ratio(self, rows: ExpectedRows | Unknown, *, met: bool = False) -> float | None:
        """How far the furthest of its intervals will reach, in parts of what is wished; infinite,
        if it is to be `met`, where that is the domain's edge. None without a wish or a forecast.
        """
        wish = self.statistic.within
        if wish is None:
            return None
        found = []
        for forecast in self.forecasts(rows).values():
            wish.check(forecast)
            if isinstance(forecast, Unknown):
                return None
            found.append(wish.met_ratio(forecast) if met else wish.ratio(forecast))
        return max(found)


def worst_ratio(asked: Sequence[Asked], expected: Sequence[ExpectedRows | Unknown]) -> float | None:
    """That of the one which is furthest from its wish; None if it is not known of all."""
    if len(expected) != len(asked):
        return None
    worst = 0.0
    for each, rows in zip(asked, expected, strict=True):
        ratio = each.ratio(rows)
        if ratio is None:
            return None
        worst = max(worst, ratio)
    return worst


@dataclass(frozen=True)
class Batch(ABC):
    """Statistics of one question that are answered from the same counts of one column."""

    asked: tuple[Asked, ...]
    column: str | None
    grid: Grid | None

    in_passing: ClassVar[bool] = False
    """Whether a scan for another batch may count what it needs."""

    @classmethod
    def methods(cls, asked: Sequence[Asked], *, fixed: bool) -> Sequence[Method]:
        """The methods by which they may be drawn together. A `fixed` method is the only one."""
        return [Depth()]

    @classmethod
    def by_method(cls, asked: Sequence[Asked], method: Method) -> Sequence[Asked]:
        """The same by a method, if that matters to them."""
        return asked

    @classmethod
    def by_best_method(
        cls,
        asked: Sequence[Asked],
        *,
        fixed: bool,
        rows: int | None,
        expected: Sequence[ExpectedRows | Unknown] = (),
    ) -> Sequence[Asked]:
        """The same on terms that suit them best together, from public numbers alone: `rows` is
        about how many there are, if that is known, and `expected` how many count for each. A
        `fixed` method stays.
        """
        return asked

    def announce(self, table: Countable, rows: Any) -> None:
        """Tell the table what will be counted, where a scan for others can count it in passing."""
        return

    @abstractmethod
    def count(self, table: Countable, rows: Any) -> Sequence[Any]:
        """What is counted in each group."""

    def draw(self, counted: Any, coins: Coins) -> list[Answer]:
        """The answers for one group, those of each statistic after one another."""
        return [
            answer
            for each in self.asked
            for answer in each.statistic.draw_all(counted, self.grid, each.terms, coins)
        ]

    def draw_groups(self, counted: Iterable[Any], coins: Coins) -> Iterator[list[Answer]]:
        """The answers for each group."""
        for each in counted:
            yield self.draw(each, coins)


class RowBatch(Batch):
    """Statistics of the number of rows, or of the cells that can be read."""

    def count(self, table: Countable, rows: Any) -> list[int]:
        """How many there are."""
        return table.sizes(self.column, rows)


class TotalBatch(Batch):
    """Statistics of the sum of a column."""

    in_passing = True

    def announce(self, table: Countable, rows: Any) -> None:
        """The totals."""
        assert self.grid is not None
        table.want_totals(self.column, self.grid, rows)

    def count(self, table: Countable, rows: Any) -> list[Total]:
        """How many cells count, and the sum of their grid indexes."""
        assert self.grid is not None
        return table.totals(self.column, self.grid, rows)
