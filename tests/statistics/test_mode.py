"""The mode and the top k of public keys: their privacy and coverage over all noises of small
counts, and every surface.

Losses of all small tables stand in `tests/audit/test_exact_attack.py`, the numbers of rows of keys
on every engine in `tests/statistics/test_distinct.py`. Coins are seeded, so nothing depends on
luck.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp
from unittest.mock import patch

import numpy as np
import pytest

import postri
from bank import in_duckdb, seeded
from postri import (
    AddOrRemoveRows,
    AddOrRemoveUnits,
    InputError,
    ReplaceRows,
    SeededCoins,
    agg,
)
from postri.answer.drawn import read_drawn
from postri.answer.forms import read_result, result_text
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.question.checking import plain_question
from postri.statistics import mode as module
from postri.statistics.mode import DrawnLead, Mode, TopKeys, lead_reach
from postri.statistics.statistic import Terms
from proving import sized

EPSILON = Fraction(1)
KEYS = ("a", "b", "c")
# Noisy counts that are looked at: what lies beyond has a chance below 1e-4 in all.
NOISY = np.arange(-11, 15)
CITIES = {
    "city": ["Oslo"] * 40 + ["Bergen"] * 25 + ["Rome"] * 5 + [None] * 3 + ["Paris"] * 90,
    "rider": [number // 2 for number in range(163)],
}
KNOWN = ["Bergen", "Oslo", "Rome", "Bodø"]


def terms(change: object, *, gaussian: bool = False, beta: str = "1/20") -> Terms:
    rho = EPSILON**2 / 2 if gaussian else None
    return Terms(EPSILON, Fraction(beta), 1 - Fraction(beta), change, rho=rho)


def chances(noise: Noise, count: int) -> np.ndarray:
    """That of each noisy count, if this is the exact one."""
    away = np.abs(NOISY - count).astype(float)
    if isinstance(noise, DiscreteLaplace):
        rate = 1 / float(noise.scale)
        return np.exp(-rate * away) * (1 - exp(-rate)) / (1 + exp(-rate))
    weights = np.exp(-(away**2) / (2 * float(noise.variance)))
    far = np.arange(-200, 201)
    return weights / np.exp(-(far**2) / (2 * float(noise.variance))).sum()


@cache
def outcomes(places: int) -> tuple[np.ndarray, np.ndarray]:
    """For all noisy counts of three keys: who wins, the largest first, and the leads."""
    counts = np.array(list(product(NOISY.tolist(), repeat=3)))
    order = np.argsort(-counts, axis=1, kind="stable")
    ranked = np.take_along_axis(counts, order, axis=1)
    return order[:, :places], ranked[:, :places] - ranked[:, [places]]


def joint(noise: Noise, exact: tuple[int, ...]) -> np.ndarray:
    one, two, three = (chances(noise, count) for count in exact)
    return (one[:, None, None] * two[:, None] * three).reshape(-1)


@cache
def told(places: int, noise: Noise, exact: tuple[int, ...]) -> np.ndarray:
    """The chance of each pair of winners and leads."""
    return np.bincount(outcome_numbers(places), weights=joint(noise, exact))


@cache
def outcome_numbers(places: int) -> np.ndarray:
    """The number of each pair of winners and leads."""
    winners, leads = outcomes(places)
    digits = np.hstack((winners, leads))
    base = int(digits.max()) + 1
    _, which = np.unique(digits @ base ** np.arange(digits.shape[1]), return_inverse=True)
    return which.reshape(-1)


def neighbours(change: object) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Counts of a table and of one with a row more, or with a row in another place."""
    moves = list(np.eye(3, dtype=int))
    if isinstance(change, ReplaceRows):
        moves += [one - other for one in moves for other in moves if one is not other]
    for exact in product(range(sized(2, 4)), repeat=3):
        for move in moves:
            other = tuple(int(each) for each in np.array(exact) + move)
            if min(other) >= 0:
                yield exact, other


def largest_ratio(places: int, change: object) -> float:
    wanted = TopKeys("x", None, places, KEYS)
    noise = wanted._noise(terms(change))
    worst = 0.0
    for exact, other in neighbours(change):
        one, two = told(places, noise, exact), told(places, noise, other)
        worst = max(worst, float(np.max(one / two)), float(np.max(two / one)))
    return worst


@pytest.mark.parametrize("places", [1, 2])
@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)
def test_winners_and_leads_tell_no_more_than_epsilon(change, places):
    assert exp(0.9) < largest_ratio(places, change) <= exp(1) * (1 + 1e-9)


def test_half_of_the_noise_is_found():
    with patch.object(module, "moved_rows", lambda protect, groups: Fraction(1, 2)):
        assert largest_ratio(1, AddOrRemoveRows(1)) > exp(1.5)


