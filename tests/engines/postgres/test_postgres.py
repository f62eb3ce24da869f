"""PostgreSQL: the same windows as in memory, one snapshot, no right beyond SELECT, and nothing of a
cell or a password in any error.
"""

from __future__ import annotations

import gc
import logging
import signal
import subprocess
import sys
import threading
import time
import traceback
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import psycopg
import pyarrow as pa
import pytest

import postri
from postri import Domain, EngineError, InputError, SeededCoins, SourceChanged, SourceError
from postri.columns import ColumnType
from postri.engines import engine as base
from postri.engines.postgres.dialect import FIRST, LAST, PostgresDialect
from postri.engines.postgres.source import (
    SAMPLE,
    OwnServer,
    PostgresSource,
    postgres_engine,
    split_name,
)
from postri.engines.progress import Cancel, cancelled_by
from postri.engines.staying import Staying, connections_stay
from postri.engines.table import Table
from postri.grid import grid_of
from postri.window import Target
from services.postgres_server import SECRET

QUANTILES = (Fraction(1, 2), Fraction(9, 10), Fraction(1, 100))
INF, NAN = float("inf"), float("nan")
WHOLE = Domain(-1_000, 1_000)
FINE = Domain(-100, 100, step="0.01")
COARSE = Domain(-10_000, 10_000, step=250)


def opened(postgres, table: str) -> Table:
    return Table.from_postgres(postgres.url(), table, vouched=True)


def windows(table: Table, domain=None, halves=(3, 400), column="x"):
    grid = grid_of(table.type_of(column), domain)
    return [
        window(0)
        for half in halves
        for window in table.windows(column, grid, [Target(p, half) for p in QUANTILES])
    ]


def assert_same(postgres, table: str, memory: pa.Array, domain=None) -> None:
    """The same grid and the same windows as the same cells in memory."""
    here, there = postri.open(pa.table({"x": memory})), opened(postgres, table)
    grids = [grid_of(each.type_of("x"), domain) for each in (here, there)]
    assert (grids[0].first, grids[0].last, grids[0].base, grids[0].step) == (
        grids[1].first,
        grids[1].last,
        grids[1].base,
        grids[1].step,
    )
    assert windows(there, domain) == windows(here, domain)


# ---- the same windows

