"""CSV files: a record is a line, a cell is text, and the one grammar reads it.

DuckDB hands over whole lines, and an anchored pattern splits each on its own. A line that does not
have as many well-formed cells as the header has names is dropped; whatever stands in it, no other
line is touched. (A CSV reader that follows quotes across lines would let one cell swallow the rows
of other people.)
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from postri.columns import UNTYPED, ColumnType
from postri.engines.base import CsvFormat
from postri.engines.csv_cells import TypedRecords
from postri.engines.dialects.duckdb import DuckDialect
from postri.engines.duckdb import Database, Function, literal
from postri.engines.grammar import BLANKS
from postri.engines.held import reads_whole
from postri.engines.rows import EVERY_ROW, Selection
from postri.engines.scans import Sample, SqlEngine
from postri.engines.statements import grouped
from postri.errors import InputError
from postri.expressions import Bound, Value
from postri.grid import Grid
from postri.window import RankWindow, Target, Total

LONGEST_LINE = 2**21
# Two code points that no text may hold: one that never separates cells, one that never stands for
# null.
NEVER, NOWHERE = "\U0010ffff", "\U0010fffe"
# What a computed column is called beside typed ones, whatever name it was given.
VALUE = "value"


class CsvEngine:
    """The columns of one CSV file, or of several with the same header."""

    def __init__(
        self, paths: Sequence[str], types: Mapping[str, ColumnType], style: CsvFormat
    ) -> None:
        self._database = Database(paths)
        self._paths, self._style, self._types = paths, style, types
        self.names = _header(paths[0], style) if style.header else list(types)
        for other in paths[1:] if style.header else ():
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
        self._computed: dict[str, Value] = {}

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

    def windows(
        self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection = EVERY_ROW
    ) -> list[list[RankWindow]]:
        """For each group the window of each target."""
        asked = self._asked(str(column), grid, rows)
        return asked.engine.windows(asked.column, asked.grid, targets, asked.rows)

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Any grid will do for cells; for values that are computed from them, one on which DuckDB
        can compute indexes.
        """
        if str(column) in self._computed:
            asked = self._asked(str(column), grid, EVERY_ROW)
            asked.engine.check_indexed(asked.column, grid)

    def totals(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> list[Total]:
        """For each group how many cells count, and the sum of their indexes."""
        asked = self._asked(str(column), grid, rows)
        return asked.engine.totals(asked.column, asked.grid, asked.rows)

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
        typed, decided = (
            TypedRecords(self.names),
            [condition for condition in conditions if condition.inputs],
        )
        typed.read(wanted for condition in decided for wanted in condition.inputs)
        numbers = iter(self._engine(typed).matching(decided) if decided else ())
        lines = self._lines_that_matter() if len(decided) < len(conditions) else 0
        return [
            next(numbers) if condition.inputs else lines if condition.mask({})[0] else 0
            for condition in conditions
        ]

    def _lines_that_matter(self) -> int:
        """All lines but empty ones, whether they are records or not."""
        (lines,) = self._database.columns(
            f"SELECT count(*) AS lines FROM {self._lines()} WHERE trim(line, "
            f"{literal(BLANKS)}) <> ''"
        )
        return int(lines[0])

    def _asked(self, column: str, grid: Grid, rows: Selection) -> Asked:
        """A column on a grid, and the rows that a question selects.

        Cells are indexes then; values that are computed are typed.
        """
        typed, selected = self._typed(rows)
        if column in self._computed:
            return Asked(self._computing(typed, column), VALUE, grid, selected)
        index = typed.index(column, grid, whole=reads_whole(self.type_of(column), grid))
        # On this grid every whole number is its own index.
        return Asked(
            self._engine(typed),
            index,
            replace(grid, kind="number", base=Fraction(0), step=Fraction(1)),
            selected,
        )

    def _typed(self, rows: Selection) -> tuple[TypedRecords, Selection]:
        typed = TypedRecords(self.names)
        return typed, typed.select(rows)

    def _computing(self, typed: TypedRecords, column: str) -> SqlEngine:
        value = self._computed[column]
        typed.read(value.inputs)
        return self._engine(typed).computed({VALUE: value})

    def _engine(self, typed: TypedRecords) -> SqlEngine:
        places = typed.places
        cells = ", ".join(f"{self._cell(place)} AS cell{place}" for place in places) or "1 AS one"
        texts = f"(SELECT {cells} FROM {self._records(places)} WHERE record.line <> '') AS texts"
        return SqlEngine(
            Records(self._database, typed.relation(texts), typed.functions),
            typed.types,
            typed.inputs,
        )

    def _cell(self, place: int) -> str:
        """A cell without its quotes, and without the blanks around it."""
        quote, cell = self._style.quote, f"record.cell{place}"
        if quote:
            inside = f"replace({cell}[2:-2], {literal(quote * 2)}, {literal(quote)})"
            cell = f"CASE WHEN starts_with({cell}, {literal(quote)}) THEN {inside} ELSE {cell} END"
        return f"trim({cell}, {literal(BLANKS)})"

    def _records(self, places: Sequence[int]) -> str:
        """Each line with some of its cells; all are empty where the line is not a record."""
        names = ["'line'", *(f"'cell{place}'" for place in sorted(places))]
        split = (
            f"{{'record': regexp_extract(line, {literal(self._pattern(places))}, "
            f"[{', '.join(names)}])}}"
        )
        # The list keeps DuckDB from evaluating the pattern a second time in a filter.
        return (
            f"(SELECT unnest([{split}], recursive := false).record AS record FROM {self._lines()})"
        )

    def _pattern(self, places: Sequence[int]) -> str:
        """A line of as many well-formed cells as there are columns, with some of them in groups."""
        comma, quote = (
            f"\\x{{{ord(mark):x}}}" if mark else ""
            for mark in (self._style.delimiter, self._style.quote)
        )
        cell = f"(?:{quote}[^{quote}]*{quote})+|[^{quote}{comma}]*" if quote else f"[^{comma}]*"
        cells = [f"({cell})" if i in places else f"(?:{cell})" for i in range(len(self.names))]
        return f"\\A({comma.join(cells)})\\z"

    def _lines(self) -> str:
        """The lines of the file as one column of text; lines that are too long or not UTF-8 are
        left out.
        """
        options = {
            "columns": "{'line': 'VARCHAR'}",
            "skip": int(self._style.header),
            "delim": literal(NEVER),
            "nullstr": literal(NOWHERE),
            "new_line": r"'\n'",
            "max_line_size": LONGEST_LINE,
            **dict.fromkeys(("quote", "escape", "comment"), "''"),
            "encoding": "'utf-8'",
            "compression": "'none'",
            "ignore_errors": True,
            **dict.fromkeys(
                (
                    "auto_detect",
                    "header",
                    "strict_mode",
                    "null_padding",
                    "store_rejects",
                    "hive_partitioning",
                    "union_by_name",
                    "filename",
                ),
                False,
            ),
        }
        return (
            f"read_csv([{', '.join(map(literal, self._paths))}], "
            f"{', '.join(f'{name} = {value}' for name, value in options.items())})"
        )


@dataclass(frozen=True)
class Asked:
    """What a question asks of typed records: a column, the grid that it is on, and the rows."""

    engine: SqlEngine
    column: str
    grid: Grid
    rows: Selection


@dataclass(frozen=True)
class Records:
    """A relation of typed records.

    Lines must all be read to know any, so there is no sample, and one scan.
    """

    database: Database
    relation: str
    functions: Mapping[str, Function]

    dialect = DuckDialect()
    statement = staticmethod(grouped)

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
