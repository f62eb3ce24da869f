"""Watching over a scan: how far it has come, and stopping it from another thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from threading import Event, Lock, Thread

Percent = Callable[[], float]
"""How far a scan has come, from 0 to 100; negative while nobody knows.

May be asked from another thread.
"""

Show = Callable[[Percent], AbstractContextManager[None]]

_show: ContextVar[Show | None] = ContextVar("show", default=None)


@contextmanager
def showing(show: Show) -> Iterator[None]:
    """Show the progress of the scans inside."""
    before = _show.set(show)
    try:
        yield
    finally:
        _show.reset(before)


def watched(percent: Percent) -> AbstractContextManager[None]:
    """A scan that tells its progress, to whoever shows it."""
    show = _show.get()
    if show is None:
        return nullcontext()
    return show(percent)


Stop = Callable[[], object]
"""Interrupts what a scan runs in its database.

May be called from another thread, more than once, and when there is nothing to stop.
"""

Abandon = Callable[[Exception], Exception | None]
"""What whoever asked is told in place of the error with which a question is given up; None if there
is an answer after all.
"""

# How many seconds lie between two attempts to stop a scan.
PACE = 0.1


class Cancel:
    """Cancels the scans of one question: `now` from any thread.

    Whoever watches over the question cancels it after `limit` seconds, if that is not None.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._error: Exception | None = None
        self._running: dict[Event, Stop] = {}
        self._lock = Lock()
        self.abandon: Abandon | None = None
        self.paying = Lock()
        self.is_over = False
        self.untimed: Callable[[], AbstractContextManager[None]] = nullcontext
        """Stops the clock of whoever limits the time of the question, for the time of a block."""

    def abandoned(self, error: Exception) -> Exception | None:
        """What to tell of a question that does not end although it was cancelled."""
        # One that is being paid for in this moment is waited for: then it is known whether it was.
        with self.paying:
            abandon = self.abandon
        if abandon is None:
            return error
        return abandon(error)

    def now(self, error: Exception) -> bool:
        """The scan that runs, and every later one, raises this error, if it is the first.

        Returns at once; False if it comes too late, for all scans are over.
        """
        with self._lock:
            if self.is_over:
                return False
            if self._error is not None:
                return True
            self._error = error
            running = list(self._running.items())
        for over, stop in running:
            Thread(target=_stop, args=(over, stop), daemon=True).start()
        return True

    def too_late(self) -> None:
        """All scans of the question are over: there is nothing to cancel any more."""
        with self._lock:
            self.is_over = True

    def check(self) -> None:
        """Raise the error if it is cancelled."""
        if self._error is not None:
            raise self._error from None

    @contextmanager
    def scan(self, stop: Stop) -> Iterator[None]:
        """A scan that `stop` interrupts.

        Whatever it raises or returns once it is cancelled, the error of `now` is raised.
        """
        over = Event()
        with self._lock:
            self.check()
            self._running[over] = stop
        try:
            yield
        except Exception:
            self.check()
            raise
        finally:
            over.set()
            with self._lock:
                del self._running[over]
        self.check()


def _stop(over: Event, stop: Stop) -> None:
    """More than once, because the query may not have begun."""
    while not over.is_set():
        with suppress(Exception):
            stop()
        over.wait(PACE)


def interruptibly(
    work: Callable[[], None],
    stop: Stop,
    started: Callable[[Callable[[], None]], object] | None = None,
) -> None:
    """Do the work on a thread of its own, and wait for it: a thread that is busy with a query hears
    no Ctrl-C.

    Wherever an interrupt comes, the work is stopped before it is raised. `started` starts the
    thread, if it must be one of a kind. What the work raises is lost.
    """
    # Not the thread's own `join`: after an interrupt Python may take a thread for dead that is not.
    done = Event()
    begun = Event()
    unwanted = Event()
    lock = Lock()

    def watched_work() -> None:
        with lock:
            if unwanted.is_set():
                return
            begun.set()
        with suppress(Exception):
            work()
        done.set()

    try:
        # Inside the block: an interrupt may come while the thread is on its way.
        if started is None:
            Thread(target=watched_work, daemon=True).start()
        else:
            started(watched_work)
        done.wait()
    except BaseException:
        with lock:
            unwanted.set()
        if begun.is_set():
            _stop(done, stop)
        raise


_cancel: ContextVar[Cancel | None] = ContextVar("cancel", default=None)


@contextmanager
def cancelled_by(cancel: Cancel) -> Iterator[None]:
    """The scans inside can be cancelled."""
    before = _cancel.set(cancel)
    try:
        yield
    finally:
        _cancel.reset(before)


def cancellable(stop: Stop) -> AbstractContextManager[None]:
    """A scan that can be cancelled, by whoever watches over the question."""
    cancel = _cancel.get()
    if cancel is None:
        return nullcontext()
    return cancel.scan(stop)


def check_cancelled() -> None:
    """Raise the error if the question was cancelled."""
    cancel = _cancel.get()
    if cancel is not None:
        cancel.check()


@contextmanager
def paying() -> Iterator[Callable[[Abandon], None]]:
    """While a question is paid for: raises the error if it was cancelled before.

    What is given to the function that comes out is told by whoever gives up the question from then
    on.
    """
    cancel = _cancel.get()
    if cancel is None:
        yield lambda abandon: None
        return
    with cancel.paying:
        cancel.check()
        yield partial(setattr, cancel, "abandon")


def time_limit() -> float | None:
    """How many seconds the question may take, for a server that can see to that by itself; None if
    it may take any time.
    """
    cancel = _cancel.get()
    if cancel is None:
        return None
    return cancel.limit


def waiting_for_others() -> AbstractContextManager[None]:
    """A wait for another question: no limit on the time of this one counts it."""
    cancel = _cancel.get()
    if cancel is None:
        return nullcontext()
    return cancel.untimed()


def scans_are_over() -> None:
    """The question has read all that it will read: whoever watches over it cancels nothing more."""
    cancel = _cancel.get()
    if cancel is not None:
        cancel.too_late()
