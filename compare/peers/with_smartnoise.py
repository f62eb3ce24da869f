"""SmartNoise SQL: counts, sums, means and deviations in SQL over a data frame.

https://docs.smartnoise.org/sql. A row is a person (`row_privacy`), added or removed. A private
quantile is not among its functions, and this version no longer tells how accurate an answer is:
`execute_with_accuracy` raises "Simple accuracy has been removed".
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import snsql
from protocol import ADD_OR_REMOVE, Prepared, Task, Unsupported, serve, value_only

QUERIES = {
    "count": "SELECT COUNT(*) AS r FROM d.d",
    "sum": "SELECT SUM(x) AS r FROM d.d",
    "mean": "SELECT AVG(x) AS r FROM d.d",
    "std": "SELECT STDDEV(x) AS r FROM d.d",
}
# Needed by the reader, and unused where nothing is grouped by unknown keys.
DELTA = 1e-9


def prepare(task: Task, cells: Any) -> Prepared:
    if task.statistic not in QUERIES:
        raise Unsupported("no private quantile among its functions")
    column = {"type": "int", "lower": task.lower, "upper": task.upper}
    metadata = {"": {"d": {"d": {"row_privacy": True, "rows": len(cells), "x": column}}}}
    frame = pd.DataFrame({"x": np.asarray(cells)})
    query = QUERIES[task.statistic]

    def reader(epsilon: float) -> Any:
        privacy = snsql.Privacy(epsilon=epsilon, delta=DELTA)
        return snsql.from_df(frame, privacy=privacy, metadata=metadata)

    # Its epsilon is that of one column of noise, and some queries draw several.
    cost, _ = reader(1.0).get_privacy_cost(query)
    each = task.epsilon / cost
    return Prepared(
        lambda: value_only(reader(each).execute(query)[1][0]),
        ADD_OR_REMOVE,
        f"epsilon {each:g} for each column of noise",
    )


if __name__ == "__main__":
    serve(version("smartnoise-sql"), prepare)
