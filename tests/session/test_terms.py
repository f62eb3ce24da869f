"""The policy's terms change under the ledger: protect is raised, a dataset gets another name, or
two names mean the same rows.
"""

from __future__ import annotations

import shutil
from fractions import Fraction

import duckdb
import pyarrow.parquet as pq
import pytest

from bank import COLUMNS, ONE_ROW, bank, dataset_text, session
from postri.errors import BudgetExceeded, PolicyError
from postri.ledger import SqliteLedger, verify
from postri.policy import check_policy, people_of, read_policy

pytestmark = pytest.mark.slow

N = {"n": "count()"}
AGE = {"age": COLUMNS["age"]}
HUNDRED_ROWS = 'change = "add-or-remove-rows", rows = 100'
PERSON = 'change = "add-or-remove-units", unit = "secret", rows = 2'
ZCDP = 'accountant = "zcdp"\ndelta = "1e-6"\n'


@pytest.fixture
def folder(tmp_path):
    pq.write_table(bank(60), tmp_path / "bank.parquet")
    return tmp_path


def policy(folder, *datasets):
    path = folder / "postri.toml"
    path.write_text("".join(datasets))
    return path


def a_dataset(name="bank", source="bank.parquet", **others):
    return dataset_text(name, source=source, columns=AGE, rows=None, **others)


def count(path, dataset="bank", epsilon="1", where=None):
    with session(path) as db:
        return db.count(dataset, epsilon=epsilon, where=where)


def spent(path, dataset="bank"):
    """By the budget that analysts see, of a ledger that verifies."""
    found = read_policy(path)
    with SqliteLedger(found.ledger, found.head) as ledger:
        assert verify(ledger) == []
    with session(path) as db:
        return db.budget(dataset)[dataset].spent


def entries(path):
    found = read_policy(path)
    with SqliteLedger(found.ledger, found.head) as ledger:
        return [entry.kind for entry in ledger.entries()]


def refused(path, dataset, *words):
    """The question and its price are refused with these words, `check` says the same, and nothing
    is written.
    """
    before = entries(path)
    with session(path) as db:
        for ask in (db.count, lambda name, epsilon: db.price(name, N, epsilon=epsilon)):
            with pytest.raises(PolicyError) as caught:
                ask(dataset, epsilon="0.01")
            assert all(word in str(caught.value) for word in words), str(caught.value)
    assert entries(path) == before
    errors = " ".join(each.text for each in check_policy(read_policy(path))[0])
    assert all(word in errors for word in words), errors


class TestProtect:
    @pytest.mark.parametrize("factor", [2, 100])
    def test_earlier_spends_count_for_more(self, folder, factor):
        count(policy(folder, a_dataset(budget="500")))
        raised = f'change = "add-or-remove-rows", rows = {factor}'
        path = policy(folder, a_dataset(budget="500", protect=raised))
        errors, warnings = check_policy(read_policy(path))
        assert errors == [] and "protects more than it did" in warnings[0].text
        # The price and the budget know it before anybody asks.
        assert spent(path) == factor
        with session(path) as db:
            assert db.price("bank", N, epsilon="1").remaining == 500 - factor
        count(path)
        assert spent(path) == factor + 1
        assert check_policy(read_policy(path)) == ([], [])

    def test_under_zcdp_by_the_square_of_it(self, folder):
        path = policy(folder, a_dataset(budget="5", more=ZCDP))
        count(path, epsilon="1/10")
        before = spent(path)
        assert before < 1
        policy(folder, a_dataset(budget="5", more=ZCDP, protect=HUNDRED_ROWS))
        # 100 squared times 1/200 is a rho of 50.
        assert spent(path) > 50
        with pytest.raises(BudgetExceeded):
            count(path, epsilon="1/10")
        assert entries(path)[3:] == ["restated", "terms"]

    def test_the_budget_runs_out_by_it(self, folder):
        path = policy(folder, a_dataset(budget="5"))
        count(path)
        policy(folder, a_dataset(budget="5", protect=HUNDRED_ROWS))
        with session(path) as db:
            assert "leaves -95" in db.price("bank", N, epsilon="1").refused
        with pytest.raises(BudgetExceeded):
            count(path)
        assert spent(path) == 100

    def test_an_answer_under_another_protection_is_not_given_again(self, folder):
        path = policy(folder, a_dataset(budget="500"))
        count(path)
        policy(folder, a_dataset(budget="500", protect=HUNDRED_ROWS))
        count(path)
        assert entries(path).count("reserve") == 2

    def test_down_and_up_again(self, folder):
        path = policy(folder, a_dataset(budget="500", protect=HUNDRED_ROWS))
        count(path)
        policy(folder, a_dataset(budget="500"))
        count(path)
        assert spent(path) == 2
        policy(folder, a_dataset(budget="500", protect=HUNDRED_ROWS))
        count(path, where="age > 40")
        assert spent(path) == 1 + 100 + 1
        policy(folder, a_dataset(budget="500"))
        assert spent(path) == 102
        policy(folder, a_dataset(budget="500", protect=HUNDRED_ROWS))
        count(path, where="age > 50")
        assert spent(path) == 103

    @pytest.mark.parametrize("more", ["", ZCDP])
    def test_what_has_no_number_waits_for_the_steward(self, folder, more):
        path = policy(folder, a_dataset(budget="50", more=more))
        count(path)
        policy(folder, a_dataset(budget="50", more=more, protect=PERSON))
        refused(path, "bank", "dataset 'bank' is to protect", "--accept-protection bank")
        before = spent(path)
        found = read_policy(path)
        with SqliteLedger(found.ledger) as ledger:
            ledger.accept_protection("bank", people_of(found, found.datasets["bank"]))
        assert spent(path) == before
        assert check_policy(found) == ([], [])
        count(path)
        assert entries(path)[3:] == ["protection", "terms", "reserve", "answer"]


