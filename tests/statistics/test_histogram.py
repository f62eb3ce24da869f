"""Histograms: what is counted in which bin, what all bins cost together, and every place where one
is asked. Coins are seeded or take the noise away, so nothing depends on luck.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import exp
from unittest.mock import patch

import numpy as np
import pytest
from typer.testing import CliRunner

import postri
from bank import bank, seeded, session, spent, write_policy
from postri import AddOrRemoveRows, Domain, ReplaceRows, Result, SeededCoins, agg
from postri.cli import app
from postri.engines.table import Table
from postri.noise import DiscreteGaussian, DiscreteLaplace
from postri.statistics import additive
from postri.statistics.registry import read
from result_columns import columns_of

pytestmark = pytest.mark.slow
TEN = Domain(0, 10)
EDGES = [-1000, 0, 1000, 9000]


@contextmanager
def without_noise() -> Iterator[None]:
    """What is released is what was counted."""
    with (
        patch.object(additive, "discrete_laplace", lambda noise, coins: 0),
        patch.object(additive, "discrete_gaussian", lambda noise, coins: 0),
    ):
        yield


def counted(source: object, edges: list, column: str | None = "x", **how: object) -> list[int]:
    with without_noise():
        result = postri.histogram(source, column, edges=edges, epsilon=1, **how)
    return [row["count"] for row in result.rows]


# Which cell lies in which bin.


def test_a_bin_begins_with_its_edge_and_ends_before_the_next():
    cells = {"x": [0, 1, 2, 2, 3, 5, 9]}
    assert counted(cells, [0, 2, 5], domain=TEN) == [2, 3]
    # Without a domain too; no cell of an edge's own is lost between two bins.
    assert counted(cells, [0, 2, 5]) == [2, 3]
    assert counted(cells, [2, 3]) == [2]


def test_the_last_bin_holds_the_upper_end_of_the_domain_and_what_lies_beyond():
    cells = {"x": [-5, 0, 4, 9, 10, 99]}
    assert counted(cells, [0, 5, 10], domain=TEN) == [3, 3]
    # Where the last edge is another point, the bin ends before it.
    assert counted(cells, [0, 5, 9], domain=TEN) == [3, 0]


def test_cells_that_cannot_be_read_are_in_no_bin():
    assert counted({"x": [1.0, float("nan"), None, 2.0]}, [0, 10], domain=TEN) == [2]


def test_rounded_cells_are_counted_where_they_are_rounded_to():
    """The claim is about cells on the grid, and says so."""
    table = {"x": [0.74, 0.76, 0.99, 1.0, 1.24, 1.26]}
    domain = Domain(0, 2, step="0.5")
    # On the grid: 0.5, 1, 1, 1, 1, 1.5.
    assert counted(table, [0, 1, "1.5"], domain=domain) == [1, 4]
    answer = postri.histogram(table, "x", edges=[0, 1, 1.5], domain=domain, epsilon=1).answers[0]
    words = "cells clamped to 0 to 2 and rounded to steps of 0.5, cells from 1.5 on in no bin"
    assert words in answer.population


def test_dates_and_timestamps_have_bins():
    days = {"x": [date(2024, 1, 1), date(2024, 1, 31), date(2024, 2, 1)]}
    edges = ["2024-01-01", date(2024, 2, 1), "2024-03-01"]
    assert counted(days, edges, domain=Domain("2024-01-01", "2024-12-31")) == [2, 1]
    moments = {"x": [datetime(2024, 1, 1, 12), datetime(2024, 1, 2)]}
    year = Domain("2024-01-01T00:00", "2025-01-01T00:00")
    # A day is its midnight.
    assert counted(moments, ["2024-01-01", "2024-01-02", "2024-01-03"], domain=year) == [1, 1]
    zoned = {"x": [datetime(2024, 1, 1, 12, tzinfo=UTC)]}
    at = ["2024-01-01T00:00+00:00", "2024-01-01T14:00+02:00", "2024-01-02T00:00Z"]
    domain = Domain("2024-01-01T00:00Z", "2025-01-01T00:00Z")
    assert counted(zoned, at, domain=domain) == [0, 1]


def test_every_table_is_counted_as_plain_python_counts_it():
    source = np.random.default_rng(5)
    for _ in range(40):
        cells = source.integers(-3, 14, source.integers(0, 30))
        inner = np.unique(source.integers(0, 11, source.integers(2, 8))).tolist()
        if len(inner) < 2:
            continue
        clamped = np.clip(cells, 0, 10)
        bins = [
            sum(low <= cell < high or cell == high == 10 for cell in clamped)
            for low, high in pairwise(inner)
        ]
        assert counted({"x": cells}, inner, domain=TEN) == bins


def test_one_scan_counts_all_histograms_of_a_column():
    table = postri.open({"x": range(100)})
    scans = []
    original = Table.counts_below

    def scan(*given):
        scans.append(given)
        return original(*given)

    aggregates = {"a": "histogram(x, 0, 10, 20)", "b": "histogram(x, 5, 10)"}
    with patch.object(Table, "counts_below", scan), without_noise():
        result = postri.ask(table, aggregates, epsilon=1)
    assert [answer.value for answer in result.answers] == [10, 10, 5]
    assert len(scans) == 1


# What it costs, and how far it reaches.


@pytest.mark.parametrize(
    ("change", "bins", "by", "moved"),
    [
        (AddOrRemoveRows(1), 1, None, 1),
        (AddOrRemoveRows(3), 5, {"g": ["a", "b"]}, 3),
        # A replaced row leaves one bin and enters another; there is one if there is one group.
        (ReplaceRows(1), 1, None, 1),
        (ReplaceRows(1), 2, None, 2),
        (ReplaceRows(3), 1, {"g": ["a", "b"]}, 6),
        (ReplaceRows(3), 5, {"g": ["a", "b"]}, 6),
    ],
    ids=str,
)
def test_all_bins_of_all_groups_share_epsilon(change, bins, by, moved):
    table = {"x": [1, 2, 3], "g": ["a", "b", "a"]}
    wanted = {"h": agg.histogram("x", list(range(bins + 1)), domain=TEN)}
    result = postri.ask(table, wanted, epsilon="1/2", by=by, protect=change)
    assert {answer.drawn.noise for answer in result.answers} == {
        DiscreteLaplace(Fraction(moved) * 2)
    }
    # Each bin by itself protects as all of them do, and no bin adds to the cost.
    assert {answer.epsilon for answer in result.answers} == {Fraction(1, 2)}
    assert result.epsilon == Fraction(1, 2)
    assert "at epsilon 0.5" in str(result)


def test_aggregates_divide_epsilon_and_bins_do_not():
    wanted = {"h": "histogram(x, 0, 1, 2, 3)", "n": "count()"}
    result = postri.ask({"x": [1, 2]}, wanted, epsilon=1, weights={"h": 3, "n": 1})
    assert [answer.epsilon for answer in result.answers] == [Fraction(3, 4)] * 3 + [Fraction(1, 4)]
    assert result.epsilon == 1
    assert result.columns == [
        name for column in ("h_0_1", "h_1_2", "h_2_3", "n") for name in columns_of(column)
    ]


def test_any_confidence_is_free_afterwards():
    bar = postri.histogram({"x": range(9)}, "x", edges=[0, 5], epsilon=1).answers[0]
    assert bar.at(0.999).interval.width >= bar.interval.width
    assert bar.at(0.999).bin == bar.bin
    assert str(bar.at(0.999)).startswith("count from 0 to below 5: ")


def test_intervals_hold_as_often_as_the_law_of_the_noise_says():
    """The chance that the noise passes the reach, added up: at most beta, and not at one less."""
    bar = postri.histogram({"x": range(9)}, "x", edges=[0, 5, 9], epsilon=1).answers[0]
    reach = bar.drawn.noise.reach(Fraction(1, 20))
    q = exp(-1 / float(bar.drawn.noise.scale))
    passed = 2 * q ** (reach + 1) / (1 + q)
    assert passed <= 0.05 < passed / q


def test_bars_that_hold_at_once_divide_beta_over_bins_and_groups():
    table = {"x": range(40), "g": ["a", "b"] * 20}
    wanted = {"h": "histogram(x, 0, 10, 20, 30)"}
    result = postri.ask(table, wanted, epsilon=1, by={"g": ["a", "b"]}, simultaneous=True)
    bar = result.answer("h_20_30", "b")
    assert bar.interval == bar.drawn.interval(Fraction(1, 20) / 6)


# The words and forms of it.


def test_a_histogram_is_a_result_with_a_row_for_each_bin():
    result = postri.histogram(
        {"x": range(200)},
        "x",
        edges=[0, 10, "100.5"],
        epsilon=1,
        coins=SeededCoins(3),
        domain=Domain(0, 200, step="0.5"),
    )
    assert result.columns == ["from", "to", *columns_of("count")]
    assert [(row["from"], row["to"]) for row in result.rows] == [(0, 10), (10, Decimal("100.5"))]
    assert result.answer("count", 0, 10).bin.high == 10
    assert json.loads(result.to_json())["rows"][1]["to"] == 100.5
    assert result.to_csv().splitlines()[0].startswith("from,to,count,count_low")


def test_a_bar_says_its_bin_and_that_bins_share_the_cost():
    result = postri.histogram({"x": range(20)}, "x", edges=[0, 5, 10], domain=TEN, epsilon=1)
    first, last = result.answers
    assert str(first).startswith(f"count from 0 to below 5: {first.value}, between ")
    assert str(last).startswith(f"count from 5 to 10: {last.value}, between ")
    assert "bins are disjoint" in first.explain()
    assert "in no bin" not in first.population
    inner = postri.histogram({"x": range(20)}, "x", edges=[1, 5], domain=TEN, epsilon=1).answers[0]
    assert "cells below 1 or from 5 on in no bin" in inner.population


def test_a_question_of_many_bins_tells_its_rows_once():
    wanted = {"h": "histogram(x, 0, 1, 2, 3, 4)", "n": "count()"}
    told = postri.ask({"x": [1, 2]}, wanted, epsilon=1).population
    assert told.count("in no bin") == 1
    assert "h_0_1 to h_3_4: those" in told


@pytest.mark.parametrize(
    "text",
    [
        "histogram(x, 0, 10, 100)",
        'Histogram( "x" , 0,10 ,100)',
        "histogram(x, 0.0, 1e1, 100)",
    ],
)
def test_a_text_means_the_same_as_the_object(text):
    assert read(text) == agg.histogram("x", edges=[0, 10, 100])
    assert read(agg.histogram("x", [0, 10, 100]).written()) == read(text)


def test_names_with_commas_and_quotes_are_written_and_read():
    for column in ("a,b", 'a"b', "a, 1"):
        wanted = agg.histogram(column, ["-0.5", 2])
        assert read(wanted.written()) == wanted
    days = agg.histogram("x", ["2024-01-31", "2024-02-29"])
    assert days.written() == 'histogram("x", 2024-01-31, 2024-02-29)'
    assert read(days.written()) == days


def test_a_picture_has_a_bar_with_a_whisker_for_each_bin():
    pytest.importorskip("matplotlib").use("Agg")
    result = postri.histogram({"x": range(99)}, "x", edges=[0, 10, 50, 90], epsilon=1)
    ax = result.plot()
    values = [answer.value for answer in result.answers]
    assert [patch.get_height() for patch in ax.patches] == values
    (whiskers,) = [each for each in ax.collections if len(each.get_segments()) == len(values)]
    ends = [[end for _, end in segment] for segment in whiskers.get_segments()]
    intervals = [answer.interval for answer in result.answers]
    assert np.allclose(ends, [[each.low, each.high] for each in intervals])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "10", "50", "90"]


def test_a_result_of_many_aggregates_has_one_picture_for_a_histogram(tmp_path):
    pytest.importorskip("matplotlib")
    from postri.answer.picture import save_result

    table = {"x": range(99), "g": ["a", "b", "c"] * 33}
    wanted = {"h": "histogram(x, 0, 50, 90)", "n": "count()", "k": "histogram(x, 0, 9)"}
    result = postri.ask(table, wanted, by={"g": ["a", "b"]}, epsilon=1)
    assert result.pictures == [["h_0_50", "h_50_90"], ["n"], ["k_0_9"]]
    save_result(result, tmp_path / "bars.svg")
    assert "h_0_50" in (tmp_path / "bars.svg").read_text()


def test_many_edges_are_answered():
    edges = list(range(10_000))
    assert len(agg.histogram("x", edges).suffixes) == 9_999
    with without_noise():
        result = postri.ask({"x": edges}, {"h": agg.histogram("x", edges[:2_001])}, epsilon=1)
    Result.check_names(result.keys, result.names)
    (row,) = result.rows
    assert row["h_0_1"] == row["h_1999_2000"] == 1
    table = str(result).partition("\nabout ")[0]
    assert len(table.splitlines()) == 3 * 2_000


# Through sessions, SQL, the command line and HTTP.


@pytest.fixture
def policy(tmp_path):
    return write_policy(tmp_path)


def truth() -> list[int]:
    cells = np.clip(bank()["balance"].to_numpy(), -1000, 9000)
    return np.histogram(cells, EDGES)[0].tolist()


def test_a_session_draws_it_once_and_gives_it_again_for_nothing(policy):
    with seeded(policy) as db:
        first = db.histogram("bank", "balance", edges=EDGES, epsilon="1/2")
        again = db.histogram("bank", "balance", edges=["-1e3", 0.0, 1000, 9000], epsilon=0.5)
        wider = db.ask(
            "bank", {"h": agg.histogram("balance", EDGES)}, epsilon="1/2", confidence=0.99
        )
    assert (first.charged, again.charged, wider.charged) == (Fraction(1, 2), 0, 0)
    assert (again.recorded, again.epsilon, wider.epsilon) == (True, Fraction(1, 2), Fraction(1, 2))
    assert [row["count"] for row in again.rows] == [row["count"] for row in first.rows]
    assert [bar.bin for bar in again.answers] == [bar.bin for bar in first.answers]
    assert wider.answer("h_0_1000").interval.width > first.answers[1].interval.width
    assert spent(policy) == Fraction(1, 2)
    for bar, cells in zip(first.answers, truth(), strict=True):
        assert abs(bar.value - cells) < 40
    assert [tuple(row.values())[:2] for row in first.rows] == [(-1000, 0), (0, 1000), (1000, 9000)]


def test_a_price_tells_how_far_each_bar_will_reach(policy):
    with seeded(policy) as db:
        price = db.price("bank", {"h": "histogram(balance, 0, 10, 100)", "n": "count()"}, epsilon=2)
        charged = db.ask("bank", {"h": "histogram(balance, 0, 10, 100)"}, epsilon=1).charged
    assert (price.charged, charged) == (2, 1)
    assert list(price.forecasts) == ["h", "n"]
    assert price.forecasts["h"].reach == 3
    assert "h: the 95% interval of the count in each bin will reach 3 to each side" in str(price)


def test_a_ledger_of_concentrated_privacy_draws_gaussian_noise(tmp_path):
    policy = write_policy(tmp_path, more='accountant = "zcdp"\ndelta = "1e-6"', budget="20")
    with session(policy) as db:
        result = db.ask("bank", {"h": "histogram(balance, 0, 1, 2)", "n": "count()"}, epsilon=1)
    bar = result.answer("h_0_1")
    # The question's rho is 1/2, and half of it is the histogram's: 1 / (2 * 1/4).
    assert bar.drawn.noise == DiscreteGaussian(Fraction(2))
    assert bar.spend.rho == Fraction(1, 4)
    assert result.epsilon == 1


def test_it_is_a_function_in_sql(policy):
    with seeded(policy) as db:
        text = (
            "SELECT job, HISTOGRAM(balance, -1000, 0, 9000) AS h, COUNT(*) AS n FROM bank "
            'GROUP BY job HAVING h_0_9000 > 50 ORDER BY "h_-1000_0" DESC'
        )
        result = db.sql(text, epsilon=2)
        assert result.names == ("h_-1000_0", "h_0_9000", "n")
        assert result.epsilon == 2
        assert {keys for keys, _ in result.groups} == {("admin.",), ("technician",)}
        assert result.groups[0][1][0].value >= result.groups[1][1][0].value
        # Nobody is a group without rows, which HAVING leaves out.
        assert any("widened for the selection" in note for note in result.notes)
        same = db.ask(
            "bank",
            {"x": "histogram(balance, -1000, 0, 9000)", "m": "count()"},
            by=["job"],
            epsilon=2,
        )
        assert same.recorded
        ends = db.sql(
            "SELECT HISTOGRAM(since, DATE '2000-01-01', '2010-01-01', '2030-12-31') s, "
            'LOW("s_2000-01-01_2010-01-01") AS low FROM bank',
            epsilon=1,
        )
    assert ends.columns == [
        "s_2000-01-01_2010-01-01",
        "s_2010-01-01_2030-12-31",
        "low",
        "low_is_edge",
    ]
    assert spent(policy) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT HISTOGRAM(age, 0, 9) / 2 FROM bank", "gives several columns"),
        ("SELECT -HISTOGRAM(age, 0, 9) FROM bank", "gives several columns"),
        ("SELECT COUNT(*) FROM bank ORDER BY HISTOGRAM(age, 0, 9)", "gives several columns"),
        ("SELECT COUNT(*) FROM bank HAVING NOT HISTOGRAM(age, 0, 9)", "gives several columns"),
        ("SELECT HISTOGRAM(age, 0, 9) AS h FROM bank ORDER BY h", "there are: 'h_0_9'"),
        ("SELECT HISTOGRAM(age) FROM bank", r"write HISTOGRAM\(x, 0, 10, 100\)"),
        ("SELECT HISTOGRAM(age, 5, x) FROM bank", "must be a decimal number"),
        ("SELECT HISTOGRAM(age, 5, 500) FROM bank", "must lie on its domain, 0 to 120"),
        ("SELECT HISTOGRAM(job, 5, 500) FROM bank", "holds texts"),
        ("SELECT HISTOGRAM(age, 0, 9) h, COUNT(*) h_0_9 FROM bank", "two columns have the name"),
    ],
)
def test_what_sql_cannot_do_with_it_is_refused_with_the_place(policy, text, words):
    with seeded(policy) as db, pytest.raises(postri.InputError, match=words) as refused:
        db.sql(text, epsilon=1)
    assert "^" in str(refused.value)
    assert spent(policy) == 0


def test_it_is_asked_on_the_command_line(policy):
    asked = ["ask", "bank", "histogram(age, 18, 40, 95)", "--policy", str(policy), "--epsilon", "1"]
    priced = CliRunner().invoke(app, [*asked, "--price"])
    assert "count in each bin will reach 3 to each side" in priced.output
    done = CliRunner().invoke(app, [*asked, "--json"])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["rows"]
    assert row["histogram_age_18_40_high"] - row["histogram_age_18_40"] == 3


def test_it_is_asked_over_http(tmp_path):
    from serving import in_thread
    from serving import write_policy as write_served

    question = {"dataset": "bank", "aggregates": {"h": "histogram(x, 0, 10, 97)"}, "epsilon": "1"}
    with in_thread(write_served(tmp_path)) as served:
        listed = served.get("/v1/statistics", served.ann).json["statistics"]
        price = served.send("POST", "/v1/price", question, served.ann).json
        assert price["forecasts"]["h"]["statistic"] == "count in each bin"
        reply = served.ask(served.ann, question)
        with postri.connect(f"http://127.0.0.1:{served.port}", token=served.ann) as remote:
            bars = remote.histogram("bank", "x", edges=[0, 10, 97], epsilon=1)
    (group,) = reply.json["groups"]
    assert group["answers"]["h_0_10"]["bin"] == {
        "low": 0,
        "high": 10,
        "number": 0,
        "closed": False,
    }
    assert reply.json["charged"] == reply.json["epsilon"] == "1"
    assert bars.recorded and bars.charged == 0
    assert [row["count"] for row in bars.rows] == [
        reply.json["rows"][0][name] for name in ("h_0_10", "h_10_97")
    ]
    (form,) = [each for each in listed if each["name"] == "histogram"]
    assert form["sql"] == "HISTOGRAM({column}, {edges})"
    assert form["parameters"][1]["kind"] == "edges"


# What is refused, before a cell is touched.

WRONG = {
    "no list": ("0, 10", "edges must be a list"),
    "one edge": ([5], "at least two edges, such as .*, got 5"),
    "none": ([], "at least two edges, such as .*, got none"),
    "out of order": ([0, 10, 5], "must ascend, got 5 after 10"),
    "twice": ([0, 5, "5.0"], "must differ, got 5 twice"),
    "a text": ([0, "ten"], "must be a decimal number, or a date"),
    "infinite": ([0, float("inf")], "must be a decimal number, or a date"),
    "a fraction": ([0, "1/3"], "must be a decimal number, or a date"),
    "a truth": ([False, 5], "must be a decimal number, or a date"),
    "two kinds": ([0, date(2024, 1, 1)], "must be of one kind, got 0 and 2024-01-01"),
    "dates of numbers": (["2024-01-01", "2024-01-02"], "must be numbers, such as 10, got"),
    "outside": ([0, 11], "must lie on its domain, 0.0 to 10.0, got 11"),
    "between steps": ([0, "2.25"], "on the steps of its domain, got 2.25; take 2.0 or 2.5"),
    "too many": (list(range(10_001)), "at most 10,000 edges"),
}


class Untouched:
    """A table whose cells nobody may read."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"{name} was touched")


