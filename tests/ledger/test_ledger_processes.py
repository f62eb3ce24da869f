"""Many processes and threads on one ledger, forks, and SIGKILL at random moments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from some_charges import ENOUGH, charge, limits

import postri
from postri.errors import BudgetExceeded
from postri.ledger import verify
from proving import sized

pytestmark = pytest.mark.alone

# How many processes ask, and how often each.
PROCESSES, EACH = sized((4, 30), (8, 250))
# A guard against waiting for ever, in seconds.
PATIENCE = sized(600, 4 * 3600)
HERE = Path(__file__).parent
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join((str(Path(postri.__file__).parents[1]), str(HERE))),
}


def start(script: str, *words: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(HERE / script), *map(str, words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )


def result(process: subprocess.Popen[str]):
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    return json.loads(out)


@pytest.mark.slow
@pytest.mark.parametrize("fits", [3 * EACH * PROCESSES // 5, EACH * PROCESSES])
def test_processes_never_pass_the_budget_and_lose_nothing(store, fits):
    """Requests at a tenth each, all at once, on a ledger that none of them finds there. The budget
    has a little over, which is not enough for one more.
    """
    budget = f"{Fraction(fits, 10) + Fraction(1, 20)}"
    processes = [
        start("hammering.py", store.path, f"analyst {number}", EACH, budget)
        for number in range(PROCESSES)
    ]
    accepted = [result(process) for process in processes]
    ledger = store.open()
    assert verify(ledger) == []
    assert sum(map(len, accepted)) == fits
    assert len({number for numbers in accepted for number in numbers}) == fits
    assert ledger.spent("bank").epsilon == Fraction(fits, 10)
    for number, numbers in enumerate(accepted):
        assert ledger.spent("bank", f"analyst {number}").epsilon == Fraction(len(numbers), 10)
    with ledger.snapshot() as snapshot:
        assert snapshot.heads[""] == ledger.head()


@pytest.mark.slow
@pytest.mark.parametrize("runs", sized([25], [20, 300]))
def test_whatever_moment_a_process_is_killed_all_that_was_handed_over_is_in_the_ledger(
    tmp_path, runs, figures
):
    counted = result(start("killing.py", tmp_path, runs, 7))
    figures(
        f"{runs} kills, {counted['handed']} answers handed over, {counted['open']} "
        "reservations without fate"
    )
    assert counted["handed"] > runs


def test_threads_share_a_ledger(ledger):
    def ask(number: int) -> bool:
        try:
            ledger.record(ledger.reserve(charge(number), limits(2)), "x")
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        accepted = list(pool.map(ask, range(40)))
    assert sum(accepted) == 20 and ledger.spent("bank").epsilon == 2
    assert verify(ledger) == []


@pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning"
)  # Newer Pythons warn where libraries have started threads.
def test_both_sides_of_a_fork_go_on_with_connections_of_their_own(ledger):
    first = ledger.reserve(charge("before"), ENOUGH)
    child = os.fork()
    if child == 0:
        try:
            ledger.record(first, "by the child")
            for number in range(20):
                ledger.reserve(charge(f"child {number}"), ENOUGH)
            os._exit(0)
        finally:
            os._exit(1)
    for number in range(20):
        ledger.reserve(charge(f"parent {number}"), ENOUGH)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert ledger.recorded("bank", "1", charge("before").key).answer_text == "by the child"
    assert ledger.spent("bank").epsilon == Fraction(41, 10)
    assert verify(ledger) == []


@pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning"
)  # Newer Pythons warn where libraries have started threads.
@pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(),
    reason="this system does not list the open files of a process",
)
def test_no_open_file_of_the_ledger_crosses_a_fork(store, ledger):
    """SQLite's locks belong to a process: a child with its parent's connection may damage files."""
    ledger.reserve(charge(), ENOUGH)
    assert open_files(store.path) > 0
    child = os.fork()
    if child == 0:
        os._exit(min(open_files(store.path), 100))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert ledger.reserve(charge(), ENOUGH) == 3


def open_files(path: Path) -> int:
    return sum(
        os.path.realpath(link).startswith(str(path)) for link in Path("/proc/self/fd").iterdir()
    )


def test_no_lock_is_held_between_reserve_and_record(store, ledger):
    """While one process reads data, others go on."""
    other = store.open(patience=0.2)
    first = ledger.reserve(charge("slow"), ENOUGH)
    other.record(other.reserve(charge("quick"), ENOUGH), "x")
    ledger.record(first, "y")
    assert verify(ledger) == []
