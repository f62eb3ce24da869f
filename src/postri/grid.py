"""The grid of one column: its domain, or the default that its declared type gives, as whole-number
indexes.

Index `i` stands for the value `base + i*step`, and every index fits an int64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from postri.columns import ColumnType, Kind
from postri.domain import EPOCH, MICROSECOND, MOST_POINTS, Domain, Point, position
from postri.errors import InputError
from postri.exact import as_decimal, decimal_places

HALF_RANGE = 2**63
# Runs that reach over more octaves than this are looked up one by one.
MOST_OCTAVES = 8
# The shortest distance from the anchor of each octave.
SHORTEST = np.array([(1 << octave) - 1 for octave in range(64)], dtype=np.uint64)


@dataclass(frozen=True)
class Grid:
    """Indexes `first..last` of a domain.

    `anchor` is the index of the value 0 on a default domain, where a point near 0 counts as many
    candidates; it is None on a domain that the caller gave, where each point counts once. `rounded`
    says whether a cell can fall between two grid points.
    """

    first: int
    last: int
    base: Fraction
    step: Fraction
    kind: Kind = "number"
    zoned: bool = False
    anchor: int | None = None
    rounded: bool = False

    def __hash__(self) -> int:
        # Fractions take long, and these tell grids apart.
        return hash((self.first, self.last, self.anchor))

    def value(self, index: int | Fraction) -> Point:
        """The grid point of an index, or the point between two."""
        if self._whole and type(index) is int:
            # Whole numbers are much faster than fractions, and answers are many.
            return self.base.numerator + index * self.step.numerator
        return self._point(self.base + index * self.step, floor)

    @cached_property
    def zero(self) -> int:
        """The index that comes nearest to the value 0, or to the first of January 1970."""
        return min(max(floor(-self.base / self.step), self.first), self.last)

    def low_end(self, index: int) -> Point:
        """Where an interval from this index begins: half a step lower where cells are rounded, but
        never past the edge.
        """
        if not self.rounded or index <= self.first:
            return self.value(index)
        return self._point(self.base + (index - Fraction(1, 2)) * self.step, floor)

    def high_end(self, index: int) -> Point:
        """Where an interval to this index ends: half a step higher where cells are rounded, but
        never past the edge.
        """
        if not self.rounded or index >= self.last:
            return self.value(index)
        return self._point(self.base + (index + Fraction(1, 2)) * self.step, ceil)

    def _point(self, number: Fraction, outward: Callable[[Fraction], int]) -> Point:
        if self.kind == "number":
            return self._number(number)
        if self.kind == "date":
            return date.fromordinal(EPOCH.toordinal() + outward(number))
        moment = EPOCH + timedelta(microseconds=outward(number / MICROSECOND))
        return moment.replace(tzinfo=UTC) if self.zoned else moment

    @cached_property
    def _whole(self) -> bool:
        """Whether all points are whole numbers."""
        return self.kind == "number" and self.base.denominator == self.step.denominator == 1

    def _number(self, number: Fraction) -> Point:
        if self._whole and number.denominator == 1:
            return number.numerator
        places = max(decimal_places(part) or 0 for part in (self.base, self.step, number))
        return as_decimal(number, places) if places else int(number)

    def copies(self, index: int) -> int:
        """How many candidates lie before this index, counted from the anchor (negative on its
        left).

        The point at distance y from the anchor is 2^(63 - floor(log2(y + 1))) candidates: 2^63 in
        each octave.
        """
        if self.anchor is None:
            return index
        away = index - self.anchor
        return _octave_sum(away) if away >= 0 else HALF_RANGE - _octave_sum(1 - away)

    def at(self, copy: int) -> int:
        """The index whose candidates include this one: the largest with `copies(index) <= copy`."""
        if self.anchor is None:
            index = copy
        elif copy >= 0:
            index = self.anchor + _within_octaves(copy)
        else:
            index = self.anchor - _within_octaves(HALF_RANGE - copy - 1)
        return min(max(index, self.first), self.last)

    def sizes(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
        """How many candidates lie in each run `starts..ends` (both included), as floats correct to
        a few ulps.
        """
        lengths = _lengths(starts, ends)
        if self.anchor is None:
            return lengths
        left, right = _octaves(np.array([starts, ends]), self.anchor)
        sizes: NDArray[np.float64] = np.ldexp(lengths, 63 - left)
        for j in np.flatnonzero((left != right) | ((starts < self.anchor) != (ends < self.anchor))):
            sizes[j] = self._size(int(starts[j]), int(ends[j]))
        return sizes

    def sizes_in_order(
        self, starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The same of runs that follow one another: mostly few of them begin an octave, and so the
        octaves of all follow from where these are.
        """
        if self.anchor is None or len(starts) < 3:
            return self.sizes(starts, ends)
        nearest = int(starts[1]) - self.anchor
        farthest = int(ends[-2]) - self.anchor
        octave = _octave(nearest)
        further = _octave(farthest)
        one_octave = octave == further and (nearest < 0) == (farthest < 0)
        if not one_octave and (nearest < 0 or further - octave > MOST_OCTAVES):
            return self.sizes(starts, ends)
        sizes = _lengths(starts, ends)
        sizes *= 2.0 ** (63 - octave)
        uneven = [0, len(starts) - 1]
        while octave < further:
            octave += 1
            place = int(starts.searchsorted(self.anchor + (1 << octave) - 1))
            # A point of the next octave is half as many candidates.
            sizes[place:] *= 0.5
            uneven.append(place - 1)
        for place in uneven:
            sizes[place] = self._size(int(starts[place]), int(ends[place]))
        return sizes

    def _size(self, start: int, end: int) -> float:
        """How many candidates lie in one run."""
        return float(self.copies(end + 1) - self.copies(start))


