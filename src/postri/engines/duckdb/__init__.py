"""DuckDB: its relations and databases, and the files that it reads: Parquet and CSV.

The library loads with `source.py`.

A question about a table of a database sees one snapshot. Files have none: who rewrites one while a
question is asked changes the rows that its next scan sees.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from contextlib import suppress
from time import time_ns
from typing import TYPE_CHECKING, Any

from postri.engines.csv_format import CsvFormat
from postri.engines.engine import Engine
from postri.engines.resolve import (
    Declared,
    EngineKind,
    PolicySource,
    PythonSource,
    Types,
    engine_of,
    register,
)
from postri.errors import InputError, nearest

if TYPE_CHECKING:
    from pathlib import Path

# What makes a path a pattern.
PATTERN = set("*?[")
TEXT_FILES = (".csv", ".tsv", ".txt")
COMPRESSED = (".gz", ".zst")
CSV = (*TEXT_FILES, *(text + packed for text in TEXT_FILES for packed in COMPRESSED))
PARQUET = (".parquet", ".pq")
DATABASES = (".duckdb", ".ddb", ".db")
# A file that was written this short a time ago may be written again without a trace, for clocks of
# file systems are coarse. In nanoseconds.
SETTLED = 3 * 10**9


class Files(PythonSource):
    """The path of a file, or a pattern such as `trips/*.parquet`; the names tell the format."""

    accepted = "the path of a CSV or Parquet file"

    def takes(self, source: Any) -> bool:
        """Any path, whether a file is there or not."""
        return isinstance(source, str | os.PathLike)

    def is_csv(self, source: Any) -> bool:
        """By the ending of the name."""
        return _suffix(os.fspath(source)) in CSV

    def open(self, source: Any, types: Types, csv: CsvFormat) -> Engine:
        """The engine of the files' format."""
        path = os.fspath(source)
        paths = matching_files(path)
        suffix = _suffix(paths[0])
        if any(_suffix(other) != suffix for other in paths):
            raise InputError(
                f"the files of {path!r} have several formats by their names; choose one, such as "
                f"{path.rstrip('*')}*{suffix}"
            )
        if suffix in PARQUET:
            from postri.engines.duckdb.parquet import ParquetEngine, ParquetSource

            if types:
                raise InputError(
                    "a Parquet file declares the types of its columns; leave out columns=..."
                )
            return ParquetEngine(ParquetSource(paths))
        if suffix in CSV:
            from postri.engines.duckdb.csv import CsvEngine

            return CsvEngine(paths, types, csv)
        raise InputError(
            f"cannot tell the format of {path!r} by its name; it must end in one of "
            f"{', '.join(CSV + PARQUET)}"
        )


class Relations(PythonSource):
    """Tables, views and queries of a connection that the user has."""

    accepted = "a DuckDB relation"

    def takes(self, source: Any) -> bool:
        """By the name of its class."""
        return type(source).__name__ == "DuckDBPyRelation"

    def open(self, source: Any, types: Types, csv: CsvFormat) -> Engine:
        """The engine of a relation."""
        from postri.engines.duckdb.source import relation_engine

        return relation_engine(source)


class FilesOfFormat(PolicySource):
    """Files of one format."""

    def __init__(self, name: str, endings: tuple[str, ...], *, declares_types: bool) -> None:
        self.name = name
        self.endings = endings
        self.declares_types = declares_types
        # An engine of files without types keeps a sample of their lines, or a copy: no question
        # is to find what another one has read.
        self._stays = declares_types

    def takes(self, source: str, table: str | None) -> bool:
        """By the ending of the name."""
        suffix = _suffix(source)
        if suffix not in self.endings:
            return False
        if table is not None:
            raise InputError(f"a {suffix} file is one table; leave table out")
        return True

    def open(self, source: str, table: str | None, declared: Declared, csv: CsvFormat) -> Engine:
        """The engine of the files."""
        return engine_of(source, declared, csv)

    def stamp(
        self, source: str, table: str | None, declared: Declared, csv: CsvFormat
    ) -> Hashable | None:
        """Which files there are, and when each was last written."""
        if not self._stays:
            return None
        now = time_ns()
        # What is wrong with the source is for whoever opens it to say.
        with suppress(InputError, OSError):
            states = [(path, os.stat(path)) for path in matching_files(source)]
            if all(
                max(state.st_mtime_ns, state.st_ctime_ns) < now - SETTLED for _, state in states
            ):
                return tuple((path, *_stamp(state)) for path, state in states)
        return None

    def places(self, source: str, table: str | None) -> set[tuple[str, ...]]:
        """Each file."""
        try:
            return {(os.path.realpath(file),) for file in matching_files(source)}
        except InputError:
            return set()


class Databases(PolicySource):
    """Tables and views of a database file, whatever its name ends in."""

    name = "duckdb"
    described = "a DuckDB database file"

    def takes(self, source: str, table: str | None) -> bool:
        """Any path that has a table, where no other kind knows it."""
        if table is None and _suffix(source) in DATABASES:
            raise InputError(
                'a DuckDB database needs the name of its table: write table = "main.trips"'
            )
        return table is not None

    def open(self, source: str, table: str | None, declared: Declared, csv: CsvFormat) -> Engine:
        """The engine of its table."""
        from postri.engines.duckdb.source import database_engine

        return database_engine(source, str(table))

    def places(self, source: str, table: str | None) -> set[tuple[str, ...]]:
        """The file and the table."""
        from postri.engines.sql.dialect import qualified_name

        return {(os.path.realpath(source), qualified_name(table or "", "main"))}


def _stamp(state: os.stat_result) -> tuple[int, ...]:
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


def _suffix(path: str) -> str:
    """The ending of a name; of a compressed file, with the one before it."""
    from pathlib import Path

    file = Path(path)
    suffix = file.suffix.lower()
    if suffix in COMPRESSED:
        return Path(file.stem).suffix.lower() + suffix
    return suffix


def matching_files(path: str) -> list[str]:
    """The files that a path means, in the order of their names."""
    from glob import glob
    from pathlib import Path

    if Path(path).is_file():
        paths = [path]
    elif set(path) & PATTERN:
        paths = sorted(found for found in glob(path, recursive=True) if Path(found).is_file())
    elif path.startswith(("http://", "https://")):
        raise InputError(
            f"{path!r} is an address, and nothing is fetched: save the file here, and name that"
        )
    else:
        raise InputError(f"there is no file {path!r}" + _files_beside(Path(path)))
    if not paths:
        raise InputError(f"no file matches {path!r}")
    for found in paths:
        marks = set(found) & PATTERN
        if marks:
            raise InputError(
                f"the name of a file may not hold {' or '.join(sorted(marks))}, got "
                f"{found!r}; rename it"
            )
    return paths


def _files_beside(file: Path) -> str:
    """A hint: the files beside it that can be read."""
    folder = file.parent
    if not folder.is_dir():
        return ""
    readable = CSV + PARQUET
    names = sorted(other.name for other in folder.glob("*") if _suffix(str(other)) in readable)
    if not names:
        return ""
    return f" in {str(folder)!r}; {nearest(file.name, names)}"


register(
    EngineKind(
        "duckdb",
        python_sources=(Files(), Relations()),
        policy_sources=(
            FilesOfFormat("csv", CSV, declares_types=False),
            FilesOfFormat("parquet", PARQUET, declares_types=True),
            Databases(),
        ),
    )
)
