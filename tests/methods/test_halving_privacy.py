"""Recursive halving by exhaustion: every tiny table, every neighbour, every output, in closed form.

The chances come from the definition alone, and what is drawn is shown to have the same ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, inf, log

import pytest
from exact_draws import Branches

from postri.audit.tiny_tables import all_tables, neighbours, plain_grid, whole_window
from postri.mechanisms.coins import SystemCoins
from postri.privacy import AddOrRemoveRows
from postri.research.many import halving
from postri.research.many.positions import Positions

Rows = tuple[int, ...]
Chances = dict[tuple[int, ...], float]

GRID = plain_grid(3)
TABLES = all_tables(GRID, 3)
PAIRS = neighbours(TABLES, AddOrRemoveRows(1))
QUARTILES = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
SLACK = 1e-9
# With two positions a point, three rows of one value have to share one.
EVERY_COPIES = pytest.mark.parametrize("copies", [2, 3])


def places(rows: Rows, copies: int) -> list[int]:
    """The k-th row of a point takes its k-th position, or its last."""
    return [copies * row + min(rows[:k].count(row), copies - 1) for k, row in enumerate(rows)]


def exponential(scores: Sequence[Fraction], rate: Fraction) -> list[float]:
    weights = [exp(float(rate * score)) for score in scores]
    return [weight / sum(weights) for weight in weights]


def defined(
    rows: list[int], ps: Sequence[Fraction], first: int, last: int, epsilon: Fraction
) -> Chances:
    """The chance of every tuple: the middle one first, then both sides apart from each other."""
    if not ps:
        return {(): 1.0}
    middle = len(ps) // 2
    p = ps[middle]
    candidates = range(first, last + 1)
    scores = [-abs(sum(row <= y for row in rows) - p * len(rows)) for y in candidates]
    found: defaultdict[tuple[int, ...], float] = defaultdict(float)
    chances = exponential(scores, epsilon / (2 * max(p, 1 - p)))
    for y, chance in zip(candidates, chances, strict=True):
        lower = [each / p for each in ps[:middle]]
        upper = [(each - p) / (1 - p) for each in ps[middle + 1 :]]
        below = defined([row for row in rows if row <= y], lower, first, y, epsilon)
        above = defined([row for row in rows if row > y], upper, y, last, epsilon)
        for left, one in below.items():
            for right, other in above.items():
                found[*left, y, *right] += chance * one * other
    return found


def largest_ratio(found: dict[Rows, Chances]) -> float:
    """The largest log ratio of one output's chances on two neighbours."""
    ratios = [
        log(chance / found[TABLES[j]][output]) if found[TABLES[j]].get(output) else inf
        for i, j in PAIRS
        for output, chance in found[TABLES[i]].items()
        if chance
    ]
    return max(ratios)


def defined_on_all(copies: int, each: Fraction) -> dict[Rows, Chances]:
    last = 3 * copies - 1
    return {rows: defined(places(rows, copies), QUARTILES, 0, last, each) for rows in TABLES}


@pytest.mark.slow
@EVERY_COPIES
def test_what_is_drawn_has_the_chances_of_the_definition(monkeypatch, copies: int):
    branches = Branches(monkeypatch)
    epsilon = Fraction(2)
    for rows in [(), (1,), (0, 2), (1, 1), (0, 1, 1), (2, 2, 2)]:
        positions = Positions.of(whole_window(rows), GRID, copies)
        shipped = branches.followed(
            lambda positions=positions: tuple(
                halving.halved(positions, QUARTILES, epsilon, SystemCoins())
            )
        )
        expected = defined(places(rows, copies), QUARTILES, 0, 3 * copies - 1, epsilon / 2)
        assert shipped == pytest.approx(expected)


@EVERY_COPIES
@pytest.mark.parametrize("epsilon", [1, 4])
def test_no_neighbour_is_told_apart_by_more_than_epsilon(copies: int, epsilon: int):
    found = defined_on_all(copies, Fraction(epsilon, 2))
    assert all(sum(chances.values()) == pytest.approx(1) for chances in found.values())
    assert 0.5 * epsilon < largest_ratio(found) <= epsilon + SLACK


def test_the_budget_has_to_be_divided_among_the_levels():
    """With all of epsilon in each draw, neighbours are told apart by more."""
    assert largest_ratio(defined_on_all(2, Fraction(4))) > 4 + SLACK


def test_a_row_takes_part_in_one_draw_a_level():
    """The paper says log2(m) + 1 levels; its recursion has no more."""

    def depth(quantiles: int) -> int:
        if quantiles == 0:
            return 0
        middle = quantiles // 2
        return 1 + max(depth(middle), depth(quantiles - 1 - middle))

    for quantiles in range(1, 300):
        assert halving.levels(quantiles) == depth(quantiles) <= log(quantiles, 2) + 1 + SLACK


def test_one_row_moves_one_position():
    """Whatever rows share a point, an added row adds one position and leaves the others."""
    for copies in (1, 2, 4):
        for rows in combinations_with_replacement(range(3), 3):
            before = Positions.of(whole_window(rows), GRID, copies).rows.tolist()
            assert before == places(rows, copies)
            for point in range(3):
                more = tuple(sorted((*rows, point)))
                after = Positions.of(whole_window(more), GRID, copies).rows.tolist()
                for row in before:
                    after.remove(row)
                assert len(after) == 1
