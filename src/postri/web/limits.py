"""How often one may ask the service: requests per minute."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from postri.web.refusals import Refusal, wait

if TYPE_CHECKING:
    from postri.web.database import ServiceDatabase


class Rate(Protocol):
    """Requests per minute for each token."""

    def take(self, token: str) -> None:
        """One request; refused if there were too many. May wait for a database."""
        ...


class OwnRate:
    """A bucket for each token that holds a minute's worth and fills evenly: of one process."""

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
            raise _too_often(self._most, max(1, ceil((1 - left) * 60 / self._most)))
        self._buckets[token] = (left - 1, now)


class SharedRate:
    """The same buckets in the database, for all services on one ledger. Nobody comes in while the
    database is away.
    """

    def __init__(self, per_minute: int, database: ServiceDatabase) -> None:
        self._most = per_minute
        self._database = database

    def take(self, token: str) -> None:
        """One request; refused if the bucket is empty."""
        seconds = self._database.take(token, self._most)
        if seconds:
            raise _too_often(self._most, seconds)


def _too_often(most: int, seconds: int) -> Refusal:
    words = f"this token may send {most} requests a minute; wait {seconds} s"
    return wait("rate_limited", words, seconds)
