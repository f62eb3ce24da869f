"""Means: what their intervals hold, by adding up the chances of all noises; the two ways in which
they are drawn; forecasts beside what comes.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import pytest

import postri
from postri import AddOrRemoveRows, AddOrRemoveUnits, Domain, ReplaceRows, SeededCoins, agg
from postri.answer.drawn import Noisy
from postri.answer.forecast import ExpectedRows, Reach
from postri.columns import integer_type
from postri.grid import grid_of
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.question.checking import plain_question
from postri.statistics.mean import (
    DrawnMean,
    MeanFromEnds,
    MeanFromMiddle,
    ends_noise,
    middle_noises,
)
from postri.statistics.statistic import Terms
from postri.window import Total

BETA = Fraction(1, 10)
TWO, THREE = Fraction(2), Fraction(3)
# Noise further out than this has a chance of about 1e-6 with the narrow noises below.
MOST = 14


def chance(noise: Noise, number: int) -> float:
    """In proportion: the sum over all is not 1."""
    if isinstance(noise, DiscreteLaplace):
        return exp(-abs(number) / float(noise.scale))
    return exp(-(number**2) / (2 * float(noise.variance)))


def missed(exact: DrawnMean, mean: Fraction, most: int = MOST) -> float:
    """The chance of an interval that does not hold the mean: over all noises of both numbers, up to
    the most that matters.
    """
    numbers = range(-most, most + 1)
    one_sum = sum(chance(exact.one.noise, number) for number in numbers)
    other_sum = sum(chance(exact.other.noise, number) for number in numbers)
    total = 0.0
    for z, y in product(numbers, numbers):
        one = Noisy(exact.one.drawn + z, exact.one.unit, exact.one.noise)
        other = Noisy(exact.other.drawn + y, exact.other.unit, exact.other.noise)
        drawn = type(exact)(one, other, exact.lower, exact.upper, exact.step)
        interval = drawn.interval(BETA)
        if not interval.low <= mean <= interval.high:
            total += chance(one.noise, z) * chance(other.noise, y)
    return total / one_sum / other_sum


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "noise", [DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(2))], ids=str
)
@pytest.mark.parametrize("cells", [[0] * 3 + [2] * 9, [2]], ids=str)
def test_an_interval_misses_the_mean_with_probability_beta_at_most(cells, noise):
    exact = MeanFromEnds(
        Noisy(sum(cells), Fraction(1), noise),
        Noisy(2 * len(cells) - sum(cells), Fraction(1), noise),
        Fraction(0),
        TWO,
        Fraction(1),
    )
    found = missed(exact, Fraction(sum(cells), len(cells)))
    assert found <= float(BETA) - 1e-5
    # With rows enough it is not much less either: the interval is no wider than it must be.
    if len(cells) > 3:
        assert found > float(BETA) / 2


@pytest.mark.slow
def test_the_same_from_the_middle_and_the_number_of_rows():
    cells = [0] * 3 + [3] * 9
    total, rows = middle_noises(THREE, Fraction(1, 2), terms(ReplaceRows(1), epsilon=3))
    exact = MeanFromMiddle(
        Noisy(2 * sum(cells) - 3 * len(cells), Fraction(1, 2), total),
        Noisy(len(cells), Fraction(1), rows),
        Fraction(0),
        THREE,
        Fraction(1),
    )
    found = missed(exact, Fraction(sum(cells), len(cells)))
    assert float(BETA) / 2 < found <= float(BETA) - 1e-5


def terms(protect: postri.privacy.ProtectedChange, epsilon: int = 1, **how: object) -> Terms:
    return Terms(Fraction(epsilon), BETA, 1 - BETA, protect, **how)


def asked(table: object, change: object, *, epsilon: object = 1, **how: object) -> postri.Answer:
    question = plain_question(
        {"m": agg.mean("x", domain=Domain(0, 100))},
        epsilon=epsilon,
        confidence=0.9,
        protect=change,
        coins=SeededCoins(5),
        **how,
    )
    return question.bound(postri.open(table)).answers()[0][0]


TABLE = {"x": list(range(0, 60)) * 20, "id": list(range(1_200))}


@pytest.mark.parametrize(
    ("change", "by", "kind"),
    [
        (AddOrRemoveRows(1), None, MeanFromEnds),
        (AddOrRemoveUnits("id", rows=1), None, MeanFromEnds),
        (ReplaceRows(1), None, MeanFromMiddle),
        (ReplaceRows(1), {"id": [1, 2]}, MeanFromEnds),
    ],
    ids=str,
)
def test_the_number_of_rows_is_drawn_where_a_replaced_row_stays_in_its_group(change, by, kind):
    assert type(asked(TABLE, change, by=by).drawn) is kind


@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)
@pytest.mark.parametrize("concentrated", [False, True], ids=["Laplace", "Gaussian"])
def test_a_forecast_is_no_less_than_what_comes_and_not_far_above(change, concentrated):
    """For a mean next to an end of the domain, where an interval is longest, and in the middle."""
    high = {"x": [97] * 1_200}
    rho = Fraction(1, 2) if concentrated else None
    forecast = agg.mean("x", domain=Domain(0, 100)).forecast(
        terms(change, rho=rho), ExpectedRows(1_200)
    )
    assert isinstance(forecast, Reach)
    for table, least in ((high, 0.9), (TABLE, 0.5)):
        answer = asked(table, change, concentrated=concentrated)
        reach = max(answer.value - answer.interval.low, answer.interval.high - answer.value)
        assert least * float(forecast.reach) <= reach <= forecast.reach


def test_a_forecast_of_a_few_coarse_steps_is_no_less_than_what_comes():
    """At this epsilon one noise alone is nearly always 0, and two together are not: the interval is
    longest in the middle of the domain.
    """
    beta = Fraction(1, 20)
    wanted = agg.mean("x", domain=Domain(-5, 7))
    own = Terms(Fraction(25), beta, 1 - beta, AddOrRemoveRows(1), rho=Fraction(625))
    assert ends_noise(12, own).reach(beta) == 0
    forecast = wanted.forecast(own, ExpectedRows(1_000))
    grid = grid_of(integer_type(64), wanted.domain)
    answer = wanted.draw(Total(1_000, 500), grid, own, SeededCoins(1))
    assert 0 < (answer.interval.high - answer.interval.low) / 2 <= forecast.reach


def test_numbers_that_no_mean_explains_leave_the_whole_domain():
    noise = DiscreteLaplace(Fraction(1))
    drawn = MeanFromEnds(
        Noisy(-50, Fraction(1), noise), Noisy(60, Fraction(1), noise), Fraction(0), TWO, Fraction(1)
    )
    interval = drawn.interval(BETA)
    assert (interval.low, interval.high) == (0, 2)
    assert interval.low_is_edge
    assert interval.high_is_edge


def test_ends_beyond_the_domain_are_its_edges():
    answer = asked({"x": [0] * 1_000}, AddOrRemoveRows(1))
    assert answer.interval.low == 0
    assert answer.interval.low_is_edge
    assert 0 < answer.interval.high < 1
    assert not answer.interval.high_is_edge


def test_digits_follow_the_noise():
    """Rounding to three digits would be most of the interval of a million rows."""
    noise = DiscreteLaplace(Fraction(100))
    million = MeanFromEnds(
        Noisy(30 * 10**6, Fraction(1), noise),
        Noisy(70 * 10**6, Fraction(1), noise),
        Fraction(0),
        Fraction(100),
        Fraction(1),
    )
    assert str(million.value) == "30.000000"
    # Both noises with the weights 0.7 and 0.3 reach 2.229 scales at 95 % (the closed
    # form of their sum), a scale is 1e-4, and the ends are rounded outward to 1e-6.
    assert float(million.interval(Fraction(1, 20)).width) == pytest.approx(4.458e-4, abs=5e-6)


def test_the_interval_of_a_mean_is_narrower_than_by_two_intervals_at_half_of_epsilon():
    """Half of epsilon and of beta each for the sum from the middle and for the number of rows, as a
    union bound would have it: the same rows then reach 1.8 times as far to each side, or more.
    """
    answer = asked(TABLE, AddOrRemoveRows(1))
    half = Fraction(1, 2)
    total = 50 * DiscreteLaplace(1 / half).reach(BETA / 2)
    rows = DiscreteLaplace(1 / half).reach(BETA / 2)
    exact = sum(TABLE["x"]) - 50 * 1_200
    ends = [
        Fraction(exact + sign * total, 1_200 + other * rows)
        for sign, other in product((-1, 1), (-1, 1))
    ]
    assert max(ends) - min(ends) > Fraction("1.8") * Fraction(answer.interval.width)
