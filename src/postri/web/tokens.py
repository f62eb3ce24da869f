"""Who may ask: tokens and allowances, in a file of their own, so that a ledger that is put back
brings back no revoked token; where the ledger lies in a database, in tables of their own there,
which all services on it share.

A token is `ptr_<id>_<secret>`. Kept is the SHA-256 of the secret alone: 256 random bits need
no slower hash.
"""

from __future__ import annotations

import json
import re
import sqlite3
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict

from postri.errors import InputError, LedgerError, nearest
from postri.exact import shown
from postri.ledger import Place, is_database
from postri.ledger.charges import check_name
from postri.ledger.connection import SqliteFile, create_private
from postri.mechanisms.coins import secret_bytes

if TYPE_CHECKING:
    from postri.web.database import Statements, Tables

Role = Literal["analyst", "steward"]
ROLES: dict[str, Role] = {"analyst": "analyst", "steward": "steward"}

# "ptr1" in ASCII: whose file it is.
APPLICATION = 0x70747231
# The steps from an empty file to this version's, in order: each raises `user_version` by one.
STEPS = (
    (
        "CREATE TABLE tokens (id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL,"
        " hash BLOB NOT NULL, created TEXT NOT NULL, expires TEXT, revoked TEXT) STRICT",
        "CREATE TABLE allowances (name TEXT PRIMARY KEY, allowance TEXT NOT NULL) STRICT",
        f"PRAGMA application_id = {APPLICATION}",
    ),
    # A JSON list of names; NULL for all datasets.
    ("ALTER TABLE tokens ADD COLUMN datasets TEXT",),
)
FIELDS = "id, tokens.name, role, created, expires, revoked, datasets, allowance, hash"
EVERY = f"SELECT {FIELDS} FROM tokens LEFT JOIN allowances ON allowances.name = tokens.name"
WHAT = "the file of tokens"
PREFIX = "ptr_"
SHAPE = re.compile(r"ptr_([0-9a-f]{8})_([A-Za-z0-9_-]{43})", re.ASCII)
NOBODY = b"\0" * 32
# How an expiry says that there is none.
NEVER = "never"
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
    datasets: list[str] | None