def linked(folder):
    (folder / "link.parquet").symlink_to(folder / "bank.parquet")
    return {"source": "link.parquet"}


def in_a_linked_folder(folder):
    (folder / "there").symlink_to(folder, target_is_directory=True)
    return {"source": "there/bank.parquet"}


def matched(folder):
    pq.write_table(bank(60), folder / "other.parquet")
    return {"source": "*.parquet"}


COPIES = {
    "the same text": lambda _: {"source": "bank.parquet"},
    "another spelling": lambda _: {"source": "./bank.parquet"},
    "an absolute path": lambda folder: {"source": str(folder / "bank.parquet")},
    "a link": linked,
    "a linked folder": in_a_linked_folder,
    "a pattern that holds it": matched,
    "another version": lambda _: {"source": "bank.parquet", "version": "2"},
}


class TestTheSameRowsUnderAnotherName:
    @pytest.mark.one_in(4)
    @pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
    def test_two_datasets_of_a_policy(self, folder, copy):
        path = policy(folder, a_dataset(), a_dataset("copy", **copy(folder)))
        for name in ("bank", "copy"):
            refused(path, name, "'bank' and 'copy' read", 'same_people_as = "bank"')

    @pytest.mark.one_in(4)
    @pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
    def test_a_dataset_that_was_renamed(self, folder, copy):
        path = policy(folder, a_dataset())
        count(path)
        policy(folder, a_dataset("renamed", **copy(folder)))
        refused(path, "renamed", "'renamed' reads", "'bank'", 'same_people_as = "bank"')

    @pytest.mark.parametrize("copy", ["the same text", "a pattern that holds it"])
    def test_both_are_joined(self, folder, copy):
        others = {**COPIES[copy](folder), "more": 'same_people_as = "bank"'}
        path = policy(folder, a_dataset(), a_dataset("copy", **others))
        count(path, "bank", "2")
        count(path, "copy", "3/2")
        assert spent(path, "bank") == spent(path, "copy") == Fraction(7, 2)
        for name in ("bank", "copy"):
            with session(path) as db:
                assert db.price(name, N, epsilon="1").remaining == Fraction(3, 2)
            with pytest.raises(BudgetExceeded):
                count(path, name, "1.6", where="age > 50")

    def test_a_renamed_one_goes_on_from_what_was_spent(self, folder):
        path = policy(folder, a_dataset())
        count(path, epsilon="4")
        policy(folder, a_dataset("renamed", more='same_people_as = "bank"'))
        assert check_policy(read_policy(path)) == ([], [])
        assert spent(path, "renamed") == 4
        with pytest.raises(BudgetExceeded):
            count(path, "renamed", "2")
        count(path, "renamed", "1")
        assert spent(path, "renamed") == 5

    def test_a_table_of_a_database_by_its_spellings(self, tmp_path):
        with duckdb.connect(str(tmp_path / "bank.duckdb")) as connection:
            connection.execute("CREATE TABLE t AS SELECT 40 AS age FROM range(9)")
        shutil.copy(tmp_path / "bank.duckdb", tmp_path / "second.duckdb")
        (tmp_path / "link.duckdb").symlink_to(tmp_path / "bank.duckdb")
        columns = {"age": 'type = "integer"\nlower = 0\nupper = 120'}

        def table(name, table, source="bank.duckdb"):
            return dataset_text(name, source=source, table=table, columns=columns)

        for other in ("main.t", "T", "bank.main.t"):
            path = policy(tmp_path, table("bank", "t"), table("copy", other))
            refused(path, "copy", "'bank' and 'copy' read the same source")
        path = policy(tmp_path, table("bank", "t"), table("copy", "t", "link.duckdb"))
        refused(path, "copy", "'bank' and 'copy' read the same source")
        path = policy(tmp_path, table("bank", "t"), table("copy", "t", "second.duckdb"))
        count(path, "copy")

    def test_a_file_that_comes_into_a_pattern_later(self, folder):
        pq.write_table(bank(60), folder / "day1.parquet")
        path = policy(folder, a_dataset(), a_dataset("days", "day*.parquet"))
        count(path, "days")
        (folder / "day2.parquet").symlink_to(folder / "bank.parquet")
        refused(path, "days", "'bank' and 'days' read the same source")


