"""Answering questions on threads: so many at once, in fair turns, none for longer than its time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, TypeVar

from postri.engines.progress import Cancel, cancelled_by
from postri.errors import PostriError
from postri.web.queues import FairQueue
from postri.web.refusals import Shutdown, Timeout

Value = TypeVar("Value")

# How long a question that was cancelled may take to end before its reply is sent without it and
# its place is given to another, in seconds. What runs in a worker ends at once, for that is killed;
# a server that cannot be reached may keep a thread waiting.
GRACE = 2.0
# Less than this is no time, and the loop looks no sooner again at a clock that stands still. In
# seconds.
MOMENT = 0.001
# How long a thread waits for the next question before it ends, in seconds.
IDLE = 60.0


class TimeLimit:
    """Calls `stop` in the loop when its seconds are over, unless it ends before.

    The loop looks when the time could be over at the earliest, and looks again if there was a pause
    meanwhile: so a pause, on whatever thread, need not wake it.
    """

    def __init__(self, seconds: float, stop: Callable[[], object]) -> None:
        # How much was left at a moment of the clock; at no moment while it stands still. One value,
        # for the loop may look while a thread changes it.
        self._left: tuple[float, float | None] = (seconds, monotonic())
        self._stop = stop
        self._next_look = later(seconds, self._look)

    def _rest(self) -> float:
        rest, since = self._left
        if since is not None:
            rest -= monotonic() - since
        return max(0.0, rest)

    def _look(self) -> None:
        rest = self._rest()
        is_paused = self._left[1] is None
        if is_paused or rest > MOMENT:
            self._next_look = later(max(rest, MOMENT), self._look)
        else:
            self._stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The time of this block does not count."""
        self._left = (self._rest(), None)
        try:
            yield
        finally:
            self._left = (self._left[0], monotonic())

    def end(self) -> None:
        """Call nothing any more."""
        self._next_look.cancel()


def later(seconds: float, work: Callable[[], object]) -> asyncio.TimerHandle:
    """Do something in the loop that runs here, after some seconds."""
    return asyncio.get_running_loop().call_later(seconds, work)


