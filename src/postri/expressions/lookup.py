"""Cells of a public table, found by a key: what a join with it puts beside a row.

A public table has one row a key, so a row has one partner at most, and what stands there is a
function of the row alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from postri.columns import ColumnType
from postri.expressions.conditions import TextCell
from postri.expressions.numbers import NumberCell
from postri.expressions.plan import Input, Node, Vector, Vectors, Writer, both
from postri.expressions.predicate import Value

Key = str | int
Cell = str | int | float


@dataclass(frozen=True)
class Lookup(Node):
    """What a public table has for the key of a row; null where it has no such key.

    The keys are distinct and in order, and no cell is null: a null beside a key is as good as no
    key.
    """

    key: Node
    keys: tuple[Key, ...]
    cells: tuple[Cell, ...]
    of: Fraction | None

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        wanted = self.key.vector(cells)
        if not self.keys:
            nothing = np.zeros(np.shape(wanted.values), np.bool_)
            return Vector(np.zeros(np.shape(wanted.values)), nothing)
        places, found = self._places(wanted.values)
        return Vector(_array(self.cells)[places], both(wanted.valid, found))

    def _places(self, values: Any) -> tuple[Any, Any]:
        """Where each key stands, and whether it stands there."""
        if isinstance(self.keys[0], str):
            numbers = {key: number for number, key in enumerate(self.keys)}
            places = np.array([numbers.get(each, -1) for each in values], np.int64)
            return places, places >= 0
        keys = np.array(self.keys, object if _is_wide(values) else np.int64)
        places = np.minimum(np.searchsorted(keys, values), len(keys) - 1)
        return places, np.asarray(keys[places] == values, np.bool_)

    def sql(self, writer: Writer) -> str:
        return writer.dialect.lookup(self.key.sql(writer), self.keys, self.cells)


def looked_up(
    column: str,
    declared: ColumnType,
    rows: Sequence[tuple[Key, Cell | None]],
    type_of_cells: ColumnType,
) -> Value:
    """The cells of a public table beside those of a column, whose cells are read as declared."""
    wanted = Input(column, declared)
    key: Node = NumberCell(wanted, declared.unit)
    if declared.kind == "text":
        key = TextCell(wanted)
    known = sorted((key, cell) for key, cell in rows if cell is not None)
    node = Lookup(
        key,
        tuple(key for key, _ in known),
        tuple(cell for _, cell in known),
        type_of_cells.unit,
    )
    return Value(node, (wanted,), type_of_cells)


def _is_wide(values: Any) -> bool:
    """Whether whole numbers may lie beyond 64 bits with a sign."""
    return np.asarray(values).dtype == np.uint64


def _array(cells: Sequence[Cell]) -> Any:
    if isinstance(cells[0], str):
        found = np.empty(len(cells), object)
        found[:] = cells
        return found
    return np.array(cells)
