"""The engines against the quantiles of the databases themselves: same process, same cores, same
run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import duckdb

import postri
from postri import Table
from postri.engines.duckdb.source import Database, RelationSource
from postri.engines.postgres.source import PostgresSource
from postri.engines.rows import Groups, Rows
from postri.engines.spark.source import SparkSource
from postri.grid import grid_of
from postri.methods.method import QuantileTerms
from postri.privacy import split_spend
from postri.window import Target
from timing import ROOT, resident, side_by_side

sys.path.insert(0, str(ROOT / "tests"))
from services.postgres_server import PostgresServer, postgres_server  # the tests' own
from services.spark_session import spark_session

FOLDER = ROOT / "build" / "bench-data"
GROUPS = 1_000
CSV_ROWS = 10_000_000
# What a row of whole numbers takes on disk, as a table and as files, and room to write it.
BYTES_A_ROW = 12
# Rows of a large table are made so many at a time.
PART = 50_000_000
RETURNED = "rows_returned_vs_window"
ALL, STATIONS = Rows(), Rows(groups=Groups.of({"station": list(range(GROUPS))}))
# Fares in cents, of a lognormal shape.
FARE = "CAST(exp(7 + 0.8 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())) * 100 AS BIGINT)"


def make_trips(rows: int) -> tuple[Path, Path]:
    """A table of fares and stations as a DuckDB database and as a Parquet file, made once."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    database, parquet = (
        FOLDER / f"station-trips-{rows}.duckdb",
        FOLDER / f"station-trips-{rows}.parquet",
    )
    if not parquet.is_file():
        database.unlink(missing_ok=True)
        with duckdb.connect(str(database)) as connection:
            connection.execute(
                f"CREATE TABLE trips AS SELECT {FARE} AS fare, CAST(random() * {GROUPS} AS "
                f"INTEGER) AS station FROM range({rows})"
            )
            connection.execute(f"COPY trips TO '{parquet}' (FORMAT parquet)")
    return database, parquet


def make_fares(rows: int) -> Path | None:
    """A table of fares in DuckDB, made once; None where the disk has no room."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    database = FOLDER / f"large-{rows}.duckdb"
    if database.is_file():
        return database
    if shutil.disk_usage(FOLDER).free < rows * BYTES_A_ROW:
        return None
    part = database.with_suffix(".part")
    part.unlink(missing_ok=True)
    with duckdb.connect(str(part)) as connection:
        connection.execute("CREATE TABLE trips (fare BIGINT)")
        for start in range(0, rows, PART):
            number = min(PART, rows - start)
            print(f"making {start:,} of {rows:,} rows", file=sys.stderr, flush=True)
            connection.execute(f"INSERT INTO trips SELECT {FARE} FROM range({number})")
    part.rename(database)
    return database


def make_csv(trips: duckdb.DuckDBPyConnection) -> str:
    """A million of the trips as a CSV file."""
    path = FOLDER / "trips.csv"
    if not path.is_file():
        trips.execute(f"COPY (FROM trips LIMIT 1000000) TO '{path}' (HEADER)")
    return str(path)


def duckdb_engine() -> dict[str, float]:
    """Tables and Parquet files of 5e7 rows against DuckDB's own aggregates."""
    database, parquet = make_trips(50_000_000)
    with duckdb.connect(str(database), read_only=True) as connection:
        trips = connection.table("trips")

        def theirs(query: str) -> Callable[[], Any]:
            return lambda: connection.execute(query).fetchall()

        times = side_by_side(
            {
                "ours": lambda: postri.median(trips, column="fare", epsilon=1),
                "median": theirs("SELECT median(fare) FROM trips"),
                "sum": theirs("SELECT sum(fare) FROM trips"),
                "parquet": lambda: postri.median(parquet, column="fare", epsilon=1),
                "parquet median": theirs(f"SELECT median(fare) FROM '{parquet}'"),
            },
            5,
        )
        grouped = side_by_side(
            {
                "ours": lambda: count_groups(trips),
                "median": theirs(
                    f"SELECT station, median(fare) FROM trips WHERE station < {GROUPS} GROUP "
                    "BY station"
                ),
            },
            7,
        )
        sources = trips, str(parquet), make_csv(connection)
        returned = max(
            returned_by(postri.open(source), rows) for source in sources for rows in (ALL, STATIONS)
        )
    peaks = {way: peak_of(way, database) for way in ("ours", "median")}
    return {
        "duckdb_table_vs_median": times["ours"] / times["median"],
        "duckdb_table_vs_sum": times["ours"] / times["sum"],
        "duckdb_parquet_vs_median": times["parquet"] / times["parquet median"],
        "duckdb_groups_vs_median": grouped["ours"] / grouped["median"],
        "duckdb_memory_vs_median": peaks["ours"] / peaks["median"],
        RETURNED: returned,
    }


