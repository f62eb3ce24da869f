"""Counts, sums and means by exhaustion: every tiny table, every neighbour, the noise that the
shipped code would draw.

Noise of scale s moves a log chance by at most |difference| / s, and by exactly that somewhere. So
the largest log ratio of all numbers that a question draws is the sum of these: exact, with no
chance involved. The sampler is checked against the distribution by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp
from unittest.mock import patch

import pytest
from chi_square import fits

import postri
from postri import AddOrRemoveRows, AddOrRemoveUnits, Domain, ReplaceRows, ReplaceUnits, agg
from postri.mechanisms.coins import SystemCoins
from postri.mechanisms.laplace import discrete_laplace
from postri.noise import DiscreteLaplace
from postri.statistics import additive
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
}
Row = tuple[str, object]
Rows = tuple[Row, ...]


def cells(domain: Domain) -> list[object]:
    """Both ends, something between and beyond them, and null."""
    return [domain.lower, domain.lower + domain.step, domain.upper, domain.upper + 5, None]


def tables(options: list[Row], most: int) -> Iterator[Rows]:
    for size in range(most + 1):
        yield from combinations_with_replacement(options, size)


def drawn(
    table: dict, aggregate: str, domain: Domain, change: object, **how: object
) -> list[tuple[Fraction, Fraction]]:
    """Every number that a question draws, without its noise, and the scale of that noise."""
    scales: list[Fraction] = []

    def no_noise(noise: DiscreteLaplace, coins: object) -> int:
        scales.append(noise.scale)
        return 0

    with patch.object(additive, "discrete_laplace", no_noise):
        result = postri.ask(
            table, {"a": AGGREGATES[aggregate](domain)}, protect=change, epsilon=EPSILON, **how
        )
    noisy = [
        each
        for answer in result.answers
        for each in (
            (answer.drawn.total, answer.drawn.count) if aggregate == "mean" else (answer.drawn,)
        )
    ]
    return [(Fraction(each.drawn), scale) for each, scale in zip(noisy, scales, strict=True)]


def as_table(rows: Rows) -> dict[str, list]:
    return {
        "g": [group for group, _ in rows],
        "x": [None if cell is None else float(cell) for _, cell in rows],
    }


def log_ratio(
    one: list[tuple[Fraction, Fraction]], other: list[tuple[Fraction, Fraction]]
) -> Fraction:
    assert [scale for _, scale in one] == [scale for _, scale in other]
    return sum(
        (abs(a - b) / scale for (a, scale), (b, _) in zip(one, other, strict=True)),
        start=Fraction(0),
    )


def neighbours(rows: Rows, options: list[Row], change: object) -> Iterator[Rows]:
    """The tables that one person's one row makes of it."""
    for place in range(len(rows)):
        rest = rows[:place] + rows[place + 1 :]
        if isinstance(change, AddOrRemoveRows):
            yield rest
        else:
            yield from (tuple(sorted((*rest, row), key=repr)) for row in options)


def largest(
    aggregate: str, domain: Domain, change: object, groups: list[str], **how: object
) -> Fraction:
    options = [(group, cell) for group in groups for cell in cells(domain)]
    found = {
        tuple(sorted(rows, key=repr)): drawn(as_table(rows), aggregate, domain, change, **how)
        for rows in tables(options, sized(2, 3))
    }
    return max(
        log_ratio(numbers, found[tuple(sorted(other, key=repr))])
        for rows, numbers in found.items()
        for other in neighbours(rows, options, change)
    )


@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_one_row_moves_what_is_drawn_by_epsilon_at_most_and_somewhere_by_all_of_it(
    aggregate, domain, change
):
    found = largest(aggregate, DOMAINS[domain], change, ["a"])
    assert found <= EPSILON
    # A replaced row moves no number of all rows; that is public, and still costs.
    public = aggregate == "count()" and isinstance(change, ReplaceRows)
    assert found == (0 if public else EPSILON) or (
        aggregate == "mean" and isinstance(change, ReplaceRows)
    )


@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_the_same_holds_for_all_groups_together(aggregate, change):
    """A row of the group "z" lies in none."""
    found = largest(
        aggregate, DOMAINS["around zero"], change, ["a", "b", "z"], by={"g": ["a", "b"]}
    )
    assert found == EPSILON


@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)
@pytest.mark.parametrize("aggregate", ["count()", "sum"])
def test_the_same_holds_for_the_rows_of_a_filter(aggregate, change):
    found = largest(aggregate, DOMAINS["from zero"], change, ["a", "b"], where="g = 'a' AND x < 2")
    assert 0 < found <= EPSILON


def test_the_check_would_find_a_sensitivity_that_is_too_small():
    """One group's sensitivity, where a replaced row can leave one group and enter another."""
    with patch.object(additive, "moved_rows", lambda change, groups: Fraction(1)):
        assert (
            largest(
                "count()", DOMAINS["from zero"], ReplaceRows(1), ["a", "b"], by={"g": ["a", "b"]}
            )
            == 2 * EPSILON
        )


@pytest.mark.parametrize(
    "change", [AddOrRemoveUnits("id", rows=2), ReplaceUnits("id", rows=2)], ids=str
)
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_one_unit_moves_what_is_drawn_by_epsilon_at_most(aggregate, change):
    """Three rows of one person, of which two count, in the table or not, or others in their place;
    another person's rows beside them.
    """
    domain, options = (
        DOMAINS["around zero"],
        [(group, cell) for group in ("a", "b") for cell in (-1, 2, None)],
    )
    persons = [rows for size in range(4) for rows in combinations_with_replacement(options, size)]

    def numbers(rows: Rows) -> list[tuple[Fraction, Fraction]]:
        everybody = [(*row, 1) for row in rows] + [("a", 1, 2), ("b", -1, 2)]
        table = {
            "g": [row[0] for row in everybody],
            "x": [row[1] for row in everybody],
            "id": [row[2] for row in everybody],
        }
        return drawn(table, aggregate, domain, change, by={"g": ["a", "b"]})

    found = [numbers(rows) for rows in persons]
    pairs = (
        ((found[0], each) for each in found)
        if isinstance(change, AddOrRemoveUnits)
        else ((one, each) for one in found for each in found)
    )
    assert 0 < max(log_ratio(one, other) for one, other in pairs) <= EPSILON


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
