"""What stewards look at and do over the API: the trail in both orders and by wishes, the ledger
verified.
"""

from __future__ import annotations

import sqlite3

import pytest
from serving import QUESTION

from postri.ledger import trail

COUNT = {"dataset": "bank", "aggregates": {"n": "count()"}, "epsilon": "1/4"}


def numbers(page) -> list[int]:
    return [entry["number"] for entry in page["entries"]]


@pytest.fixture
def asked(served):
    """Terms, a question of ann with its answer, and one of bob with its answer."""
    served.ask(served.ann, QUESTION)
    served.ask(served.token("bob"), COUNT)
    return served


def test_the_trail_tells_the_newest_first_page_by_page(asked):
    page = asked.get("/v1/ledger?order=newest&limit=2", asked.sue).json
    assert numbers(page) == [5, 4] and page["next"] == 4
    page = asked.get("/v1/ledger?order=newest&limit=3&before=4", asked.sue).json
    assert numbers(page) == [3, 2, 1]
    assert numbers(asked.get("/v1/ledger?order=newest&before=1", asked.sue).json) == []


def test_the_trail_tells_what_is_wanted_alone(asked):
    def found(query: str) -> list[int]:
        return numbers(asked.get(f"/v1/ledger?{query}", asked.sue).json)

    assert found("analyst=bob") == [4, 5]
    assert found("order=newest&analyst=bob") == [5, 4]
    assert found("kind=reserve") == [2, 4]
    assert found("kind=reserve&analyst=ann&dataset=bank") == [2]
    assert found("dataset=endless") == []


def test_a_rare_wish_is_answered_in_short_pages(asked, monkeypatch):
    monkeypatch.setattr(trail, "MOST_LOOKED_AT", 2)
    seen, before = [], ""
    for _ in range(4):
        page = asked.get(f"/v1/ledger?order=newest&analyst=ann{before}", asked.sue).json
        seen += numbers(page)
        if page["next"] is None:
            break
        before = f"&before={page['next']}"
    assert seen == [3, 2] and page["next"] is None


@pytest.mark.parametrize(
    "query",
    [
        "order=random",
        "order=newest&after=3",
        "before=3",
        "order=newest&before=0",
        "analyst=",
        f"kind={'x' * 201}",
    ],
)
def test_odd_wishes_are_refused(shared, query):
    assert shared.get(f"/v1/ledger?{query}", shared.sue).code == "invalid_request"


def test_a_steward_verifies_the_ledger_and_a_head_that_was_kept(asked):
    def verified(**body: object):
        return asked.send("POST", "/v1/ledger/verification", body, asked.sue).json

    good = verified()
    assert (good["entries"], good["problems"]) == (5, [])
    assert verified(head=good["head"])["problems"] == []
    assert verified(head="5 " + "0" * 64)["problems"]
    assert asked.send("POST", "/v1/ledger/verification", {}, asked.ann).code == "forbidden"
    odd = asked.send("POST", "/v1/ledger/verification", {"head": 5}, asked.sue)
    assert odd.code == "invalid_request"


def test_a_ledger_that_was_changed_is_told_and_no_path_with_it(asked):
    file = asked.service.policy.ledger
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE entries SET time = '2020' WHERE number = 4")
    connection.close()
    reply = asked.send("POST", "/v1/ledger/verification", {}, asked.sue).json
    assert reply["problems"]
    assert not any(str(file.parent) in problem for problem in reply["problems"])
