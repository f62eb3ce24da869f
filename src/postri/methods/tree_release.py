"""How a tree of noisy counts is drawn: node by node, where it is worth a look.

What is looked at next follows from what was drawn before, so it tells nothing more. Each node has
coins of its own, by its place: the order in which nodes are drawn does not matter. All groups go on
together, so that they share the scans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from postri.mechanisms.coins import Coins, Draw, Key, ManyWanted
from postri.mechanisms.gaussian import gaussian_numbers
from postri.mechanisms.laplace import WholeNumbers, as_whole, laplace_numbers
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.tree.front import Front, NodeNumbers, Numbers, Wish
from postri.tree.noisy_tree import DrawnCounts, NoisyTree, TreeNoise
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
    draws = [coins.draw() for _ in range(groups)]
    numbers = NodeNumbers(shape, TreeNoise(noise), wish.edges)
    parts = []
    for start in range(0, groups, GROUPS_AT_ONCE):
        own = draws[start : start + GROUPS_AT_ONCE]
        parts.append(_Part(Front(numbers, wish, len(own)), own, start))
    if isinstance(counts_below, OrderedCells):
        # Nothing is scanned: one part after the other, each while the processor has it at hand.
        for part in parts:
            _draw_together([part], numbers, _OrderedCounts(counts_below))
    else:
        _draw_together(parts, numbers, _ExactCounts(shape, counts_below, groups))
    return [tree for part in parts for tree in part.trees]


def _draw_together(
    parts: Sequence[_Part], numbers: NodeNumbers, exact: _ExactCounts | _OrderedCounts
) -> None:
    """Draw all that is worth a look: the parts share the scans."""
    waiting = parts
    while True:
        waiting = [part for part in waiting if part.front.choose()]
        if not waiting:
            break
        wanted = np.unique(np.concatenate([part.front.chosen.node for part in waiting]))
        exact.fetch(_Children.of(numbers, wanted))
        for part in waiting:
            part.draw(exact)
    for part in parts:
        part.finish()


class _Part:
    """Some groups that are looked at together, from the `start`-th on; in the end, their trees."""

    def __init__(self, front: Front, draws: Sequence[Draw], start: int) -> None:
        self.front = front
        self.trees: list[NoisyTree] = []
        self._draws = draws
        self._start = start
        self._drawn: list[tuple[Numbers, Numbers, WholeNumbers]] = []

    def draw(self, exact: _ExactCounts | _OrderedCounts) -> None:
        """Draw the noisy counts of the children of all nodes that were chosen."""
        chosen = ChosenNodes(
            self.front.numbers, self.front.chosen.node, self.front.chosen.group, self._draws
        )
        counts = exact.children(chosen.children, chosen.group + self._start)
        noisy = with_noise(chosen, counts)
        self._drawn.append((chosen.group, chosen.number, noisy))
        self.front.divide(noisy)

    def finish(self) -> None:
        """Make the trees: each has its lines of what was drawn."""
        numbers = self.front.numbers
        if not self._drawn:
            # A grid of one point has nothing to be divided.
            self.trees = [NoisyTree(numbers.shape, numbers.noise) for _ in self._draws]
            return
        group = np.concatenate([each for each, _, _ in self._drawn])
        order = np.argsort(group, kind="stable")
        nodes = numbers.at(np.concatenate([each for _, each, _ in self._drawn])[order])
        widest = max(noisy.shape[1] for *_, noisy in self._drawn)
        tables = [
            np.pad(noisy, ((0, 0), (0, widest - noisy.shape[1]))) for *_, noisy in self._drawn
        ]
        noisy = np.concatenate(tables)[order]
        ends = np.searchsorted(group[order], np.arange(len(self._draws) + 1))
        for start, end in pairwise(ends.tolist()):
            drawn = DrawnCounts(
                firsts=nodes.first[start:end],
                lasts=nodes.last[start:end],
                depths=nodes.depth[start:end],
                children=nodes.children[start:end],
                noisy=noisy[start:end],
            )
            self.trees.append(NoisyTree(numbers.shape, numbers.noise, drawn))


class _Children(NamedTuple):
    """Of some nodes: where the children of each begin, where others have more its last child once
    more; the last index of each; and how many children it has.
    """

    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    numbers: Numbers

    @classmethod
    def of(cls, numbers: NodeNumbers, nodes: Numbers) -> _Children:
        found = numbers.at(nodes)
        places = np.minimum(np.arange(found.children.max()), found.children[:, None] - 1)
        firsts = numbers.firsts(found.first_child[:, None] + places)
        return cls(firsts, found.last, found.children)

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """A line for each node: which of as many children as the most have it has."""
        return np.arange(self.firsts.shape[1]) < self.numbers[:, None]

    def counts(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many rows each child holds, by the rows below each first index, and up to the last
        one; zeros after the last child.
        """
        beyond = np.arange(ranks.shape[1]) >= self.numbers[:, None]
        return np.diff(np.where(beyond, ranks[:, -1:], ranks), axis=1)


