"""What the published intervals for a population know of sampling: the binomial law of the number
of rows up to the median.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

# Ranks beyond so many standard deviations have no chance to speak of.
FAR = 12


@dataclass(frozen=True)
class SampledMedian:
    """What is asked: an interval for the median of the population behind `rows` rows, whose number
    is public, at this epsilon, that fails with probability `beta` at most.
    """

    rows: int
    epsilon: Fraction
    beta: Fraction


def rank_chances(rows: int) -> tuple[Numbers, Numbers]:
    """Numbers of rows up to the median, and the chance of each."""
    reach = FAR * rows**0.5 / 2 + 1
    ranks = np.arange(max(0, int(rows / 2 - reach)), min(rows, int(rows / 2 + reach) + 1) + 1)
    logs = [lgamma(rows + 1) - lgamma(k + 1) - lgamma(rows - k + 1) for k in ranks.tolist()]
    return ranks.astype(np.float64), np.exp(np.array(logs) - rows * log(2))


def largest_rank(rows: int, fails: Callable[[int], float], beta: float) -> int:
    """The largest rank up to the middle that fails with probability `beta` at most; 0 if none
    does. Larger ones fail more often.
    """
    first, last = 0, rows // 2
    while first < last:
        middle = (first + last + 1) // 2
        if fails(middle) <= beta:
            first = middle
        else:
            last = middle - 1
    return first
