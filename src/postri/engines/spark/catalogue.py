"""What a policy names inside Spark: a table of its catalogue, or Parquet files on its storage.

Whether reading may fail on a row is told by the catalogue, which Spark Connect shows too, unlike
the plan of a frame. Files that are named by their path are read as they are stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from postri.engines.doubts import doubt
from postri.engines.spark import parts_of
from postri.engines.spark.source import SparkSource
from postri.engines.sql.engine import SqlEngine
from postri.errors import InputError, PostriError, SourceChanged
from postri.exact import shown

DESCRIBED = "DESCRIBE TABLE EXTENDED {name} AS JSON"
TABLES = ("MANAGED", "EXTERNAL")
STORED_FORMATS = ("parquet", "orc")
VIEW = doubt("a view")
UNKNOWN = doubt("a table of which Spark's catalogue does not tell what it is", "its reader")
REPLACED = "the table was replaced after it was opened; open it again"
# Only the files themselves have columns: the names of folders are data of which no type is known.
PLAIN_FILES = {"recursiveFileLookup": "true", "mergeSchema": "false"}

Result = TypeVar("Result")


class TableSource(SparkSource):
    """A table of the catalogue, which may be another one by the time that it is read."""

    def __init__(self, session: Any, name: str) -> None:
        super().__init__(session.table(name))
        self._session = session
        self._name = name
        self.doubts = _doubts_of(session, name)

    @contextmanager
    def snapshot(self) -> Iterator[TableSource]:
        """The table itself. A view that stands there by now is noticed; Spark holds nothing still.

        A session of Spark Connect looks the name up in every scan.
        """
        if not set(_doubts_of(self._session, self._name)) <= set(self.doubts):
            raise SourceChanged(REPLACED)
        yield self


def table_engine(session: Any, table: str) -> SqlEngine:
    """The engine of a table of the session's catalogue, as it is now."""
    name = ".".join("`" + part.replace("`", "``") + "`" for part in parts_of(table))

    def opened() -> SqlEngine:
        # A session remembers the files of a table, whoever has added some since.
        session.catalog.refreshTable(name)
        source = TableSource(session, name)
        return SqlEngine(source, source.types(), doubts=source.doubts)

    missing = InputError(
        f"Spark's catalogue has no table {shown(table)} that can be read; name it as schema.table"
    )
    return _quietly(opened, missing)


def files_engine(session: Any, path: str) -> SqlEngine:
    """The engine of Parquet files, by a path or pattern that Spark understands."""

    def opened() -> SqlEngine:
        source = SparkSource(session.read.options(**PLAIN_FILES).parquet(path))
        return SqlEngine(source, source.types())

    missing = InputError(
        f"Spark finds no Parquet files at {shown(path)}; a cluster reads them on its own machines"
    )
    return _quietly(opened, missing)


def _quietly(work: Callable[[], Result], failure: PostriError) -> Result:
    """What the work returns; what Spark says when it fails stays in here."""
    try:
        return work()
    except Exception:
        pass
    # Raised outside that block, so that the message stays out of the chain.
    raise failure


def _doubts_of(session: Any, name: str) -> tuple[str, ...]:
    """Why reading a table may fail on a row. Catalogues that cannot describe one say nothing."""
    try:
        described = json.loads(session.sql(DESCRIBED.format(name=name)).collect()[0][0])
    except Exception:
        return (UNKNOWN,)
    return described_doubts(described)


def described_doubts(described: Mapping[str, Any]) -> tuple[str, ...]:
    """The same, by what the catalogue says of a table.

    >>> described_doubts({"type": "MANAGED", "provider": "parquet"})
    ()
    """
    kind = described.get("type")
    stored_as = str(described.get("provider", "")).lower()
    if kind == "VIEW":
        return (VIEW,)
    if kind not in TABLES or not stored_as:
        return (UNKNOWN,)
    if stored_as not in STORED_FORMATS:
        return (doubt(f"a table of the format {stored_as}", "its reader"),)
    return ()
