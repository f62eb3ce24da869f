"""A tree of noisy counts: where an interval begins and ends, where the estimates cross a rank, and
between which boundaries an index lies.
"""

from __future__ import annotations

import pickle
from fractions import Fraction
from functools import cache
from itertools import pairwise
from random import Random

import pytest

from postri import SeededCoins
from postri.audit.tiny_tables import plain_grid
from postri.columns import integer_type
from postri.grid import Grid, grid_of
from postri.methods.tree_release import release
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.tree.front import Wish
from postri.tree.noisy_tree import DrawnCounts, NoisyTree, TreeNoise, index_within
from postri.tree.shape import TreeNode, shape_of
from small_trees import BINARY, children_counts, counts_below, inner_nodes

GRIDS: dict[str, Grid] = {
    "given": plain_grid(600),
    "two points": plain_grid(2),
    "int8": grid_of(integer_type(8), None),
    "uint64": grid_of(integer_type(64, signed=False), None),
}
NOISES: tuple[Noise, ...] = (DiscreteLaplace(Fraction(1, 3)), DiscreteGaussian(Fraction(1, 9)))
PS = [Fraction(k, 8) for k in range(1, 8)]
BETA = Fraction(1, 20)


@cache
def some_tree(name: str, noise: Noise, seed: int = 1) -> NoisyTree:
    grid = GRIDS[name]
    random = Random(seed)
    rows = sorted(random.randint(grid.first, grid.last) for _ in range(80))
    wish = Wish(PS, BETA)
    (tree,) = release(shape_of(grid), noise, 1, counts_below(rows), wish, SeededCoins(seed))
    return tree


TREES = pytest.mark.parametrize(
    ("name", "noise"),
    [(name, noise) for name in GRIDS for noise in NOISES],
    ids=lambda each: getattr(each, "name", each),
)


@pytest.mark.slow
@TREES
def test_nodes_that_are_not_divided_lie_side_by_side(name: str, noise: Noise):
    tree = some_tree(name, noise)
    leaves = list(tree.leaves())
    assert leaves[0].first == tree.shape.grid.first
    assert leaves[-1].last == tree.shape.grid.last
    assert all(one.last + 1 == other.first for one, other in pairwise(leaves))


@pytest.mark.one_in(3)
@pytest.mark.slow
@TREES
def test_an_interval_grows_with_its_certainty(name: str, noise: Noise):
    tree = some_tree(name, noise)
    for p in PS:
        found = [tree.interval(p, beta) for beta in (Fraction(1, 2), BETA, Fraction(1, 10**6))]
        for (low, high), (low_too, high_too) in pairwise(found):
            assert low_too.first <= low.first
            assert high.last <= high_too.last


@pytest.mark.slow
@TREES
def test_every_index_lies_between_the_boundaries_that_are_named(name: str, noise: Noise):
    tree = some_tree(name, noise)
    grid = tree.shape.grid
    boundaries = {leaf.first for leaf in tree.leaves()}
    random = Random(3)
    indexes = [random.randint(grid.first, grid.last) for _ in range(40)]
    for index in (grid.first, *sorted(boundaries)[:40], *indexes, grid.last, grid.last + 1):
        located = tree.located(index)
        assert located.low_index <= index <= located.high_index
        assert (located.low_index == located.high_index) == (
            index in boundaries or index == grid.last + 1
        )
        assert 0 < located.chance <= 1


@TREES
def test_a_crossing_lies_in_the_grid(name: str, noise: Noise):
    tree = some_tree(name, noise)
    grid = tree.shape.grid
    for p in PS:
        node, within = tree.crossing(p)
        assert not tree.divided(node)
        assert node.first <= index_within(grid, node, within) <= node.last


@TREES
def test_a_tree_reads_back(name: str, noise: Noise):
    tree = some_tree(name, noise)
    again = NoisyTree.from_fields(tree.shape.grid, noise, tree.to_fields())
    assert again.counts == tree.counts


