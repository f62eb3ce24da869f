"""`postri budget`: its table and its JSON."""

from __future__ import annotations

from fractions import Fraction

import pytest
from some_charges import charge, limits

from postri.cli.budget import as_json, bar, check_ledger, save_trail, show
from postri.errors import LedgerError
from postri.ledger import ZCDP, Account, Pure, bounded_range

BANK = Account("bank", Fraction(5), Pure(), {"ann": Fraction(2)})
SHOP = Account("shop [red]", Fraction(3))


@pytest.fixture
def asked(ledger):
    """Half of epsilon spent on the bank: a budget, a question, its answer."""
    ledger.record(ledger.reserve(charge(epsilon="1/2"), limits(5, allowance=Fraction(2))), "x")
    return ledger


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def test_json_has_exact_rationals(asked):
    assert as_json([BANK, SHOP], asked) == {
        "bank": {
            "budget": "5",
            "spent": "1/2",
            "remaining": "9/2",
            "entries": 3,
        },
        "shop [red]": {
            "budget": "3",
            "spent": "0",
            "remaining": "3",
            "entries": 0,
        },
    }


def test_under_zcdp_what_is_spent_is_what_the_sum_means(ledger):
    accountant = ZCDP(Fraction("1e-6"))
    for number in range(50):
        ledger.reserve(charge(number), limits(5, accountant=accountant))
    shown, cost = (
        as_json([Account("bank", Fraction(5), accountant)], ledger)["bank"],
        ledger.spent("bank"),
    )
    assert Fraction(shown["spent"]) == accountant.epsilon(cost) < cost.epsilon
    assert Fraction(shown["spent"]) + Fraction(shown["remaining"]) == 5


def test_the_table_shows_datasets_and_their_analysts(asked, capsys):
    asked.reserve(charge(epsilon="1/3", analyst="bob"), limits(5))
    show([BANK, SHOP], asked)
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert ["bank", "█" * 17 + "░" * 3, "4.167", "0.8333", "5", "4"] in lines
    assert ["ann", "█" * 15 + "░" * 5, "1.5", "0.5", "2", "2"] in lines
    assert ["bob", "0.3333", "1"] in lines
    assert ["shop", "[red]", "█" * 20, "3", "0", "3", "0"] in lines
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out


def test_a_bar_is_full_only_if_nothing_was_spent_and_empty_only_if_nothing_is_left():
    assert bar(Fraction(5), Fraction(5)) == "█" * 20
    assert bar(Fraction(499, 100), Fraction(5)) == "█" * 19 + "░"
    assert bar(Fraction(1, 1000), Fraction(5)) == "█" + "░" * 19
    assert (
        bar(Fraction(0), Fraction(5))
        == bar(Fraction(-1), Fraction(5))
        == bar(Fraction(0), Fraction(0))
        == "░" * 20
    )


def test_a_good_ledger_is_said_to_be_good(asked, capsys):
    check_ledger(asked, None)
    assert "the ledger is good" in capsys.readouterr().err


def test_problems_are_said_one_by_one_and_end_in_an_error(store, asked, capsys):
    store.tamper("UPDATE datasets SET epsilon = '0'", "DELETE FROM answers")
    with pytest.raises(LedgerError, match="2 problems"):
        check_ledger(store.audit(), None)
    captured = capsys.readouterr()
    assert (
        "The total of 'bank'" in captured.err
        and "recorded answers" in captured.err
        and captured.out == ""
    )


def test_the_trail_is_saved(asked, tmp_path, capsys):
    save_trail(asked, str(tmp_path / "trail.csv"))
    assert len((tmp_path / "trail.csv").read_text().splitlines()) == 4
    with pytest.raises(LedgerError, match="cannot be written"):
        save_trail(asked, str(tmp_path / "no" / "trail.csv"))


def test_names_are_never_read_as_markup(ledger, capsys):
    ledger.reserve(
        charge(dataset="x", analyst="[bold]eve[/bold]", cost=bounded_range(Fraction(1))), limits(5)
    )
    show([Account("x", Fraction(5))], ledger)
    assert "[bold]eve[/bold]" in capsys.readouterr().out
