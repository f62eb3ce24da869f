"""JointExp against its definition: the weight of every tuple of all tiny tables, by brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import exp, log

import pytest

from postri import InputError, SeededCoins
from postri.audit.tiny_tables import all_tables, neighbours, plain_grid, whole_window
from postri.mechanisms.coins import SystemCoins
from postri.privacy import AddOrRemoveRows
from postri.research.many.joint import JointWeights, sensitivity
from postri.research.many.positions import Positions
from privacy.chi_square import fits

GRID = plain_grid(3)
TABLES = all_tables(GRID, 4)
PAIRS = neighbours(TABLES, AddOrRemoveRows(1))
COPIES = 2
ASKED = {
    "median": [Fraction(1, 2)],
    "quartiles": [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)],
    "uneven": [Fraction(1, 10), Fraction(9, 10)],
}
EVERY_PS = pytest.mark.parametrize("ps", ASKED.values(), ids=ASKED)


def positions(rows: tuple[int, ...]) -> Positions:
    return Positions.of(whole_window(rows), GRID, COPIES)


def utility(candidate: Sequence[int], rows: Positions, ps: Sequence[Fraction]) -> Fraction:
    """Minus the sum of how far the rows between two values are from their share."""
    ranks = [0, *(sum(row <= y for row in rows.rows.tolist()) for y in candidate), rows.n]
    shares = [high - low for low, high in pairwise([Fraction(0), *ps, Fraction(1)])]
    gaps = [high - low for low, high in pairwise(ranks)]
    return -sum(
        (abs(gap - share * rows.n) for gap, share in zip(gaps, shares, strict=True)), Fraction(0)
    )


def weights(
    rows: tuple[int, ...], ps: Sequence[Fraction], epsilon: Fraction
) -> dict[tuple[int, ...], float]:
    """The weight of every rising tuple."""
    own = positions(rows)
    rate = epsilon / (2 * sensitivity(ps))
    tuples = combinations_with_replacement(range(3 * COPIES), len(ps))
    return {each: exp(float(rate * utility(each, own, ps))) for each in tuples}


@pytest.mark.slow
@EVERY_PS
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(4)])
def test_the_weights_add_up_to_those_of_all_tuples(ps, epsilon):
    for rows in TABLES:
        expected = log(sum(weights(rows, ps, epsilon).values()))
        assert JointWeights(positions(rows), ps, epsilon).total == pytest.approx(expected)


@pytest.mark.one_in(4)
@pytest.mark.slow
@EVERY_PS
@pytest.mark.parametrize("rows", [(), (0, 1, 1), (0, 0, 0, 2)])
def test_tuples_are_drawn_with_their_weights(rows, ps):
    """The coins are seeded, so this passes always or never."""
    epsilon = Fraction(4)
    chances = weights(rows, ps, epsilon)
    total = sum(chances.values())
    joint = JointWeights(positions(rows), ps, epsilon)
    coins = SeededCoins(3)
    drawn = Counter(tuple(joint.draw(coins)) for _ in range(2_000))
    assert fits(drawn, {each: weight / total for each, weight in chances.items()})
    # Draws with a third of the epsilon are told from these.
    less = weights(rows, ps, epsilon / 3)
    if rows:
        total = sum(less.values())
        assert not fits(drawn, {each: weight / total for each, weight in less.items()})


@EVERY_PS
def test_no_neighbour_is_told_apart_by_more_than_epsilon(ps):
    epsilon = Fraction(1)
    found = {rows: weights(rows, ps, epsilon) for rows in TABLES}
    totals = {rows: sum(each.values()) for rows, each in found.items()}
    ratios = []
    for i, j in PAIRS:
        one, other = TABLES[i], TABLES[j]
        between = log(totals[other] / totals[one])
        ratios += [log(found[one][each] / found[other][each]) + between for each in found[one]]
    assert 0.3 < max(ratios) <= 1 + 1e-9


@pytest.mark.slow
@EVERY_PS
def test_one_row_moves_the_utility_by_the_sensitivity(ps):
    """Never by more, and on some table by as much."""
    # Every second position: one a point.
    tuples = list(combinations_with_replacement(range(1, 3 * COPIES, 2), len(ps)))
    moves = [
        abs(utility(each, positions(TABLES[i]), ps) - utility(each, positions(TABLES[j]), ps))
        for i, j in PAIRS
        for each in tuples
    ]
    assert max(moves) == sensitivity(ps)


def test_rounded_weights_take_no_private_coins():
    joint = JointWeights(positions((0, 1)), ASKED["median"], Fraction(1))
    with pytest.raises(InputError, match="joint-exp draws with rounded weights"):
        joint.draw(SystemCoins())
