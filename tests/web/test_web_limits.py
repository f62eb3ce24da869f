"""Limits: size, rate, questions at once, and time."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from contextlib import contextmanager, suppress

import pytest
from serving import (
    QUESTION,
    SLOW,
    in_thread,
    odd_workers,
    timers_by_hand,
    until,
    write_policy,
)

from postri.engines.progress import check_cancelled
from postri.ledger import SqliteLedger, verify
from postri.web import requests
from postri.web import scans as scans_module
from postri.web.limits import OwnRate
from postri.web.refusals import Refusal, Timeout
from postri.web.scans import Scans, WaitingThreads


@contextmanager
def gate(folder):
    """Workers whose scans wait until the gate is opened, and what opens it."""
    place = folder / "gate"
    with odd_workers("wait", place) as workers:
        yield workers, place.touch


def until_cancelled():
    with suppress(Timeout):
        while True:
            check_cancelled()
            time.sleep(0.01)


def spent(served, dataset="bank"):
    return served.get("/v1/budget", served.sue).json[dataset]["spent"]


class TestSize:
    def test_a_body_that_says_that_it_is_too_large_is_refused_unread(self, served):
        head = (
            "POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
            f"{served.ann}\r\nContent-Length: 65537\r\n\r\n"
        )
        with served.raw(head.encode()) as connection:
            assert connection.recv(100).startswith(b"HTTP/1.1 413 ")

    def test_a_body_that_does_not_say_so_is_refused_while_it_comes(self, served):
        head = (
            "POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
            f"{served.ann}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
        with served.raw(head.encode() + chunk * 5) as connection:
            assert connection.recv(100).startswith(b"HTTP/1.1 413 ")

    def test_a_body_of_just_the_size_is_read(self, served):
        text = b'{"sql": "SELECT COUNT(*) AS n FROM bank", "epsilon": 1}'
        assert served.ask(served.ann, text.ljust(65_536)).status == 200
        reply = served.ask(served.ann, text.ljust(65_537))
        assert (reply.status, reply.code) == (413, "request_too_large")

    def test_a_question_that_is_too_long_is_refused(self, served):
        reply = served.ask(
            served.ann, {"sql": "SELECT COUNT(*) AS n FROM bank" + " " * 10_000, "epsilon": 1}
        )
        assert (
            reply.code == "invalid_request" and "at most 10,000 characters" in reply.json["detail"]
        )

    def test_a_body_that_never_comes_is_given_up(self, served, monkeypatch):
        monkeypatch.setattr(requests, "PATIENCE", 0.05)
        head = (
            "POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
            f"{served.ann}\r\nContent-Length: 10\r\n\r\n{{"
        )
        with served.raw(head.encode()) as connection:
            assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


class TestRate:
    def test_a_token_has_a_minutes_worth_and_gets_more_evenly(self):
        now = 0.0
        rate = OwnRate(6, lambda: now)
        for _ in range(6):
            rate.take("a")
        with pytest.raises(Refusal) as caught:
            rate.take("a")
        assert (caught.value.code, caught.value.headers) == ("rate_limited", {"Retry-After": "10"})
        rate.take("b")
        now = 9.0
        with pytest.raises(Refusal) as caught:
            rate.take("a")
        assert caught.value.headers == {"Retry-After": "1"}
        now = 10.0
        rate.take("a")
        now = 1_000.0
        for _ in range(6):
            rate.take("a")
        with pytest.raises(Refusal):
            rate.take("a")

    def test_too_many_requests_are_refused_with_when_to_come_back(self, tmp_path):
        with in_thread(write_policy(tmp_path, service="rate = 2")) as served:
            assert [served.get("/v1/me", served.ann).status for _ in range(3)] == [200, 200, 429]
            reply = served.ask(served.ann)
            assert reply.code == "rate_limited" and 1 <= int(reply.headers["retry-after"]) <= 30
            assert served.get("/v1/me", served.token("ann")).status == 200
            assert served.get("/v1/me").status == 401
            assert served.service.ledger.summary() == {}


@pytest.mark.slow
class TestWaitingThreads:
    @staticmethod
    def done(threads, number):
        """On which threads so many pieces of work were done at once."""
        together, found = threading.Barrier(number + 1), []

        def work():
            together.wait(60)
            found.append(threading.current_thread())

        for _ in range(number):
            threads.run(work)
        together.wait(60)
        until(lambda: len(threads._waiting) >= number)
        return set(found)

    def test_the_next_work_is_done_by_a_thread_that_waits(self):
        threads = WaitingThreads("test")
        (first,) = self.done(threads, 1)
        both = self.done(threads, 2)
        assert first in both and len(both) == 2
        assert self.done(threads, 2) == both

    def test_one_that_is_stuck_holds_up_nobody(self):
        threads, stuck = WaitingThreads("test"), threading.Event()
        threads.run(lambda: stuck.wait(60))
        assert len(self.done(threads, 1)) == 1
        stuck.set()

    def test_a_thread_that_waits_holds_nothing_of_its_work(self):
        threads = WaitingThreads("test")
        held = threading.Event()
        gone = weakref.ref(held)
        threads.run(held.set)
        del held
        until(lambda: threads._waiting and gone() is None)

    def test_one_that_nobody_needs_ends(self, monkeypatch):
        monkeypatch.setattr(scans_module, "IDLE", 0.01)
        threads = WaitingThreads("test")
        found = []
        threads.run(lambda: found.append(threading.current_thread()))
        until(lambda: found and not found[0].is_alive())
        assert threads._waiting == []
        threads.run(lambda: found.append(threading.current_thread()))
        until(lambda: len(found) == 2)


class TestScans:
    def test_too_many_questions_at_once_are_refused_before_anything_is_spent(self, tmp_path):
        path = write_policy(tmp_path, service="scans = 1\nwaiting = 1")
        with gate(tmp_path) as (workers, opened), in_thread(path, workers) as served:
            first = served.later(served.ann, {**QUESTION, "epsilon": "1/4"})
            until(lambda: served.service.scans.running == 1)
            second = served.later(served.ann, {**QUESTION, "epsilon": "1/8"})
            until(lambda: served.service.scans.running == 2)
            third = served.ask(served.ann, {**QUESTION, "epsilon": "1/16"})
            assert (third.status, third.code, third.headers["retry-after"]) == (503, "busy", "1")
            assert served.get("/v1/me", served.ann).status == 200
            opened()
            assert [each.reply().status for each in (first, second)] == [200, 200]
            assert spent(served) == "3/8"

    def test_new_draws_of_one_question_do_not_wait_for_one_another(self, tmp_path):
        """Nor do retries with other keys; both are reserved while neither is answered."""
        path = write_policy(tmp_path)
        with gate(tmp_path) as (workers, opened), in_thread(path, workers) as served:
            asked = [
                served.later(served.ann, {**QUESTION, "fresh": True}, Idempotency_Key=key)
                for key in "ab"
            ]
            until(lambda: served.service.ledger.spent("bank").epsilon == 1)
            opened()
            assert [each.reply().json["charged"] for each in asked] == ["1/2", "1/2"]

    def test_no_more_scans_run_at_once_than_the_policy_allows(self):
        seen, most, lock = 0, 0, threading.Lock()
        # A scan ends when another one runs beside it.
        pair = threading.Barrier(2, timeout=60)

        def work():
            nonlocal seen, most
            with lock:
                seen += 1
                most = max(most, seen)
            pair.wait()
            with lock:
                seen -= 1
            return 1

        async def ask():
            scans = Scans(2, 10, 10, 60)
            return await asyncio.gather(*(scans.run("ann", work) for _ in range(8)))

        assert asyncio.run(ask()) == [1] * 8
        assert most == 2

    def test_a_question_that_takes_too_long_is_paid_for_and_says_so(self, tmp_path, monkeypatch):
        timers = timers_by_hand(monkeypatch)
        with in_thread(write_policy(tmp_path, service='scan_timeout = "0.3"')) as served:
            asked = served.later(served.ann, SLOW, Idempotency_Key="slow")
            until(lambda: served.service.ledger.unanswered("endless"))
            assert timers[0].seconds == 0.3
            timers[-1].fire()
            reply = asked.reply()
            assert (reply.status, reply.code, reply.json["spent"]) == (502, "question_failed", True)
            assert "epsilon 0.5 stays spent" in reply.json["detail"]
            assert spent(served, "endless") == "1/2"
            again = served.ask(served.ann, SLOW, Idempotency_Key="slow")
            assert (again.status, again.code, again.json["spent"]) == (502, "question_failed", True)
            assert spent(served, "endless") == "1/2"
            (past,) = served.get("/v1/answers", served.ann).json["answers"]
            assert (past["status"], past["reason"], past["answer_id"]) == (
                "failed",
                None,
                again.json["answer_id"],
            )
            # The scan does not go on behind the reply.
            until(lambda: served.service.scans.running == 0)

    def test_one_that_took_too_long_before_it_was_paid_for_costs_nothing(
        self, tmp_path, monkeypatch
    ):
        with in_thread(write_policy(tmp_path, service='scan_timeout = "0.05"')) as served:
            opened = served.service.session

            def slow(*given):
                session = opened(*given)
                open_dataset = session._open
                monkeypatch.setattr(
                    session,
                    "_open",
                    lambda dataset: (until_cancelled(), open_dataset(dataset))[1],
                    raising=False,
                )
                return session

            monkeypatch.setattr(served.service, "session", slow)
            reply = served.ask(served.ann)
            assert (reply.status, reply.code, reply.json["spent"]) == (504, "timed_out", False)
            assert "nothing was spent" in reply.json["detail"]
            assert served.service.ledger.summary() == {}

    def test_a_scan_that_does_not_hear_is_not_waited_for(self, monkeypatch):
        monkeypatch.setattr(scans_module, "GRACE", 0.05)
        deaf = threading.Event()

        async def ask():
            scans = Scans(1, 0, 0, 0.05)
            with pytest.raises(Timeout) as caught:
                await scans.run("ann", lambda: deaf.wait(30))
            held = scans.running
            deaf.set()
            while scans.running:
                await asyncio.sleep(0.01)
            return held, caught.value.spent

        # Nothing was reserved; of a question that was paid for, the session tells that it failed.
        assert asyncio.run(ask()) == (1, False)

    def test_whoever_goes_away_has_paid_and_finds_the_answer_later(self, tmp_path):
        path = write_policy(tmp_path)
        with gate(tmp_path) as (workers, opened), in_thread(path, workers) as served:
            body = b'{"sql": "SELECT COUNT(*) AS n FROM bank", "epsilon": 1}'
            head = (
                "POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                f"{served.ann}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            with served.raw(head.encode() + body):
                until(served.service.ledger.summary)
            opened()
            until(lambda: served.service.ledger.history("ann")[0].answer_text)
            assert served.get("/v1/answers", served.ann).json["answers"][0]["status"] == "answered"
            assert verify(served.service.ledger) == []


class TestReadiness:
    def test_an_unreadable_ledger_shows(self, served, monkeypatch):
        assert served.get("/readyz").status == 200
        monkeypatch.setattr("postri.web.service.FRESH", 0.0)
        served.service.ledger.close()
        reply = served.get("/readyz")
        assert (reply.status, reply.code) == (503, "not_ready")
        assert (
            "cannot be read" in reply.json["detail"]
            and str(served.service.policy.path.parent) not in reply.text.decode()
        )
        assert served.get("/healthz").status == 200
        reply = served.ask(served.ann)
        assert (reply.status, reply.code) == (503, "ledger_error")
        assert str(served.service.policy.path.parent) not in reply.text.decode()

    def test_a_service_that_ends_is_not_ready(self, served):
        served.service.scans.stop()
        assert served.get("/readyz").code == "not_ready"
        reply = served.ask(served.ann)
        assert (reply.status, reply.code, reply.json["spent"]) == (503, "shutting_down", False)

    def test_probes_leave_nothing_behind(self, served):
        before = sorted(path.name for path in served.service.policy.path.parent.iterdir())
        assert served.get("/readyz").status == 200
        assert sorted(path.name for path in served.service.policy.path.parent.iterdir()) == before

    def test_the_ledger_is_as_it_was(self, served):
        served.get("/readyz")
        with SqliteLedger(served.service.policy.ledger, audit=True) as ledger:
            assert list(ledger.entries()) == []
