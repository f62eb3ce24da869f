"""How many cells lie below each of many grid points: the same on every engine, and what a slow
reading of the cells finds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from contract_tables import ASKED, CASES, Asked, odd_table
from rows_reference import counted, grid_for, index_of, selection

from postri.engines.table import Table
from postri.grid import Grid, grid_of
from postri.window import Indexes, PointCounts
from proving import sized
from services.real_tables import LOADERS, SIGNED, Place, loaded, marks, meant, most_of

FEW = [name for name in CASES if not name.startswith("many")]
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
    return most_of(engine, FEW)


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        pytest.param(engine, name, marks=marks(engine))
        for engine in LOADERS
        for name in cases_of(engine)
    ],
)
def test_the_counts_are_those_of_the_cells(engine, name, opened):
    table = opened(engine, name)
    declared = table.type_of("x")
    if declared.kind is None and CASES[name].domain is None and name not in ("ties", "constant"):
        pytest.skip("nothing is declared, and the default domain is one of whole numbers")
    grid = grid_of(declared, CASES[name].domain)
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "name"),
    [
        pytest.param(engine, name, marks=marks(engine))
        for engine in LOADERS
        for name in asked_of(engine)
    ],
)
def test_the_rows_that_count_are_those_of_the_rule(engine, name, opened):
    asked: Asked = ASKED[name]
    table = opened(engine, "odd")
    grid = grid_for(table, asked)
    groups = counted(odd_rows(engine), asked, grid)
    points = points_around(sorted({index for counts in groups for index in counts}), grid)
    found = table.counts_below(asked.value, grid, points, selection(table, asked))
    assert found == [true(counts, points) for counts in groups]
