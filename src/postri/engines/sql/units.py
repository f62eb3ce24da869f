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
from postri.engines.rows import KeySizes
from postri.engines.sql.dialect import UNIT_BITS, Dialect, filled
from postri.engines.sql.index_keys import LARGEST, IndexKeys, keys_of
from postri.engines.sql.row_source import RowSource
from postri.engines.sql.sampling import SPARE
from postri.errors import InputError
from postri.window import (
    Ends,
    Indexes,
    MiddleTotal,
    RankWindow,
    SquareTotal,
    Target,
    Total,
    trim,
)

Columns = Callable[[str], list[NDArray[Any]]]

# Two digits of this base make up a place on a grid whose squares are added up: each product of two
# of them has fewer than 63 bits.
DIGIT = 2**31

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

# Sums of the places, each in two parts, of which each fits 64 bits.
TOTALS = """
    SELECT grp, count(*) AS n, {sums}
    FROM {rows}
    GROUP BY grp
"""
# The same where there is one group: to group by a constant takes several times as long. Nothing is
# the sum of no rows.
TOTAL_OF_ALL = """
    SELECT 0 AS grp, count(*) AS n, {sums}
    FROM {rows}
"""
# The same of floats: those whose index is beyond doubt are added up in the database, the others
# come back by value.
FLOAT_TOTALS = """
    SELECT grp, 0 AS doubt, {zero} AS cell, count(*) AS n, {sums}
    FROM {raws}
    WHERE NOT {doubtful}
    GROUP BY grp
    UNION ALL
    SELECT grp, 1 AS doubt, raw AS cell, count(*) AS n, {nothing}
    FROM {raws}
    WHERE {doubtful}
    GROUP BY grp, raw
"""
ONE_WHERE = "CASE WHEN {condition} THEN 1 ELSE 0 END"
DISTANCE = "CASE WHEN {outside} THEN {nothing} ELSE {distance} END"
SIZES = """
    SELECT grp, count(*) AS n
    FROM {rows}
    GROUP BY grp
"""
SIZE_OF_ALL = """
    SELECT 0 AS grp, count(*) AS n
    FROM {rows}
"""
# How many rows have each key that a column has.
KEY_SIZES = """
    SELECT {name} AS sent, count(*) AS n
    FROM {rows}
    GROUP BY name
"""
# The same of at most a number of rows of each unit.
FIRST_KEYS_OF_UNITS = """
    (
        SELECT name
        FROM (
            SELECT name, row_number() OVER (PARTITION BY unit ORDER BY {order}) AS turn
            FROM {rows}
        ) AS turns
        WHERE turn <= {most}
    ) AS bounded
"""
ROWS_WITHOUT_INDEX = """
    (
        SELECT {distinct}grp, unit, 0 AS place
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


@dataclass(frozen=True)
class Summed:
    """What is added up over the cells of a group: `texts` makes it of the text of a whole number
    that is `shift` less than the index, and `numbers` of an index and the number of its group.
    """

    texts: Callable[[str, int], Sequence[str]]
    numbers: Callable[[int, int], Sequence[int]]


@dataclass(frozen=True)
class GroupSums:
    """How many rows of a group count, and what was added up, of numbers that are `shift` less than
    the indexes.
    """

    n: int
    sums: Sequence[int]
    shift: int = 0


def totals(relation: str, columns: Columns, row_source: RowSource, reading: Reading) -> list[Total]:
    """For each group how many rows count, and the sum of their indexes, in one scan."""
    summed = Summed(lambda place, _: [place], lambda index, _: [index])
    groups = _group_sums(relation, columns, row_source, reading, summed)
    return [Total(group.n, group.sums[0] + group.n * group.shift) for group in groups]


def square_totals(
    relation: str, columns: Columns, row_source: RowSource, reading: Reading
) -> list[SquareTotal]:
    """For each group how many rows count, the sum of their places from the first point of the grid,
    and that of the squares, in one scan.

    Squares of many steps are added up digit by digit, for a product has 64 bits.
    """
    dialect = row_source.dialect
    first = reading.grid.first
    wide = reading.grid.last - first >= DIGIT

    def texts(place: str, shift: int) -> list[str]:
        here = place
        if first != shift:
            here = dialect.integer(f"({place} - ({first - shift}))", unsigned=False)
        if not wide:
            return [here, f"({here} * {here})"]
        high = dialect.divided(here, DIGIT)
        low = f"({here} - {high} * {DIGIT})"
        return [here, f"({low} * {low})", f"({high} * {low})", f"({high} * {high})"]

    def numbers(index: int, _group: int) -> list[int]:
        place = index - first
        if not wide:
            return [place, place**2]
        high, low = divmod(place, DIGIT)
        return [place, low**2, high * low, high**2]

    found = []
    for group in _group_sums(relation, columns, row_source, reading, Summed(texts, numbers)):
        places, squares, *upper = group.sums
        if upper:
            squares += 2 * DIGIT * upper[0] + DIGIT**2 * upper[1]
        found.append(SquareTotal(group.n, places, squares))
    return found


def middle_totals(
    relation: str,
    columns: Columns,
    row_source: RowSource,
    reading: Reading,
    ends: Sequence[Ends],
) -> list[MiddleTotal]:
    """For each group how many rows lie up to the lower of its ends, from the upper one on and
    between them, and the sum of the latter's distances from the lower end, in one scan.
    """
    dialect = row_source.dialect

    def texts(place: str, shift: int) -> list[str]:
        low, high = (_of_group([end - shift for end in side]) for side in zip(*ends, strict=True))
        below, above = f"{place} <= {low}", f"{place} >= {high}"
        distance = dialect.integer(f"({place} - {low})", unsigned=False)
        nothing = dialect.integer("0", unsigned=False)
        return [
            filled(ONE_WHERE, condition=below),
            filled(ONE_WHERE, condition=above),
            filled(DISTANCE, outside=f"{below} OR {above}", nothing=nothing, distance=distance),
        ]

    def numbers(index: int, group: int) -> list[int]:
        low, high = ends[group]
        is_inside = low < index < high
        return [int(index <= low), int(index >= high), (index - low) * is_inside]

    found = []
    for group in _group_sums(relation, columns, row_source, reading, Summed(texts, numbers)):
        below, above, distances = group.sums
        found.append(MiddleTotal(below, group.n - below - above, above, distances))
    return found


def _of_group(numbers: Sequence[int]) -> str:
    """The number of each row's group, of one for each group."""
    if len(set(numbers)) == 1:
        return f"({numbers[0]})"
    cases = " ".join(f"WHEN {group} THEN {number}" for group, number in enumerate(numbers))
    return f"CASE grp {cases} END"


