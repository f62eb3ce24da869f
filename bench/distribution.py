"""One release for many quantiles: how far its intervals reach, in rows of the adult table, and what
it takes beside a plain median.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import postri
from engines import FARE, FOLDER, GROUPS
from postri import Domain
from timing import ROOT, side_by_side

RELEASES = 5
DOMAIN = Domain(0, 2_000_000)
PERCENTILES = [Fraction(k, 100) for k in range(1, 100)]
DECILES = [Fraction(k, 10) for k in range(1, 10)]
ROWS = 100_000_000
# A row in ten of the trips, for the grouped ones.
GROUPED = 10_000_000


def distribution_figures() -> dict[str, float]:
    """Widths where the adult table is here, and times in DuckDB."""
    return {**_widths(), **_times()}


def _widths() -> dict[str, float]:
    folder = Path(os.environ.get("POSTRI_DATA") or ROOT.parent / "shared" / "data")
    file = folder / "adult.csv"
    if not file.is_file():
        print(f"{file} is not here: no figures of widths")
        return {}
    with file.open(encoding="utf-8") as lines:
        rows = np.array([int(row["fnlwgt"]) for row in csv.DictReader(lines)])
    own = _half_width(rows, PERCENTILES, DOMAIN)
    others = _quantile_tree(rows)
    print(f"mean half-widths of 99 percentiles: {own:.1f} rows, Google's tree {others:.1f} rows")
    return {
        "distribution_99_rows": own,
        "distribution_99_rows_int64": _half_width(rows, PERCENTILES, None),
        "distribution_9_rows": _half_width(rows, DECILES, DOMAIN),
        "quantile_tree_vs_distribution_99_rows": others / own,
    }


def _half_width(rows: np.ndarray, ps: list[Fraction], domain: Domain | None) -> float:
    """The mean half-width of the intervals of some quantiles, in rows."""
    intervals = []
    for _ in range(RELEASES):
        answers = postri.quantiles(rows, ps, epsilon=1, domain=domain, method="tree")
        intervals += [(float(each.interval.low), float(each.interval.high)) for each in answers]
    return _mean_half(rows, intervals)


def _mean_half(rows: np.ndarray, intervals: Iterable[tuple[float, float]]) -> float:
    ordered = np.sort(rows)
    ends = np.array(list(intervals))
    first = ordered.searchsorted(ends[:, 0], "left")
    last = ordered.searchsorted(ends[:, 1], "right")
    return float(np.mean(last - first) / 2)


def _quantile_tree(rows: np.ndarray) -> float:
    """The same of Google's quantile tree, by its own intervals at the same epsilon."""
    environment = FOLDER / "python-dp"
    python = environment / "bin" / "python"
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "python-dp"], check=True)
    words = [python, ROOT / "bench" / "quantile_tree.py", "0", "2000000", "1", "0.95"]
    text = "\n".join(map(str, rows.tolist()))
    intervals = []
    for _ in range(RELEASES):
        run = subprocess.run(words, input=text, capture_output=True, text=True, check=True)
        intervals += json.loads(run.stdout)
    return _mean_half(rows, intervals)


def _make_fares() -> Path:
    """A DuckDB table of fares and stations, made once."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    database = FOLDER / f"fares-{ROWS}.duckdb"
    if not database.is_file():
        part = database.with_suffix(".part")
        part.unlink(missing_ok=True)
        with duckdb.connect(str(part)) as connection:
            connection.execute(
                f"CREATE TABLE trips AS SELECT {FARE} AS fare, CAST(random() * {GROUPS} AS "
                f"INTEGER) AS station FROM range({ROWS})"
            )
        part.rename(database)
    return database


def _times() -> dict[str, float]:
    database = _make_fares()
    with duckdb.connect(str(database), read_only=True) as connection:
        trips = connection.table("trips")
        some = connection.sql(f"FROM trips LIMIT {GROUPED}").set_alias("some")
        plain = side_by_side(
            {
                "distribution": lambda: postri.distribution(trips, column="fare", epsilon=1),
                "median": lambda: postri.median(trips, "fare", epsilon=1),
            },
            5,
        )
        rows = some.to_arrow_table()
        groups = {"station": list(range(GROUPS))}
        grouped = side_by_side(
            {
                "distributions": lambda: _distributions(rows, groups),
                "medians": lambda: _medians(rows, groups),
            },
            3,
        )
    return {
        "distribution_vs_median": plain["distribution"] / plain["median"],
        "distribution_groups_vs_medians": grouped["distributions"] / grouped["medians"],
    }


# Both are whole questions, on a table that is opened for each: an open one keeps its windows, so
# that medians which are asked of it once more are draws alone.
def _distributions(rows: Any, groups: dict[str, list[int]]) -> None:
    postri.distribution(postri.open(rows), column="fare", by=groups, epsilon=1)


def _medians(rows: Any, groups: dict[str, list[int]]) -> None:
    postri.ask(postri.open(rows), {"mid": "median(fare)"}, by=groups, epsilon=1)
