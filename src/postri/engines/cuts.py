"""The raw cells at which grid points begin: cells are counted between them, and never become
indexes for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from postri.engines.reading import Raw
from postri.grid import Grid
from postri.window import Indexes, PointCounts

NONE_BELOW = -1
SMALLEST = -(2**63)
LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Cuts:
    """The least raw cell of each of some grid points.

    A cell lies in the bucket whose number is that of the `cuts` up to it. `buckets` has for each
    point the last bucket below it: several points may have one cut, and those that no cell lies
    below, or that all do, have none.
    """

    points: Indexes
    cuts: list[Raw]
    buckets: Indexes

    @classmethod
    def of(
        cls,
        points: Indexes,
        grid: Grid,
        cut: Callable[[int], Raw],
        least: Raw = -inf,
        most: Raw = inf,
        shift: int | None = None,
    ) -> Cuts:
        """Those of ascending points, by the cut of each; no cell lies beyond `least` and `most`.

        With a `shift`, that is by how much the cut of each exceeds it.
        """
        cuts: list[Raw] = []
        buckets = np.full(len(points), NONE_BELOW, np.int64)
        start, end = points.searchsorted([grid.first, grid.last], "right")
        if shift is not None and start < end and abs(shift) <= LARGEST:
            first, last = (int(point) + shift for point in points[[start, end - 1]])
            if max(least, SMALLEST) < first and last <= min(most, LARGEST):
                # All of them at once: many thousands may be asked for.
                buckets[start:end] = np.arange(end - start)
                buckets[end:] = end - start
                return cls(points, (points[start:end] + shift).tolist(), buckets)
        for i, point in enumerate(points[start:end].tolist(), start):
            raw = cut(point)
            if raw > most:
                end = i
                break
            if raw > least and (not cuts or raw > cuts[-1]):
                cuts.append(raw)
            buckets[i] = len(cuts) - 1
        buckets[end:] = len(cuts)
        return cls(points, cuts, buckets)

    def counts(self, below: Indexes, n: int) -> PointCounts:
        """How many of n cells lie below each point, from the number below each cut."""
        found = np.concatenate(([0], below, [n]))
        return PointCounts(self.points, found[self.buckets + 1], n)
