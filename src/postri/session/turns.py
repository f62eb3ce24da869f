"""Turns: who asks a question while another thread is finding its answer waits, and then finds it
recorded.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from weakref import WeakValueDictionary


class Turn:
    """A lock that is forgotten when nobody holds or awaits it."""

    def __init__(self) -> None:
        self.lock = Lock()


_turns: WeakValueDictionary[Hashable, Turn] = WeakValueDictionary()
_choosing = Lock()


@contextmanager
def turn(question: Hashable) -> Iterator[None]:
    """One at a time for the same question; others do not wait for it."""
    # Without this lock two threads could each put a turn of their own in place.
    with _choosing:
        mine = _turns.setdefault(question, Turn())
    with mine.lock:
        yield
