"""What verify finds, and what is refused without it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import suppress
from fractions import Fraction

import pytest
from some_charges import ENOUGH, charge

from postri.errors import LedgerError
from postri.ledger import SqliteLedger, bounded_range, verify
from postri.ledger.entries import chained

TENTH = bounded_range(Fraction(1, 10))


@pytest.fixture
def filled(ledger):
    """A ledger with ten entries: a budget, four answered questions, one open."""
    for number in range(4):
        ledger.record(ledger.reserve(charge(number), ENOUGH), f"answer {number}")
    ledger.reserve(charge("last"), ENOUGH)
    assert verify(ledger) == []
    return ledger


def problems(store) -> str:
    return "\n".join(verify(store.audit()))


class TestEntries:
    """Changes of what was written."""

    def test_an_edit_is_found(self, store, filled):
        store.tamper(
            """UPDATE entries SET body = replace(body, '"1/10"', '"1/99"') WHERE number = 4"""
        )
        assert "Entry 4 was changed: its hash does not fit" in problems(store)

    @pytest.mark.parametrize("column", ["time", "kind", "previous", "hash"])
    def test_an_edit_of_any_part_is_found(self, store, filled, column):
        store.tamper(f"UPDATE entries SET {column} = {column} || '0' WHERE number = 4")
        assert "Entry 4 was changed" in problems(store)

    def test_a_deleted_entry_is_found(self, store, filled):
        store.tamper("DELETE FROM entries WHERE number = 5")
        assert "Entry 5 is missing." in problems(store)

    def test_several_deleted_entries_are_found(self, store, filled):
        store.tamper("DELETE FROM entries WHERE number BETWEEN 5 AND 7")
        assert "Entries 5 to 7 are missing." in problems(store)

    def test_a_gap_that_was_closed_is_found(self, store, filled):
        store.tamper(
            "DELETE FROM entries WHERE number = 5",
            "UPDATE entries SET number = number - 1 WHERE number > 5",
        )
        assert "Entry 5 does not follow the one before it" in problems(store)

    def test_swapped_entries_are_found(self, store, filled):
        store.tamper(
            "UPDATE entries SET number = -4 WHERE number = 4",
            "UPDATE entries SET number = 4 WHERE number = 6",
            "UPDATE entries SET number = 6 WHERE number = -4",
        )
        found = problems(store)
        assert "Entry 4 does not follow" in found and "Entry 6 was changed" in found

    def test_a_cut_tail_is_found_and_refused(self, store, filled):
        store.tamper("DELETE FROM entries WHERE number > 8")
        assert "it ends at entry 8, and its head knows of entry 10" in problems(store)
        with pytest.raises(LedgerError, match="is refused: it ends at entry 8"):
            filled.reserve(charge(), ENOUGH)
        with pytest.raises(LedgerError, match="is refused"):
            store.open()

    def test_a_chain_that_was_written_anew_is_found_and_refused(self, store, filled):
        rewrite(store.path, 4, '"epsilon":"1/10"', '"epsilon":"1/99"')
        found = problems(store)
        assert "hash does not fit" not in found
        assert "its entry 10 is not the one that its head knows" in found
        with pytest.raises(LedgerError, match="is refused"):
            store.open()

    def test_entries_refuse_updates_and_deletes(self, store, filled):
        connection = sqlite3.connect(store.path)
        for statement in ("UPDATE entries SET body = '{}'", "DELETE FROM entries"):
            with pytest.raises(sqlite3.IntegrityError, match="entries are permanent"):
                connection.execute(statement)
        connection.close()


def rewrite(path, number: int, old: str, new: str) -> None:
    """Edit an entry, and make the whole chain fit again."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER entries_stay")
    connection.execute(
        "UPDATE entries SET body = replace(body, ?, ?) WHERE number = ?", (old, new, number)
    )
    previous = "0" * 64
    for row in connection.execute(
        "SELECT number, time, kind, body FROM entries ORDER BY number"
    ).fetchall():
        hash = chained(previous, *row)
        connection.execute(
            "UPDATE entries SET previous = ?, hash = ? WHERE number = ?", (previous, hash, row[0])
        )
        previous = hash
    connection.close()


