"""How a raw cell becomes a grid index: rounded half to even, clamped to the ends.

The map never reverses the order of two cells. So an engine may count raw cells between thresholds
(`cut`) and map to indexes afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, floor, inf, isinf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.grid import Grid
from postri.window import Indexes

Raw = int | float
HALF = Fraction(1, 2)
# Below this index double precision tells the place in the grid so well that only near-halves need
# exact arithmetic.
FLOAT_INDEX = 2.0**40
# Sums below this one are whole numbers of 64 bits.
WHOLE = 2**63
HALF_BITS = 32
HALF_MASK = (1 << HALF_BITS) - 1


@dataclass(frozen=True)
class Reading:
    """A column whose cells are whole multiples of `unit` (None: floats), on this grid."""

    grid: Grid
    unit: Fraction | None

    def number(self, raw: Raw) -> Fraction:
        """The number that a finite raw cell means."""
        if self.unit is None:
            return Fraction(raw)
        return Fraction(raw) * self.unit

    def index(self, raw: Raw) -> int:
        """The grid index of one raw cell, exactly."""
        if isinstance(raw, float) and isinf(raw):
            return self.grid.last if raw > 0 else self.grid.first
        return index_of(self.number(raw), self.grid)

    def cut(self, index: int) -> Raw:
        """The least raw cell whose index is at least this one: minus infinity for the first index,
        infinity past the last.
        """
        if index <= self.grid.first:
            return -inf
        if index > self.grid.last:
            return inf
        if self.shift is not None:
            return index + self.shift
        # A cell half-way between two points goes to the even one.
        edge = self.grid.base + (index - HALF) * self.grid.step
        included = index % 2 == 0
        if self.unit is None:
            return _least_float(edge, included)
        if included:
            return ceil(edge / self.unit)
        return floor(edge / self.unit) + 1

    def cuts(self, indexes: Iterable[int]) -> list[Raw]:
        """The `cut` of each of these indexes."""
        shift = self.shift
        if shift is None:
            return [self.cut(index) for index in indexes]
        first, last = self.grid.first, self.grid.last
        # Written out: groups are many, and a call for each takes longer than all else.
        return [index + shift if first < index <= last else self.cut(index) for index in indexes]

    @cached_property
    def shift(self) -> int | None:
        """By how much a whole raw cell exceeds its index, where that is the same for all inside the
        domain.
        """
        start = self.grid.base / self.grid.step
        if self.unit != self.grid.step or start.denominator != 1:
            return None
        return int(start)

    @cached_property
    def doubt(self) -> float:
        """Within which distance of a half a place `(cell - base) / step` on the grid, computed in
        double precision, is in doubt.

        The cell (where it is nearest to a text), the base, the step and the two operations are each
        off by 2^-53 of their size at most. So is the sum by which a place is rounded. With places
        up to `furthest`, all that is less than 6 * furthest * 2^-53.
        """
        furthest = (
            max(abs(self.grid.first), abs(self.grid.last))
            + abs(self.grid.base / self.grid.step)
            + 2
        )
        return float(min(furthest, Fraction(2**60))) * 2.0**-50

    def indexes(self, raw: NDArray[Any]) -> Indexes:
        """The grid indexes of many raw cells (without NaN), exactly: the same array where each cell
        is its own index.
        """
        if self.unit is None:
            return self._of_floats(raw)
        return self._of_integers(raw, self.unit)

    @cached_property
    def _holds_every_int64(self) -> bool:
        return self.grid.first <= -WHOLE and self.grid.last >= WHOLE - 1

    def index_sum(self, raw: NDArray[Any]) -> int:
        """The exact sum of the grid indexes of many raw cells (without NaN)."""
        if self.shift is None:
            return exact_sum(self.indexes(raw))
        low, high = self._ends(raw.dtype)
        if max(abs(low), abs(high)) * len(raw) >= WHOLE:
            return exact_sum(self.indexes(raw))
        # The cells themselves are added up: fewer passes than it takes to make indexes of them.
        # That comes first, while they are on their way from memory. To see in the cache that none
        # lies beyond an end takes half as long as to clamp them all.
        total = int(raw.sum(dtype=np.int64))
        if _reaches_beyond(raw, low, high):
            total = int(np.clip(raw, low, high).sum(dtype=np.int64))
        return total + self._index_less_cell(low, self.shift) * len(raw)

    def _ends(self, dtype: np.dtype[Any]) -> tuple[int, int]:
        """Two cells of a type of whole numbers: those beyond them have their indexes."""
        ends = self._known_ends.get(dtype)
        if ends is None:
            low = _inside(self.cut(self.grid.first + 1), dtype, -1)
            high = _inside(self.cut(self.grid.last), dtype, 0)
            ends = low, high
            self._known_ends[dtype] = ends
        return ends

    @cached_property
    def _known_ends(self) -> dict[np.dtype[Any], tuple[int, int]]:
        """What was found for a type: stretches of one are many."""
        return {}

    def _index_less_cell(self, low: int, shift: int) -> int:
        """By how much the index exceeds the cell, for the lower of these two ends and all cells
        between them.
        """
        return min(max(low - shift, self.grid.first), self.grid.last) - low

    def _of_integers(self, raw: NDArray[Any], unit: Fraction) -> Indexes:
        if self.shift == 0 and raw.dtype == np.int64 and self._holds_every_int64:
            return raw
        low, high = self._ends(raw.dtype)
        clamped = np.clip(raw, low, high)
        if self.shift is not None:
            # The same distances in both: wrapping arithmetic is exact, whatever the two origins
            # are.
            shift = self._index_less_cell(low, self.shift) % 2**64
            moved: Indexes = (clamped.astype(np.uint64) + np.uint64(shift)).view(np.int64)
            return moved
        divided = self._divided(clamped, unit / self.grid.step, max(abs(low), abs(high)))
        indexes: Indexes = np.clip(divided, self.grid.first, self.grid.last).astype(np.int64)
        return indexes

    def _divided(self, raw: NDArray[Any], slope: Fraction, largest: int) -> NDArray[Any]:
        """The indexes by whole-number arithmetic: of 64 bits where all fits them, else Python's."""
        start = -self.grid.base / self.grid.step
        divisor = slope.denominator * start.denominator
        factor = int(slope * divisor)
        shift, offset = divmod(int(start * divisor), divisor)
        fits = (
            largest * factor < 2**63
            and divisor < 2**60
            and abs(shift) < 2**62
            and (factor == 1 or largest * factor < 2**62)
        )
        scaled = raw.astype(np.int64 if fits else object) * factor
        moved = scaled % divisor + offset
        quotient = scaled // divisor + shift + moved // divisor
        rest = moved % divisor
        up = (2 * rest > divisor) | ((2 * rest == divisor) & (quotient % 2 == 1))
        rounded: NDArray[Any] = quotient + up
        return rounded

    def _of_floats(self, raw: NDArray[Any]) -> Indexes:
        with np.errstate(over="ignore"):
            cells = raw.astype(np.float64)
        indexes = np.full(len(cells), self.grid.first, dtype=np.int64)
        indexes[cells >= self.cut(self.grid.last)] = self.grid.last
        between = np.flatnonzero(
            (cells >= self.cut(self.grid.first + 1)) & (cells < self.cut(self.grid.last))
        )
        places, sure = self._places(cells[between])
        indexes[between[sure]] = places[sure]
        doubtful, inverse = np.unique(cells[between[~sure]], return_inverse=True)
        exact = np.array([self.index(float(cell)) for cell in doubtful], dtype=np.int64)
        indexes[between[~sure]] = exact[inverse]
        return indexes

    def _places(self, cells: NDArray[np.float64]) -> tuple[Indexes, NDArray[np.bool_]]:
        """The nearest indexes by float arithmetic, and where they are beyond doubt."""
        start = float(self.grid.base)
        step = float(self.grid.step)
        with np.errstate(all="ignore"):
            places = (cells - start) / step
            nearest = np.rint(places)
            small = (np.abs(places) < FLOAT_INDEX) & (np.abs(cells) < FLOAT_INDEX * step)
            sure = (
                small
                & (np.abs(places - nearest) < 0.5 - self.doubt)
                & (abs(start) < FLOAT_INDEX * step)
            )
        return np.where(sure, nearest, 0).astype(np.int64), sure


