"""One Arrow table inside every engine, and what its cells mean to engines whose columns have no
types. All tests of several engines put their tables there by these functions.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from itertools import count
from math import isfinite, isnan
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import postri
from postri.engines.csv_format import CsvFormat
from postri.engines.resolve import policy_source_of
from postri.engines.table import Table
from proving import sized
from services.delta_tables import write_delta
from services.postgres_server import PostgresServer

# What a user declares of columns whose source declares nothing; the others are read as what a
# question takes them for.
DECLARED = {
    "int64": "integer",
    "string": "text",
    "date32[day]": "date",
    "timestamp[us]": "timestamp",
}
POSTGRES_TYPES = {
    **{
        "int16": "smallint",
        "int32": "integer",
        "int64": "bigint",
        "bool": "boolean",
        "float": "real",
        "double": "double precision",
        "string": "text",
    },
    **{
        "date32[day]": "date",
        "timestamp[us]": "timestamp without time zone",
        "timestamp[us, tz=UTC]": "timestamp with time zone",
    },
}
PANDAS_TYPES = {
    **{pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype()},
    **{pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()},
    **{pa.bool_(): pd.BooleanDtype(), pa.string(): pd.StringDtype()},
}
# A column of this name holds UUIDs, as texts where an engine has none.
UUIDS = "uid"

Row = dict[str, Any]
_number = count()


@dataclass(frozen=True)
class Place:
    """Where tables may be put."""

    folder: Path
    request: pytest.FixtureRequest

    def file(self, suffix: str) -> Path:
        return self.folder / f"table{next(_number)}{suffix}"


def in_lists(table: pa.Table, place: Place) -> Table:
    return postri.open(table.to_pydict(), columns=_declared(table))


def _declared(table: pa.Table) -> dict[str, str | None]:
    return {field.name: DECLARED.get(str(field.type)) for field in table.schema}


def in_arrays(table: pa.Table, place: Place) -> Table:
    """NumPy's own types; masked where they have no null, objects where there is no type."""
    return postri.open({name: _array(table[name].combine_chunks()) for name in table.column_names})


def _array(column: pa.Array) -> np.ndarray:
    kind, missing = column.type, np.array(column.is_null())
    if pa.types.is_floating(kind):
        return column.to_numpy(zero_copy_only=False)
    if kind in (pa.date32(), pa.timestamp("us")):
        return np.array(column.to_pylist(), "M8[D]" if kind == pa.date32() else "M8[us]")
    if pa.types.is_string(kind):
        return np.ma.array(np.array(column.fill_null("").to_pylist(), "U"), mask=missing)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return np.ma.array(
            column.fill_null(0 if pa.types.is_integer(kind) else False).to_numpy(
                zero_copy_only=False
            ),
            mask=missing,
        )
    objects = np.empty(len(column), object)
    objects[:] = column.to_pylist()
    return objects


def in_pandas(table: pa.Table, place: Place) -> Table:
    return postri.open(table.to_pandas(types_mapper=PANDAS_TYPES.get))


def in_pandas_by_arrow(table: pa.Table, place: Place) -> Table:
    return postri.open(table.to_pandas(types_mapper=pd.ArrowDtype))


def in_polars(table: pa.Table, place: Place) -> Table:
    return postri.open(pl.from_arrow(table))


def in_arrow(table: pa.Table, place: Place) -> Table:
    return postri.open(table)


def in_chunks(table: pa.Table, place: Place) -> Table:
    return postri.open(pa.concat_tables([table[:7], table[7:7], table[7:]]))


def in_duckdb(table: pa.Table, place: Place) -> Table:
    """With a session that compares texts in its own way, and shows moments in another zone."""
    connection = put_in_duckdb(table, "SET default_collation = 'nocase'")
    return postri.open(connection.table("cells"))


def in_duckdb_database(table: pa.Table, place: Place) -> Table:
    """A file, which is opened without a word on how."""
    path = place.file(".duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE cells AS SELECT * FROM given")
    return Table.from_duckdb(path, "cells")


def put_in_duckdb(table: pa.Table, *settings: str) -> duckdb.DuckDBPyConnection:
    """A connection with these settings and the table `cells`."""
    connection = duckdb.connect()
    connection.execute("; ".join(["SET TimeZone = 'Asia/Kathmandu'", *settings]))
    connection.register("given", table)
    uuids = f"REPLACE (CAST({UUIDS} AS UUID) AS {UUIDS})" if UUIDS in table.column_names else ""
    connection.execute(f"CREATE TABLE cells AS SELECT * {uuids} FROM given")
    return connection


