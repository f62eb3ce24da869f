"""Delta tables on the disks of this machine: a version of one, whose Parquet files DuckDB reads.

The log of the table is read here, by its published protocol: no library of Delta's is needed. A
version is a snapshot: its files never change, and a newer one is seen when the table is opened
again.
"""

from __future__ import annotations

import os
import re
from typing import Any

from postri.engines.csv_format import CsvFormat
from postri.engines.engine import Engine
from postri.engines.resolve import (
    Declared,
    EngineKind,
    PolicySource,
    PythonSource,
    Types,
    register,
)
from postri.errors import InputError

DELTA = re.compile(r"\s*delta:", re.IGNORECASE)
WHOLE = re.compile(r"delta://(?P<folder>/.*?)(?:\?version=(?P<version>\d+))?")


class DeltaTables(PythonSource):
    """A URL such as `delta:///data/trips`, or a table that the library `deltalake` has opened."""

    accepted = "the URL of a Delta table"

    def takes(self, source: Any) -> bool:
        """A text by its beginning; an object by its class, wherever that is defined."""
        if isinstance(source, str):
            return DELTA.match(source) is not None
        kind = type(source)
        return kind.__name__ == "DeltaTable" and kind.__module__.startswith("deltalake")

    def open(self, source: Any, types: Types, csv: CsvFormat) -> Engine:
        """The engine of a version: the one that the object has, or that the URL names."""
        if types:
            raise InputError(
                "a Delta table declares the types of its columns; leave out columns=..."
            )
        if isinstance(source, str):
            return _engine(*_located(source))
        return _engine(_folder_of(source.table_uri), source.version())


class DeltaFolders(PolicySource):
    """The same URLs in a policy."""

    name = "delta"
    is_path = False

    def takes(self, source: str, table: str | None) -> bool:
        """By the beginning of the text."""
        if DELTA.match(source) is None:
            return False
        _located(source)
        if table is not None:
            raise InputError("a Delta table is one table; leave table out")
        return True

    def open(self, source: str, table: str | None, declared: Declared, csv: CsvFormat) -> Engine:
        """The engine of the version that the URL names, or of the newest."""
        return _engine(*_located(source))

    def places(self, source: str, table: str | None) -> set[tuple[str, ...]]:
        """The folder, which all versions share, and each file, which may be read by its name."""
        from pathlib import Path

        folder, _ = _located(source)
        if not os.path.isdir(folder):
            return set()
        places = [Path(folder), *Path(folder).rglob("*.parquet")]
        return {(os.path.realpath(place),) for place in places}

    def written(self, source: str, folder: str | os.PathLike[str] | None) -> tuple[str, str]:
        """The URL itself."""
        return source, ""


def _located(source: str) -> tuple[str, int | None]:
    """The folder of a table, and the version that is asked for."""
    found = WHOLE.fullmatch(source)
    if found is None:
        raise InputError(
            "a Delta table must be named by its whole path, such as delta:///data/trips, or "
            f"delta:///data/trips?version=12 for one version of it, got {source!r}"
        )
    version = found["version"]
    return found["folder"], None if version is None else int(version)


def _folder_of(url: str) -> str:
    """The folder of a table that was opened by its URL."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    if parts.scheme != "file":
        raise InputError(
            "a Delta table must lie on a disk of this machine, got one on "
            f"{parts.scheme}://; copy it, or ask it through Spark"
        )
    return unquote(parts.path)


def _engine(folder: str, version: int | None) -> Engine:
    from postri.engines.delta.source import delta_engine

    return delta_engine(folder, version)


register(
    EngineKind("delta", python_sources=(DeltaTables(),), policy_sources=(DeltaFolders(),)),
)
