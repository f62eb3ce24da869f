"""A table of 1e9 rows in DuckDB on disk, and the same rows as Parquet files that Spark reads, by
hand:

`make bench-large`. Less rows where the disk has no room.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

import postri
from engines import make_fares
from postri import Table
from postri.engines.csv_format import CsvFormat
from postri.engines.resolve import policy_source_of
from services.spark_session import spark_session  # the tests' own
from timing import ROOT, resident, side_by_side

ROWS, FEWER = 1_000_000_000, 300_000_000
# How large each file is, about.
FILE_SIZE = "256MB"
# The session of the tests runs on this machine, with two threads.
SPARK = "spark://local[2]"
# DuckDB keeps what it has read as long as it may: without a limit the peak is the size of the file,
# of a sum as well. Python, NumPy and DuckDB's own program take some 130 MB beside it.
MEMORY = "750MB"


def make_table() -> Path:
    """One column of fares; fewer where the disk has no room for all."""
    database = make_fares(ROWS) or make_fares(FEWER)
    if database is None:
        sys.exit(f"the disk has no room for {FEWER:,} rows")
    return database


def print_peak(database: str) -> None:
    """The peak memory of a process that asks one question of a DuckDB that may take little."""
    with duckdb.connect(database, read_only=True, config={"memory_limit": MEMORY}) as connection:
        print(postri.median(connection.table("trips"), column="fare", epsilon=1), file=sys.stderr)
    print(resident("VmHWM"))


def make_files(database: Path) -> Path:
    """The same rows as Parquet files, made once."""
    folder = database.with_suffix(".files")
    if not folder.is_dir():
        part = database.with_suffix(".part-files")
        shutil.rmtree(part, ignore_errors=True)
        with duckdb.connect(str(database), read_only=True) as connection:
            connection.execute(
                f"COPY trips TO '{part}' (FORMAT parquet, FILE_SIZE_BYTES '{FILE_SIZE}')"
            )
        part.rename(folder)
    return folder


def duckdb_figures(database: Path) -> dict[str, float]:
    """The table beside DuckDB's own sum of it, and the memory of a process that asks."""
    with duckdb.connect(str(database), read_only=True) as connection:
        trips = connection.table("trips")
        times = side_by_side(
            {
                "ours": lambda: postri.median(trips, column="fare", epsilon=1),
                "sum": lambda: connection.execute("SELECT sum(fare) FROM trips").fetchall(),
            },
            3,
        )
    words = [sys.executable, __file__, "--peak", str(database)]
    peak = float(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)
    print(f"DuckDB: {times['ours']:.2f} s against {times['sum']:.2f} s for a sum")
    return {
        "duckdb_1e9_vs_sum": round(times["ours"] / times["sum"], 4),
        "duckdb_1e9_peak_mb": round(peak, 1),
    }


def spark_figures(files: Path) -> dict[str, float]:
    """The files as a policy names them, in local mode, beside Spark's own sum of them."""
    pattern = f"{files}/*.parquet"
    with TemporaryDirectory() as folder, spark_session(Path(folder), compiled=True) as spark:
        kind = policy_source_of(SPARK, pattern)

        def opened() -> Table:
            """A table keeps what it counted, so each question opens its own, as a session does."""
            return Table(kind.open(SPARK, pattern, {}, CsvFormat()))

        plain = spark.session.read.parquet(pattern)
        times = side_by_side(
            {
                "ours": lambda: postri.median(opened(), column="fare", epsilon=1),
                "sum": lambda: plain.selectExpr("sum(fare)").collect(),
            },
            3,
        )
    print(f"Spark: {times['ours']:.2f} s against {times['sum']:.2f} s for a sum")
    return {"spark_1e9_vs_sum": round(times["ours"] / times["sum"], 4)}


def main() -> None:
    database = make_table()
    figures = duckdb_figures(database) | spark_figures(make_files(database))
    (ROOT / "build" / "bench-large.json").write_text(json.dumps(figures, indent=2) + "\n")
    print(f"{database.stem}: {figures}")


if __name__ == "__main__":
    print_peak(sys.argv[2]) if "--peak" in sys.argv else main()
