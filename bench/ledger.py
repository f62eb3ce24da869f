"""The ledger against a bare loop of inserts with the same durability on the same disk, and against
itself when it has grown; the one in PostgreSQL beside `pgbench`'s own simple update.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from postri.ledger import Charge, Limits, SqliteLedger, bounded_range
from postri.ledger.entries import Answered, Reserved
from postri.ledger.postgres import PostgresLedger, init_ledger
from timing import ROOT, side_by_side

sys.path.insert(0, str(ROOT / "tests"))
from services.postgres_server import (  # the tests' own
    SECRET,
    PostgresServer,
    postgres_server,
)

FOLDER = ROOT / "build" / "bench-data"
BATCH, REPEATS = 50, 15
SMALL, LARGE = 100, 100_000
# How many services ask at once, and for how many seconds.
CLIENTS, SECONDS, TURNS = 4, 5, 3
COST = bounded_range(Fraction(1, 10))
QUESTION = '{"aggregates":["median(balance)"],"by":[],"confidence":"19/20","where":null}'
ROW = "INSERT INTO entries (time, kind, body, previous, hash) VALUES (?, ?, ?, ?, ?)"


def key(number: int) -> str:
    return sha256(str(number).encode()).hexdigest()


def asking(ledger: SqliteLedger | PostgresLedger) -> Callable[[], None]:
    """Reserves for a batch of questions."""
    limits, numbers = Limits(Fraction(10**9)), count()

    def ask() -> None:
        for _ in range(BATCH):
            ledger.reserve(Charge("bank", "1", "ann", key(next(numbers)), QUESTION, COST), limits)

    return ask


def inserting(path: Path) -> Callable[[], None]:
    """Inserts a batch of rows of the size of an entry, each in a transaction that waits for the
    disk.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        "CREATE TABLE entries (number INTEGER PRIMARY KEY, time TEXT, kind TEXT, body TEXT, "
        "previous TEXT, hash TEXT)"
    )
    row = ("2026-01-01T00:00:00.000000+00:00", "reserve", QUESTION + "x" * 200, key(0), key(1))

    def insert() -> None:
        for _ in range(BATCH):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(ROW, row)
            connection.execute("COMMIT")

    return insert


def filled(path: Path, entries: int) -> SqliteLedger:
    """A ledger with so many entries, half of them answers, made in one transaction."""
    ledger = SqliteLedger(path)
    with ledger._writing("bank") as book:
        for number in range(entries // 2):
            reservation = book.append(Reserved("bank", "1", "ann", key(-number), QUESTION, COST))
            book.append(Answered(reservation, "bank", "ann", "{}"))
    return ledger


def ledger_rate() -> dict[str, float]:
    """How many questions can be paid for in the time of a bare insert."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=FOLDER) as folder, SqliteLedger(Path(folder) / "ledger") as ledger:
        times = side_by_side(
            {"ours": asking(ledger), "bare": inserting(Path(folder) / "bare")}, REPEATS
        )
    return {"ledger_vs_sqlite_insert": times["bare"] / times["ours"]}


def ledger_growth() -> dict[str, float]:
    """What is left of the rate when there are a thousand times as many entries."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=FOLDER) as folder, ExitStack() as stack:
        small, large = (
            stack.enter_context(filled(Path(folder) / str(size), size)) for size in (SMALL, LARGE)
        )
        times = side_by_side({"small": asking(small), "large": asking(large)}, REPEATS)
    return {"ledger_growth": times["small"] / times["large"]}


def postgres_ledger_rate() -> dict[str, float]:
    """Reservations a second of some services, a dataset each, and as a part of the transactions of
    `pgbench -N` with as many clients on the same server; both wait for the disk at each commit.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=FOLDER) as heads, postgres_server(durable=True) as server:
        init_ledger(server.url())
        pgbench(server, "-i", "-q")
        # In turn, and the best of each: others use the machine too.
        rates = [(reservations(server, heads), simple_updates(server)) for _ in range(TURNS)]
    ours, theirs = map(max, zip(*rates, strict=True))
    return {"postgres_reservations": ours, "postgres_ledger_vs_pgbench": ours / theirs}


def reservations(server: PostgresServer, heads: str) -> float:
    """How many a second, by processes that ask for some time each."""
    command = [sys.executable, __file__, "--ask", server.url(), heads]
    processes = [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, text=True)
        for number in range(CLIENTS)
    ]
    return sum(float(process.communicate()[0]) for process in processes)


def ask_for_some_time(url: str, heads: str, number: str) -> float:
    limits, numbers = Limits(Fraction(10**9)), count()
    with PostgresLedger(url, heads) as ledger:
        start = perf_counter()
        while (passed := perf_counter() - start) < SECONDS:
            asked = key(next(numbers))
            ledger.reserve(Charge(f"bank {number}", "1", "ann", asked, QUESTION, COST), limits)
    return next(numbers) / passed


def simple_updates(server: PostgresServer) -> float:
    """The transactions a second of `pgbench`'s simple update."""
    clients = ("-c", str(CLIENTS), "-j", str(CLIENTS))
    told = pgbench(server, "-N", "-M", "prepared", "-T", str(SECONDS), *clients)
    (line,) = (line for line in told.splitlines() if line.startswith("tps"))
    return float(line.split()[2])


def pgbench(server: PostgresServer, *words: str) -> str:
    where = ("-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres", "postgres")
    program = shutil.which("pgbench")
    assert program is not None, "pgbench is not here: install the system's PostgreSQL"
    done = subprocess.run(
        [program, *words, *where],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PGPASSWORD": SECRET},
    )
    return done.stdout


if __name__ == "__main__":
    if "--ask" in sys.argv:
        print(ask_for_some_time(*sys.argv[2:]))
    else:
        print(ledger_rate() | ledger_growth() | postgres_ledger_rate())
