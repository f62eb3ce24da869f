"""What every interval method is: a way to draw a value and an interval from rank windows.

Whoever takes a method asks it through `Method`: how wide a window it needs, what its draws cost,
what it forecasts and what its answers must say. Nothing outside this folder asks which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any, ClassVar, Protocol

from postri.answer import Plan
from postri.answer.population import Covers
from postri.cost import Cost
from postri.domain import Domain
from postri.errors import InputError
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.methods.leeway import Leeway, fineness, usual_drift
from postri.methods.scores import units_per_row
from postri.privacy import (
    AddOrRemoveUnits,
    ProtectedChange,
    ReplaceUnits,
    Spend,
    moved_with_drift,
    replaces,
)
from postri.window import CountsBelow, Target, Windows, with_lowest

# As many rows to each side as any table has: a window of this half-size is the whole column.
ALL_ROWS = 2**62


@dataclass(frozen=True)
class QuantileTerms:
    """The public numbers of one quantile draw.

    `beta` is how often the interval may fail; `groups` is the number of disjoint groups that are
    answered at once and share the spend. A method that adds noise to counts draws Gaussian noise of
    `rho` if that is given. The interval `covers` the quantile of the rows, or that of the
    population that they were drawn from.
    """

    p: Fraction
    spend: Spend
    beta: Fraction
    protect: ProtectedChange
    groups: int = 1
    rho: Fraction | None = None
    covers: Covers = "table"

    def __hash__(self) -> int:
        # Fractions take long, and these tell most terms apart.
        beta = self.beta
        return hash((self.p.numerator, beta.numerator, beta.denominator, self.groups, self.covers))

    @cached_property
    def sensitivity(self) -> Fraction:
        """How far one person moves a count minus the target rank, in all groups together; where
        there is a leeway, less that.
        """
        moved = self.protect.sensitivity(self.p, self.groups)
        if self.covers == "table":
            return moved
        return moved + moved_with_drift(self.protect, self.p, self.groups, self._drift)

    @cached_property
    def leeway(self) -> Leeway | None:
        """How much deeper than the rows' quantile the interval lies; None if it covers that alone.

        It is that of a clock, which has no factor 2 (Theorem 4).
        """
        if self.covers == "table":
            return None
        nats_per_row = self.spend.interval / self.sensitivity
        return Leeway(self.p, self.beta, nats_per_row, self._drift)

    @cached_property
    def _drift(self) -> Fraction:
        """How far the leeway moves with one row, at most."""
        least = Fraction(0)
        if replaces(self.protect) and self.groups == 1:
            # A cell that becomes null leaves so much room: it costs nothing.
            units = units_per_row(self.p, fineness(self.p))
            least = Fraction(floor(min(self.p, 1 - self.p) * units), units)
        moved = self.protect.sensitivity(self.p, self.groups)
        return max(least, usual_drift(self.p, self.beta, self.spend.interval / moved))


@dataclass(frozen=True)
class Span:
    """A drawn value and interval, as grid indexes; a value may lie half-way between two.

    `spend` tells how a method divided epsilon, if it does not follow the split of the terms.
    """

    value: int | Fraction
    low: int
    high: int
    spend: Spend | None = field(default=None, repr=False)


class ColumnCounts(Protocol):
    """What can be counted of one column on one grid, in each of some groups."""

    @property
    def groups(self) -> int:
        """How many groups there are."""

    def windows(self, targets: Sequence[Target]) -> list[list[Windows]]:
        """For each group the rank windows of each target."""

    def sizes(self) -> list[int]:
        """For each group its number of rows, whether the column can be read or not."""

    def counts_below(self, ps: Sequence[Fraction], reach: int) -> CountsBelow:
        """How many cells lie below grid indexes, which are asked for one after the other: most of
        them within `reach` rows of the ranks of these quantiles.
        """


class Method(ABC):
    """An interval method. Methods are frozen values: a recorded answer is keyed by their `repr`.

    `notes` stand on every answer by the method. `every_row` says that the method needs a public
    number of rows: it takes no filter, no groups and no units (`check_rows`), and the window that
    it is given counts a cell that cannot be read as the domain's lower end
    (`postri.window.with_lowest`).
    """

    notes: ClassVar[tuple[str, ...]] = ()
    every_row: ClassVar[bool] = False
    shared: ClassVar[bool] = False
    """Whether all quantiles of a column follow from one release, which they pay for together."""
    divides: ClassVar[bool] = True
    """Whether a part of the spend is for the value, and a part for the interval."""
    covers_population: ClassVar[bool] = False
    """Whether its intervals can hold the quantile of a population."""

    @property
    @abstractmethod
    def name(self) -> str:
        """How answers and the command line call it."""

    @abstractmethod
    def count(self, column: ColumnCounts, terms: Sequence[QuantileTerms], grid: Grid) -> list[Any]:
        """What is counted in each group for quantiles of one column; InputError if the method
        cannot answer for such terms.
        """

    @abstractmethod
    def draw_groups(
        self, counted: Iterable[Any], terms: Sequence[QuantileTerms], grid: Grid, coins: Coins
    ) -> Iterator[list[Span]]:
        """For each group a value and an interval for each quantile; costs their spends."""

    @abstractmethod
    def cost(self, terms: QuantileTerms) -> Cost:
        """What the draws take from a budget, under each accountant."""

    def forecast(
        self,
        terms: QuantileTerms,
        *,
        rows: int,
        groups: int,
        domain: Domain | None,
        reach: Fraction | None = None,
    ) -> Plan | None:
        """How far the interval will reach on a table of about `rows` rows, or None if the method
        cannot tell.

        With a `reach`, a share of the rows to each side, the forecast is at the epsilon that it
        takes, whatever epsilon the terms have.
        """
        return None

    def shared_by(self, quantiles: int, epsilon: Fraction) -> Method:
        """The method for so many quantiles of one column that are asked together and cost epsilon
        together, if that matters to it.
        """
        return self

    def reach_in_rows(
        self, terms: QuantileTerms, domain: Domain | None, rows: int | None
    ) -> float | None:
        """How many rows an interval reaches to each side of the target rank on average, on smooth
        data of about this many rows; None if the method cannot tell.
        """
        return None

    def advice(
        self, span: Span, terms: QuantileTerms, grid: Grid, domain: Domain | None
    ) -> tuple[str, ...]:
        """What would help where a drawn interval tells nothing.

        It follows from the answer and from public numbers, so it costs nothing.
        """
        return ()


class WindowMethod(Method):
    """A method that draws each quantile by itself, from its rank windows."""

    @abstractmethod
    def half(self, terms: QuantileTerms, grid: Grid) -> int:
        """How many rows a window must hold on each side, so that the draw hardly ever asks for a
        wider one; InputError if the method cannot answer for such terms.
        """

    @abstractmethod
    def draw(self, windows: Windows, terms: QuantileTerms, grid: Grid, coins: Coins) -> Span:
        """A value and its interval; costs the spend of the terms."""

    def count(
        self, column: ColumnCounts, terms: Sequence[QuantileTerms], grid: Grid
    ) -> list[list[Windows]]:
        """A rank window for each; a draw hardly ever asks for a wider one."""
        targets = [Target(each.p, self.half(each, grid)) for each in terms]
        groups = column.windows(targets)
        if not self.every_row:
            return groups
        # The number of rows is public for such a method: cells that cannot be read count too.
        return [
            [
                with_lowest(window, target, rows=size, lowest=grid.first)
                for window, target in zip(windows, targets, strict=True)
            ]
            for windows, size in zip(groups, column.sizes(), strict=True)
        ]

    def draw_groups(
        self,
        counted: Iterable[Sequence[Windows]],
        terms: Sequence[QuantileTerms],
        grid: Grid,
        coins: Coins,
    ) -> Iterator[list[Span]]:
        """One quantile after the other, group by group."""
        for windows in counted:
            yield [
                self.draw(window, each, grid, coins)
                for window, each in zip(windows, terms, strict=True)
            ]


def check_rows(method: Method, *, where: bool, by: bool, protect: ProtectedChange) -> None:
    """Refuse a filter, groups and units for a method that needs a public number of rows.

    How many rows a filter leaves, or a group or a person has, is private. The set of answers that
    such a method can give depends on it, so one changed row would show.
    """
    if not method.every_row:
        return
    refused = None
    if where:
        refused = "where"
    elif by:
        refused = "by"
    elif isinstance(protect, AddOrRemoveUnits | ReplaceUnits):
        refused = "units"
    if refused is not None:
        raise InputError(
            f"{method.name} needs a public number of rows, so it takes no {refused}: it answers "
            "for every row of the table; use method='depth'"
        )
