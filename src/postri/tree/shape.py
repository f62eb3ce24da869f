"""The tree over a grid: which stretch of indexes each node holds, how it is divided, and which
share of the budget the counts of its children get.

The shape follows from the grid alone, so it is public. Every row lies in one node of each level,
and along every path from the root to a leaf the shares add up to 1 at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

from postri.grid import Grid

# How many children a node has.
CHILDREN = 8
# Each level gets this much of the share of the level above it. Deep nodes hold few rows, so their
# noise matters less, unless all rows lie close together.
FADING = Fraction(9, 10)
# A default domain has a level of groups of octaves, and one of octaves, above the levels of a given
# domain. They get as much as the first two of a tree of this many levels.
USUAL_LEVELS = 8
OCTAVES_IN_GROUP = 11
ABOVE_OCTAVES = 2
# On one side of the anchor: the last index of an unsigned grid of 2^64 points has one of its own.
MOST_OCTAVES = 65


class TreeNode(NamedTuple):
    """The grid indexes `first..last`, `depth` levels below the root."""

    first: int
    last: int
    depth: int

    @property
    def is_leaf(self) -> bool:
        """Whether it holds one grid point."""
        return self.first == self.last

    @property
    def size(self) -> int:
        """How many grid points it holds."""
        return self.last - self.first + 1


@dataclass(frozen=True, eq=False)
class Level:
    """Of the children of nodes of one depth: the share of the budget that their counts get, and the
    share of beta of the tests of each.
    """

    share: Fraction
    chance: Fraction


@dataclass(frozen=True)
class TreeShape:
    """The tree over one grid.

    >>> shape = shape_of(Grid(0, 99, Fraction(0), Fraction(1)))
    >>> [child.first for child in shape.children(shape.root)]
    [0, 16, 32, 48, 64, 80, 96]
    """

    grid: Grid
    most_children: int = CHILDREN
    fading: Fraction = FADING

    @property
    def root(self) -> TreeNode:
        """All indexes."""
        return TreeNode(self.grid.first, self.grid.last, 0)

    def children(self, node: TreeNode) -> tuple[TreeNode, ...]:
        """The parts of a node that is no leaf, from left to right."""
        found = self._children.get(node)
        if found is None:
            found = tuple(self._parts(node))
            self._children[node] = found
        return found

    def boundaries(self, node: TreeNode) -> list[int]:
        """The first index of each child but the first one."""
        return [child.first for child in self.children(node)[1:]]

    def level_below(self, node: TreeNode) -> Level:
        """The share of its children."""
        if self.grid.anchor is None:
            return self._levels[node.depth]
        if node.depth < ABOVE_OCTAVES:
            return self._levels_of_octaves[node.depth]
        octave = self._octave(node.first)
        return self._levels_in_octaves[octave][node.depth - ABOVE_OCTAVES]

    def child_with(self, node: TreeNode, index: int) -> tuple[int, TreeNode]:
        """The child that holds an index, and which one it is."""
        children = self.children(node)
        place = next(place for place, child in enumerate(children) if index <= child.last)
        return place, children[place]

    def parent(self, node: TreeNode) -> tuple[TreeNode, int]:
        """The node above one, and which of its children that is."""
        above = self.root
        while True:
            place, child = self.child_with(above, node.first)
            if child.depth == node.depth:
                return above, place
            above = child

    def chance_at(self, node: TreeNode, index: int) -> Fraction:
        """The part of beta of a node, of all those above an index whose own boundaries the index is
        not: as the tests of their levels have it.
        """
        above = self.root
        total = Fraction(0)
        while True:
            total += self.level_below(above).chance
            _, child = self.child_with(above, index)
            if child.first == index:
                return self.level_below(node).chance / total
            above = child

    @cached_property
    def _children(self) -> dict[TreeNode, tuple[TreeNode, ...]]:
        return {}

    def _parts(self, node: TreeNode) -> list[TreeNode]:
        if self.divides_evenly(node):
            return self._even_parts(node)
        octaves = [each for each in self._octaves if node.first <= each[0] <= node.last]
        together = 1
        if node.depth == 0:
            together = OCTAVES_IN_GROUP
        parts = []
        for place in range(0, len(octaves), together):
            group = octaves[place : place + together]
            parts.append(TreeNode(group[0][0], group[-1][1], node.depth + 1))
        return parts

    def _even_parts(self, node: TreeNode) -> list[TreeNode]:
        size = self.part_sizes_below(node)[0]
        return [
            TreeNode(start, min(start + size - 1, node.last), node.depth + 1)
            for start in range(node.first, node.last + 1, size)
        ]

    def divides_evenly(self, node: TreeNode) -> bool:
        """Whether the children of a node hold as many points each."""
        return self.grid.anchor is None or node.depth >= ABOVE_OCTAVES

    def part_sizes_below(self, node: TreeNode) -> list[int]:
        """How many points the children of a node hold that is divided evenly, and their children,
        down to single points: powers of two. The last child may have fewer.

        So the boundaries of a level are those of whole multiples, which databases count quickly.
        """
        if self.grid.anchor is None:
            return self._part_sizes[node.depth :]
        sizes = part_sizes(1 << self._octave(node.first), self.most_children)
        return sizes[node.depth - ABOVE_OCTAVES :]

    @cached_property
    def _part_sizes(self) -> list[int]:
        return part_sizes(self.grid.last - self.grid.first + 1, self.most_children)

    @cached_property
    def _levels(self) -> list[Level]:
        return self._fading_levels(Fraction(1), Fraction(1), len(self._part_sizes))

    @cached_property
    def _levels_of_octaves(self) -> list[Level]:
        usual = self._fading_levels(Fraction(1), Fraction(1), USUAL_LEVELS)
        return usual[:ABOVE_OCTAVES]

    @cached_property
    def _levels_in_octaves(self) -> list[list[Level]]:
        """All that the levels above leave is shared by those inside an octave."""
        above = self._levels_of_octaves
        share = 1 - sum((level.share for level in above), start=Fraction(0))
        chance = 1 - sum((level.chance for level in above), start=Fraction(0))
        numbers = [len(part_sizes(1 << k, self.most_children)) for k in range(MOST_OCTAVES)]
        return [self._fading_levels(share, chance, number) for number in numbers]

    def _fading_levels(self, share: Fraction, chance: Fraction, number: int) -> list[Level]:
        """So many levels that share a budget, each of which gets a little less than the one above;
        beta is divided evenly.
        """
        weights = [self.fading**place for place in range(number)]
        whole = sum(weights, start=Fraction(0))
        return [Level(share * weight / whole, chance / number) for weight in weights]

    def _octave(self, index: int) -> int:
        """The octave of an index: 2^octave is the number of points of its stretch."""
        anchor = self.grid.anchor
        assert anchor is not None
        if index >= anchor:
            return (index - anchor + 1).bit_length() - 1
        return (anchor - index).bit_length() - 1

    @cached_property
    def _octaves(self) -> list[tuple[int, int]]:
        """The octaves of the distance from the anchor on both sides, within the grid: the first has
        one point, and each has twice as many points as the one nearer to the anchor.
        """
        grid = self.grid
        assert grid.anchor is not None
        found = []
        for octave in range(MOST_OCTAVES):
            near, far = (1 << octave) - 1, (1 << (octave + 1)) - 2
            found.append((grid.anchor + near, grid.anchor + far))
            found.append((grid.anchor - far - 1, grid.anchor - near - 1))
        return sorted(
            (max(first, grid.first), min(last, grid.last))
            for first, last in found
            if first <= grid.last and last >= grid.first
        )


def bar_edges(grid: Grid, bars: int) -> list[int]:
    """The indexes that divide a grid evenly into so many bars, with both ends.

    >>> bar_edges(Grid(0, 100, Fraction(0), Fraction(1)), 4)
    [0, 25, 50, 75, 100]
    """
    length = grid.last - grid.first
    number = min(bars, length)
    return [grid.first + length * place // number for place in range(number + 1)]


@lru_cache(maxsize=64)
def shape_of(grid: Grid) -> TreeShape:
    """The tree over a grid."""
    return TreeShape(grid)


@lru_cache(maxsize=256)
def part_sizes(points: int, children: int = CHILDREN) -> list[int]:
    """How many points the nodes of each level hold, down to single ones: powers of two.

    >>> part_sizes(1), part_sizes(8), part_sizes(9), part_sizes(2_000_001)
    ([], [1], [2, 1], [262144, 32768, 4096, 512, 64, 8, 1])
    """
    sizes = []
    while points > 1:
        # The least power of two of which so many hold all points.
        points = 1 << (-(-points // children) - 1).bit_length()
        sizes.append(points)
    return sizes
