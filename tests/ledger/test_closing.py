"""Questions without an answer are counted in the transaction that reserves, until the dataset is
opened again; and so are all questions.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product
from math import comb

import pytest
from some_charges import charge, limits

from postri.errors import DatasetClosed, LedgerError, QuestionsExceeded
from postri.ledger import Attempt, SqliteLedger, verify

EVERY_STORE = True
TWO = limits(5, failures=2)


def reserve(ledger, **how):
    return ledger.reserve(charge(**how), TWO)


def test_failed_and_open_questions_count_and_answered_ones_do_not(ledger):
    ledger.record(reserve(ledger), "x")
    failed = reserve(ledger)
    ledger.fail(failed, "EngineError")
    still_open = reserve(ledger)
    with pytest.raises(DatasetClosed) as closed:
        reserve(ledger)
    assert closed.value.running
    assert [(each.id, each.reason) for each in ledger.unanswered("bank")] == [
        (failed, "EngineError"),
        (still_open, None),
    ]
    ledger.fail(still_open, "Timeout")
    with pytest.raises(DatasetClosed) as closed:
        reserve(ledger)
    assert not closed.value.running
    assert ledger.spent("bank").epsilon == Fraction(3, 10)
    assert verify(ledger) == []


def test_an_answer_makes_room(ledger):
    first, _ = reserve(ledger), reserve(ledger)
    with pytest.raises(DatasetClosed):
        reserve(ledger)
    ledger.record(first, "x")
    assert reserve(ledger)


def test_datasets_are_closed_each_for_itself(ledger):
    for _ in range(2):
        ledger.fail(reserve(ledger), "EngineError")
    assert reserve(ledger, dataset="shop")
    with pytest.raises(DatasetClosed):
        reserve(ledger, analyst="bob")


def test_opening_again_forgives_what_was_looked_at_once(store, ledger):
    ledger.fail(reserve(ledger), "EngineError")
    cut_off = reserve(ledger)
    assert len(ledger.open_again("bank")) == 2
    assert ledger.open_again("bank") == [] and ledger.unanswered("bank") == []
    # It was asked before, so its failure is one of those that were looked at.
    ledger.fail(cut_off, "Timeout")
    ledger.fail(reserve(ledger), "EngineError")
    reserve(ledger)
    other = store.open()
    with pytest.raises(DatasetClosed):
        reserve(other)
    assert len(other.open_again("bank")) == 2
    assert verify(ledger) == []
    assert ledger.summary()["bank"].cost.epsilon == Fraction(4, 10)


def test_a_retry_of_an_open_question_is_let_through(ledger):
    attempt = Attempt("words", "k")
    number = ledger.reserve(charge(), TWO, attempt)
    ledger.fail(reserve(ledger), "EngineError")
    assert ledger.reserve(charge(), TWO, attempt) == number


def test_a_number_of_questions_for_each_analyst(ledger):
    some = limits(5, questions=2)
    for _ in range(2):
        ledger.reserve(charge(), some)
    with pytest.raises(QuestionsExceeded, match="'ann' has asked 2 questions of 'bank'"):
        ledger.reserve(charge(), some)
    ledger.reserve(charge(analyst="bob"), some)
    assert (ledger.questions("bank", "ann"), ledger.questions("bank", "eve")) == (2, 0)
    assert ledger.summary()["bank"].questions == 3
    assert verify(ledger) == []


def test_however_many_ask_at_once_no_more_are_without_an_answer_than_may_be(store):
    ledgers = [store.open() for _ in range(4)]

    def ask(number: int) -> bool:
        try:
            reserve(ledgers[number % 4], name=number)
        except DatasetClosed:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(40))) == 2


@pytest.mark.slow
def test_failures_tell_no_more_than_the_patterns_that_theorem_20_counts(ledger):
    """Six questions, of which any may fail: 64 secrets, 1 + 6 + 15 stories."""
    stories = set()
    for secret in product([False, True], repeat=6):
        dataset = f"secret {secret}"
        story = []
        for fails in secret:
            try:
                number = reserve(ledger, dataset=dataset)
            except DatasetClosed:
                story.append("closed")
                continue
            if fails:
                ledger.fail(number, "EngineError")
                story.append("failed")
            else:
                ledger.record(number, "x")
                story.append("answered")
        stories.add(tuple(story))
    assert len(stories) == sum(comb(6, number) for number in range(3))


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("DELETE FROM unanswered", "questions without an answer does not fit"),
        ("INSERT INTO unanswered VALUES ('bank', 2)", "questions without an answer does not fit"),
        ("UPDATE analysts SET questions = 0", "number of questions of 'ann' on 'bank' is kept as"),
    ],
)
def test_tables_that_were_changed_are_found(store, ledger, statement, sentence):
    ledger.record(reserve(ledger), "x")
    ledger.fail(reserve(ledger), "EngineError")
    store.tamper(statement)
    assert sentence in "\n".join(verify(store.audit()))


def test_an_older_version_refuses_a_ledger_that_knows_more(store, ledger, monkeypatch):
    from postri.ledger import schema

    ledger.fail(reserve(ledger), "EngineError")
    ledger.open_again("bank")
    ledger.close()
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:2])
    with pytest.raises(LedgerError, match="newer version"):
        SqliteLedger(store.path)
