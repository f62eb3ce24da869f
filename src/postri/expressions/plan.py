"""What a plan is made of: the columns that it reads, their cells in memory, and how its parts are
written in a database's SQL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from postri.columns import ColumnType

if TYPE_CHECKING:
    from postri.expressions.pattern import Pattern

Booleans = NDArray[np.bool_]

# A text up to this length is repeated where it is used twice; a longer one is computed once, so
# that no nesting multiplies it.
BRIEF = 120


# Cells in memory.


@dataclass(frozen=True)
class Input:
    """A column, and the type that its cells are read as: its own, or for a column without one what
    the predicate takes it for.
    """

    column: str
    type: ColumnType


@dataclass(frozen=True, eq=False)
class Vector:
    """Cells, and which of them are not null (None: all are).

    Numbers, dates and timestamps are raw: whole numbers of any width, or floats. Booleans are 0 and
    1. Texts are an array of objects. A constant is one cell, which stands for as many as there are
    rows.
    """

    values: Any
    valid: Booleans | None = None

    @property
    def there(self) -> Booleans:
        """Where it is not null."""
        if self.valid is None:
            return np.ones(np.shape(self.values), np.bool_)
        return self.valid

    @property
    def true(self) -> Booleans:
        """Where it is TRUE, if it holds booleans."""
        true: Booleans = self.values if self.valid is None else self.values & self.valid
        return true

    @property
    def false(self) -> Booleans:
        """Where it is FALSE, if it holds booleans."""
        false: Booleans = ~self.values if self.valid is None else ~self.values & self.valid
        return false


Vectors = Mapping[Input, Vector]


def inputs_in(part: object) -> tuple[Input, ...]:
    """The columns that a part of a plan reads, each once."""
    if isinstance(part, Input):
        return (part,)
    parts: Iterable[object] = ()
    if isinstance(part, tuple):
        parts = part
    elif isinstance(part, Node):
        parts = vars(part).values()
    return tuple(dict.fromkeys(found for each in parts for found in inputs_in(each)))


def both(one: Booleans | None, other: Booleans | None) -> Booleans | None:
    """Where two vectors have values."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def without_nan(vector: Vector) -> Vector:
    """Floats of double precision, of which NaN counts as null."""
    # A NaN of fewer bits may be one that NumPy warns of.
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(vector.values, np.float64)
    gone = np.isnan(values)
    if not gone.any():
        return Vector(values, vector.valid)
    return Vector(values, both(vector.valid, ~gone))


# Texts of databases.


