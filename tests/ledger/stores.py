"""Stores of the ledger, and what an attacker can do to each. Each runs the contract suite: a new
one is one more class here.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import ExitStack
from pathlib import Path

from postri.ledger import SqliteLedger
from postri.ledger.entries import new_entry
from postri.ledger.postgres import PostgresLedger, grants, init_ledger
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
