"""Timestamps of DuckDB are compared as they stand in a table, and mean what they meant."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import postri
from postri import SeededCoins, agg, by
from postri.engines.duckdb.source import RelationSource, relation_engine
from postri.engines.engine import SMALL
from postri.engines.rows import EVERY_ROW
from postri.expressions import Value

MOMENTS = [
    "infinity",
    "-infinity",
    "0044-03-15 (BC) 00:00:00",
    "0001-01-01 00:00:00",
    "0001-01-01 23:59:59.999999",
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    "2013-01-01 00:00:00",
    "2013-01-01 23:59:59.999999",
    "2013-01-02 00:00:00",
    "2013-06-30 12:30:00.5",
    "9999-12-30 23:59:59.999999",
    "9999-12-31 23:59:59.999999",
    "10000-01-01 00:00:00",
    "290000-01-01 00:00:00",
]
GROUPINGS = {
    "day": by.day("t", "2013-01-01", "2013-01-02"),
    "hour": by.hour("t", "2013-01-01 00", "2013-01-01 23"),
    "month": by.month("t", "2013-01", "2013-12"),
    "year": by.year("t", "1970", "2013"),
    "weekday": by.weekday("t"),
}


def moments(connection: duckdb.DuckDBPyConnection, declared: str) -> duckdb.DuckDBPyRelation:
    zone = "+00" if declared == "TIMESTAMPTZ" else ""
    rows = [f"('{text}{'' if 'inf' in text else zone}')" for text in MOMENTS]
    connection.execute("SET TimeZone = 'Asia/Tokyo'")
    connection.execute(f"CREATE TABLE moments (t {declared})")
    connection.execute(f"INSERT INTO moments VALUES {', '.join(rows)}, (NULL)")
    return connection.table("moments")


@pytest.mark.one_in(8)
@pytest.mark.parametrize("declared", ["TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS"])
@pytest.mark.parametrize("name", GROUPINGS)
def test_a_range_of_keys_holds_on_the_rows_whose_key_is_in_it(declared, name):
    with duckdb.connect() as connection:
        relation = moments(connection, declared)
        engine = relation_engine(relation)
        cells = engine._row_source(None, EVERY_ROW)
        value = Value.bind(GROUPINGS[name].keyed().expression, ["t"], engine.type_of)
        key = value.sql(cells.dialect, cells.input_cells)
        keys = [
            row[0] for row in relation.query("moments", f"SELECT {key} FROM moments").fetchall()
        ]
        assert keys[-1] is None
        known = sorted({key for key in keys if key is not None})
        # Infinities and what lies outside of the calendar are as good as its ends.
        assert keys[0] == keys[-3] == keys[-4]
        assert keys[1] == keys[2] == keys[3]
        for low in known:
            for high in [each for each in known if each >= low]:
                inside = value.inside_sql(cells.dialect, cells.input_cells, low, high)
                query = f"SELECT count(*) FROM moments WHERE {inside}"
                ((number,),) = relation.query("moments", query).fetchall()
                assert number == sum(low <= each <= high for each in keys if each is not None)
                among = value.among_sql(cells.dialect, cells.input_cells, low, high)
                texts = relation.query("moments", f"SELECT {among} FROM moments").fetchall()
                for (found,), each in zip(texts, keys, strict=True):
                    if each is not None and low <= each <= high:
                        assert found == each
                    else:
                        assert found is None or not low <= found <= high


@pytest.mark.parametrize(
    ("first", "last", "is_plain"),
    [
        ("2013-01-01", "2013-01-31", True),
        ("0001-01-10", "0001-02-10", True),
        ("9999-11-01", "9999-12-20", True),
        ("0001-01-01", "0001-01-31", False),
        ("9999-12-01", "9999-12-31", False),
    ],
)
def test_only_days_at_an_end_of_the_calendar_are_compared_with_it(first, last, is_plain):
    """Elsewhere DuckDB knows between which days the rows lie, and counts by them in an array."""
    days = {"day": by.day("t", first, last)}
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE trips AS SELECT CAST('{first} 12:00' AS TIMESTAMP) AS t, "
            f"i % 100 AS x FROM range({SMALL + 1_000}) AS numbers(i)"
        )
        rows = connection.table("trips").to_arrow_table()
        statements = []
        run = RelationSource.columns

        def noted(self: RelationSource, query: str) -> Any:
            statements.append(query)
            return run(self, query)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RelationSource, "columns", noted)
            ours = postri.ask(
                connection.table("trips"),
                {"mid": agg.median("x")},
                by=days,
                epsilon=1,
                coins=SeededCoins(3),
            )
    theirs = postri.ask(rows, {"mid": agg.median("x")}, by=days, epsilon=1, coins=SeededCoins(3))
    assert ours.rows == theirs.rows
    keyed = [text for text in statements if "AS key0" in text]
    assert keyed
    assert all(('WHEN "t" >' in text) != is_plain for text in keyed)


def test_moments_without_end_are_in_no_day_of_a_large_table():
    days = {"day": by.day("t", "2013-01-01", "2013-01-20")}
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE trips AS SELECT TIMESTAMP '2012-12-30' + to_seconds(i * 37) AS t, "
            f"(i * 7919) % 10007 AS x FROM range({SMALL + 1_000}) AS numbers(i)"
        )
        rows = connection.table("trips").to_arrow_table()
        connection.execute(
            "INSERT INTO trips SELECT CASE WHEN i % 2 = 0 THEN 'infinity' ELSE '-infinity' END, i "
            "FROM range(50) AS numbers(i)"
        )
        ours, theirs = (
            postri.ask(source, {"mid": agg.median("x")}, by=days, epsilon=1, coins=SeededCoins(3))
            for source in (connection.table("trips"), rows)
        )
    assert ours.rows == theirs.rows
