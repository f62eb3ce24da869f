"""The engine of a table inside a database: a sample for a bracket, then one statement for n, what
lies below a point, and the counts near the window.

The counts are cut to the window inside the database, so that no more returns than the window needs.
Rows are never sorted: only the few distinct keys of a bracket are. All groups share the scans. What
databases write differently is in their `Dialect`. What counts other things than windows is loaded
when they are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from numpy.typing import NDArray

from postri.columns import MAX_TEXT, ColumnType
from postri.engines.engine import (
    CHANGED,
    PARTS_BY_DIVISION,
    PARTS_BY_LOOKUP,
    SMALL,
    Bracket,
    ColumnOnGrid,
    CountRequest,
    UsualRange,
    find_windows,
)
from postri.engines.reading import Reading
from postri.engines.rows import EVERY_ROW, KeySizes, Selection
from postri.engines.sql.dialect import Cells, Dialect, filled
from postri.engines.sql.index_keys import LARGEST_UNSIGNED, keys_of
from postri.engines.sql.row_source import RowSource
from postri.engines.sql.sampling import Sample, sampled_guesses, usual_range
from postri.engines.sql.scan_result import ScanResult
from postri.engines.sql.statements import Scan, grouped
from postri.errors import SourceChanged
from postri.expressions import Bound, Input, Value
from postri.grid import Grid
from postri.window import (
    Ends,
    Indexes,
    MiddleTotal,
    PointCounts,
    RankWindow,
    SquareTotal,
    Target,
    Total,
)

if TYPE_CHECKING:
    from postri.engines.stretches import Stretches

NOTHING_COMPUTED: Mapping[str | Input, Cells] = {}

MATCHING = """
    SELECT {counts}
    FROM {relation}
"""


class Source(Protocol):
    """A table inside a database. It reads one snapshot, or its scans show that it did not."""

    @property
    def dialect(self) -> Dialect:
        """How the database writes."""

    @property
    def relation(self) -> str:
        """What stands after FROM."""

    def snapshot(self) -> AbstractContextManager[Source]:
        """The same table, all of whose queries see the same rows while the block lasts; the table
        itself where the database cannot say so.
        """

    def statement(self, scan: Scan) -> str:
        """The form of a scan that is the fastest here."""

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns, a column at a time, without nulls."""

    def estimate(self) -> int:
        """About how many rows there are, if that is cheap to know; 0 if not.

        Only speed depends on it.
        """

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """Some of the rows, as cheap as can be, then less cheap where the first may mislead.

        Speed alone depends on them.
        """


@runtime_checkable
class GuidedSource(Protocol):
    """A table inside a database whose groups may be counted by several statements, each of which
    follows from what the one before has found.
    """

    def guided(self, scan: Scan) -> ScanResult | None:
        """What a scan finds in this way; None if one statement is faster."""


