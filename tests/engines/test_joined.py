"""Columns of public tables beside those of a table: on every engine they are what a slow reading
finds by the key of each row, for predicates, keys, expressions and counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from rows_reference import window

from postri import Domain
from postri.columns import DECLARABLE, ColumnType
from postri.engines.rows import Groups, Rows
from postri.engines.table import Table
from postri.expressions import Predicate, Value
from postri.expressions.lookup import looked_up
from postri.expressions.reader import read_expression
from postri.grid import grid_of
from postri.window import Target, Total
from services.real_tables import SOME_ENGINES, Place, loaded, marks

# Names that databases would stumble over, and keys that nobody has, in no order.
NAMES = ["a", "B", "", "it's", 'a "b" \\c', "é", "\U0001f600", "public_key", "zz", "${x}", "{0}"]
MAKERS = ["Airbus", 'it\'s \\ "x" {y} ${z}', None, "É"]
PLANES = {
    name: (MAKERS[i % 4], None if i % 5 == 4 else 50 * i, i / 8) for i, name in enumerate(NAMES)
}
YEARS = {number: 1_900 + i for i, number in enumerate([-(2**63), -5, 0, 7, 2**53 + 1, 2**63 - 1])}
ROWS = 400


def rows() -> list[dict[str, Any]]:
    source = Random(8)
    names = [name for name in NAMES if name] + ["unknown", "A", None]
    return [
        {
            "tail": source.choice(names),
            # DuckDB and PostgreSQL know this name in any case.
            "public_cell": source.choice([*YEARS, 1, None]),
            "x": source.randrange(100),
        }
        for _ in range(ROWS)
    ]


CELLS = rows()
TABLE = pa.table(
    {
        "tail": pa.array([row["tail"] for row in CELLS], pa.string()),
        "public_cell": pa.array([row["public_cell"] for row in CELLS], pa.int64()),
        "x": pa.array([row["x"] for row in CELLS], pa.int64()),
    }
)


def partner(row: dict[str, Any]) -> dict[str, Any]:
    maker, seats, weight = PLANES.get(row["tail"], (None, None, None))
    year = YEARS.get(row["public_cell"])
    return {**row, "maker": maker, "seats": seats, "weight": weight, "year": year}


FOUND = [partner(row) for row in CELLS]


def key_type(table: Table, column: str, named: str) -> ColumnType:
    declared = table.declared(column)
    return DECLARABLE[named] if declared.kind is None else declared


def joined(table: Table) -> Table:
    tail = key_type(table, "tail", "text")
    number = key_type(table, "public_cell", "integer")

    def of(place: int, named: str) -> Value:
        cells = [(key, cells[place]) for key, cells in PLANES.items()]
        return looked_up("tail", tail, cells, DECLARABLE[named])

    return table.joined(
        {
            "p.maker": of(0, "text"),
            "p.seats": of(1, "integer"),
            "p.weight": of(2, "float"),
            "y.year": looked_up("public_cell", number, list(YEARS.items()), DECLARABLE["integer"]),
        }
    )


@pytest.fixture(scope="module")
def opened(request, tmp_path_factory) -> Callable[[str], Table]:
    place = Place(tmp_path_factory.mktemp("joined"), request)
    return cache(lambda engine: joined(loaded(engine, TABLE, place)))


ENGINES = [pytest.param(engine, marks=marks(engine)) for engine in SOME_ENGINES]
CONDITIONS: dict[str, Callable[[dict[str, Any]], bool | None]] = {
    '"p.seats" > 100': lambda row: row["seats"] is not None and row["seats"] > 100,
    '"p.maker" IS NULL': lambda row: row["maker"] is None,
    "\"p.maker\" = 'it''s \\ \"x\" {y} ${z}'": lambda row: row["maker"] == MAKERS[1],
    "\"p.maker\" LIKE 'A%'": lambda row: (row["maker"] or "").startswith("A"),
    '"p.weight" < 0.5 OR x > 90': lambda row: (
        row["x"] > 90 or (row["weight"] is not None and row["weight"] < 0.5)
    ),
    'LEAST("p.seats", 200) - x > 60': lambda row: (
        row["seats"] is not None and min(row["seats"], 200) - row["x"] > 60
    ),
    '"y.year" BETWEEN 1901 AND 1904': lambda row: (
        row["year"] is not None and 1_901 <= row["year"] <= 1_904
    ),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_predicate_sees_what_stands_beside_a_row(engine, opened):
    found = opened(engine).matching([Predicate.parse(text) for text in CONDITIONS])
    assert found == [sum(map(bool, map(holds, FOUND))) for holds in CONDITIONS.values()]


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_keys_counts_sums_and_windows_see_it_too(engine, opened):
    table = opened(engine).computed({"v": read_expression('"p.seats" * 2 + x')})
    keys = {"p.maker": [MAKERS[3], "Airbus", "nobody"], "y.year": [1_905, 1_902]}
    selection = table.bind(Rows(Predicate.parse('"p.seats" > 10'), Groups.of(keys)))
    groups = [
        [
            row
            for row in FOUND
            if (row["maker"], row["year"]) == (maker, year) and (row["seats"] or 0) > 10
        ]
        for maker in keys["p.maker"]
        for year in keys["y.year"]
    ]
    sizes = [len(group) for group in groups]
    assert any(sizes)
    for column in (None, "p.maker", "p.weight"):
        assert table.sizes(column, selection) == sizes
    grid = grid_of(table.type_of("v"), Domain(0, 2_000))
    values = [[2 * row["seats"] + row["x"] for row in group] for group in groups]
    assert table.totals("v", grid, selection) == [Total(len(each), sum(each)) for each in values]
    years = grid_of(table.type_of("y.year"), Domain(1_900, 1_950))
    totals = table.totals("y.year", years, table.bind(Rows()))
    known = [row["year"] - 1_900 for row in FOUND if row["year"] is not None]
    assert [(each.n, each.indexes - 1_900 * each.n * (years.base == 0)) for each in totals] == [
        (len(known), sum(known))
    ]
    target = Target(Fraction(1, 2), 5)
    found = table.grouped_windows("v", grid, [target], selection)
    for (each,), cells in zip(found, values, strict=True):
        first = each(0)
        counts = {cell: cells.count(cell) for cell in cells}
        expected = window(Counter(counts), Fraction(1, 2), 5)
        assert (
            first.indexes.tolist(),
            first.counts.tolist(),
            first.below,
            first.n,
        ) == expected
