"""Turns: who asks a question while another thread is finding its answer waits, and then finds it
recorded. Where the ledger lies in a database, so does who asks another process.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from weakref import WeakValueDictionary

from postri.engines.progress import waiting_for_others
from postri.ledger import Ledger


class Turn:
    """A lock that is forgotten when nobody holds or awaits it."""

    def __init__(self) -> None:
        self.lock = Lock()


_turns: WeakValueDictionary[Hashable, Turn] = WeakValueDictionary()
_choosing = Lock()


@contextmanager
def turn(ledger: Ledger, *words: str) -> Iterator[None]:
    """One at a time for the same question on a ledger; others do not wait for it."""
    # Without this lock two threads could each put a turn of their own in place.
    with _choosing:
        mine = _turns.setdefault((id(ledger), words), Turn())
    with ExitStack() as held:
        with waiting_for_others():
            # Threads first, so that of one process one at most asks the ledger again and again.
            held.enter_context(mine.lock)
            held.enter_context(ledger.turn(*words))
        yield
