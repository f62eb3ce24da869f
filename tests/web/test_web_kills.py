"""A service that is killed at random moments under load: every question is answered in the end and
paid for once.
"""

from __future__ import annotations

import random
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from itertools import count
from threading import Event
from time import monotonic, sleep

import pytest
from served import Service, hurried_trips, ledger_of, new_token, start

from postri import ServiceError, connect
from postri.answer.forms import read_answers
from postri.ledger import verify
from postri.policy import read_policy
from postri.session import remote
from proving import sized

pytestmark = pytest.mark.alone

KILLS, CLIENTS = sized(2, 50), 4
LONGEST = 0.2


def client(url: str, token: str, name: str, seen: dict[str, tuple[int, int]], done: Event) -> None:
    """Asks until it is told to stop, each question until it is answered: the numbers and values of
    the answers by their keys.
    """
    for number in count():
        if done.is_set():
            return
        key = f"{name}-{number}"
        while key not in seen:
            try:
                with connect(url, token=token) as db:
                    result = db.ask(
                        "trips", {"mid": "median(fare)"}, epsilon="1/100", fresh=True, retry=key
                    )
            except ServiceError:
                sleep(0.05)
            else:
                seen[key] = (int(str(result.answer_id)), result.answers[0].value)


def kill_again_and_again(
    service: Service, kills: int, seen: dict[str, tuple[int, int]]
) -> tuple[Service, list[str]]:
    """The last service, and what was wrong with the ledger after a kill.

    Each lives until it has answered, and a random moment longer.
    """
    wrong: list[str] = []
    for _ in range(kills):
        before, deadline = len(seen), monotonic() + 120
        while len(seen) == before and monotonic() < deadline:
            sleep(0.005)
        sleep(random.random() * LONGEST)
        service.kill()
        with ledger_of(service.policy) as ledger:
            wrong += verify(ledger)
        service = start(service.policy, service.log, service.port)
    return service, wrong


@pytest.mark.slow
def test_after_many_kills_every_answer_that_a_client_saw_is_in_the_ledger_and_paid_for_once(
    tmp_path, figures, monkeypatch
):
    # The clients try again at once: the service does not live long.
    monkeypatch.setattr(remote, "LONGEST_WAIT", 0.05)
    policy = hurried_trips(tmp_path, rows=20_000, budget="1000")
    token, done = new_token(policy), Event()
    seen: dict[str, tuple[int, int]] = {}
    service = start(policy, tmp_path / "service.log")
    with ThreadPoolExecutor(CLIENTS) as pool:
        asking: list[Future] = [
            pool.submit(client, service.url, token, f"client {number}", seen, done)
            for number in range(CLIENTS)
        ]
        try:
            service, wrong = kill_again_and_again(service, KILLS, seen)
        finally:
            done.set()
        for future in asking:
            future.result(timeout=300)
    service.kill()

    assert wrong == []
    protect = read_policy(policy).datasets["trips"].protect
    with ledger_of(policy) as ledger:
        assert verify(ledger) == []
        spent = ledger.summary()["trips"]
        for number, value in seen.values():
            past = ledger.past(number)
            assert (
                past.answer_text is not None
                and read_answers(past.answer_text, protect)[0][0].value == value
            )
    figures(
        f"{len(seen)} questions were answered, each paid for once, while the service was "
        f"killed {KILLS} times"
    )
    assert len({number for number, _ in seen.values()}) == len(seen) > KILLS
    assert spent.cost.epsilon == Fraction(len(seen), 100)
