"""How many cells lie below each of many grid points, in one scan.

Cells are compared with the least cell of each point, as brackets are: so rounding and clamping
take place nowhere but in `Reading.cut`. What returns is how many cells lie between two cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from postri.engines.cuts import Cuts
from postri.engines.reading import Raw, Reading
from postri.engines.sql.brackets import BracketEnds
from postri.engines.sql.dialect import BucketedCells
from postri.engines.sql.index_keys import LARGEST, LARGEST_UNSIGNED, SMALLEST
from postri.engines.sql.row_source import RowSource
from postri.engines.sql.units import Columns, indexed_rows, rows_that_stay
from postri.window import Indexes, PointCounts


def point_counts(
    relation: str, columns: Columns, row_source: RowSource, reading: Reading, points: Indexes
) -> list[PointCounts]:
    """For each group how many cells lie below each of these grid points, and how many there are."""
    if row_source.rows.units is None:
        bucketed = _every_cell(relation, row_source, reading, points)
    else:
        bucketed = _cells_of_units(relation, columns, row_source, reading, points)
    statement = row_source.dialect.bucket_counts(bucketed.cells)
    groups, buckets, numbers = columns(statement)
    found = np.zeros((row_source.rows.number, len(bucketed.cuts.cuts) + 1), np.int64)
    found[groups, buckets] = numbers
    return [_counts(bucketed.cuts, of_group) for of_group in found]


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
    cuts = Cuts.of(points, reading.grid, ends.first, least, most)
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
