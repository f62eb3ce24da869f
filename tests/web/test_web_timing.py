"""A distinguisher with a clock: neighbouring tables of which one takes longer to read, questions
whose last byte is held back at ten places of the time grid, and all that can be polled polled
meanwhile.

The slow row is a delay of the engine's. Most runs are on a clock that the test moves, so that a
busy machine changes nothing: between two moves everybody waits. One is on the clock of the wall.
Which table is asked next is drawn at random: an attack that learned from one half of the questions
is right about the other half by luck alone, or else time tells something.
"""

from __future__ import annotations

import json
import random
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from math import comb

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from serving import CITIES, Served, in_thread
from timing_attack import Seen, advantage, attacked, bound_of_advantage, chance
from virtual_clock import VirtualClock, on_virtual_time, until

from bank import dataset_text
from postri.question.bound import BoundQuestion
from postri.web import asking
from postri.web.service import Service
from postri.web.time_grid import Departure, PublicView
from proving import sized

pytestmark = [pytest.mark.slow, pytest.mark.alone]

# Seconds: the grid, and what reading takes without the person and with her.
STEP = 0.5
WITHOUT, WITH = 0.20, 0.23
TICK = 0.03
# The body is held back by these parts of a step. With one of them the slow row would end after a
# point of a grid that counts from the headers, and the others before it.
OFFSETS = [(place + 0.555) / 10 for place in range(10)]
WORST = OFFSETS[5]
POLLED = ("price", "budget", "history")
# What tells that a question is answered. That it was reserved is told at the service's own points.
AT_POINTS = ("reply", "first price", "last budget", "last history")
# Questions to each of the two tables.
QUESTIONS = sized(6, 400)
# How seldom a service that tells nothing fails these tests by luck.
LUCK = 1e-6
# One that tells is caught if luck explains what was seen as seldom as this; with as many questions
# as that takes, and some more. On the clock of the test it is caught in every run.
CAUGHT, ENOUGH = sized((1e-3, 14), (LUCK, 26))

POLICY = """
[service]
port = 0
time_grid = "{step}"
scans = 64
rate = 1000000
"""


# ---- the service, and the slow row


@contextmanager
def asked_service(folder, monkeypatch, step=STEP, lanes=1) -> Iterator[Served]:
    """A service with two tables for each lane."""
    text = POLICY.format(step=step)
    for number in range(2 * lanes):
        name = f"{('absent', 'present')[number % 2]}{number // 2}"
        cells = np.random.default_rng(number).integers(0, 100, 50)
        pq.write_table(pa.table({"x": cells}), folder / f"{name}.parquet")
        columns = {"x": CITIES["x"]}
        text += dataset_text(
            name, source=f"{name}.parquet", budget="1000", rows=50, columns=columns
        )
    path = folder / "postri.toml"
    path.write_text(text)
    with in_thread(path) as served:
        yield served


def slow_row(monkeypatch, takes: Callable[[bool], None]) -> None:
    """Reading takes longer where the person is."""
    answers = BoundQuestion.answers

    def slow(bound):
        takes(bound.question.dataset.name.startswith("present"))
        return answers(bound)

    monkeypatch.setattr(BoundQuestion, "answers", slow)


def headers_that_came(monkeypatch, now: Callable[[], float]) -> list[float]:
    """When the headers of each question were there, and its body was waited for."""
    read = asking.read_body
    came: list[float] = []

    async def noted(request):
        if request.url.path == "/v1/query":
            came.append(now())
        return await read(request)

    monkeypatch.setattr(asking, "read_body", noted)
    return came


def clock_of_headers(monkeypatch, came: list[float]) -> None:
    """A planted bug: the clock of a question starts when its headers are there."""
    departure = Service.departure

    def early(service):
        made = departure(service)
        made._start = came[-1]
        return made

    monkeypatch.setattr(Service, "departure", early)
    monkeypatch.setattr(Departure, "begin", lambda departure: None)


def live_ledger(monkeypatch) -> None:
    """A planted bug: answers are recorded when they are there, and all see it at once."""
    monkeypatch.setattr(Departure, "answered", lambda departure: None)
    monkeypatch.setattr(Departure, "paid", lambda departure: None)
    monkeypatch.setattr(PublicView, "now", PublicView.renew)


# ---- the observer


