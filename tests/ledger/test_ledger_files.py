"""Files: who may read them, and what happens when they cannot be used.

Nothing is lost, and every error says what to do.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
from filling import fill
from some_charges import ENOUGH, charge

from postri.errors import LedgerError
from postri.ledger import SqliteLedger, verify

ROOT = os.geteuid() == 0


@pytest.fixture(params=[0o000, 0o022, 0o277])
def umask(request, tmp_path) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


def test_nobody_else_may_read_any_of_the_files(umask, tmp_path):
    with SqliteLedger(tmp_path / "l") as ledger:
        ledger.reserve(charge(), ENOUGH)
        ledger.backup(tmp_path / "copy")
        assert modes(tmp_path) == dict.fromkeys(("l", "l-wal", "l-shm", "l.head", "copy"), 0o600)


def test_they_are_private_from_the_first_byte(tmp_path, monkeypatch):
    """The mode is given when the file is made, not put right later."""
    made, real = {}, os.open

    def watched(path, flags, mode=0o777, **others):
        if flags & os.O_CREAT:
            made[Path(path).name] = mode
        return real(path, flags, mode, **others)

    monkeypatch.setattr(os, "open", watched)
    with SqliteLedger(tmp_path / "l") as ledger:
        ledger.backup(tmp_path / "copy")
    assert {"l", "l.head", "copy"} <= set(made) and set(made.values()) == {0o600}


class TestBackups:
    """A copy while others write."""

    def test_it_is_a_ledger_that_opens_once_it_is_accepted(self, tmp_path):
        with SqliteLedger(tmp_path / "l") as ledger:
            ledger.record(ledger.reserve(charge(), ENOUGH), "x")
            ledger.backup(tmp_path / "copy")
            ledger.reserve(charge(), ENOUGH)
        with SqliteLedger(tmp_path / "copy", audit=True) as copy:
            copy.accept_restored()
        with SqliteLedger(tmp_path / "copy") as copy:
            assert copy.recorded("bank", "1", charge().key).answer_text == "x"
            assert verify(copy) == []

    def test_it_overwrites_nothing(self, tmp_path):
        (tmp_path / "copy").write_text("precious")
        with (
            SqliteLedger(tmp_path / "l") as ledger,
            pytest.raises(LedgerError, match="there is a file"),
        ):
            ledger.backup(tmp_path / "copy")
        assert (tmp_path / "copy").read_text() == "precious"

    def test_a_restored_one_is_accepted_and_loses_no_spend(self, tmp_path):
        """The whole way of docs/ledger.md."""
        with SqliteLedger(tmp_path / "l") as ledger:
            ledger.reserve(charge(1), ENOUGH)
            ledger.backup(tmp_path / "copy")
            ledger.reserve(charge(2), ENOUGH)
        (tmp_path / "l").write_bytes(b"damaged")
        with pytest.raises(LedgerError, match="is not a ledger, or is damaged"):
            SqliteLedger(tmp_path / "l")
        shutil.copy(tmp_path / "copy", tmp_path / "l")
        with SqliteLedger(tmp_path / "l", audit=True) as ledger:
            ledger.accept_restored()
        with SqliteLedger(tmp_path / "l") as ledger:
            assert ledger.spent("bank").epsilon == Fraction(2, 10)
            assert verify(ledger) == []


class TestTroubles:
    """Files that cannot be used."""

    def test_a_missing_folder(self, tmp_path):
        with pytest.raises(LedgerError, match=r"cannot be made .*check that its folder exists"):
            SqliteLedger(tmp_path / "nowhere" / "l")

    def test_an_audit_makes_no_file(self, tmp_path):
        with pytest.raises(LedgerError, match="cannot be opened"):
            SqliteLedger(tmp_path / "l", audit=True)
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_in_the_place_of_the_file(self, tmp_path):
        (tmp_path / "l").mkdir()
        with pytest.raises(LedgerError, match="cannot be opened"):
            SqliteLedger(tmp_path / "l")

    def test_a_file_that_is_no_database(self, tmp_path):
        (tmp_path / "l").write_text("name,salary\nann,1\n" * 200)
        with pytest.raises(LedgerError, match="is not a ledger, or is damaged") as caught:
            SqliteLedger(tmp_path / "l")
        assert "salary" not in str(caught.value)

    def test_a_damaged_page(self, tmp_path):
        with SqliteLedger(tmp_path / "l") as ledger:
            for number in range(60):
                ledger.reserve(charge(number), ENOUGH)
        content = bytearray((tmp_path / "l").read_bytes())
        for page in range(4096, len(content), 4096):
            content[page : page + 64] = b"\xff" * 64
        (tmp_path / "l").write_bytes(content)
        with pytest.raises(LedgerError, match="is damaged"):
            SqliteLedger(tmp_path / "l")

    def test_a_damaged_page_is_found_by_verify_and_not_a_crash(self, tmp_path):
        with SqliteLedger(tmp_path / "l") as ledger:
            for number in range(60):
                ledger.reserve(charge(number), ENOUGH)
        content = (tmp_path / "l").read_bytes()
        place = content.index(b'"analyst_text":"30"')
        page = place // 4096 * 4096
        (tmp_path / "l").write_bytes(content[:page] + b"\xff" * 64 + content[page + 64 :])
        with SqliteLedger(tmp_path / "l", audit=True) as ledger:
            assert any("is damaged" in problem for problem in verify(ledger))

    def test_a_lock_that_stays(self, tmp_path):
        with SqliteLedger(tmp_path / "l", patience=0.1) as ledger:
            holder = sqlite3.connect(tmp_path / "l", isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(
                LedgerError, match=r"locked by another process for 0\.1 seconds.*nothing was spent"
            ):
                ledger.reserve(charge(), ENOUGH)
            with pytest.raises(LedgerError, match="locked by another process"):
                SqliteLedger(tmp_path / "l", patience=0.1)
            holder.execute("ROLLBACK")
            holder.close()
            assert ledger.reserve(charge(), ENOUGH) == 2

    def test_a_lock_on_the_head_that_stays(self, tmp_path):
        with (
            SqliteLedger(tmp_path / "l", patience=0.1) as ledger,
            (tmp_path / "l.head").open() as holder,
        ):
            fcntl.flock(holder, fcntl.LOCK_EX)
            for action in (
                lambda: ledger.reserve(charge(), ENOUGH),
                lambda: ledger.recorded("bank", "1", charge().key),
            ):
                with pytest.raises(LedgerError, match=r"head .* was locked by another process"):
                    action()
            fcntl.flock(holder, fcntl.LOCK_UN)
            assert ledger.reserve(charge(), ENOUGH) == 2

    def test_a_lock_that_goes_is_waited_for(self, tmp_path):
        from threading import Timer

        with SqliteLedger(tmp_path / "l", patience=60) as ledger:
            holder = sqlite3.connect(tmp_path / "l", isolation_level=None, check_same_thread=False)
            holder.execute("BEGIN IMMEDIATE")
            timer = Timer(0.2, lambda: holder.execute("ROLLBACK"))
            timer.start()
            assert ledger.reserve(charge(), ENOUGH) == 2
            timer.join()
            holder.close()

    def test_a_file_that_cannot_be_written(self, tmp_path):
        with SqliteLedger(tmp_path / "l") as ledger:
            ledger.reserve(charge(), ENOUGH)
        with (
            unwritable(tmp_path / "l"),
            pytest.raises(LedgerError, match="cannot be written: make the file"),
        ):
            SqliteLedger(tmp_path / "l")
        with SqliteLedger(tmp_path / "l") as ledger:
            assert verify(ledger) == [] and ledger.spent("bank").epsilon == Fraction(1, 10)

    def test_a_folder_that_cannot_be_written(self, tmp_path):
        with unwritable(tmp_path), pytest.raises(LedgerError, match="cannot be made"):
            SqliteLedger(tmp_path / "l")

    def test_a_head_that_cannot_be_written_is_noticed_before_anything_is_spent(self, tmp_path):
        with SqliteLedger(tmp_path / "l") as ledger:
            ledger.reserve(charge(), ENOUGH)
            with (
                unwritable(tmp_path / "l.head"),
                pytest.raises(LedgerError, match=r"head .* cannot be used"),
            ):
                ledger.reserve(charge(), ENOUGH)
            assert ledger.spent("bank").epsilon == Fraction(1, 10)
            assert verify(ledger) == []


@contextmanager
def unwritable(path: Path) -> Iterator[None]:
    """Modes stop everybody but root, and an attribute of the file system stops root."""
    mode = path.stat().st_mode
    if not ROOT:
        path.chmod(mode & ~0o222)
    elif (
        shutil.which("chattr") is None
        or subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode
    ):
        pytest.skip(
            "root writes whatever the mode says, and this file system has no attribute that "
            "stops it"
        )
    try:
        yield
    finally:
        if ROOT:
            subprocess.run(["chattr", "-i", path], capture_output=True, check=True)
        path.chmod(mode)


def test_a_full_disk_loses_nothing_and_the_ledger_goes_on_when_there_is_room(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if (
        not ROOT
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=512k", "none", disk],
            capture_output=True,
            check=False,
        ).returncode
    ):
        pytest.skip("a small disk can only be made by root with the right to mount")
    try:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 100_000)
        done = fill(disk / "l")
        ballast.unlink()
        check_goes_on(disk / "l", done)
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
def test_a_file_that_may_not_grow_loses_nothing(tmp_path):
    """The same without rights: a limit on the size of files, in a process of its own."""
    program = Path(__file__).with_name("filling.py")
    done = subprocess.run(
        [sys.executable, program, tmp_path / "l"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    check_goes_on(tmp_path / "l", int(done.stdout))


def check_goes_on(path: Path, done: int) -> None:
    """Each accepted question is there; the one that failed may be charged, and never less."""
    with SqliteLedger(path) as ledger:
        assert done > 5 and verify(ledger) == []
        assert ledger.spent("bank").epsilon in (Fraction(done, 10), Fraction(done + 1, 10))
        ledger.record(ledger.reserve(charge("after"), ENOUGH), "x")
        assert verify(ledger) == []
