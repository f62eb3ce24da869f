"""Queues that are fair to everybody: whoever asks much makes themselves wait, and nobody else."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from postri.web.refusals import wait

BUSY = "too many questions wait for their turn; nothing was spent, ask again soon"
BUSY_WAIT = 1

Turn = asyncio.Future[None]


class FairQueue:
    """`places` for work. Who finds none free waits, in a line of their own; of all lines, the first
    of each is taken in turn.

    Up to `waiting` may wait, and up to `waiting_each` of one name; more are refused. Used by one
    event loop alone.
    """

    def __init__(self, places: int, waiting: int, waiting_each: int) -> None:
        self.places = places
        self._free = places
        self._most = waiting
        self._most_each = waiting_each
        # The lines of those who wait, in the order in which their turns come. None is empty.
        self._lines: OrderedDict[str, deque[Turn]] = OrderedDict()

    @property
    def taken(self) -> int:
        """How many have a place."""
        return self.places - self._free

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(map(len, self._lines.values()))

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """A place for the time of the block, as soon as it is this name's turn."""
        await self.enter(name)
        try:
            yield
        finally:
            self.leave()

    async def enter(self, name: str) -> None:
        """Take a place, which `leave` gives back."""
        if self._free:
            self._free -= 1
            return
        line = self._lines.get(name, deque())
        if self.waiting >= self._most or len(line) >= self._most_each:
            raise wait("busy", BUSY, BUSY_WAIT)
        turn: Turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        self._lines.setdefault(name, line)
        try:
            await turn
        except asyncio.CancelledError:
            self._give_up(name, turn)
            raise

    def leave(self) -> None:
        """Give a place back: to the next who waits, if anybody does."""
        if not self._lines:
            self._free += 1
            return
        name, line = self._lines.popitem(last=False)
        line.popleft().set_result(None)
        if line:
            # Everybody else comes first now.
            self._lines[name] = line

    def _give_up(self, name: str, turn: Turn) -> None:
        """Whoever waited has gone away, perhaps just when the turn came."""
        if turn.done() and not turn.cancelled():
            self.leave()
            return
        with suppress(KeyError, ValueError):
            self._lines[name].remove(turn)
            if not self._lines[name]:
                del self._lines[name]
