"""The leaves of trees that are being drawn, of many groups at once: which are worth a look next.

The estimates are those of `estimates.py` (Theorem 23), but of their noises only mean squares and
mean products are kept, not the weights. That is enough to choose what is drawn next, which follows
from what was drawn before: nothing is claimed by it, and whatever is chosen, what is told later
holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from postri.noise import DiscreteLaplace
from postri.tree.noisy_tree import TreeNoise
from postri.tree.shape import TreeNode, TreeShape

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Numbers = NDArray[np.intp]

# A node is not worth a look if it holds about fewer rows than this many deviations of the noise of
# its children: none of these could be told from the others.
FEW = 0.5
# Nodes that hold about this many deviations or more, and this share of all rows, are divided,
# whether an interval ends there or not: so counts between any two values are good.
MANY = 4.0
SHARE = 1 / 1000
# Where an interval will end is known as well as the reach of its tests: Laplace noise reaches
# further than normal noise of the same mean square, by between these shares.
LAPLACE_REACH = [1.04, 1.16]
NORMAL_REACH = [1.0]
# The number of the first child of a node whose children were not seen yet.
NONE_YET = -1
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


class NodeFacts(NamedTuple):
    """What is public of nodes: the mean square of the noise of their children (0 for single
    points), whether an edge lies inside, and whether they end where the grid does.
    """

    square: Floats
    has_edge: Bools
    is_first: Bools
    is_last: Bools


class NodeNumbers:
    """The nodes of a tree by number, so that arrays can tell of them: those seen so far.

    The children of a node have numbers that follow one another.
    """

    def __init__(self, shape: TreeShape, noise: TreeNoise, edges: Sequence[int] = ()) -> None:
        self.shape = shape
        self.noise = noise
        self.nodes: list[TreeNode] = []
        self._edges = np.array(sorted(edges), np.int64)
        # Lines beyond the nodes seen so far are empty.
        self._facts = np.zeros((1, len(NodeFacts._fields)))
        self._first_children = np.full(1, NONE_YET)
        self._add([shape.root], [self._square(shape.root)])

    def first_children(self, numbers: Numbers) -> Numbers:
        """The number of the first child of each."""
        lacking = np.unique(numbers[self._first_children[numbers] == NONE_YET])
        nodes: list[TreeNode] = []
        squares: list[float] = []
        firsts = []
        for number in lacking.tolist():
            firsts.append(len(self.nodes) + len(nodes))
            parent = self.nodes[number]
            children = self.shape.children(parent)
            nodes += children
            if self.shape.divides_evenly(parent):
                # All have children of the same level, but the last one may be a single point.
                squares += [self._square(children[0])] * (len(children) - 1)
                squares.append(self._square(children[-1]))
            else:
                squares += map(self._square, children)
        self._add(nodes, squares)
        self._first_children[lacking] = firsts
        found: Numbers = self._first_children[numbers]
        return found

    def facts(self, numbers: Numbers) -> NodeFacts:
        """Those of some nodes."""
        square, *is_so = self._facts[numbers].T
        return NodeFacts(square, *(each > 0 for each in is_so))

    def _square(self, node: TreeNode) -> float:
        if node.is_leaf:
            return 0.0
        return self.noise.below(self.shape, node).mean_square

    def _add(self, nodes: Sequence[TreeNode], squares: Sequence[float]) -> None:
        start = len(self.nodes)
        self.nodes += nodes
        while len(self._facts) < len(self.nodes):
            self._facts = np.concatenate((self._facts, np.zeros_like(self._facts)))
            more = np.full_like(self._first_children, NONE_YET)
            self._first_children = np.concatenate((self._first_children, more))
        firsts = np.array([node.first for node in nodes], np.int64)
        lasts = np.array([node.last for node in nodes], np.int64)
        before, upto = (self._edges.searchsorted(each, "right") for each in (firsts, lasts))
        grid = self.shape.grid
        known = squares, before < upto, firsts == grid.first, lasts == grid.last
        self._facts[start : len(self.nodes)] = np.column_stack(known)


class Leaves(NamedTuple):
    """Nodes that are not divided, in the order of their groups, and from left to right.

    Of each node: the estimates of the rows below its first index, inside it, and in all; the mean
    squares and mean products of what these are off by; for each guess of how far tests reach and
    each quantile, whether it and all above it pass the tests of the lower end, or of the upper end;
    for each quantile, whether the estimates reach the target rank inside it.
    """

    group: Numbers
    node: Numbers
    square: Floats
    has_edge: Bools
    below: Floats
    rows: Floats
    total: Floats
    below_below: Floats
    rows_rows: Floats
    total_total: Floats
    below_rows: Floats
    below_total: Floats
    rows_total: Floats
    from_below: Bools
    from_above: Bools
    crossing: Bools

    def at(self, places: Numbers) -> Leaves:
        """Some of them."""
        return Leaves._make(each.take(places, axis=-1) for each in self)


class Front:
    """The leaves of the trees of some groups."""

    def __init__(self, numbers: NodeNumbers, wish: Wish, groups: int) -> None:
        self.numbers = numbers
        self._wish = wish
        self._groups = groups
        self._divided = np.zeros(groups, np.int64)
        self._ps = np.array([float(p) for p in wish.ps])
        self._reaches = _reaches(numbers, wish.beta)
        self._leaves = self._roots()

    def choose(self) -> bool:
        """Find the leaves that are worth a look, `chosen`; whether there are any."""
        leaves = self._leaves
        can_be = (leaves.square > 0) & (self._divided < MOST_DIVIDED)[leaves.group]
        self._places = np.flatnonzero(can_be & self.worth_a_look(leaves))
        self.chosen = leaves.at(self._places)
        return bool(len(self._places))

    def worth_a_look(self, leaves: Leaves) -> Bools:
        """Which leaves should be divided next, by what is drawn already."""
        told = leaves.has_edge.copy()
        told[self._ends()] = True
        deviations = np.sqrt(leaves.square)
        wanted: Bools = told & (leaves.rows >= FEW * deviations)
        if self._wish.everywhere:
            many = np.maximum(MANY * deviations, SHARE * leaves.total)
            wanted |= leaves.rows >= many
        return wanted

    def divide(self, noisy: Sequence[Sequence[int]]) -> None:
        """Put the children of the chosen leaves in their place, by their noisy counts."""
        leaves, chosen = self._leaves, self.chosen
        number = np.array([len(each) for each in noisy])
        table = np.zeros((len(noisy), number.max()))
        table[np.arange(table.shape[1]) < number[:, None]] = list(chain.from_iterable(noisy))
        children = self._children(chosen, table, number)
        np.add.at(self._divided, chosen.group, 1)
        width = np.ones(len(leaves.node), np.intp)
        width[self._places] = number
        starts = np.cumsum(width) - width
        kept = np.ones(len(leaves.node), np.bool_)
        kept[self._places] = False
        places = np.concatenate((starts[kept], _stretches(starts[self._places], number)))
        together = zip(leaves.at(np.flatnonzero(kept)), children, strict=True)
        joined = Leaves._make(np.concatenate(pair, axis=-1) for pair in together)
        self._leaves = joined.at(np.argsort(places))

    def _roots(self) -> Leaves:
        """One a group. Nothing is known of its rows."""
        groups = self._groups
        facts = self.numbers.facts(np.zeros(groups, np.intp))
        tests = np.ones((len(self._reaches), len(self._ps), groups), np.bool_)
        nothing = np.zeros(groups)
        return Leaves(
            group=np.arange(groups),
            node=np.zeros(groups, np.intp),
            square=facts.square,
            has_edge=facts.has_edge,
            below=nothing,
            # It is worth a look however little the budget is.
            rows=np.full(groups, np.inf),
            total=nothing,
            below_below=nothing,
            rows_rows=nothing,
            total_total=nothing,
            below_rows=nothing,
            below_total=nothing,
            rows_total=nothing,
            from_below=tests,
            from_above=tests,
            crossing=tests[0],
        )

    def _ends(self) -> Numbers:
        """The places of the leaves in which the interval of a quantile begins or ends, or in which
        the estimates reach its target rank.
        """
        leaves = self._leaves
        starts = np.searchsorted(leaves.group, np.arange(self._groups))
        ends = np.append(starts[1:], len(leaves.group))
        found = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            inside = slice(start, end)
            found.append(start + leaves.crossing[:, inside].argmax(axis=-1))
            found.append(start + leaves.from_below[..., inside].argmax(axis=-1).ravel())
            backwards = leaves.from_above[..., inside][..., ::-1]
            found.append(end - 1 - backwards.argmax(axis=-1).ravel())
        return np.concatenate(found)

    def _children(self, chosen: Leaves, noisy: Floats, number: Numbers) -> Leaves:
        """Their estimates: what the noisy counts of the children add up to is a second estimate of
        the rows inside a node. What it differs by from the first moves all estimates, by as much as
        they have to do with it.
        """
        square = chosen.square
        is_root = chosen.node == 0
        spread = chosen.rows_rows + number * square
        # Nothing was known of a root: all that its children add up to is new.
        surprise = noisy.sum(axis=1) - np.where(is_root, 0.0, chosen.rows)
        by_below = chosen.below_rows / spread
        by_total = np.where(is_root, 1.0, chosen.rows_total / spread)
        part = np.where(is_root, 0.0, square / spread)
        places = np.arange(noisy.shape[1] + 1)
        # From here on a row is a node, and a column one of its boundaries.
        moves = by_below[:, None] - part[:, None] * places
        before = np.pad(noisy.cumsum(axis=1), ((0, 0), (1, 0)))
        drawn = square[:, None] * places
        below = chosen.below[:, None] + moves * surprise[:, None] + before
        below_below = chosen.below_below[:, None] + moves**2 * spread[:, None] + drawn
        below_below += 2 * moves * (drawn - chosen.below_rows[:, None])
        below_total = chosen.below_total[:, None] + by_total[:, None] * (
            drawn - chosen.below_rows[:, None]
        )
        total = chosen.total + by_total * surprise
        total_total = np.where(
            is_root, number * square, chosen.total_total - by_total * chosen.rows_total
        )
        is_there = places[:-1] < number[:, None]
        parents, place = np.nonzero(is_there)
        node = self.numbers.first_children(chosen.node)[parents] + place
        facts = self.numbers.facts(node)
        past = below.T - self._ps[:, None, None] * total
        off = below_below.T - 2 * self._ps[:, None, None] * below_total.T
        off += self._ps[:, None, None] ** 2 * total_total
        off = np.sqrt(np.maximum(off, 0.0))
        # The whole ranks next to the target rank are less than a row away from it.
        reach = self._reaches[:, None, None] * off[:, place + 1, parents] + 1
        is_short = -past[:, place + 1, parents] > reach
        upper_reach = self._reaches[:, None, None] * off[:, place, parents] + 1
        is_past = past[:, place, parents] > upper_reach
        reaches_rank = past[:, 1:] >= 0
        reaches_rank[:, number - 1, np.arange(len(number))] = True
        first_place = reaches_rank.argmax(axis=1)
        return Leaves(
            group=chosen.group[parents],
            node=node,
            square=facts.square,
            has_edge=facts.has_edge,
            below=below[parents, place],
            rows=noisy[parents, place] - (part * surprise)[parents],
            total=total[parents],
            below_below=below_below[parents, place],
            rows_rows=(square * (1 - part))[parents],
            total_total=total_total[parents],
            below_rows=part[parents] * (chosen.below_rows[parents] - drawn[parents, place]),
            below_total=below_total[parents, place],
            rows_total=(square * by_total)[parents],
            from_below=chosen.from_below[..., parents] & (~is_short | facts.is_last),
            from_above=chosen.from_above[..., parents] & (~is_past | facts.is_first),
            crossing=chosen.crossing[:, parents] & (first_place[:, parents] == place),
        )


def _reaches(numbers: NodeNumbers, beta: Fraction) -> Floats:
    """How many deviations the tests reach, about: by some guesses."""
    root = numbers.shape.root
    if root.is_leaf:
        return np.ones(1)
    chance = float(numbers.shape.level_below(root).chance * beta / 2)
    normal = -NormalDist().inv_cdf(chance)
    guesses = NORMAL_REACH
    if isinstance(numbers.noise.whole, DiscreteLaplace):
        guesses = LAPLACE_REACH
    return normal * np.array(guesses)


def _stretches(starts: Numbers, lengths: Numbers) -> Numbers:
    """All numbers of stretches that begin at `starts`.

    >>> _stretches(np.array([3, 8]), np.array([2, 3])).tolist()
    [3, 4, 8, 9, 10]
    """
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1])
