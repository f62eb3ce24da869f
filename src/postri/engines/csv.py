"""CSV files: a record is a line, a cell is text, and the one grammar reads it.

DuckDB hands over whole lines, and an anchored pattern splits each on its own. A line that does not have as many well-formed cells as the
header has names is dropped; whatever stands in it, no other line is touched. (A CSV reader that follows quotes across lines would let one
cell swallow the rows of other people.)
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.columns import UNTYPED, ColumnType
from postri.engines.base import Counts, CsvFormat, Target, Total, tally
from postri.engines.csv_indexes import COLUMNS, USUAL_AND_RARE, indexes_of
from postri.engines.dialects.duckdb import DuckDialect
from postri.engines.duckdb import Database, literal
from postri.engines.grammar import BLANKS, read_index
from postri.engines.held import Ordered, UntypedColumn, chosen_rows, computed_column, present_rows, reads_whole
from postri.engines.reading import Reading
from postri.engines.rows import EVERY_ROW, Selection
from postri.engines.scans import Sample, SqlEngine
from postri.engines.statements import grouped
from postri.errors import InputError
from postri.grid import Grid
from postri.predicates import Bound, Value
from postri.window import Indexes, RankWindow, trim

LONGEST_LINE = 2**21
# Two code points that no text may hold: one that never separates cells, one that never stands for null.
NEVER, NOWHERE = "\U0010ffff", "\U0010fffe"
# Most numbers are read inside DuckDB, as whole multiples of 1 or of a millionth. The casts below never fail on what matches.
WHOLE, DECIMAL, MILLIONTH = "[+-]?[0-9]{1,18}", "[+-]?[0-9]{1,12}[.][0-9]{1,6}", Fraction(1, 10**6)

MILLIONTHS = "CAST(TRY_CAST(cell AS DECIMAL(18,6)) AS DECIMAL(38,6)) * CAST(1000000 AS DECIMAL(38,0))"


class CsvEngine:
    """The columns of one CSV file, or of several with the same header."""

    def __init__(self, paths: Sequence[str], types: Mapping[str, ColumnType], style: CsvFormat) -> None:
        self._database = Database(paths)
        self._paths, self._style, self._types = paths, style, types
        self.names = _header(paths[0], style) if style.header else list(types)
        for other in paths[1:] if style.header else ():
            if _header(other, style) != self.names:
                raise InputError(f"{other!r} has other columns than {paths[0]!r}; files that are read together must have the same header")
        if not self.names:
            raise InputError("a CSV file without a header needs the names of all its columns, in order: columns={'first': None, ...}")
        self._computed: dict[str, Value] = {}
        self._counted: tuple[tuple[str | None, Grid, Selection], list[RankWindow]] | None = None

    def type_of(self, column: str | None) -> ColumnType:
        """What was declared of a column; the file declares nothing."""
        if str(column) in self._computed:
            return self._computed[str(column)].type
        if self.names.count(str(column)) > 1:
            raise InputError(f"the header has more than one column {column!r}; rename all but one of them")
        return self._types.get(str(column), UNTYPED)

    def computed(self, columns: Mapping[str, Value]) -> CsvEngine:
        """The same file, which can also be asked about these columns."""
        engine = copy(self)
        engine._computed, engine._counted = {**self._computed, **columns}, None
        return engine

    def windows(self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection = EVERY_ROW) -> list[list[RankWindow]]:
        """For each group the window of each target: counted inside DuckDB if all cells have a usual form, else by distinct cells."""
        if rows.plain and (windows := self._usual(str(column), grid, targets)):
            return [windows]
        return [[trim(window, target.p, target.half) for target in targets] for window in self._whole(str(column), grid, rows)]

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Any grid will do: indexes are Python's numbers here."""

    def totals(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> list[Total]:
        """For each group how many cells count, and the sum of their indexes."""
        if rows.plain and (engine := self._indexed(str(column), grid)):
            usual, rare = engine.totals("index", _own(grid), USUAL_AND_RARE)
            if rare.n == 0:
                return [usual]
        return [_total(window) for window in self._whole(str(column), grid, rows)]

    def sizes(self, column: str | None, rows: Selection = EVERY_ROW) -> list[int]:
        """For each group how many records there are, or how many in which a column has a cell."""
        columns, counts = self._distinct([*([] if column is None else [column]), *rows.columns], rows)
        present = np.ones(len(counts), np.bool_) if column is None else columns[column].present()
        return [int(counts[here].sum()) for here in present_rows(rows, columns.__getitem__, present)]

    def matching(self, conditions: Sequence[Bound]) -> list[int]:
        """On how many rows each condition holds. One that looks at no column is judged on all lines, also on those that are no record."""
        alike = groupby(conditions, key=lambda condition: tuple(dict.fromkeys(wanted.column for wanted in condition.inputs)))
        return [number for names, group in alike for number in self._matching(names, list(group))]

    def _matching(self, names: Sequence[str], conditions: Sequence[Bound]) -> list[int]:
        """The same of conditions that look at the same columns: distinct records are judged one by one."""
        if not names:
            (lines,) = self._database.columns(f"SELECT count(*) AS lines FROM {self._lines()} WHERE trim(line, {literal(BLANKS)}) <> ''")
            return [int(lines[0]) if condition.mask({})[0] else 0 for condition in conditions]
        columns, counts = self._distinct(names, EVERY_ROW)
        masks = [condition.mask({wanted: columns[wanted.column].vector(wanted) for wanted in condition.inputs}) for condition in conditions]
        return [int(counts[mask].sum()) for mask in masks]

    def _indexed(self, column: str, grid: Grid) -> SqlEngine | None:
        """The column as a table of indexes and rare cells inside DuckDB; None on a grid that suits no usual form, and if it is computed."""
        if grid.kind == "timestamp" or column in self._computed:
            return None
        place = self.names.index(column)
        cells = f"SELECT {self._cell(place)} AS cell FROM {self._records([place])} WHERE record.line <> ''"
        relation = indexes_of(cells, grid, whole=reads_whole(self.type_of(column), grid))
        return None if relation is None else SqlEngine(Indexed(self._database, f"{relation} AS indexed"), COLUMNS)

    def _usual(self, column: str, grid: Grid, targets: Sequence[Target]) -> list[RankWindow] | None:
        """The windows from one scan that returns no more than they hold; None if some cells are rare."""
        engine = self._indexed(column, grid)
        if engine is None:
            return None
        usual, rare = engine.windows("index", _own(grid), targets, USUAL_AND_RARE)
        return usual if rare[0].n == 0 else None

    def _whole(self, column: str, grid: Grid, rows: Selection) -> list[RankWindow]:
        """All counts of each group; kept for the next question about the same."""
        key = (column, grid, rows)
        if self._counted is None or self._counted[0] != key:
            self._counted = (
                key,
                [self._count(column, grid)] if rows.plain and column not in self._computed else self._count_chosen(column, grid, rows),
            )
        return self._counted[1]

    def _count_chosen(self, column: str, grid: Grid, rows: Selection) -> list[RankWindow]:
        """The counts of each group: distinct records, as far as they matter, are judged one by one."""
        columns, counts = self._distinct([column, *rows.columns], rows)
        indexes = columns[column].indexes(grid)
        found = np.array([-1 if index is None else 0 for index in indexes])
        windows = []
        for here in chosen_rows(rows, columns.__getitem__, columns[column], grid):
            kept = here[found[here] == 0]
            atoms = tally(np.array([indexes[place] for place in kept], np.int64), counts[kept])
            windows.append(RankWindow(*atoms, 0, int(counts[kept].sum())))
        return windows

    def _distinct(self, wanted: Sequence[str], rows: Selection) -> tuple[dict[str, Ordered], Indexes]:
        """Distinct records of some columns, or of what those read that are computed, and how many there are of each."""
        computed = [name for name in wanted if name in self._computed]
        names = list(dict.fromkeys(own for name in wanted for own in (self._computed[name].columns if name in computed else [name])))
        *texts, counts = self._database.columns(self._records_query([self.names.index(name) for name in names]))
        if rows.units is not None:
            # Of records that are alike, no more than these stay.
            times = np.minimum(counts, rows.units.rows)
            texts, counts = [np.repeat(cells, times) for cells in texts], np.ones(int(times.sum()), np.int64)
        columns: dict[str, Ordered] = {
            name: UntypedColumn(self.type_of(name), [cell or None for cell in cells]) for name, cells in zip(names, texts, strict=True)
        }
        return {**columns, **{name: computed_column(self._computed[name], columns.__getitem__) for name in computed}}, counts

    def _count(self, column: str, grid: Grid) -> RankWindow:
        whole = reads_whole(self.type_of(column), grid)
        kinds, numbers, texts, counts = self._database.columns(self._query(self.names.index(column)))
        parts = [_read_texts(texts[kinds == "text"], counts[kinds == "text"], grid, whole)]
        # On a calendar a number means nothing.
        for kind, unit in (("whole", Fraction(1)), ("decimal", MILLIONTH)) if grid.kind == "number" else ():
            parts.append(_read_numbers(numbers[kinds == kind], counts[kinds == kind], Reading(grid, unit), whole))
        indexes, rows = (np.concatenate(column) for column in zip(*parts, strict=True))
        return RankWindow(*tally(indexes, rows), 0, int(rows.sum()))

    def _query(self, place: int) -> str:
        """Every distinct cell of a column with its count: read as a number of units, or as text."""
        cells = f"SELECT {self._cell(place)} AS cell FROM {self._records([place])} WHERE record.line <> ''"
        return f"""
            SELECT
                CASE WHEN regexp_full_match(cell, '{WHOLE}') THEN 'whole' WHEN regexp_full_match(cell, '{DECIMAL}') THEN 'decimal'
                    ELSE 'text' END AS kind,
                CASE kind WHEN 'whole' THEN TRY_CAST(cell AS BIGINT) WHEN 'decimal' THEN TRY_CAST({MILLIONTHS} AS BIGINT)
                    ELSE 0 END AS number,
                CASE kind WHEN 'text' THEN cell ELSE '' END AS text,
                count(*) AS rows
            FROM ({cells})
            WHERE cell <> ''
            GROUP BY ALL"""

    def _records_query(self, places: Sequence[int]) -> str:
        """Every distinct record of some columns with its count."""
        cells = "".join(f"{self._cell(place)} AS cell{i}, " for i, place in enumerate(places))
        return f"SELECT {cells}count(*) AS rows FROM {self._records(places)} WHERE record.line <> ''{' GROUP BY ALL' if places else ''}"

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
        split = f"{{'record': regexp_extract(line, {literal(self._pattern(places))}, [{', '.join(names)}])}}"
        # The list keeps DuckDB from evaluating the pattern a second time in a filter.
        return f"(SELECT unnest([{split}], recursive := false).record AS record FROM {self._lines()})"

    def _pattern(self, places: Sequence[int]) -> str:
        """A line of as many well-formed cells as there are columns, with some of them in groups."""
        comma, quote = (f"\\x{{{ord(mark):x}}}" if mark else "" for mark in (self._style.delimiter, self._style.quote))
        cell = f"(?:{quote}[^{quote}]*{quote})+|[^{quote}{comma}]*" if quote else f"[^{comma}]*"
        cells = [f"({cell})" if i in places else f"(?:{cell})" for i in range(len(self.names))]
        return f"\\A({comma.join(cells)})\\z"

    def _lines(self) -> str:
        """The lines of the file as one column of text; lines that are too long or not UTF-8 are left out."""
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
                ("auto_detect", "header", "strict_mode", "null_padding", "store_rejects", "hive_partitioning", "union_by_name", "filename"),
                False,
            ),
        }
        return f"read_csv([{', '.join(map(literal, self._paths))}], {', '.join(f'{name} = {value}' for name, value in options.items())})"


