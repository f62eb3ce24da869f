"""Who may ask: tokens and allowances, in a file of their own, so that a ledger that is put back
brings back no revoked token.

A token is `ptr_<id>_<secret>`. The file has the SHA-256 of the secret alone: 256 random bits need
no slower hash.
"""

from __future__ import annotations

import re
import sqlite3
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypedDict

from postri.errors import InputError, LedgerError, nearest
from postri.exact import shown
from postri.ledger.charges import check_name
from postri.ledger.connection import SqliteFile, create_private
from postri.mechanisms.coins import secret_bytes

Role = Literal["analyst", "steward"]
ROLES: dict[str, Role] = {"analyst": "analyst", "steward": "steward"}

# "ptr1" in ASCII: whose file it is.
APPLICATION = 0x70747231
VERSION = 1
SCHEMA = (
    "CREATE TABLE tokens (id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL,"
    " hash BLOB NOT NULL, created TEXT NOT NULL, expires TEXT, revoked TEXT) STRICT",
    "CREATE TABLE allowances (name TEXT PRIMARY KEY, allowance TEXT NOT NULL) STRICT",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
FIELDS = "id, tokens.name, role, created, expires, revoked, allowance, hash"
EVERY = f"SELECT {FIELDS} FROM tokens LEFT JOIN allowances ON allowances.name = tokens.name"
WHAT = "the file of tokens"
SHAPE = re.compile(r"ptr_([0-9a-f]{8})_([A-Za-z0-9_-]{43})", re.ASCII)
NOBODY = b"\0" * 32
SPAN = re.compile(r"([0-9]{1,6})([dhms])", re.ASCII)
SPAN_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


class TokenFields(TypedDict):
    """A token without its secret."""

    id: str
    name: str
    role: Role
    created: str
    expires: str | None
    revoked: str | None


@dataclass(frozen=True)
class Token:
    """What is known of a token, without its secret. Times are ISO texts in UTC."""

    id: str
    name: str
    role: Role
    created: str
    expires: str | None
    revoked: str | None
    allowance: Fraction | None

    def is_valid(self, now: str) -> bool:
        """Whether it opens the door at this moment."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def to_fields(self) -> TokenFields:
        """As a steward sees it."""
        return {
            "id": self.id,
            "name": self.name,
            "role": self.role,
            "created": self.created,
            "expires": self.expires,
            "revoked": self.revoked,
        }


class Tokens:
    """The file of tokens and allowances, made if it is not there; several threads and processes may
    use it at once.
    """

    def __init__(self, path: Path, *, patience: float = 30.0) -> None:
        self._database = SqliteFile(
            path, patience, lambda connection: _check_ours(connection, path), WHAT
        )
        try:
            create_private(path, WHAT)
            with self._database.writing() as connection:
                _migrate(connection)
        except BaseException:
            self._database.close()
            raise

    def add(
        self,
        name: str,
        role: str,
        *,
        expires: datetime | None = None,
        allowance: Fraction | None = None,
    ) -> tuple[Token, str]:
        """A new token, and its text, which is told this once.

        The allowance, if given, is that of the name from here on.
        """
        _check_analyst(name)
        until = None
        if expires is not None:
            until = _moment(expires)
        secret = urlsafe_b64encode(secret_bytes(32)).rstrip(b"=").decode()
        with self._database.writing() as connection:
            id = _free_id(connection)
            row = (id, name, _role(role), _hash(secret), _moment(datetime.now(UTC)), until)
            connection.execute(
                "INSERT INTO tokens (id, name, role, hash, created, expires)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )
            if allowance is not None:
                _allow(connection, name, allowance)
            token = _token(connection.execute(f"{EVERY} WHERE id = ?", (id,)).fetchone())
        return token, f"ptr_{id}_{secret}"

    def all(self) -> list[Token]:
        """All tokens, those that are not valid any more too, the oldest first."""
        with self._database.reading() as connection:
            return [_token(row) for row in connection.execute(f"{EVERY} ORDER BY tokens.rowid")]

    def revoke(self, number: str) -> bool:
        """Make a token worthless, now and for good; False if there is none.

        Once more changes nothing.
        """
        with self._database.writing() as connection:
            now = _moment(datetime.now(UTC))
            changed = connection.execute(
                "UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE id = ?", (now, number)
            )
            return changed.rowcount > 0

    def verify(self, text: str) -> Token | None:
        """The token of this text, if it is valid now.

        Takes as long for an id that nobody has as for a wrong secret.
        """
        id, secret = _parts(text)
        with self._database.reading() as connection:
            row = connection.execute(f"{EVERY} WHERE id = ?", (id,)).fetchone()
        known = NOBODY
        if row is not None:
            known = row[-1]
        is_same = compare_digest(_hash(secret), known)
        if row is None or not is_same:
            return None
        token = _token(row)
        if not token.is_valid(_moment(datetime.now(UTC))):
            return None
        return token

    def allowances(self) -> dict[str, Fraction]:
        """The most that each of these analysts may spend on each dataset."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT name, allowance FROM allowances ORDER BY name")
            return {name: Fraction(amount) for name, amount in rows}

    def allow(self, name: str, allowance: Fraction | None) -> None:
        """Set an analyst's allowance; None for no limit but the policy's."""
        _check_analyst(name)
        with self._database.writing() as connection:
            _allow(connection, name, allowance)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _check_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Leave a file that is somebody else's as it is."""
    # In one transaction, for another process may be making the tables.
    connection.execute("BEGIN")
    try:
        asked = (
            "SELECT count(*) FROM sqlite_schema",
            "PRAGMA application_id",
            "PRAGMA user_version",
        )
        tables, application, version = (connection.execute(each).fetchone()[0] for each in asked)
    finally:
        connection.execute("ROLLBACK")
    if (application, version) != (APPLICATION, VERSION) and (application or version or tables):
        raise LedgerError(
            f"{str(path)!r} is not a file of tokens, or of another version of postri: name "
            "another file"
        )


