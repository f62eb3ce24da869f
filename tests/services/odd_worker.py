"""A worker whose queries are odd: `python odd_worker.py HOW PLACE SOCKET MEMORY`.

Before each query it does HOW, if the file PLACE is there; or until it is: see ODD.
"""

from __future__ import annotations

import mmap
import os
import re
import signal
import sys
import time
from pathlib import Path

import duckdb

from postri.engines.duckdb import source
from postri.engines.process import worker
from postri.errors import EngineError

HERE = Path(__file__)
# For a library that does not listen while it is busy with one row: its cost is text times pattern.
DEAF = "SELECT repeat('a', 10000000) LIKE '%' || repeat('_', 9000) || '~%'"


def odd_program(how: str, place: Path) -> tuple[str, ...]:
    """The program of such workers."""
    return (sys.executable, str(HERE), how, str(place))


def _say(place: Path) -> None:
    """Tell that the odd thing begins, in this process."""
    Path(f"{place}.waiting").touch()
    Path(f"{place}.waiting-{os.getpid()}").touch()


def wait(place: Path) -> None:
    """Wait until the file is there, and say that somebody waits."""
    _say(place)
    while not place.exists():
        time.sleep(0.01)


def deaf(place: Path) -> None:
    """Inside DuckDB, which does not hear that it is interrupted."""
    if place.exists():
        _say(place)
        duckdb.connect(":memory:").execute(DEAF).fetchall()


def locked(place: Path) -> None:
    """Inside a library that holds the interpreter's lock, so that no other thread runs."""
    if place.exists():
        _say(place)
        re.match("(a+)+$", "a" * 60 + "b")


def broken(place: Path) -> None:
    """An error of ours."""
    if place.exists():
        raise EngineError("DuckDB failed")


def strange(place: Path) -> None:
    """An error of somebody else's, which carries a cell."""
    if place.exists():
        raise KeyError(place.read_text())


def killed(place: Path) -> None:
    """As the system does when memory is short."""
    if place.exists():
        os.kill(os.getpid(), signal.SIGKILL)


def hungry(place: Path) -> None:
    """Sixteen gigabytes of memory, which DuckDB does not count."""
    if place.exists():
        cells = [mmap.mmap(-1, 1 << 28, mmap.MAP_PRIVATE) for _ in range(64)]
        assert len(cells) == 64


ODD = {each.__name__: each for each in (wait, deaf, locked, broken, strange, killed, hungry)}


def main() -> None:
    how, place, *words = sys.argv[1:]
    counted = source.run_query

    def oddly(*given):
        ODD[how](Path(place))
        return counted(*given)

    source.run_query = oddly
    worker.main(words)


if __name__ == "__main__":
    main()
