"""CASE and COALESCE.

All their parts are of one kind, and of one unit where they are whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np

from postri.expressions.node import Node
from postri.expressions.vectors import Booleans, Vector, Vectors
from postri.expressions.writing import Writer


@dataclass(frozen=True)
class Case(Node):
    """The value of the first condition that is TRUE. A value None is null; at least one is not."""

    whens: tuple[tuple[Node, Node | None], ...]
    otherwise: Node | None
    of: Fraction | None = None

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        found = [
            None if value is None else value.vector(cells)
            for value in (*(value for _, value in self.whens), self.otherwise)
        ]
        nothing = _nothing(next(value for value in found if value is not None))
        *values, result = [nothing if value is None else value for value in found]
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
class Coalesce(Node):
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
    """As many nulls."""
    return Vector(like.values, np.zeros(np.shape(like.values), np.bool_))


def _sql(value: Node | None, writer: Writer) -> str:
    return "NULL" if value is None else value.sql(writer)
