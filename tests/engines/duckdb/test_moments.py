"""Timestamps of DuckDB are compared as they stand in a table, and mean what they meant."""

from __future__ import annotations

import duckdb
import pytest

import postri
from postri import SeededCoins, agg, by
from postri.engines.duckdb.source import relation_engine
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
