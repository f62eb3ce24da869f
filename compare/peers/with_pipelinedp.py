"""PipelineDP on its local backend, with one public partition.

https://pipelinedp.io. A privacy id with one row is added or removed. It gives no intervals.
"""

from __future__ import annotations

from importlib.metadata import version
from math import sqrt
from operator import itemgetter
from typing import Any

import numpy as np
import pipeline_dp
from protocol import ADD_OR_REMOVE, Prepared, Task, Unsupported, serve

PARTITION = "all"
PLAIN = {
    "count": pipeline_dp.Metrics.COUNT,
    "sum": pipeline_dp.Metrics.SUM,
    "mean": pipeline_dp.Metrics.MEAN,
    "std": pipeline_dp.Metrics.VARIANCE,
}


def prepare(task: Task, cells: Any) -> Prepared:
    if task.statistic in {"parquet", "grouped"}:
        raise Unsupported("its files and groups need Beam or Spark, which are not measured here")
    metrics = [pipeline_dp.Metrics.PERCENTILE(round(100 * p, 6)) for p in task.ps or (0.5,)]
    if task.statistic in PLAIN:
        metrics = [PLAIN[task.statistic]]
    data = cells
    if isinstance(cells, np.ndarray):
        data = cells.tolist()
    rows = [(PARTITION, cell) for cell in data]
    params = pipeline_dp.AggregateParams(
        metrics=metrics,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=task.lower,
        max_value=task.upper,
        # Every row is of another person: nothing needs to be sorted by persons first.
        contribution_bounds_already_enforced=True,
    )
    extractors = pipeline_dp.DataExtractors(
        partition_extractor=itemgetter(0),
        value_extractor=itemgetter(1),
    )

    def draw() -> list[tuple[float, None, None]]:
        accountant = pipeline_dp.NaiveBudgetAccountant(task.epsilon, total_delta=0)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        result = engine.aggregate(rows, params, extractors, public_partitions=[PARTITION])
        accountant.compute_budgets()
        ((_, found),) = list(result)
        return [(value, None, None) for value in _values(task, found._asdict())]

    return Prepared(draw, ADD_OR_REMOVE)


def _values(task: Task, found: dict[str, float]) -> list[float]:
    """What was asked for, in the order in which it was: percentiles are named by their numbers."""
    if task.statistic == "std":
        return [sqrt(max(0.0, found["variance"]))]
    if task.statistic in PLAIN:
        return [found[task.statistic]]
    named = {
        float(name.removeprefix("percentile_").replace("_", ".")): value
        for name, value in found.items()
    }
    return [named[round(100 * p, 6)] for p in task.ps or (0.5,)]


if __name__ == "__main__":
    serve(version("pipeline-dp"), prepare)
