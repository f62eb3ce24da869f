"""A tree of noisy counts, and what follows from it without another look at the data.

Nodes that were never divided are leaves: an interval that ends in one ends at its border. So a
tree that is divided in few places gives wider intervals, and no less certain ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from postri.grid import Grid
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.tree.estimates import Boundaries, Estimate
from postri.tree.search import find_intervals
from postri.tree.shape import Level, TreeNode, TreeShape, shape_of


@dataclass(frozen=True)
class TreeNoise:
    """The noise of the counts of a level that gets the whole budget; a level with a share of it has
    noise that is wider by as much.
    """

    whole: Noise

    def at(self, share: Fraction) -> Noise:
        """The noise of a level with this share: of epsilon for Laplace noise, of rho for Gaussian
        noise.
        """
        if isinstance(self.whole, DiscreteLaplace):
            return DiscreteLaplace(self.whole.scale / share)
        return DiscreteGaussian(self.whole.variance / share)

    def below(self, shape: TreeShape, node: TreeNode) -> Noise:
        """The noise of the children of a node."""
        level = shape.level_below(node)
        found = self._found.get(level)
        if found is None:
            found = self.at(level.share)
            self._found[level] = found
        return found

    @cached_property
    def _found(self) -> dict[Level, Noise]:
        return {}


@dataclass(frozen=True, eq=False)
class DrawnCounts:
    """Noisy counts as they were drawn: a line for each divided node, with the indexes that it
    holds, how deep it lies and how many children it has, then the counts of these.
    """

    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    depths: NDArray[np.int64]
    children: NDArray[np.intp]
    noisy: NDArray[Any]

    def by_node(self) -> dict[TreeNode, tuple[int, ...]]:
        """The counts of each node's children."""
        nodes = map(TreeNode, self.firsts.tolist(), self.lasts.tolist(), self.depths.tolist())
        together = zip(nodes, self.noisy.tolist(), self.children.tolist(), strict=True)
        return {node: tuple(own[:number]) for node, own, number in together}