@dataclass(frozen=True)
class Token:
    """What is known of a token, without its secret. Times are ISO texts in UTC.

    `datasets` are those that it opens; all of them if None.
    """

    id: str
    name: str
    role: Role
    created: str
    expires: str | None
    revoked: str | None
    datasets: tuple[str, ...] | None
    allowance: Fraction | None

    def opens(self, dataset: str) -> bool:
        """Whether whoever has it may know of this dataset."""
        return self.datasets is None or dataset in self.datasets

    def is_valid(self, now: str) -> bool:
        """Whether it opens the door at this moment."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def to_fields(self) -> TokenFields:
        """As a steward sees it."""
        datasets = None
        if self.datasets is not None:
            datasets = list(self.datasets)
        return {
            "id": self.id,
            "name": self.name,
            "role": self.role,
            "created": self.created,
            "expires": self.expires,
            "revoked": self.revoked,
            "datasets": datasets,
        }


class Tokens:
    """Tokens and allowances; several threads and processes may use them at once. A file is made if
    it is not there; in a database the owner makes the tables.
    """

    def __init__(self, place: Place, *, patience: float = 30.0) -> None:
        self._database = _tables(place, patience)

    def add(
        self,
        name: str,
        role: str,
        *,
        expires: datetime | None = None,
        allowance: Fraction | None = None,
        datasets: Sequence[str] | None = None,
    ) -> tuple[Token, str]:
        """A new token, and its text, which is told this once.

        The allowance, if given, is that of the name from here on.
        """
        check_analyst(name)
        known_role = _role(role)
        if known_role == "steward" and datasets is not None:
            raise InputError("a steward sees all datasets; leave datasets out, or make an analyst")
        with self._database.writing() as connection:
            made = _insert(connection, name, known_role, expires, datasets)
            if allowance is not None:
                _allow(connection, name, allowance)
            return _found(connection, made.id), made.text

    def rotate(self, number: str, *, expires: datetime | None) -> tuple[Token, str] | None:
        """A new token in place of a valid one, which is revoked in the same moment: the same name,
        role and datasets. None if there is no such token.
        """
        now = datetime.now(UTC)
        with self._database.writing() as connection:
            row = connection.execute(f"{EVERY} WHERE id = ?", (number,)).fetchone()
            if row is None:
                return None
            old = _token(row)
            if not old.is_valid(moment_text(now)):
                raise InputError(
                    f"token {number} is not valid any more, so there is nothing to renew; make a "
                    "new one"
                )
            made = _insert(connection, old.name, old.role, expires, old.datasets)
            _revoke(connection, number)
            return _found(connection, made.id), made.text

    def all(self) -> list[Token]:
        """All tokens, those that are not valid any more too, the oldest first."""
        with self._database.reading() as connection:
            return [_token(row) for row in connection.execute(f"{EVERY} ORDER BY tokens.rowid")]

    def revoke(self, number: str) -> bool:
        """Make a token worthless, now and for good; False if there is none.

        Once more changes nothing.
        """
        with self._database.writing() as connection:
            return _revoke(connection, number)

    def verify(self, text: str) -> Token | None:
        """The token of this text, if it is valid now.

        Takes as long for an id that nobody has as for a wrong secret.
        """
        with self._database.reading() as connection:
            return _verified(connection, text)

    def verify_at_once(self, text: str) -> tuple[bool, Token | None]:
        """Whether that can be told without waiting for anybody; and the token."""
        with self._database.reading_at_once() as connection:
            if connection is None:
                return False, None
            return True, _verified(connection, text)

    def allowances(self) -> dict[str, Fraction]:
        """The most that each of these analysts may spend on each dataset."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT name, allowance FROM allowances ORDER BY name")
            return {name: Fraction(amount) for name, amount in rows}

    def allowance_of(self, name: str) -> Fraction | None:
        """The most that this analyst may spend on each dataset; None for no limit but the
        policy's.
        """
        return self.allowances().get(name)

    def allow(self, name: str, allowance: Fraction | None) -> None:
        """Set an analyst's allowance; None for no limit but the policy's."""
        check_analyst(name)
        with self._database.writing() as connection:
            _allow(connection, name, allowance)

    def close(self) -> None:
        """Let go of the file, or of the database."""
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


def _tables(place: Place, patience: float) -> Tables:
    if is_database(place):
        # Without a database its driver is not needed.
        from postri.web.database import ServiceDatabase

        return ServiceDatabase(str(place), patience)
    path = Path(place)
    file = SqliteFile(path, patience, lambda connection: _check_ours(connection, path), WHAT)
    try:
        create_private(path, WHAT)
        with file.writing() as connection:
            _migrate(connection)
    except BaseException:
        file.close()
        raise
    return file


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
    is_ours = application == APPLICATION and 1 <= version <= len(STEPS)
    if not is_ours and (application or version or tables):
        raise LedgerError(
            f"{str(path)!r} is not a file of tokens, or of another version of postri: name "
            "another file"
        )


