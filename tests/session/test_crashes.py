"""Many processes, and processes that are killed: the budget holds, and no answer is without its
entry.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bank import bank, write_policy
from postri.ledger import SqliteLedger, verify
from postri.policy import read_policy
from proving import sized
from warm_start import started

pytestmark = pytest.mark.alone

HERE = Path(__file__).parent
# The programs find what all tests share, and the sources that this process runs.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def start(name: str, *words: object) -> Any:
    command = [sys.executable, str(HERE / name), *map(str, words)]
    return started(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)


def told(process: Any) -> Any:
    """What a program printed, once it has ended as it should. It is less than a pipe holds."""
    assert process.wait(900) == 0
    with process.stdout:
        return json.load(process.stdout)


@pytest.mark.slow
def test_after_many_kills_the_ledger_verifies_and_has_every_answer_that_was_handed_over(
    tmp_path, figures
):
    policy = write_policy(tmp_path, table=bank(200), budget="1000")
    runs = sized(20, 300)
    found = told(start("crashing.py", policy, runs))
    figures(f"{found['answers']} answers were handed over in {runs} runs that were killed")
    assert found["wrong"] == []
    assert found["runs"] == runs
    assert found["answers"] > runs


@pytest.mark.slow
def test_processes_that_ask_at_once_stay_within_the_budget(tmp_path):
    """Questions of 1/100 each, and a budget for three of five."""
    number_of_processes, each_asks = sized((3, 15), (8, 250))
    asked = number_of_processes * each_asks
    fits = asked * 3 // 5
    policy = write_policy(
        tmp_path,
        table=bank(50),
        budget=f"{Fraction(fits, 100)}",
        # None waits for another, and a large budget has no larger least epsilon.
        more=f'max_failures = {number_of_processes}\nmin_epsilon = "1/100"',
    )
    processes = [
        start("asking_at_once.py", policy, f"analyst {number}", each_asks)
        for number in range(number_of_processes)
    ]
    found = [told(process) for process in processes]
    answered = [number for each in found for number in each["answered"]]
    assert len(answered) == len(set(answered)) == fits
    assert sum(each["refused"] for each in found) == asked - fits
    place = read_policy(policy)
    with SqliteLedger(place.ledger, place.head) as ledger:
        assert verify(ledger) == []
        assert ledger.spent("bank").epsilon == Fraction(fits, 100)
        usage = ledger.summary()["bank"]
        assert sum(each.cost.epsilon for each in usage.analysts.values()) == Fraction(fits, 100)
        # A process that comes late may find nothing left.
        assert {analyst: each.cost.epsilon for analyst, each in usage.analysts.items()} == {
            f"analyst {number}": Fraction(len(each["answered"]), 100)
            for number, each in enumerate(found)
            if each["answered"]
        }
