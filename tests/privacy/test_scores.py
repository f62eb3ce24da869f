"""Scores are the same whole numbers in int64 and in Python's integers, and one row moves them by no
more than the sensitivity.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from postri.grid import Grid
from postri.methods import scores
from postri.methods.depth import Depth
from postri.methods.method import QuantileTerms
from postri.methods.scores import units_per_row
from postri.methods.value import SHAPES
from postri.privacy import ReplaceRows, split_spend
from postri.window import RankWindow

GRID = Grid(0, 100, Fraction(0), Fraction(1))
# So many digits that the scores of a table of some hundred thousand rows leave int64.
LONG = Fraction(123_456_789_013, 10**12)


def question(p: Fraction) -> QuantileTerms:
    return QuantileTerms(
        p, split_spend(Fraction(1), Fraction(1, 2)), Fraction(1, 20), ReplaceRows(1)
    )


def window(rows: dict[int, int]) -> RankWindow:
    indexes = sorted(rows)
    counts = [rows[index] for index in indexes]
    return RankWindow(np.array(indexes), np.array(counts), 0, sum(counts))


def all_scores(rows: dict[int, int], p: Fraction) -> list[np.ndarray]:
    method, seen = Depth(), window(rows)
    step = method.clock_step(question(p))
    links = [
        side.depths
        for value in (0, 2, 50, 100)
        for shape in SHAPES
        for side in step.links(GRID, value, shape).clocks(seen)[0].sides
        if side.end
    ]
    return [method.value_step(question(p)).runs(lambda _: seen, GRID).scores, *links]


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 100)])
def test_python_integers_give_the_scores_of_int64(monkeypatch, p):
    rows = {0: 10, 1: 99_990, 3: 250_000, 50: 40_000, 99: 10_000}
    fast = all_scores(rows, p)
    monkeypatch.setattr(scores, "FITS", 0)
    slow = all_scores(rows, p)
    assert {part.dtype for part in fast} == {np.dtype(np.int64)} and {
        part.dtype for part in slow
    } == {np.dtype(object)}
    assert all(np.array_equal(one, other) for one, other in zip(fast, slow, strict=True))


def test_a_replaced_row_moves_no_score_by_more_than_one_row_beyond_int64():
    rows = {0: 10, 1: 99_990, 3: 250_000, 50: 40_000, 99: 10_000}
    before, after = (all_scores(table, LONG) for table in (rows, {**rows, 1: 99_989, 50: 40_001}))
    assert before[0].dtype == object
    moved = max(
        abs(int(one) - int(other))
        for old, new in zip(before, after, strict=True)
        for one, other in zip(old, new, strict=True)
    )
    assert 0 < moved <= units_per_row(LONG)


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 100)])
def test_between_two_values_a_lopsided_shape_loses_its_margin(p):
    """No row lies there, so nothing speaks for a shape.

    Without this, points far off the target rank would win by the bonus.
    """
    rows = dict.fromkeys(range(0, 101, 2), 40)
    step = Depth().value_step(question(p))
    runs = step.runs(lambda _: window(rows), GRID)
    empty = [
        j
        for j in range(len(runs.scores))
        if runs.shape(j) != "even" and runs.segments.starts[j % len(runs.segments.starts)] % 2
    ]
    assert len(empty) == 2 * 50
    assert max(runs.scores[empty]) <= -step.distrust
    heavy = step.runs(lambda _: window({10: 600_000, 90: 400_000}), GRID)
    assert max(heavy.scores[len(heavy.segments.starts) :]) > 0
