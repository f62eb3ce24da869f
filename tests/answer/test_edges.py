"""An end on the edge of the domain means "here or beyond", and every form of an answer says so.

The policy's `upper` of 1,000 is far below the flights' distances: nearly every cell is clamped.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO

import matplotlib as mpl
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.markers import CARETRIGHTBASE

import program
from bank import ONE_ROW, session
from flights import flights, write_flights
from postri import InputError, Result, Session
from postri.answer.forms import read_result, result_text

ASK = {"mid": "median(distance)"}


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    return write_flights(tmp_path_factory.mktemp("flights"), protect=ONE_ROW)


@pytest.fixture
def db(policy) -> Iterator[Session]:
    with session(policy) as db:
        yield db


def check_edges(result: Result) -> None:
    """Every form of a result whose one median is clamped at 1,000."""
    interval = result.answers[0].interval
    assert (interval.low, interval.high) == (1_000, 1_000)
    assert (interval.low_is_edge, interval.high_is_edge) == (False, True)
    assert result.columns == ["mid", "mid_low", "mid_high", "mid_low_is_edge", "mid_high_is_edge"]
    assert "1,000 or above" in str(result)
    assert "1,000 or above" in result._repr_html_()
    assert "1,000 or above with 95% confidence" in str(result.answers[0])
    assert "is 1,000 or above" in result.answers[0].explain()
    assert result.to_dict()["rows"][0]["mid_high_is_edge"] is True
    assert json.loads(result.to_json())["rows"][0]["mid_high_is_edge"] is True
    (row,) = csv.DictReader(StringIO(result.to_csv()))
    assert (row["mid_low_is_edge"], row["mid_high_is_edge"]) == ("false", "true")
    for frame in (result.to_pandas(), result.to_polars()):
        assert list(frame["mid_high_is_edge"]) == [True]
    assert result.to_arrow()["mid_high_is_edge"].to_pylist() == [True]
    axes = result.plot("mid")
    assert CARETRIGHTBASE in [line.get_marker() for line in axes.lines]
    assert "1,000 or above" in axes.texts[0].get_text()
    plt.close("all")


def test_the_true_median_is_far_beyond_the_edge():
    assert np.median(flights()["distance"].to_numpy()) > 4_000


@pytest.mark.slow
def test_a_new_answer_a_recorded_one_and_one_that_was_sent(db):
    first = db.ask("flights", ASK, epsilon=5)
    again = db.ask("flights", ASK, epsilon=5)
    assert again.recorded
    for result in (first, again, db.answers(limit=1)[0].result):
        check_edges(result)
        check_edges(read_result(json.loads(result_text(result))))


def test_the_command_line_in_every_form_and_again_from_the_ledger(policy):
    words = ("ask", "flights", "mid=median(distance)", "--epsilon", 7)
    for _ in range(2):
        assert "1,000 or above" in program.run(*words, folder=policy.parent)[0]
        data = json.loads(program.run(*words, "--json", folder=policy.parent)[0])
        assert data["rows"][0]["mid_high_is_edge"] is True
        (row,) = csv.DictReader(StringIO(program.run(*words, "--csv", folder=policy.parent)[0]))
        assert row["mid_high_is_edge"] == "true"


def test_sql_has_the_columns_too(db):
    check_edges(db.sql("SELECT MEDIAN(distance) AS mid FROM flights", epsilon=9))


def test_an_end_that_is_written_alone_comes_with_its_edge(db):
    text = "SELECT MEDIAN(distance) AS mid, HIGH(mid) AS top, LOW(mid) FROM flights"
    result = db.sql(text, epsilon=9)
    assert result.columns == ["mid", "top", "top_is_edge", "mid_low", "mid_low_is_edge"]
    (row,) = result.rows
    assert (row["mid"], row["top"], row["mid_low"]) == (1_000, 1_000, 1_000)
    assert (row["top_is_edge"], row["mid_low_is_edge"]) == (True, False)
    assert "1,000 or above" in str(result)


def test_no_two_columns_of_sql_have_one_name(db):
    text = "SELECT MEDIAN(distance) AS m, COUNT(*) AS m_high_is_edge FROM flights"
    with pytest.raises(InputError, match="would have the name 'm_high_is_edge'"):
        db.sql(text, epsilon=1)
