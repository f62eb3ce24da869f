"""When what became of a question may be seen: its points, what changes at them, and what does not
change between them.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import contextmanager
from fractions import Fraction

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
from test_web_limits import gate
from virtual_clock import on_virtual_time

from postri.engines.progress import check_cancelled, scans_are_over, waiting_for_others
from postri.ledger import Pure, SqliteLedger
from postri.web import scans as scans_module
from postri.web import time_grid
from postri.web.scans import Scans, TimeLimit
from postri.web.time_grid import Departure, PublicView, TimeGrid

# A grid whose points no test waits for.
FAR = "time_grid = 60"


def head(token, length):
    return (
        f"POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {length}\r\nConnection: close\r\n\r\n"
    ).encode()


@contextmanager
def paused(monkeypatch, steps=("answered", "failed")):
    """The steps of questions that have come to wait for their points."""
    seen = []
    for step in steps:
        wait = getattr(Departure, step)

        def told(departure, wait=wait, step=step):
            seen.append(step)
            wait(departure)

        monkeypatch.setattr(Departure, step, told)
    yield seen


@contextmanager
def failing(folder):
    """Workers that fail at once, whatever they are asked; and the file whose end ends that."""
    place = folder / "failing"
    place.touch()
    with odd_workers("broken", place) as workers:
        yield workers, place


def seen_by_others(served):
    """All that can be polled: a price, budgets, own answers, the steward's entries."""
    price = served.send("POST", "/v1/price", QUESTION, served.ann).json
    budgets = served.get("/v1/budget", served.sue).json
    answers = served.get("/v1/answers", served.ann).json["answers"]
    ledger = served.get("/v1/ledger", served.sue).json
    return (
        (price["recorded"], price["remaining"]),
        (budgets["bank"]["entries"], budgets["bank"]["spent"], budgets["bank"]["analysts"]),
        [past["status"] for past in answers],
        ([entry["fate"] for entry in ledger["entries"]], ledger["head"].partition(" ")[0]),
    )


NOTHING_YET = ((False, "5"), (0, "0", {}), [], ([], "0"))


class TestPoints:
    def test_points_are_multiples_after_the_start(self):
        grid = TimeGrid(0.5)
        moments = (10.001, 10.5, 10.501, 12.3)
        assert [grid.answered(10.0, now) for now in moments] == [10.5, 10.5, 11.0, 12.5]
        assert [grid.refused(10.0, now) for now in moments] == [10.5, 10.5, 11.0, 12.5]
        assert TimeGrid(0).answered(10.0, 10.3) == 10.3

    def test_all_failures_have_one_point(self):
        grid = TimeGrid(0.5, longest=60.2)
        assert {grid.failed(10.0, 10.0 + taken) for taken in (0.01, 0.6, 42, 60.2)} == {70.5}
        # One that does not even end when it is given up has a later one.
        assert grid.failed(10.0, 71.0) == 71.0
        assert TimeGrid(0, longest=60.2).failed(10.0, 10.3) == 10.3

    def test_fixed_times_are_full_ones_and_leave_every_question_its_time(self, monkeypatch):
        monkeypatch.setattr(time_grid, "time", lambda: 1_000_000_010.0)
        monkeypatch.setattr(time_grid, "monotonic", lambda: 40.0)
        grid = TimeGrid(0.5, longest=30, period=60)
        # On the wall clock 1,000,000,020 is a full minute: 50 on the other one.
        assert 1_000_000_020 % 60 == 0
        assert grid.refused(40.0, 40.0) == 50.0
        # However long the data took, and whether it failed.
        for taken in (0.01, 1, 29.9, 30):
            assert grid.answered(40.0, 40.0 + taken) == 110.0
            assert grid.failed(40.0, 40.0 + taken) == 110.0
        assert grid.answered(20.0, 45.0) == 50.0

    def test_a_reply_waits_for_its_point_and_for_nothing_else(self, monkeypatch):
        """On a clock of the test's own."""
        now, slept = 100.0, []

        async def sleep(seconds):
            nonlocal now
            slept.append(round(seconds, 6))
            now += seconds

        monkeypatch.setattr(time_grid, "monotonic", lambda: now)
        monkeypatch.setattr(time_grid.asyncio, "sleep", sleep)
        departure = Departure(TimeGrid(0.75, longest=1.0), threading.Event())
        now = 100.1
        asyncio.run(departure.leave())
        assert slept == [0.5, 0.15] and now >= 100.75
        departure.paid()
        asyncio.run(departure.leave())
        assert now == pytest.approx(101.5)

    def test_what_was_released_waits_no_more(self):
        departure = Departure(TimeGrid(0.01), threading.Event())
        departure.begin()
        departure.paid()
        departure.answered()
        late = Departure(TimeGrid(60), threading.Event())
        late._is_released = departure._is_released
        asyncio.run(asyncio.wait_for(late.leave(), 30))