def in_duckdb_over_parquet(table: pa.Table, place: Place) -> Table:
    path = write_parquet(table, place.file(".parquet"))
    return postri.open(duckdb.connect().read_parquet(str(path)), vouched=True)


def write_parquet(table: pa.Table, path: Path, *, group: int = 20_000) -> Path:
    """A file of several groups of rows, which says of its columns what other programs write."""
    pq.write_table(table, path, row_group_size=group, store_schema=False)
    return path


def in_parquet(table: pa.Table, place: Place) -> Table:
    return postri.open(write_parquet(table, place.file(".parquet")))


def in_parquet_files(table: pa.Table, place: Place) -> Table:
    folder, half = place.file(""), len(table) // 2
    folder.mkdir()
    for name, part in (("a", table[:half]), ("b", table[half:])):
        pq.write_table(part, folder / f"{name}.parquet", store_schema=False)
    return postri.open(f"{folder}/*.parquet")


def in_delta(table: pa.Table, place: Place) -> Table:
    return postri.open(write_delta(place.file(""), table))


def in_csv(table: pa.Table, place: Place) -> Table:
    path = place.file(".csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows(
            zip(*(map(_csv_text, column.to_pylist()) for column in table.columns), strict=True)
        )
    return postri.open(path, columns=_declared(table))


def _csv_text(cell: object) -> str:
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


def in_postgres(table: pa.Table, place: Place) -> Table:
    server, name = place.request.getfixturevalue("postgres"), f"rows{next(_number)}"
    put_in_postgres(server, table, name)
    return Table.from_postgres(server.url(), name)


def put_in_postgres(server: PostgresServer, table: pa.Table, name: str) -> dict[str, str]:
    """A fresh table of this name; the declared types of its columns."""
    types = {field.name: _postgres_type(field) for field in table.schema}
    columns = ", ".join(f"{_quoted(column)} {declared}" for column, declared in types.items())
    server.run(f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} ({columns})")
    with server.connect() as connection, connection.cursor() as cursor:
        with cursor.copy(f"COPY {name} FROM STDIN".encode()) as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
        cursor.execute(f"ANALYZE {name}".encode())
    return types


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _postgres_type(field: pa.Field) -> str:
    if field.name == UUIDS:
        return "uuid"
    if pa.types.is_decimal(field.type):
        return f"numeric({field.type.precision},{field.type.scale})"
    return POSTGRES_TYPES[str(field.type)]


def in_spark(table: pa.Table, place: Place) -> Table:
    session = place.request.getfixturevalue("spark").session
    return postri.open(put_in_spark(session, table, place.file(".parquet")))


def in_spark_connect(table: pa.Table, place: Place) -> Table:
    """Files, as a policy names them."""
    url = place.request.getfixturevalue("spark_connect")
    path = place.file(".parquet")
    pq.write_table(table, path, row_group_size=20_000)
    return Table(policy_source_of(url, str(path)).open(url, str(path), {}, CsvFormat()))


def put_in_spark(session: Any, table: pa.Table, path: Path) -> Any:
    """A data frame over a file of several groups of rows."""
    pq.write_table(table, path, row_group_size=20_000)
    return session.read.parquet(str(path))


def in_clickhouse(table: pa.Table, place: Place) -> Table:
    name = f"rows{next(_number)}"
    put_in_clickhouse(table, name, place.file(".parquet"))
    return Table.from_chdb(":memory:", name)


CLICKHOUSE_TYPES = {
    "int8": "Int8",
    "int16": "Int16",
    "int32": "Int32",
    "int64": "Int64",
    "uint8": "UInt8",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "bool": "Bool",
    "float": "Float32",
    "double": "Float64",
    "string": "String",
    "date32[day]": "Date32",
    "timestamp[us]": "DateTime64(6)",
    "timestamp[ns]": "DateTime64(9)",
    "timestamp[us, tz=UTC]": "DateTime64(6, 'UTC')",
}


@cache
def chdb_connection() -> Any:
    """The one connection that stays: with the last of them the tables in memory go."""
    import chdb

    return chdb.connect(":memory:")


def put_in_clickhouse(table: pa.Table, name: str, path: Path) -> None:
    """A fresh table of the one database that this process has, in memory."""
    connection = chdb_connection()
    connection.query(f"DROP TABLE IF EXISTS {name} SYNC")
    columns = []
    for field in table.schema:
        quoted = "`" + field.name.replace("\\", "\\\\").replace("`", "\\`") + "`"
        columns.append(f"{quoted} Nullable({_clickhouse_type(field)})")
    pq.write_table(table, path, row_group_size=20_000)
    connection.query(
        f"CREATE TABLE {name} ({', '.join(columns)}) ENGINE = MergeTree ORDER BY tuple()"
    )
    connection.query(f"INSERT INTO {name} SELECT * FROM file('{path}', Parquet)")


