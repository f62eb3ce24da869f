"""From an object to columns in memory: by protocol, without importing anybody's library.

Looks at names and declared types, at no cell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.columns import (
    BOOLEAN,
    DATE,
    NO_ORDER,
    UNTYPED,
    ColumnType,
    float_type,
    integer_type,
    text_type,
    timestamp_type,
)
from postri.engines.memory.chunk import Chunk
from postri.engines.memory.columns import Column, TextColumn, TypedColumn, UntypedColumn
from postri.engines.memory.engine import MemoryEngine
from postri.engines.resolve import Types, accepted_sources
from postri.errors import InputError, PostriError, SourceError

# What pandas calls texts; categories may be objects.
TEXTS = ("str", "string", "object")
# How many days, or which share of a second, NumPy's units of time are.
DAYS = {"D": 1, "W": 7}
SECONDS = {
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "ps": Fraction(1, 10**12),
    "fs": Fraction(1, 10**15),
    "as": Fraction(1, 10**18),
}
# A year that lies beyond the calendar, and whose days can still be counted.
FAR_YEARS = 30_000
# How NumPy stores a moment that is missing.
MISSING = np.iinfo(np.int64).min

ToRaw = Callable[[NDArray[Any]], NDArray[Any]]


def memory_engine(source: Any, types: Types) -> MemoryEngine:
    """The engine of a column, or of a table of columns."""
    names = _names(source)
    takers: dict[Any, Callable[[], Any]]
    if names is None:
        takers = {None: lambda: source}
    else:
        takers = {name: partial(source.__getitem__, name) for name in names}
    return MemoryEngine(
        {
            name: partial(_column, take, name, types.get(str(name), UNTYPED))
            for name, take in takers.items()
        }
    )


def _names(source: Any) -> list[Any] | None:
    """The names of a table's columns; None if the source is one column."""
    if hasattr(type(source), "collect_schema") and not is_arrow(source):
        raise InputError(f"a {type(source).__name__} has no rows yet; collect it first")
    if isinstance(source, Mapping):
        return list(source)
    dtype = getattr(source, "dtype", None)
    names = getattr(dtype, "names", None) or getattr(source, "column_names", None)
    if names is None and hasattr(source, "columns") and hasattr(source, "__getitem__"):
        names = source.columns
    if names is None:
        return None
    return list(names)


def _column(take: Callable[[], Any], name: str | None, declared: ColumnType) -> Column:
    """One column of a table, or a source that is one."""
    column = _taken(take, declared)
    if declared is not UNTYPED and not isinstance(column, UntypedColumn):
        raise InputError(
            f"the column {name!r} has the declared type {column.type.name} already; leave it "
            "out of columns=..., or convert the column first"
        )
    return column


def _taken(take: Callable[[], Any], declared: ColumnType) -> Column:
    """The column as its library gives it.

    What a library says when it fails may carry a cell: it stays out of the error.
    """
    try:
        return _column_of(take(), declared)
    except PostriError:
        raise
    except Exception as error:
        failure = SourceError(
            f"cannot read the column: the library that holds it failed with {type(error).__name__}"
        )
    raise failure


def _column_of(source: Any, declared: ColumnType) -> Column:
    dtype = getattr(source, "dtype", None)
    if isinstance(dtype, np.dtype):
        return _numpy_column(np.asanyarray(source), declared)
    if hasattr(source, "to_numpy") and hasattr(dtype, "kind"):
        return _pandas_column(source, dtype)
    if is_arrow(source):
        return _arrow_column(source)
    if isinstance(source, range):
        return _numpy_column(np.asarray(source), declared)
    if isinstance(source, list | tuple):
        return UntypedColumn(declared, source)
    if hasattr(source, "__array__"):
        return _numpy_column(np.asarray(source), declared)
    raise InputError(
        f"cannot read an object of type {type(source).__name__} as a column; give "
        f"{accepted_sources()}"
    )


