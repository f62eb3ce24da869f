"""Over HTTP, whatever an engine does after the reservation is one reply to the last byte; a dataset
that failed too often is closed; and only the steward sees why.
"""

from __future__ import annotations

import re
import threading

import duckdb
import psycopg
import pytest
from serving import (
    QUESTION,
    SECRET_CELL,
    SLOW,
    in_thread,
    odd_workers,
    timers_by_hand,
    until,
    write_policy,
)

import postri
from postri import DatasetClosed, EngineError, QuestionFailed, SourceChanged
from postri.engines.duckdb import source
from postri.engines.process.engine import QuestionScans
from postri.question import BoundQuestion
from postri.session import local
from postri.web import scans, service
from postri.web.refusals import Shutdown, Timeout

pytestmark = pytest.mark.slow

CAUSES = [
    EngineError(f"DuckDB failed at {SECRET_CELL}"),
    SourceChanged("changed"),
    KeyError(SECRET_CELL),
    MemoryError(),
    RecursionError(),
    TimeoutError(),
    Timeout(),
    Shutdown(),
    psycopg.errors.DivisionByZero("division by zero"),
    duckdb.ConversionException(str(SECRET_CELL)),
]
PLACES = [(source, "run_query"), (BoundQuestion, "answers"), (local, "write_answers")]
MANY = "max_failures = 1000"
IDS = re.compile(rb'"answer_id": *"\d+"|question \d+ |"request_id": *"[0-9a-f]{16}"')


def bare(reply) -> tuple[object, ...]:
    """A reply without its ids."""
    # The length is that of the ids too.
    ids = ("x-request-id", "content-length", "date")
    headers = {name: value for name, value in reply.headers.items() if name not in ids}
    return reply.status, headers, IDS.sub(b"", reply.text)


class HereScans(QuestionScans):
    """Counts in this process, where a test can break what counts."""

    def open(self, kind, *given):
        return kind.open(*given)


