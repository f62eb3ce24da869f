"""What the engine finds by a sample and a scan is what a plain sort finds."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postri import Domain
from postri.columns import float_type
from postri.engines.csv_format import CsvFormat
from postri.engines.engine import SMALL
from postri.engines.memory.counter import stride_of
from postri.engines.resolve import engine_of
from postri.grid import Grid, grid_of
from postri.window import RankWindow, Target, WindowStack, trim
from proving import examples


def by_sorting(indexes: np.ndarray, p: Fraction, half: int) -> RankWindow:
    """The window from a plain sort: the order statistics from floor(pn) - half to ceil(pn) + 1 +
    half, out to whole ties.
    """
    ordered = np.sort(indexes)
    n = len(ordered)
    first, last = max(1, floor(p * n) - half), min(n, ceil(p * n) + 1 + half)
    values, counts = np.unique(ordered, return_counts=True)
    inside = (
        (values >= ordered[first - 1]) & (values <= ordered[last - 1]) if n else np.zeros(0, bool)
    )
    return RankWindow(
        values[inside], counts[inside], int(np.sum(ordered < ordered[first - 1])) if n else 0, n
    )


WHOLE = Grid(-(2**63), 2**63 - 1, Fraction(0), Fraction(1), anchor=0)
PS = (Fraction(1, 2), Fraction(9, 10), Fraction(1, 1000))

SIZE = SMALL + 5_000
STRIDED = 4 * SMALL
# One cell in so many is in the sample of a table of that size.
STRIDE = stride_of(STRIDED)
random = np.random.default_rng(3)
places = np.arange(STRIDED)
SEEN = places % STRIDE == 0
LARGE = {
    "random": random.integers(-(2**62), 2**62, SIZE),
    "few values": random.integers(0, 5, SIZE),
    "constant": np.full(SIZE, 7),
    "sorted": np.arange(SIZE),
    "reversed": np.arange(SIZE)[::-1],
    "clustered": np.repeat([9, 1, 5, 3], SIZE // 4) * 10**6 + random.integers(0, 50, SIZE // 4 * 4),
    "the sample sees one value of many": np.where(SEEN, 0, random.integers(1, 10**9, STRIDED)),
    "the sample sees the lowest cells alone": places + 10**9 * ~SEEN,
    "the sample sees the highest cells alone": places + 10**9 * SEEN,
    "periodic": places % STRIDE,
    "more cells inside the bracket than are held": np.concatenate(
        (np.repeat([5, 6], 900_000), random.integers(0, 12, 9_000))
    ),
    "extremes": np.where(random.random(SIZE) < 0.5, np.iinfo(np.int64).min, np.iinfo(np.int64).max),
    "a strided view": np.repeat(random.integers(0, 10**6, SIZE), 2)[::2],
}


def window_of(source: object, grid: Grid, target: Target) -> RankWindow:
    """What the engine counts around one target."""
    return engine_of(source, None, CsvFormat()).windows(None, grid, [target])[0][0]


some_rows = st.lists(st.integers(-20, 20) | st.integers(-(2**63), 2**63 - 1), max_size=60)


@examples(150)
@given(rows=some_rows, p=st.sampled_from(PS), half=st.integers(0, 30))
def test_small_tables(rows, p, half):
    cells = np.array(rows, dtype=np.int64)
    assert window_of(cells, WHOLE, Target(p, half)) == by_sorting(cells, p, half)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_large_tables_whatever_the_sample_sees_of_them(name):
    targets = [Target(p, half) for p in PS for half in (0, 300, 20_000)]
    (found,) = engine_of(LARGE[name], None, CsvFormat()).windows(None, WHOLE, targets)
    for target, window in zip(targets, found, strict=True):
        assert window == by_sorting(LARGE[name], target.p, target.half), target


def test_large_tables_of_floats_without_their_nan():
    cells = random.normal(0, 1, SIZE)
    cells[::7] = np.nan
    grid = grid_of(float_type(64), Domain(-3, 3, step="0.001"))
    indexes = np.clip(np.rint((cells[~np.isnan(cells)] + 3) * 1000), 0, 6000).astype(np.int64)
    assert window_of(cells, grid, Target(PS[0], 500)) == by_sorting(indexes, PS[0], 500)


def test_the_comparison_tells_windows_apart():
    cells = np.arange(100)
    assert by_sorting(cells, PS[0], 10) != by_sorting(cells, PS[0], 11)
    assert by_sorting(cells, PS[0], 10) != by_sorting(cells + 1, PS[0], 10)


@examples(60)
@given(
    groups=st.lists(st.tuples(some_rows, st.integers(0, 30)), min_size=1, max_size=6),
    p=st.sampled_from([*PS, Fraction(1, 10**30), Fraction(10**30 - 1, 10**30)]),
)
def test_windows_are_cut_in_a_stack_as_each_by_itself(groups, p):
    """Of groups without rows, too, and of windows that are cut already."""
    whole = [by_sorting(np.array(rows, dtype=np.int64), p, len(rows)) for rows, _ in groups]
    windows = [trim(window, p, 2 * half) for window, (_, half) in zip(whole, groups, strict=True)]
    halves = [half for _, half in groups]
    stack = WindowStack.of(windows)
    for window, half, *stretch in zip(windows, halves, *stack.cut(p, halves), strict=True):
        cut = trim(window, p, half)
        places = slice(*stretch)
        assert np.array_equal(stack.indexes[places], cut.indexes)
        assert np.array_equal(stack.before[places], cut.ranks[:-1])
        assert np.array_equal(stack.upto[places], cut.ranks[1:])


def test_groups_of_too_many_rows_make_no_stack():
    many = RankWindow(np.array([1]), np.array([2**61]), 0, 2**61)
    assert WindowStack.of([many]) is not None
    assert WindowStack.of([many, many]) is None
