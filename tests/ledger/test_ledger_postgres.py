"""What a ledger in PostgreSQL does beyond the contract: rights, chains, heads, copies, and what can
go wrong with a database.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import psycopg
import pytest
from some_charges import ENOUGH, charge, key, limits
from stores import SERVICE, PostgresStore

from postri.errors import BudgetExceeded, InputError, LedgerError, TermsRefused
from postri.ledger import (
    Attempt,
    Limits,
    People,
    SqliteLedger,
    copy_ledger,
    open_ledger,
    verify,
)
from postri.ledger.postgres import PostgresLedger, grants, init_heads, init_ledger
from postri.ledger.postgres.connection import Transaction, lock_key
from postri.ledger.postgres.heads import HeldFiles
from services.postgres_server import SECRET

pytestmark = pytest.mark.slow

TABLES = ("entries", "datasets", "analysts", "fates", "answers", "retries", "meta", "names")


@pytest.fixture
def store(postgres_store):
    return postgres_store


def problems(store: PostgresStore) -> str:
    return "\n".join(verify(store.audit()))


@pytest.fixture
def filled(ledger):
    """Two datasets: two answered questions and an open one each, in turn."""
    for number in range(2):
        for dataset in ("bank", "shop"):
            ledger.record(ledger.reserve(charge(number, dataset=dataset), ENOUGH), f"a {number}")
    for dataset in ("bank", "shop"):
        ledger.reserve(charge("last", dataset=dataset), ENOUGH)
    assert verify(ledger) == []
    return ledger


class TestRights:
    """The role of a service may insert and read."""

    def test_it_can_change_no_row_of_any_table(self, store, filled):
        with psycopg.connect(store.url, autocommit=True) as connection:
            for table in TABLES:
                for statement in (
                    f"UPDATE postri.{table} SET number = 0",
                    f"DELETE FROM postri.{table}",
                    f"TRUNCATE postri.{table}",
                ):
                    with pytest.raises(psycopg.Error) as refused:
                        connection.execute(statement.encode())
                    # A table without that column is refused before its rights are looked at.
                    assert refused.value.sqlstate in ("42501", "42703")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(b"UPDATE postri.entries SET body = '{}' WHERE number = 1")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(b"SELECT setval('postri.numbers', 1)")
        assert verify(filled) == []

    def test_not_even_the_owner_can_without_ado(self, store, filled):
        with psycopg.connect(store.owner, autocommit=True) as connection:
            for statement in ("UPDATE {0} SET body = '{{}}'", "DELETE FROM {0}", "TRUNCATE {0}"):
                with pytest.raises(psycopg.Error, match=r"rows of postri\.entries are permanent"):
                    connection.execute(statement.format("postri.entries").encode())

    def test_a_role_with_too_many_is_warned_about(self, store, filled):
        (fsync, pages) = filled.warnings()
        assert "fsync = off" in fsync and "full_page_writes = off" in pages
        with PostgresLedger(store.owner, store.head) as ledger:
            told = ledger.warnings()[0]
        assert "too many rights (DELETE, TRUNCATE, UPDATE)" in told and SECRET not in told

    def test_a_role_with_too_few_is_told_what_it_needs(self, store, postgres, filled):
        postgres.run(f"REVOKE INSERT ON postri.entries FROM {SERVICE}")
        with pytest.raises(LedgerError, match="rights that 'postri ledger init' prints"):
            filled.reserve(charge("more"), ENOUGH)
        postgres.run(*grants(SERVICE))
        filled.reserve(charge("more"), ENOUGH)
        assert verify(filled) == []


class TestChains:
    """A chain a dataset."""

    def test_entries_follow_those_of_their_dataset_alone(self, filled):
        last = {}
        for entry in filled.entries():
            assert entry.previous == last.get(entry.chain, "0" * 64)
            last[entry.chain] = entry.hash
        assert sorted(last) == ["bank", "shop"]
        assert filled.head().line.count(",") == 1
        assert verify(filled, filled.head().line) == []

    @pytest.mark.parametrize(
        ("statement", "sentence"),
        [
            (
                """UPDATE entries SET body = replace(body, '"1/10"', '"1/99"') WHERE number = 2""",
                "Entry 2 was changed",
            ),
            ("DELETE FROM entries WHERE number = 7", "Entry 8 does not follow"),
            ("UPDATE entries SET chain = 'shop' WHERE number = 11", "is about 'bank'"),
            ("DELETE FROM entries WHERE number = 11", "does not fit its head"),
            ("UPDATE datasets SET epsilon = '0'", "The total of 'bank' is kept as epsilon 0"),
            ("DELETE FROM analysts WHERE number > 9", "The total of 'ann' on 'bank'"),
            ("DELETE FROM fates WHERE reservation = 2", "of what became of reservations"),
            ("DELETE FROM answers", "The index of recorded answers"),
            ("UPDATE datasets SET unanswered = 9", "questions without an answer does not fit"),
            ("UPDATE datasets SET terms = NULL", "The index of the newest budgets"),
        ],
    )
    def test_what_was_tampered_with_is_found(self, store, filled, statement, sentence):
        store.tamper(statement)
        assert sentence in problems(store)

    @pytest.mark.parametrize("table", ["entries", "datasets", "fates", "meta", "names"])
    def test_a_table_that_is_gone_is_never_a_traceback(self, store, filled, table):
        store.tamper(f"DROP TABLE {table} CASCADE")
        with suppress(LedgerError):
            assert verify(store.audit())
        with suppress(LedgerError):
            filled.reserve(charge(), ENOUGH)

    def test_a_question_takes_two_trips_to_pay_and_two_to_be_answered(
        self, store, ledger, monkeypatch
    ):
        """The first locks and reads, the second writes and commits."""
        trips = []
        run = Transaction._run

        def counted(transaction, requests):
            trips.append(len(requests))
            return run(transaction, requests)

        first = ledger.reserve(charge("first"), ENOUGH)
        ledger.record(first, "x")
        monkeypatch.setattr(Transaction, "_run", counted)
        number = ledger.reserve(charge("second"), ENOUGH, Attempt("{}", "a key"))
        assert trips == [3, 2]
        trips.clear()
        ledger.record(number, "y")
        assert trips == [3, 2]

    def test_no_chain_forks_whoever_holds_which_lock(self, store, filled):
        body = '{"dataset":"bank","unanswered":[]}'
        with psycopg.connect(store.owner, autocommit=True) as connection:
            (previous,) = connection.execute(
                b"SELECT previous FROM postri.entries WHERE number = 7"
            ).fetchone()
            row = [99, "bank", "2026", "reopened", body, previous, "0" * 64]
            with pytest.raises(psycopg.errors.UniqueViolation):
                connection.execute(
                    b"INSERT INTO postri.entries VALUES (%s, %s, %s, %s, %s, %s, %s)", row
                )

    def test_a_dataset_that_is_locked_holds_up_no_other(self, store):
        ledger = store.open(patience=1.0)
        ledger.reserve(charge(), ENOUGH)
        with psycopg.connect(store.url) as other:
            held = lock_key("postri ledger", "chain", "bank")
            other.execute(b"SELECT pg_advisory_xact_lock(%s)", [held])
            ledger.reserve(charge(dataset="shop"), ENOUGH)
            with pytest.raises(LedgerError, match="was locked by another process"):
                ledger.reserve(charge("more"), ENOUGH)
        ledger.reserve(charge("more"), ENOUGH)
        assert ledger.spent("bank").epsilon == Fraction(2, 10)

    def test_of_two_that_claim_a_place_at_once_one_is_refused(self, store, ledger):
        place = People(places=frozenset({key("file")}))

        def ask(dataset: str) -> bool:
            try:
                ledger.reserve(charge(dataset=dataset), limits(5, people=place))
            except TermsRefused:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            accepted = list(pool.map(ask, ["a", "b", "c", "d"]))
        assert accepted.count(True) == 1
        assert verify(ledger) == []

    def test_those_about_the_same_people_are_locked_together(self, store, ledger):
        """In whatever order they are named: nobody waits for ever, and the sum holds."""

        def ask(number: int) -> bool:
            mine, other = ("bank", "shop") if number % 2 else ("shop", "bank")
            joined = limits(1, people=People(same_people=(other,)))
            try:
                ledger.reserve(charge(number, "1/8", dataset=mine), joined)
            except BudgetExceeded:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            accepted = list(pool.map(ask, range(12)))
        assert accepted.count(True) == 8
        assert ledger.spent("bank").epsilon == ledger.spent("shop").epsilon == 1
        assert verify(ledger) == []


class TestHeads:
    """The ends of chains in a second place."""

    def cut(self, store) -> None:
        """As if a copy had come back that is one question of the bank older."""
        store.tamper(
            "DELETE FROM entries WHERE number = 11",
            "DELETE FROM datasets WHERE number = 11",
            "DELETE FROM analysts WHERE number = 11",
            "DELETE FROM reservations WHERE reservation = 11",
        )

    def test_an_old_copy_is_refused_and_accepting_it_loses_no_spend(self, store, filled):
        line = filled.head().line
        self.cut(store)
        with pytest.raises(LedgerError, match="at dataset 'bank': it ends at entry 8"):
            filled.reserve(charge("more"), ENOUGH)
        with pytest.raises(LedgerError, match="is refused"):
            store.open()
        assert "it ends at entry 8, and its head knows of entry 11" in problems(store)
        # Another dataset is as it was.
        filled.reserve(charge("more", dataset="shop"), ENOUGH)
        store.audit().accept_restored()
        ledger = store.open()
        assert ledger.spent("bank").epsilon == Fraction(3, 10)
        assert verify(ledger) == []
        assert "is not the one of the expected head" in "".join(verify(ledger, line))
        with pytest.raises(LedgerError, match="nothing to accept"):
            ledger.accept_restored()

    def test_heads_that_are_gone_are_refused_until_they_are_accepted(self, store, filled):
        for file in store.head.glob("*.head"):
            file.unlink()
        with pytest.raises(LedgerError, match="head is missing or damaged"):
            filled.reserve(charge("more"), ENOUGH)
        store.audit().accept_restored()
        assert store.open().spent("shop").epsilon == Fraction(3, 10)
        assert problems(store) == ""

    def test_a_crash_before_the_first_head_has_moved_is_fine(self, store, ledger, monkeypatch):
        """The chain has its head before its first entry is durable."""

        def crash(held, heads):
            raise KeyboardInterrupt

        with monkeypatch.context() as once:
            once.setattr(HeldFiles, "move", crash)
            with pytest.raises(KeyboardInterrupt):
                ledger.reserve(charge(), ENOUGH)
        again = store.open()
        assert again.spent("bank").epsilon == Fraction(1, 10)
        again.reserve(charge("more"), ENOUGH)
        assert verify(again) == []

    def test_they_may_lie_in_another_database(self, store, postgres):
        postgres.run("DROP DATABASE IF EXISTS heads", "CREATE DATABASE heads")
        other = postgres.url(database="heads")
        init_heads(other)
        with psycopg.connect(other, autocommit=True) as connection:
            for grant in grants(SERVICE, "postri_heads"):
                connection.execute(grant.encode())
        head = postgres.url(SERVICE, SECRET, "heads")
        with store.open(head=head) as ledger:
            for number in range(3):
                ledger.record(ledger.reserve(charge(number), ENOUGH), "x")
            assert verify(ledger) == []
            store.tamper("DELETE FROM entries WHERE number > 5")
            with pytest.raises(LedgerError, match="it ends at entry 5"):
                ledger.reserve(charge("more"), ENOUGH)
        with store.open(head=head, audit=True) as ledger:
            ledger.accept_restored()
        with (
            psycopg.connect(head, autocommit=True) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(b"DELETE FROM postri_heads.heads")

    def test_a_place_that_cannot_be_written_is_noticed_before_anything_is_spent(self, store):
        ledger = store.open()
        ledger.reserve(charge(), ENOUGH)
        store.head.rename(store.head.with_name("elsewhere"))
        with pytest.raises(LedgerError, match="head"):
            ledger.reserve(charge("more"), ENOUGH)
        store.head.with_name("elsewhere").rename(store.head)
        assert ledger.spent("bank").epsilon == Fraction(1, 10)


class TestCopies:
    """A ledger moves from a file to a database."""

    @pytest.fixture
    def old(self, tmp_path):
        with SqliteLedger(tmp_path / "old.ledger") as ledger:
            for number in range(3):
                for dataset in ("bank", "shop"):
                    attempt = Attempt(f"words \x00 {number}", f"retry {dataset} {number}")
                    asked = charge(number, dataset=dataset)
                    reservation = ledger.reserve(asked, ENOUGH, attempt)
                    if number < 2:
                        ledger.record(reservation, f"answer {number}")
            ledger.fail(ledger.reserve(charge("failed"), ENOUGH), "EngineError")
            ledger.open_again("shop")
            yield ledger

    def test_all_entries_are_the_same_and_it_goes_on(self, store, old):
        with PostgresLedger(store.owner, store.head) as owner:
            assert copy_ledger(old, owner) == len(list(old.entries()))
        ledger = store.open()
        assert [each.hash for each in ledger.entries()] == [each.hash for each in old.entries()]
        assert ledger.summary() == old.summary()
        assert ledger.history("ann") == old.history("ann")
        assert ledger.unanswered("bank") == old.unanswered("bank")
        assert ledger.recorded("bank", "1", key(1)) == old.recorded("bank", "1", key(1))
        again = Attempt("words \x00 2", "retry bank 2")
        before = old.retried("ann", again)
        assert ledger.retried("ann", again) == before
        assert ledger.reserve(charge(2), ENOUGH, again) == before.id
        ledger.record(before.id, "late")
        number = ledger.reserve(charge("new"), ENOUGH)
        assert number > old.head().number
        assert verify(ledger) == [] and verify(ledger, old.head().line) == []
        store.tamper("DELETE FROM entries WHERE number = 3")
        assert "Entry 3 is missing." in problems(store)

    def test_one_that_has_entries_takes_no_other(self, store, old, filled):
        before = list(filled.entries())
        with (
            PostgresLedger(store.owner, store.head) as owner,
            pytest.raises(LedgerError, match="has entries already"),
        ):
            copy_ledger(old, owner)
        assert list(filled.entries()) == before

    def test_one_that_is_not_good_is_not_copied(self, store, old):
        import sqlite3

        with sqlite3.connect(old.path) as connection:
            connection.execute("UPDATE datasets SET epsilon = '1/99'")
        with (
            PostgresLedger(store.owner, store.head) as owner,
            pytest.raises(LedgerError, match="is not good: The total of 'bank'"),
        ):
            copy_ledger(old, owner)
        assert list(store.open().entries()) == []

    def test_a_copy_of_which_the_trunk_was_lost_is_charged_for_it(self, store, old):
        with PostgresLedger(store.owner, store.head) as owner:
            copy_ledger(old, owner)
        store.open().reserve(charge("new"), ENOUGH)
        spent = {name: store.open().spent(name) for name in ("bank", "shop")}
        store.tamper("DELETE FROM entries", "DELETE FROM datasets", "DELETE FROM analysts")
        store.tamper("DELETE FROM names", "DELETE FROM reservations", "DELETE FROM fates")
        store.tamper("DELETE FROM answers")
        with pytest.raises(LedgerError, match="is refused: it ends at entry 0"):
            store.open()
        store.audit().accept_restored()
        assert {name: store.open().spent(name) for name in ("bank", "shop")} == spent
        assert problems(store) == ""


class TestFaults:
    """Each a clear error, and nothing lost."""

    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("postgresql://127.0.0.1:1/no", "cannot be reached, or does not let this user in"),
            ("postgresql://x:y@127.0.0.1:notaport/no", "cannot be re"),
            ("postgresql://a b", "cannot be re"),
        ],
    )
    def test_a_wrong_url(self, url, words, tmp_path):
        with pytest.raises(LedgerError, match=words):
            open_ledger(url, tmp_path / "heads")

    def test_a_wrong_password_is_not_told(self, postgres, tmp_path):
        with pytest.raises(LedgerError, match="does not let this user in") as told:
            open_ledger(postgres.url(password="wrong-secret"), tmp_path / "heads")
        assert "wrong-secret" not in str(told.value) and told.value.__cause__ is None

    def test_a_head_must_have_a_place(self, postgres, tmp_path):
        with pytest.raises(InputError, match="needs a place for its heads"):
            open_ledger(postgres.url())
        with pytest.raises(InputError, match="is a file too"):
            open_ledger(tmp_path / "ledger", postgres.url())

    def test_a_database_without_the_schema(self, postgres, tmp_path):
        with pytest.raises(LedgerError, match="has no ledger: make one with 'postri ledger init'"):
            open_ledger(postgres.url(database="template1"), tmp_path / "heads")

    def test_an_older_and_a_newer_schema(self, store, filled, monkeypatch):
        from postri.ledger.postgres import ledger as module

        with monkeypatch.context() as later:
            later.setattr(module, "MIGRATIONS", module.MIGRATIONS * 2)
            with pytest.raises(LedgerError, match=r"older version of postri \(schema 1"):
                store.open()
        store.tamper("INSERT INTO meta VALUES ('schema', 2)")
        for action in (store.open, lambda: filled.reserve(charge("more"), ENOUGH)):
            with pytest.raises(LedgerError, match=r"newer version of postri \(schema 2"):
                action()
        with pytest.raises(LedgerError, match="newer version"):
            init_ledger(store.owner)
        store.tamper("DELETE FROM meta WHERE value = 2")
        filled.reserve(charge("more"), ENOUGH)
        assert init_ledger(store.owner) is False

    def test_an_entry_of_an_unknown_kind(self, store, filled):
        store.add("gift", '{"dataset":"bank"}')
        for action in (store.open, lambda: filled.reserve(charge("more"), ENOUGH)):
            with pytest.raises(LedgerError, match="kind that this version of postri does not know"):
                action()
        assert "does not know" in problems(store)

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            ("53100", "the disk of the database is full"),
            ("58030", "the disk of the database failed"),
            ("25006", "a standby or still in recovery"),
            ("XX001", "is damaged"),
            ("P0001", "failed with P0001"),
        ],
    )
    def test_a_server_that_cannot_write(self, store, filled, code, words):
        """The server's own error, raised where an entry is written."""
        before = list(filled.entries())
        store.tamper(
            "ALTER SEQUENCE numbers INCREMENT 1",
            f"""
            CREATE OR REPLACE FUNCTION postri.fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'row of Smith' USING ERRCODE = '{code}'; END $$
            """,
            "CREATE TRIGGER full_disk BEFORE INSERT ON fates EXECUTE FUNCTION postri.fail()",
        )
        with pytest.raises(LedgerError, match=words) as told:
            filled.record(before[-1].number, "x")
        assert "Smith" not in str(told.value) and told.value.__cause__ is None
        assert list(filled.entries()) == before
        store.tamper("DROP TRIGGER full_disk ON fates")
        filled.record(before[-1].number, "x")
        assert problems(store) == ""

    def test_a_clock_that_jumps_changes_no_order_and_no_total(self, store, ledger, monkeypatch):
        from postri.ledger import book

        for days in (0, 400, -4000, 1):
            moment = datetime.now(UTC) + timedelta(days=days)

            class Clock(datetime):
                @classmethod
                def now(cls, zone=None, moment=moment):
                    return moment

            monkeypatch.setattr(book, "datetime", Clock)
            ledger.record(ledger.reserve(charge(days), ENOUGH), "x")
        monkeypatch.undo()
        times = [entry.time for entry in ledger.entries()]
        assert times != sorted(times)
        assert [past.key for past in ledger.history("ann")] == []
        assert verify(ledger) == [] and ledger.spent("bank").epsilon == Fraction(4, 10)

    def test_connections_that_were_closed_meanwhile_are_opened_again(self, store, postgres, filled):
        postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE usename = '{SERVICE}' AND pid <> pg_backend_pid()"
        )
        filled.reserve(charge("more"), ENOUGH)
        assert verify(filled) == []

    def test_a_fork_has_connections_of_its_own(self, store, filled):
        child = os.fork()
        if child == 0:
            status = 1
            with suppress(BaseException):
                filled.reserve(charge("child"), ENOUGH)
                status = 0
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        filled.reserve(charge("parent"), ENOUGH)
        assert filled.spent("bank").epsilon == Fraction(5, 10)
        assert verify(filled) == []


EVERY = [limits(6), limits(5, per_question=Fraction(1)), limits(5, allowance=Fraction(2))]


@pytest.mark.parametrize("other", EVERY)
@pytest.mark.parametrize("kind", ["sqlite_store", "postgres_store"])
def test_two_services_with_different_policies_do_not_take_turns(request, kind, other):
    """The policy that came last holds; the other service says so, and nothing is lost."""
    store = request.getfixturevalue(kind)
    first, second = store.open(), store.open()
    first.reserve(charge(1), limits(5))
    second.reserve(charge(2), other)
    with pytest.raises(TermsRefused, match="another policy uses this ledger"):
        first.reserve(charge(3), limits(5))
    second.reserve(charge(4), other)
    # Started again, it says what it has to say.
    store.open().reserve(charge(5), Limits(Fraction(5)))
    assert second.spent("bank").epsilon == Fraction(4, 10)
    assert verify(second) == []
