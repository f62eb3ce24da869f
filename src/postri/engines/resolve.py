"""From what a user has to an engine: by protocol, without importing anybody's library.

Looks at names and declared types, at no cell.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from postri.columns import DECLARABLE, NO_ORDER, UNTYPED, ColumnType, timestamp_type
from postri.engines.arrow import is_arrow, read_column
from postri.engines.base import CsvFormat, Engine
from postri.engines.held import Column, TypedColumn, UntypedColumn
from postri.engines.memory import SECONDS, ArrayEngine, numpy_column, text_column
from postri.engines.piece import Piece
from postri.engines.scans import SqlEngine
from postri.errors import InputError, PostriError, SourceError, nearest
from postri.exact import shown

# What pandas calls texts; categories may be objects.
TEXTS = ("str", "string", "object")
SOURCES = (
    "a list, a NumPy array, a pandas, Polars or Arrow column or table, a dictionary of "
    "columns, a DuckDB relation, "
    "or the path of a CSV or Parquet file"
)


def engine_of(source: Any, declared: Mapping[str, str | None] | None, csv: CsvFormat) -> Engine:
    """The engine for a source, with the types that the user declares of columns whose source
    declares none.
    """
    if declared is not None and not isinstance(declared, Mapping):
        raise InputError(
            f"columns must map names to types, such as {{'salary': 'integer'}}, got "
            f"{shown(declared)}"
        )
    types = {name: _declared(name, text) for name, text in (declared or {}).items()}
    if isinstance(source, str | os.PathLike):
        from postri.engines.files import file_engine

        engine: Engine = file_engine(os.fspath(source), types, csv)
    elif type(source).__name__ == "DuckDBPyRelation":
        from postri.engines.duckdb import RelationSource

        relation = RelationSource(source)
        engine = SqlEngine(relation, relation.types())
    elif type(source).__name__ == "DataFrame" and type(source).__module__.startswith(
        "pyspark.sql."
    ):
        from postri.engines.spark import SparkSource

        frame = SparkSource(source)
        engine = SqlEngine(frame, frame.types())
    else:
        names = _names(source)
        columns = (
            {None: lambda: source}
            if names is None
            else {name: partial(source.__getitem__, name) for name in names}
        )
        engine = ArrayEngine(
            {
                name: partial(_column, take, name, types.get(str(name), UNTYPED))
                for name, take in columns.items()
            }
        )
    _check_declared(types, engine.names)
    return engine


def _declared(name: str, text: object) -> ColumnType:
    if text is None:
        return UNTYPED
    if not isinstance(text, str) or text not in DECLARABLE:
        raise InputError(
            f"the type of column {name!r} must be one of {', '.join(DECLARABLE)}, got {shown(text)}"
        )
    return DECLARABLE[text]


def _check_declared(types: Iterable[str], names: Iterable[str] | None) -> None:
    for name in types:
        if name not in (names or ()):
            raise InputError(
                f"a type is declared for an unknown column {name!r}"
                + (f"; {nearest(name, names)}" if names else "")
            )


def _names(source: Any) -> list[Any] | None:
    """The names of a table's columns; None if the source is one column."""
    if hasattr(type(source), "collect_schema") and not is_arrow(source):
        raise InputError(f"a {type(source).__name__} has no rows yet; collect it first")
    if isinstance(source, Mapping):
        return list(source)
    names = getattr(getattr(source, "dtype", None), "names", None) or getattr(
        source, "column_names", None
    )
    if names is None and hasattr(source, "columns") and hasattr(source, "__getitem__"):
        names = source.columns
    return None if names is None else list(names)


def _column(take: Callable[[], Any], name: str | None, declared: ColumnType) -> Column:
    """One column of a table, or a source that is one."""
    column = _handed_over(take, declared)
    if not isinstance(column, UntypedColumn) and declared is not UNTYPED:
        raise InputError(
            f"the column {name!r} has the declared type {column.type.name} already; leave it "
            "out of columns=..."
        )
    return column


def _handed_over(take: Callable[[], Any], declared: ColumnType) -> Column:
    """The column as its library gives it.

    What a library says when it fails may carry a cell: it stays out of the error.
    """
    try:
        return _opened(take(), declared)
    except PostriError:
        raise
    except Exception as error:
        failure = SourceError(
            f"cannot read the column: the library that holds it failed with {type(error).__name__}"
        )
    raise failure


def _opened(source: Any, declared: ColumnType) -> Column:
    dtype = getattr(source, "dtype", None)
    if isinstance(dtype, np.dtype):
        return numpy_column(np.asanyarray(source), declared)
    if hasattr(source, "to_numpy") and hasattr(dtype, "kind"):
        return _extension(source, dtype)
    if is_arrow(source):
        return _arrow(source)
    if isinstance(source, range):
        return numpy_column(np.asarray(source), declared)
    if isinstance(source, list | tuple):
        return UntypedColumn(declared, source)
    if hasattr(source, "__array__"):
        return numpy_column(np.asarray(source), declared)
    raise InputError(
        f"cannot read an object of type {type(source).__name__} as a column; give {SOURCES}"
    )


def _arrow(source: Any) -> Column:
    declared, pieces = read_column(source)
    return (
        text_column(declared.name, source)
        if declared.kind == "text"
        else TypedColumn(declared, pieces)
    )


def _extension(source: Any, dtype: Any) -> Column:
    """A pandas column whose type is not NumPy's:

    Arrow's, nullable numbers, timestamps with a zone.
    """
    if hasattr(dtype, "pyarrow_dtype"):
        return _arrow(source)
    if (dtype.categories.dtype if dtype.name == "category" else dtype).name in TEXTS:
        return text_column(dtype.name, source)
    valid = ~np.asarray(source.isna())
    if dtype.kind in "iufb" and hasattr(dtype, "numpy_dtype"):
        column = numpy_column(source.to_numpy(dtype=dtype.numpy_dtype, na_value=0), UNTYPED)
    elif dtype.kind == "M" and getattr(dtype, "unit", None) in SECONDS:
        raw = source.to_numpy(dtype=f"datetime64[{dtype.unit}]").view(np.int64)
        return TypedColumn(
            timestamp_type(str(dtype), int(1 / SECONDS[dtype.unit]), zoned=True),
            [Piece(raw, valid)],
        )
    else:
        raise InputError(f"the column has the declared type {dtype}, {NO_ORDER}")
    assert isinstance(column, TypedColumn)
    return TypedColumn(column.type, [Piece(piece.values, valid) for piece in column.pieces])
