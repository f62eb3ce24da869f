"""Spark: a data frame that stays on its cluster, or a table or files that a policy names there.

PySpark loads with `source.py` and `connection.py`.

Spark has no transaction over a data frame: each scan reads what its sources hold by then. One
that shall not change between two scans is cached, or comes from a table format with versions.
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

SPARK = re.compile(r"\s*(?:spark|sc):", re.IGNORECASE)
HOST = r"(?:[\w.-]+|\[[\da-fA-F:]+\])"
LOCAL = re.compile(r"spark://(?P<master>local(?:\[(?:\*|[1-9]\d*)\])?)")
CLUSTER = re.compile(rf"(?P<master>spark://{HOST}:\d+(?:,{HOST}:\d+)*)")
CONNECT = re.compile(rf"sc://(?P<host>{HOST})(?::(?P<port>\d+))?(?:/(?:;(?P<parameters>.*))?)?")
USUAL_PORT = "15002"
SECRET = "token"
TOKEN_LEFT_OUT = (
    "the token is left out: give it as SPARK_CONNECT_AUTHENTICATE_TOKEN, or write /;token="
)

# A path as Spark sees it: of the file system that is usual there, or with the scheme of one.
WHOLE_PATH = re.compile(r"/|[a-zA-Z][\w+.-]*:/")
LOCAL_FILE = re.compile(r"file:/*(?=/)")
PART = re.compile(r"`(?:[^`]|``)+`|[^.`]+")
NAME = re.compile(rf"(?:{PART.pattern})(?:\.(?:{PART.pattern}))*")
# Where Spark looks for a table whose name says no more.
USUAL_SCHEMA = ("spark_catalog", "default")


class SparkFrames(PythonSource):
    """Data frames of PySpark, classic or Connect."""

    def takes(self, source: Any) -> bool:
        """By its class, wherever that is defined."""
        kind = type(source)
        return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")

    def open(self, source: Any, types: Types, csv: CsvFormat) -> Engine:
        """The engine of a frame."""
        from postri.engines.spark.plan import doubts_of
        from postri.engines.spark.source import SparkSource
        from postri.engines.sql.engine import SqlEngine

        frame = SparkSource(source)
        return SqlEngine(frame, frame.types(), doubts=doubts_of(source))


class SparkTables(PolicySource):
    """Tables of Spark's catalogue, and Parquet files on storage that Spark sees."""

    name = "spark"
    described = "a Spark URL"
    is_path = False
    # The JVM or the server counts, and is told to stop: a session is shared by all questions.
    counts_here = False

    def takes(self, source: str, table: str | None) -> bool:
        """A URL of Spark. A token may stand in one that is misspelt, so nothing of it is shown."""
        if not SPARK.match(source):
            return False
        if not any(form.fullmatch(source) for form in (LOCAL, CLUSTER, CONNECT)):
            raise InputError(
                "source is not the URL of a Spark; write spark://local or spark://local[4] for one "
                "on this machine, spark://host:7077 for a cluster, sc://host:15002 for Spark "
                "Connect"
            )
        if table is None:
            raise InputError(
                'a Spark source needs its table: write table = "schema.table", or the path of '
                'Parquet files as Spark sees it, such as table = "s3a://bucket/trips/*.parquet"'
            )
        _check_table(table)
        return True

    def open(self, source: str, table: str | None, declared: Declared, csv: CsvFormat) -> Engine:
        """The engine of its table or files."""
        from postri.engines.spark.catalogue import files_engine, table_engine
        from postri.engines.spark.connection import session_of

        session = session_of(source)
        name = str(table)
        if is_files(name):
            return files_engine(session, name)
        return table_engine(session, name)

    def places(self, source: str, table: str | None) -> set[tuple[str, ...]]:
        """The server and the table; or the files, which are those of others if they lie here."""
        name = table or ""
        if not is_files(name):
            parts = [part.lower() for part in parts_of(name)]
            return {(_server(source), *USUAL_SCHEMA[: max(0, 3 - len(parts))], *parts)}
        if ":/" in name and not name.startswith("file:"):
            return {(name,)}
        here = set()
        if LOCAL.fullmatch(source):
            here = {(file,) for file in _files_here(name)}
        return here | {(_server(source), name)}

    def written(self, source: str, folder: str | os.PathLike[str] | None) -> tuple[str, str]:
        """The URL without its token."""
        bare = without_token(source)
        if bare == source:
            return bare, ""
        return bare, TOKEN_LEFT_OUT