def _group_sums(
    relation: str, columns: Columns, row_source: RowSource, reading: Reading, summed: Summed
) -> list[GroupSums]:
    dialect = row_source.dialect
    if row_source.rows.units is None and indexed_keys(reading, dialect).doubtful is not None:
        return _float_sums(relation, columns, row_source, reading, summed)
    indexed = indexed_rows(relation, columns, row_source, reading)
    texts = summed.texts(indexed.number, indexed.shift)
    parts = [part for text in texts for part in dialect.total(text)]
    template = TOTALS
    if not row_source.rows.keys:
        template = TOTAL_OF_ALL
        parts = [f"coalesce({part}, 0)" for part in parts]
    statement = filled(template, sums=_listed_sums(parts), rows=rows_that_stay(indexed, row_source))
    found = [GroupSums(0, [0] * len(texts))] * row_source.rows.number
    for group, n, *halves in zip(*columns(statement), strict=True):
        found[int(group)] = GroupSums(int(n), _joined_pairs(halves), indexed.shift)
    return found


def _float_sums(
    relation: str, columns: Columns, row_source: RowSource, reading: Reading, summed: Summed
) -> list[GroupSums]:
    dialect = row_source.dialect
    keys = indexed_keys(reading, dialect)
    texts = summed.texts(dialect.integer(keys.key, unsigned=False), 0)
    parts = [part for text in texts for part in dialect.total(text)]
    statement = filled(
        FLOAT_TOTALS,
        zero=dialect.double(0.0),
        nothing=_listed_sums([dialect.integer("0", unsigned=False)] * len(parts)),
        sums=_listed_sums(parts),
        raws=row_source.raws_that_count(relation),
        doubtful=keys.doubtful,
    )
    groups, doubts, cells, numbers, *sums = columns(statement)
    indexes = reading.indexes(np.asarray(cells, np.float64))
    found = [GroupSums(0, [0] * len(texts))] * row_source.rows.number
    for group, doubt, index, number, *halves in zip(
        groups, doubts, indexes, numbers, *sums, strict=True
    ):
        n = int(number)
        added = _joined_pairs(halves)
        if doubt:
            added = [n * each for each in summed.numbers(int(index), int(group))]
        before = found[group]
        together = [one + other for one, other in zip(before.sums, added, strict=True)]
        found[group] = GroupSums(before.n + n, together)
    return found


