"""Questions that are tried again: one answer and one charge for each key, whatever happened in
between.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from unittest.mock import patch

import pytest

from bank import session, spent, write_policy
from postri import (
    BudgetExceeded,
    EngineError,
    InputError,
    LedgerError,
    QuestionFailed,
    RetryKeyUsed,
)
from postri.ledger import SqliteLedger
from postri.policy import read_policy
from postri.question import BoundQuestion
from postri.session import LocalSession

MID = {"mid": "median(balance)"}


class Dies(SqliteLedger):
    """A ledger of a process that dies before it can say what became of a reservation."""

    def record(self, reservation: int, answer: str) -> None:
        raise LedgerError("died")

    def fail(self, reservation: int, reason: str) -> None:
        raise LedgerError("died")


def cut_off(path, **how) -> None:
    """Ask, and die between the charge and the record."""
    found = read_policy(path)
    with (
        Dies(found.ledger, found.head) as ledger,
        pytest.raises(QuestionFailed) as error,
    ):
        LocalSession(found, ledger, "ann").ask("bank", MID, epsilon=1, **how)
    assert (error.value.spent, error.value.charged) == (True, 1)


def test_the_same_key_gives_the_same_answer_at_one_charge(policy):
    with session(policy) as db:
        first = db.ask("bank", MID, epsilon=1, fresh=True, retry="k1")
        db.ask("bank", MID, epsilon=1, fresh=True, retry="k2")
        again = db.ask("bank", MID, epsilon=1, fresh=True, retry="k1")
    assert (again.rows, again.answer_id, again.charged) == (first.rows, first.answer_id, 0)
    assert spent(policy) == 2


def test_without_a_key_a_fresh_draw_is_paid_for_each_time(policy):
    with session(policy) as db:
        assert (
            db.ask("bank", MID, epsilon=1, fresh=True).answer_id
            != db.ask("bank", MID, epsilon=1, fresh=True).answer_id
        )
    assert spent(policy) == 2


def test_a_crash_between_charge_and_record_is_paid_for_once(policy):
    cut_off(policy, retry="k1")
    assert spent(policy) == 1
    with session(policy) as db:
        answer = db.ask("bank", MID, epsilon=1, retry="k1")
        assert db.ask("bank", MID, epsilon=1, retry="k1").rows == answer.rows
    assert answer.charged == 1 and spent(policy) == 1


def test_a_crash_without_a_key_is_paid_for_twice(policy):
    cut_off(policy)
    with session(policy) as db:
        db.ask("bank", MID, epsilon=1)
    assert spent(policy) == 2


def test_a_retry_is_answered_when_the_budget_has_run_out_since(policy):
    cut_off(policy, retry="k1")
    with session(policy) as db:
        db.count("bank", epsilon=4)
        assert db.ask("bank", MID, epsilon=1, retry="k1").rows
        with pytest.raises(BudgetExceeded):
            db.ask("bank", MID, epsilon=1, retry="k2", fresh=True)
    assert spent(policy) == 5


def test_a_key_with_other_words_is_refused_and_costs_nothing(policy):
    with session(policy) as db:
        db.ask("bank", MID, epsilon=1, retry="k1")
        for how in (
            {"epsilon": 2},
            {"epsilon": 1, "where": "age < 40"},
            {"epsilon": 1, "fresh": True},
        ):
            with pytest.raises(RetryKeyUsed, match="another question"):
                db.ask("bank", MID, retry="k1", **how)
        with pytest.raises(RetryKeyUsed):
            db.sql("SELECT MEDIAN(balance) AS mid FROM bank", epsilon=1, retry="k1")
    assert spent(policy) == 1


def test_words_that_mean_the_same_numbers_are_the_same_words(policy):
    with session(policy) as db:
        first = db.ask("bank", MID, epsilon=0.5, retry="k1")
        assert (
            db.ask("bank", MID, epsilon="1/2", confidence="0.95", retry="k1").answer_id
            == first.answer_id
        )


def test_keys_belong_to_their_analyst(policy):
    with session(policy, "ann") as ann, session(policy, "bob") as bob:
        ann.ask("bank", MID, epsilon=1, fresh=True, retry="k1")
        bob.ask("bank", {"n": "count()"}, epsilon=1, retry="k1")
    assert spent(policy) == 2


def test_a_failure_stays_a_failure(policy):
    with session(policy) as db:
        with (
            patch.object(BoundQuestion, "answers", side_effect=EngineError("failed")),
            pytest.raises(QuestionFailed) as error,
        ):
            db.ask("bank", MID, epsilon=1, retry="k1")
        with pytest.raises(QuestionFailed, match="epsilon 1 stays spent") as again:
            db.ask("bank", MID, epsilon=1, retry="k1")
        assert (str(again.value), vars(again.value)) == (str(error.value), vars(error.value))
        assert db.ask("bank", MID, epsilon=1, retry="k2").rows
    assert spent(policy) == 2


def test_what_is_refused_is_not_spent_and_binds_no_key(policy):
    with session(policy) as db:
        with pytest.raises(BudgetExceeded) as refused:
            db.ask("bank", MID, epsilon=9, retry="k1")
        assert not refused.value.spent
        assert db.ask("bank", MID, epsilon=1, retry="k1").charged == 1


def test_a_recorded_answer_is_kept_by_its_key_when_a_newer_one_is_drawn(policy):
    with session(policy, "ann") as ann, session(policy, "bob") as bob:
        first = ann.ask("bank", MID, epsilon=1)
        kept = bob.ask("bank", MID, epsilon=1, retry="k1")
        ann.ask("bank", MID, epsilon=1, fresh=True)
        assert (
            bob.ask("bank", MID, epsilon=1, retry="k1").answer_id
            == kept.answer_id
            == first.answer_id
        )
        assert bob.ask("bank", MID, epsilon=1).answer_id != first.answer_id


def test_a_retry_pays_for_no_other_question_when_the_policy_changes(policy):
    """The same words, asked of another version: the open reservation is of the old one."""
    cut_off(policy, retry="k1")
    policy = write_policy(policy.parent, version="2")
    with session(policy) as db:
        with pytest.raises(RetryKeyUsed):
            db.ask("bank", MID, epsilon=1, retry="k1")
        db.ask("bank", MID, epsilon=1, retry="k2")
    assert spent(policy) == 2


@pytest.mark.parametrize("key", ["", "é", "a\nb", "x" * 201, 7])
def test_odd_keys_are_refused(policy, key):
    with session(policy) as db, pytest.raises(InputError, match="key of a retry"):
        db.ask("bank", MID, epsilon=1, retry=key)
    assert spent(policy) == 0


# ---- at the same time


def at_once(path, number_of_ledgers: int, **how) -> list:
    """The same question from several threads, which share the ledgers out among them."""
    found = read_policy(path)
    start = Barrier(4)
    ledgers = [SqliteLedger(found.ledger, found.head) for _ in range(number_of_ledgers)]

    def ask(place: int):
        start.wait(timeout=60)
        ledger = ledgers[place % number_of_ledgers]
        return LocalSession(found, ledger, "ann").ask("bank", MID, epsilon=1, **how)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(ask, range(4)))
    for ledger in ledgers:
        ledger.close()
    return results


def test_a_question_that_four_threads_ask_at_once_is_paid_for_once(policy):
    results = at_once(policy, 1)
    assert len({result.answer_id for result in results}) == 1 and sorted(
        result.charged for result in results
    ) == [0, 0, 0, 1]
    assert spent(policy) == 1


def test_fresh_draws_do_not_wait_for_each_other_and_are_paid_for_each(policy):
    results = at_once(policy, 1, fresh=True)
    assert len({result.answer_id for result in results}) == 4 and spent(policy) == 4


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [True, False])
def test_one_key_at_once_on_several_ledgers_is_one_charge_and_one_answer(policy, fresh):
    """As from several processes: whoever records first has the answer, for all."""
    results = at_once(policy, 4, fresh=fresh, retry="k1")
    assert len({str(result.rows) for result in results}) == 1
    assert spent(policy) == 1
