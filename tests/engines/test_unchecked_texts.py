"""A text that is not UTF-8 is an unreadable cell in files of Parquet and in columns of Arrow:
whatever is asked, it fails on no table, and the cell is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import postri
from postri import AddOrRemoveUnits, Domain, SeededCoins
from postri.engines.rows import Groups, Rows, Units
from postri.engines.table import Table
from postri.expressions import Predicate
from postri.policy import look_at_file
from proving import sized
from services.real_tables import HAS_CLICKHOUSE, chdb_connection

pytestmark = pytest.mark.slow

# By RFC 3629: a byte that never occurs, a sequence that ends early, one without its start, one that
# is too long for its sign, half of a pair of UTF-16, a sign beyond the last one.
INVALID = {
    "never a byte": b"\xff\xfe",
    "cut off": b"abc\xe2\x82",
    "without a start": b"\x80abc",
    "too long": b"\xc0\x80",
    "half of a pair": b"\xed\xa0\x80",
    "beyond the last": b"\xf5\x80\x80\x80",
    "beside good ones": "long enough to lie in a buffer of its own, é".encode() + b"\xff",
}
KEYS = ["red", "blé", "", "?", "a?b"]
# Texts that look like what a decoder may make of bytes that it cannot read.
TEXTS = [*KEYS, "??", "abc", "abc??", "\ufffd", "a\0b", None, "red", "long" * 20]


def unchecked(cells: list[bytes | None], kind: pa.DataType) -> pa.Array:
    """A column of texts over any bytes, as a program makes it that checks nothing."""
    data = b"".join(cell or b"" for cell in cells)
    ends = np.cumsum([0, *(len(cell or b"") for cell in cells)])
    width = np.int64 if kind == pa.large_string() else np.int32
    valid = np.packbits([cell is not None for cell in cells], bitorder="little")
    buffers = [valid.tobytes(), ends.astype(width).tobytes(), data]
    return pa.Array.from_buffers(kind, len(cells), list(map(pa.py_buffer, buffers)))


def as_string(cells: list[bytes | None]) -> pa.Array:
    return unchecked(cells, pa.string())


def as_large_string(cells: list[bytes | None]) -> pa.Array:
    return unchecked(cells, pa.large_string())


def as_view(cells: list[bytes | None]) -> pa.Array:
    return as_string(cells).cast(pa.string_view())


def as_dictionary(cells: list[bytes | None]) -> pa.Array:
    """One whose places of missing texts are anything."""
    known = as_string([cell or b"" for cell in cells])
    places = pa.array([None if cell is None else i for i, cell in enumerate(cells)], pa.int16())
    return pa.DictionaryArray.from_arrays(places, known)


COLUMNS = {
    "string": as_string,
    "large string": as_large_string,
    "view": as_view,
    "dictionary": as_dictionary,
}


def in_parquet(column: pa.Array, folder: Path, **how: Any) -> str:
    table = pa.table({"x": pa.array(range(len(column)), pa.int64()), "s": column})
    path = folder / f"cells{len(list(folder.iterdir()))}.parquet"
    pq.write_table(table, path, row_group_size=5, **how)
    return str(path)


def in_files(column: pa.Array, folder: Path) -> str:
    place = folder / f"files{len(list(folder.iterdir()))}"
    place.mkdir()
    for start in range(0, len(column), 4):
        in_parquet(column.slice(start, 4), place)
    return f"{place}/*.parquet"


def in_memory(column: Any, folder: Path) -> dict[str, Any]:
    return {"x": np.arange(len(column)), "s": column}


Holder = Callable[[pa.Array, Path], Any]
PARQUET: dict[str, Holder] = {
    "Parquet": lambda column, folder: in_parquet(column, folder, use_dictionary=False),
    "Parquet with a dictionary": in_parquet,
    "Parquet by lengths": lambda column, folder: in_parquet(
        column, folder, use_dictionary=False, column_encoding={"s": "DELTA_LENGTH_BYTE_ARRAY"}
    ),
    "Parquet by prefixes": lambda column, folder: in_parquet(
        column, folder, use_dictionary=False, column_encoding={"s": "DELTA_BYTE_ARRAY"}
    ),
    "Parquet without statistics": lambda column, folder: in_parquet(
        column, folder, write_statistics=False
    ),
    "Parquet files": in_files,
}
MEMORY: dict[str, Holder] = {
    "Arrow": in_memory,
    "Arrow in chunks": lambda column, folder: in_memory(
        pa.chunked_array([column[:3], column[3:3], column[3:]]), folder
    ),
    "pandas": lambda column, folder: in_memory(
        pd.Series(pd.arrays.ArrowExtensionArray(column)), folder
    ),
    "Polars": lambda column, folder: in_memory(pl.from_arrow(column), folder),
}


def in_clickhouse(column: pa.Array, folder: Path) -> Table:
    """By its bytes, which its own type of texts takes as they are."""
    cells = column.cast(BYTES)
    name = f"texts{len(list(folder.iterdir()))}"
    path = folder / f"{name}.parquet"
    as_bytes = pa.table({"x": pa.array(range(len(cells)), pa.int64()), "s": cells})
    pq.write_table(as_bytes, path)
    connection = chdb_connection()
    connection.query(f"DROP TABLE IF EXISTS {name} SYNC")
    connection.query(f"CREATE TABLE {name} (x Int64, s Nullable(String)) ENGINE = Memory")
    connection.query(f"INSERT INTO {name} SELECT * FROM file('{path}', Parquet)")
    return Table.from_chdb(":memory:", name)


BYTES = pa.binary()
HOLDERS = PARQUET | MEMORY
if HAS_CLICKHOUSE:
    HOLDERS["ClickHouse"] = in_clickhouse
# What each library can hold at all: it refuses the others before postri sees them.
CANNOT = {("Polars", "dictionary"), *(("ClickHouse", kind) for kind in COLUMNS if kind != "string")}


def pairs() -> Iterator[tuple[str, str]]:
    return (
        (holder, column)
        for holder in HOLDERS
        for column in COLUMNS
        if (holder, column) not in CANNOT and not ("by " in holder and column == "view")
    )


def opened(source: Any) -> Table:
    """The table of a source, or the one that it is."""
    return source if isinstance(source, Table) else postri.open(source)


def encoded(texts: list[str | None]) -> list[bytes | None]:
    return [None if text is None else text.encode() for text in texts]


def counted(table: Table) -> dict[str, Any]:
    """All that can be counted with a column of texts: as cell, as key, as unit, in a filter and in
    an expression.
    """

    def sizes(column: str | None = None, **rows: Any) -> list[int]:
        return table.sizes(column, table.bind(Rows(**rows)))

    def where(text: str) -> list[int]:
        return sizes(where=Predicate.parse(text))

    return {
        "cells": sizes("s"),
        "rows": sizes(),
        "groups": sizes(groups=Groups.of({"s": KEYS})),
        "units": sizes(units=Units("s", 1)),
        "missing": where("s IS NULL"),
        "equal": where("s = 'red'"),
        "other": where("s <> 'red'"),
        "one of": where("s IN ('??', 'abc??', 'abc', '', '???', 'abc?')"),
        "like": where("s LIKE '%?%'"),
        "any": where("s LIKE '%'"),
        "above": where("s > 'a'"),
        "between": where("s BETWEEN '?' AND 'r'"),
        "case": where("CASE WHEN s = '??' THEN x ELSE -1 END >= 0"),
        "with a number": where("x >= 3 AND s <> ''"),
    }


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("holder", "column"), list(pairs())[:: sized(3, 1)])
def test_a_text_that_is_not_utf8_counts_as_a_missing_one(tmp_path, holder, column):
    """The same counts as from a table in which it is null, whatever bytes it has."""
    hold, make = HOLDERS[holder], COLUMNS[column]
    bad: list[bytes | None] = list(INVALID.values())
    with_bad = make([*encoded(TEXTS), *bad])
    with_nulls = make([*encoded(TEXTS), *[None] * len(bad)])
    seen = counted(opened(hold(with_bad, tmp_path)))
    assert seen == counted(opened(hold(with_nulls, tmp_path)))
    assert seen["cells"] == [len(TEXTS) - 1]
    assert seen["missing"] == [len(bad) + 1]
    assert seen["groups"] == [2, 1, 1, 1, 1]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", list(INVALID)[:: sized(3, 1)])
@pytest.mark.parametrize("holder", ["Parquet", "Arrow"])
def test_neighbouring_tables_are_both_answered(tmp_path, holder, name):
    """With one person's bytes and without them, the same questions have answers; a text that fits
    what the bytes look like is another person's.
    """
    hold = HOLDERS[holder]
    rows = encoded(TEXTS * 10)
    for cells in (rows, [*rows, INVALID[name]]):
        table = postri.open(hold(as_string(cells), tmp_path))
        for how in (
            {"where": "s = 'red'"},
            {"where": "s LIKE '%abc%'"},
            {"by": {"s": KEYS}},
            {"protect": AddOrRemoveUnits("s", 2)},
        ):
            postri.ask(
                table,
                {"mid": postri.agg.median("x", domain=Domain(0, 200)), "n": postri.agg.count()},
                epsilon=1,
                coins=SeededCoins(1),
                **how,
            )


def test_texts_that_a_dictionary_lists_and_no_row_has_do_no_harm(tmp_path):
    """Nobody's bytes may fail a question, not even those that a writer left behind."""
    known = as_string([b"red", b"\xff\xff"])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 0, None, 0], pa.int8()), known)
    for holder in ("Parquet with a dictionary", "Arrow"):
        table = postri.open(HOLDERS[holder](column, tmp_path))
        assert counted(table)["equal"] == [3]


