"""What every interval method is: a way to draw a value and an interval from rank windows.

Whoever takes a method asks it through `Method`: how wide a window it needs, what its draws cost,
what it forecasts and what its answers must say. Nothing outside this folder asks which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from postri.answer import Plan
from postri.cost import Cost
from postri.domain import Domain
from postri.errors import InputError
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.privacy import AddOrRemoveUnits, ProtectedChange, ReplaceUnits, Spend
from postri.window import Windows

# As many rows to each side as any table has: a window of this half-size is the whole column.
ALL_ROWS = 2**62


@dataclass(frozen=True)
class QuantileTerms:
    """The public numbers of one quantile draw.

    `beta` is how often the interval may fail; `groups` is the number of disjoint groups that are
    answered at once and share the spend.
    """

    p: Fraction
    spend: Spend
    beta: Fraction
    protect: ProtectedChange
    groups: int = 1

    @cached_property
    def sensitivity(self) -> Fraction:
        """How far one person moves a count minus the target rank, in all groups together."""
        return self.protect.sensitivity(self.p, self.groups)


@dataclass(frozen=True)
class Span:
    """A drawn value and interval, as grid indexes; a value may lie half-way between two.

    `spend` tells how a method divided epsilon, if it does not follow the split of the terms.
    """

    value: int | Fraction
    low: int
    high: int
    spend: Spend | None = field(default=None, repr=False)


class Method(ABC):
    """An interval method. Methods are frozen values: a recorded answer is keyed by their `repr`.

    `notes` stand on every answer by the method. `every_row` says that the method needs a public
    number of rows: it takes no filter, no groups and no units (`check_rows`), and the window that
    it is given counts a cell that cannot be read as the domain's lower end
    (`postri.window.with_lowest`).
    """

    notes: ClassVar[tuple[str, ...]] = ()
    every_row: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """How answers and the command line call it."""

    @abstractmethod
    def half(self, terms: QuantileTerms, grid: Grid) -> int:
        """How many rows a window must hold on each side, so that the draw hardly ever asks for a
        wider one; InputError if the method cannot answer for such terms.
        """

    @abstractmethod
    def draw(self, windows: Windows, terms: QuantileTerms, grid: Grid, coins: Coins) -> Span:
        """A value and its interval; costs the spend of the terms."""

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

    def advice(
        self, span: Span, terms: QuantileTerms, grid: Grid, domain: Domain | None
    ) -> tuple[str, ...]:
        """What would help where a drawn interval tells nothing.

        It follows from the answer and from public numbers, so it costs nothing.
        """
        return ()


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