@dataclass(eq=False)
class NoisyTree:
    """The noisy counts of the children of every node that was divided: those that were `drawn`
    with those of other trees, and those that were told one by one.
    """

    shape: TreeShape
    noise: TreeNoise
    drawn: DrawnCounts | None = field(default=None, repr=False)
    _boundaries: dict[TreeNode, Boundaries] = field(default_factory=dict, repr=False)
    _intervals: dict[tuple[Fraction, Fraction], tuple[TreeNode, TreeNode]] = field(
        default_factory=dict, repr=False
    )

    @cached_property
    def counts(self) -> dict[TreeNode, tuple[int, ...]]:
        """The noisy counts by node. Of many trees most are never looked at, so they are made at
        the first look; nothing is drawn then.
        """
        if self.drawn is None:
            return {}
        return self.drawn.by_node()

    def divide(self, node: TreeNode, noisy: Sequence[int]) -> None:
        """Let the noisy counts of its children be known."""
        if len(noisy) != len(self.shape.children(node)):
            raise ValueError("a tree of another shape")
        self.counts[node] = tuple(noisy)

    def boundaries(self, node: TreeNode) -> Boundaries:
        """The estimates of a divided node."""
        found = self._boundaries.get(node)
        if found is None:
            noise = self.noise.below(self.shape, node)
            noisy = self.counts[node]
            if node == self.shape.root:
                found = Boundaries.of_root(node, noisy, noise)
            else:
                above, place = self.shape.parent(node)
                found = self.boundaries(above).of_child(place, node, noisy, noise)
            self._boundaries[node] = found
        return found

    def divided(self, node: TreeNode) -> bool:
        """Whether the noisy counts of its children are known."""
        return node in self.counts

    def interval(self, p: Fraction, beta: Fraction) -> tuple[TreeNode, TreeNode]:
        """The nodes in which an interval begins and ends that holds the p-quantile with probability
        at least 1 - beta, by every textbook definition (Theorem 25).
        """
        (found,) = self.intervals([p], [beta])
        return found

    def intervals(
        self, ps: Sequence[Fraction], betas: Sequence[Fraction]
    ) -> list[tuple[TreeNode, TreeNode]]:
        """Those of several quantiles."""
        asked = list(zip(ps, betas, strict=True))
        lacking = [each for each in dict.fromkeys(asked) if each not in self._intervals]
        self._intervals |= zip(lacking, find_intervals(self, lacking), strict=True)
        return [self._intervals[each] for each in asked]

    def crossing(self, p: Fraction) -> tuple[TreeNode, float]:
        """The node, of those that are not divided, in which the estimates reach the target rank of
        the p-quantile, and how far into it, from 0 to 1.
        """
        node = self.shape.root
        share = float(p)
        within = 0.5
        while self.divided(node):
            past = self.boundaries(node).past_rank(share)
            children = self.shape.children(node)
            place = 0
            while place < len(children) - 1 and past[place + 1] < 0:
                place += 1
            rows = float(past[place + 1] - past[place])
            within = 0.5
            if rows > 0:
                within = min(max(-float(past[place]) / rows, 0.0), 1.0)
            node = children[place]
        return node, within

    def located(self, index: int) -> Located:
        """The boundaries of the tree next to a grid index, or the one that it is; one past the last
        index is the tree's end.
        """
        node = self.shape.root
        if index > node.last:
            end = len(self.shape.children(node))
            return Located(self.boundaries(node), end, end, index, index, Fraction(1))
        while True:
            place, child = self.shape.child_with(node, index)
            if child.first == index or not self.divided(child):
                break
            node = child
        boundaries = self.boundaries(node)
        chance = self.shape.chance_at(node, index)
        if child.first == index:
            return Located(boundaries, place, place, index, index, chance)
        return Located(boundaries, place, place + 1, child.first, child.last + 1, chance)

    def leaves(self) -> Iterator[TreeNode]:
        """The nodes that are not divided, from left to right."""
        waiting = [self.shape.root]
        while waiting:
            node = waiting.pop()
            if self.divided(node):
                waiting += reversed(self.shape.children(node))
            else:
                yield node

    def to_fields(self) -> list[Any]:
        """The noisy counts as nested lists: of the root, then of each child that is divided."""
        return self._fields_of(self.shape.root)

    def _fields_of(self, node: TreeNode) -> list[Any]:
        if not self.divided(node):
            return []
        below = [
            [place, self._fields_of(child)]
            for place, child in enumerate(self.shape.children(node))
            if self.divided(child)
        ]
        return [list(self.counts[node]), below]

    @classmethod
    def from_fields(cls, grid: Grid, noise: Noise, fields: Sequence[Any]) -> Self:
        """What `to_fields` wrote."""
        tree = cls(shape_of(grid), TreeNoise(noise))
        tree._read(tree.shape.root, fields)
        return tree

    def _read(self, node: TreeNode, fields: Sequence[Any]) -> None:
        if not fields:
            return
        counts, below = fields
        self.divide(node, [int(count) for count in counts])
        children = self.shape.children(node)
        for place, each in below:
            self._read(children[place], each)


@dataclass(frozen=True)
class Located:
    """Between which boundaries of a divided node an index lies: their numbers, and their indexes.

    They are one if the index is a boundary itself. How deep the node lies depends on what was
    drawn. So a statement about it may fail with `chance` times beta at most: the chances of all
    nodes that it could have been add up to 1.
    """

    boundaries: Boundaries
    low: int
    high: int
    low_index: int
    high_index: int
    chance: Fraction

    @property
    def below_low(self) -> Estimate:
        """How many rows lie below the lower boundary."""
        return self.boundaries.at(self.low)

    @property
    def below_high(self) -> Estimate:
        """How many rows lie below the upper boundary."""
        return self.boundaries.at(self.high)

    @property
    def all_rows(self) -> Estimate:
        """How many rows there are."""
        return self.boundaries.all_rows


def index_within(grid: Grid, node: TreeNode, within: float) -> int:
    """The grid index so far into a node, by the candidates of the grid: on a default domain there
    are as many between 1 and 2 as between 1,000 and 2,000.
    """
    start = grid.copies(node.first)
    candidates = grid.copies(node.last + 1) - start
    index = grid.at(start + int(Fraction(within) * candidates))
    return min(max(index, node.first), node.last)
