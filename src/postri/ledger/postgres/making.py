"""Making the tables of a ledger and of its heads, as the owner of the database."""

from __future__ import annotations

from postri.errors import LedgerError
from postri.ledger.postgres.connection import LedgerServer, Transaction, lock_key
from postri.ledger.postgres.schema import HEAD_MIGRATIONS, HEADS_SCHEMA, MIGRATIONS, SCHEMA
from postri.ledger.schema import check_known

HAS_SCHEMA = "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = ?)"
HAS_META = "SELECT to_regclass(?) IS NOT NULL"
ENCODING = "SELECT current_setting('server_encoding')"


def init_ledger(url: str, patience: float = 30.0) -> bool:
    """Make the tables of a ledger, or take the steps to the newest schema.

    False if all was there.
    """
    return init_schema(url, SCHEMA, MIGRATIONS, patience, "the ledger")


def init_heads(url: str, patience: float = 30.0) -> bool:
    """The same for the heads of a ledger in another database."""
    return init_schema(url, HEADS_SCHEMA, HEAD_MIGRATIONS, patience, "the ledger's head")


def init_schema(
    url: str, schema: str, migrations: tuple[tuple[str, ...], ...], patience: float, what: str
) -> bool:
    """Take the steps that are missing to the newest form of a schema; False if all was there."""
    server = LedgerServer(url, schema, patience, what)
    try:
        with server.writing([lock_key("postri init", schema)]) as transaction:
            found = schema_of(transaction, schema, server.title)
            check_known(found, len(migrations), repr(server.title))
            for number in range(found, len(migrations)):
                for statement in migrations[number]:
                    transaction.do(statement)
                transaction.do("INSERT INTO meta VALUES ('schema', ?)", (number + 1,))
            transaction.commit()
    finally:
        server.close()
    return found < len(migrations)


def schema_of(transaction: Transaction, schema: str, title: str) -> int:
    """Which schema a database has, 0 for none; LedgerError if it is somebody else's, or cannot hold
    every name.
    """
    (encoding,) = transaction.do(ENCODING).fetchone()
    if encoding != "UTF8":
        raise LedgerError(f"{title} has the encoding {encoding}: make a database with UTF8")
    (exists,) = transaction.do(HAS_SCHEMA, (schema,)).fetchone()
    if not exists:
        return 0
    (has_meta,) = transaction.do(HAS_META, (f"{schema}.meta",)).fetchone()
    if not has_meta:
        raise LedgerError(
            f"{title} has a schema {schema!r} that is none of postri's: name another database"
        )
    (number,) = transaction.do("SELECT max(value) FROM meta WHERE name = 'schema'").fetchone()
    return int(number or 0)
