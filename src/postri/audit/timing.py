"""The timing attack: whether the moment of a reply tells that a person is in the table.

Two services run on this machine, each in a process of its own: on a table, and on the same table
with one person whose row is as expensive as one can be made. The attacker holds the body of a
request back to ten different moments of the time grid, stays with the one at which the tables
differ most, measures how long the reply takes from the last byte on, learns a threshold on half of
the replies, and is judged on the other half.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from http.client import HTTPConnection
from math import comb
from pathlib import Path
from time import perf_counter, sleep

from postri.audit.attack import Attack, AttackNotes, Size
from postri.audit.scratch import Row, scratch_folder, some_rows, write_policy
from postri.errors import PostriError
from postri.policy import read_policy
from postri.research.report.statistics import binomial_interval

GRID = 0.25
# To which shares of the grid a body is held back, and how often each is tried before one is chosen.
OFFSETS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SCOUTED = 2
# What an attack may gain at most. More is a finding if luck explains it with less than these odds.
MOST_ADVANTAGE = 0.05
ALPHA = 1e-6
LEVEL = 0.95
# A person whose row takes long: a long text, in which patterns begin to match everywhere.
EXPENSIVE: Row = (7, 1.5, "ab" * 4_500 + "a", 99)
QUESTION = {
    "dataset": "people",
    "aggregates": {"mid": "median(x)"},
    "where": " OR ".join(f"g LIKE '%{'_' * 900}{end}%'" for end in "cdefgh"),
    "epsilon": "1/100",
    "fresh": True,
}
SERVICE = f"time_grid = {GRID}\nrate = 1000000"
START = "from postri.cli import main; main()"


@dataclass(frozen=True)
class Advantage:
    """How much better than guessing an attack is: measured, its 95 % interval by the exact ones of
    both shares, and with which odds luck alone makes it so large.
    """

    measured: float
    low: float
    high: float
    luck: float

    @property
    def found(self) -> bool:
        """Whether the times tell the tables apart."""
        return self.measured > MOST_ADVANTAGE and self.luck < ALPHA

    def told(self) -> str:
        """In words."""
        return (
            f"{self.measured:.1%} (from {self.low:.1%} to {self.high:.1%}); luck makes it so large "
            f"with odds of {self.luck:.2g}"
        )


def advantage(one: Sequence[float], other: Sequence[float]) -> Advantage:
    """Of the best threshold that the first half of the times teaches, on the second half."""
    half = len(one) // 2
    threshold, late = _learned(one[:half], other[:half])
    tested = len(one) - half
    hits = [sum((time > threshold) is late for time in times[half:]) for times in (one, other)]
    # Both shares lie in their intervals with the level of the difference.
    each = 1 - (1 - LEVEL) / 2
    (low, high), (other_low, other_high) = (binomial_interval(hit, tested, each) for hit in hits)
    measured = (hits[0] - hits[1]) / tested
    luck = odds_of_luck(hits[0], hits[1], tested)
    return Advantage(measured, low - other_high, high - other_low, luck)


def odds_of_luck(hits: int, other_hits: int, tested: int) -> float:
    """With which odds `hits` or more of all hits fall on the one side, if both are alike
    (Fisher).
    """
    both = hits + other_hits
    ways = [comb(tested, k) * comb(tested, both - k) for k in range(hits, min(both, tested) + 1)]
    return float(Fraction(sum(ways), comb(2 * tested, both)))


def _learned(one: Sequence[float], other: Sequence[float]) -> tuple[float, bool]:
    """The threshold, and whether the first of both is late more often than the second, or less."""
    best, threshold, late = 0.0, 0.0, True
    for candidate in (*one, *other):
        share = sum(time > candidate for time in one) / len(one)
        share -= sum(time > candidate for time in other) / len(other)
        if abs(share) > best:
            best, threshold, late = abs(share), candidate, share > 0
    return threshold, late


class Asker:
    """Puts the question to a service, and measures the reply."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token

    def time(self, held_back: float) -> float:
        """From the last byte of the body to the reply; the body waits after the headers."""
        body = json.dumps(QUESTION).encode()
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=120)) as connection:
            connection.putrequest("POST", "/v1/query")
            connection.putheader("Authorization", f"Bearer {self._token}")
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            sleep(held_back)
            connection.send(body)
            start = perf_counter()
            reply = connection.getresponse()
            reply.read()
            seconds = perf_counter() - start
        if reply.status != 200:
            raise PostriError(f"the service replied with status {reply.status}")
        return seconds


@contextmanager
def served(folder: Path, rows: list[Row]) -> Iterator[Asker]:
    """A service of these rows in a process of its own, for the time of a block."""
    from postri.web.tokens import Tokens

    path = write_policy(folder, "duckdb", rows, service=SERVICE)
    with Tokens(read_policy(path).tokens) as tokens:
        token = tokens.add("ann", "analyst")[1]
    words = [sys.executable, "-c", START, "serve", str(path), "--port", "0"]
    with (folder / "service.log").open("w") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+:(\d+)", process.stdout.readline())
        if found is None:
            raise PostriError("the service does not start: try 'postri serve' by hand")
        yield Asker(int(found[1]), token)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def measured(number: int, tell: Callable[[str], None]) -> tuple[list[float], list[float]]:
    """So many times of the table with the person, and of the one without, at the offset at which
    they differ most: a few questions at each find it.
    """
    rows = some_rows(60)
    with scratch_folder() as folder, ExitStack() as stack:
        askers = [
            stack.enter_context(served(folder / name, table))
            for name, table in (("with", [*rows, EXPENSIVE]), ("without", rows))
        ]
        for asker in askers:
            # The first question of a process loads what others find loaded.
            asker.time(0)
        differences = []
        for offset in OFFSETS:
            tell(f"scouting, the body held back by {offset:g} of the grid")
            one, other = _in_turns(askers, offset, SCOUTED)
            differences.append(abs(sum(one) - sum(other)))
        best = OFFSETS[differences.index(max(differences))]
        tell(f"{number} questions, the body held back by {best:g} of the grid")
        return _in_turns(askers, best, number)


def _in_turns(
    askers: Sequence[Asker], offset: float, number: int
) -> tuple[list[float], list[float]]:
    """So many times of both: each is first as often as the other, so that what else happens on the
    machine touches both.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for question in range(number):
        for side in (0, 1) if question % 2 else (1, 0):
            times[side].append(askers[side].time(GRID * offset))
    return times


def attempt(size: Size, notes: AttackNotes) -> None:
    """Ask both services in turns."""
    number = 80
    if size.full:
        number = 400
    times = measured(number, notes.tell)
    found = advantage(*times)
    notes.figures["questions to each table"] = f"{number}"
    notes.figures["time grid"] = f"{GRID} s, the body held back at {len(OFFSETS)} offsets"
    notes.figures["advantage of the best threshold"] = found.told()
    if found.found:
        notes.findings.append(f"replies tell the tables apart: advantage {found.told()}")


ATTACK = Attack(
    name="timing",
    tried=(
        "to tell by the time of replies whether a person with an expensive row is in the "
        "table, with the body of requests held back"
    ),
    attempt=attempt,
)