# Small tables are many, and most have the same type.
@lru_cache(maxsize=64)
def reading_of(grid: Grid, unit: Fraction | None) -> Reading:
    """The reading of a column, with what follows from it."""
    return Reading(grid, unit)


def exact_sum(numbers: Indexes) -> int:
    """The sum of a stretch, of which the upper and the lower halves each fit one of 64 bits."""
    upper = int((numbers >> HALF_BITS).sum())
    lower = int((numbers & HALF_MASK).sum())
    return (upper << HALF_BITS) + lower


def _reaches_beyond(raw: NDArray[Any], low: int, high: int) -> bool:
    """Whether a cell of a stretch of whole numbers lies below one number or above another."""
    if not len(raw):
        return False
    if low == 0 and raw.dtype == np.int64:
        # Without their sign, negative numbers are larger than all others.
        return int(raw.view(np.uint64).max()) > high
    return int(raw.min()) < low or int(raw.max()) > high


def index_of(number: Fraction, grid: Grid) -> int:
    """The grid index of a number: rounded half to even, clamped."""
    return min(max(round((number - grid.base) / grid.step), grid.first), grid.last)


def _least_float(edge: Fraction, included: bool) -> float:
    try:
        nearest = float(edge)
    except OverflowError:
        return inf if edge > 0 else -float(np.finfo(np.float64).max)
    if isinf(nearest):
        return nearest
    exact = Fraction(nearest)
    return nearest if exact > edge or (included and exact == edge) else nextafter(nearest, inf)


def _inside(cut: Raw, dtype: np.dtype[Any], shift: int) -> int:
    """A threshold as a whole number within the range of an integer type."""
    limits = np.iinfo(dtype)
    if isinf(cut):
        return int(limits.max if cut > 0 else limits.min)
    return min(max(int(cut) + shift, int(limits.min)), int(limits.max))
