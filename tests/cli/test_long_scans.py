"""A long scan says on a terminal how far it is and how long it will take. Ctrl-C ends it at once,
and nothing is left behind.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from bank import dataset_text
from postri.cli import INTERRUPTED
from program import FORGOTTEN

PROGRAM = Path(__file__).with_name("long_scans.py")
# Guards against waiting for ever, in seconds.
PATIENCE = 60
# A bar with the share that is done, the time that it took, and the time that is left: hours, of
# which rich says so much, or days.
BAR = re.compile(r"counting .*\d+% \d+:\d\d:\d\d left: (\d+:\d\d:\d\d|\d+ days?)")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
POLICY = dataset_text(
    "staff",
    source="staff.duckdb",
    table="staff",
    budget="3",
    rows=100,
    columns={"x": 'type = "integer"\nlower = 0\nupper = 1000'},
)
# The first is read without typer, the others by it.
COMMANDS = {
    "plain, CSV": ("median", "staff.csv", "x", "--type", "integer", "--epsilon", "1"),
    "typer, Parquet": ("distribution", "staff.parquet", "x", "--epsilon", "1"),
    "policy, DuckDB": ("ask", "staff", "median(x)", "--epsilon", "1"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Small tables, and an empty folder for temporary files."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / "postri.toml").write_text(POLICY)
    rows = "SELECT CAST(range AS INTEGER) AS x FROM range(100)"
    with duckdb.connect(tmp_path / "staff.duckdb") as connection:
        connection.execute(f"CREATE TABLE staff AS {rows}")
        for name in ("staff.csv", "staff.parquet"):
            connection.execute(f"COPY staff TO '{tmp_path / name}'")
    return tmp_path


class Terminal:
    """A program whose words go to a terminal, in a group of processes of its own."""

    def __init__(self, process: subprocess.Popen[str], screen: int) -> None:
        self.process = process
        self._screen = screen
        self.shown = ""

    def wait_for(self, pattern: re.Pattern[str]) -> None:
        """Read until this stands on the terminal."""
        while not pattern.search(ESCAPES.sub("", self.shown)):
            assert self._read(), f"it ended after {self.shown!r}"

    def _read(self) -> bool:
        """Whether there was something: the system fails to read where nobody can write any more."""
        try:
            found = os.read(self._screen, 4096)
        except OSError:
            return False
        self.shown += found.decode(errors="replace")
        return bool(found)

    def interrupt(self) -> int:
        """As Ctrl-C does, to all of the group; the exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def has_processes(self) -> bool:
        """Whether any of the group is left."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True


@contextmanager
def on_terminal(*words: str, folder: Path) -> Iterator[Terminal]:
    screen, keyboard = os.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in FORGOTTEN}
    surroundings = {"COLUMNS": "100", "TERM": "xterm", "TMPDIR": str(folder / "temporary")}
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=keyboard,
        text=True,
        start_new_session=True,
        env={**kept, **surroundings},
    )
    os.close(keyboard)
    # A scan that is never drawn would be read for ever.
    guard = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(PATIENCE)
    try:
        yield Terminal(process, screen)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, guard)
        process.kill()
        process.communicate()
        os.close(screen)


def _too_long(*_: object) -> None:
    raise AssertionError(f"nothing happened for {PATIENCE} seconds")


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_long_scan_shows_what_is_left_and_ends_at_once_without_a_trace(
    folder: Path, command: str
) -> None:
    before = {path.name for path in folder.iterdir()}
    with on_terminal(*COMMANDS[command], folder=folder) as terminal:
        terminal.wait_for(BAR)
        code = terminal.interrupt()
        assert code == INTERRUPTED
        assert not terminal.has_processes()
        assert terminal.process.stdout is not None
        assert terminal.process.stdout.read() == ""
    words = ESCAPES.sub("", terminal.shown)
    assert "Traceback" not in words and "KeyboardInterrupt" not in words
    assert list((folder / "temporary").iterdir()) == []
    # A question to a policy leaves its ledger, in which nothing is spent.
    left = {path.name for path in folder.iterdir()} - before
    assert {name for name in left if not name.startswith("postri.ledger")} == set()