@pytest.mark.parametrize("case", WRONG)
def test_wrong_edges_are_refused_before_data_are_touched(case):
    edges, words = WRONG[case]
    table = postri.open({"x": [1.0, 2.0]})
    with (
        patch.object(Table, "counts_below", Untouched()),
        pytest.raises(postri.InputError, match=words),
    ):
        postri.histogram(table, "x", edges=edges, domain=Domain(0, 10, step="0.5"), epsilon=1)


@pytest.mark.parametrize("case", ["outside", "between steps", "dates of numbers", "out of order"])
def test_wrong_edges_have_no_price_and_cost_nothing(policy, case):
    edges = {"outside": [0, 200], "between steps": [0, "1.5"]}.get(case, WRONG[case][0])
    with seeded(policy) as db:
        for ask in (db.price, db.ask):
            with pytest.raises(postri.InputError, match="the edges of a histogram"):
                ask("bank", {"h": agg.histogram("age", edges)}, epsilon=1)
    assert spent(policy) == 0


def test_floats_without_a_domain_are_refused():
    with pytest.raises(postri.InputError, match="needs a domain with a step"):
        postri.histogram({"x": np.array([1.5])}, "x", edges=[0, 1], epsilon=1)


def test_a_time_zone_is_neither_guessed_nor_lost():
    zoned = Domain("2024-01-01T00:00Z", "2025-01-01T00:00Z")
    plain = Domain("2024-01-01T00:00", "2025-01-01T00:00")
    for domain, edges, words in (
        (zoned, ["2024-01-01T00:00", "2024-02-01T00:00"], "have a time zone, so write it"),
        (plain, ["2024-01-01T00:00Z", "2024-02-01T00:00Z"], "have no time zone, so leave it out"),
        (zoned, ["2024-01-01", "2024-02-01"], "must be timestamps"),
    ):
        statistic = agg.histogram("x", edges, domain=domain)
        with pytest.raises(postri.InputError, match=words):
            statistic.check_domain()


