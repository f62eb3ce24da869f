"""Old and new schemas, and entries that this version does not know."""

from __future__ import annotations

import io
import sqlite3
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256

import pytest
from some_charges import ENOUGH, charge

from postri.errors import LedgerError
from postri.ledger import People, SqliteLedger, export_csv, schema, verify
from postri.ledger.schema import APPLICATION
from postri.privacy import AddOrRemoveRows, AddOrRemoveUnits

# Schema 1 as it was released, written out by hand: this text must never follow the code.
SCHEMA_1 = f"""
PRAGMA application_id = {0x70737472};
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('schema', 1), ('understood', 0);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE TABLE datasets (
    dataset TEXT PRIMARY KEY, epsilon TEXT NOT NULL, rho TEXT NOT NULL, entries INTEGER NOT NULL, terms INTEGER
) WITHOUT ROWID;
CREATE TABLE analysts (
    dataset TEXT NOT NULL, analyst TEXT NOT NULL, epsilon TEXT NOT NULL, rho TEXT NOT NULL, entries INTEGER NOT NULL,
    PRIMARY KEY (dataset, analyst)
) WITHOUT ROWID;
CREATE TABLE fates (reservation INTEGER PRIMARY KEY, number INTEGER NOT NULL);
CREATE TABLE answers (
    dataset TEXT NOT NULL, version TEXT NOT NULL, key TEXT NOT NULL, reservation INTEGER NOT NULL, PRIMARY KEY (dataset, version, key)
) WITHOUT ROWID;
INSERT INTO entries VALUES (1, '2026-01-01T00:00:00.000000+00:00', 'budget',
    '{{"accountant":"pure","allowances":{{}},"budget":"1000","dataset":"bank","delta":null,"per_question":null}}',
    '{"0" * 64}', 'HASH1');
INSERT INTO entries VALUES (2, '2026-01-01T00:00:01.000000+00:00', 'reserve',
    '{{"analyst":"ann","analyst_text":"q","dataset":"bank","epsilon":"1/10","key":"{"a" * 64}","rho":"1/800","version":"1"}}',
    'HASH1', 'HASH2');
INSERT INTO datasets VALUES ('bank', '1/10', '1/800', 2, 1);
INSERT INTO analysts VALUES ('bank', 'ann', '1/10', '1/800', 1);
"""  # noqa: E501  # as it was released
# SHA-256 of the JSON lists [previous, number, time, kind, body], computed with another program.
HASHES = {
    "HASH1": "490da3e469a3f200ab32e88ba499246fabb466aa5e8ba2d3f170fae5c963932f",
    "HASH2": "50705d486961f19e006cd459643b36650447c8604ed9316befb9d73411e8f680",
}


@pytest.fixture
def first_file(tmp_path):
    text = SCHEMA_1
    for name, value in HASHES.items():
        text = text.replace(name, value)
    path = tmp_path / "old.ledger"
    connection = sqlite3.connect(path)
    connection.executescript(text)
    connection.close()
    (tmp_path / "old.ledger.head").write_bytes(head_file(2, HASHES["HASH2"]))
    return path


def head_file(number: int, last: str) -> bytes:
    """A head as it was released, by hand: a checksum, number, hash and totals, in a slot of 4096
    bytes; the other slot is blank.
    """
    text = f'{number} {last} {{"bank":["1/10","1/800"]}}'
    return (
        f"{sha256(text.encode()).hexdigest()[:16]} {text}".ljust(4095) + "\n" + " " * 4095 + "\n"
    ).encode()


def test_a_file_of_schema_1_opens_and_goes_on(first_file):
    with SqliteLedger(first_file) as ledger:
        assert verify(ledger) == []
        ledger.record(2, "late answer")
        assert ledger.recorded("bank", "1", "a" * 64).answer_text == "late answer"
        assert ledger.reserve(charge(), ENOUGH) == 4
        assert verify(ledger) == []


def test_an_audit_reads_an_old_file(first_file):
    person = People(AddOrRemoveUnits("who"), frozenset(["a" * 64]), ("shop",))
    with SqliteLedger(first_file, audit=True) as ledger:
        assert verify(ledger) == []
        assert ledger.spent("bank", people=person) == ledger.spent("bank")
        assert ledger.usage("bank", person).cost.epsilon == Fraction(1, 10)


def test_spends_of_an_old_file_count_as_made_under_the_first_protection(first_file):
    with SqliteLedger(first_file) as ledger:
        for rows in (1, 100):
            limits = replace(ENOUGH, people=People(AddOrRemoveRows(rows)))
            ledger.reserve(charge(rows), limits)
        kinds = [entry.kind for entry in ledger.entries()]
        assert kinds == ["budget", "reserve", "terms", "reserve", "restated", "terms", "reserve"]
        assert ledger.spent("bank").epsilon == Fraction(2 * 100 + 1, 10)
        assert verify(ledger) == []


