"""How many cells lie below each of many grid points, in one scan.

Cells are compared with the least cell of each point, as brackets are: so rounding and clamping
take place nowhere but in `Reading.cut`. What returns is how many cells lie between two cuts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from postri.engines.cuts import Cuts
from postri.engines.reading import Raw, Reading
from postri.engines.sql.brackets import BracketEnds
from postri.engines.sql.dialect import filled
from postri.engines.sql.index_keys import LARGEST, LARGEST_UNSIGNED, SMALLEST
from postri.engines.sql.row_source import RowSource
from postri.engines.sql.units import Columns, indexed_rows, rows_that_stay
from postri.window import Indexes, PointCounts

# Rows of units with their places in the order of the grid.
PLACED_ROWS = """
    (
        SELECT grp, place AS cell
        FROM {rows}
    ) AS places
"""


@dataclass(frozen=True)
class CellsToCount:
    """A relation of cells with their groups, and the cuts among them as literals."""

    relation: str
    cuts: Cuts
    literal: Callable[[Raw], str]


def point_counts(
    relation: str, columns: Columns, row_source: RowSource, reading: Reading, points: Indexes
) -> list[PointCounts]:
    """For each group how many cells lie below each of these grid points, and how many there are."""
    if row_source.rows.units is None:
        cells = _every_cell(relation, row_source, reading, points)
    else:
        cells = _cells_of_units(relation, columns, row_source, reading, points)
    ends = [cells.literal(cut) for cut in cells.cuts.cuts]
    number = row_source.rows.number
    statement = row_source.dialect.bucket_counts(cells.relation, ends, grouped=number > 1)
    groups, buckets, numbers = columns(statement)
    found = np.zeros((number, len(ends) + 1), np.int64)
    np.add.at(found, (groups, buckets), numbers)
    return [_counts(cells.cuts, numbers_of_group) for numbers_of_group in found]


def _counts(cuts: Cuts, numbers: Indexes) -> PointCounts:
    """The counts of one group, from the number of its cells in each bucket."""
    upto = numbers.cumsum()
    return cuts.counts(upto[:-1], int(upto[-1]))


def _every_cell(
    relation: str, row_source: RowSource, reading: Reading, points: Indexes
) -> CellsToCount:
    """The cells as they stand, or raw."""
    ends = BracketEnds(row_source, reading)
    least, most = _reach(row_source, reading, ends)
    cuts = Cuts.of(points, reading.grid, ends.first, least, most)
    return CellsToCount(row_source.cells_that_count(relation), cuts, ends.literal)


def _reach(row_source: RowSource, reading: Reading, ends: BracketEnds) -> tuple[Raw, Raw]:
    """Beyond which cells there are none, nor any literal that could tell."""
    if reading.unit is None:
        return -inf, inf
    declared = row_source.cells.type
    if row_source.cells.literal is not None:
        assert declared.low is not None
        assert declared.high is not None
        return declared.low, declared.high
    if ends.unsigned:
        return 0, LARGEST_UNSIGNED
    return SMALLEST, LARGEST


def _cells_of_units(
    relation: str, columns: Columns, row_source: RowSource, reading: Reading, points: Indexes
) -> CellsToCount:
    """The places of those rows of each unit that stay, each of which is an index less a shift."""
    indexed = indexed_rows(relation, columns, row_source, reading)
    lowest = reading.grid.first - indexed.shift
    unsigned = reading.grid.last - indexed.shift > LARGEST
    most = LARGEST
    if unsigned:
        # Cells lie within the range of their type, or are clamped to the lowest place.
        most = max(lowest, row_source.cells.type.high or 0)
    cuts = Cuts.of(
        points, reading.grid, lambda point: point - indexed.shift, min(lowest, SMALLEST), most
    )
    return CellsToCount(
        filled(PLACED_ROWS, rows=rows_that_stay(indexed, row_source)),
        cuts,
        lambda place: row_source.dialect.integer(str(place), unsigned=unsigned),
    )
