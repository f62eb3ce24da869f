"""The ledger against a bare loop of inserts with the same durability on the same disk, and against
itself when it has grown.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from postri.ledger import Charge, Limits, SqliteLedger, bounded_range
from postri.ledger.entries import Answered, Reserved
from timing import ROOT, side_by_side

FOLDER = ROOT / "build" / "bench-data"
BATCH, REPEATS = 50, 15
SMALL, LARGE = 100, 100_000
COST = bounded_range(Fraction(1, 10))
QUESTION = '{"aggregates":["median(balance)"],"by":[],"confidence":"19/20","where":null}'
ROW = "INSERT INTO entries (time, kind, body, previous, hash) VALUES (?, ?, ?, ?, ?)"


def key(number: int) -> str:
    return sha256(str(number).encode()).hexdigest()


def asking(ledger: SqliteLedger) -> Callable[[], None]:
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


if __name__ == "__main__":
    print(ledger_rate() | ledger_growth())
