"""Columns in memory as a predicate sees them: values, and where there are any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.columns import ColumnType

Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Input:
    """A column, and the type that its cells are read as: its own, or for a column without one what
    the predicate takes it for.
    """

    column: str
    type: ColumnType


@dataclass(frozen=True, eq=False)
class Vector:
    """Cells, and which of them are not null (None: all are).

    Numbers, dates and timestamps are raw: whole numbers of any width, or floats. Booleans are 0 and
    1. Texts are an array of objects. A constant is one cell, which stands for as many as there are
    rows.
    """

    values: Any
    valid: Booleans | None = None

    @property
    def there(self) -> Booleans:
        """Where it is not null."""
        return np.ones(np.shape(self.values), np.bool_) if self.valid is None else self.valid

    @property
    def true(self) -> Booleans:
        """Where it is TRUE, if it holds booleans."""
        true: Booleans = self.values if self.valid is None else self.values & self.valid
        return true

    @property
    def false(self) -> Booleans:
        """Where it is FALSE, if it holds booleans."""
        false: Booleans = ~self.values if self.valid is None else ~self.values & self.valid
        return false


Vectors = Mapping[Input, Vector]


def both(one: Booleans | None, other: Booleans | None) -> Booleans | None:
    """Where two vectors have values."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def without_nan(vector: Vector) -> Vector:
    """Floats of double precision, of which NaN counts as null."""
    with np.errstate(over="ignore"):
        values = np.asarray(vector.values, np.float64)
    gone = np.isnan(values)
    return Vector(values, both(vector.valid, ~gone) if gone.any() else vector.valid)
