"""What a user's own database may be set to or hold, and must not matter to a predicate."""

from __future__ import annotations

import hashlib
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from real_engines import InDuckDB, InPostgres, InSpark

from postri.columns import float_type
from postri.errors import InputError
from postri.expressions import Predicate, Vector

TEXTS = ["a", "A", "é", "É", "z", "", "a ", "\U0001f600", "it's \\ {x} ${y}", None]
TABLE = pa.table(
    {
        "row": range(len(TEXTS)),
        "t": pa.array(TEXTS),
        "f": pa.array([0.0, 1.5, -2.0, 1e308, float("nan"), 1e-310, 3.0, None, 1.0, 4.0]),
    }
)


def rows(table, text):
    return table.rows_where(Predicate.parse(text))


def test_duckdbs_collations_do_not_matter():
    table = InDuckDB(TABLE)
    table.fetch("CREATE TABLE folded (row BIGINT, t VARCHAR COLLATE NOCASE.NOACCENT)")
    table.fetch("INSERT INTO folded SELECT row, t FROM cells")
    for relation in ("cells", "folded"):
        table.relation = relation
        for setting in ("SELECT 1", "SET default_collation = 'NOCASE'"):
            table.fetch(setting)
            assert rows(table, "t = 'a'") == [0]
            assert rows(table, "t LIKE 'A%'") == [1]
            assert rows(table, "t IN ('É', 'Z')") == [3]
            assert rows(table, "t < 'a'") == [1, 5]
            assert rows(table, "COALESCE(t, 'A') = 'A'") == [1, 9]
            assert rows(table, "t IS NOT DISTINCT FROM 'A'") == [1]
            assert rows(table, "'a' = 'A' OR t = 'z'") == [4]


@pytest.mark.parametrize(
    "setting",
    ["ieee_floating_point_ops = false", "integer_division = true", "old_implicit_casting = true"],
)
def test_duckdbs_arithmetic_settings_do_not_matter(setting):
    table = InDuckDB(TABLE)
    table.fetch(f"SET {setting}")
    assert rows(table, "f / f = 1") == [1, 2, 6, 8, 9]
    assert rows(table, "row / 2 = 0.5") == [1]
    assert rows(table, "f * f * f * f IS NULL") == [3, 4, 5, 7]


def test_a_list_with_a_zero_has_both_zeros():
    """For databases that look floats up by their bits."""
    table = InDuckDB(TABLE)
    for text in ("f IN (1, 0)", "f IN (1, -0.0)"):
        written = table.sql(Predicate.parse(text))
        assert "'0.0'::DOUBLE" in written and "'-0.0'::DOUBLE" in written
        assert rows(table, text) == [0, 8]
    assert "-0.0" not in table.sql(Predicate.parse("f IN (1, 2)"))


def test_duckdbs_enums_are_texts():
    table = InDuckDB(TABLE)
    table.fetch("CREATE TYPE size AS ENUM ('small', 'large')")
    table.fetch("CREATE TABLE sized (row BIGINT, t size)")
    table.fetch("INSERT INTO sized VALUES (0, 'small'), (1, 'large'), (2, NULL)")
    table.relation, table.types = "sized", {"row": "BIGINT", "t": "ENUM('small', 'large')"}
    assert rows(table, "t < 'm'") == [1]
    assert rows(table, "t LIKE '%l' OR t = 'none'") == [0]


def test_duckdbs_moments_beyond_the_calendar_count_as_its_ends():
    table = InDuckDB(TABLE)
    table.fetch(
        "CREATE TABLE far (row BIGINT, d DATE, ts TIMESTAMP, ns TIMESTAMP_NS, s TIMESTAMP_S)"
    )
    table.fetch("""INSERT INTO far VALUES (0, 'infinity', 'infinity', 'infinity', 'infinity'),
        (1, '-infinity', '-infinity', '-infinity', '-infinity'),
        (2, '12000-01-01', '12000-01-01', '2200-01-01', '12000-01-01'),
        (3, '2024-01-31', '2024-01-31', '2024-01-31', '2024-01-31')""")
    table.relation, table.types = (
        "far",
        {"row": "BIGINT", "d": "DATE", "ts": "TIMESTAMP", "ns": "TIMESTAMP_NS", "s": "TIMESTAMP_S"},
    )
    assert rows(table, "d = DATE '9999-12-31'") == [0, 2]
    assert rows(table, "d <= '0001-01-01'") == [1]
    assert rows(table, "ts = TIMESTAMP '9999-12-31 23:59:59.999999'") == [0, 2]
    assert rows(table, "s = '0001-01-01'") == [1]
    assert rows(table, "ts = d AND s = ns") == [3]


