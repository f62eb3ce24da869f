"""How far two results agree, and how sure an observed share is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import erfc, exp, lgamma, log, sqrt

import numpy as np

from postri.research.experiment import Floats

# Results agree within this many standard errors, or at the same level of an exact test.
LIMIT = 4.0
LEVEL = erfc(LIMIT / sqrt(2))


@dataclass(frozen=True)
class Difference:
    """Ours against published: in combined standard errors, or as the p-value of an exact test where
    the published spread is 0.
    """

    errors: float | None
    p: float | None = None

    @property
    def agrees(self) -> bool:
        """Whether it is within four standard errors, or as likely as that."""
        if self.errors is not None:
            return abs(self.errors) <= LIMIT
        return (self.p or 0.0) >= LEVEL

    def __str__(self) -> str:
        if self.errors is not None:
            return f"{self.errors:+.1f}"
        return f"p = {self.p:.2g}"


def difference(ours: Floats, mean: float, sd: float, runs: int) -> Difference:
    """Compare our draws with a published mean and standard deviation over `runs` runs."""
    if sd == 0:
        hits = int(np.sum(np.isclose(ours, mean)))
        return Difference(None, _all_the_same(hits, len(ours), runs))
    error = sqrt(float(ours.var(ddof=1)) / len(ours) + sd**2 / runs)
    return Difference((float(ours.mean()) - mean) / error)


def _all_the_same(hits: int, number: int, runs: int) -> float:
    """Fisher's exact test: how likely it is that all published runs gave one value, as `hits` of
    ours did, if both are alike.
    """
    misses = number - hits
    # The misses fall among all draws at random: none on the published ones.
    return exp(_log_choose(number, misses) - _log_choose(number + runs, misses))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def binomial_interval(hits: int, runs: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of Clopper and Pearson for the probability behind an observed share.

    >>> low, high = binomial_interval(95, 100)
    >>> round(low, 4), round(high, 4)
    (0.8872, 0.9836)
    """
    tail = (1 - level) / 2
    low = 0.0
    if hits > 0:
        low = _solve(lambda p: at_least(hits, runs, p) - tail)
    high = 1.0
    if hits < runs:
        high = _solve(lambda p: tail - (1 - at_least(hits + 1, runs, p)))
    return low, high


def at_least(hits: int, runs: int, p: float) -> float:
    """The probability of `hits` or more in `runs` tries that each succeed with probability p."""
    if hits <= 0 or p >= 1:
        return 1.0
    if p <= 0:
        return 0.0
    counts = np.arange(hits, runs + 1)
    logs = _log_ways(hits, runs) + counts * log(p) + (runs - counts) * np.log1p(-p)
    return min(1.0, float(np.exp(logs).sum()))


@lru_cache(maxsize=4)
def _log_ways(hits: int, runs: int) -> Floats:
    """In how many ways so many of the runs hit, from `hits` on: a search asks for them often."""
    return np.array([_log_choose(runs, k) for k in range(hits, runs + 1)])


def covers(hits: int, runs: int, promised: float, level: float = LEVEL) -> bool:
    """Whether a promised coverage stands: the misses are not more than chance explains at this
    level.
    """
    return at_least(runs - hits, runs, 1 - promised) >= level


def _solve(rising: Callable[[float], float]) -> float:
    """Where a rising function of a probability crosses 0."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if rising(middle) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2
