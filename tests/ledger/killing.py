"""Run as a program: kills children at random moments while they answer, and checks after each that
the ledger has what was handed over.

The children are forked from this process, which has loaded everything, so that a run takes
milliseconds. Prints how many answers were handed over in all, how many runs were killed before
their first, and how many reservations were left without fate.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from pathlib import Path
from time import perf_counter, sleep

from some_charges import ENOUGH, charge, key

from postri.ledger import SqliteLedger, verify

RUNS_ON_ONE_LEDGER = 10
# About how long a ledger takes to be made, in seconds.
FIRST = 0.01


def answer_for_ever(path: Path, pipe: int, run: int) -> None:
    """Reserve, record, hand over; again and again."""
    ledger = SqliteLedger(path)
    number = 0
    while True:
        reservation = ledger.reserve(charge(f"{run} {number}"), ENOUGH)
        ledger.record(reservation, f"answer {run} {number}")
        os.write(pipe, f"{reservation} {number}\n".encode())
        number += 1


def killed_run(path: Path, run: int, answers: int, further: float) -> list[tuple[int, int]]:
    """What a child handed over before it was killed: a number of answers, and some part of the way
    to the next, however fast the disk is.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer_for_ever(path, writing, run)
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, encoding="ascii") as pipe:
        start = perf_counter()
        lines = [pipe.readline() for _ in range(answers)]
        seconds_each = FIRST
        if answers:
            seconds_each = (perf_counter() - start) / answers
        sleep(further * seconds_each)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the child ended by itself"
        lines.extend(pipe)
    return [(int(words[0]), int(words[1])) for words in map(str.split, lines) if len(words) == 2]


def check(path: Path, run: int, handed: list[tuple[int, int]]) -> int:
    """The ledger opens, verifies, has every answer that was handed over, and goes on.

    How many reservations have no fate.
    """
    with SqliteLedger(path) as ledger:
        problems = verify(ledger)
        assert problems == [], problems
        for reservation, number in handed:
            found = ledger.recorded("bank", "1", key(f"{run} {number}"))
            assert found is not None and (found.id, found.answer_text) == (
                reservation,
                f"answer {run} {number}",
            )
        kinds = [entry.kind for entry in ledger.entries()]
        assert ledger.spent("bank").epsilon * 10 == kinds.count("reserve")
        ledger.record(ledger.reserve(charge(f"check {run}"), ENOUGH), "fine")
        return kinds.count("reserve") - kinds.count("answer")


def main(folder: Path, runs: int, seed: int) -> dict[str, int]:
    moments = random.Random(seed)
    path = folder / "postri.ledger"
    figures = {"handed": 0, "early": 0}
    without = {}
    # The parent has loaded all, and holds a ledger of its own across the forks.
    with SqliteLedger(folder / "warm.ledger") as warm:
        for run in range(runs):
            if run % RUNS_ON_ONE_LEDGER == 0:
                path = folder / f"{run}.ledger"
            warm.reserve(charge(run), ENOUGH)
            # The first run on a ledger also makes it: it is killed in the midst of that.
            answers = 0
            if run % RUNS_ON_ONE_LEDGER:
                answers = moments.randrange(4)
            handed = killed_run(path, run, answers, moments.uniform(0, 1.5))
            assert len(handed) >= answers
            figures["handed"] += len(handed)
            figures["early"] += not handed
            without[path] = check(path, run, handed)
    figures["open"] = sum(without.values())
    return figures


if __name__ == "__main__":
    json.dump(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])), sys.stdout)
