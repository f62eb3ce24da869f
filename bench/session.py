"""A question through a session against the bare function on the same file."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

import postri
from engines import FARE, FOLDER
from timing import side_by_side

ROWS = 10_000_000
POLICY = """
[datasets.trips]
source = "{source}"
version = "1"
budget = "1000"
min_epsilon = "0.001"
questions = 1000000
max_failures = 64
rows = {rows}
protect = {{ change = "add-or-remove-rows", rows = 1 }}
[datasets.trips.columns.fare]
type = "integer"
lower = 0
upper = 1000000
"""


def session_overhead() -> dict[str, float]:
    """Both open the file, count and draw; the session reserves and records besides."""
    parquet = FOLDER / f"fares-{ROWS}.parquet"
    if not parquet.is_file():
        FOLDER.mkdir(parents=True, exist_ok=True)
        duckdb.sql(f"SELECT {FARE} AS fare FROM range({ROWS})").write_parquet(str(parquet))
    with TemporaryDirectory(dir=FOLDER) as folder:
        policy = Path(folder) / "postri.toml"
        policy.write_text(POLICY.format(source=parquet, rows=ROWS))
        with postri.connect(policy, analyst="ann") as db:
            times = side_by_side(
                {
                    "session": lambda: db.median("trips", "fare", epsilon=1, fresh=True),
                    "bare": lambda: postri.median(
                        parquet, column="fare", domain=postri.Domain(0, 1_000_000), epsilon=1
                    ),
                },
                9,
            )
    return {"session_overhead": times["session"] / times["bare"]}
