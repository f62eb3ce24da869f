"""The forecast against what happens: mean widths of real draws on smooth data, counted in rows."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import postri
from postri import AddOrRemoveRows, Domain, ReplaceRows, SeededCoins
from proving import sized

RUNS = sized(16, 400)
# Means of few runs are further off than those of many.
FACTOR = sized(1.5, 1.3)
# A value next to 0 tells nothing of how far apart the rows are, and the clock bends
# too early: intervals are longer than the plan says, by up to this.
AROUND_ZERO = 4

SHAPES = {
    "normal": lambda random, n: random.normal(5e7, 1e7, n),
    "uniform": lambda random, n: random.uniform(0, 1e8, n),
    "lognormal": lambda random, n: random.lognormal(14, 1, n),
    "exponential": lambda random, n: random.exponential(1e7, n),
}
DOMAINS = {"default domain": None, "given domain": Domain(-(10**9), 10**9)}
TIMES = list(product(DOMAINS, (2_000, 50_000), ("0.25", "1"), ("0.5", "0.9")))


def rows_of(shape: str, n: int) -> np.ndarray:
    """Sorted whole numbers of a smooth shape, so many that next to none are equal."""
    return np.sort(np.rint(SHAPES[shape](np.random.default_rng(n), n)).astype(np.int64))


def mean_half_width(
    rows: np.ndarray, p: str, epsilon: object, domain: Domain | None, **how
) -> float:
    """How many rows an interval holds to each side, on average over fixed coins."""
    source, held = postri.open(rows), 0
    for seed in range(RUNS):
        interval = postri.quantile(
            source, p, epsilon=epsilon, domain=domain, coins=SeededCoins(seed), **how
        ).interval
        held += np.searchsorted(rows, interval.high, side="right") - np.searchsorted(
            rows, interval.low
        )
    return held / RUNS / 2


@pytest.mark.one_in(5)
@pytest.mark.slow
@pytest.mark.parametrize(("where", "n", "epsilon", "p"), TIMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_where_rows_are_enough_the_plan_is_within_a_factor_of_the_mean_width(
    shape, where, n, epsilon, p, figures
):
    plan = postri.plan(rows=n, epsilon=epsilon, p=p, domain=DOMAINS[where])
    width = mean_half_width(rows_of(shape, n), p, epsilon, DOMAINS[where])
    ratio = width / (plan.reach * n)
    figures(f"the mean width is {ratio:.2f} of the plan; enough rows: {plan.enough}")
    assert not plan.enough or 1 / FACTOR < ratio < FACTOR


@pytest.mark.slow
@pytest.mark.parametrize("where", DOMAINS)
def test_rows_around_zero_get_longer_intervals_than_planned(where, figures):
    rows = np.sort(np.rint(np.random.default_rng(2_000).normal(0, 1e7, 2_000)).astype(np.int64))
    plan = postri.plan(rows=2_000, epsilon=1, domain=DOMAINS[where])
    ratio = mean_half_width(rows, "0.5", 1, DOMAINS[where]) / (plan.reach * 2_000)
    figures(f"the mean width is {ratio:.2f} of the plan")
    assert 1 / FACTOR < ratio < AROUND_ZERO


@pytest.mark.slow
@pytest.mark.parametrize("where", DOMAINS)
@pytest.mark.parametrize("p", ["0.5", "0.9"])
@pytest.mark.parametrize("epsilon", ["0.25", "1"])
def test_the_rows_that_it_takes_are_about_enough(where, p, epsilon):
    """With twice the rows that the plan calls enough, the mean width is near the plan: an interval
    does not swallow all rows.
    """
    domain = DOMAINS[where]
    n = 2 * postri.plan(rows=1, epsilon=epsilon, p=p, domain=domain).rows_needed
    plan = postri.plan(rows=n, epsilon=epsilon, p=p, domain=domain)
    assert plan.enough
    assert mean_half_width(rows_of("lognormal", n), p, epsilon, domain) < 2 * plan.reach * n


@pytest.mark.parametrize("change", [AddOrRemoveRows(2), ReplaceRows(1)], ids=str)
def test_the_plan_knows_protected_changes_and_splits(change):
    plan = postri.plan(rows=50_000, epsilon=1, protect=change, split="0.3", confidence="0.99")
    width = mean_half_width(
        rows_of("normal", 50_000), "0.5", 1, None, protect=change, split="0.3", confidence="0.99"
    )
    assert 1 / FACTOR < width / (plan.reach * 50_000) < FACTOR


def test_a_plan_for_another_epsilon_is_rejected():
    """The comparison can fail: the plan for a third of epsilon promises three times the width."""
    plan = postri.plan(rows=50_000, epsilon=Fraction(1, 3))
    assert (
        not 1 / FACTOR
        < mean_half_width(rows_of("normal", 50_000), "0.5", 1, None) / (plan.reach * 50_000)
        < FACTOR
    )


@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(3)], ids=str)
@pytest.mark.parametrize("p", ["0.5", "0.9", "0.01"])
@pytest.mark.parametrize(("rows", "groups"), [(2_000, 1), (45_000, 1), (45_000, 7), (10**9, 1)])
@pytest.mark.parametrize("share", ["0.004", "0.02", "0.2"])
def test_the_epsilon_for_a_reach_gives_that_reach(rows, groups, share, p, change):
    """Epsilon is rounded up to three digits, so the reach is the one that was asked for or up to 1
    % less.
    """
    known = {"rows": rows, "groups": groups, "p": p, "protect": change, "split": "0.6"}
    inverse = postri.plan(reach=share, **known)
    assert (
        0.99 * float(share) <= postri.plan(epsilon=inverse.epsilon, **known).reach <= float(share)
    )


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "3"])
def test_the_reach_of_an_epsilon_takes_that_epsilon(epsilon):
    plan = postri.plan(rows=1_000_000, epsilon=epsilon)
    assert postri.plan(rows=1_000_000, reach=plan.reach).epsilon == pytest.approx(
        float(epsilon), rel=0.01
    )


def test_a_plan_in_groups_is_the_plan_of_one_group():
    assert (
        postri.plan(rows=10_000, groups=10, epsilon=1).reach
        == postri.plan(rows=1_000, epsilon=1).reach
    )


def test_a_plan_says_for_which_rows_it_holds_and_where_it_reaches():
    """The ends of the text are the plan's own numbers, in percentiles."""
    plan = postri.plan(rows=20_000, epsilon=1, p="0.9")
    assert (plan.low, plan.high) == (0.9 - plan.reach, 0.9 + plan.reach)
    assert f"{100 * plan.low:.2f}" in str(plan)
    assert f"{100 * plan.high:.2f}" in str(plan)
    assert "20,000 rows" in str(plan)


def test_a_plan_for_too_few_rows_says_how_many_it_takes():
    plan = postri.plan(rows=20, epsilon="0.1")
    assert not plan.enough
    named = re.search(r"about ([\d,]+) rows", str(plan))[1].replace(",", "")
    assert int(named) == pytest.approx(plan.rows_needed, rel=0.1)


def test_an_empty_table_can_be_planned():
    assert not postri.plan(rows=0, epsilon=1).enough