def _listed_sums(parts: Sequence[str]) -> str:
    """The upper and the lower part of each sum, under names of their own."""
    named = []
    for place, part in enumerate(parts):
        number, is_low = divmod(place, 2)
        name = "low" if is_low else "high"
        named.append(f"{part} AS {name}{number or ''}")
    return ", ".join(named)


def _joined_pairs(parts: Sequence[Any]) -> list[int]:
    """Sums whose two parts came back after one another."""
    return [joined_sum(high, low) for high, low in zip(parts[::2], parts[1::2], strict=True)]


def joined_sum(high: Any, low: Any) -> int:
    """A sum whose parts came back apart."""
    return (int(high) << UNIT_BITS) + int(low)


def sizes(relation: str, columns: Columns, row_source: RowSource) -> list[int]:
    """For each group how many rows there are in which the column has a cell; without a column, how
    many rows.
    """
    rows = row_source.rows_that_count(relation)
    if row_source.rows.units is not None:
        rows = _first_rows(rows, row_source)
    return _sizes(rows, columns, row_source)


def key_sizes(relation: str, columns: Columns, row_source: RowSource) -> KeySizes:
    """The raw cells of the column that rows are divided by, and how many rows have each."""
    rows = row_source.keys_that_count(relation)
    units = row_source.rows.units
    dialect = row_source.dialect
    text, name = dialect.text_of_integer("name"), "name"
    if row_source.rows.keys[0].type.kind == "text":
        text, name = "name", dialect.sent_text("name")
    if units is not None:
        turn = dialect.joined_text(["unit", dialect.text_literal(""), text])
        order = dialect.md5(turn)
        rows = filled(FIRST_KEYS_OF_UNITS, order=order, rows=rows, most=units.rows)
    names, numbers = columns(filled(KEY_SIZES, name=name, rows=rows))
    return KeySizes.in_order(names, numbers)


def unit_counts(relation: str, columns: Columns, row_source: RowSource) -> list[int]:
    """For each group how many units have a row in it: each group of a unit is one row here."""
    rows = _first_rows(row_source.rows_that_count(relation), row_source, distinct="DISTINCT ")
    return _sizes(rows, columns, row_source)


def _first_rows(rows: str, row_source: RowSource, distinct: str = "") -> str:
    """Those of mere rows that stay: they have an empty text in place of an index."""
    digits = row_source.dialect.text_literal("")
    numbered = filled(ROWS_WITHOUT_INDEX, distinct=distinct, rows=rows)
    return _first_of_units(numbered, digits, row_source)


def _sizes(rows: str, columns: Columns, row_source: RowSource) -> list[int]:
    found = [0] * row_source.rows.number
    template = SIZES if row_source.rows.keys else SIZE_OF_ALL
    for group, n in zip(*columns(filled(template, rows=rows)), strict=True):
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


def indexed_keys(reading: Reading, dialect: Dialect, raw: str = "raw") -> IndexKeys:
    """The keys of all cells, if indexes follow from them inside the database; InputError otherwise.

    Looks at no cell.
    """
    keys = keys_of(reading, Bracket(reading.grid.first, reading.grid.last), dialect, raw=raw)
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
    # As they came: a database to which the two zeros are distinct looks for each of them.
    indexes = [(float(raw), reading.index(float(raw))) for raw in doubtful]
    if not indexes:
        # A list of nothing cannot be written.
        indexes = [(0.0, 0)]
    values = [f"({dialect.double(raw)}, {index})" for raw, index in indexes]
    sure = dialect.integer(keys.key, unsigned=False)
    place = filled(PLACE_LOOKED_UP, doubtful=keys.doubtful, sure=sure)
    rows = filled(
        INDEXED_ROWS,
        unit=unit,
        place=dialect.integer(place, unsigned=False),
        raws=filled(LOOKED_UP, raws=raws, values=", ".join(values)),
    )
    return IndexedRows(rows, "place", 0, np.asarray)
