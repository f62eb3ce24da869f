"""Work on a thread of its own: wherever an interrupt comes, nothing goes on behind the user's
back.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

import pytest

from postri.engines.progress import interruptibly

# Seconds after which something that must happen is taken for never happening.
PATIENCE = 60


class Query:
    """Runs until it is stopped."""

    def __init__(self) -> None:
        self.running = Event()
        self.stopped = Event()
        self.ended = Event()

    def run(self) -> None:
        self.running.set()
        assert self.stopped.wait(PATIENCE)
        self.ended.set()


def test_work_that_ends_is_waited_for():
    done = Event()
    interruptibly(done.set, lambda: None)
    assert done.is_set()


def test_what_the_work_raises_is_lost():
    interruptibly(lambda: 1 // 0, lambda: None)


def test_an_interrupt_while_the_thread_is_on_its_way_stops_the_work():
    """The thread runs already, but who started it does not know yet."""
    query = Query()

    def started(work: Callable[[], None]) -> None:
        Thread(target=work, daemon=True).start()
        assert query.running.wait(PATIENCE)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interruptibly(query.run, query.stopped.set, started)
    assert query.ended.is_set()


def test_a_thread_that_comes_too_late_does_no_work():
    query = Query()
    late: list[Callable[[], None]] = []

    def started(work: Callable[[], None]) -> None:
        late.append(work)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interruptibly(query.run, query.stopped.set, started)
    (work,) = late
    work()
    assert not query.running.is_set()
