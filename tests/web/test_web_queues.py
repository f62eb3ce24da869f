"""Fair turns: whoever asks much makes themselves wait, and short requests wait for no long ones."""

from __future__ import annotations

import asyncio
import threading

import pytest
from serving import QUESTION, Later, in_thread, until, write_policy

from postri.web.queues import FairQueue
from postri.web.refusals import Refusal, Shutdown
from postri.web.scans import Scans
from postri.web.service import ServedSession
from postri.web.tokens import Tokens


async def settle() -> None:
    """Let everybody go as far as they can."""
    for _ in range(10):
        await asyncio.sleep(0)


def turns(names, places=1, waiting=100, each=100):
    """The order in which those who come at once are let in, and who is refused."""

    async def take():
        queue, came, refused = FairQueue(places, waiting, each), [], []

        async def visitor(name):
            try:
                async with queue.turn(name):
                    came.append(name)
                    await asyncio.sleep(0)
            except Refusal as refusal:
                refused.append((name, refusal.code))

        await asyncio.gather(*map(visitor, names))
        assert queue.waiting == 0
        return came, refused

    return asyncio.run(take())


class TestFairQueue:
    def test_one_who_comes_late_does_not_wait_for_all_of_another(self):
        came, refused = turns(["ann"] * 60 + ["bob", "bob", "cid"])
        assert came[:6] == ["ann", "ann", "bob", "cid", "ann", "bob"]
        assert came[6:] == ["ann"] * 57 and refused == []

    def test_the_questions_of_one_keep_their_order(self):
        order = []

        async def take():
            queue = FairQueue(1, 100, 100)

            async def visitor(name, number):
                async with queue.turn(name):
                    order.append((name, number))
                    await asyncio.sleep(0)

            await asyncio.gather(*(visitor(name, i) for i in range(4) for name in ("ann", "bob")))

        asyncio.run(take())
        for name in ("ann", "bob"):
            assert [i for who, i in order if who == name] == [0, 1, 2, 3]

    def test_one_may_have_so_many_waiting_and_all_together_so_many(self):
        _, refused = turns(["ann"] * 5 + ["bob"] * 3, each=3, waiting=5)
        # One of ann's has the place and three wait; two of bob's wait, and that is all.
        assert refused == [("ann", "busy"), ("bob", "busy")]

    def test_places_are_used_as_far_as_they_go(self):
        came, refused = turns(["ann"] * 6, places=3, each=3)
        assert len(came) == 6 and refused == []
        _, refused = turns(["ann"] * 7, places=3, each=3)
        assert refused == [("ann", "busy")]

    @pytest.mark.parametrize("when", ["waiting", "when its turn comes"])
    def test_who_goes_away_keeps_no_place(self, when):
        async def take():
            queue = FairQueue(1, 10, 10)
            await queue.enter("ann")
            gone = asyncio.create_task(queue.enter("bob"))
            await settle()
            assert queue.waiting == 1
            if when == "waiting":
                gone.cancel()
                await settle()
                assert queue.waiting == 0
                queue.leave()
            else:
                queue.leave()
                gone.cancel()
            await settle()
            await asyncio.wait_for(queue.enter("cid"), 30)

        asyncio.run(take())


