"""What analysts ask next, against the same statistics of DuckDB without privacy: a median for each
day of a year, and a variance.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

import postri
from postri import Domain, agg, by
from timing import ROOT, side_by_side

FOLDER = ROOT / "build" / "bench-data"
DAYS = "SELECT date_trunc('day', t) AS day, median(x) FROM trips GROUP BY day"
VARIANCE = "SELECT var_pop(x) FROM trips"


def make_year(rows: int) -> Path:
    """A table of trips with a moment of 2013 and a whole number each, made once."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"year-{rows}.duckdb"
    if not path.is_file():
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                "CREATE TABLE trips AS SELECT TIMESTAMP '2013-01-01' + to_seconds(CAST(floor("
                "31536000 * random()) AS BIGINT)) AS t, "
                "CAST(exp(10.7 + 0.45 * (random() + random() + random() - 1.5)) AS BIGINT) AS x "
                f"FROM range({rows})"
            )
    return path


def asked_next(rows: int = 10_000_000, repeats: int = 15) -> dict[str, float]:
    """How many times as long a private answer takes."""
    with duckdb.connect(str(make_year(rows)), read_only=True) as connection:
        days = {"day": by.day("t", "2013-01-01", "2013-12-31")}
        domain = Domain(0, 1_000_000)

        # Opened anew each time: an open table keeps what it has counted.
        def trips() -> postri.Table:
            return postri.open(connection.table("trips"))

        times = side_by_side(
            {
                "days": lambda: postri.ask(trips(), {"mid": agg.median("x")}, by=days, epsilon=1),
                "plain days": lambda: connection.execute(DAYS).fetchall(),
                "variance": lambda: postri.variance(trips(), "x", domain=domain, epsilon=1),
                "plain variance": lambda: connection.execute(VARIANCE).fetchall(),
            },
            repeats,
        )
    return {
        "days_vs_group_by": times["days"] / times["plain days"],
        "variance_vs_var_pop": times["variance"] / times["plain variance"],
    }
