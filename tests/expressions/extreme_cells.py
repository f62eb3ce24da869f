"""A table of extreme cells, as Arrow columns, as Python's own values, and as the vectors that a
predicate reads.
"""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import isnan
from typing import Any

import numpy as np
import pyarrow as pa

from postri.columns import (
    BOOLEAN,
    DATE,
    TEXT,
    ColumnType,
    decimal_type,
    float_type,
    integer_type,
    timestamp_type,
)
from postri.expressions import Input, Vector

ODD_NAME = 'odd "name"; {x} \'SELECT -- `'
INF = float("inf")

INTEGERS = [
    -(2**63),
    -(2**63) + 1,
    -(2**62),
    -101,
    -100,
    -1,
    0,
    1,
    2,
    100,
    2**53 + 1,
    2**62,
    2**63 - 2,
    2**63 - 1,
]
FLOATS = [
    float("nan"),
    INF,
    -INF,
    -0.0,
    0.0,
    5e-324,
    -5e-324,
    2.2e-308,
    9.9e-151,
    1e-150,
    -1e-150,
    1e150,
    -1e150,
    1.01e150,
    1e308,
    -1e308,
    1.7976931348623157e308,
    0.1,
    0.5,
    -0.5,
    1 / 3,
    1.0,
    2.0,
    -100.0,
    2.0**53,
    2.0**63,
    2.0**64,
    123456.789,
]
DECIMALS = [-(10**18) + 1, 10**18 - 1, 10**17, -100, -1, 0, 1, 50, 100, 12345, 10**6, -(10**12)]
TEXTS = [
    "",
    "a",
    "A",
    "b",
    "ab",
    "abc",
    "admin.",
    "a%b",
    "a_b",
    "a!b",
    "a\\b",
    "\\",
    "'",
    '"',
    "it's",
    "a\nb",
    "\n",
    " ",
    "a ",
    " a",
    "${x}",
    "{source}",
    "{{}}",
    "$",
    "%",
    "_",
    "!",
    "é",
    "e\u0301",
    "É",
    "ß",
    "\U0001f600",
    "\U0001f600a",
    "\uffff",
    "\u0001",
    "z",
    "ab" * 5_000,
    *("2024-01-31", "NULL", "0", "-- comment", "; DROP TABLE cells", "?", ":x", "@x", "\t"),
]
DATES = [
    date.min,
    date.max,
    date(1969, 12, 31),
    date(1970, 1, 1),
    date(2024, 1, 31),
    date(2024, 2, 29),
    date(1582, 10, 10),
]
MOMENTS = [
    datetime.min,
    datetime.max,
    datetime(1970, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(2024, 1, 31),
    datetime(2024, 1, 31, 12, 30),
    datetime(2024, 1, 31, 12, 30, 0, 1),
    datetime(1900, 1, 1, 0, 0, 0, 1),
]

CELLS: dict[str, tuple[list[Any], pa.DataType, ColumnType]] = {
    "i": (INTEGERS, pa.int64(), integer_type(64)),
    "j": (INTEGERS, pa.int64(), integer_type(64)),
    "s": ([-(2**15), -1, 0, 1, 2, 100, 2**15 - 1], pa.int16(), integer_type(16)),
    "d": (
        [Decimal(cell).scaleb(-2) for cell in DECIMALS],
        pa.decimal128(18, 2),
        decimal_type(18, 2),
    ),
    "e": (
        [Decimal(cell).scaleb(-6) for cell in DECIMALS],
        pa.decimal128(18, 6),
        decimal_type(18, 6),
    ),
    "f": (FLOATS, pa.float64(), float_type(64)),
    "h": (FLOATS, pa.float64(), float_type(64)),
    "g": (
        [float(np.float32(cell)) for cell in FLOATS if not 3e38 < abs(cell) < INF],
        pa.float32(),
        float_type(32),
    ),
    "b": ([True, False], pa.bool_(), BOOLEAN),
    "c": ([True, False], pa.bool_(), BOOLEAN),
    "t": (TEXTS, pa.string(), TEXT),
    ODD_NAME: (TEXTS, pa.string(), TEXT),
    "day": (DATES, pa.date32(), DATE),
    "ts": (MOMENTS, pa.timestamp("us"), timestamp_type("timestamp", 10**6)),
    "tz": (
        [each.replace(tzinfo=UTC) for each in MOMENTS[2:]],
        pa.timestamp("us", tz="UTC"),
        timestamp_type("zoned", 10**6, zoned=True),
    ),
}
# Only DuckDB has whole numbers without a sign.
UNSIGNED = {
    "u": (
        [0, 1, 2, 100, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1],
        pa.uint64(),
        integer_type(64, signed=False),
    )
}
TYPES = {name: declared for name, (_, _, declared) in {**CELLS, **UNSIGNED}.items()}
ROWS = 90


def extreme_table(rows: int = ROWS, seed: int = 5) -> pa.Table:
    """Each column has all its cells and some nulls, in an order of its own."""
    source, columns = random.Random(seed), {"row": pa.array(range(rows), pa.int64())}
    for name, (cells, kind, _) in {**CELLS, **UNSIGNED}.items():
        column = [*cells, None] + [
            source.choice([*cells, None]) for _ in range(rows - len(cells) - 1)
        ]
        source.shuffle(column)
        columns[name] = pa.array(column, kind)
    return pa.table(columns)


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The cells as exact numbers (of seconds for dates and timestamps), floats, texts and truth
    values; None for null and NaN.
    """
    return [{name: _plain(cell) for name, cell in row.items()} for row in table.to_pylist()]


def _plain(cell: Any) -> Any:
    if cell is None or isinstance(cell, bool | str):
        return cell
    if isinstance(cell, float):
        return None if isnan(cell) else cell
    if isinstance(cell, datetime):
        return Fraction(
            (cell.replace(tzinfo=None) - datetime(1970, 1, 1)) // timedelta(microseconds=1), 10**6
        )
    return (
        Fraction((cell - date(1970, 1, 1)).days * 86_400)
        if isinstance(cell, date)
        else Fraction(cell)
    )


def vectors(table: pa.Table, inputs: tuple[Input, ...]) -> dict[Input, Vector]:
    """What a predicate reads of the table."""
    return {
        wanted: _vector(table[wanted.column].combine_chunks(), wanted.type) for wanted in inputs
    }


def _vector(column: pa.Array, declared: ColumnType) -> Vector:
    valid = np.array(column.is_valid())
    cells = column.to_pylist()
    if pa.types.is_string(column.type):
        values = np.array([*cells, None], object)[:-1]
    elif pa.types.is_decimal(column.type):
        values = np.array(
            [0 if cell is None else int(cell / _unit(declared)) for cell in cells], np.int64
        )
    elif pa.types.is_temporal(column.type):
        values = (
            column.cast(pa.int32() if pa.types.is_date(column.type) else pa.int64())
            .fill_null(0)
            .to_numpy()
        )
    else:
        kind = "uint8" if pa.types.is_boolean(column.type) else column.type.to_pandas_dtype()
        values = np.array([0 if cell is None else cell for cell in cells], kind)
    return Vector(values, valid)


def _unit(declared: ColumnType) -> Decimal:
    assert declared.unit is not None
    return Decimal(declared.unit.numerator) / Decimal(declared.unit.denominator)
