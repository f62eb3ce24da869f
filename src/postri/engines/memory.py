"""The array engine: one column or several in memory, typed or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.columns import (
    BOOLEAN,
    DATE,
    NO_ORDER,
    ColumnType,
    float_type,
    integer_type,
    text_type,
    timestamp_type,
)
from postri.engines.array import ArrayCounter
from postri.engines.base import find_windows
from postri.engines.held import (
    Column,
    TextColumn,
    TypedColumn,
    UntypedColumn,
    chosen_rows,
    computed_column,
    present_rows,
)
from postri.engines.piece import Piece
from postri.engines.rows import EVERY_ROW, Selection
from postri.errors import InputError
from postri.expressions import Bound, Value
from postri.grid import Grid
from postri.window import RankWindow, Target, Total

DAYS = {"D": 1, "W": 7}
SECONDS = {
    **{"h": Fraction(3600), "m": Fraction(60), "s": Fraction(1)},
    **{
        unit: Fraction(1, 10**digits)
        for unit, digits in (("ms", 3), ("us", 6), ("ns", 9), ("ps", 12), ("fs", 15), ("as", 18))
    },
}
FAR_YEARS = 30_000
MISSING = np.iinfo(np.int64).min


class ArrayEngine:
    """Columns by name, or one column under the name None.

    A column is opened, or computed, when it is first asked for.
    """

    def __init__(
        self,
        columns: Mapping[str | None, Callable[[], Column]],
        computed: Mapping[str, Value] | None = None,
    ) -> None:
        self._openers, self._computed = columns, computed or {}
        self._columns: dict[str | None, Column] = {}
        self._counters: dict[tuple[str | None, Grid, Selection], list[ArrayCounter]] = {}

    @property
    def names(self) -> list[str] | None:
        """The names of the columns; None if there is one without a name."""
        return (
            None if None in self._openers else [name for name in self._openers if name is not None]
        )

    def _column(self, name: str | None) -> Column:
        if name not in self._columns:
            value = self._computed.get(str(name))
            self._columns[name] = (
                self._openers[name]() if value is None else computed_column(value, self._column)
            )
        return self._columns[name]

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        value = self._computed.get(str(column))
        return self._column(column).type if value is None else value.type

    def computed(self, columns: Mapping[str, Value]) -> ArrayEngine:
        """The same table, which can also be asked about these columns.

        Its own are opened once for both.
        """
        return ArrayEngine(
            {name: partial(self._column, name) for name in self._openers},
            {**self._computed, **columns},
        )

    def windows(
        self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection = EVERY_ROW
    ) -> list[list[RankWindow]]:
        """For each group the window of each target."""
        key = (column, grid, rows)
        if key not in self._counters:
            self._counters = {key: list(self._chosen(column, grid, rows))}
        return [
            window
            for counter in self._counters[key]
            for window in find_windows(counter, grid, targets)
        ]

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Any grid will do: indexes are Python's numbers here."""

    def totals(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> list[Total]:
        """For each group how many cells count, and the sum of their indexes."""
        return [counter.total() for counter in self._chosen(column, grid, rows)]

    def sizes(self, column: str | None, rows: Selection = EVERY_ROW) -> list[int]:
        """For each group how many rows there are, or how many in which a column has a cell."""
        present = (
            np.ones(self._length(), np.bool_) if column is None else self._column(column).present()
        )
        return [len(here) for here in present_rows(rows, self._column, present)]

    def _length(self) -> int:
        """How many rows there are, by a column that can be opened."""
        for name in self._openers:
            with suppress(InputError):
                return len(self._column(name))
        raise InputError("the source has no column whose rows can be counted")

    def matching(self, conditions: Sequence[Bound]) -> list[int]:
        """On how many rows each condition holds."""
        rows = self._length()
        masks = [
            condition.mask(
                {each: self._column(each.column).vector(each) for each in condition.inputs}
            )
            for condition in conditions
        ]
        return [int(np.count_nonzero(np.broadcast_to(mask, rows))) for mask in masks]

    def _chosen(self, column: str | None, grid: Grid, rows: Selection) -> Iterator[ArrayCounter]:
        """A counter for each group."""
        value = self._column(column)
        assert not isinstance(value, TextColumn)
        if rows.plain:
            yield value.counter(grid)
            return
        yield from (
            value.at(here).counter(grid) for here in chosen_rows(rows, self._column, value, grid)
        )


def numpy_column(array: NDArray[Any], declared: ColumnType) -> Column:
    """A NumPy array as a column: its dtype is its declared type; an object array has none but what
    the user declared.
    """
    if array.ndim != 1:
        raise InputError(
            f"a column must be one-dimensional, got an array of {array.ndim} dimensions; "
            "choose one of its columns"
        )
    if array.dtype.kind == "O":
        return UntypedColumn(declared, array)  # type: ignore[arg-type]  # an array is a sequence in all but name
    if array.dtype.kind in "UT":
        return text_column(array.dtype.name, array)
    column, raw = _typed(array.dtype)
    valid = ~np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    values = raw(np.ma.getdata(array))
    if array.dtype.kind == "M":
        times = values != MISSING
        valid = times if valid is None else times & valid
    return TypedColumn(column, [Piece(values, valid)])


def text_column(declared: str, cells: Any) -> TextColumn:
    """Texts that a library holds, by its own way to make a list of them.

    What is not text is null.
    """
    listed = next(
        getattr(cells, name)()
        for name in ("to_pylist", "to_list", "tolist")
        if hasattr(cells, name)
    )
    return TextColumn(
        text_type(declared), [cell if isinstance(cell, str) else None for cell in listed]
    )


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
    """Days since 1970-01-01 of months or years; what lies beyond the calendar stays beyond it, and
    does not overflow.
    """
    unit, count = np.datetime_data(array.dtype)
    stored = _whole(array)
    most = FAR_YEARS * (12 if unit == "M" else 1) // count
    days: NDArray[np.int64] = (
        np.clip(stored, -most, most)
        .view(f"datetime64[{count}{unit}]")
        .astype("datetime64[D]")
        .view(np.int64)
    )
    days[stored == MISSING] = MISSING
    return days
