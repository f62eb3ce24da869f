"""How the time of an answer grows with the rows, from 1e5 to 1e9, beside the medians without
privacy and beside other libraries: `make bench-growth` measures and draws, into
docs/images/growth.svg.

Arrays up to 1e8 numbers are set beside `np.median`, DuckDB tables beside DuckDB's own. Other
libraries stand as `make compare ONLY=time` measured them; what of that was never run is run first.
Only what was measured is drawn. `--most 1e7` ends earlier, and a table for which the disk has no
room is left out. The points are kept in build/growth.json: `--draw` draws them again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import postri
from compare.registry import PEERS
from compare.rows import all_rows
from compare.run import run_rows
from compare.running import Settings
from engines import make_fares
from timing import ROOT, least_side_by_side

POINTS = ROOT / "build" / "growth.json"
PICTURE = ROOT / "docs" / "images" / "growth.svg"
SIZES = [10**exponent for exponent in range(5, 10)]
# A larger array would leave no memory to sort a copy of it, as `np.median` does.
LARGEST_ARRAY = 10**8
# The smaller a table is, the more often it is asked: others on the machine decide single turns.
MOST_REPEATS = 30
LINES = {
    "postri, array": {"color": "C0", "marker": "o", "linewidth": 2.5},
    "np.median": {"color": "C0", "marker": "o", "linestyle": ":"},
    "postri, DuckDB table": {"color": "C1", "marker": "s", "linewidth": 2.5},
    "DuckDB's median": {"color": "C1", "marker": "s", "linestyle": ":"},
}
# Other libraries are told apart by their marks: the colours belong to arrays and tables.
PEER_LINE = {"color": "0.55", "linewidth": 1}
PEER_MARKS = "^vDPXp*"
# What `make compare` keeps.
COMPARED = ROOT / "build" / "compare"
# One answer of a library ends after so many seconds, and is not drawn.
PATIENCE = 120.0

Points = dict[str, dict[str, float]]
"""For each line of the picture the seconds by the number of rows."""


def measured(most: int) -> Points:
    """The least of several turns of each, in one run."""
    points: Points = {name: {} for name in LINES}
    for rows in (size for size in SIZES if size <= most):
        print(f"{rows:,} rows ...", file=sys.stderr, flush=True)
        for name, taken in (array_times(rows) | table_times(rows)).items():
            points[name][str(rows)] = taken
    return points


def peer_times(most: int) -> Points:
    """The times of other libraries, as the comparison has them: of each its quickest way."""
    settings = Settings(PEERS, COMPARED, timed_patience=PATIENCE)
    timed = [row for row in all_rows() if row.kind == "time" and row.statistic == "median"]
    timed = [row for row in timed if row.size <= most]
    missing = [row for row in timed if not settings.file(row).is_file()]
    if missing:
        run_rows(missing, settings, 1)
    points: Points = {}
    for row in timed:
        cells = json.loads(settings.file(row).read_text(encoding="utf-8"))["cells"]
        for peer in PEERS:
            taken = [
                cell["seconds"] for cell in cells if peer.key == cell["peer"] if "seconds" in cell
            ]
            if taken and not peer.is_ours:
                points.setdefault(peer.name, {})[str(row.size)] = min(taken)
    return points


def array_times(rows: int) -> dict[str, float]:
    """Whole numbers in memory; nothing where they are too many."""
    if rows > LARGEST_ARRAY:
        return {}
    cells = np.random.default_rng(1).lognormal(7, 0.8, rows)
    cells *= 100
    data = cells.astype(np.int64)
    del cells
    return in_turns(
        {
            "postri, array": lambda: postri.median(data, epsilon=1),
            "np.median": lambda: np.median(data),
        },
        rows,
    )


def table_times(rows: int) -> dict[str, float]:
    """A table on disk; nothing where it has no room."""
    database = make_fares(rows)
    if database is None:
        print(f"the disk has no room for {rows:,} rows", file=sys.stderr)
        return {}
    with duckdb.connect(str(database), read_only=True) as connection:
        trips = connection.table("trips")
        return in_turns(
            {
                "postri, DuckDB table": lambda: postri.median(trips, "fare", epsilon=1),
                "DuckDB's median": lambda: connection.execute(
                    "SELECT median(fare) FROM trips"
                ).fetchall(),
            },
            rows,
        )


def in_turns(actions: dict[str, Callable[[], Any]], rows: int) -> dict[str, float]:
    """The least time of each action."""
    return least_side_by_side(actions, max(2, min(MOST_REPEATS, 10**8 // rows)))


def draw(points: Points, picture: Path) -> None:
    """One line for each way, rows and seconds both by their logarithms."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    # The same points give the same file.
    mpl.rcParams["svg.hashsalt"] = "postri"
    figure, axes = plt.subplots(figsize=(7, 5.2), layout="constrained")
    marks = iter(PEER_MARKS)
    for name, taken in points.items():
        if taken:
            how = LINES.get(name) or {**PEER_LINE, "marker": next(marks)}
            axes.plot([int(rows) for rows in taken], list(taken.values()), label=name, **how)
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds")
    axes.grid(alpha=0.3)
    axes.set_title("A median, by the number of rows: dotted lines are not private", fontsize=11)
    # Below the picture, where no line can run through it.
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.savefig(picture, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=float, default=1e9, help="the most rows")
    parser.add_argument("--draw", action="store_true", help="draw what was measured before")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where to draw it")
    asked = parser.parse_args()
    if not asked.draw:
        POINTS.parent.mkdir(exist_ok=True)
        points = measured(int(asked.most)) | peer_times(int(asked.most))
        POINTS.write_text(json.dumps(points, indent=2) + "\n")
    draw(json.loads(POINTS.read_text()), asked.picture)
    print(f"drawn into {asked.picture}")


if __name__ == "__main__":
    main()
