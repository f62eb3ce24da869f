"""The tables that are asked, by formulas: no version of a library changes a cell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

import postri
from postri import Table

ROWS = 3_000
CITIES = ("Oslo", "Bergen", "Rome")
MISSING = 50
TYPES = {
    "salary": "integer",
    "age": "integer",
    "rate": "float",
    "born": "date",
    "seen": "timestamp",
    "rider": "integer",
}


def staff() -> pa.Table:
    """One row a trip: numbers, dates, texts, a person; some salaries are not known."""
    places = range(ROWS)
    salaries = [None if i % MISSING == 7 else 20_000 + i * 7_919 % 40_009 for i in places]
    moments = [datetime(2024, 1, 1) + timedelta(minutes=i * 617 % 500_000) for i in places]
    return pa.table(
        {
            "salary": pa.array(salaries, pa.int64()),
            "age": pa.array([18 + i * 31 % 77 for i in places], pa.int32()),
            "rate": pa.array([(i * 37 % 1_201) / 100 - 1 for i in places], pa.float64()),
            "born": pa.array([date(1950, 1, 1) + timedelta(i * 13 % 20_000) for i in places]),
            "seen": pa.array(moments, pa.timestamp("us")),
            "city": pa.array([CITIES[i * 5 % 7 % 3] for i in places]),
            "vip": pa.array([i % 3 == 0 for i in places]),
            "rider": pa.array([i // 4 for i in places], pa.int64()),
        }
    )


def write_files(folder: Path) -> None:
    """The table as a CSV file, a Parquet file and a DuckDB database."""
    table = staff()
    pa_parquet.write_table(table, folder / "staff.parquet")
    # A CSV file holds no truths: they are texts there.
    texts = table.set_column(table.column_names.index("vip"), "vip", table["vip"].cast("string"))
    pa_csv.write_csv(texts, folder / "staff.csv")
    with duckdb.connect(str(folder / "staff.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE staff AS SELECT * FROM given")


@contextmanager
def sources(folder: Path) -> Iterator[dict[str, Any]]:
    """The table in every kind of source that needs no server, by the name of the kind."""
    table = staff()
    columns: dict[str, list[Any]] = table.to_pydict()
    frame = pd.DataFrame(columns)
    frame["salary"] = frame["salary"].astype("Int64")
    arrays = {
        "salary": np.ma.array(
            [cell or 0 for cell in columns["salary"]],
            mask=[cell is None for cell in columns["salary"]],
            dtype=np.int64,
        ),
        "age": np.array(columns["age"], np.int32),
        "rate": np.array(columns["rate"]),
        "born": np.array(columns["born"], "M8[D]"),
        "seen": np.array(columns["seen"], "M8[us]"),
        "city": np.array(columns["city"]),
        "vip": np.array(columns["vip"]),
        "rider": np.array(columns["rider"]),
    }
    with duckdb.connect(str(folder / "staff.duckdb"), read_only=True) as connection:
        yield {
            "lists": postri.open(columns, columns=TYPES),
            "untyped lists": columns,
            "numpy": arrays,
            "arrow": table,
            "pandas": frame,
            "polars": pl.from_arrow(table),
            "csv": postri.open(folder / "staff.csv", columns=TYPES),
            "untyped csv": str(folder / "staff.csv"),
            "parquet": folder / "staff.parquet",
            "duckdb table": connection.table("staff"),
            "duckdb query": postri.open(
                connection.sql("SELECT * FROM staff WHERE age >= 0"), vouched=True
            ),
            "from_duckdb": Table.from_duckdb(connection, "main.staff"),
        }
