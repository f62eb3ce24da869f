"""The memory engine: one column or several, typed or not, and which of their rows count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from postri.columns import MAX_TEXT, ColumnType
from postri.engines.engine import (
    PARTS_BY_DIVISION,
    PARTS_BY_LOOKUP,
    UNUSUAL,
    ColumnOnGrid,
    UsualRange,
)
from postri.engines.memory.columns import (
    UNEVEN,
    Column,
    OrderedColumn,
    Places,
    TextColumn,
    computed_column,
)
from postri.engines.memory.counter import MemoryCounter
from postri.engines.memory.kept import Filters
from postri.engines.rows import EVERY_ROW, KeySizes, Selection, UnitColumn
from postri.errors import InputError, SourceError
from postri.expressions import Bound, Input, Value
from postri.grid import Grid
from postri.window import (
    Ends,
    Indexes,
    MiddleTotal,
    OrderedCells,
    PointCounts,
    RankWindow,
    SquareTotal,
    Target,
    Total,
)

if TYPE_CHECKING:
    from postri.engines.stretches import Stretches

# The number of a row's group where it is in none.
NO_GROUP = -1
# By about how many cells the usual range is told.
TOLD_BY = 1 << 14
# Cells of which a group has at most this many are put in order, where many points are counted: that
# takes as long as a few scans.
MOST_ORDERED = 1 << 17


class MemoryEngine:
    """Columns by name, or one column under the name None.

    A column is opened, or computed, when it is first asked for.
    """

    doubts: Sequence[str] = ()

    def __init__(
        self,
        columns: Mapping[str | None, Callable[[], Column]],
        computed: Mapping[str, Value] | None = None,
        max_text: int = MAX_TEXT,
        filters: Filters | None = None,
    ) -> None:
        self._filters = filters or Filters(self._column)
        self._openers = columns
        self._max_text = max_text
        self._computed = computed or {}
        self._columns: dict[str | None, Column] = {}
        self._counters: dict[tuple[str | None, Grid, Selection], list[MemoryCounter]] = {}

    @property
    def names(self) -> list[str] | None:
        """The names of the columns; None if there is one without a name."""
        if None in self._openers:
            return None
        return [name for name in self._openers if name is not None]

    def _column(self, name: str | None) -> Column:
        if name not in self._columns:
            value = self._computed.get(str(name))
            if value is None:
                self._columns[name] = self._openers[name]().with_max_text(self._max_text)
            else:
                self._columns[name] = computed_column(value, self._column)
        return self._columns[name]

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        value = self._computed.get(str(column))
        if value is None:
            return self._column(column).type
        return value.type

    def computed(self, columns: Mapping[str, Value]) -> MemoryEngine:
        """The same table, which can also be asked about these columns.

        Its own are opened once for both.
        """
        openers = {name: partial(self._column, name) for name in self._openers}
        computed = {**self._computed, **columns}
        return MemoryEngine(openers, computed, self._max_text, self._filters)

    def with_max_text(self, max_text: int) -> MemoryEngine:
        """The same columns, whose texts of more characters cannot be read."""
        return MemoryEngine(self._openers, self._computed, max_text)

    def snapshot(self) -> AbstractContextManager[MemoryEngine]:
        """The same columns: they are read where they lie, and are the user's to leave alone."""
        return nullcontext(self)

    def windows(
        self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection = EVERY_ROW
    ) -> list[list[RankWindow]]:
        """For each group the window of each target."""
        return [counter.windows(targets) for counter in self._kept_counters(column, grid, rows)]

    def windows_and_totals(
        self,
        column: str | None,
        grid: Grid,
        targets: Sequence[Target],
        rows: Selection,
        wanted: Sequence[ColumnOnGrid],
    ) -> tuple[list[list[RankWindow]], dict[ColumnOnGrid, list[Total]]]:
        """For each group the window of each target, and the totals of some columns in the same
        pass: of any if there is one group, else of the column itself.
        """
        counters = self._kept_counters(column, grid, rows)
        beside: dict[ColumnOnGrid, list[MemoryCounter]] = {}
        for name, own_grid in wanted:
            if (name, own_grid) == (column, grid):
                beside[name, own_grid] = counters
            elif rows.one_group:
                # The cells of many groups would take the memory of a column for each of these.
                beside[name, own_grid] = list(self._group_counters(name, own_grid, rows))
        windows: list[list[RankWindow]] = []
        totals: dict[ColumnOnGrid, list[Total]] = {key: [] for key in beside}
        for group, counter in enumerate(counters):
            others = [of_groups[group] for of_groups in beside.values()]
            found, added_up = counter.windows_and_totals(targets, others)
            windows.append(found)
            for key, total in zip(beside, added_up, strict=True):
                totals[key].append(total)
        return windows, totals

    def _kept_counters(
        self, column: str | None, grid: Grid, rows: Selection
    ) -> list[MemoryCounter]:
        """The counters of all groups, which are kept: the next call may ask for more of them."""
        key = (column, grid, rows)
        counters = self._counters.get(key)
        if counters is None:
            counters = list(self._group_counters(column, grid, rows))
            self._counters = {key: counters}
        return counters

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Any grid will do: indexes are Python's numbers here."""

    def totals(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> list[Total]:
        """For each group how many cells count, and the sum of their indexes."""
        return [counter.total() for counter in self._group_counters(column, grid, rows)]

    def square_totals(
        self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW
    ) -> list[SquareTotal]:
        """For each group how many cells count, the sum of their places, and of the squares."""
        return [counter.square_total() for counter in self._group_counters(column, grid, rows)]

    def middle_totals(
        self, column: str | None, grid: Grid, ends: Sequence[Ends], rows: Selection = EVERY_ROW
    ) -> list[MiddleTotal]:
        """For each group how many cells lie below, above and between two ends of its own."""
        counters = self._kept_counters(column, grid, rows)
        return [
            counter.middle_total(low, high)
            for counter, (low, high) in zip(counters, ends, strict=True)
        ]

    def counts_below(
        self, column: str | None, grid: Grid, points: Indexes, rows: Selection = EVERY_ROW
    ) -> list[PointCounts]:
        """For each group how many cells lie below each of these grid points."""
        counters = self._kept_counters(column, grid, rows)
        thresholds = counters[0].thresholds(points)
        return [counter.counts_below(thresholds) for counter in counters]

    def ordered_cells(
        self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW
    ) -> OrderedCells | None:
        """The cells of each group in order, if none has many."""
        counters = self._kept_counters(column, grid, rows)
        if max(counter.rows for counter in counters) > MOST_ORDERED:
            return None
        return OrderedCells([counter.ordered() for counter in counters])

    def usual_range(
        self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW
    ) -> UsualRange | None:
        """Between which grid points nearly all cells lie, by every k-th cell of each group."""
        counters = self._kept_counters(column, grid, rows)
        number = sum(counter.rows for counter in counters)
        stride = max(1, number // TOLD_BY)
        sample = np.concatenate([counter.every(stride) for counter in counters])
        if not len(sample):
            return None
        beyond = int(UNUSUAL * len(sample))
        sample.partition([beyond, len(sample) - 1 - beyond])
        return UsualRange(int(sample[beyond]), int(sample[len(sample) - 1 - beyond]), number)

    def most_parts(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> int:
        """Many where grid points are cells: else it takes time to find where each begins."""
        if self._kept_counters(column, grid, rows)[0].reading.shift is None:
            return PARTS_BY_LOOKUP
        return PARTS_BY_DIVISION

    def counts_inside(
        self, column: str | None, grid: Grid, stretches: Stretches, rows: Selection = EVERY_ROW
    ) -> Indexes:
        """For each group how many cells lie in each part of each stretch."""
        counters = self._kept_counters(column, grid, rows)
        return np.array([counter.counts_inside(stretches) for counter in counters])

    def sizes(self, column: str | None, rows: Selection = EVERY_ROW) -> list[int]:
        """For each group how many rows there are, or how many in which a column has a cell."""
        if column is None and rows.plain:
            return [self._length()]
        if column is None:
            present = np.ones(self._length(), np.bool_)
        else:
            present = self._column(column).present()
        if rows.one_group:
            return [int(np.count_nonzero(self._left(rows, present)))]
        # A mere row has an empty text in place of its index.
        groups = self._rows_of_groups(rows, present, lambda here: [""] * len(here))
        return [len(here) for here in groups]

    def key_sizes(self, rows: Selection) -> KeySizes:
        """The raw cells of a column, and how many rows have each."""
        (key,) = rows.keys
        cells = self._column(key.column).vector(Input(key.column, key.type))
        numbers = self._group_numbers(replace(rows, keys=()), cells.there)
        here = np.flatnonzero(numbers >= 0)
        if rows.units is not None:
            units = self._column(rows.units.column).unit_texts()
            # A mere row has an empty text in place of its index, and a key in place of a number.
            texts = [""] * len(here)
            here = _first_of_units(here, cells.values, units, texts, rows.units)
        found = cells.values[here]
        if found.dtype != object:
            return KeySizes.in_order(*np.unique(found, return_counts=True))
        counts = Counter(found.tolist())
        readable = {text: number for text, number in counts.items() if _is_unicode(text)}
        raws = np.empty(len(readable), object)
        raws[:] = list(readable)
        return KeySizes.in_order(raws, np.array(list(readable.values()), np.int64))

    def unit_counts(self, rows: Selection) -> list[int]:
        """For each group how many units have a row in it."""
        present = np.ones(self._length(), np.bool_)
        numbers = self._group_numbers(rows, present)
        from postri.engines.memory.unit_order import md5_of

        assert rows.units is not None
        units = self._column(rows.units.column).unit_texts()
        groups_of: dict[str, set[int]] = {}
        for place in np.flatnonzero(numbers >= 0).tolist():
            unit = units[place]
            if unit is not None:
                groups_of.setdefault(unit, set()).add(int(numbers[place]))
        counts = [0] * rows.number
        for unit, groups in groups_of.items():
            first = sorted(groups, key=lambda group: md5_of(f"{unit}::{group}"))
            for group in first[: rows.units.rows]:
                counts[group] += 1
        return counts

    def _length(self) -> int:
        """How many rows there are, by a column that can be opened."""
        for name in self._openers:
            with suppress(InputError):
                return len(self._column(name))
        raise InputError("the source has no column whose rows can be counted")

    def matching(self, conditions: Sequence[Bound]) -> list[int]:
        """On how many rows each condition holds."""
        rows = self._length()
        counts = []
        for condition in conditions:
            cells = {each: self._column(each.column).vector(each) for each in condition.inputs}
            mask = np.broadcast_to(condition.mask(cells), rows)
            counts.append(int(np.count_nonzero(mask)))
        return counts

    def _group_counters(
        self, column: str | None, grid: Grid, rows: Selection
    ) -> Iterator[MemoryCounter]:
        """A counter for each group."""
        value = self._column(column)
        assert not isinstance(value, TextColumn)
        if rows.plain:
            yield value.counter(grid)
            return
        everywhere = np.ones(len(value), np.bool_)
        if rows.one_group:
            yield value.only(self._left(rows, everywhere)).counter(grid)
            return
        texts = partial(_index_texts, value, grid)
        groups = self._rows_of_groups(rows, everywhere, texts)
        whole = value.joined()
        for here in groups:
            yield whole.at(here).counter(grid)

    def _left(self, rows: Selection, present: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The rows that a filter leaves, of those that are present."""
        if any(len(self._column(name)) != len(present) for name in rows.columns):
            raise SourceError(UNEVEN)
        if rows.where is None:
            return present
        filters = self._filters
        if any(each.column in self._computed for each in rows.where.inputs):
            # What is kept is about the columns that all have who share it.
            filters = Filters(self._column)
        return present & filters.mask(rows.where, len(present))

    def _rows_of_groups(
        self,
        selection: Selection,
        present: NDArray[np.bool_],
        texts: Callable[[Places], Sequence[str | None]],
    ) -> list[Places]:
        """The rows of each group that count, of those that are present; with units, the first of
        each unit by `texts`, which tells the text of each row's index.
        """
        numbers = self._group_numbers(selection, present)
        here = np.flatnonzero(numbers >= 0)
        if selection.units is not None:
            units = self._column(selection.units.column).unit_texts()
            here = _first_of_units(here, numbers, units, texts(here), selection.units)
        found = numbers[here]
        if selection.number <= np.iinfo(np.int16).max:
            # NumPy keeps the order of small numbers in a fraction of the time.
            found = found.astype(np.int16)
        order = here[np.argsort(found, kind="stable")]
        return np.split(order, np.searchsorted(numbers[order], np.arange(1, selection.number)))

    def _group_numbers(self, selection: Selection, present: NDArray[np.bool_]) -> Indexes:
        """The number of each row's group, of those rows that are present and that the predicate
        keeps.
        """
        left = self._left(selection, present)
        numbers = np.where(left, np.int64(0), np.int64(NO_GROUP))
        for i, keys in enumerate(selection.keys):
            column: Column
            if keys.value is None:
                column = self._column(keys.column)
            else:
                column = computed_column(keys.value, self._column)
            found = column.group_numbers(keys)
            outside = (found < 0) | (numbers < 0)
            numbers = np.where(outside, NO_GROUP, numbers + found * selection.place(i))
        return numbers


def _index_texts(column: OrderedColumn, grid: Grid, here: Places) -> list[str | None]:
    """The grid index of each cell, as a text; None where the cell does not count."""
    indexes = column.at(here).indexes(grid)
    return [None if index is None else str(index) for index in indexes]


def _is_unicode(text: str) -> bool:
    """Whether a text is one: half of a surrogate pair is none, and in no database."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _first_of_units(
    here: Places,
    numbers: NDArray[Any],
    units: Sequence[str | None],
    texts: Sequence[str | None],
    bound: UnitColumn,
) -> Places:
    """At most `bound.rows` rows of each unit, by the md5 of `unit:grid index:group`."""
    from postri.engines.memory.unit_order import md5_of

    rows_of: dict[str, list[tuple[str, int]]] = {}
    for place, text in zip(here, texts, strict=True):
        unit = units[place]
        if unit is not None and text is not None:
            turn = md5_of(f"{unit}:{text}:{numbers[place]}")
            rows_of.setdefault(unit, []).append((turn, int(place)))
    kept = []
    for rows in rows_of.values():
        first = rows if len(rows) <= bound.rows else sorted(rows)[: bound.rows]
        kept += [place for _, place in first]
    return np.array(sorted(kept), np.intp)
