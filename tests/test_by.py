"""What divides rows: public keys that follow from an expression, a range or a domain."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest

import postri
from postri import InputError, SeededCoins, agg, by

FIRST, LAST = date(2013, 1, 1), date(2013, 12, 1)


@pytest.mark.parametrize(
    ("grouping", "number", "first", "last"),
    [
        (by.year("t", 2013, "2015"), 3, 2013, 2015),
        (by.quarter("t", "2013-Q2", "2014"), 7, date(2013, 4, 1), date(2014, 10, 1)),
        (by.month("t", "2013-01", "2013-12"), 12, FIRST, LAST),
        (by.month("t", 2013, 2013), 12, FIRST, LAST),
        (by.week("t", "2013-01-01", date(2013, 1, 14)), 3, date(2012, 12, 31), date(2013, 1, 14)),
        (by.day("t", "2012-02", "2012-02"), 29, date(2012, 2, 1), date(2012, 2, 29)),
        (
            by.hour("t", "2013-01-31", datetime(2013, 2, 1, 0, 59)),
            25,
            datetime(2013, 1, 31),
            datetime(2013, 2, 1),
        ),
        (
            by.hour(
                "t", datetime(2013, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "2013-01-01 02"
            ),
            3,
            datetime(2013, 1, 1),
            datetime(2013, 1, 1, 2),
        ),
        (
            by.minute("t", "2013-01-31 08:00", "2013-01-31 08:59"),
            60,
            datetime(2013, 1, 31, 8),
            datetime(2013, 1, 31, 8, 59),
        ),
        (by.year("t", 9998, 9999), 2, 9998, 9999),
        (by.month("t", "9999-11", "9999-12"), 2, date(9999, 11, 1), date(9999, 12, 1)),
        (by.weekday("t"), 7, 1, 7),
        (by.hour_of_day("t"), 24, 0, 23),
        (by.month_of_year("t"), 12, 1, 12),
        (by.field("t", "dow"), 7, 0, 6),
        (by.field("t", "week"), 53, 1, 53),
        (by.bins("x", [0, "0.5", 7]), 2, "[0, 0.5)", "[0.5, 7]"),
        (by.buckets("x", 0, 100, 10), 12, 0, 11),
        (by.expression("CASE WHEN x > 1 THEN 'b' WHEN x > 0 THEN 'a' ELSE 'b' END"), 2, "b", "a"),
        (by.expression("EXTRACT(hour FROM t) BETWEEN 8 AND 17"), 10, 8, 17),
        (
            by.expression("DATE_TRUNC('month', t) IN ('2014-03', '2013-01')"),
            2,
            date(2014, 3, 1),
            FIRST,
        ),
    ],
    ids=str,
)
def test_the_keys_follow_from_what_is_declared(grouping, number, first, last):
    keys = grouping.keyed().keys
    assert (len(keys), keys[0], keys[-1]) == (number, first, last)
    assert by.expression(str(grouping)) == grouping


WRONG = {
    "no range": (lambda: by.month("t").keyed(), "declare their range, such as by.month"),
    "half a range": (lambda: by.month("t", "2013-01"), "the first and the last key, or neither"),
    "backwards": (lambda: by.month("t", "2013-02", "2013-01").keyed(), "must not end before"),
    "too many": (lambda: by.hour("t", 1900, 2000).keyed(), "more than 100,000 keys"),
    "no date": (lambda: by.month("t", "soon", "2013"), "such as '2013-01'"),
    "no month": (lambda: by.month("t", "2013-13", "2014-01"), "such as '2013-01'"),
    "edges down": (lambda: by.bins("x", [1, 0]), "must ascend"),
    "one edge": (lambda: by.bins("x", [1]), "from 2 to 1,001 edges"),
    "mixed edges": (lambda: by.bins("x", [1, date(2013, 1, 1)]), "of one kind"),
    "edges as text": (lambda: by.bins("x", "0, 1"), "must be a list"),
    "no buckets": (lambda: by.buckets("x", 0, 1, 0), "from 1 to 1,000"),
    "no column": (lambda: by.month(3), "must be a text"),
    "no field": (lambda: by.field("t", "century"), "EXTRACT has no field 'century'"),
    "a label that is no literal": (
        lambda: by.expression("CASE WHEN x > 0 THEN x END").keyed(),
        "write a literal behind each THEN",
    ),
    "a sum": (lambda: by.expression("x + 1").keyed(), "has no public keys"),
    "a key that is none": (
        lambda: by.expression("EXTRACT(hour FROM t) IN (24)").keyed(),
        "is never 24",
    ),
    "a range of bins": (lambda: by.expression("BINS(x, 0, 1) BETWEEN 1 AND 2"), "no range of keys"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_has_no_public_keys_is_refused(name):
    make, words = WRONG[name]
    with pytest.raises(InputError, match=words):
        make()


TYPED = pa.table(
    {
        "x": pa.array([1, 2, 3]),
        "s": pa.array(["a", "b", "c"]),
        "d": pa.array([date(2013, 1, 1)] * 3),
        "t": pa.array([datetime(2013, 1, 1)] * 3, pa.timestamp("us")),
    }
)


@pytest.mark.parametrize(
    ("grouping", "words"),
    [
        (by.month("x", 2013, 2014), "is a number, where a timestamp"),
        (by.month("s", 2013, 2014), "is a text, where a timestamp .* expected; convert the column"),
        (by.hour_of_day("d"), "is a date, which has no hour"),
        (by.hour("d", "2013-01-01", "2013-01-01"), "is a date, which has no hour"),
        (by.bins("s", [0, 1]), "cannot be put side by side"),
        (by.bins("t", [0, 1]), "cannot be put side by side"),
        (by.month("nope", 2013, 2014), "there is no column 'nope'"),
    ],
    ids=str,
)
def test_an_expression_that_does_not_fit_the_table_is_refused(grouping, words):
    with pytest.raises(InputError, match=words):
        postri.ask(TYPED, {"n": agg.count()}, by={"g": grouping}, epsilon=1)


def exact(table, grouping) -> dict:
    """Counts with next to no noise."""
    result = postri.ask(
        table, {"n": agg.count()}, by={"g": grouping}, epsilon=1_000, coins=SeededCoins(1)
    )
    return {keys[0]: answers[0].value for keys, answers in result.groups}


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_of_any_precision_lie_in_their_month(unit):
    """Before 1970 too, where a division that is cut would round up."""
    moments = ["1969-12-31T23:59:59", "1970-01-01T00:00:00", "1700-01-31T12:00:00"]
    table = {"t": np.array(moments, f"datetime64[{unit}]"), "x": np.arange(3)}
    months = by.expression("DATE_TRUNC('month', t) IN ('1969-12', '1970-01', '1700-01')")
    assert set(exact(table, months).values()) == {1}
    assert exact(table, by.hour_of_day("t"))[23] == 1


def test_zoned_moments_are_truncated_in_utc():
    east = timezone(timedelta(hours=3))
    moments = [datetime(2013, 2, 1, 1, tzinfo=east), datetime(2013, 2, 1, 4, tzinfo=east)]
    table = pa.table({"t": pa.array(moments, pa.timestamp("us", tz="Asia/Baghdad")), "x": [1, 2]})
    assert exact(table, by.month("t", "2013-01", "2013-02")) == {FIRST: 1, date(2013, 2, 1): 1}
    hours = by.hour("t", datetime(2013, 1, 31, 22, tzinfo=UTC), "2013-02-01 01:00")
    assert list(exact(table, hours).values()) == [1, 0, 0, 1]


def test_a_bin_begins_with_its_edge_and_the_last_one_ends_with_it():
    cells = [-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, float("nan"), float("inf"), -float("inf")]
    table = pa.table({"x": pa.array(cells)})
    assert exact(table, by.bins("x", [0, 1, 2])) == {"[0, 1)": 2, "[1, 2]": 3}
    assert list(exact(table, by.buckets("x", 0, 2, 2)).values()) == [2, 2, 2, 3]


def test_a_median_of_each_group_is_a_result():
    table = {"t": [datetime(2013, 1 + i % 2, 5) for i in range(400)], "x": list(range(400))}
    months = {"month": by.month("t", "2013-01", "2013-03")}
    result = postri.median(table, "x", by=months, epsilon=20, coins=SeededCoins(1))
    assert result.columns[:2] == ["month", "median"]
    assert [keys[0].month for keys, _ in result.groups] == [1, 2, 3]
    assert 150 < result.answer("median", FIRST).value < 250
    assert "outside of 2013-01-01 to 2013-03-01 in no group" in result.population
    assert "outside" not in result.answer("median", FIRST).population


def test_groups_along_time_are_dots_with_upright_bars():
    pytest.importorskip("matplotlib").use("Agg")
    table = {"t": [datetime(2013, 1 + i % 12, 5) for i in range(120)], "x": list(range(120))}
    result = postri.median(table, "x", by={"m": by.month("t", 2013, 2013)}, epsilon=5)
    ax = result.plot()
    guide, *dots = [line for line in ax.lines if line.get_marker() in ("None", "o")]
    assert list(guide.get_ydata()) == [float(answer.value) for answer in result.answers]
    assert [dot.get_ydata()[0] for dot in dots] == list(guide.get_ydata())
    # Between two groups nothing is claimed: a bar for each, and no band.
    bars = [segment for bar in ax.collections for segment in bar.get_segments()]
    assert len(bars) == 12
    assert ax.get_title(loc="left") == "median by m"
    assert "The thin line only leads the eye." in ax.get_xlabel().replace("\n", " ")


@pytest.mark.parametrize("text", ["count() where x > 1", "sum(\"x\") WHERE t = 'a where b'"])
def test_a_filter_of_an_aggregate_is_a_part_of_its_text(text):
    statistic = agg.read(text)
    assert agg.read(statistic.text) == statistic
    assert statistic.where is not None


def test_an_aggregate_sees_the_rows_of_both_filters():
    table = {"x": list(range(100)), "k": [i % 2 for i in range(100)]}
    asked = {
        "all": agg.count(),
        "some": agg.count(where="x >= 50"),
        "sum": agg.sum("x", domain=postri.Domain(0, 100)).filtered("k = 1"),
    }
    result = postri.ask(table, asked, where="x < 60", epsilon=30_000, coins=SeededCoins(1))
    assert [answer.value for answer in result.answers] == [60, 10, 900]
    assert [answer.epsilon for answer in result.answers] == [10_000] * 3
    assert result.answer("some").population == "rows where x < 60 for which x >= 50"
