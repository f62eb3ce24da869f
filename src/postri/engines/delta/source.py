"""The rows of one version of a Delta table: its Parquet files, counted inside DuckDB.

The cells of columns by which a table is partitioned are in the log alone, as texts: they become
cells inside DuckDB, where one that is none of its type is dropped. A column that came later than a
file has no cells there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Sequence
from glob import escape
from itertools import count

from postri.engines.delta.log import Action, DeltaVersion, delta_version
from postri.engines.duckdb.parquet import ROW_NUMBER, ParquetEngine, ParquetSource
from postri.engines.duckdb.source import NUMBER_OF_ROWS, Database, literal
from postri.engines.sql.dialect import filled
from postri.errors import InputError, SourceError

DUCKDB_TYPES = {
    **{"byte": "TINYINT", "short": "SMALLINT", "integer": "INTEGER", "long": "BIGINT"},
    **{"float": "FLOAT", "double": "DOUBLE", "boolean": "BOOLEAN", "string": "VARCHAR"},
    **{"date": "DATE", "timestamp_ntz": "TIMESTAMP", "timestamp": "TIMESTAMP WITH TIME ZONE"},
    "binary": "BLOB",
}
DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
# In which zone such a text is written, the log does not say.
IN_NO_ZONE = "timestamp"
UNZONED = "timestamp in the names of partitions"

# A column that came later is missing in older files. The name of a file tells its shared cells.
BY_NAME = "union_by_name = true, filename = {file}"
NO_FILES = "(SELECT '' AS {file} WHERE false) AS nothing"
SHARED = "shared"
ROWS = """
    (
        SELECT {columns}
        FROM (SELECT * FROM {rows}) AS stored{joined}{kept}
    ) AS delta
"""
JOINED = " LEFT JOIN {shared} AS shared ON shared.file = stored.{file}"
DELETED = "deleted"
KEPT = " ANTI JOIN deleted ON deleted.file = stored.{file} AND deleted.place = stored.{number}"
CHECKPOINT = """
    read_parquet({files}, hive_partitioning = false, filename = false, utf8_validation = 'replace')
"""
WRITTEN = """
    SELECT CAST(to_json(struct_pack({members})) AS VARCHAR) AS written
    FROM (
        SELECT unnest({action})
        FROM {relation}
        WHERE {some} IS NOT NULL
    ) AS actions
