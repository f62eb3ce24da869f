"""A policy with a small table, the service of it, and requests to it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import duckdb

from bank import dataset_text
from postri.engines.process.pool import Workers
from postri.policy import read_policy
from postri.web import scans
from postri.web.server import Server, _bound, _config
from postri.web.service import Service
from postri.web.tokens import Tokens
from services.odd_worker import odd_program
from warm_start import COLD_START, started

HERE = Path(__file__).parent
# A cell that nothing but the table holds.
SECRET_CELL = 47110815
# A table whose scan never ends by itself.
ENDLESS = "SELECT CAST(range % 97 AS INTEGER) AS x FROM range(4000000000000)"
SERVICE = """
[service]
port = 0
{service}
"""
CITIES = {
    "x": """
        type = "integer"
        lower = 0
        upper = 100
    """,
    "city": """
        type = "text"
        keys = ["Oslo", "Bergen"]
    """,
}
QUESTION = {"dataset": "bank", "aggregates": {"mid": "median(x)"}, "epsilon": "1/2"}
SLOW = {"dataset": "endless", "aggregates": {"n": "count()"}, "epsilon": "1/2"}


def write_policy(folder: Path, *, service: str = "", budget: str = "5", dataset: str = "") -> Path:
    with duckdb.connect(str(folder / "bank.duckdb")) as connection:
        cells = f"CASE WHEN range = 7 THEN {SECRET_CELL} ELSE range % 97 END"
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS bank AS SELECT CAST({cells} AS INTEGER) AS x, "
            "CASE WHEN range % 2 = 0 THEN 'Oslo' ELSE 'Bergen' END AS city FROM range(400)"
        )
        connection.execute(f"CREATE OR REPLACE VIEW endless AS {ENDLESS}")
    path = folder / "postri.toml"
    service += "" if "time_grid" in service else "\ntime_grid = 0"
    bank = dataset_text(
        source="bank.duckdb",
        table="main.bank",
        budget=budget,
        rows=400,
        more=dataset,
        columns=CITIES,
    )
    endless = dataset_text(
        "endless",
        source="bank.duckdb",
        table="main.endless",
        rows=None,
        more="vouched = true",
        columns={"x": CITIES["x"]},
    )
    path.write_text(SERVICE.format(service=service) + bank + endless)
    return path


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    text: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str | None:
        """The code of a problem, with all that a problem has."""
        fields = self.json
        assert self.headers["content-type"] == "application/problem+json"
        assert fields["type"] == "about:blank" and fields["status"] == self.status
        assert (
            fields["title"]
            and fields["detail"]
            and fields["request_id"] == self.headers["x-request-id"]
        )
        return fields["code"]


class Client:
    """Requests to a port of this machine, each on a connection of its own."""

    def __init__(self, port: int) -> None:
        self.port = port

    def send(
        self, method: str, path: str, body: Any = None, token: str | None = None, **headers: str
    ) -> Reply:
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, path, raw, sent)
            reply = connection.getresponse()
            return Reply(
                reply.status,
                {name.lower(): value for name, value in reply.getheaders()},
                reply.read(),
            )

    def get(self, path: str, token: str | None = None, **headers: str) -> Reply:
        return self.send("GET", path, None, token, **headers)

    def ask(self, token: str, question: Any = QUESTION, **headers: str) -> Reply:
        return self.send("POST", "/v1/query", question, token, **headers)

    def raw(self, text: bytes) -> socket.socket:
        """A connection on which these bytes were sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(text)
        return connection

    def later(self, *given: Any, **headers: str) -> Later:
        """A question that is asked by another thread."""
        return Later(lambda: self.ask(*given, **headers))


class Later:
    def __init__(self, work: Any) -> None:
        self._work, self._found = work, []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        # A service that is killed does not reply.
        with suppress(OSError, HTTPException):
            self._found.append(self._work())

    @property
    def is_there(self) -> bool:
        """Whether the reply has come."""
        return bool(self._found)

    def reply(self) -> Reply:
        self._thread.join(60)
        assert self._found, "no reply came"
        return self._found[0]


