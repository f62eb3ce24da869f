"""Expressions of released values: what SELECT, HAVING and ORDER BY compute after the draws, with
intervals that follow from their parts.

All of it is post-processing: it costs nothing, and looks at no table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from postri.answer import Answer

Kind = Literal["number", "date", "timestamp", "text", "truth"]
SIGNS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
TESTS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class Row:
    """The answers of one group by their names, and its keys by column."""

    answers: Mapping[str, Answer]
    keys: Mapping[str, Any]


@dataclass(frozen=True)
class Node(ABC):
    """A part of an expression."""

    kind: Kind

    @abstractmethod
    def value(self, row: Row) -> Any:
        """What it is in one group."""

    def bounds(self, row: Row, beta: Fraction) -> tuple[Fraction, Fraction]:
        """Between which numbers the true value lies, if each part's interval holds at this beta;
        what is known lies at itself.
        """
        value = self.value(row)
        return value, value

    @property
    def parts(self) -> tuple[Node, ...]:
        """What it is made of."""
        return ()

    @property
    def may_be_zero(self) -> bool:
        """Whether its interval can hold 0, by what is public."""
        return True

    def drawn(self) -> Iterator[str]:
        """The names of the aggregates in it."""
        for part in self.parts:
            yield from part.drawn()


@dataclass(frozen=True)
class Constant(Node):
    """A literal."""

    literal: Any

    def value(self, row: Row) -> Any:
        return self.literal

    @property
    def may_be_zero(self) -> bool:
        return bool(self.literal == 0)


@dataclass(frozen=True)
class Key(Node):
    """A column that rows are divided by."""

    column: str

    def value(self, row: Row) -> Any:
        return _plain(row.keys[self.column])


@dataclass(frozen=True)
class Drawn(Node):
    """An aggregate. A quotient by a count means something only where that is at least 1."""

    name: str
    counts: bool = False
    off_zero: bool = False

    def value(self, row: Row) -> Any:
        return _plain(row.answers[self.name].value)

    def bounds(self, row: Row, beta: Fraction) -> tuple[Fraction, Fraction]:
        answer = row.answers[self.name]
        interval = answer.interval if answer.drawn is None else answer.drawn.interval(beta)
        return Fraction(interval.low), Fraction(interval.high)

    @property
    def may_be_zero(self) -> bool:
        return not self.off_zero

    def drawn(self) -> Iterator[str]:
        yield self.name


@dataclass(frozen=True)
class Arithmetic(Node):
    """A sum, difference, product or quotient.

    No divisor's interval can hold 0, but that of a bare count, which is taken as 1 at least.
    """

    sign: str
    left: Node
    right: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.left, self.right

    def value(self, row: Row) -> Fraction:
        right = self.right.value(row)
        # A released count may be 0.
        number: Fraction = SIGNS[self.sign](
            self.left.value(row), max(right, 1) if self._by_count else right
        )
        return number

    def bounds(self, row: Row, beta: Fraction) -> tuple[Fraction, Fraction]:
        lefts, rights = self.left.bounds(row, beta), self.right.bounds(row, beta)
        if self._by_count:
            rights = max(rights[0], Fraction(1)), max(rights[1], Fraction(1))
        corners = [SIGNS[self.sign](left, right) for left in lefts for right in rights]
        return min(corners), max(corners)

    @property
    def _by_count(self) -> bool:
        return self.sign == "/" and is_count(self.right)

    @property
    def may_be_zero(self) -> bool:
        return (
            self.sign in "+-"
            or self.left.may_be_zero
            or (self.sign == "*" and self.right.may_be_zero)
        )


@dataclass(frozen=True)
class Test(Node):
    """A comparison of released values."""

    sign: str
    left: Node
    right: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.left, self.right

    def value(self, row: Row) -> bool:
        return bool(TESTS[self.sign](self.left.value(row), self.right.value(row)))


@dataclass(frozen=True)
class Logic(Node):
    """AND, OR, or NOT of one."""

    word: str
    items: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.items

    def value(self, row: Row) -> bool:
        if self.word == "NOT":
            return not self.items[0].value(row)
        return (all if self.word == "AND" else any)(item.value(row) for item in self.items)


def is_count(node: Node) -> bool:
    """Whether it is a bare count."""
    return isinstance(node, Drawn) and node.counts


def _plain(value: Any) -> Any:
    """A number as an exact one; everything else as it is."""
    return (
        Fraction(value)
        if isinstance(value, int | Decimal) and not isinstance(value, bool)
        else value
    )


def kind_of(value: object) -> Kind:
    """The kind of a key."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, date):
        return "timestamp" if hasattr(value, "hour") else "date"
    return "text" if isinstance(value, str) else "number"