# Several quantiles as one aggregate.


def test_quantiles_divide_the_epsilon_of_their_aggregate():
    table = {"x": range(10_000)}
    domain = Domain(0, 9_999)
    wanted = {"q": agg.quantiles("x", [0.25, 0.5, 0.75], domain=domain), "n": agg.count()}
    result = postri.ask(table, wanted, epsilon=2, coins=SeededCoins(3))
    assert result.names == ("q_0.25", "q_0.5", "q_0.75", "n")
    assert Counter(answer.epsilon for answer in result.answers) == {Fraction(1, 3): 3, 1: 1}
    assert result.epsilon == 2
    for p in ("0.25", "0.5", "0.75"):
        answer = result.answer(f"q_{p}")
        assert answer.p == Fraction(p)
        assert float(p) * 9_999 in answer.interval


def test_quantiles_are_drawn_as_those_that_are_asked_one_by_one():
    table = {"x": range(10_000)}
    together = postri.ask(table, {"q": "quantiles(x, 0.25, 0.5)"}, epsilon=1, coins=SeededCoins(3))
    apart = {"a": "quantile(x, 0.25)", "b": "median(x)"}
    alone = postri.ask(table, apart, epsilon=1, coins=SeededCoins(3))
    assert [each.interval for each in together.answers] == [each.interval for each in alone.answers]


def test_quantiles_have_a_forecast_each_and_one_charge(policy):
    with seeded(policy) as db:
        price = db.price("bank", {"q": "quantiles(balance, 0.25, 0.5)"}, epsilon=1)
        result = db.sql("SELECT QUANTILES(balance, 0.25, 0.5) AS q FROM bank", epsilon=1)
    assert list(price.forecasts) == ["q_0.25", "q_0.5"]
    assert {forecast.epsilon for forecast in price.forecasts.values()} == {Fraction(1, 2)}
    assert result.names == ("q_0.25", "q_0.5")
    assert (price.charged, result.charged, spent(policy)) == (1, 1, 1)


def test_the_same_quantile_twice_is_refused():
    with pytest.raises(postri.InputError, match="each of several quantiles must be another one"):
        agg.quantiles("x", [0.5, "1/2"])
