"""Stores of the ledger. Each runs the contract suite: a new one is one more class here."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from postri.ledger import SqliteLedger
from postri.ledger.entries import new_entry
from postri.ledger.postgres import PostgresLedger, grants, init_ledger
from postri.ledger.stored import StoredLedger
from services.postgres_server import SECRET, PostgresServer

SERVICE = "ledger_service"
MAKE_SERVICE = (
    f"""
    DO $$ BEGIN
        CREATE ROLE {SERVICE} LOGIN PASSWORD '{SECRET}';
    EXCEPTION WHEN duplicate_object THEN NULL;
    END $$
    """,
)
# Tables are made once, and emptied for each test: that is quicker by far.
EMPTIED = (
    "; ".join(
        f"DELETE FROM {table}"
        for table in (
            *("entries", "understood", "names", "datasets", "analysts", "reservations", "fates"),
            *("answers", "places", "same_people", "wordings", "retries"),
        )
    )
    + "; SELECT setval('numbers', 1, false); DELETE FROM meta WHERE value > 1"
)
READY: set[str] = set()


class SqliteStore:
    """A ledger in a file, and what an attacker can do to it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.path, self.head = folder / "postri.ledger", folder / "postri.ledger.head"
        self._stack = stack

    def open(self, **options: object) -> SqliteLedger:
        return self._stack.enter_context(SqliteLedger(self.path, **options))

    def audit(self) -> SqliteLedger:
        return self.open(audit=True)

    def tamper(self, *statements: str) -> None:
        """Change the tables behind the ledger's back."""
        connection = sqlite3.connect(self.path, isolation_level=None)
        for statement in (
            "DROP TRIGGER IF EXISTS entries_stay",
            "DROP TRIGGER IF EXISTS entries_remain",
            *statements,
        ):
            connection.execute(statement)
        connection.close()

    def add(self, kind: str, body: str) -> None:
        """Append an entry as another version of the program might: the chain is right."""
        connection = sqlite3.connect(self.path, isolation_level=None)
        number, previous = connection.execute(
            "SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1"
        ).fetchone()
        entry = new_entry(previous, number + 1, "2026-01-01T00:00:00.000000+00:00", kind, body)
        row = (entry.number, entry.time, entry.kind, entry.body, entry.previous, entry.hash)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", row)
        connection.close()


class PostgresStore:
    """A ledger in a database, opened as a service with the rights that it should have; its heads in
    a folder. The owner can do what an attacker would.
    """

    def __init__(self, server: PostgresServer, folder: Path, stack: ExitStack) -> None:
        self.head = folder / "heads"
        self.owner = server.url()
        self.url = server.url(SERVICE, SECRET)
        self._server = server
        self._stack = stack
        if EMPTIED not in READY:
            server.run("DROP SCHEMA IF EXISTS postri CASCADE")
            init_ledger(self.owner)
            server.run(*MAKE_SERVICE, *grants(SERVICE))
            READY.add(EMPTIED)
        else:
            self.tamper(EMPTIED)

    def open(self, **options: object) -> PostgresLedger:
        given = {"head": self.head, **options}
        return self._stack.enter_context(PostgresLedger(self.url, **given))

    def audit(self) -> PostgresLedger:
        return self.open(audit=True)

    def tamper(self, *statements: str) -> None:
        """Change the tables behind the ledger's back."""
        if any(statement.startswith(("DROP", "ALTER")) for statement in statements):
            READY.clear()
        self._server.run(
            "SET session_replication_role = replica", "SET search_path = postri", *statements
        )

    def add(self, kind: str, body: str) -> None:
        """Append an entry to the chain of its dataset as another version might."""
        dataset = json.loads(body).get("dataset", "bank")
        with self._server.connect() as connection:
            connection.execute("SET search_path = postri")
            (number,) = connection.execute("SELECT nextval('numbers')").fetchone()
            (previous,) = connection.execute(
                "SELECT hash FROM entries WHERE chain = %s ORDER BY number DESC LIMIT 1", [dataset]
            ).fetchone()
            entry = new_entry(previous, number, "2026-01-01T00:00:00.000000+00:00", kind, body)
            connection.execute(
                "INSERT INTO entries VALUES (%s, %s, %s, %s, %s, %s, %s)",
                [number, dataset, entry.time, kind, body, previous, entry.hash],
            )


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
