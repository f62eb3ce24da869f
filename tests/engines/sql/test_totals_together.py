"""The totals of several columns by one statement are those of each column alone."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from itertools import islice

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import postri
from postri import Domain, agg
from postri.engines.duckdb.source import RelationSource
from postri.engines.rows import Groups, Rows, Units
from postri.engines.table import Table
from postri.expressions import Predicate
from postri.grid import grid_of
from services.real_tables import HAS_CLICKHOUSE, SERVICES, Place, loaded

SIZE = 2_000
FIRST = date(2019, 1, 1)
DOMAINS = {
    "whole": Domain(-500, 500),
    "far": Domain(-(2**63), 2**63 - 1),
    "money": Domain(-100, 100, step="0.25"),
    "part": Domain(-100, 100, step="0.01"),
    "day": Domain(date(2020, 1, 1), date(2022, 12, 31)),
    # Cells half-way between two points of the grid, which double precision leaves in doubt.
    "half": Domain(0, 50),
}
ENGINES = ["DuckDB", "Parquet files", "PostgreSQL", "Spark"]
if HAS_CLICKHOUSE:
    ENGINES.append("ClickHouse")
SELECTED = {
    "all rows": Rows(),
    "a filter": Rows(where=Predicate.parse("whole > 0 OR key = 'a'")),
    "no row": Rows(where=Predicate.parse("whole > 5000")),
    "groups": Rows(groups=Groups.of({"key": ["a", "nobody", "c"]})),
    "groups of two columns": Rows(
        Predicate.parse("half < 40"), Groups.of({"key": ["a", "b"], "whole": [0, 1, 2]})
    ),
}


def cells() -> pa.Table:
    """Every seventh cell of a column is null, in each column on other rows."""
    source = np.random.default_rng(5)
    whole = source.integers(-900, 900, SIZE)
    columns = {
        "whole": whole.tolist(),
        "far": source.choice([-(2**63), -1, 0, 2**62, 2**63 - 1], SIZE).tolist(),
        "money": [Decimal(int(each)) / 100 for each in source.integers(-15_000, 15_000, SIZE)],
        "part": np.where(
            source.random(SIZE) < 0.02, np.nan, np.round(source.normal(0, 60, SIZE), 2)
        ).tolist(),
        "day": [FIRST + timedelta(days=int(each)) for each in source.integers(0, 2_000, SIZE)],
        "half": (source.integers(0, 100, SIZE) / 2).tolist(),
        "key": source.choice(["a", "b", "c"], SIZE).tolist(),
    }
    columns["part"][:3] = [float("inf"), float("-inf"), 1e300]
    types = {"money": pa.decimal128(12, 2)}
    return pa.table(
        {
            name: pa.array(
                [
                    None if name != "key" and (row + place) % 7 == 0 else cell
                    for row, cell in enumerate(column)
                ],
                types.get(name),
            )
            for place, (name, column) in enumerate(columns.items())
        }
    )


@pytest.fixture(scope="module")
def opened(request, tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("together"), request)
    return cache(lambda engine: loaded(engine, cells(), place))


def wanted(table: Table) -> list:
    return [(name, grid_of(table.type_of(name), domain)) for name, domain in DOMAINS.items()]


@pytest.mark.parametrize(
    ("engine", "selected"),
    [
        pytest.param(engine, name, marks=[pytest.mark.slow] if engine in SERVICES else [])
        for engine in ENGINES
        for name in islice(SELECTED, 1 if engine == "Spark" else None)
    ],
)
def test_they_are_those_of_each_column(engine, selected, opened):
    table, in_memory = opened(engine), opened("Arrow")
    rows = SELECTED[selected]
    found = table._engine.totals_together(wanted(table), table.bind(rows))
    expected = {
        (name, grid): in_memory.totals(name, grid, in_memory.bind(rows))
        for name, grid in wanted(in_memory)
    }
    in_doubt = {key for key in expected if key[0] == "half"} - found.keys()
    assert found == {key: expected[key] for key in expected.keys() - in_doubt}
    assert len(in_doubt) == (selected in ("all rows", "a filter", "groups"))


def test_units_have_rows_of_their_own_in_each_column(opened):
    table = opened("DuckDB")
    rows = table.bind(Rows(units=Units("whole", 2)))
    assert table._engine.totals_together(wanted(table), rows) == {}


@pytest.fixture
def queries(monkeypatch):
    found: list[str] = []
    original = RelationSource.columns

    def columns(self: RelationSource, query: str) -> list[np.ndarray]:
        found.append(query)
        return original(self, query)

    monkeypatch.setattr(RelationSource, "columns", columns)
    return found


# By noise of this scale no sum moves by a ten thousandth: the chance of that is below e^-1,000.
EPSILON = 10**6


def asked(queries: list[str], domains: dict[str, Domain], **columns: pa.Array) -> list[str]:
    """The queries of one question for a sum and a mean of each column."""
    with duckdb.connect() as connection:
        given = pa.table(columns)
        connection.register("given", given)
        connection.execute("CREATE TABLE cells AS FROM given")
        sums = {name: agg.sum(name, domain=domain) for name, domain in domains.items()}
        means = {f"{name}s": agg.mean(name, domain=domain) for name, domain in domains.items()}
        result = postri.ask(connection.table("cells"), sums | means, epsilon=EPSILON)
    for answer, (name, domain) in zip(result.answers, domains.items(), strict=False):
        clamped = [min(max(cell, domain.lower), domain.upper) for cell in columns[name].to_pylist()]
        assert int(answer.value) == pytest.approx(sum(map(round, clamped)), rel=1e-4)
    return queries


WHOLES = pa.array(range(-50, 50))


def test_one_question_reads_a_database_once_for_all_its_totals(queries):
    domains = {"x": Domain(-40, 40), "y": Domain(0, 9)}
    assert len(asked(queries, domains, x=WHOLES, y=WHOLES)) == 1


def test_columns_with_cells_in_doubt_are_read_once_more(queries):
    domains = {"x": Domain(-40, 40), "y": Domain(0, 40), "z": Domain(0, 30)}
    halves = pa.array([each / 2 for each in range(100)])
    found = asked(queries, domains, x=WHOLES, y=halves, z=halves)
    assert len(found) == len(("all of them", "y", "z"))


def test_numbers_without_a_sign_that_lie_beyond_those_with_one_are_read_alone(queries):
    largest = 2**64 - 1
    far = pa.array([largest - each for each in range(100)], pa.uint64())
    domains = {"x": Domain(-40, 40), "y": Domain(largest - 90, largest), "z": Domain(0, 9)}
    assert len(asked(queries, domains, x=WHOLES, y=far, z=WHOLES)) == len(("x and z", "y"))


def test_one_column_that_is_left_is_read_alone(queries):
    largest = 2**64 - 1
    far = pa.array([largest - each for each in range(100)], pa.uint64())
    domains = {"x": Domain(largest - 90, largest), "y": Domain(largest - 50, largest)}
    assert len(asked(queries, domains, x=far, y=far)) == len(("x", "y"))
