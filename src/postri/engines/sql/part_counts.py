"""How many cells lie in each part of some stretches of the grid, in one scan.

Where the index of a cell is computed in the database, its stretch and its part follow by divisions,
and cells of other stretches are left out before they are counted. Else the boundaries of the parts
are points like others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from postri.engines.engine import Bracket
from postri.engines.reading import Reading
from postri.engines.sql.dialect import filled
from postri.engines.sql.index_keys import LARGEST, SMALLEST, IndexKeys, keys_of
from postri.engines.sql.point_counts import point_counts
from postri.engines.sql.row_source import RowSource
from postri.engines.sql.units import Columns
from postri.window import Indexes

if TYPE_CHECKING:
    from postri.engines.stretches import Stretches

# A cell outside has no place, whatever a database computes first: so no difference is computed that
# may not fit 64 bits. The filter says the same once more: DuckDB then knows that the CASE holds,
# and tests once, where it reads the table.
PART_COUNTS = """
    SELECT {group}, part, count(*) AS number
    FROM (
        SELECT {own_group}{part} AS part
        FROM (
            SELECT {own_group}CASE WHEN spot >= {first} AND spot < {end} THEN spot - {first} END
                AS place
            FROM (SELECT {own_group}{key} AS spot FROM {relation}) AS spots
            WHERE spot >= {first} AND spot < {end}
        ) AS placed JOIN {stretches} ON {stretch} = stretches.number
    ) AS parts
    GROUP BY {own_group}part
"""
# Where the parts are single points, DuckDB finds the rows by a list of all of them: it makes a
# filter of the list, and drops other rows where it reads the table.
SINGLE_POINTS = """
    SELECT {group}, place, count(*) AS number
    FROM (SELECT {own_group}{key} AS spot FROM {relation}) AS spots JOIN {places} USING (spot)
    GROUP BY {own_group}place
"""


def divides_cells(row_source: RowSource, reading: Reading) -> bool:
    """Whether the part of a cell follows by divisions: by declared types alone."""
    grid = reading.grid
    return _keys(row_source, reading, Bracket(grid.first, grid.last)) is not None


def part_counts(
    relation: str,
    columns: Columns,
    row_source: RowSource,
    reading: Reading,
    stretches: Stretches,
) -> Indexes:
    """For each group how many cells lie in each part of each stretch."""
    bracket = Bracket(stretches.first, stretches.end - 1)
    keys = _keys(row_source, reading, bracket)
    if keys is None:
        return _counts_between_points(relation, columns, row_source, reading, stretches)
    shape = (row_source.rows.number, len(stretches.firsts), stretches.parts)
    found = np.zeros(shape, np.int64)
    listed = _listed_places(row_source, keys, stretches)
    if listed is not None:
        statement = _statement_by_places(relation, row_source, keys, listed)
        groups, short, numbers = columns(statement)
        places = short.astype(np.int64)
        lines = places // stretches.size
    else:
        groups, places, numbers = columns(_statement(relation, row_source, keys, stretches))
        lines = stretches.numbers.searchsorted(places // stretches.parts)
    found[groups, lines, places % stretches.parts] = numbers
    return found


def _keys(row_source: RowSource, reading: Reading, bracket: Bracket) -> IndexKeys | None:
    """The indexes less a shift, if these are whole numbers with a sign: those inside the bracket,
    and others outside.
    """
    if row_source.rows.units is not None:
        return None
    grid = reading.grid
    low, high = max(bracket.low, grid.first), min(bracket.high, grid.last)
    keys = keys_of(reading, Bracket(low, high), row_source.dialect)
    if keys.shift is None or keys.doubtful is not None:
        return None
    if grid.last - keys.shift > LARGEST:
        return None
    return keys


def _listed_places(row_source: RowSource, keys: IndexKeys, stretches: Stretches) -> str | None:
    """All keys of the stretches, where a list of them is the quicker way to their rows."""
    assert keys.shift is not None
    first, end = stretches.first - keys.shift, stretches.end - keys.shift
    if stretches.step > 1 or first < SMALLEST or end > LARGEST:
        return None
    firsts = [each - keys.shift for each in stretches.firsts.tolist()]
    return row_source.dialect.numbered_places(firsts, stretches.size)


def _statement_by_places(relation: str, row_source: RowSource, keys: IndexKeys, places: str) -> str:
    group, own_group = _group_columns(row_source)
    return filled(
        SINGLE_POINTS,
        group=group,
        own_group=own_group,
        key=keys.key,
        relation=row_source.raws_that_count(relation),
        places=places,
    )


def _group_columns(row_source: RowSource) -> tuple[str, str]:
    """The group of a row as it is told, and as it is counted by."""
    if row_source.rows.number > 1:
        return "grp", "grp, "
    return "0 AS grp", ""


def _statement(relation: str, row_source: RowSource, keys: IndexKeys, stretches: Stretches) -> str:
    dialect = row_source.dialect
    assert keys.shift is not None
    numbers = [dialect.integer(str(each), unsigned=False) for each in stretches.numbers.tolist()]
    first = stretches.first - keys.shift
    end = stretches.end - keys.shift
    group, own_group = _group_columns(row_source)
    return filled(
        PART_COUNTS,
        group=group,
        own_group=own_group,
        part=dialect.divided("place", stretches.step),
        first=first,
        end=end,
        key=keys.key,
        relation=row_source.raws_that_count(relation),
        stretches=dialect.listed_rows({"number": numbers}, "stretches"),
        stretch=dialect.divided("place", stretches.size),
    )


def _counts_between_points(
    relation: str,
    columns: Columns,
    row_source: RowSource,
    reading: Reading,
    stretches: Stretches,
) -> Indexes:
    """From the counts below the boundaries of all parts."""
    grid = reading.grid
    starts = stretches.starts
    bounds = np.hstack((starts, starts[:, :1] + stretches.size))
    points = np.unique(np.minimum(bounds, grid.last))
    found = []
    for counted in point_counts(relation, columns, row_source, reading, points):
        below = counted.below(np.minimum(bounds, grid.last))
        # All cells lie below a bound past the grid's end.
        found.append(np.diff(np.where(bounds > grid.last, counted.n, below), axis=1))
    return np.array(found)
