"""What follows from a release of a distribution: answers about the raw cells, in order, whichever
nodes happened to be divided, and refusals that say what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import postri
from postri import Distribution, Domain, InputError, SeededCoins
from postri.audit.tiny_tables import plain_grid
from postri.methods.tree_release import release
from postri.noise import DiscreteLaplace
from postri.tree.drawn_tree import DrawnTree
from postri.tree.front import Wish
from postri.tree.shape import TreeShape, shape_of
from postri.tree.tails import NoiseSum
from proving import sized
from small_trees import counts_below

PERCENT = [Fraction(k, 100) for k in range(1, 100)]
# At this epsilon no noise is drawn but once in more than a million runs.
SURELY = 1_000
random = np.random.default_rng(18)


@cache
def smooth() -> Distribution:
    cells = random.integers(0, 1_001, 3_000)
    return postri.distribution(cells, epsilon=1, domain=Domain(0, 1_000), coins=SeededCoins(7))


# Cells that are rounded onto the grid: what is told holds for the raw ones.

RAW = np.arange(-4, 29) / 4
GRIDS = {
    "whole steps": (Domain(0, 5), RAW),
    "an odd lower end": (Domain(1, 6), RAW),
    "half-way cells alone": (Domain(0, 5), np.repeat([0.5, 1.5, 2.5, 3.5], 30)),
    "steps of a half": (Domain(0, 5, step="0.5"), np.repeat([0.25, 0.75, 1.0, 4.75], 30)),
    "whole cells on coarse steps": (Domain(0, 60, step=10), np.arange(0, 65)),
    "no rounding": (Domain(0, 5), np.arange(-2, 9)),
}


def points(domain: Domain) -> Iterator[Fraction]:
    """On the grid, half-way, and beside both."""
    lower, upper, step = domain.bounds
    number = int((upper - lower) / step)
    parts = sized(4, 8)
    for place in range(parts * number + 1):
        yield lower + step * Fraction(place, parts)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", GRIDS)
def test_shares_and_counts_hold_for_the_raw_cells(name: str):
    domain, cells = GRIDS[name]
    repeated = np.repeat(cells, 5)
    found = postri.distribution(repeated, epsilon=SURELY, domain=domain, coins=SeededCoins(1))
    inside = list(points(domain))
    for point in inside[1:]:
        below = int(np.sum(repeated < float(point)))
        share = found.share(below=point).interval
        assert share.low <= Fraction(below, len(repeated)) <= share.high
        if point < inside[-1]:
            assert below in found.count(None, point).interval
            assert len(repeated) - below in found.count(point).interval
    for low, high in zip(inside[:-3:3], inside[2:-1:3], strict=True):
        between = int(np.sum((repeated >= float(low)) & (repeated < float(high))))
        assert low == inside[0] or between in found.count(low, high).interval


def test_a_point_on_the_grid_is_told_exactly_where_nothing_is_rounded():
    found = postri.distribution(
        np.repeat(np.arange(6), 40), epsilon=SURELY, domain=Domain(0, 5), coins=SeededCoins(1)
    )
    counts = [found.count(low, low + 1).interval for low in range(5)]
    assert [(each.low, each.high) for each in counts[:4]] == [(40, 40)] * 4


def test_half_way_cells_are_not_below_the_point_where_they_lie():
    """0.5 goes to index 0, with the cells below it: neither all nor none of them is certain."""
    found = postri.distribution(
        np.full(100, 0.5), epsilon=SURELY, domain=Domain(0, 5), coins=SeededCoins(1)
    )
    assert 0 in found.share(below=0.5).interval
    assert 0 in found.count(0, 0.5).interval
    # 1.5 would go to index 2, so all that is below 1.5 is known.
    assert found.share(below=1.5).interval.low > 0.9


# Which nodes are divided has to do with the noise of the estimates that are then used.

FEW_ROWS = 58


def count_misses(runs: int) -> int:
    """How often the number of rows below 1 is missed, where few rows lie at 0 and how finely they
    are told depends on the noise.
    """
    shape = shape_of(plain_grid(8**7))
    below = counts_below([0] * FEW_ROWS)
    noise = DiscreteLaplace(Fraction(1))
    wish = Wish([], Fraction(1, 20))
    missed = 0
    for seed in range(runs):
        (tree,) = release(shape, noise, 1, below, wish, SeededCoins(seed))
        answer = replace(smooth().answer, drawn=DrawnTree(tree))
        missed += FEW_ROWS not in Distribution(answer).count(None, 1).interval
    return missed


@pytest.fixture
def kept_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are the same in every release: so each reach is computed once."""
    original = NoiseSum.reach

    @cache
    def kept(weights: bytes, squares: bytes, chance: float) -> float:
        numbers = (np.frombuffer(each) for each in (squares, weights))
        return original(NoiseSum(DiscreteLaplace, *numbers), chance)

    def reach(noise: NoiseSum, chance: float) -> float:
        return kept(noise.weights.tobytes(), noise.squares.tobytes(), chance)

    monkeypatch.setattr(NoiseSum, "reach", reach)