MOMENTS = [
    datetime(2020, 2, 29, 23, 59, 59, 999_999) + timedelta(hours=7 * i, microseconds=i)
    for i in range(50)
]
EDGES = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1, None]
ODD = [
    0.1,
    0.15,
    0.25,
    0.35,
    -0.0,
    1e300,
    -1e300,
    5e-324,
    -5e-324,
    2.3e-308,
    NAN,
    INF,
    -INF,
    None,
    12.345,
    12.355,
    99.995,
    1.7e308,
]
SHORT = np.array([0.1, 0.15, 0.25, 2.5, 3.5, -1e30, 1e30, 1e-45, 3e38, NAN, INF, -INF], np.float32)
HALVES = [i + 0.5 + d for i in range(-5, 6) for d in (-1e-12, 0.0, 1e-12)]
CASES = {
    "empty": ("bigint", pa.array([], pa.int64()), None),
    "one row": ("bigint", pa.array([42], pa.int64()), None),
    "one null": ("bigint", pa.array([None], pa.int64()), WHOLE),
    "all null": ("real", pa.array([None] * 9, pa.float32()), WHOLE),
    "smallint": ("smallint", pa.array([3, 1, 2, None, 2, -(2**15), 2**15 - 1], pa.int16()), None),
    "integer": ("integer", pa.array([3, 1, 2**31 - 1, None, -(2**31), 2], pa.int32()), None),
    "bigint": ("bigint", pa.array(EDGES, pa.int64()), None),
    "bigint on a domain": ("bigint", pa.array(EDGES, pa.int64()), WHOLE),
    "bigint on a coarse domain": (
        "bigint",
        pa.array(EDGES, pa.int64()),
        Domain(-(2**63), 9_223_372_030_412_324_863, step=2**33 + 1),
    ),
    "bigint on a domain beyond it": ("bigint", pa.array(EDGES, pa.int64()), Domain(0, 14 * 10**18)),
    "bigint below its domain": ("bigint", pa.array(EDGES, pa.int64()), Domain(10**19, 14 * 10**18)),
    "bigint on half steps": (
        "bigint",
        pa.array(EDGES, pa.int64()),
        Domain("-10.25", "10.25", step="0.5"),
    ),
    "beyond the domain": (
        "bigint",
        pa.array([-5_000, -1_001, -1_000, 0, 999, 1_000, 1_001, 70_000], pa.int64()),
        WHOLE,
    ),
    "coarse steps": (
        "integer",
        pa.array([*range(-9_000, 9_000, 37), 125, -125, 375, -375, 9_875], pa.int32()),
        COARSE,
    ),
    "boolean": ("boolean", pa.array([True, False, None, True, True], pa.bool_()), None),
    "ties": ("integer", pa.array([5] * 40 + [6] * 3 + [7] * 41, pa.int32()), None),
    "constant": ("integer", pa.array([7] * 500, pa.int32()), None),
    "double precision": ("double precision", pa.array(ODD, pa.float64()), FINE),
    "double precision on large steps": (
        "double precision",
        pa.array(ODD, pa.float64()),
        Domain(0, 1_000, step=10),
    ),
    "double precision about 0": (
        "double precision",
        pa.array(ODD, pa.float64()),
        Domain("-0.5", "0.5", step=1),
    ),
    "double precision on an odd grid": (
        "double precision",
        pa.array(ODD, pa.float64()),
        Domain("0.3", "7.2", step="0.3"),
    ),
    "double precision near halves": ("double precision", pa.array(HALVES, pa.float64()), WHOLE),
    "double precision on a fine grid": (
        "double precision",
        pa.array(ODD, pa.float64()),
        Domain(-(10**6), 10**6, step="0.000000001"),
    ),
    "real": ("real", pa.array(SHORT), FINE),
    "numeric": (
        "numeric(9,2)",
        pa.array([Decimal("12.34"), Decimal("-0.01"), None, Decimal("99.99")], pa.decimal128(9, 2)),
        None,
    ),
    "long numeric": (
        "numeric(18,6)",
        pa.array(
            [Decimal(10**18 - 1).scaleb(-6), Decimal(1 - 10**18).scaleb(-6)], pa.decimal128(18, 6)
        ),
        None,
    ),
    "whole numeric": (
        "numeric(18)",
        pa.array([Decimal(10**18 - 1), Decimal(1 - 10**18), None], pa.decimal128(18, 0)),
        None,
    ),
    "coarse numeric": (
        "numeric(9,2)",
        pa.array([Decimal(i).scaleb(-2) for i in range(-999, 999, 7)], pa.decimal128(9, 2)),
        Domain(-9, 9, "0.5"),
    ),
    "date": (
        "date",
        pa.array(
            [date(2020, 1, i) for i in range(1, 31)] + [None, date.min, date.max], pa.date32()
        ),
        None,
    ),
    "timestamp": (
        "timestamp",
        pa.array([*MOMENTS, None, datetime.min, datetime.max], pa.timestamp("us")),
        None,
    ),
    "timestamp on a domain": (
        "timestamp",
        pa.array([*MOMENTS, None, datetime.min, datetime.max], pa.timestamp("us")),
        Domain("2020-02-01T00:00:00", "2020-03-31T00:00:00"),
    ),
    "timestamptz": (
        "timestamptz",
        pa.array([m.replace(tzinfo=UTC) for m in MOMENTS] + [None], pa.timestamp("us", tz="UTC")),
        None,
    ),
}


def texts(cells: pa.Array) -> list[str | None]:
    """The cells as the server reads them."""
    if pa.types.is_floating(cells.type):
        return [None if cell is None else repr(float(cell)) for cell in cells.to_pylist()]
    return [None if cell is None else str(cell) for cell in cells.to_pylist()]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CASES)
def test_a_column_gives_the_windows_of_the_same_cells_in_memory(postgres, name):
    declared, cells, domain = CASES[name]
    assert_same(postgres, postgres.load("cells", declared, texts(cells)), cells, domain)


def test_infinite_dates_and_dates_outside_the_calendar_are_clamped_to_it(postgres):
    rows = [
        "infinity",
        "-infinity",
        "0044-03-15 BC",
        "5874897-12-31",
        "4713-01-01 BC",
        "2024-02-29",
        None,
    ]
    clamped = [date.max, date.min, date.min, date.max, date.min, date(2024, 2, 29), None]
    assert_same(postgres, postgres.load("cells", "date", rows), pa.array(clamped, pa.date32()))


@pytest.mark.parametrize("zone", ["", "+00"])
def test_infinite_timestamps_and_those_outside_the_calendar_are_clamped_to_it(postgres, zone):
    far = [
        "infinity",
        "-infinity",
        f"4713-01-01 00:00:00{zone} BC",
        f"294276-12-31 23:59:59.999999{zone}",
    ]
    rows = [
        *far,
        f"0001-01-01 00:00:00{zone}",
        f"0001-01-01 00:00:00.000001{zone}",
        f"9999-12-31 23:59:59.999999{zone}",
        None,
    ]
    kind = pa.timestamp("us", tz="UTC") if zone else pa.timestamp("us")
    cells = pa.array([LAST, FIRST, FIRST, LAST, FIRST, FIRST + 1, LAST, None], pa.int64()).cast(
        kind
    )
    assert_same(postgres, postgres.load("cells", f"timestamp{'tz' if zone else ''}", rows), cells)


