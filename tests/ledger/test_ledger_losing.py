"""A database that is killed, cut off, in recovery, or asked by many at once: what is handed over is
paid for, and totals are exact.
"""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction

import pytest
from some_charges import ENOUGH, charge
from stores import READY, PostgresStore
from test_ledger_processes import result, start

from postri.errors import LedgerError
from postri.ledger import verify
from proving import sized
from services.postgres_server import postgres_server

pytestmark = [pytest.mark.slow, pytest.mark.alone]

KILLS = sized(8, 1_000)
# How many processes ask how many questions each, on how many datasets.
PROCESSES, EACH, DATASETS = sized((4, 24, 4), (16, 1_250, 4))


@pytest.fixture(scope="module")
def own_server(postgres):
    """A server that may be killed. It is not started where the shared one cannot be."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def own_store(own_server, tmp_path):
    before = set(READY)
    READY.clear()
    with ExitStack() as stack:
        yield PostgresStore(own_server, tmp_path, stack)
    READY.clear()
    READY.update(before)


def test_whatever_is_killed_no_answer_is_given_that_is_not_paid_for_in_postgres(
    own_store, own_server, tmp_path, figures
):
    """The server runs with `synchronous_commit` off, and a killed one forgets what no commit waited
    for: that nothing is missing shows that the ledger's commits wait.
    """
    words = (own_store.owner, own_store.url, own_server.port, tmp_path, KILLS, 20)
    found = result(start("losing.py", *words))
    figures(f"{found}")
    assert sum(found[kind] for kind in ("client", "connection", "commit", "server")) == KILLS
    # A client that is killed has handed over one answer, others two more.
    assert found["handed"] >= KILLS
    assert found["cut_commits"] == found["commit"]


def test_many_processes_on_some_datasets_and_totals_are_exact_in_postgres(own_store, figures):
    processes = [
        start(
            "hammering_database.py",
            own_store.url,
            own_store.head,
            f"analyst {number}",
            EACH,
            DATASETS,
        )
        for number in range(PROCESSES)
    ]
    accepted = [result(process) for process in processes]
    ledger = own_store.open()
    assert verify(ledger) == []
    for number in range(DATASETS):
        dataset = f"dataset {number}"
        # Each process asks the datasets in turn: the first ones once more, if that does not divide.
        by_each = len(range(number, EACH, DATASETS))
        assert [each[dataset] for each in accepted] == [by_each] * PROCESSES
        assert ledger.spent(dataset).epsilon == Fraction(PROCESSES * by_each, 7)
        assert ledger.spent(dataset, "analyst 0").epsilon == Fraction(by_each, 7)
    figures(f"{PROCESSES * EACH} questions by {PROCESSES} processes on {DATASETS} datasets")


def test_a_database_in_recovery_says_so_and_nothing_is_lost_in_postgres(own_store, own_server):
    ledger = own_store.open()
    ledger.reserve(charge(), ENOUGH)
    own_server.restart(standby=True)
    try:
        for action in (own_store.open, lambda: ledger.reserve(charge("more"), ENOUGH)):
            with pytest.raises(LedgerError, match="a standby or still in recovery"):
                action()
        assert ledger.spent("bank").epsilon == Fraction(1, 10)
    finally:
        own_server.restart()
    ledger.reserve(charge("more"), ENOUGH)
    assert ledger.spent("bank").epsilon == Fraction(2, 10)
    assert verify(ledger) == []
