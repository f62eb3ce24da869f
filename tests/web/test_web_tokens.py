"""Tokens: shown once, stored as a hash, expiring, revocable; in a file of their own that several
processes use.
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from base64 import urlsafe_b64decode
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

import program
from bank import dataset_text
from postri.errors import InputError, LedgerError
from postri.web import tokens as module
from postri.web.tokens import Tokens, read_expiry

DATASET = dataset_text("d", source="d.csv", budget="1", rows=None, columns={})
PAST, FUTURE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "l.tokens"


@pytest.fixture
def tokens(file):
    with Tokens(file) as tokens:
        yield tokens


def test_a_token_opens_the_door_for_its_name_and_role(tokens):
    token, text = tokens.add("ann", "analyst", allowance=Fraction(1, 3))
    assert re.fullmatch(r"ptr_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", text)
    assert len(urlsafe_b64decode(text[13:] + "=")) == 32
    assert tokens.verify(text) == token
    assert (token.name, token.role, token.expires, token.revoked, token.allowance) == (
        "ann",
        "analyst",
        None,
        None,
        Fraction(1, 3),
    )


def test_tokens_of_the_first_version_open_all_datasets(file):
    with sqlite3.connect(file) as connection:
        for command in (*module.STEPS[0], "PRAGMA user_version = 1"):
            connection.execute(command)
        connection.execute(
            "INSERT INTO tokens VALUES ('0a1b2c3d', 'ann', 'analyst', ?, '2026-01-01T00:00:00Z', "
            "NULL, NULL)",
            (sha256(b"A" * 43).digest(),),
        )
    connection.close()
    with Tokens(file) as tokens:
        token = tokens.verify("ptr_0a1b2c3d_" + "A" * 43)
        assert token.name == "ann" and token.datasets is None and token.opens("any")


def test_nothing_else_does(tokens):
    _, text = tokens.add("ann", "analyst")
    other = tokens.add("bob", "steward")[1]
    swapped = text[:13] + other[13:]
    changed = text[:-1] + ("A" if text[-1] != "A" else "B")
    for wrong in (
        "",
        text[:-1],
        text + "A",
        text.upper(),
        swapped,
        changed,
        "ptr_00000000_" + "A" * 43,
        f" {text}",
        text + "\n",
        "é" * 56,
        "\ud800",
    ):
        assert tokens.verify(wrong) is None
    assert tokens.verify(text) is not None


def test_an_expired_or_revoked_token_does_not(tokens):
    assert tokens.verify(tokens.add("ann", "analyst", expires=PAST)[1]) is None
    token, text = tokens.add("ann", "analyst", expires=FUTURE)
    assert tokens.verify(text) == token
    assert tokens.revoke(token.id)
    assert tokens.verify(text) is None


class TestAtOnce:
    def test_it_is_the_same_token_as_with_time(self, tokens):
        made, text = tokens.add("ann", "analyst")
        assert tokens.verify_at_once(text) == (True, made)
        assert tokens.verify_at_once(text[:-1]) == (True, None)
        tokens.revoke(made.id)
        assert tokens.verify_at_once(text) == (True, None)

    def test_what_another_process_revokes_is_worthless_at_once(self, tokens, file):
        made, text = tokens.add("ann", "analyst")
        assert tokens.verify_at_once(text) == (True, made)
        with Tokens(file) as others:
            others.revoke(made.id)
        assert tokens.verify_at_once(text) == (True, None)

    def test_nobody_who_has_the_file_is_waited_for(self, tokens):
        made, text = tokens.add("ann", "analyst")
        with ThreadPoolExecutor(1) as pool:
            with tokens._database.writing():
                assert pool.submit(tokens.verify_at_once, text).result(60) == (False, None)
            assert pool.submit(tokens.verify_at_once, text).result(60) == (True, made)

    def test_nor_anybody_who_writes_in_another_process(self, tokens, file):
        made, text = tokens.add("ann", "analyst")
        with Tokens(file) as others, others._database.writing() as connection:
            connection.execute("DELETE FROM tokens")
            assert tokens.verify_at_once(text) == (True, made)

    def test_a_file_whose_writers_hold_up_readers_is_not_read_at_once(self, tokens):
        _, text = tokens.add("ann", "analyst")
        tokens._database._has_journal_ahead = False
        assert tokens.verify_at_once(text) == (False, None)


def test_a_token_is_revoked_once_and_for_good(tokens, monkeypatch):
    token, _ = tokens.add("ann", "analyst")
    tokens.revoke(token.id)
    (before,) = tokens.all()
    monkeypatch.setattr(module, "moment_text", lambda time: "2999-01-01T00:00:00Z")
    assert tokens.revoke(token.id)
    assert tokens.all() == [before] and before.revoked is not None
    assert not tokens.revoke("00000000")


def test_the_file_holds_the_hash_alone_and_is_private(tokens, file):
    _, text = tokens.add("ann", "analyst")
    secret = text.rpartition(f"{text[4:12]}_")[2]
    assert file.stat().st_mode & 0o777 == 0o600
    tokens.close()
    written = b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert secret.encode() not in written
    assert sha256(secret.encode()).digest() in written


def test_the_secret_is_compared_in_constant_time_also_for_an_unknown_id(tokens, monkeypatch):
    seen = []
    compare = module.compare_digest
    monkeypatch.setattr(
        module,
        "compare_digest",
        lambda one, other: seen.append((len(one), len(other))) or compare(one, other),
    )
    tokens.verify(tokens.add("ann", "analyst")[1])
    tokens.verify("ptr_00000000_" + "A" * 43)
    tokens.verify("nonsense")
    assert seen == [(32, 32)] * 3


def test_an_allowance_belongs_to_the_name(tokens):
    first, second = (
        tokens.add("ann", "analyst")[1],
        tokens.add("ann", "analyst", allowance=Fraction(2))[1],
    )
    assert [tokens.verify(text).allowance for text in (first, second)] == [2, 2]
    tokens.allow("ann", Fraction(1, 2))
    assert tokens.allowances() == {"ann": Fraction(1, 2)}
    tokens.add("ann", "analyst")
    assert tokens.allowances() == {"ann": Fraction(1, 2)}
    tokens.allow("ann", None)
    assert tokens.allowances() == {} and tokens.verify(first).allowance is None


@pytest.mark.parametrize("name", ["", " ann", "ann ", "a\nb", "\0", "\ud800", "x" * 201, 7])
def test_names_are_printable(tokens, name):
    with pytest.raises(InputError, match="the name of the analyst"):
        tokens.add(name, "analyst")
    with pytest.raises(InputError, match="the name of the analyst"):
        tokens.allow(name, None)


def test_roles_are_two(tokens):
    with pytest.raises(InputError, match="role cannot be 'stewart'; did you mean 'steward'"):
        tokens.add("ann", "stewart")


def test_a_file_of_somebody_else_is_left_alone(tmp_path):
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(LedgerError, match="is not a file of tokens"):
        Tokens(other)
    assert other.read_bytes() == before


def test_errors_name_the_file_of_tokens(tmp_path):
    with pytest.raises(LedgerError, match=r"the file of tokens .* cannot be made"):
        Tokens(tmp_path / "nowhere" / "l.tokens")


@pytest.mark.slow
def test_processes_add_tokens_at_once(file):
    """Three processes open the file that is not there yet, and add tokens; all of them are there
    and valid.
    """
    command = [sys.executable, str(Path(__file__).with_name("adding_tokens.py")), str(file)]
    workers = [
        subprocess.Popen([*command, name, "8"], stdout=subprocess.PIPE, text=True)
        for name in ("ann", "bob", "eve")
    ]
    told = [line for worker in workers for line in worker.communicate(timeout=60)[0].split()]
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    with Tokens(file) as tokens:
        assert (
            len(told) == len({tokens.verify(text).name for text in told}) == len(tokens.all()) == 24
        )


class TestExpiry:
    NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)

    def test_spans_and_days(self):
        assert read_expiry("90d", 90, self.NOW) == self.NOW + timedelta(days=90)
        assert read_expiry(" 12h ", 90, self.NOW) == self.NOW + timedelta(hours=12)
        assert read_expiry("2027-01-31", 90) == datetime(2027, 2, 1, tzinfo=UTC)
        assert read_expiry("2027-01-31T12:00:00+02:00", 90) == datetime(2027, 1, 31, 10, tzinfo=UTC)
        assert read_expiry("2027-01-31T12:00:00", 90) == datetime(2027, 1, 31, 12, tzinfo=UTC)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "soon",
            "90",
            "-1d",
            "1.5d",
            "9999-12-31",
            "2027-02-30",
            "0001-01-01T00:00:00+23:00",
            "9999999d",
            90,
            "²d",
        ],
    )
    def test_others_are_refused(self, text):
        with pytest.raises(InputError, match="expires must be a span or a day"):
            read_expiry(text, 90)


class TestCommands:
    @pytest.fixture
    def run(self, tmp_path):
        (tmp_path / "postri.toml").write_text(DATASET)
        return lambda *words, code=0: program.run("token", *words, code=code, folder=tmp_path)

    def test_add_list_and_revoke(self, run, tmp_path):
        out, err = run("add", "ann", "--role", "analyst", "--allowance", "2", "--expires", "90d")
        text = out.splitlines()[-1]
        assert out == f"{text}\n" and text not in err and "only time" in err
        with Tokens(tmp_path / "postri.ledger.tokens") as tokens:
            token = tokens.verify(text)
            assert (token.name, token.role, token.allowance) == ("ann", "analyst", 2)
        listed, _ = run("list")
        assert token.id in listed and text not in listed
        run("revoke", token.id)
        assert "revoked" in run("list")[0]
        assert "there is no token" in run("revoke", "ffffffff", code=2)[1]

    def test_a_token_expires_after_the_policys_days_unless_it_is_told_never(self, run, tmp_path):
        (tmp_path / "postri.toml").write_text(DATASET + "[service]\ntoken_days = 7\n")
        text = run("add", "ann", "--role", "analyst")[0].strip()
        for_ever = run("add", "ann", "--role", "analyst", "--expires", "never")[0].strip()
        with Tokens(tmp_path / "postri.ledger.tokens") as tokens:
            rest = datetime.fromisoformat(tokens.verify(text).expires) - datetime.now(UTC)
            assert timedelta(days=6) < rest <= timedelta(days=7)
            assert tokens.verify(for_ever).expires is None

    def test_a_token_can_be_made_for_some_datasets(self, run, tmp_path):
        out, err = run("add", "ann", "--role", "analyst", "--datasets", "d")
        assert "for d, valid until" in err
        with Tokens(tmp_path / "postri.ledger.tokens") as tokens:
            assert tokens.verify(out.strip()).datasets == ("d",)
        assert "for d" in run("list")[0]
        for wrong, words in (("e", "no dataset 'e'"), ("d,", "no dataset ''")):
            _, err = run("add", "ann", "--role", "analyst", "--datasets", wrong, code=2)
            assert words in err
        _, err = run("add", "sue", "--role", "steward", "--datasets", "d", code=2)
        assert "a steward sees all datasets" in err

    def test_a_rotated_token_is_worthless_and_its_successor_is_as_it_was(self, run, tmp_path):
        old = run("add", "ann", "--role", "analyst", "--datasets", "d", "--allowance", "2")[0]
        new = run("rotate", old[4:12], "--expires", "12h")[0]
        with Tokens(tmp_path / "postri.ledger.tokens") as tokens:
            assert tokens.verify(old.strip()) is None
            token = tokens.verify(new.strip())
            assert (token.name, token.role, token.datasets, token.allowance) == (
                "ann",
                "analyst",
                ("d",),
                2,
            )
        assert "not valid any more" in run("rotate", old[4:12], code=2)[1]
        assert "there is no token" in run("rotate", "ffffffff", code=2)[1]

    def test_what_is_wrong_makes_no_token(self, run):
        wanted = ("add", "ann", "--role", "analyst")
        _, err = run(*wanted, "--allowance", "-1", code=2)
        assert "the allowance must be positive" in err
        _, err = run(*wanted, "--expires", "soon", code=2)
        assert "expires must be" in err
        assert run("add", "ann", "--role", "boss", code=2)[0] == ""
        assert run("list")[0] == ""

    def test_a_token_that_is_over_already_says_so(self, run):
        _, err = run("add", "ann", "--role", "analyst", "--expires", "2020-01-01")
        assert "over already" in err
