"""The estimates of a tree: the truth plus noises with the weights that they say, and of all linear
unbiased ones those with the least variance.

The reference is generalised least squares by plain linear algebra. It knows the noisy counts of the
children of every node on a path: each is the sum of the unknown counts of the stretches in which it
can be divided by that path, plus noise. These are all that was drawn along the path, and no more:
what was drawn beside it would tell a little of the total.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from postri.audit.tiny_tables import plain_grid
from postri.columns import integer_type
from postri.grid import grid_of
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.tree.estimates import Boundaries
from postri.tree.noisy_tree import NoisyTree, TreeNoise
from postri.tree.shape import TreeNode, TreeShape, shape_of
from small_trees import BINARY

SHAPES = {
    "two children": BINARY,
    "three children": TreeShape(plain_grid(27), most_children=3),
    "parts that differ": TreeShape(plain_grid(45), most_children=4),
    "eight children": shape_of(plain_grid(2_001)),
    "default": shape_of(grid_of(integer_type(16), None)),
}
NOISES: tuple[Noise, ...] = (DiscreteLaplace(Fraction(3)), DiscreteGaussian(Fraction(20)))
random = np.random.default_rng(77)


def path_of(shape: TreeShape, index: int) -> list[TreeNode]:
    """The nodes above an index that can be divided."""
    nodes = [shape.root]
    while True:
        _, child = shape.child_with(nodes[-1], index)
        if child.is_leaf:
            return nodes
        nodes.append(child)


def measured(
    tree: NoisyTree, nodes: list[TreeNode]
) -> tuple[np.ndarray, np.ndarray, list[TreeNode]]:
    """Which stretches each noisy count of a path adds up, the mean square of its noise, and the
    stretches.
    """
    on_path = set(nodes)
    stretches = sorted(
        child for node in nodes for child in tree.shape.children(node) if child not in on_path
    )
    design = []
    squares = []
    for node in nodes:
        noise = tree.noise.at(tree.shape.level_below(node).share)
        for child in tree.shape.children(node):
            design.append(
                [child.first <= each.first and each.last <= child.last for each in stretches]
            )
            squares.append(noise.mean_square)
    return np.array(design, float), np.array(squares), stretches


def divided(shape: TreeShape, noise: Noise, nodes: list[TreeNode], counts: np.ndarray) -> NoisyTree:
    """A tree in which these nodes are divided, with these noisy counts one after the other."""
    tree = NoisyTree(shape, TreeNoise(noise))
    start = 0
    for node in nodes:
        number = len(shape.children(node))
        tree.divide(node, [int(each) for each in counts[start : start + number]])
        start += number
    return tree


def number_of_counts(shape: TreeShape, nodes: list[TreeNode]) -> int:
    return sum(len(shape.children(node)) for node in nodes)


def cases() -> list[tuple[str, Noise, int]]:
    found = []
    for name, shape in SHAPES.items():
        for noise in NOISES:
            ends = (shape.grid.first, shape.grid.last)
            inner = random.integers(shape.grid.first, shape.grid.last, 2)
            found += [(name, noise, int(index)) for index in (*ends, *inner)]
    return found


CASES = pytest.mark.parametrize(("name", "noise", "index"), cases(), ids=str)


def gaps(name: str, noise: Noise, index: int) -> tuple[float, float]:
    """By how much estimates differ from the truth plus weights times noises, and their variances
    from those of least squares as a share.
    """
    shape = SHAPES[name]
    nodes = path_of(shape, index)
    empty = divided(shape, noise, nodes, np.zeros(number_of_counts(shape, nodes)))
    design, squares, stretches = measured(empty, nodes)
    truth = random.integers(0, 1_000, len(stretches))
    noises = random.integers(-40, 41, len(design))
    tree = divided(shape, noise, nodes, design @ truth + noises)
    information = design.T @ (design / squares[:, None])
    covariance = np.linalg.inv(information)
    off = 0.0
    wrong = 0.0
    for node in nodes:
        boundaries = tree.boundaries(node)
        # Of the nodes above and of this one.
        depth = node.depth + 1
        used = number_of_counts(shape, nodes[:depth])
        if depth < len(nodes):
            part, part_squares, own = measured(tree, nodes[:depth])
            information = part.T @ (part / part_squares[:, None])
            covariance_here = np.linalg.inv(information)
        else:
            own, covariance_here = stretches, covariance
        ends = [*(child.first for child in shape.children(node)), node.last + 1]
        asked = [
            ([each.last < end for each in own], boundaries.below[place], weights)
            for place, (end, weights) in enumerate(zip(ends, boundaries.below_weights, strict=True))
        ]
        asked.append(([True] * len(own), boundaries.total, boundaries.total_weights))
        for place, child in enumerate(shape.children(node)):
            inside = [child.first <= each.first and each.last <= child.last for each in own]
            asked.append((inside, boundaries.counts[place], boundaries.count_weights[place]))
        for combination, estimate, weights in asked:
            chosen = np.array(combination, float)
            exact = chosen @ true_counts(own, stretches, truth)
            off = max(off, abs(estimate - exact - weights @ noises[:used]))
            assert len(weights) == used == len(boundaries.slots.squares)
            variance = float(weights**2 @ boundaries.slots.squares)
            best = float(chosen @ covariance_here @ chosen)
            wrong = max(wrong, abs(variance - best) / max(best, 1e-9))
    return off, wrong


def true_counts(own: list[TreeNode], stretches: list[TreeNode], truth: np.ndarray) -> np.ndarray:
    """The rows of stretches of part of a path, each of which holds some of the whole path's."""
    return np.array(
        [
            sum(
                rows
                for stretch, rows in zip(stretches, truth, strict=True)
                if each.first <= stretch.first and stretch.last <= each.last
            )
            for each in own
        ],
        float,
    )


