"""Public tables beside private rows, by exhaustion: every neighbour of every tiny table moves all
counts together by no more than one row would without the public table (Theorem 34).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement

import duckdb
import pyarrow as pa
import pytest

import postri
from postri import AddOrRemoveRows, ReplaceRows
from postri.columns import DECLARABLE
from postri.engines.rows import Groups, Rows
from postri.engines.table import Table
from postri.expressions.lookup import looked_up
from postri.privacy import ProtectedChange, moved_rows
from proving import sized

# Two keys with one maker, one without a maker, and one of which no public row knows.
MAKERS = {"a": "Airbus", "b": "Boeing", "c": "Boeing", "d": None}
TAILS = ("a", "b", "c", "d", "unknown", None)
BY_MAKER = {"maker": ["Airbus", "Boeing"]}
MOST = sized(2, 4)
CHANGES = pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)

TailRows = tuple[str | None, ...]
Joined = Callable[[TailRows], Table]


def arrow(rows: TailRows) -> pa.Table:
    return pa.table({"tail": pa.array(rows, pa.string())})


def beside(rows: TailRows) -> Table:
    """As a policy joins them."""
    text = DECLARABLE["text"]
    partners = looked_up("tail", text, list(MAKERS.items()), text)
    return postri.open(arrow(rows)).joined({"maker": partners})


def multiplied(rows: TailRows) -> Table:
    """As a database joins them with a table that has two rows for a key."""
    tails = arrow(rows)
    planes = pa.table({"tail": [*MAKERS, "b"], "maker": [*MAKERS.values(), "Boeing"]})
    connection = duckdb.connect()
    connection.register("tails", tails)
    connection.register("planes", planes)
    return postri.open(connection.sql("FROM tails LEFT JOIN planes USING (tail)").to_arrow_table())


def sizes(table: Table) -> Sequence[int]:
    return table.sizes(None, table.bind(Rows(None, Groups.of(BY_MAKER))))


def largest_move(joined: Joined, change: ProtectedChange) -> int:
    """By how many rows the counts of all groups move together at most."""
    tables: list[TailRows] = [
        rows
        for number in range(MOST + 1)
        for rows in combinations_with_replacement(sorted(TAILS, key=str), number)
    ]
    seen = {rows: sizes(joined(rows)) for rows in tables}
    return max(
        sum(abs(left - right) for left, right in zip(seen[one], seen[other], strict=True))
        for one in tables
        for other in tables
        if are_neighbours(one, other, change)
    )


def are_neighbours(one: TailRows, other: TailRows, change: ProtectedChange) -> bool:
    left, right = list(one), list(other)
    for row in one:
        if row in right:
            left.remove(row)
            right.remove(row)
    if isinstance(change, ReplaceRows):
        return len(left) == len(right) == 1
    return len(left) + len(right) == 1


@CHANGES
def test_a_row_beside_its_partner_is_one_row(change):
    assert largest_move(beside, change) == moved_rows(change, len(BY_MAKER["maker"]))


@pytest.mark.slow
@CHANGES
def test_two_partners_of_a_key_are_caught(change):
    assert largest_move(multiplied, change) > moved_rows(change, len(BY_MAKER["maker"]))