@pytest.mark.slow
@pytest.mark.usefixtures("kept_reaches")
def test_a_count_holds_also_where_the_noise_decides_how_finely_it_is_told(
    figures: Callable[[str], None],
):
    """So many misses by luck: once in ten million runs, were each one in twenty."""
    runs = sized(80, 5_000)
    missed = count_misses(runs)
    figures(f"{missed} of {runs} missed, beta 0.05")
    assert binom.sf(missed - 1, runs, 0.05) > 1e-7


@pytest.mark.slow
@pytest.mark.usefixtures("kept_reaches")
def test_one_beta_for_all_places_where_a_count_may_be_told_is_caught(
    monkeypatch: pytest.MonkeyPatch,
):
    """Each of them fails in one run of twenty, but noise that is too low ends the division."""
    monkeypatch.setattr(TreeShape, "chance_at", lambda *_: Fraction(1))
    runs = sized(200, 3_000)
    assert binom.sf(count_misses(runs) - 1, runs, 0.05) < sized(1e-3, 1e-7)


# Order.


@pytest.mark.slow
def test_quantiles_rise_and_their_intervals_never_cross():
    answers = smooth().quantiles(PERCENT)
    for one, other in pairwise(answers):
        assert one.value <= other.value
        assert one.interval.low <= other.interval.low
        assert one.interval.high <= other.interval.high
    assert all(answer.value in answer.interval for answer in answers)


def test_quantiles_are_told_in_the_order_in_which_they_are_asked():
    ps = ["0.9", "0.1", "0.5"]
    answers = smooth().quantiles(ps)
    assert [answer.p for answer in answers] == [Fraction(p) for p in ps]
    assert answers[1].value <= answers[2].value <= answers[0].value


def test_an_answer_lies_inside_its_interval():
    found = smooth()
    answers = [found.median, found.share(below=500), found.count(100, 900), found.count(7)]
    answers += [answer for _, group in found.histogram(9).groups for answer in group]
    answers += [answer for _, group in found.cdf([1, 10, 999]).groups for answer in group]
    assert all(answer.value in answer.interval for answer in answers)


def test_more_confidence_never_makes_an_interval_shorter():
    found = smooth()
    for one, other in pairwise(["0.5", "0.9", "0.99", "0.999999", "0.9999999999999999999"]):
        asked: list[Callable[[str], Any]] = [
            lambda sure: found.quantile("0.3", confidence=sure),
            lambda sure: found.count(250, 777, confidence=sure),
            lambda sure: found.share(below=333, confidence=sure),
        ]
        for ask in asked:
            narrow, wide = ask(one).interval, ask(other).interval
            assert wide.low <= narrow.low
            assert narrow.high <= wide.high


@pytest.mark.slow
def test_intervals_that_hold_at_once_are_no_shorter():
    found = smooth()
    for alone, together in zip(
        found.quantiles(PERCENT), found.quantiles(PERCENT, simultaneous=True), strict=True
    ):
        assert together.interval.low <= alone.interval.low
        assert alone.interval.high <= together.interval.high


def test_what_follows_costs_nothing_more():
    answer = smooth().quantile(0.9)
    assert answer.spend.epsilon == 0
    assert answer.spend.release == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "cells",
    [
        np.arange(60),
        np.arange(60) / 7,
        np.array([2**64 - 1] * 5, np.uint64),
        np.datetime64("2024-01-31") + np.arange(60),
        np.datetime64("2024-01-31T12:00:00") + np.arange(60),
    ],
    ids=["integers", "floats", "uint64", "dates", "timestamps"],
)
def test_a_release_reads_back_and_answers_the_same(cells: np.ndarray):
    domain = None
    if cells.dtype.kind == "f":
        domain = Domain(0, 50, step="0.01")
    found = postri.distribution(cells, epsilon=1, domain=domain, coins=SeededCoins(2))
    again = Distribution.from_json(found.to_json())
    ps = [Fraction(1, 20), Fraction(1, 2), Fraction(19, 20)]
    assert list(again.quantiles(ps)) == list(found.quantiles(ps))
    assert again.boundaries == found.boundaries
    point = found.boundaries[0]
    assert (
        again.histogram([point, found.boundaries[-1]]).groups
        == found.histogram([point, found.boundaries[-1]]).groups
    )
    assert again.share(below=point) == found.share(below=point)
    assert again.to_json() == found.to_json()


