"""Which keys a column has, and how many rows have each: on every engine as a plain count says, with
filters and with a bound on the rows of each unit.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from hashlib import md5

import pyarrow as pa
import pytest

import postri
from postri.engines.rows import Groups, Rows, Units, keys_of_raws
from postri.engines.table import Table
from postri.errors import InputError
from postri.expressions import Predicate
from postri.expressions.grouping import Discovery
from services.real_tables import LOADERS, Place, loaded, marks, meant

NUMBER = 600
# Texts that some session would take for one another, or for something else.
TEXTS = ["JFK", "jfk", "JFK ", "Å", "a:b", "'q'", "\U0001f600", "x" * 50, "", None, "JFK", "LAX"]
ZIPS = [0, -5, 10_115, 2**40, None, 10_115]
TABLE = pa.table(
    {
        "dest": pa.array([TEXTS[i * i % 17 % len(TEXTS)] for i in range(NUMBER)], pa.string()),
        "zip": pa.array([ZIPS[i * i % 23 % len(ZIPS)] for i in range(NUMBER)], pa.int64()),
        "who": pa.array([f"p{i * 7 % 90}" for i in range(NUMBER)], pa.string()),
        "x": pa.array(range(NUMBER), pa.int64()),
    }
)
QUESTIONS = [
    (column, units, where)
    for column in ("dest", "zip")
    for units in (None, Units("who", 2))
    for where in (None, "x < 200")
]


def asked(column: str, units: Units | None, where: str | None) -> Rows:
    predicate = Predicate.parse(where) if where else None
    return Rows(predicate, Groups.of({"k": Discovery(column, Fraction(1, 10**6))}), units)


def expected(rows: list[dict], column: str, units: Units | None, where: str | None) -> list:
    """A row at a time: of each unit the first by the md5 of unit::key."""
    chosen = [row for row in rows if row[column] is not None and (not where or row["x"] < 200)]
    if units is not None:
        chosen.sort(key=lambda row: md5(f"{row['who']}::{row[column]}".encode()).hexdigest())
        taken: Counter[str] = Counter()
        kept = []
        for row in chosen:
            if taken[row["who"]] < units.rows:
                taken[row["who"]] += 1
                kept.append(row)
        chosen = kept
    return sorted(Counter(row[column] for row in chosen).items())


def found(table: Table, rows: Rows) -> list:
    bound = table.bind(rows)
    sizes = table.key_sizes(bound)
    keys = keys_of_raws(sizes.raws, bound.keys[0].type)
    return list(zip(keys, sizes.rows.tolist(), strict=True))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "engine", [pytest.param(engine, marks=marks(engine)) for engine in LOADERS]
)
def test_every_engine_has_the_same_keys(engine, request, tmp_path):
    table = loaded(engine, TABLE, Place(tmp_path, request))
    rows = meant(engine, TABLE)
    for question in QUESTIONS:
        assert found(table, asked(*question)) == expected(rows, *question)


@pytest.mark.parametrize("engine", ["Arrow", "DuckDB", "CSV"])
def test_a_text_that_is_too_long_is_no_key(engine, request, tmp_path):
    table = loaded(engine, TABLE, Place(tmp_path, request)).with_max_text(49)
    keys = [key for key, _ in found(table, asked("dest", None, None))]
    assert "JFK" in keys and "x" * 50 not in keys


def test_half_of_a_surrogate_pair_is_no_key():
    table = postri.open({"t": ["a", "\ud800", "a"]}, columns={"t": "text"})
    assert found(table, asked("t", None, None)) == [("a", 2)]


def test_cells_of_which_nothing_is_declared_are_texts():
    table = postri.open({"t": ["a", 1, None, "1", 2.5]})
    assert found(table, asked("t", None, None)) == [("1", 1), ("a", 1)]


def test_decimals_and_truths_are_keys():
    prices = pa.array([Decimal("1.25"), Decimal("1.25"), Decimal("3.00")], pa.decimal128(8, 2))
    table = postri.open(pa.table({"price": prices, "yes": pa.array([True, None, False])}))
    assert found(table, asked("yes", None, None)) == [(False, 1), (True, 1)]
    expected_prices = [(Decimal("1.25"), 2), (Decimal("3.00"), 1)]
    assert found(table, asked("price", None, None)) == expected_prices


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (pa.float64(), "declare its keys"),
        (pa.date32(), r"by\.day\('k', '2013-01-01'"),
        (pa.timestamp("us"), r"by\.day\('k'"),
    ],
)
def test_other_columns_are_refused_by_their_type(kind, words):
    table = postri.open(pa.table({"k": pa.array([], kind)}))
    with pytest.raises(InputError, match=words):
        table.bind(asked("k", None, None))


def test_the_keys_of_two_columns_are_refused():
    by = {name: Discovery(name, Fraction(1, 100)) for name in ("dest", "zip")}
    with pytest.raises(InputError, match="the keys of one column can be found"):
        Groups.of(by)
