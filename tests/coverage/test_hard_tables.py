"""Coverage on hard tables: the interval misses the quantile no more often than it says, whatever
the table looks like.

Every draw uses real coins. Misses are judged by a one-sided binomial test: it fails if so many or
more would be rarer than one in a million, were the failure probability beta. `make prove` runs it
at full size and prints the figures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import cycle, islice, product
from math import ceil, comb, floor

import numpy as np
import pytest
from scipy.stats import binom

import postri
from postri import AddOrRemoveRows, Depth, Domain, Interval, ReplaceRows
from postri.domain import position
from proving import WITH_SYSTEM_COINS, sized

pytestmark = WITH_SYSTEM_COINS

RUNS = sized(25, 5_000)
BETA = 0.1
CONFIDENCE = "0.9"
SIGNIFICANCE = 1e-6

PS = (Fraction(1, 2), Fraction(9, 10), Fraction(1, 100))
CHANGES = (AddOrRemoveRows(1), ReplaceRows(1))
NOISES = ("exponential", "gumbel")


@dataclass(frozen=True)
class HardTable:
    """Rows that are hard to cover, the domain that they are asked on (None: the default of their
    type), and for which quantiles.
    """

    rows: np.ndarray
    domain: Domain | None = None
    epsilon: object = 1
    ps: tuple[Fraction, ...] = PS

    @property
    def clamped(self) -> list[Fraction]:
        """The raw cells in order, moved to the ends of the domain where they lie beyond, as exact
        numbers.
        """
        numbers = sorted(_number(cell) for cell in self.rows)
        if self.domain is None:
            return numbers
        lower, upper = position(self.domain.lower), position(self.domain.upper)
        return [min(max(number, lower), upper) for number in numbers]

    def must_hold(self, p: Fraction) -> tuple[Fraction | None, Fraction | None]:
        """From x_(floor t) to x_(ceil t + 1), the span of all textbook definitions; None where the
        table has no such row.
        """
        cells, target = self.clamped, p * len(self.rows)
        first, last = floor(target), ceil(target) + 1
        return cells[first - 1] if first >= 1 else None, cells[last - 1] if last <= len(
            cells
        ) else None


def _number(cell: object) -> Fraction:
    if isinstance(cell, np.datetime64):
        return position(cell.item())
    return Fraction(cell.item())


def holds(interval: Interval, low: Fraction | None, high: Fraction | None) -> bool:
    """Whether the interval holds all from low to high.

    An end on the domain's edge means "here or beyond"; None is beyond.
    """
    holds_low = interval.low_is_edge or (low is not None and position(interval.low) <= low)
    holds_high = interval.high_is_edge or (high is not None and position(interval.high) >= high)
    return holds_low and holds_high


def misses(
    table: HardTable, runs: int, method: type[Depth] = Depth, changes: tuple = CHANGES
) -> dict:
    """How often each quantile, protected change and noise misses, and out of how many runs: they
    take turns.
    """
    settings = list(product(table.ps, changes, NOISES))
    source, count = postri.open(table.rows), dict.fromkeys(settings, (0, 0))
    spans = {p: table.must_hold(p) for p in table.ps}
    for p, change, noise in islice(cycle(settings), runs):
        how = {
            "method": method(noise=noise),
            "protect": change,
            "domain": table.domain,
            "confidence": CONFIDENCE,
        }
        answer = postri.quantile(source, p, epsilon=table.epsilon, **how)
        missed, of = count[p, change, noise]
        count[p, change, noise] = (missed + (not holds(answer.interval, *spans[p])), of + 1)
    return count


def chance(missed: int, of: int) -> float:
    """The probability of so many misses or more, if each run misses with probability beta."""
    return float(binom.sf(missed - 1, of, BETA))


def judge(count: dict) -> None:
    """Fail if the misses contradict the promise: all together, or those of one setting."""
    missed, of = total(count)
    assert chance(missed, of) >= SIGNIFICANCE, f"{missed} of {of} missed"
    contradictions = {
        setting: numbers for setting, numbers in count.items() if chance(*numbers) < SIGNIFICANCE
    }
    assert not contradictions, "missed too often"


def total(count: dict) -> tuple[int, int]:
    missed, of = (sum(numbers) for numbers in zip(*count.values(), strict=True))
    return missed, of


def told(count: dict) -> str:
    """What `make prove` prints."""
    worst, numbers = max(count.items(), key=lambda item: item[1][0] / max(1, item[1][1]))
    return "{} of {} missed, beta {}; at worst {} of {}: {}".format(
        *total(count), BETA, *numbers, ", ".join(map(str, worst))
    )


random = np.random.default_rng(20_240_131)
GIVEN = Domain(-1_000, 1_000_000)
INT64 = np.iinfo(np.int64)

INTEGERS = {
    "no row": np.empty(0, np.int64),
    "one row": np.array([7]),
    "two rows": np.array([7, 70_000]),
    "three rows": np.array([7, 70, 70_000]),
    "constant": np.full(1_001, 42),
    "two atoms": np.repeat([3, 900], [500, 501]),
    "heavy ties": random.integers(0, 8, 1_500) * 100,
    "a gap at the median": np.concatenate((np.arange(300), 900_000 + np.arange(300))),
    "skewed": np.floor(np.exp(random.normal(8, 2, 1_500))).astype(np.int64),
    "smooth": random.integers(0, 1_000_000, 1_500),
}
EDGES = {
    "all on the lower edge": np.full(400, -1_000),
    "all on the upper edge": np.full(400, 1_000_000),
    "all beyond the upper edge": np.full(400, 5_000_000),
    "half on each edge": np.repeat([-1_000, 1_000_000], 200),
}
WIDE = {
    "sorted": np.arange(0, 1_000_000, 700),
    "reversed": np.arange(0, 1_000_000, 700)[::-1],
    "sorted and large": np.arange(150_000) * 6,
    "int64 extremes": np.repeat([INT64.min, INT64.max], [300, 301]),
    "int64 minimum": np.full(500, INT64.min),
    "int64 maximum": np.full(500, INT64.max),
    "int64 everywhere": random.integers(INT64.min, INT64.max, 1_500, endpoint=True),
    "uint64 maximum": np.full(500, np.iinfo(np.uint64).max),
    "int8": random.integers(-128, 127, 1_500, endpoint=True).astype(np.int8),
    "dates": np.datetime64("2024-01-31") + random.integers(-900, 900, 1_500),
}
FLOATS = {
    "floats between the steps": HardTable(random.normal(50, 15, 1_500), Domain(0, 100, step="0.5")),
    "floats that are all halves": HardTable(random.integers(0, 40, 1_500) + 0.5, Domain(0, 100)),
    "one float off the grid": HardTable(np.full(500, 50.2), Domain(0, 100)),
    "floats beyond both edges": HardTable(random.normal(0, 1e6, 1_500), Domain(-5, 5, step="0.25")),
    "float32 on a fine step": HardTable(
        random.gamma(2, 3, 1_500).astype(np.float32), Domain(0, 1_000, step="0.001")
    ),
    "integers on a coarse step": HardTable(
        random.integers(0, 10_000, 1_500), Domain(0, 10_000, step=250)
    ),
}
# The quantile lies in a gap between two heavy atoms, and a row is little against the noise: every
# interval that is too short is short by next to nothing, and every one that is long enough is deep.
# That is where the proof of coverage has least to spare.
SHARP = {
    "median in a gap between atoms": HardTable(
        np.repeat([3, 900], [3_000, 3_000]), GIVEN, "0.1", (Fraction(1, 2),)
    ),
    "90th percentile in a gap between atoms": HardTable(
        np.repeat([3, 900_000], [5_400, 600]), GIVEN, "0.1", (Fraction(9, 10),)
    ),
    "nearly one row short of the median": HardTable(
        np.repeat([3, 900], [3_000, 3_001]), GIVEN, "0.1", (Fraction(1, 2),)
    ),
}
TABLES = (
    {f"{name}, given domain": HardTable(rows, GIVEN) for name, rows in (INTEGERS | EDGES).items()}
    | {f"{name}, default domain": HardTable(rows) for name, rows in (INTEGERS | WIDE).items()}
    | FLOATS
    | SHARP
)


@pytest.mark.one_in(5)
@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_the_interval_holds_every_textbook_quantile(name, figures):
    count = misses(TABLES[name], RUNS)
    figures(told(count))
    judge(count)


@pytest.mark.slow
@pytest.mark.parametrize("change", [AddOrRemoveRows(3), ReplaceRows(5)], ids=str)
def test_the_interval_holds_with_several_rows_per_person(change):
    judge(misses(HardTable(INTEGERS["smooth"], GIVEN), RUNS, changes=(change,)))


@pytest.mark.slow
def test_simultaneous_intervals_hold_all_at_once():
    table = HardTable(INTEGERS["smooth"], GIVEN)
    spans, source, missed = [table.must_hold(p) for p in PS], postri.open(table.rows), 0
    for _ in range(RUNS):
        answers = postri.quantiles(
            source, PS, epsilon=3, domain=table.domain, confidence=CONFIDENCE, simultaneous=True
        )
        missed += not all(
            holds(answer.interval, *span) for answer, span in zip(answers, spans, strict=True)
        )
    judge({"all of them": (missed, RUNS)})


@dataclass(frozen=True)
class Fearless(Depth):
    """The depth method whose clock may use far more than there is."""

    def clock_step(self, question):
        return replace(super().clock_step(question), beta=Fraction(1_000))


@dataclass(frozen=True)
class Careless(Depth):
    """The depth method that takes its failure probability for five times what it was asked for."""

    def clock_step(self, question):
        return super().clock_step(replace(question, beta=5 * question.beta))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "name"),
    [(Fearless, "smooth, given domain"), *((Careless, name) for name in list(SHARP)[:2])],
)
def test_the_same_judgement_rejects_a_broken_method(broken, name):
    count = misses(TABLES[name], 300, broken)
    with pytest.raises(AssertionError, match="missed"):
        judge(count)


def test_the_binomial_test_is_as_strict_as_it_says():
    """By the closed form, in exact arithmetic."""

    def tail(missed: int) -> Fraction:
        return sum(comb(300, k) * Fraction(9 ** (300 - k), 10**300) for k in range(missed, 301))

    least = next(k for k in range(301) if tail(k) < SIGNIFICANCE)
    assert chance(least, 300) < SIGNIFICANCE <= chance(least - 1, 300)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 10, 11, 100])
def test_the_span_covers_the_nine_definitions_of_hyndman_and_fan(n):
    """The definitions are NumPy's implementation of Hyndman and Fan (1996)."""
    methods = (
        "inverted_cdf",
        "averaged_inverted_cdf",
        "closest_observation",
        "interpolated_inverted_cdf",
        "hazen",
    )
    methods += ("weibull", "linear", "median_unbiased", "normal_unbiased")
    rows = np.sort(random.integers(0, 1_000, n))
    for p in PS:
        low, high = HardTable(rows).must_hold(p)
        for method in methods:
            value = np.quantile(rows.astype(float), float(p), method=method)
            assert low is None or low <= value + 1e-9, method
            assert high is None or value - 1e-9 <= high, method


def test_an_edge_means_here_or_beyond():
    assert holds(Interval(0, 10, low_is_edge=True, high_is_edge=True), None, None)
    assert holds(Interval(0, 10, high_is_edge=True), Fraction(0), Fraction(11))
    assert not holds(Interval(0, 10), None, Fraction(10))
    assert not holds(Interval(0, 10), Fraction(0), None)
    assert not holds(Interval(0, 10), Fraction(0), Fraction(21, 2))
    assert not holds(Interval(1, 10), Fraction(1, 2), Fraction(10))
