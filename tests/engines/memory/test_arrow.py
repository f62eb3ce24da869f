"""The Arrow reader, against what pyarrow, polars and pandas export, and against a hand-made
producer that counts its releases.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import postri
from postri.columns import (
    BOOLEAN,
    DATE,
    ColumnType,
    decimal_type,
    float_type,
    integer_type,
    timestamp_type,
)
from postri.engines.memory.arrow import (
    ArrowArray,
    ArrowArrayStream,
    ArrowSchema,
    read_column,
)
from postri.engines.memory.chunk import Chunk
from postri.engines.memory.source import is_arrow
from postri.errors import InputError, SourceError

TOLD = "which has no order of numbers; choose a column of numbers, dates or timestamps"


def cells(chunks: list[Chunk]) -> list[object]:
    """The raw values of all chunks, None where not valid."""
    return [
        value if valid else None
        for chunk in chunks
        for value, valid in zip(
            chunk.values.tolist(),
            np.ones(len(chunk.values), bool) if chunk.valid is None else chunk.valid,
            strict=True,
        )
    ]


@pytest.fixture
def allocated() -> Callable[[], int]:
    """The bytes that Arrow holds beyond those at the start of the test."""

    def now() -> int:
        gc.collect()
        return pa.total_allocated_bytes()

    before = now()
    return lambda: now() - before


PyCapsule_New = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Fill = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
PINNED: list[object] = []  # What C points to: Python must not free it.


@dataclass
class Producer:
    """Exports chunks of int64 and lists what is released.

    Its capsules have no destructor: all releases are the reader's.
    """

    chunks: list[list[int]]
    null_count: int = 0
    bitmap: bytes | None = None
    metadata: dict[bytes, bytes] = field(default_factory=dict)
    format: bytes = b"l"
    fails_at: object = None  # "schema", or the number of the chunk
    released: list[str] = field(default_factory=list)
    given: int = 0

    def array(self) -> SimpleNamespace:
        """A source that is one array."""
        schema, array = ArrowSchema(), ArrowArray()
        self.get_schema(0, ctypes.addressof(schema))
        self.get_next(0, ctypes.addressof(array))
        capsules = capsule(schema, b"arrow_schema"), capsule(array, b"arrow_array")
        return SimpleNamespace(__arrow_c_array__=lambda: capsules)

    def stream(self) -> SimpleNamespace:
        """A source that is a stream of arrays."""
        get_schema, get_next = callback(Fill, self.get_schema), callback(Fill, self.get_next)
        stream = ArrowArrayStream(
            get_schema=get_schema,
            get_next=get_next,
            release=self.releaser("stream", ArrowArrayStream),
        )
        only = capsule(stream, b"arrow_array_stream")
        return SimpleNamespace(__arrow_c_stream__=lambda: only)

    def get_schema(self, stream: int, out: int) -> int:
        if self.fails_at == "schema":
            return 5
        schema = ArrowSchema.from_address(out)
        schema.format, schema.release = self.format, self.releaser("schema", ArrowSchema)
        texts = [text for pair in self.metadata.items() for text in pair]
        packed = np.int32(len(self.metadata)).tobytes() + b"".join(
            np.int32(len(text)).tobytes() + text for text in texts
        )
        schema.metadata = pin(ctypes.create_string_buffer(packed)) if self.metadata else None
        return 0

    def get_next(self, stream: int, out: int) -> int:
        if self.fails_at == self.given:
            return 5
        if self.given < len(self.chunks):
            self.fill(ArrowArray.from_address(out), self.chunks[self.given])
            self.given += 1
        return 0

    def fill(self, array: ArrowArray, chunk: list[int]) -> None:
        bitmap = pin(ctypes.create_string_buffer(self.bitmap)) if self.bitmap else None
        values = pin((ctypes.c_int64 * len(chunk))(*chunk)) if chunk else None
        array.buffers, array.n_buffers = pin((ctypes.c_void_p * 2)(bitmap, values)), 2
        array.length, array.null_count = len(chunk), self.null_count
        array.release = self.releaser(f"array {self.given}", ArrowArray)

    def releaser(self, name: str, struct: type[ctypes.Structure]) -> int:
        def release(address: int) -> None:
            self.released.append(name)
            struct.from_address(address).release = None

        return callback(Release, release)


def callback(prototype: Callable[..., object], function: Callable[..., object]) -> int | None:
    PINNED.append(pointer := prototype(function))
    return ctypes.cast(pointer, ctypes.c_void_p).value


def pin(memory: ctypes.Array | ctypes.Structure) -> int:
    PINNED.append(memory)
    return ctypes.addressof(memory)


def capsule(struct: ctypes.Structure, name: bytes) -> object:
    return PyCapsule_New(pin(struct), pin(ctypes.create_string_buffer(name)), None)


# Declared types.

INTEGERS = [(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)]
ZONES = [None, "UTC", "Europe/Vienna", "+01:00"]
UNITS = [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)]


@pytest.mark.parametrize(("bits", "signed"), INTEGERS)
def test_integers_keep_their_width_sign_and_extremes(bits: int, signed: bool) -> None:
    declared = integer_type(bits, signed=signed)
    column, [chunk] = read_column(
        pa.array([declared.low, None, declared.high], getattr(pa, declared.name)())
    )
    assert column == declared
    assert chunk.values.dtype == declared.name
    assert cells([chunk]) == [declared.low, None, declared.high]


@pytest.mark.parametrize(
    ("bits", "declared"), [(16, pa.float16()), (32, pa.float32()), (64, pa.float64())]
)
def test_floats_keep_their_width_infinities_and_nan(bits: int, declared: pa.DataType) -> None:
    column, [chunk] = read_column(
        pa.array(np.array([1.5, -np.inf, np.nan], f"float{bits}"), declared, from_pandas=False)
    )
    assert column == float_type(bits)
    assert chunk.values.dtype == f"float{bits}"
    np.testing.assert_array_equal(chunk.values, [1.5, -np.inf, np.nan])


def test_booleans_become_bytes() -> None:
    column, [chunk] = read_column(pa.array([True, False, None, True]))
    assert column == BOOLEAN
    assert chunk.values.dtype == np.uint8
    assert cells([chunk]) == [1, 0, None, 1]


@pytest.mark.parametrize("declared", [pa.date32(), pa.date64()])
def test_dates_are_days_since_1970(declared: pa.DataType) -> None:
    column, [chunk] = read_column(pa.array([date(1970, 1, 2), date(1969, 12, 30), None], declared))
    assert column == DATE
    assert chunk.values.dtype == np.int32
    assert cells([chunk]) == [1, -2, None]


def test_milliseconds_within_a_day_of_date64_round_down() -> None:
    _, chunks = read_column(pa.array([-1, 0, 86_399_999, 86_400_000], pa.int64()).view(pa.date64()))
    assert cells(chunks) == [-1, 0, 0, 1]


def test_date64_beyond_the_range_of_dates_is_cut_to_it() -> None:
    _, chunks = read_column(pa.array([-(2**63), 2**63 - 1], pa.int64()).view(pa.date64()))
    assert cells(chunks) == [DATE.low, DATE.high]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("unit", "per_second"), UNITS)
def test_timestamps_count_units_since_1970_whatever_the_zone(
    unit: str, per_second: int, zone: str | None
) -> None:
    column, [chunk] = read_column(pa.array([0, -7, None, 2**62], pa.timestamp(unit, zone)))
    assert column == timestamp_type(
        f"timestamp[{unit}{f', tz={zone}' if zone else ''}]", per_second, zoned=zone is not None
    )
    assert chunk.values.dtype == np.int64
    assert cells([chunk]) == [0, -7, None, 2**62]


@pytest.mark.parametrize(
    ("declared", "digits", "scale"),
    [
        (pa.decimal32(9, 2), 9, 2),
        (pa.decimal64(18, 2), 18, 2),
        (pa.decimal128(18, 2), 18, 2),
        (pa.decimal128(5, 0), 5, 0),
        (pa.decimal128(5, 2), 5, 2),
    ],
)
def test_decimals_are_whole_numbers_of_their_last_place(
    declared: pa.DataType, digits: int, scale: int
) -> None:
    most = 10**digits - 1
    values = [
        None if raw is None else Decimal(raw).scaleb(-scale) for raw in (most, -most, None, -1, 0)
    ]
    column, chunks = read_column(pa.array(values, declared))
    assert column == decimal_type(digits, scale)
    assert cells(chunks) == [most, -most, None, -1, 0]


def test_a_negative_scale_counts_in_powers_of_ten() -> None:
    column, chunks = read_column(pa.array([Decimal(1200)], pa.decimal128(5, -2)))
    assert (column.unit, cells(chunks)) == (Fraction(100), [12])


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        (pa.decimal128(19, 2), r"decimal128\(19,2\)"),
        (pa.decimal128(38, 0), r"decimal128\(38,0\)"),
        (pa.decimal256(10, 2), r"decimal256\(10,2\)"),
        (pa.decimal256(76, 2), r"decimal256\(76,2\)"),
    ],
)
def test_wide_decimals_are_refused_by_what_they_declare(declared: pa.DataType, name: str) -> None:
    with pytest.raises(
        InputError, match=f"declared type {name}; cast it to a decimal of at most 18 digits"
    ):
        read_column(pa.array([Decimal(1)], declared))


REFUSED = [
    (pa.null(), "null"),
    (pa.binary(), "binary"),
    (pa.large_binary(), "large_binary"),
    (pa.binary_view(), "binary_view"),
    (pa.binary(4), "fixed_size_binary"),
    (pa.list_(pa.int64()), "list"),
    (pa.large_list(pa.int64()), "large_list"),
    (pa.list_view(pa.int64()), "list_view"),
    (pa.large_list_view(pa.int64()), "large_list_view"),
    (pa.list_(pa.int64(), 2), "fixed_size_list"),
    (pa.map_(pa.int64(), pa.int64()), "map"),
    (pa.dense_union([pa.field("a", pa.int64())]), "dense_union"),
    (pa.sparse_union([pa.field("a", pa.int64())]), "sparse_union"),
    (pa.dictionary(pa.int32(), pa.int64()), "dictionary"),
    (pa.run_end_encoded(pa.int32(), pa.int64()), "run_end_encoded"),
    (pa.time32("s"), "time32[s]"),
    (pa.time32("ms"), "time32[ms]"),
    (pa.time64("us"), "time64[us]"),
    (pa.time64("ns"), "time64[ns]"),
    (pa.duration("s"), "duration[s]"),
    (pa.duration("ms"), "duration[ms]"),
    (pa.duration("us"), "duration[us]"),
    (pa.duration("ns"), "duration[ns]"),
    (pa.month_day_nano_interval(), "interval[month_day_nano]"),
    (pa.bool8(), "extension arrow.bool8"),
    (pa.uuid(), "extension arrow.uuid"),
]


@pytest.mark.parametrize(("declared", "name"), REFUSED, ids=[name for _, name in REFUSED])
def test_types_without_an_order_of_numbers_are_refused_by_name(
    declared: pa.DataType, name: str
) -> None:
    """An empty chunked array and an empty array suffice: the declared type decides."""
    for source in (pa.chunked_array([], declared), pa.nulls(0, declared)):
        with pytest.raises(InputError) as caught:
            read_column(source)
        assert str(caught.value) == f"the column has the declared type {name}, {TOLD}"


def test_the_refusal_is_the_same_with_and_without_values() -> None:
    messages = set()
    for source in (
        pa.array([b"1", b"2"]),
        pa.array([None], pa.binary()),
        pa.array([], pa.binary()),
    ):
        with pytest.raises(InputError) as caught:
            read_column(source)
        messages.add(str(caught.value))
    assert len(messages) == 1


TEXTS = [
    (pa.array(["a"]), "utf8"),
    (pa.array(["a"], pa.large_utf8()), "large_utf8"),
    (pa.array(["a"], pa.string_view()), "string_view"),
    (pa.array(["a"]).dictionary_encode(), "dictionary"),
    (pd.Series(["a"], dtype="str"), "large_utf8"),
    (pl.Series(["a"]), "string_view"),
    (pl.Series(["a"], dtype=pl.Categorical), "dictionary"),
]


@pytest.mark.parametrize(
    ("source", "name"), TEXTS, ids=[f"{type(source).__module__}-{name}" for source, name in TEXTS]
)
def test_texts_are_known_by_their_type(source: object, name: str) -> None:
    """They can be compared and divided by, but have no quantiles."""
    assert read_column(source) == (ColumnType(name, "text"), ["a"])
    with pytest.raises(InputError, match=f"{TOLD}"):
        postri.median(source, epsilon=1)


def test_a_format_from_the_future_is_named_as_it_stands() -> None:
    with pytest.raises(InputError, match="declared type '_pli128', which has no order"):
        read_column(pl.Series([1], dtype=pl.Int128))


def test_metadata_other_than_an_extension_name_is_ignored() -> None:
    column, chunks = read_column(
        Producer(
            [[1]], metadata={b"unit": b"kg", b"": b"", b"note": b"ARROW:extension:name"}
        ).array()
    )
    assert (column, cells(chunks)) == (integer_type(64), [1])


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"a": [1]}),
        pa.record_batch({"a": [1]}),
        pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), []),
        pa.array([{"a": 1}]),
        pa.chunked_array([[{"a": 1}]]),
        pl.DataFrame({"a": [1]}),
        pl.Series([{"a": 1}]),
        pd.DataFrame({"a": [1]}),
        pd.DataFrame({"a": [1, "mixed"]}),
    ],
    ids=lambda table: type(table).__module__ + "." + type(table).__name__,
)
def test_a_whole_table_is_refused(table: object) -> None:
    with pytest.raises(InputError, match=r"choose a column$"):
        read_column(table)


# Offsets, nulls, chunks.


@pytest.mark.slow
@pytest.mark.parametrize("start", [0, 1, 7, 8, 9, 15, 16, 17])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 20])
@pytest.mark.parametrize(
    "whole",
    [
        pa.array([None if i % 3 == 0 else i for i in range(40)], pa.int16()),
        pa.array([None if i % 3 == 0 else i % 2 == 0 for i in range(40)]),
        pa.array([None if i % 3 == 0 else Decimal(-i) for i in range(40)], pa.decimal128(18, 0)),
        pa.array([i % 5 < 2 for i in range(40)]),
    ],
    ids=["int16", "bool", "decimal128", "bool without nulls"],
)
def test_a_slice_reads_its_own_values_and_validity(
    whole: pa.Array, start: int, length: int
) -> None:
    _, chunks = read_column(whole.slice(start, length))
    assert cells(chunks) == [
        None if value is None else int(value) for value in whole.to_pylist()[start : start + length]
    ]


def test_no_nulls_give_no_validity() -> None:
    _, [chunk] = read_column(pa.array([1, 2]))
    assert chunk.valid is None


def test_a_validity_is_boolean() -> None:
    _, [chunk] = read_column(pa.array([1, None]))
    assert chunk.valid is not None
    assert (chunk.valid.dtype, chunk.valid.tolist()) == (np.bool_, [True, False])


def test_a_column_of_nulls_only_is_read() -> None:
    assert cells(read_column(pa.array([None, None], pa.int32()))[1]) == [None, None]


def test_an_unknown_null_count_reads_the_bitmap() -> None:
    assert cells(read_column(Producer([[1, 2, 3]], null_count=-1, bitmap=b"\x05").array())[1]) == [
        1,
        None,
        3,
    ]


def test_an_unknown_null_count_without_a_bitmap_means_all_valid() -> None:
    _, [chunk] = read_column(Producer([[1, 2, 3]], null_count=-1).array())
    assert chunk.valid is None


def test_each_chunk_is_a_piece() -> None:
    _, chunks = read_column(pa.chunked_array([[1, None], [], [3]], pa.int64()))
    assert [cells([chunk]) for chunk in chunks] == [[1, None], [], [3]]


def test_slices_across_chunks_keep_their_offsets() -> None:
    whole = pa.chunked_array([list(range(i, i + 10)) for i in range(0, 50, 10)])
    assert cells(read_column(whole.slice(7, 26))[1]) == list(range(7, 33))


def test_zero_chunks_keep_the_declared_type() -> None:
    assert read_column(pa.chunked_array([], pa.int32())) == (integer_type(32), [])


@pytest.mark.parametrize("declared", [pa.int64(), pa.bool_(), pa.date64(), pa.decimal128(5, 2)])
def test_an_empty_array_is_an_empty_piece(declared: pa.DataType) -> None:
    _, [chunk] = read_column(pa.array([], declared))
    assert (len(chunk.values), chunk.valid) == (0, None)


def test_an_empty_array_may_come_without_buffers() -> None:
    _, [chunk] = read_column(Producer([[]]).array())
    assert (len(chunk.values), chunk.valid) == (0, None)


def test_values_that_are_not_aligned_are_read() -> None:
    buffer = pa.py_buffer(b"x" + np.array([1, -2], np.int64).tobytes()).slice(1)
    assert cells(read_column(pa.Array.from_buffers(pa.int64(), 2, [None, buffer]))[1]) == [1, -2]


# Sources.


@pytest.mark.parametrize(
    "source",
    [pa.array([1]), pa.chunked_array([[1]]), pa.table({"a": [1]}), pl.Series([1]), pd.Series([1])],
)
def test_arrow_sources_are_recognised(source: object) -> None:
    assert is_arrow(source)


@pytest.mark.parametrize("source", [[1], np.array([1]), "file.parquet", None, pa.scalar(1)])
def test_other_sources_are_not_arrow(source: object) -> None:
    assert not is_arrow(source)


POLARS = [
    (pl.Series([1, None, 3], dtype=pl.UInt8), integer_type(8, signed=False), [1, None, 3]),
    (pl.Series([True, None, False]), BOOLEAN, [1, None, 0]),
    (pl.Series([1.5, None], dtype=pl.Float32), float_type(32), [1.5, None]),
    (pl.Series([date(1970, 1, 3), None]), DATE, [2, None]),
    (
        pl.Series([5, None]).cast(pl.Datetime("ms")),
        timestamp_type("timestamp[ms]", 10**3),
        [5, None],
    ),
    (
        pl.Series([5]).cast(pl.Datetime("ns", "UTC")),
        timestamp_type("timestamp[ns, tz=UTC]", 10**9, zoned=True),
        [5],
    ),
    (pl.Series(["-1.25", None]).cast(pl.Decimal(10, 2)), decimal_type(10, 2), [-125, None]),
    (pl.Series([], dtype=pl.Int64), integer_type(64), []),
    (pl.Series(range(100)).slice(33, 4), integer_type(64), [33, 34, 35, 36]),
    (
        pl.Series([None if i % 2 else True for i in range(30)]).slice(9, 4),
        BOOLEAN,
        [None, 1, None, 1],
    ),
    (pl.Series([1, 2]).append(pl.Series([None, 4])), integer_type(64), [1, 2, None, 4]),
]


@pytest.mark.parametrize(("series", "declared", "expected"), POLARS, ids=range(len(POLARS)))
def test_polars_series_are_read(
    series: pl.Series, declared: ColumnType, expected: list[object]
) -> None:
    column, chunks = read_column(series)
    assert (column, cells(chunks)) == (declared, expected)


PANDAS = [
    (pd.Series([1, 2], dtype="int16"), integer_type(16), [1, 2]),
    (pd.Series([1, None], dtype="Int64"), integer_type(64), [1, None]),
    (pd.Series([1, None], dtype="uint8[pyarrow]"), integer_type(8, signed=False), [1, None]),
    (pd.Series([1.5, 2.5]), float_type(64), [1.5, 2.5]),
    (pd.Series([True, False]), BOOLEAN, [1, 0]),
    (pd.Series([True, None], dtype="boolean"), BOOLEAN, [1, None]),
    (pd.Series(np.array([5, "NaT"], "M8[us]")), timestamp_type("timestamp[us]", 10**6), [5, None]),
    (
        pd.Series(np.array([5], "M8[ns]")).dt.tz_localize("UTC"),
        timestamp_type("timestamp[ns, tz=UTC]", 10**9, zoned=True),
        [5],
    ),
    (pd.Series(range(10), index=range(10, 20))[3:6], integer_type(64), [3, 4, 5]),
    (pd.Series([], dtype="float32"), float_type(32), []),
]


@pytest.mark.parametrize(("series", "declared", "expected"), PANDAS, ids=range(len(PANDAS)))
def test_pandas_series_are_read(
    series: pd.Series, declared: ColumnType, expected: list[object]
) -> None:
    column, chunks = read_column(series)
    assert (column, cells(chunks)) == (declared, expected)


@pytest.mark.parametrize("values", [[1, 2], [1, "secret"], [Decimal(1)], []])
def test_object_columns_of_pandas_are_refused_whatever_they_hold(values: list[object]) -> None:
    """pandas would infer an Arrow type from the cells, and fail on some."""
    with pytest.raises(InputError, match=f"declared type object, {TOLD}"):
        read_column(pd.Series(values, dtype=object))


@pytest.mark.parametrize(
    ("series", "name"),
    [
        (pd.Series([1, 2]).astype("category"), "category"),
        (pd.Series([1, "secret"]).astype("category"), "category"),
        (pd.Series([1], dtype="m8[s]"), r"duration\[s\]"),
        (pd.Series(pd.period_range("2020", periods=2, freq="D")), "extension pandas.period"),
        (pl.Series([1]).cast(pl.Duration("ms")), r"duration\[ms\]"),
        (pl.Series([None]), "null"),
        (pl.Series([[1]]), "large_list"),
    ],
)
def test_other_columns_of_pandas_and_polars_are_refused_by_name(series: object, name: str) -> None:
    with pytest.raises(InputError, match=f"declared type {name}, {TOLD}"):
        read_column(series)


def test_an_error_of_the_export_is_not_repeated() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise ValueError("Could not convert 'secret'")

    with pytest.raises(SourceError) as caught:
        read_column(Broken())
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_something_other_than_a_capsule_is_a_source_error() -> None:
    class Confused:
        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            return "schema", "array"

    with pytest.raises(SourceError):
        read_column(Confused())


# Lifetimes.


def test_reading_integers_copies_nothing() -> None:
    source = pa.array([1, 2, 3], pa.int64())
    _, [chunk] = read_column(source)
    assert chunk.values.ctypes.data == source.buffers()[1].address


def test_reading_decimals_copies_nothing() -> None:
    source = pa.array([Decimal(1), Decimal(2)], pa.decimal128(18, 0))
    _, [chunk] = read_column(source[1:])
    assert chunk.values.ctypes.data == source.buffers()[1].address + 16


def test_a_view_is_read_only() -> None:
    _, [chunk] = read_column(pa.array([1, 2, 3]))
    with pytest.raises(ValueError, match="read-only"):
        chunk.values[0] = 9


@pytest.mark.parametrize(
    "wrap", [lambda array: array, lambda array: pa.chunked_array([array])], ids=["array", "stream"]
)
def test_a_view_survives_its_source(
    wrap: Callable[[pa.Array], object], allocated: Callable[[], int]
) -> None:
    source = wrap(pa.array(np.arange(100_000)).cast(pa.int32()))
    values = read_column(source)[1][0].values[10:]
    del source
    assert allocated() >= 400_000
    np.testing.assert_array_equal(values, np.arange(10, 100_000))


@pytest.mark.parametrize(
    "wrap", [lambda array: array, lambda array: pa.chunked_array([array])], ids=["array", "stream"]
)
def test_the_memory_goes_with_the_last_view(
    wrap: Callable[[pa.Array], object], allocated: Callable[[], int]
) -> None:
    source = wrap(pa.array(np.arange(100_000)).cast(pa.int32()))
    values = read_column(source)[1][0].values[10:]
    del source, values
    assert allocated() == 0


def test_a_view_of_a_polars_series_survives_its_source() -> None:
    series = pl.Series(range(100_000))
    values = read_column(series)[1][0].values
    del series
    gc.collect()
    np.testing.assert_array_equal(values, np.arange(100_000))


def test_a_view_of_a_pandas_series_survives_its_source() -> None:
    series = pd.Series(np.arange(100_000))
    kept = weakref.ref(series)
    values = read_column(series)[1][0].values
    del series
    gc.collect()
    assert kept() is None
    np.testing.assert_array_equal(values, np.arange(100_000))


def test_a_refused_array_is_released(allocated: Callable[[], int]) -> None:
    with pytest.raises(InputError):
        read_column(pa.array(np.arange(100_000)).cast(pa.utf8()).cast(pa.binary()))
    assert allocated() == 0


def test_an_array_is_released_once_and_only_after_its_last_view() -> None:
    producer = Producer([[1, 2, 3]])
    values = read_column(producer.array())[1][0].values[1:]
    gc.collect()
    assert producer.released == []
    assert values.tolist() == [2, 3]
    del values
    gc.collect()
    assert producer.released == ["array 0"]


def test_a_stream_and_its_schema_are_released_once_after_the_reading() -> None:
    producer = Producer([[1], [2]])
    chunks = read_column(producer.stream())[1]
    gc.collect()
    assert producer.released == ["schema", "stream"]
    assert cells(chunks) == [1, 2]


def test_each_chunk_of_a_stream_is_released_on_its_own() -> None:
    producer = Producer([[1], [2], [3]])
    _, chunks = read_column(producer.stream())
    del chunks[1]
    gc.collect()
    assert producer.released == ["schema", "stream", "array 1"]
    assert cells(chunks) == [1, 3]
    chunks.clear()
    gc.collect()
    assert sorted(producer.released) == ["array 0", "array 1", "array 2", "schema", "stream"]


def test_an_array_that_is_copied_is_released_at_once() -> None:
    producer = Producer([[0, 86_400_000]], format=b"tdm")
    _, chunks = read_column(producer.array())
    gc.collect()
    assert (producer.released, cells(chunks)) == (["array 0"], [0, 1])


def test_a_stream_of_a_refused_type_is_never_asked_for_an_array() -> None:
    producer = Producer([[1]], format=b"tDs")
    with pytest.raises(InputError):
        read_column(producer.stream())
    assert (producer.given, producer.released) == (0, ["schema", "stream"])


@pytest.mark.parametrize("fails_at", ["schema", 0, 1])
def test_a_stream_that_reports_an_error_is_a_source_error(fails_at: object) -> None:
    """The producer has no get_last_error: to ask for its message would crash."""
    with pytest.raises(SourceError, match="the Arrow stream reported an error"):
        read_column(Producer([[1], [2]], fails_at=fails_at).stream())


def test_a_stream_that_fails_halfway_is_released_whole() -> None:
    producer = Producer([[1], [2]], fails_at=1)
    with pytest.raises(SourceError):
        read_column(producer.stream())
    gc.collect()
    assert sorted(producer.released) == ["array 0", "schema", "stream"]


@pytest.mark.parametrize("kind", ["array", "stream"])
def test_capsules_that_were_read_before_are_a_source_error(kind: str) -> None:
    source = getattr(Producer([[1]]), kind)()
    read_column(source)
    with pytest.raises(SourceError, match="already read"):
        read_column(source)


@pytest.mark.slow
def test_views_alive_at_exit_do_no_harm() -> None:
    run(
        "import pyarrow; from postri.engines.memory.arrow import read_column; kept = "
        "read_column(pyarrow.array([1, 2, 3]))"
    )


@pytest.mark.slow
def test_importing_the_reader_imports_no_arrow_library() -> None:
    run(
        "import sys, postri.engines.memory.arrow; assert not {'pyarrow', 'polars', 'pandas'} & "
        "set(sys.modules)"
    )


@pytest.mark.slow
def test_reading_a_column_imports_no_arrow_library() -> None:
    run(
        "import sys, polars; from postri.engines.memory.arrow import *; "
        "read_column(polars.Series([1])); assert 'pyarrow' not in sys.modules"
    )


def run(code: str) -> None:
    """Run code in a fresh interpreter."""
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_cells_of_many_groups_are_joined_once(monkeypatch: pytest.MonkeyPatch):
    """A table of many chunks was copied for each group."""
    joined = Chunk.joined.__func__
    copies = []

    def counted(cls: type[Chunk], chunks: list[Chunk]) -> Chunk:
        if len(chunks) > 1:
            copies.append(len(chunks))
        return joined(cls, chunks)

    monkeypatch.setattr(Chunk, "joined", classmethod(counted))
    numbers = []
    for groups in (2, 40):
        parts = [
            pa.table({"x": list(range(50)), "g": [place % groups for place in range(50)]})
            for _ in range(3)
        ]
        copies.clear()
        result = postri.ask(
            pa.concat_tables(parts),
            {"mid": "median(x)"},
            by={"g": list(range(groups))},
            epsilon=1,
            coins=postri.SeededCoins(1),
        )
        assert len(result) == groups
        numbers.append(len(copies))
    assert numbers[0] == numbers[1]
