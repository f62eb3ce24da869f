"""OpenDP, by its documented workflow: a space of data, a chain of steps, noise for epsilon.

https://docs.opendp.org (getting started: typical workflow, essential statistics). Its unit of
privacy is one contribution, added or removed. A quantile is one of the candidates that the caller
gives; where the bounds hold more whole numbers than CANDIDATES, these are spread evenly.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from math import sqrt
from typing import Any

import numpy as np
import opendp.prelude as dp
from protocol import ADD_OR_REMOVE, Drawn, Prepared, Task, Unsupported, serve, value_only

CANDIDATES = 20_001
MANY_CANDIDATES = 2_001
# Scales are computed in floating point: a part in 1e9 more noise keeps them on the safe side.
SAFE = 1 + 1e-9

dp.enable_features("contrib")


def prepare(task: Task, cells: Any) -> Prepared:
    data = cells
    if isinstance(cells, np.ndarray):
        data = cells.astype(np.float64)
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    if task.statistic in {"median", "quantile", "quantiles"}:
        return _quantiles(task, data, space)
    makers: dict[str, Callable[..., Prepared]] = {
        "count": _count,
        "sum": _sum,
        "mean": _mean,
        "std": _std,
    }
    if task.statistic not in makers:
        raise Unsupported("needs the extra for Polars, which is not measured here")
    return makers[task.statistic](task, data, space)


def _quantiles(task: Task, data: Any, space: Any) -> Prepared:
    ps = task.ps or (0.5,)
    number = CANDIDATES
    if len(ps) > 1:
        number = MANY_CANDIDATES
    points = min(number, task.upper - task.lower + 1)
    candidates = np.linspace(task.lower, task.upper, points).tolist()
    each = task.epsilon / len(ps)

    def measurement(p: float) -> Any:
        def with_scale(scale: float) -> Any:
            return space >> dp.m.then_private_quantile(
                dp.max_divergence(), candidates, alpha=p, scale=scale
            )

        # The loss is in proportion to 1/scale.
        made = with_scale(with_scale(1.0).map(1) / each * SAFE)
        if made.map(1) > each:
            raise AssertionError(f"the scale gives epsilon {made.map(1)}, not {each}")
        return made

    measurements = [measurement(p) for p in ps]
    return Prepared(
        lambda: [(made(data), None, None) for made in measurements],
        ADD_OR_REMOVE,
        f"{points:,} candidates",
    )


def _noised(chain: Callable[[float], Any], epsilon: float) -> tuple[Any, float]:
    """A chain with the least noise that keeps epsilon, and the scale of that noise.

    The loss is in proportion to 1/scale, so that no scale is searched for: `binary_search_param`
    finds the same one, in fifty steps.
    """
    scale = chain(1.0).map(1) / epsilon * SAFE
    made = chain(scale)
    if made.map(1) > epsilon:
        raise AssertionError(f"the scale gives epsilon {made.map(1)}, not {epsilon}")
    return made, scale


def _count(task: Task, data: Any, space: Any) -> Prepared:
    made, scale = _noised(
        lambda scale: space >> dp.t.then_count() >> dp.m.then_laplace(scale), task.epsilon
    )
    reach = dp.discrete_laplacian_scale_to_accuracy(scale=scale, alpha=1 - task.confidence)
    return Prepared(lambda: _around(made(data), reach), ADD_OR_REMOVE)


def _sum(task: Task, data: Any, space: Any) -> Prepared:
    bounds = float(task.lower), float(task.upper)
    made, scale = _noised(
        lambda scale: (
            space >> dp.t.then_clamp(bounds) >> dp.t.then_sum() >> dp.m.then_laplace(scale)
        ),
        task.epsilon,
    )
    reach = dp.laplacian_scale_to_accuracy(scale=scale, alpha=1 - task.confidence)
    return Prepared(lambda: _around(made(data), reach), ADD_OR_REMOVE)


def _sized(task: Task, data: Any, space: Any, step: Any, size: int, epsilon: float) -> Any:
    """A statistic of clamped rows whose number was made a public one."""
    bounds = float(task.lower), float(task.upper)
    middle = (bounds[0] + bounds[1]) / 2
    resized = space >> dp.t.then_clamp(bounds) >> dp.t.then_resize(size, middle)
    made, _ = _noised(lambda scale: resized >> step() >> dp.m.then_laplace(scale), epsilon)
    return made(data)


def _with_noisy_size(task: Task, data: Any, space: Any, step: Any) -> float:
    """As the workflow does: half of epsilon counts the rows, half draws the statistic."""
    half = task.epsilon / 2
    count, _ = _noised(lambda scale: space >> dp.t.then_count() >> dp.m.then_laplace(scale), half)
    size = max(2, count(data))
    return float(_sized(task, data, space, step, size, half))


def _mean(task: Task, data: Any, space: Any) -> Prepared:
    return Prepared(
        lambda: value_only(_with_noisy_size(task, data, space, dp.t.then_mean)), ADD_OR_REMOVE
    )


def _std(task: Task, data: Any, space: Any) -> Prepared:
    return Prepared(
        lambda: value_only(sqrt(max(0.0, _with_noisy_size(task, data, space, dp.t.then_variance)))),
        ADD_OR_REMOVE,
    )


def _around(value: float, reach: float) -> list[Drawn]:
    return [(value, value - reach, value + reach)]


if __name__ == "__main__":
    serve(version("opendp"), prepare)
