"""Columns that are computed from others: on every engine their windows, totals and sizes are those
of a slow and exact reading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from contract_tables import DAYS, WHOLE, Asked, large_table, odd_table
from reference import Reference, seconds
from rows_reference import counted, sizes, window

import postri
from postri import AddOrRemoveUnits, Domain, InputError, SeededCoins, SourceError, agg
from postri.columns import BOOLEAN, ColumnType, float_type, timestamp_type
from postri.engines.rows import Groups, Rows, Selection, Units
from postri.engines.table import Table
from postri.expressions import Predicate
from postri.expressions.ranges import clamped, domain_of
from postri.expressions.reader import read_expression
from postri.expressions.tree import Expression, columns_of
from postri.grid import Grid, grid_of
from postri.window import Target, Total
from proving import sized
from services.real_tables import (
    FULLY,
    LOADERS,
    SIGNED,
    Place,
    loaded,
    meant,
    most_of,
)

# A name that every database would stumble over, if it were written in a query.
NAME = 'odd "name" {source} ${x} `;'
TENTHS, FINE = Domain(-20, 20, step="0.1"), Domain(-5, 5, step="0.0001")
NOON = Domain("2024-02-29T11:00", "2024-02-29T13:00", step=8)
DOMAINS = {
    "whole": Domain(-20, 25),
    "exact": Domain("-1.5", "1.5", step="0.05"),
    "half": Domain(-2, 2, step="0.1"),
    "day": DAYS,
}

ROWS = odd_table(250)


@dataclass(frozen=True)
class Computed:
    """An expression and the domain that it is asked about on; None for the one that follows, after
    clamping.
    """

    text: str
    domain: Domain | None = None

    @cached_property
    def expression(self) -> Expression:
        found = read_expression(self.text)
        return found if self.domain else clamped(found, DOMAINS)

    @cached_property
    def on(self) -> Domain:
        return self.domain or domain_of(read_expression(self.text), DOMAINS)


COMPUTED: dict[str, Computed] = {
    "a sum of whole numbers, some too large": Computed("whole + small", WHOLE),
    "a product of whole numbers, most too large": Computed(
        "whole * number", Domain(-(2**63), 2**63 - 1)
    ),
    "the opposite of the smallest number": Computed("-number", Domain(-(2**63), 2**63 - 1)),
    "decimals": Computed("exact * exact - 1.5", FINE),
    "floats and whole numbers": Computed("half * 2 + whole", TENTHS),
    "short floats": Computed("short - half", TENTHS),
    "a quotient, sometimes by zero": Computed("half / exact", TENTHS),
    "a case without else": Computed(
        (
            "CASE WHEN city = 'Oslo' THEN whole WHEN small > 0 THEN -exact WHEN small = 0 THEN "
            "NULL END"
        ),
        TENTHS,
    ),
    "a case that counts": Computed(
        "CASE WHEN day < DATE '1970-01-01' THEN 1 ELSE 0 END", Domain(0, 1)
    ),
    "the first that is not null": Computed("COALESCE(whole, exact, 0.5)", TENTHS),
    "the first of two floats": Computed("COALESCE(half, short)", TENTHS),
    "a column alone": Computed("number", Domain(-(2**63), 2**63 - 1)),
    "large numbers without a sign": Computed("large", Domain(0, 2**63 - 1)),
    "large numbers without a sign in a sum": Computed(
        "COALESCE(large, 1) - natural", Domain(-(2**62), 2**62)
    ),
    "days": Computed("COALESCE(day, DATE '2024-02-29')", DAYS),
    "moments": Computed(
        "CASE WHEN whole > 3 THEN moment ELSE TIMESTAMP '2024-02-29 12:10:00' END", NOON
    ),
    "days beside moments": Computed("COALESCE(day, moment)", NOON),
    "moments in zones": Computed(
        "COALESCE(zoned, TIMESTAMP '2024-02-29 12:10:00+00:00')",
        Domain("2024-02-29T11:00+00:00", "2024-02-29T13:00+00:00"),
    ),
    "a quotient on its own domain": Computed("whole / 4"),
    "a rounded quotient on its own domain": Computed("(whole + 1) / 3"),
    "all of it on its own domain": Computed(
        "CASE WHEN whole >= 2 THEN exact / whole ELSE COALESCE(half, 0) * 1.5 END"
    ),
    "a difference between limits": Computed("GREATEST(LEAST(whole - half, 1.5), -2)", TENTHS),
    "the greatest of days and moments": Computed("GREATEST(day, moment)", NOON),
    "the size of the smallest number": Computed("ABS(number)", Domain(-(2**63), 2**63 - 1)),
    "rounded decimals and floats": Computed("ROUND(exact, 1) + ROUND(half * 3)", TENTHS),
    "whole numbers of floats and conditions": Computed(
        "CAST(half * 5 AS INTEGER) + CAST(whole BETWEEN 0 AND 3 AS INTEGER)", TENTHS
    ),
    "days between days and moments": Computed("DATE_DIFF('day', day, moment) - whole", WHOLE),
    "limits on their own domain": Computed(
        "GREATEST(LEAST(whole - exact, 6), -6.5) * ABS(half) + FLOOR(exact)"
    ),
    "days between on their own domain": Computed(
        "LEAST(CAST(day - DATE '2024-02-01' AS DOUBLE), 1000)"
    ),
    "days on their own domain": Computed("COALESCE(day, DATE '1999-12-31')"),
}
HOW: dict[str, dict[str, Any]] = {
    "all rows": {},
    "a filter": {
        "where": "exact < 1.5",
        "holds": lambda row: row["exact"] is not None and row["exact"] < 1.5,
    },
    "keys": {"by": {"small": [2, 0, 7]}},
    "units": {"units": ("id", 2)},
    "all together": {
        **{
            "where": "exact < 1.5",
            "holds": lambda row: row["exact"] is not None and row["exact"] < 1.5,
        },
        **{"by": {"small": [1, -1]}, "units": ("name", 2)},
    },
}
QUANTILES = (Fraction(1, 2), Fraction(1, 100))
# A question takes Spark a second, whatever it counts.
SPARK = {
    "a product of whole numbers, most too large": ("all rows",),
    "a case without else": ("all together",),
    "days beside moments": ("a filter",),
    "all of it on its own domain": ("all together", "all rows")[: sized(1, 2)],
    "limits on their own domain": ("all together", "all rows")[: sized(1, 2)],
}


# Each kind of engine is asked everything, its relatives what is the plainest and what is the
# hardest.
def hows(engine: str, name: str) -> tuple[str, ...]:
    if engine == "Spark":
        return SPARK[name]
    if engine not in FULLY:
        return ("all rows", "all together")
    # In `make test` expressions take turns: of two that an engine is asked, the one in three ways
    # and the other in the other two. By pairs, for some engines are asked every second one.
    turn = list(COMPUTED).index(name) // 2
    return tuple(HOW)[turn % sized(2, 1) :: sized(2, 1)]


def asked_of(engine: str) -> list[str]:
    """In `make test` DuckDB is asked what its relatives, files and CSV, are not asked."""
    names = list(COMPUTED)
    return names[sized(1, 0) :: sized(2, 1)] if engine == "DuckDB" else most_of(engine, names)


def fits(engine: str, name: str) -> bool:
    return (engine != "Spark" or name in SPARK) and (
        engine not in (*SIGNED, "CSV") or not {"large", "natural"} & _columns(name)
    )


def _columns(name: str) -> set[str]:
    return set(columns_of(COMPUTED[name].expression))


@pytest.fixture(scope="module")
def opened(request, tmp_path_factory) -> Callable[[str], Table]:
    place = Place(tmp_path_factory.mktemp("expressions"), request)
    return cache(lambda engine: loaded(engine, ROWS, place))


# ---- the slow reading


def types_of(table: Table, names: set[str]) -> dict[str, ColumnType]:
    """What a column is read as: its declared type, or where it has none what its use tells."""
    declared = {name: table.declared(name) for name in names}
    return {
        name: _read_as(ROWS.schema.field(name).type) if kind.kind is None else kind
        for name, kind in declared.items()
    }


def _read_as(kind: pa.DataType) -> ColumnType:
    if pa.types.is_temporal(kind):
        return timestamp_type("timestamp", 10**6)
    return BOOLEAN if pa.types.is_boolean(kind) else float_type(64)


def cell_of(cell: Any, kind: ColumnType) -> Any:
    """A cell as the slow reading takes it: seconds, an exact number, a float, or as it is."""
    if cell is None or isinstance(cell, str):
        return cell
    if kind.kind in ("date", "timestamp"):
        return seconds(cell)
    return float(cell) if kind.unit is None else Fraction(cell)


@cache
def odd_rows(engine: str) -> list[dict[str, Any]]:
    return meant(engine, ROWS)


def values(engine: str, table: Table, name: str) -> list[dict[str, Any]]:
    """The rows as the engine reads them, with the value of an expression in each."""
    computed = COMPUTED[name]
    types, rows = types_of(table, _columns(name)), odd_rows(engine)
    reference, unit = Reference(types), 86_400 if computed.on.kind == "date" else 1

    def value(row: Mapping[str, Any]) -> Any:
        found = reference.value(
            computed.expression, {name: cell_of(row[name], kind) for name, kind in types.items()}
        )
        return found / unit if unit > 1 and found is not None else found

    return [{**row, NAME: fitted(value(row), computed)} for row in rows]


def fitted(value: Any, computed: Computed) -> Any:
    """A column alone that is too large for 64 bits with a sign is null, as a sum would be."""
    return (
        None
        if computed.text == "large"
        and value is not None
        and value >= 2**63
        and isinstance(value, Fraction)
        else value
    )


def selection(table: Table, asked: Asked) -> Selection:
    where, by = asked.where and Predicate.parse(asked.where), asked.by and Groups.of(asked.by)
    return table.bind(Rows(where or None, by or None, Units(*asked.units) if asked.units else None))


# ---- every engine


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("engine", "name"),
    [
        pytest.param(engine, name, marks=[] if engine == "Arrow" else pytest.mark.slow)
        for engine in LOADERS
        for name in asked_of(engine)
        if fits(engine, name)
    ],
)
def test_windows_totals_and_sizes_are_those_of_the_values(engine, name, opened):
    source, computed = opened(engine), COMPUTED[name]
    table, rows = source.computed({NAME: computed.expression}), values(engine, source, name)
    grid = grid_of(table.type_of(NAME), computed.on)
    for how in hows(engine, name):
        asked = Asked(NAME, computed.on, **HOW[how])
        bound = selection(table, asked)
        counts = counted(rows, asked, grid)
        found = table.grouped_windows(NAME, grid, [Target(p, 5) for p in QUANTILES], bound)
        assert [[_plain(each(0)) for each in group] for group in found] == [
            [window(group, p, 5) for p in QUANTILES] for group in counts
        ]
        assert table.totals(NAME, grid, bound) == [
            Total(group.total(), sum(i * n for i, n in group.items())) for group in counts
        ]
        assert table.sizes(NAME, bound) == sizes(rows, asked, NAME)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["key0", "input0", "index", "unit", "value", "cell0"])
def test_a_computed_column_of_a_csv_file_may_have_any_name(name, tmp_path):
    (tmp_path / "t.csv").write_text("x,k\n" + "".join(f"{i},{i % 3}\n" for i in range(300)))
    table = postri.open(tmp_path / "t.csv").computed({name: read_expression("2 * x + k")})
    rows, grid = (
        Rows(Predicate.parse("x > 30"), Groups.of({"k": [2, 0]}), Units("k", 70)),
        grid_of(table.type_of(name), Domain(0, 1_000)),
    )
    same = postri.open({"x": list(range(300)), "k": [i % 3 for i in range(300)]}).computed(
        {name: read_expression("2 * x + k")}
    )
    found = [
        each.grouped_windows(name, grid, [Target(Fraction(1, 2), 20)], each.bind(rows))
        for each in (table, same)
    ]
    assert [group[0](0) for group in found[0]] == [group[0](0) for group in found[1]]
    assert table.sizes(name, table.bind(rows)) == same.sizes(name, same.bind(rows)) == [70, 70]


@pytest.mark.parametrize(
    "name", ["large numbers without a sign", "large numbers without a sign in a sum"]
)
def test_untyped_cells_are_floats_to_an_expression_and_their_sums_need_a_coarser_domain(
    name, opened
):
    table = opened("CSV").computed({NAME: COMPUTED[name].expression})
    grid = grid_of(table.type_of(NAME), COMPUTED[name].on)
    with pytest.raises(InputError, match="a domain of fewer points"):
        table.check_indexed(NAME, grid)
    counts = counted(values("CSV", opened("CSV"), name), Asked(NAME, COMPUTED[name].on), grid)
    ((found,),) = table.grouped_windows(
        NAME, grid, [Target(Fraction(1, 2), 5)], selection(table, Asked(NAME))
    )
    assert _plain(found(0)) == window(counts[0], Fraction(1, 2), 5)


def _plain(found) -> tuple:
    return found.indexes.tolist(), found.counts.tolist(), found.below, found.n


@cache
def large_rows() -> list[dict[str, Any]]:
    """The large table with the values of two expressions."""
    rows = meant("Arrow", large_table())
    for row in rows:
        row["v"] = None if row["x"] is None else row["x"] / 2 + row["constant"]
        row["w"] = None if row["x"] is None else Fraction(row["x"], 2) + row["block"]
    return rows


HALVES = Domain(-10_000, 10_000, step="0.5")
OF_LARGE = {
    "v": Asked("v", HALVES),
    "w": Asked("w", HALVES, by={"block": range(0, 300, 7)}),
}


@cache
def large_windows(name: str, grid: Grid) -> list[tuple]:
    """Those of the slow reading, which takes longer than any engine."""
    counts = counted(large_rows(), OF_LARGE[name], grid)
    return [window(group, QUANTILES[0], 60) for group in counts]


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["Arrow", "DuckDB", "Parquet files", "PostgreSQL"])
def test_computed_columns_of_large_tables_are_sampled(engine, request, tmp_path):
    source = loaded(engine, large_table(), Place(tmp_path, request))
    table = source.computed(
        {
            "v": read_expression("x / 2 + COALESCE(constant, block)"),
            "w": read_expression("x * 0.5 + block"),
        }
    )
    for name, asked in OF_LARGE.items():
        grid = grid_of(table.type_of(name), HALVES)
        found = table.grouped_windows(
            name, grid, [Target(QUANTILES[0], 60)], selection(table, asked)
        )
        assert [_plain(each(0)) for (each,) in found] == large_windows(name, grid)


# ---- what a computed column is

PEOPLE = {
    "x": np.array([1, 2, 3, 40]),
    "y": np.array([0.5, 1.5, 2.5, 3.5]),
    "city": ["Oslo", "Bergen", "Oslo", None],
    "id": [1, 1, 2, 3],
}


def people(**columns: str) -> Table:
    return postri.open(PEOPLE, columns={"city": "text", "id": "integer"}).computed(
        {name: read_expression(text) for name, text in columns.items()}
    )


@pytest.mark.parametrize(
    ("text", "kind", "unit"),
    [
        *(
            ("x + 1", "number", Fraction(1)),
            ("x * 0.25", "number", Fraction(1, 100)),
            ("x / 4", "number", None),
            ("x + y", "number", None),
        ),
        ("CASE WHEN city = 'Oslo' THEN DATE '2024-01-31' END", "date", Fraction(1)),
        ("CASE WHEN x > 1 THEN TIMESTAMP '2024-01-31 12:00:00' END", "timestamp", Fraction(1)),
    ],
)
def test_the_declared_type_follows_from_the_plan(text, kind, unit):
    declared = people(v=text).type_of("v")
    assert (declared.kind, declared.unit) == (kind, unit)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wage + 1", "there is no column 'wage'; there are: 'x', 'y', 'city', 'id'"),
        ("cyti + 1", "there is no column 'cyti'; did you mean 'city'?"),
        ("city", "city is a text, where a number is expected"),
        ("x > 1", "x > 1 is a condition, where a number is expected"),
        ("city + 1", "city is a text, where a number is expected"),
        ("COALESCE(x, city)", "x is a number and city is a text; they cannot be put side by side"),
        (
            "1 + 1",
            "1 + 1 is the same in every row; ask about an expression that depends on a column",
        ),
        (
            "x + NULL",
            "x + NULL is the same in every row; ask about an expression that depends on a column",
        ),
        (
            "x * 1e-19",
            (
                "a sum, product, CASE or COALESCE has more than 18 decimal places; divide, which "
                "gives a float"
            ),
        ),
    ],
)
def test_an_expression_that_does_not_fit_is_refused(text, message):
    with pytest.raises(InputError) as error:
        people(v=text)
    assert str(error.value) == message


def test_a_name_must_be_new():
    for table in (people(), people(v="y")):
        with pytest.raises(
            InputError, match="the table has a column 'x'; give the expression another name"
        ):
            table.computed({"x": read_expression("x + 1")})
    with pytest.raises(InputError, match="the table has a column 'v'"):
        people(v="y").computed({"v": read_expression("x + 1")})


def test_a_source_without_names_has_no_expressions():
    with pytest.raises(InputError, match="expressions need a table with named columns"):
        postri.open([1, 2, 3]).computed({"v": read_expression("x + 1")})


def test_predicates_keys_and_units_do_not_see_it():
    table = people(v="x + 1")
    assert table.columns == list(PEOPLE)
    for rows in (
        Rows(Predicate.parse("v > 1")),
        Rows(groups=Groups.of({"v": [1]})),
        Rows(units=Units("v", 1)),
    ):
        with pytest.raises(InputError, match="there is no column 'v'"):
            table.bind(rows)


def test_the_same_name_means_another_column_in_another_table():
    one, other = people(v="x + 1"), people(v="x * 100")
    third = people().computed({"w": read_expression("y")}).computed({"v": read_expression("x")})
    grid = grid_of(one.type_of("v"), Domain(0, 10_000))
    assert [table.totals("v", grid, Selection())[0].indexes for table in (one, other, third)] == [
        50,
        4_600,
        46,
    ]
    assert third.column("w") == "w"


def test_no_cell_is_touched_before_a_question():
    class Untouchable(list):
        def __iter__(self):
            raise AssertionError

        __getitem__ = __len__ = __iter__

    table = postri.open({"x": Untouchable([1, 2])}, columns={"x": "integer"}).computed(
        {"v": read_expression("x * 2")}
    )
    assert table.type_of("v").unit == 1


def test_columns_of_different_lengths_are_refused():
    table = postri.open({"x": [1, 2], "y": [1.5]}, columns={"x": "integer", "y": "float"}).computed(
        {"v": read_expression("x + y")}
    )
    with pytest.raises(SourceError, match="different lengths"):
        table.sizes("v", Selection())


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["lists", "Arrow", "DuckDB", "CSV"])
def test_a_computed_column_answers_like_a_stored_one(engine, request, tmp_path):
    rows = pa.table(
        {"x": pa.array([*range(500), None]), "id": pa.array([i % 40 for i in range(501)])}
    )
    stored = rows.append_column(
        "v", pa.array([None if x is None else 3 * x - 7 for x in rows["x"].to_pylist()], pa.int64())
    )
    place, domain = Place(tmp_path, request), Domain(-7, 1_490)
    wanted = {
        "mid": agg.median("v", domain=domain),
        "sum": agg.sum("v", domain=domain),
        "rows": agg.count("v"),
    }
    how = {"epsilon": 3, "protect": AddOrRemoveUnits("id", rows=5), "where": "x > 10"}
    answers = [
        [
            (answer.value, answer.interval)
            for answer in postri.ask(table, wanted, coins=SeededCoins(4), **how).answers
        ]
        for table in (
            loaded(engine, stored, place),
            loaded(engine, rows, place).computed({"v": read_expression("3 * x - 7")}),
        )
    ]
    assert answers[0] == answers[1]