class TestTables:
    """Changes of what follows from the entries."""

    @pytest.mark.parametrize(
        ("statement", "sentence"),
        [
            (
                "UPDATE datasets SET epsilon = '1/10'",
                "The total of 'bank' is kept as epsilon 1/10 and rho 1/160",
            ),
            ("UPDATE datasets SET rho = '0'", "the entries add up to epsilon 1/2 and rho 1/160"),
            (
                "UPDATE datasets SET entries = 3",
                "The number of entries of 'bank' is kept as 3, and there are 10",
            ),
            ("UPDATE datasets SET terms = NULL", "The index of the newest budgets"),
            ("DELETE FROM datasets", "The total of 'bank' is kept as epsilon 0"),
            ("INSERT INTO datasets VALUES ('shop', '1', '1', 1, NULL, '0')", "The total of 'shop'"),
            ("UPDATE analysts SET epsilon = '0'", "The total of 'ann' on 'bank'"),
            ("DELETE FROM analysts", "The total of 'ann' on 'bank'"),
            ("DELETE FROM fates WHERE reservation = 2", "The index of what became of reservations"),
            ("DELETE FROM answers", "The index of recorded answers"),
        ],
    )
    def test_wrong_ones_are_found(self, store, filled, statement, sentence):
        store.tamper(statement)
        assert sentence in problems(store)

    def test_an_index_that_points_to_another_question_gives_no_answer(self, store, filled):
        store.tamper("UPDATE answers SET reservation = 2")
        with pytest.raises(LedgerError, match="index of answers does not fit"):
            filled.recorded("bank", "1", charge(3).key)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE datasets SET epsilon = 'much'",
            "UPDATE datasets SET epsilon = '1/0'",
            "UPDATE datasets SET epsilon = '-5'",
            "UPDATE datasets SET rho = x'ff00'",
            "UPDATE analysts SET epsilon = ''",
            "UPDATE entries SET body = x'00' WHERE number = 4",
            "UPDATE entries SET time = x'00' WHERE number = 10",
            "UPDATE entries SET hash = x'00' WHERE number = 10",
            "DELETE FROM meta",
            "UPDATE datasets SET terms = 3",
            "DROP TABLE datasets",
            "DROP TABLE fates",
            "DROP TABLE entries",
        ],
    )
    def test_nonsense_is_found_and_never_a_traceback(self, store, filled, statement):
        store.tamper(statement)
        with suppress(LedgerError):
            assert verify(store.audit())
        with suppress(LedgerError):
            filled.reserve(charge(), ENOUGH)

    def test_a_second_fate_is_found(self, store, filled):
        store.add("failure", '{"analyst":"ann","dataset":"bank","reason":"X","reservation":2}')
        assert "Entry 11 ends reservation 2 a second time." in problems(store)

    def test_a_fate_without_a_reservation_is_found(self, store, filled):
        store.add("failure", '{"analyst":"ann","dataset":"bank","reason":"X","reservation":1}')
        assert (
            "Entry 11 ends reservation 1, and there is no such reservation before it."
            in problems(store)
        )


class TestOldCopies:
    """A ledger that comes back from the past."""

    @pytest.fixture
    def restored(self, store, filled, tmp_path):
        """The ledger as it was three questions ago."""
        filled.backup(tmp_path / "copy")
        for number in range(3):
            filled.reserve(charge(f"later {number}"), ENOUGH)
        filled.reserve(charge("elsewhere", dataset="shop"), ENOUGH)
        filled.close()
        put_back(tmp_path / "copy", store.path)
        return store

    def test_it_is_refused_and_the_message_says_how_to_accept_it(self, restored):
        with pytest.raises(LedgerError, match=r"old copy.*accept_restored\(\)"):
            restored.open()

    def test_a_process_that_has_it_open_refuses_too(self, restored):
        audit = restored.audit()
        actions = [
            lambda: audit.reserve(charge(), ENOUGH),
            lambda: audit.record(10, "x"),
            lambda: audit.recorded("bank", "1", charge(1).key),
            lambda: audit.set_budget("bank", Fraction(9), ENOUGH.accountant),
        ]
        for action in actions:
            with pytest.raises(LedgerError, match="old copy"):
                action()

    def test_it_is_found(self, restored):
        assert "it ends at entry 10, and its head knows of entry 15" in problems(restored)

    def test_accepting_it_loses_no_spend(self, restored):
        assert restored.audit().spent("bank").epsilon == Fraction(5, 10)
        number = restored.audit().accept_restored()
        ledger = restored.open()
        assert ledger.spent("bank").epsilon == Fraction(8, 10) and ledger.spent("shop") == TENTH
        assert ledger.spent("bank").rho == 8 * TENTH.rho
        assert list(ledger.entries())[-1].kind == "restored" and number == 11
        assert verify(ledger) == []
        assert ledger.reserve(charge("again"), ENOUGH) == 12
        assert verify(ledger) == []

    def test_a_good_ledger_has_nothing_to_accept(self, store, filled):
        before = list(filled.entries())
        with pytest.raises(LedgerError, match="nothing to accept"):
            store.audit().accept_restored()
        assert list(filled.entries()) == before

    def test_a_copy_that_grew_elsewhere_is_refused_and_charged_for_all_that_its_head_knew(
        self, store, filled, tmp_path
    ):
        filled.backup(tmp_path / "copy")
        filled.reserve(charge("later"), ENOUGH)
        filled.close()
        put_back(tmp_path / "copy", store.path)
        elsewhere = SqliteLedger(store.path, tmp_path / "other.head", audit=True)
        elsewhere.accept_restored()
        for number in range(4):
            elsewhere.reserve(charge(f"other {number}"), ENOUGH)
        elsewhere.close()
        with pytest.raises(LedgerError, match="its entry 11 is not the one that its head knows"):
            store.open()
        store.audit().accept_restored()
        assert store.open().spent("bank").epsilon == Fraction(9, 10) + Fraction(6, 10)

    def test_a_new_ledger_in_the_place_of_a_lost_one_is_refused(self, store, filled):
        filled.close()
        store.path.unlink()
        with pytest.raises(LedgerError, match="it ends at entry 0, and its head knows of entry 10"):
            store.open()
        store.audit().accept_restored()
        assert store.open().spent("bank").epsilon == Fraction(5, 10)


