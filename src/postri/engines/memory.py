"""The array engine: one column or several in memory, typed or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.columns import BOOLEAN, DATE, NO_ORDER, ColumnType, float_type, integer_type, timestamp_type
from postri.engines.array import ArrayCounter
from postri.engines.base import Target, find_windows
from postri.engines.grammar import read_index
from postri.engines.piece import Piece
from postri.engines.reading import Reading
from postri.errors import InputError
from postri.grid import Grid
from postri.window import RankWindow

DAYS = {"D": 1, "W": 7}
SECONDS = {
    **{"h": Fraction(3600), "m": Fraction(60), "s": Fraction(1)},
    **{unit: Fraction(1, 10**digits) for unit, digits in (("ms", 3), ("us", 6), ("ns", 9), ("ps", 12), ("fs", 15), ("as", 18))},
}
FAR_YEARS = 30_000
MISSING = np.iinfo(np.int64).min


@dataclass(frozen=True)
class TypedColumn:
    """Raw cells of a declared type."""

    type: ColumnType
    pieces: Sequence[Piece]

    def counter(self, grid: Grid) -> ArrayCounter:
        """The column on a grid."""
        return ArrayCounter(self.pieces, Reading(grid, self.type.unit))


@dataclass(frozen=True)
class UntypedColumn:
    """Cells of any kind, read by the grammar."""

    type: ColumnType
    cells: Sequence[Any]

    def counter(self, grid: Grid) -> ArrayCounter:
        """The column on a grid: its cells become indexes once."""
        indexes = read_indexes(self.cells, grid, whole=reads_whole(self.type, grid))
        # The cells are indexes by now: a grid on which every whole number is its own index.
        return ArrayCounter([Piece(indexes)], Reading(replace(grid, base=Fraction(0), step=Fraction(1)), Fraction(1)))


Column = TypedColumn | UntypedColumn


class ArrayEngine:
    """Columns by name, or one column under the name None. A column is opened when it is first asked for."""

    def __init__(self, columns: Mapping[str | None, Callable[[], Column]]) -> None:
        self._openers = columns
        self._columns: dict[str | None, Column] = {}
        self._counters: dict[tuple[str | None, Grid], ArrayCounter] = {}

    @property
    def names(self) -> list[str] | None:
        """The names of the columns; None if there is one without a name."""
        return None if None in self._openers else [name for name in self._openers if name is not None]

    def _column(self, name: str | None) -> Column:
        if name not in self._columns:
            self._columns[name] = self._openers[name]()
        return self._columns[name]

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        return self._column(column).type

    def windows(self, column: str | None, grid: Grid, targets: Sequence[Target]) -> list[RankWindow]:
        """The window of each target."""
        key = (column, grid)
        if key not in self._counters:
            self._counters = {key: self._column(column).counter(grid)}
        return find_windows(self._counters[key], grid, targets)


def read_indexes(cells: Sequence[Any], grid: Grid, *, whole: bool) -> NDArray[np.int64]:
    """The indexes of untyped cells, without those that are dropped."""
    kinds = set(map(type, cells))
    if len(kinds) == 1 and grid.kind == "number":
        try:
            return _alike(cells, kinds.pop(), grid, whole)
        except Exception:  # cells that cannot be read at once are read one by one
            pass
    found = (read_index(cell, grid, whole=whole) for cell in cells)
    return np.array([index for index in found if index is not None], dtype=np.int64)


def _alike(cells: Sequence[Any], kind: type, grid: Grid, whole: bool) -> NDArray[np.int64]:
    """The same for cells of one numeric kind, all at once; TypeError for another kind."""
    if issubclass(kind, int | np.integer) and not issubclass(kind, bool | np.timedelta64):
        return Reading(grid, Fraction(1)).indexes(np.array(cells, dtype=np.int64 if issubclass(kind, int) else kind))
    if not issubclass(kind, float | np.floating):
        raise TypeError
    with np.errstate(over="ignore"):
        numbers = np.array(cells, dtype=np.float64)
    # A NaN differs from its floor as well.
    kept = numbers == np.floor(numbers) if whole else ~np.isnan(numbers)
    return Reading(grid, None).indexes(numbers[kept])


def reads_whole(column: ColumnType, grid: Grid) -> bool:
    """Whether untyped cells are read as whole numbers: they were declared so, or neither type nor domain was given."""
    return grid.kind == "number" and (column.unit == 1 or (column.kind is None and grid.anchor is not None))


def numpy_column(array: NDArray[Any], declared: ColumnType) -> Column:
    """A NumPy array as a column: its dtype is its declared type; an object array has none but what the user declared."""
    if array.ndim != 1:
        raise InputError(f"a column must be one-dimensional, got an array of {array.ndim} dimensions; choose one of its columns")
    if array.dtype.kind == "O":
        return UntypedColumn(declared, array)  # type: ignore[arg-type]  # an array is a sequence in all but name
    column, raw = _typed(array.dtype)
    valid = ~np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    values = raw(np.ma.getdata(array))
    if array.dtype.kind == "M":
        times = values != MISSING
        valid = times if valid is None else times & valid
    return TypedColumn(column, [Piece(values, valid)])


def _typed(dtype: np.dtype[Any]) -> tuple[ColumnType, Callable[[NDArray[Any]], NDArray[Any]]]:
    """The declared type of a dtype, and how its cells become raw."""
    if dtype.kind in "iu":
        return integer_type(8 * dtype.itemsize, signed=dtype.kind == "i"), np.asarray
    if dtype.kind == "b":
        return BOOLEAN, lambda array: array.view(np.uint8)
    if dtype.kind == "f":
        return float_type(8 * dtype.itemsize), np.asarray
    if dtype.kind == "M":
        return _calendar(dtype)
    raise InputError(f"the column has the declared type {dtype.name}, {NO_ORDER}")


def _calendar(dtype: np.dtype[Any]) -> tuple[ColumnType, Callable[[NDArray[Any]], NDArray[Any]]]:
    """Dates and times as NumPy counts them, in units of any length; months and years become days."""
    unit, count = np.datetime_data(dtype)
    if unit in ("Y", "M"):
        return DATE, _days
    if unit in DAYS:
        return replace(DATE, unit=Fraction(DAYS[unit] * count)), _whole
    if unit not in SECONDS:
        raise InputError(f"the column has the declared type {dtype.name}, {NO_ORDER}")
    return replace(timestamp_type(dtype.name, 1), unit=SECONDS[unit] * count), _whole


def _whole(array: NDArray[Any]) -> NDArray[np.int64]:
    """The whole numbers that are stored, in the machine's byte order."""
    stored: NDArray[np.int64] = array.view(array.dtype.str[0] + "i8").astype(np.int64, copy=False)
    return stored


def _days(array: NDArray[Any]) -> NDArray[np.int64]:
    """Days since 1970-01-01 of months or years; what lies beyond the calendar stays beyond it, and does not overflow."""
    unit, count = np.datetime_data(array.dtype)
    stored = _whole(array)
    most = FAR_YEARS * (12 if unit == "M" else 1) // count
    days: NDArray[np.int64] = np.clip(stored, -most, most).view(f"datetime64[{count}{unit}]").astype("datetime64[D]").view(np.int64)
    days[stored == MISSING] = MISSING
    return days
