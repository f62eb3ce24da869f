"""Columns in memory, and which of their rows count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import md5
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.columns import BOOLEAN, ColumnType
from postri.engines.array import ArrayCounter
from postri.engines.grammar import BLANKS, read, read_index
from postri.engines.piece import Piece
from postri.engines.reading import Reading
from postri.engines.rows import KeyColumn, Selection, UnitColumn
from postri.errors import SourceError
from postri.expressions import Input, Value, Vector
from postri.grid import Grid
from postri.window import Indexes

Places = NDArray[np.intp]
FURTHEST = 2**63 - 1
UNEVEN = "the columns of the source have different lengths"


@dataclass(frozen=True)
class TypedColumn:
    """Raw cells of a declared type."""

    type: ColumnType
    pieces: Sequence[Piece]

    def __len__(self) -> int:
        return sum(len(piece.values) for piece in self.pieces)

    def counter(self, grid: Grid) -> ArrayCounter:
        """The column on a grid."""
        return ArrayCounter(self.pieces, Reading(grid, self.type.unit))

    def at(self, here: Places) -> TypedColumn:
        """Some of its rows."""
        whole = Piece.joined(self.pieces)
        return replace(
            self,
            pieces=[Piece(whole.values[here], None if whole.valid is None else whole.valid[here])],
        )

    def vector(self, _: Input) -> Vector:
        """Its cells, for a predicate."""
        whole = Piece.joined(self.pieces)
        return Vector(whole.values, whole.valid)

    def group_numbers(self, keys: KeyColumn) -> Indexes:
        """The place of each cell among the keys; -1 where it is none of them."""
        whole = Piece.joined(self.pieces)
        values = whole.values if keys.ends is None else np.clip(whole.values, *keys.ends)
        found = np.full(len(values), -1, np.int64)
        known = sorted(
            (int(raw), number) for number, raw in enumerate(keys.raws) if isinstance(raw, int)
        )
        if known and len(found):
            # Keys lie in the range of the type. In another one, NumPy would compare numbers without
            # a sign in double precision.
            raws, numbers = (
                np.array([raw for raw, _ in known], values.dtype),
                np.array([n for _, n in known]),
            )
            spots = np.minimum(np.searchsorted(raws, values), len(raws) - 1)
            found = np.where(raws[spots] == values, numbers[spots], -1)
        return found if whole.valid is None else np.where(whole.valid, found, -1)

    def unit_texts(self) -> list[str | None]:
        """The text of each unit."""
        whole = Piece.joined(self.pieces)
        texts: list[str | None] = [str(int(cell)) for cell in whole.values]
        return (
            texts
            if whole.valid is None
            else [text if valid else None for text, valid in zip(texts, whole.valid, strict=True)]
        )

    def present(self) -> NDArray[np.bool_]:
        """In which rows there is a cell that can be read."""
        return Piece.joined(self.pieces).counted()

    def indexes(self, grid: Grid) -> list[int | None]:
        """The grid index of each cell; None where it is dropped."""
        whole = Piece.joined(self.pieces)
        counted = whole.counted()
        found: list[int | None] = [None] * len(whole.values)
        for place, index in zip(
            np.flatnonzero(counted),
            Reading(grid, self.type.unit).indexes(whole.values[counted]),
            strict=True,
        ):
            found[place] = int(index)
        return found


@dataclass(frozen=True)
class UntypedColumn:
    """Cells of any kind, read by the grammar."""

    type: ColumnType
    cells: Sequence[Any]

    def __len__(self) -> int:
        return len(self.cells)

    def counter(self, grid: Grid) -> ArrayCounter:
        """The column on a grid: its cells become indexes once."""
        indexes = read_indexes(self.cells, grid, whole=reads_whole(self.type, grid))
        # The cells are indexes by now: a grid on which every whole number is its own index.
        return ArrayCounter(
            [Piece(indexes)],
            Reading(replace(grid, base=Fraction(0), step=Fraction(1)), Fraction(1)),
        )

    def at(self, here: Places) -> UntypedColumn:
        """Some of its rows."""
        return replace(self, cells=[self.cells[place] for place in here])

    def vector(self, wanted: Input) -> Vector:
        """Its cells, read as a predicate wants them."""
        return _vector([read_as(cell, wanted.type) for cell in self.cells], wanted.type)

    def group_numbers(self, keys: KeyColumn) -> Indexes:
        """The place of each cell among the keys; -1 where it is none of them."""
        unit = keys.type.unit or 1
        numbers: Mapping[Any, int] = {
            raw if isinstance(raw, str) else raw * unit: number
            for number, raw in enumerate(keys.raws)
            if raw is not None
        }
        found = (key_of(cell, keys.type) for cell in self.cells)
        return np.array([-1 if cell is None else numbers.get(cell, -1) for cell in found], np.int64)

    def unit_texts(self) -> list[str | None]:
        """The text of each unit: of text and of whole numbers, or of whole numbers alone where they
        were declared.
        """
        return [unit_of(cell, self.type) for cell in self.cells]

    def present(self) -> NDArray[np.bool_]:
        """In which rows there is a cell that can be read as what was declared; as anything, if
        nothing was.
        """
        return np.array([_is_present(cell, self.type) for cell in self.cells], np.bool_)

    def indexes(self, grid: Grid) -> list[int | None]:
        """The grid index of each cell; None where it is dropped."""
        whole = reads_whole(self.type, grid)
        return [read_index(cell, grid, whole=whole) for cell in self.cells]


@dataclass(frozen=True)
class TextColumn:
    """Texts, which have no order of numbers: they can be compared with, divided by, and told apart."""

    type: ColumnType
    cells: Sequence[str | None]

    def __len__(self) -> int:
        return len(self.cells)

    def vector(self, _: Input) -> Vector:
        """Its cells, for a predicate."""
        return _vector(self.cells, self.type)

    def group_numbers(self, keys: KeyColumn) -> Indexes:
        """The place of each cell among the keys; -1 where it is none of them."""
        numbers: Mapping[Any, int] = {raw: number for number, raw in enumerate(keys.raws)}
        return np.array(
            [numbers.get(cell, -1) if cell is not None else -1 for cell in self.cells], np.int64
        )

    def present(self) -> NDArray[np.bool_]:
        """In which rows there is a text."""
        return np.array([cell is not None for cell in self.cells], np.bool_)

    def unit_texts(self) -> Sequence[str | None]:
        """The text of each unit."""
        return self.cells


Ordered = TypedColumn | UntypedColumn
Column = Ordered | TextColumn


def computed_column(value: Value, column_of: Callable[[str], Column]) -> TypedColumn:
    """The values of an expression as a column."""
    cells = {wanted: column_of(wanted.column).vector(wanted) for wanted in value.inputs}
    if len({len(each.values) for each in cells.values()}) > 1:
        raise SourceError(UNEVEN)
    found = value.vector(cells)
    return TypedColumn(value.type, [Piece(found.values, found.valid)])


def read_indexes(cells: Sequence[Any], grid: Grid, *, whole: bool) -> Indexes:
    """The indexes of untyped cells, without those that are dropped."""
    kinds = set(map(type, cells))
    if len(kinds) == 1 and grid.kind == "number":
        try:
            return _alike(cells, kinds.pop(), grid, whole)
        except Exception:  # cells that cannot be read at once are read one by one
            pass
    found = (read_index(cell, grid, whole=whole) for cell in cells)
    return np.array([index for index in found if index is not None], dtype=np.int64)


def _alike(cells: Sequence[Any], kind: type, grid: Grid, whole: bool) -> Indexes:
    """The same for cells of one numeric kind, all at once; TypeError for another kind."""
    if issubclass(kind, int | np.integer) and not issubclass(kind, bool | np.timedelta64):
        return Reading(grid, Fraction(1)).indexes(
            np.array(cells, dtype=np.int64 if issubclass(kind, int) else kind)
        )
    if not issubclass(kind, float | np.floating):
        raise TypeError
    with np.errstate(over="ignore"):
        numbers = np.array(cells, dtype=np.float64)
    # A NaN differs from its floor as well.
    kept = numbers == np.floor(numbers) if whole else ~np.isnan(numbers)
    return Reading(grid, None).indexes(numbers[kept])


def reads_whole(column: ColumnType, grid: Grid) -> bool:
    """Whether untyped cells are read as whole numbers: they were declared so, or neither type nor
    domain was given.
    """
    return grid.kind == "number" and (
        column.unit == 1 or (column.kind is None and grid.anchor is not None)
    )


def as_text(cell: Any) -> str | None:
    """A text without the blanks around it; None for everything else."""
    return cell.strip(BLANKS) if isinstance(cell, str) else None


def key_of(cell: Any, wanted: ColumnType) -> str | Fraction | float | None:
    """An untyped cell as what keys of this type are."""
    if wanted.kind == "text":
        return as_text(cell)
    if wanted == BOOLEAN:
        return Fraction(int(cell)) if isinstance(cell, bool | np.bool_) else None
    return read(cell, wanted.kind or "number", zoned=wanted.zoned)


def _is_present(cell: Any, declared: ColumnType) -> bool:
    if declared.kind is None:
        # NaN is the one number that differs from itself.
        return cell is not None and not (isinstance(cell, float | np.floating) and cell != cell)  # noqa: PLR0124
    return (
        _as_whole(cell)
        if declared.unit == 1 and declared.kind == "number" and declared != BOOLEAN
        else read_as(cell, declared)
    ) is not None


def unit_of(cell: Any, declared: ColumnType) -> str | None:
    """The text of an untyped unit: of text and of whole numbers, or of whole numbers alone where
    they were declared.
    """
    if declared.kind == "number":
        return _as_whole(cell)
    whole = isinstance(cell, int | np.integer) and not isinstance(cell, bool | np.timedelta64)
    return _digits(int(cell)) if whole else as_text(cell)


def _as_whole(cell: Any) -> str | None:
    number = read(cell, "number")
    return (
        _digits(number.numerator)
        if isinstance(number, Fraction) and number.denominator == 1
        else None
    )


def _digits(whole: int) -> str:
    try:
        return str(whole)
    except ValueError:  # Python writes no whole number of some thousand digits, except like this.
        return hex(whole)


def read_as(cell: Any, wanted: ColumnType) -> str | int | float | None:
    """An untyped cell, read as this type."""
    if wanted.kind == "text":
        return as_text(cell)
    if wanted == BOOLEAN:
        return int(cell) if isinstance(cell, bool | np.bool_) else None
    number = read(cell, wanted.kind or "number", zoned=wanted.zoned)
    if number is None or wanted.unit is None:
        return None if number is None else _float(number)
    if isinstance(number, float):
        return None if wanted.kind != "number" else FURTHEST if number > 0 else -FURTHEST
    raw = number / wanted.unit
    return min(max(int(raw), -FURTHEST - 1), FURTHEST) if raw.denominator == 1 else None


def _float(number: Fraction | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _vector(cells: Sequence[Any], kind: ColumnType) -> Vector:
    valid = np.array([cell is not None for cell in cells], np.bool_)
    if kind.kind == "text":
        values: NDArray[Any] = np.empty(len(cells), object)
        values[:] = ["" if cell is None else cell for cell in cells]
        return Vector(values, valid)
    return Vector(
        np.array(
            [0 if cell is None else cell for cell in cells],
            np.float64 if kind.unit is None else np.int64,
        ),
        valid,
    )


def chosen_rows(
    selection: Selection, column_of: Callable[[str], Column], value: Ordered, grid: Grid
) -> list[Places]:
    """The rows of each group that count, whether their cell does or not; with units, those among
    whose cells theirs are the first.
    """

    def texts(here: Places) -> list[str | None]:
        return [None if index is None else str(index) for index in value.at(here).indexes(grid)]

    return _chosen(selection, column_of, np.ones(len(value), np.bool_), texts)


def present_rows(
    selection: Selection, column_of: Callable[[str], Column], present: NDArray[np.bool_]
) -> list[Places]:
    """The rows of each group, of those that are present."""
    return _chosen(selection, column_of, present, lambda here: [""] * len(here))


def _chosen(
    selection: Selection,
    column_of: Callable[[str], Column],
    present: NDArray[np.bool_],
    texts: Callable[[Places], Sequence[str | None]],
) -> list[Places]:
    numbers = np.where(present, np.int64(0), np.int64(-1))
    if any(len(column_of(name)) != len(present) for name in selection.columns):
        raise SourceError(UNEVEN)
    for i, keys in enumerate(selection.keys):
        found = column_of(keys.column).group_numbers(keys)
        numbers = np.where((found < 0) | (numbers < 0), -1, numbers + found * selection.place(i))
    if selection.where is not None:
        mask = selection.where.mask(
            {wanted: column_of(wanted.column).vector(wanted) for wanted in selection.where.inputs}
        )
        numbers[~np.broadcast_to(mask, len(numbers))] = -1
    here = np.flatnonzero(numbers >= 0)
    if selection.units is not None:
        here = _bounded(
            here,
            numbers,
            column_of(selection.units.column).unit_texts(),
            texts(here),
            selection.units,
        )
    order = here[np.argsort(numbers[here], kind="stable")]
    return np.split(order, np.searchsorted(numbers[order], np.arange(1, selection.number)))


def _bounded(
    here: Places,
    numbers: Indexes,
    units: Sequence[str | None],
    texts: Sequence[str | None],
    bound: UnitColumn,
) -> Places:
    """The first so many rows of each unit, by the md5 of `unit:grid index:number of the group`; a
    mere row has an empty index.
    """
    rows_of: dict[str, list[tuple[str, int]]] = {}
    for place, text in zip(here, texts, strict=True):
        unit = units[place]
        if unit is not None and text is not None:
            rows_of.setdefault(unit, []).append(
                (md5_of(f"{unit}:{text}:{numbers[place]}"), int(place))
            )
    kept = [
        place
        for rows in rows_of.values()
        for _, place in (sorted(rows)[: bound.rows] if len(rows) > bound.rows else rows)
    ]
    return np.array(sorted(kept), np.intp)


def md5_of(text: str) -> str:
    """The digits of a fixed, public shuffle: no secret is kept by it."""
    return md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
