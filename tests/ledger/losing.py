"""Run as a program: kills the server, the client or the connection at random moments while a client
answers, and checks after each that whatever was handed over is paid for.

Clients are forked from this process, and reach the server through a proxy that drops. Prints how
many answers were handed over, how many kills there were of each kind, how many commits were cut off
before the client heard of them, and how many reservations have no answer.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic, perf_counter, sleep

import psycopg
from dropping import DroppingProxy
from some_charges import ENOUGH, charge, key

from postri.errors import LedgerError
from postri.ledger import verify
from postri.ledger.postgres import PostgresLedger

KINDS = ("client", "connection", "commit", "server")
# The whole chain is verified every so many kills, and at the end.
VERIFY_EVERY = 50
PATIENCE = 60.0


def answer_for_ever(url: str, head: Path, pipe: int, run: int) -> None:
    """Reserve, record, hand over; whatever goes wrong, go on with the next question."""
    number = 0
    ledger: PostgresLedger | None = None
    while True:
        number += 1
        try:
            ledger = ledger or PostgresLedger(url, head)
            reservation = ledger.reserve(charge(f"{run} {number}"), ENOUGH)
            ledger.record(reservation, f"answer {run} {number}")
        except LedgerError:
            sleep(0.02)
            continue
        os.write(pipe, f"{reservation} {number}\n".encode())


class Client:
    """A forked client, and what it has handed over."""

    def __init__(self, url: str, head: Path, run: int) -> None:
        self._pipe, writing = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                answer_for_ever(url, head, writing, run)
            finally:
                os._exit(1)
        os.close(writing)
        self._text = b""

    def wait_for(self, answers: int) -> None:
        """Until so many more were handed over than were by now."""
        while select.select([self._pipe], [], [], 0)[0]:
            self._read()
        wanted = self._text.count(b"\n") + answers
        deadline = monotonic() + PATIENCE
        while self._text.count(b"\n") < wanted:
            ready, _, _ = select.select([self._pipe], [], [], max(deadline - monotonic(), 0))
            assert ready, "the client hands over nothing more"
            self._read()

    def _read(self) -> None:
        content = os.read(self._pipe, 1 << 16)
        assert content, "the client ended by itself"
        self._text += content

    def kill(self) -> list[tuple[int, int]]:
        """End it; all that it handed over, reservations and numbers."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        while content := os.read(self._pipe, 1 << 16):
            self._text += content
        os.close(self._pipe)
        lines = [line.split() for line in self._text.decode().splitlines()]
        return [(int(words[0]), int(words[1])) for words in lines if len(words) == 2]


def kill_server(owner: str) -> None:
    """SIGKILL one process of the server, as root of it all: it ends every connection and recovers
    from its log. What a commit did not wait for is gone then.
    """
    with suppress(psycopg.Error), psycopg.connect(owner, autocommit=True) as connection:
        (process,) = connection.execute(b"SELECT pg_backend_pid()").fetchone()
        os.kill(process, signal.SIGKILL)


def reopened(url: str, head: Path) -> PostgresLedger:
    """A ledger, as soon as the server lets anybody in again."""
    deadline = monotonic() + PATIENCE
    while True:
        try:
            return PostgresLedger(url, head)
        except LedgerError:
            if monotonic() > deadline:
                raise
        sleep(0.02)


def check(url: str, head: Path, run: int, handed: list[tuple[int, int]]) -> None:
    """Every answer that was handed over is recorded, and paid for."""
    with reopened(url, head) as ledger:
        for reservation, number in handed:
            found = ledger.recorded("bank", "1", key(f"{run} {number}"))
            assert found is not None
            assert (found.id, found.answer_text) == (reservation, f"answer {run} {number}")
        if run % VERIFY_EVERY == 0:
            check_whole(ledger)


def check_whole(ledger: PostgresLedger) -> int:
    """The ledger verifies, and its total is exact; how many reservations have no answer."""
    problems = verify(ledger)
    assert problems == [], problems
    kinds = [entry.kind for entry in ledger.entries()]
    assert ledger.spent("bank").epsilon * 10 == kinds.count("reserve")
    return kinds.count("reserve") - kinds.count("answer")


def main(owner: str, service: str, port: int, folder: Path, runs: int, seed: int) -> dict[str, int]:
    moments = random.Random(seed)
    head = folder / "heads"
    proxy = DroppingProxy(port)
    through = service.replace(f":{port}/", f":{proxy.port}/")
    figures = dict.fromkeys(KINDS, 0)
    figures["handed"] = 0
    for run in range(runs):
        kind = KINDS[run % len(KINDS)]
        figures[kind] += 1
        client = Client(through, head, run)
        start = perf_counter()
        client.wait_for(1 + moments.randrange(3))
        # Some part of the way to the next answer, however fast the disk is.
        sleep(moments.uniform(0, 0.5) * (perf_counter() - start))
        if kind == "connection":
            proxy.cut()
        elif kind == "commit":
            proxy.cut_at_commit(PATIENCE)
        elif kind == "server":
            kill_server(owner)
        if kind != "client":
            client.wait_for(2)
        handed = client.kill()
        figures["handed"] += len(handed)
        check(service, head, run, handed)
    with reopened(service, head) as ledger:
        figures["open"] = check_whole(ledger)
    figures["cut_commits"] = proxy.cut_commits
    proxy.close()
    return figures


if __name__ == "__main__":
    owner, service, port, folder, runs, seed = sys.argv[1:]
    json.dump(main(owner, service, int(port), Path(folder), int(runs), int(seed)), sys.stdout)
