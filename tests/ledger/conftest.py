"""Stores of the ledger. Each runs the contract suite: a new one is one more class here."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from postri.ledger import SqliteLedger


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
        from postri.ledger.entries import new_entry

        connection = sqlite3.connect(self.path, isolation_level=None)
        number, previous = connection.execute(
            "SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1"
        ).fetchone()
        entry = new_entry(previous, number + 1, "2026-01-01T00:00:00.000000+00:00", kind, body)
        row = (entry.number, entry.time, entry.kind, entry.body, entry.previous, entry.hash)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", row)
        connection.close()


STORES: dict[str, Callable[[Path, ExitStack], SqliteStore]] = {"sqlite": SqliteStore}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStore]:
    with ExitStack() as stack:
        yield STORES[request.param](tmp_path, stack)


@pytest.fixture
def ledger(store: SqliteStore) -> SqliteLedger:
    return store.open()
