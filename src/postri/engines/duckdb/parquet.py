"""Parquet files: typed columns, counted inside DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from numpy.typing import NDArray

from postri.columns import ColumnType
from postri.engines.duckdb.dialect import DuckDialect
from postri.engines.duckdb.lost import count_lost
from postri.engines.duckdb.source import NUMBER_OF_ROWS, Database, literal, single_rows
from postri.engines.lost import NOTHING, Lost, LostCells
from postri.engines.sql.dialect import filled
from postri.engines.sql.engine import SqlEngine
from postri.engines.sql.sampling import Sample
from postri.engines.sql.statements import listed
from postri.errors import InputError
from postri.expressions import Bound

# A sample is this many ranges of rows, with this many rows in all, and of each group.
RANGES = 32
IN_RANGES = 1 << 17
IN_RANGES_OF_GROUP = 1 << 10
# What DuckDB calls the number of a row.
ROW_NUMBER = "file_row_number"
UNSAFE = {"TIMESTAMP_MILLIS": "timestamps in milliseconds", "INT96": "INT96 timestamps"}

PARQUET_FILES = """
    read_parquet({files}, hive_partitioning = false, union_by_name = false, filename = false)
"""
SAMPLED_RANGES = "(SELECT * FROM {numbered} WHERE {ranges}) AS sampled"
STORED_TYPES = """
    SELECT coalesce(converted_type, ''), coalesce(type, '')
    FROM parquet_schema({files})
    WHERE name = ?
"""


class ParquetSource:
    """The rows of one Parquet file, or of several that are laid out alike."""

    dialect = DuckDialect()
    statement = staticmethod(listed)

    def __init__(self, paths: list[str]) -> None:
        self.number = len(paths)
        self.files = f"[{', '.join(map(literal, paths))}]"
        self.database = Database(paths)
        self.relation = filled(PARQUET_FILES, files=self.files)

    @property
    def numbered(self) -> str:
        """The same rows with their numbers in their files, from 0 on."""
        return self.relation.removesuffix(")") + f", {ROW_NUMBER} = true)"

    def snapshot(self) -> AbstractContextManager[ParquetSource]:
        """The files themselves: each query reads them anew."""
        return nullcontext(self)

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns."""
        return self.database.columns(query)

    def estimate(self) -> int:
        """Files tell their sizes."""
        return int(self.columns(NUMBER_OF_ROWS.format(relation=self.relation))[0][0])

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """Ranges of rows that lie evenly in each file: only their row groups are read.

        Then single rows.
        """
        size = min(rows, max(IN_RANGES, IN_RANGES_OF_GROUP * groups))
        length = size // (RANGES * self.number)
        rows_of_file = rows // self.number
        starts = [i * rows_of_file // RANGES for i in range(RANGES)]
        ranges = [f"{ROW_NUMBER} BETWEEN {start} AND {start + length}" for start in starts]
        sampled = filled(SAMPLED_RANGES, numbered=self.numbered, ranges=" OR ".join(ranges))
        yield Sample(sampled, size / rows)
        yield single_rows(self.relation, rows, groups)


class ParquetEngine(SqlEngine):
    """The columns of Parquet files."""

    def __init__(self, paths: list[str]) -> None:
        self._files = ParquetSource(paths)
        schema = self._files.database.schema(f"SELECT * FROM {self._files.relation}")
        super().__init__(self._files, dict(schema))

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        declared = super().type_of(column)
        if declared.kind == "timestamp":
            self._check_stored(str(column))
        return declared

    def lost(self, read: Mapping[str, Bound], most: int) -> LostCells:
        """The cells that are null, by one scan. Rows of several files have no numbers in common, so
        none is told.
        """
        dialect = self._files.dialect
        conditions = [
            f"NOT {condition.sql(dialect, self._input_cells)}" for condition in read.values()
        ]
        files = self._files
        # A column of that name holds cells, which must not be told.
        has_numbers = files.number == 1 and ROW_NUMBER not in self.names
        if has_numbers:
            rows, lost = count_lost(files, files.numbered, f"{ROW_NUMBER} + 1", conditions, most)
        else:
            rows, lost = count_lost(files, files.relation, "0", conditions, most)
            lost = [Lost(each.count) for each in lost]
        empty = dict(zip(read, lost, strict=True))
        return LostCells(rows, NOTHING, empty, dict.fromkeys(read, NOTHING))

    def _check_stored(self, column: str) -> None:
        """Refuse, by their declared type, timestamps that DuckDB converts while it reads: on some
        cells that fails.
        """
        found = self._files.database.columns(
            filled(STORED_TYPES, files=self._files.files), [column]
        )
        stored = {str(word) for words in found for word in words}
        unsafe = stored & set(UNSAFE)
        if unsafe:
            raise InputError(
                f"the column {column!r} is stored as {UNSAFE[unsafe.pop()]}, which cannot be "
                "read safely; store it in microseconds"
            )
