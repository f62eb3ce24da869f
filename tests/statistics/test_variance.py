"""Variances and standard deviations: what their intervals hold, by adding up chances and by draws;
forecasts beside what comes; every surface.

Losses of all small tables stand in `tests/audit/test_exact_attack.py`, reaches in
`test_contrast.py`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from statistics import pvariance, variance
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import binom
from test_mean import chance

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
from postri.answer.drawn import read_drawn
from postri.answer.forecast import ExpectedRows, Reach
from postri.audit.exact_additive import AdditiveCase, largest_loss
from postri.columns import integer_type
from postri.grid import grid_of
from postri.noise import DiscreteLaplace, Noise
from postri.privacy import replaces
from postri.question.checking import plain_question
from postri.statistics import variance as module
from postri.statistics.contrast import quick, reach, slow
from postri.statistics.statistic import Terms
from postri.statistics.variance import (
    MEANS_SHARE,
    SQUARE,
    MeanRange,
    Sums,
    SumsFromEnds,
    SumsFromMiddle,
    rows_part,
    square_noise,
)
from postri.window import SquareTotal
from proving import WITH_SYSTEM_COINS, sized

pytestmark = WITH_SYSTEM_COINS

BETA = Fraction(1, 5)
DOMAIN = Domain(0, 100)
CHANGES = pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)
NOISES = pytest.mark.parametrize("concentrated", [False, True], ids=["Laplace", "Gaussian"])


def exact_sums(
    places: list[int], steps: int, noise: Noise, less: int, *, middle: bool = False, parts: int = 1
) -> Sums:
    """The three numbers without noise, by what they are sums of."""
    if middle:
        square = SQUARE * parts
        rows = rows_part(noise) * steps**2 * parts
        y = [Fraction(2 * place - steps, steps) for place in places]
        one = sum(each**2 - Fraction(1, 2) for each in y) * square * steps**2
        two = sum(y) * Fraction(3, 4) * square * steps**2
        return SumsFromMiddle(
            int(one), int(two), rows * len(places), noise, square * steps**2, less
        )
    lower = sum((steps - place) ** 2 for place in places)
    between = sum(2 * place * (steps - place) for place in places)
    upper = sum(place**2 for place in places)
    return SumsFromEnds(
        lower * parts, between * parts, upper * parts, noise, steps**2 * parts, less
    )


def truth(places: list[int], steps: int, less: int) -> Fraction:
    """The variance as a textbook has it, of a domain from 0 to 1."""
    shares = [Fraction(place, steps) for place in places]
    return variance(shares) if less else pvariance(shares)


def noisy(exact: Sums, noise: tuple[int, int, int], told: Noise) -> Sums:
    """The numbers with noise on them, and the noise that the interval is computed for."""
    one, two, three = noise
    return replace(
        exact, one=exact.one + one, two=exact.two + two, three=exact.three + three, noise=told
    )


def missed(exact: Sums, right: Fraction, told: Noise, most: int) -> float:
    """The chance of an interval that does not hold the variance, over all noises of the three
    numbers.
    """
    numbers = range(-most, most + 1)
    total = sum(chance(exact.noise, number) for number in numbers)
    wrong = 0.0
    for drawn in product(numbers, repeat=3):
        low, high = noisy(exact, drawn, told).left_open(BETA)
        if not low <= right <= high:
            wrong += float(np.prod([chance(exact.noise, number) for number in drawn]))
    return wrong / total**3


# Noise of which nothing further out than FAR matters: its chance is below 2e-5.
NARROW, FAR = DiscreteLaplace(Fraction(1, 4)), 2


@pytest.mark.slow
@pytest.mark.parametrize("less", sized([0], [0, 1]), ids=sized(["n"], ["n", "n - 1"]))
def test_an_interval_misses_the_variance_with_probability_beta_at_most(less):
    """Every table of a few rows on three points."""
    rows = sized([[0, 1, 2, 2] * 10], list(combinations_with_replacement(range(3), 3)))
    for places in rows:
        exact = exact_sums(list(places), 2, NARROW, less)
        found = missed(exact, truth(list(places), 2, less), NARROW, FAR)
        assert found <= float(BETA) - 1e-3


@pytest.mark.slow
def test_intervals_for_far_less_noise_than_is_drawn_are_found():
    """The check above, with intervals for a thirtieth of the noise."""
    exact = exact_sums([0, 1, 2, 2] * 20, 2, DiscreteLaplace(Fraction(6)), 0)
    told = DiscreteLaplace(Fraction(1, 5))
    assert missed(exact, truth([0, 1, 2, 2] * 20, 2, 0), told, FAR) > float(BETA)


@pytest.mark.one_in(3)
@pytest.mark.slow
@CHANGES
@NOISES
@pytest.mark.parametrize("less", [0, 1], ids=["population", "sample"])
@pytest.mark.parametrize("places", [[3, 5, 6, 9], [0, 0, 0, 1], [0, 10, 10, 0]], ids=str)
def test_an_interval_holds_what_the_tests_of_mean_and_variance_keep_and_hardly_more(
    places, less, concentrated, change
):
    """For the true mean and variance, noise that moves the test of the variance to just within its
    reach is kept, and noise that moves it beyond is not: the proof, and that nothing is given away.
    """
    rows = places * 500
    steps = 10
    own = Terms(Fraction(1), BETA, 1 - BETA, change)
    if concentrated:
        own = replace(own, rho=Fraction(1, 2))
    parts, noise = square_noise(steps, own)
    exact = exact_sums(rows, steps, noise, less, middle=replaces(change), parts=parts)
    right = truth(rows, steps, less)
    mean = quick(Fraction(sum(rows), steps * len(rows)))
    weights = exact.weights(MeanRange.of(exact, mean, mean), quick(right), quick(right))
    far = slow(reach(noise, weights, BETA * (1 - MEANS_SHARE)))

    def tested(sums: Sums) -> Fraction:
        return slow(sums.squares(mean) - quick(right) * sums.divisor)

    assert tested(exact) == 0
    largest = max(range(3), key=lambda number: weights[number])
    for share, holds in ((Fraction(99, 100), True), (Fraction(104, 100), False)):
        for side in (-1, 1):
            moved = [0, 0, 0]
            moved[largest] = int(side * share * far / slow(weights[largest]))
            drawn = noisy(exact, tuple(moved), noise)
            assert abs(abs(tested(drawn)) - share * far) < Fraction(1, 1000) * far
            low, high = drawn.left_open(BETA)
            # At its ends nothing is cut off: there is no variance beyond them.
            if holds or 0 < right < quick_largest(exact):
                assert (low <= right <= high) == holds


def quick_largest(sums: Sums) -> Fraction:
    """The largest variance there is; one that is this is never cut off."""
    return slow(sums.largest) / (1 + sums.less)


@pytest.mark.slow
@pytest.mark.parametrize("less", [0, 1], ids=["population", "sample"])
def test_the_numbers_without_noise_leave_the_variance_open(less):
    """Of every table of two rows or more on four points, with wide noise and with hardly any."""
    for number in sized((2, 3), (2, 3, 4, 5)):
        for places in combinations_with_replacement(range(4), number):
            right = truth(list(places), 3, less)
            for scale, middle in product((Fraction(1, 100), Fraction(3)), (False, True)):
                noise = DiscreteLaplace(scale)
                sums = exact_sums(list(places), 3, noise, less, middle=middle)
                assert sums.variance == right
                low, high = sums.left_open(BETA)
                assert low <= right <= high


def asked(name: str, table: dict, change: object, **how: object) -> postri.Answer:
    question = plain_question(
        {"v": getattr(agg, name)("x", domain=DOMAIN)},
        **{"epsilon": 1, "confidence": 0.8, "protect": change, **how},
    )
    return question.bound(postri.open(table)).answers()[0][0]


GENERATOR = np.random.default_rng(4)
TABLES = {
    "a bell": np.clip(GENERATOR.normal(50, 12, 600), 0, 100).astype(int),
    "next to an end": GENERATOR.integers(0, 4, 400),
    "both ends": np.repeat([0, 100], 100),
    "one value": np.full(300, 73),
    "hardly any rows": np.array([3, 90]),
}
RUNS = sized(16, 3_000)


@pytest.mark.one_in(5)
@pytest.mark.slow
@CHANGES
@NOISES
@pytest.mark.parametrize("name", TABLES)
def test_intervals_hold_the_variance_as_often_as_they_say(name, change, concentrated):
    """Fails by luck once in ten million."""
    cells = TABLES[name]
    right = Fraction(pvariance([Fraction(int(cell)) for cell in cells]))
    misses = 0
    for _ in range(RUNS):
        answer = asked("variance", {"x": cells}, change, concentrated=concentrated)
        misses += not answer.interval.low <= right <= answer.interval.high
        assert 0 <= answer.interval.low <= answer.value <= answer.interval.high
    assert binom.sf(misses - 1, RUNS, 0.2) > 1e-7


@CHANGES
@NOISES
def test_a_forecast_is_no_less_than_what_comes(change, concentrated):
    """For a mean at an end of the domain, where an interval is longest, not far above; where the
    noise happens to be 0.
    """
    rho = Fraction(1, 2) if concentrated else None
    terms = Terms(Fraction(1), Fraction(1, 5), Fraction(4, 5), change, rho=rho)
    for name in ("variance", "std"):
        statistic = getattr(agg, name)("x", domain=DOMAIN)
        forecast = statistic.forecast(terms, ExpectedRows(600))
        assert isinstance(forecast, Reach)
        for cells, least in ((np.full(600, 0), 0.8), (TABLES["a bell"], 0.05)):
            with patch.object(module, "drawn_noise", lambda noise, coins: 0):
                answer = asked(name, {"x": cells}, change, concentrated=concentrated)
            ends = (answer.value - answer.interval.low, answer.interval.high - answer.value)
            assert least * float(forecast.reach) <= max(ends) <= forecast.reach


def test_a_standard_deviation_is_the_root_of_the_variance():
    cells = {"x": TABLES["a bell"]}
    for plain, root in (("variance", "std"), ("sample_variance", "sample_std")):
        one, other = (
            asked(name, cells, AddOrRemoveRows(1), coins=SeededCoins(2)) for name in (plain, root)
        )
        assert float(other.value) ** 2 == pytest.approx(float(one.value), rel=1e-3)
        assert float(other.interval.high) ** 2 == pytest.approx(float(one.interval.high), rel=1e-3)


def test_a_sample_divides_by_one_row_less():
    cells = {"x": [10, 30, 50]}
    how = {"epsilon": 10_000, "coins": SeededCoins(2)}
    assert Fraction(800, 3) in asked("variance", cells, AddOrRemoveRows(1), **how).interval
    answer = asked("sample_variance", cells, AddOrRemoveRows(1), **how)
    assert 400 in answer.interval and answer.interval.width < 10


def test_hardly_any_rows_leave_all_variances_open():
    """Where the noise happens to be 0."""
    with patch.object(module, "drawn_noise", lambda noise, coins: 0):
        answer, sample = (
            asked(name, {"x": [5]}, AddOrRemoveRows(1), epsilon="0.01")
            for name in ("variance", "sample_variance")
        )
    assert (answer.interval.low, answer.interval.high) == (0, 2_500)
    assert not answer.interval.is_whole_domain
    assert sample.interval.high == 5_000


def test_it_is_narrower_than_by_three_intervals_at_a_third_of_epsilon():
    """A third of epsilon and of beta each for n, the sum and the sum of squares from the middle, as
    a union bound would have it. Where the noise happens to be 0.
    """
    cells = TABLES["a bell"]
    with patch.object(module, "drawn_noise", lambda noise, coins: 0):
        answer = asked("variance", {"x": cells}, AddOrRemoveRows(1), confidence=0.95)
    far = float(DiscreteLaplace(Fraction(3 * 1_000)).reach(Fraction(1, 60))) / 1_000
    y = (cells - 50) / 50
    ends = []
    for n, one, two in product((-far, far), repeat=3):
        rows = len(y) + n
        ends.append(((y**2).sum() + two) / rows - ((y.sum() + one) / rows) ** 2)
    assert (max(ends) - min(ends)) * 2_500 > 2.5 * float(answer.interval.width)


def test_what_was_drawn_is_read_back():
    names = ("variance", "std", "sample_variance", "sample_std")
    for name, change in product(names, (AddOrRemoveRows(1), ReplaceRows(1))):
        drawn = asked(name, {"x": [1, 5]}, change).drawn
        again = read_drawn(json.loads(json.dumps(drawn.to_fields())))
        assert again == drawn


def test_noise_for_an_added_row_is_found_where_rows_are_replaced():
    """From the ends it is half of what it should be; from the middle, numbers of another size."""
    small = Domain(-1, 2)
    for groups in (("a",), ("a", "b")):
        case = AdditiveCase(
            agg.variance("x"), ReplaceRows(1), Fraction(1, 2), False, small, groups, most_rows=1
        )
        assert largest_loss(case)[0] == case.budget
        with patch.object(module, "moved_squares", lambda terms: (Fraction(1), Fraction(1))):
            assert largest_loss(case)[0] >= 2 * case.budget


@NOISES
def test_a_number_of_rows_with_a_little_less_noise_is_found(concentrated):
    """One more for each row, in the number of rows of `SumsFromMiddle`: a row that becomes null
    then costs too much.
    """
    case = AdditiveCase(
        agg.variance("x"), ReplaceRows(1), Fraction(1, 2), concentrated, Domain(-1, 2), most_rows=1
    )
    with patch.object(module, "rows_part", lambda noise: rows_part(noise) + 4):
        assert largest_loss(case)[0] > case.budget


def test_a_sum_of_products_with_the_noise_of_one_half_is_found():
    """Products have the weight 2: with that of 1, what a row adds would not be 1 in all."""
    case = AdditiveCase(
        agg.variance("x"), AddOrRemoveRows(1), Fraction(1, 2), False, Domain(0, 2), most_rows=1
    )
    real = module._square_noise

    def narrow(steps: int, parts: int, terms: Terms) -> Noise:
        return real(steps - 1, parts, terms)

    with patch.object(module, "_square_noise", narrow):
        assert largest_loss(case)[0] > case.budget


def test_squares_of_many_steps_are_exact():
    grid = grid_of(integer_type(64), Domain(0, 2**61))
    own = Terms(Fraction(10**6), BETA, 1 - BETA, AddOrRemoveRows(1))
    cells = [0, 2**61]
    counted = SquareTotal(2, sum(cells), sum(cell**2 for cell in cells))
    statistic = agg.variance("x", domain=Domain(0, 2**61))
    answer = statistic.draw(counted, grid, own, SeededCoins(1))
    assert Fraction(2**120) in answer.interval
    table = postri.open({"x": cells}, columns={"x": "integer"})
    assert table.square_totals("x", grid, table.bind(postri.engines.rows.Rows())) == [counted]


@pytest.mark.slow
def test_every_surface_gives_the_same_answer(tmp_path):
    with seeded(in_duckdb(tmp_path)) as db:
        for name, function in (
            ("variance", "VAR_POP"),
            ("std", "STDDEV_POP"),
            ("sample_variance", "VARIANCE"),
            ("sample_std", "STDDEV"),
        ):
            first = db.ask("bank", {"v": f"{name}(balance)"}, epsilon="0.5")
            again = db.sql(f"SELECT {function}(balance) AS v FROM bank", epsilon="0.5")
            assert (first.charged, again.charged) == (Fraction(1, 2), 0)
            assert again.answer("v").value == first.answer("v").value
            price = db.price("bank", {"v": f"{name}(balance)"}, epsilon="0.5")
            assert price.forecasts["v"].reach > 0
        assert db.variance("bank", "balance", epsilon="0.5").value > 0
        assert db.std("bank", "balance", epsilon="0.5").value > 0


def test_groups_filters_and_units():
    table = {
        "x": [10, 20, 30, 40] * 300,
        "g": ["a", "a", "b", "b"] * 300,
        "id": [number // 2 for number in range(1_200)],
    }
    wanted = {"v": agg.variance("x", domain=DOMAIN), "s": agg.std("x", domain=DOMAIN)}
    result = postri.ask(
        table,
        wanted,
        by={"g": ["a", "b"]},
        where="x < 40",
        epsilon=50,
        protect=AddOrRemoveUnits("id", rows=2),
        coins=SeededCoins(3),
    )
    assert 25 in result.answer("v", "a").interval
    assert result.answer("v", "b").interval.low == 0
    assert 5 in result.answer("s", "a").interval


def test_what_has_no_variance_is_refused():
    with pytest.raises(InputError, match="a variance of 'x' needs a domain"):
        postri.variance({"x": np.arange(5)}, "x", epsilon=1)
    with pytest.raises(InputError, match=r"fewer than 2\^62 steps"):
        postri.variance({"x": np.arange(5)}, "x", domain=Domain(0, 2**62), epsilon=1)
    with pytest.raises(InputError, match="no standard deviation of a column of dates"):
        postri.std(
            {"x": np.array(["2024-01-01"], "M8[D]")},
            "x",
            domain=Domain("2024-01-01", "2024-02-01"),
            epsilon=1,
        )
