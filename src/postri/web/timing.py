"""The time grid: an answer leaves at a whole multiple of the grid after its question came, so that
how long it took tells less.
"""

from __future__ import annotations

import asyncio
from math import ceil
from time import monotonic


class TimeGrid:
    """Points in time at every multiple of `step` seconds after a request came; a step of 0 is no
    grid.
    """

    def __init__(self, step: float) -> None:
        self._step = step

    def point(self, arrived: float, now: float) -> float:
        """The first point that is not before now.

        >>> TimeGrid(0.5).point(10.0, 10.2), TimeGrid(0.5).point(10.0, 11.0), TimeGrid(0).point(10.0, 10.2)
        (10.5, 11.0, 10.2)
        """
        return arrived + ceil((now - arrived) / self._step) * self._step if self._step else now

    async def wait(self, arrived: float) -> None:
        """Sleep until the next point."""
        point = self.point(arrived, monotonic())
        while (rest := point - monotonic()) > 0:
            await asyncio.sleep(rest)
