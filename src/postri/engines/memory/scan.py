"""One pass over cells in memory by every core: NumPy lets go of Python's lock while it works.

Each thread counts into a tally of its own, and what the tallies hold together does not depend on
who counted which cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from threading import Event, Lock, Thread
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from postri import system
from postri.engines.memory.chunk import STRETCH, Chunk
from postri.engines.progress import cancellable, watched

# Fewer cells than this are counted before a second thread is on its feet.
MANY_CELLS = 1 << 22
# Memory is no faster for more threads.
MOST_THREADS = 8
# Several threads wait for Python's lock after each step of each stretch: the fewer stretches, the
# less they wait. Twice as many cells would be as good for windows, but no longer for sums, which
# look at all of them twice.
SHARED_STRETCH = 1 << 19


class Tally(Protocol):
    """Counts cells."""

    def add(self, cells: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        """Count a stretch of cells, or those of them that are valid."""


class CountedColumn(NamedTuple):
    """A column that a pass counts, and what makes the tallies that count it."""

    chunks: Sequence[Chunk]
    tally: Callable[[], Tally]


def scan(*columns: CountedColumn) -> None:
    """Add every cell of each column to one of some new tallies, as many as there are threads."""
    rows = sum(len(chunk.values) for column in columns for chunk in column.chunks)
    threads = 1
    length = STRETCH
    if rows >= MANY_CELLS:
        threads = min(system.cores(), MOST_THREADS)
        length = SHARED_STRETCH
    tallies = [[column.tally() for column in columns] for _ in range(threads)]
    _Scan(_stretches(columns, length), tallies).run()


class _Stretch(NamedTuple):
    """Cells of a column that are looked at in one go."""

    column: int
    chunk: Chunk
    start: int
    end: int


def _stretches(columns: Sequence[CountedColumn], length: int) -> list[_Stretch]:
    """The stretches of all columns, in turns: while one thread waits for memory, another may have
    more to do with what the cache holds.
    """
    of_columns = [
        [
            _Stretch(number, chunk, start, start + length)
            for chunk in column.chunks
            for start in range(0, len(chunk.values), length)
        ]
        for number, column in enumerate(columns)
    ]
    if len(of_columns) == 1:
        return of_columns[0]
    turns = zip_longest(*of_columns)
    return [stretch for turn in turns for stretch in turn if stretch is not None]


class _Scan:
    """Stretches that are shared out to threads, of which the one that asks is the first."""

    def __init__(self, stretches: Sequence[_Stretch], tallies: Sequence[Sequence[Tally]]) -> None:
        self._stretches = stretches
        self._tallies = tallies
        self._taken = 0
        self._lock = Lock()
        self._stopped = Event()
        self._errors: list[Exception] = []

    def run(self) -> None:
        """Count all stretches. An interrupt is raised at once, and leaves no thread behind."""
        with watched(self._percent), cancellable(self._stopped.set):
            helpers: list[Thread] = []
            try:
                for tallies in self._tallies[1:]:
                    helper = Thread(target=self._help, args=(tallies,), daemon=True)
                    helpers.append(helper)
                    helper.start()
                self._work(self._tallies[0])
            except BaseException:
                self._stopped.set()
                raise
            finally:
                for helper in helpers:
                    # An interrupt may have come before it began.
                    if helper.ident is not None:
                        helper.join()
        if self._errors:
            raise self._errors[0]

    def _help(self, tallies: Sequence[Tally]) -> None:
        try:
            self._work(tallies)
        except Exception as error:
            self._errors.append(error)
            self._stopped.set()

    def _work(self, tallies: Sequence[Tally]) -> None:
        while not self._stopped.is_set():
            with self._lock:
                place = self._taken
                self._taken += 1
            if place >= len(self._stretches):
                return
            column, chunk, start, end = self._stretches[place]
            tallies[column].add(*chunk.part(start, end))

    def _percent(self) -> float:
        return min(100 * self._taken / max(len(self._stretches), 1), 100.0)