class ExpressionDialect(Protocol):
    """What databases write differently."""

    def double(self, number: float) -> str:
        """A number as a literal of double precision."""

    def as_double(self, whole: str) -> str:
        """The nearest number of double precision to a whole number of 64 bits."""

    def integer(self, expression: str, *, unsigned: bool) -> str:
        """An expression as a whole number of 64 bits."""

    def is_number(self, expression: str) -> str:
        """Whether a number of double precision is one: neither null nor NaN.

        No statistics of the database may decide it.
        """

    def let(self, value: str, body: Callable[[str], str]) -> str:
        """An expression of a name that stands for a value, which is computed once.

        It uses no other names.
        """

    def let_all(self, values: Sequence[str], body: Callable[[Sequence[str]], str]) -> str:
        """An expression of names that stand for values, each of which is computed once.

        It uses no other names.
        """

    def like(self, text: str, pattern: Pattern) -> str:
        """Whether a text fits a pattern, in a time that grows with its length alone."""

    def text_literal(self, text: str) -> str:
        """A text that compares by its code points."""

    def wide(self, whole: str) -> str:
        """A whole number of 64 bits with room for the product of two."""

    def narrow(self, wide: str) -> str:
        """A wide whole number as one of 64 bits with a sign; null where it does not fit."""

    def wide_quotient(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient of wide whole numbers that are not negative."""

    def floored(self, expression: str) -> str:
        """The largest whole number that is not above a number of double precision, in double
        precision.
        """

    def lookup(
        self, key: str, keys: Sequence[str | int], cells: Sequence[str | int | float]
    ) -> str:
        """The cell that stands beside a key, in a time that grows with the logarithm of their
        number; null where there is none. The keys are in order.
        """

    def whole(self, real: str) -> str:
        """A whole number in double precision as one of 64 bits; null where it does not fit."""

    def quotient(self, whole: str, divisor: int) -> str:
        """A whole number of 64 bits that is not negative, divided by a positive one and rounded
        down.
        """

    def of_day(self, function: str, days: str) -> str:
        """A function of a day, which is given as the number of days since 1970-01-01 and lies
        between the years 1 and 9999: its `year`, `quarter`, `month`, `week`, `day` or `doy`, or the
        number of the day that is the `first of year`, `first of quarter` or `first of month`.
        """


class Moments(Protocol):
    """Timestamps as they stand in a table, which are faster to compare than to read. Raw numbers
    that they are compared with lie inside the calendar.
    """

    def clamped(self, low: int, high: int) -> str:
        """The raw cells, of which those below `low` or above `high` count as these. No cell makes
        it fail.
        """

    def days(self, low: int, high: int, *, first: int, last: int) -> str | None:
        """The days since 1970 of the same, for whoever looks for those from `first` to `last`
        alone, if they are faster to tell than the raw cells. Others may be any day beyond these.
        """

    def inside(self, low: int, high: int) -> str:
        """Whether a raw cell is at least `low` and at most `high`."""


class RawCells(Protocol):
    """How a column is read."""

    @property
    def raw(self) -> str:
        """The expression of its raw cells, which no cell makes fail."""

    @property
    def moments(self) -> Moments | None:
        """Its cells as they stand in the table, if they can be compared so."""


class Writer:
    """Writes the parts of a plan for one table."""

    def __init__(self, dialect: ExpressionDialect, cells: Callable[[Input], RawCells]) -> None:
        self.dialect = dialect
        self._cells = cells

    def raw(self, wanted: Input) -> str:
        """The raw cells of a column, read as a type."""
        return f"({self._cells(wanted).raw})"

    def moments(self, wanted: Input) -> Moments | None:
        """The cells of a column of timestamps as they stand in the table."""
        return self._cells(wanted).moments

    def once(self, value: str, body: Callable[[str], str]) -> str:
        """A body that uses a value several times."""
        if len(value) <= BRIEF:
            return body(value)
        return self.dialect.let(value, body)

    def once_each(self, values: Sequence[str], body: Callable[[Sequence[str]], str]) -> str:
        """A body that uses several values several times."""
        if all(len(value) <= BRIEF for value in values):
            return body(values)
        return self.dialect.let_all(values, body)

    def times(self, whole: str, factor: int) -> str:
        """A whole number of 64 bits times a constant, with room for it."""
        wide = self.dialect.wide(whole)
        if factor == 1:
            return wide
        return f"({wide} * {self.dialect.wide(str(factor))})"


# A part of a plan.


@dataclass(frozen=True)
class Node(ABC):
    """An expression whose kind is known, and which fails on no cell.

    In memory and in a database it has the same value.
    """

    @property
    def unit(self) -> Fraction | None:
        """What the whole number 1 means, for numbers, dates and timestamps that are whole; None for
        the others.
        """
        return None

    @property
    def conjuncts(self) -> tuple[Node, ...]:
        """Conditions that are all TRUE where this one is, and nowhere else: itself, if it is no
        AND.
        """
        return (self,)

    @abstractmethod
    def vector(self, cells: Vectors) -> Vector:
        """Its value in each row."""

    @abstractmethod
    def sql(self, writer: Writer) -> str:
        """The text of an expression, in parentheses where it needs some."""

    def inside(self, writer: Writer, low: int, high: int) -> str:
        """Whether it is at least `low` and at most `high`, as a condition; of one that is whole."""
        return f"{self.sql(writer)} BETWEEN {low} AND {high}"

    def among(self, writer: Writer, low: int, high: int) -> str:
        """Its text for whoever looks for the values from `low` to `high` alone: others may have any
        value beyond these; of one that is whole.
        """
        return self.sql(writer)

    def in_days(self, writer: Writer, first: int, last: int) -> str | None:
        """The days since 1970 of moments, for whoever looks for those from `first` to `last` alone,
        if the table tells them faster than by a division.
        """
        return None
