"""What services on one ledger share: their tables in the database of that ledger.

Tokens and allowances, how often each token has asked, how many questions are answered now, and how
many replies have left. These change, as nothing in the ledger may: so they have a schema of their
own, with rights of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import ceil
from typing import Any, Protocol

from postri.errors import LedgerError
from postri.ledger.postgres.connection import READ, WRITE, LedgerServer, Transaction, lock_key
from postri.ledger.postgres.making import init_schema, schema_of
from postri.ledger.postgres.schema import quoted
from postri.ledger.schema import check_known

SCHEMA = "postri_service"
WHAT = "the service's database"
TABLES = (
    f"CREATE SCHEMA {SCHEMA}",
    f"SET LOCAL search_path = {SCHEMA}",
    'CREATE TABLE meta (name text COLLATE "C", value bigint, PRIMARY KEY (name, value))',
    """
    CREATE TABLE tokens (
        rowid bigint GENERATED ALWAYS AS IDENTITY,
        id text COLLATE "C" PRIMARY KEY,
        name text COLLATE "C" NOT NULL,
        role text COLLATE "C" NOT NULL,
        hash bytea NOT NULL,
        created text COLLATE "C" NOT NULL,
        expires text COLLATE "C",
        revoked text COLLATE "C",
        datasets text COLLATE "C"
    )
    """,
    """
    CREATE TABLE allowances (
        name text COLLATE "C" PRIMARY KEY, allowance text COLLATE "C" NOT NULL
    )
    """,
    # Waits for no disk: after a crash of the server everybody has a minute's worth again.
    """
    CREATE UNLOGGED TABLE rates (
        token text COLLATE "C" PRIMARY KEY,
        rest double precision NOT NULL,
        since timestamptz NOT NULL
    )
    """,
    "CREATE SEQUENCE replies",
)
# A step, once released, is never changed.
MIGRATIONS = (TABLES,)

TOKENS_LOCK = lock_key(SCHEMA, "tokens")

# Locks of two numbers, which no lock of one number is in the way of. The places are tried one after
# the other until one is free.
PLACES = lock_key(SCHEMA, "places") % 2**31
PLACE = """
    SELECT place FROM generate_series(1, ?) AS place
    WHERE pg_try_advisory_xact_lock(?, place) LIMIT 1
"""

# A bucket that holds a minute's worth and fills evenly, by the clock of the database, which all
# services have in common. One that holds less than a request stays as it is, and gives no row.
FILLED = """
    least(?::float8,
        rates.rest + greatest(0, extract(epoch FROM clock_timestamp() - rates.since)::float8)
        * ?::float8 / 60)
"""
TAKE = f"""
    INSERT INTO rates VALUES (?, ?::float8 - 1, clock_timestamp())
    ON CONFLICT (token) DO UPDATE SET rest = {FILLED} - 1, since = clock_timestamp()
    WHERE {FILLED} >= 1
    RETURNING rest
"""
# The first number that a sequence gives is its last value before that too.
REPLIES = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM replies"
FILL = f"SELECT {FILLED} FROM rates WHERE token = ?"


class SelectedRows(Protocol):
    """What a statement gave."""

    def fetchone(self) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


class Statements(Protocol):
    """A transaction on some tables, of a file or of a database."""

    def execute(self, statement: str, given: Any = (), /) -> SelectedRows:
        """Run a statement; its values are question marks."""
        ...


class Tables(Protocol):
    """Tables that several threads and processes may use at once."""

    def reading(self) -> AbstractContextManager[Statements]:
        """The tables at one moment."""
        ...

    def reading_at_once(self) -> AbstractContextManager[Statements | None]:
        """The same if nothing is to be waited for; None otherwise."""
        ...

    def writing(self) -> AbstractContextManager[Statements]:
        """A transaction in which nobody else writes; it is committed at the end of the block."""
        ...

    def close(self) -> None:
        """Let go of them."""
        ...


class _InDatabase:
    """A transaction in the words that a file's has."""

    def __init__(self, transaction: Transaction) -> None:
        self.execute = transaction.do


