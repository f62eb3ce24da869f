"""Columns that speak the Arrow PyCapsule protocol: pyarrow, polars, pandas and others, without
importing any of them.

A column's declared type is judged on its schema, before an array is touched. An array is released
when its last view is gone. Nobody has checked that texts are UTF-8, and their libraries fail on one
that is not: so they are decoded here, and what is not UTF-8 is null. The structs are those of
https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import weakref
from collections.abc import Callable, Iterable, Iterator
from ctypes import c_char_p, c_int, c_int32, c_int64, c_void_p
from dataclasses import dataclass, replace
from itertools import pairwise
from struct import Struct
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from postri.columns import (
    BOOLEAN,
    DATE,
    NO_ORDER,
    ColumnType,
    decimal_type,
    float_type,
    integer_type,
    text_type,
    timestamp_type,
)
from postri.engines.memory.chunk import Chunk
from postri.errors import InputError, SourceError


def read_column(source: object) -> tuple[ColumnType, list[Any]]:
    """The declared type of an Arrow column, and its chunks: views where the layout allows.

    Of a column of texts, the texts; None for one that is missing or cannot be decoded.
    """
    _check_before_export(source)
    # A stream comes first: a chunked source may have to copy itself together to become one array.
    if hasattr(source, "__arrow_c_stream__"):
        layout, arrays = _read_stream(source)
    else:
        layout, arrays = _read_array(source)
    if isinstance(layout, _TextLayout):
        return layout.column, [text for array in arrays for text in layout.read(array)]
    return layout.column, [Chunk(layout.read(array), array.valid()) for array in arrays]


class ArrowSchema(ctypes.Structure):
    """A declared type."""

    _fields_ = (
        *(
            ("format", c_char_p),
            ("name", c_char_p),
            ("metadata", c_void_p),
            ("flags", c_int64),
            ("n_children", c_int64),
        ),
        *((field, c_void_p) for field in ("children", "dictionary", "release", "private_data")),
    )


class ArrowArray(ctypes.Structure):
    """The buffers of one chunk."""

    _fields_ = (
        *(
            (field, c_int64)
            for field in ("length", "null_count", "offset", "n_buffers", "n_children")
        ),
        *(
            (field, c_void_p)
            for field in ("buffers", "children", "dictionary", "release", "private_data")
        ),
    )


class ArrowArrayStream(ctypes.Structure):
    """A source of chunks."""

    _fields_ = tuple(
        (field, c_void_p)
        for field in ("get_schema", "get_next", "get_last_error", "release", "private_data")
    )


# A text of at most this many bytes lies in its view.
_INLINE = 12
# The length, the first bytes, the number of a buffer and the place in it.
_VIEW = Struct("=i4xii")

_Struct = ArrowSchema | ArrowArray | ArrowArrayStream
_Filled = TypeVar("_Filled", ArrowSchema, ArrowArray)
# A prototype of our own: argtypes set on ctypes.pythonapi would be seen by every other user of
# ctypes in the process.
_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_Release = ctypes.CFUNCTYPE(None, c_void_p)
_Fill = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)


def _release(struct: _Struct) -> None:
    if struct.release:
        _Release(struct.release)(ctypes.addressof(struct))


def _check_alive(struct: _Struct) -> None:
    if not struct.release:
        raise SourceError("the Arrow source was already read; make it anew")


@dataclass(frozen=True)
class _Array:
    """An array that somebody keeps alive."""

    array: ArrowArray

    def values(self, dtype: np.dtype, stride: int) -> np.ndarray:
        """A view of one value of `dtype` every `stride` bytes."""
        return self._view(1, self.array.offset * stride, self.array.length, dtype, stride)

    def bits(self, buffer: int) -> np.ndarray:
        """The bits of a buffer, one byte each."""
        start, skip = divmod(self.array.offset, 8)
        count = skip + self.array.length
        packed = self._view(
            buffer, start, -(-count // 8) if self.array.length else 0, np.dtype(np.uint8), 1
        )
        return np.unpackbits(packed, bitorder="little")[skip:count]

    def valid(self) -> np.ndarray | None:
        """Which values are valid, None where all are."""
        if self.array.null_count == 0 or self.array.length == 0 or self._address(0) is None:
            return None
        return self.bits(0).view(np.bool_)

    def _address(self, buffer: int) -> int | None:
        return c_void_p.from_address(self.array.buffers + buffer * ctypes.sizeof(c_void_p)).value

    def _view(
        self, buffer: int, start: int, count: int, dtype: np.dtype, stride: int
    ) -> np.ndarray:
        if count == 0:  # An empty array may come without buffers.
            return np.empty(0, dtype)
        data = (
            (self._address(buffer) or 0) + start,
            True,
        )  # True: read-only, the memory is shared with the source.
        interface = {
            "data": data,
            "shape": (count,),
            "strides": (stride,),
            "typestr": dtype.str,
            "version": 3,
        }
        # NumPy keeps this object as the base of the view, and with it the chunk.
        return np.asarray(SimpleNamespace(chunk=self, __array_interface__=interface))

    def text_bytes(self, offsets: np.dtype) -> Iterator[bytes]:
        """The bytes of each text, which lie one after the other."""
        width = offsets.itemsize
        length = self.array.length
        ends = self._view(1, self.array.offset * width, length + 1, offsets, width)
        if length == 0:
            return
        first = int(ends[0])
        data = ctypes.string_at((self._address(2) or 0) + first, int(ends[-1]) - first)
        for start, end in pairwise((ends - first).tolist()):
            yield data[start:end]

    def viewed_bytes(self) -> Iterator[bytes]:
        """The bytes of each text, which lie in its view where they are few, else in a buffer that
        the view names.
        """
        views = self.values(np.dtype(f"V{_VIEW.size}"), _VIEW.size).tobytes()
        for place, (length, buffer, start) in enumerate(_VIEW.iter_unpack(views)):
            if length <= _INLINE:
                here = place * _VIEW.size + 4
                yield views[here : here + length]
            else:
                yield ctypes.string_at((self._address(2 + buffer) or 0) + start, length)

    @property
    def dictionary(self) -> _Array:
        """What indexes of this array mean; it lives as long as this array."""
        return _Array(ArrowArray.from_address(self.array.dictionary))


@dataclass(frozen=True)
class _OwnedArray(_Array):
    """An array that is ours to release."""

    def __post_init__(self) -> None:
        # Not at exit: a view may still be in use by then, and the process gives its memory back
        # anyway.
        weakref.finalize(self, _release, self.array).atexit = False


@dataclass(frozen=True)
class _Layout:
    """A declared type and how its chunks are read."""

    column: ColumnType
    read: Callable[[_Array], np.ndarray]


@dataclass(frozen=True)
class _TextLayout:
    """A declared type of texts and how their bytes are found."""

    column: ColumnType
    bytes_of: Callable[[_Array], Iterator[bytes]]
    index: np.dtype | None = None
    """Of indexes into a dictionary of such texts."""

    def read(self, array: _Array) -> list[str | None]:
        """The texts of a chunk; None where there is none, and where it is not UTF-8."""
        if self.index is None:
            return _present(map(_decoded, self.bytes_of(array)), array)
        known = _present(map(_decoded, self.bytes_of(array.dictionary)), array.dictionary)
        places = array.values(self.index, self.index.itemsize)
        valid = array.valid()
        if valid is not None:
            # Where there is no text, an index may be anything.
            places = np.where(valid, places, 0)
        if not known:
            return [None] * len(places)
        return _present((known[place] for place in places.tolist()), array)


def _decoded(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def _present(texts: Iterable[str | None], array: _Array) -> list[str | None]:
    """The texts of an array, without those that are marked as missing."""
    valid = array.valid()
    if valid is None:
        return list(texts)
    return [text if here else None for text, here in zip(texts, valid.tolist(), strict=True)]


_AnyLayout = _Layout | _TextLayout


def _fixed(column: ColumnType, dtype: str, stride: int = 0) -> _Layout:
    kind = np.dtype(dtype)
    return _Layout(column, lambda array: array.values(kind, stride or kind.itemsize))


def _days(chunk: _Array) -> np.ndarray:
    """The days of date64, which counts milliseconds.

    Its range is wider than that of dates, and is cut to it.
    """
    days: np.ndarray = np.clip(
        chunk.values(np.dtype(np.int64), 8) // 86_400_000, DATE.low, DATE.high
    )
    return days.astype(np.int32)


_INTEGERS = {"c": 8, "s": 16, "i": 32, "l": 64}
_LAYOUTS = (
    {code: _fixed(integer_type(bits), f"int{bits}") for code, bits in _INTEGERS.items()}
    | {
        code.upper(): _fixed(integer_type(bits, signed=False), f"uint{bits}")
        for code, bits in _INTEGERS.items()
    }
    | {
        code: _fixed(float_type(bits), f"float{bits}")
        for code, bits in {"e": 16, "f": 32, "g": 64}.items()
    }
    | {
        "b": _Layout(BOOLEAN, lambda array: array.bits(1)),
        "tdD": _fixed(DATE, "int32"),
        "tdm": _Layout(DATE, _days),
    }
)
_UNITS = {"s": ("s", 1), "m": ("ms", 10**3), "u": ("us", 10**6), "n": ("ns", 10**9)}
_REFUSED = (
    {"n": "null", "z": "binary", "Z": "large_binary", "vz": "binary_view"}
    | {
        "w": "fixed_size_binary",
        "+l": "list",
        "+L": "large_list",
        "+vl": "list_view",
        "+vL": "large_list_view",
        "+w": "fixed_size_list",
    }
    | {"+m": "map", "+ud": "dense_union", "+us": "sparse_union", "+r": "run_end_encoded"}
    | {"tts": "time32[s]", "ttm": "time32[ms]", "ttu": "time64[us]", "ttn": "time64[ns]"}
    | {"tiM": "interval[month]", "tiD": "interval[day_time]", "tin": "interval[month_day_nano]"}
    | {f"tD{code}": f"duration[{unit}]" for code, (unit, _) in _UNITS.items()}
)
_TEXTS = {
    "u": _TextLayout(text_type("utf8"), lambda array: array.text_bytes(np.dtype(np.int32))),
    "U": _TextLayout(text_type("large_utf8"), lambda array: array.text_bytes(np.dtype(np.int64))),
    "vu": _TextLayout(text_type("string_view"), _Array.viewed_bytes),
}
_WHOLE_TABLE = "source has the declared type struct, which holds several columns; choose a column"


def _layout(schema: ArrowSchema) -> _AnyLayout:
    code = _code(schema)
    if schema.dictionary:
        texts = _TEXTS.get(_code(ArrowSchema.from_address(schema.dictionary)))
        if texts is not None and code.lower() in _INTEGERS:
            sign = "i" if code.islower() else "u"
            index = np.dtype(f"{sign}{_INTEGERS[code.lower()] // 8}")
            return replace(texts, column=text_type("dictionary"), index=index)
    if encoded := _encoded(schema):
        raise _no_order(encoded)
    if code in _TEXTS:
        return _TEXTS[code]
    if code == "+s":
        raise InputError(_WHOLE_TABLE)
    layout = _LAYOUTS.get(code) or _timestamp(code) or _decimal(code)
    if layout is None:
        raise _no_order(_REFUSED.get(code.partition(":")[0], repr(code)))
    return layout


def _code(schema: ArrowSchema) -> str:
    return str(schema.format.decode(errors="replace"))


def _encoded(schema: ArrowSchema) -> str | None:
    """The name of a type whose stored numbers stand for something else."""
    if schema.dictionary:
        return "dictionary"
    texts = list(_metadata(schema.metadata)) if schema.metadata else []
    name = dict(zip(texts[::2], texts[1::2], strict=True)).get(b"ARROW:extension:name")
    return f"extension {name.decode(errors='replace')}" if name else None


def _metadata(address: int) -> Iterator[bytes]:
    """The keys and values of a schema's metadata, in turn: a count of pairs, then each text after
    its length.
    """
    pairs = c_int32.from_address(address).value
    address += 4
    for _ in range(2 * pairs):
        size = c_int32.from_address(address).value
        yield ctypes.string_at(address + 4, size)
        address += 4 + size


def _timestamp(code: str) -> _Layout | None:
    if not (match := re.fullmatch(r"ts([smun]):(.*)", code)):
        return None
    (unit, per_second), zone = _UNITS[match[1]], match[2]
    name = f"timestamp[{unit}, tz={zone}]" if zone else f"timestamp[{unit}]"
    return _fixed(timestamp_type(name, per_second, zoned=bool(zone)), "int64")


def _decimal(code: str) -> _Layout | None:
    if not (match := re.fullmatch(r"d:(\d+),(-?\d+)(?:,(\d+))?", code)):
        return None
    digits, scale, bits = int(match[1]), int(match[2]), int(match[3] or 128)
    if digits > 18 or bits > 128:
        name = f"decimal{bits}({digits},{scale})"
        raise InputError(
            f"the column has the declared type {name}; cast it to a decimal of at most 18 "
            "digits (decimal128 or narrower)"
        )
    # Up to 18 digits fit in 64 bits: the low limb, which comes first in memory, is the whole value.
    return _fixed(decimal_type(digits, scale), f"int{min(bits, 64)}", bits // 8)


def _no_order(name: str) -> InputError:
    return InputError(f"the column has the declared type {name}, {NO_ORDER}")


def _check_before_export(source: object) -> None:
    """Refuse what would be exported by a look at its values: pandas infers the Arrow type of these,
    and may fail on a cell.
    """
    if hasattr(type(source), "columns"):
        raise InputError(_WHOLE_TABLE)
    if (name := str(getattr(source, "dtype", ""))) in ("object", "category"):
        raise _no_order(name)


def _read_stream(source: object) -> tuple[_AnyLayout, list[_OwnedArray]]:
    _capsule, (address,) = _export(source, "__arrow_c_stream__", b"arrow_array_stream")
    stream = ArrowArrayStream.from_address(address)
    _check_alive(stream)
    try:
        return _stream_layout(stream), list(_stream_chunks(stream))
    finally:
        _release(stream)


def _stream_layout(stream: ArrowArrayStream) -> _AnyLayout:
    schema = _fill(stream, stream.get_schema, ArrowSchema())
    try:
        return _layout(schema)
    finally:
        _release(schema)


def _stream_chunks(stream: ArrowArrayStream) -> Iterator[_OwnedArray]:
    while (
        array := _fill(stream, stream.get_next, ArrowArray())
    ).release:  # A stream ends with a released array.
        yield _OwnedArray(array)


def _fill(stream: ArrowArrayStream, callback: int, struct: _Filled) -> _Filled:
    if _Fill(callback)(ctypes.addressof(stream), ctypes.addressof(struct)) != 0:
        raise SourceError("the Arrow stream reported an error; check that its source can be read")
    return struct


def _read_array(source: object) -> tuple[_AnyLayout, list[_OwnedArray]]:
    _capsules, (schema, array) = _export(
        source, "__arrow_c_array__", b"arrow_schema", b"arrow_array"
    )
    theirs = ArrowArray.from_address(array)
    _check_alive(theirs)
    layout = _layout(ArrowSchema.from_address(schema))
    ours = ArrowArray.from_buffer_copy(theirs)
    theirs.release = None  # Moved: the capsule leaves the release to us.
    return layout, [_OwnedArray(ours)]


def _export(source: object, method: str, *names: bytes) -> tuple[object, list[int]]:
    """The capsules a source gives, which the caller keeps alive, and the addresses in them."""
    # The source's own error may quote a cell: it goes no further, not even as the context of ours.
    with contextlib.suppress(Exception):
        given = getattr(source, method)()
        capsules = given if isinstance(given, tuple) else (given,)
        return capsules, [
            _capsule_pointer(capsule, name) for capsule, name in zip(capsules, names, strict=True)
        ]
    raise SourceError(f"{method} of the source failed; check that it can be converted to Arrow")
