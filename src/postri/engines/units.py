"""Rows with their grid indexes inside the database, and at most so many rows of each unit.

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

from postri.engines.base import Bracket
from postri.engines.dialects.common import UNIT_BITS
from postri.engines.dialects.protocol import Dialect
from postri.engines.keys import LARGEST, Keys, keys_of
from postri.engines.reading import Reading
from postri.engines.selected import Selected
from postri.errors import InputError
from postri.window import Indexes, RankWindow, Target, Total, trim

Columns = Callable[[str], list[NDArray[Any]]]


@dataclass(frozen=True)
class Numbered:
    """The selected rows with their place, a whole number of 64 bits: the `number` that it is, plus
    `shift`, is their grid index.
    """

    relation: str
    number: str
    shift: int
    indexes: Callable[[NDArray[Any]], Indexes]


def bounded_windows(
    relation: str, columns: Columns, selected: Selected, reading: Reading, targets: Sequence[Target]
) -> list[list[RankWindow]]:
    """For each group the window of each target, in one scan that ranks the rows of each unit, and
    counts those that stay.
    """
    numbered = _numbered(relation, columns, selected, reading)
    counted = (
        f"SELECT grp, place, count(*) AS number FROM {_kept(numbered, selected)} GROUP BY grp, "
        "place"
    )
    groups, places, numbers, upto, totals = columns(_near(counted, targets, selected))
    indexes = numbered.indexes(places)
    order = np.lexsort((indexes, groups))
    starts = np.searchsorted(groups[order], np.arange(1, selected.rows.number))
    return [
        [
            _window(indexes[here], numbers[here], upto[here], totals[here], target)
            for target in targets
        ]
        for here in np.split(order, starts)
    ]


def totals(relation: str, columns: Columns, selected: Selected, reading: Reading) -> list[Total]:
    """For each group how many rows count, and the sum of their indexes, in one scan."""
    if selected.rows.units is None and indexed_keys(reading, selected.dialect).doubtful is not None:
        return _float_totals(relation, columns, selected, reading)
    numbered = _numbered(relation, columns, selected, reading)
    high, low = selected.dialect.total(numbered.number)
    query = (
        f"SELECT grp, count(*) AS n, {high} AS high, {low} AS low FROM "
        f"{_kept(numbered, selected)} GROUP BY grp"
    )
    found = {
        int(group): Total(int(n), (int(high) << UNIT_BITS) + int(low) + int(n) * numbered.shift)
        for group, n, high, low in zip(*columns(query), strict=True)
    }
    return [found.get(group, Total(0, 0)) for group in range(selected.rows.number)]


def _float_totals(
    relation: str, columns: Columns, selected: Selected, reading: Reading
) -> list[Total]:
    """The same of floats: those whose index is beyond doubt are added up in the database, the
    others come back by value.
    """
    dialect, keys, raws = (
        selected.dialect,
        indexed_keys(reading, selected.dialect),
        selected.raws(relation),
    )
    high, low = dialect.total(dialect.integer(keys.key, unsigned=False))
    none = dialect.integer("0", unsigned=False)
    sure = (
        f"SELECT grp, 0 AS doubt, {dialect.double(0.0)} AS cell, count(*) AS n, {high} AS high, "
        f"{low} AS low FROM {raws}"
    )
    doubtful = (
        f"SELECT grp, 1 AS doubt, raw AS cell, count(*) AS n, {none} AS high, {none} AS low FROM "
        f"{raws}"
    )
    query = (
        f"{sure} WHERE NOT {keys.doubtful} GROUP BY grp UNION ALL {doubtful} WHERE "
        f"{keys.doubtful} GROUP BY grp, raw"
    )
    found = [Total(0, 0)] * selected.rows.number
    groups, doubts, cells, numbers, highs, lows = columns(query)
    indexes = reading.indexes(np.asarray(cells, np.float64))
    for group, doubt, index, n, high, low in zip(
        groups, doubts, indexes, numbers, highs, lows, strict=True
    ):
        total = int(n) * int(index) if doubt else (int(high) << UNIT_BITS) + int(low)
        found[group] = Total(found[group].n + int(n), found[group].indexes + total)
    return found


def sizes(relation: str, columns: Columns, selected: Selected) -> list[int]:
    """For each group how many rows there are in which the column has a cell; without a column, how
    many rows.
    """
    dialect, kept = selected.dialect, selected.present(relation)
    if selected.rows.units is not None:
        kept = _bounded(
            f"(SELECT grp, unit, 0 AS place FROM {kept}) AS numbered",
            dialect.text_literal(""),
            selected,
        )
    groups, numbers = columns(f"SELECT grp, count(*) AS n FROM {kept} GROUP BY grp")
    found = dict(zip(map(int, groups), map(int, numbers), strict=True))
    return [found.get(group, 0) for group in range(selected.rows.number)]


def _kept(numbered: Numbered, selected: Selected) -> str:
    """The rows that stay: all of them where nothing is said of units."""
    if selected.rows.units is None:
        return numbered.relation
    return _bounded(
        numbered.relation,
        selected.dialect.text_of_integer(numbered.number, numbered.shift),
        selected,
    )


def _bounded(relation: str, digits: str, selected: Selected) -> str:
    """The first so many rows of each unit."""
    dialect, units = selected.dialect, selected.rows.units
    assert units is not None
    text = dialect.joined_text(["unit", digits, dialect.text_of_integer("grp")])
    turn = f"row_number() OVER (PARTITION BY unit ORDER BY {dialect.md5(text)}) AS turn"
    return (
        f"(SELECT grp, place FROM (SELECT grp, place, {turn} FROM {relation}) AS turns WHERE turn "
        f"<= {units.rows}) AS bounded"
    )


def indexed_keys(reading: Reading, dialect: Dialect) -> Keys:
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


def _numbered(relation: str, columns: Columns, selected: Selected, reading: Reading) -> Numbered:
    """Each row with its index. Doubtful floats are looked at one by one, each value once."""
    grid, kept = reading.grid, selected.raws(relation)
    keys = indexed_keys(reading, selected.dialect)
    assert keys.shift is not None
    dialect, unit = selected.dialect, "unit, " if selected.rows.units is not None else ""
    if keys.doubtful is None:
        exact, lowest = keys.indexes, grid.first - keys.shift
        # Where all places lie beyond the numbers with a sign, a database that has no others wraps
        # them around.
        number = (
            "place"
            if lowest <= LARGEST
            else f"CASE WHEN place < {lowest} THEN place + {2**64} ELSE place END"
        )
        numbered = f"(SELECT grp, {unit}{keys.key} AS place FROM {kept}) AS numbered"
        return Numbered(numbered, number, keys.shift, lambda places: exact(places, places))
    (doubtful,) = columns(f"SELECT DISTINCT raw FROM {kept} WHERE {keys.doubtful}")
    found = {float(raw): reading.index(float(raw)) for raw in doubtful}
    rows = ", ".join(
        f"({dialect.double(raw)}, {index})" for raw, index in (found or {0.0: 0}).items()
    )
    sure = dialect.integer(keys.key, unsigned=False)
    place = f"CASE WHEN {keys.doubtful} THEN sought ELSE {sure} END"
    joined = f"{kept} LEFT JOIN (VALUES {rows}) AS doubts(cell, sought) ON raw = cell"
    numbered = (
        f"(SELECT grp, {unit}{dialect.integer(place, unsigned=False)} AS place FROM {joined}) AS "
        "numbered"
    )
    return Numbered(numbered, "place", 0, np.asarray)


def _near(counted: str, targets: Sequence[Target], selected: Selected) -> str:
    """The counts with the rows up to each and n, but none that lies far from all targets."""
    integer = selected.dialect.integer
    upto = integer(
        "sum(number) OVER (PARTITION BY grp ORDER BY place ROWS UNBOUNDED PRECEDING)",
        unsigned=False,
    )
    ranked = (
        f"SELECT grp, place, number, {upto} AS upto, "
        f"{integer('sum(number) OVER (PARTITION BY grp)', unsigned=False)} AS total"
    )
    near = [
        (
            f"(upto >= {float(target.p)!r} * total - {target.half + 4} AND upto - number <= "
            f"{float(target.p)!r} * total + {target.half + 4})"
        )
        for target in targets
    ]
    return (
        f"SELECT grp, place, number, upto, total FROM ({ranked} FROM ({counted}) AS counted) AS "
        f"ranked WHERE {' OR '.join(near)}"
    )


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
    here = (upto >= spot - target.half - 4) & (upto - numbers <= spot + target.half + 4)
    counts, ends = numbers[here].astype(np.int64), upto[here]
    below = int(ends[0] - counts[0]) if len(counts) else 0
    return trim(RankWindow(indexes[here], counts, below, n), target.p, target.half)
