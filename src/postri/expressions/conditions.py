"""Texts, conditions, and choices among values of any kind.

Conditions are TRUE, FALSE or null, by SQL's three-valued logic. Texts compare by their code points
(the same order as that of their bytes in UTF-8). All values of a CASE or COALESCE are of one kind,
and of one unit where they are whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from postri.expressions.numbers import Limit, Real
from postri.expressions.pattern import Pattern
from postri.expressions.plan import Booleans, Input, Node, Vector, Vectors, Writer, both
from postri.expressions.tree import Comparison

COMPARED: dict[Comparison, Any] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


# Texts.


@dataclass(frozen=True)
class TextCell(Node):
    """A column of texts."""

    input: Input

    def vector(self, cells: Vectors) -> Vector:
        found = cells[self.input]
        values = np.asarray(found.values, object)
        # What stands in a null cell may be anything, and would not compare with texts.
        if found.valid is not None:
            values = np.where(found.valid, values, "")
        return Vector(values, found.valid)

    def sql(self, writer: Writer) -> str:
        return writer.raw(self.input)


@dataclass(frozen=True)
class TextConstant(Node):
    """A text."""

    text: str

    def vector(self, cells: Vectors) -> Vector:
        return Vector(np.array([self.text], object))

    def sql(self, writer: Writer) -> str:
        return writer.dialect.text_literal(self.text)


@dataclass(frozen=True)
class PatternTest(Node):
    """Whether a text fits a pattern."""

    operand: Node
    pattern: Pattern

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        fits = {text: self.pattern.matches(text) for text in set(found.values)}
        return Vector(np.array([fits[text] for text in found.values], np.bool_), found.valid)

    def sql(self, writer: Writer) -> str:
        return writer.dialect.like(self.operand.sql(writer), self.pattern)


# Conditions.


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
        valid = np.array([False]) if self.value is None else None
        return Vector(np.array([self.value is True]), valid)

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
        value = str(self.value).upper()
        return f"(CASE WHEN {self.operand.sql(writer)} IS NOT NULL THEN {value} END)"


@dataclass(frozen=True)
class ComparisonTest(Node):
    """A comparison of two numbers of one unit, two floats, two texts or two conditions."""

    operator: Comparison
    left: Node
    right: Node

    def vector(self, cells: Vectors) -> Vector:
        left = self.left.vector(cells)
        right = self.right.vector(cells)
        return Vector(_compared(self.operator, left, right), both(left.valid, right.valid))

    def sql(self, writer: Writer) -> str:
        return f"({self.left.sql(writer)} {self.operator} {self.right.sql(writer)})"


@dataclass(frozen=True)
class DistinctTest(Node):
    """Whether two differ, where null equals null alone."""

    left: Node
    right: Node

    def vector(self, cells: Vectors) -> Vector:
        left = self.left.vector(cells)
        right = self.right.vector(cells)
        both_known = left.there & right.there
        one_known = left.there != right.there
        return Vector(np.where(both_known, _compared("<>", left, right), one_known))

    def sql(self, writer: Writer) -> str:
        return f"({self.left.sql(writer)} IS DISTINCT FROM {self.right.sql(writer)})"


@dataclass(frozen=True)
class OneOf(Node):
    """Whether something equals one of some constants, of which none is null."""

    operand: Node
    items: tuple[Limit, ...] | tuple[Real, ...] | tuple[TextConstant, ...]

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        items = [item.vector(cells).values for item in self.items]
        return Vector(_member(found.values, items), found.valid)

    def sql(self, writer: Writer) -> str:
        items = [item.sql(writer) for item in self.items]
        if any(isinstance(item, Real) and item.value == 0 for item in self.items):
            # Some databases look floats up by their bits, by which the two zeros differ.
            items.append(f"({writer.dialect.double(-0.0)})")
        return f"({self.operand.sql(writer)} IN ({', '.join(items)}))"


@dataclass(frozen=True)
class NullTest(Node):
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
class Opposite(Node):
    """The opposite."""

    operand: Node

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        return Vector(~found.values, found.valid)

    def sql(self, writer: Writer) -> str:
        return f"(NOT {self.operand.sql(writer)})"


@dataclass(frozen=True)
class AllOf(Node):
    """All of several: FALSE if one is, else null if one is."""

    items: tuple[Node, ...]

    @property
    def conjuncts(self) -> tuple[Node, ...]:
        return tuple(part for item in self.items for part in item.conjuncts)

    def vector(self, cells: Vectors) -> Vector:
        found = [item.vector(cells) for item in self.items]
        true = reduce(np.logical_and, (each.true for each in found))
        false = reduce(np.logical_or, (each.false for each in found))
        return _truths(true, false)

    def sql(self, writer: Writer) -> str:
        return f"({' AND '.join(item.sql(writer) for item in self.items)})"


@dataclass(frozen=True)
class AnyOf(Node):
    """One of several: TRUE if one is, else null if one is."""

    items: tuple[Node, ...]

    def vector(self, cells: Vectors) -> Vector:
        found = [item.vector(cells) for item in self.items]
        true = reduce(np.logical_or, (each.true for each in found))
        false = reduce(np.logical_and, (each.false for each in found))
        return _truths(true, false)

    def sql(self, writer: Writer) -> str:
        return f"({' OR '.join(item.sql(writer) for item in self.items)})"


@dataclass(frozen=True)
class TruthNumber(Node):
    """A condition as a number: 1 where it is TRUE, 0 where it is FALSE."""

    condition: Node

    @property
    def unit(self) -> Fraction | None:
        return Fraction(1)

    def vector(self, cells: Vectors) -> Vector:
        found = self.condition.vector(cells)
        return Vector(np.asarray(found.values).astype(np.int64), found.valid)

    def sql(self, writer: Writer) -> str:
        one = writer.dialect.integer("1", unsigned=False)
        zero = writer.dialect.integer("0", unsigned=False)

        def number(truth: str) -> str:
            return f"(CASE WHEN {truth} THEN {one} WHEN NOT {truth} THEN {zero} END)"

        return writer.once(self.condition.sql(writer), number)


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
    # A number beyond the width of the cells is none of them.
    limits = np.iinfo(values.dtype)
    possible = [item for item in items if limits.min <= item <= limits.max]
    return np.isin(values, np.array(possible, values.dtype))


# Choices.


@dataclass(frozen=True)
class CaseChoice(Node):
    """The value of the first condition that is TRUE. A value None is null; at least one is not."""

    whens: tuple[tuple[Node, Node | None], ...]
    otherwise: Node | None
    of: Fraction | None = None

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        nodes = [value for _, value in self.whens] + [self.otherwise]
        found = [None if node is None else node.vector(cells) for node in nodes]
        nothing = _nothing(next(vector for vector in found if vector is not None))
        *values, result = [nothing if vector is None else vector for vector in found]
        # From the last condition to the first, so that the first that is TRUE has the last word.
        for (condition, _), value in zip(reversed(self.whens), reversed(values), strict=True):
            result = _where(condition.vector(cells).true, value, result)
        return result

    def sql(self, writer: Writer) -> str:
        whens = " ".join(
            f"WHEN {condition.sql(writer)} THEN {_sql(value, writer)}"
            for condition, value in self.whens
        )
        return f"(CASE {whens} ELSE {_sql(self.otherwise, writer)} END)"


@dataclass(frozen=True)
class CoalesceChoice(Node):
    """The first of several that is not null."""

    items: tuple[Node, ...]
    of: Fraction | None = None

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        found = [item.vector(cells) for item in self.items]
        return reduce(lambda later, one: _where(one.there, one, later), reversed(found))

    def sql(self, writer: Writer) -> str:
        return f"coalesce({', '.join(item.sql(writer) for item in self.items)})"


def _where(here: Booleans, one: Vector, other: Vector) -> Vector:
    return Vector(np.where(here, one.values, other.values), np.where(here, one.there, other.there))


def _nothing(like: Vector) -> Vector:
    """Nulls, as many as there are cells in another vector."""
    return Vector(like.values, np.zeros(np.shape(like.values), np.bool_))


def _sql(value: Node | None, writer: Writer) -> str:
    return "NULL" if value is None else value.sql(writer)
