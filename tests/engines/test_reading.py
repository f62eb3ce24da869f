"""Cells become indexes: many at once, one at a time, and by thresholds, always the same."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isinf, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postri import Domain
from postri.columns import decimal_type, float_type, integer_type
from postri.domain import position
from postri.engines.reading import Reading, index_of
from postri.grid import grid_of
from proving import examples

grids = st.builds(
    lambda lower, step, points: Domain(lower, Fraction(lower) + points * Fraction(step), step),
    st.sampled_from(["0", "-100", "0.3", "-1000000000000", "1e18", "-1e300", "0.000001"]),
    st.sampled_from(["1", "2", "0.01", "0.25", "3", "1000", "1e-9", "7.5", "1e280", "1e12"]),
    st.sampled_from([1, 2, 3, 100, 10**6, 2**40, 2**63 - 1, 2**63, 2**64 - 1]),
)


@examples(150)
@given(data=st.data(), domain=grids)
def test_floats_at_once_are_floats_one_by_one(data, domain):
    reading = Reading(grid_of(float_type(64), domain), None)
    near = data.draw(st.lists(st.fractions(-1, 2), max_size=8))
    lower, span = position(domain.lower), position(domain.upper) - position(domain.lower)
    cells = [float(lower + share * span) for share in near]
    cells += [
        float(lower + (round(share * domain.points) + Fraction(1, 2)) * Fraction(domain.step))
        for share in near
    ]
    cells += data.draw(st.lists(st.floats(allow_nan=False), max_size=8))
    one_by_one = [reading.index(cell) for cell in cells]
    assert reading.indexes(np.array(cells)).tolist() == one_by_one


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("lower", "step"),
    [
        ("0", "1"),
        ("0", "0.1"),
        ("0.3", "0.01"),
        ("-7.7", "0.3"),
        ("1000000.1", "0.7"),
        ("-3e9", "0.003"),
    ],
)
@pytest.mark.parametrize("points", [1_000, 10**9, 2**39])
def test_floats_beside_halves_are_floats_one_by_one(lower, step, points):
    """Wherever double precision could be wrong, it must not be trusted."""
    reading = Reading(
        grid_of(float_type(64), Domain(lower, Fraction(lower) + points * Fraction(step), step)),
        None,
    )
    steps = [*range(400), *range(points // 2, points // 2 + 400), *range(points - 401, points)]
    cells = [float(Fraction(lower) + (i + Fraction(1, 2)) * Fraction(step)) for i in steps]
    cells = [
        near
        for cell in cells
        for near in (
            nextafter(nextafter(cell, -inf), -inf),
            nextafter(cell, -inf),
            cell,
            nextafter(cell, inf),
        )
    ]
    assert reading.indexes(np.array(cells)).tolist() == [reading.index(cell) for cell in cells]


@examples(150)
@given(
    data=st.data(),
    domain=grids,
    dtype=st.sampled_from(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i8"]),
)
def test_integers_at_once_are_integers_one_by_one(data, domain, dtype):
    kind = np.dtype(dtype)
    column = integer_type(8 * kind.itemsize, signed=kind.kind == "i")
    reading, limits = Reading(grid_of(column, domain), column.unit), np.iinfo(kind)
    near = st.integers(-3, 3).map(
        lambda number: min(
            max(int(position(domain.lower)) + number, int(limits.min)), int(limits.max)
        )
    )
    cells = data.draw(st.lists(near | st.integers(int(limits.min), int(limits.max)), max_size=12))
    indexes = [reading.index(cell) for cell in cells]
    assert reading.indexes(np.array(cells, dtype=kind)).tolist() == indexes
    assert reading.index_sum(np.array(cells, dtype=kind)) == sum(indexes)


@pytest.mark.parametrize("cells", [[], [5, 7], [-1, 5], [5, 11], [-(2**63), 2**63 - 1]])
@pytest.mark.parametrize("lower", [0, -3, 2])
def test_a_sum_clamps_cells_only_where_some_lie_beyond_the_domain(cells, lower):
    column = integer_type(64)
    reading = Reading(grid_of(column, Domain(lower, 10)), column.unit)
    expected = sum(min(max(cell, lower), 10) - lower for cell in cells)
    assert reading.index_sum(np.array(cells, np.int64)) == expected


@examples(150)
@given(domain=grids, share=st.fractions(0, 1), decimals=st.booleans())
def test_a_threshold_parts_the_cells_where_the_index_does(domain, share, decimals):
    column = float_type(64) if decimals else integer_type(64)
    reading = Reading(grid_of(column, domain), column.unit)
    grid = reading.grid
    index = grid.first + round(share * (grid.last - grid.first))
    cut = reading.cut(index)
    if isinf(cut):
        assert cut < 0 or index_of(Fraction(1.7976931348623157e308), grid) < index
        assert cut > 0 or index == grid.first
        return
    before = nextafter(cut, -inf) if decimals else cut - 1
    assert reading.index(cut) >= index
    assert isinf(before) or reading.index(before) < index


@examples(150)
@given(
    domain=grids,
    shares=st.lists(st.fractions(0, 1), max_size=6),
    column=st.sampled_from([integer_type(64), float_type(64), decimal_type(9, 2)]),
)
def test_thresholds_at_once_are_thresholds_one_by_one(domain, shares, column):
    reading = Reading(grid_of(column, domain), column.unit)
    grid = reading.grid
    inside = [grid.first + round(share * (grid.last - grid.first)) for share in shares]
    indexes = [grid.first - 1, grid.first, *inside, grid.last, grid.last + 1]
    assert reading.cuts(indexes) == [reading.cut(index) for index in indexes]


def test_a_threshold_is_infinite_before_the_first_point_and_past_the_last():
    reading = Reading(grid_of(float_type(64), Domain(0, 10)), None)
    assert (reading.cut(0), reading.cut(11)) == (-inf, inf)


def test_half_way_goes_to_the_even_index_of_the_grid():
    """The index counts from the domain's lower end: on 1..11, the number 2 is index 1, and 1.5 goes
    to index 0.
    """
    column = float_type(64)
    for domain, expected in ((Domain(0, 10), [0, 2, 2, 4]), (Domain(1, 11), [1, 1, 3, 3])):
        grid = grid_of(column, domain)
        assert [
            grid.value(index)
            for index in Reading(grid, column.unit).indexes(np.array([0.5, 1.5, 2.5, 3.5]))
        ] == expected
