"""The ways to many quantiles that are compared: any interval method, and the published ways that
give values alone.

All of them get one epsilon for all quantiles, and protect against one added or removed row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from postri.errors import InputError, nearest
from postri.grid import Grid
from postri.mechanisms.coins import SeededCoins
from postri.methods import METHODS, Method
from postri.methods.method import QuantileTerms, Span
from postri.privacy import Spend, split_spend
from postri.research.many.halving import ONE_ROW, halved
from postri.research.many.joint import JointWeights
from postri.research.many.positions import COPIES, Positions, check_points
from postri.research.subjects import Subject
from postri.statistics.quantile import in_order

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class WantedQuantiles:
    """What is asked: rising quantiles, what they may cost together, and how often the interval of
    each may fail.
    """

    ps: tuple[Fraction, ...]
    epsilon: Fraction
    beta: Fraction

    @classmethod
    def evenly(cls, number: int, epsilon: Fraction, beta: Fraction) -> WantedQuantiles:
        """So many, evenly spaced.

        >>> [str(p) for p in WantedQuantiles.evenly(3, Fraction(1), Fraction(1, 20)).ps]
        ['1/4', '1/2', '3/4']
        """
        ps = tuple(Fraction(k, number + 1) for k in range(1, number + 1))
        return cls(ps, epsilon, beta)


@dataclass(frozen=True)
class DrawnQuantile:
    """The value of one quantile as a grid index, and its interval if there is one."""

    value: int | Fraction
    ends: tuple[int, int] | None = None


Draws = Callable[[SeededCoins], list[DrawnQuantile]]
"""Draws all quantiles once. The coins are seeded: what is compared is never released."""


class Way(ABC):
    """A way to many quantiles."""

    @property
    @abstractmethod
    def name(self) -> str:
        """How the command line and tables call it."""

    @abstractmethod
    def check(self, asked: WantedQuantiles, grid: Grid) -> None:
        """Refuse what it cannot answer, before a row is read: InputError."""

    @abstractmethod
    def prepare(self, asked: WantedQuantiles, subject: Subject) -> Draws:
        """Everything that does not take coins."""


@dataclass(frozen=True)
class ByMethod(Way):
    """A method that users can ask for, with a part of epsilon for each quantile.

    A method that draws all quantiles together, as the tree does, adds the parts up again.
    """

    method: Method

    @property
    def name(self) -> str:
        """That of the method."""
        return self.method.name

    def check(self, asked: WantedQuantiles, grid: Grid) -> None:
        """As the method does: there is nothing to count in a column without rows."""
        self.method.count(Subject.without_rows("", grid), self._terms(asked), grid)

    def prepare(self, asked: WantedQuantiles, subject: Subject) -> Draws:
        """Count."""
        terms = self._terms(asked)
        grid = subject.grid
        counted = self.method.count(subject, terms, grid)

        def draw(coins: SeededCoins) -> list[DrawnQuantile]:
            (spans,) = self.method.draw_groups(counted, terms, grid, coins)
            return [_estimate(span) for span in in_order(spans, asked.ps)]

        return draw

    def _terms(self, asked: WantedQuantiles) -> list[QuantileTerms]:
        part = asked.epsilon / len(asked.ps)
        spend = Spend(part, Fraction(0))
        if self.method.divides:
            spend = split_spend(part, HALF)
        return [QuantileTerms(p, spend, asked.beta, ONE_ROW) for p in asked.ps]


def _estimate(span: Span) -> DrawnQuantile:
    return DrawnQuantile(span.value, (span.low, span.high))


DrawsPositions = Callable[[SeededCoins], Sequence[int]]


@dataclass(frozen=True)
class ValuesAlone(Way):
    """A published way: it draws among positions without ties, and gives no interval."""

    title: str
    prepared: Callable[[Positions, WantedQuantiles], DrawsPositions]

    @property
    def name(self) -> str:
        """Its title."""
        return self.title

    def check(self, asked: WantedQuantiles, grid: Grid) -> None:
        """It needs a domain that is not too large."""
        check_points(grid)

    def prepare(self, asked: WantedQuantiles, subject: Subject) -> Draws:
        """Positions become grid points again."""
        first = subject.grid.first
        positions = self.prepared(Positions.of(subject.whole, subject.grid), asked)

        def draw(coins: SeededCoins) -> list[DrawnQuantile]:
            return [DrawnQuantile(first + position // COPIES) for position in positions(coins)]

        return draw


def _halving(rows: Positions, asked: WantedQuantiles) -> DrawsPositions:
    return lambda coins: halved(rows, asked.ps, asked.epsilon, coins)


def _joint_exp(rows: Positions, asked: WantedQuantiles) -> DrawsPositions:
    return JointWeights(rows, asked.ps, asked.epsilon).draw


VALUES_ALONE: Mapping[str, Way] = {
    "halving": ValuesAlone("halving", _halving),
    "joint-exp": ValuesAlone("joint-exp", _joint_exp),
}
"""The published ways, by name."""


def way_named(name: str) -> Way:
    """The way of this name, or InputError with the names that come nearest."""
    if name in VALUES_ALONE:
        return VALUES_ALONE[name]
    if name in METHODS:
        return ByMethod(METHODS[name])
    known = [*VALUES_ALONE, *METHODS]
    raise InputError(f"there is no method {name!r}; {nearest(name, known)}")
