"""What was looked at of trees that are being drawn, of many groups at once, and which leaves are
worth a look next.

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


class Looked(NamedTuple):
    """Nodes that were looked at, in the order in which they were: children of one node follow one
    another, from left to right.

    Of each node: the estimates of the rows below its first index, inside it, in all, and up to its
    last index (`below_end`); the mean squares and mean products of what these are off by. Then the
    place of the node above it, and of its first child, if it was divided; how many children it has;
    and whether it is the first or the last of its siblings.
    """

    group: Numbers
    node: Numbers
    square: Floats
    has_edge: Bools
    is_first: Bools
    is_last: Bools
    below: Floats
    rows: Floats
    total: Floats
    below_below: Floats
    rows_rows: Floats
    total_total: Floats
    below_rows: Floats
    below_total: Floats
    rows_total: Floats
    below_end: Floats
    end_end: Floats
    end_total: Floats
    above: Numbers
    first_child: Numbers
    children: Numbers
    is_leftmost: Bools
    is_rightmost: Bools

    def at(self, places: Numbers) -> Looked:
        """Some of them."""
        return Looked._make(each[places] for each in self)


class Ends(NamedTuple):
    """The ends of intervals: for each group, guess of how far tests reach, and quantile the place
    of the leaf in which the interval ends; beside it the guess and the quantile.
    """

    place: Numbers
    reach: Floats
    p: Floats


class Front:
    """What was looked at of the trees of some groups."""

    def __init__(self, numbers: NodeNumbers, wish: Wish, groups: int) -> None:
        self.numbers = numbers
        self._wish = wish
        self._divided = np.zeros(groups, np.int64)
        self._looked = self._roots(groups)
        # Those that were looked at last begin here.
        self._newest = 0
        ps = np.array([float(p) for p in wish.ps])
        reaches = _reaches(numbers, wish.beta)
        roots, reach, p = np.meshgrid(np.arange(groups), reaches, ps, indexing="ij")
        self._low = Ends(roots.ravel(), reach.ravel(), p.ravel())
        self._high = Ends(roots.ravel(), reach.ravel(), p.ravel())
        # The leaves in which the estimates reach the target ranks.
        roots, p = np.meshgrid(np.arange(groups), ps, indexing="ij")
        self._crossing = Ends(roots.ravel(), np.zeros(p.size), p.ravel())

    def choose(self) -> bool:
        """Find the leaves that are worth a look, `chosen`; whether there are any.

        Of those that no interval ends in, only the newest can be: others were not before.
        """
        looked = self._looked
        is_end = np.zeros(len(looked.node), np.bool_)
        for ends in (self._low, self._high, self._crossing):
            is_end[ends.place] = True
        is_asked = is_end.copy()
        is_asked[self._newest :] = True
        places = np.flatnonzero(is_asked)
        leaves = looked.at(places)
        can_be = (leaves.square > 0) & (self._divided < MOST_DIVIDED)[leaves.group]
        places = places[can_be & self.worth_a_look(leaves, is_end[places])]
        # Those of a group follow one another.
        self._places = places[np.argsort(looked.group[places], kind="stable")]
        self.chosen = looked.at(self._places)
        return bool(len(places))

    def worth_a_look(self, leaves: Looked, is_end: Bools) -> Bools:
        """Which of these leaves should be divided next, by what is drawn already."""
        told = leaves.has_edge | is_end
        deviations = np.sqrt(leaves.square)
        wanted: Bools = told & (leaves.rows >= FEW * deviations)
        if self._wish.everywhere:
            many = np.maximum(MANY * deviations, SHARE * leaves.total)
            wanted |= leaves.rows >= many
        return wanted

    def divide(self, noisy: Sequence[Sequence[int]]) -> None:
        """Look at the children of the chosen leaves, by their noisy counts."""
        number = np.array([len(each) for each in noisy])
        table = np.zeros((len(noisy), number.max()))
        table[np.arange(table.shape[1]) < number[:, None]] = list(chain.from_iterable(noisy))
        children = self._children(self.chosen, table, number)
        np.add.at(self._divided, self.chosen.group, 1)
        self._newest = len(self._looked.node)
        self._looked.first_child[self._places] = self._newest + np.cumsum(number) - number
        self._looked.children[self._places] = number
        pairs = zip(self._looked, children, strict=True)
        self._looked = Looked._make(np.concatenate(pair) for pair in pairs)
        self._crossing = self._crossed()
        self._low = self._outermost(self._low, low=True)
        self._high = self._outermost(self._high, low=False)

    def _roots(self, groups: int) -> Looked:
        """One a group. Nothing is known of its rows."""
        facts = self.numbers.facts(np.zeros(groups, np.intp))
        nothing = np.zeros(groups)
        yes = np.ones(groups, np.bool_)
        none = np.full(groups, NONE_YET)
        return Looked(
            group=np.arange(groups),
            node=np.zeros(groups, np.intp),
            square=facts.square,
            has_edge=facts.has_edge,
            is_first=yes,
            is_last=yes,
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
            below_end=nothing,
            end_end=nothing,
            end_total=nothing,
            above=none,
            first_child=none.copy(),
            children=np.zeros(groups, np.intp),
            is_leftmost=yes,
            is_rightmost=yes,
        )

    def _crossed(self) -> Ends:
        """The first child, of each divided node in which the estimates reached a target rank, whose
        end is past it: else the last one.
        """
        looked = self._looked
        place, _, p = self._crossing
        place = place.copy()
        moved = np.flatnonzero(looked.first_child[place] != NONE_YET)
        here = looked.first_child[place[moved]]
        last = here + looked.children[place[moved]] - 1
        while True:
            is_short = looked.below_end[here] - p[moved] * looked.total[here] < 0
            goes_on = is_short & (here < last)
            if not goes_on.any():
                break
            here = here + goes_on
        place[moved] = here
        return self._crossing._replace(place=place)

    def _outermost(self, ends: Ends, *, low: bool) -> Ends:
        """The outermost leaf from each end inwards that passes its test, as all nodes above it do:
        where a leaf was an end and is divided now.
        """
        looked = self._looked
        found = ends.place.copy()
        open_ends = np.flatnonzero(looked.first_child[found] != NONE_YET)
        here = found[open_ends]
        passes = np.ones(len(here), np.bool_)
        while len(open_ends):
            # Down where the test is passed, else inwards.
            here = np.where(passes, self._outer_child(here, low=low), self._next(here, low=low))
            at_ends = Ends(here, ends.reach[open_ends], ends.p[open_ends])
            passes = self._passes(at_ends, low=low)
            is_settled = passes & (looked.first_child[here] == NONE_YET)
            found[open_ends[is_settled]] = here[is_settled]
            open_ends, here, passes = (each[~is_settled] for each in (open_ends, here, passes))
        return ends._replace(place=found)

    def _outer_child(self, here: Numbers, *, low: bool) -> Numbers:
        first = self._looked.first_child[here]
        if low:
            return first
        return first + self._looked.children[here] - 1

    def _next(self, here: Numbers, *, low: bool) -> Numbers:
        """The next node inwards that is not below these: a sibling, or one of a node above."""
        is_innermost, step = self._looked.is_leftmost, -1
        if low:
            is_innermost, step = self._looked.is_rightmost, 1
        here = here.copy()
        # What passed has children, and is no concern here. A root passes.
        climbs = is_innermost[here] & (self._looked.above[here] != NONE_YET)
        while climbs.any():
            here[climbs] = self._looked.above[here[climbs]]
            climbs = is_innermost[here] & (self._looked.above[here] != NONE_YET)
        return here + step

    def _passes(self, ends: Ends, *, low: bool) -> Bools:
        """Whether nodes are not surely short of a target rank, or past it: about, by one guess."""
        looked = self._looked
        here, reach, p = ends
        if low:
            below, square, product = looked.below_end, looked.end_end, looked.end_total
            sign, is_public = -1.0, looked.is_last
        else:
            below, square, product = looked.below, looked.below_below, looked.below_total
            sign, is_public = 1.0, looked.is_first
        past = below[here] - p * looked.total[here]
        off = square[here] - 2 * p * product[here]
        off += p**2 * looked.total_total[here]
        off = np.sqrt(np.maximum(off, 0.0))
        # The whole ranks next to the target rank are less than a row away from it.
        is_out = sign * past > reach * off + 1
        return ~is_out | is_public[here]

    def _children(self, chosen: Looked, noisy: Floats, number: Numbers) -> Looked:
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
        end = place + 1
        return Looked(
            group=chosen.group[parents],
            node=node,
            square=facts.square,
            has_edge=facts.has_edge,
            is_first=facts.is_first,
            is_last=facts.is_last,
            below=below[parents, place],
            rows=noisy[parents, place] - (part * surprise)[parents],
            total=total[parents],
            below_below=below_below[parents, place],
            rows_rows=(square * (1 - part))[parents],
            total_total=total_total[parents],
            below_rows=part[parents] * (chosen.below_rows[parents] - drawn[parents, place]),
            below_total=below_total[parents, place],
            rows_total=(square * by_total)[parents],
            below_end=below[parents, end],
            end_end=below_below[parents, end],
            end_total=below_total[parents, end],
            above=self._places[parents],
            first_child=np.full(len(node), NONE_YET),
            children=np.zeros(len(node), np.intp),
            is_leftmost=place == 0,
            is_rightmost=end == number[parents],
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