class TestScans:
    def test_analysts_are_answered_in_turn(self):
        answered, opened = [], threading.Event()

        def work(name):
            assert opened.wait(60)
            answered.append(name)

        async def ask():
            scans = Scans(1, 100, 100, 60)
            names = ["ann"] * 30 + ["bob"]
            asked = [
                asyncio.create_task(scans.run(name, lambda name=name: work(name))) for name in names
            ]
            await settle()
            assert scans.running == 31
            opened.set()
            await asyncio.gather(*asked)

        asyncio.run(ask())
        assert answered[:3] == ["ann", "ann", "bob"] and len(answered) == 31

    def test_one_that_does_not_hear_gives_its_place_to_the_next(self, monkeypatch):
        """As where a server cannot be reached."""
        monkeypatch.setattr("postri.web.scans.GRACE", 0.01)
        deaf = threading.Event()

        async def ask():
            scans = Scans(1, 10, 10, 60)
            stuck = asyncio.create_task(scans.run("ann", lambda: deaf.wait(120)))
            await settle()
            next_one = asyncio.create_task(scans.run("bob", lambda: "answer"))
            await settle()
            assert not next_one.done()
            (question, *_) = [each for each in scans._questions if each._outcome is not None]
            question.stop(Shutdown)
            assert await asyncio.wait_for(next_one, 60) == "answer"
            with pytest.raises(Shutdown):
                await stuck
            assert scans.running == 1
            deaf.set()
            while scans.running:
                await asyncio.sleep(0.01)

        asyncio.run(ask())

    def test_those_that_wait_when_all_are_cancelled_do_nothing(self):
        opened, done = threading.Event(), []

        async def ask():
            scans = Scans(1, 10, 10, 60)
            first = asyncio.create_task(scans.run("ann", lambda: opened.wait(60)))
            second = asyncio.create_task(scans.run("ann", lambda: done.append(1)))
            await settle()
            scans.cancel()
            opened.set()
            assert await first
            with pytest.raises(Shutdown):
                await second

        asyncio.run(ask())
        assert done == []


@pytest.mark.slow
class TestThreads:
    @pytest.fixture
    def stuck(self, tmp_path):
        """A service, and the event for which what is stuck in it waits."""
        with in_thread(write_policy(tmp_path)) as served:
            opened = threading.Event()
            try:
                yield served, opened
            finally:
                opened.set()

    def test_long_histories_make_nobody_wait_for_anything_else(self, stuck, monkeypatch):
        served, opened = stuck
        read = ServedSession.answers_text
        entered = []

        def slow(session, *given):
            if session.analyst == "ann":
                entered.append(session.analyst)
                assert opened.wait(120)
            return read(session, *given)

        monkeypatch.setattr(ServedSession, "answers_text", slow)
        asked = [later(served, "/v1/answers?limit=200", served.ann) for _ in range(8)]
        until(lambda: len(entered) == 2)
        bob = served.token("bob")
        for path in ("/v1/me", "/v1/budget", "/v1/datasets"):
            assert served.get(path, bob).status == 200
        assert served.send("POST", "/v1/price", QUESTION, bob).status == 200
        assert served.ask(bob).status == 200
        assert served.get("/v1/budget", served.sue).status == 200
        # His own history is the next that is read.
        his = later(served, "/v1/answers", bob)
        until(lambda: served.service._lists.waiting == 7)
        opened.set()
        assert his.reply().status == 200
        assert [each.reply().status for each in asked] == [200] * 8

    def test_tokens_are_checked_while_short_requests_wait(self, stuck, monkeypatch):
        served, opened = stuck
        waiting = []
        usage = served.service.ledger.usage

        def slow(*given):
            waiting.append(1)
            assert opened.wait(120)
            return usage(*given)

        monkeypatch.setattr(served.service.ledger, "usage", slow)
        asked = [later(served, "/v1/budget", served.ann) for _ in range(12)]
        until(lambda: len(waiting) == 8)
        assert served.get("/v1/me", served.sue).status == 200
        assert served.get("/v1/me", "ptr_no_token").status == 401
        assert served.get("/readyz").status == 200
        opened.set()
        assert [each.reply().status for each in asked] == [200] * 12

    def test_requests_of_others_wait_for_no_token_that_is_slow_to_check(self, stuck, monkeypatch):
        """Health needs none, and does not wait for those that do."""
        served, opened = stuck
        monkeypatch.setattr(Tokens, "verify_at_once", lambda *_: (False, None))
        monkeypatch.setattr(Tokens, "verify", lambda *_: opened.wait(120) and None)
        asked = [later(served, "/v1/me", served.ann) for _ in range(6)]
        assert served.get("/healthz").status == 200
        assert served.get("/readyz").status == 200
        opened.set()
        assert [each.reply().status for each in asked] == [401] * 6


def later(served, path, token):
    return Later(lambda: served.get(path, token))