def _migrate(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA user_version").fetchone() == (0,):
        for command in SCHEMA:
            connection.execute(command)


def _check_analyst(name: object) -> None:
    check_name(name, "analyst")
    if str(name) != str(name).strip():
        raise InputError(
            f"the name of the analyst must not begin or end with a space, got {shown(name)}"
        )


def _role(role: object) -> Role:
    if not isinstance(role, str) or role not in ROLES:
        raise InputError(f"role cannot be {shown(role)}; {nearest(str(role), ROLES)}")
    return ROLES[role]


def _parts(text: str) -> tuple[str, str]:
    """The id and the secret of a token; of no token, if the text is none."""
    found = SHAPE.fullmatch(text)
    if found is None:
        return "", ""
    return found[1], found[2]


def _hash(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _free_id(connection: sqlite3.Connection) -> str:
    while True:
        id = secret_bytes(4).hex()
        if connection.execute("SELECT 1 FROM tokens WHERE id = ?", (id,)).fetchone() is None:
            return id


def _allow(connection: sqlite3.Connection, name: str, allowance: Fraction | None) -> None:
    connection.execute("DELETE FROM allowances WHERE name = ?", (name,))
    if allowance is not None:
        connection.execute(
            "INSERT INTO allowances (name, allowance) VALUES (?, ?)", (name, str(allowance))
        )


def _token(row: tuple[Any, ...]) -> Token:
    id, name, role, created, expires, revoked, allowance, _ = row
    amount = None
    if allowance is not None:
        amount = Fraction(allowance)
    return Token(id, name, _role(role), created, expires, revoked, amount)


def _moment(time: datetime) -> str:
    """A time as the file keeps it: texts of one length, which sort as the times do."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_expiry(text: object, now: datetime | None = None) -> datetime:
    """When a token expires, as people write it: a span from now, such as 90d or 12h, or a day,
    through whose end (in UTC) the token is valid, or a timestamp.

    >>> read_expiry("2027-01-31").isoformat()
    '2027-02-01T00:00:00+00:00'
    >>> read_expiry("2d", datetime(2027, 1, 30, tzinfo=UTC)).isoformat()
    '2027-02-01T00:00:00+00:00'
    """
    try:
        if isinstance(text, str):
            return _expiry(text.strip(), now or datetime.now(UTC))
    except (ValueError, OverflowError):
        pass
    raise InputError(
        f"expires must be a span or a day, such as 90d or 2027-01-31, got {shown(text)}"
    )


def _expiry(text: str, now: datetime) -> datetime:
    if span := SPAN.fullmatch(text):
        return now + timedelta(**{SPAN_UNITS[span[2]]: int(span[1])})
    if len(text) <= len("2027-01-31"):
        day = date.fromisoformat(text) + timedelta(days=1)
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)
