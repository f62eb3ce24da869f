"""Tumult Analytics, on a local Spark: a session over a data frame, and queries built step by step.

https://docs.tmlt.dev/analytics/latest/. One row is added or removed (`AddOneRow`). It gives no
intervals. Several quantiles divide epsilon, since each is a query of its own.

A query of Spark takes seconds, however few its rows are. So the table is there COPIES times, each
with its number in a column, and a query groups by that column: a row is in one group, and each
group is a release of its own with all of epsilon. What is timed is asked of the table alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from tempfile import mkdtemp
from typing import Any

import numpy as np
from protocol import ADD_OR_REMOVE, Drawn, Prepared, Task, Unsupported, serve
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

TABLE = "rows"
COPIES = 30
SETTINGS = {
    # Spark cuts every result into 200 parts unless it is told how large a machine is.
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "3g",
}


def prepare(task: Task, cells: Any) -> Prepared:
    if task.statistic in {"parquet", "grouped"}:
        raise Unsupported("its groups and files are not measured here")
    budget = PureDPBudget(task.epsilon / len(task.ps or (0.5,)))
    if task.table is None or task.timed:
        return _of_the_table(task, cells, budget)
    session = _of_copies(task.table)
    copies = KeySet.from_dict({"copy": list(range(COPIES))})
    queries = _queries(task, QueryBuilder(TABLE).groupby(copies))

    def draw_many() -> list[Sequence[Drawn]]:
        columns = []
        for query in queries:
            found = {row["copy"]: row for row in session.evaluate(query, budget).collect()}
            columns.append([_number(found[copy]) for copy in range(COPIES)])
        return [[(value, None, None) for value in run] for run in zip(*columns, strict=True)]

    return Prepared(lambda: draw_many()[0], ADD_OR_REMOVE, draw_many=draw_many)


def _of_the_table(task: Task, cells: Any, budget: PureDPBudget) -> Prepared:
    data = cells
    if isinstance(cells, np.ndarray):
        data = cells.tolist()
    session = _session(_spark().createDataFrame([(cell,) for cell in data], ["x"]))
    queries = _queries(task, QueryBuilder(TABLE))

    def draw() -> list[Drawn]:
        tables = [session.evaluate(query, budget) for query in queries]
        return [(table.collect()[0][0], None, None) for table in tables]

    return Prepared(draw, ADD_OR_REMOVE)


@lru_cache(maxsize=1)
def _of_copies(table: str) -> Session:
    """A session over the copies of a table; the cells of one row of the comparison share it."""
    spark = _spark()
    spark.catalog.clearCache()
    rows = spark.createDataFrame([(cell,) for cell in np.load(table).tolist()], ["x"])
    numbers = spark.createDataFrame([(copy,) for copy in range(COPIES)], ["copy"])
    return _session(rows.crossJoin(numbers).coalesce(4).cache())


def _session(frame: Any) -> Session:
    """Every draw is a release of its own, and stands beside the others' single releases."""
    return Session.from_dataframe(
        privacy_budget=PureDPBudget(float("inf")),
        source_id=TABLE,
        dataframe=frame,
        protected_change=AddOneRow(),
    )


@lru_cache(maxsize=1)
def _spark() -> Any:
    # Its workers would be those of the first Python in the path, which has no pandas.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Spark would make a folder for tables where it is started.
    builder = SparkSession.builder.config("spark.sql.warehouse.dir", mkdtemp())
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _number(row: Any) -> float:
    """What was drawn for one copy: the column that is not its number."""
    (value,) = [value for name, value in row.asDict().items() if name != "copy"]
    return float(value)


def _queries(task: Task, rows: Any) -> list[Any]:
    bounds = {"low": task.lower, "high": task.upper}
    if task.statistic == "count":
        return [rows.count()]
    plain = {"sum": rows.sum, "mean": rows.average, "std": rows.stdev}
    if task.statistic in plain:
        return [plain[task.statistic]("x", **bounds)]
    return [rows.quantile("x", p, **bounds) for p in task.ps or (0.5,)]


if __name__ == "__main__":
    serve(version("tmlt.analytics"), prepare)
