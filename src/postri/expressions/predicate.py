"""Expressions on the columns of a table: predicates select rows, values are asked about.

What a question without expressions does not need is loaded where one is bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from postri.columns import DATE, ColumnType, float_type, integer_type, timestamp_type
from postri.errors import InputError
from postri.exact import plain
from postri.expressions.kinds import Kind
from postri.expressions.plan import (
    Booleans,
    ExpressionDialect,
    Input,
    Node,
    RawCells,
    Vector,
    Vectors,
    Writer,
    inputs_in,
)

if TYPE_CHECKING:
    from postri.expressions.binding import TypeOf
    from postri.expressions.tree import Expression


@dataclass(frozen=True)
class Predicate:
    """A condition on a row, in SQL.

    It fails on no cell, and holds for the same rows on every engine.

    >>> predicate = Predicate.parse("age<40 and job in ('admin.', 'clerk')")
    >>> print(predicate)
    age < 40 AND job IN ('admin.', 'clerk')
    >>> predicate.columns
    ('age', 'job')
    """

    expression: Expression

    def __post_init__(self) -> None:
        from postri.expressions.tree import check_size

        check_size(self.expression)

    @classmethod
    def parse(cls, text: str) -> Predicate:
        """The predicate that a text means, or InputError that names what is not allowed in it."""
        from postri.expressions.reader import read_expression

        return cls(read_expression(text))

    @classmethod
    def of(cls, where: str | Predicate | None) -> Predicate | None:
        """The predicate of a text, or one that was read already; None for none."""
        if where is None or isinstance(where, Predicate):
            return where
        return cls.parse(where)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names, as it writes them."""
        from postri.expressions.tree import columns_of

        return columns_of(self.expression)

    def bind(self, names: Sequence[str], type_of: Callable[[str], ColumnType]) -> Bound:
        """What it is on a table with these columns, or InputError.

        Looks at names and declared types, at no cell.
        """
        from postri.expressions.binding import Binder

        return Bound(*Binder.bind(self.expression, names, type_of))

    def normal(self, names: Sequence[str]) -> Predicate:
        """The same in normal form, on a table with these columns: what means the same in another
        order is the same predicate.

        >>> print(Predicate.parse("job = 'cook' AND 40 > Age").normal(["age", "job"]))
        "age" < 40 AND "job" = 'cook'
        """
        from postri.expressions.binding import column_named
        from postri.expressions.normal import normal

        return Predicate(normal(self.expression, lambda column: column_named(column, names)))

    def __str__(self) -> str:
        return str(self.expression)


@dataclass(frozen=True)
class Bound:
    """A predicate on the columns of one table."""

    condition: Node
    inputs: tuple[Input, ...]

    @property
    def conjuncts(self) -> tuple[Bound, ...]:
        """Conditions that all hold where this one does, each with the columns that it reads."""
        return tuple(Bound(part, inputs_in(part)) for part in self.condition.conjuncts)

    def mask(self, vectors: Mapping[Input, Vector]) -> Booleans:
        """The rows on which it holds; those on which it is null are not among them.

        One cell for all rows where no column decides.
        """
        rows = len(vectors[self.inputs[0]].values) if self.inputs else 1
        return np.broadcast_to(self.condition.vector(vectors).true, (rows,))

    def sql(self, dialect: ExpressionDialect, cells: Callable[[Input], RawCells]) -> str:
        """The same as a condition in SQL, which is never null.

        `cells` tells how a column is read.
        """
        return f"coalesce({self.condition.sql(Writer(dialect, cells))}, FALSE)"


@dataclass(frozen=True)
class Value:
    """An expression on the columns of one table.

    It fails on no cell, and has the same values on every engine.
    """

    node: Node
    inputs: tuple[Input, ...]
    type: ColumnType

    @classmethod
    def bind(cls, expression: Expression, names: Sequence[str], type_of: TypeOf) -> Value:
        """What it is on a table with these columns, or InputError.

        Looks at names and declared types, at no cell.
        """
        from postri.expressions.binding import Binder
        from postri.expressions.measures import signed
        from postri.expressions.tree import brief

        found, kind, inputs = Binder.bind_value(expression, names, type_of)
        if not inputs or not isinstance(found, Node):
            raise InputError(
                f"{brief(expression)} is the same in every row; ask about an expression that "
                "depends on a column"
            )
        node = signed(found)
        return cls(node, inputs, _type(kind, node.unit))

    def vector(self, vectors: Vectors) -> Vector:
        """Its raw value in each row."""
        found = self.node.vector(vectors)
        rows = len(vectors[self.inputs[0]].values)
        valid = found.valid
        if valid is not None:
            valid = np.broadcast_to(valid, rows)
        return Vector(np.broadcast_to(found.values, rows), valid)

    def sql(self, dialect: ExpressionDialect, cells: Callable[[Input], RawCells]) -> str:
        """The same as an expression in SQL. `cells` tells how a column is read."""
        return self.node.sql(Writer(dialect, cells))

    def among_sql(
        self,
        dialect: ExpressionDialect,
        cells: Callable[[Input], RawCells],
        low: int,
        high: int,
    ) -> str:
        """The raw value, which is whole, for whoever looks for those from `low` to `high` alone:
        others may have any value beyond these.
        """
        return self.node.among(Writer(dialect, cells), low, high)

    def inside_sql(
        self,
        dialect: ExpressionDialect,
        cells: Callable[[Input], RawCells],
        low: int,
        high: int,
    ) -> str:
        """Whether the raw value, which is whole, is at least `low` and at most `high`, in SQL."""
        return self.node.inside(Writer(dialect, cells), low, high)


def _type(kind: Kind, unit: Fraction | None) -> ColumnType:
    """The declared type of such values: floats of double precision, or whole numbers of a unit, of
    64 bits with a sign.
    """
    if unit is None:
        return float_type(64)
    if kind == Kind.NUMBER:
        whole = replace(integer_type(64), unit=unit)
        if unit == 1:
            return whole
        return replace(whole, name=f"number in {plain(unit)}s")
    if kind == Kind.DATE:
        return replace(DATE, unit=unit)
    return replace(timestamp_type("timestamp", 1, zoned=kind == Kind.ZONED), unit=unit)