def is_arrow(source: object) -> bool:
    """Whether a source speaks the Arrow PyCapsule protocol."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def _arrow_column(source: Any) -> Column:
    from postri.engines.memory.arrow import read_column

    declared, cells = read_column(source)
    if declared.kind == "text":
        return TextColumn(declared, cells)
    return TypedColumn(declared, cells)


def _pandas_column(source: Any, dtype: Any) -> Column:
    """A pandas column of a type of its own: Arrow's, nullable numbers, moments with a zone."""
    if hasattr(dtype, "pyarrow_dtype"):
        return _arrow_column(source)
    if dtype.name == "category" and dtype.categories.dtype.name in TEXTS:
        return _category_column(source)
    if dtype.name in TEXTS:
        return TextColumn(text_type(dtype.name), _pandas_texts(source))
    valid = ~np.asarray(source.isna())
    if dtype.kind in "iufb" and hasattr(dtype, "numpy_dtype"):
        column = _numpy_column(source.to_numpy(dtype=dtype.numpy_dtype, na_value=0), UNTYPED)
        assert isinstance(column, TypedColumn)
        declared = replace(column.type, complete=False)
        return TypedColumn(declared, [Chunk(chunk.values, valid) for chunk in column.chunks])
    if dtype.kind == "M" and getattr(dtype, "unit", None) in SECONDS:
        raw = source.to_numpy(dtype=f"datetime64[{dtype.unit}]").view(np.int64)
        per_second = int(1 / SECONDS[dtype.unit])
        return TypedColumn(timestamp_type(str(dtype), per_second, zoned=True), [Chunk(raw, valid)])
    raise InputError(f"the column has the declared type {dtype}, {NO_ORDER}")


def _numpy_column(array: NDArray[Any], declared: ColumnType) -> Column:
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
        return TextColumn(text_type(array.dtype.name), _texts(array))
    column, to_raw = _numpy_type(array.dtype)
    valid = None
    # Where nobody has loaded masked arrays, this is none, and they need not be loaded.
    if "numpy.ma" in sys.modules and isinstance(array, np.ma.MaskedArray):
        valid = ~np.ma.getmaskarray(array)
        array = np.ma.getdata(array)
    values = to_raw(array)
    if array.dtype.kind == "M":
        times = values != MISSING
        valid = times if valid is None else times & valid
    if array.dtype.kind in "iub" and valid is None:
        column = _complete(array.dtype)
    return TypedColumn(column, [Chunk(values, valid)])


def _category_column(source: Any) -> TextColumn:
    """Categories by their places; a cell of none has the place -1."""
    texts = [*_pandas_texts(source.dtype.categories.to_series()), None]
    return TextColumn(text_type("category"), [texts[place] for place in source.cat.codes.tolist()])


def _pandas_texts(source: Any) -> Sequence[str | None]:
    """Texts that pandas holds: where it holds them as Arrow does, nobody has checked them."""
    if getattr(source.dtype, "storage", "") == "pyarrow" and is_arrow(source):
        from postri.engines.memory.arrow import read_column

        return read_column(source)[1]
    return _texts(source)


def _texts(cells: Any) -> Sequence[str | None]:
    """The cells that are text, by the library's own way to make a list of them."""
    return [cell if isinstance(cell, str) else None for cell in cells.tolist()]


@lru_cache(maxsize=64)
def _complete(dtype: np.dtype[Any]) -> ColumnType:
    """The declared type of a dtype in which no cell can be missing."""
    return replace(_numpy_type(dtype)[0], complete=True)


@lru_cache(maxsize=64)
def _numpy_type(dtype: np.dtype[Any]) -> tuple[ColumnType, ToRaw]:
    """The declared type of a dtype, and how its cells become raw."""
    if dtype.kind in "iu":
        return integer_type(8 * dtype.itemsize, signed=dtype.kind == "i"), np.asarray
    if dtype.kind == "b":
        return BOOLEAN, lambda array: array.view(np.uint8)
    if dtype.kind == "f":
        return float_type(8 * dtype.itemsize), np.asarray
    if dtype.kind == "M":
        return _numpy_calendar(dtype)
    raise InputError(f"the column has the declared type {dtype.name}, {NO_ORDER}")


def _numpy_calendar(dtype: np.dtype[Any]) -> tuple[ColumnType, ToRaw]:
    """Dates and times as NumPy counts them, in any unit; months and years become days."""
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
    units_of_year = 12 if unit == "M" else 1
    most = FAR_YEARS * units_of_year // count
    stored = _whole(array)
    inside = np.clip(stored, -most, most).view(f"datetime64[{count}{unit}]")
    days: NDArray[np.int64] = inside.astype("datetime64[D]").view(np.int64)
    days[stored == MISSING] = MISSING
    return days
