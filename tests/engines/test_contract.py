"""Every engine sees the same window in the same cells, and with the same coins gives the same
answer.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from contract_tables import CASES, Case

import postri
from postri import SeededCoins
from postri.engines.table import Table
from postri.grid import grid_of
from postri.window import Target

QUANTILES = (Fraction(1, 2), Fraction(9, 10), Fraction(1, 100))
Loader = Callable[[Case, Path, pytest.FixtureRequest], tuple[object, str]]


def as_relation(case: Case, folder: Path, request: pytest.FixtureRequest) -> tuple[object, str]:
    connection = duckdb.connect()
    column = pa.table({"other": pa.array(["text"] * len(case.cells)), "x": case.cells})
    connection.register("given", column)
    connection.execute("CREATE TABLE cells AS SELECT * FROM given")
    return connection.table("cells"), "x"


def as_database(case: Case, folder: Path, request: pytest.FixtureRequest) -> tuple[object, str]:
    path = folder / "cells.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", pa.table({"x": case.cells}))
        connection.execute("CREATE TABLE cells AS SELECT * FROM given")
    return Table.from_duckdb(path, "cells"), "x"


def as_parquet(case: Case, folder: Path, request: pytest.FixtureRequest) -> tuple[object, str]:
    pq.write_table(
        pa.table({"x": case.cells}),
        folder / "cells.parquet",
        row_group_size=20_000,
        store_schema=False,
    )
    return folder / "cells.parquet", "x"


def as_parquet_files(
    case: Case, folder: Path, request: pytest.FixtureRequest
) -> tuple[object, str]:
    half = len(case.cells) // 2
    for name, part in (("a", case.cells[:half]), ("b", case.cells[half:])):
        pq.write_table(pa.table({"x": part}), folder / f"{name}.parquet", store_schema=False)
    return f"{folder}/*.parquet", "x"


def as_postgres(case: Case, folder: Path, request: pytest.FixtureRequest) -> tuple[object, str]:
    server = request.getfixturevalue("postgres")
    server.load(
        "contract", _postgres_type(case.cells.type), [_postgres_text(cell) for cell in case.rows]
    )
    return Table.from_postgres(server.url(), "contract"), "x"


def _postgres_type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    return POSTGRES_TYPES[str(kind)]


def _postgres_text(cell: object) -> str | None:
    return None if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


POSTGRES_TYPES = {
    **{
        "int16": "smallint",
        "int32": "integer",
        "int64": "bigint",
        "bool": "boolean",
        "float": "real",
        "double": "double precision",
    },
    **{"date32[day]": "date", "timestamp[us]": "timestamp", "timestamp[us, tz=UTC]": "timestamptz"},
}


def as_frame(case: Case, folder: Path, request: pytest.FixtureRequest) -> tuple[object, str]:
    pq.write_table(pa.table({"x": case.cells}), folder / "cells.parquet", row_group_size=20_000)
    return request.getfixturevalue("spark").session.read.parquet(str(folder / "cells.parquet")), "x"


LOADERS: dict[str, Loader] = {
    "DuckDB relation": as_relation,
    "DuckDB database": as_database,
    "Parquet": as_parquet,
    "Parquet files": as_parquet_files,
    "PostgreSQL": as_postgres,
    "Spark": as_frame,
}


ENGINES = [
    pytest.param(engine, marks=[pytest.mark.slow] if engine in ("PostgreSQL", "Spark") else [])
    for engine in LOADERS
]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_window_is_that_of_the_cells_in_memory(engine, name, tmp_path, request):
    case = CASES[name]
    memory, (source, column) = (
        postri.open(pa.table({"x": case.cells})),
        LOADERS[engine](case, tmp_path, request),
    )
    table = source if isinstance(source, Table) else postri.open(source)
    grids = [grid_of(each.type_of("x"), case.domain) for each in (memory, table)]
    assert (grids[0].first, grids[0].last, grids[0].base, grids[0].step) == (
        grids[1].first,
        grids[1].last,
        grids[1].base,
        grids[1].step,
    )
    # A query of Spark takes a second, whatever it counts.
    for half in (400,) if engine == "Spark" else (3, 400):
        targets = [Target(p, half) for p in (QUANTILES[:1] if engine == "Spark" else QUANTILES)]
        seen, expected = (each.windows(column, grids[0], targets) for each in (table, memory))
        assert [window(0) for window in seen] == [window(0) for window in expected]


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("many")])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_coins_give_the_same_answer(engine, name, tmp_path, request):
    case = CASES[name]
    source, column = LOADERS[engine](case, tmp_path, request)
    answers = [
        postri.quantiles(
            data,
            [0.5] if engine == "Spark" else [0.25, 0.5, 0.9],
            column=column,
            epsilon=1,
            domain=case.domain,
            coins=SeededCoins(5),
        )
        for data in (pa.table({"x": case.cells}), source)
    ]
    assert [(a.value, a.interval) for a in answers[0]] == [
        (a.value, a.interval) for a in answers[1]
    ]
