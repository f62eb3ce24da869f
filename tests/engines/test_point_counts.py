"""How many cells lie below each of many grid points: the same on every engine, and what a slow
reading of the cells finds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from contract_tables import ASKED, CASES, FAR_FLOATS, NATURALS, NUMBERS, Asked, odd_table
from rows_reference import counted, grid_for, index_of, selection

import postri
from postri import Domain, SourceChanged
from postri.columns import float_type, integer_type
from postri.engines.rows import Groups, Rows
from postri.engines.table import Table
from postri.grid import Grid, grid_of
from postri.window import Indexes, PointCounts
from proving import sized
from services.real_tables import LOADERS, SIGNED, Place, loaded, marks, meant, most_of

FEW = [name for name in CASES if not name.startswith("many")]
# What an engine hands over without a declared type: with no domain it is read as whole numbers.
UNTYPED = ("booleans", "decimals", "long decimals", "timestamps with zones")
UNDECLARED = {"lists": UNTYPED, "NumPy": UNTYPED, "CSV": UNTYPED, "pandas": ("dates",)}
SPARK_CASES = ("large integers on a domain", "floats", "decimals on coarse steps", "timestamps")
SPARK_ASKED = ("keys of odd texts", "floats by units", "all together")


def points_around(indexes: Sequence[int], grid: Grid) -> Indexes:
    """Points at cells, beside them, at the grid's ends, at its octaves and between."""
    ends = [grid.first, grid.first + 1, grid.last - 1, grid.last]
    octaves = [side * 2**k for k in range(0, 63, 3) for side in (-1, 1)]
    evenly = [grid.first + (grid.last - grid.first) * i // 97 for i in range(98)]
    beside = [index + step for index in indexes for step in (-1, 0, 1, 2)]
    inside = {each for each in (*ends, *octaves, *evenly, *beside) if grid.first <= each}
    return np.array(sorted(each for each in inside if each <= grid.last), np.int64)


def true(counts: Counter[int], points: Indexes) -> PointCounts:
    """What there is, by plain Python."""
    cells = sorted(counts.elements())
    below = [bisect_left(cells, point) for point in points.tolist()]
    return PointCounts(points, np.array(below, np.int64), len(cells))


@pytest.fixture(scope="module")
def opened(request, tmp_path_factory) -> Callable[[str, str], Table]:
    """The cells of a case in an engine, or the table of odd cells, put there once."""
    place = Place(tmp_path_factory.mktemp("points"), request)

    @cache
    def opened_once(engine: str, name: str) -> Table:
        table = odd_table()
        if name in CASES:
            table = pa.table({"x": CASES[name].cells})
        return loaded(engine, table, place)

    return opened_once


@cache
def odd_rows(engine: str) -> list[dict[str, Any]]:
    return meant(engine, odd_table())


def cases_of(engine: str) -> Sequence[str]:
    if engine == "Spark":
        return SPARK_CASES[:: sized(2, 1)]
    return [name for name in most_of(engine, FEW) if name not in UNDECLARED.get(engine, ())]


@pytest.mark.one_in(4, each="engine")
@pytest.mark.parametrize(
    ("engine", "name"),
    [
        pytest.param(engine, name, marks=marks(engine) if name in FEW[::6] else [pytest.mark.slow])
        for engine in LOADERS
        for name in cases_of(engine)
    ],
)
def test_the_counts_are_those_of_the_cells(engine, name, opened):
    table = opened(engine, name)
    grid = grid_of(table.type_of("x"), CASES[name].domain)
    rows = meant(engine, pa.table({"x": CASES[name].cells}))
    counts = Counter(index_of(row["x"], grid) for row in rows if row["x"] is not None)
    points = points_around(list(counts), grid)
    assert table.counts_below("x", grid, points) == [true(counts, points)]


def asked_of(engine: str) -> list[str]:
    names = SPARK_ASKED[:: sized(2, 1)] if engine == "Spark" else most_of(engine, ASKED)
    return [
        name
        for name in names
        if engine not in SIGNED or not ASKED[name].columns & {"large", "natural"}
    ]


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "name"),
    [(engine, name) for engine in LOADERS for name in asked_of(engine)],
)
def test_the_rows_that_count_are_those_of_the_rule(engine, name, opened):
    asked: Asked = ASKED[name]
    table = opened(engine, "odd")
    grid = grid_for(table, asked)
    groups = counted(odd_rows(engine), asked, grid)
    points = points_around(sorted({index for counts in groups for index in counts}), grid)
    found = table.counts_below(asked.value, grid, points, selection(table, asked))
    assert found == [true(counts, points) for counts in groups]


# ---- extremes


EXTREMES = {
    "without a sign": (pa.array(NATURALS * 3, pa.uint64()), None),
    "without a sign, on a domain": (pa.array(NATURALS, pa.uint64()), Domain(2**63, 2**64 - 1)),
    "with a sign": (pa.array(NUMBERS * 3, pa.int64()), None),
    "with a sign, on all of 64 bits": (pa.array(NUMBERS, pa.int64()), Domain(0, 2**64 - 1)),
    "on a domain above all": (pa.array(NUMBERS, pa.int64()), Domain(2**63, 2**63 + 5)),
    "on a domain below all": (pa.array(NUMBERS, pa.int64()), Domain(-(2**63) - 9, -(2**63) - 2)),
    "floats of a tiny step": (pa.array(FAR_FLOATS), Domain(0, 1, step="1e-19")),
    "floats far beyond": (pa.array(FAR_FLOATS), Domain(0, 10**299, step=10**290)),
    "decimals of a tiny step": (
        pa.array([Decimal("0.10"), Decimal("-9.99"), Decimal("9.99"), None], pa.decimal128(3, 2)),
        Domain(-20, 20, step="0.001"),
    ),
    "short numbers beside a domain": (
        pa.array([-128, 127, 0], pa.int8()),
        Domain(-1000, 1000, step=10),
    ),
}