def test_timestamps_are_exact_to_the_microsecond(postgres):
    generator = np.random.default_rng(4)
    raw = np.concatenate(
        [
            generator.integers(FIRST, LAST, 5_000, endpoint=True),
            generator.integers(-(10**12), 10**12, 5_000),
            [-1, 0, 1],
        ]
    )
    cells = pa.array(raw).cast(pa.timestamp("us"))
    postgres.load("cells", "timestamp", texts(cells))
    source = postgres_engine(postgres.url(), "cells")._source
    (read,) = source.columns(
        f"SELECT {PostgresDialect().cells('x', 'timestamp without time zone').raw} FROM cells"
    )
    assert np.array_equal(read, raw)


def test_a_timestamp_with_a_zone_is_a_moment_whatever_the_zone_of_the_session(postgres):
    postgres.load(
        "cells", "timestamptz", ["2024-07-01 12:00:00.000001+02", "2024-01-01 00:00:00-09:30"]
    )
    moments = [datetime(2024, 7, 1, 10, 0, 0, 1, UTC), datetime(2024, 1, 1, 9, 30, tzinfo=UTC)]
    expected = windows(
        postri.open(pa.table({"x": pa.array(moments, pa.timestamp("us", tz="UTC"))}))
    )
    for zone in ("UTC", "Asia/Kathmandu"):
        with psycopg.connect(
            postgres.url(), options=f"-c timezone={zone} -c datestyle=german"
        ) as connection:
            assert windows(Table.from_postgres(connection, "cells")) == expected


def test_numeric_nan_is_dropped(postgres):
    postgres.load("cells", "numeric(9,2)", ["NaN", "1.25", "NaN", "-3.50"])
    assert_same(
        postgres, "cells", pa.array([Decimal("1.25"), Decimal("-3.50")], pa.decimal128(9, 2))
    )


@pytest.mark.parametrize(
    ("declared", "rows"),
    [("numeric(3,-2)", ["100", "-99900", "99949"]), ("numeric(2,4)", ["0.0012", "-0.0099"])],
)
def test_numerics_may_have_fewer_or_more_places_than_digits(postgres, declared, rows):
    postgres.load("cells", declared, rows)
    scale = int(declared.partition(",")[2].rstrip(")"))
    raw = sorted(round(Decimal(row).scaleb(scale)) for row in rows)
    first = windows(opened(postgres, "cells"), halves=(10,))[0]
    assert first.indexes.tolist() == raw and first.n == len(rows)


@pytest.mark.parametrize(
    "cells",
    [["Infinity", "-Infinity", "NaN", "1e40", "-1e40", "5", None], ["NaN"] * 3, ["1e100000", "1"]],
    ids=["all", "NaN", "far"],
)
def test_a_numeric_that_is_not_what_its_type_declares_does_not_fail(postgres, cells):
    """As a foreign server could deliver it."""
    postgres.load("cells", "numeric", cells)
    source = postgres_engine(postgres.url(), "cells")._source
    raw = PostgresDialect().cells("x", "numeric(9,2)").raw
    (read,) = source.columns(
        f"SELECT raw FROM (SELECT {raw} AS raw FROM cells) AS c WHERE raw IS NOT NULL"
    )
    assert set(read) <= {10**9 - 1, 1 - 10**9, 500, 100}


def test_a_domain_has_the_type_that_it_is_over(postgres):
    postgres.run(
        "DROP DOMAIN IF EXISTS price, amount CASCADE", "CREATE DOMAIN amount AS numeric(9,2)"
    )
    postgres.run("CREATE DOMAIN price AS amount CHECK (VALUE > 0)")
    postgres.load("cells", "price", ["1.25", "7.00", None])
    assert_same(
        postgres, "cells", pa.array([Decimal("1.25"), Decimal("7.00"), None], pa.decimal128(9, 2))
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "declared",
    [
        "text",
        "time",
        "interval",
        "money",
        "uuid",
        "jsonb",
        "integer[]",
        "int4range",
        "oid",
        "point",
    ],
)
def test_a_type_without_an_order_of_numbers_is_refused(postgres, declared):
    with pytest.raises(InputError, match="has no order of numbers"):
        postri.median(
            opened(postgres, postgres.load("cells", declared, [None])), column="x", epsilon=1
        )


@pytest.mark.parametrize(
    ("declared", "advice"),
    [("numeric", "without a number of digits"), ("numeric(19,2)", "at most 18 digits")],
)
def test_a_numeric_of_too_many_digits_is_refused_with_advice(postgres, declared, advice):
    with pytest.raises(InputError, match=advice):
        postri.median(
            opened(postgres, postgres.load("cells", declared, ["1"])), column="x", epsilon=1
        )


# ---- large tables: the sample, verified and widened


