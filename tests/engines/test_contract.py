"""Every engine sees the same window in the same cells, and with the same coins gives the same
answer.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import pyarrow as pa
import pytest
from contract_tables import CASES

import postri
from postri import SeededCoins
from postri.engines.table import Table
from postri.grid import grid_of
from postri.window import Target
from proving import sized
from services.real_tables import HAS_CLICKHOUSE, Place, loaded, marks, most_of

QUANTILES = (Fraction(1, 2), Fraction(9, 10), Fraction(1, 100))
# A query of Spark takes a second, whatever it counts: `make test` asks it of every so many cases.
SPARKS = {"Spark": 11, "Spark Connect": 30}
DATABASES = ("DuckDB", "DuckDB database", "Parquet", "Parquet files", "Delta", "PostgreSQL")
ENGINES = (*DATABASES, *SPARKS, *(["ClickHouse"] * HAS_CLICKHOUSE))
FEW = [name for name in CASES if not name.startswith("many")]


def cells(name: str) -> pa.Table:
    column = CASES[name].cells
    return pa.table({"other": pa.array(["text"] * len(column), pa.string()), "x": column})


@pytest.fixture(scope="module")
def opened(request, tmp_path_factory) -> Callable[[str, str], Table]:
    """The cells of a case in an engine, put there once."""
    place = Place(tmp_path_factory.mktemp("contract"), request)
    return cache(lambda engine, name: loaded(engine, cells(name), place))


def cases_of(engine: str) -> list[str]:
    if engine in SPARKS:
        return list(CASES)[:: sized(SPARKS[engine], 1)]
    return most_of(engine, CASES)


SEEN = [
    pytest.param(engine, name, marks=marks(engine) if name in FEW[::3] else pytest.mark.slow)
    for engine in ENGINES
    for name in cases_of(engine)
]


@pytest.mark.one_in(6, each="engine")
@pytest.mark.slow
@pytest.mark.parametrize(("engine", "name"), SEEN)
def test_the_window_is_that_of_the_cells_in_memory(engine, name, opened):
    case, memory, table = CASES[name], postri.open(cells(name)), opened(engine, name)
    grids = [grid_of(each.type_of("x"), case.domain) for each in (memory, table)]
    assert (grids[0].first, grids[0].last, grids[0].base, grids[0].step) == (
        grids[1].first,
        grids[1].last,
        grids[1].base,
        grids[1].step,
    )
    for half in (400,) if engine in SPARKS else (3, 400):
        targets = [Target(p, half) for p in (QUANTILES[:1] if engine in SPARKS else QUANTILES)]
        seen, expected = (each.windows("x", grids[0], targets) for each in (table, memory))
        assert [window(0) for window in seen] == [window(0) for window in expected]


# Where windows are the same, answers are.
ANSWERED = [
    pytest.param(engine, name, marks=marks(engine))
    for engine in ENGINES
    for name in (FEW[:: sized(2 * SPARKS[engine], 1)] if engine in SPARKS else most_of(engine, FEW))
]


@pytest.mark.one_in(4, each="engine")
@pytest.mark.slow
@pytest.mark.parametrize(("engine", "name"), ANSWERED)
def test_the_same_coins_give_the_same_answer(engine, name, opened):
    answers = [
        postri.quantiles(
            source,
            [0.5] if engine in SPARKS else [0.25, 0.5, 0.9],
            column="x",
            epsilon=1,
            domain=CASES[name].domain,
            coins=SeededCoins(5),
        )
        for source in (cells(name), opened(engine, name))
    ]
    assert [(a.value, a.interval) for a in answers[0]] == [
        (a.value, a.interval) for a in answers[1]
    ]
