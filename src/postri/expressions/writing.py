"""How a plan is written in a database's SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from postri.expressions.pattern import Pattern
from postri.expressions.vectors import Input

# A text up to this length is repeated where it is used twice; a longer one is computed once, so
# that no nesting multiplies it.
BRIEF = 120


class Dialect(Protocol):
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

    def like(self, text: str, pattern: Pattern) -> str:
        """Whether a text fits a pattern, in a time that does not grow with a power of its length."""

    def text_literal(self, text: str) -> str:
        """A text that compares by its code points."""

    def wide(self, whole: str) -> str:
        """A whole number of 64 bits with room for the product of two."""

    def narrow(self, wide: str) -> str:
        """A wide whole number as one of 64 bits with a sign; null where it does not fit."""


class RawCells(Protocol):
    """How a column is read."""

    @property
    def raw(self) -> str:
        """The expression of its raw cells, which no cell makes fail."""


class Writer:
    """Writes the parts of a plan for one table."""

    def __init__(self, dialect: Dialect, cells: Callable[[Input], RawCells]) -> None:
        self.dialect, self._cells = dialect, cells

    def raw(self, wanted: Input) -> str:
        """The raw cells of a column, read as a type."""
        return f"({self._cells(wanted).raw})"

    def once(self, value: str, body: Callable[[str], str]) -> str:
        """A body that uses a value several times."""
        return body(value) if len(value) <= BRIEF else self.dialect.let(value, body)

    def times(self, whole: str, factor: int) -> str:
        """A whole number of 64 bits times a constant, with room for it."""
        wide = self.dialect.wide
        return wide(whole) if factor == 1 else f"({wide(whole)} * {wide(str(factor))})"
