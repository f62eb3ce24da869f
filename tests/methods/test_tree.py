"""The release of a tree: the same noisy counts in whatever order and whenever nodes are drawn."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

import postri
from postri import Domain, SeededCoins
from postri.audit.tiny_tables import plain_grid
from postri.columns import integer_type
from postri.grid import Grid, grid_of
from postri.mechanisms.coins import Draw, Key, Words
from postri.methods import tree_release
from postri.methods.tree_release import ChosenNodes, release
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.tree.distribution import PERCENTILES
from postri.tree.front import NodeNumbers, Wish
from postri.tree.noisy_tree import TreeNoise
from postri.tree.shape import TreeNode, TreeShape, shape_of
from postri.window import PointCounts
from proving import sized
from small_trees import BINARY, children_counts, counts_below

NOISES: tuple[Noise, ...] = (DiscreteLaplace(Fraction(1, 2)), DiscreteGaussian(Fraction(1, 2)))
UNSIGNED = grid_of(integer_type(8, signed=False), None)
SHAPES = {
    "two children": BINARY,
    "given": shape_of(plain_grid(600)),
    "int8": shape_of(grid_of(integer_type(8), None)),
    "uint8": shape_of(UNSIGNED),
}
BETA = Fraction(1, 20)
DECILES = [Fraction(k, 10) for k in range(1, 10)]
rows_of_600 = np.sort(np.random.default_rng(5).integers(0, 600, 400))


def some_rows(grid: Grid, number: int) -> list[int]:
    random = Random(number)
    return sorted(random.randint(grid.first, grid.last) for _ in range(number))


def in_any_order(
    shape: TreeShape, noise: Noise, rows: list[int], draw: Draw, random: Random
) -> dict[TreeNode, list[int]]:
    """The noisy counts of all nodes, drawn in a random order."""
    numbers, waiting = all_numbers(shape, noise)
    random.shuffle(waiting)
    found = {}
    # Some alone, some together with others.
    while waiting:
        some = [waiting.pop() for _ in range(min(len(waiting), random.randint(1, 3)))]
        chosen = ChosenNodes(numbers, np.array(some), np.arange(len(some)), [draw] * len(some))
        nodes = [numbers.node(number) for number in some]
        own = [children_counts(shape, node, rows) for node in nodes]
        counts = np.zeros_like(chosen.children.firsts)
        for line, each in zip(counts, own, strict=True):
            line[: len(each)] = each
        noisy = tree_release.with_noise(chosen, counts).tolist()
        for node, each, drawn in zip(nodes, own, noisy, strict=True):
            found[node] = drawn[: len(each)]
            assert not any(drawn[len(each) :])
    return found


def all_numbers(shape: TreeShape, noise: Noise) -> tuple[NodeNumbers, list[int]]:
    """The numbers of all nodes that can be divided."""
    numbers = NodeNumbers(shape, TreeNoise(noise))
    found = []
    waiting = [0]
    while waiting:
        number = waiting.pop()
        if not numbers.node(number).is_leaf:
            found.append(number)
            nodes = numbers.at(np.array([number]))
            first = int(nodes.first_child[0])
            waiting += range(first, first + int(nodes.children[0]))
    return numbers, found


GRIDS = {
    **{name: shape.grid for name, shape in SHAPES.items() if name != "two children"},
    "int64": grid_of(integer_type(64), None),
    "uint64": grid_of(integer_type(64, signed=False), None),
    "all of 64 bits": Grid(-(2**63), 2**63 - 1, Fraction(0), Fraction(1)),
    "an odd number": Grid(-7, 2**40 + 5, Fraction(0), Fraction(1)),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("name", GRIDS)
def test_numbers_tell_what_the_shape_tells(name: str, noise: Noise):
    """Down some paths: to both ends of the grid, and to other points."""
    shape = shape_of(GRIDS[name])
    root = shape.root
    edges = [root.first, (root.first + root.last) // 3]
    numbers = NodeNumbers(shape, TreeNoise(noise), edges)
    random = Random(1)
    indexes = [random.randint(root.first, root.last) for _ in range(20)]
    for index in (root.first, root.last, root.first + 1, root.last - 1, *indexes):
        number = 0
        node = root
        while not node.is_leaf:
            below = numbers.noises[int(numbers.kinds(np.array([number]))[0])]
            assert below == TreeNoise(noise).below(shape, node)
            told = numbers.at(np.array([number]))
            first = int(told.first_child[0])
            children = range(first, first + int(told.children[0]))
            assert tuple(map(numbers.node, children)) == shape.children(node)
            place, node = shape.child_with(node, index)
            number = children[place]
            facts = numbers.facts(np.array([number]))
            assert facts.has_edge[0] == any(node.first < edge <= node.last for edge in edges)
            assert facts.is_first[0] == (node.first == root.first)
            assert facts.is_last[0] == (node.last == root.last)
            square = 0.0
            if not node.is_leaf:
                square = TreeNoise(noise).below(shape, node).mean_square
            assert facts.square[0] == square


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("name", SHAPES)
def test_nodes_drawn_in_any_order_have_the_same_noisy_counts(name: str, noise: Noise):
    shape = SHAPES[name]
    rows = some_rows(shape.grid, 40)
    for seed in range(sized(2, 20)):
        wish = Wish(DECILES, BETA, everywhere=seed % 2 == 0)
        (tree,) = release(shape, noise, 1, counts_below(rows), wish, SeededCoins(seed))
        found = in_any_order(shape, noise, rows, SeededCoins(seed).draw(), Random(seed))
        assert len(tree.counts) > 1
        assert all(list(counts) == found[node] for node, counts in tree.counts.items())


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_a_tree_for_nine_quantiles_is_part_of_the_one_for_ninety_nine(noise: Noise):
    shape = SHAPES["given"]
    trees = []
    for ps in (DECILES, PERCENTILES):
        wish = Wish(ps, BETA, everywhere=False)
        trees += release(shape, noise, 1, counts_below(rows_of_600), wish, SeededCoins(3))
    few, many = trees
    assert few.counts.items() <= many.counts.items()
    assert len(few.counts) < len(many.counts)


def test_groups_have_noise_of_their_own():
    (one, other) = release(
        SHAPES["given"],
        NOISES[0],
        2,
        counts_below(rows_of_600, rows_of_600),
        Wish(DECILES, BETA),
        SeededCoins(3),
    )
    root = one.shape.root
    assert one.counts[root] != other.counts[root]


class Watched:
    """Coins that keep the keys that they were asked for."""

    private = False

    def __init__(self) -> None:
        self.keys: list[Key] = []

    def draw(self) -> Watched:
        return self

    def words(self, key: Key, number: int) -> Words:
        self.keys.append(key)
        return SeededCoins(len(self.keys)).draw().words(key, number)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("name", SHAPES)
def test_no_two_nodes_share_their_coins(name: str, noise: Noise):
    """Also an only child and the node above it, which hold the same stretch: all of uint8 lies in
    one group of octaves.
    """
    shape = SHAPES[name]
    coins = Watched()
    in_any_order(shape, noise, some_rows(shape.grid, 9), coins, Random(0))
    assert len(coins.keys) == len(set(coins.keys))


def test_what_is_counted_is_what_there_is():
    """With next to no noise, the noisy counts are the counts."""
    noise = DiscreteLaplace(Fraction(1, 1_000))
    (tree,) = release(
        SHAPES["given"],
        noise,
        1,
        counts_below(rows_of_600),
        Wish(PERCENTILES, BETA),
        SeededCoins(1),
    )
    assert len(tree.counts) > 40
    for node, counts in tree.counts.items():
        assert list(counts) == children_counts(tree.shape, node, rows_of_600.tolist())


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", 1, 1_000, "1e5"])
@pytest.mark.parametrize("rows", [0, 10**6, 10**15], ids=str)
def test_any_number_of_rows_and_any_epsilon_are_answered(rows: int, epsilon: object):
    """All rows at one point: counts of 10^15 are whole numbers in no float of four bytes."""
    grid = plain_grid(2_000_001)

    def below(points: np.ndarray) -> list:
        counts = np.where(points > 1_234_567, rows, 0)
        return [PointCounts(points, counts, rows)]

    noise = DiscreteLaplace(1 / Fraction(epsilon))
    wish = Wish([Fraction(1, 3), Fraction(1, 2)], Fraction(1, 10**9))
    (tree,) = release(shape_of(grid), noise, 1, below, wish, SeededCoins(11))
    for p in wish.ps:
        low, high = tree.interval(p, wish.beta)
        # By luck once in a billion times.
        assert rows == 0 or low.first <= 1_234_567 <= high.last
        node, within = tree.crossing(p)
        assert 0 <= within <= 1
        assert tree.shape.root.first <= node.first
    # More than a million rows tell the point at epsilon 1.
    if rows * Fraction(epsilon) >= 10**6:
        low, high = tree.interval(wish.ps[0], wish.beta)
        assert (low.first, high.last) == (1_234_567, 1_234_567)


@pytest.mark.parametrize("cell", [0, 2**63, 2**64 - 2, 2**64 - 1])
def test_every_unsigned_number_has_a_distribution(cell: int):
    cells = np.full(500, cell, np.uint64)
    found = postri.quantile(cells, 0.5, epsilon=1, method="tree", coins=SeededCoins(5))
    assert cell in found.interval


@pytest.mark.parametrize("cells", [[], [0], [1], [0, 1], [0, 1, 1]], ids=str)
def test_a_domain_of_two_points_is_answered(cells: list[int]):
    found = postri.distribution(
        np.array(cells, np.int64), epsilon=1, domain=Domain(0, 1), coins=SeededCoins(5)
    )
    assert found.median.value in (0, 1)
    assert found.count(1).interval.low >= 0
