"""Ways to many quantiles: what they give, and how their errors are counted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from postri import Domain, InputError, SeededCoins
from postri.research.many.study import check_numbers, check_ways, many_line
from postri.research.many.ways import VALUES_ALONE, DrawnQuantile, WantedQuantiles, Way, way_named
from postri.research.subjects import Subject, shape_subject

BETA = Fraction(1, 20)
WAYS = ["depth", "tree", *VALUES_ALONE]
EVERY_WAY = pytest.mark.parametrize("name", WAYS)
HARD = {
    "nothing": [],
    "one row": [7],
    "one value": [7] * 50,
    "edges": [0] * 20 + [10] * 20,
    "few values": [1, 1, 1, 2, 9, 9, 9, 9, 9],
}


def asked(number: int, epsilon: int = 1) -> WantedQuantiles:
    return WantedQuantiles.evenly(number, Fraction(epsilon), BETA)


def subject_of(values: list[int], domain: Domain) -> Subject:
    return Subject.of_values("few", np.array(values, dtype=np.int64), domain)


@pytest.mark.slow
@EVERY_WAY
@pytest.mark.parametrize("rows", HARD)
def test_values_rise_and_lie_inside_the_domain(name: str, rows: str):
    subject = subject_of(HARD[rows], Domain(0, 10))
    draw = way_named(name).prepare(asked(5), subject)
    coins = SeededCoins(1)
    for _ in range(5):
        values = [estimate.value for estimate in draw(coins)]
        assert len(values) == 5 and values == sorted(values)
        assert values[0] >= 0 and values[-1] <= 10


@pytest.mark.one_in(2)
@pytest.mark.slow
@EVERY_WAY
@pytest.mark.parametrize("number", [1, 2, 5])
def test_the_error_falls_as_epsilon_rises(name: str, number: int):
    subject = shape_subject("lognormal", 1_000, 1)
    errors = [
        many_line(way_named(name), asked(number, epsilon), subject, 3).rank_error
        for epsilon in (1, 30)
    ]
    assert errors[1] < errors[0] / 2 or errors[1] < 1


def test_only_methods_have_intervals():
    subject = shape_subject("normal", 2_000, 1)
    for name in WAYS:
        line = many_line(way_named(name), asked(3), subject, 3)
        assert (line.half_width_rows is None) == (line.coverage is None) == (name in VALUES_ALONE)


def test_a_line_is_the_same_whenever_it_is_drawn():
    subject = shape_subject("normal", 1_000, 1)
    first, again = (many_line(way_named("halving"), asked(3), subject, 4) for _ in range(2))
    assert first.rank_error == again.rank_error


@pytest.mark.parametrize("name", VALUES_ALONE)
def test_with_a_large_epsilon_the_published_ways_find_the_quantiles(name: str):
    """Ten rows of each of ten values: each decile lies between two values or on one of them."""
    subject = subject_of([10 * value for value in range(1, 11) for _ in range(10)], Domain(0, 200))
    line = many_line(way_named(name), asked(9, 1_000), subject, 5)
    assert line.rank_error == pytest.approx(0)


class _Fixed(Way):
    """Gives what it was told."""

    name = "fixed"

    def __init__(self, *estimates: DrawnQuantile) -> None:
        self.estimates = list(estimates)

    def check(self, asked, grid):
        return None

    def prepare(self, asked, subject):
        return lambda coins: self.estimates


@pytest.mark.parametrize(
    ("value", "error"),
    [(0, 4), (2, 2), (Fraction(5, 2), 2), (3, 1), (4, 0), (Fraction(9, 2), 1), (5, 1), (9, 4)],
)
def test_an_error_is_how_many_rows_a_value_misses_its_rank_by(value, error: float):
    """The median of eight rows has rank 4; three rows lie below 4, and five at or below it."""
    subject = subject_of([1, 2, 3, 4, 4, 5, 6, 7], Domain(0, 10))
    assert many_line(_Fixed(DrawnQuantile(value)), asked(1), subject, 1).rank_error == error


@pytest.mark.parametrize(
    ("ends", "held", "half_width"),
    [((4, 4), 1.0, 1.0), ((0, 3), 0.0, 1.5), ((5, 9), 0.0, 1.5), ((3, 5), 1.0, 2.0)],
)
def test_an_interval_holds_its_quantile_by_ranks(ends, held: float, half_width: float):
    subject = subject_of([1, 2, 3, 4, 4, 5, 6, 7], Domain(0, 10))
    line = many_line(_Fixed(DrawnQuantile(4, ends)), asked(1), subject, 1)
    assert (line.coverage, line.half_width_rows) == (held, half_width)


def test_a_domain_of_too_many_points_is_refused_before_a_row_is_read():
    grid = subject_of([1], Domain(0, 2**50)).grid
    for name in VALUES_ALONE:
        with pytest.raises(InputError, match="give --lower and --upper"):
            way_named(name).check(asked(3), grid)


def test_a_method_of_medians_refuses_other_quantiles():
    grid = subject_of([1], Domain(0, 100)).grid
    with pytest.raises(InputError, match="answers for the median alone"):
        way_named("postri").check(asked(3), grid)


def test_names_and_numbers_are_read_from_lists():
    assert [way.name for way in check_ways("depth, halving")] == ["depth", "halving"]
    assert check_numbers("3, 9,99") == [3, 9, 99]
    with pytest.raises(InputError, match="did you mean 'halving'"):
        check_ways("halfing")
    for wrong in ("", "x", "3,", "-1", "1.5", "٣"):
        with pytest.raises(InputError, match="quantiles must be whole numbers"):
            check_numbers(wrong)
    for wrong in ("0", "1000", "9,0"):
        with pytest.raises(InputError, match="quantiles must be 1 to 999 each"):
            check_numbers(wrong)