@pytest.fixture(scope="module")
def postgres_table(postgres):
    with closing(InPostgres(postgres, TABLE)) as table:
        yield table


@pytest.mark.slow
def test_postgres_collations_and_blanks_do_not_matter(postgres_table):
    table = postgres_table
    table.fetch(
        "CREATE COLLATION IF NOT EXISTS folded (provider = icu, locale = 'und-u-ks-level2', "
        "deterministic = false)"
    )
    table.fetch(
        "DROP TABLE IF EXISTS odd; CREATE TABLE odd (row bigint, t text COLLATE folded, c "
        "character(4), v character varying(9))"
    )
    table.fetch(
        "INSERT INTO odd VALUES (0, 'a', 'ab', 'a'), (1, 'A', 'AB', 'A'), (2, 'é', 'é', 'é "
        "'), (3, NULL, NULL, NULL)"
    )
    table.relation, table.types = (
        "odd",
        {"row": "bigint", "t": "text", "c": "character(4)", "v": "character varying(9)"},
    )
    assert rows(table, "t = 'A'") == [1]
    assert rows(table, "t LIKE 'a%'") == [0]
    assert rows(table, "t IN ('A', 'É')") == [1]
    assert rows(table, "t < 'a'") == [1]
    assert rows(table, "c = 'ab'") == [0]
    assert rows(table, "c LIKE 'a_'") == [0]
    assert rows(table, "v = 'é '") == [2]
    assert rows(table, "COALESCE(t, c, v, 'A') = 'A'") == [1, 3]
    table.relation, table.types = "cells", {"row": "bigint", "t": "text", "f": "double precision"}


@pytest.mark.slow
def test_postgres_infinities_count_as_the_calendars_ends_and_nan_as_null(postgres_table):
    table = postgres_table
    table.fetch(
        "DROP TABLE IF EXISTS far; CREATE TABLE far (row bigint, d date, ts timestamp, tz "
        "timestamptz, n numeric(18,2))"
    )
    table.fetch("""INSERT INTO far VALUES (0, 'infinity', 'infinity', 'infinity', 'NaN'),
        (1, '-infinity', '-infinity', '-infinity', 1),
        (2, '5874897-12-31', '294276-12-31', '294276-12-31', 2),
        (3, '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 BC', 3)""")
    kinds = {
        "d": "date",
        "ts": "timestamp without time zone",
        "tz": "timestamp with time zone",
        "n": "numeric(18,2)",
    }
    table.relation, table.types = "far", {"row": "bigint", **kinds}
    assert rows(table, "d = DATE '9999-12-31'") == [0, 2]
    assert rows(table, "ts <= '0001-01-01'") == [1, 3]
    assert rows(table, "tz > TIMESTAMP '2024-01-01 00:00:00Z'") == [0, 2]
    assert rows(table, "ts >= d") == [0, 1, 2, 3]
    assert rows(table, "n > 1") == [2, 3]
    assert rows(table, "n + 1 IS NULL") == [0]
    table.relation, table.types = "cells", {"row": "bigint", "t": "text", "f": "double precision"}


@pytest.fixture(scope="module")
def spark_frame(spark, tmp_path_factory):
    return InSpark(spark, TABLE, tmp_path_factory.mktemp("spark") / "cells.parquet")


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.parser.escapedStringLiterals": "true"},
        {"spark.sql.caseSensitive": "true", "y": "replaced"},
    ],
)
def test_sparks_settings_of_literals_do_not_matter(spark_frame, settings):
    with spark_frame.settings(settings):
        assert rows(spark_frame, "t = 'it''s \\ {x} ${y}'") == [8]
        assert rows(spark_frame, "t LIKE '%\\ {_} ${%'") == [8]


