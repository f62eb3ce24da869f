"""Keys that nobody declared, over HTTP: the service says which columns have them, and answers tell
no key of few rows.
"""

from __future__ import annotations

import pytest
from serving import in_thread

import postri
from found_keys import FEW, MANY, write_trips
from postri import agg

pytestmark = pytest.mark.slow

SERVICE = "[service]\nport = 0\ntime_grid = 0\n"
QUESTION = {
    "dataset": "trips",
    "aggregates": {"n": "count()", "mid": "median(fare)"},
    "by": ["dest"],
    "epsilon": 9,
}


@pytest.fixture
def served(tmp_path):
    with in_thread(write_trips(tmp_path, SERVICE)) as found:
        yield found


def test_they_are_asked_by_json_by_sql_and_by_a_remote_session(served):
    """A key of one or two rows is told with a chance of 1e-7 at most."""
    reply = served.ask(served.ann, QUESTION)
    fields = reply.json
    assert [group["keys"]["dest"] for group in fields["groups"]] == list(MANY)
    for row in fields["rows"]:
        assert row["n_low"] <= row["n"] <= row["n_high"]
        assert abs(row["n"] - MANY[row["dest"]]) < 100
    again = served.ask(served.ann, QUESTION).json
    assert again["recorded"] and again["rows"] == fields["rows"]
    sql = {"sql": "SELECT dest, COUNT(*) AS n FROM trips GROUP BY dest", "epsilon": 5}
    assert {row["dest"] for row in served.ask(served.ann, sql).json["rows"]} == set(MANY)
    with postri.connect(f"http://127.0.0.1:{served.port}", token=served.ann) as db:
        result = db.ask(
            "trips", {"n": agg.count(), "mid": agg.median("fare")}, by=["dest"], epsilon=9
        )
        assert result.recorded and [row["dest"] for row in result.rows] == list(MANY)
    history = served.get("/v1/history", served.ann)
    for name in FEW:
        assert name not in str(reply) + str(history)


def test_the_service_says_which_columns_have_them_and_what_they_cost(served):
    (trips,) = served.get("/v1/datasets", served.ann).json["datasets"]
    discovered = {column["name"]: column["discover"] for column in trips["columns"]}
    assert discovered == {"dest": True, "zip": True, "kind": False, "fare": False}
    price = served.send("POST", "/v1/price", QUESTION, served.ann).json
    assert price["recorded"] is False and "n" in price["forecasts"]
    refused = served.ask(served.ann, {**QUESTION, "by": ["fare"]})
    assert (refused.status, refused.code) == (400, "invalid_request")
