"""A tree of noisy counts, and what follows from it without another look at the data.

Nodes that were never divided are leaves: an interval that ends in one ends at its border. So a
tree that is divided in few places gives wider intervals, and no less certain ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Self

from postri.grid import Grid
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.tree.estimates import Boundaries, Estimate
from postri.tree.shape import TreeNode, TreeShape, shape_of

End = Literal["low", "high"]


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


@dataclass(eq=False)
class NoisyTree:
    """The noisy counts of the children of every node that was divided."""

    shape: TreeShape
    noise: TreeNoise
    counts: dict[TreeNode, tuple[int, ...]] = field(default_factory=dict)
    _above: dict[TreeNode, tuple[TreeNode, int]] = field(default_factory=dict, repr=False)
    _boundaries: dict[TreeNode, Boundaries] = field(default_factory=dict, repr=False)
    _tests: dict[tuple[TreeNode, Fraction, float, End], bool] = field(
        default_factory=dict, repr=False
    )

    def divide(self, node: TreeNode, noisy: Sequence[int]) -> None:
        """Let the noisy counts of its children be known."""
        children = self.shape.children(node)
        if len(noisy) != len(children):
            raise ValueError("a tree of another shape")
        self.counts[node] = tuple(noisy)
        self._above |= {child: (node, place) for place, child in enumerate(children)}

    def rows_in(self, node: TreeNode) -> float:
        """About how many rows a node other than the root holds."""
        above, place = self._above[node]
        return float(self.boundaries(above).counts[place])

    def boundaries(self, node: TreeNode) -> Boundaries:
        """The estimates of a divided node."""
        found = self._boundaries.get(node)
        if found is None:
            noise = self.noise.at(self.shape.level_below(node).share)
            noisy = self.counts[node]
            if node == self.shape.root:
                found = Boundaries.of_root(node, noisy, noise)
            else:
                above, place = self._above[node]
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
        return self.end(p, beta, "low"), self.end(p, beta, "high")

    def end(self, p: Fraction, beta: Fraction, end: End) -> TreeNode:
        """The outermost node, of those that are not divided, that passes its tests and whose
        ancestors do.
        """
        root = self.shape.root
        if not self.divided(root):
            return root
        search = _Search(self, p, float(p), float(beta / 2), end)
        found = search.outermost(root)
        assert found is not None, "the node at the grid's end passes all its tests"
        return found

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

    def leaf_with(self, index: int) -> TreeNode:
        """The node, of those that are not divided, that holds an index."""
        node = self.shape.root
        while self.divided(node):
            _, node = self.shape.child_with(node, index)
        return node

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


@dataclass
class _Search:
    """The search for one end of one interval.

    A child is out if its far boundary is surely short of the target rank: by more than the noise of
    the estimate explains. Of all tests on the path of the true quantile, some fails with
    probability beta/2 at most.
    """

    tree: NoisyTree
    p: Fraction
    share: float
    beta: float
    end: End

    def outermost(self, node: TreeNode) -> TreeNode | None:
        """The first leaf from the outside that passes, below a divided node that does."""
        children = self.tree.shape.children(node)
        boundaries = self.tree.boundaries(node)
        past = boundaries.past_rank(self.share)
        chance = float(self.tree.shape.level_below(node).chance) * self.beta
        for place in self._from_outside(len(children)):
            child = children[place]
            key = (child, self.p, chance, self.end)
            is_out = self.tree._tests.get(key)
            if is_out is None:
                is_out = self._is_out(child, place, past, boundaries, chance)
                self.tree._tests[key] = is_out
            if is_out:
                continue
            if not self.tree.divided(child):
                return child
            found = self.outermost(child)
            if found is not None:
                return found
        return None

    def _from_outside(self, number: int) -> Iterator[int] | range:
        if self.end == "low":
            return range(number)
        return reversed(range(number))

    def _is_out(
        self, child: TreeNode, place: int, past: Any, boundaries: Boundaries, chance: float
    ) -> bool:
        grid = self.tree.shape.grid
        if self.end == "low":
            # All rows lie up to the last grid point: that is public.
            if child.last == grid.last:
                return False
            boundary = place + 1
            short = -float(past[boundary])
        else:
            if child.first == grid.first:
                return False
            boundary = place
            short = float(past[boundary])
        # The whole ranks next to the target rank are less than a row away from it.
        short -= float(1 - Fraction(1, self.p.denominator)) + 2 * boundaries.rounding
        if short <= 0:
            return False
        return boundaries.noise_past_rank(boundary, self.share).passes_seldom(short, chance)


def index_within(grid: Grid, node: TreeNode, within: float) -> int:
    """The grid index so far into a node, by the candidates of the grid: on a default domain there
    are as many between 1 and 2 as between 1,000 and 2,000.
    """
    start = grid.copies(node.first)
    candidates = grid.copies(node.last + 1) - start
    index = grid.at(start + int(Fraction(within) * candidates))
    return min(max(index, node.first), node.last)
