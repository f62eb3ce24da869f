"""A stretch of a column in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

    def counted(self) -> NDArray[np.bool_]:
        """Which cells count; NaN never does."""
        valid = np.ones(len(self.values), np.bool_) if self.valid is None else self.valid
        return valid & ~np.isnan(self.values) if self.values.dtype.kind == "f" else valid

    @classmethod
    def joined(cls, pieces: Sequence[Piece]) -> Piece:
        """All pieces of a column as one."""
        if len(pieces) == 1:
            return pieces[0]
        if not pieces:
            return cls(np.empty(0, np.int64))
        valid = (
            None
            if all(piece.valid is None for piece in pieces)
            else np.concatenate(
                [
                    np.ones(len(piece.values), np.bool_) if piece.valid is None else piece.valid
                    for piece in pieces
                ]
            )
        )
        return cls(np.concatenate([piece.values for piece in pieces]), valid)

    def every(self, stride: int) -> Piece:
        """Every so-many-th cell."""
        return Piece(self.values[::stride], None if self.valid is None else self.valid[::stride])