def _lengths(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many points each run has, whatever its ends are."""
    lengths: NDArray[np.float64] = (ends.view(np.uint64) - starts.view(np.uint64)).astype(
        np.float64
    )
    lengths += 1.0
    return lengths


def _octave(away: int) -> int:
    """The octave of a point at this distance from the anchor."""
    return min((abs(away) + 1).bit_length() - 1, 63)


def _octave_sum(away: int) -> int:
    """The candidates at distances 0, 1, ..., away - 1 from the anchor on one side."""
    octave = (away + 1).bit_length() - 1
    return octave * HALF_RANGE + (away + 1 - (1 << octave)) * (1 << max(63 - octave, 0))


def _within_octaves(copy: int) -> int:
    """The distance from the anchor whose candidates include this one, on one side."""
    octave, rest = divmod(copy, HALF_RANGE)
    return (1 << octave) + (rest >> max(63 - octave, 0)) - 1


def _octaves(indexes: NDArray[np.int64], anchor: int) -> NDArray[np.int32]:
    """The octave of each index: floor(log2(y + 1)) at the distance y from the anchor, or 63."""
    shifted = indexes.view(np.uint64) - np.uint64(anchor % MOST_POINTS)
    away = np.where(indexes < anchor, ~shifted + np.uint64(1), shifted)
    _, length = np.frexp(away.astype(np.float64) + 1)
    octaves: NDArray[np.int32] = np.minimum(length - 1, 63)
    # A float of more than 52 bits may be rounded up to the next power of two, and no further.
    octaves -= away < SHORTEST[octaves]
    return octaves


def grid_of(column: ColumnType, domain: Domain | None) -> Grid:
    """The grid for a column of this type: the caller's domain, or the default of the type.

    Looks at no cell.
    """
    return _default_grid(column) if domain is None else _given_grid(column, domain)


def _given_grid(column: ColumnType, domain: Domain) -> Grid:
    if column.kind not in (domain.kind, None):
        raise InputError(
            f"the column has the declared type {column.name}, but the domain is one of "
            f"{domain.kind}s; give a domain of {column.kind}s"
        )
    if column.kind == "timestamp" and column.zoned not in (domain.zoned, None):
        has, lacks = ("a", "none") if column.zoned else ("no", "one")
        raise InputError(
            f"the column's timestamps have {has} time zone and the domain's bounds have "
            f"{lacks}; make them agree"
        )
    # Half of the largest domain is shifted below zero; the shift is even, so halves still round to
    # the same point.
    shift = HALF_RANGE if domain.points > HALF_RANGE else 0
    lower, step = position(domain.lower), Fraction(domain.step)
    grid = Grid(
        -shift, domain.points - 1 - shift, lower + shift * step, step, domain.kind, domain.zoned
    )
    return replace(grid, rounded=not _fits(_column_as(column, domain.kind), lower, step))


def _column_as(column: ColumnType, kind: Kind) -> ColumnType:
    """The column's type, or what an untyped column is read as on a grid of this kind."""
    if column.kind is not None:
        return column
    units: dict[Kind, Fraction | None] = {
        "number": None,
        "date": Fraction(1),
        "timestamp": MICROSECOND,
    }
    return replace(column, kind=kind, unit=units[kind])


def _fits(column: ColumnType, lower: Fraction, step: Fraction) -> bool:
    """Whether every cell between the bounds lies on the grid, whatever it is."""
    return (
        column.unit is not None
        and (column.unit / step).denominator == 1
        and (lower / step).denominator == 1
    )


def _default_grid(column: ColumnType) -> Grid:
    if column.kind is None:
        # Nobody said that cells are whole, so they are rounded, whatever they are.
        return Grid(-HALF_RANGE, HALF_RANGE - 1, Fraction(0), Fraction(1), anchor=0, rounded=True)
    if column.unit is None or column.low is None or column.high is None:
        raise InputError(
            f"a column of the declared type {column.name} needs a domain with a step, for "
            "example domain=Domain(0, 1000, step='0.01'): "
            "its bounds and step are public choices, never taken from the data"
        )
    if column.kind != "number":
        return _calendar_grid(column)
    if column.high - column.low >= MOST_POINTS:
        raise InputError(
            f"the declared type {column.name} has more than 2^64 values; give a domain"
        )
    shift = HALF_RANGE if column.high >= HALF_RANGE else 0
    return Grid(
        column.low - shift, column.high - shift, shift * column.unit, column.unit, anchor=-shift
    )


def _calendar_grid(column: ColumnType) -> Grid:
    if column.kind == "date":
        return Grid(
            int(position(date.min)),
            int(position(date.max)),
            Fraction(0),
            Fraction(1),
            "date",
            anchor=0,
        )
    unit = column.unit or MICROSECOND
    step = max(unit, MICROSECOND)
    first, last = ceil(position(datetime.min) / step), floor(position(datetime.max) / step)
    return Grid(
        first,
        last,
        Fraction(0),
        step,
        "timestamp",
        bool(column.zoned),
        anchor=0,
        rounded=unit < step,
    )
