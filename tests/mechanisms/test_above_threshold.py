"""AboveThreshold against its closed form: every stop has its exact chance, and no neighbour makes
one much likelier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from exact_walks import Stops, stop_chances

from postri.mechanisms import above_threshold as module
from postri.mechanisms.above_threshold import above_threshold
from postri.mechanisms.coins import Coins, SeededCoins, SystemCoins
from privacy.chi_square import chance_of_worse, fits, rejected
from proving import WITH_SYSTEM_COINS, sized

pytestmark = [*WITH_SYSTEM_COINS, pytest.mark.slow]

Figures = Callable[[str], None]
Stop = tuple[int, int] | None

DRAWS, FEW_DRAWS = sized((2_000, 1_000), (200_000, 50_000))
# Enough to reject 30 % less noise for sure.
ENOUGH = sized(9_000, 150_000)
# Noise that is 30 % smaller.
MORE = Fraction(10, 7)


def stop(
    counts,
    sizes,
    threshold: int,
    coins: Coins,
    epsilon: Fraction = Fraction(1),
    sensitivity: int = 1,
) -> Stop:
    walk = np.array(counts, dtype=np.int64), np.array(sizes, dtype=np.int64)
    return above_threshold(
        *walk, threshold, epsilon=epsilon, sensitivity=Fraction(sensitivity), coins=coins
    )


def drawn(number: int, *walk, **budget) -> Counter[Hashable]:
    coins = SystemCoins()
    return Counter(stop(*walk, coins, **budget) for _ in range(number))


def place_chances(counts, sizes, threshold: int, **budget) -> dict[Hashable, float]:
    """The chance of each place of each run, and of None."""
    places = [(j, place) for j, size in enumerate(sizes) for place in range(size)]
    stops = stop_chances([counts[j] for j, _ in places], [1] * len(places), threshold, **budget)
    return {**dict(zip(places, map(float, stops.runs), strict=True)), None: stops.none}


WALKS = {
    "rising": ([0, 1, 3, 4, 7], [2, 1, 3, 1, 2], 5),
    "falling": ([6, 3, 0], [1, 4, 2], 4),
    "far-below": ([0, 1], [3, 2], 12),
    "far-above": ([9, 10, 11], [3, 3, 3], 0),
    "below-zero": ([0, 1, 2], [4, 4, 4], -3),
}
EPSILONS = (Fraction(1, 2), Fraction(2), Fraction(8))


def test_the_closed_form_is_what_a_few_lines_of_hand_work_give():
    """One count c at the threshold: it stops if X >= Z.

    With p, q = e^-1, e^-1/2 for scales 1 and 2 (epsilon 2): a double sum.
    """
    p, q = np.exp(-1), np.exp(-1 / 2)
    noise = np.arange(-200, 201)
    threshold, count = (
        (1 - p) / (1 + p) * p ** np.abs(noise),
        (1 - q) / (1 + q) * q ** np.abs(noise),
    )
    by_hand = sum(threshold[k] * count[noise >= z].sum() for k, z in enumerate(noise))
    assert stop_chances([3], [1], 3, epsilon=2).runs == pytest.approx([by_hand], rel=1e-12)


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_chances_add_up_and_cutting_a_run_changes_nothing(walk, epsilon: Fraction):
    counts, sizes, threshold = walk
    whole = stop_chances(counts, sizes, threshold, epsilon=epsilon)
    assert whole.runs.sum() + whole.none == pytest.approx(1, abs=1e-12)
    cut = place_chances(counts, sizes, threshold, epsilon=epsilon)
    assert whole.none == pytest.approx(cut[None], rel=1e-12)
    for j, chance in enumerate(whole.runs):
        assert chance == pytest.approx(sum(cut[j, place] for place in range(sizes[j])), rel=1e-11)


def check(found: Counter[Hashable], chances: dict[Hashable, float], figures: Figures) -> None:
    """The draws fit the chances; says how well."""
    figures(f"p-value {chance_of_worse(found, chances):.3g} of {found.total()} draws")
    assert fits(found, chances)


# Every second pair: each walk and each epsilon is among them.
@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "name"), list(product(EPSILONS, WALKS))[:: sized(5, 1)], ids=str
)
def test_every_stop_is_as_likely_as_it_should_be(name: str, epsilon: Fraction, figures: Figures):
    """Each place of each run, and None."""
    walk = WALKS[name]
    check(drawn(FEW_DRAWS, *walk, epsilon=epsilon), place_chances(*walk, epsilon=epsilon), figures)


@pytest.mark.slow
def test_many_draws_tell_the_same(figures: Figures):
    walk = WALKS["rising"]
    check(drawn(DRAWS, *walk, epsilon=Fraction(2)), place_chances(*walk, epsilon=2), figures)


def test_a_sensitivity_of_three_is_a_third_of_epsilon():
    walk = WALKS["rising"]
    assert fits(
        drawn(FEW_DRAWS, *walk, epsilon=Fraction(6), sensitivity=3), place_chances(*walk, epsilon=2)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rising", "falling"][: sized(1, 2)])
def test_thirty_percent_less_noise_is_rejected(name: str):
    epsilon = Fraction(2)

    def draw(number: int) -> Counter[Hashable]:
        return drawn(number, *WALKS[name], epsilon=epsilon * MORE)

    assert rejected(draw, place_chances(*WALKS[name], epsilon=epsilon), ENOUGH)


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0, 4, 8])
def test_none_is_as_frequent_as_it_should_be(threshold: int):
    """Within 5 standard deviations."""
    counts, sizes = [0, 1, 2], [1, 2, 1]
    chance = stop_chances(counts, sizes, threshold, epsilon=2).none
    found = drawn(FEW_DRAWS, counts, sizes, threshold, epsilon=Fraction(2))
    assert 0.01 < chance < 0.99
    assert found[None] / FEW_DRAWS == pytest.approx(
        chance, abs=5 * (chance * (1 - chance) / FEW_DRAWS) ** 0.5
    )


LONG = 10**12


@pytest.mark.slow
def test_long_runs_are_passed_and_stopped_in_as_often_as_they_should_be(figures: Figures):
    """Three runs of 10^12 counts, each told in tenths: stops are spread inside a run as the closed
    form says.
    """
    counts, parts, threshold, epsilon = [0, 1, 2], 10, 30, Fraction(4)
    coins = SystemCoins()
    stops = [stop(counts, [LONG] * 3, threshold, coins, epsilon) for _ in range(FEW_DRAWS)]
    found = Counter(each and (each[0], each[1] * parts // LONG) for each in stops)
    cells = list(product(range(3), range(parts)))
    exact: Stops = stop_chances(
        [counts[j] for j, _ in cells], [LONG // parts] * len(cells), threshold, epsilon=epsilon
    )
    chances = {**dict(zip(cells, map(float, exact.runs), strict=True)), None: exact.none}
    check(found, chances, figures)
    assert min(chances.values()) > 0.001
    assert len({each for each in stops if each}) > 0.9 * sum(each is not None for each in stops)


def test_a_seed_repeats_a_stop_and_others_differ():
    walk = WALKS["rising"]

    def stops() -> list[Stop]:
        return [stop(*walk, SeededCoins(seed)) for seed in range(40)]

    assert stops() == stops()
    assert len(set(stops())) > 3


def test_one_seed_gives_each_walk_other_coins():
    coins = SeededCoins(1)
    assert len({stop(*WALKS["rising"], coins) for _ in range(40)}) > 3


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "walk", [*WALKS.values(), ([0, 1, 2], [LONG] * 3, 30)], ids=[*WALKS, "long"]
)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_ball_arithmetic_stops_where_floats_stop(
    walk, epsilon: Fraction, monkeypatch: pytest.MonkeyPatch
):
    """With a margin of 1 floats pass no run."""
    decided: list[int] = []
    failures = module._Tries.failures

    def watched(self, j: int, uniform) -> int:
        decided.append(j)
        return failures(self, j, uniform)

    monkeypatch.setattr(module._Tries, "failures", watched)

    def stops() -> list[Stop]:
        return [stop(*walk, SeededCoins(seed), epsilon) for seed in range(sized(100, 2_000))]

    sure, by_floats = stops(), len(decided)
    monkeypatch.setattr(module, "MARGIN", 1.0)
    assert stops() == sure
    passed = sum(len(walk[0]) if each is None else each[0] for each in sure)
    assert len(decided) - by_floats == passed + sum(each is not None for each in sure)


# Privacy, exactly: every walk of up to four runs, every neighbour, every stop.

SIZES = [(2,), (1, 3), (2, 1, 3), (1, 1, 1, 1), (3, 1, 2, 1), (1, 2, 3, 3), (3, 3, 3, 3)]
THRESHOLDS = (-4, 1, 6)


def log_chances(
    sizes: tuple[int, ...], threshold: int, epsilon: float, **scales: int
) -> np.ndarray:
    """Of every vector of counts 0..3, in the order of `product`, the log-chance of every place and
    of None.
    """
    found = []
    for counts in product(range(4), repeat=len(sizes)):
        single = [count for count, size in zip(counts, sizes, strict=True) for _ in range(size)]
        stops = stop_chances(single, [1] * len(single), threshold, epsilon=epsilon, **scales)
        found.append(np.log([*stops.runs, stops.none]))
    return np.array(found)


def largest_ratio(logs: np.ndarray, runs: int) -> float:
    """Over all pairs whose counts differ by at most 1, in any direction each."""
    counts = np.array(list(product(range(4), repeat=runs)))
    near = (np.abs(counts[:, None] - counts[None]) <= 1).all(axis=2)
    np.fill_diagonal(near, False)
    pairs = np.argwhere(near)
    return float((logs[pairs[:, 0]] - logs[pairs[:, 1]]).max())


def ratio_over_all(sizes: tuple[int, ...], epsilon: float, **scales: int) -> float:
    return max(
        largest_ratio(log_chances(sizes, threshold, epsilon, **scales), len(sizes))
        for threshold in THRESHOLDS
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("epsilon", "sizes"), list(product([0.5, 1, 4], SIZES))[:: sized(5, 1)], ids=str
)
def test_no_stop_is_much_likelier_on_a_neighbour(
    sizes: tuple[int, ...], epsilon: float, figures: Figures
):
    ratio = ratio_over_all(sizes, epsilon)
    figures(f"largest log ratio {ratio:.4f} of {epsilon}")
    assert ratio <= epsilon + 1e-9


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_half_the_noise_on_counts_is_caught(epsilon: float):
    """Counts with the threshold's scale, a slip that published variants have made."""
    assert ratio_over_all((3, 3, 3, 3), epsilon, count_scale=2) > epsilon + 1e-9


def test_counts_that_move_by_two_are_caught():
    """The first three runs lose two, the last gains two: more than the noise is made for."""
    logs, counts = log_chances((3, 3, 3, 3), 1, 4), list(product(range(4), repeat=4))
    up, down = counts.index((2, 2, 2, 0)), counts.index((0, 0, 0, 2))
    assert np.abs(logs[up] - logs[down]).max() > 4 + 1e-9
