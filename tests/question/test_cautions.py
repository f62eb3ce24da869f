"""What answers say of cells that may be lost: by the policy, whatever the rows are."""

from __future__ import annotations

import pytest

from bank import COLUMNS, dataset_text, session
from postri.policy import read_policy
from postri.question import dataset_question

UNREAD = "cells that cannot be read are left out"
CSV = {name: COLUMNS[name] for name in ("balance", "age", "job")}


def write(folder, *, accepted=None, source="bank.csv", name="age"):
    columns = dict(CSV)
    if accepted is not None:
        columns[name] += f'\nunreadable = "{accepted}"\n'
    path = folder / "postri.toml"
    path.write_text(dataset_text(source=source, columns=columns))
    return path


def notes(path, aggregate, **how):
    dataset = read_policy(path).datasets["bank"]
    question = dataset_question(dataset, {"answer": aggregate}, epsilon=1, **how)
    return question.asked[0].terms.notes


@pytest.mark.parametrize("aggregate", ["median(age)", "mean(age)", "sum(age)", "count(age)"])
def test_a_column_that_nobody_looked_at_has_its_note(aggregate, tmp_path):
    assert notes(write(tmp_path), aggregate) == (UNREAD,)


def test_where_nothing_can_be_unreadable_there_is_none(tmp_path):
    assert notes(write(tmp_path), "count()") == ()
    assert notes(write(tmp_path), "count(job)") == ()
    assert notes(write(tmp_path, source="bank.parquet"), "median(age)") == ()


def test_what_the_steward_accepts_is_said_in_its_place(tmp_path):
    path = write(tmp_path, accepted="up to 2%")
    assert notes(path, "median(age)") == (
        "up to 2% of cells cannot be read and are left out, as the steward declares",
    )
    assert notes(path, "median(balance)") == (UNREAD,)
    assert notes(write(tmp_path, accepted="up to 0%"), "median(age)") == ()


def test_it_is_no_part_of_the_question(tmp_path):
    """A recorded answer is found again after the steward has looked."""
    keys = set()
    for accepted in (None, "up to 2%", "up to 0%"):
        dataset = read_policy(write(tmp_path, accepted=accepted)).datasets["bank"]
        keys.add(dataset_question(dataset, {"mid": "median(age)"}, epsilon=1).key)
    assert len(keys) == 1


def test_answers_carry_it_and_so_do_recorded_ones(tmp_path):
    rows = "".join(f"{i},{i % 90},cook\n" for i in range(500))
    (tmp_path / "bank.csv").write_text(f"balance,age,job\n{rows}")
    with session(write(tmp_path)) as db:
        answer = db.median("bank", "age", epsilon=1)
        again = db.median("bank", "age", epsilon=1)
        expression = db.sql("SELECT AVG(AGE / 2) AS half, COUNT(*) AS n FROM bank", epsilon=1)
    assert f"[{UNREAD}]" in str(answer) and UNREAD in answer.explain() and UNREAD in again.notes
    assert f"half: {UNREAD}" in str(expression)


def test_a_row_is_lost_for_either_cell_of_an_expression(tmp_path):
    (tmp_path / "bank.csv").write_text("balance,age,job\n1,2,cook\n")
    columns = {
        "balance": COLUMNS["balance"] + '\nunreadable = "up to 2%"\n',
        "age": COLUMNS["age"] + '\nunreadable = "up to 0.5%"\n',
    }
    path = tmp_path / "postri.toml"
    path.write_text(dataset_text(source="bank.csv", columns=columns))
    with session(path) as db:
        result = db.sql("SELECT AVG(balance + age) AS both FROM bank", epsilon=1)
    assert "up to 2.5% of cells cannot be read" in str(result)