TORN = [
    "",
    "[]",
    "{}",
    "null",
    '{"form": 2}',
    '{"form": 1, "answer": {}, "protect": {}}',
]


@pytest.mark.parametrize("text", TORN)
def test_another_text_is_refused(text: str):
    with pytest.raises(InputError, match="no distribution"):
        Distribution.from_json(text)


def test_a_release_that_was_changed_is_refused_or_reads():
    """Never with an error of another kind."""
    text = smooth().to_json()
    for place in range(0, len(text), max(1, len(text) // 150)):
        for changed in (text[:place], text[:place] + "9" + text[place + 1 :]):
            try:
                Distribution.from_json(changed)
            except InputError:
                continue


REFUSED: dict[str, tuple[Callable[[Distribution], object], str]] = {
    "edges that fall": (lambda d: d.histogram([10, 5]), "edges must rise"),
    "equal edges": (lambda d: d.histogram([5, 5]), "edges must rise"),
    "one edge": (lambda d: d.histogram([5]), "at least two edges"),
    "an edge outside": (lambda d: d.histogram([-1, 5]), "inside the domain, 0 to 1000, got -1"),
    "no bars": (lambda d: d.histogram(0), "1 to 10,000 bars, got 0"),
    "too many bars": (lambda d: d.histogram(10_001), "1 to 10,000 bars"),
    "too many edges": (lambda d: d.histogram(range(10_002)), "at most 10,000 points"),
    "edges of another kind": (lambda d: d.histogram(["2024-01-31", 5]), "must be a number"),
    "edges that are no list": (lambda d: d.histogram("0 10"), "must be a list"),
    "certainty": (lambda d: d.quantile(0.5, confidence=1), "strictly between 0 and 1, got 1"),
    "no confidence": (lambda d: d.count(confidence=0), "strictly between 0 and 1"),
    "too many points": (lambda d: d.cdf(range(1, 10_002)), "at most 10,000 points"),
    "no points": (lambda d: d.cdf([]), "at least one point"),
    "too many quantiles": (lambda d: d.quantiles(["0.5"] * 10_001), "at most 10,000 points"),
    "quantile 1": (lambda d: d.quantile(1), "p must lie strictly between 0 and 1"),
    "below the domain": (lambda d: d.share(below=-5), "above 0 and up to 1000, got -5"),
    "at its lower end": (lambda d: d.share(below=0), "above 0 and up to 1000"),
    "beyond the domain": (lambda d: d.share(below=1_001), "above 0 and up to 1000, got 1001"),
    "a date": (lambda d: d.share(below=date(2024, 1, 31)), "below must be a number"),
    "no number": (lambda d: d.share(below=float("nan")), "below must be a number"),
    "from high to low": (lambda d: d.count(9, 3), "low must be below high, got 9 and 3"),
    "from a point to itself": (lambda d: d.count(9, 9), "low must be below high"),
    "from beyond": (lambda d: d.count(1_001), "low must lie inside the domain"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_question_that_cannot_be_answered_is_refused_in_words(name: str):
    ask, words = REFUSED[name]
    with pytest.raises(InputError, match=words):
        ask(smooth())


def test_no_cell_lies_between_two_points_of_no_grid_point():
    answer = smooth().count("5.2", "5.4")
    assert (answer.value, answer.interval.low, answer.interval.high) == (0, 0, 0)


def test_points_of_another_kind_are_refused_by_dates_and_times():
    days = postri.distribution(
        np.datetime64("2024-01-31") + np.arange(40), epsilon=1, coins=SeededCoins(2)
    )
    assert days.share(below=date(2024, 2, 10)).value <= 1
    for point in (5, datetime(2024, 2, 10, 12)):
        with pytest.raises(InputError, match="below must be a date"):
            days.share(below=point)


def test_a_confidence_that_no_float_tells_from_one_must_be_given_again():
    """The release holds for it; what follows needs the exact number."""
    sure = "0.99999999999999999999"
    found = postri.distribution(
        np.arange(900), epsilon=1, domain=Domain(0, 999), confidence=sure, coins=SeededCoins(2)
    )
    with pytest.raises(InputError, match="confidence"):
        found.count(5, 80)
    assert 75 in found.count(5, 80, confidence=sure).interval


def test_a_histogram_covers_the_whole_domain():
    found = smooth()
    for edges in (1, 5, 50):
        rows = found.histogram(edges).groups
        assert rows[0][0][0] == 0
        assert rows[-1][0][1] == 1_000
        assert all(one[0][1] == other[0][0] for one, other in pairwise(rows))


def test_the_column_is_the_second_argument_as_that_of_a_median_is():
    table = {"pay": list(range(1_000)), "age": [40] * 1_000}
    found = postri.distribution(table, "pay", epsilon=SURELY, coins=SeededCoins(1))
    assert 499.5 in found.median.interval
