"""The door before the gate: who may hold a connection, and how long a request may take to begin.

Nothing is known of a client until the headers of its request are whole, so half-sent headers must
cost next to nothing: they have a deadline, an address has a limit, and where a limit is reached,
the connection that has waited longest for a request makes room. One that is being answered never
does.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from postri import system

# How long the headers of a request may take: of the first one since the connection was made, of a
# later one since the last reply. In seconds.
FIRST_HEADERS = 10.0
NEXT_HEADERS = 30.0
# All connections together, and files that the service needs besides.
MOST = 10_000
OTHER_FILES = 256


class Door:
    """All connections of a service: at most `each` of one address, and at most `most` in all."""

    def __init__(self, each: int, most: int) -> None:
        self._each = each
        self._most = most
        self._held: Counter[str] = Counter()
        # Those that have no request now, in the order in which they began to wait.
        self._waiting: dict[GuardedConnection, None] = {}

    def enter(self, connection: GuardedConnection) -> bool:
        """Whether there is room, perhaps that of another connection."""
        address = connection.address
        if self._held[address] >= self._each and not self._make_room(address):
            return False
        if self._held.total() >= self._most and not self._make_room():
            return False
        self._held[address] += 1
        self._waiting[connection] = None
        return True

    def leave(self, connection: GuardedConnection) -> None:
        """Once for each that has entered."""
        self._held[connection.address] -= 1
        if not self._held[connection.address]:
            del self._held[connection.address]
        self._waiting.pop(connection, None)

    def waits(self, connection: GuardedConnection) -> None:
        """From now on it has no request."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = None

    def asks(self, connection: GuardedConnection) -> None:
        """From now on it has one."""
        self._waiting.pop(connection, None)

    def _make_room(self, address: str | None = None) -> bool:
        """End the longest wait, of this address or of all; False if nobody waits."""
        for waiting in self._waiting:
            if address is None or waiting.address == address:
                waiting.end()
                return True
        return False


class GuardedConnection(H11Protocol):
    """A connection with a deadline for the headers of each request."""

    def __init__(self, *given: Any, door: Door, **named: Any) -> None:
        super().__init__(*given, **named)
        self.address = ""
        self._door = door
        self._deadline: asyncio.TimerHandle | None = None
        self._is_inside = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if self.client is not None:
            self.address = self.client[0]
        self._is_inside = self._door.enter(self)
        if not self._is_inside:
            transport.abort()
            return
        self._expect(FIRST_HEADERS)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._has_no_request():
            self._answer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # The next request may be here already.
        if self._is_inside and self._has_no_request():
            self._door.waits(self)
            self._expect(NEXT_HEADERS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def end(self) -> None:
        """Close it at once, and make room for another."""
        self._leave()
        self.transport.abort()

    def _has_no_request(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def _expect(self, seconds: float) -> None:
        """A whole request head within `seconds`, however it trickles in."""
        self._forget_deadline()
        self._deadline = self.loop.call_later(seconds, self.end)

    def _answer(self) -> None:
        self._forget_deadline()
        self._door.asks(self)

    def _leave(self) -> None:
        self._forget_deadline()
        if self._is_inside:
            self._is_inside = False
            self._door.leave(self)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def guarded(each: int) -> Any:
    """What uvicorn makes connections with: at most `each` of one address."""
    return partial(GuardedConnection, door=Door(each, _room()))


def _room() -> int:
    """How many connections there may be in all: as the system allows files to a process."""
    return max(OTHER_FILES, system.open_files(MOST + OTHER_FILES) - OTHER_FILES)