class Served(Client):
    """A service in a thread of this process."""

    def __init__(self, service: Service, server: Server) -> None:
        super().__init__(server.servers[0].sockets[0].getsockname()[1])
        self.service, self.server, self.tokens = service, server, service.tokens
        self.ann = self.token("ann")
        self.sue = self.token("sue", "steward")

    def token(self, name: str, role: str = "analyst", **how: Any) -> str:
        return self.tokens.add(name, role, **how)[1]


# Workers that all services in threads share, for it takes a while to start one.
WORKERS = Workers(2 * 10**9)


@contextmanager
def in_thread(path: Path, workers: Workers = WORKERS) -> Iterator[Served]:
    policy, ready = read_policy(path), threading.Event()
    listener = _bound(policy.service.host, policy.service.port)
    with policy.open_ledger() as ledger, Tokens(policy.tokens) as tokens:
        service = Service(policy, ledger, tokens, workers)
        server = Server(_config(service, None, None), service, ready.set)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True)
        thread.start()
        assert ready.wait(30)
        try:
            yield Served(service, server)
        finally:
            service.cut_off()
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()
            service.close()


@contextmanager
def odd_workers(how: str, place: Path) -> Iterator[Workers]:
    """Workers with odd queries: see `odd_worker.py`."""
    workers = Workers(10**9, odd_program(how, place))
    try:
        yield workers
    finally:
        workers.close()


class HandTimer:
    """A timer of time limits that goes off when the test says so, unless it was cancelled: then
    their clock has moved as far as it was set.
    """

    def __init__(self, clock: list[float], seconds: float, function: Any) -> None:
        self.seconds, self._function = seconds, function
        self._clock, self._moment = clock, clock[0] + seconds
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True

    def fire(self) -> None:
        if not self.is_cancelled:
            self._clock[0] = max(self._clock[0], self._moment)
            self._function()


def timers_by_hand(monkeypatch: Any) -> list[HandTimer]:
    """The timers of questions that are asked from here on: no time runs out by itself."""
    made: list[HandTimer] = []
    clock = [1_000.0]

    def later(seconds: float, function: Any) -> HandTimer:
        made.append(HandTimer(clock, seconds, function))
        return made[-1]

    monkeypatch.setattr(scans, "later", later)
    monkeypatch.setattr(scans, "monotonic", lambda: clock[0])
    return made


class Process(Client):
    """`postri serve` as a process of its own; `script` may stand in its place."""

    def __init__(
        self,
        path: Path,
        *arguments: str,
        script: str = "postri_serve.py",
        env: dict[str, str] | None = None,
        is_cold: bool = False,
    ) -> None:
        command = [sys.executable, str(HERE / script), "serve", str(path), *arguments]
        self.errors, environment = (
            path.parent / f"stderr-{time.monotonic_ns()}",
            {**os.environ, **(env or {})},
        )
        with self.errors.open("w") as errors:
            start = COLD_START if is_cold else started
            self.process = start(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        self.line = self.process.stdout.readline()
        port = int(self.line.strip().rpartition(":")[2]) if self.line else 0
        super().__init__(port)

    def signal(self, sent: signal.Signals) -> None:
        self.process.send_signal(sent)

    def wait(self) -> int:
        return self.process.wait(60)

    def words(self) -> str:
        """All that it wrote to standard error."""
        return self.errors.read_text(encoding="utf-8")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def token_of(path: Path, name: str, role: str = "analyst", **how: Any) -> str:
    """A token in the file of a policy."""
    with Tokens(read_policy(path).tokens) as tokens:
        return tokens.add(name, role, **how)[1]


def until(condition: Any, what: str = "it") -> None:
    """Wait for something that another thread or process does."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.01)
