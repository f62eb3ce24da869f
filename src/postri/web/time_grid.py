"""When what became of a question may be seen: at points in time that say little of how long its
data took to read.

One rule, in three parts:

- The clock of a question starts when it is whole and its turn has come. No byte that is held back
  and no question before it moves its points.
- Between its reservation and its point nothing of it changes anything that anybody sees: its fate
  is written at the point, its place in the queue is kept until then, and the reply leaves then. An
  answer's point is the first one after it is there; a failure's is the same for all failures, that
  of a question which took as long as one may.
- Budgets, prices and histories are told from a view of the ledger that is taken at points of the
  service's own grid, and when a reply leaves.

So all that others see of a question is at which of its points it was over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from math import ceil, floor
from threading import Event, Lock
from time import monotonic, time
from typing import Protocol

from postri.errors import LedgerError
from postri.ledger import Ledger, View
from postri.session.release import Release

# How often a reply that waits looks whether the service ends, in seconds.
BEAT = 0.5


@dataclass(frozen=True)
class TimeGrid:
    """The points of questions, in seconds of the monotonic clock.

    `step` is the distance of two points of a question's grid; 0 is no grid. `longest` is how long a
    question may take until it is given up. With `period`, answers leave at fixed times instead: at
    multiples of the period on the wall clock, whatever the data took to read.
    """

    step: float
    longest: float = 0.0
    period: float = 0.0

    def refused(self, start: float, now: float) -> float:
        """Where what has read no data leaves: refusals, and answers that were recorded.

        >>> TimeGrid(0.5).refused(10.0, 10.2), TimeGrid(0.5).refused(10.0, 11.0)
        (10.5, 11.0)
        >>> TimeGrid(0).refused(10.0, 10.2)
        10.2
        """
        if self.period:
            return self._full_time(now)
        if not self.step:
            return now
        return start + ceil((now - start) / self.step) * self.step

    def answered(self, start: float, now: float) -> float:
        """Where an answer leaves that was found now.

        >>> TimeGrid(0.5).answered(10.0, 11.1)
        11.5
        """
        if self.period:
            return self.failed(start, now)
        return self.refused(start, now)

    def failed(self, start: float, now: float) -> float:
        """Where a failure leaves, however early it came.

        >>> TimeGrid(0.5, longest=60.2).failed(10.0, 10.1)
        70.5
        """
        if not self.step and not self.period:
            return now
        return self.refused(start, max(now, start + self.longest))

    def _full_time(self, moment: float) -> float:
        ahead = time() - monotonic()
        return ceil((moment + ahead) / self.period) * self.period - ahead


class Departure(Release):
    """The release of one question: made when the question is whole.

    Its thread waits in it, so the place of a question is free when its reply leaves, not before.
    `ending` is set when the service ends and nobody can wait for points any more.
    """

    def __init__(self, grid: TimeGrid, ending: Event) -> None:
        self._grid = grid
        self._ending = ending
        self._start = monotonic()
        self._is_paid = False
        self._is_released = False

    def begin(self) -> None:
        # Who waited for others would else lie at a place of its grid that others choose.
        self._start = monotonic()

    def paid(self) -> None:
        self._is_paid = True

    def answered(self) -> None:
        self._pause(self._grid.answered(self._start, monotonic()))

    def failed(self) -> None:
        self._pause(self._grid.failed(self._start, monotonic()))

    def _pause(self, point: float) -> None:
        while (rest := point - monotonic()) > 0:
            if self._ending.wait(rest):
                break
        self._is_released = True

    async def leave(self) -> None:
        """Wait until the reply may leave: what was released may, and the rest has its point."""
        if self._is_released:
            return
        now = monotonic()
        point = self._grid.refused(self._start, now)
        # It is paid for, and does not end although it was cancelled.
        if self._is_paid:
            point = self._grid.failed(self._start, now)
        while (rest := point - monotonic()) > 0 and not self._ending.is_set():
            await asyncio.sleep(min(rest, BEAT))


class Replies(Protocol):
    """How many replies have left all services on one ledger."""

    def add_reply(self) -> None:
        """One leaves now."""
        ...

    def replies(self) -> int:
        """A number that changes whenever one has left."""
        ...


class PublicView:
    """The ledger as the service tells it, changed at points of time alone.

    A question may be reserved at any moment; others see it at the next point, or when the reply to
    some question leaves. With `replies`, those of other services on the same ledger count too.
    """

    def __init__(self, ledger: Ledger, step: float, replies: Replies | None = None) -> None:
        self._ledger = ledger
        self._step = step
        self._replies = replies
        # How many had left when the view was taken.
        self._seen: int | None = None
        self._last: View | None = None
        self._lock = Lock()

    @property
    def has_grid(self) -> bool:
        """Whether there are points; without any the ledger is told as it is."""
        return self._step > 0

    def now(self) -> View:
        """The view of the last point; without a grid, that of this moment."""
        last = self._last
        if last is None or not self._step:
            return self.renew()
        if self._replies is not None and self._replies.replies() != self._seen:
            return self.renew()
        return last

    def renew(self) -> View:
        """Take the view anew, for all who look from here on."""
        # In turn, so that no view is followed by an older one.
        with self._lock:
            if self._replies is not None and self._step:
                self._seen = self._replies.replies()
            self._last = self._ledger.view(self._last)
            return self._last

    def catch_up(self) -> None:
        """Take the view anew at a point.

        A ledger that cannot be read now is told by whoever asks it; the view stays as it was.
        """
        # Without a grid everybody takes it for themselves.
        if self._step:
            with suppress(LedgerError):
                self.renew()

    def reply_leaves(self) -> None:
        """Take the view anew before a reply leaves: who has it finds its question, whichever
        service is asked.
        """
        if self._step and self._replies is not None:
            # The reply is paid for: that the others are late to hear of it does not hold it up.
            with suppress(LedgerError):
                self._replies.add_reply()
        self.catch_up()

    async def keep(self, do: Callable[[Callable[[], object]], Awaitable[object]]) -> None:
        """Take the view now and at every point, for ever. `do` does it where it holds up nobody.

        Points are multiples of the step on the wall clock, so those of several services coincide
        as their clocks do.
        """
        if not self._step:
            return
        while True:
            await do(self.catch_up)
            now = time()
            await asyncio.sleep((floor(now / self._step) + 1) * self._step - now)