def exact_leads(exact: tuple[int, ...], winners: np.ndarray, places: int) -> np.ndarray:
    """By how many rows each winner is ahead of the k-th of the others."""
    found = np.empty(len(exact))
    for number, count in enumerate(exact):
        others = sorted((*exact[:number], *exact[number + 1 :]), reverse=True)
        found[number] = count - others[places - 1]
    return found[winners]


def chance_of_a_miss(noise: Noise, exact: tuple[int, ...], places: int, beta: Fraction) -> float:
    """That the interval of one winner or more does not hold its lead; what is not looked at counts
    as missed.
    """
    winners, leads = outcomes(places)
    reach = lead_reach(noise, len(exact), places, beta)
    missed = np.any(np.abs(leads - exact_leads(exact, winners, places)) > reach, axis=1)
    weights = joint(noise, exact)
    return float(weights[missed].sum() + 1 - weights.sum())


def worst_miss(noise: Noise, places: int, beta: Fraction) -> float:
    far = sized((0, 1, 3), (0, 1, 2, 3, 5))
    return max(
        chance_of_a_miss(noise, exact, places, beta)
        for exact in product(far, repeat=3)
        if list(exact) == sorted(exact)
    )


@pytest.mark.parametrize("beta", [Fraction(1, 4), Fraction(1, 20)], ids=str)
@pytest.mark.parametrize("places", [1, 2])
@pytest.mark.parametrize(
    "noise", [DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(2))], ids=str
)
def test_all_leads_are_held_at_once(noise, places, beta):
    assert worst_miss(noise, places, beta) <= beta


def test_an_interval_for_one_key_alone_misses_too_often():
    noise = DiscreteLaplace(Fraction(1))
    beta = Fraction(1, 4)
    assert lead_reach(noise, 1, 1, beta) == lead_reach(noise, 3, 2, 6 * beta)
    assert worst_miss(noise, 2, 6 * beta) > beta


def test_a_lead_that_is_surely_not_negative_belongs_to_the_mode():
    answer = postri.mode(CITIES, "city", keys=KNOWN, epsilon=2, coins=SeededCoins(3))
    assert (answer.key, answer.statistic) == ("Oslo", "mode")
    assert 15 in answer.interval and answer.interval.low > 0
    assert str(answer).startswith("lead of Oslo (mode) ")
    assert "values beside the 4 keys not counted" in answer.population
    assert "the key is the mode" in answer.explain()
    assert answer.at(0.5).interval.width < answer.interval.width
    assert answer.to_dict()["key"] == "Oslo"


def test_of_equal_counts_the_first_key_wins():
    table = {"x": [1, 2, 3]}
    answer = postri.mode(table, "x", keys=[2, 1, 3], epsilon=1_000, coins=SeededCoins(1))
    assert (answer.key, answer.value) == (2, 0)


def test_the_top_k_is_a_row_for_each_place_and_costs_what_one_does():
    result = postri.top_k(CITIES, "city", k=3, keys=KNOWN, epsilon=2, coins=SeededCoins(3))
    assert [row["key"] for row in result.rows] == ["Oslo", "Bergen", "Rome"]
    assert result.epsilon == 2
    assert result.columns[:5] == ["place", "key", "lead", "lead_low", "lead_high"]
    truths = [40, 25, 5]
    for answer, truth in zip(result.answers, truths, strict=True):
        assert truth in answer.interval


def test_groups_have_winners_of_their_own():
    table = {**CITIES, "g": ["u"] * 40 + ["v"] * 123}
    wanted = {"m": agg.mode("city", KNOWN), "t": agg.top_k("city", 2, KNOWN)}
    result = postri.ask(table, wanted, by={"g": ["u", "v"]}, epsilon=8, coins=SeededCoins(3))
    assert [row["m"] for row in result.rows] == ["Oslo", "Bergen"]
    assert [row["t_1"] for row in result.rows] == ["Oslo", "Bergen"]
    assert "m_lead_low" in result.columns
    assert "v: m_lead: Bergen" in [label for label, _ in result.labels(result.names)]
    back = read_result(json.loads(result_text(result)))
    assert str(back) == str(result) and back.rows == result.rows


def test_rows_of_a_person_are_bounded():
    change = AddOrRemoveUnits("rider", rows=1)
    answer = postri.mode(
        CITIES, "city", keys=KNOWN, epsilon=2, protect=change, coins=SeededCoins(3)
    )
    # Each rider has two rows, mostly in one city: half of the lead is left.
    assert answer.key == "Oslo" and answer.value < 15
    wide = postri.mode(
        CITIES, "city", keys=KNOWN, epsilon=2, protect=AddOrRemoveRows(9), coins=SeededCoins(3)
    )
    assert wide.interval.width > 5 * answer.interval.width


