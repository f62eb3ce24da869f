"""Four services on one ledger in PostgreSQL behind nginx, under load, and killed meanwhile: they
behave as one, and the totals are exact.
"""

from __future__ import annotations

import random
import signal
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from threading import Event
from time import monotonic, sleep

import pytest
from served import Service, hurried_trips, new_token, start
from serving import until
from test_run import RUN, free_port, status, surroundings, tools
from test_web_load import everything

from postri import BudgetExceeded, ServiceError, connect
from postri.answer.forms import read_answers
from postri.ledger import verify
from postri.ledger.postgres import grants, init_ledger
from postri.policy import read_policy
from postri.session import remote
from postri.web.database import init_service, service_grants
from proving import sized
from services.postgres_server import SECRET

# The fixture finds nginx.
__all__ = ["tools"]

pytestmark = [pytest.mark.slow, pytest.mark.alone]

REPLICAS = sized(2, 4)
ROWS, CLIENTS, QUERIES, KILLS = sized((2_000, 8, 16, 1), (1_000_000, 32, 2_000, 40))
EPSILON = Fraction(1, 100)
# Three quarters of the questions fit; the last analyst may spend less than a fair share.
FITS = QUERIES * 3 // 4
DANS = QUERIES // 10
ALLOWANCES = {"ann": None, "bob": None, "cid": str(FITS * EPSILON), "dan": str(DANS * EPSILON)}
SERVICE = "behind_nginx"
DATABASE = "behind_nginx"


@pytest.fixture
def policy(postgres, tmp_path):
    postgres.run(
        f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)",
        f"DROP ROLE IF EXISTS {SERVICE}",
        f"CREATE DATABASE {DATABASE}",
        f"CREATE ROLE {SERVICE} LOGIN PASSWORD '{SECRET}'",
    )
    owner = postgres.url(database=DATABASE)
    init_ledger(owner)
    init_service(owner)
    postgres.run_in(DATABASE, *grants(SERVICE), *service_grants(SERVICE))
    path = hurried_trips(tmp_path, rows=ROWS, budget=str(FITS * EPSILON))
    place = postgres.url(SERVICE, SECRET, DATABASE)
    text = path.read_text().replace("[service]", "[service]\nscans = 2")
    path.write_text(f'ledger = "{place}"\n{text}')
    return path


class Replicas:
    """Services on ports of their own, which they keep when they are started again."""

    def __init__(self, policy):
        self._policy = policy
        with ThreadPoolExecutor(REPLICAS) as pool:
            self.running: list[Service] = list(pool.map(self._start, range(REPLICAS)))

    def _start(self, number: int, port: int = 0) -> Service:
        return start(self._policy, self._policy.parent / f"service-{number}.log", port)

    def kill_one(self, number: int) -> None:
        """As if its machine lost power; another is there a little later."""
        old = self.running[number]
        old.kill()
        self.running[number] = self._start(number, old.port)

    def end(self) -> None:
        for service in self.running:
            service.process.terminate()
        for service in self.running:
            service.ended()


@contextmanager
def behind_nginx(policy, path):
    """Four services and nginx before them: the services, and the port of nginx."""
    folder = policy.parent
    port = free_port()
    replicas = Replicas(policy)
    places = " ".join(f"127.0.0.1:{service.port}" for service in replicas.running)
    more = {"POSTRI_REPLICAS": places, "POSTRI_LISTEN": f"127.0.0.1:{port}"}
    with (folder / "nginx.log").open("w") as words:
        proxy = subprocess.Popen(
            [str(RUN), "proxy"],
            env=surroundings(folder, path, **more),
            stdout=words,
            stderr=words,
        )
    try:
        until(lambda: status(folder / "tls" / "certificate.pem", port) == 200, "readiness")
        yield replicas, port
    finally:
        proxy.send_signal(signal.SIGTERM)
        proxy.wait(60)
        replicas.end()


def test_the_load_of_one_service_through_nginx_while_replicas_are_killed(
    policy, tools, figures, monkeypatch
):
    # Clients try again soon: a replica is back soon.
    monkeypatch.setattr(remote, "LONGEST_WAIT", 0.5)
    monkeypatch.setenv("SSL_CERT_FILE", str(policy.parent / "tls" / "certificate.pem"))
    tokens = {
        name: new_token(policy, name, allowance=allowance) for name, allowance in ALLOWANCES.items()
    }
    names = list(tokens)
    came: list[tuple[str, str, int | None]] = []
    done = Event()

    with behind_nginx(policy, tools) as (replicas, port):

        def client(number: int) -> None:
            name = names[number % len(names)]
            for query in range(QUERIES // CLIENTS + (number < QUERIES % CLIENTS)):
                came.append((name, *answered(port, tokens[name], f"{number}-{query}")))

        def killer() -> int:
            kills, seen = 0, 0
            while kills < KILLS and not done.is_set():
                # Each lives until somebody was answered, and a random moment longer.
                if len(came) > seen:
                    sleep(random.random() * 0.2)
                    seen = len(came)
                    replicas.kill_one(kills % REPLICAS)
                    kills += 1
                sleep(0.005)
            return kills

        with ThreadPoolExecutor(CLIENTS + 1) as pool:
            killing = pool.submit(killer)
            asking = [pool.submit(client, number) for number in range(CLIENTS)]
            try:
                for each in asking:
                    each.result()
            finally:
                done.set()
            kills = killing.result()

    answers = {number: value for _, number, value in came if number != "refused"}
    by_analyst = Counter(name for name, number, _ in came if number != "refused")
    figures(
        f"{len(answers)} of {len(came)} queries were answered by {REPLICAS} replicas, of which "
        f"{kills} were killed: {dict(by_analyst)}"
    )
    assert kills and len(came) == QUERIES and len(answers) == FITS == by_analyst.total()
    assert by_analyst["dan"] == DANS
    found = read_policy(policy)
    with found.open_ledger() as ledger:
        assert verify(ledger) == []
        usage = ledger.summary()["trips"]
        assert usage.cost.epsilon == FITS * EPSILON
        assert {name: each.cost.epsilon for name, each in usage.analysts.items()} == {
            name: EPSILON * n for name, n in by_analyst.items()
        }
        # What was handed over is what was recorded, and nothing else was.
        recorded = {
            str(past.id): read_answers(past.answer_text, found.datasets["trips"].protect)
            for name in names
            for past in everything(ledger, name)
        }
        assert {number: each[0][0].value for number, each in recorded.items()} == answers


def answered(port: int, token: str, key: str) -> tuple[str, int | None]:
    """The number and the value of an answer, asked for until it is there; or that it is refused."""
    # Beside other work a service takes its time to be back.
    deadline = monotonic() + 600
    while True:
        try:
            with connect(f"https://localhost:{port}", token=token) as db:
                result = db.ask(
                    "trips", {"mid": "median(fare)"}, epsilon=EPSILON, fresh=True, retry=key
                )
        except BudgetExceeded:
            return "refused", None
        except ServiceError:
            assert monotonic() < deadline, "no reply came"
            sleep(0.02)
        else:
            # One that was recorded before its reply was lost has been paid for.
            assert result.charged in (0, EPSILON)
            return str(result.answer_id), result.answers[0].value