class SqlEngine:
    """The columns of one table inside a database.

    What is computed stands beside them: by its name, or as a predicate reads a column.
    """

    def __init__(
        self,
        source: Source,
        types: dict[str, str],
        computed: Mapping[str | Input, Cells] = NOTHING_COMPUTED,
        doubts: Sequence[str] = (),
        max_text: int | None = MAX_TEXT,
    ) -> None:
        self._max_text = max_text
        self._source = source
        self.doubts = doubts
        self._types = types
        self._computed = computed

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._types)

    def _cells(self, column: str | None) -> Cells:
        return self._row_source(str(column), EVERY_ROW).cells

    def _input_cells(self, wanted: Input) -> Cells:
        return self._row_source(None, EVERY_ROW).input_cells(wanted)

    def _row_source(self, column: str | None, rows: Selection) -> RowSource:
        return RowSource(
            self._source.dialect, column, self._types, rows, self._computed, self._max_text
        )

    def _reading(self, column: str | None, grid: Grid) -> Reading:
        return Reading(grid, self._cells(column).type.unit)

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        return self._cells(column).type

    def with_max_text(self, max_text: int) -> Self:
        """The same table, whose texts of more characters cannot be read."""
        engine = copy(self)
        engine._max_text = max_text
        return engine

    def computed(self, columns: Mapping[str, Value]) -> Self:
        """The same table, which can also be asked about these columns: expressions of the raw cells
        of others.
        """
        dialect = self._source.dialect
        cells: dict[str | Input, Cells] = {
            name: Cells(value.type, value.sql(dialect, self._input_cells))
            for name, value in columns.items()
        }
        engine = copy(self)
        engine._computed = {**self._computed, **cells}
        return engine

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """The same table, all of whose queries see the same rows where the database can say so."""
        with self._source.snapshot() as source:
            engine = copy(self)
            engine._source = source
            yield engine

    @contextmanager
    def _still(self, columns: Collection[str]) -> Iterator[Source]:
        """The table for queries that read these columns, all of which see the same rows."""
        with self._source.snapshot() as source:
            yield source

    def windows(
        self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection = EVERY_ROW
    ) -> list[list[RankWindow]]:
        """For each group the window of each target."""
        reading = self._reading(column, grid)
        row_source = self._row_source(column, rows)
        with self._still(row_source.columns) as source:
            if rows.units is not None:
                from postri.engines.sql.units import bounded_windows

                return bounded_windows(
                    source.relation, source.columns, row_source, reading, targets
                )
            return find_windows(SqlCounter(source, row_source, reading), grid, targets)

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Refuse a grid whose indexes the database cannot compute."""
        from postri.engines.sql.units import indexed_keys

        indexed_keys(self._reading(column, grid), self._source.dialect)

    def totals(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> list[Total]:
        """For each group how many cells count, and the sum of their indexes."""
        from postri.engines.sql.units import totals

        reading = self._reading(column, grid)
        row_source = self._row_source(column, rows)
        with self._still(row_source.columns) as source:
            return totals(source.relation, source.columns, row_source, reading)

    def totals_together(
        self, wanted: Sequence[ColumnOnGrid], rows: Selection
    ) -> dict[ColumnOnGrid, list[Total]]:
        """The totals of these columns by one scan; but for those of which it found cells whose
        index is in doubt, and those of a domain beyond the numbers that all databases have.
        """
        if rows.units is not None:
            # Which rows of a unit count depends on the column.
            return {}
        from postri.engines.sql.totals_together import SummedColumn, totals_together

        summed: dict[ColumnOnGrid, SummedColumn] = {}
        for column, grid in wanted:
            row_source, reading = self._row_source(column, rows), self._reading(column, grid)
            each = SummedColumn(len(summed), row_source, reading)
            if each.is_signed:
                summed[column, grid] = each
        if len(summed) < 2:
            return {}
        read = {name for each in summed.values() for name in each.row_source.columns}
        with self._still(read) as source:
            found = totals_together(
                source.relation,
                source.columns,
                self._row_source(None, rows),
                list(summed.values()),
            )
        return {key: of_groups for key, of_groups in zip(summed, found, strict=True) if of_groups}

    def square_totals(
        self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW
    ) -> list[SquareTotal]:
        """For each group how many cells count, the sum of their places, and of the squares."""
        from postri.engines.sql.units import square_totals

        reading = self._reading(column, grid)
        row_source = self._row_source(column, rows)
        with self._still(row_source.columns) as source:
            return square_totals(source.relation, source.columns, row_source, reading)

    def middle_totals(
        self, column: str | None, grid: Grid, ends: Sequence[Ends], rows: Selection = EVERY_ROW
    ) -> list[MiddleTotal]:
        """For each group how many cells lie below, above and between two ends of its own."""
        from postri.engines.sql.units import middle_totals

        reading = self._reading(column, grid)
        row_source = self._row_source(column, rows)
        with self._still(row_source.columns) as source:
            return middle_totals(source.relation, source.columns, row_source, reading, ends)

    def counts_below(
        self, column: str | None, grid: Grid, points: Indexes, rows: Selection = EVERY_ROW
    ) -> list[PointCounts]:
        """For each group how many cells lie below each of these grid points."""
        from postri.engines.sql.point_counts import point_counts

        reading = self._reading(column, grid)
        row_source = self._row_source(column, rows)
        with self._still(row_source.columns) as source:
            return point_counts(source.relation, source.columns, row_source, reading, points)

    def usual_range(
        self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW
    ) -> UsualRange | None:
        """Between which grid points nearly all cells lie, by a sample of a large table."""
        reading = self._reading(column, grid)
        row_source = self._row_source(column, rows)
        with self._still(row_source.columns) as source:
            number = source.estimate()
            sample = Sample(source.relation, 1.0)
            if number > SMALL:
                sample = next(source.samples(number, rows.number), sample)
            return usual_range(sample, source.columns, row_source, reading, number)

    def most_parts(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> int:
        """Many where a cell is put into its part by a division."""
        from postri.engines.sql.part_counts import divides_cells

        reading = self._reading(column, grid)
        if divides_cells(self._row_source(column, rows), reading):
            return PARTS_BY_DIVISION
        return PARTS_BY_LOOKUP

    def counts_inside(
        self, column: str | None, grid: Grid, stretches: Stretches, rows: Selection = EVERY_ROW
    ) -> Indexes:
        """For each group how many cells lie in each part of each stretch."""
        from postri.engines.sql.part_counts import part_counts

        reading = self._reading(column, grid)
        row_source = self._row_source(column, rows)
        with self._still(row_source.columns) as source:
            return part_counts(source.relation, source.columns, row_source, reading, stretches)

    def sizes(self, column: str | None, rows: Selection = EVERY_ROW) -> list[int]:
        """For each group how many rows there are, or how many in which a column has a cell."""
        from postri.engines.sql.units import sizes

        row_source = self._row_source(column, rows)
        with self._still(row_source.columns) as source:
            return sizes(source.relation, source.columns, row_source)

    def key_sizes(self, rows: Selection) -> KeySizes:
        """The raw cells of a column, and how many rows have each."""
        from postri.engines.sql.units import key_sizes

        row_source = self._row_source(None, rows)
        with self._still(row_source.columns) as source:
            return key_sizes(source.relation, source.columns, row_source)

    def unit_counts(self, rows: Selection) -> list[int]:
        """For each group how many units have a row in it."""
        from postri.engines.sql.units import unit_counts

        row_source = self._row_source(None, rows)
        with self._still(row_source.columns) as source:
            return unit_counts(source.relation, source.columns, row_source)

    def matching(self, conditions: Sequence[Bound]) -> list[int]:
        """On how many rows each condition holds, by one scan."""
        dialect = self._source.dialect
        counts = []
        for i, condition in enumerate(conditions):
            count = dialect.count_of(condition.sql(dialect, self._input_cells))
            counts.append(f"{dialect.integer(count, unsigned=False)} AS number{i}")
        columns = {wanted.column for condition in conditions for wanted in condition.inputs}
        with self._still(columns) as source:
            statement = filled(MATCHING, counts=", ".join(counts), relation=source.relation)
            return [int(column[0]) for column in source.columns(statement)]


class SqlCounter:
    """One column on one grid, counted by queries."""

    def __init__(self, source: Source, row_source: RowSource, reading: Reading) -> None:
        self._source = source
        self._row_source = row_source
        self._reading = reading
        self.rows = source.estimate()
        self.groups = row_source.rows.number
        # How many rows each group had in the scans so far.
        self._n: dict[int, int] = {}

    def guesses(self, targets: Sequence[Target], grid: Grid) -> Iterator[list[Bracket]]:
        """By order statistics of samples, which the database picks out."""
        for sample in self._source.samples(self.rows, self.groups):
            yield sampled_guesses(
                sample, self._source.columns, self._row_source, self._reading, targets, self.rows
            )

    def count(self, requests: Sequence[CountRequest]) -> list[RankWindow]:
        """One scan for all groups and targets."""
        targets = list(dict.fromkeys(request.target for request in requests))
        brackets = [
            {each.group: each.bracket for each in requests if each.target == target}
            for target in targets
        ]
        result = self._scan(targets, brackets)
        return [result.window(request, targets.index(request.target)) for request in requests]

    def _scan(
        self, targets: Sequence[Target], brackets: Sequence[Mapping[int, Bracket]]
    ) -> ScanResult:
        every = [bracket for each in brackets for bracket in each.values()]
        whole = Bracket(min(each.low for each in every), max(each.high for each in every))
        keys = keys_of(
            self._reading,
            whole,
            self._source.dialect,
            unsigned=self._row_source.cells.type.high == LARGEST_UNSIGNED,
        )
        scan = Scan(self._row_source, self._reading, self._source.relation, targets, brackets, keys)
        result = self._found(scan, whole)
        self._check_unchanged(result, scan.groups)
        return result

    def _found(self, scan: Scan, whole: Bracket) -> ScanResult:
        source = self._source
        if self.groups == 1 and self.rows > SMALL and self._is_everything(whole):
            # Everything is too much for a list.
            return ScanResult.of(source.columns(grouped(scan)), scan.keys)
        if isinstance(source, GuidedSource):
            result = source.guided(scan)
            if result is not None:
                return result
        return ScanResult.of(source.columns(source.statement(scan)), scan.keys)

    def _is_everything(self, bracket: Bracket) -> bool:
        grid = self._reading.grid
        return bracket.low == grid.first and bracket.high == grid.last

    def _check_unchanged(self, result: ScanResult, groups: Sequence[int]) -> None:
        """Refuse a scan that saw other rows than those before it."""
        counts = {group: result.n(group) for group in groups}
        if self._n and any(self._n.get(group, 0) != n for group, n in counts.items()):
            raise SourceChanged(CHANGED)
        self._n |= counts