def test_gaussian_noise_is_drawn_where_rhos_are_added_up():
    wanted = {"m": agg.mode("city", KNOWN)}
    question = plain_question(
        wanted, epsilon=2, confidence=0.95, protect=AddOrRemoveRows(1), concentrated=True
    )
    assert (question.cost.epsilon, question.cost.rho) == (None, 2)
    ((answer,),) = question.bound(postri.open(CITIES)).answers()
    assert isinstance(answer.drawn.noise, DiscreteGaussian)


def test_what_was_drawn_is_read_back():
    for noise in (DiscreteLaplace(Fraction(1, 3)), DiscreteGaussian(Fraction(7, 2))):
        counts = tuple(module._noisy(count, noise) for count in (5, -2, 9))
        drawn = DrawnLead(counts, 1, 2)
        assert drawn.value == 7
        assert read_drawn(json.loads(json.dumps(drawn.to_fields()))) == drawn


def test_it_is_read_back_as_it_is_written():
    for asked in (
        agg.mode("a b"),
        agg.mode("city", ["O'Hare", "a,b", "x"]),
        agg.top_k("city", 3),
        agg.top_k("x", 2, [1, -2, 3]),
    ):
        assert agg.read(asked.written()) == asked


@pytest.mark.slow
def test_a_session_knows_the_keys_of_the_policy(tmp_path):
    with seeded(in_duckdb(tmp_path)) as db:
        first = db.mode("bank", "job", epsilon=1)
        assert first.key in ("admin.", "technician")
        again = db.sql("SELECT MODE(job) AS top FROM bank", epsilon=1)
        assert again.charged == 0
        assert again.columns[:4] == ["top", "top_lead", "top_lead_low", "top_lead_high"]
        assert again.rows[0]["top"] == first.key
        listed = db.sql(
            "SELECT vip, TOP_K(job, 2) AS t, LOW(t_1_lead) FROM bank GROUP BY vip "
            "HAVING t_1_lead > -100 ORDER BY t_1_lead",
            epsilon=1,
        )
        assert listed.columns[:5] == ["vip", "t_1", "t_1_lead", "t_2", "t_2_lead"]
        assert [row["key"] for row in db.top_k("bank", "job", k=2, epsilon=1).rows] != []
        price = db.price("bank", {"m": "mode(job)", "t": "top_k(vip, 1)"}, epsilon=1)
        assert set(price.forecasts) == {"m", "t"}
        assert "lead (mode) will reach" in str(price)
        with pytest.raises(InputError, match="stands by itself in SELECT"):
            db.sql("SELECT MODE(job) + 1 FROM bank", epsilon=1)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (lambda: agg.mode("city"), "takes public keys; give them"),
        (lambda: agg.mode("city", ["Oslo"]), "needs more keys than win, which are 1, got 1"),
        (lambda: agg.top_k("city", 2, ["a", "b"]), "needs more keys than win, which are 2, got 2"),
        (lambda: agg.top_k("city", 0, KNOWN), "whole number from 1 to 100, got 0"),
        (lambda: agg.top_k("city", "1.5", KNOWN), "whole number from 1 to 100, got '1.5'"),
        (lambda: agg.top_k("city", 100, range(1_001)), "at most 100,000, got 100,100"),
        (lambda: agg.mode("city", ["a", "a"]), "must differ"),
        (lambda: agg.mode("city", "Oslo"), "keys must be a list"),
        (lambda: agg.mode("nowhere", KNOWN), "there is no column 'nowhere'"),
        (lambda: "top_k(city)", "write "),
    ],
)
def test_what_cannot_win_is_refused(wanted, words):
    with pytest.raises(InputError, match=words):
        postri.ask(CITIES, {"m": wanted()}, epsilon=1)


def test_without_keys_the_plain_calls_say_what_to_give():
    with pytest.raises(InputError, match="the mode takes public keys; give them, such as keys="):
        postri.mode(CITIES, "city", epsilon=1)
    with pytest.raises(InputError, match="the top k takes public keys; give them, such as keys="):
        postri.top_k(CITIES, "city", k=2, epsilon=1)


def test_columns_of_one_name_are_refused():
    wanted = {"t": agg.top_k("city", 1, KNOWN), "t_1": agg.count()}
    with pytest.raises(InputError, match="would have the name 't_1'"):
        postri.ask(CITIES, wanted, epsilon=1)


def test_a_mode_and_a_top_1_are_two_questions_of_one_draw():
    assert Mode("x", None, 1, KEYS).fields() != TopKeys("x", None, 1, KEYS).fields()