def test_pandas_texts_are_checked_too(tmp_path):
    """Its own type of texts, which holds them as Arrow does."""
    cells = as_large_string([b"red", b"\xff", None, b"?"])
    series = pd.Series(pd.array(pa.chunked_array([cells]), dtype="str"))
    assert counted(postri.open(in_memory(series, tmp_path)))["groups"] == [1, 0, 0, 1, 0]


def test_a_column_that_no_question_reads_is_not_decoded(tmp_path):
    """Numbers of the same file are read by all threads, and once."""
    path = in_parquet(as_string([b"red", b"\xff"] * 10), tmp_path)
    table = postri.open(path)
    queries: list[str] = []
    database = table._engine._files.database
    run = database.columns
    database.columns = lambda query, *more: queries.append(query) or run(query, *more)
    table.sizes("x", table.bind(Rows()))
    assert not [query for query in queries if "POSITIONAL" in query]
    table.sizes("x", table.bind(Rows(where=Predicate.parse("s = 'red'"))))
    assert "POSITIONAL" in queries[-1]


def test_a_look_counts_texts_that_cannot_be_read_apart_from_missing_ones(tmp_path):
    path = in_parquet(as_string([b"red", None, b"\xff", b"?", b"\xc0\x80"]), tmp_path)
    (numbers, texts) = look_at_file(path).columns
    assert (numbers.read, numbers.unreadable.count) == (5, 0)
    assert (texts.read, texts.empty.count, texts.unreadable.count) == (2, 1, 2)
    assert (texts.empty.first, texts.unreadable.first) == ((2,), (3, 5))


def test_a_column_may_have_the_name_of_a_mark(tmp_path):
    cells = {"No Text 0": [b"red", b"\xff"], "no text 1": [b"\xff", None], "marked": [b"a", b"b"]}
    table = pa.table({name: as_string(column) for name, column in cells.items()})
    path = tmp_path / "marks.parquet"
    pq.write_table(table, path)
    looks = {look.name: look for look in look_at_file(str(path)).columns}
    assert [looks[name].unreadable.count for name in cells] == [1, 1, 0]
