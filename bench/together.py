"""One question about two columns, beside its slowest part asked alone: of arrays in memory, and of
a table of DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np

import postri
from engines import FARE
from postri import Domain, agg
from postri.statistics.statistic import Statistic
from timing import least_side_by_side

ROWS = 10_000_000
DOMAIN = Domain(0, 10_000_000)
PARTS: dict[str, Statistic] = {
    "mid": agg.median("fare", domain=DOMAIN),
    "rows": agg.count(),
    "mean": agg.mean("fare", domain=DOMAIN),
    "total": agg.sum("tip", domain=DOMAIN),
}


def together() -> dict[str, float]:
    """The larger of the two ratios."""
    generator = np.random.default_rng(1)
    arrays = {
        name: (generator.lognormal(7, 0.8, ROWS) * 100).astype(np.int64) for name in ("fare", "tip")
    }
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE trips AS SELECT {FARE} AS fare, {FARE} AS tip FROM range({ROWS})"
        )
        sources = (lambda: arrays, lambda: connection.table("trips"))
        return {"together_vs_slowest": max(map(_ratio, sources))}


def _ratio(source: Callable[[], Any], repeats: int = 7) -> float:
    """An open table keeps what it has counted, so each question opens its own."""

    def asked(parts: dict[str, Statistic]) -> Callable[[], object]:
        return lambda: postri.ask(postri.open(source()), parts, epsilon=1)

    actions = {name: asked({name: part}) for name, part in PARTS.items()}
    times = least_side_by_side({**actions, "all": asked(PARTS)}, repeats)
    print({name: round(taken, 4) for name, taken in times.items()})
    return times["all"] / max(times[name] for name in PARTS)
