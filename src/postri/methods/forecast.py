"""How far an interval of the depth method reaches, from public numbers alone.

On smooth data (no value holds many rows, no gap at the quantile) the counts around the drawn value
grow in proportion to the distance, and everything scales: in nats of the clock, the mean reach is
one number. It is computed here from the clock's own definition.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import log, pi, sqrt

import numpy as np

from postri.mechanisms.clock import Schedule, least_from_here

HUGE = 10**300
ERRORS = 16
# Reaches in nats, from next to nothing to more than any clock lets pass, a twentieth apart.
REACHES = np.exp(np.arange(-8, 12, 0.02))


def rounded(number: Fraction) -> float:
    """The number as a float, or one that is large enough."""
    return float(min(number, Fraction(HUGE)))


@lru_cache(maxsize=256)
def mean_reach(pace: Fraction, beta: Fraction, error: float, leeway: float = 0.0) -> float:
    """The mean reach of an interval in nats of its clock, over the value's error and the clock's
    coins.

    The value is off by about `error` nats of rows, and depths count from a `leeway` on.
    """
    odds = log(beta.numerator) - log(beta.denominator)
    reaches = REACHES
    if leeway > 0:
        # What matters happens next to the leeway, whatever that is.
        reaches = np.union1d(REACHES, leeway + REACHES)
    times = float(pace) * np.log(reaches)
    errors = -error * np.log(1 - (np.arange(ERRORS) + 0.5) / ERRORS)
    total = 0.0
    for off in errors:
        levels = least_from_here(reaches - off - leeway - times)
        chances = Schedule(levels + odds, times).chances()
        total += float(chances @ reaches)
    return total / ERRORS


# Rows lie at random: of two sides of equal length the one has more rows than the other, by
# 2*sqrt(rows/pi) on average, and the interval must be deep enough on the one that has fewer.
IRREGULAR = 1 / sqrt(pi)


def with_irregular_rows(rows: float) -> float:
    """The rows to each side, on average, of an interval with `rows` on its poorer side."""
    return rows + IRREGULAR * sqrt(rows)


def without_irregular_rows(rows: float) -> float:
    """The other way round."""
    return ((sqrt(IRREGULAR**2 + 4 * rows) - IRREGULAR) / 2) ** 2
