"""Raw cells that lie together in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# How many cells are looked at in one go: they fit the processor's cache.
STRETCH = 1 << 17


@dataclass(frozen=True)
class Chunk:
    """Raw cells that lie together in memory, and which of them count (None: all)."""

    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None

    @classmethod
    def joined(cls, chunks: Sequence[Chunk]) -> Chunk:
        """All chunks of a column as one."""
        if len(chunks) == 1:
            return chunks[0]
        if not chunks:
            return cls(np.empty(0, np.int64))
        values = np.concatenate([chunk.values for chunk in chunks])
        if all(chunk.valid is None for chunk in chunks):
            return cls(values)
        return cls(values, np.concatenate([chunk._known_valid() for chunk in chunks]))

    def part(self, start: int, end: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Some cells that follow one another, and which of them count."""
        valid = self.valid
        if valid is not None:
            valid = valid[start:end]
        return self.values[start:end], valid

    def stretches(self) -> Iterator[NDArray[Any]]:
        """The cells that count, a stretch at a time; NaN never does."""
        for start in range(0, len(self.values), STRETCH):
            cells, valid = self.part(start, start + STRETCH)
            if valid is not None:
                cells = cells[valid]
            yield without_nan(cells)

    def counting(self) -> NDArray[np.bool_]:
        """Which cells count; NaN never does."""
        valid = self._known_valid()
        if self.values.dtype.kind == "f":
            valid = valid & ~np.isnan(self.values)
        return valid

    def _known_valid(self) -> NDArray[np.bool_]:
        if self.valid is None:
            return np.ones(len(self.values), np.bool_)
        return self.valid

    def every(self, stride: int) -> Chunk:
        """One cell in each `stride`."""
        return self.at(slice(None, None, stride))

    def at(self, places: slice | NDArray[np.intp]) -> Chunk:
        """Some of its cells."""
        if self.valid is None:
            return Chunk(self.values[places])
        return Chunk(self.values[places], self.valid[places])


def without_nan(cells: NDArray[Any]) -> NDArray[Any]:
    """The cells that are numbers."""
    if cells.dtype.kind != "f":
        return cells
    missing = np.isnan(cells)
    if missing.any():
        cells = cells[~missing]
    return cells
