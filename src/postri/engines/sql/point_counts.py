"""How many cells lie below each of many grid points, in one scan.

Cells are compared with the least cell of each point, as brackets are: so rounding and clamping
take place nowhere but in `Reading.cut`. What returns is how many cells lie between two cuts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import inf

import numpy as np

from postri.engines.cuts import Cuts
from postri.engines.engine import CHANGED
from postri.engines.reading import Raw, Reading
from postri.engines.sql.brackets import BracketEnds
from postri.engines.sql.dialect import BucketedCells
from postri.engines.sql.index_keys import LARGEST, LARGEST_UNSIGNED, SMALLEST
from postri.engines.sql.row_source import RowSource
from postri.engines.sql.units import Columns, indexed_rows, rows_that_stay
from postri.errors import SourceChanged
from postri.window import Indexes, PointCounts

# From how many on cuts that are alike are worth a scan of their own.
LONG_RUN = 64


def point_counts(
    relation: str, columns: Columns, row_source: RowSource, reading: Reading, points: Indexes
) -> list[PointCounts]:
    """For each group how many cells lie below each of these grid points, and how many there are."""
    if row_source.rows.units is None:
        bucketed = _every_cell(relation, row_source, reading, points)
    else:
        bucketed = _cells_of_units(relation, columns, row_source, reading, points)
    counter = BucketCounter(columns, row_source)
    return [_counts(bucketed.cuts, of_group) for of_group in counter.numbers(bucketed.cells)]


@dataclass(frozen=True)
class BucketCounter:
    """Counts the cells of each group in buckets."""

    columns: Columns
    row_source: RowSource

    def numbers(self, cells: BucketedCells) -> Indexes:
        """For each group how many cells lie in each bucket.

        Where most cuts are alike, the cells between these are put into their buckets by a division.
        Only the others, if there are any, are looked up, by a second scan.
        """
        start, end = longest_even_run(cells)
        if end - start < LONG_RUN or end - start == len(cells.cuts):
            return self._scanned(cells)
        found = np.zeros((self.row_source.rows.number, len(cells.cuts) + 1), np.int64)
        even = self._scanned(replace(cells, cuts=cells.cuts[start:end]))
        found[:, start + 1 : end] = even[:, 1:-1]
        if even[:, [0, -1]].any():
            # What lies in between has no bucket here.
            before, after = cells.cuts[:start], cells.cuts[end - 1 :]
            others = replace(cells.outside(start, end), cuts=[*before, *after])
            looked_up = self._scanned(others)
            if not np.array_equal(looked_up.sum(axis=1), even[:, 0] + even[:, -1]):
                raise SourceChanged(CHANGED)
            found[:, : start + 1] = looked_up[:, : start + 1]
            found[:, end:] = looked_up[:, start + 1 :]
        return found

    def _scanned(self, cells: BucketedCells) -> Indexes:
        groups, buckets, numbers = self.columns(self.row_source.dialect.bucket_counts(cells))
        found = np.zeros((self.row_source.rows.number, len(cells.cuts) + 1), np.int64)
        found[groups, buckets] = numbers
        return found


def longest_even_run(cells: BucketedCells) -> tuple[int, int]:
    """From which cut to before which one the most of them are alike; none of cells that cannot be
    divided.
    """
    if not cells.whole or len(cells.cuts) < LONG_RUN:
        return 0, 0
    steps = [after - before for before, after in pairwise(cells.cuts)]
    best = start = end = 0
    for _, alike in groupby(steps):
        number = len(list(alike))
        if number > end - best - 1:
            best, end = start, start + number + 1
        start += number
    return best, end


def _counts(cuts: Cuts, numbers: Indexes) -> PointCounts:
    """The counts of one group, from the number of its cells in each bucket."""
    upto = numbers.cumsum()
    return cuts.counts(upto[:-1], int(upto[-1]))


@dataclass(frozen=True)
class Bucketed:
    """The cuts of some points, and the cells that are cut there."""

    cuts: Cuts
    cells: BucketedCells


def _every_cell(
    relation: str, row_source: RowSource, reading: Reading, points: Indexes
) -> Bucketed:
    """The cells as they stand, or raw."""
    ends = BracketEnds(row_source, reading)
    as_they_stand = row_source.cells.literal is not None
    if row_source.dialect.buckets_raw(row_source.cells.type):
        as_they_stand = False
    least, most = _reach(row_source, reading, as_they_stand=as_they_stand)
    cuts = Cuts.of(points, reading.grid, ends.first, least, most, reading.shift)
    kept = row_source.cells_that_count(relation)
    cell = "cell"
    literal = ends.literal
    if not as_they_stand:
        kept = row_source.raws_that_count(relation)
        cell = "raw"
        literal = ends.number
    grouped = row_source.rows.number > 1
    whole = reading.unit is not None and not as_they_stand
    return Bucketed(cuts, BucketedCells(kept, cell, grouped, cuts.cuts, literal, whole))


def _reach(row_source: RowSource, reading: Reading, *, as_they_stand: bool) -> tuple[Raw, Raw]:
    """The range beyond which there are neither cells nor literals."""
    declared = row_source.cells.type
    if reading.unit is None:
        return -inf, inf
    if as_they_stand and declared.low is not None and declared.high is not None:
        return declared.low, declared.high
    most = _most_whole(row_source)
    least = 0 if most == LARGEST_UNSIGNED else SMALLEST
    return least, most


def _most_whole(row_source: RowSource) -> int:
    """The largest of all whole numbers of 64 bits with which the column's raw cells are
    computed.
    """
    if row_source.cells.type.high == LARGEST_UNSIGNED:
        return LARGEST_UNSIGNED
    return LARGEST


def _cells_of_units(
    relation: str, columns: Columns, row_source: RowSource, reading: Reading, points: Indexes
) -> Bucketed:
    """The places of those rows of each unit that stay, each of which is an index less a shift."""
    indexed = indexed_rows(relation, columns, row_source, reading)
    lowest = reading.grid.first - indexed.shift
    unsigned = reading.grid.last - indexed.shift > LARGEST
    most = LARGEST
    if unsigned:
        # Cells lie within the range of their numbers, or are clamped to the lowest place.
        most = max(lowest, _most_whole(row_source))

    def place(point: int) -> int:
        return point - indexed.shift

    def literal(cut: Raw) -> str:
        return row_source.dialect.integer(str(cut), unsigned=unsigned)

    cuts = Cuts.of(points, reading.grid, place, lowest, most)
    kept = rows_that_stay(indexed, row_source)
    grouped = row_source.rows.number > 1
    return Bucketed(cuts, BucketedCells(kept, "place", grouped, cuts.cuts, literal, whole=True))
