"""The tables of a SQLite ledger, as steps from an empty file to the newest schema.

A step, once released, is never changed, not by a blank: a file keeps the text of its tables.
"""

from __future__ import annotations

import sqlite3

from postri.errors import LedgerError

# "pstr": tells a ledger from other SQLite files.
APPLICATION = 0x70737472

FIRST = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    # The newest entry up to which a version of postri has understood everything.
    "INSERT INTO meta VALUES ('schema', 0), ('understood', 0)",
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL
    )""",  # noqa: E501  # the file keeps this text
    (
        "CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries "
        "are permanent'); END"
    ),
    (
        "CREATE TRIGGER entries_remain BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, "
        "'entries are permanent'); END"
    ),
    # All below follows from the entries, and is kept in the same transactions so that no question
    # adds up the past.
    """CREATE TABLE datasets (
        dataset TEXT PRIMARY KEY, epsilon TEXT NOT NULL, rho TEXT NOT NULL, entries INTEGER NOT NULL, terms INTEGER
    ) WITHOUT ROWID""",  # noqa: E501  # the file keeps this text
    """CREATE TABLE analysts (
        dataset TEXT NOT NULL, analyst TEXT NOT NULL, epsilon TEXT NOT NULL, rho TEXT NOT NULL, entries INTEGER NOT NULL,
        PRIMARY KEY (dataset, analyst)
    ) WITHOUT ROWID""",  # noqa: E501  # the file keeps this text
    "CREATE TABLE fates (reservation INTEGER PRIMARY KEY, number INTEGER NOT NULL)",
    """CREATE TABLE answers (
        dataset TEXT NOT NULL, version TEXT NOT NULL, key TEXT NOT NULL, reservation INTEGER NOT NULL, PRIMARY KEY (dataset, version, key)
    ) WITHOUT ROWID""",  # noqa: E501  # the file keeps this text
    f"PRAGMA application_id = {APPLICATION}",
)

# How questions were put, and under which keys they may be tried again: written in the transaction
# that reserves. They follow from no entry, and nothing is charged or answered by them alone: a row
# counts if its reservation is of the same analyst and question.
SECOND = (
    """CREATE TABLE wordings (
        analyst TEXT NOT NULL, reservation INTEGER NOT NULL, wording TEXT NOT NULL, PRIMARY KEY (analyst, reservation)
    ) WITHOUT ROWID""",  # noqa: E501  # the file keeps this text
    """CREATE TABLE retries (
        analyst TEXT NOT NULL, retry TEXT NOT NULL, reservation INTEGER NOT NULL, wording TEXT NOT NULL, PRIMARY KEY (analyst, retry)
    ) WITHOUT ROWID""",  # noqa: E501  # the file keeps this text
)

# Which questions have no answer since their dataset was last opened again, and how many questions
# an analyst has asked of a dataset. Both follow from the entries, also from those of older ledgers.
THIRD = (
    """CREATE TABLE unanswered (
        dataset TEXT NOT NULL, reservation INTEGER NOT NULL, PRIMARY KEY (dataset, reservation)
    ) WITHOUT ROWID""",
    # A body that cannot be read is left to the audit, which says so.
    """INSERT OR IGNORE INTO unanswered
        SELECT json_extract(body, '$.dataset'), number FROM entries
        WHERE kind = 'reserve' AND json_valid(body) AND number NOT IN (
            SELECT reservation FROM fates JOIN entries USING (number) WHERE kind = 'answer'
        )""",
    "ALTER TABLE analysts ADD COLUMN questions INTEGER NOT NULL DEFAULT 0",
    """UPDATE analysts SET questions = asked.questions FROM (
            SELECT json_extract(body, '$.dataset') AS dataset,
                json_extract(body, '$.analyst') AS analyst, count(*) AS questions
            FROM entries WHERE kind = 'reserve' AND json_valid(body) GROUP BY 1, 2
        ) AS asked
        WHERE asked.dataset = analysts.dataset AND asked.analyst = analysts.analyst""",
)

# Where the rows of datasets lie, and which datasets are about the same people: both follow from the
# terms, and add up over all of them. With them come the kinds `terms`, `restated` and `protection`.
FOURTH = (
    """CREATE TABLE places (
        dataset TEXT NOT NULL, place TEXT NOT NULL, PRIMARY KEY (dataset, place)
    ) WITHOUT ROWID""",
    "CREATE INDEX datasets_at_places ON places (place, dataset)",
    """CREATE TABLE same_people (
        dataset TEXT NOT NULL, other TEXT NOT NULL, PRIMARY KEY (dataset, other)
    ) WITHOUT ROWID""",
)

# What was paid in delta, for keys that nobody declared. With it come the kinds `reserve-delta` and
# `restored-delta`.
FIFTH = (
    "ALTER TABLE datasets ADD COLUMN delta TEXT NOT NULL DEFAULT '0'",
    "ALTER TABLE analysts ADD COLUMN delta TEXT NOT NULL DEFAULT '0'",
)

# Step i leads from schema i to schema i + 1; schema 0 is an empty file.
MIGRATIONS: tuple[tuple[str, ...], ...] = (FIRST, SECOND, THIRD, FOURTH, FIFTH)


def schema_of(connection: sqlite3.Connection, path: str) -> int:
    """The schema of a file; LedgerError if it is no ledger, or one that a newer version wrote."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables == 0:
        return 0
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerError(f"{path!r} is a database, but not a ledger of postri: name another file")
    row = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    if row is None:
        raise LedgerError(
            f"the ledger {path!r} does not say its schema, so it is damaged: put back a "
            "backup, then accept it"
        )
    check_schema(row[0], repr(path))
    return int(row[0])


def check_schema(schema: int, name: str) -> None:
    """LedgerError if a newer version wrote it."""
    check_known(schema, len(MIGRATIONS), name)


def check_known(schema: int, known: int, name: str) -> None:
    """LedgerError if this schema is above the one that this version knows."""
    if schema > known:
        raise LedgerError(
            f"the ledger {name} was written by a newer version of postri (schema {schema}, this "
            f"version knows {known}): install that version"
        )


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Take the steps that are missing, inside the caller's transaction."""
    for schema in range(schema_of(connection, path), len(MIGRATIONS)):
        for statement in MIGRATIONS[schema]:
            connection.execute(statement)
        connection.execute("UPDATE meta SET value = ? WHERE name = 'schema'", (schema + 1,))
