"""Every command is a real process: with its exit code, its two streams, and nothing heavy loaded
for its help. Some of them start from nothing; under `make prove` all do.

`postri serve` is started by the tests of the service, `postri shell` by those of the terminal.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bank import dataset_text
from postri.cli import app
from program import start

POLICY = dataset_text(
    "staff",
    source="staff.csv",
    budget="3",
    rows=100,
    columns={"salary": 'type = "integer"\nlower = 0\nupper = 1000'},
)
FILE = ("staff.csv", "salary", "--lower", 0, "--upper", 1_000)
COMMANDS = {
    "median": ("median", *FILE, "--epsilon", 1, "--json"),
    "quantile": ("quantile", *FILE[:2], 0.9, *FILE[2:], "--epsilon", 1, "--json"),
    "plan": ("plan", "--rows", 1_000, "--epsilon", 1, "--json"),
    "check": ("check", "--json"),
    "look": ("look", "staff.csv", "--json"),
    "ask": ("ask", "staff", "count()", "--epsilon", 1, "--json"),
    "sql": ("sql", "SELECT COUNT(*) AS n FROM staff", "--epsilon", 1, "--json"),
    "budget": ("budget", "--json"),
    "distribution": ("distribution", *FILE, "--epsilon", 1, "--json"),
    "compare": ("compare", *FILE, "--epsilon", 1, "--methods", "depth", "--runs", 2, "--json"),
    "token": ("token", "list", "--json"),
}
# One that is read without typer, one with a policy, and one that needs neither.
FROM_NOTHING = ("quantile", "ask", "plan")
ELSEWHERE = {
    "audit": (("audit", "--only", "nothing"), 2),
    "demo": (("demo", "--out", "shown"), 0),
    "ledger": (("ledger", "copy", "nowhere.db", "new.db"), 2),
    "init": (("init", "staff.csv", "--out", "new.toml"), 0),
    "open_again": (("open-again", "stuff"), 2),
    "reproduce": (("reproduce", "--data", "nowhere"), 2),
    "serve": (("serve", "--certificate", "x.pem"), 2),
    "shell": (("shell", "--epsilon", "-1"), 2),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "staff.csv").write_text("salary\n" + "".join(f"{i}\n" for i in range(100)))
    (tmp_path / "postri.toml").write_text(POLICY)
    return tmp_path


def test_every_command_is_started_here():
    commands = {each.name or each.callback.__name__ for each in app.registered_commands}
    assert commands | {group.name for group in app.registered_groups} == {*COMMANDS, *ELSEWHERE}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_json_and_nothing_else(folder, command):
    out, err = start(*COMMANDS[command], folder=folder, is_cold=command in FROM_NOTHING)
    assert json.loads(out) is not None
    assert err == ""


@pytest.mark.slow
@pytest.mark.parametrize("command", ELSEWHERE)
def test_a_command_ends_with_its_exit_code(folder, command):
    words, code = ELSEWHERE[command]
    _, err = start(*words, folder=folder, code=code)
    assert err != ""


@pytest.mark.slow
def test_a_wrong_request_and_a_spent_budget_have_their_exit_codes(folder):
    assert (
        "did you mean" in start("ask", "stuff", "count()", "--epsilon", 1, folder=folder, code=2)[1]
    )
    assert "short by" in start("ask", "staff", "count()", "--epsilon", 5, folder=folder, code=3)[1]


def test_help_loads_no_heavy_library():
    code = """if True:
        import sys
        sys.argv = ["postri", "--help"]
        from postri.cli import main
        try:
            main()
        except SystemExit:
            print(sorted({"numpy", "duckdb", "matplotlib", "pandas", "flint"} & set(sys.modules)))
    """
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.strip().endswith("[]")
