"""What was looked at of trees that are being drawn, of many groups at once, and which leaves are
worth a look next.

The estimates are those of `estimates.py` (Theorem 23), but of their noises only mean squares and
mean products are kept, not the weights. That is enough to choose what is drawn next, which follows
from what was drawn before: nothing is claimed by it, and whatever is chosen, what is told later
holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postri.noise import DiscreteLaplace, Noise
from postri.tree.noisy_tree import TreeNoise
from postri.tree.shape import Level, TreeNode, TreeShape

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Numbers = NDArray[np.intp]
Indexes = NDArray[np.int64]

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
# The kind of single points, which have no children.
POINT = -1
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

    @classmethod
    def empty(cls, number: int) -> NodeFacts:
        """Room for those of so many nodes."""
        return cls(np.zeros(number), *(np.zeros(number, np.bool_) for _ in range(3)))


class NodeArrays(NamedTuple):
    """Nodes: the indexes that each holds, how deep it lies, and the number of its kind; the number
    of its first child, if that was seen, and how many children it has.
    """

    first: Indexes
    last: Indexes
    depth: Indexes
    kind: Numbers
    first_child: Numbers
    children: Numbers

    @classmethod
    def empty(cls, number: int) -> NodeArrays:
        """Room for so many."""
        whole = (np.zeros(number, np.int64) for _ in range(3))
        return cls(*whole, *(np.full(number, NONE_YET) for _ in range(3)))


class NodeKind(NamedTuple):
    """What nodes have in common whose children are alike: the noise of these, and how many points
    each of them holds; None where they differ.
    """

    noise: Noise
    size: int | None


class NodeNumbers:
    """The nodes of a tree by number, so that arrays can tell of them: those seen so far.

    The children of a node have numbers that follow one another.
    """

    def __init__(self, shape: TreeShape, noise: TreeNoise, edges: Sequence[int] = ()) -> None:
        self.shape = shape
        self.noise = noise
        self._edges = np.array(sorted(edges), np.int64)
        self._number = 0
        # Lines beyond the nodes seen so far are empty.
        self._nodes = NodeArrays.empty(1)
        self._facts = NodeFacts.empty(1)
        self._kinds: list[NodeKind] = []
        self._numbers_of_kinds: dict[tuple[Level, int | None], int] = {}
        # The kind of the children of a kind whose children are alike.
        self._kinds_below: dict[int, int] = {}
        self._add_listed([shape.root])

    @property
    def noises(self) -> list[Noise]:
        """The noise of the children of nodes of each kind."""
        return [kind.noise for kind in self._kinds]

    def kinds(self, numbers: Numbers) -> Numbers:
        """The kind of each node, none of which is a single point."""
        found: Numbers = self._nodes.kind[numbers]
        return found

    def node(self, number: int) -> TreeNode:
        """The one of a number."""
        first, last, depth, *_ = (int(each[number]) for each in self._nodes)
        return TreeNode(first, last, depth)

    def at(self, numbers: Numbers) -> NodeArrays:
        """Some nodes, whose children are seen from now on."""
        lacking = np.unique(numbers[self._nodes.first_child[numbers] == NONE_YET])
        kinds = self._nodes.kind[lacking]
        for kind in np.unique(kinds).tolist():
            self._see_children(lacking[kinds == kind], kind)
        return NodeArrays._make(each[numbers] for each in self._nodes)

    def firsts(self, numbers: Numbers) -> Indexes:
        """The first index of each node."""
        found: Indexes = self._nodes.first[numbers]
        return found

    def facts(self, numbers: Numbers) -> NodeFacts:
        """Those of some nodes."""
        return NodeFacts._make(each[numbers] for each in self._facts)

    def _see_children(self, numbers: Numbers, kind: int) -> None:
        """Number the children of nodes of one kind."""
        size = self._kinds[kind].size
        if size is not None:
            self._see_alike(numbers, kind, size)
            return
        for number in numbers.tolist():
            children = self.shape.children(self.node(number))
            self._nodes.first_child[number] = self._number
            self._nodes.children[number] = len(children)
            self._add_listed(children)

    def _see_alike(self, numbers: Numbers, kind: int, size: int) -> None:
        """Number the children of nodes of one kind whose children hold `size` points each, but for
        the last of a node, which may hold fewer.
        """
        parents = NodeArrays._make(each[numbers] for each in self._nodes)
        # Of numbers of 64 bits the distance has as many, without a sign.
        length = parents.last.view(np.uint64) - parents.first.view(np.uint64)
        children = (length >> np.uint64(size.bit_length() - 1)).astype(np.intp) + 1
        starts = np.cumsum(children) - children
        self._nodes.first_child[numbers] = self._number + starts
        self._nodes.children[numbers] = children
        parent = np.repeat(np.arange(len(numbers)), children)
        place = np.arange(len(parent), dtype=np.int64) - starts[parent]
        first: Indexes = np.add(parents.first[parent], place * np.int64(size), dtype=np.int64)
        last: Indexes = first + np.int64(size - 1)
        last[place == children[parent] - 1] = parents.last
        depth = parents.depth[parent] + 1
        kinds = np.full(len(first), POINT)
        if size > 1:
            some = TreeNode(int(first[0]), int(last[0]), int(depth[0]))
            kinds[first < last] = self._kind_below(kind, some)
        self._add(first, last, depth, kinds)

    def _kind_below(self, kind: int, child: TreeNode) -> int:
        """The kind of the children of a kind, one of which is given."""
        if kind not in self._kinds_below:
            self._kinds_below[kind] = self._kind_of(child)
        return self._kinds_below[kind]

    def _kind_of(self, node: TreeNode) -> int:
        size = None
        if self.shape.divides_evenly(node):
            size = self.shape.part_sizes_below(node)[0]
        key = (self.shape.level_below(node), size)
        if key not in self._numbers_of_kinds:
            self._numbers_of_kinds[key] = len(self._kinds)
            self._kinds.append(NodeKind(self.noise.below(self.shape, node), size))
        return self._numbers_of_kinds[key]

    def _add_listed(self, nodes: Sequence[TreeNode]) -> None:
        kinds = [POINT if node.is_leaf else self._kind_of(node) for node in nodes]
        first, last, depth = (np.array(each, np.int64) for each in zip(*nodes, strict=True))
        self._add(first, last, depth, np.array(kinds))

    def _add(self, first: Indexes, last: Indexes, depth: Indexes, kind: Numbers) -> None:
        start = self._number
        end = start + len(first)
        while len(self._nodes.first) < end:
            room = len(self._nodes.first)
            self._nodes = NodeArrays._make(_joined(self._nodes, NodeArrays.empty(room)))
            self._facts = NodeFacts._make(_joined(self._facts, NodeFacts.empty(room)))
        squares = np.array([*(each.noise.mean_square for each in self._kinds), 0.0])
        before, upto = (self._edges.searchsorted(each, "right") for each in (first, last))
        grid = self.shape.grid
        # Single points have the last of the squares.
        facts = squares[kind], before < upto, first == grid.first, last == grid.last
        for column, own in zip(self._facts, facts, strict=True):
            column[start:end] = own
        for column, own in zip(self._nodes, (first, last, depth, kind), strict=False):
            column[start:end] = own
        self._number = end


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
        # Lines beyond this number are empty.
        self._number = groups
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
        is_end = np.zeros(self._number, np.bool_)
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

    def divide(self, noisy: NDArray[Any]) -> None:
        """Look at the children of the chosen leaves, by their noisy counts: a line for each leaf,
        with zeros after its last child where others have more.
        """
        nodes = self.numbers.at(self.chosen.node)
        number = nodes.children
        children = self._children(self.chosen, noisy.astype(np.float64), nodes)
        np.add.at(self._divided, self.chosen.group, 1)
        self._newest = self._number
        self._looked.first_child[self._places] = self._newest + np.cumsum(number) - number
        self._looked.children[self._places] = number
        self._add(children)
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

    def _add(self, children: Looked) -> None:
        """Keep more nodes."""
        start = self._number
        self._number += len(children.node)
        room = len(self._looked.node)
        if room < self._number:
            more = max(self._number, 2 * room) - room
            self._looked = Looked._make(_joined(self._looked, _room(self._looked, more)))
        for column, own in zip(self._looked, children, strict=True):
            column[start : self._number] = own

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

    def _children(self, chosen: Looked, noisy: Floats, nodes: NodeArrays) -> Looked:
        """Their estimates: what the noisy counts of the children add up to is a second estimate of
        the rows inside a node. What it differs by from the first moves all estimates, by as much as
        they have to do with it.
        """
        square = chosen.square
        number = nodes.children
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
        node = nodes.first_child[parents] + place
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


def _joined(some: Iterable[NDArray[Any]], others: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Columns, each with more lines."""
    return (np.concatenate(pair) for pair in zip(some, others, strict=True))


def _room(columns: Iterable[NDArray[Any]], lines: int) -> Iterator[NDArray[Any]]:
    """Columns of the same types, with so many lines."""
    return (np.empty(lines, column.dtype) for column in columns)


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
