"""How often one may ask the service, and when its answers leave: requests per minute, and a time
grid.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import ceil
from time import monotonic

from postri.web.refusals import wait


class Rate:
    """Requests per minute for each token: a bucket that holds a minute's worth and fills evenly."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = monotonic) -> None:
        self._most = per_minute
        self._clock = clock
        # What each token has left, and since when.
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, token: str) -> None:
        """One request; refused if the bucket is empty."""
        now = self._clock()
        left, since = self._buckets.get(token, (float(self._most), now))
        left = min(self._most, left + (now - since) * self._most / 60)
        if left < 1:
            seconds = max(1, ceil((1 - left) * 60 / self._most))
            raise wait(
                "rate_limited",
                f"this token may send {self._most} requests a minute; wait {seconds} s",
                seconds,
            )
        self._buckets[token] = (left - 1, now)


class TimeGrid:
    """Points in time at every multiple of `step` seconds after a request came; a step of 0 is no
    grid.

    Answers leave at these points alone, so that how long one took tells less.
    """

    def __init__(self, step: float) -> None:
        self._step = step

    def point(self, arrived: float, now: float) -> float:
        """The first point that is not before now.

        >>> TimeGrid(0.5).point(10.0, 10.2), TimeGrid(0.5).point(10.0, 11.0)
        (10.5, 11.0)
        >>> TimeGrid(0).point(10.0, 10.2)
        10.2
        """
        if not self._step:
            return now
        return arrived + ceil((now - arrived) / self._step) * self._step

    async def wait(self, arrived: float) -> None:
        """Sleep until the next point."""
        point = self.point(arrived, monotonic())
        while (rest := point - monotonic()) > 0:
            await asyncio.sleep(rest)
