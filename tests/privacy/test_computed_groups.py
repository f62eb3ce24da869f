"""Groups by expressions and filters of aggregates, by exhaustion: every neighbour of every tiny
table moves all counts together by no more than the noise is made for.

A count has discrete Laplace noise of scale d / epsilon, so its log ratio between two tables is
epsilon / d for each row by which it differs, exactly; draws are independent, so log ratios add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

import postri
from postri import AddOrRemoveRows, ReplaceRows, agg, by
from postri.privacy import ProtectedChange, moved_rows
from postri.question import plain_question
from postri.statistics.statistic import Statistic
from proving import sized

EPSILON = Fraction(2)
MOST = sized(2, 3)
MOMENTS = (datetime(2013, 1, 31, 23, 59), datetime(2013, 2, 1), datetime(2014, 1, 1), None)
NUMBERS = (0, 1, 2, 3)
Row = tuple[int, datetime | None]
ROWS = tuple(product(NUMBERS, MOMENTS))
GROUPINGS = {
    "months": {"month": by.month("t", "2013-01", "2013-12")},
    "hours": {"hour": by.hour_of_day("t")},
    "bins": {"bin": by.bins("x", [0, 1, 2])},
    "buckets": {"bucket": by.buckets("x", 1, 3, 2)},
    "labels": {"label": by.expression("CASE WHEN x < 2 THEN 'a' WHEN t IS NULL THEN 'b' END")},
    "two": {"bin": by.bins("x", [0, 1, 2]), "year": by.year("t", 2013, 2014)},
}
LATE = {"n": agg.count(), "some": agg.count(where="x > 1"), "others": agg.count(where="x <= 1")}
# A row at 1 lies in both.
OVERLAPPING = {
    "low": agg.count(where="x BETWEEN 0 AND 1"),
    "high": agg.count(where="x BETWEEN 1 AND 2"),
}


def counts(
    rows: Sequence[Row], aggregates: dict[str, Statistic], grouping: dict | None
) -> list[list[int]]:
    """For each aggregate the counts of all groups, as they are drawn from."""
    table = postri.open(
        {"x": [x for x, _ in rows], "t": [t for _, t in rows]},
        columns={"x": "integer", "t": "timestamp"},
    )
    bound = plain_question(
        aggregates, epsilon=EPSILON, confidence=0.9, protect=AddOrRemoveRows(1), by=grouping
    ).bound(table)
    return [list(each.batch.count(table, each.rows)) for each in bound.batches]


def losses(
    change: ProtectedChange,
    aggregates: dict[str, Statistic],
    grouping: dict | None,
    share: Fraction,
) -> Fraction:
    """The largest log ratio of all answers together, where each aggregate has this share."""
    tables = [
        table
        for size in range(MOST + 1)
        for table in combinations_with_replacement(ROWS[:: sized(2, 1)], size)
    ]
    seen = {table: counts(table, aggregates, grouping) for table in tables}
    groups = len(seen[()][0])
    d = moved_rows(change, groups)
    largest = Fraction(0)
    for one in tables:
        for other in tables:
            if not _are_neighbours(one, other, change):
                continue
            moves = sum(
                abs(left - right)
                for lefts, rights in zip(seen[one], seen[other], strict=True)
                for left, right in zip(lefts, rights, strict=True)
            )
            largest = max(largest, moves * EPSILON * share / d)
    return largest


def _are_neighbours(one: Sequence[Row], other: Sequence[Row], change: ProtectedChange) -> bool:
    left, right = list(one), list(other)
    for row in one:
        if row in right:
            left.remove(row)
            right.remove(row)
    if isinstance(change, ReplaceRows):
        return len(left) == len(right) == 1
    return len(left) + len(right) == 1


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)
@pytest.mark.parametrize("name", GROUPINGS)
def test_groups_by_an_expression_share_epsilon(name, change):
    found = losses(change, {"n": agg.count()}, GROUPINGS[name], Fraction(1))
    assert 0 < found <= EPSILON


@pytest.mark.slow
@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)
@pytest.mark.parametrize("grouping", [None, GROUPINGS["months"]], ids=["all rows", "months"])
def test_aggregates_with_filters_divide_epsilon(grouping, change):
    found = losses(change, LATE, grouping, Fraction(1, len(LATE)))
    assert 0 < found <= EPSILON


def test_bins_that_hold_both_of_their_edges_are_caught():
    """As if they were groups, which have the whole of epsilon each."""
    assert losses(AddOrRemoveRows(1), OVERLAPPING, None, Fraction(1)) == 2 * EPSILON
