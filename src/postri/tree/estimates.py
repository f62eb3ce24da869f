"""What the noisy counts of a tree tell of its boundaries: best linear estimates, from the top down.

Each estimate is the truth plus a sum of the noises that were drawn along the path, with weights
that follow from the shape of the tree and from the levels of noise alone (Theorem 23). So how far
it may be off is public, and no look below a node is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from postri.noise import Noise
from postri.tree.shape import TreeNode
from postri.tree.tails import NoiseSum

Floats = NDArray[np.float64]

# What the rounding of floats may have moved an estimate by, as a share of the numbers that were
# added up, for each level.
ROUNDING = 2.0**-44


@dataclass(frozen=True)
class Slots:
    """The noises along one path: those of the children of each of `nodes`, of the first node first.

    `starts` says where those of each node begin, `squares` is the mean square of each noise.
    """

    kind: type[Noise]
    nodes: tuple[TreeNode, ...]
    starts: tuple[int, ...]
    squares: Floats

    @classmethod
    def of_root(cls, root: TreeNode, number: int, noise: Noise) -> Slots:
        """The noises of the root's children."""
        return cls(type(noise), (root,), (0,), np.full(number, noise.mean_square))

    def with_children_of(self, node: TreeNode, number: int, noise: Noise) -> Slots:
        """One level more."""
        return Slots(
            self.kind,
            (*self.nodes, node),
            (*self.starts, len(self.squares)),
            np.concatenate((self.squares, np.full(number, noise.mean_square))),
        )

    def shared(self, other: Slots) -> int:
        """How many of the first noises are the same in both paths."""
        for place, (own, theirs) in enumerate(zip(self.nodes, other.nodes, strict=False)):
            if own != theirs:
                return self.starts[place]
        return min(len(self.squares), len(other.squares))


@dataclass(frozen=True)
class Estimate:
    """A number that is estimated: the truth plus noises with these weights.

    `rounding` is by how much floats may have moved it.
    """

    value: float
    slots: Slots
    weights: Floats
    rounding: float

    def less(self, share: float, other: Estimate) -> EstimatedDifference:
        """The rest after a share of another one of the same path is taken away."""
        noise = NoiseSum(self.slots.kind, self.slots.squares, self.weights - share * other.weights)
        rounding = self.rounding + share * other.rounding
        return EstimatedDifference(self.value - share * other.value, noise, rounding)

    def minus(self, other: Estimate) -> EstimatedDifference:
        """By how much this is more than another one."""
        same = self.slots.shared(other.slots)
        weights = np.concatenate(
            (self.weights[:same] - other.weights[:same], self.weights[same:], -other.weights[same:])
        )
        squares = np.concatenate((self.slots.squares, other.slots.squares[same:]))
        return EstimatedDifference(
            self.value - other.value,
            NoiseSum(self.slots.kind, squares, weights),
            self.rounding + other.rounding,
        )


@dataclass(frozen=True)
class EstimatedDifference:
    """By how much one estimated number is more than another, and the noise of that."""

    value: float
    noise: NoiseSum
    rounding: float


@dataclass(frozen=True, eq=False)
class Boundaries:
    """The estimates that belong to one divided node: how many rows lie `below` each of its b + 1
    boundaries, how many there are in all, and how many each of its b children holds.

    The weights of the noises have a row for every boundary or child, and a column for each slot.
    """

    slots: Slots
    below: Floats
    total: float
    counts: Floats
    below_weights: Floats
    total_weights: Floats
    count_weights: Floats
    rounding: float
    _noises: dict[tuple[int, float], NoiseSum] = field(default_factory=dict, repr=False)

    @classmethod
    def of_root(cls, root: TreeNode, noisy: Sequence[int], noise: Noise) -> Boundaries:
        """Those of the root, from the noisy counts of its children."""
        drawn = np.array(noisy, np.float64)
        number = len(drawn)
        before = np.tri(number + 1, number, -1)
        return cls(
            slots=Slots.of_root(root, number, noise),
            below=before @ drawn,
            total=float(drawn.sum()),
            counts=drawn,
            below_weights=before,
            total_weights=np.ones(number),
            count_weights=np.eye(number),
            rounding=ROUNDING * float(np.abs(drawn).sum()),
        )

    def of_child(
        self, place: int, child: TreeNode, noisy: Sequence[int], noise: Noise
    ) -> Boundaries:
        """Those of one of its children, from the noisy counts of that one's children.

        Their sum is a second estimate of the child's own count. What it differs by from the first
        moves all estimates, by as much as they have to do with it.
        """
        drawn = np.array(noisy, np.float64)
        number = len(drawn)
        own = self.count_weights[place]
        left = self.below_weights[place]
        spread_of_own = self.slots.squares * own
        spread = float(own @ spread_of_own) + number * noise.mean_square
        surprise = float(drawn.sum() - self.counts[place])
        # How much of the surprise each estimate takes: the boundary on the left and the total by
        # their covariance with the child's count, each of the children an equal part.
        by_left = float(left @ spread_of_own) / spread
        by_total = float(self.total_weights @ spread_of_own) / spread
        part = noise.mean_square / spread
        moves = by_left - part * np.arange(number + 1)
        before = np.tri(number + 1, number, -1)
        return Boundaries(
            slots=self.slots.with_children_of(child, number, noise),
            below=self.below[place] + moves * surprise + before @ drawn,
            total=self.total + by_total * surprise,
            counts=drawn - part * surprise,
            below_weights=np.hstack((left - np.outer(moves, own), before + moves[:, None])),
            total_weights=np.concatenate(
                (self.total_weights - by_total * own, np.full(number, by_total))
            ),
            count_weights=np.hstack((np.tile(part * own, (number, 1)), np.eye(number) - part)),
            rounding=self.rounding + ROUNDING * (float(np.abs(drawn).sum()) + abs(self.total)),
        )

    def at(self, boundary: int) -> Estimate:
        """How many rows lie below one of its boundaries."""
        value = float(self.below[boundary])
        return Estimate(value, self.slots, self.below_weights[boundary], self.rounding)

    @property
    def all_rows(self) -> Estimate:
        """How many rows there are."""
        return Estimate(self.total, self.slots, self.total_weights, self.rounding)

    def past_rank(self, share: float) -> Floats:
        """By how many rows each boundary lies past the target rank of a quantile."""
        return self.below - share * self.total

    def noise_past_rank(self, boundary: int, share: float) -> NoiseSum:
        """By how much the estimate of `past_rank` is off at one boundary."""
        key = (boundary, share)
        if key not in self._noises:
            weights = self.below_weights[boundary] - share * self.total_weights
            self._noises[key] = NoiseSum(self.slots.kind, self.slots.squares, weights)
        return self._noises[key]
