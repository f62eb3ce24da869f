"""Several quantiles of one column do not drag one another."""

from __future__ import annotations

from fractions import Fraction

import pytest

import postri
from bank import session, write_policy
from postri import Domain, SeededCoins, agg

DOMAIN = Domain(0, 100_000)
POINTS = [Fraction(k, 50) for k in range(1, 50)]
# The quantile k/50 of these rows is 1,000 k, up to a rank.
ROWS = list(range(0, 50_000, 20))


def true_quantile(p: Fraction) -> int:
    return ROWS[int(p * len(ROWS))]


def quantiles(seed: int, **how):
    """A draw each: one release for all of them would be narrower."""
    coins = SeededCoins(seed)
    return postri.quantiles(
        ROWS, POINTS, epsilon=1, domain=DOMAIN, method="depth", coins=coins, **how
    )


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_an_interval_at_the_edge_leaves_the_others_where_they_are(seed):
    """2,500 rows and epsilon 1 for 49 points: some intervals end on an edge, and those alone do."""
    found = quantiles(seed)
    alone = [answer.interval for answer in found]
    assert any(interval.low_is_edge for interval in alone)
    assert not all(interval.low_is_edge for interval in alone)
    # The middle lies some 1,250 rows from either edge, and an interval reaches 900 at most there.
    middle = alone[len(alone) // 2]
    assert not middle.low_is_edge
    assert [answer.value for answer in found] == sorted(answer.value for answer in found)
    for answer in found:
        assert answer.value in answer.interval


def test_intervals_that_hold_at_once_are_tightened_by_one_another():
    """The same coins give the same draws: what holds at once is cut, and holds what it should."""
    together = quantiles(1, simultaneous=True, confidence="0.9")
    single = quantiles(1, confidence=1 - Fraction("0.1") / len(POINTS))
    narrower = 0
    for answer, own in zip(together, single, strict=True):
        assert own.interval.low <= answer.interval.low
        assert answer.interval.high <= own.interval.high
        assert answer.value in answer.interval
        assert true_quantile(answer.p) in answer.interval
        narrower += answer.interval.width < own.interval.width
    assert narrower > len(POINTS) / 2


def test_tightened_intervals_are_no_answer_to_a_question_about_single_ones(tmp_path):
    """Two quantiles at once at 90% have the beta of single ones at 95%, and promise less."""
    wanted = {"low": agg.quantile("age", 0.25), "high": agg.quantile("age", 0.75)}
    with session(write_policy(tmp_path)) as db:
        db.ask("bank", wanted, epsilon=1, confidence="0.9", simultaneous=True)
        again = db.ask("bank", wanted, epsilon=1, confidence="0.9", simultaneous=True)
        single = db.ask("bank", wanted, epsilon=1, confidence="0.95")
    assert (again.charged, single.charged) == (0, 1)


def test_a_recorded_interval_says_the_confidence_that_is_asked_for(tmp_path):
    """In a product of two draws each has half of beta: the draw of 97.5% is that of 95% there."""
    with session(write_policy(tmp_path)) as db:
        drawn = {"m": agg.median("age"), "s": agg.sum("age")}
        db.ask("bank", drawn, epsilon=1, confidence="0.975")
        product = db.sql("SELECT MEDIAN(age) * SUM(age) AS a FROM bank", epsilon=1)
    assert product.charged == 0
    assert [answer.confidence for answer in product.answers] == [0.95]