@pytest.mark.slow
def test_sparks_columns_of_another_collation_are_refused(spark_frame):
    spark_frame.types = spark_frame.types | {"ci": "string collate UNICODE_CI"}
    with pytest.raises(InputError, match="'ci' has the declared type string collate UNICODE_CI"):
        spark_frame.bound(Predicate.parse("ci = 'a'"))


ENGINES = [
    pytest.param("duckdb"),
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("postgres", "spark")),
]


def engine_of(name, request):
    return (
        InDuckDB(TABLE)
        if name == "duckdb"
        else request.getfixturevalue(f"{name}_{'table' if name == 'postgres' else 'frame'}")
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_may_have_the_name_that_stands_for_a_value(engine, request, tmp_path):
    """Values that are used twice get the name v."""
    table = pa.table({"row": [0, 1, 2], "v": [1.0, 2.0, None], "let": [4.0, float("nan"), 1.0]})
    if engine == "duckdb":
        found = InDuckDB(table)
    elif engine == "spark":
        found = InSpark(request.getfixturevalue("spark"), table, tmp_path / "v.parquet")
    else:
        found = InPostgres(request.getfixturevalue("postgres"), table, "named")
    text = (
        "(v + v * v - v / v + v) / (v * v * v + v + v) > 0.5 AND (let - v) * (let + v + let) * "
        "(v + 1) > 0"
    )
    predicate = Predicate.parse(text)
    bound = predicate.bind(["v", "let"], lambda _: float_type(64))
    cells = {
        name: np.array([np.nan if cell is None else cell for cell in table[name].to_pylist()])
        for name in ("v", "let")
    }
    assert (
        found.sql(predicate).count(
            "lambda v" if engine == "duckdb" else "v ->" if engine == "spark" else "AS let"
        )
        > 2
    )
    assert (
        rows(found, text)
        == np.flatnonzero(
            bound.mask({wanted: Vector(cells[wanted.column]) for wanted in bound.inputs})
        ).tolist()
        == [0]
    )
    if engine == "postgres":
        found.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_md5_is_that_of_the_texts_bytes_in_utf_8(engine, request):
    table = engine_of(engine, request)
    dialect = table.dialect
    unit = dialect.joined_text(
        [
            table.cells("t").raw,
            dialect.text_of_integer(table.cells("row").raw, shift=2**63 - 1),
            dialect.text_literal("é"),
        ]
    )
    query = (
        f"SELECT {dialect.md5(unit)} FROM {table.relation} WHERE {dialect.name('t')} IS NOT NULL "
        f"ORDER BY {dialect.name('row')}"
    )
    expected = [
        hashlib.md5(f"{text}:{row + 2**63 - 1}:é".encode()).hexdigest()
        for row, text in enumerate(TEXTS)
        if text is not None
    ]
    assert [digest for (digest,) in table.fetch(query)] == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_a_text_literal_is_the_text(engine, request):
    table = engine_of(engine, request)
    texts = [text for text in TEXTS if text is not None] + [
        "%s %% {} {{source}} $",
        "\n\r\t",
        "'; --",
        '"',
        "\\'",
        "\\u0024",
        "?",
    ]
    literals = ", ".join(
        f"{table.dialect.text_literal(text)} AS t{i}" for i, text in enumerate(texts)
    )
    assert table.fetch(f"SELECT {literals} FROM {table.relation} LIMIT 1") == [tuple(texts)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_text_with_nul_equals_no_cell(engine, request):
    """No predicate holds one, but a public key of groups may."""
    table = engine_of(engine, request)
    literal = table.dialect.text_literal("a\0")
    assert (
        table.fetch(f"SELECT row FROM {table.relation} WHERE {table.cells('t').raw} = {literal}")
        == []
    )