@dataclass(frozen=True)
class Indexed:
    """A relation of indexes. Lines must all be read to know any, so there is no sample, and one scan."""

    database: Database
    relation: str

    dialect = DuckDialect()
    statement = staticmethod(grouped)

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns."""
        return self.database.columns(query)

    def estimate(self) -> int:
        """Nobody knows before a scan."""
        return 0

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """None."""
        yield from ()


def _own(grid: Grid) -> Grid:
    """For cells that are indexes by now: a grid on which every whole number is its own index."""
    return replace(grid, kind="number", base=Fraction(0), step=Fraction(1))


def _total(window: RankWindow) -> Total:
    """The total of a window that holds everything."""
    return Total(window.n, sum(int(index) * int(count) for index, count in zip(window.indexes, window.counts, strict=True)))


def _read_numbers(numbers: NDArray[np.int64], rows: Indexes, reading: Reading, whole: bool) -> Counts:
    if whole and reading.unit == MILLIONTH:
        kept = numbers % 10**6 == 0
        numbers, rows = numbers[kept], rows[kept]
    return reading.indexes(numbers), rows


def _read_texts(texts: Sequence[str], rows: Indexes, grid: Grid, whole: bool) -> Counts:
    found = [(index, count) for text, count in zip(texts, rows, strict=True) if (index := read_index(text, grid, whole=whole)) is not None]
    indexes, counts = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return indexes, counts


def _header(path: str, style: CsvFormat) -> list[str]:
    """The names in the first line, which is public."""
    with Path(path).open("rb") as file:
        start = file.read(LONGEST_LINE)
    line = start.removeprefix(b"\xef\xbb\xbf").splitlines()[:1] or [b""]
    # What Python says of bytes that it cannot decode holds all of them, and in a file without a header these are cells.
    with suppress(ValueError, csv.Error):
        text = line[0].decode("utf-8")
        # A quote that cannot occur in the line quotes nothing.
        (names,) = csv.reader([text], delimiter=style.delimiter, quotechar=style.quote or "\x00", strict=True)
        return names
    raise InputError(f"the first line of {path!r} is not a header of names in UTF-8; write one, or declare columns with header=False")
