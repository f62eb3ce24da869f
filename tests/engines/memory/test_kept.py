"""What a table in memory keeps of filters: the same rows as without, within a bounded memory."""

from __future__ import annotations

import numpy as np
import pytest

from postri.columns import DECLARABLE, integer_type, text_type
from postri.engines.memory.chunk import Chunk
from postri.engines.memory.columns import FEW_LEFT, TextColumn, TypedColumn, UntypedColumn
from postri.engines.memory.engine import MemoryEngine
from postri.engines.memory.kept import Filters, KeptValues
from postri.engines.rows import Rows, Selection, bind
from postri.expressions import Bound, Predicate, Value
from postri.expressions.reader import read_expression
from postri.grid import grid_of
from postri.statistics.quantile import HALF
from postri.window import Target

ROWS = 5_000
CITIES = ("Oslo", "Bergen", "", "Ålesund", None)
FILTERS = (
    "age < 40",
    "age < 40 AND city = 'Oslo'",
    "age < 40 AND city IS NULL AND pay > 100",
    "city <> 'Oslo' AND (age < 30 OR city = 'Bergen')",
    "city LIKE 'B%' AND NOT age >= 25 AND (pay < 900 AND pay > 10)",
    "city IN ('Oslo', '') AND age IS NOT NULL",
    "NOT (age < 40 AND city = 'Oslo')",
    "pay < 3",
    "2 > 1",
    "1 > 2 AND age < 40",
)


@pytest.fixture(scope="module")
def engine() -> MemoryEngine:
    """Ages that are read, cities with nulls, and pay in two chunks, some of which is null."""
    generator = np.random.default_rng(1)
    cities = [CITIES[place] for place in generator.integers(0, len(CITIES), ROWS)]
    ages = [None if age == 18 else int(age) for age in generator.integers(18, 60, ROWS)]
    pay = generator.integers(0, 1_000, ROWS)
    chunks = [Chunk(pay[:2_000]), Chunk(pay[2_000:], pay[2_000:] % 7 != 0)]
    return MemoryEngine(
        {
            "age": lambda: UntypedColumn(DECLARABLE["integer"], ages),
            "city": lambda: TextColumn(text_type("text"), cities),
            "pay": lambda: TypedColumn(integer_type(64), chunks),
        }
    )


def selected(engine: MemoryEngine, text: str) -> Selection:
    return bind(Rows(Predicate.parse(text)), engine.names, engine.type_of)


def held(engine: MemoryEngine, where: Bound) -> np.ndarray:
    """The rows on which a condition holds, as a whole and from the cells themselves."""
    cells = {each: engine._column(each.column).vector(each) for each in where.inputs}
    return np.broadcast_to(where.mask(cells), ROWS)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("text", FILTERS)
def test_parts_that_are_kept_hold_on_the_rows_of_the_whole(engine: MemoryEngine, text: str) -> None:
    where = selected(engine, text).where
    assert where is not None
    filters = Filters(engine._column)
    for _ in range(2):
        assert (filters.mask(where, ROWS) == held(engine, where)).all()


@pytest.mark.parametrize("text", FILTERS)
def test_windows_sizes_and_totals_are_those_of_the_rows_that_are_left(
    engine: MemoryEngine, text: str
) -> None:
    rows = selected(engine, text)
    assert rows.where is not None
    here = held(engine, rows.where)
    whole = Chunk.joined(engine._column("pay").chunks)
    pay = whole.values[here & whole.counting()]
    grid = grid_of(integer_type(64), None)
    ((window,),) = engine.windows("pay", grid, [Target(HALF, 10**6)], rows)
    indexes, counts = np.unique(pay, return_counts=True)
    assert (window.indexes.tolist(), window.counts.tolist()) == (indexes.tolist(), counts.tolist())
    assert (window.below, window.n) == (0, len(pay))
    assert engine.sizes("pay", rows) == [len(pay)]
    assert engine.sizes(None, rows) == [int(here.sum())]
    (total,) = engine.totals("pay", grid, rows)
    assert (total.n, total.indexes) == (len(pay), int(pay.sum()))


def test_the_filters_leave_many_rows_and_few(engine: MemoryEngine) -> None:
    """Both ways to leave out rows are asked above."""
    left = [engine.sizes(None, selected(engine, text))[0] for text in FILTERS]
    assert min(left) * FEW_LEFT < ROWS <= max(left) * FEW_LEFT


@pytest.mark.slow
def test_what_is_kept_has_a_bound(engine: MemoryEngine) -> None:
    most = 4 * ROWS
    filters = Filters(engine._column, most)
    for age in range(20, 60):
        where = selected(engine, f"age < {age} AND pay < {10 * age}").where
        assert where is not None
        assert (filters.mask(where, ROWS) == held(engine, where)).all()
        assert filters.bytes <= most


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    values: KeptValues[str] = KeptValues(30)
    for key in "abc":
        values.put(key, key.upper(), 10)
    assert values.get("a") == "A"
    values.put("d", "D", 10)
    assert [values.get(key) for key in "abcd"] == ["A", None, "C", "D"]
    values.put("e", "E", 31)
    assert (values.get("e"), values.bytes) == (None, 30)
    values.put("d", "d", 5)
    assert (values.get("d"), values.bytes) == ("d", 25)


def test_columns_of_one_name_that_are_computed_are_not_mixed_up(engine: MemoryEngine) -> None:
    """Two public tables may both bring a column `area`."""
    sizes = []
    for factor in (1, 2):
        value = Value.bind(
            read_expression(f"pay * {factor}"),
            engine.names or (),
            engine.type_of,
        )
        joined = engine.computed({"area": value})
        names = [*(engine.names or ()), "area"]
        rows = bind(Rows(Predicate.parse("area < 500")), names, joined.type_of)
        sizes += joined.sizes(None, rows)
    assert sizes[0] > sizes[1] > 0
