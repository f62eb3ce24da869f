"""Counts that are made ahead are those of the cells, and few scans are enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import postri
from postri import Domain, SeededCoins
from postri.engines.ahead import CountsAhead
from postri.engines.engine import UsualRange
from postri.engines.memory import engine as memory_engine
from postri.engines.memory.engine import MemoryEngine
from postri.engines.rows import Groups, Rows
from postri.engines.sql.engine import SqlEngine
from postri.engines.stretches import Stretches, lattices
from postri.engines.table import Table
from postri.grid import Grid, grid_of
from postri.tree.shape import TreeNode, shape_of
from postri.window import Indexes
from proving import sized

DECILES = [Fraction(k, 10) for k in range(1, 10)]
ROWS = 2_000
SMALLEST, LARGEST = -(2**63), 2**63 - 1


def lognormal(rows: int = ROWS) -> Indexes:
    generator = np.random.default_rng(1)
    return (np.exp(generator.normal(7, 0.8, rows)) * 100).astype(np.int64)


def around_zero() -> Indexes:
    return np.random.default_rng(2).normal(0, 10**6, ROWS).astype(np.int64)


def at_the_ends() -> Indexes:
    ends = [SMALLEST, SMALLEST + 1, -1, 0, 1, LARGEST - 1, LARGEST]
    return np.array(ends * 300 + list(range(-500, 500)), np.int64)


CELLS: dict[str, tuple[Callable[[], Any], Domain | None]] = {
    "lognormal": (lognormal, None),
    "lognormal, on a domain": (lognormal, Domain(50_000, 10**6)),
    "around zero": (around_zero, None),
    "at the ends": (at_the_ends, None),
    "at the ends, on a domain": (at_the_ends, Domain(-100, 2**40)),
    "all alike": (lambda: np.full(ROWS, 77), None),
    "bytes": (lambda: (lognormal() % 256).astype(np.uint8), None),
    "without a sign": (lambda: lognormal().astype(np.uint64) << np.uint64(40), None),
    "floats": (lambda: lognormal() / 7, Domain(0, 10**5, step="0.01")),
    "decimals on coarse steps": (
        lambda: pa.array(
            [Decimal(each) / 4 for each in lognormal().tolist()], pa.decimal128(12, 2)
        ),
        Domain(0, 999_999, step=3),
    ),
    "dates": (lambda: (lognormal() % 20_000).astype("datetime64[D]"), None),
    "none": (lambda: np.empty(0, np.int64), None),
}
ENGINES = ("memory", "DuckDB")
IN_ORDER = "memory, in order"


def opened(engine: str, cells: Any) -> Table:
    values = cells if isinstance(cells, pa.Array) else pa.array(cells)
    table = pa.table({"x": values, "key": pa.array(np.arange(len(values)) % 3)})
    if engine != "DuckDB":
        return postri.open(table)
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE cells AS FROM given")
    return postri.open(connection.table("cells"))


@dataclass
class Scans:
    """How often an engine was asked for counts."""

    asked: list[str] = field(default_factory=list)


@contextmanager
def watched(kind: type) -> Iterator[Scans]:
    """The calls of an engine that scan the table."""
    scans = Scans()

    def watching(name: str) -> Any:
        original = getattr(kind, name)

        def call(self: Any, *given: Any) -> Any:
            scans.asked.append(name)
            return original(self, *given)

        return patch.object(kind, name, call)

    with watching("counts_below"), watching("counts_inside"):
        yield scans


def some_nodes(grid: Grid, indexes: Indexes) -> Iterator[list[TreeNode]]:
    """The nodes that hold some cells, level by level, as a release asks for them."""
    shape = shape_of(grid)
    level = [shape.root]
    while level:
        yield level
        children = [child for node in level for child in shape.children(node)]
        level = [
            child
            for child in children
            if not child.is_leaf and ((indexes >= child.first) & (indexes <= child.last)).any()
        ]


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "name"), list(product([*ENGINES, IN_ORDER], CELLS))[:: sized(5, 1)], ids=str
)
def test_all_boundaries_of_a_tree_have_the_counts_of_the_cells(engine, name, monkeypatch):
    """Few cells are followed down to single points; all are counted."""
    if engine != IN_ORDER:
        monkeypatch.setattr(memory_engine, "MOST_ORDERED", 0)
    make, domain = CELLS[name]
    table = opened(engine, make())
    grid = grid_of(table.type_of("x"), domain)
    rows = table.bind(Rows(groups=Groups.of({"key": [0, 2, 9]})))
    ahead = table.counts_ahead("x", grid, rows, DECILES, 50)
    one_by_one = table.counts_below("x", grid, np.array([grid.first], np.int64), rows)
    shape = shape_of(grid)
    followed = np.array([grid.first, grid.last, grid.first // 3 + grid.last // 2], np.int64)
    usual = table._engine.usual_range("x", grid, rows)
    if usual is not None:
        middle = usual.low // 2 + usual.high // 2
        followed = np.append(followed, [usual.low, middle, middle + 1, usual.high])
    for nodes in some_nodes(grid, followed):
        points = np.array(sorted({each for node in nodes for each in shape.boundaries(node)}))
        points = points.astype(np.int64)
        assert ahead(points) == table.counts_below("x", grid, points, rows)
    assert [each.n for each in ahead(followed[:1])] == [each.n for each in one_by_one]


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_of_stretches_hold_what_lies_between_their_points(engine):
    table = opened(engine, np.append(around_zero(), at_the_ends()))
    grid = grid_of(table.type_of("x"), None)
    rows = table.bind(Rows(groups=Groups.of({"key": [2, 0]})))
    for firsts, size, step in [
        ([-1025, -1, 1023], 512, 2),
        ([-(2**20)], 2**21, 2**14),
        ([SMALLEST, SMALLEST + 64], 32, 8),
        ([LARGEST - 64], 64, 1),
        ([SMALLEST, -64], 64, 1),
        ([-(2**15)], 2**16, 1),
    ]:
        stretches = Stretches(np.array(firsts, np.int64), size, step)
        found = table._engine.counts_inside("x", grid, stretches, rows)
        starts = stretches.starts
        bounds = np.hstack((starts, starts[:, :1] + size))
        points = np.unique(bounds)
        for group, counted in enumerate(table.counts_below("x", grid, points, rows)):
            assert found[group].tolist() == np.diff(counted.below(bounds), axis=1).tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("step", [1, 3, 64, 2**49])
def test_even_points_hold_what_lies_below_them_and_fail_on_no_cell(engine, step):
    cells = np.append(around_zero(), at_the_ends())
    table = opened(engine, cells)
    grid = grid_of(table.type_of("x"), None)
    rows = table.bind(Rows())
    points = np.arange(-300, 700, dtype=np.int64) * step - 1
    (found,) = table.counts_below("x", grid, points, rows)
    assert found.counts.tolist() == np.sort(cells).searchsorted(points).tolist()
    assert found.n == len(cells)


@pytest.mark.slow
def test_cells_in_order_or_counted_give_the_same_release(monkeypatch):
    table = opened("memory", lognormal(300))
    keys = {"key": [0, 1, 2]}

    def released() -> list[str]:
        found = postri.distribution(table, "x", epsilon=1, by=keys, coins=SeededCoins(3))
        return [each.to_json() for each in found.values()]

    one = released()
    monkeypatch.setattr(memory_engine, "MOST_ORDERED", 0)
    assert released() == one


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "kind"), [("memory", MemoryEngine), ("DuckDB", SqlEngine)])
@pytest.mark.parametrize("name", ["lognormal", "lognormal, on a domain"])
def test_few_scans_are_enough_for_a_release(engine, kind, name):
    """Two, and two more where stretches hold so few rows that noise leads to others."""
    _, domain = CELLS[name]
    # So many rows that a stretch of the first scan holds more than the noise.
    table = opened(engine, lognormal(10**6))
    with watched(kind) as scans:
        postri.distribution(table, column="x", epsilon=1, domain=domain, coins=SeededCoins(1))
    assert scans.asked[:2] == ["counts_below", "counts_inside"]
    assert len(scans.asked) <= 4


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_is_the_same_whatever_the_sample_tells(engine, monkeypatch):
    """Also where it misleads, or tells nothing."""
    monkeypatch.setattr(memory_engine, "MOST_ORDERED", 0)
    table = opened(engine, around_zero())
    kind = type(table._engine)

    def released() -> str:
        return postri.distribution(table, column="x", epsilon=1, coins=SeededCoins(5)).to_json()

    expected = released()
    for usual in (None, UsualRange(0, 0, 1), UsualRange(10**12, 10**15, 10**9)):
        monkeypatch.setattr(kind, "usual_range", lambda *_, usual=usual: usual)
        assert released() == expected
    monkeypatch.setattr(kind, "most_parts", lambda *_: 2)
    assert released() == expected


@pytest.mark.parametrize(
    "grid",
    [
        Grid(-255, 500, Fraction(0), Fraction(1), anchor=0),
        Grid(5, 1_004, Fraction(0), Fraction(1)),
        Grid(0, 255, Fraction(0), Fraction(1), anchor=0),
    ],
)
def test_the_boundaries_of_nodes_are_points_of_a_lattice(grid):
    """Those of one size are, and a node no smaller than a stretch is made of whole ones."""
    shape = shape_of(grid)
    waiting = [shape.root]
    while waiting:
        node = waiting.pop()
        waiting += [] if node.is_leaf else shape.children(node)
        if node.depth < 3 or node.is_leaf:
            continue
        (lattice,) = (each for each in lattices(grid) if each.first <= node.first <= each.last)
        size = 1 << (node.size - 1).bit_length()
        assert lattice.start_of(node.first, size) == node.first
        for smaller in {size, max(1, size // 2), max(1, size // 4)}:
            starts = lattice.siblings(node.last, smaller)
            assert node.first == starts[0] and node.last <= starts[-1] + smaller


def test_counts_ahead_know_every_point_that_was_asked_for():
    table = opened("memory", lognormal())
    grid = grid_of(table.type_of("x"), None)
    ahead = CountsAhead(table._engine, "x", grid, table.bind(Rows()), DECILES, 10)
    points = np.array([-5, 3, 109_000, 2**50], np.int64)
    with watched(MemoryEngine) as scans:
        first = ahead(points)
        assert scans.asked[0] == "counts_below"
        scans.asked.clear()
        assert ahead(points) == first
    assert scans.asked == []