def put_back(copy, path) -> None:
    for beside in ("-wal", "-shm"):
        path.with_name(path.name + beside).unlink(missing_ok=True)
    shutil.copy(copy, path)


class TestHeads:
    """The chain's head in a second place."""

    def test_a_missing_one_is_found_and_refused_until_it_is_accepted(self, store, filled):
        store.head.unlink()
        assert "its head is missing or damaged" in problems(store)
        for action in (store.open, lambda: filled.reserve(charge(), ENOUGH)):
            with pytest.raises(LedgerError, match="head is missing or damaged"):
                action()
        store.audit().accept_restored()
        assert store.open().spent("bank").epsilon == Fraction(5, 10)
        assert problems(store) == ""

    def test_a_damaged_one_is_refused(self, store, filled):
        store.head.write_bytes(b"x" * 8192)
        with pytest.raises(LedgerError, match="head is missing or damaged"):
            store.open()

    @pytest.mark.parametrize("slot", [0, 1])
    def test_one_that_tore_in_a_power_failure_falls_back_to_the_one_before(
        self, store, filled, slot
    ):
        content = bytearray(store.head.read_bytes())
        content[slot * 4096 + 20 : slot * 4096 + 40] = b"\0" * 20
        store.head.write_bytes(content)
        ledger = store.open()
        ledger.reserve(charge(), ENOUGH)
        assert verify(ledger) == []

    def test_an_older_one_is_fine(self, store, filled):
        """As after a crash between the commit and the move of the head."""
        before = store.head.read_bytes()
        filled.reserve(charge("more"), ENOUGH)
        store.head.write_bytes(before)
        assert problems(store) == ""
        store.open().reserve(charge("and more"), ENOUGH)
        assert problems(store) == ""

    def test_it_moves_with_every_entry(self, store, filled):
        number = filled.reserve(charge("more"), ENOUGH)
        with filled.snapshot() as snapshot:
            assert (snapshot.heads[""].number, snapshot.heads[""].spent) == (
                number,
                {"bank": filled.spent("bank")},
            )
        filled.record(number, "x")
        with filled.snapshot() as snapshot:
            assert snapshot.heads[""] == filled.head() and snapshot.heads[""].number == number + 1

    def test_it_may_lie_elsewhere(self, store, tmp_path):
        (tmp_path / "usb").mkdir()
        other = tmp_path / "usb" / "head"
        store.open(head=other).reserve(charge(), ENOUGH)
        assert other.exists() and not store.head.exists()
        with pytest.raises(LedgerError, match="head is missing"):
            store.open()

    @pytest.mark.slow
    def test_it_grows_with_the_number_of_datasets(self, store, ledger):
        for number in range(200):
            ledger.reserve(charge(dataset=f"a dataset with quite a long name {number}"), ENOUGH)
        with ledger.snapshot() as snapshot:
            assert snapshot.heads[""] == ledger.head() and len(snapshot.heads[""].spent) == 200
        assert os.stat(store.head).st_mode & 0o777 == 0o600

    def test_a_printed_line_finds_an_old_copy_even_if_the_head_was_put_back_too(
        self, store, filled, tmp_path
    ):
        shutil.copy(store.head, tmp_path / "head")
        filled.backup(tmp_path / "copy")
        filled.reserve(charge("later"), ENOUGH)
        line = filled.head().line
        assert verify(filled, expected_head=line) == []
        filled.close()
        put_back(tmp_path / "copy", store.path)
        shutil.copy(tmp_path / "head", store.head)
        ledger = store.open()
        assert verify(ledger) == []
        assert verify(ledger, expected_head=line) == [
            (
                "The ledger ends at entry 10, and the expected head is entry 11: an old copy, or "
                "entries were cut off."
            )
        ]

    def test_a_printed_line_of_another_chain_is_found(self, filled):
        assert (
            "not the one of the expected head" in verify(filled, expected_head=f"7 {'0' * 64}")[0]
        )
        assert "must be a line" in verify(filled, expected_head="x")[0]
