"""Rows with their grid indexes inside the database: totals, and windows of at most a number of rows
of each unit.

The rows of a unit are put in the order of the md5 of `unit:grid index:number of the group`, and the
first ones stay. So which of them stay depends on that unit's rows alone, and is the same on every
engine. Rows with the same text are alike, whichever of them stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.engines.engine import Bracket
from postri.engines.reading import Reading
from postri.engines.sql.dialect import UNIT_BITS, Dialect, filled
from postri.engines.sql.index_keys import LARGEST, IndexKeys, keys_of
from postri.engines.sql.row_source import RowSource
from postri.engines.sql.sampling import SPARE
from postri.errors import InputError
from postri.window import Indexes, RankWindow, Target, Total, trim

Columns = Callable[[str], list[NDArray[Any]]]

# The counts of all places, with the rows up to each and n, but none that lies far from all targets.
COUNTS_NEAR = """
    SELECT grp, place, number, upto, total
    FROM (
        SELECT grp, place, number, {upto} AS upto, {total} AS total
        FROM (
            SELECT grp, place, count(*) AS number
            FROM {rows}
            GROUP BY grp, place
        ) AS counted
    ) AS ranked
    WHERE {near}
"""
ROWS_UPTO = """
    sum(number) OVER (PARTITION BY grp ORDER BY place ROWS UNBOUNDED PRECEDING)
"""
ROWS_OF_GROUP = "sum(number) OVER (PARTITION BY grp)"
NEAR_TARGET = """
    (upto >= {p} * total - {reach} AND upto - number <= {p} * total + {reach})
"""

# The sum of the places in two parts, of which each fits 64 bits.
TOTALS = """
    SELECT grp, count(*) AS n, {high} AS high, {low} AS low
    FROM {rows}
    GROUP BY grp
"""
# The same of floats: those whose index is beyond doubt are added up in the database, the others
# come back by value.
FLOAT_TOTALS = """
    SELECT grp, 0 AS doubt, {zero} AS cell, count(*) AS n, {high} AS high, {low} AS low
    FROM {raws}
    WHERE NOT {doubtful}
    GROUP BY grp
    UNION ALL
    SELECT grp, 1 AS doubt, raw AS cell, count(*) AS n, {none} AS high, {none} AS low
    FROM {raws}
    WHERE {doubtful}
    GROUP BY grp, raw
"""
SIZES = """
    SELECT grp, count(*) AS n
    FROM {rows}
    GROUP BY grp
"""
ROWS_WITHOUT_INDEX = """
    (
        SELECT grp, unit, 0 AS place
        FROM {rows}
    ) AS numbered
"""
# At most a number of rows of each unit.
FIRST_OF_UNITS = """
    (
        SELECT grp, place
        FROM (
            SELECT grp, place, row_number() OVER (PARTITION BY unit ORDER BY {order}) AS turn
            FROM {rows}
        ) AS turns
        WHERE turn <= {most}
    ) AS bounded
"""
INDEXED_ROWS = """
    (
        SELECT grp, {unit}{place} AS place
        FROM {raws}
    ) AS numbered
"""
DOUBTFUL_CELLS = """
    SELECT DISTINCT raw
    FROM {raws}
    WHERE {doubtful}
"""
# Each doubtful float is looked up: its index was found outside the database.
LOOKED_UP = """
    {raws} LEFT JOIN (VALUES {values}) AS doubts(cell, sought) ON raw = cell
