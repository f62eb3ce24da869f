"""Counts, sums, means and histograms by exhaustion: every tiny table, every neighbour, the noise
that the shipped code would draw.

Laplace noise of scale s moves a log chance by at most |difference| / s, and by exactly that
somewhere. So the largest log ratio of all numbers that a question draws is the sum of these.
Gaussian noise has a Rényi divergence of at most order * difference^2 / (2 variance), and of exactly
that at whole orders. So the rho of all numbers is the sum of these. Both are exact, with no chance
involved. The samplers are checked against the distributions by themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, sqrt
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from chi_square import fits

import postri
from postri import AddOrRemoveRows, AddOrRemoveUnits, Domain, ReplaceRows, ReplaceUnits, agg
from postri.answer import Interval
from postri.audit.exact_additive import loss
from postri.mechanisms.coins import SystemCoins
from postri.mechanisms.gaussian import discrete_gaussian
from postri.mechanisms.laplace import discrete_laplace
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.question.checking import plain_question
from postri.statistics import additive, count, histogram, mean
from proving import WITH_SYSTEM_COINS, sized

pytestmark = [*WITH_SYSTEM_COINS, pytest.mark.slow]

EPSILON = Fraction(3, 4)
DOMAINS = {
    "from zero": Domain(0, 2),
    "around zero": Domain(-1, 2),
    "far from zero": Domain(10, 12),
    "off its own steps": Domain("0.5", "2.5"),
    "half steps": Domain(-1, 0, step="0.5"),
}
AGGREGATES = {
    "count()": lambda _: agg.count(),
    "count(x)": lambda _: agg.count("x"),
    "sum": lambda domain: agg.sum("x", domain=domain),
    "mean": lambda domain: agg.mean("x", domain=domain),
    "histogram": lambda domain: agg.histogram("x", _all_edges(domain), domain=domain),
    "inner bins": lambda domain: agg.histogram("x", _all_edges(domain)[:-1], domain=domain),
}


def _all_edges(domain: Domain) -> list:
    """A bin for each point of the domain but the last, which the last bin holds too."""
    return [domain.lower + step * domain.step for step in range(domain.points)]


Row = tuple[str, object]
Rows = tuple[Row, ...]


def cells(domain: Domain) -> list[object]:
    """Both ends, something between and beyond them, and null."""
    return [domain.lower, domain.lower + domain.step, domain.upper, domain.upper + 5, None]


def tables(options: list[Row], most: int) -> Iterator[Rows]:
    for size in range(most + 1):
        yield from combinations_with_replacement(options, size)


def drawn(
    table: dict, aggregate: str, domain: Domain, change: object, *, gaussian: bool, **how: object
) -> list[tuple[Fraction, Noise]]:
    """Every number that a question draws, without its noise, and that noise."""
    noises: list[Noise] = []

    def no_noise(noise: Noise, coins: object) -> int:
        noises.append(noise)
        return 0

    question = plain_question(
        {"a": AGGREGATES[aggregate](domain)},
        protect=change,
        epsilon=EPSILON,
        confidence=0.5,
        concentrated=gaussian,
        **how,
    )
    with (
        patch.object(additive, "discrete_laplace", no_noise),
        patch.object(additive, "discrete_gaussian", no_noise),
        # Intervals are not looked at here.
        patch.object(mean.DrawnMean, "interval", lambda drawn, beta: Interval(0, 0)),
    ):
        answers = question.bound(postri.open(table)).answers()
    numbers = []
    for answer in (answer for group in answers for answer in group):
        parts = (answer.drawn,)
        if aggregate == "mean":
            parts = (answer.drawn.one, answer.drawn.other)
        numbers += [Fraction(part.drawn) for part in parts]
    return list(zip(numbers, noises, strict=True))


def as_table(rows: Rows) -> dict[str, list]:
    return {
        "g": [group for group, _ in rows],
        "x": [None if cell is None else float(cell) for _, cell in rows],
    }


def neighbours(rows: Rows, options: list[Row], change: object) -> Iterator[Rows]:
    """The tables that one person's one row makes of it."""
    for place in range(len(rows)):
        rest = rows[:place] + rows[place + 1 :]
        if isinstance(change, AddOrRemoveRows):
            yield rest
        else:
            yield from (tuple(sorted((*rest, row), key=repr)) for row in options)