@dataclass(frozen=True, eq=False)
class ChosenNodes:
    """Nodes whose children get noisy counts now: their numbers, and of which groups they are.

    The nodes of a group follow one another. Each group has a draw of its own.
    """

    numbers: NodeNumbers
    number: Numbers
    group: Numbers
    draws: Sequence[Draw]

    @cached_property
    def children(self) -> _Children:
        """Where their children lie."""
        return _Children.of(self.numbers, self.number)

    def node(self, place: int) -> TreeNode:
        """One of them."""
        return self.numbers.node(int(self.number[place]))

    def key(self, place: int) -> Key:
        """The key of the coins of one of them."""
        node = self.node(place)
        # By its depth too: an only child holds the same stretch as the node above it.
        return ("tree", node.depth, node.first, node.last)


def with_noise(chosen: ChosenNodes, counts: NDArray[np.int64]) -> WholeNumbers:
    """The noisy counts of the children of some nodes, each with the coins of its own draw."""
    wanted = ManyWanted(chosen.draws, chosen.group, chosen.children.numbers, chosen.key)
    noises = chosen.numbers.noises
    kinds = chosen.numbers.kinds(chosen.number)
    if isinstance(chosen.numbers.noise.whole, DiscreteLaplace):
        drawn = laplace_numbers(cast("list[DiscreteLaplace]", noises), kinds, wanted)
    else:
        own = [noises[kind] for kind in kinds.tolist()]
        drawn = as_whole(gaussian_numbers(cast("list[DiscreteGaussian]", own), wanted))
    noisy = counts.astype(drawn.dtype)
    noisy[chosen.children.is_there] += drawn
    return noisy


@dataclass(frozen=True)
class _OrderedCounts:
    """Counts of cells that are in order: each group is asked for its own nodes alone."""

    cells: OrderedCells

    def fetch(self, children: _Children) -> None:
        """All is there."""

    def children(self, children: _Children, groups: Numbers) -> NDArray[np.int64]:
        """How many rows each child of some nodes holds, each in its group; the nodes of a group
        follow one another.
        """
        begins = np.flatnonzero(np.diff(groups, prepend=-1)).tolist()
        ranks = [
            self.cells.ranks(
                int(groups[start]), children.firsts[start:end], children.lasts[start:end]
            )
            for start, end in pairwise([*begins, len(groups)])
        ]
        return children.counts(np.concatenate(ranks))


class _ExactCounts:
    """What was counted so far: the rows below each point, in every group."""

    def __init__(self, shape: TreeShape, counts_below: CountsBelow, groups: int) -> None:
        self._last = shape.grid.last
        self._counts_below = counts_below
        # No row lies below the first point. The last line of the table has all rows.
        self._points = np.array([shape.grid.first], np.int64)
        self._table = np.zeros((2, groups), np.int64)
        self._is_counted = False

    def fetch(self, children: _Children) -> None:
        """Count what the children of some nodes need."""
        # All points between the children of a node are counted at once.
        inner = children.firsts[~self._has(children.firsts[:, -1])][:, 1:]
        if not len(inner) and self._is_counted:
            return
        points = np.unique(inner)
        counted = self._counts_below(points)
        n = np.array([each.n for each in counted], np.int64)
        below = np.array([each.counts for each in counted], np.int64).T
        together = np.concatenate((self._points, points))
        order = np.argsort(together)
        self._points = together[order]
        self._table = np.vstack((np.vstack((self._table[:-1], below))[order], n))
        self._is_counted = True

    def _has(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        places = self._points.searchsorted(points)
        has: NDArray[np.bool_] = self._points[places % len(self._points)] == points
        return has

    def children(self, children: _Children, groups: Numbers) -> NDArray[np.int64]:
        """How many rows each child of some nodes holds, each in its group."""
        ranks = np.empty((len(groups), children.firsts.shape[1] + 1), np.int64)
        lines = self._points.searchsorted(children.firsts)
        ranks[:, :-1] = self._table[lines, groups[:, None]]
        # All rows lie up to the grid's end: the last line of the table.
        ends = self._points.searchsorted(np.minimum(children.lasts, self._last - 1) + 1)
        ends[children.lasts == self._last] = len(self._points)
        ranks[:, -1] = self._table[ends, groups]
        return children.counts(ranks)
