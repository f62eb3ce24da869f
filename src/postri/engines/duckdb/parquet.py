"""Parquet files: typed columns, counted inside DuckDB.

A file may call a column text whose cells are no UTF-8: nobody checks that when it is written. So
texts are read twice, once with a `?` in place of each byte that is none and once without it. Where
the two differ, the cell cannot be read, and is dropped like any other that cannot. That is done
for the texts that a question looks at, whatever is in them: what a cell holds decides no path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from glob import escape
from itertools import count
from typing import Any

from numpy.typing import NDArray

from postri.columns import ColumnType
from postri.engines.duckdb.dialect import DuckDialect
from postri.engines.duckdb.lost import count_lost
from postri.engines.duckdb.source import (
    NUMBER_OF_ROWS,
    Database,
    fitting_size,
    literal,
    single_rows,
)
from postri.engines.lost import NOTHING, Lost, LostCells
from postri.engines.sql.dialect import filled
from postri.engines.sql.engine import Source, SqlEngine
from postri.engines.sql.sampling import Sample
from postri.engines.sql.statements import listed
from postri.errors import InputError
from postri.expressions import Bound, Value

# A sample is this many ranges of rows, with this many rows in all at least, and of each group. With
# twice as many ranges it takes twice as long: each row that is read is compared with all of them.
RANGES = 16
IN_RANGES = 1 << 17
IN_RANGES_OF_GROUP = 1 << 10
# What DuckDB calls the number of a row.
ROW_NUMBER = "file_row_number"
# What DuckDB calls texts.
TEXT = "VARCHAR"
# How many bytes DuckDB has for decimals of at most so many digits: a cell of more makes it fail.
DECIMAL_BYTES = {4: 2, 9: 4, 18: 8}
MILLISECONDS = "MILLIS=MilliSeconds"
INSTANTS = "{}, which cannot be read safely; store it in microseconds"
DECIMALS = "decimals {}, which cannot be read safely; store it in as few bytes as its digits need"

# How DuckDB reads a byte that is no UTF-8: as a question mark, or not at all.
MARKED = "replace"
LEFT_OUT = "ignore"
PARQUET_FILES = """
    read_parquet(
        {files}, hive_partitioning = false, {options}, utf8_validation = '{invalid}'
    )
"""
BY_PLACE = "union_by_name = false, filename = false"
# Both readings, row beside row: of each text the cells that are UTF-8.
DECODED = """
    (
        SELECT marked.* REPLACE ({texts}){more}
        FROM {marked} AS marked
            POSITIONAL JOIN {left_out} AS left_out
    ) AS decoded
"""
DECODED_TEXT = """
    CASE WHEN marked.{text} <> left_out.{text} THEN NULL ELSE marked.{text} END AS {text}
"""
NO_TEXT = "marked.{text} <> left_out.{text} AS {name}"
SAMPLED_RANGES = "(SELECT * FROM {numbered} WHERE {ranges}) AS sampled"
STORED_TYPES = """
    SELECT coalesce(converted_type, '') || ' ' || coalesce(logical_type, ''), coalesce(type, ''),
        coalesce(try_cast(type_length AS BIGINT), 0), coalesce(precision, 0)
    FROM parquet_schema({files})
    WHERE name = ?
"""
# The columns of each file and what is nested in them, in the order of its schema.
DECLARED_TYPES = """
    SELECT name, coalesce(num_children, 0) AS inner_columns, coalesce(duckdb_type, '') AS declared
    FROM parquet_schema({files})
    ORDER BY file_name, column_id