class WaitingThreads:
    """Threads that wait for more work when theirs is done: one that waits begins sooner than one
    that has to be started. There are as many as ever worked at once, and those that nobody needs
    end after a while.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = Lock()
        # Of each thread that waits, the one that has waited least last.
        self._waiting: list[SimpleQueue[Callable[[], object]]] = []

    def run(self, work: Callable[[], object]) -> None:
        """Do it on a thread on which nothing else is done meanwhile. It raises nothing."""
        with self._lock:
            inbox = self._waiting.pop() if self._waiting else None
        if inbox is not None:
            inbox.put(work)
            return
        # Handed over like all others: a thread holds its arguments until it ends.
        inbox = SimpleQueue()
        inbox.put(work)
        Thread(target=self._serve, args=(inbox,), name=self._name, daemon=True).start()

    def _serve(self, inbox: SimpleQueue[Callable[[], object]]) -> None:
        while self._does_one(inbox):
            pass

    def _does_one(self, inbox: SimpleQueue[Callable[[], object]]) -> bool:
        """Whether there was work to do before the thread had waited for too long."""
        try:
            work = inbox.get(timeout=IDLE)
        except Empty:
            with self._lock:
                if inbox in self._waiting:
                    self._waiting.remove(inbox)
                    return False
            # Somebody has taken it in this moment.
            work = inbox.get()
        work()
        with self._lock:
            self._waiting.append(inbox)
        return True


class PendingQuestion:
    """A question on its way: it waits for its turn, then a thread finds its outcome."""

    def __init__(self, timeout: float, threads: WaitingThreads) -> None:
        self.cancel = Cancel(timeout)
        self._threads = threads
        self._loop = asyncio.get_running_loop()
        self._outcome: asyncio.Future[Any] | None = None

    async def answered(self, work: Callable[[], Value], is_over: Callable[[], object]) -> Value:
        """What the work returns or raises, on a thread of its own. `is_over` is called when the
        thread ends, which may be later.
        """
        outcome: asyncio.Future[Value] = self._loop.create_future()
        self._outcome = outcome

        def settle(found: Any, error: BaseException | None) -> None:
            is_over()
            # Whoever waited may have been told already that it took too long.
            if outcome.done():
                return
            if error is None:
                outcome.set_result(found)
            else:
                outcome.set_exception(error)

        def run() -> None:
            found, error = None, None
            try:
                # It may have been cancelled while it waited.
                self.cancel.check()
                with cancelled_by(self.cancel):
                    found = work()
            except BaseException as raised:
                error = raised
            self._in_loop(partial(settle, found, error))

        self._threads.run(run)
        return await outcome

    def stop(self, kind: type[PostriError]) -> None:
        """Cancel it, from any thread; if it does not hear that, it is not waited for."""
        if self.cancel.now(kind()):
            self._in_loop(lambda: self._loop.call_later(GRACE, self._give_up, kind))

    def _give_up(self, kind: type[PostriError]) -> None:
        # One that is over waits for its point, and has its own error.
        if self._outcome is None or self._outcome.done() or self.cancel.is_over:
            return
        # On a thread, for the ledger may be written.
        Thread(target=self._abandon, args=(self._outcome, kind()), daemon=True).start()

    def _abandon(self, outcome: asyncio.Future[Any], cause: PostriError) -> None:
        error = self.cancel.abandoned(cause)

        def settle() -> None:
            if error is not None and not outcome.done():
                outcome.set_exception(error)

        self._in_loop(settle)

    def _in_loop(self, work: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # The loop has ended: nobody waits any more.
            self._loop.call_soon_threadsafe(work)


class Scans:
    """Threads that answer questions: `scans` at once, while up to `waiting` more wait, and up to
    `waiting_each` of each analyst; none is answered for longer than the timeout.
    """

    def __init__(self, scans: int, waiting: int, waiting_each: int, timeout: float) -> None:
        self._queue = FairQueue(scans, waiting, waiting_each)
        self._timeout = timeout
        self._threads = WaitingThreads("scan")
        self._questions: set[PendingQuestion] = set()
        # A loop forgets tasks that nobody else knows.
        self._tasks: set[asyncio.Task[Any]] = set()
        self.is_stopping = False

    @property
    def running(self) -> int:
        """How many questions are answered or wait, with those that do not hear that they are
        cancelled.
        """
        return len(self._questions)

    @property
    def queue(self) -> FairQueue:
        """Who has a place, and who waits for one."""
        return self._queue

    async def run(self, analyst: str, work: Callable[[], Value]) -> Value:
        """What the work returns.

        Refused, before anything is spent, if too many wait or the service ends. The work goes on if
        whoever waits for it goes away: what was paid for is recorded.
        """
        if self.is_stopping:
            raise Shutdown
        task = asyncio.create_task(self._answered(analyst, work))
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    async def _answered(self, analyst: str, work: Callable[[], Value]) -> Value:
        question = PendingQuestion(self._timeout, self._threads)
        is_over = partial(self._questions.discard, question)
        self._questions.add(question)
        try:
            await self._queue.enter(analyst)
        except BaseException:
            is_over()
            raise
        limit = TimeLimit(self._timeout, partial(question.stop, Timeout))
        question.cancel.untimed = limit.paused
        try:
            return await question.answered(work, is_over)
        finally:
            limit.end()
            self._queue.leave()

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        # Nobody may be there to hear of its error, which is no failure of the loop.
        if not task.cancelled():
            task.exception()

    def stop(self) -> None:
        """Take no more questions; those that are here go on."""
        self.is_stopping = True

    def cancel(self) -> None:
        """Cancel all that are still here, from any thread. What was paid for is accounted for."""
        for question in list(self._questions):
            question.stop(Shutdown)
