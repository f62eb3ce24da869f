"""Any computer: what differs between systems is in one file, and without it the rest works on."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
import serving

import elsewhere
import postri
import program
from bank import dataset_text, spent
from postri import system

PACKAGE = Path(postri.__file__).parent
ONE_FILE = PACKAGE / "system.py"
# Arguments of subprocess.Popen that Windows does not take.
POPEN_ONLY = {"pass_fds", "preexec_fn", "process_group", "start_new_session", "umask", "user"}
# Folders of one system.
PLACES = ("/dev/", "/proc/", "/tmp")


def run_elsewhere(code: str, *libraries: str) -> str:
    """What a program prints on a computer that is not like this one."""
    told = ", ".join(map(repr, libraries))
    done = subprocess.run(
        [sys.executable, "-c", f"import elsewhere; elsewhere.go({told})\n{code}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def bound_names(tree: ast.AST) -> set[str]:
    """The modules and names of one system that a file uses."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & {*elsewhere.MODULES, "msvcrt"}
        elif isinstance(node, ast.ImportFrom):
            if node.module in ("os", "signal"):
                found |= {alias.name for alias in node.names}
            found |= {node.module} & {*elsewhere.MODULES, "msvcrt"}
        elif isinstance(node, ast.Attribute):
            found |= {node.attr} & {*elsewhere.OS_NAMES, *elsewhere.SIGNAL_NAMES, "AF_UNIX"}
        elif isinstance(node, ast.keyword) and node.arg is not None:
            found |= {node.arg} & POPEN_ONLY
        elif isinstance(node, ast.Constant) and str(node.value).startswith(PLACES):
            found.add(node.value)
    # Line editing: looked for where it is used, and done without.
    return found - {"readline"}


class TestOneFile:
    @pytest.mark.slow
    def test_no_other_file_names_what_is_of_one_system(self):
        found = {
            path.relative_to(PACKAGE).as_posix(): names
            for path in PACKAGE.rglob("*.py")
            if path != ONE_FILE and (names := bound_names(ast.parse(path.read_text("utf-8"))))
        }
        assert found == {}

    def test_the_check_sees_what_it_looks_for(self):
        assert {"fcntl", "resource", "SIGKILL", "fchmod", "pass_fds", "/dev/fd"} <= bound_names(
            ast.parse(ONE_FILE.read_text("utf-8"))
        )
        for planted in ("import pwd", "os.O_NOFOLLOW", "from os import fork", "signal.SIGALRM"):
            assert bound_names(ast.parse(planted)), planted

    def test_what_is_taken_away_is_there_on_this_system(self):
        """Else nothing would be tried."""
        if sys.platform == "linux":
            names = {*dir(os), *dir(signal)}
            assert {"O_NOFOLLOW", "fchmod", "register_at_fork", "SIGKILL"} <= names


@pytest.mark.slow
class TestElsewhere:
    """As on Windows: no fcntl, no resource, no forks, no rights in a file's mode."""

    def test_every_module_can_be_imported(self):
        code = """
import importlib, pkgutil, postri
names = [each.name for each in pkgutil.walk_packages(postri.__path__, "postri.")]
for name in names:
    importlib.import_module(name)
print(len(names) > 200)
"""
        assert run_elsewhere(code, "fastapi", "uvicorn", "matplotlib") == "True"

    def test_medians_questions_a_ledger_and_the_command_line(self, tmp_path):
        policy = write_bank(tmp_path)
        (tmp_path / "latin.csv").write_bytes("x,n\n1,\xe9\n2,b\n".encode("latin-1"))
        code = f"""
import os, sys
import numpy as np
import postri
from postri import agg
from postri.cli import main

os.chdir({str(tmp_path)!r})
domain = postri.Domain(0, 1000)
answer = postri.median(np.arange(1000), epsilon=5, domain=domain)
assert 400 < answer.value < 600
result = postri.ask("bank.csv", {{"mid": agg.median("x"), "n": agg.count()}}, epsilon=10)
assert len(result.rows) == 1
latin = postri.open("latin.csv", encoding="latin-1")
assert 0 <= postri.count(latin, epsilon=50, where="n = 'b'").value <= 3
for number in range(3):
    with postri.connect("postri.toml", analyst="ann") as db:
        db.median("bank", "x", epsilon="1/2", fresh=True)
sys.argv = ["postri", "median", "bank.csv", "x", "--epsilon", "1", "--json"]
main()
"""
        assert '"value"' in run_elsewhere(code)
        # The same files on this system: the chain is whole, and the head is its own.
        assert spent(policy) == Fraction(3, 2)

    def test_a_remote_session(self, tmp_path):
        with serving.in_thread(serving.write_policy(tmp_path)) as served:
            code = f"""
import postri
with postri.connect("http://127.0.0.1:{served.port}", token={served.ann!r}) as db:
    print(db.analyst, db.median("bank", "x", epsilon="1/2").epsilon)
"""
            assert run_elsewhere(code).split() == ["ann", "1/2"]


class TestWithout:
    def test_locks_the_ledger_says_so(self, tmp_path, monkeypatch):
        policy = write_bank(tmp_path)
        monkeypatch.setattr(system, "fcntl", None)
        with pytest.raises(postri.LedgerError, match="no locks for files"):
            postri.connect(policy, analyst="ann")

    def test_limits_the_service_says_where_it_runs(self, tmp_path, monkeypatch):
        monkeypatch.setattr(system, "resource", None)
        _, said = program.run("serve", write_bank(tmp_path), code=1)
        assert "on Windows start it in WSL" in said


class TestReplacing:
    def test_a_file_that_is_open_is_replaced_or_written_over(self, tmp_path, monkeypatch):
        for is_posix in (True, False):
            path, new = tmp_path / "head", tmp_path / "new"
            path.write_bytes(b"old and longer")
            new.write_bytes(b"new")
            file = system.open_there(path, writable=True)
            if not is_posix:
                monkeypatch.setattr(system, "fcntl", None)
            system.replace(file, path, new)
            os.close(file)
            assert path.read_bytes() == b"new" and not new.exists()

    def test_a_file_with_a_name_goes_with_whoever_holds_it(self, monkeypatch):
        monkeypatch.setattr(os.path, "isdir", lambda path: False)
        file, path = system.unnamed_file()
        file.write(b"x")
        file.flush()
        assert Path(path).read_bytes() == b"x"
        del file
        assert not Path(path).exists()


def write_bank(folder: Path) -> Path:
    """A policy with one table of whole numbers."""
    (folder / "bank.csv").write_text("x\n" + "\n".join(str(each % 97) for each in range(400)))
    column = 'type = "integer"\nlower = 0\nupper = 100\n'
    path = folder / "postri.toml"
    path.write_text(dataset_text(source="bank.csv", rows=400, columns={"x": column}))
    return path
