"""Past answers ready to serve: the text of each, kept in a file beside the ledger, so that a page
of the history is read and not made.

A copy for speed, and nothing more: each text follows from the ledger and the policy, and has a
stamp that says from what. A text whose stamp does not fit any more is made anew; the file may be
deleted at any time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock

from postri import __version__
from postri.errors import LedgerError
from postri.ledger import AskedQuestion
from postri.ledger.connection import SqliteFile, create_private
from postri.policy import Policy

# "pth1" in ASCII: whose file it is.
APPLICATION = 0x70746831
WHAT = "the file of past texts"
SCHEMA = (
    "CREATE TABLE texts (analyst TEXT NOT NULL, number INTEGER NOT NULL, dataset TEXT NOT NULL,"
    " stamp BLOB NOT NULL, text TEXT NOT NULL, PRIMARY KEY (analyst, number)) STRICT",
    f"PRAGMA application_id = {APPLICATION}",
)
BETWEEN = """
    SELECT number, dataset, stamp, text FROM texts WHERE analyst = ? AND number BETWEEN ? AND ?
"""


@dataclass(frozen=True)
class PastText:
    """A past answer as it is served, and the dataset that it is about."""

    dataset: str
    text: str


class PastTexts:
    """The file of texts, made if it is not there.

    No question fails for it: what cannot be read is made anew, and what cannot be kept is not.
    """

    def __init__(self, path: Path, policy: Policy, *, patience: float = 30.0) -> None:
        self.filling = Lock()
        """Who makes a text holds this, so that nobody makes the same one meanwhile."""
        self._meanings = _meanings(policy)
        self._file = SqliteFile(
            path, patience, lambda connection: _check_ours(connection, path), WHAT, durable=False
        )
        try:
            create_private(path, WHAT)
            with self._file.writing() as connection:
                _migrate(connection)
        except BaseException:
            self._file.close()
            raise

    def under(self, policy: Policy) -> PastTexts:
        """The same file, for texts that are made under this policy."""
        texts = copy(self)
        texts._meanings = _meanings(policy)
        return texts

    def of(self, analyst: str, asked: Sequence[AskedQuestion]) -> dict[int, str]:
        """The texts that are ready, by number."""
        if not asked:
            return {}
        numbers = [each.number for each in asked]
        found: dict[int, tuple[str, bytes, str]] = {}
        with suppress(LedgerError), self._file.reading() as connection:
            for number, *row in connection.execute(BETWEEN, (analyst, min(numbers), max(numbers))):
                found[number] = (row[0], row[1], row[2])
        ready = {}
        for each in asked:
            if each.number in found:
                dataset, stamp, text = found[each.number]
                if stamp == self._stamp(dataset, each):
                    ready[each.number] = text
        return ready

    def keep(self, analyst: str, asked: AskedQuestion, past: PastText) -> None:
        """Have a text ready from here on."""
        stamp = self._stamp(past.dataset, asked)
        row = (analyst, asked.number, past.dataset, stamp, past.text)
        with suppress(LedgerError), self._file.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?, ?)", row)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _stamp(self, dataset: str, asked: AskedQuestion) -> bytes:
        """From what a text is made: the entry, how it was put, and what the policy means by it."""
        meaning = self._meanings.get(dataset, "")
        parts = (__version__, meaning, asked.hash, asked.wording)
        return sha256("\0".join(parts).encode()).digest()


def _meanings(policy: Policy) -> Mapping[str, str]:
    """All that a policy says of each dataset."""
    return {name: repr(dataset.unplaced()) for name, dataset in policy.datasets.items()}


def _check_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Leave a file that is somebody else's as it is."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerError(f"{str(path)!r} is a database of something else: move it away")


def _migrate(connection: sqlite3.Connection) -> None:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not tables:
        for statement in SCHEMA:
            connection.execute(statement)
