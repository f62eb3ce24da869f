"""ClickHouse inside this process: stored tables of a folder that `chdb` keeps.

The library loads with `source.py`. It opens one folder a process, and a folder in one process at a
time, so nobody else writes there while a question is asked.
"""

from __future__ import annotations

import os
import re

from postri.engines.csv_format import CsvFormat
from postri.engines.engine import Engine
from postri.engines.resolve import Declared, EngineKind, PolicySource, register
from postri.errors import InputError

CHDB = re.compile(r"\s*chdb:", re.IGNORECASE)
FOLDER = re.compile(r"chdb://(/.+)")


class ClickHouseTables(PolicySource):
    """Tables of a folder."""

    name = "clickhouse"
    described = "a chdb URL"
    is_path = False
    # One process may open the folder, and a statement is killed by another connection.
    counts_here = False

    def takes(self, source: str, table: str | None) -> bool:
        """A URL with a whole path."""
        if not CHDB.match(source):
            return False
        if FOLDER.fullmatch(source) is None:
            raise InputError(
                f"a chdb source must be chdb:// and a whole path, such as chdb:///data/city, got "
                f"{source!r}"
            )
        if table is None:
            raise InputError('a chdb source needs its table: write table = "default.trips"')
        return True

    def open(self, source: str, table: str | None, declared: Declared, csv: CsvFormat) -> Engine:
        """The engine of its table."""
        from postri.engines.clickhouse.source import table_engine

        return table_engine(_folder(source), str(table))

    def places(self, source: str, table: str | None) -> set[tuple[str, ...]]:
        """The folder and the table."""
        from postri.engines.sql.dialect import qualified_name

        return {(os.path.realpath(_folder(source)), qualified_name(table or "", "default"))}


def _folder(source: str) -> str:
    return source.removeprefix("chdb://")


register(EngineKind("clickhouse", policy_sources=(ClickHouseTables(),)))
