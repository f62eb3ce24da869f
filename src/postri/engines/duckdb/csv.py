"""CSV files: a record is a line, a cell is text, and the one grammar reads it.

DuckDB hands over whole lines, and an anchored pattern splits each on its own. A line that does not
have as many well-formed cells as the header has names is dropped; whatever stands in it, no other
line is touched. (A CSV reader that follows quotes across lines would let one cell swallow the rows
of other people.)
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from postri.columns import UNTYPED, ColumnType
from postri.engines.duckdb.csv_cells import TypedRecords
from postri.engines.duckdb.dialect import DuckDialect
from postri.engines.duckdb.lost import (
    NUMBERED_LINES,
    NUMBERED_TEXTS,
    in_the_file,
    lost_of_lines,
)
from postri.engines.duckdb.source import Database, Function, literal
from postri.engines.grammar import BLANKS, reads_whole
from postri.engines.lost import LostCells
from postri.engines.resolve import CsvFormat
from postri.engines.rows import EVERY_ROW, Selection
from postri.engines.sql.dialect import filled
from postri.engines.sql.engine import SqlEngine
from postri.engines.sql.sampling import Sample
from postri.engines.sql.statements import grouped
from postri.errors import InputError
from postri.expressions import Bound, Value
from postri.grid import Grid
from postri.window import RankWindow, Target, Total

LONGEST_LINE = 2**21
# Two code points that no text may hold: one that never separates cells, one that never stands for
# null.
NEVER = "\U0010ffff"
NOWHERE = "\U0010fffe"
# What a computed column is called beside typed ones, whatever name it was given.
VALUE = "value"

# The lines of the files as one column of text. Lines that are too long or not UTF-8 are left out.
LINES = """
    read_csv(
        {files},
        columns = {{'line': 'VARCHAR'}},
        skip = {skip},
        delim = {never},
        nullstr = {nowhere},
        new_line = '\\n',
        max_line_size = {longest},
        quote = '',
        escape = '',
        comment = '',
        encoding = 'utf-8',
        compression = 'none',
        ignore_errors = True,
        auto_detect = False,
        header = False,
        strict_mode = False,
        null_padding = False,
        store_rejects = False,
        hive_partitioning = False,
        union_by_name = False,
        filename = False
    )
"""
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
SPLIT = "regexp_extract(line, {pattern}, [{names}])"
TEXTS = """
    (
        SELECT {cells}
        FROM {records}
        WHERE record.line <> ''
    ) AS texts
"""
UNQUOTED = """
    CASE WHEN starts_with({cell}, {quote})
        THEN replace({cell}[2:-2], {two_quotes}, {quote})
        ELSE {cell}
    END
