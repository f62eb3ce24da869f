"""Interquartile ranges: from two quartiles that hold at once, by the narrower of two ways; every
surface. What draws the quartiles is proved with the quantiles.

Coverage is judged by a binomial test that fails by luck less often than once in a million; other
coins are seeded.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import postri
from bank import in_duckdb, seeded
from postri import AddOrRemoveRows, Domain, InputError, ReplaceRows, SeededCoins, agg
from postri.answer.drawn import Interval, range_between
from postri.statistics.iqr import InterquartileRange
from postri.statistics.statistic import Asked, Terms
from proving import sized

RNG = np.random.default_rng(6)
TABLES = {
    "smooth": RNG.integers(0, 1_000, 2_000),
    "ties": RNG.choice([0, 10, 500], 900),
    "one value": np.full(500, 7),
    "few rows": RNG.integers(0, 1_000, 30),
}
DOMAIN = Domain(0, 1_000)
METHODS = ["inverted_cdf", "averaged_inverted_cdf", "linear", "median_unbiased", "weibull"]


def ranges(cells: np.ndarray) -> list[float]:
    """By several definitions of quartiles."""
    return [
        float(np.subtract(*np.quantile(cells, [0.75, 0.25], method=method))) for method in METHODS
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_the_range_is_held_by_every_definition(name):
    """Fails by luck less often than once in a million."""
    table = postri.open({"x": TABLES[name]})
    exact = ranges(TABLES[name])
    runs = sized(15, 2_000)
    missed = 0
    for change in (AddOrRemoveRows(1), ReplaceRows(1)):
        for _ in range(runs):
            answer = postri.iqr(
                table, "x", domain=DOMAIN, epsilon=1, confidence=0.8, protect=change
            )
            assert answer.value in answer.interval and answer.interval.low >= 0
            missed += any(each not in answer.interval for each in exact)
    assert binom.sf(missed - 1, 2 * runs, 0.2) > 1e-6


def test_both_quartiles_have_half_of_the_budget_and_of_beta():
    terms = Terms(Fraction(1), Fraction(1, 20), Fraction(19, 20), AddOrRemoveRows(1))
    wanted = InterquartileRange("x", DOMAIN)
    for _, own in wanted.quantiles(terms):
        assert (own.epsilon, own.beta) == (Fraction(1, 2), Fraction(1, 40))
    assert wanted.cost(terms).epsilon == 1


def test_many_ranges_of_a_column_follow_from_one_release():
    """Where the forecast says that this is narrower."""
    terms = Terms(Fraction(1), Fraction(1, 20), Fraction(19, 20), AddOrRemoveRows(1))
    wanted = InterquartileRange("x", DOMAIN)
    one = wanted.batch.by_best_method([Asked(wanted, terms)], fixed=False, rows=10_000)
    assert one[0].terms.method.name == "depth"
    many = wanted.batch.by_best_method([Asked(wanted, terms)] * 20, fixed=False, rows=10_000)
    assert many[0].terms.method.name == "tree"
    asked = {str(number): agg.iqr("x", domain=DOMAIN) for number in range(20)}
    result = postri.ask({"x": TABLES["smooth"]}, asked, epsilon=20, coins=SeededCoins(2))
    assert result.answers[0].method == "tree" and result.epsilon == 20
    assert result.answers[0].spend.release == 20
    assert max(ranges(TABLES["smooth"])) in result.answers[0].interval


def test_beyond_an_edge_the_range_may_be_more():
    few = postri.iqr({"x": [5]}, "x", domain=DOMAIN, epsilon=1, coins=SeededCoins(1))
    assert few.interval.high_is_edge and not few.interval.low_is_edge
    assert (few.interval.low, few.interval.high) == (0, 1_000)
    inner = range_between(Interval(2, 3), Interval(7, 9))
    assert (inner.low, inner.high, inner.high_is_edge) == (4, 7, False)


@pytest.mark.slow
def test_a_session_answers_once_for_all_surfaces(tmp_path):
    with seeded(in_duckdb(tmp_path)) as db:
        first = db.iqr("bank", "balance", epsilon=1)
        again = db.sql("SELECT IQR(balance) AS r FROM bank", epsilon=1)
        assert again.charged == 0 and again.answer("r").interval == first.interval
        assert first.statistic == "interquartile range"
        ratio = db.sql(
            "SELECT job, IQR(balance) / COUNT(*) AS r FROM bank GROUP BY job ORDER BY LOW(r)",
            epsilon=1,
        )
        assert len(ratio) == 3
        price = db.price("bank", {"r": "iqr(balance)"}, epsilon=1, expect=500)
        assert set(price.forecasts) == {"r_0.25", "r_0.75"}
        with pytest.raises(InputError, match="no interquartile range of a column of dates"):
            db.sql("SELECT IQR(since) FROM bank", epsilon=1)
