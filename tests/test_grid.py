"""Domains and their grids, against plain counting."""

from __future__ import annotations

from datetime import UTC, timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from postri import Domain
from postri.columns import UNTYPED, float_type
from postri.engines.reading import index_of
from postri.grid import Grid, grid_of
from proving import examples

far_or_near = st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70)
finite_decimals = st.decimals(-(10**12), 10**12, places=6)


@examples(100)
@given(
    lower=finite_decimals, step=st.decimals("0.000001", 1000, places=6), steps=st.integers(1, 10**9)
)
def test_a_domain_is_made_again_from_its_parts(lower, step, steps):
    upper = Fraction(lower) + steps * Fraction(step)
    domain = Domain(lower, upper, step)
    assert domain.points == steps + 1
    again = Domain(domain.lower, domain.upper, domain.step)
    assert again == domain == Domain(str(domain.lower), str(domain.upper), str(domain.step))
    assert hash(again) == hash(domain)


@examples(100)
@given(
    lower=finite_decimals,
    step=st.decimals("0.000001", 1000, places=6),
    steps=st.integers(1, 10**9),
    share=st.fractions(0, 1),
)
def test_every_point_of_a_domain_finds_its_index(lower, step, steps, share):
    grid = grid_of(float_type(64), Domain(lower, Fraction(lower) + steps * Fraction(step), step))
    index = round(steps * share)
    assert index_of(Fraction(grid.value(index)), grid) == index
    assert Fraction(grid.value(index)) == Fraction(lower) + index * Fraction(step)


@examples(60)
@given(first=st.dates(), second=st.dates())
def test_a_domain_of_dates_is_made_again_from_its_bounds_as_text(first, second):
    assume(first < second)
    domain = Domain(first, second)
    assert Domain(str(first), str(second)) == domain
    grid = grid_of(UNTYPED, domain)
    assert (grid.value(grid.first), grid.value(grid.last)) == (first, second)
    assert domain.points == (second - first).days + 1


@examples(60)
@given(first=st.datetimes(), second=st.datetimes(), zoned=st.booleans())
def test_a_domain_of_timestamps_is_made_again_from_its_bounds_as_text(first, second, zoned):
    assume(first < second)
    if zoned:
        first, second = first.replace(tzinfo=UTC), second.replace(tzinfo=UTC)
    domain = Domain(first, second, step="0.000001")
    assert Domain(first.isoformat(), second.isoformat(), step=timedelta(microseconds=1)) == domain
    grid = grid_of(UNTYPED, domain)
    assert (grid.value(grid.first), grid.value(grid.last)) == (first, second)


def multiplicity(distance: int) -> int:
    """DESIGN.md 3.3: grid index y has the public multiplicity 2^(63 - floor(log2(|y| + 1)))."""
    return 2 ** (63 - max(k for k in range(65) if 2**k <= abs(distance) + 1))


@examples(60)
@given(
    first=st.integers(-40, 40), length=st.integers(0, 60), anchor=st.none() | st.integers(-60, 60)
)
def test_copies_and_places_agree_with_counting(first, length, anchor):
    grid = Grid(first, first + length, Fraction(0), Fraction(1), anchor=anchor)
    start = grid.copies(first)
    for index in range(first, first + length + 1):
        size = 1 if anchor is None else multiplicity(index - anchor)
        assert grid.copies(index) == start
        assert grid.at(start) == grid.at(start + size - 1) == grid.at(start + size // 2) == index
        start += size
    assert grid.copies(first + length + 1) == start


@examples(40)
@given(
    first=st.integers(-40, 40), length=st.integers(0, 20), anchor=st.none() | st.integers(-60, 60)
)
def test_sizes_of_runs_agree_with_counting(first, length, anchor):
    grid = Grid(first, first + length, Fraction(0), Fraction(1), anchor=anchor)
    runs = [
        (start, end)
        for start in range(first, first + length + 1)
        for end in range(start, first + length + 1)
    ]
    counted = [
        sum(1 if anchor is None else multiplicity(i - anchor) for i in range(start, end + 1))
        for start, end in runs
    ]
    starts, ends = (np.array(side, dtype=np.int64) for side in zip(*runs, strict=True))
    assert grid.sizes(starts, ends) == pytest.approx(counted, rel=4e-16)


@examples(100)
@given(
    cuts=st.sets(far_or_near | st.integers(-3_000, 3_000), max_size=12),
    anchor=st.sampled_from([None, 0, 700, -(2**63), 2**63 - 1]),
)
def test_sizes_of_runs_in_order_are_those_of_any_runs(cuts, anchor):
    first, last = -(2**63), 2**63 - 1
    grid = Grid(first, last, Fraction(0), Fraction(1), anchor=anchor)
    begins = sorted(cuts - {first})
    starts = np.array([first, *begins], dtype=np.int64)
    ends = np.array([*(begin - 1 for begin in begins), last], dtype=np.int64)
    expected = grid.sizes(starts, ends).tolist()
    assert grid.sizes_in_order(starts, ends) == pytest.approx(expected, rel=4e-16)


@examples(200)
@given(
    ends=st.tuples(far_or_near, far_or_near), anchor=st.sampled_from([None, 0, -(2**63), 2**63 - 1])
)
def test_sizes_of_far_runs_agree_with_the_octaves(ends, anchor):
    """Each octave of distances from the anchor holds 2^63 candidates; a run holds the parts of
    octaves that it cuts.
    """
    start, end = sorted(ends)
    grid = Grid(-(2**63), 2**63 - 1, Fraction(0), Fraction(1), anchor=anchor)
    exact = end - start + 1 if anchor is None else octaves(start - anchor, end - anchor)
    assert grid.copies(end + 1) - grid.copies(start) == exact
    assert grid.sizes(np.array([start]), np.array([end]))[0] == pytest.approx(exact, rel=4e-16)
    assert grid.at(grid.copies(end)) == grid.at(grid.copies(end + 1) - 1) == end


def octaves(start: int, end: int) -> int:
    """The candidates at the signed distances start..end, octave by octave.

    The distance 0 counts once.
    """
    total = 0
    for octave in range(65):
        nearest, furthest = 2**octave - 1, 2 ** (octave + 1) - 2
        for low, high in ((nearest, furthest), (-furthest, -max(nearest, 1))):
            length = min(end, high) - max(start, low) + 1
            total += max(0, length) * (2**63 >> octave if octave <= 63 else 1)
    return total