def many(order: str) -> np.ndarray:
    data = (np.random.default_rng(7).standard_normal(300_000) * 10**6).astype(np.int64)
    return {
        "shuffled": data,
        "sorted": np.sort(data),
        "clustered": np.repeat(data[:3_000], 100),
        "constant": np.full(300_000, 7),
    }[order]


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("order", ["shuffled", "sorted", "clustered", "constant"])
def test_a_large_table_is_sampled_verified_and_widened_where_needed(postgres, order):
    data = many(order)
    assert_same(
        postgres,
        postgres.load("many_cells", "integer", data.tolist()),
        pa.array(data.astype(np.int32)),
    )


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("domain", [FINE, Domain(-100, 103, step=7)], ids=["fine", "coarse"])
def test_a_large_table_of_floats_gives_the_same_windows(postgres, domain):
    data = np.random.default_rng(3).standard_normal(200_000) * 40
    assert_same(
        postgres,
        postgres.load("many_cells", "double precision", list(map(repr, data.tolist()))),
        pa.array(data),
        domain,
    )


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "holder", ["partitioned table", "materialized view", "view", "never analyzed"]
)
def test_whatever_holds_the_rows_gives_the_same_windows(postgres, holder):
    data = many("shuffled")
    postgres.load("many_cells", "integer", data.tolist())
    postgres.run("DROP SCHEMA IF EXISTS held CASCADE", "CREATE SCHEMA held")
    postgres.run(
        *{
            "partitioned table": [
                "CREATE TABLE held.cells (x integer) PARTITION BY RANGE (x)",
                "CREATE TABLE held.low PARTITION OF held.cells FOR VALUES FROM (MINVALUE) TO (0)",
                "CREATE TABLE held.high PARTITION OF held.cells FOR VALUES FROM (0) TO (MAXVALUE)",
                "INSERT INTO held.cells SELECT x FROM many_cells",
            ],
            "materialized view": [
                "CREATE MATERIALIZED VIEW held.cells AS SELECT x FROM many_cells"
            ],
            "view": ["CREATE VIEW held.cells AS SELECT x FROM many_cells WHERE x IS NOT NULL"],
            "never analyzed": ["CREATE TABLE held.cells AS SELECT x FROM many_cells"],
        }[holder]
    )
    assert_same(postgres, "held.cells", pa.array(data.astype(np.int32)))
    assert (not list(postgres_engine(postgres.url(), "held.cells")._source.samples(10**6, 1))) == (
        holder == "view"
    )


def counted(monkeypatch) -> list[int]:
    """How many rows each query returns."""
    returned, original = [], PostgresSource.columns

    def columns(self, query):
        found = original(self, query)
        returned.append(len(found[0]))
        return found

    monkeypatch.setattr(PostgresSource, "columns", columns)
    return returned


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("declared", "domain"),
    [
        ("integer", None),
        ("double precision", FINE),
        ("double precision", Domain(-(10**7), 10**7, step="0.5")),
        ("double precision", Domain(-(10**7), 10**7, step="0.0000001")),
    ],
)
def test_no_more_rows_return_than_the_window_needs(postgres, monkeypatch, declared, domain):
    table = opened(postgres, postgres.load("many_cells", declared, many("shuffled").tolist()))
    returned = counted(monkeypatch)
    grid = grid_of(table.type_of("x"), domain)
    (window,) = table.windows("x", grid, [Target(Fraction(1, 2), 500)])
    assert sum(returned) <= 3 * len(window(0).indexes) + SAMPLE
    assert max(returned[1:]) <= 3 * len(window(0).indexes) + 3


# ---- the same answer


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("all")])
def test_the_same_coins_give_the_same_answer_as_arrays(postgres, name):
    declared, cells, domain = CASES[name]
    postgres.load("cells", declared, texts(cells))
    answers = [
        postri.quantiles(
            data, [0.25, 0.5, 0.9], column="x", epsilon=1, domain=domain, coins=SeededCoins(5)
        )
        for data in (pa.table({"x": cells}), opened(postgres, "cells"))
    ]
    assert [(a.value, a.interval) for a in answers[0]] == [
        (a.value, a.interval) for a in answers[1]
    ]


# ---- one snapshot


def test_what_a_writer_adds_between_two_scans_does_not_show(postgres, monkeypatch):
    postgres.load("cells", "integer", range(200))
    table, original, queries = opened(postgres, "cells"), PostgresSource.columns, []

    def columns(self, query):
        found = original(self, query)
        queries.append(query)
        postgres.run(
            "INSERT INTO cells SELECT 'new', 7 FROM generate_series(1, 1000)",
            "DELETE FROM cells WHERE x = 100",
        )
        return found

    monkeypatch.setattr(PostgresSource, "columns", columns)
    monkeypatch.setattr(base, "SMALL", 10)  # so that there is a sample
    seen = windows(table, halves=(10**6,))
    assert len(queries) >= 2
    assert all(window.n == 200 and window.indexes.tolist() == list(range(200)) for window in seen)


def test_a_new_question_reads_a_new_snapshot(postgres):
    postgres.load("cells", "integer", range(200))
    engine = postgres_engine(postgres.url(), "cells")
    grid = grid_of(engine.type_of("x"), None)
    assert engine.windows("x", grid, [Target(Fraction(1, 2), 5)])[0][0].n == 200
    postgres.run("INSERT INTO cells VALUES ('new', 7)")
    assert engine.windows("x", grid, [Target(Fraction(1, 2), 5)])[0][0].n == 201


