"""How a tree of noisy counts is drawn: node by node, where it is worth a look.

What is looked at next follows from what was drawn before, so it tells nothing more. Each node has
coins of its own, by its place: the order in which nodes are drawn does not matter. All groups go on
together, so that they share the scans.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import sqrt

import numpy as np

from postri.mechanisms.coins import Coins, Draw
from postri.mechanisms.gaussian import gaussian_numbers
from postri.mechanisms.laplace import discrete_laplaces
from postri.noise import DiscreteLaplace, Noise
from postri.tree.noisy_tree import NoisyTree, TreeNoise
from postri.tree.shape import TreeNode, TreeShape
from postri.window import Indexes, PointCounts

CountsBelow = Callable[[Indexes], Sequence[PointCounts]]
"""For each group, how many cells lie below each of some grid indexes."""

# A node is not worth a look if it holds about fewer rows than this many deviations of the noise of
# its children: none of these could be told from the others.
FEW = 0.5
# Nodes that hold about this many deviations or more are divided, whether an interval ends there or
# not: so counts between any two values are good.
MANY = 4.0
# How many points one scan counts at most, if there are that many that may be asked for next.
POINTS_AHEAD = 4096
# A tree is divided in no more places than this.
MOST_DIVIDED = 1 << 14


@dataclass(frozen=True)
class Wish:
    """What a tree should tell well: quantiles, whose intervals may fail with probability beta, the
    rows below some grid indexes, and, if `everywhere`, all places with many rows.
    """

    ps: Sequence[Fraction]
    beta: Fraction
    edges: Sequence[int] = ()
    everywhere: bool = True


def release(
    shape: TreeShape,
    noise: Noise,
    groups: int,
    counts_below: CountsBelow,
    wish: Wish,
    coins: Coins,
) -> list[NoisyTree]:
    """For each group its tree, divided wherever the wish asks for it."""
    trees = [NoisyTree(shape, TreeNoise(noise)) for _ in range(groups)]
    draws = [coins.draw() for _ in range(groups)]
    exact = _ExactCounts(shape, counts_below)
    first = set()
    if not shape.root.is_leaf:
        first = {shape.root}
    waiting = [first] * groups
    while any(waiting):
        exact.fetch(set().union(*waiting))
        for group, nodes in enumerate(waiting):
            for node in sorted(nodes, key=lambda node: (node.depth, node.first)):
                counts = exact.children(group, node)
                noisy = _with_noise(trees[group], node, counts, draws[group])
                trees[group].divide(node, noisy)
        waiting = [set(_worth_a_look(tree, wish)) for tree in trees]
    return trees


def _with_noise(tree: NoisyTree, node: TreeNode, counts: Sequence[int], draw: Draw) -> list[int]:
    noise = tree.noise.at(tree.shape.level_below(node).share)
    # By its depth too: an only child holds the same stretch as the node above it.
    key = ("tree", node.depth, node.first, node.last)
    if isinstance(noise, DiscreteLaplace):
        drawn = discrete_laplaces(noise, len(counts), draw, key)
    else:
        drawn = gaussian_numbers(noise, len(counts), draw, key)
    return [count + each for count, each in zip(counts, drawn, strict=True)]


def _worth_a_look(tree: NoisyTree, wish: Wish) -> Iterator[TreeNode]:
    """The nodes that should be divided next, by what is drawn already."""
    if len(tree.counts) >= MOST_DIVIDED:
        return
    ends = set()
    for p in wish.ps:
        ends |= {*tree.interval(p, wish.beta), tree.crossing(p)[0]}
    for edge in wish.edges:
        located = tree.leaf_with(edge)
        if located.first != edge:
            ends.add(located)
    for node in ends:
        if not node.is_leaf and tree.rows_in(node) >= FEW * _deviation(tree, node):
            yield node
    if not wish.everywhere:
        return
    for node in tree.leaves():
        if not node.is_leaf and tree.rows_in(node) >= MANY * _deviation(tree, node):
            yield node


def _deviation(tree: NoisyTree, node: TreeNode) -> float:
    """That of the noise of its children, if it is divided."""
    return sqrt(tree.noise.at(tree.shape.level_below(node).share).mean_square)


@dataclass
class _ExactCounts:
    """What was counted so far: the rows below each point, in every group."""

    shape: TreeShape
    counts_below: CountsBelow
    _below: dict[int, Indexes] = field(default_factory=dict)
    _n: Indexes | None = None

    def fetch(self, nodes: Collection[TreeNode]) -> None:
        """Count what the children of these nodes need, and of their descendants what fits."""
        missing = {
            point
            for node in nodes
            for point in self.shape.boundaries(node)
            if point not in self._below
        }
        if not missing and self._n is not None:
            return
        points = set(missing)
        level = [node for node in nodes if missing & set(self.shape.boundaries(node))]
        while level:
            level = [
                child for node in level for child in self.shape.children(node) if not child.is_leaf
            ]
            below = {point for node in level for point in self.shape.boundaries(node)}
            if len(points) + len(below) > POINTS_AHEAD:
                break
            points |= below
        asked = np.array(sorted(points), np.int64)
        counted = self.counts_below(asked)
        self._n = np.array([each.n for each in counted], np.int64)
        table = np.array([each.counts for each in counted], np.int64)
        self._below |= {int(point): table[:, i] for i, point in enumerate(asked)}

    def children(self, group: int, node: TreeNode) -> list[int]:
        """How many rows each child of a node holds."""
        assert self._n is not None
        grid = self.shape.grid
        first = 0
        if node.first > grid.first:
            first = int(self._below[node.first][group])
        last = int(self._n[group])
        if node.last < grid.last:
            last = int(self._below[node.last + 1][group])
        inner = [int(self._below[point][group]) for point in self.shape.boundaries(node)]
        ends = [first, *inner, last]
        return [high - low for low, high in pairwise(ends)]
