"""One pass in threads: the same windows whoever counts which cells, and nothing left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import postri
from postri import Domain, SeededCoins, agg, system
from postri.engines.engine import (
    SHORT_SLACK,
    Bracket,
    CountRequest,
    divide,
    sampled_brackets,
)
from postri.engines.memory import brackets, chunk, counter, scan
from postri.engines.memory.chunk import Chunk
from postri.engines.memory.counter import MemoryCounter
from postri.engines.memory.scan import CountedColumn
from postri.engines.progress import Cancel, Percent, cancelled_by, showing
from postri.engines.reading import Reading
from postri.engines.table import Table
from postri.grid import Grid
from postri.window import RankWindow, Target, holds, trim

# Seconds after which something that must happen is taken for never happening.
PATIENCE = 60
GRID = Grid(-1_000, 1_000, Fraction(0), Fraction(1))
TARGET = Target(Fraction(1, 2), 5)
random = np.random.default_rng(5)
WHOLE = random.integers(-60, 60, 1_200)
REAL = np.where(random.random(1_200) < 0.1, np.nan, random.normal(0, 40, 1_200))
COLUMNS: dict[str, NDArray[Any]] = {
    "whole": WHOLE,
    "other bytes first": WHOLE.astype(">i8"),
    "few bits": WHOLE.astype(np.int8),
    "no sign": np.abs(WHOLE).astype(np.uint64),
    "real": REAL,
    "half precision": REAL.astype(np.float16),
    "infinite": np.where(WHOLE > 30, np.inf, np.where(WHOLE < -30, -np.inf, REAL)),
    "all missing": np.full(50, np.nan),
    "none": WHOLE[:0],
}
BRACKETS = {
    "everything": Bracket(-1_000, 1_000),
    "from the first on": Bracket(-1_000, 20),
    "to the last": Bracket(-20, 1_000),
    "in the middle": Bracket(-20, 20),
    "few indexes": Bracket(-2, 3),
    "one index": Bracket(1, 1),
    "few at the end": Bracket(998, 1_000),
    "beyond the cells": Bracket(200, 900),
}


def counted(column: Chunk, bracket: Bracket, target: Target = TARGET) -> RankWindow:
    """What one pass counts of a bracket."""
    reading = Reading(GRID, None if column.values.dtype.kind == "f" else Fraction(1))
    (window,) = MemoryCounter([column], reading).count([CountRequest(bracket, target)])
    return window


def by_sorting(column: Chunk, bracket: Bracket) -> RankWindow:
    """All atoms of the bracket, one by one."""
    cells = column.values[column.counting()]
    reading = Reading(GRID, None if cells.dtype.kind == "f" else Fraction(1))
    indexes = np.array([reading.index(cell.item()) for cell in cells], np.int64)
    inside = indexes[(indexes >= bracket.low) & (indexes <= bracket.high)]
    atoms, counts = np.unique(inside, return_counts=True)
    return RankWindow(atoms, counts, int(np.sum(indexes < bracket.low)), len(indexes))


def check(window: RankWindow, whole: RankWindow, target: Target = TARGET) -> None:
    """A window is that of the whole bracket, of which it may leave out what the target's does not
    need; it holds the target's if the bracket does.
    """
    assert window.n == whole.n
    if holds(whole, target.p, target.half):
        assert trim(window, target.p, target.half) == trim(whole, target.p, target.half)
    else:
        assert not holds(window, target.p, target.half)


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pieces, most of them of two blocks, and three threads."""
    monkeypatch.setattr(brackets, "BLOCK", 32)
    monkeypatch.setattr(chunk, "STRETCH", 64)
    monkeypatch.setattr(scan, "STRETCH", 64)
    monkeypatch.setattr(scan, "SHARED_STRETCH", 64)
    monkeypatch.setattr(scan, "MANY_CELLS", 0)
    monkeypatch.setattr(system, "cores", lambda: 3)


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True], ids=["no nulls", "nulls"])
@pytest.mark.parametrize("bracket", BRACKETS)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_bracket_is_counted_as_by_a_sort(name: str, bracket: str, missing: bool) -> None:
    cells = COLUMNS[name]
    valid = np.arange(len(cells)) % 3 > 0 if missing else None
    column = Chunk(cells, valid)
    expected = by_sorting(column, BRACKETS[bracket])
    check(counted(column, BRACKETS[bracket]), expected)


@pytest.mark.parametrize("name", ["whole", "real"])
def test_cells_that_are_too_many_to_wait_are_counted_on_the_way(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brackets, "MOST_WAITING", 100)
    column = Chunk(COLUMNS[name])
    for bracket in (BRACKETS["in the middle"], BRACKETS["everything"]):
        assert counted(column, bracket) == by_sorting(column, bracket)


