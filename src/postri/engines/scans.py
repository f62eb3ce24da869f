"""The scans of a database: a sample for a bracket, then one scan for n, what lies below the bracket, and the counts inside.

The counts are cut to the window inside the database, so that no more returns than the window needs. Rows are never sorted: only the few
distinct keys of a bracket are. All groups share the scans. What databases write differently is in their `Dialect`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from math import inf, isinf, nextafter, sqrt, ulp
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from postri.columns import ColumnType
from postri.engines.base import CHANGED, SLACK, SMALL, Bracket, Target, Total, Wanted, find_windows, tally
from postri.engines.dialects.protocol import Cells, Dialect
from postri.engines.keys import LARGEST, LARGEST_UNSIGNED, SMALLEST, Keys, keys_of
from postri.engines.reading import Raw, Reading
from postri.engines.rows import EVERY_ROW, Selection
from postri.engines.selected import Selected
from postri.engines.statements import ANY, BUCKET_LIMITS, BUCKETS, Limits, Scan, grouped
from postri.engines.units import bounded_windows, sizes, totals
from postri.errors import SourceChanged
from postri.grid import Grid
from postri.predicates import Bound, Value
from postri.window import Indexes, RankWindow, rank_range

# By how much a bracket may have to be wider than expected: filters and small groups leave fewer cells in a sample.
LADDER = (1.1, 1.5, 2.5, 5.0, 12.0)
NOWHERE, NOTHING = np.empty(0, np.intp), np.empty(0, np.int64)


@dataclass(frozen=True)
class Sample:
    """The relation of some rows, and about which share of all rows they are."""

    relation: str
    share: float


class Source(Protocol):
    """A table inside a database. It reads one snapshot, or its scans show that it did not."""

    @property
    def dialect(self) -> Dialect:
        """How the database writes."""

    @property
    def relation(self) -> str:
        """What stands after FROM."""

    def statement(self, scan: Scan) -> str:
        """The form of a scan that is the fastest here."""

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns, a column at a time, without nulls."""

    def estimate(self) -> int:
        """About how many rows there are, if that is cheap to know; 0 if not. Only speed depends on it."""

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """Some of the rows, as cheap as can be, then less cheap where the first may mislead. Speed alone depends on them."""


