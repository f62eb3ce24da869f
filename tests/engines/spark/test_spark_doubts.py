"""A data frame that is no plain scan may fail on a row: its plan tells, never a row."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import postri
from postri.engines.spark.plan import doubts_of
from postri.errors import InputError


@pytest.fixture
def people(spark, tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"id": [1, 2], "pay": [5, 6], "code": ["42", "none"]}), path)
    return spark.session.read.parquet(str(path))


IN_DOUBT = {
    "a quotient": lambda frame: frame.selectExpr("pay / (id - 1) AS x"),
    "a cast": lambda frame: frame.selectExpr("CAST(code AS INT) AS x"),
    "a filter": lambda frame: frame.where("1 / (id - 1) > 0"),
    "below a choice of columns": lambda frame: frame.selectExpr("id", "1 / id AS x").select("x"),
    "a view": lambda frame: view_of(frame, "1 / (id - 1) AS x"),
    "a join": lambda frame: frame.crossJoin(frame.toDF("a", "b", "c")),
    "an aggregate": lambda frame: frame.groupBy("code").count(),
    "code behind an RDD": lambda frame: frame.sparkSession.createDataFrame(
        frame.rdd.map(lambda row: (1 // row.id,)), "x bigint"
    ),
    "a text file": lambda frame: frame.sparkSession.read.csv(frame.inputFiles()[0]),
}
STORED = {
    "a file": lambda frame: frame,
    "some columns": lambda frame: frame.select("pay", "id"),
    "other names": lambda frame: frame.withColumnRenamed("pay", "x").toDF("a", "b", "c"),
    "a cached frame": lambda frame: frame.select("pay").cache(),
    "some rows": lambda frame: frame.limit(1),
    "a range": lambda frame: frame.sparkSession.range(5),
    "a view of a file": lambda frame: view_of(frame, "*"),
    "under an alias": lambda frame: frame.alias("people"),
}


def view_of(frame, columns):
    frame.createOrReplaceTempView("people_of_a_test")
    try:
        return frame.sparkSession.sql(f"SELECT {columns} FROM people_of_a_test")
    finally:
        frame.sparkSession.catalog.dropTempView("people_of_a_test")


@pytest.mark.parametrize("kind", IN_DOUBT)
def test_a_frame_that_computes_is_refused_unless_vouched(people, kind):
    frame = IN_DOUBT[kind](people)
    with pytest.raises(InputError, match=r"not a plain scan.*vouched=True"):
        postri.open(frame)
    assert postri.open(frame, vouched=True).columns == frame.columns


@pytest.mark.parametrize("kind", STORED)
def test_a_plain_scan_needs_no_vouching(people, kind):
    frame = STORED[kind](people)
    assert postri.open(frame).columns == frame.columns


def test_a_plan_that_cannot_be_seen_is_in_doubt():
    """As that of Spark Connect, which is on another machine."""
    assert len(doubts_of(object())) == 1
