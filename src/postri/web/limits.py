"""How much one may ask of the service: requests per minute, and questions at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from math import ceil
from threading import Timer
from time import monotonic
from typing import TypeVar

from postri.engines.progress import Cancel, cancelled_by
from postri.web.refusals import Shutdown, Timeout, wait

Value = TypeVar("Value")

# How long a scan that was cancelled may take to end before the reply is sent without it, in
# seconds.
GRACE = 10.0
BUSY_WAIT = 1


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


class TimeLimit:
    """Calls `stop` from a thread of its own when its seconds are over, unless it ends before."""

    def __init__(self, seconds: float, stop: Callable[[], None]) -> None:
        self._rest = seconds
        self._stop = stop
        self._start()

    def _start(self) -> None:
        self._since = monotonic()
        self._timer = Timer(self._rest, self._stop)
        self._timer.daemon = True
        self._timer.start()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The time of this block does not count."""
        self.end()
        self._rest = max(0.0, self._rest - (monotonic() - self._since))
        try:
            yield
        finally:
            self._start()

    def end(self) -> None:
        """Call nothing any more."""
        self._timer.cancel()


class Scans:
    """Threads that answer questions: `scans` at once, while up to `waiting` more wait, none for
    longer than the timeout.
    """

    def __init__(self, scans: int, waiting: int, timeout: float) -> None:
        self._most = scans + waiting
        self._timeout = timeout
        self._threads = ThreadPoolExecutor(scans, "scan")
        self._cancels: set[Cancel] = set()
        self.is_stopping = False

    @property
    def running(self) -> int:
        """How many questions are answered or wait."""
        return len(self._cancels)

    async def run(self, work: Callable[[], Value]) -> Value:
        """What the work returns.

        Refused, before anything is spent, if too many wait or the service ends.

        The work goes on if whoever waits for it goes away: what was paid for is recorded.
        """
        if self.is_stopping:
            raise Shutdown
        if self.running >= self._most:
            raise wait(
                "busy",
                "too many questions wait for their turn; nothing was spent, ask again soon",
                BUSY_WAIT,
            )
        loop = asyncio.get_running_loop()
        cancel = Cancel()
        outcome: asyncio.Future[Value] = loop.create_future()
        self._cancels.add(cancel)

        def is_late() -> None:
            with suppress(RuntimeError):  # The loop has ended: nobody waits any more.
                loop.call_soon_threadsafe(loop.call_later, GRACE, give_up)

        def give_up() -> None:
            # One that is over waits for its point, and has its own error.
            if not cancel.is_over:
                _settle(outcome, None, _too_late())

        def done(future: asyncio.Future[Value]) -> None:
            self._cancels.discard(cancel)
            _settle(outcome, future, future.exception())

        future = loop.run_in_executor(self._threads, self._watched, work, cancel, is_late)
        future.add_done_callback(done)
        return await outcome

    def _watched(
        self, work: Callable[[], Value], cancel: Cancel, is_late: Callable[[], object]
    ) -> Value:
        cancel.check()

        def stop() -> None:
            if cancel.now(Timeout()):
                is_late()

        limit = TimeLimit(self._timeout, stop)
        cancel.untimed = limit.paused
        try:
            with cancelled_by(cancel):
                return work()
        finally:
            limit.end()

    def stop(self) -> None:
        """Take no more questions; those that are here go on."""
        self.is_stopping = True

    def cancel(self) -> None:
        """Cancel all that are still here. What was paid for is accounted for."""
        for cancel in list(self._cancels):
            cancel.now(Shutdown())


def _settle(
    outcome: asyncio.Future[Value],
    future: asyncio.Future[Value] | None,
    error: BaseException | None,
) -> None:
    # Whoever waited may have been told already that it took too long.
    if outcome.done():
        return
    if error is not None:
        outcome.set_exception(error)
    elif future is not None:
        outcome.set_result(future.result())


def _too_late() -> Timeout:
    """For a question that does not end although it was cancelled: it counts as paid for."""
    error = Timeout()
    error.spent = True
    return error
