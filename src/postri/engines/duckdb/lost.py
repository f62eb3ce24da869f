"""What is lost of files, by one scan that numbers their lines or rows.

Exact, so NOT PRIVATE: for the steward alone. No cell leaves the database, only such numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from numpy.typing import NDArray

from postri.engines.lost import Lost, LostCells
from postri.engines.sql.dialect import filled

# Lines with their numbers among those that DuckDB reads, which are not the empty ones.
NUMBERED_LINES = """
    (
        SELECT row_number() OVER () AS number, line
        FROM {lines}
    ) AS numbered
"""
# Each line that is not blank, and its cells; all are empty where it is not a record.
NUMBERED_TEXTS = """
    (
        SELECT number, record.line <> '' AS is_record, {cells}
        FROM (
            SELECT number, unnest([{{'record': {split}}}], recursive := false).record AS record
            FROM {lines}
            WHERE trim(line, {blanks}) <> ''
        )
    ) AS texts
"""
LOST = """
    SELECT count(*) AS rows, {counts}
    FROM {relation}
"""
COUNT = "count(*) FILTER (WHERE {condition}) AS count{i}"
FIRST = """
    coalesce(array_to_string(min({number}, {most}) FILTER (WHERE {condition}), ' '), '') AS first{i}
"""


class Queries(Protocol):
    """A file that can be asked."""

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns."""


def count_lost(
    source: Queries, relation: str, number: str, conditions: Iterable[str], most: int
) -> tuple[int, list[Lost]]:
    """How many rows there are, and on how many of them each condition holds, with the numbers of
    the first `most`.
    """
    counts = []
    for i, condition in enumerate(conditions):
        counts.append(filled(COUNT, condition=condition, i=i))
        counts.append(filled(FIRST, number=number, condition=condition, i=i, most=most))
    statement = filled(LOST, counts=", ".join(counts), relation=relation)
    rows, *found = (column[0] for column in source.columns(statement))
    lost = [
        Lost(int(count), tuple(map(int, str(first).split())))
        for count, first in zip(found[::2], found[1::2], strict=True)
    ]
    return int(rows), lost


def lost_of_lines(
    source: Queries, relation: str, blank: Mapping[str, str], read: Mapping[str, str], most: int
) -> LostCells:
    """What is lost of each column of numbered texts: its cells are blank and are read where these
    conditions hold. Lines have their numbers among those that are read.
    """
    conditions = ["NOT is_record"]
    for column, is_blank in blank.items():
        is_lost = f"is_record AND NOT {read[column]}"
        conditions.append(f"{is_lost} AND {is_blank}")
        conditions.append(f"{is_lost} AND NOT ({is_blank})")
    rows, lost = count_lost(source, relation, "number", conditions, most)
    return LostCells(
        rows=rows,
        no_record=lost[0],
        empty=dict(zip(blank, lost[1::2], strict=True)),
        unreadable=dict(zip(blank, lost[2::2], strict=True)),
        numbered="line",
    )


def in_the_file(lost: LostCells, lines: Iterable[bool]) -> LostCells:
    """The same with the numbers that lines have in the file, for each of which it is told whether
    it is read.
    """
    every = [lost.no_record, *lost.empty.values(), *lost.unreadable.values()]
    wanted = {number for each in every for number in each.first}
    places: dict[int, int] = {}
    numbers_read = 0
    for place, is_read in enumerate(lines, start=1):
        if len(places) == len(wanted):
            break
        numbers_read += is_read
        if is_read and numbers_read in wanted:
            places[numbers_read] = place

    def placed(each: Lost) -> Lost:
        return Lost(each.count, tuple(places[number] for number in each.first if number in places))

    return replace(
        lost,
        no_record=placed(lost.no_record),
        empty={column: placed(each) for column, each in lost.empty.items()},
        unreadable={column: placed(each) for column, each in lost.unreadable.items()},
    )
