"""Groups and units by exhaustion: a person whose rows lie in several groups, leave one and enter
another, or are bounded by unit.

Each group is drawn by itself, so the chances of all answers together are products, and the largest
log ratio of a change is the sum of the largest in each group that it touches. Every tiny table is
tried in each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from test_exhaustive import LOW, NOISES, PS, Case, measure

import postri
from postri.audit.exact_chances import BITS
from postri.audit.tiny_tables import Rows, plain_grid
from postri.engines.rows import Groups, Units
from postri.engines.rows import Rows as Chosen
from postri.grid import grid_of
from postri.mechanisms.noisy_max import Noise
from postri.privacy import AddOrRemoveRows, AddOrRemoveUnits, ReplaceRows, ReplaceUnits
from postri.window import Target
from proving import sized


def fewer(one: Rows, other: Rows) -> bool:
    return len(other) < len(one)


def more(one: Rows, other: Rows) -> bool:
    return len(other) > len(one)


def same(one: Rows, other: Rows) -> bool:
    return len(other) == len(one)


def moved(case: Case) -> tuple[Fraction, Fraction]:
    """The largest log ratio when one row leaves a group and enters another, and when it is replaced
    inside one.
    """
    leaving, entering, inside = (
        Fraction(measure(case, apart).joint, 1 << BITS) for apart in (fewer, more, same)
    )
    return leaving + entering, inside


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "p", "noise"),
    list(product([LOW, Fraction(20)], PS, NOISES))[:: sized(5, 1)],
    ids=str,
)
def test_a_row_that_moves_from_group_to_group_is_safe(
    p: Fraction, noise: Noise, epsilon: Fraction, figures: Callable[[str], None]
):
    grid, most = sized((plain_grid(3), 3), (plain_grid(5), 4))
    case = Case(p, ReplaceRows(1), noise, epsilon, grid, most, groups=2)
    across, inside = moved(case)
    figures(
        f"p {p}, {noise}: largest log ratio across groups {float(across):.4f}, inside one "
        f"{float(inside):.4f}, of {float(epsilon):g}"
    )
    assert across <= epsilon
    assert inside <= epsilon


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_two_added_rows_in_two_groups_cost_no_more_than_two_in_one(noise: Noise):
    """Noise for two rows: each of the two rows, alone in its group, costs half."""
    grid, most = sized((plain_grid(4), 3), (plain_grid(5), 4))
    case = Case(Fraction(1, 2), AddOrRemoveRows(2), noise, LOW, grid, most, groups=2)
    alone = Fraction(
        measure(case, lambda one, other: abs(len(one) - len(other)) == 1).joint, 1 << BITS
    )
    assert 2 * alone <= LOW
    assert Fraction(measure(case).joint, 1 << BITS) <= LOW


@dataclass(frozen=True)
class OneGroupsReplaceRows(ReplaceRows):
    """The sensitivity that suffices without groups."""

    def sensitivity(self, p: Fraction, groups: int = 1) -> Fraction:
        return super().sensitivity(p, 1)


@pytest.mark.slow
def test_the_sensitivity_of_one_group_is_caught_where_there_are_several():
    """At the median it suffices; at another quantile it does not."""
    case = Case(
        Fraction(9, 10), OneGroupsReplaceRows(1), "exponential", LOW, plain_grid(3), 4, groups=2
    )
    assert moved(case)[0] > LOW
    assert moved(replace(case, p=Fraction(1, 2)))[0] <= LOW


@pytest.mark.parametrize(
    ("units", "rows", "groups", "delta"),
    [
        (AddOrRemoveUnits("who", rows=3), AddOrRemoveRows(3), 1, Fraction(27, 10)),
        (AddOrRemoveUnits("who", rows=3), AddOrRemoveRows(3), 5, Fraction(27, 10)),
        (ReplaceUnits("who", rows=3), ReplaceRows(3), 1, Fraction(3)),
        (ReplaceUnits("who", rows=3), ReplaceRows(3), 5, Fraction(27, 5)),
    ],
    ids=str,
)
def test_a_unit_is_as_many_rows_as_count(units, rows, groups: int, delta: Fraction):
    p = Fraction(9, 10)
    assert units.sensitivity(p, groups) == rows.sensitivity(p, groups) == delta


# ---- bounding by unit, on every tiny table

POINTS, KEYS, PEOPLE = (0, 1, 2), ("a", "b"), (1, 2)
Row = tuple[int, int, str]


def counts(rows: tuple[Row, ...], bound: int) -> list[dict[int, int]]:
    """What the mechanisms see: for each group how many rows each point has."""
    source = {
        "who": [who for who, _, _ in rows],
        "x": [x for _, x, _ in rows],
        "key": [key for _, _, key in rows],
    }
    table = postri.open(source)
    grid = grid_of(table.type_of("x"), postri.Domain(0, 2))
    chosen = table.bind(Chosen(groups=Groups.of({"key": list(KEYS)}), units=Units("who", bound)))
    windows = [
        group[0](0)
        for group in table.grouped_windows("x", grid, [Target(Fraction(1, 2), 100)], chosen)
    ]
    return [
        dict(zip(window.indexes.tolist(), window.counts.tolist(), strict=True))
        for window in windows
    ]


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("bound", [1, 2])
def test_one_person_adds_at_most_the_bound_whatever_all_others_do(bound: int):
    """The counts of a table are those of each person's rows alone, added up; each person's are at
    most the bound.
    """
    kinds = list(product(PEOPLE, POINTS, KEYS))
    alone: dict[tuple[Row, ...], list[dict[int, int]]] = {}
    for rows in combinations_with_replacement(kinds, sized(3, 4)):
        parts = []
        for person in PEOPLE:
            own = tuple(row for row in rows if row[0] == person)
            if own not in alone:
                alone[own] = counts(own, bound)
            parts.append(alone[own])
            assert sum(sum(group.values()) for group in parts[-1]) == min(len(own), bound)
        added = [
            {point: sum(part[g].get(point, 0) for part in parts) for point in POINTS}
            for g in range(len(KEYS))
        ]
        assert [
            {point: count for point, count in group.items() if count} for group in added
        ] == counts(rows, bound)
