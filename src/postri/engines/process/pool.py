"""The processes that count for this one: each serves one question at a time, and is killed when the
question is cancelled.

They are started anew, never forked: nothing of this process goes on in them.
"""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from threading import Lock
from typing import Any

from postri import errors, system
from postri.engines.progress import cancellable
from postri.errors import EngineError, PostriError

# The name of what is to be done, and what it is given.
Call = tuple[str, Sequence[Any]]

# With -P, the folder in which it is started has no say in what is loaded.
PROGRAM = (sys.executable, "-P", "-m", "postri.engines.process.worker")
LEAST_MEMORY = 100 * 10**6
GONE = "the process that counted has ended before it was done"
# How long the system may take to end a process that it was told to kill, in seconds.
PATIENCE = 5.0
# What a worker may raise here; all else is a failure of the engine.
KINDS: dict[str, type[PostriError]] = {
    kind.__name__: kind
    for kind in (
        errors.PostriError,
        errors.InputError,
        errors.SourceError,
        errors.SourceChanged,
        errors.EngineError,
    )
}


def share_of_memory(workers: int) -> int:
    """What each of `workers` may use, in bytes, if all together leave a fifth of the machine's
    memory to others.
    """
    return max(LEAST_MEMORY, system.machine_memory() * 4 // 5 // workers)


class Worker:
    """A process that counts, and the connection to it."""

    def __init__(self, program: Sequence[str], memory: int) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs, ExitStack() as unless_started:
            unless_started.enter_context(self._socket)
            descriptor = theirs.fileno()
            words = [*program, str(descriptor), str(memory)]
            self._process = system.start_with(descriptor, words)
            unless_started.pop_all()
        self._pipe = self._socket.makefile("rwb")
        # What goes with the next call, and whether a reply is to come that nobody waited for.
        self._ahead: list[Call] = []
        self._is_owed = False
        self._numbers = count()
        self.edition = 0
        """Of which edition of the policy the sources are that stay open there."""

    @property
    def process_id(self) -> int:
        """The number that the system gave it."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def call(self, call: str, *given: Any) -> Any:
        """What the worker says; it is killed if the question is cancelled meanwhile."""
        with cancellable(self.kill):
            return self.tell(call, *given)

    def tell(self, call: str, *given: Any) -> Any:
        """The same for what takes no time, whether the question is cancelled or not."""
        self._send((call, given))
        return self._outcome()

    def post(self, call: str, *given: Any) -> None:
        """The same without waiting for it: nobody hears whether it failed."""
        self._send((call, given))
        self._is_owed = True

    def before(self, call: str, *given: Any) -> None:
        """Let it be done before the next call, in one turn with it: if it fails, so does that."""
        self._ahead.append((call, given))

    def next_number(self) -> int:
        """A number that no engine has there."""
        return next(self._numbers)

    def forget(self) -> None:
        """Let nothing be done before the next call."""
        self._ahead.clear()

    def _send(self, call: Call) -> None:
        if self._is_owed:
            self._is_owed = False
            # Whoever is gone is found out when it is asked.
            with suppress(PostriError):
                self._outcome()
        calls = [*self._ahead, call]
        self.forget()
        with self._unless_gone():
            self._pipe.write(pickle.dumps(calls, pickle.HIGHEST_PROTOCOL))
            self._pipe.flush()

    def _outcome(self) -> Any:
        with self._unless_gone():
            kind, found = pickle.load(self._pipe)
        if kind is not None:
            raise KINDS.get(kind, EngineError)(found)
        return found

    @contextmanager
    def _unless_gone(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            # Whatever it was, the next call would be taken for the rest of this one.
            self.kill()
            raise EngineError(GONE) from None

    def kill(self) -> None:
        """End the process at once. May be called from any thread, and more than once."""
        self._process.kill()
        # Who waits for a reply waits no longer, even if the system cannot end the process yet.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Kill it, and let go of what belongs to it."""
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        for end in (self._pipe, self._socket, self._process.stdin):
            with suppress(OSError):
                end.close()  # type: ignore[union-attr]  # standard input is a pipe


class Workers:
    """Workers that are kept for the next question. `memory` is what each may use, in bytes."""

    def __init__(self, memory: int, program: Sequence[str] = PROGRAM) -> None:
        self._memory = memory
        self._program = program
        self._lock = Lock()
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._edition = 0
        self._is_closed = False

    @property
    def alive(self) -> list[Worker]:
        """Those that run, with or without a question."""
        with self._lock:
            return [worker for worker in (*self._idle, *self._busy) if worker.is_alive]

    def warm(self, number: int) -> None:
        """Start workers until there are `number`. Returns before they are ready."""
        with self._lock:
            while len(self._idle) + len(self._busy) < number and not self._is_closed:
                self._idle.append(self._started())

    def take(self) -> Worker:
        """A worker for one question."""
        with self._lock:
            if self._is_closed:
                raise EngineError(GONE)
            worker = self._living() or self._started()
            self._busy.add(worker)
        return worker

    def give_back(self, worker: Worker) -> None:
        """The question is over. In place of a worker that was killed, another one is started."""
        kept: Worker | None = None
        with suppress(EngineError):
            worker.forget()
            worker.tell("clear")
            if worker.edition != self._edition:
                worker.edition = self._edition
                worker.tell("let_go")
            kept = worker
        if kept is None:
            worker.close()
            # If none can be started now, the next question tries it again.
            with suppress(EngineError):
                kept = self._started()
        with self._lock:
            self._busy.discard(worker)
            if kept is not None and not self._is_closed:
                self._idle.append(kept)
                return
        if kept is not None:
            kept.close()

    def let_go(self) -> None:
        """Close the sources that stayed open, and those that are in use at the end of their
        questions.
        """
        with self._lock:
            self._edition += 1
            idle = list(self._idle)
            self._idle.clear()
            self._busy.update(idle)
        for worker in idle:
            self.give_back(worker)

    def close(self) -> None:
        """Kill all."""
        with self._lock:
            self._is_closed = True
            # Whoever has one gives it back when its calls fail.
            for worker in self._busy:
                worker.kill()
            idle = list(self._idle)
            self._idle.clear()
        for worker in idle:
            worker.close()

    def _living(self) -> Worker | None:
        """One that waits, the last first; those that have died meanwhile are let go."""
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            worker.close()
        return None

    def _started(self) -> Worker:
        try:
            return Worker(self._program, self._memory)
        except OSError:
            raise EngineError("no process could be started to count") from None