def _check_table(table: str) -> None:
    if is_files(table):
        if not WHOLE_PATH.match(table):
            raise InputError(
                f"the files of a Spark source must be a whole path, such as /data/trips/*.parquet "
                f"or s3a://bucket/trips, got {table!r}"
            )
    elif not NAME.fullmatch(table):
        raise InputError(
            f"table must be a name such as schema.table, with `a.b` for a part that has a dot, got "
            f"{table!r}"
        )


def is_files(table: str) -> bool:
    """Whether a policy names files and no table of the catalogue: only a path has a slash."""
    return "/" in table


def parts_of(table: str) -> list[str]:
    """The parts of a table's name, as they are without quotes.

    >>> parts_of("city.`a.b`.trips")
    ['city', 'a.b', 'trips']
    """
    return [_bare(part) for part in PART.findall(table)]


def _bare(part: str) -> str:
    if part.startswith("`"):
        return part[1:-1].replace("``", "`")
    return part


def master_of(source: str) -> str | None:
    """The master that Spark is started with, or None for Spark Connect, which runs already.

    >>> master_of("spark://local"), master_of("spark://local[2]"), master_of("spark://big:7077")
    ('local[*]', 'local[2]', 'spark://big:7077')
    """
    found = LOCAL.fullmatch(source) or CLUSTER.fullmatch(source)
    if found is None:
        return None
    master = found["master"]
    if master == "local":
        return "local[*]"
    return master


def host_and_port(source: str) -> tuple[str, int]:
    """Where a server of Spark Connect listens.

    >>> host_and_port("sc://Spark.example/;use_ssl=true")
    ('spark.example', 15002)
    """
    found = CONNECT.fullmatch(source)
    assert found is not None
    return found["host"].strip("[]").lower(), int(found["port"] or USUAL_PORT)


def _server(source: str) -> str:
    """What tells two Sparks apart: a local one has the catalogue of this machine."""
    if LOCAL.fullmatch(source):
        return "spark://local"
    if master := master_of(source):
        return master.lower()
    host, port = host_and_port(source)
    return f"sc://{host}:{port}"


def _files_here(path: str) -> set[str]:
    """The files of this machine that a path means, as Spark takes it: those of a folder too."""
    from glob import glob
    from pathlib import Path

    files: set[str] = set()
    for found in glob(LOCAL_FILE.sub("", path, count=1)):
        place = Path(found)
        below = place.rglob("*") if place.is_dir() else [place]
        files.update(os.path.realpath(file) for file in below if file.is_file())
    return files


def without_token(source: str) -> str:
    """The URL of a server without what tells who may ask it.

    >>> without_token("sc://spark:15002/;use_ssl=true;token=secret")
    'sc://spark:15002/;use_ssl=true'
    """
    found = CONNECT.fullmatch(source)
    if found is None or not found["parameters"]:
        return source
    parameters = found["parameters"].split(";")
    kept = [each for each in parameters if each.partition("=")[0].strip().lower() != SECRET]
    if kept == parameters:
        return source
    bare = source[: found.start("parameters")].removesuffix("/;")
    if kept:
        bare += f"/;{';'.join(kept)}"
    return bare


register(
    EngineKind("spark", python_sources=(SparkFrames(),), policy_sources=(SparkTables(),)),
)
