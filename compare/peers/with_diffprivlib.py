"""diffprivlib, by its tools: functions like NumPy's, with bounds and epsilon.

https://diffprivlib.readthedocs.io/en/latest/modules/tools.html. Its sensitivities are those of a
replaced row: a mean has (upper - lower)/n, with the number of rows taken as public. It gives no
intervals.
"""

from __future__ import annotations

from typing import Any

import diffprivlib
import numpy as np
from diffprivlib import tools
from protocol import REPLACE, Prepared, Task, Unsupported, serve, value_only

KNOWN_ROWS = "the number of rows is public"


def prepare(task: Task, cells: Any) -> Prepared:
    data = np.asarray(cells)
    if data.dtype == np.int64:
        # The noise of a sum of whole numbers is drawn for whole bounds, that of floats for both.
        data = data.astype(np.float64)
    terms: dict[str, Any] = {
        "epsilon": task.epsilon,
        "bounds": (float(task.lower), float(task.upper)),
    }
    if task.statistic in {"median", "quantile", "quantiles"}:
        ps = list(task.ps or (0.5,))
        return Prepared(
            lambda: [(each, None, None) for each in np.ravel(tools.quantile(data, ps, **terms))],
            REPLACE,
            KNOWN_ROWS,
        )
    if task.statistic == "count":
        there = np.ones(len(data))
        return Prepared(
            lambda: value_only(tools.count_nonzero(there, epsilon=task.epsilon)),
            REPLACE,
            "answers are cut at the number of rows, which is public and here the answer",
        )
    named = {"sum": tools.sum, "mean": tools.mean, "std": tools.std}
    if task.statistic not in named:
        raise Unsupported("takes arrays alone")
    tool = named[task.statistic]
    return Prepared(lambda: value_only(tool(data, **terms)), REPLACE, KNOWN_ROWS)


if __name__ == "__main__":
    serve(diffprivlib.__version__, prepare)
