"""Keys that nobody declared, against the count by group that DuckDB makes of the same rows."""

from __future__ import annotations

from pathlib import Path

import duckdb

import postri
from postri import agg, by
from timing import ROOT, side_by_side

FOLDER = ROOT / "build" / "bench-data"
KEYS = 100_000
PLAIN = "SELECT dest, count(*) FROM trips GROUP BY dest"


def make_destinations(rows: int) -> Path:
    """A table of destinations, some of which are far more frequent than others, made once."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"destinations-{rows}.duckdb"
    if not path.is_file():
        with duckdb.connect(str(path)) as connection:
            # The first rows have each key once, the others the early ones more often.
            connection.execute(
                f"CREATE TABLE trips AS SELECT 'dest ' || CAST(CASE WHEN i < {KEYS} THEN i ELSE "
                f"floor({KEYS} * random() * random() * random()) END AS INTEGER) AS dest "
                f"FROM range({rows}) AS numbers(i)"
            )
    return path


def unknown_keys(rows: int = 10_000_000, repeats: int = 7) -> dict[str, float]:
    """How many times as long it takes to find the keys, with a noisy number of rows and an interval
    for each, as to count all of them.
    """
    with duckdb.connect(str(make_destinations(rows)), read_only=True) as connection:
        table = postri.open(connection.table("trips"))
        found = by.discover("dest", delta="1e-6")

        def find() -> None:
            postri.ask(table, {"n": agg.count()}, by={"dest": found}, epsilon=1)

        times = side_by_side(
            {"ours": find, "plain": lambda: connection.execute(PLAIN).fetchall()}, repeats
        )
    return {"unknown_keys_vs_group_by": times["ours"] / times["plain"]}
