"""CSV files: a record is a line, a cell is text, and the one grammar reads it.

DuckDB hands over whole lines, and an anchored pattern splits each on its own. A line that does not
have as many well-formed cells as the header has names is dropped; whatever stands in it, no other
line is touched. (A CSV reader that follows quotes across lines would let one cell swallow the rows
of other people.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from postri.columns import MAX_TEXT, UNTYPED, ColumnType
from postri.engines.csv_format import CsvFormat
from postri.engines.duckdb.csv_cells import DIGITS, SIGNS, TypedRecords
from postri.engines.duckdb.csv_lines import CsvLines, LineRelation
from postri.engines.duckdb.dialect import DuckDialect
from postri.engines.duckdb.source import Function, literal
from postri.engines.engine import UsualRange
from postri.engines.grammar import BLANKS, reads_whole
from postri.engines.rows import EVERY_ROW, KeySizes, Selection
from postri.engines.sql.dialect import MOST_BYTES, filled
from postri.engines.sql.engine import SqlEngine
from postri.engines.sql.sampling import Sample
from postri.engines.sql.statements import Scan, grouped, listed
from postri.errors import InputError
from postri.expressions import Bound, Value
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
    from postri.engines.lost import LostCells
    from postri.engines.stretches import Stretches

# What a computed column is called beside typed ones, whatever name it was given.
VALUE = "value"
# How many bytes stand around a cell: its quotes, what separates it from the next, what ends a line.
AROUND_CELL = 4
# A line of no more bytes may be a record whatever `max_text` is: to split it takes no longer than
# DuckDB takes to read the longest one.
ALWAYS_SPLIT = 2**18

# All lines but empty ones, whether they are records or not.
LINES_THAT_MATTER = """
    SELECT count(*) AS lines
    FROM {lines}
    WHERE trim(line, {blanks}) <> ''
"""
# Each line with some of its cells; all are empty where the line is not a record. The list keeps
# DuckDB from evaluating the pattern a second time in a filter.
RECORDS = """
    (
        SELECT unnest([{{'record': {split}}}], recursive := false).record AS record
        FROM {lines}
    )
"""
# A pattern takes ten times as long to read a line as DuckDB does, so one that is too long to be a
# record is not split. An empty one has no cells either.
SPLIT = """
    regexp_extract(
        CASE WHEN strlen(line) <= {longest} THEN line ELSE '' END,
        {pattern},
        [{names}]
    )
"""
# The same where a line without cells counts for nothing, and needs no filter.
RECORDS_AND_OTHERS = """
    (
        SELECT {split} AS record
        FROM {lines}
    )
"""
# Rows with the whole number that a text is, if DuckDB writes that number as it stands. Most need
# not be written: where the text begins with a digit from 1 to 9, and the number has no fewer digits
# than the text has bytes, no sign, point, blank or underscore has room among them, unless there is
# an exponent too; and then the number ends in two zeros.
WITH_PLAIN = """
    (
        SELECT *, CASE
            WHEN {text} >= '1' AND whole % 100 <> 0 AND whole >= [{powers}][strlen({text})]
            THEN whole
            WHEN strlen({text}) <= {most} AND CAST(whole AS VARCHAR) = {text} THEN whole
        END AS plain
        FROM (
            SELECT *, TRY_CAST({text} AS BIGINT) AS whole
            FROM {relation}
        ) AS wholes
    ) AS plain_rows
"""
# Lines of one cell, which need not be split where they are such numbers.
RECORDS_NOT_PLAIN = """
    (
        SELECT plain, CASE WHEN plain IS NULL THEN {split} END AS record
        FROM {lines}
    )
"""
TEXTS = """
    (
        SELECT {cells}
        FROM {records}
        WHERE {counts}
    ) AS texts
"""
IS_RECORD = "record.line <> ''"
UNQUOTED = """
    CASE WHEN starts_with({cell}, {quote})
        THEN replace({cell}[2:-2], {two_quotes}, {quote})
        ELSE {cell}
    END