def test_no_connection_stays_open_between_questions(postgres):
    table = opened(postgres, postgres.load("cells", "integer", range(20)))
    windows(table)
    with postgres.connect() as connection:

        def left() -> int:
            query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'postri'"
            return connection.execute(query).fetchone()[0]

        wait_until(lambda: not left())


def test_the_transaction_cannot_write(postgres):
    postgres.load("cells", "integer", range(20))
    source = postgres_engine(postgres.url(), "cells")._source
    for query in (
        "INSERT INTO cells VALUES ('new', 1) RETURNING x",
        "CREATE TABLE more (x integer)",
        "SELECT nextval('counter')",
    ):
        with pytest.raises(EngineError, match="failed while it counted"):
            source.columns(query)


# ---- a connection of the user's


@pytest.fixture
def mine(postgres):
    """A connection that is not in autocommit mode, as psycopg makes them."""
    postgres.load("cells", "integer", range(20))
    with postgres.connect(autocommit=False) as connection:
        yield connection
        if not connection.closed:
            connection.rollback()


def test_a_connection_of_the_users_answers_and_is_left_as_it_was(mine):
    table = Table.from_postgres(mine, "cells")
    assert postri.median(table, column="x", epsilon=1).interval.low >= -(2**31)
    assert not mine.autocommit and mine.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    mine.execute("INSERT INTO cells VALUES ('mine', 3)")
    ((isolation,),) = mine.execute("SHOW transaction_isolation").fetchall()
    assert isolation == "read committed"


def test_a_connection_inside_a_transaction_is_refused_and_its_work_is_kept(mine):
    table = Table.from_postgres(mine, "cells")
    mine.execute("INSERT INTO cells VALUES ('mine', 3)")
    for request in (lambda: windows(table), lambda: Table.from_postgres(mine, "cells")):
        with pytest.raises(InputError, match="inside a transaction"):
            request()
    assert mine.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
    assert mine.execute("SELECT count(*) FROM cells").fetchone() == (21,)
    mine.commit()
    assert windows(table)[0].n == 21


def test_a_failed_question_leaves_the_users_connection_usable(mine, postgres):
    table = Table.from_postgres(mine, "cells")
    postgres.run("DROP TABLE cells")
    with pytest.raises(SourceChanged, match="replaced or changed"):
        windows(table)
    assert not mine.autocommit and mine.execute("SELECT 1").fetchone() == (1,)


def test_a_closed_connection_is_refused(mine):
    table = Table.from_postgres(mine, "cells")
    mine.close()
    with pytest.raises(InputError, match="closed"):
        windows(table)


def test_the_users_ways_of_reading_rows_do_not_matter(postgres):
    data = [5, 6, 7]
    postgres.load("cells", "integer", data)
    how = {
        "row_factory": psycopg.rows.dict_row,
        "cursor_factory": psycopg.ClientCursor,
        "prepare_threshold": 0,
    }
    with postgres.connect(**how) as connection:
        connection.execute("SET client_encoding = 'LATIN1'")
        assert windows(Table.from_postgres(connection, "cells"))[0].indexes.tolist() == data


# ---- rights


@pytest.fixture
def reader(postgres):
    """A role that may read one table and nothing else; gives its URL."""
    postgres.run(
        "DROP SCHEMA IF EXISTS shop CASCADE", "DROP ROLE IF EXISTS reader", "CREATE SCHEMA shop"
    )
    postgres.run(
        "CREATE TABLE shop.sales (x integer, secret integer)",
        "INSERT INTO shop.sales SELECT g, g FROM generate_series(1, 99) g",
    )
    postgres.run(
        "CREATE TABLE shop.staff (x integer)",
        f"CREATE ROLE reader LOGIN PASSWORD '{SECRET}'",
        "GRANT USAGE ON SCHEMA shop TO reader",
    )
    postgres.run(
        "REVOKE CREATE, USAGE ON SCHEMA public FROM PUBLIC",
        "REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC",
    )
    return postgres.url("reader")


def test_select_on_the_table_is_enough(postgres, reader):
    postgres.run("GRANT SELECT ON shop.sales TO reader")
    assert windows(Table.from_postgres(reader, "shop.sales"))[0].n == 99


def test_select_on_one_column_is_enough_for_it(postgres, reader):
    postgres.run("GRANT SELECT (x) ON shop.sales TO reader")
    table = Table.from_postgres(reader, "shop.sales")
    assert table.columns == ["x"]
    assert windows(table)[0].n == 99


@pytest.mark.slow
def test_select_on_one_column_is_enough_for_a_sample(postgres, reader):
    postgres.run(
        "INSERT INTO shop.sales SELECT g, g FROM generate_series(1, 200000) g",
        "GRANT SELECT (x) ON shop.sales TO reader",
    )
    assert windows(Table.from_postgres(reader, "shop.sales"))[0].n == 200_099