def csv_engine() -> dict[str, float]:
    """A CSV file of 1e7 rows against DuckDB's own reader and median."""
    path = FOLDER / f"fares-{CSV_ROWS}.csv"
    if not path.is_file():
        FOLDER.mkdir(parents=True, exist_ok=True)
        duckdb.sql(f"SELECT {FARE} AS fare FROM range({CSV_ROWS})").write_csv(str(path))
    with duckdb.connect() as connection:
        times = side_by_side(
            {
                "ours": lambda: postri.median(
                    postri.open(path, columns={"fare": "integer"}), "fare", epsilon=1
                ),
                "median": lambda: connection.execute(
                    f"SELECT median(fare) FROM read_csv('{path}')"
                ).fetchall(),
            },
            5,
        )
    return {"csv_vs_duckdb": times["ours"] / times["median"]}


def count_groups(trips: Any) -> None:
    """The windows of all groups: what the engine does for `ask`, without the draws, which cost the
    same on every engine.
    """
    table = postri.open(trips)
    table.grouped_windows(
        "fare", grid_of(table.type_of("fare"), None), [target_of(table)], table.bind(STATIONS)
    )


def target_of(table: Table) -> Target:
    """What a median at epsilon 1 needs."""
    question = QuantileTerms(
        Fraction(1, 2),
        split_spend(Fraction(1), Fraction(1, 2)),
        Fraction(1, 20),
        postri.AddOrRemoveRows(1),
    )
    return Target(question.p, postri.Depth().half(question, grid_of(table.type_of("fare"), None)))


def peak_of(way: str, database: Path) -> float:
    """The peak memory of a fresh process that asks one question of the table, less that of one that
    asks nothing.
    """
    peaks = []
    for each in (way, "nothing"):
        words = [sys.executable, str(ROOT / "bench" / "run.py"), "--peak", each, str(database)]
        peaks.append(
            float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        )
    return peaks[0] - peaks[1]


def print_peak(way: str, database: str) -> None:
    with duckdb.connect(database, read_only=True) as connection:
        if way == "ours":
            postri.median(connection.table("trips"), column="fare", epsilon=1)
        else:
            postri.median(range(1_000), epsilon=1)  # loads what an answer needs
            query = {
                "median": "SELECT median(fare) FROM trips",
                "sum": "SELECT sum(fare) FROM trips",
                "nothing": "SELECT 1",
            }[way]
            connection.execute(query).fetchall()
    print(resident("VmHWM"))


def postgres_engine() -> dict[str, float]:
    """A table of 5e6 rows against PostgreSQL's own quantile."""
    with postgres_server() as server:
        load_trips(server, 5_000_000)
        with server.connect() as connection:
            times = side_by_side(
                {
                    "ours": lambda: postri.median(
                        Table.from_postgres(server.url(), "trips"), column="fare", epsilon=1
                    ),
                    "percentile_disc": lambda: connection.execute(
                        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY fare) FROM trips"
                    ).fetchall(),
                },
                5,
            )
        returned = returned_by(Table.from_postgres(server.url(), "trips"))
    return {
        "postgres_vs_percentile_disc": times["ours"] / times["percentile_disc"],
        RETURNED: returned,
    }


def load_trips(server: PostgresServer, rows: int) -> None:
    fare = FARE.replace("CAST(", "CAST((").replace(" AS BIGINT)", ")::float8 AS bigint)")
    server.run(
        f"CREATE TABLE trips AS SELECT {fare} AS fare FROM generate_series(1, {rows})",
        "VACUUM ANALYZE trips",
    )


def spark_engine() -> dict[str, float]:
    """A Parquet file of 1e7 rows against Spark's own exact median."""
    _, parquet = make_trips(10_000_000)
    with TemporaryDirectory() as folder, spark_session(Path(folder), compiled=True) as spark:
        session = spark.session
        trips = session.read.parquet(str(parquet))
        trips.createOrReplaceTempView("trips")
        times = side_by_side(
            {
                "ours": lambda: postri.median(trips, column="fare", epsilon=1),
                "median": lambda: session.sql("SELECT median(fare) FROM trips").collect(),
            },
            7,
            # Until the JVM has compiled what both of them run.
            before=5,
        )
        returned = returned_by(postri.open(trips))
    return {"spark_vs_median": times["ours"] / times["median"], RETURNED: returned}


def returned_by(table: Table, rows: Rows = ALL) -> float:
    """How many rows the queries of one question return for each atom of its windows."""
    with counted() as returned:
        groups = table.grouped_windows(
            "fare", grid_of(table.type_of("fare"), None), [target_of(table)], table.bind(rows)
        )
    return sum(returned) / sum(len(windows(0).indexes) for (windows,) in groups)


@contextmanager
def counted() -> Iterator[list[int]]:
    """The number of rows that each query returns, of all engines."""
    returned: list[int] = []

    def counting(original: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def columns(*given: Any, **named: Any) -> list[Any]:
            found = original(*given, **named)
            returned.append(len(found[0]))
            return found

        return columns

    with ExitStack() as stack:
        for source in (Database, RelationSource, PostgresSource, SparkSource):
            stack.enter_context(patch.object(source, "columns", counting(source.columns)))
        yield returned