class ServiceDatabase:
    """The tables of services, which `init_service` has made."""

    def __init__(self, url: str, patience: float = 30.0) -> None:
        self._server = LedgerServer(url, SCHEMA, patience, WHAT)
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def _check(self) -> None:
        title = self._server.title
        with self._server.reading() as transaction:
            schema = schema_of(transaction, SCHEMA, title)
        check_known(schema, len(MIGRATIONS), title)
        if schema < len(MIGRATIONS):
            raise LedgerError(
                f"{title} has no tables for tokens and limits, or older ones: make them with "
                "'postri ledger init', as the owner of the database, and run the grants that it "
                "prints"
            )

    @contextmanager
    def reading(self) -> Iterator[Statements]:
        """The tables at one moment."""
        with self._server.reading() as transaction:
            yield _InDatabase(transaction)

    def reading_at_once(self) -> AbstractContextManager[Statements | None]:
        """A server is always waited for."""
        return nullcontext()

    @contextmanager
    def writing(self) -> Iterator[Statements]:
        """A transaction in which no other service writes tokens; committed at the end."""
        with self._server.writing([TOKENS_LOCK]) as transaction:
            yield _InDatabase(transaction)
            transaction.commit()

    # ---- how often one may ask

    def take(self, token: str, most: int) -> int:
        """One request of a token that may send so many a minute: 0, or the seconds to wait if
        there were too many.
        """
        transaction = self._server.begin(
            WRITE, then=[(TAKE, (token, most, most, most, most, most))]
        )
        try:
            is_taken = transaction.first[0].fetchone() is not None
            transaction.commit()
        finally:
            self._server.end(transaction)
        if is_taken:
            return 0
        (filled,) = self._look(FILL, (most, most, token))
        seconds: int = ceil((1 - filled) * 60 / most)
        return max(1, seconds)

    # ---- places

    def place(self, places: int, look_up: Callable[[], object]) -> AbstractContextManager[None]:
        """One of so many places for questions that are answered now, for the time of the block."""
        return self._server.holding((PLACE, (places, PLACES)), look_up)

    # ---- replies

    def add_reply(self) -> None:
        """A reply leaves: whoever looks at the ledger from here on, by any service, finds its
        question there.
        """
        self._look("SELECT nextval('replies')", how=WRITE)

    def replies(self) -> int:
        """A number that changes whenever a reply has left."""
        (number,) = self._look(REPLIES)
        return int(number)

    def _look(self, statement: str, given: tuple[Any, ...] = (), how: str = READ) -> Any:
        transaction = self._server.begin(how, then=[(statement, given)])
        self._server.end(transaction)
        return transaction.first[0].fetchone()

    def close(self) -> None:
        """Let go of the connections."""
        self._server.close()


def init_service(url: str, patience: float = 30.0) -> bool:
    """Make the tables that services share; False if all was there."""
    return init_schema(url, SCHEMA, MIGRATIONS, patience, WHAT)


def service_grants(role: str) -> list[str]:
    """What the role of a service needs on these tables, and no more.

    >>> service_grants("service")[0]
    'GRANT USAGE ON SCHEMA postri_service TO "service";'
    """
    name = quoted(role)
    rights = {
        "TABLE {schema}.meta": "SELECT",
        "TABLE {schema}.tokens": "SELECT, INSERT, UPDATE (revoked)",
        "TABLE {schema}.allowances": "SELECT, INSERT, DELETE",
        "TABLE {schema}.rates": "SELECT, INSERT, UPDATE",
        "SEQUENCE {schema}.replies": "SELECT, USAGE",
    }
    found = [f"GRANT USAGE ON SCHEMA {SCHEMA} TO {name};"]
    for thing, right in rights.items():
        found.append(f"GRANT {right} ON {thing.format(schema=SCHEMA)} TO {name};")
    return found
