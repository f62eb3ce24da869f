"""The stores of the ledger, for the tests that hold for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from stores import PostgresStore, SqliteStore

from postri.ledger.stored import StoredLedger
from services.postgres_server import PostgresServer


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[SqliteStore]:
    with ExitStack() as stack:
        yield SqliteStore(tmp_path, stack)


@pytest.fixture
def postgres_store(postgres: PostgresServer, tmp_path: Path) -> Iterator[PostgresStore]:
    with ExitStack() as stack:
        yield PostgresStore(postgres, tmp_path, stack)


# They look behind the ledger, at a file.
ONE_STORE = {
    "test_tables_that_were_changed_are_found",
    "test_an_older_version_refuses_a_ledger_that_knows_more",
    "test_what_a_restored_ledger_was_charged_counts_too",
    "test_failures_tell_no_more_than_the_patterns_that_theorem_20_counts",
    "test_any_walk_through_protections_is_counted_as_by_hand",
    "test_two_who_ask_at_once_cannot_both_spend_the_last_part",
}
STORES = ("sqlite_store", pytest.param("postgres_store", marks=pytest.mark.slow))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A module with EVERY_STORE holds for each of them; other tests are about files, or ask so much
    that a server would take too long.
    """
    if "store" not in metafunc.fixturenames or metafunc.function.__name__ in ONE_STORE:
        return
    if getattr(metafunc.module, "EVERY_STORE", False):
        metafunc.parametrize("store", STORES, indirect=True)


@pytest.fixture
def store(request: pytest.FixtureRequest) -> SqliteStore | PostgresStore:
    """The store that a module names; SQLite if it names none."""
    return request.getfixturevalue(getattr(request, "param", "sqlite_store"))


@pytest.fixture
def ledger(store: SqliteStore | PostgresStore) -> StoredLedger:
    return store.open()
