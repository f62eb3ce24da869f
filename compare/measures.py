"""From what the programs answered to figures: errors in rows and in value, widths, coverage.

Coverage is counted against the true value of the table. What a library claims is never used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import hypot, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.research.report.statistics import covers

Floats = NDArray[np.float64]

# A difference counts from so many standard errors on; a promise is broken at this level.
BEYOND_NOISE = 4.0
LEVEL = 1e-4
# With fewer runs a mean and its standard error say nothing that can be relied on.
ENOUGH_RUNS = 30
# Columns hold whole numbers: an interval that ends half a step from a quantile is let pass.
HALF_STEP = 0.5


@dataclass(frozen=True)
class Figure:
    """A mean over the runs, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, numbers: Floats) -> Figure:
        # One run says nothing of noise.
        error = inf
        if len(numbers) > 1:
            error = float(numbers.std(ddof=1)) / sqrt(len(numbers))
        return cls(float(numbers.mean()), error)

    def below(self, other: Figure) -> bool:
        """Whether it is lower beyond noise."""
        return other.mean - self.mean > BEYOND_NOISE * hypot(self.error, other.error)


@dataclass(frozen=True)
class Coverage:
    """How often the true value was held, in how many tries, and whether the promise stands."""

    share: float
    tries: int
    stands: bool


@dataclass(frozen=True)
class Truth:
    """What the statistic is on the whole table, and how ranks are counted there."""

    values: tuple[float, ...]
    ps: tuple[float, ...]
    ordered: Floats

    @classmethod
    def of(cls, statistic: str, ps: Sequence[float], rows: NDArray[np.int64]) -> Truth:
        ordered = np.sort(rows).astype(np.float64)
        if statistic in {"median", "quantile", "quantiles"}:
            return cls(tuple(np.quantile(ordered, ps).tolist()), tuple(ps), ordered)
        plain = {
            "count": lambda: float(len(ordered)),
            "sum": lambda: float(rows.sum()),
            "mean": lambda: float(ordered.mean()),
            "std": lambda: float(ordered.std()),
        }
        return cls((plain[statistic](),), (), ordered)

    def rank_errors(self, values: Floats) -> Floats:
        """How many rows lie between each value and its target rank; 0 on a value that holds it."""
        targets = np.array(self.ps) * len(self.ordered)
        below = self.ordered.searchsorted(values, side="left")
        up_to = self.ordered.searchsorted(values, side="right")
        return np.maximum(0, np.maximum(below - targets, targets - up_to))


def cell(
    names: Mapping[str, Any], answer: Mapping[str, Any], truth: Truth, promised: float
) -> dict[str, Any]:
    """The figures of one answer of a program, as they are kept."""
    kept = dict(names)
    for word in ("version", "neighbours", "assumes", "unsupported", "left_out", "error", "warned"):
        if answer.get(word):
            kept[word] = answer[word]
    if "values" not in answer:
        return kept
    try:
        values = np.array(answer["values"], dtype=np.float64)
    except (TypeError, ValueError):
        return {**kept, "error": "an answer is no number"}
    if not np.isfinite(values).all():
        return {**kept, "error": "an answer is not finite"}
    kept["runs"] = len(values)
    kept["value_error"] = asdict(Figure.of(np.abs(values - truth.values).mean(axis=1)))
    if truth.ps:
        kept["rank_error"] = asdict(Figure.of(truth.rank_errors(values).mean(axis=1)))
    kept["seconds"] = float(np.median(answer["seconds"]))
    if answer["lows"][0][0] is not None:
        lows = np.array(answer["lows"], dtype=np.float64)
        highs = np.array(answer["highs"], dtype=np.float64)
        kept["half_width"] = asdict(Figure.of(((highs - lows) / 2).mean(axis=1)))
        kept["coverage"] = asdict(coverage(lows, highs, truth, promised))
    return kept


def coverage(lows: Floats, highs: Floats, truth: Truth, promised: float) -> Coverage:
    """Counted. Intervals of one run hang together, so that several quantiles are judged by their
    share in each run.
    """
    true = np.array(truth.values)
    slack = 0.0
    if truth.ps:
        slack = HALF_STEP
    held = (lows - slack <= true) & (true <= highs + slack)
    share = float(held.mean())
    if held.shape[1] == 1:
        stands = covers(int(held.sum()), held.size, promised, LEVEL)
    else:
        stands = not Figure.of(held.mean(axis=1)).below(Figure(promised, 0.0))
    return Coverage(share, held.size, stands)


def figure(kept: Mapping[str, Any], name: str) -> Figure | None:
    """A figure of a cell, where it has one."""
    if name not in kept:
        return None
    return Figure(**kept[name])