def test_a_migration_keeps_all_entries(first_file, monkeypatch):
    monkeypatch.setattr(
        schema,
        "MIGRATIONS",
        (*schema.MIGRATIONS, ("CREATE TABLE more (x)", "INSERT INTO more VALUES (1)")),
    )
    with SqliteLedger(first_file) as ledger:
        assert verify(ledger) == [] and len(list(ledger.entries())) == 2
    connection = sqlite3.connect(first_file)
    assert connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() == (
        len(schema.MIGRATIONS),
    )
    assert connection.execute("SELECT x FROM more").fetchall() == [(1,)]
    connection.close()


def test_a_failed_migration_changes_nothing(first_file, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(
            schema,
            "MIGRATIONS",
            (*schema.MIGRATIONS, ("CREATE TABLE more (x)", "INSERT INTO nowhere VALUES (1)")),
        )
        with pytest.raises(LedgerError):
            SqliteLedger(first_file)
    with SqliteLedger(first_file) as ledger:
        assert verify(ledger) == []


def test_a_newer_schema_is_refused(store, ledger):
    ledger.reserve(charge(), ENOUGH)
    store.tamper("UPDATE meta SET value = 99 WHERE name = 'schema'")
    for action in (
        lambda: ledger.reserve(charge(), ENOUGH),
        lambda: ledger.recorded("bank", "1", charge().key),
        store.open,
        store.audit,
    ):
        with pytest.raises(
            LedgerError, match=r"newer version of postri \(schema 99, this version knows 5\)"
        ):
            action()


def test_another_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (name)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not a ledger of postri"):
        SqliteLedger(path)
    assert path.read_bytes() == before
    assert APPLICATION == 0x70737472


UNKNOWN = [
    ("blessing", "{}"),
    ("reserve", "{}"),
    ("reserve", "not JSON"),
    ("reserve", "[]"),
    ("failure", '{"analyst":"ann","dataset":"bank","reason":"X","refund":"1/10","reservation":2}'),
    ("failure", '{"analyst":"ann","dataset":"bank","reason":"X","reservation":"2"}'),
    ("failure", '{"analyst":7,"dataset":"bank","reason":"X","reservation":2}'),
    ("protection", '{"dataset":"bank","protect":{"change":"forget","rows":1}}'),
    ("protection", '{"dataset":"bank","protect":null}'),
    (
        "restated",
        '{"analyst":"ann","dataset":"bank","epsilon":"-1","protect":{"change":"replace-rows","rows":1},"rho":"1"}',
    ),
    (
        "terms",
        '{"accountant":"pure","allowances":{},"budget":"5","dataset":"bank","delta":null,"per_question":null,"places":[7],"protect":null,"same_people":[]}',
    ),
    (
        "budget",
        '{"accountant":"renyi","allowances":{},"budget":"5","dataset":"bank","delta":"1/10","per_question":null}',
    ),
]


@pytest.mark.parametrize(("kind", "body"), UNKNOWN)
def test_an_unknown_entry_makes_the_ledger_refuse(store, ledger, kind, body):
    number = ledger.reserve(charge(), ENOUGH)
    store.add(kind, body)
    actions = [
        lambda: ledger.reserve(charge(), ENOUGH),
        lambda: ledger.record(number, "x"),
        lambda: ledger.fail(number, "EngineError"),
        lambda: ledger.recorded("bank", "1", charge().key),
        store.open,
    ]
    for action in actions:
        with pytest.raises(LedgerError, match=r"entry 3 of the ledger .* does not know"):
            action()
    assert len(list(ledger.entries())) == 3


@pytest.mark.parametrize(("kind", "body"), UNKNOWN)
def test_an_unknown_entry_can_be_listed_and_is_reported(store, ledger, kind, body):
    ledger.reserve(charge(), ENOUGH)
    store.add(kind, body)
    audit, file = store.audit(), io.StringIO()
    export_csv(audit, file)
    assert "does not know" in file.getvalue().splitlines()[-1]
    assert any("entry 3" in problem for problem in verify(audit))


def test_a_known_entry_that_was_added_elsewhere_is_read_and_accepted(store, ledger):
    """The check above refuses the unknown, not whatever another process wrote."""
    ledger.reserve(charge(), ENOUGH)
    store.add("failure", '{"analyst":"ann","dataset":"bank","reason":"X","reservation":2}')
    assert ledger.reserve(charge(), ENOUGH) == 4


def test_an_older_ledger_counts_its_questions_and_those_without_an_answer(first_file):
    """The tables of schema 4 follow from the entries of schema 1, also when it is audited first."""
    with SqliteLedger(first_file, audit=True) as ledger:
        assert verify(ledger) == []
        assert [(each.id, each.analyst, each.reason) for each in ledger.unanswered("bank")] == [
            (2, "ann", None)
        ]
        assert ledger.questions("bank", "ann") == 1
    with SqliteLedger(first_file) as ledger:
        ledger.record(2, "late answer")
        assert ledger.unanswered("bank") == [] and verify(ledger) == []
