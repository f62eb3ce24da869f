"""Where the rows of a dataset are, and how they are opened.

No text that this module makes holds a password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from datetime import datetime
from glob import escape
from pathlib import Path
from typing import Literal

from postri.domain import Domain
from postri.engines.base import CsvFormat
from postri.engines.files import CSV, PARQUET, PATTERN, matching_files
from postri.engines.resolve import engine_of
from postri.engines.table import Table
from postri.errors import InputError
from postri.policy.model import ColumnPolicy, Dataset, Policy

SourceKind = Literal["csv", "parquet", "duckdb", "postgres"]

DATABASES = (".duckdb", ".ddb", ".db")
# What may hold a password, also where it is misspelt; a folder may be called host=oslo.
SERVER = re.compile(
    r"postgres\w*:|\w{2,}://|.*\bpassword\s*=|[^/]*\b(host|dbname|user)\s*=[^/]*$",
    re.IGNORECASE | re.DOTALL,
)
# As the server's own library reads it: a user ends at a colon, a password at the first @ before a
# slash.
URL = re.compile(
    r"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>[^:/@]*)(?P<password>:[^/@]*)?@)?(?P<host>[^/?@]*)(?:/(?P<database>[^?]*))?(?:\?(?P<more>.*))?",
    re.DOTALL,
)
SECRETS = ("password", "sslpassword")
USUAL_PORT = ":5432"


def kind_of_source(source: str, table: str | None) -> SourceKind:
    """What a source is, by its text alone, or InputError."""
    if SERVER.match(source):
        _url(source)
        if table is None:
            raise InputError(
                'a PostgreSQL source needs the name of its table: write table = "schema.table"'
            )
        return "postgres"
    suffix = Path(source).suffix.lower()
    if suffix in CSV + PARQUET:
        if table is not None:
            raise InputError(f"a {suffix} file is one table; leave table out")
        return "csv" if suffix in CSV else "parquet"
    if table is None and suffix in DATABASES:
        raise InputError(
            'a DuckDB database needs the name of its table: write table = "main.trips"'
        )
    if table is None:
        raise InputError(
            f"source must end in one of {', '.join(CSV + PARQUET)}, or be a DuckDB database "
            "file or a PostgreSQL URL, with table = ..."
        )
    return "duckdb"


def _url(source: str) -> re.Match[str]:
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


def without_password(url: str) -> str:
    """The URL of a server without its password.

    >>> without_password("postgresql://ann:secret@db:5432/bank?sslmode=require&password=secret")
    'postgresql://ann@db:5432/bank?sslmode=require'
    """
    parts = _url(url)
    options = [
        option
        for option in (parts["more"] or "").split("&")
        if option and option.partition("=")[0] not in SECRETS
    ]
    user = f"{parts['user']}@" if parts["user"] else ""
    database = "" if parts["database"] is None else f"/{parts['database']}"
    return f"{parts['scheme']}{user}{parts['host']}{database}" + (
        "?" + "&".join(options) if options else ""
    )


def path_of(policy: Policy, source: str) -> str:
    """A path or a pattern, seen from the policy's folder."""
    folder = str(policy.path.parent)
    return os.path.join(escape(folder) if set(source) & PATTERN else folder, source)


def open_with(policy: Policy, dataset: Dataset, columns: Iterable[ColumnPolicy]) -> Table:
    """The table of a dataset, where these columns are declared if the source declares none.

    Looks at names and types, at no row.
    """
    kind = kind_of_source(dataset.source, dataset.table)
    if kind in ("postgres", "duckdb"):
        source = dataset.source if kind == "postgres" else path_of(policy, dataset.source)
        return open_source(source, dataset.table, dataset.csv, {})
    declared: dict[str, str | None] = dict.fromkeys(dataset.names)
    if kind == "csv":
        declared.update({column.name: _declared(column) for column in columns})
    return open_source(path_of(policy, dataset.source), None, dataset.csv, declared)


def open_source(
    source: str, table: str | None, csv: CsvFormat, declared: dict[str, str | None]
) -> Table:
    """The table of a source: a file or pattern, a DuckDB database, a PostgreSQL server."""
    kind = kind_of_source(source, table)
    if kind == "postgres":
        return Table.from_postgres(source, str(table))
    if kind == "duckdb":
        return Table.from_duckdb(source, str(table))
    return Table(engine_of(source, declared, csv))


def _declared(column: ColumnPolicy) -> str | None:
    """What a CSV column is declared as.

    Timestamps with a zone are read by their domain or keys: a declared one has none.
    """
    return None if is_zoned(column.domain, column.keys or ()) else column.type


def is_zoned(domain: Domain | None, keys: Iterable[object]) -> bool:
    """Whether bounds or keys are timestamps with a time zone."""
    return (domain is not None and domain.zoned) or any(
        isinstance(key, datetime) and key.tzinfo is not None for key in keys
    )


def places_of(policy: Policy, dataset: Dataset) -> set[tuple[str, ...]]:
    """Where the rows lie: two datasets that share a place share rows. Empty if nothing is there."""
    kind, table = kind_of_source(dataset.source, dataset.table), dataset.table or ""
    if kind == "postgres":
        parts = _url(dataset.source)
        return {
            (
                parts["host"].lower().removesuffix(USUAL_PORT),
                parts["database"] or "",
                _qualified(table, "public"),
            )
        }
    path = path_of(policy, dataset.source)
    if kind == "duckdb":
        return {(os.path.realpath(path), _qualified(table, "main"))}
    try:
        return {(os.path.realpath(file),) for file in matching_files(path)}
    except InputError:
        return set()


def _qualified(table: str, schema: str) -> str:
    bare = table.replace('"', "").lower()
    return bare if "." in bare else f"{schema}.{bare}"