def _migrate(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for step, commands in enumerate(STEPS[version:], version + 1):
        for command in commands:
            connection.execute(command)
        connection.execute(f"PRAGMA user_version = {step}")


def check_analyst(name: object) -> None:
    """InputError unless it can name an analyst."""
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


@dataclass(frozen=True)
class NewToken:
    """A token that was written now: its id, and its text, which is told this once."""

    id: str
    text: str


def _insert(
    connection: Statements,
    name: str,
    role: Role,
    expires: datetime | None,
    datasets: Sequence[str] | None,
) -> NewToken:
    secret = urlsafe_b64encode(secret_bytes(32)).rstrip(b"=").decode()
    until = None
    if expires is not None:
        until = moment_text(expires)
    scope = None
    if datasets is not None:
        scope = json.dumps(sorted(set(datasets)))
    id = _free_id(connection)
    connection.execute(
        "INSERT INTO tokens (id, name, role, hash, created, expires, datasets)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (id, name, role, _hash(secret), moment_text(datetime.now(UTC)), until, scope),
    )
    return NewToken(id, f"{PREFIX}{id}_{secret}")


def _verified(connection: Statements, text: str) -> Token | None:
    id, secret = _parts(text)
    row = connection.execute(f"{EVERY} WHERE id = ?", (id,)).fetchone()
    known = NOBODY
    if row is not None:
        known = row[-1]
    is_same = compare_digest(_hash(secret), known)
    if row is None or not is_same:
        return None
    token = _token(row)
    if not token.is_valid(moment_text(datetime.now(UTC))):
        return None
    return token


def _found(connection: Statements, number: str) -> Token:
    return _token(connection.execute(f"{EVERY} WHERE id = ?", (number,)).fetchone())


def _revoke(connection: Statements, number: str) -> bool:
    now = moment_text(datetime.now(UTC))
    changed = connection.execute(
        "UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE id = ? RETURNING id", (now, number)
    )
    return changed.fetchone() is not None


def _free_id(connection: Statements) -> str:
    while True:
        id = secret_bytes(4).hex()
        if connection.execute("SELECT 1 FROM tokens WHERE id = ?", (id,)).fetchone() is None:
            return id


def _allow(connection: Statements, name: str, allowance: Fraction | None) -> None:
    connection.execute("DELETE FROM allowances WHERE name = ?", (name,))
    if allowance is not None:
        connection.execute(
            "INSERT INTO allowances (name, allowance) VALUES (?, ?)", (name, str(allowance))
        )


def _token(row: tuple[Any, ...]) -> Token:
    id, name, role, created, expires, revoked, datasets, allowance, _ = row
    amount = None
    if allowance is not None:
        amount = Fraction(allowance)
    scope = None
    if datasets is not None:
        scope = tuple(json.loads(datasets))
    return Token(id, name, _role(role), created, expires, revoked, scope, amount)


def moment_text(time: datetime) -> str:
    """A time as the file keeps it: texts of one length, which sort as the times do."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def check_datasets(datasets: object, known: Iterable[str]) -> list[str] | None:
    """The datasets that a token is to open, all of which the policy has; None for all."""
    if datasets is None:
        return None
    if not isinstance(datasets, list) or not datasets:
        raise InputError(f"datasets must be a list of names, got {shown(datasets)}")
    names = list(known)
    for dataset in datasets:
        if not isinstance(dataset, str) or dataset not in names:
            hint = nearest(str(dataset), names)
            raise InputError(f"the policy has no dataset {shown(dataset)}; {hint}")
    return datasets


def read_expiry(text: object, days: int, now: datetime | None = None) -> datetime | None:
    """When a token expires, as people write it: a span from now, such as 90d or 12h, or a day,
    through whose end (in UTC) the token is valid, or a timestamp; None for never. Without a text it
    is valid for `days`.

    >>> read_expiry("2027-01-31", 90).isoformat()
    '2027-02-01T00:00:00+00:00'
    >>> read_expiry("2d", 90, datetime(2027, 1, 30, tzinfo=UTC)).isoformat()
    '2027-02-01T00:00:00+00:00'
    >>> read_expiry(None, 2, datetime(2027, 1, 30, tzinfo=UTC)).isoformat()
    '2027-02-01T00:00:00+00:00'
    """
    moment = now or datetime.now(UTC)
    if text is None:
        return moment + timedelta(days=days)
    if text == NEVER:
        return None
    try:
        if isinstance(text, str):
            return _expiry(text.strip(), moment)
    except (ValueError, OverflowError):
        pass
    raise InputError(
        f"expires must be a span or a day, such as 90d or 2027-01-31, or {NEVER!r}, got "
        f"{shown(text)}"
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