"""
PLACE_LOOKED_UP = "CASE WHEN {doubtful} THEN sought ELSE {sure} END"


@dataclass(frozen=True)
class IndexedRows:
    """The selected rows with their place, a whole number of 64 bits: the `number` that it is, plus
    `shift`, is their grid index.
    """

    relation: str
    number: str
    shift: int
    indexes: Callable[[NDArray[Any]], Indexes]


def bounded_windows(
    relation: str,
    columns: Columns,
    row_source: RowSource,
    reading: Reading,
    targets: Sequence[Target],
) -> list[list[RankWindow]]:
    """For each group the window of each target, in one scan that ranks the rows of each unit, and
    counts those that stay.
    """
    indexed = indexed_rows(relation, columns, row_source, reading)
    integer = row_source.dialect.integer
    near = [
        filled(NEAR_TARGET, p=repr(float(target.p)), reach=target.half + SPARE)
        for target in targets
    ]
    statement = filled(
        COUNTS_NEAR,
        upto=integer(filled(ROWS_UPTO), unsigned=False),
        total=integer(ROWS_OF_GROUP, unsigned=False),
        rows=rows_that_stay(indexed, row_source),
        near=" OR ".join(near),
    )
    groups, places, numbers, upto, totals = columns(statement)
    indexes = indexed.indexes(places)
    order = np.lexsort((indexes, groups))
    starts = np.searchsorted(groups[order], np.arange(1, row_source.rows.number))
    return [
        [
            _window(indexes[here], numbers[here], upto[here], totals[here], target)
            for target in targets
        ]
        for here in np.split(order, starts)
    ]


def _window(
    indexes: NDArray[np.int64],
    numbers: NDArray[Any],
    upto: NDArray[Any],
    totals: NDArray[Any],
    target: Target,
) -> RankWindow:
    """The window of a target, from counts that may belong to several."""
    n = int(totals[0]) if len(totals) else 0
    spot = float(target.p) * n
    reach = target.half + SPARE
    here = (upto >= spot - reach) & (upto - numbers <= spot + reach)
    counts = numbers[here].astype(np.int64)
    below = 0
    if len(counts):
        below = int(upto[here][0] - counts[0])
    return trim(RankWindow(indexes[here], counts, below, n), target.p, target.half)


def totals(relation: str, columns: Columns, row_source: RowSource, reading: Reading) -> list[Total]:
    """For each group how many rows count, and the sum of their indexes, in one scan."""
    dialect = row_source.dialect
    if row_source.rows.units is None and indexed_keys(reading, dialect).doubtful is not None:
        return _float_totals(relation, columns, row_source, reading)
    indexed = indexed_rows(relation, columns, row_source, reading)
    high, low = dialect.total(indexed.number)
    statement = filled(TOTALS, high=high, low=low, rows=rows_that_stay(indexed, row_source))
    found = [Total(0, 0)] * row_source.rows.number
    for group, n, above, below in zip(*columns(statement), strict=True):
        found[int(group)] = Total(int(n), _joined(above, below) + int(n) * indexed.shift)
    return found


def _float_totals(
    relation: str, columns: Columns, row_source: RowSource, reading: Reading
) -> list[Total]:
    dialect = row_source.dialect
    keys = indexed_keys(reading, dialect)
    high, low = dialect.total(dialect.integer(keys.key, unsigned=False))
    statement = filled(
        FLOAT_TOTALS,
        zero=dialect.double(0.0),
        none=dialect.integer("0", unsigned=False),
        high=high,
        low=low,
        raws=row_source.raws_that_count(relation),
        doubtful=keys.doubtful,
    )
    groups, doubts, cells, numbers, highs, lows = columns(statement)
    indexes = reading.indexes(np.asarray(cells, np.float64))
    found = [Total(0, 0)] * row_source.rows.number
    for group, doubt, index, n, above, below in zip(
        groups, doubts, indexes, numbers, highs, lows, strict=True
    ):
        total = int(n) * int(index) if doubt else _joined(above, below)
        found[group] = Total(found[group].n + int(n), found[group].indexes + total)
    return found


def _joined(high: Any, low: Any) -> int:
    """A sum whose parts came back apart."""
    return (int(high) << UNIT_BITS) + int(low)


def sizes(relation: str, columns: Columns, row_source: RowSource) -> list[int]:
    """For each group how many rows there are in which the column has a cell; without a column, how
    many rows.
    """
    rows = row_source.rows_that_count(relation)
    if row_source.rows.units is not None:
        # A mere row has an empty text in place of its index.
        digits = row_source.dialect.text_literal("")
        rows = _first_of_units(filled(ROWS_WITHOUT_INDEX, rows=rows), digits, row_source)
    found = [0] * row_source.rows.number
    for group, n in zip(*columns(filled(SIZES, rows=rows)), strict=True):
        found[int(group)] = int(n)
    return found


def rows_that_stay(indexed: IndexedRows, row_source: RowSource) -> str:
    """All rows where nothing is said of units."""
    if row_source.rows.units is None:
        return indexed.relation
    digits = row_source.dialect.text_of_integer(indexed.number, indexed.shift)
    return _first_of_units(indexed.relation, digits, row_source)


def _first_of_units(rows: str, digits: str, row_source: RowSource) -> str:
    units = row_source.rows.units
    assert units is not None
    dialect = row_source.dialect
    text = dialect.joined_text(["unit", digits, dialect.text_of_integer("grp")])
    return filled(FIRST_OF_UNITS, order=dialect.md5(text), rows=rows, most=units.rows)


def indexed_keys(reading: Reading, dialect: Dialect) -> IndexKeys:
    """The keys of all cells, if indexes follow from them inside the database; InputError otherwise.

    Looks at no cell.
    """
    keys = keys_of(reading, Bracket(reading.grid.first, reading.grid.last), dialect)
    if keys.shift is None:
        raise InputError(
            "sums, means and rows bounded by unit need a domain of fewer points than this "
            "one; give a larger step, or the column's own step"
        )
    return keys


def indexed_rows(
    relation: str, columns: Columns, row_source: RowSource, reading: Reading
) -> IndexedRows:
    """Each row with its index. Doubtful floats are looked at one by one, each value once."""
    keys = indexed_keys(reading, row_source.dialect)
    assert keys.shift is not None
    raws = row_source.raws_that_count(relation)
    unit = "unit, " if row_source.rows.units is not None else ""
    if keys.doubtful is not None:
        return _looked_up_rows(raws, unit, columns, keys, reading, row_source.dialect)
    to_indexes = keys.indexes
    lowest = reading.grid.first - keys.shift
    number = "place"
    if lowest > LARGEST:
        # Where all places lie beyond the numbers with a sign, a database that has no others wraps
        # them around.
        number = f"CASE WHEN place < {lowest} THEN place + {2**64} ELSE place END"
    return IndexedRows(
        filled(INDEXED_ROWS, unit=unit, place=keys.key, raws=raws),
        number,
        keys.shift,
        lambda places: to_indexes(places, places),
    )


def _looked_up_rows(
    raws: str, unit: str, columns: Columns, keys: IndexKeys, reading: Reading, dialect: Dialect
) -> IndexedRows:
    (doubtful,) = columns(filled(DOUBTFUL_CELLS, raws=raws, doubtful=keys.doubtful))
    indexes = {float(raw): reading.index(float(raw)) for raw in doubtful}
    if not indexes:
        # A list of nothing cannot be written.
        indexes = {0.0: 0}
    values = [f"({dialect.double(raw)}, {index})" for raw, index in indexes.items()]
    sure = dialect.integer(keys.key, unsigned=False)
    place = filled(PLACE_LOOKED_UP, doubtful=keys.doubtful, sure=sure)
    rows = filled(
        INDEXED_ROWS,
        unit=unit,
        place=dialect.integer(place, unsigned=False),
        raws=filled(LOOKED_UP, raws=raws, values=", ".join(values)),
    )
    return IndexedRows(rows, "place", 0, np.asarray)