"""


class ParquetSource:
    """The rows of one Parquet file, or of several that are laid out alike."""

    dialect = DuckDialect()
    statement = staticmethod(listed)

    def __init__(self, paths: list[str], options: str = BY_PLACE) -> None:
        self.number = len(paths)
        # DuckDB takes a name with certain signs for a pattern, which may mean other files.
        plain = list(map(escape, paths))
        self.files = f"[{', '.join(map(literal, plain))}]"
        self.database = Database(list(dict.fromkeys([*paths, *plain])))
        reading = partial(filled, PARQUET_FILES, files=self.files, options=options)
        self.marked = reading(invalid=MARKED)
        self.left_out = reading(invalid=LEFT_OUT)
        self.relation = self.marked

    def types(self) -> dict[str, str]:
        """The names and declared types of the columns."""
        return dict(self.database.schema(f"SELECT * FROM {self.relation}"))

    @cached_property
    def declared(self) -> dict[str, set[str]]:
        """By its name in small letters, the types that the files declare for each column."""
        types: dict[str, set[str]] = {}
        # How many columns are still to come, of the file and of each one that is being listed.
        to_come: list[int] = []
        listed_columns = self.columns(filled(DECLARED_TYPES, files=self.files))
        for name, inner_columns, declared in zip(*listed_columns, strict=True):
            while to_come and not to_come[-1]:
                to_come.pop()
            if to_come:
                to_come[-1] -= 1
            if len(to_come) == 1:
                types.setdefault(str(name).lower(), set()).add(str(declared))
            if inner_columns:
                to_come.append(int(inner_columns))
        return types

    def whole(self, rows: str, more: Sequence[str] = ()) -> str:
        """Rows of a reading as they stand in the table, with the columns that the reading adds."""
        return rows

    @property
    def numbered(self) -> str:
        """The same rows with their numbers in their files, from 0 on; texts are not decoded."""
        return self.marked.removesuffix(")") + f", {ROW_NUMBER} = true)"

    def decoding(self, texts: Sequence[str]) -> ParquetSource:
        """The same rows, with these texts decoded."""
        if not texts:
            return self
        source = copy(self)
        source.relation = self.whole(self.decoded(self.marked, texts))
        return source

    def decoded(self, marked: str, texts: Sequence[str], names: Sequence[str] = ()) -> str:
        """The rows of a reading with these texts decoded, and under these names whether each is
        there but no text.
        """
        quoted = [self.dialect.name(text) for text in texts]
        more = [
            filled(NO_TEXT, text=text, name=self.dialect.name(name))
            for text, name in zip(quoted, names, strict=False)
        ]
        return filled(
            DECODED,
            texts=", ".join(filled(DECODED_TEXT, text=text) for text in quoted),
            more="".join(f", {each}" for each in more),
            marked=marked,
            left_out=self.left_out,
        )

    def snapshot(self) -> AbstractContextManager[ParquetSource]:
        """The files themselves: each query reads them anew."""
        return nullcontext(self)

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns."""
        return self.database.columns(query)

    def estimate(self) -> int:
        """Files tell their sizes."""
        return int(self.columns(NUMBER_OF_ROWS.format(relation=self.relation))[0][0])

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """Ranges of rows that lie evenly in each file: only their row groups are read.

        Then single rows. Their texts are not decoded: a sample may be wrong about a few rows.
        """
        wanted = max(IN_RANGES, IN_RANGES_OF_GROUP * groups, fitting_size(rows))
        size = min(rows, wanted)
        length = size // (RANGES * self.number)
        rows_of_file = rows // self.number
        starts = [i * rows_of_file // RANGES for i in range(RANGES)]
        ranges = [f"{ROW_NUMBER} BETWEEN {start} AND {start + length}" for start in starts]
        sampled = filled(SAMPLED_RANGES, numbered=self.numbered, ranges=" OR ".join(ranges))
        yield Sample(self.whole(sampled), size / rows)
        single = single_rows(self.marked, rows, groups)
        yield replace(single, relation=self.whole(single.relation))


class ParquetEngine(SqlEngine):
    """The columns of Parquet files."""

    def __init__(self, files: ParquetSource) -> None:
        self._files = files
        super().__init__(files, files.types())
        self._declared = files.declared if files.number > 1 else {}
        # The columns that each computed one is computed from.
        self._inputs: Mapping[str, Collection[str]] = {}

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        declared = super().type_of(column)
        several = sorted(self._declared.get(str(column).lower(), ()))
        if len(several) > 1:
            # DuckDB would convert the cells of one file, which fails on some.
            raise InputError(
                f"the files declare the column {column!r} with several types, "
                f"{' and '.join(several)}; write them with one"
            )
        if declared.kind == "timestamp" or declared.name.startswith("decimal"):
            self._check_stored(str(column))
        return declared

    def computed(self, columns: Mapping[str, Value]) -> ParquetEngine:
        """The same files, which can also be asked about these columns."""
        engine = super().computed(columns)
        inputs = {
            name: [wanted.column for wanted in value.inputs] for name, value in columns.items()
        }
        engine._inputs = {**self._inputs, **inputs}
        return engine

    @contextmanager
    def _still(self, columns: Collection[str]) -> Iterator[Source]:
        """The files, with the texts among these columns decoded."""
        read = {own for column in columns for own in self._inputs.get(column, [column])}
        yield self._files.decoding(self._texts(read))

    def _texts(self, columns: Collection[str]) -> list[str]:
        return [name for name in self.names if name in columns and self._types[name] == TEXT]

    def lost(self, read: Mapping[str, Bound], most: int) -> LostCells:
        """The cells that are null, and those that are no text, by one scan. Rows of several files
        have no numbers in common, so none is told.
        """
        files = self._files
        texts = self._texts(read)
        # A column of that name holds cells, which must not be told.
        has_numbers = files.number == 1 and ROW_NUMBER not in self.names
        relation, number = files.marked, "0"
        more = []
        if has_numbers:
            relation, number = files.numbered, f"{ROW_NUMBER} + 1"
            more.append(ROW_NUMBER)
        marks = dict(zip(texts, self._unused_names(), strict=False))
        if texts:
            relation = files.decoded(relation, texts, list(marks.values()))
        relation = files.whole(relation, [*more, *marks.values()])
        rows, lost = count_lost(files, relation, number, self._losses(read, marks), most)
        if not has_numbers:
            lost = [Lost(each.count) for each in lost]
        empty = dict(zip(read, lost[::2], strict=True))
        unreadable = dict(zip(read, lost[1::2], strict=True))
        return LostCells(rows, NOTHING, empty, unreadable)

    def _losses(self, read: Mapping[str, Bound], marks: Mapping[str, str]) -> Iterator[str]:
        """On which rows each column has no cell, and has one that is no text."""
        dialect = self._files.dialect
        for column, condition in read.items():
            no_text = "FALSE"
            if column in marks:
                no_text = f"coalesce({dialect.name(marks[column])}, FALSE)"
            yield f"NOT {condition.sql(dialect, self._input_cells)} AND NOT {no_text}"
            yield no_text

    def _unused_names(self) -> Iterator[str]:
        """Names that no column has, however it is written."""
        taken = {name.lower() for name in self.names}
        return (name for name in map("no text {}".format, count()) if name not in taken)

    def _check_stored(self, column: str) -> None:
        """Refuse, by their declared type, cells that DuckDB converts while it reads where that
        fails on some.
        """
        found = self._files.database.columns(
            filled(STORED_TYPES, files=self._files.files), [column]
        )
        for meaning, stored, width, digits in zip(*found, strict=True):
            unsafe = _unsafe(str(meaning), str(stored), int(width), int(digits))
            if unsafe:
                raise InputError(f"the column {column!r} is stored as {unsafe}")


def _unsafe(meaning: str, stored: str, width: int, digits: int) -> str:
    """What is stored, and what to do, if reading it may fail on a cell; nothing if it cannot."""
    if stored == "INT96":
        return INSTANTS.format("INT96 timestamps")
    if "TIMESTAMP_MILLIS" in meaning or MILLISECONDS in meaning:
        return INSTANTS.format("timestamps in milliseconds")
    if digits and stored == "BYTE_ARRAY":
        return DECIMALS.format("of any length")
    room = min((room for most, room in DECIMAL_BYTES.items() if digits <= most), default=width)
    if digits and width > room:
        return DECIMALS.format(f"of {width} bytes for {digits} digits")
    return ""