"""
# What a checkpoint is read for, and by what an action of that kind is known.
PARTS = {
    "protocol": ("minReaderVersion", "readerFeatures"),
    "metaData": ("schemaString", "partitionColumns", "configuration"),
    "add": ("path", "partitionValues", "deletionVector"),
}
GONE = (
    "files of version {number} of the Delta table are gone, as after VACUUM; open a newer version"
)


class DeltaSource(ParquetSource):
    """The files of a version, with the cells that the log tells."""

    def __init__(self, table: DeltaVersion) -> None:
        paths = [file.path for file in table.files]
        if not all(map(os.path.isfile, paths)):
            raise SourceError(GONE.format(number=table.number))
        self._table = table
        taken = {name.lower() for name in table.columns}
        names = map("file {}".format, count())
        self._file = next(name for name in names if name not in taken)
        options = BY_NAME.format(file=literal(self._file))
        self._has_deleted = any(file.deleted is not None for file in table.files)
        if self._has_deleted:
            if ROW_NUMBER in taken:
                raise InputError(
                    f"a Delta table with deletion vectors must have no column {ROW_NUMBER}, which "
                    "is how DuckDB calls the number of a row"
                )
            options += f", {ROW_NUMBER} = true"
        super().__init__(paths, options)
        if not paths:
            self.marked = NO_FILES.format(file=self.dialect.name(self._file))
        self.stored = self._stored()
        self._columns = list(self._cells())
        if table.partitioned_by:
            self._keep_shared(paths)
        if self._has_deleted:
            self._keep_deleted()
        self.relation = self.whole(self.marked)

    def types(self) -> dict[str, str]:
        """The names of the columns, and DuckDB's names for what Delta declares."""
        types = {}
        for name, declared in self._table.columns.items():
            types[name] = _duckdb_type(declared) or declared
            if declared == IN_NO_ZONE and name in self._table.partitioned_by:
                types[name] = UNZONED
        return types

    @property
    def numbered(self) -> str:
        """The same rows with their numbers, which all readings have where some are deleted."""
        if self._has_deleted:
            return self.marked
        return super().numbered

    def whole(self, rows: str, more: Sequence[str] = ()) -> str:
        """Rows of the files that are not deleted, with all columns of the table, and with those
        that a reading adds.
        """
        joined = ""
        if self._table.partitioned_by:
            joined = JOINED.format(shared=SHARED, file=self.dialect.name(self._file))
        columns = [*self._columns, *map(self.dialect.name, more)]
        kept = ""
        if self._has_deleted:
            kept = KEPT.format(file=self.dialect.name(self._file), number=ROW_NUMBER)
        return filled(ROWS, columns=", ".join(columns), rows=rows, joined=joined, kept=kept)

    def estimate(self) -> int:
        """By the files alone, which tell their sizes: rows that are deleted are among them."""
        return int(self.columns(NUMBER_OF_ROWS.format(relation=self.marked))[0][0])

    def _stored(self) -> set[str]:
        """The columns that the files hold, of the types that the log declares, or InputError."""
        held = self.declared if self.number else {}
        stored = set()
        for name, declared in self._table.columns.items():
            types = held.get(name.lower())
            if types is None or name in self._table.partitioned_by:
                continue
            expected = _duckdb_type(declared)
            if expected is not None and types != {expected}:
                raise InputError(
                    f"the log of the Delta table declares the column {name!r} as {declared}, and "
                    f"its files hold {' and '.join(sorted(types))}; write them anew"
                )
            stored.add(name)
        return stored

    def _cells(self) -> Iterator[str]:
        """The cells of each column that can be asked about, in the terms of a file and the log."""
        places = {name: i for i, name in enumerate(self._table.partitioned_by)}
        for name, declared in self._table.columns.items():
            quoted = self.dialect.name(name)
            known = _duckdb_type(declared)
            if name in self.stored:
                yield f"stored.{quoted}"
            elif known is not None and name in places:
                yield f"TRY_CAST(shared.cell{places[name]} AS {known}) AS {quoted}"
            elif known is not None:
                yield f"CAST(NULL AS {known}) AS {quoted}"

    def _keep_shared(self, paths: Sequence[str]) -> None:
        cells = {
            f"cell{i}": [file.shared[name] for file in self._table.files]
            for i, name in enumerate(self._table.partitioned_by)
        }
        self.database.keep(SHARED, {"file": paths, **cells})

    def _keep_deleted(self) -> None:
        files = [(file.path, file.deleted) for file in self._table.files]
        self.database.keep_numbers(
            DELETED, {path: rows.tolist() for path, rows in files if rows is not None}
        )


class DeltaEngine(ParquetEngine):
    """The columns of a version of a Delta table."""

    _files: DeltaSource

    def _texts(self, columns: Collection[str]) -> list[str]:
        """Those of the files: what the log tells is text."""
        return [name for name in super()._texts(columns) if name in self._files.stored]

    def _check_stored(self, column: str) -> None:
        if column in self._files.stored:
            super()._check_stored(column)


def delta_engine(folder: str, version: int | None) -> DeltaEngine:
    """The engine of a version of the table in a folder; of the newest, if none is asked for."""
    return DeltaEngine(DeltaSource(delta_version(folder, version, _checkpoint)))


def _duckdb_type(declared: str) -> str | None:
    """DuckDB's name for a type that Delta declares; None for what is nested, or not known."""
    if found := DECIMAL.fullmatch(declared):
        return f"DECIMAL({found[1]},{found[2]})"
    return DUCKDB_TYPES.get(declared)


def _checkpoint(paths: Sequence[str]) -> Iterator[Action]:
    """The actions of a checkpoint, without the least and largest cells of the files."""
    plain = list(map(escape, paths))
    database = Database([*paths, *plain])
    relation = filled(CHECKPOINT, files=f"[{', '.join(map(literal, plain))}]")
    for action, members in PARTS.items():
        there = [name for name, _ in database.schema(f"SELECT unnest({action}) FROM {relation}")]
        statement = filled(
            WRITTEN,
            members=", ".join(f'"{name}" := "{name}"' for name in members if name in there),
            action=action,
            relation=relation,
            some=f'{action}."{members[0]}"',
        )
        for written in database.columns(statement)[0]:
            yield {action: json.loads(written)}
