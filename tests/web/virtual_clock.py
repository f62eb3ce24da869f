"""A clock that stands still until a test moves it: what waits for a moment in the service waits for
this one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace

from postri.web import service as web_service
from postri.web import time_grid
from postri.web.time_grid import PublicView


class VirtualClock:
    """Its own seconds. Whoever waits is known, so that a test can tell when all others wait."""

    def __init__(self) -> None:
        self._now = 1_000.0
        self._moved = threading.Condition()
        self._waiting: dict[object, float] = {}
        self._is_over = False

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        with self._moved:
            self._now += seconds
            self._moved.notify_all()

    def end(self) -> None:
        """Nobody waits any more."""
        with self._moved:
            self._is_over = True
            self._moved.notify_all()

    def wait_until(self, moment: float) -> None:
        me = object()
        with self._moved:
            self._waiting[me] = moment
            self._moved.wait_for(lambda: self._now >= moment or self._is_over)
            del self._waiting[me]

    async def sleep(self, seconds: float) -> None:
        me = object()
        moment = self._now + seconds
        self._waiting[me] = moment
        while self._now < moment and not self._is_over:
            await asyncio.sleep(0.001)
        del self._waiting[me]

    def reach(self, reply, step: float) -> float:
        """Move in steps, whenever all wait, until a reply that was asked for is there: when."""
        while True:
            until(lambda: reply.is_there or self.is_awaited(), "the service's rest")
            if reply.is_there:
                return self._now
            self.advance(step)

    def is_awaited(self) -> bool:
        """Whether somebody waits, and nobody whose moment has come."""
        with self._moved:
            moments = list(self._waiting.values())
        return bool(moments) and min(moments) > self._now


class VirtualEvent:
    """An event that is waited for on such a clock."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._is_set = False

    def set(self) -> None:
        self._is_set = True
        self._clock.end()

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout: float) -> bool:
        self._clock.wait_until(self._clock.now() + timeout)
        return self._is_set


def on_virtual_time(monkeypatch) -> VirtualClock:
    """The services that are made from here on have this clock. Their view of the ledger is taken
    anew by the test.
    """
    clock = VirtualClock()

    async def keep(view, do):
        """The test does it."""

    monkeypatch.setattr(time_grid, "monotonic", clock.now)
    monkeypatch.setattr(time_grid, "asyncio", SimpleNamespace(sleep=clock.sleep))
    monkeypatch.setattr(web_service, "Event", lambda: VirtualEvent(clock))
    monkeypatch.setattr(PublicView, "keep", keep)
    return clock


def until(condition, what: str) -> None:
    """Wait for something that another thread does, without a long nap."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.0005)