def test_a_table_that_the_role_may_not_read_is_refused(reader):
    with pytest.raises(InputError, match=r"may not read 'shop\.staff'"):
        Table.from_postgres(reader, "shop.staff")
    with pytest.raises(InputError, match="may not read"):
        Table.from_postgres(reader, "shop.sales")


def test_a_schema_that_the_role_may_not_use_is_refused(postgres, reader):
    postgres.run("GRANT SELECT ON shop.sales TO reader", "REVOKE USAGE ON SCHEMA shop FROM reader")
    with pytest.raises(InputError, match="may not read"):
        Table.from_postgres(reader, "shop.sales")


# ---- names

NAMES = [
    'we"ird',
    "two words",
    "Capitals",
    "select",
    "a; DROP TABLE cells; --",
    "quo'te",
    "per%cent %s %(x)s",
    "dölläÿ",
    "$$",
    "\\",
    "a\tb\nc",
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_schema_table_or_column_works(postgres, name):
    quoted = '"' + name.replace('"', '""') + '"'
    with postgres.connect() as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {quoted} CASCADE".encode())
        for command in (
            f"CREATE SCHEMA {quoted}",
            f"CREATE TABLE {quoted}.{quoted} ({quoted} integer)",
            f"INSERT INTO {quoted}.{quoted} VALUES (5), (6)",
        ):
            connection.execute(command.encode())
    for text in (f"{name}.{name}", f"{quoted}.{quoted}", f"{name}.{quoted}"):
        table = opened(postgres, text)
        assert table.columns == [name]
        assert windows(table, column=name)[0].n == 2
    postgres.run(f"DROP SCHEMA {quoted} CASCADE")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("cells", (None, "cells")),
        ("a.b", ("a", "b")),
        ("a.b.c", ("a", "b.c")),
        ('"a.b".c', ("a.b", "c")),
        ('"a.b"', (None, "a.b")),
        ('"a""b"."c.d"', ('a"b', "c.d")),
        ('a"b.c', ('a"b', "c")),
        (".b", (None, ".b")),
        ("a.", (None, "a.")),
    ],
)
def test_a_name_is_split_at_the_first_dot_outside_quotes(text, parts):
    assert split_name(text) == parts


def test_a_plain_name_is_resolved_by_the_search_path(postgres):
    postgres.run(
        "DROP SCHEMA IF EXISTS elsewhere CASCADE",
        "CREATE SCHEMA elsewhere",
        "CREATE TABLE elsewhere.lonely (x integer)",
    )
    with pytest.raises(InputError, match="no table 'lonely'"):
        opened(postgres, "lonely")
    with psycopg.connect(postgres.url(), options="-c search_path=elsewhere") as connection:
        assert Table.from_postgres(connection, "lonely").columns == ["x"]


@pytest.mark.parametrize(
    "table",
    ["public.cell", "cell", "Cells", "nowhere.cells", "postgres.public.cells", "nul\0l", "", 7],
)
def test_a_table_that_does_not_exist_is_refused_by_name(postgres, table):
    postgres.load("cells", "integer", [1])
    with pytest.raises(InputError, match=r"has no table|must be named"):
        opened(postgres, table)


def test_a_misspelt_table_is_told_its_nearest_names(postgres):
    postgres.load("cells", "integer", [1])
    with pytest.raises(InputError, match=r"did you mean 'public\.cells'"):
        opened(postgres, "public.cell")
    with pytest.raises(InputError, match="did you mean 'cells'"):
        opened(postgres, "cell")


def test_a_sequence_is_no_table(postgres):
    postgres.run("DROP SEQUENCE IF EXISTS numbers", "CREATE SEQUENCE numbers")
    with pytest.raises(InputError, match="not a table or view"):
        opened(postgres, "public.numbers")


# ---- nothing of a cell or a password shows


@contextmanager
def everything_said(caplog, kind):
    """What an error of this kind says: its message, its chain, its traceback, and what is logged on
    the way.
    """
    said: list[str] = []
    with caplog.at_level(logging.DEBUG), pytest.raises(kind) as caught:
        yield said
    error = caught.value
    assert error.__cause__ is None and error.__context__ is None
    said += [
        "".join(traceback.format_exception(error)),
        repr(error),
        str(error.__dict__),
        caplog.text,
    ]


@pytest.mark.parametrize(
    "expression",
    [
        "1 / (word::integer - 918273645)",
        "(word || 'xq')::integer",
        "('2024-01-01'::date + 2147483647 - word::integer) - date '2000-01-01'",
    ],
)
def test_a_view_that_fails_on_a_cell_does_not_show_it(postgres, caplog, expression):
    """Nor by which kind of failure: a code would tell what the cell was like."""
    postgres.run(
        "DROP TABLE IF EXISTS words CASCADE",
        "CREATE TABLE words (word text)",
        "INSERT INTO words VALUES ('918273645')",
    )
    postgres.run(f"CREATE VIEW failing AS SELECT {expression} AS x FROM words")
    table = opened(postgres, "failing")
    with everything_said(caplog, EngineError) as said:
        postri.median(table, column="x", epsilon=1, domain=WHOLE)
    assert said[1] == "EngineError('PostgreSQL failed while it counted')"
    assert "918273645" not in "".join(said)


