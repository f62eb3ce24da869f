"""Ours: every statistic, under either kind of neighbours.

The way `9:1` gives nine tenths of epsilon to the value of a quantile, as one would who wants the
value alone; the default gives it half, and the interval the other half.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from protocol import REPLACE, Prepared, Task, Unsupported, serve

import postri
from postri import AddOrRemoveRows, Domain, ReplaceRows

PLAIN = {
    "count": postri.count,
    "sum": postri.sum,
    "mean": postri.mean,
    "std": postri.std,
}
SPLITS = {"default": Fraction(1, 2), "9:1": Fraction(9, 10)}


def prepare(task: Task, cells: Any) -> Prepared:
    protect = AddOrRemoveRows(1)
    if task.neighbours == REPLACE:
        protect = ReplaceRows(1)
    terms: dict[str, Any] = {
        "epsilon": task.epsilon,
        "confidence": task.confidence,
        "protect": protect,
    }
    if task.statistic in {"parquet", "grouped"}:
        return Prepared(_from_file(task, terms), task.neighbours)
    if task.statistic != "count":
        terms["domain"] = Domain(task.lower, task.upper)
    source = cells
    if not task.timed:
        # The rows are read once, and asked about anew in every run.
        source = postri.open(cells)
    quantile_terms = {**terms, "split": SPLITS[task.way]}
    if task.statistic == "quantiles":
        if task.way != "default":
            raise Unsupported("several quantiles at once come from one release: nothing to split")
        ps = [Fraction(str(p)) for p in task.ps]
        return Prepared(
            lambda: [_triple(each) for each in postri.quantiles(source, ps, **terms)],
            task.neighbours,
        )
    if task.statistic == "quantile":
        p = Fraction(str(task.ps[0]))
        return Prepared(
            lambda: [_triple(postri.quantile(source, p, **quantile_terms))], task.neighbours
        )
    if task.statistic == "median":
        return Prepared(lambda: [_triple(postri.median(source, **quantile_terms))], task.neighbours)
    if task.way != "default":
        raise Unsupported("the interval of a count, sum, mean or deviation costs nothing")
    statistic = PLAIN[task.statistic]
    return Prepared(lambda: [_triple(statistic(source, **terms))], task.neighbours)


def _from_file(task: Task, terms: dict[str, Any]) -> Any:
    """The median of a column of Parquet, of all rows or by a column with public keys."""
    from postri import agg

    file = task.extra["parquet"]
    if task.statistic == "parquet":
        return lambda: [_triple(postri.median(file, "x", **terms))]
    keys = task.extra["keys"]
    question = {"mid": agg.median("x")}
    return lambda: [
        (row["mid"], row["mid_low"], row["mid_high"])
        for row in postri.ask(file, question, by={"g": keys}, **terms).rows
    ]


def _triple(answer: postri.Answer) -> tuple[float, float, float]:
    return answer.value, answer.interval.low, answer.interval.high


if __name__ == "__main__":
    np.seterr(all="ignore")
    serve(f"{postri.__version__}", prepare)
