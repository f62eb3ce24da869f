"""Latency through the service against the bare session, both under 32 clients at once on the same
table, with the time grid off; small questions one after the other; and what a page of the history
costs.
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, sleep
from typing import Any

import duckdb
import numpy as np

import postri
from engines import FARE, FOLDER
from postri import Session
from postri.engines.duckdb import SETTLED
from postri.engines.engine import Engine
from postri.engines.resolve import PolicySource
from postri.ledger import SqliteLedger
from postri.policy import read_policy
from postri.question import Wording
from postri.web.service import ServedSession, Service
from postri.web.tokens import Tokens

ROWS, CLIENTS, QUERIES, TURNS = 1_000_000, 32, 2_000, 4
POLICY = """
[service]
time_grid = 0
rate = 100000000
[datasets.trips]
source = "{source}"
version = "1"
budget = "1000000"
min_epsilon = "0.001"
questions = 1000000
max_failures = 64
rows = {rows}
protect = {{ change = "add-or-remove-rows", rows = 1 }}
[datasets.trips.columns.fare]
type = "integer"
lower = 0
upper = 1000000
"""
POSTRI = str(Path(sys.executable).with_name("postri"))


def service_latency() -> dict[str, float]:
    """The 95th percentile of all latencies of a client, in turns, so that a slow moment hits both
    alike.
    """
    parquet = FOLDER / f"fares-{ROWS}.parquet"
    if not parquet.is_file():
        FOLDER.mkdir(parents=True, exist_ok=True)
        duckdb.sql(f"SELECT {FARE} AS fare FROM range({ROWS})").write_parquet(str(parquet))
    times: dict[str, list[float]] = {"service": [], "session": []}
    with TemporaryDirectory(dir=FOLDER) as folder:
        places = {name: Path(folder) / name / "postri.toml" for name in times}
        for place in places.values():
            place.parent.mkdir()
            place.write_text(POLICY.format(source=parquet, rows=ROWS))
        with served(places["service"]) as connect:
            sessions = {
                "service": [connect() for _ in range(CLIENTS)],
                "session": [postri.connect(places["session"])] * CLIENTS,
            }
            for _ in range(TURNS):
                for name, those in sessions.items():
                    times[name] += latencies(those, QUERIES // TURNS)
            for session in {
                id(each): each for those in sessions.values() for each in those
            }.values():
                session.close()
    late = {name: float(np.quantile(taken, 0.95)) for name, taken in times.items()}
    return {"service_p95_vs_session": late["service"] / late["session"]}


# A small table, how many questions are asked of it one after the other, and how often.
FEW_ROWS, SMALL, SMALL_TURNS = 1_000, 100, 6
# Files that were written in this moment are opened anew for each question. In seconds.
UNTIL_SETTLED = SETTLED / 1e9 + 0.5


def http_small() -> dict[str, float]:
    """Small questions one after the other over HTTP, beside the same in a session that holds its
    table open. Each counts anew: no window of an earlier question is used. The time grid is off.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    times: dict[str, list[float]] = {"http": [], "session": []}
    with TemporaryDirectory(dir=FOLDER) as folder:
        numbers = Path(folder) / "numbers.parquet"
        duckdb.sql(f"SELECT range AS fare FROM range({FEW_ROWS})").write_parquet(str(numbers))
        sleep(UNTIL_SETTLED)
        places = {name: Path(folder) / name / "postri.toml" for name in times}
        for place in places.values():
            place.parent.mkdir()
            place.write_text(POLICY.format(source=numbers, rows=FEW_ROWS))
        with served(places["http"]) as connect:
            sessions = {"http": connect(), "session": holding_open(places["session"])}
            for session in sessions.values():
                # Both have loaded and opened what they need.
                latencies([session], SMALL // 10)
            for _ in range(SMALL_TURNS):
                for name, session in sessions.items():
                    times[name].append(sum(latencies([session], SMALL)))
            for session in sessions.values():
                session.close()
    return {"http_small_vs_session": min(times["http"]) / min(times["session"])}


def holding_open(policy: Path) -> Session:
    """A session whose sources are opened once."""
    session = postri.connect(policy)
    engines: dict[str, Engine] = {}

    def opened(kind: PolicySource, *given: Any) -> Engine:
        if kind.name not in engines:
            engines[kind.name] = kind.open(*given)
        return engines[kind.name]

    session._opener = opened
    return session


@contextmanager
def served(policy: Path) -> Iterator[Callable[[], Session]]:
    """A service in a process of its own, and how to open a session with it."""
    words = [POSTRI, "token", "add", "ann", "--role", "analyst", "--policy", str(policy)]
    token = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[
        -1
    ]
    words = [POSTRI, "serve", str(policy), "--port", "0"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+:\d+", process.stdout.readline())
        assert found is not None
        yield lambda: postri.connect(found[0], token=token)
        process.terminate()


def latencies(sessions: list[Session], queries: int) -> list[float]:
    """How long each of so many questions took, with all sessions asking at once."""

    def client(session: Session) -> list[float]:
        taken = []
        for _ in range(queries // len(sessions)):
            start = perf_counter()
            session.median("trips", "fare", epsilon="1/100", fresh=True)
            taken.append(perf_counter() - start)
        return taken

    with ThreadPoolExecutor(len(sessions)) as pool:
        return [each for part in pool.map(client, sessions) for each in part]


# Long questions, as long as one may be; and how often a page of them is read.
LONG, READS = 120, 20


def history_page() -> dict[str, float]:
    """What a page of long questions costs the processor, beside reading as many texts of the same
    lengths.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=FOLDER) as folder:
        numbers = Path(folder) / "numbers.parquet"
        duckdb.sql("SELECT range AS fare FROM range(1000)").write_parquet(str(numbers))
        place = Path(folder) / "postri.toml"
        place.write_text(POLICY.format(source=numbers, rows=1000))
        policy = read_policy(place)
        with SqliteLedger(policy.ledger) as ledger, Tokens(policy.tokens) as tokens:
            service = Service(policy, ledger, tokens)
            session = service.session(tokens.add("ann", "analyst")[0])
            for number in range(LONG):
                session.answer(Wording(sql=long_question(number), epsilon="1/100"))
            taken = page_times(session, policy.past_texts)
            service.close()
    return {"history_page_vs_texts": taken["page"] / taken["texts"]}


def long_question(number: int) -> str:
    """A question of nearly 10,000 characters, another for each number."""
    conditions = " OR ".join(f"fare = {number} AND fare <> {other}" for other in range(330))
    return f"SELECT COUNT(*) AS n FROM trips WHERE {conditions}"


def page_times(session: ServedSession, file: Path) -> dict[str, float]:
    """The time of the processor for a page, and for its texts alone, taken in turns."""

    def texts() -> str:
        with closing(sqlite3.connect(file)) as connection:
            rows = connection.execute("SELECT text FROM texts ORDER BY number DESC LIMIT 200")
            return ", ".join(text for (text,) in rows)

    actions = {"page": lambda: session.answers_text(None, 200), "texts": texts}
    taken = dict.fromkeys(actions, 0.0)
    for _ in range(READS):
        for name, action in actions.items():
            start = process_time()
            action()
            taken[name] += process_time() - start
    return taken