def _clickhouse_type(field: pa.Field) -> str:
    if field.name == UUIDS:
        return "UUID"
    if pa.types.is_decimal(field.type):
        return f"Decimal({field.type.precision}, {field.type.scale})"
    return CLICKHOUSE_TYPES[str(field.type)]


Loader = Callable[[pa.Table, Place], Table]
MEMORY: dict[str, Loader] = {
    "lists": in_lists,
    "NumPy": in_arrays,
    "pandas": in_pandas,
    "pandas by Arrow": in_pandas_by_arrow,
    "Polars": in_polars,
    "Arrow": in_arrow,
    "Arrow in chunks": in_chunks,
}
LOADERS: dict[str, Loader] = MEMORY | {
    "DuckDB": in_duckdb,
    "DuckDB over Parquet": in_duckdb_over_parquet,
    "Parquet": in_parquet,
    "Parquet files": in_parquet_files,
    "CSV": in_csv,
    "PostgreSQL": in_postgres,
    "Spark": in_spark,
    "Delta": in_delta,
}
# A wheel of hundreds of megabytes, which not everybody who tests has.
HAS_CLICKHOUSE = find_spec("chdb") is not None
if HAS_CLICKHOUSE:
    LOADERS["ClickHouse"] = in_clickhouse
# Those that some tests take in place of others.
RELATIVES: dict[str, Loader] = {
    "DuckDB database": in_duckdb_database,
    "Spark Connect": in_spark_connect,
}
SERVICES = ("PostgreSQL", "Spark")
QUICK = ("Arrow", "DuckDB")
# One of each kind, whose relatives `make test` asks less.
FULLY = ("lists", "Arrow", "DuckDB", "CSV", "PostgreSQL")
# Those that `make test` asks what takes long of every engine; `make prove` asks all.
SOME_ENGINES = sized((*FULLY, "Parquet", "Spark"), tuple(LOADERS))
# None of them has whole numbers without a sign.
SIGNED = (*SERVICES, "Spark Connect", "Delta")


def loaded(engine: str, table: pa.Table, place: Place) -> Table:
    """The table in an engine, without the columns that it has no type for."""
    load = (LOADERS | RELATIVES)[engine]
    return load(signed(table) if engine in SIGNED else table, place)


def some_of(engine: str, names: Iterable[str]) -> list[str]:
    """What `make test` asks of this engine, in place of all that `make prove` does."""
    if engine in QUICK:
        return list(names)
    return _by_turns(engine, names, 5 if engine in FULLY else 20)


def most_of(engine: str, names: Iterable[str]) -> list[str]:
    """The same where each question takes long: less of it, but each by one in memory or one
    database.
    """
    if engine in QUICK:
        return _by_turns(engine, names, 2)
    return _by_turns(engine, names, 12 if engine in FULLY else 40)


def _by_turns(engine: str, names: Iterable[str], every: int) -> list[str]:
    """Each engine begins elsewhere, so that what one is not asked others are."""
    every = sized(every, 1)
    asked = list(names)
    place = QUICK.index(engine) if engine in QUICK else list(LOADERS | RELATIVES).index(engine)
    return asked[place % min(every, len(asked)) :: every]


def marks(engine: str) -> list[pytest.MarkDecorator]:
    """Those of a test of this engine: `make test-fast` asks one in memory and one database."""
    return [] if engine in QUICK else [pytest.mark.slow]


def signed(table: pa.Table) -> pa.Table:
    """Without the columns of whole numbers that have no sign."""
    unsigned = [field.name for field in table.schema if pa.types.is_uint64(field.type)]
    return table.drop_columns(unsigned)


def meant(engine: str, table: pa.Table) -> list[Row]:
    """The rows as this engine reads them: every blank of a text counts in all of them; CSV has no
    empty text and no truth.
    """
    columns = {
        field.name: _meant(engine, table[field.name].to_pylist(), field.type)
        for field in table.schema
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _meant(engine: str, cells: list[Any], kind: pa.DataType) -> list[Any]:
    if pa.types.is_floating(kind):
        cells = [None if cell is None or isnan(cell) else cell for cell in cells]
        return [_written(cell) for cell in cells] if engine == "CSV" else cells
    if pa.types.is_string(kind) and engine == "CSV":
        return [cell or None for cell in cells]
    return [None] * len(cells) if pa.types.is_boolean(kind) and engine == "CSV" else cells


def _written(cell: float | None) -> Any:
    """A float in CSV is the decimal that is written there."""
    return Fraction(repr(cell)) if cell is not None and isfinite(cell) else cell