class SqlEngine:
    """The columns of one table inside a database."""

    def __init__(self, source: Source, types: dict[str, str]) -> None:
        self._source, self._types = source, types
        self._computed: dict[str, Cells] = {}

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._types)

    def _cells(self, column: str | None) -> Cells:
        return self._selected(str(column), EVERY_ROW).cells

    def _selected(self, column: str | None, rows: Selection) -> Selected:
        return Selected(self._source.dialect, column, self._types, rows, self._computed)

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        return self._cells(column).type

    def computed(self, columns: Mapping[str, Value]) -> SqlEngine:
        """The same table, which can also be asked about these columns: expressions of the raw cells of others."""
        engine, dialect = copy(self), self._source.dialect
        engine._computed = {
            **self._computed,
            **{name: Cells(value.type, value.sql(dialect, self._cells)) for name, value in columns.items()},
        }
        return engine

    def windows(self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection = EVERY_ROW) -> list[list[RankWindow]]:
        """For each group the window of each target."""
        reading = Reading(grid, self._cells(column).type.unit)
        with self.snapshot() as source:
            selected = self._selected(column, rows)
            if rows.units is not None:
                return bounded_windows(source.relation, source.columns, selected, reading, targets)
            return find_windows(SqlCounter(source, selected, reading), grid, targets)

    def totals(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> list[Total]:
        """For each group how many cells count, and the sum of their indexes."""
        reading = Reading(grid, self._cells(column).type.unit)
        with self.snapshot() as source:
            return totals(source.relation, source.columns, self._selected(column, rows), reading)

    def sizes(self, column: str | None, rows: Selection = EVERY_ROW) -> list[int]:
        """For each group how many rows there are, or how many in which a column has a cell."""
        with self.snapshot() as source:
            return sizes(source.relation, source.columns, self._selected(column, rows))

    def matching(self, conditions: Sequence[Bound]) -> list[int]:
        """On how many rows each condition holds, by one scan."""
        with self.snapshot() as source:
            counts = [source.dialect.count_of(condition.sql(source.dialect, self._cells)) for condition in conditions]
            listed = ", ".join(f"{source.dialect.integer(count, unsigned=False)} AS number{i}" for i, count in enumerate(counts))
            return [int(column[0]) for column in source.columns(f"SELECT {listed} FROM {source.relation}")]

    def snapshot(self) -> AbstractContextManager[Source]:
        """The source while one question is counted; all its queries see the same rows where the database can say so."""
        return nullcontext(self._source)


class SqlCounter:
    """One column on one grid, counted by queries."""

    def __init__(self, source: Source, selected: Selected, reading: Reading) -> None:
        self._source, self._selected, self._reading = source, selected, reading
        self.rows, self.groups = source.estimate(), selected.rows.number
        self._dialect = source.dialect
        self._n: dict[int, int] | None = None

    def guesses(self, targets: Sequence[Target], grid: Grid) -> Iterator[list[Bracket]]:
        """By order statistics of samples, which the database picks out: nothing of a sample but these returns."""
        for sample in self._source.samples(self.rows, self.groups):
            picks = [Pick.of(target, sample.share, sample.share * self.rows / self.groups) for target in targets]
            groups, sizes, *found = self._source.columns(self._ranked(sample.relation, [share for pick in picks for share in pick.shares]))
            ends = [self._reading.indexes(column) for column in found]
            row_of = {int(group): row for row, group in enumerate(groups)}
            yield [
                pick.bracket(int(sizes[row_of[group]]), [int(end[row_of[group]]) for end in ends[2 * j * len(LADDER) :]], grid)
                if group in row_of
                else Bracket(grid.first, grid.last)
                for group in range(self.groups)
                for j, pick in enumerate(picks)
            ]

    def _ranked(self, relation: str, shares: Sequence[float]) -> str:
        """For each group the number of its cells, and those cells below which such shares of them lie."""
        cells = self._dialect.order_statistics("cell", shares)
        picked = ", ".join(f"{cell} AS cell{i}" for i, cell in enumerate(cells))
        found = f"SELECT grp, count(*) AS size, {picked} FROM {self._selected.kept(relation)} GROUP BY grp"
        raws = ", ".join(f"{self._selected.raw(f'cell{i}')} AS raw{i}" for i in range(len(cells)))
        return f"SELECT grp, size, {raws} FROM ({found}) AS found"

    def count(self, wanted: Sequence[Wanted]) -> list[RankWindow]:
        """One scan for all groups and targets."""
        targets = list(dict.fromkeys(each.target for each in wanted))
        brackets = [{each.group: each.bracket for each in wanted if each.target == target} for target in targets]
        found = self._counted(targets, brackets)
        return [found.window(each, targets.index(each.target)) for each in wanted]

    def _counted(self, targets: Sequence[Target], brackets: Sequence[Mapping[int, Bracket]]) -> Counted:
        groups = sorted(set().union(*brackets))
        values = {name: each for i, one in enumerate(brackets) for name, each in self._limits(i, one, groups).items()}
        limits = Limits(values, self._dialect, groups=self.groups)
        every = [bracket for each in brackets for bracket in each.values()]
        whole = Bracket(min(each.low for each in every), max(each.high for each in every))
        keys = keys_of(self._reading, whole, self._dialect, unsigned=self._unsigned)
        scan = Scan(self._selected, self._source.relation, targets, limits, keys)
        # Everything is too much for a list.
        everything = self.rows > SMALL and (whole.low, whole.high) == (self._reading.grid.first, self._reading.grid.last)
        statement = grouped(scan) if everything and self.groups == 1 else self._source.statement(scan)
        found = Counted.of(self._source.columns(statement), keys)
        if self._n is not None and any(self._n.get(group, 0) != found.n(group) for group in groups):
            raise SourceChanged(CHANGED)
        self._n = {**(self._n or {}), **{group: found.n(group) for group in groups}}
        return found

    def _limits(self, i: int, brackets: Mapping[int, Bracket], groups: Sequence[int]) -> dict[str, dict[int, str]]:
        """The first and last raw cell of each group's bracket, and the buckets that divide it. One that is not wanted holds nothing."""
        limits: dict[str, dict[int, str]] = {name: {} for name in (f"low{i}", f"last{i}", *(f"{each}{i}" for each in BUCKET_LIMITS))}
        for group in groups:
            low, last = self._ends(brackets[group]) if group in brackets else (inf, -inf)
            literal = self._selected.cells.literal or self._literal
            texts = (literal(low), literal(last), *map(self._dialect.double, self._buckets(low, last)))
            for name, text in zip(limits, texts, strict=True):
                limits[name][group] = text
        return limits

    def _ends(self, bracket: Bracket) -> tuple[Raw, Raw]:
        """The least and the largest raw cell of a bracket."""
        end = self._reading.cut(bracket.high + 1)
        return self._reading.cut(bracket.low), end - 1 if isinstance(end, int) else end if isinf(end) else nextafter(end, -inf)

    def _buckets(self, low: Raw, last: Raw) -> tuple[float, float, float, float]:
        """Where the buckets start, the ends to which cells are clamped before, and how wide each bucket is.

        A bucket is wide enough for any index, rounding of double precision included. The cells of the first and the last index, which
        reach beyond the domain, are clamped into two buckets at most. No quotient is tiny or huge: some databases fail on those.
        """
        grid = self._reading.grid
        first, final = (float(min(max(end, self._reading.cut(grid.first + 1)), self._reading.cut(grid.last))) for end in (low, last))
        index = float(grid.step if self._reading.unit is None else grid.step / self._reading.unit)
        width = max((final - first) / BUCKETS, 2 * index + 4 * ulp(max(abs(first), abs(final))))
        return first - width, first - width / 2, final + width / 2, width

    def _literal(self, raw: Raw) -> str:
        if self._reading.unit is None:
            return self._dialect.double(raw)
        low, high = (0, LARGEST_UNSIGNED) if self._unsigned else (SMALLEST, LARGEST)
        return self._dialect.integer(str(int(min(max(raw, low), high))), unsigned=self._unsigned)

    @property
    def _unsigned(self) -> bool:
        return self._selected.cells.type.high == LARGEST_UNSIGNED


@dataclass(frozen=True)
class Pick:
    """Which order statistics of a sample are asked for around a target: for each spare share of the rows one below and one above."""

    target: Target
    share: float
    spares: Sequence[float]

    @classmethod
    def of(cls, target: Target, share: float, size: float) -> Pick:
        """For groups of which the sample, this share of all rows, should hold so many cells, or a good deal fewer."""
        bare = cls(target, share, ())
        return replace(bare, spares=[step * bare.spare(max(size, 1.0)) for step in LADDER])

    def spare(self, size: float) -> float:
        """The share of the rows that a bracket must leave to spare on each side, by a sample of so many cells."""
        p = float(self.target.p)
        return (SLACK * sqrt(size * p * (1 - p)) + self.target.half * self.share + 4) / size

    @property
    def shares(self) -> list[float]:
        """Below which shares of the sample the wanted cells lie."""
        p = float(self.target.p)
        return [min(max(share, 0.0), 1.0) for spare in self.spares for share in (p - spare, p + spare)]

    def bracket(self, size: int, ends: Sequence[int], grid: Grid) -> Bracket:
        """The narrowest bracket that leaves enough to spare, in a group of which the sample holds so many cells."""
        p, needed = float(self.target.p), self.spare(size)
        for i, spare in enumerate(self.spares):
            if spare >= needed:
                low = ends[2 * i] if p > spare else grid.first
                return Bracket(low, max(low, ends[2 * i + 1]) if p + spare < 1 else grid.last)
        return Bracket(grid.first, grid.last)


@dataclass(frozen=True)
class Counted:
    """What a scan returned, by group."""

    rows: Mapping[int, NDArray[np.intp]]
    targets: NDArray[Any]
    indexes: Indexes
    numbers: Indexes
    upto: Indexes
    totals: NDArray[Any]
    held: NDArray[np.bool_]

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any]], keys: Keys) -> Counted:
        """The columns of a statement, with the indexes of its keys."""
        groups, targets, held, places, doubts, numbers, upto, totals = columns
        return cls(
            dict(split(groups)), targets, keys.indexes(places, doubts), numbers.astype(np.int64), upto.astype(np.int64), totals, held == 1
        )

    def n(self, group: int) -> int:
        """How many rows a group has; one that does not occur has none."""
        return int(self.totals[self.rows[group][0]]) if group in self.rows else 0

    def window(self, wanted: Wanted, target: int) -> RankWindow:
        """The counts in one bracket, near its target. Those of other targets may lie beyond a gap."""
        here = self.rows.get(wanted.group, NOWHERE)
        ours = self.held[here] & ((self.targets[here] == target) | (self.targets[here] == ANY))
        inside = (self.indexes[here] >= wanted.bracket.low) & (self.indexes[here] <= wanted.bracket.high)
        here = here[ours & inside]
        n, before = self.n(wanted.group), self.upto[here] - self.numbers[here]
        low, high = rank_range(n, wanted.target.p, wanted.target.half)
        near = self.indexes[here[(self.upto[here] >= low) & (before < high)]]
        if not len(near):
            return RankWindow(NOTHING, NOTHING, 0, n)
        whole = (self.indexes[here] >= near.min()) & (self.indexes[here] <= near.max())
        return RankWindow(*tally(self.indexes[here[whole]], self.numbers[here[whole]]), int(before[whole].min()), n)


def split(groups: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each group that occurs, and the places where it does."""
    order = np.argsort(groups, kind="stable")
    found, starts = np.unique(groups[order], return_index=True)
    ends = [*starts[1:], len(order)]
    yield from ((int(group), order[start:end]) for group, start, end in zip(found, starts, ends, strict=False))
