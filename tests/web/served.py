"""A real service in a process of its own, on a port of this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bank import dataset_text
from postri import Session, connect
from postri.ledger import SqliteLedger
from postri.policy import read_policy
from postri.web.tokens import Tokens
from warm_start import started

HURRIED = """
[service]
time_grid = 0
rate = 1000000
"""
FARES = {
    "fare": """
        type = "integer"
        lower = 0
        upper = 100000
    """
}
POSTRI = (sys.executable, "-c", "from postri.cli import main; main()")


@dataclass
class Service:
    """A running service: its policy, where it listens, its process, and the file with its log."""

    policy: Path
    url: str
    process: subprocess.Popen[str]
    log: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def session(self, token: str) -> Session:
        return connect(self.url, token=token)

    def kill(self) -> None:
        """As if the power failed."""
        self.process.send_signal(signal.SIGKILL)
        self.ended()

    def ended(self) -> None:
        """Wait for its end, and let go of what it said."""
        try:
            self.process.wait(timeout=60)
        finally:
            self.process.kill()
            assert self.process.stdout is not None
            self.process.stdout.close()


def hurried_trips(folder: Path, *, rows: int, budget: str) -> Path:
    """The policy of a service that waits for nothing, with its table of fares."""
    pq.write_table(
        pa.table({"fare": np.random.default_rng(5).integers(0, 100_000, rows)}),
        folder / "trips.parquet",
    )
    trips = dataset_text(
        "trips",
        source="trips.parquet",
        budget=budget,
        rows=rows,
        # One that is killed leaves questions without an answer; a large budget has no larger least
        # epsilon.
        more='max_failures = 1000\nmin_epsilon = "1/1000"',
        columns=FARES,
    )
    (folder / "postri.toml").write_text(HURRIED + trips)
    return folder / "postri.toml"


def start(policy: Path, log: Path, port: int = 0) -> Service:
    """Start it, and wait until it listens."""
    with log.open("a") as errors:
        words = [*POSTRI, "serve", str(policy), "--port", str(port)]
        process = started(
            words, stdout=subprocess.PIPE, stderr=errors, text=True, env=os.environ.copy()
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+:\d+", line)
    assert found, (line, log.read_text())
    return Service(policy, found[0], process, log)


@contextmanager
def served(policy: Path) -> Iterator[Service]:
    """A service for the time of a block. Its log lies beside the policy."""
    service = start(policy, policy.parent / "service.log")
    try:
        yield service
    finally:
        service.process.terminate()
        service.ended()


def new_token(
    policy: Path, name: str = "ann", role: str = "analyst", allowance: str | None = None
) -> str:
    """A token for somebody."""
    with Tokens(read_policy(policy).tokens) as tokens:
        return tokens.add(name, role, allowance=None if allowance is None else Fraction(allowance))[
            1
        ]


@contextmanager
def ledger_of(policy: Path) -> Iterator[SqliteLedger]:
    """The ledger behind a policy."""
    found = read_policy(policy)
    with SqliteLedger(found.ledger, found.head) as ledger:
        yield ledger
