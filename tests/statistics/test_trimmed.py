"""Trimmed and winsorized means: what is drawn for all small tables, what the numbers leave open
without noise, coverage by draws, every surface.

What lies between two ends is counted on every engine in `tests/engines/test_rows.py`. Coverage is
judged by a binomial test that fails by luck less often than once in a million; other coins are
seeded.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import binom, trim_mean
from scipy.stats.mstats import winsorize

import postri
from bank import in_duckdb, seeded
from postri import (
    AddOrRemoveRows,
    AddOrRemoveUnits,
    Domain,
    InputError,
    ReplaceRows,
    SeededCoins,
    agg,
)
from postri.audit.exact_additive import loss
from postri.methods.method import Span
from postri.question.checking import plain_question
from postri.statistics import middle as module
from postri.statistics.middle import NoisyMiddle, drawn_middle, middle_noises, numbers_of
from postri.statistics.statistic import Terms
from postri.statistics.trimmed import TrimmedMean, WinsorizedMean
from postri.window import MiddleTotal
from proving import sized

EPSILON = Fraction(1, 2)
SIGNIFICANCE = 1e-6
KINDS = (TrimmedMean, WinsorizedMean)
CHANGES = (AddOrRemoveRows(2), ReplaceRows(2))
LAST = 4
DOMAIN = Domain(0, 1_000)


def terms(change: object, *, gaussian: bool = False) -> Terms:
    rho = EPSILON**2 / 2 if gaussian else None
    return Terms(EPSILON, Fraction(1, 20), Fraction(19, 20), change, rho=rho)


def counted(cells: tuple[int, ...], low: int, high: int) -> MiddleTotal:
    inside = [cell - low for cell in cells if low < cell < high]
    below = sum(cell <= low for cell in cells)
    return MiddleTotal(below, len(inside), len(cells) - below - len(inside), sum(inside))


def tables(most: int) -> Iterator[tuple[int, ...]]:
    for size in range(most + 1):
        yield from combinations_with_replacement(range(LAST + 1), size)


def neighbours(cells: tuple[int, ...], change: object) -> Iterator[tuple[int, ...]]:
    """Tables in which up to two rows of one person are missing, or others."""
    for number in (1, 2):
        if number > len(cells):
            continue
        for mine in combinations_with_replacement(range(LAST + 1), number):
            rest = cells[number:]
            yield rest
            if isinstance(change, ReplaceRows):
                yield (*rest, *mine)


def largest_loss(change: object, *, gaussian: bool) -> Fraction:
    """Over all tables of up to three rows, all ends, and all that one person's rows may be."""
    own = terms(change, gaussian=gaussian)
    worst = Fraction(0)
    for low in range(LAST):
        for high in range(low + 1, LAST + 1):
            width = high - low
            noise = module.middle_noises(width, own)
            noises = (noise[0], noise[0], noise[1], noise[1])

            def drawn(cells, low=low, high=high, width=width, noises=noises):
                numbers = map(Fraction, numbers_of(counted(cells, low, high), width))
                return list(zip(numbers, noises, strict=True))

            for mine in combinations_with_replacement(range(LAST + 1), 2):
                for other in (0, LAST // 2):
                    one = drawn((*mine, other))
                    worst = max(
                        [
                            worst,
                            *(
                                loss(one, drawn(each))
                                for each in neighbours((*mine, other), change)
                            ),
                        ]
                    )
    return worst


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("gaussian", [False, True], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_one_person_moves_the_middle_by_the_whole_budget_and_no_more(change, gaussian):
    budget = EPSILON**2 / 2 if gaussian else EPSILON
    assert largest_loss(change, gaussian=gaussian) == budget


def test_noise_that_forgets_the_rows_at_the_ends_is_found():
    def narrow(width, own):
        _, noise = middle_noises(width, own)
        return noise, noise

    with patch.object(module, "middle_noises", lambda width, own: narrow(1, own)):
        assert largest_loss(AddOrRemoveRows(2), gaussian=False) > EPSILON


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_ends_and_middle_share_the_budget(kind, change):
    wanted = kind("x", DOMAIN, Fraction(1, 10))
    assert wanted.cost(terms(change)).epsilon == EPSILON
    ends = wanted.end_terms(terms(change))
    middle = wanted._middle_terms(terms(change))
    assert sum(end.spend.epsilon for end in ends) + middle.epsilon == EPSILON
    assert sum(end.beta for end in ends) + middle.beta == Fraction(1, 20)
    concentrated = wanted.cost(terms(change, gaussian=True))
    assert concentrated.epsilon is None and concentrated.rho <= EPSILON**2 / 2


def mean_of(cells: tuple[int, ...], kind: type, p: Fraction) -> Fraction:
    """The exact one, by its definition."""
    ordered = sorted(cells)
    outer = int(p * len(ordered))
    middle = ordered[outer : len(ordered) - outer]
    if kind is WinsorizedMean:
        middle = [middle[0]] * outer + middle + [middle[-1]] * outer
    return Fraction(sum(middle), len(middle))


def without_noise(
    cells: tuple[int, ...], lower: Span, upper: Span, kind: type, p: Fraction
) -> NoisyMiddle:
    wanted = kind("x", None, p)
    total = counted(cells, lower.high, upper.low)
    with patch.object(module, "drawn_noise", lambda noise, coins: 0):
        left_out = wanted.left_out_share
        return drawn_middle((lower, upper), total, left_out, terms(CHANGES[0]), SeededCoins(1))


def spans_around(value: int) -> list[tuple[int, int]]:
    return [(low, high) for low in range(value + 1) for high in range(value, LAST + 1)]


def excesses(p: Fraction, kind: type) -> Iterator[float]:
    """By how much the numbers without noise would rule out the exact mean, for all small tables and
    all intervals that hold both quantiles.
    """
    for cells in tables(sized(4, 6)):
        if not cells:
            continue
        ordered = sorted(cells)
        outer = int(p * len(cells))
        for low in spans_around(ordered[outer]):
            for high in spans_around(ordered[-1 - outer]):
                if low[1] >= high[0]:
                    continue
                middle = without_noise(cells, Span(low[0], *low), Span(high[0], *high), kind, p)
                mean = float(mean_of(cells, kind, p) - low[1])
                yield from (middle._test(mean, side).excess for side in (-1, 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [Fraction(1, 4), Fraction(2, 5)], ids=str)
def test_only_noise_rules_out_the_exact_mean(p, kind):
    found = list(excesses(p, kind))
    assert len(found) > 500 and max(found) <= 1e-9


def test_a_row_that_is_left_out_in_part_is_found():
    """p * n is rounded down: whoever forgets it rules out exact means."""

    def forgetful(self, mean, side):
        test = original(self, mean, side)
        one, other = self._low_end, float(self.width)
        if side > 0:
            one, other = 0.0, self._high_end
        return module.MeanTest(test.excess + max(side * (one + other - 2 * mean), 0.0), test.noise)

    original = NoisyMiddle._test
    with patch.object(NoisyMiddle, "_test", forgetful):
        assert max(excesses(Fraction(1, 4), TrimmedMean)) > 0.1


RNG = np.random.default_rng(5)
HARD = {
    "smooth": RNG.integers(0, 1_000, 2_000),
    "skewed": np.minimum(RNG.lognormal(4, 1, 3_000), 1_000).astype(int),
    "ties": RNG.choice([0, 10, 20, 900], 1_500),
    "a gap": np.repeat([100, 800], 900),
    "far outliers": np.concatenate((RNG.integers(400, 420, 1_500), [0] * 60, [1_000] * 90)),
    "one value": np.full(800, 7),
    "few rows": RNG.integers(0, 1_000, 60),
    "one row": np.array([300]),
}


@pytest.mark.one_in(6)
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", HARD)
def test_intervals_hold_on_hard_tables(name, kind):
    """Fails by luck less often than once in a million."""
    cells = tuple(HARD[name].tolist())
    p = Fraction(1, 10)
    exact = mean_of(cells, kind, p)
    table = postri.open({"x": HARD[name]})
    runs = sized(12, 2_000)
    wanted = {"t": kind("x", DOMAIN, p)}
    missed = 0
    for change in (AddOrRemoveRows(1), ReplaceRows(1)):
        for _ in range(runs):
            answer = postri.ask(table, wanted, epsilon=1, confidence=0.8, protect=change).answer(
                "t"
            )
            assert answer.value in answer.interval
            missed += exact not in answer.interval
    assert binom.sf(missed - 1, 2 * runs, 0.2) > SIGNIFICANCE


def test_the_means_are_those_of_r_and_scipy():
    cells = HARD["skewed"]
    trimmed = postri.trimmed_mean(cells, 0.13, domain=DOMAIN, epsilon=10_000)
    assert float(trimmed.value) == pytest.approx(trim_mean(cells, 0.13), abs=0.01)
    moved = postri.winsorized_mean(cells, 0.13, domain=DOMAIN, epsilon=10_000)
    expected = float(np.mean(winsorize(cells, (0.13, 0.13))))
    assert float(moved.value) == pytest.approx(expected, abs=0.01)


def test_bounds_that_are_far_cost_a_mean_and_not_a_trimmed_one():
    wide = Domain(0, 10**9)
    cells = {"x": HARD["smooth"]}
    mean = postri.mean(cells, "x", domain=wide, epsilon=1, coins=SeededCoins(1))
    trimmed = postri.trimmed_mean(cells, 0.25, "x", domain=wide, epsilon=1, coins=SeededCoins(1))
    assert trimmed.interval.width < mean.interval.width / 10_000


def test_intervals_that_meet_leave_all_between_open():
    answer = postri.trimmed_mean([3], 0.1, domain=DOMAIN, epsilon="0.01", coins=SeededCoins(1))
    assert answer.interval.is_whole_domain
    nobody = postri.winsorized_mean(
        {"x": [1]}, 0.1, "x", domain=DOMAIN, where="x > 5", epsilon=1, coins=SeededCoins(1)
    )
    assert nobody.value in nobody.interval


def test_groups_and_units():
    table = {
        "x": np.concatenate((HARD["smooth"], HARD["skewed"])),
        "g": ["a"] * 2_000 + ["b"] * 3_000,
        "id": [number // 2 for number in range(5_000)],
    }
    wanted = {
        "t": agg.trimmed_mean("x", 0.1, domain=DOMAIN),
        "w": agg.winsorized_mean("x", 0.2, domain=DOMAIN),
    }
    groups = {"g": ["b", "a", "nobody"]}
    result = postri.ask(table, wanted, by=groups, epsilon=4, coins=SeededCoins(2))
    for place, name in enumerate(("skewed", "smooth")):
        row = result.rows[place]
        cells = tuple(HARD[name].tolist())
        trimmed = mean_of(cells, TrimmedMean, Fraction(1, 10))
        moved = mean_of(cells, WinsorizedMean, Fraction(1, 5))
        assert row["t_low"] <= trimmed <= row["t_high"]
        assert row["w_low"] <= moved <= row["w_high"]
    kept = postri.ask(
        table,
        wanted,
        epsilon=4,
        protect=AddOrRemoveUnits("id", rows=2),
        coins=SeededCoins(2),
    )
    assert float(kept.answer("t").interval.width) < 60


def test_a_question_of_zcdp_draws_gaussian_noise():
    question = plain_question(
        {"t": agg.trimmed_mean("x", 0.1, domain=DOMAIN)},
        epsilon=1,
        confidence=0.95,
        protect=AddOrRemoveRows(1),
        concentrated=True,
        coins=SeededCoins(4),
    )
    assert question.cost.epsilon is None and question.cost.rho <= Fraction(1, 2)
    ((answer,),) = question.bound(postri.open({"x": HARD["smooth"]})).answers()
    assert answer.spend.rho == question.cost.rho
    assert mean_of(tuple(HARD["smooth"].tolist()), TrimmedMean, Fraction(1, 10)) in answer.interval


def test_it_is_read_back_as_it_is_written():
    for asked in (agg.trimmed_mean("a b", 0.1), agg.winsorized_mean("x", "1/3")):
        assert agg.read(asked.written()) == asked


@pytest.mark.slow
def test_a_session_answers_once_for_all_surfaces(tmp_path):
    with seeded(in_duckdb(tmp_path)) as db:
        first = db.trimmed_mean("bank", "balance", 0.1, epsilon=1)
        again = db.sql("SELECT TRIMMED_MEAN(balance, 0.1) AS t FROM bank", epsilon=1)
        assert again.charged == 0 and again.answer("t").interval == first.interval
        other = db.sql(
            "SELECT vip, WINSORIZED_MEAN(balance, 0.1) AS w FROM bank GROUP BY vip "
            "HAVING w > -2000 ORDER BY LOW(w)",
            epsilon=1,
        )
        assert len(other) == 2
        price = db.price("bank", {"t": "trimmed_mean(balance, 0.1)"}, epsilon=1, expect=500)
        assert set(price.forecasts) == {"t", "t_0.1", "t_0.9"}
        assert "trimmed mean between its ends will reach" in str(price)
        assert db.winsorized_mean("bank", "age", 0.2, epsilon=1).statistic == "winsorized mean"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda: postri.trimmed_mean([1], 0.5, domain=DOMAIN, epsilon=1), "must be below 0.5"),
        (lambda: postri.trimmed_mean([1], 0, domain=DOMAIN, epsilon=1), "strictly between 0 and 1"),
        (lambda: postri.winsorized_mean([1], 0.1, epsilon=1), "needs a domain"),
        (
            lambda: postri.trimmed_mean([1], 0.1, domain=Domain(0, 2**62), epsilon=1),
            "fewer than 2\\^62 steps",
        ),
        (lambda: agg.read("trimmed_mean(x)"), "write "),
    ],
)
def test_what_has_no_middle_is_refused(asked, words):
    with pytest.raises(InputError, match=words):
        asked()
