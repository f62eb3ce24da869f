"""PostgreSQL: a table of a server, which a policy names by the server's URL.

No text that is made here holds a password. The driver loads with `source.py`.
"""

from __future__ import annotations

import os
import re

from postri.engines.csv_format import CsvFormat
from postri.engines.engine import Engine
from postri.engines.resolve import Declared, EngineKind, PolicySource, register
from postri.errors import InputError

# What may hold a password, also where it is misspelt; a folder may be called host=oslo.
SERVER = re.compile(
    r"postgres\w*:|\w{2,}://|.*\bpassword\s*=|[^/]*\b(host|dbname|user)\s*=[^/]*$",
    re.IGNORECASE | re.DOTALL,
)
# As the server's own library reads it: a user ends at a colon, a password at the first @ before a
# slash.
URL = re.compile(
    r"""
    (?P<scheme>postgres(?:ql)?://)
    (?:(?P<user>[^:/@]*)(?P<password>:[^/@]*)?@)?
    (?P<host>[^/?@]*)
    (?:/(?P<database>[^?]*))?
    (?:\?(?P<more>.*))?
    """,
    re.DOTALL | re.VERBOSE,
)
SECRETS = ("password", "sslpassword")
USUAL_PORT = "5432"
PORT = re.compile(r":(\d*)$")
PASSWORD_LEFT_OUT = (
    "the password is left out: give it as PGPASSWORD or in ~/.pgpass, or write user:password@"
)


class PostgresTables(PolicySource):
    """Tables and views of a server."""

    name = "postgres"
    described = "a PostgreSQL URL"
    is_path = False
    counts_here = False

    def takes(self, source: str, table: str | None) -> bool:
        """What looks like a URL, or like anything that may hold a password."""
        if not SERVER.match(source):
            return False
        _url_parts(source)
        if table is None:
            raise InputError(
                'a PostgreSQL source needs the name of its table: write table = "schema.table"'
            )
        return True

    def open(self, source: str, table: str | None, declared: Declared, csv: CsvFormat) -> Engine:
        """The engine of its table."""
        from postri.engines.postgres.source import postgres_engine

        return postgres_engine(source, str(table))

    def places(self, source: str, table: str | None) -> set[tuple[str, ...]]:
        """The host, the database and the table."""
        from postri.engines.sql.dialect import qualified_name

        return {(*_server(source), qualified_name(table or "", "public"))}

    def written(self, source: str, folder: str | os.PathLike[str] | None) -> tuple[str, str]:
        """The URL without its password."""
        bare = without_password(source)
        if bare == source:
            return bare, ""
        return bare, PASSWORD_LEFT_OUT


def _url_parts(source: str) -> re.Match[str]:
    """The parts of a URL.

    A password may stand anywhere in one that is misspelt, so nothing of it is shown.
    """
    found = URL.fullmatch(source)
    if found is None:
        raise InputError(
            "source is not the URL of a PostgreSQL server; write "
            "postgresql://user@host:port/database, special signs as %XX"
        )
    return found


def _server(source: str) -> tuple[str, str]:
    """The host with its port, and the database, however the URL says them: options win, and a
    database that is not named is called as the user.
    """
    from urllib.parse import unquote

    parts = _url_parts(source)
    options = dict(option.partition("=")[::2] for option in (parts["more"] or "").split("&"))
    host, port = parts["host"], ""
    if found := PORT.search(host):
        host, port = host[: found.start()], found[1]
    user = options.get("user") or parts["user"] or ""
    host = unquote(options.get("host") or host).lower()
    port = options.get("port") or port or USUAL_PORT
    return f"{host}:{port}", unquote(options.get("dbname") or parts["database"] or user)


def without_password(url: str) -> str:
    """The URL of a server without its password.

    >>> without_password("postgresql://ann:secret@db:5432/bank?sslmode=require&password=secret")
    'postgresql://ann@db:5432/bank?sslmode=require'
    """
    parts = _url_parts(url)
    bare = parts["scheme"]
    if parts["user"]:
        bare += f"{parts['user']}@"
    bare += parts["host"]
    if parts["database"] is not None:
        bare += f"/{parts['database']}"
    options = [option for option in (parts["more"] or "").split("&") if _is_public(option)]
    if options:
        bare += f"?{'&'.join(options)}"
    return bare


def _is_public(option: str) -> bool:
    name = option.partition("=")[0]
    return option != "" and name not in SECRETS


register(EngineKind("postgres", policy_sources=(PostgresTables(),)))
