"""What every interval method is: a way to draw a value and an interval from rank windows."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.privacy import ProtectedChange, Spend
from postri.window import Windows


@dataclass(frozen=True)
class Question:
    """One quantile with its interval: public numbers only."""

    p: Fraction
    spend: Spend
    beta: Fraction
    protect: ProtectedChange
    groups: int = 1

    @property
    def sensitivity(self) -> Fraction:
        """How far one person moves a count minus the target rank, in all groups together."""
        return self.protect.sensitivity(self.p, self.groups)


@dataclass(frozen=True)
class Span:
    """A drawn value and interval, as grid indexes; a value may lie half-way between two.

    `spend` tells how a method divided the question's epsilon, if it does not follow the question's
    own split.
    """

    value: int | Fraction
    low: int
    high: int
    spend: Spend | None = field(default=None, repr=False)


class Method(Protocol):
    """An interval method. Methods are frozen values: a recorded answer is keyed by them."""

    @property
    def name(self) -> str:
        """How answers call it."""

    def half(self, question: Question, grid: Grid) -> int:
        """How many rows a window must hold on each side, so that the draw hardly ever asks for a
        wider one.
        """

    def draw(self, windows: Windows, question: Question, grid: Grid, coins: Coins) -> Span:
        """A value and its interval; costs the question's spend."""
