"""Parquet files: typed columns, counted inside DuckDB. A cell becomes `raw` by an expression that cannot fail on any cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf, isinf

from postri.columns import BOOLEAN, DATE, NO_ORDER, ColumnType, decimal_type, float_type, integer_type, timestamp_type
from postri.engines.base import Bracket, Target, find_windows, tally
from postri.engines.duckdb import Database, literal, quoted
from postri.engines.reading import Raw, Reading
from postri.errors import InputError
from postri.grid import Grid
from postri.window import Indexes, RankWindow

BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
MOST_DIGITS = 18
UNSAFE = {"TIMESTAMP_MILLIS": "timestamps in milliseconds", "INT96": "INT96 timestamps"}
CALENDAR = ("DATE '0001-01-01'", "DATE '9999-12-31'")
FURTHEST = 2**63 - 1


class ParquetEngine:
    """The columns of one Parquet file."""

    def __init__(self, path: str) -> None:
        self._database = Database(path)
        self._source = f"read_parquet({literal(path)}, hive_partitioning = false, union_by_name = false, filename = false)"
        self._types = dict(self._database.schema(f"SELECT * FROM {self._source}"))
        self._path = path

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._types)

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        declared = _read_as(str(column), self._types[str(column)])[0]
        if declared.kind == "timestamp":
            self._check_stored(str(column))
        return declared

    def _check_stored(self, column: str) -> None:
        """Refuse, by their declared type, timestamps that DuckDB converts while it reads: on some cells that fails."""
        query = f"SELECT coalesce(converted_type, ''), coalesce(type, '') FROM parquet_schema({literal(self._path)}) WHERE name = ?"
        stored = {str(word) for words in self._database.columns(query, [column]) for word in words}
        if found := stored & set(UNSAFE):
            raise InputError(
                f"the column {column!r} is stored as {UNSAFE[found.pop()]}, which cannot be read safely; store it in microseconds"
            )

    def windows(self, column: str | None, grid: Grid, targets: Sequence[Target]) -> list[RankWindow]:
        """The window of each target."""
        declared, raw = _read_as(str(column), self._types[str(column)])
        keep = "NOT isnan(raw)" if declared.unit is None else "raw IS NOT NULL"
        cells = f"(SELECT raw FROM (SELECT {raw} AS raw FROM {self._source}) WHERE {keep})"
        return find_windows(ParquetCounter(self._database, cells, Reading(grid, declared.unit)), grid, targets)


class ParquetCounter:
    """One column on one grid, counted by queries."""

    def __init__(self, database: Database, cells: str, reading: Reading) -> None:
        self._database, self._cells, self._reading = database, cells, reading
        self.rows = int(database.columns(f"SELECT count(*) FROM {cells}")[0][0])

    def sample(self, size: int) -> Indexes:
        """A reservoir sample with a fixed seed: it serves the bracket alone."""
        return self._reading.indexes(
            self._database.columns(f"SELECT raw FROM {self._cells} USING SAMPLE reservoir({size} ROWS) REPEATABLE (1)")[0]
        )

    def count(self, brackets: Sequence[Bracket]) -> list[RankWindow]:
        """One scan for each bracket."""
        return [self._count(bracket) for bracket in brackets]

    def _count(self, bracket: Bracket) -> RankWindow:
        low, end = (_within(self._reading.cut(index)) for index in (bracket.low, bracket.high + 1))
        under, upto = _less(low), _less(end)
        values = [cut for cut in (low, end) if not isinf(cut)]
        below, raw, counts = self._database.columns(
            f"SELECT {under} AS below, if(below, NULL, raw) AS raw, count(*) AS number FROM {self._cells} WHERE {upto} GROUP BY ALL", values
        )
        inside = ~below.astype(bool)
        return RankWindow(*tally(self._reading.indexes(raw[inside]), counts[inside]), int(counts[~inside].sum()), self.rows)


def _within(cut: Raw) -> Raw:
    """The threshold; one beyond every 64-bit number is as good as infinite."""
    return inf * (1 if cut > 0 else -1) if abs(cut) >= 2**64 and isinstance(cut, int) else cut


def _less(cut: Raw) -> str:
    return str(cut > 0).upper() if isinf(cut) else "raw < ?"


def _between(cell: str, low: str, high: str) -> str:
    """The cell, clamped. Unlike `least` and `greatest`, this leaves a null alone."""
    return f"CASE WHEN {cell} > {high} THEN {high} WHEN {cell} < {low} THEN {low} ELSE {cell} END"


def _read_as(name: str, declared: str) -> tuple[ColumnType, str]:
    """The type that a DuckDB type is read as, and the expression of its raw cells."""
    cell = quoted(name)
    bare = declared.removeprefix("U")
    if bare in BITS:
        return integer_type(BITS[bare], signed=bare == declared), cell if declared == "UBIGINT" else f"CAST({cell} AS BIGINT)"
    if declared == "BOOLEAN":
        return BOOLEAN, f"CAST({cell} AS BIGINT)"
    if declared in ("FLOAT", "DOUBLE"):
        return float_type(32 if declared == "FLOAT" else 64), f"CAST({cell} AS DOUBLE)"
    if declared == "DATE":
        return DATE, f"date_diff('day', DATE '1970-01-01', {_between(cell, *CALENDAR)})"
    if declared.startswith("TIMESTAMP"):
        return _timestamp(declared, cell)
    if found := DECIMAL.fullmatch(declared):
        return _decimal(cell, int(found[1]), int(found[2]))
    raise InputError(f"the column {name!r} has the declared type {declared}, {NO_ORDER}")


def _timestamp(declared: str, cell: str) -> tuple[ColumnType, str]:
    """Microseconds (nanoseconds where declared so). An infinity lies beyond all others."""
    unit, reader = (10**9, "epoch_ns") if declared == "TIMESTAMP_NS" else (10**6, "epoch_us")
    zoned = declared == "TIMESTAMP WITH TIME ZONE"
    middle = f"{declared} '2000-01-01 00:00:00{'+00' if zoned else ''}'"
    beyond = f"CASE WHEN {cell} > {middle} THEN {FURTHEST} WHEN {cell} < {middle} THEN {-FURTHEST} END"
    return timestamp_type(declared, unit, zoned=zoned), f"coalesce(TRY({reader}({cell})), {beyond})"


def _decimal(cell: str, digits: int, scale: int) -> tuple[ColumnType, str]:
    """Whole multiples of 10^-scale. With 38 digits to compute with, no product of two numbers of 18 digits overflows."""
    if digits > MOST_DIGITS:
        raise InputError(
            f"the column has the declared type DECIMAL({digits},{scale}); cast it to a decimal of at most {MOST_DIGITS} digits"
        )
    return decimal_type(digits, scale), f"CAST(CAST({cell} AS DECIMAL(38,{scale})) * CAST({10**scale} AS DECIMAL(38,0)) AS BIGINT)"
