"""Columns in memory: typed, untyped, and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.columns import MAX_TEXT, ColumnType
from postri.engines.grammar import (
    is_present,
    key_of,
    read_as,
    read_index,
    reads_whole,
    unit_of,
)
from postri.engines.memory.chunk import Chunk
from postri.engines.memory.counter import MemoryCounter
from postri.engines.reading import Reading, reading_of
from postri.engines.rows import KeyColumn
from postri.errors import SourceError
from postri.expressions import Input, Value, Vector
from postri.grid import Grid
from postri.window import Indexes

Places = NDArray[np.intp]
UNEVEN = "the columns of the source have different lengths"
# Cells that are fewer than one in so many are taken out of a column before they are counted.
FEW_LEFT = 8


@dataclass(frozen=True)
class TypedColumn:
    """Raw cells of a declared type."""

    type: ColumnType
    chunks: Sequence[Chunk]

    def __len__(self) -> int:
        return sum(len(chunk.values) for chunk in self.chunks)

    def counter(self, grid: Grid) -> MemoryCounter:
        """The column on a grid."""
        return MemoryCounter(self.chunks, reading_of(grid, self.type.unit))

    def with_max_text(self, _: int) -> TypedColumn:
        """The same: it holds no texts."""
        return self

    def joined(self) -> TypedColumn:
        """The same, with all cells in one chunk: so they are joined once for many parts."""
        return replace(self, chunks=[Chunk.joined(self.chunks)])

    def at(self, here: Places) -> TypedColumn:
        """Some of its rows."""
        return replace(self, chunks=[Chunk.joined(self.chunks).at(here)])

    def only(self, mask: NDArray[np.bool_]) -> TypedColumn:
        """The rows that a filter leaves: few cells are taken out, many are passed over."""
        whole = Chunk.joined(self.chunks)
        if FEW_LEFT * np.count_nonzero(mask) < len(mask):
            return self.at(np.flatnonzero(mask))
        valid = mask if whole.valid is None else mask & whole.valid
        return replace(self, chunks=[Chunk(whole.values, valid)])

    def vector(self, _: Input) -> Vector:
        """Its cells, for a predicate."""
        whole = Chunk.joined(self.chunks)
        return Vector(whole.values, whole.valid)

    def group_numbers(self, keys: KeyColumn) -> Indexes:
        """The place of each cell among the keys; -1 where it is none of them."""
        whole = Chunk.joined(self.chunks)
        values = whole.values
        if keys.ends is not None:
            values = np.clip(values, *keys.ends)
        found = np.full(len(values), -1, np.int64)
        known = sorted(
            (int(raw), number) for number, raw in enumerate(keys.raws) if isinstance(raw, int)
        )
        if known and len(found):
            # Keys lie in the range of the type. In another one, NumPy would compare numbers without
            # a sign in double precision.
            raws = np.array([raw for raw, _ in known], values.dtype)
            numbers = np.array([number for _, number in known])
            spots = np.minimum(np.searchsorted(raws, values), len(raws) - 1)
            found = np.where(raws[spots] == values, numbers[spots], -1)
        if whole.valid is None:
            return found
        return np.where(whole.valid, found, -1)

    def unit_texts(self) -> list[str | None]:
        """The text of each unit."""
        whole = Chunk.joined(self.chunks)
        texts: list[str | None] = [str(int(cell)) for cell in whole.values]
        if whole.valid is None:
            return texts
        return [text if valid else None for text, valid in zip(texts, whole.valid, strict=True)]

    def present(self) -> NDArray[np.bool_]:
        """In which rows there is a cell that can be read."""
        return Chunk.joined(self.chunks).counting()

    def indexes(self, grid: Grid) -> list[int | None]:
        """The grid index of each cell; None where it is dropped."""
        whole = Chunk.joined(self.chunks)
        counting = whole.counting()
        indexes = Reading(grid, self.type.unit).indexes(whole.values[counting])
        found: list[int | None] = [None] * len(whole.values)
        for place, index in zip(np.flatnonzero(counting), indexes, strict=True):
            found[place] = int(index)
        return found


@dataclass(frozen=True)
class UntypedColumn:
    """Cells of any kind, read by the grammar. A text of more than `max_text` characters cannot be
    read, whatever it would be read as.
    """

    type: ColumnType
    cells: Sequence[Any]
    max_text: int = MAX_TEXT

    def __len__(self) -> int:
        return len(self.cells)

    def counter(self, grid: Grid) -> MemoryCounter:
        """The column on a grid: its cells become indexes once."""
        indexes = _read_indexes(self._readable, grid, whole=reads_whole(self.type, grid))
        # The cells are indexes by now: a grid on which every whole number is its own index.
        own = replace(grid, base=Fraction(0), step=Fraction(1))
        return MemoryCounter([Chunk(indexes)], Reading(own, Fraction(1)))

    def with_max_text(self, max_text: int) -> UntypedColumn:
        """The same with another limit: no cell is looked at before its column is asked for."""
        return replace(self, max_text=max_text)

    @cached_property
    def _readable(self) -> Sequence[Any]:
        return _without_long(self.cells, self.max_text)

    def joined(self) -> UntypedColumn:
        """The same: its cells lie together."""
        return self

    def at(self, here: Places) -> UntypedColumn:
        """Some of its rows."""
        return replace(self, cells=[self.cells[place] for place in here])

    def only(self, mask: NDArray[np.bool_]) -> UntypedColumn:
        """The rows that a filter leaves."""
        return self.at(np.flatnonzero(mask))

    def vector(self, wanted: Input) -> Vector:
        """Its cells, read as a predicate wants them."""
        return _vector([read_as(cell, wanted.type) for cell in self._readable], wanted.type)

    def group_numbers(self, keys: KeyColumn) -> Indexes:
        """The place of each cell among the keys; -1 where it is none of them."""
        unit = keys.type.unit or 1
        numbers: dict[Any, int] = {}
        for number, raw in enumerate(keys.raws):
            if isinstance(raw, str):
                numbers[raw] = number
            elif raw is not None:
                numbers[raw * unit] = number
        found = (key_of(cell, keys.type) for cell in self._readable)
        return np.array([-1 if cell is None else numbers.get(cell, -1) for cell in found], np.int64)

    def unit_texts(self) -> list[str | None]:
        """The text of each unit: of text and of whole numbers, or of whole numbers alone where they
        were declared.
        """
        return [unit_of(cell, self.type) for cell in self._readable]

    def present(self) -> NDArray[np.bool_]:
        """In which rows there is a cell that can be read as what was declared; as anything, if
        nothing was.
        """
        return np.array([is_present(cell, self.type) for cell in self._readable], np.bool_)

    def indexes(self, grid: Grid) -> list[int | None]:
        """The grid index of each cell; None where it is dropped."""
        whole = reads_whole(self.type, grid)
        return [read_index(cell, grid, whole=whole) for cell in self._readable]


@dataclass(frozen=True)
class TextColumn:
    """Texts, which have no order of numbers: they are compared with, divided by, told apart."""

    type: ColumnType
    cells: Sequence[str | None]

    def __len__(self) -> int:
        return len(self.cells)

    def with_max_text(self, max_text: int) -> TextColumn:
        """The same without texts of more characters."""
        return replace(self, cells=_without_long(self.cells, max_text))

    def vector(self, _: Input) -> Vector:
        """Its cells, for a predicate."""
        return _vector(self.cells, self.type)

    def group_numbers(self, keys: KeyColumn) -> Indexes:
        """The place of each cell among the keys; -1 where it is none of them."""
        numbers: Mapping[Any, int] = {raw: number for number, raw in enumerate(keys.raws)}
        return np.array(
            [-1 if cell is None else numbers.get(cell, -1) for cell in self.cells], np.int64
        )

    def present(self) -> NDArray[np.bool_]:
        """In which rows there is a text."""
        return np.array([cell is not None for cell in self.cells], np.bool_)

    def unit_texts(self) -> Sequence[str | None]:
        """The text of each unit."""
        return self.cells


OrderedColumn = TypedColumn | UntypedColumn
Column = OrderedColumn | TextColumn


def _without_long(cells: Sequence[Any], max_text: int) -> Sequence[Any]:
    """Cells with nothing in place of texts of more characters."""
    if not any(_is_long(cell, max_text) for cell in cells):
        return cells
    return [None if _is_long(cell, max_text) else cell for cell in cells]


def _is_long(cell: object, max_text: int) -> bool:
    return isinstance(cell, str) and len(cell) > max_text


def computed_column(value: Value, column_of: Callable[[str], Column]) -> TypedColumn | TextColumn:
    """The values of an expression as a column."""
    cells = {wanted: column_of(wanted.column).vector(wanted) for wanted in value.inputs}
    if len({len(each.values) for each in cells.values()}) > 1:
        raise SourceError(UNEVEN)
    found = value.vector(cells)
    if value.type.kind == "text":
        texts = zip(found.values, found.there, strict=True)
        return TextColumn(value.type, [text if there else None for text, there in texts])
    return TypedColumn(value.type, [Chunk(found.values, found.valid)])


def _read_indexes(cells: Sequence[Any], grid: Grid, *, whole: bool) -> Indexes:
    """The indexes of untyped cells, without those that are dropped."""
    kinds = set(map(type, cells))
    if len(kinds) == 1 and grid.kind == "number":
        try:
            return _indexes_at_once(cells, kinds.pop(), grid, whole)
        except Exception:  # cells that cannot be read at once are read one by one
            pass
    found = (read_index(cell, grid, whole=whole) for cell in cells)
    return np.array([index for index in found if index is not None], dtype=np.int64)


def _indexes_at_once(cells: Sequence[Any], kind: type, grid: Grid, whole: bool) -> Indexes:
    """The same for cells of one numeric kind; TypeError for another kind."""
    if issubclass(kind, int | np.integer) and not issubclass(kind, bool | np.timedelta64):
        dtype = np.int64 if issubclass(kind, int) else kind
        return Reading(grid, Fraction(1)).indexes(np.array(cells, dtype=dtype))
    if not issubclass(kind, float | np.floating):
        raise TypeError
    with np.errstate(over="ignore"):
        numbers = np.array(cells, dtype=np.float64)
    # A NaN differs from its floor as well.
    kept = numbers == np.floor(numbers) if whole else ~np.isnan(numbers)
    return Reading(grid, None).indexes(numbers[kept])


def _vector(cells: Sequence[Any], kind: ColumnType) -> Vector:
    valid = np.array([cell is not None for cell in cells], np.bool_)
    values: NDArray[Any]
    if kind.kind == "text":
        values = np.empty(len(cells), object)
        values[:] = ["" if cell is None else cell for cell in cells]
        return Vector(values, valid)
    dtype = np.float64 if kind.unit is None else np.int64
    values = np.array([0 if cell is None else cell for cell in cells], dtype)
    return Vector(values, valid)