class TestSamePeople:
    def test_different_files_are_joined(self, folder):
        pq.write_table(bank(40), folder / "shop.parquet")
        more = 'same_people_as = "shop"'
        path = policy(folder, a_dataset(more=more), a_dataset("shop", "shop.parquet", budget="3"))
        count(path, "bank", "2")
        with pytest.raises(BudgetExceeded, match="the budget of 'shop' leaves 1"):
            count(path, "shop", "2")
        count(path, "shop", "1")
        assert spent(path, "bank") == spent(path, "shop") == 3

    def test_a_name_that_nobody_knows_is_refused(self, folder):
        path = policy(folder, a_dataset(more='same_people_as = "shp"'))
        count(policy(folder, a_dataset("shop")), "shop")
        policy(folder, a_dataset("bank", more='same_people_as = "shp"'))
        refused(path, "bank", "names 'shp', which neither", "did you mean 'shop'?")

    def test_nor_is_one_that_is_joined_with_such_a_name(self, folder):
        pq.write_table(bank(40), folder / "shop.parquet")
        path = policy(
            folder,
            a_dataset(more='same_people_as = "shop"'),
            a_dataset("shop", "shop.parquet", more='same_people_as = "nobody"'),
        )
        refused(path, "bank", "names 'nobody', which neither")

    def test_what_was_joined_stays_so_and_check_says_it(self, folder):
        pq.write_table(bank(40), folder / "shop.parquet")
        shop = a_dataset("shop", "shop.parquet", more='same_people_as = "bank"')
        path = policy(folder, a_dataset(), shop)
        count(path, "shop")
        policy(folder, a_dataset(), shop.replace('same_people_as = "bank"', ""))
        assert spent(path, "bank") == 1
        errors, warnings = check_policy(read_policy(path))
        assert errors == [] and [each.text for each in warnings] == [
            f"by the ledger dataset '{one}' is about the same people as '{other}': what was spent "
            "on them still counts"
            for one, other in (("bank", "shop"), ("shop", "bank"))
        ]

    def test_what_the_ledger_joined_must_still_agree(self, folder):
        pq.write_table(bank(40), folder / "shop.parquet")
        path = policy(
            folder, a_dataset(), a_dataset("shop", "shop.parquet", more='same_people_as = "bank"')
        )
        count(path, "shop")
        policy(folder, a_dataset(protect=HUNDRED_ROWS), a_dataset("shop", "shop.parquet"))
        refused(path, "shop", "by the ledger datasets 'shop' and 'bank'", "under the same protect")

    def test_a_recorded_answer_stays_its_datasets_own(self, folder):
        path = policy(folder, a_dataset(), a_dataset("copy", more='same_people_as = "bank"'))
        count(path, "bank")
        count(path, "copy")
        assert entries(path).count("reserve") == 2
        count(path, "bank")
        assert entries(path).count("reserve") == 2


def test_the_ledger_shows_no_path_and_no_password(folder):
    path = policy(folder, a_dataset())
    count(path)
    terms = (folder / "postri.ledger").read_bytes()
    assert b"bank.parquet" not in terms and str(folder).encode() not in terms
    assert ONE_ROW.partition('"')[2].partition('"')[0].encode() in terms