def test_a_bracket_that_misses_its_target_says_so() -> None:
    """Such a window holds nothing, and so it is counted anew."""
    window = counted(Chunk(WHOLE), Bracket(30, 45))
    assert len(window.indexes) == 0
    assert window.n == len(WHOLE)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_cell_is_counted_once_whatever_the_number_of_threads(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "cores", lambda: threads)
    seen: list[Sum] = []

    def tally() -> Sum:
        seen.append(Sum())
        return seen[-1]

    chunks = [Chunk(WHOLE[:100]), Chunk(WHOLE[100:100]), Chunk(WHOLE[100:])]
    scan.scan(CountedColumn(chunks, tally))
    assert len(seen) == threads
    assert sum(each.total for each in seen) == int(WHOLE.sum())


def test_few_cells_are_left_to_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MANY_CELLS", len(WHOLE) + 1)
    seen: list[Sum] = []
    scan.scan(CountedColumn([Chunk(WHOLE)], lambda: seen.append(Sum()) or seen[-1]))
    assert len(seen) == 1


class Sum:
    """Adds up what it is given."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, cells: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        self.total += int(cells.sum())


class Raising:
    """Raises an error in the thread that asks, or in the others; whoever does not waits for it."""

    def __init__(self, error: BaseException, *, here: bool) -> None:
        self.error = error
        self.here = here
        self.raised = threading.Event()

    def add(self, cells: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        if (threading.current_thread() is threading.main_thread()) == self.here:
            self.raised.set()
            raise self.error
        assert self.raised.wait(PATIENCE)


@pytest.mark.parametrize("here", [True, False], ids=["the thread that asks", "another"])
def test_an_error_of_a_thread_is_raised_and_no_thread_goes_on(here: bool) -> None:
    before = threading.active_count()
    raising = Raising(MemoryError(), here=here)
    with pytest.raises(MemoryError):
        scan.scan(CountedColumn([Chunk(WHOLE)], lambda: raising))
    assert threading.active_count() == before


def test_an_interrupt_ends_all_threads_before_it_is_raised() -> None:
    before = threading.active_count()
    raising = Raising(KeyboardInterrupt(), here=True)
    with pytest.raises(KeyboardInterrupt):
        scan.scan(CountedColumn([Chunk(WHOLE)], lambda: raising))
    assert threading.active_count() == before


class Cancelling:
    """Cancels the question at the first stretch."""

    def __init__(self, now: Callable[[], object]) -> None:
        self.now = now
        self.stretches = 0

    def add(self, cells: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        self.stretches += 1
        self.now()


def test_a_question_that_is_cancelled_ends_with_its_error() -> None:
    cancel = Cancel()
    error = TimeoutError("too long")
    with pytest.raises(TimeoutError), cancelled_by(cancel):
        scan.scan(CountedColumn([Chunk(WHOLE)], lambda: Cancelling(lambda: cancel.now(error))))


def test_a_scan_tells_how_far_it_has_come() -> None:
    told: list[float] = []

    @contextmanager
    def show(percent: Percent) -> Iterator[None]:
        told.append(percent())
        yield
        told.append(percent())

    with showing(show):
        scan.scan(CountedColumn([Chunk(WHOLE)], Sum))
    assert told == [0.0, 100.0]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("few", [0, 10**6], ids=["by brackets", "by a sort"])
def test_a_window_and_a_total_of_one_pass_are_those_of_two(
    name: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter, "FEW_CELLS", few)
    cells = COLUMNS[name]
    reading = Reading(GRID, None if cells.dtype.kind == "f" else Fraction(1))
    column = MemoryCounter([Chunk(cells, np.arange(len(cells)) % 3 > 0)], reading)
    other = MemoryCounter([Chunk(np.tile(WHOLE, 3))], Reading(GRID, Fraction(1)))
    windows, totals = column.windows_and_totals([TARGET], [other, column])
    assert windows == column.windows([TARGET])
    assert totals == [other.total(), column.total()]


def test_a_total_is_counted_once_where_a_guess_misses_the_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counter, "FEW_CELLS", 0)
    column = MemoryCounter([Chunk(WHOLE)], Reading(GRID, Fraction(1)))
    missed = iter([[Bracket(30, 45)]])
    monkeypatch.setattr(column, "guesses", lambda targets, grid: missed)
    windows, totals = column.windows_and_totals([TARGET], [column])
    assert next(missed, None) is None
    assert windows == column.windows([TARGET])
    assert totals == [column.total()]


@pytest.mark.parametrize(
    ("where", "by", "passes_together"),
    [
        (None, None, 1),
        ("x > 3", None, 1),
        # Of groups, one after the other, the totals of another column are counted by themselves.
        (None, {"key": [0, 1]}, 2 + 2),
    ],
    ids=["all rows", "a filter", "groups"],
)
def test_statistics_of_one_question_share_a_pass(
    where: str | None,
    by: dict[str, list[int]] | None,
    passes_together: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passes: list[object] = []
    scan_once = counter.scan

    def counting(*given: Any) -> None:
        passes.append(given)
        scan_once(*given)

    def ask() -> str:
        domain = Domain(-50, 50)
        parts: dict[str, Any] = {
            "mean": agg.mean("x", domain=domain),
            "mid": agg.median("x", domain=domain),
            "rows": agg.count(),
            "total": agg.sum("y", domain=domain),
        }
        cells = np.tile(WHOLE, 10)
        table = {"x": cells, "y": cells[::-1], "key": np.arange(len(cells)) % 2}
        result = postri.ask(table, parts, where=where, by=by, epsilon=1, coins=SeededCoins(3))
        return result.to_json()

    monkeypatch.setattr(counter, "scan", counting)
    together = ask()
    assert len(passes) == passes_together
    passes.clear()
    monkeypatch.setattr(Table, "want_totals", lambda *given: None)
    assert ask() == together
    groups = 1 if by is None else 2
    assert len(passes) == 3 * groups


@pytest.mark.one_in(5)
@pytest.mark.parametrize("width", [0, 1, 40, 400])
@pytest.mark.parametrize("extra", [0, 3], ids=["whole eights", "a rest"])
@pytest.mark.parametrize("missing", [False, True], ids=["no nulls", "nulls"])
@pytest.mark.parametrize("name", ["whole", "real", "other bytes first"])
def test_cells_inside_are_taken_out_alike_whether_few_or_many(
    name: str, missing: bool, extra: int, width: int
) -> None:
    """Where few cells are inside, eights of them without any are passed over."""
    cells = np.concatenate([COLUMNS[name], np.full(30_000 + extra, 500, COLUMNS[name].dtype)])
    cells = random.permutation(cells)
    column = Chunk(cells, np.arange(len(cells)) % 3 > 0 if missing else None)
    bracket = Bracket(-width, 9)
    reading = Reading(GRID, None if cells.dtype.kind == "f" else Fraction(1))
    count = brackets.CellCount(reading, bracket, Target(Fraction(1, 100), 5))
    tally = count.tally()
    tally.add(column.values, column.valid)
    tally.merge()
    expected = by_sorting(column, bracket)
    assert count.window() == expected


def test_a_column_without_chunks_has_no_rows() -> None:
    window = MemoryCounter([], Reading(GRID, Fraction(1))).count(
        [CountRequest(BRACKETS["everything"], TARGET)]
    )
    assert window == [RankWindow(np.empty(0, np.int64), np.empty(0, np.int64), 0, 0)]


@pytest.mark.parametrize("places", [(0, 0), (-3, 7), (3, 4), (100, 700), (699, 900), (-1, 800)])
def test_cells_are_divided_as_by_a_sort(places: tuple[int, int]) -> None:
    first, last = places
    cells = random.integers(0, 500, 700)
    ordered = np.sort(cells)
    divide(cells, first, last)
    for place in places:
        if 0 <= place < len(cells):
            assert cells[place] == ordered[place]
            assert np.array_equal(np.sort(cells[:place]), ordered[:place])


@pytest.mark.parametrize("number", [1, 5], ids=["divided", "in order"])
def test_a_bracket_begins_and_ends_at_two_cells_of_the_sample(number: int) -> None:
    sample = random.permutation(np.arange(10_000) // 8)
    target = Target(Fraction(1, 2), 100)
    guesses = sampled_brackets(sample, 0.1, [target] * number, Reading(GRID, Fraction(1)))
    spare = SHORT_SLACK * 50 + 100 * 0.1 + 4
    low = floor(5_000 - spare) // 8
    high = ceil(5_000 + spare) // 8
    assert next(guesses) == [Bracket(low, high)] * number


def test_a_sample_grows_with_the_rows_and_less_than_they_do() -> None:
    sizes = [10**3, 10**5, 10**8]
    strides = [counter.stride_of(rows) for rows in sizes]
    samples = [rows // stride for rows, stride in zip(sizes, strides, strict=True)]
    assert samples == sorted(samples)
    assert strides == sorted(strides)
    assert counter.stride_of(0) == 1
