"""Which rows count, slowly and plainly: a row at a time, with exact fractions, by the rule as it is
documented.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cache
from hashlib import md5
from math import ceil, floor, inf
from typing import Any

from contract_tables import Asked

from postri.engines.rows import Groups, Rows, Selection, Units
from postri.engines.table import Table
from postri.expressions import Predicate
from postri.grid import Grid, grid_of
from services.real_tables import Row

Window = tuple[list[int], list[int], int, int]


def selection(table: Table, asked: Asked) -> Selection:
    rows = Rows(
        Predicate.parse(asked.where) if asked.where else None,
        Groups.of(asked.by) if asked.by else None,
        Units(*asked.units) if asked.units else None,
    )
    return table.bind(rows)


def grid_for(table: Table, asked: Asked) -> Grid:
    return grid_of(table.type_of(asked.value), asked.domain)


def counted(rows: Sequence[Row], asked: Asked, grid: Grid) -> list[Counter[int]]:
    """For each group how many rows count at each grid index."""
    numbers = {keys: number for number, keys in enumerate(asked.keys)}
    found = []
    for row in rows:
        number = numbers.get(asked.keys_of(row))
        if number is not None and row[asked.value] is not None and asked.holds(row):
            found.append((row, index_of(row[asked.value], grid), number))
    counts: list[Counter[int]] = [Counter() for _ in numbers]
    for _, index, number in bounded(found, asked):
        counts[number][index] += 1
    return counts


def sizes(rows: Sequence[Row], asked: Asked, column: str | None) -> list[int]:
    """For each group how many rows there are, or how many in which a column has a cell; a mere row
    has an empty index.
    """
    numbers = {keys: number for number, keys in enumerate(asked.keys)}
    found = [(row, "", numbers.get(asked.keys_of(row))) for row in rows if asked.holds(row)]
    kept = [
        each
        for each in found
        if each[2] is not None and (column is None or each[0][column] is not None)
    ]
    counts = Counter(number for _, _, number in bounded(kept, asked))
    return [counts[number] for number in range(len(numbers))]


def bounded(found: list[tuple[Row, int, int]], asked: Asked) -> list[tuple[Row, int, int]]:
    """The first so many rows of each unit, in the order of the md5 of unit:index:number of the
    group.
    """
    if asked.units is None:
        return found
    column, most = asked.units
    taken: Counter[str] = Counter()
    kept = []
    for row, index, number in sorted(
        found, key=lambda each: _turn(str(each[0][column]), each[1], each[2])
    ):
        unit = row[column]
        if unit is not None and taken[str(unit)] < most:
            taken[str(unit)] += 1
            kept.append((row, index, number))
    return kept


def _turn(unit: str, index: int | str, number: int) -> str:
    return md5(f"{unit}:{index}:{number}".encode()).hexdigest()


@cache
def index_of(cell: Any, grid: Grid) -> int:
    """Rounded half to even, clamped."""
    if cell in (inf, -inf):
        return grid.last if cell > 0 else grid.first
    return min(max(round((_number(cell) - grid.base) / grid.step), grid.first), grid.last)


def _number(cell: Any) -> Fraction:
    """Days for dates, seconds for timestamps."""
    if isinstance(cell, datetime):
        start = datetime(1970, 1, 1, tzinfo=UTC if cell.tzinfo else None)
        return Fraction((cell - start) // timedelta(microseconds=1), 10**6)
    return Fraction((cell - date(1970, 1, 1)).days) if isinstance(cell, date) else Fraction(cell)


def window(counts: Counter[int], p: Fraction, half: int) -> Window:
    """The atoms that hold one of the ranks from `half` before the target to `half` after it, the
    rows below them, and n.
    """
    n = counts.total()
    low, high = floor(p * n) - half, ceil(p * n) + 1 + half
    inside, below, rank = [], 0, 0
    for index in sorted(counts):
        if rank + counts[index] < max(low, 1):
            below += counts[index]
        elif rank < min(high, n):
            inside.append(index)
        rank += counts[index]
    return inside, [counts[index] for index in inside], below, n
