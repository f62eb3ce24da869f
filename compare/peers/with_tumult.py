"""Tumult Analytics, on a local Spark: a session over a data frame, and queries built step by step.

https://docs.tmlt.dev/analytics/latest/. One row is added or removed (`AddOneRow`). It gives no
intervals. Several quantiles divide epsilon, since each is a query of its own.
"""

from __future__ import annotations

from importlib.metadata import version
from tempfile import mkdtemp
from typing import Any

import numpy as np
from protocol import ADD_OR_REMOVE, Prepared, Task, Unsupported, serve
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, PureDPBudget, QueryBuilder, Session

TABLE = "rows"


def prepare(task: Task, cells: Any) -> Prepared:
    if task.statistic in {"parquet", "grouped"}:
        raise Unsupported("its groups and files are not measured here")
    data = cells
    if isinstance(cells, np.ndarray):
        data = cells.tolist()
    # Spark would make a folder for tables where it is started.
    builder = SparkSession.builder.config("spark.sql.warehouse.dir", mkdtemp())
    spark = builder.getOrCreate()
    frame = spark.createDataFrame([(cell,) for cell in data], ["x"])
    # Every draw is a release of its own, and stands beside the others' single releases.
    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(float("inf")),
        source_id=TABLE,
        dataframe=frame,
        protected_change=AddOneRow(),
    )
    queries = _queries(task)
    budget = PureDPBudget(task.epsilon / len(queries))

    def draw() -> list[tuple[float, None, None]]:
        tables = [session.evaluate(query, budget) for query in queries]
        return [(table.collect()[0][0], None, None) for table in tables]

    return Prepared(draw, ADD_OR_REMOVE)


def _queries(task: Task) -> list[Any]:
    rows = QueryBuilder(TABLE)
    bounds = {"low": task.lower, "high": task.upper}
    if task.statistic == "count":
        return [rows.count()]
    plain = {"sum": rows.sum, "mean": rows.average, "std": rows.stdev}
    if task.statistic in plain:
        return [plain[task.statistic]("x", **bounds)]
    return [rows.quantile("x", p, **bounds) for p in task.ps or (0.5,)]


if __name__ == "__main__":
    serve(version("tmlt.analytics"), prepare)
