"""Groups by expressions and filters of aggregates in SQL, beside the same questions in Python."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import postri
from postri import InputError, agg, by

START = datetime(2012, 12, 1)
POLICY = """
[datasets.trips]
source = "trips.parquet"
version = "1"
budget = "100"
rows = 1000
protect = { change = "add-or-remove-rows", rows = 1 }
[datasets.trips.columns.t]
type = "timestamp"
lower = "2013-01-01T00:00:00"
upper = "2013-12-31T23:59:59"
[datasets.trips.columns.made]
type = "timestamp"
[datasets.trips.columns.fare]
type = "integer"
lower = 0
upper = 200
[datasets.trips.columns.city]
type = "text"
keys = ["Oslo", "Rome"]
"""


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    place = tmp_path_factory.mktemp("trips")
    moments = [START + timedelta(hours=11 * i) for i in range(1_000)]
    table = {
        "t": pa.array(moments, pa.timestamp("us")),
        "made": pa.array(moments, pa.timestamp("us")),
        "fare": [i % 150 for i in range(1_000)],
        "city": ["Oslo", "Rome", None, "Oslo"] * 250,
    }
    pq.write_table(pa.table(table), place / "trips.parquet")
    (place / "postri.toml").write_text(POLICY)
    with postri.connect(place / "postri.toml") as session:
        yield session


MONTHS = "SELECT DATE_TRUNC('month', t) AS month, COUNT(*) AS n FROM trips"
YEAR = "made >= '2013-01-01' AND made < '2014-01-01'"


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (f"{MONTHS} GROUP BY month", [date(2013, i, 1) for i in range(1, 13)]),
        (f"{MONTHS} GROUP BY 1", [date(2013, i, 1) for i in range(1, 13)]),
        (f"{MONTHS} GROUP BY date_trunc( 'MONTH', T )", [date(2013, i, 1) for i in range(1, 13)]),
        (f"{MONTHS} WHERE t < '2013-03-01' GROUP BY month", [date(2013, i, 1) for i in (1, 2)]),
        (f"{MONTHS} GROUP BY month ORDER BY month DESC LIMIT 1", [date(2013, 12, 1)]),
        (f"{MONTHS} GROUP BY 1 ORDER BY DATE_TRUNC('month', t) LIMIT 1", [date(2013, 1, 1)]),
        (f"{MONTHS} GROUP BY 1 HAVING month > DATE '2013-11-05'", [date(2013, 12, 1)]),
        (
            f"SELECT DATE_TRUNC('quarter', made) q, COUNT(*) FROM trips WHERE {YEAR} GROUP BY q",
            [date(2013, i, 1) for i in (1, 4, 7, 10)],
        ),
        ("SELECT YEAR(t), COUNT(*) FROM trips GROUP BY YEAR(t)", [2013]),
        ("SELECT EXTRACT(hour FROM t), COUNT(*) FROM trips GROUP BY 1", list(range(24))),
        ("SELECT MONTH(made) AS m, COUNT(*) FROM trips GROUP BY m", list(range(1, 13))),
        ("SELECT WIDTH_BUCKET(fare, 0, 100, 3), COUNT(*) FROM trips GROUP BY 1", list(range(5))),
        (
            "SELECT BINS(fare, 0, 50, 100) b, COUNT(*) FROM trips GROUP BY b",
            ["[0, 50)", "[50, 100]"],
        ),
        (
            "SELECT CASE WHEN fare < 50 THEN 'low' ELSE 'high' END AS c, COUNT(*) FROM trips "
            "GROUP BY c",
            ["low", "high"],
        ),
    ],
)
def test_rows_are_divided_by_an_expression(db, text, keys):
    result = db.sql(text, epsilon="0.1")
    assert [row[result.columns[0]] for row in result.rows] == keys


@pytest.mark.slow
def test_the_same_question_in_other_words_has_one_answer(db):
    first = db.sql(f"{MONTHS} GROUP BY month", epsilon="0.2")
    ranged = by.month("t", "2013-01", "2013-12")
    for grouping in (by.month("t"), ranged, str(ranged), "DATE_TRUNC('month', t)"):
        again = db.ask("trips", {"n": agg.count()}, by={"m": grouping}, epsilon="0.2")
        assert again.answer_id == first.answer_id
    shorter = by.month("t", "2013-01", "2013-11")
    other = db.ask("trips", {"n": agg.count()}, by={"m": shorter}, epsilon="0.2")
    assert other.answer_id != first.answer_id


def test_columns_and_expressions_divide_together(db):
    in_sql = db.sql(
        "SELECT city, QUARTER(t) AS q, COUNT(*) AS n FROM trips GROUP BY city, q", epsilon="0.3"
    )
    asked = db.ask(
        "trips",
        {"n": "count()"},
        by=[{"q": "EXTRACT(quarter FROM t)"}, "city"],
        epsilon="0.3",
    )
    assert in_sql.answer_id == asked.answer_id
    assert asked.columns[:2] == ["q", "city"]
    for row in in_sql.rows:
        assert asked.answer("n", row["q"], row["city"]).value == row["n"]


def test_filters_of_aggregates_are_paid_for_one_by_one(db):
    result = db.sql(
        "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE fare > 100) AS dear, "
        "COUNTIF(100 < fare) AS again, MEDIAN(fare) FILTER (WHERE city = 'Oslo') AS mid FROM trips",
        epsilon="0.3",
    )
    asked = {
        "d": agg.count(where="fare > 100"),
        "m": "median(fare) where city = 'Oslo'",
        "n": "count()",
    }
    assert db.ask("trips", asked, epsilon="0.3").answer_id == result.answer_id
    first = result.rows[0]
    assert first["dear"] == first["again"]
    assert "dear, again: those for which fare > 100" in result.population
    assert result.answer("mid").population.startswith("rows for which city = 'Oslo', on which fare")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) FROM trips GROUP BY DATE_TRUNC('month', made)", "declare their range"),
        ("SELECT COUNT(*) FROM trips GROUP BY DATE_TRUNC('moon', t)", "no unit 'moon'"),
        ("SELECT COUNT(*) FROM trips GROUP BY EXTRACT(moon FROM t)", "no field 'moon'"),
        ("SELECT COUNT(*) FROM trips GROUP BY WIDTH_BUCKET(fare, 1, 0, 3)", "begin below"),
        ("SELECT COUNT(*) FROM trips GROUP BY BINS(fare, 1, 0)", "must ascend"),
        ("SELECT COUNT(*) FROM trips GROUP BY CASE WHEN fare > 1 THEN fare END", "a literal"),
        ("SELECT COUNT(*) FROM trips GROUP BY fare + 1", "GROUP BY takes columns"),
        ("SELECT YEAR(t), COUNT(*) FROM trips", "is not in GROUP BY"),
        ("SELECT COUNT(*) FROM trips GROUP BY YEAR(t), YEAR(t)", "twice"),
        ("SELECT COUNTIF(fare) FROM trips", "is a number, where a condition"),
        ("SELECT COUNT(*) FILTER (WHERE nope = 1) FROM trips", "there is no column 'nope'"),
    ],
)
def test_what_has_no_public_keys_is_refused_for_nothing(db, text, words):
    before = db.budget("trips")
    with pytest.raises(InputError, match=words):
        db.sql(text, epsilon="0.1")
    assert str(db.budget("trips")) == str(before)
