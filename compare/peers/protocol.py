"""What a peer's program and the runner say to each other: a task a line, an answer a line, as JSON.

A program is run by the Python of its own environment. It may import the standard library, NumPy,
this file and its own library, and nothing else of the project.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

ADD_OR_REMOVE = "add-or-remove"
REPLACE = "replace"

# Tables that no library is made for; 40 rows where nothing else is said.
ODD: dict[str, list[Any]] = {
    "ties": [3.0] * 20 + [5.0] * 20,
    "constant": [5.0] * 40,
    "empty": [],
    "one row": [5.0],
    "NaN": [5.0] * 39 + [nan],
    "infinities": [5.0] * 38 + [inf, -inf],
    "nulls": [5.0] * 39 + [None],
    "text": ["5"] * 39 + ["five"],
}

Drawn = tuple[float, float | None, float | None]
Draw = Callable[[], Sequence[Drawn]]


class Unsupported(Exception):  # noqa: N818  it is an answer, not an error
    """The library does not offer this; the words say what it lacks."""


@dataclass(frozen=True)
class Task:
    """What is asked: a statistic of one column, so many times."""

    way: str
    statistic: str
    epsilon: float
    lower: int
    upper: int
    runs: int
    # It ends after so many seconds with the runs that it has. Fewer than `enough` tell nothing:
    # then it goes on, if what is missing fits into `longest` seconds.
    seconds: float
    enough: int = 1
    longest: float = 0.0
    confidence: float = 0.95
    neighbours: str = ADD_OR_REMOVE
    ps: tuple[float, ...] = ()
    table: str | None = None
    odd: str | None = None
    # Whether each draw begins with the bare cells and is timed beside NumPy's median.
    timed: bool = False
    # Further words for one statistic: a file of Parquet, the keys of groups.
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, line: str) -> Task:
        given = json.loads(line)
        return cls(**{**given, "ps": tuple(given.get("ps", ()))})

    def cells(self) -> Any:
        """The column: an array of whole numbers, or an odd table as a list of Python objects."""
        if self.odd is not None:
            return ODD[self.odd]
        if self.table is None:
            return np.zeros(0, np.int64)
        return np.load(self.table)


@dataclass(frozen=True)
class Prepared:
    """How one answer is drawn, and which neighbouring tables its epsilon is about."""

    draw: Draw
    neighbours: str
    # What is public besides the bounds: the number of rows, for one.
    assumes: str = ""
    # Where one question of the library holds many independent runs: all of them.
    draw_many: Callable[[], list[Sequence[Drawn]]] | None = None

    def runs(self) -> list[list[Drawn]]:
        """The runs that are drawn in one go."""
        if self.draw_many is not None:
            return [list(run) for run in self.draw_many()]
        return [list(self.draw())]


Prepare = Callable[[Task, Any], Prepared]


def serve(version: str, prepare: Prepare) -> None:
    """Answer every line of standard input, in order.

    What a library prints of itself goes to standard error: standard output holds answers alone.
    """
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        answer = {"version": version, **_answer(Task.from_json(line), prepare)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def resident_mb(name: str) -> float:
    """Memory of this process: VmRSS is what it holds now, VmHWM the most that it held."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def _answer(task: Task, prepare: Prepare) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            cells = task.cells()
            base = resident_mb("VmRSS")
            prepared = prepare(task, cells)
            drawn, seconds, plain = _draws(task, prepared, cells)
        except Unsupported as why:
            return {"unsupported": str(why)}
        except Exception as error:  # whatever a library raises is its answer
            return {"error": f"{type(error).__name__}: {error}"[:300]}
    return {
        "neighbours": prepared.neighbours,
        "assumes": prepared.assumes,
        "values": [[_number(each[0]) for each in run] for run in drawn],
        "lows": [[_number(each[1]) for each in run] for run in drawn],
        "highs": [[_number(each[2]) for each in run] for run in drawn],
        "seconds": seconds,
        "plain_seconds": plain,
        "peak_mb": resident_mb("VmHWM"),
        "base_mb": base,
        "warned": sorted({f"{one.category.__name__}: {one.message}"[:200] for one in said}),
    }


def _draws(
    task: Task, prepared: Prepared, cells: Any
) -> tuple[list[list[Drawn]], list[float], list[float]]:
    """Draw until the runs or the seconds are used up, and at least once.

    A timed task draws at least twice, since the first loads what the library needs. It has NumPy's
    median of the same cells in turns, so that a slow moment of the machine hits both.
    """
    drawn: list[list[Drawn]] = []
    seconds: list[float] = []
    plain: list[float] = []
    least = 1
    if task.timed:
        least = 2
    begun = perf_counter()
    while len(drawn) < max(least, task.runs):
        if len(drawn) >= least and _is_over(task, perf_counter() - begun, seconds):
            break
        start = perf_counter()
        runs = prepared.runs()
        took = perf_counter() - start
        drawn += runs
        seconds += [took / len(runs)] * len(runs)
        if task.timed:
            start = perf_counter()
            np.median(cells)
            plain.append(perf_counter() - start)
    return drawn, seconds, plain


def _is_over(task: Task, spent: float, seconds: Sequence[float]) -> bool:
    """Whether a cell ends with the runs that it has, by the time that the last of them took."""
    if spent < task.seconds:
        return False
    missing = task.enough - len(seconds)
    if missing <= 0:
        return True
    return spent + missing * seconds[-1] > task.longest


def _number(value: Any) -> float | str | None:
    """A number as JSON knows it; what is none as its text."""
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    if np.isfinite(number):
        return number
    return str(number)


def value_only(value: Any) -> list[Drawn]:
    """One answer without an interval."""
    return [(value, None, None)]