def test_the_words_of_a_function_do_not_show(postgres, caplog, capfd):
    postgres.run(
        """CREATE OR REPLACE FUNCTION talk(x integer) RETURNS integer LANGUAGE plpgsql AS
        $$ BEGIN
            RAISE WARNING 'cell 918273645';
            RAISE EXCEPTION 'cell 918273645' USING ERRCODE = 'ZZ001';
        END $$""",
        "DROP VIEW IF EXISTS talking",
        "CREATE VIEW talking AS SELECT talk(1) AS x",
    )
    table = opened(postgres, "talking")
    with everything_said(caplog, EngineError) as said:
        windows(table)
    assert "ZZ001" not in "".join(said)
    assert "918273645" not in "".join([*said, *capfd.readouterr()])


def test_a_wrong_password_shows_in_no_error(postgres, caplog):
    url = postgres.url(password="xq-wrong-word")
    with everything_said(caplog, SourceError) as said:
        Table.from_postgres(url, "cells")
    assert "cannot connect to PostgreSQL" in said[1] and "xq-wrong" not in "".join(said)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}%zz@localhost/x",
        f"postgresql+psycopg://me:{SECRET}@localhost/x",
        f"mysql://me:{SECRET}@localhost/x",
        f"host=localhost password={SECRET} nonsense=1",
        f"host=localhost password='{SECRET}",
        f"me:{SECRET}@localhost",
        "",
    ],
)
def test_what_is_no_url_is_refused_without_showing_it(caplog, url):
    with everything_said(caplog, InputError) as said:
        Table.from_postgres(url, "cells")
    assert SECRET not in "".join(said)


@pytest.mark.parametrize(
    "host", [f"me:{SECRET}@@127.0.0.1:1", f"me:x/{SECRET}@127.0.0.1:1", f"me:{SECRET}@127.0.0.1:1"]
)
def test_a_password_in_the_wrong_place_of_a_url_does_not_show(host):
    with pytest.raises((SourceError, InputError)) as caught:
        Table.from_postgres(f"postgresql://{host}/x", "cells")
    assert SECRET not in str(caught.value) and caught.value.__context__ is None


def test_no_object_shows_the_password(postgres):
    postgres.load("cells", "integer", [1])
    table = opened(postgres, "cells")
    source = table._engine._source
    with source.snapshot() as inside:
        assert SECRET not in "".join(
            map(repr, [table, table._engine, source, source.server, inside])
        )


def test_other_objects_than_a_url_or_a_connection_are_refused_by_their_type():
    with pytest.raises(InputError, match="type int"):
        Table.from_postgres(5432, "cells")


@pytest.mark.slow
def test_a_missing_driver_prints_its_install_line():
    code = (
        "import sys; sys.modules['psycopg'] = None; from postri import Table; "
        "Table.from_postgres('postgresql://h/d', 't')"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    ).stderr
    assert "The PostgreSQL engine needs psycopg: pip install 'postri[postgres]'" in said


# ---- interrupts


def endless(postgres):
    postgres.run(
        "DROP VIEW IF EXISTS endless",
        "CREATE VIEW endless AS SELECT length(pg_sleep(1200)::text) AS x",
    )
    return opened(postgres, "endless")


def running(postgres) -> int:
    """How many queries of ours the server runs."""
    with postgres.connect() as connection:
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND application_name = "
            "'postri'"
        )
        return connection.execute(query).fetchone()[0]


