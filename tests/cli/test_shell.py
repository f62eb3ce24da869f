"""`postri shell` in a real terminal: what a person types, and what stands on the screen."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from bank import STAFF_COLUMNS, dataset_text
from postri.ledger import SqliteLedger

POSTRI = Path(sys.executable).with_name("postri")
POLICY = dataset_text(
    "staff", source="staff.csv", budget="3", rows=500, columns=STAFF_COLUMNS
) + dataset_text(
    "slow",
    source="slow.duckdb",
    table="main.slow",
    more="vouched = true",
    budget="3",
    rows=None,
    columns={"x": 'type = "integer"\nlower = 0\nupper = 100'},
)
# Seconds that something may take to show, on a machine that is busy with other tests.
PATIENCE = 120


class Terminal:
    """A screen of 110 columns that a shell runs on."""

    def __init__(self, folder: Path) -> None:
        self.name, self.folder = f"postri-{os.getpid()}-{random.randrange(10**9)}", folder
        environment = (
            f"HOME={folder} POSTRI_HISTORY={folder}/history POSTRI_ANALYST=ann TERM=screen"
        )
        self._tmux(
            "new-session",
            "-d",
            "-x",
            "110",
            "-y",
            "50",
            "-c",
            str(folder),
            f"env -u POSTRI_POLICY {environment} {POSTRI} shell --epsilon 1; sleep 600",
        )

    def _tmux(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-L", self.name, *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        ).stdout

    def type(self, *keys: str) -> None:
        """Press keys: text as it is, others by their names."""
        # A semicolon at the end of a word would end the command of tmux.
        self._tmux("send-keys", *(re.sub(";$", r"\\;", key) for key in keys))

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait(self, pattern: str, times: int = 1) -> str:
        """The screen, once the pattern stands on it so often."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if len(re.findall(pattern, screen := self.screen())) >= times:
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{pattern!r} does not show:\n{self.screen()}")

    def wait_for_spending(self) -> None:
        """Until the question that was asked has begun."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if (self.folder / "postri.ledger").exists():
                with SqliteLedger(self.folder / "postri.ledger", audit=True) as ledger:
                    if ledger.spent("slow").epsilon:
                        return
            time.sleep(0.1)
        raise AssertionError("nothing was spent")

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture
def terminal(tmp_path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        if os.environ.get("POSTRI_REQUIRE_ALL") == "1":
            pytest.fail("tmux is not installed, and POSTRI_REQUIRE_ALL is set")
        pytest.skip("needs tmux: make services installs it")
    people = random.Random(4)
    rows = [
        f"{30_000 + people.randint(0, 5_000)},{people.choice(['blue', 'red'])}" for _ in range(500)
    ]
    (tmp_path / "staff.csv").write_text("\n".join(["salary,team", *rows]))
    (tmp_path / "postri.toml").write_text(POLICY)
    with duckdb.connect(str(tmp_path / "slow.duckdb")) as connection:
        connection.execute(
            "CREATE VIEW slow AS SELECT (a.range + b.range) % 100 AS x FROM range(1000000) "
            "a, range(1000000) b"
        )
    shell = Terminal(tmp_path)
    try:
        shell.wait("postri>")
        yield shell
    finally:
        shell.close()


@pytest.mark.slow
def test_a_question_with_its_price_first_then_its_answer_and_its_picture(terminal):
    terminal.type("SELECT team, COUNT(*) AS n", "Enter")
    terminal.wait(r"\.\.\.>")
    terminal.type("FROM staff GROUP BY team;", "Enter")
    screen = terminal.wait(r"ask\? \[Y/n\]")
    assert "costs epsilon 1, of 3 that is left" in screen
    assert "count: the 95% interval of the count will reach 3 to each side" in screen
    terminal.type("Enter")
    assert re.search(
        r"team +n +n_low +n_high",
        terminal.wait("protects adding or removing any one row at epsilon 1"),
    )
    terminal.type("\\budget", "Enter")
    terminal.wait(r"staff: 2 left of 3 \(pure\); you spent 1")
    terminal.type("\\plot staff.svg", "Enter")
    terminal.wait("saved staff.svg")
    assert (terminal.folder / "staff.svg").stat().st_size > 1_000


@pytest.mark.slow
def test_no_is_no(terminal):
    terminal.type("SELECT COUNT(*) FROM staff;", "Enter")
    terminal.wait(r"ask\? \[Y/n\]")
    terminal.type("n", "Enter")
    terminal.type("\\budget", "Enter")
    terminal.wait(r"staff: 3 left of 3")


@pytest.mark.slow
def test_names_are_completed_and_lines_remembered(terminal):
    terminal.type("SEL", "Tab", " MED", "Tab", "sal", "Tab")
    terminal.wait(r"SELECT\s+MEDIAN\(\s?salary")
    terminal.type("C-c")
    terminal.type("\\d sta", "Tab", "Enter")
    terminal.wait("team: text, keys blue, red")
    terminal.type("\\epsilon 0.5", "Enter")
    terminal.wait("each question may cost epsilon 0.5")
    terminal.type("Up", "Enter")
    terminal.wait("each question may cost epsilon 0.5", times=2)
    terminal.type("SELECT MEDIAN(salary) FROM staff WHERE team = 'red';", "Enter")
    terminal.wait(r"tell about how many rows match \(\\expect 30000\)")
    terminal.type("n", "Enter")
    terminal.type("\\expect 250", "Enter")
    terminal.wait("about 250 rows are expected to match")
    terminal.type("SELECT MEDIAN(salary) FROM staff WHERE team = 'red';", "Enter")
    terminal.wait(r"of the median of 250\s+rows")
    terminal.type("n", "Enter")
    terminal.type("C-d")
    history, end = terminal.folder / "history", time.monotonic() + PATIENCE
    while not (history.exists() and history.read_text()) and time.monotonic() < end:
        time.sleep(0.1)
    assert "\\epsilon 0.5" in history.read_text()
    assert (terminal.folder / "history").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_an_error_points_at_its_place_and_the_shell_goes_on(terminal):
    terminal.type("SELECT MEDIAN(salry) FROM staff;", "Enter")
    screen = terminal.wait(r"\^\^\^\^\^")
    assert "did you mean 'salary'" in screen
    line = next(line for line in screen.splitlines() if line.startswith("  SELECT"))
    carets = next(line for line in screen.splitlines() if "^" in line)
    assert line[carets.index("^") : carets.rindex("^") + 1] == "salry"
    terminal.type("\\wrong", "Enter")
    terminal.wait(r"there is no command \\wrong; \\\? shows")
    terminal.type("\\?", "Enter")
    terminal.wait("Ctrl-C cancels")


@pytest.mark.slow
def test_ctrl_c_cancels_the_line_and_the_query(terminal):
    terminal.type("SELECT nonsense", "C-c")
    terminal.wait("postri>", times=2)
    terminal.type("SELECT SUM(x) FROM slow;", "Enter")
    terminal.wait(r"ask\? \[Y/n\]")
    terminal.type("Enter")
    terminal.wait_for_spending()
    terminal.type("C-c")
    terminal.wait("cancelled; if the question had begun, it is paid for")
    terminal.type("\\budget", "Enter")
    terminal.wait(r"slow: 2 left of 3")
