"""What fails after the reservation: one face for all causes, charged, counted, and closed at some
number; what can be known without a row costs nothing.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from threading import Event
from unittest.mock import patch

import duckdb
import psycopg
import pyarrow.parquet as pq
import pytest

from bank import in_duckdb, in_memory, session, spent, write_policy
from postri import (
    DatasetClosed,
    EngineError,
    InputError,
    LedgerError,
    PolicyError,
    PostriError,
    QuestionFailed,
    QuestionsExceeded,
    SourceChanged,
    SourceError,
    agg,
)
from postri.engines.duckdb import source as duckdb_source
from postri.engines.progress import Cancel, cancelled_by
from postri.engines.table import Table
from postri.ledger import SqliteLedger, verify
from postri.policy import read_policy
from postri.question import BoundQuestion
from postri.session import local
from postri.sql import Statement
from postri.statistics import quantile
from postri.web.refusals import Shutdown, Timeout

MID = {"mid": "median(balance)"}
SECRET = "planted4711"


class Panic(BaseException):
    """What some libraries raise when they panic: no Exception."""


CAUSES = [
    EngineError(SECRET),
    SourceChanged(SECRET),
    SourceError(SECRET),
    InputError(SECRET),
    PolicyError(SECRET, []),
    LedgerError(SECRET),
    Timeout(SECRET),
    Shutdown(SECRET),
    MemoryError(SECRET),
    RecursionError(SECRET),
    OverflowError(SECRET),
    OSError(5, SECRET),
    TimeoutError(SECRET),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, SECRET),
    duckdb.ConversionException(SECRET),
    duckdb.OutOfMemoryException(SECRET),
    psycopg.errors.DivisionByZero(SECRET),
    Panic(SECRET),
    type("not a name", (Exception,), {})(SECRET),
]
# Where it may happen: opening the snapshot, each scan of the engine, the draw, what is done with
# it.
PLACES = {
    "snapshot": (Table, "snapshot"),
    "scan": (duckdb_source, "run_query"),
    "draw": (quantile.QuantileBatch, "draw_groups"),
    "answers": (BoundQuestion, "answers"),
    "record": (SqliteLedger, "record"),
    "write": (local, "write_answers"),
}
# Every cause in one place, and some in every place.
KINDS = (EngineError, MemoryError, Panic, Timeout)
CASES = [("answers", cause) for cause in CAUSES]
CASES += [(place, cause) for place in PLACES for cause in CAUSES if type(cause) in KINDS]


def told(policy: Path, where: str, cause: BaseException) -> tuple[object, ...]:
    """All that an analyst can see of a failure."""
    owner, name = PLACES[where]
    with session(policy) as db:
        with patch.object(owner, name, side_effect=cause), pytest.raises(PostriError) as caught:
            db.ask("bank", MID, epsilon="1/2", retry="k")
        error = caught.value
        with pytest.raises(PostriError) as again:
            db.ask("bank", MID, epsilon="1/2", retry="k")
        (past,) = db.answers()
        left = db.budget("bank")["bank"]
    # The causes outlive the test, and would hold its connections.
    cause.__traceback__ = None
    assert error.__cause__ is None and error.__context__ is None
    assert again.value.__cause__ is None and again.value.__context__ is None
    return (
        (type(error), str(error), vars(error), error.spent),
        (type(again.value), str(again.value), vars(again.value)),
        (past.status, past.reason, past.epsilon, past.result),
        (left.spent, left.own, left.entries, left.closed),
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return told(write_policy(tmp_path_factory.mktemp("usual")), "answers", EngineError("usual"))


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "cause"), CASES, ids=[f"{place}-{type(cause).__name__}" for place, cause in CASES]
)
def test_every_failure_looks_alike_and_only_the_ledger_knows_the_cause(
    policy, where, cause, expected
):
    assert told(policy, where, cause) == expected
    assert expected[0][0] is QuestionFailed
    assert expected[0][2] == {"answer_id": "2", "charged": Fraction(1, 2)}
    found = read_policy(policy)
    with SqliteLedger(found.ledger, found.head) as ledger:
        assert verify(ledger) == []
        (kept,) = ledger.unanswered("bank")
        name = type(cause).__name__
        assert kept.reason == (name if name.isidentifier() else "Exception")
    assert SECRET.encode() not in found.ledger.read_bytes()


def test_a_failure_says_what_stays_spent(policy):
    with (
        session(policy) as db,
        patch.object(BoundQuestion, "answers", side_effect=EngineError),
        pytest.raises(QuestionFailed, match=r"question 2 failed .* epsilon 1/3 stays spent"),
    ):
        db.count("bank", epsilon="1/3")
    assert spent(policy) == Fraction(1, 3)


def test_gaussian_noise_tells_the_epsilon_that_was_asked_for(tmp_path):
    more = 'accountant = "zcdp"\ndelta = "1e-6"'
    with (
        session(write_policy(tmp_path, more=more)) as db,
        patch.object(BoundQuestion, "answers", side_effect=EngineError),
    ):
        for _ in range(2):
            with pytest.raises(QuestionFailed) as caught:
                db.count("bank", epsilon="1/4", retry="k")
            assert caught.value.charged == Fraction(1, 4)


@pytest.mark.parametrize("wish", [KeyboardInterrupt, SystemExit])
def test_a_wish_of_the_process_is_recorded_and_goes_on(policy, wish):
    with session(policy) as db:
        with patch.object(BoundQuestion, "answers", side_effect=wish), pytest.raises(wish):
            db.ask("bank", MID, epsilon=1, retry="k")
        with pytest.raises(QuestionFailed):
            db.ask("bank", MID, epsilon=1, retry="k")
    found = read_policy(policy)
    with SqliteLedger(found.ledger, found.head) as ledger:
        assert [each.reason for each in ledger.unanswered("bank")] == [wish.__name__]


def test_what_cannot_be_shaped_has_failed_too(policy):
    statement = "SELECT job, MEDIAN(balance) AS mid FROM bank GROUP BY job"
    with session(policy) as db, patch.object(Statement, "shaped", side_effect=RecursionError):
        for _ in range(2):
            with pytest.raises(QuestionFailed) as caught:
                db.sql(statement, epsilon=1, retry="k")
            assert caught.value.__context__ is None and caught.value.charged == 1
    assert spent(policy) == 1


def test_a_question_that_is_given_up_has_failed(policy):
    """As a service gives up a scan that does not hear: the reply is that of any other failure, and
    what comes later changes nothing.
    """
    cancel = Cancel()
    given_up: list[Exception | None] = []
    counted = BoundQuestion.answers

    def deaf(bound):
        given_up.append(cancel.abandoned(Timeout()))
        return counted(bound)

    with session(policy) as db:
        with (
            patch.object(BoundQuestion, "answers", deaf),
            cancelled_by(cancel),
            pytest.raises(QuestionFailed) as caught,
        ):
            db.ask("bank", MID, epsilon=1, retry="k")
        with pytest.raises(QuestionFailed) as again:
            db.ask("bank", MID, epsilon=1, retry="k")
        # Once there is an answer, that is waited for.
        with cancelled_by(cancel):
            db.ask("bank", MID, epsilon=1)
        assert cancel.abandoned(Timeout()) is None
    assert [str(each) for each in given_up] == [str(caught.value)] == [str(again.value)]


# ---- closing


def fail(db, times: int = 1, **how) -> None:
    with patch.object(BoundQuestion, "answers", side_effect=EngineError("failed")):
        for _ in range(times):
            with pytest.raises(QuestionFailed):
                db.count("bank", epsilon="0.1", fresh=True, **how)


def open_again(policy: Path) -> list[str | None]:
    found = read_policy(policy)
    with SqliteLedger(found.ledger, found.head) as ledger:
        looked_at = ledger.open_again("bank")
        assert verify(ledger) == []
    return [each.reason for each in looked_at]


@pytest.mark.slow
def test_three_failures_close_a_dataset_for_everybody_until_it_is_opened_again(policy):
    with session(policy, "ann") as ann, session(policy, "bob") as bob:
        ann.ask("bank", MID, epsilon=1)
        fail(ann, 2)
        fail(bob)
        for db in (ann, bob):
            with pytest.raises(DatasetClosed, match="postri open-again bank") as closed:
                db.count("bank", epsilon="0.1")
            assert not closed.value.spent and not closed.value.running
            assert db.budget("bank")["bank"].closed
            price = db.price("bank", {"n": agg.count()}, epsilon="0.1")
            assert "is closed" in price.refused
        # What was recorded is given all the same.
        assert bob.ask("bank", MID, epsilon=1).charged == 0
        assert bob.price("bank", MID, epsilon=1).refused is None
        assert spent(policy) == Fraction(13, 10)
        assert open_again(policy) == ["EngineError"] * 3
        assert not ann.budget("bank")["bank"].closed
        ann.count("bank", epsilon="0.1")
        fail(ann, 3)
        with pytest.raises(DatasetClosed):
            bob.count("bank", epsilon="0.2")


def test_the_policy_says_how_many(tmp_path):
    with session(write_policy(tmp_path, more="max_failures = 1")) as db:
        fail(db)
        with pytest.raises(DatasetClosed):
            db.count("bank", epsilon="0.1")


@pytest.mark.slow
def test_a_question_that_was_cut_off_counts_until_its_retry_is_answered(policy):
    """Nobody knows its fate, so it is waited for, and refused in the end."""
    with session(policy) as db, patch.object(local, "PATIENCE", 0.1):
        fail(db, 2)
        with (
            patch.object(BoundQuestion, "answers", side_effect=EngineError),
            patch.object(SqliteLedger, "fail", side_effect=LedgerError("died")),
            pytest.raises(QuestionFailed),
        ):
            db.ask("bank", MID, epsilon="0.1", retry="k")
        with pytest.raises(DatasetClosed, match="cut off") as closed:
            db.count("bank", epsilon="0.1")
        assert closed.value.running
        assert db.ask("bank", MID, epsilon="0.1", retry="k").charged == Fraction(1, 10)
        db.count("bank", epsilon="0.1")


@contextmanager
def held():
    """Questions that are counted until the event is set; those of epsilon 0.2 are not held."""
    opened = Event()
    counted = BoundQuestion.answers

    def wait(bound):
        if bound.question.epsilon != Fraction(1, 5):
            assert opened.wait(60)
        return counted(bound)

    with patch.object(BoundQuestion, "answers", wait):
        try:
            yield opened
        finally:
            opened.set()


def test_a_question_waits_for_room_while_others_are_counted(policy):
    found = read_policy(policy)
    # Two ledgers, as two processes have them.
    with (
        in_memory(),
        session(policy) as one,
        session(policy) as other,
        patch.object(local, "PATIENCE", 120),
        ThreadPoolExecutor(4) as pool,
        held() as opened,
    ):
        running = [pool.submit(one.count, "bank", epsilon="0.1", fresh=True) for _ in range(3)]
        with SqliteLedger(found.ledger, found.head) as ledger:
            while len(ledger.unanswered("bank")) < 3:
                time.sleep(0.01)
        late = pool.submit(other.count, "bank", epsilon="0.2", fresh=True)
        time.sleep(0.1)
        assert not late.done()
        opened.set()
        assert late.result(60).spend.epsilon == Fraction(1, 5)
        assert all(each.result(60) for each in running)
    assert spent(policy) == Fraction(1, 2)


def test_who_waits_for_room_can_be_cancelled_and_has_paid_nothing(policy):
    cancel = Cancel()
    with (
        session(policy) as db,
        patch.object(local, "PATIENCE", 60),
        ThreadPoolExecutor(4) as pool,
        held() as opened,
    ):
        for _ in range(3):
            pool.submit(db.count, "bank", epsilon="0.1", fresh=True)
        while len(db._ledger.unanswered("bank")) < 3:
            time.sleep(0.01)

        def ask():
            with cancelled_by(cancel):
                db.count("bank", epsilon="0.2")

        late = pool.submit(ask)
        cancel.now(Timeout())
        assert not late.exception(60).spent
        opened.set()
    assert spent(policy) == Fraction(3, 10)


@pytest.mark.slow
def test_many_at_once_leave_no_more_without_an_answer_than_may_be(tmp_path):
    """Half of the questions fail; whatever the order, no more than five ever do."""
    policy = write_policy(tmp_path, more="max_failures = 5")
    found = read_policy(policy)

    def ask(number: int):
        db = session(policy, f"analyst {number % 4}")
        try:
            db.count("bank", epsilon="0.01", where=f"age < {number}", fresh=True)
        except PostriError as error:
            return type(error)
        finally:
            db.close()
        return None

    counted = BoundQuestion.answers

    def sometimes(bound):
        if int(str(bound.question.where).split()[-1]) % 2:
            raise EngineError("failed")
        return counted(bound)

    failing = patch.object(BoundQuestion, "answers", sometimes)
    patient = patch.object(local, "PATIENCE", 120)
    with in_memory(), failing, patient, ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(ask, range(20, 60)))
    assert set(outcomes) <= {None, QuestionFailed, DatasetClosed}
    assert outcomes.count(QuestionFailed) == 5
    with SqliteLedger(found.ledger, found.head) as ledger:
        assert verify(ledger) == []
        assert [each.reason for each in ledger.unanswered("bank")] == ["EngineError"] * 5


# ---- what can be known without a row costs nothing


def test_what_is_wrong_with_a_file_before_a_row_is_read_costs_nothing(policy):
    file = policy.parent / "bank.parquet"
    table = pq.read_table(file)
    changes = {
        "gone": file.unlink,
        "garbage": lambda: file.write_bytes(b"PAR1 no file of this kind PAR1"),
        "empty": lambda: file.write_bytes(b""),
        "a column is gone": lambda: pq.write_table(table.drop_columns(["balance"]), file),
        "another type": lambda: pq.write_table(
            table.set_column(0, "balance", [[str(each) for each in range(table.num_rows)]]), file
        ),
    }
    with session(policy) as db:
        for change in changes.values():
            change()
            with pytest.raises(PostriError) as caught:
                db.ask("bank", MID, epsilon=1, retry="k")
            assert not isinstance(caught.value, QuestionFailed) and not caught.value.spent
        pq.write_table(table, file)
        assert spent(policy) == 0
        assert db.ask("bank", MID, epsilon=1, retry="k").charged == 1


@pytest.mark.slow
def test_a_table_of_duckdb_that_is_gone_or_changed_costs_nothing(tmp_path):
    for number, statement in enumerate(
        (
            "ALTER TABLE accounts ALTER balance TYPE VARCHAR",
            "ALTER TABLE accounts DROP balance",
            "DROP TABLE accounts",
        )
    ):
        policy = in_duckdb(tmp_path / str(number))
        with duckdb.connect(str(policy.parent / "bank.duckdb")) as connection:
            connection.execute(statement)
        with session(policy) as db, pytest.raises(PostriError) as caught:
            db.ask("bank", MID, epsilon=1)
        assert not isinstance(caught.value, QuestionFailed) and not caught.value.spent
        assert spent(policy) == 0


# ---- a least epsilon, and a number of questions


def test_a_question_below_the_least_epsilon_is_refused_everywhere(tmp_path):
    policy = write_policy(tmp_path, more='min_epsilon = "0.1"')
    with session(policy) as db:
        for ask in (
            lambda: db.ask("bank", MID, epsilon="0.0999"),
            lambda: db.sql("SELECT COUNT(*) AS n FROM bank", epsilon="1/11"),
            lambda: db.price("bank", MID, epsilon="0.0999"),
            lambda: db.price("SELECT COUNT(*) AS n FROM bank", epsilon="0.05"),
        ):
            with pytest.raises(InputError, match=r"epsilon must be at least 0\.1, .* got "):
                ask()
        assert db.ask("bank", MID, epsilon="0.1").charged == Fraction(1, 10)
        assert db.describe("bank").min_epsilon == Fraction(1, 10)
    assert spent(policy) == Fraction(1, 10)


def test_a_thousandth_of_the_budget_is_the_least_where_nothing_is_said(policy):
    with session(policy) as db:
        with pytest.raises(InputError, match=r"at least 0\.005"):
            db.count("bank", epsilon="0.0049")
        assert db.count("bank", epsilon="0.005")


def test_a_past_answer_below_a_least_epsilon_that_came_later_is_shown(policy):
    with session(policy) as db:
        db.ask("bank", MID, epsilon="0.1")
    with session(write_policy(policy.parent, more='min_epsilon = "1"')) as db:
        (past,) = db.answers()
        assert past.result is not None


@pytest.mark.slow
def test_an_analyst_may_ask_as_many_questions_as_the_policy_says(tmp_path):
    policy = write_policy(tmp_path, more="questions = 2")
    with session(policy, "ann") as ann, session(policy, "bob") as bob:
        first = ann.ask("bank", MID, epsilon="0.1")
        fail(ann)
        for _ in range(2):
            with pytest.raises(QuestionsExceeded, match="has asked 2 questions") as refused:
                ann.count("bank", epsilon="0.1")
            assert not refused.value.spent
        assert "has asked 2" in ann.price("bank", {"n": "count()"}, epsilon="0.1").refused
        assert ann.ask("bank", MID, epsilon="0.1").answer_id == first.answer_id
        assert bob.count("bank", epsilon="0.1")
    assert spent(policy) == Fraction(3, 10)


# ---- numbers of absurd size

NUMBERS = [
    *(f"1e-{exponent}" for exponent in (13, 30, 100, 199, 308, 324, 399, 400, 401, 5_000)),
    *(f"1e{exponent}" for exponent in (7, 308, 400, 401, 99_999)),
    *("0." + "3" * digits for digits in (60, 100, 190, 300)),
    *(Fraction(1, 10**digits) for digits in (13, 200, 500, 5_000)),
    *(Fraction(10**digits + 1, 10**digits) for digits in (60, 500, 5_000)),
    "1" * 61 + "/" + "2" * 60 + "3",
    "1/" + "7" * 198,
    10**400,
    5e-324,
]


def shown_after(db) -> list[str]:
    """The history, as a service would send it."""
    from postri.answer.forms import json_text
    from postri.session.wire import history_text, past_fields, read_history

    answers = db.answers()
    text = history_text([json_text(past_fields(each)) for each in answers], 50, None)
    assert len(read_history(json.loads(text))) == len(answers)
    return [past.status for past in answers]


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS, ids=range(len(NUMBERS)))
def test_an_absurd_epsilon_is_refused_before_anything_is_charged(policy, number):
    with session(policy) as db:
        for ask in (
            lambda: db.ask("bank", MID, epsilon=number),
            lambda: db.sql("SELECT COUNT(*) AS n FROM bank", epsilon=number),
            lambda: db.price("bank", MID, epsilon=number),
        ):
            with pytest.raises(InputError, match=r"^epsilon must") as refused:
                ask()
            assert len(str(refused.value)) < 250
        assert shown_after(db) == []
    assert spent(policy) == 0


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS, ids=range(len(NUMBERS)))
def test_no_other_absurd_number_is_charged_and_not_answered_or_breaks_the_history(policy, number):
    with in_memory(), session(policy) as db:
        weighted = {"n": agg.count(), "m": agg.median("age")}
        answered = 0
        for ask in (
            lambda: db.ask("bank", weighted, weights={"n": number, "m": 1}, epsilon="0.1"),
            lambda: db.count("bank", confidence=number, epsilon="0.1"),
            lambda: db.quantile("bank", "age", number, epsilon="0.1"),
        ):
            with suppress(InputError):
                ask()
                answered += 1
            assert shown_after(db) == ["answered"] * answered
            assert spent(policy) * 10 == answered
