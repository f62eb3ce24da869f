"""Intervals for a population, on twenty distributions: they miss its quantile no more often than
they say, over the draw of the rows and the coins.

Misses are judged by a one-sided binomial test: it fails if so many or more would be rarer than one
in a million, were the failure probability beta. `make prove` runs it at full size, up to a million
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice, product

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom

import postri
from postri import AddOrRemoveRows, Answer, Domain, ReplaceRows
from proving import WITH_SYSTEM_COINS, sized

pytestmark = WITH_SYSTEM_COINS

BETA = 0.1
SIGNIFICANCE = 1e-6
ROWS = sized((50, 1_000, 20_000), (50, 200, 1_000, 20_000, 1_000_000))
# Of more rows there are fewer runs, in so many rows of all of them together.
MOST_ROWS = sized(200_000, 100_000_000)
RUNS = sized(12, 1_000)
PS = (0.5, 0.9)
CHANGES = (AddOrRemoveRows(1), ReplaceRows(1))
# Rows are drawn anew in each run of `make prove`, as coins are.
GENERATOR = np.random.default_rng(sized(7, None))
DOMAIN = Domain(-1_000_000, 1_000_000)


@dataclass(frozen=True)
class Population:
    """A distribution by its quantile function, which need not rise everywhere."""

    quantile: Callable[[np.ndarray], np.ndarray]

    def rows(self, generator: np.random.Generator, n: int) -> np.ndarray:
        """Independent draws."""
        return np.asarray(self.quantile(generator.random(n)), dtype=np.float64)

    def ends(self, p: float) -> tuple[float, float]:
        """The least and the largest p-quantile; they differ where there is a gap at it."""
        least, largest = np.asarray(self.quantile(np.array([p - 1e-12, p + 1e-12])))
        return float(least), float(largest)


def scaled(distribution: object, scale: float = 1_000.0) -> Population:
    return Population(lambda u: scale * distribution.ppf(u))


def clusters(u: np.ndarray) -> np.ndarray:
    """Two far clusters with a gap at the median, which is any number in it."""
    return np.where(u < 0.5, -500_000 + 100 * u, 500_000 + 100 * u)


def with_zeros(share: float) -> Callable[[np.ndarray], np.ndarray]:
    """Many zeros, and exponential numbers."""
    return lambda u: -1_000 * np.log1p(-np.maximum(u - share, 0) / (1 - share))


POPULATIONS = {
    "normal": scaled(stats.norm()),
    "uniform": scaled(stats.uniform()),
    "exponential": scaled(stats.expon()),
    "lognormal": scaled(stats.lognorm(1)),
    "wide lognormal": scaled(stats.lognorm(3)),
    "Cauchy": scaled(stats.cauchy()),
    "Pareto": scaled(stats.pareto(1.1)),
    "Student": scaled(stats.t(2)),
    "Weibull": scaled(stats.weibull_min(0.5)),
    "gamma": scaled(stats.gamma(0.2)),
    "arcsine": scaled(stats.arcsine()),
    "triangle": scaled(stats.triang(0.9)),
    "two clusters": Population(clusters),
    "one value": Population(lambda u: np.full_like(u, 7)),
    "two values": Population(lambda u: np.where(u < 0.52, 3, 40)),
    "ten values": Population(lambda u: np.floor(10 * u)),
    "Poisson": scaled(stats.poisson(3), 1),
    "geometric": scaled(stats.geom(0.05), 1),
    "whole hundreds": Population(lambda u: 100 * np.rint(20 * stats.norm.ppf(u))),
    "half zeros": Population(with_zeros(0.499)),
}


def holds(answer: Answer, q: float) -> bool:
    """Whether the interval holds a quantile; an end on the edge means here or beyond."""
    interval = answer.interval
    reaches_down = interval.low_is_edge or float(interval.low) <= q
    return reaches_down and (interval.high_is_edge or q <= float(interval.high))


def misses(population: Population, covers: str) -> dict[str, tuple[int, int]]:
    """How often the least and the largest quantile were missed, of how many runs."""
    settings = cycle(product(ROWS, PS, CHANGES))
    missed = {"least": 0, "largest": 0}
    runs = 0
    looked_at = 0
    for n, p, protect in islice(settings, RUNS):
        if looked_at > MOST_ROWS and n > ROWS[0]:
            continue
        looked_at += n
        answer = postri.quantile(
            population.rows(GENERATOR, n),
            p,
            domain=DOMAIN,
            epsilon=1,
            confidence="0.9",
            protect=protect,
            covers=covers,
        )
        runs += 1
        for end, q in zip(missed, population.ends(p), strict=True):
            missed[end] += not holds(answer, q)
    return {end: (number, runs) for end, number in missed.items()}


def chance(missed: int, runs: int) -> float:
    """The probability of so many misses or more, if each run misses with probability beta."""
    return float(binom.sf(missed - 1, runs, BETA))


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, tuple[int, int]]]:
    return {name: misses(each, "population") for name, each in POPULATIONS.items()}


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
def test_each_distribution_is_covered(name, found, figures):
    """Fails by luck once in a million times."""
    figures(", ".join(f"{end} {missed} of {runs}" for end, (missed, runs) in found[name].items()))
    assert min(chance(*numbers) for numbers in found[name].values()) >= SIGNIFICANCE


@pytest.mark.slow
def test_all_distributions_together_are_covered(found):
    """Fails by luck once in a million times."""
    for end in ("least", "largest"):
        missed = sum(each[end][0] for each in found.values())
        runs = sum(each[end][1] for each in found.values())
        assert chance(missed, runs) >= SIGNIFICANCE


@pytest.mark.slow
def test_intervals_for_the_rows_miss_the_population():
    """So the tests above can fail: about half of them do, on one smooth distribution already."""
    found = [misses(POPULATIONS["normal"], "table")["least"] for _ in range(sized(15, 1))]
    missed, runs = np.sum(found, axis=0)
    assert chance(int(missed), int(runs)) < SIGNIFICANCE
