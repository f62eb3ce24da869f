"""How far an interval of the depth method reaches, from public numbers alone.

On smooth data (no value holds many rows, no gap at the quantile) the counts around the drawn value
grow in proportion to the distance, and everything scales: in units of the chain's noise, the mean
reach is one number. It is computed here from the chain's own scores.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from postri.mechanisms.noisy_max import Noise

Numbers = NDArray[np.float64]

HUGE = 10**300
PHASES = 12
ERRORS = 16
NODES = 48


def rounded(number: Fraction) -> float:
    """The number as a float, or one that is large enough."""
    return float(min(number, Fraction(HUGE)))


@lru_cache(maxsize=256)
def mean_reach(
    noise: Noise, growth: Fraction, weight: int, beta: Fraction, error_ratio: float
) -> float:
    """The mean reach of a chain in units of its noise scale: over the chain's phase, the value's
    error and the chain's noise.

    The value is off by about `error_ratio` of those units.
    """
    if noise == "gumbel":
        chances = _gumbel_chances
        threshold = log(weight * (beta.denominator - beta.numerator)) - log(beta.numerator)
    else:
        chances = _exponential_chances
        threshold = log(weight * beta.denominator) - log(2 * beta.numerator)
    # Links long before and after the one that reaches the threshold hardly ever win.
    links = np.arange(-40, 60)
    bonuses = links * log(1 + 1 / weight)
    errors = -error_ratio * np.log(1 - (np.arange(ERRORS) + 0.5) / ERRORS)
    total = 0.0
    for phase in (np.arange(PHASES) + 0.5) / PHASES:
        reaches = threshold * float(growth) ** (links + phase) / 4
        for error in errors:
            depths = reaches - error
            before = np.concatenate(([-np.inf], depths[:-1]))
            short = threshold - depths
            long = before - threshold
            scores = bonuses - np.maximum(np.maximum(short, long), 0)
            total += float(chances(scores) @ reaches)
    return total / (PHASES * ERRORS)


def _exponential_chances(scores: Numbers) -> Numbers:
    """Each link's chance to win with exponential noise: q_i times the integral over [0, 1] of the
    others' 1 - q_j y.
    """
    weights = np.exp(scores - scores.max())
    nodes, masses = _nodes()
    factors = 1 - weights[:, None] * (nodes + 1) / 2
    chances = weights * ((factors.prod(axis=0) / factors) @ (masses / 2))
    return np.asarray(chances / chances.sum())


def _gumbel_chances(scores: Numbers) -> Numbers:
    """The same with Gumbel noise: in proportion to the exponentials."""
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


@cache
def _nodes() -> tuple[Numbers, Numbers]:
    nodes, masses = np.polynomial.legendre.leggauss(NODES)
    return nodes, masses
