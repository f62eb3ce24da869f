"""A stretch of a column in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 16


@dataclass(frozen=True)
class Piece:
    """Raw cells, and which of them count (None: all)."""

    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None

    def chunks(self) -> Iterator[NDArray[Any]]:
        """The cells that count, a chunk at a time; NaN never does."""
        floats = self.values.dtype.kind == "f"
        for start in range(0, len(self.values), CHUNK):
            cells = self.values[start : start + CHUNK]
            if self.valid is not None:
                cells = cells[self.valid[start : start + CHUNK]]
            if floats and (gone := np.isnan(cells)).any():
                cells = cells[~gone]
            yield cells

    def every(self, stride: int) -> Piece:
        """Every so-many-th cell."""
        return Piece(self.values[::stride], None if self.valid is None else self.valid[::stride])
