"""What a dialect is, and how a column is read in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from postri.columns import ColumnType
from postri.engines.reading import Raw
from postri.expressions.plan import Dialect as PredicateDialect


@dataclass(frozen=True)
class Cells:
    """How a column is read: its declared type, and the expression of its raw cells, which no cell
    makes fail. A null is dropped.

    Where `literal` writes a raw number as one of the column's own type, cells can be compared as
    they stand in the table, in the same order: only the few that matter become raw. `present` is
    then the condition on which the cell `{}` counts.
    """

    type: ColumnType
    raw: str
    literal: Callable[[Raw], str] | None = None
    present: str = "{} IS NOT NULL"


class Dialect(PredicateDialect, Protocol):
    """What a database writes in its own way."""

    def name(self, identifier: str) -> str:
        """A name, quoted."""

    def cells(self, column: str, declared: str, cell: str | None = None) -> Cells:
        """How a column of this declared type is read: by its name, or where `cell` stands for it."""

    def double(self, number: float) -> str:
        """A number as a literal of double precision."""

    def divided(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient of whole numbers that are not negative."""

    def floored(self, expression: str) -> str:
        """The largest whole number that is not above a number of double precision, in double
        precision.
        """

    def integer(self, expression: str, *, unsigned: bool) -> str:
        """An expression as a whole number of 64 bits."""

    def is_number(self, expression: str) -> str:
        """Whether a number of double precision is one: neither null nor NaN.

        No statistics of the database may decide it.
        """

    def count_of(self, condition: str) -> str:
        """The number of rows on which a condition holds."""

    def total(self, whole: str) -> tuple[str, str]:
        """The sum of whole numbers of 64 bits over the rows, as two of 64 bits: in units of 2^48,
        and the rest.
        """

    def as_double(self, expression: str) -> str:
        """A whole number of 64 bits in double precision, the nearest one."""

    def listed_rows(self, columns: Mapping[str, Sequence[str]], name: str) -> str:
        """A relation of this name whose cells are the literals of each column.

        There may be thousands: planning must not suffer.
        """

    def order_statistics(
        self, cell: str, shares: Sequence[float]
    ) -> tuple[dict[str, str], list[str]]:
        """Aggregates by name, which share one pass; in their terms, for each share the cell below
        which about that share of them lies.
        """

    def list_of(self, expression: str, condition: str) -> str:
        """The values of an expression on the rows on which a condition holds, gathered."""

    def unnested(self, expression: str) -> str:
        """A row for each value of such a list."""

    def text_literal(self, text: str) -> str:
        """A text as a literal."""

    def text_of_integer(self, expression: str, shift: int = 0) -> str:
        """The decimal digits of a whole number of 64 bits plus `shift`."""

    def joined_text(self, parts: Sequence[str]) -> str:
        """Texts with colons between them."""

    def md5(self, expression: str) -> str:
        """The md5 of a text's UTF-8 bytes, as lower-case digits."""
