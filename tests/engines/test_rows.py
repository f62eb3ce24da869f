"""Filters, public keys and units: the same rows count on every engine, and they are those that a
slow reading of the rule finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import cache

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from contract_tables import ASKED, MANY_ASKED, Asked, large_table, odd_table
from hypothesis import given
from hypothesis import strategies as st
from rows_reference import Window, counted, grid_for, selection, sizes, window

import postri
from postri import (
    AddOrRemoveRows,
    AddOrRemoveUnits,
    Domain,
    EngineError,
    InputError,
    ReplaceRows,
    ReplaceUnits,
    SeededCoins,
    agg,
)
from postri.engines.table import Table
from postri.grid import Grid
from postri.window import MOST_STEPS, MiddleTotal, SquareTotal, Target, Total
from proving import examples, sized
from services.real_tables import (
    LOADERS,
    MEMORY,
    SIGNED,
    Place,
    loaded,
    marks,
    meant,
    most_of,
    some_of,
)

pytestmark = pytest.mark.slow

QUANTILES = (Fraction(1, 2), Fraction(1, 100))


def seen(table: Table, asked: Asked, half: int) -> list[list[Window]]:
    """What an engine finds: for each group the window of each quantile."""
    targets = [Target(p, half) for p in QUANTILES]
    found = table.grouped_windows(
        asked.value, grid_for(table, asked), targets, selection(table, asked)
    )
    return [[_plain(each(0)) for each in windows] for windows in found]


def _plain(found) -> Window:
    return found.indexes.tolist(), found.counts.tolist(), found.below, found.n


def true(counts: list, half: int) -> list[list[Window]]:
    """The windows that there are, by the slow reading."""
    return [[window(group, p, half) for p in QUANTILES] for group in counts]


# ---- odd cells of every type


@pytest.fixture(scope="module")
def opened(request, tmp_path_factory) -> Callable[[str], Table]:
    """The table of odd cells in an engine, put there once."""
    place = Place(tmp_path_factory.mktemp("rows"), request)
    return cache(lambda engine: loaded(engine, odd_table(), place))


@cache
def odd_rows(engine: str) -> list:
    return meant(engine, odd_table())


# A question takes Spark a second, whatever it counts.
SPARK_ASKED = (
    *(
        "a filter on texts or dates",
        "keys of odd texts",
        "keys of whole numbers",
        "keys that no cell can be",
        "keys of labels by units",
        "keys of months",
        "keys of moments",
    ),
    *("units of odd texts", "all together", "floats by units", "large numbers by units"),
)


def asked_of(engine: str) -> list[str]:
    names = sized(("all together",), SPARK_ASKED) if engine == "Spark" else most_of(engine, ASKED)
    return [
        name
        for name in names
        if engine not in SIGNED or not ASKED[name].columns & {"large", "natural"}
    ]


EVERYWHERE = [
    pytest.param(engine, name, marks=marks(engine))
    for engine in LOADERS
    for name in asked_of(engine)
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("engine", "name"), EVERYWHERE)
def test_the_rows_that_count_are_those_of_the_rule(engine, name, opened):
    asked, table = ASKED[name], opened(engine)
    counts = counted(odd_rows(engine), asked, grid_for(table, asked))
    # A window of all rows is cut from the same counts: in memory it costs nothing.
    for half in (3, 400) if engine in (*MEMORY, *sized((), ("DuckDB",))) else (3,):
        assert seen(table, asked, half) == true(counts, half)


def _square_total(counts: Counter[int], first: int) -> SquareTotal:
    places = {index - first: number for index, number in counts.items()}
    return SquareTotal(
        sum(places.values()),
        sum(place * number for place, number in places.items()),
        sum(place**2 * number for place, number in places.items()),
    )


def _middle_total(counts: Counter[int], low: int, high: int) -> MiddleTotal:
    inside = {index - low: number for index, number in counts.items() if low < index < high}
    return MiddleTotal(
        sum(number for index, number in counts.items() if index <= low),
        sum(inside.values()),
        sum(number for index, number in counts.items() if index >= high),
        sum(place * number for place, number in inside.items()),
    )


def _ends(counts: Counter[int], grid: Grid) -> tuple[int, int]:
    """Two of the indexes that occur, or the ends of the grid."""
    indexes = [grid.first, *sorted(counts), grid.last]
    return indexes[len(indexes) // 4], indexes[-1 - len(indexes) // 5]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("engine", "name"), EVERYWHERE)
def test_totals_and_sizes_are_those_of_the_rows_that_count(engine, name, opened):
    asked, table = ASKED[name], opened(engine)
    grid = grid_for(table, asked)
    groups = counted(odd_rows(engine), asked, grid)
    expected = [
        Total(counts.total(), sum(index * number for index, number in counts.items()))
        for counts in groups
    ]
    assert table.totals(asked.value, grid, selection(table, asked)) == expected
    if grid.last - grid.first < MOST_STEPS:
        squares = [_square_total(counts, grid.first) for counts in groups]
        assert table.square_totals(asked.value, grid, selection(table, asked)) == squares
        ends = [_ends(counts, grid) for counts in groups]
        middles = [_middle_total(counts, *own) for counts, own in zip(groups, ends, strict=True)]
        found = table.middle_totals(asked.value, grid, ends, selection(table, asked))
        assert found == middles
    # Without a declared type, the text "nan" is a cell like any other.
    undeclared = engine == "CSV" and pa.types.is_floating(
        odd_table().schema.field(asked.value).type
    )
    for column in (None,) if engine == "Spark" or undeclared else (None, asked.value):
        assert table.sizes(column, selection(table, asked)) == sizes(
            odd_rows(engine), asked, column
        )


CHANGES = {
    "all together": (AddOrRemoveUnits("id", rows=2), AddOrRemoveRows(2)),
    "units of odd texts": (ReplaceUnits("name", rows=2), ReplaceRows(2)),
    "keys of odd texts": (AddOrRemoveRows(1), AddOrRemoveRows(1)),
}


def changes_of(engine: str) -> list[str]:
    """In `make test` Spark is asked about all of it together, and relatives of an engine too."""
    if engine == "Spark":
        return list(CHANGES)[: sized(1, None)]
    return some_of(engine, CHANGES)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("engine", "name"),
    [
        pytest.param(engine, name, marks=marks(engine))
        for engine in LOADERS
        for name in changes_of(engine)
    ],
)
def test_the_same_coins_give_the_answers_of_the_rows_that_count(engine, name, opened):
    """As if a table of these rows alone had been asked, each with the number of its group."""
    asked, table, (change, of_rows) = ASKED[name], opened(engine), CHANGES[name]
    grid = grid_for(table, asked)
    groups = counted(odd_rows(engine), asked, grid)
    kept = [
        (number, grid.value(index))
        for number, counts in enumerate(groups)
        for index in counts.elements()
    ]
    alone = {
        "group": [number for number, _ in kept],
        "x": pa.array([value for _, value in kept]).cast(
            odd_table().schema.field(asked.value).type
        ),
    }
    result = postri.ask(
        table,
        {"mid": agg.median(asked.value, domain=asked.domain)},
        by=asked.by or None,
        where=asked.where,
        protect=change,
        epsilon=2,
        coins=SeededCoins(3),
    )
    expected = postri.ask(
        alone,
        {"mid": agg.median("x", domain=asked.domain)},
        by={"group": range(len(groups))} if asked.by else None,
        protect=of_rows,
        epsilon=2,
        coins=SeededCoins(3),
    )
    answers = [
        [(answer.value, answer.interval, answer.epsilon) for answer in each.answers]
        for each in (result, expected)
    ]
    assert answers[0] == answers[1]
    assert len(answers[0]) == len(groups)


# ---- tables that are sampled

SAMPLED = ("Arrow", "DuckDB", "Parquet files", "PostgreSQL", "Spark")
SPARK_SAMPLED = ("three hundred groups in order", "units of one row and of thousands")


# The slow reading of one takes a second, so `make test` asks every third.
def many_of(engine: str) -> list[str]:
    return most_of(engine, list(MANY_ASKED)[:: sized(3, 1)])


OF_MANY = [
    pytest.param(engine, name, marks=pytest.mark.slow)
    for engine in SAMPLED
    for name in (SPARK_SAMPLED[: sized(0, 2)] if engine == "Spark" else many_of(engine))
]


@pytest.fixture(scope="module")
def opened_large(request, tmp_path_factory) -> Callable[[str], Table]:
    place = Place(tmp_path_factory.mktemp("many"), request)
    return cache(lambda engine: loaded(engine, large_table(), place))


@cache
def large_rows() -> list:
    return meant("Arrow", large_table())


@cache
def large_counts(name: str, grid: Grid) -> list:
    return counted(large_rows(), MANY_ASKED[name], grid)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("engine", "name"), OF_MANY)
def test_groups_of_a_large_table_are_sampled_verified_and_widened_where_needed(
    engine, name, opened_large
):
    asked, table = MANY_ASKED[name], opened_large(engine)
    assert seen(table, asked, 60) == true(large_counts(name, grid_for(table, asked)), 60)


# ---- cells of columns with and without types

TEN = Domain(0, 10)


def counts_of(source: object, asked: Asked, columns: dict | None = None) -> list[dict[int, int]]:
    """Every grid index of each group, with its count."""
    table = source if isinstance(source, Table) else postri.open(source, columns=columns)
    targets = [Target(Fraction(1, 2), 10**6)]
    found = table.grouped_windows(
        asked.value, grid_for(table, asked), targets, selection(table, asked)
    )
    return [dict(zip(*_plain(windows[0](0))[:2], strict=True)) for windows in found]


BEYOND = pa.table(
    {
        "x": [1, 2, 3, 4],
        "day": pa.array([2**31 - 1, -(2**31), 2_932_896, None], pa.int32()).cast(pa.date32()),
        "moment": pa.array([2**63 - 1, -(2**63) + 1, 0, None], pa.int64()).cast(pa.timestamp("us")),
    }
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "engine",
    [
        "Arrow",
        "Polars",
        "DuckDB over Parquet",
        "Parquet",
        pytest.param("Spark", marks=pytest.mark.slow),
    ],
)
def test_days_and_moments_beyond_the_calendar_count_as_its_ends(engine, request, tmp_path):
    table = loaded(engine, BEYOND, Place(tmp_path, request))
    assert counts_of(table, Asked("x", TEN, by={"day": [date.min, date.max]})) == [
        {2: 1},
        {1: 1, 3: 1},
    ]
    assert counts_of(table, Asked("x", TEN, by={"moment": [datetime.min, datetime.max]})) == [
        {2: 1},
        {1: 1},
    ]
    assert counts_of(table, Asked("day", Domain("2024-01-01", "2024-01-31"), by={"x": [1, 2]})) == [
        {30: 1},
        {0: 1},
    ]


@pytest.mark.slow
def test_infinities_of_a_database_count_as_the_ends_of_the_calendar(postgres):
    columns = "(x integer, day date, moment timestamp)"
    cells = (
        "(1, 'infinity', 'infinity'), (2, '-infinity', '-infinity'), (3, '9999-12-31', "
        "'2024-01-31'), (4, NULL, NULL)"
    )
    commands = [
        "DROP TABLE IF EXISTS ends",
        f"CREATE TABLE ends {columns}",
        f"INSERT INTO ends VALUES {cells}",
    ]
    connection = duckdb.connect()
    connection.execute("; ".join(commands))
    postgres.run(*commands)
    for table in (
        postri.open(connection.table("ends")),
        Table.from_postgres(postgres.url(), "ends"),
    ):
        assert counts_of(table, Asked("x", TEN, by={"day": [date.min, date.max]})) == [
            {2: 1},
            {1: 1, 3: 1},
        ]
        assert counts_of(table, Asked("x", TEN, by={"moment": [datetime.min, datetime.max]})) == [
            {2: 1},
            {1: 1},
        ]


JANUARY = date(2024, 1, 31)
KEYED = {
    "numbers as text": (
        [
            "1",
            " 1.0 ",
            "01",
            "1e0",
            "+1",
            "1.5",
            "x",
            "",
            "inf",
            "nan",
            1,
            1.0,
            Decimal(1),
            Fraction(1),
            True,
        ],
        [1],
        9,
    ),
    "decimals": ([Decimal("1.50"), "1.5", 1.5, "3/2", Fraction(3, 2), "1.51"], [Decimal("1.5")], 4),
    "texts": (["a", " a\t", "A", "", b"a", None, "a"], ["a"], 2),
    "truth": ([True, np.True_, 1, "True", "1", None], [True], 2),
    "days": (
        [
            JANUARY,
            "2024-01-31",
            "2024-01-31 00:00",
            datetime(2024, 1, 31),
            np.datetime64("2024-01-31"),
        ],
        [JANUARY],
        3,
    ),
    "moments": (
        [datetime(2024, 1, 31), "2024-01-31", "2024-01-31T00:00:00", "2024-01-31T00:00:00Z"],
        [datetime(2024, 1, 31)],
        4,
    ),
    "moments in zones": (
        ["2024-01-31T00:00:00Z", "2024-01-31T01:00:00+01", "2024-01-31", "2024-01-31T00:00+01:00"],
        [datetime(2024, 1, 31, tzinfo=UTC)],
        3,
    ),
}


@pytest.mark.parametrize("name", KEYED)
def test_cells_without_a_type_are_read_as_what_the_keys_are(name):
    cells, keys, number = KEYED[name]
    for held in (cells, np.array([*cells, None], object)[:-1]):
        assert counts_of({"k": held, "x": [1] * len(cells)}, Asked("x", TEN, by={"k": keys})) == [
            {1: number}
        ]


@pytest.mark.parametrize(
    ("declared", "cells", "keys"),
    [
        ("integer", ["7", 7, " +7", "7.0", "07"], [7]),
        ("text", ["7 ", "7 "], ["7 "]),
        ("date", [date(2024, 1, 31), "2024-01-31"], [date(2024, 1, 31)]),
        (
            "timestamp",
            [datetime(2024, 1, 31, 5, 0, 0, 7), "2024-01-31T05:00:00.000007"],
            [datetime(2024, 1, 31, 5, 0, 0, 7)],
        ),
    ],
)
def test_cells_of_a_type_that_the_user_declares_are_found_by_their_keys(declared, cells, keys):
    asked = Asked("x", TEN, by={"k": keys})
    assert counts_of({"k": cells, "x": [1] * len(cells)}, asked, {"k": declared}) == [
        {1: len(cells)}
    ]


def test_spellings_of_a_declared_whole_number_are_one_unit():
    cells = ["7", "07", "+7", " 7", "7.0", 7, Decimal(7), "x", "7.5", "", None, True]
    source = {"id": cells, "x": [1] * len(cells)}
    assert counts_of(source, Asked("x", TEN, units=("id", 1)), {"id": "integer"}) == [{1: 1}]
    assert counts_of(source, Asked("x", TEN, units=("id", 99)), {"id": "integer"}) == [{1: 7}]


def test_units_without_a_type_are_texts_and_whole_numbers():
    cells = ["7", " 7", 7, np.int64(7), "07", 7.0, None, True, Decimal(7), 10**5_000, 10**5_000]
    assert counts_of({"id": cells, "x": [1] * len(cells)}, Asked("x", TEN, units=("id", 1))) == [
        {1: 4}
    ]


CATEGORIES = {
    "pandas": pd.DataFrame({"k": pd.Categorical(["a", "b", None, "a"]), "x": [1, 2, 3, 4]}),
    "Polars": pl.DataFrame(
        {"k": pl.Series(["a", "b", None, "a"], dtype=pl.Categorical), "x": [1, 2, 3, 4]}
    ),
    "Arrow": pa.table(
        {"k": pa.array(["a", "b", None, "a"]).dictionary_encode(), "x": [1, 2, 3, 4]}
    ),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_are_texts(name):
    assert counts_of(CATEGORIES[name], Asked("x", TEN, by={"k": ["b", "a"]})) == [
        {2: 1},
        {1: 1, 4: 1},
    ]
    assert counts_of(CATEGORIES[name], Asked("x", TEN, "k = 'a'", units=("k", 5))) == [{1: 1, 4: 1}]


NUMBERED = {
    "pandas": pd.DataFrame({"k": pd.Categorical([1, 2]), "x": [1, 2]}),
    "Arrow": pa.table({"k": pa.array([1, 2]).dictionary_encode(), "x": [1, 2]}),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_categories_of_numbers_are_refused_by_their_type(name):
    with pytest.raises(InputError, match=r"declared type (category|dictionary)"):
        counts_of(NUMBERED[name], Asked("x", TEN, units=("k", 1)))


def test_columns_may_have_the_names_that_the_queries_use():
    names = [
        "cell",
        "raw",
        "key0",
        "grp",
        "unit",
        "place",
        "number",
        "name",
        "kept",
        "source",
        "RAWS",
    ]
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE named AS SELECT "
        f"{', '.join(f'{i} AS {name}' for i, name in enumerate(names))}"
    )
    relation = connection.table("named")
    for i, name in enumerate(names):
        others = [other for other in names if other != name]
        by = {other: [names.index(other), -1] for other in others[:2]}
        where = " AND ".join(f'"{other}" = {names.index(other)}' for other in others)
        units = (others[i % 3], 1)
        assert counts_of(relation, Asked(name, Domain(0, 20), where, by=by)) == [{i: 1}, {}, {}, {}]
        assert counts_of(relation, Asked(name, Domain(0, 20), where, by=by, units=units)) == [
            {i: 1},
            {},
            {},
            {},
        ]


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(postri.SourceError, match="different lengths"):
        counts_of({"x": [1, 2], "k": [1]}, Asked("x", TEN, by={"k": [1]}))


# ---- what holds for every table

small_rows = st.lists(
    st.tuples(
        st.none() | st.integers(-3, 12),
        st.none() | st.sampled_from("abc"),
        st.none() | st.integers(0, 4),
    ),
    max_size=24,
)
bounds = st.integers(1, 4)
KINDS = {"x": pa.int64(), "k": pa.string(), "id": pa.int64()}


def in_memory(rows: list) -> pa.Table:
    return pa.table(
        {
            name: pa.array([row[i] for row in rows], kind)
            for i, (name, kind) in enumerate(KINDS.items())
        }
    )


def in_duckdb(rows: list) -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.from_arrow(in_memory(rows)).create("held")
    return connection.table("held")


both_engines = pytest.mark.parametrize("held", [in_memory, in_duckdb])


def bounded_counts(source: object, bound: int | None) -> Counter:
    """How often each index stands in each group, for rows that pass a filter, with at most so many
    of a unit.
    """
    asked = Asked("x", TEN, "x <> 5", by={"k": ["a", "b"]}, units=("id", bound) if bound else None)
    return Counter(
        {
            (number, index): count
            for number, group in enumerate(counts_of(source, asked))
            for index, count in group.items()
        }
    )


@both_engines
@examples(200, small=4)
@given(rows=small_rows, bound=bounds, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(held, rows, bound, order):
    shuffled = order.sample(rows, len(rows))
    assert bounded_counts(held(shuffled), bound) == bounded_counts(held(rows), bound)


@both_engines
@examples(200, small=4)
@given(rows=small_rows, others=small_rows, bound=bounds)
def test_which_rows_of_a_unit_stay_depends_on_that_unit_alone(held, rows, others, bound):
    """So the counts of two tables without a unit in common add up."""
    others = [(x, key, None if unit is None else unit + 100) for x, key, unit in others]
    assert bounded_counts(held(rows + others), bound) == bounded_counts(
        held(rows), bound
    ) + bounded_counts(held(others), bound)


@both_engines
@examples(200, small=4)
@given(rows=small_rows, news=small_rows, bound=bounds)
def test_a_unit_moves_all_groups_together_by_no_more_rows_than_its_bound(held, rows, news, bound):
    """Removed, all counts fall, by the bound at most; replaced, as many leave and as many enter."""
    without = [row for row in rows if row[2] != 0]
    before, removed, replaced = (
        bounded_counts(held(table), bound)
        for table in (rows, without, without + [(x, k, 0) for x, k, _ in news])
    )
    assert not removed - before and (before - removed).total() <= bound
    assert (replaced - before).total() <= bound and (before - replaced).total() <= bound


@both_engines
@examples(200, small=4)
@given(rows=small_rows)
def test_units_within_their_bound_keep_all_rows(held, rows):
    known = [row for row in rows if row[2] is not None]
    assert bounded_counts(held(known), 24) == bounded_counts(held(known), None)


@both_engines
@examples(200, small=4)
@given(rows=small_rows, bound=bounds)
def test_a_unit_with_more_rows_keeps_as_many_as_its_bound(held, rows, bound):
    kept, every = (
        bounded_counts(held(rows), bound),
        bounded_counts(held([row for row in rows if row[2] is not None]), None),
    )
    sizes = Counter(
        unit
        for x, key, unit in rows
        if unit is not None and x not in (None, 5) and key in ("a", "b")
    )
    assert kept <= every and kept.total() == sum(min(size, bound) for size in sizes.values())


# ---- errors come before data


class Unreadable(list):
    """Cells that nobody may look at."""

    def _fail(self, *_: object) -> None:
        raise AssertionError("a cell was read")

    __iter__ = __getitem__ = __contains__ = _fail


TYPES = {
    "x": "integer",
    "real": "float",
    "city": "text",
    "day": "date",
    "moment": "timestamp",
    "flag": None,
    "id": "integer",
}
SQL = {
    "x": "bigint",
    "real": "double precision",
    "city": "text",
    "day": "date",
    "moment": "timestamp",
    "flag": "boolean",
    "id": "bigint",
}


def unreadable_lists(request: pytest.FixtureRequest) -> Table:
    return postri.open({name: Unreadable([1]) for name in TYPES}, columns=TYPES)


def unreadable_duckdb(request: pytest.FixtureRequest) -> Table:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE one AS SELECT 1 AS y")
    cells = ", ".join(
        f"CAST(CASE WHEN y = 1 THEN error('a cell was read') END AS {kind}) AS {name}"
        for name, kind in SQL.items()
    )
    connection.execute(f"CREATE VIEW nobody AS SELECT {cells} FROM one")
    return Table.from_duckdb(connection, "nobody", vouched=True)


def unreadable_postgres(request: pytest.FixtureRequest) -> Table:
    server = request.getfixturevalue("postgres")
    cells = ", ".join(f"CAST((1 / y)::text AS {kind}) AS {name}" for name, kind in SQL.items())
    server.run(
        "DROP TABLE IF EXISTS zero CASCADE",
        "CREATE TABLE zero AS SELECT 0 AS y",
        f"CREATE VIEW nobody AS SELECT {cells} FROM zero",
    )
    return Table.from_postgres(server.url(), "nobody", vouched=True)


def unreadable_spark(request: pytest.FixtureRequest) -> Table:
    kinds = SQL | {"real": "double", "city": "string", "moment": "timestamp_ntz"}
    cells = [
        f"CAST(raise_error(concat('a cell', id)) AS {kind}) AS {name}"
        for name, kind in kinds.items()
    ]
    frame = request.getfixturevalue("spark").session.range(1).selectExpr(*cells)
    return postri.open(frame, vouched=True)


UNREADABLE = {
    "lists": unreadable_lists,
    "DuckDB": unreadable_duckdb,
    "PostgreSQL": unreadable_postgres,
    "Spark": unreadable_spark,
}
MID = {"mid": agg.median("x")}
WRONG: dict[str, tuple[dict, str]] = {
    "an unknown column": (
        {"aggregates": {"mid": "median(xx)"}},
        "no column 'xx'; did you mean 'x'",
    ),
    "a text": (
        {"aggregates": {"mid": "median(city)"}},
        "declared type text|declared type VARCHAR|declared type string",
    ),
    "a domain of days": (
        {"aggregates": {"mid": agg.median("x", domain=Domain("2024-01-01", "2024-01-31"))}},
        "domain is one of dates",
    ),
    "no domain of floats": (
        {"aggregates": {"mid": agg.median("x"), "far": agg.median("real")}},
        "needs a domain with a step",
    ),
    "an unknown column in where": (
        {"where": "x > 1 AND citty = 'Oslo'"},
        "no column 'citty'; did you mean 'city'",
    ),
    "another kind in where": ({"where": "city > 1"}, "city"),
    "no condition in where": ({"where": "x + 1"}, "where a condition is expected"),
    "no SQL in where": ({"where": "x >"}, "the predicate cannot be read near '>'"),
    "an unknown column in by": (
        {"by": {"citty": ["Oslo"]}},
        "no column 'citty'; did you mean 'city'",
    ),
    "an unknown second column in by": (
        {"by": {"city": ["Oslo"], "dey": [date.min]}},
        "no column 'dey'; did you mean 'day'",
    ),
    "numbers for texts": ({"by": {"city": [1]}}, "no such key as 1; give keys of kind text"),
    "texts for numbers": ({"by": {"x": ["1"]}}, "no such key as '1'; give keys of kind number"),
    "truth for numbers": ({"by": {"x": [True]}}, "no such key as True; give keys of kind number"),
    "texts for days": ({"by": {"day": ["2024-01-31"]}}, "give keys of kind date"),
    "moments for days": ({"by": {"day": [datetime(2024, 1, 31)]}}, "give keys of kind date"),
    "days for moments": ({"by": {"moment": [date(2024, 1, 31)]}}, "give keys of kind timestamp"),
    "zones for moments": (
        {"by": {"moment": [datetime(2024, 1, 31, tzinfo=UTC)]}},
        "must have a time zone just where",
    ),
    "keys of floats": ({"by": {"real": [1]}}, "give it a type without rounding: whole numbers"),
    "floats for keys": ({"by": {"x": [1.5]}}, "a public key must be text, a whole number"),
    "null for a key": ({"by": {"city": ["Oslo", None]}}, "a public key must be text"),
    "the same key twice": (
        {"by": {"city": ["Oslo", "Bergen", "Oslo"]}},
        "must differ from one another",
    ),
    "the same number twice": ({"by": {"x": [1, Decimal("1.0")]}}, "must differ from one another"),
    "keys of two kinds": ({"by": {"x": [1, "a"]}}, "must be of one kind"),
    "no keys": ({"by": {"city": []}}, "name at least one public key of 'city'"),
    "a text for keys": ({"by": {"city": "Oslo"}}, "must be a list"),
    "no columns in by": ({"by": {}}, "by must map columns to their public keys"),
    "a list for by": ({"by": ["city"]}, "by must map columns to their public keys"),
    "too many groups": (
        {"by": {"x": range(1_000), "id": range(1_000)}},
        "at most 100,000 groups, got 1,000,000",
    ),
    "half of a surrogate pair": ({"by": {"city": ["\ud800"]}}, "no cell can be the public key"),
    "no number": ({"by": {"x": [Decimal("NaN")]}}, "must be a finite number"),
    "an infinite number": ({"by": {"x": [Decimal("-Infinity")]}}, "must be a finite number"),
    "a signal for a number": ({"by": {"x": [Decimal("sNaN")]}}, "must be a finite number"),
    "a number of too many digits": (
        {"by": {"x": [Decimal("1e999999999")]}},
        "must be a finite number",
    ),
    "no moment": ({"by": {"moment": [pd.NaT]}}, "no cell can be the public key"),
    "a moment before the calendar": (
        {"by": {"moment": [datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))]}},
        "no cell can be the public key",
    ),
    "an unknown unit": ({"protect": AddOrRemoveUnits("idd")}, "no column 'idd'; did you mean 'id'"),
    "units of floats": (
        {"protect": AddOrRemoveUnits("real")},
        "a unit column must hold whole numbers or text",
    ),
    "units of days": (
        {"protect": ReplaceUnits("day")},
        "a unit column must hold whole numbers or text",
    ),
    "units of moments": (
        {"protect": ReplaceUnits("moment", rows=2)},
        "a unit column must hold whole numbers or text",
    ),
    "names that collide": (
        {"aggregates": {"mid": agg.median("x"), "mid_low": agg.median("x")}},
        "the name 'mid_low'",
    ),
    "a name of a key": (
        {"aggregates": {"city": agg.median("x")}, "by": {"city": ["Oslo"]}},
        "the name 'city'",
    ),
    "no aggregates": ({"aggregates": {}}, "aggregates must map names"),
    "an empty name": (
        {"aggregates": {"": agg.median("x")}},
        "the name of an aggregate must be text",
    ),
    "no such aggregate": (
        {"aggregates": {"mid": "medial(x)"}},
        "no aggregate 'medial'; did you mean 'median'",
    ),
    "weights of others": ({"weights": {"other": 1}}, "weights must give each of 'mid' its weight"),
    "a weight too many": (
        {"weights": {"mid": 1, "other": 1}},
        "weights must give each of 'mid' its weight",
    ),
    "a list of weights": ({"weights": [1]}, "weights must give each of 'mid' its weight"),
    "a weight of nothing": ({"weights": {"mid": 0}}, "the weight of 'mid' must be positive, got 0"),
    "a weight of no number": (
        {"weights": {"mid": "much"}},
        "the weight of 'mid' must be a finite number",
    ),
    "no epsilon": ({"epsilon": 0}, "epsilon must be positive, got 0"),
    "sure confidence": ({"confidence": 1}, "confidence must lie strictly between 0 and 1"),
    "no protected change": ({"protect": "customer_id"}, "protect must be AddOrRemoveRows"),
}


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=marks(name)) for name in UNREADABLE]
)
def unreadable(request) -> Iterator[Table]:
    return UNREADABLE[request.param](request)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_is_refused_before_a_cell_is_read(unreadable, name):
    how, words = WRONG[name]
    with pytest.raises(InputError, match=words):
        postri.ask(unreadable, **({"aggregates": MID, "epsilon": 1} | how))


@pytest.mark.parametrize(
    "source",
    [pa.table({"x": [1], "flag": [True]}), {"x": [1], "flag": np.array([True])}, "DuckDB"],
    ids=type,
)
def test_units_of_truth_are_refused_by_their_declared_type(source, request):
    with pytest.raises(InputError, match="a unit column must hold whole numbers or text"):
        postri.ask(
            unreadable_duckdb(request) if source == "DuckDB" else source,
            MID,
            epsilon=1,
            protect=AddOrRemoveUnits("flag"),
        )


def test_a_right_request_reads_cells(unreadable):
    """So that the errors above came before that."""
    with pytest.raises((AssertionError, EngineError)):
        postri.ask(unreadable, MID, by={"city": ["Oslo"]}, epsilon=1)


@pytest.mark.parametrize(
    "how", [{"where": "x > 1"}, {"by": {"x": [1]}}, {"protect": AddOrRemoveUnits("x")}]
)
def test_a_source_without_names_has_no_columns_to_select_by(how):
    with pytest.raises(InputError, match="one column without a name"):
        postri.ask(Unreadable([1]), {"mid": agg.median("x")}, epsilon=1, **how)


def test_a_domain_too_fine_to_bound_rows_by_unit_is_refused_by_a_database(request):
    """In memory every index is a number of Python's; a database computes those of floats in double
    precision.
    """
    how = {
        "column": "real",
        "domain": Domain(0, 10**9, step="0.000001"),
        "epsilon": 1,
        "protect": AddOrRemoveUnits("id"),
    }
    with pytest.raises(InputError, match="a domain of fewer points"):
        postri.median(unreadable_duckdb(request), **how)
    assert postri.median({"real": np.array([0.5]), "id": [1]}, **how)
