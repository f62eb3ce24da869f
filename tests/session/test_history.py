"""What an analyst asked before, as it was answered; and what is public of the datasets."""

from __future__ import annotations

import json
import sqlite3
from unittest.mock import patch

import pytest

from bank import session, write_policy
from postri import Domain, EngineError, InputError, QuestionFailed, agg
from postri.answer.forms import json_text
from postri.policy import read_policy
from postri.question import BoundQuestion
from postri.session.wire import dataset_fields, history_text, past_fields, read_history

MID = {"mid": "median(balance)"}
SQL = "SELECT job, MEDIAN(balance) AS mid FROM bank GROUP BY job ORDER BY mid DESC LIMIT 2"


def test_past_answers_come_newest_first_as_they_were_given(policy):
    with session(policy) as db:
        given = [
            db.ask("bank", MID, by=["vip"], epsilon="0.5"),
            db.sql(SQL, epsilon="0.5"),
            db.ask("bank", {"n": agg.count()}, epsilon="0.25"),
        ]
        past = db.answers()
    assert [each.answer_id for each in past] == [result.answer_id for result in reversed(given)]
    assert [each.result.rows for each in past] == [result.rows for result in reversed(given)]
    assert [str(each.epsilon) for each in past] == ["1/4", "1/2", "1/2"]
    assert all(
        (each.status, each.reason, each.result.charged, each.dataset)
        == ("answered", None, 0, "bank")
        for each in past
    )
    assert past[1].question.sql == SQL and past[2].question.by == ["vip"]


def test_the_question_of_a_past_answer_asks_for_it_again(policy):
    with session(policy) as db:
        first = db.ask(
            "bank",
            {"mid": agg.quantile("balance", 0.9), "n": "count()"},
            where="age < 40",
            weights={"mid": 3, "n": 1},
            epsilon=1,
        )
        (past,) = db.answers()
        question = past.question
        again = db.ask(
            question.dataset,
            question.aggregates,
            epsilon=question.epsilon,
            where=question.where,
            weights=question.weights,
        )
    assert again.recorded and again.answer_id == first.answer_id


def test_a_question_asked_again_is_listed_once(policy):
    with session(policy) as db:
        for _ in range(3):
            db.ask("bank", MID, epsilon="0.5")
        assert len(db.answers()) == 1


def test_everybody_has_a_history_of_their_own(policy):
    with session(policy, "ann") as ann, session(policy, "bob") as bob:
        ann.ask("bank", MID, epsilon=1)
        assert bob.answers() == []
        shared = bob.ask("bank", MID, epsilon=1)
        assert shared.charged == 0 and [each.answer_id for each in bob.answers()] == [
            shared.answer_id
        ]


def test_a_failure_is_a_part_of_it(policy):
    with session(policy) as db:
        with (
            patch.object(BoundQuestion, "answers", side_effect=EngineError("failed")),
            pytest.raises(QuestionFailed),
        ):
            db.ask("bank", MID, epsilon=1)
        (past,) = db.answers()
    assert (past.status, past.reason, past.result) == ("failed", None, None)


def test_a_new_version_hides_no_question(policy):
    with session(policy) as db:
        db.ask("bank", MID, epsilon=1)
    with session(write_policy(policy.parent, version="2")) as db:
        (past,) = db.answers()
    assert (past.status, past.reason, past.result) == (
        "answered",
        "the policy has changed since",
        None,
    )


def test_pages_go_on_below_an_answer(policy):
    with session(policy) as db:
        ids = [
            db.count("bank", where=f"age < {age}", epsilon="0.1")
            and db.answers(limit=1)[0].answer_id
            for age in range(20, 25)
        ]
        pages = [
            db.answers(limit=2),
            db.answers(before=ids[3], limit=2),
            db.answers(before=ids[1], limit=2),
        ]
    assert [[each.answer_id for each in page] for page in pages] == [
        [ids[4], ids[3]],
        [ids[2], ids[1]],
        [ids[0]],
    ]


@pytest.mark.parametrize(
    "how",
    [
        {"limit": 0},
        {"limit": 201},
        {"limit": True},
        {"before": "x"},
        {"before": "-1"},
        {"before": 3},
    ],
)
def test_odd_pages_are_refused(policy, how):
    with session(policy) as db, pytest.raises(InputError):
        db.answers(**how)


def test_what_is_public_of_a_dataset_does_not_say_where_it_is(policy):
    with session(policy) as db:
        facts = db.describe()["bank"]
    assert (facts.version, facts.rows, facts.budget, facts.accountant) == ("1", 2000, 5, "pure")
    assert facts.columns["rate"].domain.step == Domain(0, 10, "0.25").step
    assert facts.columns["job"].keys == ("admin.", "technician", "nobody")
    assert "parquet" not in repr(facts) + json.dumps(dataset_fields(facts), default=str)


def test_a_question_in_a_form_that_is_no_longer_known_breaks_no_history(policy):
    """As a version wrote it that took any number of digits: it is listed, without its words."""
    with session(policy) as db:
        db.ask("bank", MID, epsilon="0.5")
        db.count("bank", epsilon="0.25")
    found = read_policy(policy)
    with sqlite3.connect(found.ledger) as connection:
        connection.execute(
            "UPDATE wordings SET wording = replace(wording, '\"0.5\"', ?)",
            ('"1/1' + "0" * 400 + '"',),
        )
    connection.close()
    with session(policy) as db:
        texts = [json_text(past_fields(each)) for each in db.answers()]
        count, median = read_history(json.loads(history_text(texts, 50, None)))
    assert count.result is not None and count.question is not None
    assert (median.status, median.question, median.result) == ("answered", None, None)
    assert "form that this version does not know" in median.reason
    assert str(median.epsilon) == "1/2"