class Observer:
    """Asks one question after the other, and polls meanwhile."""

    def __init__(self, served: Served, lane: int = 0, polls: tuple[str, ...] = ()) -> None:
        self.served = served
        self._lane = lane
        self._polls = polls
        self._token = served.token(f"ann{lane}")
        self._asked = 0

    def question(self, is_with: bool) -> dict:
        """One that was not asked before."""
        self._asked += 1
        side = ("absent", "present")[is_with]
        return {
            "dataset": f"{side}{self._lane}",
            "aggregates": {"n": "count()"},
            "where": f"x < {1000 + self._asked}",
            "epsilon": "1",
        }

    def sent(self, body: bytes):
        """A connection on which all but the last byte was sent."""
        head = (
            f"POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return closing(self.served.raw(head.encode() + body[:-1]))

    def polled(self, connection: HTTPConnection, question: dict) -> dict[str, Callable]:
        """What is watched for its change."""

        def get(method, path, body=None):
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Authorization": f"Bearer {self._token}"})
            return json.loads(connection.getresponse().read())

        def statuses() -> list[tuple[str, str]]:
            answers = get("GET", "/v1/answers?limit=2")["answers"]
            return [(each["answer_id"], each["status"]) for each in answers]

        known = {
            "price": lambda: get("POST", "/v1/price", question)["recorded"],
            "budget": lambda: get("GET", "/v1/budget")[question["dataset"]],
            "history": statuses,
        }
        return {name: known[name] for name in self._polls}

    def connection(self):
        return closing(HTTPConnection("127.0.0.1", self.served.port, timeout=60))


class VirtualObserver(Observer):
    """Moves the clock itself, and looks at everything between two moves: those at which it may."""

    window = (0.0, float("inf"))

    def __init__(self, clock: VirtualClock, came: list[float], *given, **how) -> None:
        super().__init__(*given, **how)
        self._clock = clock
        self._came = came
        self._point = clock.now()

    def look(self, is_with: bool, offset: float) -> Seen:
        question = self.question(is_with)
        body = json.dumps(question).encode()
        seen = Seen(is_with, offset)
        with self.sent(body) as reply, self.connection() as connection:
            polled = self.polled(connection, question)
            last = {name: look() for name, look in polled.items()}
            until(lambda: len(self._came) == self._asked, "the headers")
            self._move(offset * STEP)
            whole = self._clock.now()
            reply.sendall(body[-1:])
            is_over = False
            while not is_over:
                until(lambda: _is_there(reply) or self._clock.is_awaited(), "the service's rest")
                is_over = _is_there(reply)
                moment = self._clock.now() - whole
                if self.window[0] <= moment <= self.window[1]:
                    for name, look in polled.items():
                        now = look()
                        if now != last[name]:
                            seen.changed(name, moment)
                            last[name] = now
                if not is_over:
                    self._move(TICK)
            seen.times["reply"] = moment
            assert reply.recv(100).startswith(b"HTTP/1.1 200 ")
        return seen

    def _move(self, seconds: float) -> None:
        self._clock.advance(seconds)
        # The service's own points.
        while self._clock.now() >= self._point + STEP:
            self._point += STEP
            self.served.service.public.catch_up()


class WallObserver(Observer):
    """Looks again and again, as fast as it may."""

    pace = 0.05

    def look(self, is_with: bool, offset: float, step: float) -> Seen:
        question = self.question(is_with)
        body = json.dumps(question).encode()
        seen = Seen(is_with, offset)
        with self.sent(body) as reply, self.connection() as connection:
            polled = self.polled(connection, question)
            last = {name: look() for name, look in polled.items()}
            time.sleep(offset * step)
            whole = time.monotonic()
            reply.sendall(body[-1:])
            is_over = False
            while not is_over:
                # Once more after the reply: by then everything is to be seen.
                is_over = _is_there(reply, self.pace)
                if is_over:
                    seen.times["reply"] = time.monotonic() - whole
                for name, look in polled.items():
                    now = look()
                    if now != last[name]:
                        seen.changed(name, time.monotonic() - whole)
                        last[name] = now
            assert reply.recv(100).startswith(b"HTTP/1.1 200 ")
        return seen


def _is_there(reply, patience: float = 0) -> bool:
    return bool(select.select([reply], [], [], patience)[0])


def wanted(questions: int, offsets: list[float], seed: int = 0) -> list[tuple[bool, float]]:
    """So many questions to each table, at the offsets in turn, in random order."""
    found = [
        (is_with, offsets[place % len(offsets)])
        for place in range(questions)
        for is_with in (False, True)
    ]
    random.Random(seed).shuffle(found)
    return found


def virtually(folder, monkeypatch, questions, offsets, polls=(), bug=None) -> list[Seen]:
    """What is seen of the questions on the clock of the test."""
    clock = on_virtual_time(monkeypatch)
    slow_row(
        monkeypatch,
        lambda is_with: clock.wait_until(clock.now() + (WITHOUT, WITH)[is_with]),
    )
    came = headers_that_came(monkeypatch, clock.now)
    if bug == "clock of headers":
        clock_of_headers(monkeypatch, came)
    if bug == "live ledger":
        live_ledger(monkeypatch)
    with asked_service(folder, monkeypatch) as served:
        observer = VirtualObserver(clock, came, served, polls=polls)
        if bug == "live ledger":
            # When there is something to see.
            observer.window = (WITHOUT - 2 * TICK, WITH + 2 * TICK)
        return [observer.look(*each) for each in wanted(questions, offsets)]


# ---- the tests


def test_time_tells_nothing(tmp_path, monkeypatch, figures):
    """Fails by luck once in a million runs, for which table is asked when is random. By points of
    the grid the best threshold has an advantage below 5 % at full size, at 95 % confidence.
    """
    seen = virtually(tmp_path, monkeypatch, QUESTIONS, OFFSETS, POLLED)
    rule, votes = attacked(seen)
    bounds = {what: round(bound_of_advantage(seen, what, STEP), 4) for what in AT_POINTS}
    figures(
        f"{QUESTIONS} questions each: the best attack gains {advantage(votes):.3f} ({rule}), by "
        f"luck with chance {chance(votes):.2g}; at most {bounds} by points"
    )
    assert {round(each.times["reply"] / TICK) for each in seen} == {round(STEP / TICK)}
    assert min(each.times[what] for each in seen for what in AT_POINTS) >= STEP
    assert chance(votes) >= LUCK
    assert max(bounds.values()) < sized(0.6, 0.05)


def test_a_clock_that_starts_with_the_headers_is_caught(tmp_path, monkeypatch):
    """The body is held back until shortly before a point, so that the slow row is late for it."""
    offsets = sized([WORST], OFFSETS)
    questions = ENOUGH * len(offsets)
    bug = "clock of headers"
    seen = virtually(tmp_path, monkeypatch, questions, offsets, bug=bug)
    rule, votes = attacked(seen)
    assert (rule.what, rule.is_later) == ("reply", True)
    assert chance(votes) < CAUGHT and advantage(votes) > 0.9


def test_a_ledger_that_is_polled_live_is_caught(tmp_path, monkeypatch):
    """Whatever of it is polled."""
    seen = virtually(tmp_path, monkeypatch, ENOUGH, [WORST], POLLED, bug="live ledger")
    for polled in POLLED:
        rule, votes = attacked([each.only(polled) for each in seen])
        assert polled in rule.what and rule.is_later
        assert chance(votes) < CAUGHT and advantage(votes) > 0.9


def test_time_tells_nothing_on_the_clock_of_the_wall(tmp_path, monkeypatch, figures):
    """The service as it runs, with whatever the machine does besides. Fails by luck once in a
    million runs.
    """
    step, lanes, questions = 1.0, 4, sized(8, 400)
    slow_row(monkeypatch, lambda is_with: time.sleep((0.05, 0.35)[is_with]))
    seen: list[Seen] = []
    with asked_service(tmp_path, monkeypatch, step, lanes) as served:

        def lane(number: int) -> None:
            observer = WallObserver(served, number, POLLED)
            for each in wanted(questions // lanes, OFFSETS, seed=number):
                seen.append(observer.look(*each, step))

        threads = [threading.Thread(target=lane, args=(number,)) for number in range(lanes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(seen) == 2 * questions
    rule, votes = attacked(seen)
    bounds = {what: round(bound_of_advantage(seen, what, step), 4) for what in AT_POINTS}
    figures(
        f"{questions} questions each: the best attack gains {advantage(votes):.3f} ({rule}), by "
        f"luck with chance {chance(votes):.2g}; at most {bounds} by points"
    )
    # No reply and nothing that is polled is there before the first point.
    assert min(each.times[what] for each in seen for what in AT_POINTS) >= step
    assert chance(votes) >= LUCK


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ((12, 12, 0, 12), 1 / comb(24, 12)),
        ((0, 12, 0, 12), 1.0),
        ((3, 3, 1, 3), 3 / comb(6, 4)),
    ],
)
def test_the_chance_of_votes_is_that_of_fishers_test(votes, expected):
    """Closed forms: the ways to draw as many votes that are right."""
    assert chance(votes) == pytest.approx(expected)