@pytest.mark.slow
class TestReplies:
    @pytest.mark.parametrize(
        ("question", "status"),
        [
            (QUESTION, 200),
            ({**QUESTION, "dataset": "bnak"}, 400),
            ({**QUESTION, "epsilon": 100}, 409),
            ({"sql": "SELECT x FROM bank", "epsilon": 1}, 400),
        ],
        ids=["answer", "wrong", "budget", "sql"],
    )
    def test_none_comes_before_its_point(self, tmp_path, question, status):
        with in_thread(write_policy(tmp_path, service='time_grid = "0.2"')) as served:
            for _ in range(2):  # The second answer is recorded.
                start = time.monotonic()
                assert served.ask(served.ann, question).status == status
                assert time.monotonic() - start >= 0.2

    def test_the_clock_starts_when_the_question_is_whole(self, tmp_path):
        body = json.dumps(QUESTION).encode()
        with in_thread(write_policy(tmp_path, service='time_grid = "0.4"')) as served:
            for held_back in (0.1, 0.35, 0.6):
                with served.raw(head(served.ann, len(body)) + body[:-1]) as connection:
                    time.sleep(held_back)
                    whole = time.monotonic()
                    connection.sendall(body[-1:])
                    assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
                    assert time.monotonic() - whole >= 0.4

    def test_what_is_refused_before_the_question_is_read_does_not_wait(self, tmp_path):
        with in_thread(write_policy(tmp_path, service=FAR)) as served:
            assert served.ask("nonsense").status == 401
            assert served.ask(served.ann, b"{").status == 400
            assert served.ask(served.ann, b" " * 70_000).status == 413
            assert served.get("/v1/me", served.ann).status == 200

    def test_all_failures_leave_at_one_point(self, tmp_path, monkeypatch):
        """Of an engine that fails at once, and of one that is cancelled when its time is over. On a
        clock of the test's own.
        """
        clock, timers = on_virtual_time(monkeypatch), timers_by_hand(monkeypatch)
        path = write_policy(tmp_path, service='time_grid = "0.25"\nscan_timeout = "0.625"')
        with failing(tmp_path) as (workers, place), in_thread(path, workers) as served:
            taken = []
            for question in (QUESTION, SLOW):
                start = clock.now()
                asked = served.later(served.ann, question)
                if question is SLOW:
                    until(lambda: served.service.ledger.unanswered("endless"))
                    clock.advance(0.625)
                    timers[-1].fire()
                taken.append(clock.reach(asked, 0.125) - start)
                reply = asked.reply()
                assert (reply.status, reply.json["spent"]) == (502, True)
                place.unlink(missing_ok=True)
            # The first multiple of the grid after the longest time and its grace.
            assert taken == [2.75, 2.75]

    def test_a_scan_that_does_not_hear_leaves_at_the_same_point(self, tmp_path, monkeypatch):
        grid = TimeGrid(0.5, longest=60.2)
        departure = Departure(grid, threading.Event())
        departure.paid()
        monkeypatch.setattr(time_grid, "monotonic", lambda: departure._start + 60.15)
        slept = []

        async def sleep(seconds):
            slept.append(seconds)
            departure._ending.set()

        monkeypatch.setattr(time_grid.asyncio, "sleep", sleep)
        asyncio.run(departure.leave())
        assert slept == [pytest.approx(60.5 - 60.15)]

    def test_answers_leave_at_full_times(self, tmp_path, monkeypatch):
        """Both a quick answer and its recorded copy, at a time of the wall clock: here one of the
        test's own.
        """
        clock = on_virtual_time(monkeypatch)
        monkeypatch.setattr(time_grid, "time", clock.now)
        service = 'answers = "at the next full minute"\nscan_timeout = 30'
        with in_thread(write_policy(tmp_path, service=service)) as served:
            # Forty seconds after a full minute: the next one is too soon for the slowest.
            assert clock.now() % 60 == 40
            start = clock.now()
            asked = served.later(served.ann)
            assert clock.reach(asked, 0.5) == start + 80
            assert asked.reply().status == 200
            clock.advance(1)
            again = served.later(served.ann)
            assert clock.reach(again, 0.5) == start + 140
            assert again.reply().json["recorded"] is True


