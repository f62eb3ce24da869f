"""The exact chances of AboveThreshold, in closed form: a sum over the threshold's noise of the
counts that fail and the one that does not.

With noise X of rate r (one over its scale) and q = e^-r, P(X = k) = (1-q)/(1+q) q^|k|, so P(X >= g)
= q^g/(1+q) for g >= 1 and P(X < g) = q^(1-g)/(1+q) for g <= 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

# Noise beyond this many scales is left out: e^-80 of what is summed.
FARTHEST = 80


@dataclass(frozen=True, eq=False)
class Stops:
    """The chance that the walk stops in each run, and that it passes them all."""

    runs: NDArray[np.float64]
    none: float


def stop_chances(
    counts: Sequence[int],
    sizes: Sequence[int],
    threshold: int,
    *,
    epsilon: Fraction | float,
    sensitivity: int = 1,
    threshold_scale: int = 2,
    count_scale: int = 4,
) -> Stops:
    """Run j is `sizes[j]` counts of `counts[j]`; a run that is cut in two changes nothing."""
    unit = float(epsilon) / sensitivity
    width = ceil(
        max(abs(threshold - int(count)) for count in counts) + FARTHEST * count_scale / unit
    )
    noise = np.arange(-width, width + 1)
    likely = _laplace(noise, unit / threshold_scale)
    lost = _log_below(
        threshold + noise[:, None] - np.asarray(counts)[None, :], unit / count_scale
    ) * np.asarray(sizes, dtype=np.float64)
    before = np.cumsum(lost, axis=1) - lost
    stops = likely[:, None] * np.exp(before) * -np.expm1(lost)
    return Stops(stops.sum(axis=0), float((likely * np.exp(lost.sum(axis=1))).sum()))


def _laplace(noise: NDArray[np.int64], rate: float) -> NDArray[np.float64]:
    return np.tanh(rate / 2) * np.exp(-rate * np.abs(noise))


def _log_below(gaps: NDArray[np.int64], rate: float) -> NDArray[np.float64]:
    """ln P(X < gap)."""
    rest = np.log1p(np.exp(-rate))
    return np.where(
        gaps > 0,
        np.log1p(-np.exp(-rate * np.maximum(gaps, 1) - rest)),
        -rate * (1.0 - np.minimum(gaps, 0)) - rest,
    )
