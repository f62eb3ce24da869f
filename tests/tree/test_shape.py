"""The shape of a tree: its nodes divide the grid, and no path has more than one epsilon or beta."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postri.columns import (
    BOOLEAN,
    DATE,
    DECLARABLE,
    UNTYPED,
    ColumnType,
    decimal_type,
    integer_type,
    timestamp_type,
)
from postri.grid import HALF_RANGE, Grid, grid_of
from postri.tree.shape import Level, TreeNode, TreeShape, shape_of
from proving import examples, sized

TYPES: tuple[ColumnType, ...] = (
    BOOLEAN,
    DATE,
    UNTYPED,
    DECLARABLE["integer"],
    *(integer_type(bits) for bits in (8, 16, 32, 64)),
    *(integer_type(bits, signed=False) for bits in (8, 16, 32, 64)),
    decimal_type(3, 1),
    decimal_type(18, 2),
    *(timestamp_type(f"timestamp of 1/{units}", units) for units in (1, 1_000, 10**6, 10**9)),
)
DEFAULTS = {column.name: grid_of(column, None) for column in TYPES}


def given_grid(points: int) -> Grid:
    """The grid of a domain of so many points: indexes of the largest begin below zero."""
    shift = HALF_RANGE if points > HALF_RANGE else 0
    return Grid(-shift, points - 1 - shift, Fraction(0), Fraction(1))


def path(shape: TreeShape, index: int) -> list[TreeNode]:
    """From the root to the leaf that holds an index."""
    nodes = [shape.root]
    while not nodes[-1].is_leaf:
        holding = [
            child for child in shape.children(nodes[-1]) if child.first <= index <= child.last
        ]
        assert len(holding) == 1
        nodes += holding
    return nodes


def levels_along(shape: TreeShape, nodes: list[TreeNode]) -> list[Level]:
    return [shape.level_below(node) for node in nodes[:-1]]


def sums(shape: TreeShape, nodes: list[TreeNode]) -> tuple[Fraction, Fraction]:
    """The shares of epsilon, and of beta, along a path."""
    found = levels_along(shape, nodes)
    shares = sum((level.share for level in found), start=Fraction(0))
    return shares, sum((level.chance for level in found), start=Fraction(0))


def check_path(shape: TreeShape, index: int) -> None:
    """All that must hold along the path of one index."""
    nodes = path(shape, index)
    assert (nodes[-1].first, nodes[-1].last) == (index, index)
    assert [node.depth for node in nodes] == list(range(len(nodes)))
    for node in nodes[:-1]:
        children = shape.children(node)
        assert (children[0].first, children[-1].last) == (node.first, node.last)
        assert all(left.last + 1 == right.first for left, right in pairwise(children))
        assert all(child.first <= child.last for child in children)
        assert shape.boundaries(node) == [child.first for child in children[1:]]
    assert all(level.share > 0 and level.chance > 0 for level in levels_along(shape, nodes))
    assert max(sums(shape, nodes)) <= 1


def telling(grid: Grid) -> Iterator[int]:
    """Indexes at the ends, around the anchor and at the ends of octaves."""
    around = grid.anchor or 0
    for octave in range(0, 66, sized(5, 1)):
        for side in (-1, 1):
            for beside in (-1, 0):
                index = around + side * (1 << octave) + beside
                if grid.first <= index <= grid.last:
                    yield index
    yield from (grid.first, grid.last)


def all_nodes(shape: TreeShape) -> Iterator[TreeNode]:
    waiting = [shape.root]
    while waiting:
        node = waiting.pop()
        yield node
        if not node.is_leaf:
            waiting += shape.children(node)


@pytest.mark.slow
@pytest.mark.parametrize("children", [2, 3, 8])
@pytest.mark.parametrize("points", [1, 2, 3, 7, 8, 9, 63, 64, 65, 513])
def test_every_path_of_a_small_tree_has_all_of_epsilon_or_less(points: int, children: int):
    shape = TreeShape(given_grid(points), most_children=children)
    for index in range(points):
        check_path(shape, index)
    leaves = [node for node in all_nodes(shape) if node.is_leaf]
    assert sorted(leaf.first for leaf in leaves) == list(range(points))
    # What no path used would be wasted.
    if points > 1:
        assert max(sums(shape, path(shape, index))[0] for index in range(points)) == 1


@examples(400)
@given(st.integers(1, 2**64), st.data())
def test_every_path_of_a_given_domain_has_all_of_epsilon_or_less(points: int, data: st.DataObject):
    grid = given_grid(points)
    shape = TreeShape(grid)
    check_path(shape, data.draw(st.integers(grid.first, grid.last)))


@pytest.mark.parametrize("points", [2**63, 2**63 + 1, 2**64 - 1, 2**64])
def test_the_ends_of_the_largest_domains_are_reached(points: int):
    grid = given_grid(points)
    middle = (grid.first + grid.last) // 2
    for index in (grid.first, grid.first + 1, middle, grid.last - 1, grid.last):
        check_path(TreeShape(grid), index)


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFAULTS)
def test_every_path_of_a_default_domain_has_all_of_epsilon_or_less(name: str):
    grid = DEFAULTS[name]
    for index in telling(grid):
        check_path(shape_of(grid), index)


@pytest.mark.slow
@examples(400)
@given(st.sampled_from(sorted(DEFAULTS)), st.data())
def test_every_index_of_a_default_domain_reaches_its_leaf(name: str, data: st.DataObject):
    grid = DEFAULTS[name]
    check_path(shape_of(grid), data.draw(st.integers(grid.first, grid.last)))


@pytest.mark.parametrize("name", ["int8", "uint8", "boolean", "decimal(3,1)"])
def test_every_path_of_a_small_default_domain_has_all_of_epsilon_or_less(name: str):
    grid = DEFAULTS[name]
    for index in range(grid.first, grid.last + 1, sized(3, 1)):
        check_path(shape_of(grid), index)


def test_the_largest_unsigned_number_lies_in_the_tree():
    """It is alone in its octave, the 65th."""
    grid = DEFAULTS["uint64"]
    leaf = path(shape_of(grid), grid.last)[-1]
    assert grid.value(leaf.first) == 2**64 - 1


def test_a_level_that_keeps_its_whole_share_is_caught():
    """The check can fail: shares that do not fade and are not divided."""

    class Generous(TreeShape):
        def _fading_levels(self, share: Fraction, chance: Fraction, number: int) -> list[Level]:
            return [Level(share, chance)] * number

    shape = Generous(given_grid(64))
    with pytest.raises(AssertionError):
        check_path(shape, 5)


@examples(200)
@given(st.integers(2, 2**64), st.data())
def test_the_chances_of_where_an_index_may_be_found_add_up_to_one(points: int, data: st.DataObject):
    """From the root down to the node of which it is a boundary."""
    grid = given_grid(points)
    shape = TreeShape(grid)
    index = data.draw(st.integers(grid.first, grid.last))
    node = shape.root
    total = Fraction(0)
    while True:
        total += shape.chance_at(node, index)
        _, child = shape.child_with(node, index)
        if child.first == index:
            break
        node = child
    assert total == 1
