"""Google's library for differential privacy, through python-dp.

https://github.com/OpenMined/PyDP. Its unit of privacy is a user with one row, added or removed. The
way `tree` asks its quantile tree, with the intervals that the tree gives; `algorithm` asks the
algorithm for the one statistic.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from protocol import ADD_OR_REMOVE, Prepared, Task, Unsupported, serve, value_only
from pydp.algorithms import laplacian
from pydp.algorithms.quantile_tree import QuantileTree

# The library's usual shape: 16^4 leaves.
HEIGHT, BRANCHES = 4, 16
ALGORITHMS = {
    "median": "Median",
    "sum": "BoundedSum",
    "mean": "BoundedMean",
    "std": "BoundedStandardDeviation",
}
NO_INTERVAL = "noise_confidence_interval cannot be called from Python: it raises TypeError"


def prepare(task: Task, cells: Any) -> Prepared:
    data = cells
    if isinstance(cells, np.ndarray):
        data = cells.astype(np.float64).tolist()
    if task.way == "tree":
        return _tree(task, data)
    return _algorithm(task, data)


def _tree(task: Task, data: list[float]) -> Prepared:
    if task.statistic not in {"median", "quantile", "quantiles"}:
        raise Unsupported("a quantile tree gives quantiles alone")
    ps = list(task.ps or (0.5,))

    def grown() -> QuantileTree:
        tree = QuantileTree(task.lower, task.upper, HEIGHT, BRANCHES)
        for cell in data:
            tree.add_entry(cell)
        return tree

    once = grown()

    def draw() -> list[tuple[float, float, float]]:
        # Each question draws its noise anew, so that a tree may be grown once for many runs.
        tree = once
        if task.timed:
            tree = grown()
        found = tree.compute_quantiles_and_confidence_intervals(
            task.epsilon, 0, 1, 1, ps, task.confidence, "laplace"
        )
        return [(each.quantile, each.lower_bound, each.upper_bound) for each in found]

    return Prepared(draw, ADD_OR_REMOVE)


def _algorithm(task: Task, data: list[float]) -> Prepared:
    if task.statistic == "count":
        return Prepared(
            lambda: value_only(
                laplacian.Count(epsilon=task.epsilon, dtype="float").quick_result(data)
            ),
            ADD_OR_REMOVE,
            NO_INTERVAL,
        )
    if task.statistic not in ALGORITHMS:
        raise Unsupported("several quantiles come from its tree")
    named = getattr(laplacian, ALGORITHMS[task.statistic])
    assumes = NO_INTERVAL
    if task.statistic == "median":
        assumes = ""
    return Prepared(
        lambda: value_only(
            named(
                epsilon=task.epsilon,
                lower_bound=task.lower,
                upper_bound=task.upper,
                dtype="float",
            ).quick_result(data)
        ),
        ADD_OR_REMOVE,
        assumes,
    )


if __name__ == "__main__":
    serve(version("python-dp"), prepare)
