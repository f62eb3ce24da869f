"""How a tree of noisy counts is drawn: node by node, where it is worth a look.

What is looked at next follows from what was drawn before, so it tells nothing more. Each node has
coins of its own, by its place: the order in which nodes are drawn does not matter. All groups go on
together, so that they share the scans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from operator import add
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from postri.mechanisms.coins import Coins, Draw, Wanted
from postri.mechanisms.gaussian import gaussian_numbers
from postri.mechanisms.laplace import discrete_laplaces
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.tree.front import Front, NodeNumbers, Wish
from postri.tree.noisy_tree import NoisyTree, TreeNoise
from postri.tree.shape import TreeNode, TreeShape
from postri.window import CountsBelow, OrderedCells

# This many groups are looked at together.
GROUPS_AT_ONCE = 64


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
    numbers = NodeNumbers(shape, TreeNoise(noise), wish.edges)
    exact: _ExactCounts | _OrderedCounts = _ExactCounts(shape, counts_below, groups)
    if isinstance(counts_below, OrderedCells):
        exact = _OrderedCounts(shape, counts_below)
    parts = []
    for start in range(0, groups, GROUPS_AT_ONCE):
        together = slice(start, start + GROUPS_AT_ONCE)
        front = Front(numbers, wish, len(trees[together]))
        parts.append(_Part(front, trees[together], draws[together], start))
    while True:
        parts = [part for part in parts if part.front.choose()]
        if not parts:
            return trees
        wanted = set().union(*(part.front.chosen.node.tolist() for part in parts))
        exact.fetch([numbers.nodes[number] for number in sorted(wanted)])
        for part in parts:
            part.draw(numbers, exact)


@dataclass
class _Part:
    """Some groups that are looked at together, from the `start`-th on."""

    front: Front
    trees: Sequence[NoisyTree]
    draws: Sequence[Draw]
    start: int

    def draw(self, numbers: NodeNumbers, exact: _ExactCounts | _OrderedCounts) -> None:
        """Draw the noisy counts of the children of all nodes that were chosen."""
        chosen = self.front.chosen
        nodes = [numbers.nodes[number] for number in chosen.node.tolist()]
        groups = chosen.group.tolist()
        counts = exact.children(nodes, chosen.group + self.start)
        noisy = with_noise(self.trees[0], nodes, counts, [self.draws[group] for group in groups])
        for group, node, own in zip(groups, nodes, noisy, strict=True):
            self.trees[group].divide(node, own)
        self.front.divide(noisy)


def with_noise(
    tree: NoisyTree,
    nodes: Sequence[TreeNode],
    counts: Sequence[Sequence[int]],
    draws: Sequence[Draw],
) -> list[list[int]]:
    """The noisy counts of the children of some nodes, each with the coins of its own draw."""
    # By its depth too: an only child holds the same stretch as the node above it.
    wanted = [
        Wanted(draw, ("tree", node.depth, node.first, node.last), len(own))
        for draw, node, own in zip(draws, nodes, counts, strict=True)
    ]
    # Groups have most of their nodes in common.
    noise_below = {node: tree.noise.below(tree.shape, node) for node in dict.fromkeys(nodes)}
    noises = [noise_below[node] for node in nodes]
    if isinstance(tree.noise.whole, DiscreteLaplace):
        drawn = discrete_laplaces(cast("list[DiscreteLaplace]", noises), wanted)
    else:
        drawn = gaussian_numbers(cast("list[DiscreteGaussian]", noises), wanted)
    noisy = list(map(add, chain.from_iterable(counts), drawn))
    ends = accumulate(map(len, counts), initial=0)
    return [noisy[start:end] for start, end in pairwise(ends)]


class _Children(NamedTuple):
    """Of some nodes: where the children of each begin, where others have more its last child once
    more; the last index of each; and how many children it has.
    """

    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, shape: TreeShape, nodes: Sequence[TreeNode]) -> _Children:
        starts = [[child.first for child in shape.children(node)] for node in nodes]
        most = max(map(len, starts))
        filled = [each + each[-1:] * (most - len(each)) for each in starts]
        lasts = [node.last for node in nodes]
        numbers = list(map(len, starts))
        return cls(*(np.array(each, np.int64) for each in (filled, lasts, numbers)))

    def at(self, places: Sequence[int]) -> _Children:
        """Those of some of the nodes, which may be there more than once."""
        return _Children._make(each[places] for each in self)

    def counts(self, ranks: NDArray[np.int64]) -> list[list[int]]:
        """How many rows each child holds, by the rows below each first index, and up to the last
        one.
        """
        beyond = np.arange(ranks.shape[1]) >= self.numbers[:, None]
        filled = np.where(beyond, ranks[:, -1:], ranks)
        counts: list[list[int]] = np.diff(filled, axis=1).tolist()
        if self.numbers.min() == ranks.shape[1] - 1:
            return counts
        return [own[:number] for own, number in zip(counts, self.numbers.tolist(), strict=True)]


def _children_of(shape: TreeShape, nodes: Sequence[TreeNode]) -> _Children:
    """Those of nodes of which many are there more than once."""
    different = {node: place for place, node in enumerate(dict.fromkeys(nodes))}
    return _Children.of(shape, list(different)).at([different[node] for node in nodes])


@dataclass(frozen=True)
class _OrderedCounts:
    """Counts of cells that are in order: each group is asked for its own nodes alone."""

    shape: TreeShape
    cells: OrderedCells

    def fetch(self, nodes: Sequence[TreeNode]) -> None:
        """All is there."""

    def children(self, nodes: Sequence[TreeNode], groups: NDArray[np.intp]) -> list[list[int]]:
        """How many rows each child of these nodes holds, each in its group; the nodes of a group
        follow one another.
        """
        found = _children_of(self.shape, nodes)
        begins = np.flatnonzero(np.diff(groups, prepend=-1)).tolist()
        ranks = [
            self.cells.ranks(int(groups[start]), found.firsts[start:end], found.lasts[start:end])
            for start, end in pairwise([*begins, len(nodes)])
        ]
        return found.counts(np.concatenate(ranks))


class _ExactCounts:
    """What was counted so far: the rows below each point, in every group."""

    def __init__(self, shape: TreeShape, counts_below: CountsBelow, groups: int) -> None:
        self._shape = shape
        self._counts_below = counts_below
        # No row lies below the first point. The last line of the table has all rows.
        self._points = np.array([shape.grid.first], np.int64)
        self._table = np.zeros((2, groups), np.int64)
        self._is_counted = False

    def fetch(self, nodes: Sequence[TreeNode]) -> None:
        """Count what the children of these nodes need."""
        lacking = [node for node in nodes if not self._has(node)]
        if not lacking and self._is_counted:
            return
        boundaries = chain.from_iterable(map(self._shape.boundaries, lacking))
        points = np.array(sorted(set(boundaries)), np.int64)
        counted = self._counts_below(points)
        n = np.array([each.n for each in counted], np.int64)
        below = np.array([each.counts for each in counted], np.int64).T
        together = np.concatenate((self._points, points))
        order = np.argsort(together)
        self._points = together[order]
        self._table = np.vstack((np.vstack((self._table[:-1], below))[order], n))
        self._is_counted = True

    def _has(self, node: TreeNode) -> bool:
        # All points between the children of a node are counted at once.
        point = self._shape.children(node)[-1].first
        place = int(self._points.searchsorted(point))
        return place < len(self._points) and int(self._points[place]) == point

    def children(self, nodes: Sequence[TreeNode], groups: NDArray[np.intp]) -> list[list[int]]:
        """How many rows each child of these nodes holds, each in its group."""
        found = _children_of(self._shape, nodes)
        ranks = np.empty((len(nodes), found.firsts.shape[1] + 1), np.int64)
        lines = self._points.searchsorted(found.firsts)
        ranks[:, :-1] = self._table[lines, groups[:, None]]
        # All rows lie up to the grid's end: the last line of the table.
        last = self._shape.grid.last
        ends = self._points.searchsorted(np.minimum(found.lasts, last - 1) + 1)
        ends[found.lasts == last] = len(self._points)
        ranks[:, -1] = self._table[ends, groups]
        return found.counts(ranks)
