"""Stretches of a grid that are divided evenly, and where their boundaries lie.

The nodes of a tree over a grid have sizes that are powers of two, from the first index on; on a
default domain from zero on, to both sides. So the boundaries of all nodes of one size are among
those of one lattice, and what is counted between the points of a lattice answers for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from postri.grid import Grid
from postri.window import Indexes

SMALLEST = -(2**63)
LARGEST = 2**63 - 1
# A node has eight children.
LEVEL_BITS = 3


@dataclass(frozen=True)
class Stretches:
    """From each of `firsts` on, `size` indexes in parts of `step` indexes: powers of two.

    The firsts are ascending, and whole multiples of `size` apart. The first stretch may begin
    before the grid does, and the last one end after it; all numbers fit 64 bits.
    """

    firsts: Indexes
    size: int
    step: int

    @property
    def parts(self) -> int:
        """Into how many parts each is divided."""
        return self.size // self.step

    @property
    def first(self) -> int:
        """Where they begin."""
        return int(self.firsts[0])

    @property
    def end(self) -> int:
        """One past the last index of the last one."""
        return int(self.firsts[-1]) + self.size

    @property
    def numbers(self) -> Indexes:
        """How many times its size each begins after the first one.

        >>> Stretches(np.array([-8, 8]), 8, 4).numbers.tolist()
        [0, 2]
        """
        away = self.firsts.view(np.uint64) - self.firsts[:1].view(np.uint64)
        return (away // np.uint64(self.size)).astype(np.int64)

    @property
    def starts(self) -> Indexes:
        """For each stretch the first index of each part.

        >>> Stretches(np.array([8, 24]), 8, 4).starts.tolist()
        [[8, 12], [24, 28]]
        """
        starts: Indexes = self.firsts[:, None] + np.arange(0, self.size, self.step, dtype=np.int64)
        return starts


@dataclass(frozen=True)
class Lattice:
    """The indexes of `first..last` that are whole multiples of a step away from `origin`.

    With `octaves`, those of them are special whose distance from there is a power of two.
    """

    first: int
    last: int
    origin: int
    octaves: bool = False

    def within(self, low: int, high: int) -> Lattice:
        """The part of it between two indexes."""
        return replace(self, first=max(self.first, low), last=min(self.last, high))

    def size_for(self, room: int) -> int:
        """The least power of two by which there are about as many points as there is room for.

        >>> Lattice(0, 99, 0).size_for(100), Lattice(0, 100, 0).size_for(50)
        (1, 4)
        """
        points = self.last - self.first + 1
        return 1 << max(0, (-(-points // room) - 1).bit_length())

    def around(self, low: int, high: int, more: int) -> Lattice:
        """The part of it between two indexes and up to so many more: as many on each side, or on
        the other side where it ends.

        >>> around = Lattice(0, 100, 0).around(10, 20, 40)
        >>> around.first, around.last
        (0, 50)
        """
        below = max(min(more, low - self.first), 0)
        above = max(min(more, self.last - high), 0)
        first = low - min(below, max(more // 2, more - above))
        last = high + min(above, more - (low - first))
        return self.within(first, last)

    def points(self, step: int) -> range:
        """Those by this step, and the one before them and after them.

        >>> list(Lattice(5, 20, -1).points(4))
        [3, 7, 11, 15, 19, 23]
        """
        if self.first > self.last:
            return range(0)
        start = self.first - (self.first - self.origin) % step
        return range(start, self.last + step, step)

    def outline(self, room: int) -> Sequence[int]:
        """Points all over it: the octaves, or as many as there is room for."""
        if not self.octaves:
            return self.points(self.size_for(room))
        away = [1 << octave for octave in range(65)]
        both = [self.origin + each for each in away] + [self.origin - each for each in away]
        return [point for point in both if self.first <= point <= self.last]

    def fringe(self, size: int) -> list[int]:
        """The points by steps from `size` on, in the stretches of eight steps that hold one of its
        ends: what a node that reaches beyond an end is divided by.

        >>> Lattice(5, 5, 0).fringe(1)[:9]
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
        """
        if self.first > self.last:
            return []
        found: list[int] = []
        for bits in range(size.bit_length() - 1, 64):
            for end in {self.first, self.last}:
                start = self.start_of(end, 8 << bits)
                found += range(start, start + (8 << bits) + 1, 1 << bits)
        return found

    def siblings(self, index: int, size: int) -> range:
        """Where the stretches of this size begin that share a node with the one that holds an
        index: the least node that is not smaller, each of whose levels has an eighth of the size of
        the level above.

        >>> list(Lattice(0, 8**4 - 1, 0).siblings(70, 32))
        [64, 96]
        """
        bits = size.bit_length() - 1
        node = size << (self._bits_at(index) - bits) % LEVEL_BITS
        start = self.start_of(index, node)
        return range(start, start + node, size)

    def _bits_at(self, index: int) -> int:
        """The whole lattice, or the octave of an index, holds two to this power at most."""
        if not self.octaves:
            return (self.last - self.first).bit_length()
        away = index - self.origin
        if away < 0:
            away = -away - 1
        return away.bit_length() - 1

    def start_of(self, index: int, size: int) -> int:
        """Where the stretch of this size begins that holds an index."""
        return index - (index - self.origin) % size


def lattices(grid: Grid) -> list[Lattice]:
    """On whose points the boundaries of a tree over a grid lie.

    >>> from fractions import Fraction
    >>> grid = Grid(-8, 7, Fraction(0), Fraction(1), anchor=0)
    >>> [lattice.outline(8) for lattice in lattices(grid)]
    [[-1, -3, -7], [0, 1, 3, 7]]
    """
    if grid.anchor is None:
        return [Lattice(grid.first, grid.last, grid.first)]
    before = Lattice(grid.first, grid.anchor - 1, grid.anchor + 1, octaves=True)
    after = Lattice(grid.anchor, grid.last, grid.anchor - 1, octaves=True)
    return [before, after]
