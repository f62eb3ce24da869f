"""The search for the ends of intervals in a tree of noisy counts, of many quantiles at once.

A child is out if its far boundary is surely short of the target rank: by more than the noise of the
estimate explains. Of all tests on the path of the true quantile, some fails with probability beta/2
at most (Theorem 25). An interval ends in the outermost node, of those that are not divided, that is
not out and has no ancestor that is.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from postri.tree.estimates import Slots
from postri.tree.shape import TreeNode
from postri.tree.tails import NoiseSum, NoiseSums

if TYPE_CHECKING:
    from postri.tree.noisy_tree import NoisyTree

End = Literal["low", "high"]
Bools = NDArray[np.bool_]
Steps = Generator[TreeNode, "Tested", TreeNode | None]
"""A search that names the divided node that it looks at, and is told which children are out."""


@dataclass(frozen=True)
class Search:
    """The search for one end of the interval of one quantile, which fails with this chance."""

    tree: NoisyTree
    p: Fraction
    end: End
    beta: float

    def outermost(self, node: TreeNode) -> Steps:
        """The first leaf from the outside that passes, below a divided node that does."""
        tested = yield node
        children = self.tree.shape.children(node)
        order = range(len(children))
        if self.end == "high":
            order = order[::-1]
        for place in order:
            if tested.is_out(place):
                continue
            if not self.tree.divided(children[place]):
                return children[place]
            found = yield from self.outermost(children[place])
            if found is not None:
                return found
        return None

    def tests(self, node: TreeNode) -> Tests:
        """Those of the children of a node."""
        boundaries = self.tree.boundaries(node)
        share = float(self.p)
        past = boundaries.past_rank(share)
        weights = boundaries.below_weights - share * boundaries.total_weights
        grid = self.tree.shape.grid
        if self.end == "low":
            short, weights = -past[1:], weights[1:]
            # All rows lie up to the last grid point: that is public.
            is_public, place = node.last == grid.last, -1
        else:
            short, weights = past[:-1], weights[:-1]
            is_public, place = node.first == grid.first, 0
        # The whole ranks next to the target rank are less than a row away from it.
        short = short - (float(1 - Fraction(1, self.p.denominator)) + 2 * boundaries.rounding)
        if is_public:
            short[place] = 0.0
        chance = float(self.tree.shape.level_below(node).chance) * self.beta
        return Tests(short, weights, boundaries.slots, chance)


@dataclass(frozen=True)
class Tests:
    """Whether sums of noises with these weights, a row each, explain what is lacking."""

    short: NDArray[np.float64]
    weights: NDArray[np.float64]
    slots: Slots
    chance: float


@dataclass(frozen=True)
class Tested:
    """What is known of some tests at once: who is out, and who takes a closer look."""

    tests: Tests
    surely: Bools
    maybe: Bools

    def is_out(self, place: int) -> bool:
        """Whether one child is out."""
        if not self.maybe[place]:
            return bool(self.surely[place])
        tests = self.tests
        noise = NoiseSum(tests.slots.kind, tests.slots.squares, tests.weights[place])
        return noise.passes_seldom(float(tests.short[place]), tests.chance)


def find_intervals(
    tree: NoisyTree, asked: Sequence[tuple[Fraction, Fraction]]
) -> list[tuple[TreeNode, TreeNode]]:
    """The nodes in which the intervals of some quantiles begin and end, each with its beta."""
    root = tree.shape.root
    if not tree.divided(root):
        return [(root, root)] * len(asked)
    searches = [
        Search(tree, p, end, float(beta / 2)) for p, beta in asked for end in ("low", "high")
    ]
    steps = [search.outermost(root) for search in searches]
    found: dict[int, TreeNode] = {}
    waiting = {number: next(each) for number, each in enumerate(steps)}
    while waiting:
        tested = _tested([searches[number].tests(node) for number, node in waiting.items()])
        going_on = {}
        for number, told in zip(waiting, tested, strict=True):
            try:
                going_on[number] = steps[number].send(told)
            except StopIteration as stopped:
                found[number] = stopped.value
        waiting = going_on
    ends = [found[number] for number in range(len(steps))]
    assert None not in ends, "the node at the grid's end passes all its tests"
    return list(zip(ends[::2], ends[1::2], strict=True))


def _tested(tests: Sequence[Tests]) -> list[Tested]:
    """Which children are out, of each node that is looked at: by one look at all tests."""
    slots = max(len(each.slots.squares) for each in tests)
    numbers = [len(each.short) for each in tests]
    weights = np.zeros((sum(numbers), slots))
    squares = np.ones((sum(numbers), slots))
    start = 0
    for each, number in zip(tests, numbers, strict=True):
        weights[start : start + number, : len(each.slots.squares)] = each.weights
        squares[start : start + number, : len(each.slots.squares)] = each.slots.squares
        start += number
    sums = NoiseSums(tests[0].slots.kind, squares, weights)
    chances = np.repeat([each.chance for each in tests], numbers)
    short = np.concatenate([each.short for each in tests])
    ends = np.cumsum(numbers)[:-1]
    seldom, maybe = (np.split(told, ends) for told in sums.pass_seldom(short, chances))
    return [Tested(*each) for each in zip(tests, seldom, maybe, strict=True)]
