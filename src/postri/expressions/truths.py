"""Conditions: TRUE, FALSE or null, by SQL's three-valued logic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from postri.expressions.node import Node
from postri.expressions.numbers import Limit, Real
from postri.expressions.texts import TextConstant
from postri.expressions.tree import Comparison
from postri.expressions.vectors import Booleans, Input, Vector, Vectors, both
from postri.expressions.writing import Writer

COMPARED: dict[Comparison, Any] = {
    **{"=": np.equal, "<>": np.not_equal, "<": np.less},
    **{"<=": np.less_equal, ">": np.greater, ">=": np.greater_equal},
}


@dataclass(frozen=True)
class TruthCell(Node):
    """A column of booleans."""

    input: Input

    def vector(self, cells: Vectors) -> Vector:
        found = cells[self.input]
        return Vector(np.asarray(found.values) != 0, found.valid)

    def sql(self, writer: Writer) -> str:
        return f"({writer.raw(self.input)} = 1)"


@dataclass(frozen=True)
class TruthConstant(Node):
    """TRUE, FALSE, or null."""

    value: bool | None

    def vector(self, cells: Vectors) -> Vector:
        return Vector(
            np.array([self.value is True]), np.array([False]) if self.value is None else None
        )

    def sql(self, writer: Writer) -> str:
        return "CAST(NULL AS BOOLEAN)" if self.value is None else str(self.value).upper()


@dataclass(frozen=True)
class Known(Node):
    """A comparison that comes out the same for all cells but nulls, for which it is null."""

    operand: Node
    value: bool

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        return Vector(np.full(np.shape(found.values), self.value), found.valid)

    def sql(self, writer: Writer) -> str:
        return (
            f"(CASE WHEN {self.operand.sql(writer)} IS NOT NULL THEN {str(self.value).upper()} END)"
        )


@dataclass(frozen=True)
class Compare(Node):
    """A comparison of two numbers of one unit, two floats, two texts or two conditions."""

    operator: Comparison
    left: Node
    right: Node

    def vector(self, cells: Vectors) -> Vector:
        left, right = self.left.vector(cells), self.right.vector(cells)
        return Vector(_compared(self.operator, left, right), both(left.valid, right.valid))

    def sql(self, writer: Writer) -> str:
        return f"({self.left.sql(writer)} {self.operator} {self.right.sql(writer)})"


@dataclass(frozen=True)
class Distinct(Node):
    """Whether two differ, where null equals null alone."""

    left: Node
    right: Node

    def vector(self, cells: Vectors) -> Vector:
        left, right = self.left.vector(cells), self.right.vector(cells)
        return Vector(
            np.where(
                left.there & right.there, _compared("<>", left, right), left.there != right.there
            )
        )

    def sql(self, writer: Writer) -> str:
        return f"({self.left.sql(writer)} IS DISTINCT FROM {self.right.sql(writer)})"


@dataclass(frozen=True)
class In(Node):
    """Whether something equals one of some constants, of which none is null."""

    operand: Node
    items: tuple[Limit, ...] | tuple[Real, ...] | tuple[TextConstant, ...]

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        return Vector(
            _member(found.values, [item.vector(cells).values for item in self.items]), found.valid
        )

    def sql(self, writer: Writer) -> str:
        return (
            f"({self.operand.sql(writer)} IN "
            f"({', '.join(item.sql(writer) for item in self.items)}))"
        )


@dataclass(frozen=True)
class IsNull(Node):
    """Whether something is null."""

    operand: Node

    def vector(self, cells: Vectors) -> Vector:
        return Vector(~self.operand.vector(cells).there)

    def sql(self, writer: Writer) -> str:
        return f"({self.operand.sql(writer)} IS NULL)"


@dataclass(frozen=True)
class IsTrue(Node):
    """Whether a condition is TRUE: never null."""

    operand: Node

    def vector(self, cells: Vectors) -> Vector:
        return Vector(self.operand.vector(cells).true)

    def sql(self, writer: Writer) -> str:
        return f"coalesce({self.operand.sql(writer)}, FALSE)"


@dataclass(frozen=True)
class Not(Node):
    """The opposite."""

    operand: Node

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        return Vector(~found.values, found.valid)

    def sql(self, writer: Writer) -> str:
        return f"(NOT {self.operand.sql(writer)})"


@dataclass(frozen=True)
class And(Node):
    """All of several: FALSE if one is, else null if one is."""

    items: tuple[Node, ...]

    def vector(self, cells: Vectors) -> Vector:
        found = [item.vector(cells) for item in self.items]
        true, false = found[0].true, found[0].false
        for each in found[1:]:
            true, false = true & each.true, false | each.false
        return _truths(true, false)

    def sql(self, writer: Writer) -> str:
        return f"({' AND '.join(item.sql(writer) for item in self.items)})"


@dataclass(frozen=True)
class Or(Node):
    """One of several: TRUE if one is, else null if one is."""

    items: tuple[Node, ...]

    def vector(self, cells: Vectors) -> Vector:
        found = [item.vector(cells) for item in self.items]
        true, false = found[0].true, found[0].false
        for each in found[1:]:
            true, false = true | each.true, false & each.false
        return _truths(true, false)

    def sql(self, writer: Writer) -> str:
        return f"({' OR '.join(item.sql(writer) for item in self.items)})"


def _truths(true: Booleans, false: Booleans) -> Vector:
    known = true | false
    return Vector(true, None if known.all() else known)


def _compared(operator: Comparison, left: Vector, right: Vector) -> Booleans:
    found: Booleans = COMPARED[operator](left.values, right.values)
    return found


def _member(values: Any, items: list[Any]) -> Booleans:
    if values.dtype == object:
        known = {text for item in items for text in item}
        return np.array([text in known for text in values], np.bool_)
    if values.dtype.kind == "f":
        return np.isin(values, np.concatenate(items))
    limits = np.iinfo(values.dtype)
    return np.isin(
        values, np.array([item for item in items if limits.min <= item <= limits.max], values.dtype)
    )
