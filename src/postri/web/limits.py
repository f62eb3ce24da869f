"""How often one may ask the service: requests per minute."""

from __future__ import annotations

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