"""
SHORT_CELL = """
    CASE WHEN length({cell}) <= {most} THEN {cell} ELSE '' END
"""
# A cell without the blanks around it. To look for them takes a tenth of the time of `trim`.
TRIMMED = """
    CASE
        WHEN {cell}[1] > ' ' AND {cell}[1] <> {quote} AND {cell}[-1] > ' '
            AND strlen({cell}) <= {most}
        THEN {cell}
        ELSE trim({short}, {blanks})
    END
"""
NOT_PLAIN = "CASE WHEN plain IS NULL THEN {cell} END"


class CsvEngine:
    """The columns of one CSV file, or of several with the same header."""

    doubts: Sequence[str] = ()

    def __init__(
        self, paths: Sequence[str], types: Mapping[str, ColumnType], style: CsvFormat
    ) -> None:
        self._lines = CsvLines(paths, style)
        self._style = style
        self._delimiter = style.separator(paths[0])
        self._types = types
        self._computed: dict[str, Value] = {}
        self._max_text = MAX_TEXT
        self.names = list(types)
        if style.header:
            self.names = self._lines.names()
        if not self.names:
            raise InputError(
                "a CSV file without a header needs the names of all its columns, in order: "
                "columns={'first': None, ...}"
            )

    def type_of(self, column: str | None) -> ColumnType:
        """What was declared of a column; the file declares nothing."""
        if str(column) in self._computed:
            return self._computed[str(column)].type
        if self.names.count(str(column)) > 1:
            raise InputError(
                f"the header has more than one column {column!r}; rename all but one of them"
            )
        return self._types.get(str(column), UNTYPED)

    def with_max_text(self, max_text: int) -> CsvEngine:
        """The same file, whose cells of more characters cannot be read, whatever they are read
        as.
        """
        engine = copy(self)
        engine._max_text = max_text
        return engine

    def computed(self, columns: Mapping[str, Value]) -> CsvEngine:
        """The same file, which can also be asked about these columns."""
        engine = copy(self)
        engine._computed = {**self._computed, **columns}
        return engine

    def snapshot(self) -> AbstractContextManager[CsvEngine]:
        """The files themselves: each scan reads them anew."""
        return nullcontext(self)

    def windows(
        self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection = EVERY_ROW
    ) -> list[list[RankWindow]]:
        """For each group the window of each target."""

        def counted(lines: LineRelation) -> list[list[RankWindow]]:
            scan = self._scan(lines, str(column), grid, rows)
            return scan.engine.windows(scan.column, scan.grid, targets, scan.rows)

        return self._lines.read(counted)

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Any grid will do for cells; for values that are computed from them, one on which DuckDB
        can compute indexes.
        """
        if str(column) in self._computed:
            scan = self._scan(self._lines.as_they_are, str(column), grid, EVERY_ROW)
            scan.engine.check_indexed(scan.column, grid)

    def totals(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> list[Total]:
        """For each group how many cells count, and the sum of their indexes."""

        def counted(lines: LineRelation) -> list[Total]:
            scan = self._scan(lines, str(column), grid, rows)
            return scan.engine.totals(scan.column, scan.grid, scan.rows)

        return self._lines.read(counted)

    def square_totals(
        self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW
    ) -> list[SquareTotal]:
        """For each group how many cells count, the sum of their places, and of the squares."""

        def counted(lines: LineRelation) -> list[SquareTotal]:
            scan = self._scan(lines, str(column), grid, rows)
            return scan.engine.square_totals(scan.column, scan.grid, scan.rows)

        return self._lines.read(counted)

    def middle_totals(
        self, column: str | None, grid: Grid, ends: Sequence[Ends], rows: Selection = EVERY_ROW
    ) -> list[MiddleTotal]:
        """For each group how many cells lie below, above and between two ends of its own."""

        def counted(lines: LineRelation) -> list[MiddleTotal]:
            scan = self._scan(lines, str(column), grid, rows)
            return scan.engine.middle_totals(scan.column, scan.grid, ends, scan.rows)

        return self._lines.read(counted)

    def counts_below(
        self, column: str | None, grid: Grid, points: Indexes, rows: Selection = EVERY_ROW
    ) -> list[PointCounts]:
        """For each group how many cells lie below each of these grid points."""

        def counted(lines: LineRelation) -> list[PointCounts]:
            scan = self._scan(lines, str(column), grid, rows)
            return scan.engine.counts_below(scan.column, scan.grid, points, scan.rows)

        return self._lines.read(counted)

    def usual_range(
        self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW
    ) -> UsualRange | None:
        """Between which grid points nearly all cells lie."""

        def counted(lines: LineRelation) -> UsualRange | None:
            scan = self._scan(lines, str(column), grid, rows)
            return scan.engine.usual_range(scan.column, scan.grid, scan.rows)

        return self._lines.read(counted)

    def most_parts(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> int:
        """Into how many parts a scan may divide stretches."""
        scan = self._scan(self._lines.as_they_are, str(column), grid, rows)
        return scan.engine.most_parts(scan.column, scan.grid, scan.rows)

    def counts_inside(
        self, column: str | None, grid: Grid, stretches: Stretches, rows: Selection = EVERY_ROW
    ) -> Indexes:
        """For each group how many cells lie in each part of each stretch."""

        def counted(lines: LineRelation) -> Indexes:
            scan = self._scan(lines, str(column), grid, rows)
            return scan.engine.counts_inside(scan.column, scan.grid, stretches, scan.rows)

        return self._lines.read(counted)

    def sizes(self, column: str | None, rows: Selection = EVERY_ROW) -> list[int]:
        """For each group how many records there are, or how many in which a column has a cell."""

        def counted(lines: LineRelation) -> list[int]:
            typed, selected = self._typed(rows)
            if column is None:
                return self._engine(lines, typed).sizes(None, selected)
            if column in self._computed:
                return self._computing(lines, typed, column).sizes(VALUE, selected)
            present = typed.present(column, self.type_of(column))
            return self._engine(lines, typed).sizes(present, selected)

        return self._lines.read(counted)

    def key_sizes(self, rows: Selection) -> KeySizes:
        """The raw cells of a column, and how many records have each."""

        def counted(lines: LineRelation) -> KeySizes:
            typed, selected = self._typed(rows)
            return self._engine(lines, typed).key_sizes(selected)

        return self._lines.read(counted)

    def unit_counts(self, rows: Selection) -> list[int]:
        """For each group how many units have a record in it."""

        def counted(lines: LineRelation) -> list[int]:
            typed, selected = self._typed(rows)
            return self._engine(lines, typed).unit_counts(selected)

        return self._lines.read(counted)

    def matching(self, conditions: Sequence[Bound]) -> list[int]:
        """On how many records each condition holds, by one scan.

        One that looks at no column is judged on all lines, by another.
        """
        by_columns = [condition for condition in conditions if condition.inputs]
        numbers: Iterator[int] = iter(())
        if by_columns:
            numbers = iter(self._lines.read(lambda lines: self._matching(lines, by_columns)))
        every_line = 0
        if len(by_columns) < len(conditions):
            every_line = self._lines.read(_lines_that_matter)
        found = []
        for condition in conditions:
            if condition.inputs:
                found.append(next(numbers))
            else:
                found.append(every_line if condition.mask({})[0] else 0)
        return found

    def lost(self, read: Mapping[str, Bound], most: int) -> LostCells:
        """What is lost of lines and of cells, by one scan. Lines of several files have no numbers
        in common, so none is told.
        """
        from postri.engines.duckdb.lost import in_the_file

        lost = self._lines.read(lambda lines: self._lost(lines, read, most))
        return in_the_file(lost, self._lines.handed_over())

    def _lost(self, lines: LineRelation, read: Mapping[str, Bound], most: int) -> LostCells:
        from postri.engines.duckdb.lost import NUMBERED_LINES, NUMBERED_TEXTS, lost_of_lines

        typed = TypedRecords(self.names, self._style, self._computed)
        typed.read(wanted for condition in read.values() for wanted in condition.inputs)
        seen = {column: self.names.index(column) for column in read}
        places = sorted({*typed.text_places, *typed.cell_places, *seen.values()})
        blank = {column: f"blank{place}" for column, place in seen.items()}
        trimmed = [
            f"trim({self._cell(place)}, {literal(BLANKS)}) = '' AS {blank[column]}"
            for column, place in seen.items()
        ]
        texts = filled(
            NUMBERED_TEXTS,
            cells=", ".join([*self._texts(typed), *trimmed]),
            split=self._split(places),
            lines=filled(NUMBERED_LINES, lines=lines.relation),
            blanks=literal(BLANKS),
        )
        records = RecordSource(lines, lambda _: typed.relation(texts), typed.functions)
        conditions = {
            column: condition.sql(records.dialect, typed.inputs.__getitem__)
            for column, condition in read.items()
        }
        return lost_of_lines(records, records.relation, blank, conditions, most)

    def _matching(self, lines: LineRelation, conditions: Sequence[Bound]) -> list[int]:
        typed = TypedRecords(self.names, self._style, self._computed)
        typed.read(wanted for condition in conditions for wanted in condition.inputs)
        return self._engine(lines, typed).matching(conditions)

    def _scan(self, lines: LineRelation, column: str, grid: Grid, rows: Selection) -> CsvScan:
        """A column on a grid, and the rows that a question selects.

        Cells are indexes then; values that are computed are typed.
        """
        typed, selected = self._typed(rows)
        if column in self._computed:
            return CsvScan(self._computing(lines, typed, column), VALUE, grid, selected)
        index = typed.index(column, grid, whole=reads_whole(self.type_of(column), grid))
        # On this grid every whole number is its own index.
        own = replace(grid, kind="number", base=Fraction(0), step=Fraction(1))
        return CsvScan(self._engine(lines, typed), index, own, selected)

    def _typed(self, rows: Selection) -> tuple[TypedRecords, Selection]:
        typed = TypedRecords(self.names, self._style, self._computed)
        return typed, typed.select(rows)

    def _computing(self, lines: LineRelation, typed: TypedRecords, column: str) -> SqlEngine:
        value = self._computed[column]
        typed.read(value.inputs)
        return self._engine(lines, typed).computed({VALUE: value})

    def _engine(self, lines: LineRelation, typed: TypedRecords) -> SqlEngine:
        def records_of(relation: str) -> str:
            return typed.relation(self._records(relation, typed))

        source = RecordSource(lines, records_of, typed.functions)
        return SqlEngine(source, typed.types, typed.inputs, max_text=None)

    def _records(self, lines: str, typed: TypedRecords) -> str:
        """The texts that typed columns are read from, of a relation of lines."""
        split = self._split(sorted({*typed.text_places, *typed.cell_places}))
        counts = IS_RECORD
        records = RECORDS
        if typed.drops_other_lines:
            counts = "TRUE"
            records = RECORDS_AND_OTHERS
        place = typed.plain_place
        if place is None:
            relation = filled(records, split=split, lines=lines)
        elif typed.drops_other_lines and self._lines_are_cells:
            relation = filled(RECORDS_NOT_PLAIN, split=split, lines=self._with_plain("line", lines))
        else:
            relation = filled(records, split=split, lines=lines)
            relation = self._with_plain(f"record.cell{place}", relation)
        cells = self._texts(typed) or ["1 AS one"]
        return filled(TEXTS, cells=", ".join(cells), records=relation, counts=counts)

    @property
    def _lines_are_cells(self) -> bool:
        """Whether a line that is a whole number is a record of one cell."""
        return len(self.names) == 1 and self._delimiter not in SIGNS

    def _with_plain(self, text: str, relation: str) -> str:
        most = min(DIGITS, self._max_text)
        powers = ", ".join(f"CAST({10**digits} AS BIGINT)" for digits in range(most))
        return filled(WITH_PLAIN, text=text, most=most, powers=powers, relation=relation)

    def _texts(self, typed: TypedRecords) -> list[str]:
        """The texts that typed columns are read from: as they are, and without the blanks around
        them. One that is too long is as good as empty.
        """
        texts = [f"{self._short_cell(place)} AS text{place}" for place in typed.text_places]
        cells = {place: self._trimmed(place) for place in typed.cell_places}
        plain = typed.plain_place
        if plain is not None:
            cells[plain] = NOT_PLAIN.format(cell=cells[plain])
            texts.append("plain")
        return [*texts, *(f"{cell} AS cell{place}" for place, cell in cells.items())]

    def _trimmed(self, place: int) -> str:
        return filled(
            TRIMMED,
            cell=f"record.cell{place}",
            quote=literal(self._style.quote),
            most=self._max_text,
            short=self._short_cell(place),
            blanks=literal(BLANKS),
        )

    def _short_cell(self, place: int) -> str:
        return filled(SHORT_CELL, cell=self._cell(place), most=self._max_text)

    def _cell(self, place: int) -> str:
        """A cell without its quotes."""
        quote = self._style.quote
        cell = f"record.cell{place}"
        if not quote:
            return cell
        return filled(UNQUOTED, cell=cell, quote=literal(quote), two_quotes=literal(quote * 2))

    def _split(self, places: Sequence[int]) -> str:
        """A line, and some of its cells."""
        names = ["'line'", *(f"'cell{place}'" for place in places)]
        pattern = literal(self._pattern(places))
        return filled(SPLIT, longest=self._longest_line, pattern=pattern, names=", ".join(names))

    @property
    def _longest_line(self) -> int:
        """How many bytes a record may have: enough for every line whose cells can all be read."""
        longest_cell = MOST_BYTES * self._max_text + AROUND_CELL
        return max(ALWAYS_SPLIT, len(self.names) * longest_cell)

    def _pattern(self, places: Sequence[int]) -> str:
        """A line of as many well-formed cells as there are columns, with some of them in groups."""
        comma = _escaped(self._delimiter)
        quote = _escaped(self._style.quote)
        cell = f"[^{comma}]*"
        if quote:
            cell = f"(?:{quote}[^{quote}]*{quote})+|[^{quote}{comma}]*"
        cells = [f"({cell})" if i in places else f"(?:{cell})" for i in range(len(self.names))]
        return f"\\A({comma.join(cells)})\\z"


def _lines_that_matter(lines: LineRelation) -> int:
    statement = filled(LINES_THAT_MATTER, lines=lines.relation, blanks=literal(BLANKS))
    (found,) = lines.database.columns(statement)
    return int(found[0])


def _escaped(mark: str) -> str:
    """A character in a pattern; nothing where there is none."""
    if not mark:
        return ""
    return f"\\x{{{ord(mark):x}}}"


@dataclass(frozen=True)
class CsvScan:
    """What a question asks of typed records: a column, the grid that it is on, and the rows."""

    engine: SqlEngine
    column: str
    grid: Grid
    rows: Selection


@dataclass(frozen=True)
class RecordSource:
    """A relation of typed records, by the relation of their lines.

    Files without compression can be looked into for a sample. One scan reads all lines.
    """

    lines: LineRelation
    records_of: Callable[[str], str]
    functions: Mapping[str, Function]

    dialect = DuckDialect()

    @cached_property
    def relation(self) -> str:
        """All records."""
        return self.records_of(self.lines.relation)

    def snapshot(self) -> AbstractContextManager[RecordSource]:
        """The files themselves: each scan reads them anew."""
        return nullcontext(self)

    def statement(self, scan: Scan) -> str:
        """One pass in any case; where a sample tells which cells matter, few are gathered."""
        if scan.sampled:
            return listed(scan)
        return grouped(scan)

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns."""
        return self.lines.database.columns(query, functions=self.functions)

    def estimate(self) -> int:
        """By the size of the files and the lengths of some lines; 0 where these are unknown."""
        sample = self.lines.sample
        return sample.rows if sample else 0

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """One, where it tells enough of each group."""
        sample = self.lines.sample
        if sample and groups == 1:
            yield Sample(self.records_of(sample.relation), sample.share)