@pytest.mark.slow
class TestBetweenPoints:
    def test_nobody_sees_that_a_question_is_answered(self, tmp_path, monkeypatch):
        with (
            in_thread(write_policy(tmp_path, service=FAR)) as served,
            paused(monkeypatch) as waiting,
        ):
            assert seen_by_others(served) == NOTHING_YET
            asked = served.later(served.ann)
            until(lambda: waiting)
            assert waiting == ["answered"]
            # It is drawn, and paid for; and nobody sees either.
            assert served.service.ledger.spent("bank").epsilon == 0.5
            assert seen_by_others(served) == NOTHING_YET
            # A point of the service's grid: it is reserved, and that is all.
            served.service.public.renew()
            (recorded, _), _, answers, (fates, _) = seen_by_others(served)
            assert (recorded, answers) == (False, ["open"])
            assert "answered" not in fates
            # Its own point, or here the end of all waiting.
            served.service.cut_off()
            assert asked.reply().status == 200
            (recorded, _), (entries, *_), answers, (fates, _) = seen_by_others(served)
            # The terms, the reservation, the answer.
            assert (recorded, entries, answers) == (True, 3, ["answered"])
            assert "answered" in fates

    def test_nobody_sees_that_a_question_failed(self, tmp_path, monkeypatch):
        with (
            failing(tmp_path) as (workers, _),
            in_thread(write_policy(tmp_path, service=FAR), workers) as served,
            paused(monkeypatch) as waiting,
        ):
            asked = served.later(served.ann)
            until(lambda: waiting)
            assert waiting == ["failed"]
            served.service.public.renew()
            assert seen_by_others(served)[2] == ["open"]
            served.service.cut_off()
            assert asked.reply().status >= 500
            assert seen_by_others(served)[2] == ["failed"]

    def test_the_number_of_an_answer_does_not_tell_that_another_one_is_there(
        self, tmp_path, monkeypatch
    ):
        """Entries are numbered in their order: a fate is written at its point, not before."""
        with (
            in_thread(write_policy(tmp_path, service=FAR)) as served,
            paused(monkeypatch) as waiting,
        ):
            asked = []
            for epsilon in ("1/4", "1/8"):
                asked.append(served.later(served.ann, {**QUESTION, "epsilon": epsilon}))
                until(lambda: len(waiting) == len(asked))
            served.service.cut_off()
            numbers = [int(each.reply().json["answer_id"]) for each in asked]
            assert numbers[1] == numbers[0] + 1

    def test_a_place_is_kept_until_the_point(self, tmp_path, monkeypatch):
        service = f"{FAR}\nscans = 1\nwaiting = 0"
        with (
            in_thread(write_policy(tmp_path, service=service)) as served,
            paused(monkeypatch) as waiting,
        ):
            asked = served.later(served.ann)
            until(lambda: waiting)
            assert served.service.scans.running == 1
            # The refusal waits for its point too.
            refused = threading.Event()
            leave = Departure.leave

            async def leaves(departure):
                refused.set()
                await leave(departure)

            monkeypatch.setattr(Departure, "leave", leaves)
            other = served.later(served.ann, {**QUESTION, "epsilon": "1/4"})
            assert refused.wait(60)
            served.service.cut_off()
            assert asked.reply().status == 200
            assert other.reply().code == "busy"

    def test_the_time_limit_of_a_scan_does_not_reach_one_that_waits(self, monkeypatch):
        """An answer that is there before its time is over stays one, however long it waits."""
        monkeypatch.setattr(scans_module, "GRACE", 0.0)
        timers = timers_by_hand(monkeypatch)

        def work():
            scans_are_over()
            timers[0].fire()
            # Time enough to be given up.
            time.sleep(0.3)
            return "answer"

        async def ask():
            return await Scans(1, 0, 0, 1.0).run("ann", work)

        assert asyncio.run(ask()) == "answer"

    def test_nor_does_it_count_the_wait_for_another_question(self, monkeypatch):
        """As for the same one of somebody else, whose point is far."""
        timers = timers_by_hand(monkeypatch)

        def waits():
            with waiting_for_others():
                timers[0].fire()
            check_cancelled()
            return "answer"

        async def ask():
            return await Scans(1, 0, 0, 2.0).run("ann", waits)

        assert asyncio.run(ask()) == "answer"
        assert len(timers) == 2

    def test_the_limit_goes_on_after_a_wait(self, monkeypatch):
        over, timers = threading.Event(), timers_by_hand(monkeypatch)
        now = 100.0
        monkeypatch.setattr(scans_module, "monotonic", lambda: now)
        limit = TimeLimit(2.0, over.set)
        now = 100.5
        with limit.paused():
            now = 102.0
            # Its clock stands still: it cannot be over before as much has passed again.
            timers[0].fire()
            now = 200.0
        now = 201.0
        timers[1].fire()
        assert not over.is_set()
        now = 201.5
        timers[2].fire()
        assert over.is_set()
        assert [timer.seconds for timer in timers] == [2.0, 1.5, 0.5]

    def test_a_limit_that_ended_stops_nothing(self, monkeypatch):
        over, timers = threading.Event(), timers_by_hand(monkeypatch)
        limit = TimeLimit(2.0, over.set)
        limit.end()
        assert timers[0].is_cancelled
        timers[0].fire()
        assert not over.is_set()

    def test_who_waited_for_others_starts_when_the_turn_comes(self, tmp_path, monkeypatch):
        """Else the end of another question would choose the place of this one on its grid."""
        starts, points = [], []
        pause = Departure._pause

        def noted(departure, point):
            starts.append(departure._start)
            points.append(point)
            pause(departure, point)

        monkeypatch.setattr(Departure, "_pause", noted)
        path = write_policy(tmp_path, service='time_grid = "0.3"\nscans = 1')
        with gate(tmp_path) as (workers, opened), in_thread(path, workers) as served:
            first = served.later(served.ann)
            until(served.service.ledger.summary)
            second = served.later(served.ann, {**QUESTION, "epsilon": "1/4"})
            until(lambda: served.service.scans.running == 2)
            opened()
            assert [each.reply().status for each in (first, second)] == [200, 200]
            assert starts[1] >= points[0]

    def test_a_reservation_shows_at_the_next_point(self, tmp_path):
        """Of the service's own grid, with no reply to help it."""
        path = write_policy(tmp_path, service='time_grid = "0.1"')
        with gate(tmp_path) as (workers, opened), in_thread(path, workers) as served:
            assert seen_by_others(served) == NOTHING_YET
            asked = served.later(served.ann)
            until(lambda: seen_by_others(served)[2] == ["open"])
            opened()
            assert asked.reply().status == 200

    def test_who_has_the_reply_finds_it_everywhere(self, tmp_path):
        with in_thread(write_policy(tmp_path, service='time_grid = "0.1"')) as served:
            # So that no point of the service's grid helps.
            served.service.public._step = 60
            for count, (epsilon, spent) in enumerate((("1/4", "1/4"), ("1/8", "3/8")), 1):
                question = {**QUESTION, "epsilon": epsilon}
                assert served.ask(served.ann, question).status == 200
                price = served.send("POST", "/v1/price", question, served.ann).json
                assert price["recorded"] is True
                assert served.get("/v1/budget", served.ann).json["bank"]["spent"] == spent
                answers = served.get("/v1/answers", served.ann).json["answers"]
                assert [past["status"] for past in answers] == ["answered"] * count


