"""The extreme cells inside each real engine, and the rows that a predicate selects there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from postri.engines.dialects.duckdb import DuckDialect
from postri.engines.dialects.postgres import PostgresDialect
from postri.engines.dialects.protocol import Dialect
from postri.engines.dialects.spark import SparkDialect
from postri.expressions import Bound, Predicate

Masks = list[list[bool]]

POSTGRES_TYPES = {
    **{
        "int64": "bigint",
        "int16": "smallint",
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


class RealEngine:
    """A table inside an engine: its columns' declared types, and queries on it."""

    dialect: Dialect
    types: dict[str, str]
    relation = "cells"

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def cells(self, column: str) -> Any:
        return self.dialect.cells(column, self.types[column])

    def bound(self, predicate: Predicate) -> Bound:
        return predicate.bind(list(self.types), lambda column: self.cells(column).type)

    def masks(self, predicates: Sequence[Predicate]) -> Masks:
        """All at once, as columns of one query. Fails where one is null."""
        chosen = [f"CAST({self.sql(each)} AS INTEGER) AS p{i}" for i, each in enumerate(predicates)]
        rows = self.fetch(
            f"SELECT {', '.join(chosen)} FROM {self.relation} ORDER BY {self.dialect.name('row')}"
        )
        assert not any(cell is None for row in rows for cell in row)
        return [[bool(row[i]) for row in rows] for i in range(len(predicates))]

    def rows_where(self, predicate: Predicate) -> list[int]:
        """As a filter, which an engine may push down, fold, and decide by statistics."""
        row = self.dialect.name("row")
        return [
            row
            for (row,) in self.fetch(
                f"SELECT {row} FROM {self.relation} WHERE {self.sql(predicate)} ORDER BY {row}"
            )
        ]

    def sql(self, predicate: Predicate) -> str:
        return self.bound(predicate).sql(self.dialect, lambda wanted: self.cells(wanted.column))

    @contextmanager
    def settings(self, spark: Mapping[str, str]) -> Iterator[None]:
        """With these settings, where they are this engine's."""
        yield


class InDuckDB(RealEngine):
    """A table of DuckDB, or a Parquet file on a connection of a user's, whose footer leaves NaN out
    of its statistics.
    """

    dialect = DuckDialect()

    def __init__(self, table: pa.Table, path: Path | None = None) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'Asia/Kathmandu'")
        if path is None:
            self.connection.register("given", table)
            self.connection.execute("CREATE TABLE cells AS SELECT * FROM given")
        else:
            pq.write_table(table, path, row_group_size=30, store_schema=False)
            self.connection.execute(f"CREATE VIEW cells AS SELECT * FROM '{path}'")
        relation = self.connection.table("cells")
        self.types = dict(zip(relation.columns, map(str, relation.types), strict=True))

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()


class InPostgres(RealEngine):
    """A table of a PostgreSQL server."""

    dialect = PostgresDialect()

    def __init__(self, server: Any, table: pa.Table, name: str = "cells") -> None:
        self.relation = name
        kept = [field for field in table.schema if not pa.types.is_uint64(field.type)]
        self.types = {field.name: _postgres_type(field.type) for field in kept}
        self.connection: psycopg.Connection[Any] = server.connect()
        columns = ", ".join(
            f"{self.dialect.name(name)} {declared}" for name, declared in self.types.items()
        )
        self.fetch(
            f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} ({columns}); SET "
            "standard_conforming_strings = off"
        )
        names = ", ".join(self.dialect.name(name).replace("%", "%%") for name in self.types)
        with self.connection.cursor() as cursor:
            rows = [tuple(row[name] for name in self.types) for row in table.to_pylist()]
            cursor.executemany(
                f"INSERT INTO {name} ({names}) VALUES ({', '.join(['%s'] * len(kept))})".encode(),
                rows,
            )
        self.fetch(f"ANALYZE {name}; SET TimeZone = 'Asia/Kathmandu'")

    def close(self) -> None:
        self.connection.close()

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


def _postgres_type(kind: pa.DataType) -> str:
    return (
        f"numeric({kind.precision},{kind.scale})"
        if pa.types.is_decimal(kind)
        else POSTGRES_TYPES[str(kind)]
    )


class InSpark(RealEngine):
    """A data frame of Spark, from a Parquet file."""

    dialect = SparkDialect()
    relation = "{source}"

    def __init__(self, session: Any, table: pa.Table, path: Path) -> None:
        kept = table.drop_columns(
            [field.name for field in table.schema if pa.types.is_uint64(field.type)]
        )
        pq.write_table(kept, path)
        self.session, self.frame = session, session.read.parquet(str(path))
        self.types = dict(self.frame.dtypes)

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.session.sql(query, source=self.frame).collect()]

    @contextmanager
    def settings(self, spark: Mapping[str, str]) -> Iterator[None]:
        before = {name: self.session.conf.get(name, None) for name in spark}
        for name, value in spark.items():
            self.session.conf.set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    self.session.conf.unset(name)
                else:
                    self.session.conf.set(name, value)


def rows_of(mask: Sequence[bool]) -> list[int]:
    return np.flatnonzero(mask).tolist()
