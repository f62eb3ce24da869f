"""`postri open-again`, and what `check` and `budget` tell the steward of questions without an
answer.
"""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest

from bank import session, write_policy
from postri import EngineError, QuestionFailed
from postri.ledger import SqliteLedger, verify
from postri.policy import read_policy
from postri.question import BoundQuestion
from program import run

pytestmark = pytest.mark.slow


def fail(policy, cause: BaseException) -> None:
    with (
        session(policy) as db,
        patch.object(BoundQuestion, "answers", side_effect=cause),
        pytest.raises(QuestionFailed),
    ):
        db.count("bank", epsilon="0.1", fresh=True)


@pytest.fixture
def policy(tmp_path):
    return write_policy(tmp_path)


def test_a_closed_dataset_is_told_with_its_causes_and_opened_again(policy):
    folder = policy.parent
    assert run("open-again", "bank", folder=folder)[0] == (
        "bank is open: every question since it was last opened has its answer\n"
    )
    fail(policy, EngineError("secret"))
    fail(policy, MemoryError("secret"))
    out, _ = run("check", folder=folder)
    assert "warning: dataset 'bank' has 2 questions without an answer since it was opened" in out
    fail(policy, ZeroDivisionError("secret"))
    out, _ = run("check", folder=folder, code=2)
    (line,) = out.splitlines()
    assert "dataset 'bank' is closed: 3 questions without an answer" in line
    for name in ("EngineError", "MemoryError", "ZeroDivisionError", "postri open-again bank"):
        assert name in line
    assert "secret" not in out
    (error,) = json.loads(run("check", "--json", folder=folder, code=2)[0])["errors"]
    assert "is closed" in error["text"]
    out, _ = run("budget", folder=folder)
    assert "bank: 3 questions without an answer since it was opened; closed until" in out
    kept = json.loads(run("budget", "--json", folder=folder)[0])["bank"]["unanswered"]
    assert [each["reason"] for each in kept] == [
        "EngineError",
        "MemoryError",
        "ZeroDivisionError",
    ]
    _, err = run("ask", "bank", "count()", "--epsilon", 1, folder=folder, code=1)
    assert "is closed" in err and "postri open-again bank" in err
    out, _ = run("open-again", "bank", folder=folder)
    assert out.startswith("bank is open again; what these questions cost stays spent:\n")
    assert "of ann, " in out and out.count("Error") == 3
    assert run("check", folder=folder)[0].endswith("all is well\n")
    run("ask", "bank", "count()", "--epsilon", 1, folder=folder)
    assert run("budget", "--verify", folder=folder)[1].startswith("the ledger is good")


def test_a_name_that_is_no_dataset_is_refused(policy):
    _, err = run("open-again", "bnak", folder=policy.parent, code=2)
    assert "did you mean 'bank'" in err


def test_a_terminal_sees_it_in_red(tmp_path):
    policy = write_policy(tmp_path, more="max_failures = 1")
    fail(policy, EngineError("failed"))
    shown, _ = run("check", folder=policy.parent, code=2, FORCE_COLOR="1")
    assert "\x1b[31m" in shown and "is closed" in shown


def test_the_ledger_says_which_questions_were_looked_at(policy):
    fail(policy, EngineError("failed"))
    run("open-again", "bank", folder=policy.parent)
    found = read_policy(policy)
    with SqliteLedger(found.ledger, found.head) as ledger:
        *_, last = ledger.entries()
        assert (last.kind, json.loads(last.body)) == (
            "reopened",
            {"dataset": "bank", "unanswered": [2]},
        )
        assert verify(ledger) == []
    run("budget", "--export", "trail.csv", folder=policy.parent)
    trail = (policy.parent / "trail.csv").read_text()
    assert "opened again; without an answer were 2" in trail