@pytest.mark.one_in(4, each="engine")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "name"),
    [
        (engine, name)
        for engine in ("NumPy", "Arrow", "DuckDB", "Parquet")
        for name in EXTREMES
        # NumPy has no decimals.
        if engine != "NumPy" or not name.startswith("decimals")
    ],
)
def test_extreme_cells_on_extreme_domains(engine, name, request, tmp_path):
    cells, domain = EXTREMES[name]
    table = loaded(engine, pa.table({"x": cells}), Place(tmp_path, request))
    grid = grid_of(table.type_of("x"), domain)
    rows = meant(engine, pa.table({"x": cells}))
    counts = Counter(index_of(row["x"], grid) for row in rows if row["x"] is not None)
    points = points_around(list(counts), grid)
    assert table.counts_below("x", grid, points) == [true(counts, points)]


# ---- any number of points


GRID = grid_of(integer_type(64), Domain(0, 10**6))


@pytest.fixture(
    scope="module",
    params=[pytest.param(engine, marks=pytest.mark.slow) for engine in ("Arrow", "DuckDB", "CSV")],
)
def uneven(request, tmp_path_factory) -> Table:
    """A few thousand cells, with keys of one digit."""
    random = np.random.default_rng(4)
    x = (random.random(4_000) ** 3 * 1e6).astype(np.int64)
    cells = pa.table({"x": x, "key": x % 7})
    return loaded(request.param, cells, Place(tmp_path_factory.mktemp("uneven"), request))


def uneven_cells() -> Indexes:
    return np.sort((np.random.default_rng(4).random(4_000) ** 3 * 1e6).astype(np.int64))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [0, 1, 2, 3, 4_096, 25_000])
def test_few_points_and_many(uneven, number):
    random = np.random.default_rng(number)
    cells = uneven_cells()
    for points in (
        np.unique(random.integers(1, 10**6, number)),
        np.arange(1, number + 1) * (10**6 // (number + 1)),
    ):
        (found,) = uneven.counts_below("x", GRID, points)
        assert found == PointCounts(points, cells.searchsorted(points), len(cells))


def test_a_point_at_the_lower_end_has_nothing_below_it(uneven):
    (found,) = uneven.counts_below("x", GRID, np.array([-5, 0, 1, 10**6]))
    cells = uneven_cells()
    assert found.counts.tolist() == [0, 0, cells.searchsorted(1), len(cells)]


def test_no_points_give_the_number_of_cells_in_each_group(uneven):
    rows = uneven.bind(Rows(groups=Groups.of({"key": [*range(7), 12]})))
    found = uneven.counts_below("x", GRID, np.empty(0, np.int64), rows)
    numbers = np.bincount(uneven_cells() % 7, minlength=7)
    assert [counts.n for counts in found] == [*numbers, 0]


def test_more_points_than_one_scan_counts_take_several(uneven, monkeypatch):
    points = np.unique(np.random.default_rng(1).integers(1, 10**6, 300))
    rows = uneven.bind(Rows(groups=Groups.of({"key": range(7)})))
    at_once = uneven.counts_below("x", GRID, points, rows)
    monkeypatch.setattr("postri.engines.table.MOST_POINTS", 64)
    assert uneven.counts_below("x", GRID, points, rows) == at_once
    monkeypatch.setattr("postri.engines.table.MOST_COUNTS", 350)
    assert uneven.counts_below("x", GRID, points, rows) == at_once


class Growing:
    """An engine whose table has one more row in each scan."""

    n = 0

    def counts_below(self, column, grid, points, rows) -> list[PointCounts]:
        self.n += 1
        return [PointCounts(points, np.zeros(len(points), np.int64), self.n)]


def test_rows_that_change_between_scans_are_refused(monkeypatch):
    monkeypatch.setattr("postri.engines.table.MOST_POINTS", 2)
    with pytest.raises(SourceChanged, match="changed while they were counted"):
        Table(Growing()).counts_below(None, GRID, np.array([1, 2, 3]))


def test_counts_at_some_of_the_points():
    counts = PointCounts(np.array([2, 5, 9]), np.array([0, 4, 6]), 7)
    assert counts.below(np.array([9, 2])).tolist() == [6, 0]
    assert counts != PointCounts(np.array([2, 5, 9]), np.array([0, 4, 7]), 7)
    assert counts != PointCounts(np.array([2, 5, 9]), np.array([0, 4, 6]), 8)
    assert counts == PointCounts(np.array([2, 5, 9]), np.array([0, 4, 6]), 7)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, ">f8", ">i4"])
def test_cells_of_any_width_and_byte_order(kind):
    grid = grid_of(float_type(64), Domain(-3, 3, step="0.001"))
    cells = (np.random.default_rng(2).standard_normal(5_000) * 2).astype(kind)
    indexes = sorted(index_of(float(cell), grid) for cell in cells)
    points = points_around(indexes[::100], grid)
    (found,) = postri.open(cells).counts_below(None, grid, points)
    assert found == PointCounts(points, np.searchsorted(indexes, points), len(cells))
