"""A bar for scans that take a while: on a terminal, on stderr, gone when the scan is done."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postri.engines.progress import Percent

PATIENCE, PACE = 1.0, 0.1


def shown_progress() -> AbstractContextManager[None]:
    """Show the progress of the scans inside, if somebody looks on."""
    from postri.engines.progress import showing

    return showing(_bar) if sys.stderr.isatty() else nullcontext()


@contextmanager
def _bar(percent: Percent) -> Iterator[None]:
    done = Event()
    watcher = Thread(target=_draw, args=(percent, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _draw(percent: Percent, done: Event) -> None:
    """Wait a moment, for most scans are short; then draw until the scan is done."""
    if done.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("counting"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        while not done.wait(PACE):
            here = percent()
            progress.update(task, total=100 if here >= 0 else None, completed=max(here, 0))