class TestPublicView:
    def test_it_changes_when_it_is_taken_anew_alone(self, tmp_path):
        with SqliteLedger(tmp_path / "l") as ledger:
            view = PublicView(ledger, 60)
            first = view.now()
            ledger.set_budget("d", Fraction(1), Pure())
            assert view.now() is first and first.head.number == 0
            view.catch_up()
            assert view.now().head.number == 1
            assert view.renew() is view.now()

    def test_without_a_grid_it_is_that_of_the_moment(self, tmp_path):
        with SqliteLedger(tmp_path / "l") as ledger:
            view = PublicView(ledger, 0)
            assert view.now().head.number == 0
            ledger.set_budget("d", Fraction(1), Pure())
            assert view.now().head.number == 1

    def test_it_is_taken_at_every_point(self, tmp_path, monkeypatch):
        """On a clock of the test's own; a point that is missed is not made up for."""
        now, taken = 100.0, []

        async def sleep(seconds):
            nonlocal now
            now += seconds

        async def do(work):
            nonlocal now
            taken.append(round(now, 6))
            now += (0.1, 0.1, 0.7, 0.0)[len(taken) - 1]
            if len(taken) == 4:
                raise asyncio.CancelledError

        monkeypatch.setattr(time_grid, "time", lambda: now)
        monkeypatch.setattr(time_grid.asyncio, "sleep", sleep)
        with SqliteLedger(tmp_path / "l") as ledger, pytest.raises(asyncio.CancelledError):
            asyncio.run(PublicView(ledger, 0.5).keep(do))
        assert taken == [100.0, 100.5, 101.0, 102.0]

    def test_a_ledger_that_cannot_be_read_leaves_the_last_view(self, tmp_path):
        with SqliteLedger(tmp_path / "l") as ledger:
            view = PublicView(ledger, 60)
            first = view.now()
            ledger.close()
            view.catch_up()
            assert view.now() is first
