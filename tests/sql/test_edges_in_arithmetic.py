"""Arithmetic on clamped medians says "here or beyond" where they do."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bank import dataset_text, session
from postri.answer.words import WHOLE_RANGE

# Every cell lies beyond the policy's upper bound, or below its lower one.
POLICY = {
    "x": 'type = "integer"\nlower = 0\nupper = 1000',
    "y": 'type = "integer"\nlower = 10\nupper = 50',
    "z": 'type = "integer"\nlower = -1\nupper = 2',
}
TRUTHS = {"x": 5_000, "y": -40, "z": 1}


@pytest.fixture
def clamped(tmp_path):
    table = pa.table({name: [cell] * 400 for name, cell in TRUTHS.items()})
    pq.write_table(table, tmp_path / "clamped.parquet")
    path = tmp_path / "postri.toml"
    text = dataset_text("clamped", source="clamped.parquet", budget="1000", columns=POLICY)
    path.write_text(text)
    with session(path) as db:
        yield db


def asked(db, text: str):
    (answer,) = db.sql(f"SELECT {text} AS a FROM clamped", epsilon=5).answers
    return answer


def test_twice_a_clamped_median_is_at_the_edge_or_above(clamped):
    answer = asked(clamped, "MEDIAN(x) * 2")
    interval = answer.interval
    assert (interval.low, interval.high) == (2_000, 2_000)
    assert (interval.low_is_edge, interval.high_is_edge) == (False, True)
    assert "computed 2,000, 2,000 or above with 95% confidence" in str(answer)


# Each with its truth, from the cells as they are.
EXPRESSIONS = {
    "MEDIAN(x) * 2": 10_000,
    "-MEDIAN(x)": -5_000,
    "1000 - MEDIAN(x) / 4": -250,
    "MEDIAN(x) + MEDIAN(y)": 4_960,
    "MEDIAN(x) - MEDIAN(y)": 5_040,
    "MEDIAN(x) * MEDIAN(y)": -200_000,
    "MEDIAN(x) * MEDIAN(z)": 5_000,
    "MEDIAN(x) * COUNT(*)": 2_000_000,
    "MEDIAN(x) / COUNT(*)": 12.5,
    "COUNT(*) / MEDIAN(y)": -10,
    "MEDIAN(x) / MEDIAN(y)": -125,
    "100 / (MEDIAN(x) + 1)": 100 / 5_001,
    "(MEDIAN(x) + 1) * (MEDIAN(x) - 2000) + MEDIAN(z)": 5_001 * 3_000 + 1,
}


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_the_truth_lies_in_the_interval_or_beyond_an_edge(text, clamped):
    """At epsilon 5 with 400 equal rows, no draw misses but once in 10^20."""
    truth = EXPRESSIONS[text]
    interval = asked(clamped, text).interval
    assert interval.low_is_edge or interval.low <= truth
    assert interval.high_is_edge or truth <= interval.high
    assert interval.low_is_edge or interval.high_is_edge


def test_where_it_may_be_anywhere_it_is_the_whole_range(clamped):
    """A median of 1,000 or above times one of 10 or below, which may be negative."""
    answer = asked(clamped, "MEDIAN(x) * MEDIAN(y)")
    assert (answer.interval.low, answer.interval.high) == (0, 50_000)
    assert answer.interval.low_is_edge
    assert answer.interval.high_is_edge
    assert WHOLE_RANGE in answer.notes
    assert WHOLE_RANGE not in asked(clamped, "MEDIAN(x) * 2").notes


def test_an_expression_of_clamped_columns_says_so(clamped):
    """1,000 + 10 lies inside of the range of x + y: no edge can tell that x was clamped."""
    words = "its columns clamped to their domains first"
    assert words in asked(clamped, "MEDIAN(x + y)").population
    assert words in asked(clamped, "MEDIAN(x + y) * 2").population
    assert words not in asked(clamped, "MEDIAN(x)").population
    assert words not in asked(clamped, "COUNT(x + y)").population


def test_a_divisor_may_be_anything_whose_range_has_no_0(clamped):
    interval = asked(clamped, "SUM(z) / (COUNT(*) + 1)").interval
    assert interval.low <= 400 / 401 <= interval.high
