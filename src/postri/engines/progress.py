"""The progress of long scans, where an engine tells it, for those who want to show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

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
    return nullcontext() if show is None else show(percent)
