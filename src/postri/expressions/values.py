"""Expressions whose values are asked about: numbers, dates or timestamps of each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from postri.columns import DATE, ColumnType, float_type, integer_type, timestamp_type
from postri.errors import InputError
from postri.exact import plain
from postri.expressions.binding import Binder, TypeOf
from postri.expressions.kinds import Kind
from postri.expressions.measures import signed
from postri.expressions.node import Node
from postri.expressions.tree import Expression, brief
from postri.expressions.vectors import Input, Vector, Vectors
from postri.expressions.writing import Dialect, RawCells, Writer


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
        found, rows = self.node.vector(vectors), len(vectors[self.inputs[0]].values)
        valid = None if found.valid is None else np.broadcast_to(found.valid, rows)
        return Vector(np.broadcast_to(found.values, rows), valid)

    def sql(self, dialect: Dialect, cells: Callable[[Input], RawCells]) -> str:
        """The same as an expression in SQL. `cells` tells how a column is read."""
        return self.node.sql(Writer(dialect, cells))


def _type(kind: Kind, unit: Fraction | None) -> ColumnType:
    """The declared type of such values: floats of double precision, or whole numbers of a unit, of
    64 bits with a sign.
    """
    if unit is None:
        return float_type(64)
    if kind == Kind.NUMBER:
        return (
            replace(integer_type(64), unit=unit)
            if unit == 1
            else replace(integer_type(64), name=f"number in {plain(unit)}s", unit=unit)
        )
    if kind == Kind.DATE:
        return replace(DATE, unit=unit)
    return replace(timestamp_type("timestamp", 1, zoned=kind == Kind.ZONED), unit=unit)
