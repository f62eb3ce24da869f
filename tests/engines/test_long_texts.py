"""A text of more than `max_text` characters cannot be read: on every engine it is as good as null,
in predicates, as a key, as a unit, and where it is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pytest

import postri
from postri.columns import MAX_TEXT
from postri.engines.rows import Groups, Rows, Units
from postri.engines.table import Table
from postri.expressions import Predicate
from postri.expressions.reader import read_expression
from services.real_tables import SOME_ENGINES, Place, loaded, marks

MOST = 10
# A character is a code point: of one byte, two, three or four, or one that joins another.
CHARACTERS = ("x", "é", "€", "\U0001f600", "\u0301")
TEXTS = [
    *(character * number for character in CHARACTERS for number in (1, MOST, MOST + 1, 5 * MOST)),
    "x" * (4 * MOST),
    "x" * (4 * MOST + 1),
    "x" * 100_000,
    "a" + " " * MOST,
    "a" + " " * (MOST - 1),
    'quote"' + '"' * (MOST - 6),
    'quote"' + '"' * (MOST - 5),
    None,
]
PREDICATES = {
    "t IS NULL": lambda t: t is None,
    "t IS NOT NULL": lambda t: t is not None,
    "t LIKE 'x%'": lambda t: t is not None and t.startswith("x"),
    "NOT t LIKE '%x%'": lambda t: t is not None and "x" not in t,
    "t <> 'x'": lambda t: t is not None and t != "x",
    f"t = '{'x' * MOST}'": lambda t: t == "x" * MOST,
    f"t = '{'x' * (MOST + 1)}'": lambda t: False,
    f"t IN ('x', '{'é' * 5 * MOST}')": lambda t: t == "x",
    "t IS DISTINCT FROM 'x'": lambda t: t != "x",
    "t > 'x'": lambda t: t is not None and t > "x",
    "COALESCE(t, 'none') = 'none'": lambda t: t is None,
    "CASE WHEN t > '' THEN FALSE ELSE TRUE END": lambda t: t is None,
    "u = t": lambda t: t is not None,
}
ENGINES = [pytest.param(engine, marks=marks(engine)) for engine in SOME_ENGINES]


def texts_table(texts: list[str | None]) -> pa.Table:
    column = pa.array(texts, pa.string())
    return pa.table({"t": column, "u": column, "n": pa.array(range(len(texts)), pa.int64())})


@pytest.fixture(scope="module")
def opened(request, tmp_path_factory) -> Callable[[str], Table]:
    place = Place(tmp_path_factory.mktemp("texts"), request)
    return cache(lambda engine: loaded(engine, texts_table(TEXTS), place))


def readable(most: int = MOST) -> list[str | None]:
    """The texts as every engine reads them, by Python's own count."""
    return [None if text is None or len(text) > most else text for text in TEXTS]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_long_text_is_null_in_every_predicate(engine, opened):
    table = opened(engine).with_max_text(MOST)
    predicates = [Predicate.parse(text) for text in PREDICATES]
    wanted = [sum(map(holds, readable())) for holds in PREDICATES.values()]
    assert table.matching(predicates) == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_a_long_text_is_no_key_no_unit_and_not_counted(engine, opened):
    table = opened(engine).with_max_text(MOST)
    texts = readable()
    known = [text for text in texts if text is not None]
    assert table.sizes("t", table.bind(Rows())) == [len(known)]
    keys = ["x", "x" * MOST, "x" * (MOST + 1), "é" * MOST, "é" * 5 * MOST]
    by_key = table.bind(Rows(groups=Groups.of({"t": keys})))
    assert table.sizes(None, by_key) == [texts.count(key) for key in keys]
    by_unit = table.bind(Rows(units=Units("t", 1)))
    assert table.sizes(None, by_unit) == [len(set(known))]


@pytest.mark.parametrize("engine", ENGINES)
def test_everywhere_the_usual_limit_holds_without_a_policy(engine, request, tmp_path):
    texts = ["x" * MAX_TEXT, "x" * (MAX_TEXT + 1), "é" * MAX_TEXT, "é" * (MAX_TEXT + 1), "x"]
    table = loaded(engine, texts_table(texts), Place(tmp_path, request))
    found = table.matching([Predicate.parse("t LIKE '%x'"), Predicate.parse("t IS NULL")])
    assert found == [2, 2]


@pytest.mark.parametrize("cell", ["0" * MOST + "5", "5." + "0" * MOST, " " * MOST + "5", "5" * 99])
def test_an_untyped_cell_is_cut_off_before_it_is_read(cell, tmp_path):
    """Whatever it would be read as: a long number takes as long to read as a long text."""
    path = tmp_path / "cells.csv"
    path.write_text(f"x,y\n5,1\n{cell},1\n")
    for table in postri.open({"x": ["5", cell], "y": [1, 1]}), postri.open(path):
        short = table.with_max_text(MOST)
        condition = Predicate.parse("x >= 5")
        assert table.matching([condition]) == [2]
        assert short.matching([condition]) == [1]
        grid = postri.grid.grid_of(short.declared("x"), postri.Domain(0, 100))
        assert [total.n for total in short.totals("x", grid, short.bind(Rows()))] == [1]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_look_tells_long_texts_from_empty_cells(engine, opened):
    table = opened(engine).with_max_text(MOST)
    lost = table.lost({"t": Predicate.parse("t IS NOT NULL")}, 3)
    long = [place for place, text in enumerate(TEXTS, start=1) if len(text or "") > MOST]
    assert (lost.empty["t"].count, lost.unreadable["t"].count) == (1, len(long))
    # Who numbers rows or lines tells the first of them; the first line of a CSV file is its header.
    numbers = [place + (lost.numbered == "line") for place in long[:3]]
    assert lost.unreadable["t"].first in ((), tuple(numbers))


def test_what_is_computed_sees_no_long_text():
    source = {"t": ["x" * 5, "x" * 50], "n": [1, 2]}
    table = postri.open(source, columns={"t": "text"}).with_max_text(MOST)
    computed = table.computed({"v": read_expression("CASE WHEN t IS NULL THEN n ELSE 0 END")})
    grid = postri.grid.grid_of(computed.declared("v"), postri.Domain(0, 10))
    assert computed.totals("v", grid, computed.bind(Rows()))[0].indexes == 2
