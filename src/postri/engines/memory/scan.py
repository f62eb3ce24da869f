"""One pass over cells in memory by every core: NumPy lets go of Python's lock while it works.

Each thread counts into a tally of its own, and what the tallies hold together does not depend on
who counted which cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from postri import system
from postri.engines.memory.chunk import Chunk
from postri.engines.progress import cancellable, watched

# Fewer cells than this are counted before a second thread is on its feet.
MANY_CELLS = 1 << 22
# Memory is no faster for more threads.
MOST_THREADS = 8


class Tally(Protocol):
    """Counts cells."""

    def add(self, cells: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        """Count a stretch of cells, or those of them that are valid."""


def scan(chunks: Sequence[Chunk], tally: Callable[[], Tally]) -> None:
    """Add every cell to one of some new tallies, as many as there are threads."""
    rows = sum(len(chunk.values) for chunk in chunks)
    threads = 1
    if rows >= MANY_CELLS:
        threads = min(system.cores(), MOST_THREADS)
    pieces = [piece for chunk in chunks for piece in chunk.pieces()]
    _Scan(pieces, [tally() for _ in range(threads)]).run()


class _Scan:
    """Pieces that are shared out to threads, of which the one that asks is the first."""

    def __init__(self, pieces: Sequence[Chunk], tallies: Sequence[Tally]) -> None:
        self._pieces = pieces
        self._tallies = tallies
        self._taken = 0
        self._lock = Lock()
        self._stopped = Event()
        self._errors: list[Exception] = []

    def run(self) -> None:
        """Count all pieces. An interrupt is raised at once, and leaves no thread behind."""
        with watched(self._percent), cancellable(self._stopped.set):
            helpers: list[Thread] = []
            try:
                for tally in self._tallies[1:]:
                    helper = Thread(target=self._help, args=(tally,), daemon=True)
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

    def _help(self, tally: Tally) -> None:
        try:
            self._work(tally)
        except Exception as error:
            self._errors.append(error)
            self._stopped.set()

    def _work(self, tally: Tally) -> None:
        while not self._stopped.is_set():
            with self._lock:
                place = self._taken
                self._taken += 1
            if place >= len(self._pieces):
                return
            piece = self._pieces[place]
            tally.add(piece.values, piece.valid)

    def _percent(self) -> float:
        return min(100 * self._taken / max(len(self._pieces), 1), 100.0)
