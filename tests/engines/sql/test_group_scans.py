"""Many groups of a DuckDB table, in two passes guided by a sample: the same windows as in memory,
whatever the groups are like.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pytest

import postri
from postri import Domain
from postri.engines.duckdb.source import RelationSource
from postri.engines.rows import Groups, Rows
from postri.engines.sql.sampling import Sample
from postri.engines.table import Table
from postri.expressions import Predicate
from postri.grid import grid_of
from postri.window import RankWindow, Target
from proving import sized

pytestmark = pytest.mark.slow

ROWS = sized(150_000, 400_000)
MEDIAN = Target(Fraction(1, 2), 60)
TARGETS = (Target(Fraction(1, 10), 40), MEDIAN, Target(Fraction(99, 100), 90))
# Mixes the digits of a row's number, so that rows are in no order.
MIXED = "(hash(range) % 1000003)::BIGINT"
WIDTHS = {
    **{
        "TINYINT": (-128, 127),
        "SMALLINT": (-(2**15), 2**15 - 1),
        "INTEGER": (-(2**31), 2**31 - 1),
        "BIGINT": (-(2**63), 2**63 - 1),
    },
    **{
        "UTINYINT": (0, 255),
        "USMALLINT": (0, 2**16 - 1),
        "UINTEGER": (0, 2**32 - 1),
        "UBIGINT": (0, 2**64 - 1),
    },
}


@dataclass(frozen=True)
class Many:
    """A table: an expression of the value, of the key, an order of rows; and what is asked."""

    value: str = MIXED
    key: str = "range % 100"
    by: dict[str, list[Any]] = field(default_factory=lambda: {"k": list(range(100))})
    order: str = ""
    domain: Domain | None = None
    where: str | None = None
    targets: tuple[Target, ...] = (MEDIAN,)
    declared: str = "TABLE"

    def made(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        order = f" ORDER BY {self.order}" if self.order else ""
        connection.execute(
            f"CREATE {self.declared} many AS SELECT {self.value} AS x, {self.key} AS k, range "
            f"% 3 AS j FROM range({ROWS}){order}"
        )
        return connection.table("many")


MANY = {
    "groups that are alike": Many(),
    "several targets": Many(targets=TARGETS),
    "groups that have nothing in common": Many(
        value=f"{MIXED} + 10000000 * (range % 100)", targets=TARGETS
    ),
    "one group unlike all others": Many(
        value=f"{MIXED} + CASE WHEN range % 100 = 42 THEN 900000000 ELSE 0 END"
    ),
    "rows in the order of their keys": Many(order="k"),
    "rows in the order of their values": Many(order="x", targets=TARGETS),
    "keys far apart": Many(
        key="(range % 100) * 1000003", by={"k": [1000003 * i for i in range(100)]}
    ),
    "keys in any order": Many(by={"k": [(37 * i) % 100 for i in range(100)]}),
    "some of the keys": Many(by={"k": [3, 5, 7, 11, 13, 17]}),
    "a single one of many keys": Many(by={"k": [3, 4]}),
    "keys that do not occur": Many(by={"k": list(range(50, 150))}),
    "no key that occurs": Many(by={"k": list(range(1000, 1100))}),
    "keys that are texts": Many(
        key="'key ' || range % 100", by={"k": [f"key {i}" for i in range(100)]}
    ),
    "keys that are nulls": Many(key="CASE WHEN range % 7 > 0 THEN range % 100 END"),
    "two columns of keys": Many(by={"k": list(range(100)), "j": [0, 1, 2]}),
    "two columns of keys, one of them apart": Many(
        key="(range % 20) * 999", by={"k": [999 * i for i in range(20)], "j": [2, 0]}
    ),
    "a filter": Many(where="j = 1"),
    "a filter that leaves little": Many(where="x < 3000"),
    "values that are nulls": Many(value=f"CASE WHEN range % 5 > 0 THEN {MIXED} END"),
    "values that are often alike": Many(value=f"{MIXED} % 10", targets=TARGETS),
    "values that are sometimes alike": Many(value=f"{MIXED} % 1000", targets=TARGETS),
    "values that are all alike": Many(value="7"),
    "half of the values alike": Many(
        value=f"CASE WHEN range % 2 = 0 THEN 500000 ELSE {MIXED} END", targets=TARGETS
    ),
    "a gap at the quantile": Many(
        value=f"{MIXED} + CASE WHEN hash(range) % 2 = 0 THEN 0 ELSE 1000000000000000 END"
    ),
    "values of very different sizes": Many(
        value=f"CAST(power(2, {MIXED} / 20000.0) AS BIGINT)", targets=TARGETS
    ),
    "groups of very different sizes": Many(
        key=f"CAST(100 * power(range / {ROWS}, 8) AS INTEGER)", by={"k": list(range(101))}
    ),
    "groups of a few rows": Many(key="range % 50000", by={"k": list(range(0, 50000, 25))}),
    "the ends of all whole numbers": Many(
        value=(
            "CASE range % 3 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808 "
            f"ELSE {MIXED} END"
        )
    ),
    "whole numbers without a sign": Many(value=f"18446744073709551615::UBIGINT - {MIXED}::UBIGINT"),
    "a domain of wide steps": Many(domain=Domain(0, 1000000, step=5000), targets=TARGETS),
    "a domain of steps beside the values": Many(domain=Domain(1, 1000000, step=3)),
    "a domain that most values exceed": Many(domain=Domain(400000, 600000), targets=TARGETS),
    "a domain beyond all values": Many(domain=Domain(-90, -10)),
    "decimals": Many(value=f"CAST({MIXED} / 100 AS DECIMAL(12, 2))", targets=TARGETS),
    "decimals on a domain of their own": Many(
        value=f"CAST({MIXED} / 100 AS DECIMAL(12, 2))", domain=Domain(0, 10000, step="0.25")
    ),
    "floats": Many(value=f"sqrt({MIXED})", domain=Domain(0, 1000, step="0.001"), targets=TARGETS),
    "floats between two steps": Many(
        value=f"{MIXED} / 2.0::DOUBLE", domain=Domain(0, 500000), targets=TARGETS
    ),
    "floats with infinities and NaN": Many(
        value=(
            "CASE range % 5 WHEN 0 THEN 'inf'::DOUBLE WHEN 1 THEN '-inf'::DOUBLE WHEN 2 THEN "
            f"'nan'::DOUBLE ELSE sqrt({MIXED}) END"
        ),
        domain=Domain(0, 1000, step="0.001"),
    ),
    "floats on a domain too fine to compute with": Many(
        value=f"sqrt({MIXED})", domain=Domain(0, 1000, step="0.0000000000001")
    ),
    "floats in a view on such a domain": Many(
        value=f"sqrt({MIXED})",
        domain=Domain(0, 1000, step="0.0000000000001"),
        targets=TARGETS,
        declared="VIEW",
    ),
    "whole numbers on a domain too wide to compute with": Many(
        domain=Domain(-3 * 2**61, 3 * 2**61, step=3), targets=TARGETS, declared="VIEW"
    ),
    "a view": Many(declared="VIEW"),
    "a temporary table": Many(declared="TEMP TABLE"),
}


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        yield connection


def windows_of(table: Table, asked: Many) -> list[list[RankWindow]]:
    where = Predicate.parse(asked.where) if asked.where else None
    rows = table.bind(Rows(where, Groups.of(asked.by)))
    found = table.grouped_windows(
        "x", grid_of(table.type_of("x"), asked.domain), list(asked.targets), rows
    )
    return [[window(0) for window in group] for group in found]


@pytest.mark.parametrize("name", list(MANY)[:: sized(4, 1)])
def test_groups_of_a_table_have_the_windows_that_they_have_in_memory(name, connection):
    asked = MANY[name]
    relation = asked.made(connection)
    assert windows_of(postri.open(relation, vouched=True), asked) == windows_of(
        postri.open(relation.to_arrow_table()), asked
    )


# Of half of the widths the least, of the others the largest; `make prove` takes both of all.
ENDS = [
    pytest.param(declared, end, id=f"{declared}-{('least', 'largest')[end]}")
    for number, declared in enumerate(WIDTHS)
    for end in (0, 1)
    if (number + end) % sized(2, 1) == 0
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("declared", "end"), ENDS)
def test_keys_at_the_ends_of_every_width_of_whole_numbers_are_found(declared, end, connection):
    keys = [WIDTHS[declared][end] + (1 - 2 * end) * step for step in range(20)]
    key = f"({keys[0]}::HUGEINT + {1 - 2 * end} * (range % 20))::{declared}"
    asked = Many(key=key, by={"k": keys})
    relation = asked.made(connection)
    assert windows_of(postri.open(relation, vouched=True), asked) == windows_of(
        postri.open(relation.to_arrow_table()), asked
    )


@pytest.fixture
def returned(monkeypatch):
    """How many rows each query returned."""
    found: list[int] = []
    columns = RelationSource.columns

    def counting(self: RelationSource, query: str) -> list[np.ndarray]:
        result = columns(self, query)
        found.append(len(result[0]))
        return result

    monkeypatch.setattr(RelationSource, "columns", counting)
    return found


OFTEN = (
    "groups that are alike",
    "groups that have nothing in common",
    "keys that are texts",
    "decimals",
    "floats",
    "a filter",
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", OFTEN[:: sized(2, 1)])
def test_groups_take_one_sample_and_two_statements(name, connection, returned):
    """As a rule: one sample of thousands misses a window."""
    relation, queries = MANY[name].made(connection), []
    for _ in range(3):
        returned.clear()
        windows_of(postri.open(relation, vouched=True), MANY[name])
        queries.append(len(returned))
    assert min(queries) == len(("size", "sample", "counts at a point", "cells near it"))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", list(MANY)[sized(1, 0) :: sized(9, 1)])
def test_no_more_of_the_groups_returns_than_their_windows_need(name, connection, returned):
    """Three times as many, or four rows of each group: the sample's, n, and where all its cells
    are alike, the one that they have and the number of rows under it.
    """
    windows = windows_of(postri.open(MANY[name].made(connection), vouched=True), MANY[name])
    atoms = sum(len(window.indexes) for group in windows for window in group)
    assert sum(returned) <= 1 + max(3 * atoms, 4 * len(windows))


def test_groups_that_a_sample_missed_are_counted_without_another_one(
    connection, returned, monkeypatch
):
    """One group has none of its cells in the blocks that are sampled, so its bracket is unknown."""
    asked = Many()
    connection.execute(
        f"CREATE TABLE many AS SELECT {asked.value} AS x, {asked.key} AS k FROM range({ROWS})"
    )
    without = "(SELECT * FROM many WHERE k <> 42 AND hash(x) % 4 = 0) AS sampled"
    monkeypatch.setattr(
        RelationSource, "samples", lambda *_: iter([Sample(without, 0.25), Sample("missing", 1.0)])
    )
    relation = connection.table("many")
    assert windows_of(postri.open(relation, vouched=True), asked) == windows_of(
        postri.open(relation.to_arrow_table()), asked
    )
    assert len(returned) == len(
        ("size", "sample", "counts at a point", "cells near it", "scan of one group")
    )


def test_a_table_may_have_the_name_of_a_step(connection):
    asked = Many()
    expected = windows_of(postri.open(asked.made(connection)), asked)
    for name in (
        "limits",
        "scanned",
        "stretches0",
        "beside0",
        "gathered0",
        "window0",
        "source",
        "kept",
        "sampled",
        "cells",
    ):
        connection.execute(f"CREATE TABLE {name} AS FROM many")
        assert windows_of(postri.open(connection.table(name)), asked) == expected