"""


class CsvEngine:
    """The columns of one CSV file, or of several with the same header."""

    def __init__(
        self, paths: Sequence[str], types: Mapping[str, ColumnType], style: CsvFormat
    ) -> None:
        self._database = Database(paths)
        self._paths = paths
        self._style = style
        self._types = types
        self._computed: dict[str, Value] = {}
        self.names = list(types)
        if style.header:
            self.names = _header(paths[0], style)
            for other in paths[1:]:
                if _header(other, style) != self.names:
                    raise InputError(
                        f"{other!r} has other columns than {paths[0]!r}; files that are read "
                        "together must have the same header"
                    )
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
        scan = self._scan(str(column), grid, rows)
        return scan.engine.windows(scan.column, scan.grid, targets, scan.rows)

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Any grid will do for cells; for values that are computed from them, one on which DuckDB
        can compute indexes.
        """
        if str(column) in self._computed:
            scan = self._scan(str(column), grid, EVERY_ROW)
            scan.engine.check_indexed(scan.column, grid)

    def totals(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> list[Total]:
        """For each group how many cells count, and the sum of their indexes."""
        scan = self._scan(str(column), grid, rows)
        return scan.engine.totals(scan.column, scan.grid, scan.rows)

    def sizes(self, column: str | None, rows: Selection = EVERY_ROW) -> list[int]:
        """For each group how many records there are, or how many in which a column has a cell."""
        typed, selected = self._typed(rows)
        if column is None:
            return self._engine(typed).sizes(None, selected)
        if column in self._computed:
            return self._computing(typed, column).sizes(VALUE, selected)
        present = typed.present(column, self.type_of(column))
        return self._engine(typed).sizes(present, selected)

    def matching(self, conditions: Sequence[Bound]) -> list[int]:
        """On how many records each condition holds, by one scan.

        One that looks at no column is judged on all lines, by another.
        """
        typed = TypedRecords(self.names)
        by_columns = [condition for condition in conditions if condition.inputs]
        typed.read(wanted for condition in by_columns for wanted in condition.inputs)
        numbers: Iterator[int] = iter(())
        if by_columns:
            numbers = iter(self._engine(typed).matching(by_columns))
        lines = 0
        if len(by_columns) < len(conditions):
            lines = self._lines_that_matter()
        found = []
        for condition in conditions:
            if condition.inputs:
                found.append(next(numbers))
            else:
                found.append(lines if condition.mask({})[0] else 0)
        return found

    def lost(self, read: Mapping[str, Bound], most: int) -> LostCells:
        """What is lost of lines and of cells, by one scan. Lines of several files have no numbers
        in common, so none is told.
        """
        typed = TypedRecords(self.names)
        typed.read(wanted for condition in read.values() for wanted in condition.inputs)
        places = typed.places
        names = ", ".join(["'line'", *(f"'cell{place}'" for place in places)])
        texts = filled(
            NUMBERED_TEXTS,
            cells=", ".join(f"{self._cell(place)} AS cell{place}" for place in places),
            split=filled(SPLIT, pattern=literal(self._pattern(places)), names=names),
            lines=filled(NUMBERED_LINES, lines=self._lines()),
            blanks=literal(BLANKS),
        )
        records = RecordSource(self._database, typed.relation(texts), typed.functions)
        blank = {column: f"cell{self.names.index(column)} = ''" for column in read}
        conditions = {
            column: condition.sql(records.dialect, typed.inputs.__getitem__)
            for column, condition in read.items()
        }
        lost = lost_of_lines(records, records.relation, blank, conditions, most)
        return in_the_file(lost, self._lines_that_are_read())

    def _lines_that_are_read(self) -> Iterator[bool]:
        """For each line of the file whether it is among the lines that DuckDB hands over."""
        if len(self._paths) > 1:
            return
        with Path(self._paths[0]).open("rb") as file:
            for number, line in enumerate(file):
                is_header = number == 0 and self._style.header
                yield not is_header and _is_read(line.rstrip(b"\r\n"))

    def _lines_that_matter(self) -> int:
        statement = filled(LINES_THAT_MATTER, lines=self._lines(), blanks=literal(BLANKS))
        (lines,) = self._database.columns(statement)
        return int(lines[0])

    def _scan(self, column: str, grid: Grid, rows: Selection) -> CsvScan:
        """A column on a grid, and the rows that a question selects.

        Cells are indexes then; values that are computed are typed.
        """
        typed, selected = self._typed(rows)
        if column in self._computed:
            return CsvScan(self._computing(typed, column), VALUE, grid, selected)
        index = typed.index(column, grid, whole=reads_whole(self.type_of(column), grid))
        # On this grid every whole number is its own index.
        own = replace(grid, kind="number", base=Fraction(0), step=Fraction(1))
        return CsvScan(self._engine(typed), index, own, selected)

    def _typed(self, rows: Selection) -> tuple[TypedRecords, Selection]:
        typed = TypedRecords(self.names)
        return typed, typed.select(rows)

    def _computing(self, typed: TypedRecords, column: str) -> SqlEngine:
        value = self._computed[column]
        typed.read(value.inputs)
        return self._engine(typed).computed({VALUE: value})

    def _engine(self, typed: TypedRecords) -> SqlEngine:
        places = typed.places
        cells = [f"{self._cell(place)} AS cell{place}" for place in places]
        texts = filled(TEXTS, cells=", ".join(cells or ["1 AS one"]), records=self._records(places))
        source = RecordSource(self._database, typed.relation(texts), typed.functions)
        return SqlEngine(source, typed.types, typed.inputs)

    def _cell(self, place: int) -> str:
        """A cell without its quotes, and without the blanks around it."""
        quote = self._style.quote
        cell = f"record.cell{place}"
        if quote:
            cell = filled(UNQUOTED, cell=cell, quote=literal(quote), two_quotes=literal(quote * 2))
        return f"trim({cell}, {literal(BLANKS)})"

    def _records(self, places: Sequence[int]) -> str:
        names = ["'line'", *(f"'cell{place}'" for place in sorted(places))]
        pattern = literal(self._pattern(places))
        split = filled(SPLIT, pattern=pattern, names=", ".join(names))
        return filled(RECORDS, split=split, lines=self._lines())

    def _pattern(self, places: Sequence[int]) -> str:
        """A line of as many well-formed cells as there are columns, with some of them in groups."""
        comma = _escaped(self._style.delimiter)
        quote = _escaped(self._style.quote)
        cell = f"[^{comma}]*"
        if quote:
            cell = f"(?:{quote}[^{quote}]*{quote})+|[^{quote}{comma}]*"
        cells = [f"({cell})" if i in places else f"(?:{cell})" for i in range(len(self.names))]
        return f"\\A({comma.join(cells)})\\z"

    def _lines(self) -> str:
        return filled(
            LINES,
            files=f"[{', '.join(map(literal, self._paths))}]",
            skip=int(self._style.header),
            never=literal(NEVER),
            nowhere=literal(NOWHERE),
            longest=LONGEST_LINE,
        )


def _is_read(line: bytes) -> bool:
    """Whether a line is neither empty nor too long, and in UTF-8."""
    if not line or len(line) > LONGEST_LINE:
        return False
    with suppress(UnicodeDecodeError):
        line.decode("utf-8")
        return True
    return False


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
    """A relation of typed records.

    Lines must all be read to know any, so there is no sample, and one scan.
    """

    database: Database
    relation: str
    functions: Mapping[str, Function]

    dialect = DuckDialect()
    statement = staticmethod(grouped)

    def snapshot(self) -> AbstractContextManager[RecordSource]:
        """The files themselves: each scan reads them anew."""
        return nullcontext(self)

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns."""
        return self.database.columns(query, functions=self.functions)

    def estimate(self) -> int:
        """Nobody knows before a scan."""
        return 0

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """None."""
        yield from ()


def _header(path: str, style: CsvFormat) -> list[str]:
    """The names in the first line, which is public."""
    with Path(path).open("rb") as file:
        start = file.read(LONGEST_LINE)
    line = start.removeprefix(b"\xef\xbb\xbf").splitlines()[:1] or [b""]
    # What Python says of bytes that it cannot decode holds all of them, and in a file without a
    # header these are cells.
    with suppress(ValueError, csv.Error):
        text = line[0].decode("utf-8")
        # A quote that cannot occur in the line quotes nothing.
        (names,) = csv.reader(
            [text], delimiter=style.delimiter, quotechar=style.quote or "\x00", strict=True
        )
        return names
    raise InputError(
        f"the first line of {path!r} is not a header of names in UTF-8; write one, or declare "
        "columns with header=False"
    )
