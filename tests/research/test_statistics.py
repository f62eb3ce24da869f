"""The report's statistics against numbers worked out by hand, and against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from postri.research.report.statistics import (
    LEVEL,
    Difference,
    at_least,
    binomial_interval,
    covers,
    difference,
)

# Mean 10 and variance 2: two runs give a squared standard error of 1.
OURS = np.array([9.0, 11.0])


def test_a_difference_is_counted_in_combined_standard_errors():
    """sqrt(2/2 + 3^2/3) = 2, and 10 lies 6 above 4."""
    found = difference(OURS, mean=4, sd=3, runs=3)
    assert found.errors == pytest.approx(3, rel=1e-12)
    assert found.p is None
    assert str(found) == "+3.0"


@pytest.mark.parametrize(("mean", "sd", "runs"), [(5.2, 1.3, 100), (4.9, 0.2, 50), (-7.0, 12.0, 3)])
def test_a_difference_is_the_statistic_of_welch(mean: float, sd: float, runs: int):
    ours = np.array([4.0, 5.5, 5.0, 4.5, 7.0])
    theirs = stats.ttest_ind_from_stats(
        ours.mean(), ours.std(ddof=1), len(ours), mean, sd, runs, equal_var=False
    )
    assert difference(ours, mean, sd, runs).errors == pytest.approx(theirs.statistic, rel=1e-12)


@pytest.mark.parametrize(
    ("errors", "agrees"), [(3.9, True), (4.1, False), (-3.9, True), (-4.1, False)]
)
def test_results_agree_within_four_standard_errors(errors: float, agrees: bool):
    found = difference(OURS, mean=10 - 2 * errors, sd=3, runs=3)
    assert found.errors == pytest.approx(errors)
    assert found.agrees is agrees


def test_the_level_of_an_exact_test_is_that_of_four_standard_errors():
    assert pytest.approx(2 * stats.norm.sf(4), rel=1e-9) == LEVEL
    assert Difference(None, 1.01 * LEVEL).agrees
    assert not Difference(None, 0.99 * LEVEL).agrees
    assert str(Difference(None, 0.25)) == "p = 0.25"


@pytest.mark.parametrize(
    ("hits", "misses", "runs"), [(100, 0, 50), (99, 1, 50), (80, 20, 50), (0, 30, 20), (3, 2, 1)]
)
def test_a_published_spread_of_0_is_compared_by_fishers_exact_test(
    hits: int, misses: int, runs: int
):
    """One-sided: all published runs gave one value, and so many of ours did."""
    found = difference(np.array([9.0] * hits + [12.5] * misses), mean=9, sd=0, runs=runs)
    assert found.errors is None
    assert found.p == pytest.approx(
        stats.fisher_exact([[runs, 0], [hits, misses]], alternative="greater").pvalue, rel=1e-9
    )
    assert found.p == pytest.approx(
        stats.hypergeom.pmf(0, hits + misses + runs, misses, runs), rel=1e-9
    )


def test_a_published_spread_of_0_agrees_with_few_other_values_and_not_with_many():
    few, many = (np.array([9.0] * (100 - others) + [12.5] * others) for others in (10, 60))
    assert difference(few, 9, 0, 50).agrees
    assert not difference(many, 9, 0, 50).agrees


@pytest.mark.parametrize("level", [0.95, 0.999])
@pytest.mark.parametrize(
    ("hits", "runs"),
    [(0, 1), (1, 1), (0, 100), (100, 100), (1, 100), (50, 100), (95, 100), (99, 100), (990, 1_000)],
)
def test_the_binomial_interval_is_that_of_clopper_and_pearson(hits: int, runs: int, level: float):
    exact = stats.binomtest(hits, runs).proportion_ci(level, method="exact")
    assert binomial_interval(hits, runs, level) == pytest.approx(
        (exact.low, exact.high), rel=1e-9, abs=1e-10
    )


def test_the_binomial_interval_is_at_95_percent_unless_told():
    exact = stats.binomtest(7, 9).proportion_ci(0.95, method="exact")
    assert binomial_interval(7, 9) == pytest.approx((exact.low, exact.high), rel=1e-9)


@pytest.mark.parametrize("p", [1e-6, 0.01, 0.5, 0.99])
@pytest.mark.parametrize(
    ("hits", "runs"), [(1, 1), (1, 100), (3, 100), (60, 100), (100, 100), (20, 1_000)]
)
def test_at_least_is_the_upper_tail_of_the_binomial_law(hits: int, runs: int, p: float):
    assert at_least(hits, runs, p) == pytest.approx(stats.binom.sf(hits - 1, runs, p), rel=1e-9)


def test_at_least_is_certain_or_impossible_at_its_ends():
    assert at_least(0, 10, 0.3) == at_least(0, 10, 0) == at_least(10, 10, 1) == 1
    assert at_least(1, 10, 0) == 0


@pytest.mark.parametrize("level", [0.001, 1e-4])
@pytest.mark.parametrize(("runs", "promised"), [(100, 0.99), (1_000, 0.99), (200, 0.95)])
def test_a_promise_stands_up_to_as_many_misses_as_chance_explains(
    runs: int, promised: float, level: float
):
    most = max(
        misses
        for misses in range(runs + 1)
        if stats.binom.sf(misses - 1, runs, 1 - promised) >= level
    )
    assert 0 < most < runs / 4
    assert covers(runs, runs, promised, level)
    assert covers(runs - most, runs, promised, level)
    assert not covers(runs - most - 1, runs, promised, level)
    assert not covers(0, runs, promised, level)


def test_a_promise_is_judged_at_the_level_of_four_standard_errors_unless_told():
    most = max(misses for misses in range(101) if stats.binom.sf(misses - 1, 100, 0.01) >= LEVEL)
    assert covers(100 - most, 100, 0.99)
    assert not covers(100 - most - 1, 100, 0.99)
