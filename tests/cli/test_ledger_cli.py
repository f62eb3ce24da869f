"""`postri ledger`: a policy whose ledger lies in a database, from its making to its trail."""

from __future__ import annotations

import json

import pytest

import postri
from bank import write_policy
from postri.ledger import open_ledger, verify
from postri.policy import read_policy
from program import run
from services.postgres_server import SECRET

pytestmark = pytest.mark.slow

SERVICE = "cli_service"


@pytest.fixture
def database(postgres):
    """A database of its own, and a role that has no rights yet."""
    postgres.run(
        "DROP DATABASE IF EXISTS cli_ledger",
        f"DROP ROLE IF EXISTS {SERVICE}",
        "CREATE DATABASE cli_ledger",
        f"CREATE ROLE {SERVICE} LOGIN PASSWORD '{SECRET}'",
    )
    return postgres


def test_a_ledger_moves_to_a_postgres_database_and_goes_on(database, tmp_path):
    policy = write_policy(tmp_path)
    with postri.connect(policy) as db:
        before = db.count("bank", epsilon="0.1")
    owner = database.url(database="cli_ledger")
    service = database.url(SERVICE, SECRET, "cli_ledger")
    grants, told = run("ledger", "init", owner, "--role", SERVICE, folder=tmp_path)
    assert "is made" in told
    # Of the ledger itself nothing is changed or deleted; tokens are revoked.
    on_ledger = [line for line in grants.splitlines() if "postri_service" not in line]
    assert on_ledger and not any("UPDATE" in line or "DELETE" in line for line in on_ledger)
    assert "was there already" in run("ledger", "init", owner, folder=tmp_path)[1]
    database.run_in("cli_ledger", grants)
    line, told = run("ledger", "copy", "postri.ledger", owner, folder=tmp_path)
    assert "copied and verified: 3 entries" in told and line.startswith("3 ")
    assert SECRET not in told
    policy.write_text(f'ledger = "{service}"\n{policy.read_text()}')
    out, _ = run("check", folder=tmp_path)
    assert "fsync = off" in out and "too many rights" not in out
    asked = json.loads(
        run("ask", "bank", "count()", "--epsilon", "1/10", "--json", folder=tmp_path)[0]
    )
    assert asked["rows"][0]["count"] == before.value
    run("ask", "bank", "count()", "--epsilon", "1/5", folder=tmp_path)
    budget = json.loads(run("budget", "--json", folder=tmp_path)[0])["bank"]
    assert budget["spent"] == "3/10"
    assert "the ledger is good" in run("budget", "--verify", folder=tmp_path)[1]
    trail, _ = run("ledger", "export", "--csv", folder=tmp_path)
    with read_policy(policy).open_ledger(audit=True) as ledger:
        assert verify(ledger) == []
        assert len(trail.splitlines()) == 1 + len(list(ledger.entries()))
    assert SECRET not in trail
    assert not (tmp_path / "postri.ledger.heads" / "postri.ledger").exists()


def test_a_file_has_a_trail_too(tmp_path):
    policy = write_policy(tmp_path)
    with postri.connect(policy) as db:
        db.count("bank", epsilon="0.1")
    out, _ = run("ledger", "export", "--csv", folder=tmp_path)
    assert [line.split(",")[2] for line in out.splitlines()] == [
        "kind",
        "terms",
        "reserve",
        "answer",
    ]
    run("ledger", "export", "--csv", "--out", "trail.csv", folder=tmp_path)
    assert (tmp_path / "trail.csv").read_text() == out
    assert "say how" in run("ledger", "export", folder=tmp_path, code=2)[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("init", "postri.ledger"), "is made in a PostgreSQL database"),
        (("init",), "is made in a PostgreSQL database"),
        (("copy", "a", "b"), "from a file to a PostgreSQL database"),
        (("copy", "nowhere", "postgresql://h/d"), "there is no ledger 'nowhere'"),
    ],
)
def test_wrong_words_are_told(tmp_path, words, told):
    write_policy(tmp_path)
    assert told in run("ledger", *words, folder=tmp_path, code=2)[1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('ledger = "mysql://ann:pass-xq-word@h/d"', "the URL of a PostgreSQL database"),
        ('ledger_head = "postgresql://ann:pass-xq-word@h/d"', "ledger_head is a database"),
    ],
)
def test_a_wrong_place_is_a_problem_of_the_policy(tmp_path, line, told):
    policy = write_policy(tmp_path)
    policy.write_text(f"{line}\n{policy.read_text()}")
    out, err = run("check", folder=tmp_path, code=2)
    assert told in out + err and SECRET not in out + err


def test_a_database_that_is_not_there_is_told_without_its_password(tmp_path):
    policy = write_policy(tmp_path)
    policy.write_text(f'ledger = "postgresql://ann:{SECRET}@127.0.0.1:1/d"\n{policy.read_text()}')
    out, err = run("ask", "bank", "count()", "--epsilon", "1", folder=tmp_path, code=1)
    assert "cannot be reached" in err and SECRET not in out + err
    with pytest.raises(Exception, match="cannot be reached"):
        open_ledger(read_policy(policy).ledger, tmp_path / "heads")