def wait_until(condition) -> None:
    """Two minutes are a guard against waiting for ever: a server that is busy may take a while."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_another_thread_cancels_the_query_in_the_server(postgres):
    table, cancel = endless(postgres), Cancel()

    def stop_it():
        wait_until(lambda: running(postgres))
        cancel.now(SourceChanged("stop"))

    threading.Thread(target=stop_it).start()
    with cancelled_by(cancel), pytest.raises(SourceChanged, match="stop"):
        windows(table)
    wait_until(lambda: not running(postgres))


def settings(url, *names, limit=None) -> list[str]:
    """What holds inside a transaction of a question that may take `limit` seconds."""
    with cancelled_by(Cancel(limit)), OwnServer(url).transaction() as connection:
        return [connection.execute(f"SHOW {name}").fetchone()[0] for name in names]


def test_the_server_itself_ends_what_takes_longer_than_a_question_may(postgres, monkeypatch):
    """So that nothing goes on there which it could not be told to cancel."""
    names = ("statement_timeout", "idle_in_transaction_session_timeout")
    assert settings(postgres.url(), *names) == ["0", "0"]
    assert settings(postgres.url(), *names, limit=1.5) == ["1500ms", "1500ms"]
    table, cancelled = endless(postgres), []
    monkeypatch.setattr(psycopg.Connection, "cancel_safe", lambda *_, **__: cancelled.append(1))
    # Nobody cancels what would take twenty minutes: the limit is the server's to keep.
    with cancelled_by(Cancel(0.2)), pytest.raises(EngineError, match="failed while it counted"):
        windows(table)
    assert not cancelled
    wait_until(lambda: not running(postgres))


def test_a_lower_limit_of_the_role_stays(postgres):
    lower = postgres.url() + "?options=-c%20statement_timeout%3D700"
    assert settings(lower, "statement_timeout", limit=60) == ["700ms"]
    assert settings(lower, "statement_timeout", limit=0.5) == ["500ms"]


def test_the_server_notices_that_nobody_waits_any_more(postgres):
    """The process that asked is killed, and can tell it nothing."""
    endless(postgres)
    code = (
        "import sys; from postri import Table, median; "
        "table = Table.from_postgres(sys.argv[1], 'endless', vouched=True); "
        "median(table, column='x', epsilon=1)"
    )
    with subprocess.Popen([sys.executable, "-c", code, postgres.url()]) as asking:
        try:
            wait_until(lambda: running(postgres))
        finally:
            asking.kill()
    wait_until(lambda: not running(postgres))


def test_ctrl_c_cancels_the_query_in_the_server(postgres):
    table = endless(postgres)

    def interrupt(*_):
        raise KeyboardInterrupt

    def press_it():
        wait_until(lambda: running(postgres))
        signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, interrupt)
    threading.Thread(target=press_it).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            windows(table)
    finally:
        signal.signal(signal.SIGALRM, before)
    wait_until(lambda: not running(postgres))


def test_the_types_are_those_of_the_other_engines():
    dialect = PostgresDialect()
    assert dialect.cells("x", "smallint").type == ColumnType(
        "int16", unit=Fraction(1), low=-(2**15), high=2**15 - 1
    )
    assert dialect.cells("x", "timestamp(3) with time zone").type.zoned
    assert dialect.cells("x", "numeric(9,2)").type.unit == Fraction(1, 100)


# ---- connections that stay open between questions


class TestStaying:
    @pytest.fixture
    def staying(self):
        connections = Staying(close=psycopg.Connection.close)
        yield connections
        connections.close()

    @pytest.fixture
    def url(self, postgres):
        postgres.load("staying", "bigint", ["1", "2", None])
        return postgres.url()

    def opened(self, staying, url):
        with connections_stay(staying):
            return postgres_engine(url, "staying")

    def ask(self, staying, url):
        """A question: its columns, its rows, and the process of the server that counted them."""
        engine = self.opened(staying, url)
        with engine.snapshot() as still:
            sizes = still.sizes("x")
            process = still._source.connection.info.backend_pid
        return list(engine.names), sizes, process

    def test_the_next_question_has_the_same_one_and_sees_the_table_as_it_is(
        self, postgres, staying, url
    ):
        names, sizes, process = self.ask(staying, url)
        assert (names, sizes, len(staying)) == (["other", "x"], [2], 1)
        postgres.run("INSERT INTO staying VALUES ('', 3)", "ALTER TABLE staying ADD more int")
        assert self.ask(staying, url) == (["other", "x", "more"], [3], process)
        postgres.run("DROP TABLE staying")
        with pytest.raises(InputError, match="PostgreSQL has no table"):
            self.ask(staying, url)

    def test_questions_at_once_have_one_each(self, staying, url):
        first, second = (self.opened(staying, url) for _ in range(2))
        with first.snapshot() as here, second.snapshot() as there:
            processes = {each._source.connection.info.backend_pid for each in (here, there)}
            assert len(processes) == 2
        assert len(staying) == 2

    def test_one_that_the_server_closed_is_opened_again(self, postgres, staying, url):
        _, sizes, process = self.ask(staying, url)
        postgres.run(f"SELECT pg_terminate_backend({process}, 10000)")
        _, again, another = self.ask(staying, url)
        assert (again, len(staying)) == (sizes, 1)
        assert another != process

    def test_one_that_was_opened_and_never_asked_stays_too(self, staying, url):
        engine = self.opened(staying, url)
        assert len(staying) == 0
        del engine
        gc.collect()
        assert len(staying) == 1

    def test_one_on_which_a_question_failed_does_not(self, staying, url):
        engine = self.opened(staying, url)
        with pytest.raises(ZeroDivisionError), engine.snapshot():
            raise ZeroDivisionError
        assert len(staying) == 0

    def test_after_the_policy_was_edited_those_in_use_are_closed_at_their_end(self, staying, url):
        engine = self.opened(staying, url)
        with engine.snapshot() as still:
            staying.close()
            assert still.sizes("x") == [2]
            connection = still._source.connection
        assert connection.closed and len(staying) == 0