def largest(
    aggregate: str,
    domain: Domain,
    change: object,
    groups: list[str],
    *,
    gaussian: bool,
    **how: object,
) -> Fraction:
    options = [(group, cell) for group in groups for cell in cells(domain)]
    found = {
        tuple(sorted(rows, key=repr)): drawn(
            as_table(rows), aggregate, domain, change, gaussian=gaussian, **how
        )
        for rows in tables(options, sized(2, 3))
    }
    return max(
        loss(numbers, found[tuple(sorted(other, key=repr))])
        for rows, numbers in found.items()
        for other in neighbours(rows, options, change)
    )


LAPLACE = pytest.param(False, EPSILON, id="Laplace")
GAUSSIAN = pytest.param(True, EPSILON**2 / 2, id="Gaussian")


def noises(*small: Any) -> pytest.MarkDecorator:
    """Both of them, or these outside of `make prove`: what moves is the same."""
    both = [LAPLACE, GAUSSIAN]
    return pytest.mark.parametrize(("gaussian", "budget"), sized(list(small), both))


ROW_CHANGES = pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)


# Gaussian noise has the same moves: outside of `make prove` some domains are enough.
GAUSSIAN_DOMAINS = sized(["around zero", "half steps"], list(DOMAINS))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("domain", "gaussian", "budget"),
    [
        *((domain, False, EPSILON) for domain in DOMAINS),
        *((domain, True, EPSILON**2 / 2) for domain in GAUSSIAN_DOMAINS),
    ],
    ids=str,
)
@ROW_CHANGES
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_one_row_moves_what_is_drawn_by_epsilon_at_most_and_somewhere_by_all_of_it(
    aggregate, domain, change, gaussian, budget
):
    found = largest(aggregate, DOMAINS[domain], change, ["a"], gaussian=gaussian)
    # A replaced row moves no number of all rows; that is public, and still costs.
    public = aggregate == "count()" and isinstance(change, ReplaceRows)
    assert found == (0 if public else budget)


@pytest.mark.one_in(6)
@noises(LAPLACE)
@ROW_CHANGES
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_the_same_holds_for_all_groups_together(aggregate, change, gaussian, budget):
    """A row of the group "z" lies in none."""
    found = largest(
        aggregate,
        DOMAINS["around zero"],
        change,
        ["a", "b", "z"],
        by={"g": ["a", "b"]},
        gaussian=gaussian,
    )
    assert found == budget


@pytest.mark.one_in(2)
@noises(GAUSSIAN)
@ROW_CHANGES
@pytest.mark.parametrize("aggregate", ["count()", "sum", "mean"])
def test_the_same_holds_for_the_rows_of_a_filter(aggregate, change, gaussian, budget):
    """A replaced row may enter or leave the rows that count: their number is not public."""
    found = largest(
        aggregate,
        DOMAINS["from zero"],
        change,
        ["a", "b"],
        where="g = 'a' AND x < 2",
        gaussian=gaussian,
    )
    assert 0 < found <= budget


def test_the_check_would_find_a_sensitivity_that_is_too_small():
    """One group's sensitivity, where a replaced row can leave one group and enter another."""
    with patch.object(count, "moved_rows", lambda change, groups: Fraction(1)):
        assert (
            largest(
                "count()",
                DOMAINS["from zero"],
                ReplaceRows(1),
                ["a", "b"],
                by={"g": ["a", "b"]},
                gaussian=False,
            )
            == 2 * EPSILON
        )


def test_the_check_would_find_that_a_replaced_row_moves_two_bins():
    """Noise for one bin, where a replaced row leaves one bin and enters another."""
    with patch.object(histogram, "moved_rows", lambda change, groups: Fraction(1)):
        found = largest("histogram", DOMAINS["from zero"], ReplaceRows(1), ["a"], gaussian=False)
        added = largest(
            "histogram", DOMAINS["from zero"], AddOrRemoveRows(1), ["a"], gaussian=False
        )
    assert (found, added) == (2 * EPSILON, EPSILON)


def test_the_check_would_find_that_a_replaced_row_moves_both_ends_of_a_mean():
    """What is drawn for added rows costs twice as much where a row is replaced."""
    with (
        patch.object(mean, "counts_rows", lambda terms: False),
        patch.object(mean, "moved_ends", lambda change: Fraction(1)),
    ):
        found = largest("mean", DOMAINS["from zero"], ReplaceRows(1), ["a"], gaussian=False)
    assert found == 2 * EPSILON