def test_every_failure_is_the_same_reply_to_the_last_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(service, "QuestionScans", HereScans)
    with in_thread(write_policy(tmp_path, budget="20", dataset=MANY)) as served:
        question = {**QUESTION, "fresh": True}

        seen = []
        for owner, name in PLACES:
            for number, cause in enumerate(CAUSES):

                def broken(*given, cause=cause):
                    raise cause

                with monkeypatch.context() as patched:
                    patched.setattr(owner, name, broken)
                    key = f"{name} {number}"
                    seen.append(served.ask(served.ann, question, Idempotency_Key=key))
                seen.append(served.ask(served.ann, question, Idempotency_Key=key))
        assert {bare(reply)[0] for reply in seen} == {502}
        assert len({str(bare(reply)) for reply in seen}) == 1
        problem = seen[0].json
        assert (problem["code"], problem["spent"], problem["charged"]) == (
            "question_failed",
            True,
            "1/2",
        )
        assert "reason" not in problem and "epsilon 0.5 stays spent" in problem["detail"]
        # The same charge for each, and each is counted.
        number = len(CAUSES) * len(PLACES)
        assert served.get("/v1/budget", served.ann).json["bank"]["own"] == str(number // 2)
        assert len(served.service.ledger.unanswered("bank")) == number
        history = served.get("/v1/answers?limit=200", served.ann).json["answers"]
        assert {(past["status"], past["reason"]) for past in history} == {("failed", None)}
        # The steward sees the causes.
        entries = served.get("/v1/ledger?limit=1000", served.sue).json["entries"]
        fates = {entry["fate"] for entry in entries if entry["kind"] == "reserve"}
        assert fates == {f"failed with {type(cause).__name__}" for cause in CAUSES}
        assert served.get("/v1/ledger", served.ann).status == 403


def test_so_is_every_failure_of_a_worker(tmp_path, monkeypatch):
    seen, causes = [], []
    for how in ("broken", "strange", "killed", "hungry"):
        folder = tmp_path / how
        folder.mkdir()
        place = folder / "odd"
        place.write_text(str(SECRET_CELL))
        path = write_policy(folder)
        with odd_workers(how, place) as workers, in_thread(path, workers) as served:
            seen.append(served.ask(served.ann))
            (past,) = served.service.ledger.unanswered("bank")
            causes.append(past.reason)
            place.unlink()
            assert served.ask(served.ann).status == 200
    # As one of this process.
    with in_thread(write_policy(tmp_path)) as served, monkeypatch.context() as patched:
        patched.setattr(BoundQuestion, "answers", lambda bound: 1 / 0)
        seen.append(served.ask(served.ann))
    assert (seen[-1].status, seen[-1].code) == (502, "question_failed")
    assert len({str(bare(reply)) for reply in seen}) == 1
    assert causes == ["EngineError"] * 4


def test_a_scan_that_does_not_hear_its_timeout_is_that_reply_too(served, monkeypatch):
    deaf = threading.Event()
    counted = BoundQuestion.answers

    def wait(bound):
        deaf.wait(60)
        return counted(bound)

    with monkeypatch.context() as patched:
        patched.setattr(BoundQuestion, "answers", wait)
        patched.setattr(scans, "GRACE", 0.01)
        timers = timers_by_hand(patched)
        asked = served.later(served.ann, QUESTION, Idempotency_Key="k")
        until(lambda: served.service.ledger.unanswered("bank"))
        # It is told to stop, and after its grace given up.
        timers[-1].fire()
        late = asked.reply()
        deaf.set()
        until(lambda: served.service.scans.running == 0)
    again = served.ask(served.ann, QUESTION, Idempotency_Key="k")
    assert bare(late) == bare(again)
    assert (late.status, late.code) == (502, "question_failed")
    (past,) = served.service.ledger.unanswered("bank")
    assert past.reason == "Timeout"


def test_a_dataset_that_failed_too_often_is_closed_and_opened_again(served, monkeypatch):
    def broken(bound):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(BoundQuestion, "answers", broken)
        for _ in range(3):
            assert served.ask(served.ann, {**QUESTION, "fresh": True}).code == "question_failed"
    closed = served.ask(served.token("bob"))
    assert (closed.status, closed.code, closed.json["spent"]) == (409, "closed", False)
    assert "postri open-again bank" in closed.json["detail"]
    budget = served.get("/v1/budget", served.ann).json
    assert (budget["bank"]["closed"], budget["endless"]["closed"]) == (True, False)
    price = served.send("POST", "/v1/price", QUESTION, served.ann)
    assert "is closed" in price.json["refused"]
    # Other datasets are open.
    assert served.send("POST", "/v1/price", SLOW, served.ann).json["refused"] is None
    assert served.send("POST", "/v1/datasets/bank/opening", None, served.ann).code == "forbidden"
    missing = served.send("POST", "/v1/datasets/bnak/opening", None, served.sue)
    assert missing.code == "not_found"
    opened = served.send("POST", "/v1/datasets/bank/opening", None, served.sue).json
    assert opened["dataset"] == "bank"
    assert [each["reason"] for each in opened["unanswered"]] == ["MemoryError"] * 3
    assert served.get("/v1/budget", served.ann).json["bank"]["closed"] is False
    assert served.ask(served.ann).status == 200
    # That it was opened is an entry of the ledger.
    opening = served.get("/v1/ledger?kind=reopened", served.sue).json["entries"]
    assert [entry["dataset"] for entry in opening] == ["bank"]


def test_a_remote_session_raises_the_same_classes(tmp_path, monkeypatch):
    path = write_policy(tmp_path, dataset="max_failures = 1")
    with in_thread(path) as served:
        url = f"http://127.0.0.1:{served.port}"
        with postri.connect(url, token=served.ann) as db:

            def broken(bound):
                raise MemoryError

            monkeypatch.setattr(BoundQuestion, "answers", broken)
            with pytest.raises(QuestionFailed) as caught:
                db.median("bank", "x", epsilon="1/3")
            assert (str(caught.value.charged), caught.value.spent) == ("1/3", True)
            assert caught.value.__context__ is None
            with pytest.raises(DatasetClosed) as closed:
                db.median("bank", "x", epsilon="1/3")
            assert not closed.value.spent and not closed.value.running
            assert db.budget("bank")["bank"].closed
            assert [past.status for past in db.answers()] == ["failed"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "epsilon",
    ["1e-400", "1e-13", "1e-401", "0." + "3" * 100, "1/" + "7" * 150, "1" * 70 + "/3"],
    ids=lambda text: text[:8],
)
def test_an_absurd_epsilon_is_refused_before_anything_is_charged(served, epsilon):
    """As a text and as a number of JSON, in a question, in a price, as an allowance."""
    bodies = [QUESTION | {"epsilon": epsilon}, {"sql": "SELECT COUNT(*) AS n FROM bank"}]
    bodies[1]["epsilon"] = epsilon
    texts = [served.ask(served.ann, body) for body in bodies]
    texts += [served.send("POST", "/v1/price", body, served.ann) for body in bodies]
    if "/" not in epsilon:
        number = b'{"sql": "SELECT COUNT(*) AS n FROM bank", "epsilon": %s}' % epsilon.encode()
        texts.append(served.ask(served.ann, number))
    texts.append(served.send("PUT", "/v1/allowances/ann", {"allowance": epsilon}, served.sue))
    for reply in texts:
        assert (reply.status, reply.code) == (400, "invalid_request")
    assert served.service.ledger.summary() == {}
    assert served.get("/v1/answers", served.ann).json["answers"] == []
