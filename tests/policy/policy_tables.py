"""One table made by hand, in every kind of source that a policy can name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from bank import ONE_ROW, dataset_text

# age: two null, one below 0, two above 100. fare: one null, one NaN, one below, one above. city:
# one null, two unknown. born: one null, one before 1900. since: one null, one after 2024. flag: one
# null. who: two null.
ROWS = (
    (1, "7", "30", "2.50", "1.5", "Oslo", "1980-01-31", "2023-05-01 12:00:00", "true"),
    (2, "7", "-5", "0.00", "-3.5", "Oslo", "1880-01-31", "2023-05-01 12:00:00", "false"),
    (3, "8", "101", "9.99", "nan", "Bergen", "1980-01-31", "2023-05-01 12:00:00", "true"),
    (4, "8", "250", "10.01", "99.5", "Rome", "1980-01-31", "2025-05-01 12:00:00", "true"),
    (5, "9", None, "5.00", "inf", "Paris", None, None, "false"),
    (6, None, None, None, None, None, "2000-02-29", "2000-01-01 00:00:00", None),
    (7, None, "0", "0.01", "0", "Oslo", "1900-01-01", "2024-12-31 00:00:00", "true"),
    (8, "9", "100", "10.00", "100", "Bergen", "2024-12-31", "2000-01-01 00:00:00", "false"),
)
DECLARED = {
    "id": "BIGINT",
    "who": "INTEGER",
    "age": "INTEGER",
    "fare": "DECIMAL(8,2)",
    "ratio": "DOUBLE",
    "city": "VARCHAR",
    "born": "DATE",
    "since": "TIMESTAMP",
    "flag": "BOOLEAN",
}
COLUMNS = """\
[datasets.trips.columns.age]
type = "integer"
lower = 0
upper = 100
[datasets.trips.columns.fare]
type = "decimal"
lower = "0.01"
upper = 10
step = "0.01"
[datasets.trips.columns.ratio]
type = "float"
lower = 0
upper = 100
step = 0.5
[datasets.trips.columns.city]
type = "text"
keys = ["Oslo", "Bergen", "Bod\\u00f8"]
[datasets.trips.columns.born]
type = "date"
lower = 1900-01-01
upper = 2024-12-31
[datasets.trips.columns.since]
type = "timestamp"
lower = 2000-01-01
upper = 2024-12-31
[datasets.trips.columns.id]
type = "integer"
keys = [1, 2, 99]
"""
FLAG = """\
[datasets.trips.columns.flag]
type = "boolean"
keys = [true]
"""
TEXT_FLAG = FLAG.replace("boolean", "text").replace("true", '"true"')
# Of 8 rows, for each column: dropped, below, above, unknown.
SEEN = {
    "age": (2, 1, 2, None),
    "fare": (1, 1, 1, None),
    "ratio": (2, 1, 1, None),
    "city": (1, None, None, 2),
    "born": (1, 1, 0, None),
    "since": (1, 0, 1, None),
    "id": (0, None, None, 6),
    "flag": (1, None, None, 3),
    "who": (2, None, None, None),
}


def write_csv(folder: Path, rows=ROWS, name: str = "trips.csv") -> tuple[str, str | None]:
    lines = [
        ",".join(DECLARED),
        *(",".join("" if cell is None else str(cell) for cell in row) for row in rows),
    ]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name, None


def _create(connection, rows) -> None:
    connection.execute(
        f"CREATE TABLE trips ({', '.join(f'{name} {kind}' for name, kind in DECLARED.items())})"
    )
    if rows:
        connection.executemany(f"INSERT INTO trips VALUES ({', '.join('?' * len(DECLARED))})", rows)


def write_parquet(folder: Path, rows=ROWS, name: str = "trips.parquet") -> tuple[str, str | None]:
    with duckdb.connect() as connection:
        _create(connection, rows)
        connection.execute(f"COPY trips TO '{folder / name}' (FORMAT parquet)")
    return name, None


def write_duckdb(folder: Path, rows=ROWS) -> tuple[str, str | None]:
    (folder / "trips.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "trips.duckdb")) as connection:
        _create(connection, rows)
    return "trips.duckdb", "main.trips"


def write_postgres(server, rows=ROWS) -> tuple[str, str | None]:
    declared = {**DECLARED, "ratio": "double precision", "city": "text"}
    server.run(
        "DROP TABLE IF EXISTS trips CASCADE",
        f"CREATE TABLE trips ({', '.join(f'{name} {kind}' for name, kind in declared.items())})",
    )
    with server.connect() as connection, connection.cursor() as cursor:
        if rows:
            cursor.executemany(
                f"INSERT INTO trips VALUES ({', '.join(['%s'] * len(declared))})", rows
            )
    return server.url(), "public.trips"


SOURCES: dict[str, Callable[..., tuple[str, str | None]]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "duckdb": write_duckdb,
    "postgres": write_postgres,
}
# The same for a test: one that needs a server is never quick.
EVERY_SOURCE = [
    pytest.param(kind, marks=[pytest.mark.slow] if kind == "postgres" else []) for kind in SOURCES
]


def write_source(kind: str, folder: Path, request, rows=ROWS) -> tuple[str, str | None]:
    """The table as a source of this kind: what stands as its source and table."""
    if kind == "postgres":
        return write_postgres(request.getfixturevalue("postgres"), rows)
    return SOURCES[kind](folder, rows)


def dataset(
    source: str,
    table: str | None,
    more: str = "",
    protect: str = ONE_ROW,
) -> str:
    text = dataset_text("trips", source=source, table=table, rows=None, protect=protect, columns={})
    return text + more


def write_policy(folder: Path, text: str) -> Path:
    path = folder / "postri.toml"
    path.write_text(text, encoding="utf-8")
    return path
