"""Deletion vectors: which rows of a file of a Delta table are no longer there.

A vector is a set of row numbers, written as a Roaring bitmap of 64 bits, in the log itself or in a
file beside the data: https://github.com/RoaringBitmap/RoaringFormatSpec. Whether one can be read
depends on no cell.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from postri.errors import InputError

Rows = NDArray[np.int64]

# The letters of the base 85 of ZeroMQ, in which vectors and names of files are written.
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
VALUES = {letter: value for value, letter in enumerate(LETTERS)}
INLINE, BESIDE = "i", "u"
# So many letters at the end of a path are the number of a file.
LETTERS_OF_UUID = 20
FILE_VERSION = 1
MAGIC = 1681511377
WITH_RUNS, WITHOUT_RUNS = 12347, 12346
# A bitmap with runs tells where its containers lie only if it has at least so many.
FEWEST_WITH_OFFSETS = 4
# A container of more rows has a bit for each of its 2^16 places.
MOST_LISTED = 4096
BITS = 1 << 16
ELSEWHERE = (
    "the Delta table has deletion vectors outside of its own folder, as a shallow clone has; copy "
    "its rows to a table of their own"
)


def deleted_rows(folder: str, vector: Mapping[str, Any]) -> Rows:
    """The numbers of the rows, from 0 on, that a vector in a log says are deleted.

    ValueError or struct.error if it is not written as it should be.
    """
    rows = _numbers(_written(folder, vector))
    if len(rows) != int(vector["cardinality"]):
        raise ValueError("a vector of another size")
    return rows


def _written(folder: str, vector: Mapping[str, Any]) -> bytes:
    text, size = str(vector["pathOrInlineDv"]), int(vector["sizeInBytes"])
    if vector["storageType"] == INLINE:
        return _decoded(text)[:size]
    if vector["storageType"] != BESIDE:
        raise InputError(ELSEWHERE)
    prefix = text[:-LETTERS_OF_UUID]
    number = UUID(bytes=_decoded(text[-LETTERS_OF_UUID:]))
    path = os.path.join(folder, prefix, f"deletion_vector_{number}.bin")
    root = os.path.realpath(folder)
    if os.path.commonpath([root, os.path.realpath(path)]) != root:
        raise InputError(ELSEWHERE)
    with open(path, "rb") as file:
        if file.read(1) != bytes([FILE_VERSION]):
            raise ValueError("a file of another version")
        file.seek(int(vector.get("offset") or 0))
        (length,) = struct.unpack(">i", file.read(4))
        written = file.read(size)
        (checksum,) = struct.unpack(">I", file.read(4))
    if length != size or zlib.crc32(written) != checksum:
        raise ValueError("a vector of another length")
    return written


def _decoded(text: str) -> bytes:
    """The bytes of a text in base 85: four for each five letters."""
    words = []
    for start in range(0, len(text), 5):
        word = 0
        for letter in text[start : start + 5]:
            word = word * len(LETTERS) + VALUES[letter]
        words.append(struct.pack(">I", word))
    return b"".join(words)


def _numbers(written: bytes) -> Rows:
    magic, bitmaps = struct.unpack_from("<iq", written)
    if magic != MAGIC:
        raise ValueError("no bitmap")
    found = [np.empty(0, np.int64)]
    place = struct.calcsize("<iq")
    for _ in range(bitmaps):
        (high,) = struct.unpack_from("<I", written, place)
        reader = _Bitmap(written, place + 4)
        found += [container + (high << 32) for container in reader.containers()]
        place = reader.place
    return np.concatenate(found)


class _Bitmap:
    """One bitmap of 32 bits, read from a place on."""

    def __init__(self, written: bytes, place: int) -> None:
        self._written = written
        self.place = place

    def _next(self, number: int, kind: str) -> NDArray[Any]:
        found = np.frombuffer(self._written, kind, number, self.place)
        self.place += found.nbytes
        return found

    def containers(self) -> Iterator[Rows]:
        """The numbers in each container, which share all bits above the lowest 16."""
        cookie = int(self._next(1, "<u4")[0])
        runs = np.zeros(0, np.bool_)
        if cookie & (BITS - 1) == WITH_RUNS:
            number = (cookie >> 16) + 1
            flags = self._next((number + 7) // 8, "u1")
            runs = np.unpackbits(flags, bitorder="little").astype(np.bool_)
        elif cookie == WITHOUT_RUNS:
            number = int(self._next(1, "<u4")[0])
        else:
            raise ValueError("no bitmap")
        keys, sizes = self._next(2 * number, "<u2").reshape(number, 2).T.astype(np.int64)
        if not len(runs) or number >= FEWEST_WITH_OFFSETS:
            self._next(number, "<u4")
        for i in range(number):
            is_run = bool(len(runs) and runs[i])
            yield self._container(int(sizes[i]) + 1, is_run=is_run) + (int(keys[i]) << 16)

    def _container(self, size: int, *, is_run: bool) -> Rows:
        if is_run:
            number = int(self._next(1, "<u2")[0])
            runs = self._next(2 * number, "<u2").reshape(number, 2).astype(np.int64)
            stretches = [np.arange(start, start + length + 1) for start, length in runs]
            return np.concatenate([np.empty(0, np.int64), *stretches])
        if size <= MOST_LISTED:
            return self._next(size, "<u2").astype(np.int64)
        bits = np.unpackbits(self._next(BITS // 8, "u1"), bitorder="little")
        return np.flatnonzero(bits).astype(np.int64)
