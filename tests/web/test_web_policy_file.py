"""An edit of the policy takes effect without a restart; one that is wrong leaves the old in force,
and both are said.
"""

from __future__ import annotations

import json
import logging
import os
from types import SimpleNamespace

import pytest
from serving import QUESTION, in_thread, until, write_policy

from postri.policy import read_policy
from postri.web import policy_file
from postri.web.policy_file import PolicyFile


@pytest.fixture
def said(caplog):
    """The events of the log, as they are written."""
    caplog.set_level(logging.INFO, logger="postri.web")
    return lambda: [
        record.postri_fields for record in caplog.records if hasattr(record, "postri_fields")
    ]


class Watched:
    def __init__(self, path):
        self.path, self.taken, self.told = path, [], []
        self.file = PolicyFile(read_policy(path), self.taken.append, self.told.append)
        self.file.look()

    def edit(self, old, new):
        text = self.path.read_text()
        assert old in text
        # As editors do: a new file in the place of the old one.
        aside = self.path.with_suffix(".new")
        aside.write_text(text.replace(old, new))
        os.replace(aside, self.path)
        self.file.look()


@pytest.fixture
def watched(policy):
    return Watched(policy)


def test_nothing_happens_while_the_file_stays(watched, said):
    watched.file.look()
    assert (watched.taken, watched.told, said()) == ([], [], [])


def test_an_edit_before_the_first_look_is_found(policy, said):
    found = read_policy(policy)
    policy.write_text(policy.read_text().replace("rows = 400", "rows = 500"))
    taken = []
    PolicyFile(found, taken.append).look()
    assert taken[0].datasets["bank"].rows == 500 and len(said()) == 1


def test_an_edit_of_a_dataset_is_taken(watched, said):
    watched.edit('budget = "5"\nrows = 400', 'budget = "7"\nrows = 400')
    assert watched.taken[-1].datasets["bank"].budget == 7 and watched.told == ["taken"]
    assert said() == [{"event": "policy_taken", "datasets": ["bank"], "restart_needed": False}]
    assert watched.file.is_in_force


def test_lines_that_move_change_no_dataset(watched, said):
    watched.edit("[service]", "# a remark\n\n[service]")
    assert said() == [{"event": "policy_taken", "datasets": [], "restart_needed": False}]


def test_a_wrong_edit_leaves_the_old_one_in_force_and_its_words_out_of_the_log(watched, said):
    watched.edit('budget = "5"\nrows = 400', 'budget = "planted4711"\nrows = 400')
    assert watched.taken == [] and watched.told == ["refused"]
    assert not watched.file.is_in_force
    (event,) = said()
    assert event["event"] == "policy_refused" and len(event["lines"]) == 1
    assert "postri check" in event["what"] and "planted" not in json.dumps(event)
    # It is said once, and the right one is taken.
    watched.file.look()
    watched.edit('budget = "planted4711"', 'budget = "6"')
    assert watched.taken[-1].datasets["bank"].budget == 6 and len(said()) == 2
    assert watched.file.is_in_force


def test_a_file_that_is_gone_leaves_the_old_one_in_force(watched, said):
    watched.path.unlink()
    watched.file.look()
    assert watched.taken == [] and [each["event"] for each in said()] == ["policy_refused"]


def test_what_is_read_at_the_start_waits_for_a_restart(watched, said):
    for old, new in (
        ("time_grid = 0", "time_grid = 0\nscans = 2"),
        ("[service]", 'ledger = "another.ledger"\n[service]'),
    ):
        watched.edit(old, new)
        assert said()[-1] == {"event": "policy_taken", "datasets": [], "restart_needed": True}
        assert not watched.file.is_in_force
        served = watched.taken[-1]
        assert served.service.scans == 4 and served.ledger.name == "postri.ledger"


@pytest.mark.slow
def test_the_service_asks_the_new_policy_from_the_next_question_on(tmp_path, monkeypatch):
    monkeypatch.setattr(policy_file, "PACE", 0.05)
    path = write_policy(tmp_path, budget="1")
    dear = {**QUESTION, "epsilon": "2"}
    closed = []
    with in_thread(path) as served:
        before = served.service.workers._edition
        assert served.ask(served.ann, dear).code == "budget_exceeded"
        kept = served.service.session(served.service.tokens.verify(served.ann))
        path.write_text(path.read_text().replace('budget = "1"', 'budget = "9"'))
        until(lambda: served.get("/v1/budget", served.ann).json["bank"]["budget"] == "9")
        assert served.ask(served.ann, dear).status == 200
        # A question on its way is answered under the policy that it was asked under.
        assert kept._policy.datasets["bank"].budget == 1
        # Its connections to sources do not stay for questions under another one.
        connection = SimpleNamespace(close=lambda: closed.append(1))
        kept._connections.give("a source", connection)
        assert closed == [1]
        workers = served.service.workers
        assert workers._edition > before
        assert {worker.edition for worker in workers._idle} == {workers._edition}
        path.write_text("nonsense")
        until(lambda: not served.service._gauges()["postri_policy_in_force"])
        assert served.get("/v1/budget", served.ann).json["bank"]["budget"] == "9"
        # The history is told under the new one too.
        (past,) = served.get("/v1/answers", served.ann).json["answers"]
        assert past["status"] == "answered"
