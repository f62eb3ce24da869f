"""A real PostgreSQL server for the tests: from the system's programs, in a folder of its own, gone
afterwards.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

SECRET = "pass-xq-word"
NULL = r"\N"


@dataclass(frozen=True)
class PostgresServer:
    """A running server."""

    port: int
    data: Path

    def restart(self, *, standby: bool = False) -> None:
        """Stop it and start it again; as a standby that follows nobody, if asked."""
        signal = self.data / "standby.signal"
        signal.unlink(missing_ok=True)
        if standby:
            signal.touch()
            if os.getuid() == 0:
                shutil.chown(signal, "postgres")
        programs = _programs()
        assert programs is not None
        _run(programs / "pg_ctl", "-D", self.data, "-w", "-m", "fast", "restart")

    def url(
        self, user: str = "postgres", password: str = SECRET, database: str = "postgres"
    ) -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def connect(self, **how: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url(), **({"autocommit": True} | how))

    def run(self, *commands: str) -> None:
        """As the owner of everything."""
        with self.connect() as connection:
            for command in commands:
                connection.execute(command.encode())

    def run_in(self, database: str, *commands: str) -> None:
        """The same in another database."""
        with psycopg.connect(self.url(database=database), autocommit=True) as connection:
            for command in commands:
                connection.execute(command.encode())

    def load(self, table: str, declared: str, rows: Sequence[Any], column: str = "x") -> str:
        """A fresh table with one column of this type beside one of texts; a cell is a text as the
        server reads it, or None.
        """
        self.run(
            f"DROP TABLE IF EXISTS {table} CASCADE",
            f"CREATE TABLE {table} (other text, {column} {declared})",
        )
        with self.connect() as connection, connection.cursor() as cursor:
            with cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
                copy.write("".join(f"wide text\t{NULL if row is None else row}\n" for row in rows))
            cursor.execute(f"ANALYZE {table}".encode())
        return table


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for a run of the tests."""
    if _programs() is None:
        reason = (
            "PostgreSQL's initdb and pg_ctl are not here: install the system's PostgreSQL server"
        )
        if os.environ.get("POSTRI_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    with postgres_server() as server:
        yield server


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """A server of its own; one that is durable waits for the disk."""
    programs, folder = _programs(), Path(tempfile.mkdtemp(prefix="postri-postgres-"))
    assert programs is not None
    data, port = folder / "data", _free_port()
    (folder / "password").write_text(SECRET)
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
        shutil.chown(folder / "password", "postgres")
    waits = "off"
    if durable:
        waits = "on"
    settings = {
        "fsync": waits,
        "full_page_writes": waits,
        "listen_addresses": "127.0.0.1",
        "port": port,
        "synchronous_commit": waits,
        "unix_socket_directories": folder,
    }
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    try:
        _run(
            programs / "initdb",
            *(
                "-D",
                data,
                "-U",
                "postgres",
                "-A",
                "scram-sha-256",
                "--pwfile",
                folder / "password",
                "--no-sync",
                "-E",
                "UTF8",
            ),
        )
        _run(programs / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "-o", options, "start")
        try:
            yield PostgresServer(port, data)
        finally:
            _run(programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(*words: object) -> None:
    """As another user where this one is root, whom the server refuses."""
    user: dict[str, Any] = (
        {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
    )
    subprocess.run(
        [str(word) for word in words],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd="/",
        timeout=120,
        **user,
    )


def _programs() -> Path | None:
    """The folder of the newest server's programs."""

    def version(folder: Path) -> float:
        name = folder.parent.name
        return float(name) if name.replace(".", "", 1).isdigit() else 0.0

    found = shutil.which("initdb")
    folders = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=version, reverse=True),
        *([Path(found).parent] if found else []),
    ]
    return next(
        (
            folder
            for folder in folders
            if (folder / "initdb").exists() and (folder / "pg_ctl").exists()
        ),
        None,
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
