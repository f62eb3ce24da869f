"""Parquet files: typed columns, counted inside DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from postri.columns import ColumnType
from postri.engines.dialects.duckdb import DuckDialect
from postri.engines.duckdb import Database, literal, single_rows
from postri.engines.scans import Sample, SqlEngine
from postri.engines.statements import listed
from postri.errors import InputError

RANGES, IN_RANGES, IN_RANGES_OF_GROUP = 32, 1 << 17, 1 << 10
UNSAFE = {"TIMESTAMP_MILLIS": "timestamps in milliseconds", "INT96": "INT96 timestamps"}


class ParquetSource:
    """The rows of one Parquet file, or of several that are laid out alike."""

    dialect = DuckDialect()
    statement = staticmethod(listed)

    def __init__(self, paths: list[str]) -> None:
        self._number = len(paths)
        self.files = f"[{', '.join(map(literal, paths))}]"
        self.database = Database(paths)
        self.relation = (
            f"read_parquet({self.files}, hive_partitioning = false, union_by_name = false, "
            "filename = false)"
        )

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns."""
        return self.database.columns(query)

    def estimate(self) -> int:
        """Files tell their sizes."""
        return int(self.columns(f"SELECT count(*) AS rows FROM {self.relation}")[0][0])

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """Ranges of rows that lie evenly in each file: only their row groups are read.

        Then single rows.
        """
        size = min(rows, max(IN_RANGES, IN_RANGES_OF_GROUP * groups))
        each, starts = size // (RANGES * self._number), rows // self._number
        ranges = [
            f"file_row_number BETWEEN {i * starts // RANGES} AND {i * starts // RANGES + each}"
            for i in range(RANGES)
        ]
        numbered = self.relation.removesuffix(")") + ", file_row_number = true)"
        yield Sample(
            f"(SELECT * FROM {numbered} WHERE {' OR '.join(ranges)}) AS sampled", size / rows
        )
        yield single_rows(self.relation, rows, groups)


class ParquetEngine(SqlEngine):
    """The columns of Parquet files."""

    def __init__(self, paths: list[str]) -> None:
        self._files = ParquetSource(paths)
        super().__init__(
            self._files, dict(self._files.database.schema(f"SELECT * FROM {self._files.relation}"))
        )

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        declared = super().type_of(column)
        if declared.kind == "timestamp":
            self._check_stored(str(column))
        return declared

    def _check_stored(self, column: str) -> None:
        """Refuse, by their declared type, timestamps that DuckDB converts while it reads: on some
        cells that fails.
        """
        query = (
            "SELECT coalesce(converted_type, ''), coalesce(type, '') FROM "
            f"parquet_schema({self._files.files}) WHERE name = ?"
        )
        stored = {
            str(word) for words in self._files.database.columns(query, [column]) for word in words
        }
        if found := stored & set(UNSAFE):
            raise InputError(
                f"the column {column!r} is stored as {UNSAFE[found.pop()]}, which cannot be "
                "read safely; store it in microseconds"
            )
