"""A process that counts for another one: `python -m postri.engines.process.worker SOCKET MEMORY`.

It opens the sources that it is told to, and does what an engine is asked, one call at a time. It
draws nothing and holds no coins: engines never see any. It ends with whoever started it.
"""

from __future__ import annotations

import pickle
import signal
import socket
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from select import select
from typing import Any

from postri import errors, system
from postri.engines.duckdb import csv, parquet
from postri.engines.duckdb.source import limit_memory
from postri.engines.engine import Engine
from postri.engines.resolve import policy_source_named
from postri.engines.staying import Staying
from postri.errors import PostriError
from postri.expressions import Value

# Loaded before the first question comes: who asks it does not wait for that.
PRELOADED = (csv, parquet)
GIGABYTE = 10**9
# What may be asked of an engine by its name.
CALLS = (
    "type_of",
    "windows",
    "check_indexed",
    "totals",
    "square_totals",
    "middle_totals",
    "counts_below",
    "usual_range",
    "most_parts",
    "counts_inside",
    "sizes",
    "key_sizes",
    "unit_counts",
    "matching",
)


@dataclass(frozen=True)
class StampedEngine:
    """An engine, and the stamp under which its source was opened."""

    engine: Engine
    stamp: Hashable


class Desk:
    """The engines of one question, by their numbers. Some stay open for the next one."""

    def __init__(self) -> None:
        self._engines: dict[int, Engine] = {}
        # What ends the snapshot of an engine, by its number.
        self._snapshots: dict[int, ExitStack] = {}
        # What of this question may stay, and what stayed of others. Engines close themselves.
        self._to_stay: list[tuple[bytes, StampedEngine]] = []
        self._staying: Staying[StampedEngine] = Staying(close=lambda _: None)

    def open(
        self, number: int, kind: str, *given: Any
    ) -> tuple[Sequence[str] | None, Sequence[str]]:
        """The engine of a source gets this number: the names of its columns, and its doubts."""
        source = policy_source_named(kind)
        key = pickle.dumps((kind, given))
        # Before it is opened: what is changed from here on has another stamp.
        stamp = source.stamp(*given)
        found = self._staying.take(key)
        if found is None or stamp is None or found.stamp != stamp:
            found = StampedEngine(source.open(*given), stamp)
        if stamp is not None:
            self._to_stay.append((key, found))
        self._engines[number] = found.engine
        return found.engine.names, found.engine.doubts

    def with_max_text(self, number: int, of: int, max_text: int) -> None:
        """The same table as that of another number, whose texts of more characters cannot be
        read.
        """
        self._engines[number] = self._engines[of].with_max_text(max_text)

    def computed(self, number: int, of: int, columns: Mapping[str, Value]) -> None:
        """The same table with more columns to ask about."""
        self._engines[number] = self._engines[of].computed(columns)

    def begin(self, number: int, of: int) -> None:
        """The same table, held still until `end`."""
        stack = ExitStack()
        self._engines[number] = stack.enter_context(self._engines[of].snapshot())
        self._snapshots[number] = stack

    def end(self, number: int) -> None:
        """Let the table go that `begin` held still, if it did."""
        if number in self._snapshots:
            self._snapshots.pop(number).close()

    def ask(self, number: int, call: str, *given: Any) -> Any:
        """What the engine says."""
        if call not in CALLS:
            raise ValueError(call)
        return getattr(self._engines[number], call)(*given)

    def clear(self) -> None:
        """The question is over: let go of all that does not stay open."""
        for stack in self._snapshots.values():
            stack.close()
        self._snapshots.clear()
        self._engines.clear()
        for key, engine in self._to_stay:
            self._staying.give(key, engine)
        self._to_stay.clear()

    def failed(self) -> None:
        """Something went wrong: nothing of this question stays."""
        self._to_stay.clear()

    def let_go(self) -> None:
        """Close what stayed open."""
        self._staying.let_go()

    @property
    def rest(self) -> float | None:
        """After how many seconds without a question something is to be closed; None if nothing
        stayed open.
        """
        return self._staying.rest

    def expire(self) -> None:
        """Close what stayed open for too long."""
        self._staying.expire()


def serve(connection: socket.socket, pipe: socket.SocketIO | Any) -> None:
    """Do what is asked, until nobody is there to ask."""
    desk = Desk()
    known: Mapping[str, Callable[..., Any]] = {
        "open": desk.open,
        "with_max_text": desk.with_max_text,
        "computed": desk.computed,
        "begin": desk.begin,
        "end": desk.end,
        "ask": desk.ask,
        "clear": desk.clear,
        "let_go": desk.let_go,
    }
    while True:
        # Each message is answered before the next one comes: nothing of it is read yet.
        while not select([connection], [], [], desk.rest)[0]:
            desk.expire()
        try:
            calls = pickle.load(pipe)
        except EOFError:
            return
        for call, given in calls:
            outcome = _outcome(known[call], given)
            if outcome[0] is not None:
                desk.failed()
                break
        pickle.dump(outcome, pipe, pickle.HIGHEST_PROTOCOL)
        pipe.flush()


def _outcome(work: Callable[..., Any], given: Sequence[Any]) -> tuple[str | None, Any]:
    """What the work returns, or the kind of its error and the words that may be told."""
    try:
        return None, work(*given)
    except PostriError as error:
        return type(error).__name__, str(error)
    except Exception as error:
        # Not one of ours: what it says may carry a cell.
        return errors.EngineError.__name__, f"counting failed with {type(error).__name__}"


def main(words: Sequence[str]) -> None:
    """Serve whoever is at the other end of a socket."""
    descriptor, memory = map(int, words)
    system.end_with_parent()
    # Whoever started it is told to end by these, and lets questions finish first.
    for told in (signal.SIGINT, signal.SIGTERM):
        signal.signal(told, signal.SIG_IGN)
    _limit(memory)
    with socket.socket(fileno=descriptor) as connection, connection.makefile("rwb") as pipe:
        serve(connection, pipe)


def _limit(memory: int) -> None:
    """Keep to `memory` bytes: DuckDB counts what it uses. Whatever it does not count meets the
    limit of the system, which leaves room for what allocators hold in reserve.
    """
    limit_memory(memory)
    system.limit_process(2 * memory + GIGABYTE)


if __name__ == "__main__":
    main(sys.argv[1:])