@pytest.mark.slow
@CASES
def test_an_estimate_is_the_truth_and_the_noises_with_their_weights(
    name: str, noise: Noise, index: int
):
    off, _ = gaps(name, noise, index)
    assert off < 1e-8


@pytest.mark.slow
@CASES
def test_no_linear_unbiased_estimate_has_a_smaller_variance(name: str, noise: Noise, index: int):
    """The variance is that of generalised least squares, which is the least (Gauss and Markov)."""
    _, wrong = gaps(name, noise, index)
    assert wrong < 1e-8


# The checks can fail.

PLANTED = ("eight children", NOISES[0], 1_234)
original = Boundaries.of_child


def test_an_update_without_covariance_is_caught(monkeypatch: pytest.MonkeyPatch):
    """What is learned of a node's count must move the boundary on its left and the total too."""

    def careless(above: Boundaries, place: int, child: TreeNode, noisy: list, noise: Noise):
        found = original(above, place, child, noisy, noise)
        own = above.total_weights
        new = np.zeros(len(noisy))
        return replace(found, total=above.total, total_weights=np.concatenate((own, new)))

    monkeypatch.setattr(Boundaries, "of_child", careless)
    off, wrong = gaps(*PLANTED)
    # It is an estimate still, and not the best one.
    assert off < 1e-8
    assert wrong > 1e-3


def test_weights_without_covariance_are_caught(monkeypatch: pytest.MonkeyPatch):
    """Estimates that moved, with the weights of those that did not."""

    def careless(above: Boundaries, place: int, child: TreeNode, noisy: list, noise: Noise):
        found = original(above, place, child, noisy, noise)
        left = np.tile(above.below_weights[place], (len(noisy) + 1, 1))
        new = np.tri(len(noisy) + 1, len(noisy), -1)
        return replace(found, below_weights=np.hstack((left, new)))

    monkeypatch.setattr(Boundaries, "of_child", careless)
    off, wrong = gaps(*PLANTED)
    assert off > 0.1
    assert wrong > 1e-3


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_the_rows_between_two_paths_have_the_noise_of_both(noise: Noise):
    """Noises that both have in common count once, with the difference of their weights."""
    shape = SHAPES["eight children"]
    one, other = path_of(shape, 900), path_of(shape, 1_100)
    tree = NoisyTree(shape, TreeNoise(noise))
    noises: dict[TreeNode, np.ndarray] = {}
    for node in {*one, *other}:
        noises[node] = random.integers(-40, 41, len(shape.children(node)))
        sizes = [child.size for child in shape.children(node)]
        tree.divide(node, [int(each) for each in noises[node] + np.array(sizes)])
    for node in one:
        for node_too in other:
            low = tree.boundaries(node).at(1)
            high = tree.boundaries(node_too).at(2)
            difference = high.minus(low)
            same = low.slots.shared(high.slots)
            drawn = [
                np.concatenate([noises[each] for each in estimate.slots.nodes])
                for estimate in (high, low)
            ]
            together = np.concatenate((drawn[0], drawn[1][same:]))
            exact = shape.children(node_too)[2].first - shape.children(node)[1].first
            assert difference.value == pytest.approx(
                exact + difference.noise.weights @ together, abs=1e-8
            )
            assert len(difference.noise.squares) == len(together)


@pytest.mark.parametrize("rows", [10**6, 10**12, 10**15, 10**18], ids=str)
def test_rounding_covers_what_floats_lose(rows: int):
    """Against the same estimates in exact fractions: with all rows in one leaf and no noise, the
    truth.
    """
    shape = SHAPES["eight children"]
    nodes = path_of(shape, 1_234)
    noise = DiscreteLaplace(Fraction(3))
    counts = [
        rows if child.first <= 1_234 <= child.last else 7 * place
        for node in nodes
        for place, child in enumerate(shape.children(node))
    ]
    tree = divided(shape, noise, nodes, np.array(counts, dtype=object))
    for node in nodes:
        boundaries = tree.boundaries(node)
        exact = exact_estimates(tree, nodes[: node.depth + 1])
        for place, below in enumerate(exact):
            assert abs(Fraction(float(boundaries.below[place])) - below) <= boundaries.rounding


def exact_estimates(tree: NoisyTree, nodes: list[TreeNode]) -> list[Fraction]:
    """The same updates, with the shipped weights of the noises as exact numbers: an estimate is the
    sum of all noisy counts with their weights.
    """
    noisy = [count for node in nodes for count in tree.counts[node]]
    weights = tree.boundaries(nodes[-1]).below_weights
    return [
        sum(
            (Fraction(float(weight)) * count for weight, count in zip(row, noisy, strict=True)),
            start=Fraction(0),
        )
        for row in weights
    ]
