"""Sessions that are killed at random moments, again and again, on one ledger: a program, so that
its children are forked from one thread.

Prints one line of JSON: how many runs there were, how many answers were handed over, and everything
that was wrong afterwards.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from bank import bank, in_memory, session, write_policy
from postri import Result, Session
from postri.answer.forms import read_answers
from postri.ledger import SqliteLedger, verify
from postri.policy import read_policy

# Seconds that a child lives on after the answers that it was waited for.
LONGEST = 0.04
MOST_ANSWERS = 4
SEED = 7
RUNS_OF_A_LEDGER = 30


def ask_for_ever(policy: Path, pipe: int) -> None:
    """The child: asks, and tells of each answer that it holds in its hands."""
    with session(policy) as db:
        os.write(pipe, b"ready\n")
        while True:
            result = ask(db)
            row = result.rows[0]
            os.write(pipe, f"{result.answer_id} {row['n']} {row['mid']}\n".encode())


def ask(db: Session) -> Result:
    return db.ask("bank", {"n": "count()", "mid": "median(age)"}, epsilon="1/1000", fresh=True)


def killed(policy: Path, moments: random.Random) -> list[str]:
    """What a child told before it was killed: after a number of answers, however long they take,
    and some part of the way to the next.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            ask_for_ever(policy, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as told:
        lines = [told.readline() for _ in range(1 + moments.randrange(MOST_ANSWERS))]
        time.sleep(moments.random() * LONGEST)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        lines.extend(told)
    return [line.strip() for line in lines if line.endswith("\n") and line != "ready\n"]


def troubles(policy: Path, handed_over: list[str]) -> list[str]:
    """What is wrong with the ledger after a crash."""
    found = read_policy(policy)
    with SqliteLedger(found.ledger, found.head) as ledger:
        wrong = verify(ledger)
        bodies = [(entry.kind, json.loads(entry.body)) for entry in ledger.entries()]
        reserved = sum(kind == "reserve" for kind, _ in bodies)
        spent = ledger.spent("bank").epsilon
    kept = {body["reservation"]: body["answer"] for kind, body in bodies if kind == "answer"}
    if spent * 1000 != reserved:
        wrong.append(f"{reserved} reservations, but {spent} was spent")
    for line in handed_over:
        number, count, middle = map(int, line.split())
        values = []
        if number in kept:
            (answers,) = read_answers(kept[number], found.datasets["bank"].protect)
            values = [answer.value for answer in answers]
        if sorted(values) != sorted([count, middle]):
            wrong.append(f"answer {number} was handed over and is not in the ledger")
    return wrong


def main(policy: Path, runs: int) -> None:
    wrong: list[str] = []
    answers, moments = 0, random.Random(SEED)
    with in_memory():
        for number in range(runs):
            # A ledger that has grown takes long to verify: after some runs another one begins.
            if number % RUNS_OF_A_LEDGER == 0:
                # Each run that is killed may leave a question without an answer.
                more = f"max_failures = {RUNS_OF_A_LEDGER + 1}"
                folder = policy.parent / f"from {number}"
                place = write_policy(folder, table=bank(1), budget="1000", more=more)
                with session(place) as db:
                    # What is loaded and computed once, children need not do again.
                    ask(db)
            handed_over = killed(place, moments)
            answers += len(handed_over)
            wrong += troubles(place, handed_over)
    sys.stdout.write(json.dumps({"runs": runs, "answers": answers, "wrong": wrong[:20]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