def test_the_check_would_find_a_number_of_rows_that_is_taken_for_public():
    """A row that becomes null moves it, also where rows are replaced."""

    def no_row_noise(width: Fraction, unit: Fraction, terms: object) -> tuple[Noise, Noise]:
        return DiscreteLaplace(width / unit / EPSILON), DiscreteLaplace(Fraction(1, 10**9))

    with patch.object(mean, "middle_noises", no_row_noise):
        found = largest("mean", DOMAINS["from zero"], ReplaceRows(1), ["a"], gaussian=False)
    assert found > 10**8


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "change", [AddOrRemoveUnits("id", rows=2), ReplaceUnits("id", rows=2)], ids=str
)
@noises(GAUSSIAN)
@pytest.mark.parametrize(
    ("aggregate", "groups"),
    [*((each, ["a", "b"]) for each in AGGREGATES), ("mean", ["a"])],
    ids=str,
)
def test_one_unit_moves_what_is_drawn_by_epsilon_at_most(
    aggregate, groups, change, gaussian, budget
):
    """Three rows of one person, of which two count, in the table or not, or others in their place;
    another person's rows beside them.
    """
    domain, options = (
        DOMAINS["around zero"],
        [(group, cell) for group in ("a", "b") for cell in (-1, 2, None)],
    )
    persons = [rows for size in range(4) for rows in combinations_with_replacement(options, size)]

    def numbers(rows: Rows) -> list[tuple[Fraction, Noise]]:
        everybody = [(*row, 1) for row in rows] + [("a", 1, 2), ("b", -1, 2)]
        table = {
            "g": [row[0] for row in everybody],
            "x": [row[1] for row in everybody],
            "id": [row[2] for row in everybody],
        }
        return drawn(table, aggregate, domain, change, by={"g": groups}, gaussian=gaussian)

    found = [numbers(rows) for rows in persons]
    pairs = (
        ((found[0], each) for each in found)
        if isinstance(change, AddOrRemoveUnits)
        else ((one, each) for one in found for each in found)
    )
    assert 0 < max(loss(one, other) for one, other in pairs) <= budget


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(40)], ids=str
)
def test_the_sampler_draws_from_the_discrete_laplace_distribution(scale):
    noise, coins = DiscreteLaplace(scale), SystemCoins()
    q = exp(-1 / scale)
    numbers = Counter(discrete_laplace(noise, coins) for _ in range(sized(3_000, 200_000)))
    widest = max(map(abs, numbers)) + 1
    chances = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-widest, widest + 1)}
    assert fits(numbers, chances)
    assert not fits(
        numbers,
        {z: (1 - q**1.3) / (1 + q**1.3) * q ** (1.3 * abs(z)) for z in range(-widest, widest + 1)},
    )


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(49, 4), Fraction(1600)], ids=str)
def test_the_sampler_draws_from_the_discrete_gaussian_distribution(variance):
    """A variance that is 30 % larger does not fit."""
    noise, coins = DiscreteGaussian(variance), SystemCoins()
    numbers = Counter(discrete_gaussian(noise, coins) for _ in range(sized(3_000, 200_000)))
    # Beyond nine standard deviations nothing is drawn in any number of runs.
    widest = 9 * (int(sqrt(variance)) + 1)

    def chances(width: float) -> dict[int, float]:
        weights = {z: exp(-z * z / (2 * width)) for z in range(-widest, widest + 1)}
        total = sum(weights.values())
        return {z: weight / total for z, weight in weights.items()}

    assert fits(numbers, chances(float(variance)))
    assert not fits(numbers, chances(1.3 * float(variance)))


@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 7.3, 20.0])
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("variance", [0.2, 1.0, 30.0])
def test_a_shift_of_gaussian_noise_costs_its_square_over_twice_the_variance(variance, shift, order):
    """Theorem 13, by adding up. Whole orders have exactly that."""
    numbers = np.arange(-3_000, 3_001, dtype=float)
    log_chances = -(numbers**2) / (2 * variance)
    log_everything = np.logaddexp.reduce(log_chances)
    moved = -((numbers - shift) ** 2) / (2 * variance)
    mixed = np.logaddexp.reduce(order * log_chances + (1 - order) * moved) - log_everything
    rho = shift**2 / (2 * variance)
    assert mixed / (order - 1) <= order * rho * (1 + 1e-9)
    if order.is_integer():
        assert mixed / (order - 1) == pytest.approx(order * rho)


@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 100), Fraction(1, 10**9)], ids=str)
@pytest.mark.parametrize(
    "scale",
    [Fraction(1, 50), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(10**6, 7)],
    ids=str,
)
def test_the_reach_is_the_least_that_keeps_beta(scale, beta):
    reach, q = DiscreteLaplace(scale).reach(beta), exp(-1 / scale)

    def beyond(w: int) -> float:
        return 2 * q ** (w + 1) / (1 + q)

    assert beyond(reach) <= beta * (1 + 1e-9)
    assert reach == 0 or beyond(reach - 1) > beta * (1 - 1e-9)