def test_counts_are_listed_by_node_when_somebody_looks(monkeypatch: pytest.MonkeyPatch):
    """And a copy of a tree tells the same, whether somebody had looked before or not."""
    with monkeypatch.context() as patches:
        patches.setattr(DrawnCounts, "by_node", lambda drawn: pytest.fail("too early"))
        (tree,) = release(
            BINARY, NOISES[0], 1, counts_below((1, 2, 5)), Wish(PS, BETA), SeededCoins(3)
        )
    before = pickle.loads(pickle.dumps(tree))
    assert len(tree.counts) > 1
    assert all(type(count) is int for counts in tree.counts.values() for count in counts)
    after = pickle.loads(pickle.dumps(tree))
    assert before.counts == tree.counts == after.counts


def whole_tree(rows: tuple[int, ...]) -> NoisyTree:
    """All nodes divided, without noise."""
    tree = NoisyTree(BINARY, TreeNoise(DiscreteLaplace(Fraction(1, 50))))
    for node in inner_nodes(BINARY):
        tree.divide(node, children_counts(BINARY, node, rows))
    return tree


@pytest.mark.parametrize(
    ("rows", "p", "low", "high"),
    [
        # x_(floor t) to x_(ceil t + 1), by hand.
        ((1, 2, 5, 6), Fraction(1, 2), 2, 5),
        ((1, 2, 5), Fraction(1, 2), 1, 5),
        ((1, 2, 5, 6), Fraction(1, 4), 1, 2),
        ((3, 3, 3, 3), Fraction(1, 2), 3, 3),
        # There is no row 0 and none after the last: the grid's ends.
        ((4,), Fraction(1, 2), 0, 7),
        ((), Fraction(1, 2), 0, 7),
        ((1, 2, 5, 6), Fraction(9, 10), 5, 7),
    ],
    ids=str,
)
def test_without_noise_the_interval_is_what_it_must_hold(
    rows: tuple[int, ...], p: Fraction, low: int, high: int
):
    first, last = whole_tree(rows).interval(p, BETA)
    assert (first.first, last.last) == (low, high)


def test_a_tree_that_is_not_divided_says_nothing():
    tree = NoisyTree(BINARY, TreeNoise(NOISES[0]))
    assert tree.interval(Fraction(1, 2), BETA) == (BINARY.root, BINARY.root)
    assert tree.crossing(Fraction(1, 2)) == (BINARY.root, 0.5)


def test_counts_of_another_shape_are_refused():
    tree = NoisyTree(BINARY, TreeNoise(NOISES[0]))
    with pytest.raises(ValueError, match="another shape"):
        tree.divide(BINARY.root, [1, 2, 3])


@pytest.mark.parametrize("share", [Fraction(1, 7), Fraction(1, 2), Fraction(1)], ids=str)
def test_a_level_with_a_share_has_the_noise_of_that_share(share: Fraction):
    """Epsilon is in proportion to 1/scale, rho to 1/variance."""
    laplace = TreeNoise(DiscreteLaplace(Fraction(3))).at(share)
    gaussian = TreeNoise(DiscreteGaussian(Fraction(3))).at(share)
    assert laplace == DiscreteLaplace(3 / share)
    assert gaussian == DiscreteGaussian(3 / share)


def test_negative_counts_are_estimates_like_others():
    """With all noisy counts below zero a quantile has a value, and its interval is the domain."""
    tree = NoisyTree(BINARY, TreeNoise(DiscreteLaplace(Fraction(2))))
    tree.divide(BINARY.root, [-5, -3])
    low, high = tree.interval(Fraction(1, 2), BETA)
    assert (low.first, high.last) == (0, 7)
    node, within = tree.crossing(Fraction(1, 2))
    assert 0 <= index_within(BINARY.grid, node, within) <= 7
    assert isinstance(node, TreeNode)
