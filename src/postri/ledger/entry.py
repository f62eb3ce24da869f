"""Entries: permanent facts, chained by hashes.

The law of this module: an entry is never changed, removed or put elsewhere. What an entry means is
never changed either. A new fact gets a new kind, a new shape of a body gets a new kind too, and
both raise the number of the schema. A ledger that holds what this version does not know gives no
answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

FIRST_HASH = "0" * 64
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: its number and time in UTC, the kind of the fact, the fact as
    canonical JSON, and its place in the chain.
    """

    number: int
    time: str
    kind: str
    body: str
    previous: str
    hash: str

    def is_whole(self) -> bool:
        """Whether the hash fits the content."""
        try:
            return self.hash == chained(self.previous, self.number, self.time, self.kind, self.body)
        except TypeError:  # A column holds something that is no text.
            return False


def new_entry(previous: str, number: int, time: str, kind: str, body: str) -> Entry:
    """The entry that comes after the one with the previous hash."""
    return Entry(number, time, kind, body, previous, chained(previous, number, time, kind, body))


def chained(previous: str, number: int, time: str, kind: str, body: str) -> str:
    """SHA-256 of an entry and of all before it; JSON keeps the parts apart."""
    return sha256(canonical([previous, number, time, kind, body]).encode()).hexdigest()


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted names, no blanks, ASCII."""
    return _ENCODER.encode(value)
