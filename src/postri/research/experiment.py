"""Many draws of many methods on many subjects, on every core.

What comes out is computed from raw data and is not private.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from postri.exact import plain
from postri.mechanisms.coins import SeededCoins
from postri.methods import Method, PostRI, Sun2023, method_named
from postri.methods.method import QuantileTerms, Span
from postri.privacy import ReplaceRows, split_spend
from postri.research.subjects import Subject, bootstrap

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

EVEN = Fraction(1, 2)
# How many cells a worker takes at once.
CHUNK = 8

COMPARED = (
    "postri-default",
    "postri-optimal",
    "postri-7:3",
    "postri-9:1",
    "postri-svt",
    "sun2023",
    "sun2023-4",
    "sun2023-9",
    "sun2023-svt",
    "depth",
    "depth-gumbel",
)
"""The methods of the report, in its order."""

AS_RELEASED: dict[str, Method] = {
    "postri-default": PostRI(as_released=True),
    "postri-optimal": PostRI("optimal", as_released=True),
    "postri-7:3": PostRI("0.7", as_released=True),
    "postri-9:1": PostRI("median-focused", as_released=True),
    "sun2023": Sun2023(as_released=True),
}
"""The methods of the published results, with the slips of the code that made them."""


def method_of(name: str) -> Method:
    """The method that a cell names: one that is offered to all, or one as it was released."""
    for method in AS_RELEASED.values():
        if method.name == name:
            return method
    return method_named(name)


@dataclass(frozen=True)
class Cell:
    """Draws of one method on one subject, `runs` of them, or on its resample of this number."""

    subject: str
    method: str
    epsilon: Fraction
    runs: int
    beta: Fraction = Fraction(1, 100)
    resample: int = 0

    @property
    def terms(self) -> QuantileTerms:
        """What is asked, as in the paper: the median, split evenly, against one replaced row."""
        return QuantileTerms(EVEN, split_spend(self.epsilon, EVEN), self.beta, ReplaceRows(1))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the draws of a cell gave, one entry a draw; lengths are in units of the column."""

    cell: Cell
    rows: int
    true_median: float
    values: Floats
    lows: Floats
    highs: Floats
    half_width_rows: Floats
    covered: Flags
    at_edge: Flags
    milliseconds: Floats

    @cached_property
    def errors(self) -> Floats:
        """How far the values lie from the true median."""
        errors: Floats = np.abs(self.values - self.true_median)
        return errors

    @cached_property
    def half_widths(self) -> Floats:
        """(high - low)/2: what the paper's table calls width."""
        halves: Floats = (self.highs - self.lows) / 2
        return halves


def run_cell(cell: Cell, subject: Subject) -> Outcome:
    """Draw.

    A cell has coins of its own: it gives the same draws wherever and whenever it is run.
    """
    method = method_of(cell.method)
    terms = [cell.terms]
    coins = seeded_coins(cell)
    # Counted once: the times below are those of drawing. (A tree counts as it draws.)
    counted = method.count(subject, terms, subject.grid)
    spans: list[Span] = []
    times: list[float] = []
    for _ in range(cell.runs):
        start = perf_counter()
        ((span,),) = method.draw_groups(counted, terms, subject.grid, coins)
        spans.append(span)
        times.append(1e3 * (perf_counter() - start))
    return _outcome(cell, subject, spans, times)


def _outcome(
    cell: Cell, subject: Subject, spans: Sequence[Span], times: Sequence[float]
) -> Outcome:
    grid = subject.grid
    median = subject.median
    return Outcome(
        cell=cell,
        rows=subject.rows,
        true_median=subject.point(median),
        values=np.array([subject.point(span.value) for span in spans], dtype=np.float64),
        lows=np.array([subject.point(span.low) for span in spans], dtype=np.float64),
        highs=np.array([subject.point(span.high) for span in spans], dtype=np.float64),
        half_width_rows=np.array([subject.rows_between(span.low, span.high) / 2 for span in spans]),
        covered=np.array([span.low <= median <= span.high for span in spans]),
        at_edge=np.array([span.low == grid.first or span.high == grid.last for span in spans]),
        milliseconds=np.array(times),
    )


def seeded_coins(*names: object) -> SeededCoins:
    """Coins of their own for whatever has these names."""
    return SeededCoins(int.from_bytes(sha256(repr(names).encode()).digest()[:8], "big"))


def run_all(
    cells: Sequence[Cell], subjects: Mapping[str, Subject], workers: int | None = None
) -> Iterator[Outcome]:
    """The outcomes in the order of the cells, as they come, from every core."""
    # Fresh interpreters: a fork would copy the threads of a progress bar.
    pool = ProcessPoolExecutor(
        workers or os.cpu_count(),
        get_context("spawn"),
        initializer=_remember,
        initargs=(dict(subjects),),
    )
    chunk = max(1, min(CHUNK, len(cells) // 16))
    with pool:
        yield from pool.map(_run, cells, chunksize=chunk)


# What a worker process works on; sent once, when it starts.
_subjects: dict[str, Subject] = {}


def _remember(subjects: dict[str, Subject]) -> None:
    _subjects.update(subjects)


def _run(cell: Cell) -> Outcome:
    return run_cell(cell, _resampled(cell.subject, cell.resample))


@lru_cache(maxsize=8)
def _resampled(name: str, resample: int) -> Subject:
    subject = _subjects[name]
    if resample == 0:
        return subject
    return bootstrap(subject, seeded_coins(name, resample))


HEADER = (
    "subject",
    "resample",
    "rows",
    "method",
    "epsilon",
    "beta",
    "run",
    "true_median",
    "value",
    "low",
    "high",
    "error",
    "half_width",
    "half_width_rows",
    "covered",
    "at_edge",
    "milliseconds",
)


def write_csv(file: Path, outcomes: Iterable[Outcome]) -> None:
    """One line a draw."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(HEADER)
        for outcome in outcomes:
            writer.writerows(_lines(outcome))


def _lines(outcome: Outcome) -> Iterator[tuple[object, ...]]:
    cell = outcome.cell
    for run in range(len(outcome.values)):
        yield (
            cell.subject,
            cell.resample,
            outcome.rows,
            cell.method,
            plain(cell.epsilon),
            plain(cell.beta),
            run,
            _short(outcome.true_median),
            _short(outcome.values[run]),
            _short(outcome.lows[run]),
            _short(outcome.highs[run]),
            _short(outcome.errors[run]),
            _short(outcome.half_widths[run]),
            _short(outcome.half_width_rows[run]),
            int(outcome.covered[run]),
            int(outcome.at_edge[run]),
            f"{outcome.milliseconds[run]:.3f}",
        )


def _short(number: float) -> str:
    return f"{number:.12g}"
