"""What a table in memory keeps between questions: which rows conditions hold on, and the cells that
they are asked of. Its size has a bound, and what was asked for longest ago goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from postri.engines.memory.columns import Column, TextColumn, TypedColumn
from postri.expressions import Bound, Input, Vector

# What a table keeps takes at most so many bytes.
MOST_BYTES = 1 << 26

Mask = NDArray[np.bool_]
T = TypeVar("T")


class KeptValues(Generic[T]):
    """Values by key, up to a number of bytes in all."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._values: dict[Hashable, tuple[T, int]] = {}
        self._lock = Lock()
        self.bytes = 0

    def get(self, key: Hashable) -> T | None:
        """A value that is kept; it is now the last to go."""
        with self._lock:
            found = self._values.pop(key, None)
            if found is None:
                return None
            self._values[key] = found
        return found[0]

    def put(self, key: Hashable, value: T, size: int) -> None:
        """Keep a value of this many bytes, unless it is larger than all that may be kept."""
        if size > self._most_bytes:
            return
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._values[key] = (value, size)
            self.bytes += size - before
            while self.bytes > self._most_bytes:
                _, gone = self._values.pop(next(iter(self._values)))
                self.bytes -= gone


@dataclass(frozen=True)
class Coded:
    """A column of texts: its distinct cells, and which of them stands in each row."""

    distinct: Vector
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, column: TextColumn) -> Coded:
        """The cells of a column, each text once."""
        places: dict[str | None, int] = {}
        codes = np.fromiter(
            (places.setdefault(cell, len(places)) for cell in column.cells),
            np.int32,
            len(column.cells),
        )
        texts = np.empty(len(places), object)
        texts[:] = ["" if cell is None else cell for cell in places]
        valid = np.array([cell is not None for cell in places], np.bool_)
        return cls(Vector(texts, valid), codes)

    @property
    def size(self) -> int:
        """About how many bytes it takes: the texts are those of the column."""
        return int(self.codes.nbytes + self.distinct.values.nbytes)


class Filters:
    """On which rows conditions hold."""

    def __init__(self, column_of: Callable[[str], Column], most_bytes: int = MOST_BYTES) -> None:
        self._column_of = column_of
        self._kept: KeptValues[Any] = KeptValues(most_bytes)

    @property
    def bytes(self) -> int:
        """What is kept takes so many."""
        return self._kept.bytes

    def mask(self, where: Bound, rows: int) -> Mask:
        """The rows on which a condition holds, of a table of so many.

        Filters often have parts in common: each part of an AND is kept by itself.
        """
        masks = [self._part(each) for each in where.conjuncts]
        return np.broadcast_to(reduce(np.logical_and, masks), rows)

    def _part(self, part: Bound) -> Mask:
        mask: Mask | None = self._kept.get(part)
        if mask is None:
            mask = self._held(part)
            self._kept.put(part, mask, mask.nbytes)
        return mask

    def _held(self, part: Bound) -> Mask:
        coded = self._coded(part.inputs)
        if coded is not None:
            # A text is looked at once, however many rows have it.
            (wanted,) = part.inputs
            return part.mask({wanted: coded.distinct})[coded.codes]
        return np.asarray(part.mask({each: self._vector(each) for each in part.inputs}))

    def _coded(self, inputs: Sequence[Input]) -> Coded | None:
        """The one column that a condition is about, if that holds texts."""
        if len(inputs) != 1:
            return None
        column = self._column_of(inputs[0].column)
        if not isinstance(column, TextColumn) or not len(column):
            return None
        key = ("codes", inputs[0].column)
        coded: Coded | None = self._kept.get(key)
        if coded is None:
            coded = Coded.of(column)
            self._kept.put(key, coded, coded.size)
        return coded

    def _vector(self, wanted: Input) -> Vector:
        """The cells of a column, which are kept where they must be read or put together."""
        column = self._column_of(wanted.column)
        if isinstance(column, TypedColumn) and len(column.chunks) == 1:
            return column.vector(wanted)
        vector: Vector | None = self._kept.get(wanted)
        if vector is None:
            vector = column.vector(wanted)
            valid = 0 if vector.valid is None else vector.valid.nbytes
            self._kept.put(wanted, vector, vector.values.nbytes + valid)
        return vector
