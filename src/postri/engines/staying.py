"""What stays open between questions, so that the next one need not open it: a bounded number, for a
bounded time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import RLock
from time import monotonic
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")

# How many stay open, and for how many seconds nobody may have needed one.
MOST = 8
IDLE = 60.0


@dataclass(frozen=True)
class Idle(Generic[Item]):
    """Something that waits for whoever needs it next."""

    key: Hashable
    item: Item
    since: float


class Staying(Generic[Item]):
    """Things that wait by their keys. What is taken is nobody else's until it is given back."""

    def __init__(
        self, close: Callable[[Item], object], *, most: int = MOST, idle: float = IDLE
    ) -> None:
        self._close = close
        self._most = most
        self._idle = idle
        # Held again by the same thread if garbage is collected meanwhile: a source that goes then
        # gives its connection back.
        self._lock = RLock()
        # The one that waits longest first.
        self._waiting: list[Idle[Item]] = []
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self, key: Hashable) -> Item | None:
        """The one of this key that was given back last; None if none waits."""
        with self._lock:
            found = next((each for each in reversed(self._waiting) if each.key == key), None)
            if found is None:
                return None
            self._waiting = [each for each in self._waiting if each is not found]
        return found.item

    def give(self, key: Hashable, item: Item) -> None:
        """Let it wait. Whatever waits longest is closed if there are too many."""
        with self._lock:
            self._waiting.append(Idle(key, item, monotonic()))
            most = 0 if self._is_closed else self._most
            too_many = len(self._waiting) - most
            over = [self._waiting.pop(0) for _ in range(too_many)]
        self._close_all(over)

    def let_go(self) -> None:
        """Close all that wait."""
        with self._lock:
            over = list(self._waiting)
            self._waiting.clear()
        self._close_all(over)

    def close(self) -> None:
        """Close all that wait, and all others when they are given back."""
        with self._lock:
            self._is_closed = True
        self.let_go()

    @property
    def rest(self) -> float | None:
        """In how many seconds there is something to close by `expire`; None if nothing waits."""
        with self._lock:
            if not self._waiting:
                return None
            return max(0.0, self._waiting[0].since + self._idle - monotonic())

    def expire(self) -> None:
        """Close what nobody has needed for too long. To be called now and then: a thread of its own
        might be closing something while the process ends.
        """
        with self._lock:
            oldest = monotonic() - self._idle
            over = [each for each in self._waiting if each.since <= oldest]
            self._waiting = [each for each in self._waiting if each.since > oldest]
        self._close_all(over)

    def _close_all(self, over: list[Idle[Item]]) -> None:
        for each in over:
            self._close(each.item)


_connections: ContextVar[Staying[Any] | None] = ContextVar("connections", default=None)


@contextmanager
def connections_stay(connections: Staying[Any] | None) -> Iterator[None]:
    """What is opened inside lets its connections to servers wait there when it needs them no
    more.
    """
    before = _connections.set(connections)
    try:
        yield
    finally:
        _connections.reset(before)


def staying_connections() -> Staying[Any] | None:
    """Where connections may wait; None where each is closed when it is not needed."""
    return _connections.get()
