"""A statistic is one file: `dozens.py` beside this one is registered, and nothing else is touched.

It is asked through every surface, each with a value, an interval, a spend and a forecast. Coins are
seeded, so nothing depends on luck.
"""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from dozens import FORM
from typer.testing import CliRunner

import postri
from bank import dataset_text
from postri import SeededCoins, agg
from postri.cli import app
from postri.ledger import SqliteLedger
from postri.policy import read_policy
from postri.session import LocalSession
from postri.statistics.registry import described, registered
from result_columns import columns_of

ROWS = 1_200
POLICY = dataset_text(
    "trips",
    source="trips.csv",
    rows=ROWS,
    columns={"city": 'type = "text"\nkeys = ["Bergen", "Oslo"]'},
)
# At epsilon 1 the noise of a number that one row moves by 1 passes 3 with a chance below 1/20.
REACH = 3


@pytest.fixture(autouse=True)
def _known():
    with registered(FORM):
        yield


@pytest.fixture
def policy(tmp_path):
    cities = ["Oslo", "Oslo", "Bergen"] * (ROWS // 3)
    (tmp_path / "trips.csv").write_text("\n".join(["city", *cities, ""]))
    path = tmp_path / "postri.toml"
    path.write_text(POLICY)
    return path


@pytest.fixture
def session(policy):
    found = read_policy(policy)
    ledger = SqliteLedger(found.ledger, found.head)
    with LocalSession(found, ledger, "ann", coins=lambda: SeededCoins(3)) as opened:
        yield opened


def check(answer: postri.Answer, rows: int) -> None:
    """Value, interval, spend and words."""
    assert abs(answer.value - rows // 12) <= REACH
    assert answer.interval.high - answer.value == answer.value - answer.interval.low == REACH
    assert answer.spend.epsilon == 1
    assert str(answer).startswith(f"dozens {answer.value}, between ")
    assert answer.at(0.99).interval.width > answer.interval.width


def test_it_is_asked_of_a_table():
    table = {"x": range(ROWS)}
    for asked in (agg.dozens(), "dozens()"):
        result = postri.ask(table, {"d": asked}, epsilon=1, coins=SeededCoins(3))
        check(result.answer("d"), ROWS)


def test_it_is_asked_group_by_group(session):
    result = session.ask("trips", {"d": "dozens()", "n": "count()"}, by=["city"], epsilon=2)
    check(result.answer("d", "Oslo"), 2 * ROWS // 3)
    check(result.answer("d", "Bergen"), ROWS // 3)


def test_it_is_paid_for_and_recorded_once(session):
    first = session.ask("trips", {"d": "dozens()"}, epsilon=1)
    again = session.ask("trips", {"d": agg.dozens()}, epsilon=1)
    assert (first.charged, again.charged) == (1, 0)
    assert again.answer("d").value == first.answer("d").value
    assert session.budget("trips")["trips"].spent == 1


def test_it_has_a_price_with_a_forecast(session):
    price = session.price("trips", {"d": "dozens()"}, epsilon=1)
    assert price.charged == 1
    assert price.forecasts["d"].reach == REACH
    assert "interval of the dozens will reach 3 to each side" in str(price)


def test_it_is_a_function_in_sql(session):
    result = session.sql("SELECT city, DOZENS() AS d FROM trips GROUP BY city", epsilon=1)
    assert result.columns == ["city", *columns_of("d")]
    check(result.answer("d", "Oslo"), 2 * ROWS // 3)
    halved = session.sql("SELECT DOZENS() / 2 AS half FROM trips", epsilon=1).answer("half")
    assert halved.interval.width == REACH


def test_it_is_asked_on_the_command_line(policy):
    asked = ["ask", "trips", "dozens()", "--policy", str(policy), "--epsilon", "1", "--json"]
    priced = CliRunner().invoke(app, [*asked, "--price"])
    assert priced.exit_code == 0, priced.output
    assert json.loads(priced.stdout)["forecasts"]["dozens"]["reach"] == REACH
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["rows"]
    assert row["dozens_high"] - row["dozens"] == REACH


def test_it_is_asked_over_http(tmp_path):
    from serving import in_thread, write_policy

    question = {"dataset": "bank", "aggregates": {"d": "dozens()"}, "epsilon": "1"}
    with in_thread(write_policy(tmp_path)) as served:
        price = served.send("POST", "/v1/price", question, served.ann).json
        assert Fraction(price["forecasts"]["d"]["exact_reach"]) == REACH
        reply = served.ask(served.ann, question)
        assert reply.status == 200
        (row,) = reply.json["rows"]
        assert row["d_high"] - row["d"] == REACH
        assert reply.json["charged"] == "1"
        listed = served.get("/v1/statistics", served.ann).json["statistics"]
        with postri.connect(f"http://127.0.0.1:{served.port}", token=served.ann) as remote:
            check(remote.ask("bank", {"d": "dozens()"}, epsilon=1).answer("d"), 400)
    assert [each["name"] for each in listed] == [each["name"] for each in described()]
    assert listed[-1]["name"] == "dozens"
    assert listed[-1]["sql"] == "DOZENS()"


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(ValueError, match="dozens"), registered(FORM):
        raise AssertionError
