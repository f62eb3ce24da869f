"""The extreme cells inside each real engine, and the rows that a predicate selects there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa

from postri.engines.clickhouse.dialect import ClickHouseDialect
from postri.engines.clickhouse.source import ClickHouseSource
from postri.engines.duckdb.dialect import DuckDialect
from postri.engines.postgres.dialect import PostgresDialect
from postri.engines.spark.dialect import SparkDialect
from postri.engines.sql.dialect import Dialect
from postri.expressions import Bound, Predicate
from services.real_tables import (
    put_in_clickhouse,
    put_in_duckdb,
    put_in_postgres,
    put_in_spark,
    signed,
    write_parquet,
)
from services.spark_session import Spark

_numbers = count()
Masks = list[list[bool]]


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
        if path is None:
            self.connection = put_in_duckdb(table)
        else:
            self.connection = duckdb.connect()
            self.connection.execute("SET TimeZone = 'Asia/Kathmandu'")
            write_parquet(table, path, group=30)
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
        self.types = put_in_postgres(server, signed(table), name)
        self.connection: psycopg.Connection[Any] = server.connect()
        self.fetch("SET standard_conforming_strings = off; SET TimeZone = 'Asia/Kathmandu'")

    def close(self) -> None:
        self.connection.close()

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


class InSpark(RealEngine):
    """A data frame of Spark, from a Parquet file."""

    dialect = SparkDialect()
    relation = "{source}"

    def __init__(self, running: Spark, table: pa.Table, path: Path) -> None:
        self.running, self.session = running, running.session
        self.frame = put_in_spark(self.session, signed(table), path)
        self.types = dict(self.frame.dtypes)

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.session.sql(query, source=self.frame).collect()]

    @contextmanager
    def settings(self, spark: Mapping[str, str]) -> Iterator[None]:
        with self.running.settings(spark):
            yield


class InClickHouse(RealEngine):
    """A table of ClickHouse inside this process."""

    dialect = ClickHouseDialect()

    def __init__(self, table: pa.Table, path: Path) -> None:
        self.relation = f"cells{next(_numbers)}"
        put_in_clickhouse(table, self.relation, path)
        self.source = ClickHouseSource(":memory:", self.relation)
        self.types = self.source.types

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        columns = [column.tolist() for column in self.source.columns(query)]
        return list(zip(*columns, strict=True))


def rows_of(mask: Sequence[bool]) -> list[int]:
    return np.flatnonzero(mask).tolist()
