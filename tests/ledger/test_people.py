"""Datasets about the same people: which are, what counts together, what is refused."""

from __future__ import annotations

import threading
from fractions import Fraction
from hashlib import sha256

import pytest
from some_charges import charge

from postri.errors import BudgetExceeded, TermsRefused
from postri.ledger import Limits, People, Pure, verify
from postri.privacy import AddOrRemoveRows, AddOrRemoveUnits

EVERY_STORE = True
ROW = AddOrRemoveRows(1)
HUNDRED = AddOrRemoveRows(100)


def place(name):
    return sha256(name.encode()).hexdigest()


def about(*places, same=(), protect=ROW, budget=1_000):
    people = People(protect, frozenset(map(place, places)), tuple(same))
    return Limits(Fraction(budget), Pure(), people=people)


class TestPlaces:
    def test_another_name_on_the_same_place_is_refused(self, ledger):
        ledger.reserve(charge(), about("bank.csv"))
        with pytest.raises(TermsRefused, match='write same_people_as = "bank" in'):
            ledger.reserve(charge(dataset="copy"), about("bank.csv", "more.csv"))
        assert ledger.datasets() == ["bank"]

    def test_the_first_one_goes_on(self, ledger):
        for name in "abc":
            ledger.reserve(charge(name), about("bank.csv"))
        assert [entry.kind for entry in ledger.entries()] == ["terms", *["reserve"] * 3]

    def test_a_place_counts_though_rows_lie_elsewhere_now(self, ledger):
        ledger.reserve(charge("a"), about("old.csv"))
        ledger.reserve(charge("b"), about("new.csv"))
        with pytest.raises(TermsRefused, match="'bank'"):
            ledger.reserve(charge(dataset="copy"), about("old.csv"))

    def test_terms_name_new_places_alone(self, ledger):
        """So that a pattern which grows by a file every hour does not fill the ledger."""
        for day in range(1, 4):
            ledger.reserve(charge(day), about(*map(str, range(day))))
        bodies = [entry.body for entry in ledger.entries() if entry.kind == "terms"]
        assert [body.count(place("0")) for body in bodies] == [1, 0, 0]
        ledger.reserve(charge("again"), about("0"))
        assert len([entry for entry in ledger.entries() if entry.kind == "terms"]) == 3
        assert verify(ledger) == []


class TestJoined:
    def test_spends_add_up_against_each_budget(self, ledger):
        ledger.reserve(charge("a", "3"), about("x", budget=5))
        with pytest.raises(BudgetExceeded) as caught:
            ledger.reserve(charge("b", "3", dataset="shop"), about("y", same=["bank"], budget=5))
        assert (caught.value.remaining, caught.value.limit) == (2, "the budget of 'shop'")
        ledger.reserve(charge("b", "2", dataset="shop"), about("y", same=["bank"], budget=5))
        assert ledger.spent("bank").epsilon == ledger.spent("shop").epsilon == 5
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge("c"), about("x", same=["shop"], budget=5))
        assert ledger.summary()["bank"].cost.epsilon == 3
        usage = ledger.usage("bank", People(ROW))
        assert (usage.cost.epsilon, usage.analysts["ann"].cost.epsilon) == (5, 5)
        assert verify(ledger) == []

    def test_allowances_too(self, ledger):
        ledger.reserve(charge("a", "3"), about("x"))
        people = People(ROW, same_people=("bank",))
        limits = Limits(Fraction(100), Pure(), allowance=Fraction(4), people=people)
        with pytest.raises(BudgetExceeded, match="the allowance of 'ann'"):
            ledger.reserve(charge("b", "2", dataset="shop"), limits)

    def test_over_any_number_of_steps(self, ledger):
        """Renamed twice: only the name before is known to the policy."""
        ledger.reserve(charge(dataset="one"), about("x"))
        ledger.reserve(charge(dataset="two"), about("x", same=["one"]))
        ledger.reserve(charge(dataset="three"), about("x", same=["two"]))
        assert ledger.same_people("one") == ("one", "three", "two")
        assert ledger.spent("three").epsilon == Fraction(3, 10)

    def test_what_was_joined_once_stays_so(self, ledger):
        ledger.reserve(charge(dataset="one"), about("x"))
        ledger.reserve(charge(dataset="two"), about("y", same=["one"]))
        ledger.reserve(charge("again", dataset="two"), about("y"))
        assert ledger.spent("one").epsilon == Fraction(3, 10)
        assert ledger.same_people("two") == ("one", "two")

    def test_a_stronger_protection_restates_all_of_them(self, ledger):
        ledger.reserve(charge(dataset="old"), about("x"))
        ledger.reserve(charge(dataset="new"), about("x", same=["old"], protect=HUNDRED))
        assert ledger.summary()["old"].cost.epsilon == 10
        assert ledger.spent("new").epsilon == 10 + Fraction(1, 10)
        numbers = len(list(ledger.entries()))
        ledger.reserve(charge("b", dataset="new"), about("x", same=["old"], protect=HUNDRED))
        assert len(list(ledger.entries())) == numbers + 1
        assert verify(ledger) == []

    def test_one_acceptance_is_for_all_of_them(self, ledger):
        ledger.reserve(charge(dataset="old"), about("x"))
        person = AddOrRemoveUnits("who")
        limits = about("x", same=["old"], protect=person)
        with pytest.raises(
            TermsRefused, match=r"dataset 'new' is to protect .* --accept-protection new"
        ):
            ledger.reserve(charge(dataset="new"), limits)
        ledger.accept_protection("new", limits.people)
        ledger.reserve(charge(dataset="new"), limits)
        assert ledger.spent("new").epsilon == Fraction(2, 10)
        assert verify(ledger) == []

    def test_two_who_ask_at_once_cannot_both_spend_the_last_part(self, store):
        """Each of two datasets would fit alone."""
        ledgers = [store.open(), store.open()]
        names = ["bank", "shop"]
        refused = []

        def spend(number):
            for each in range(20):
                question = charge((number, each), "1", dataset=names[number])
                limits = about(names[number], same=[names[1 - number]], budget=10)
                try:
                    ledgers[number].reserve(question, limits)
                except BudgetExceeded:
                    refused.append(number)

        threads = [threading.Thread(target=spend, args=[number]) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 30
        assert ledgers[0].spent("bank").epsilon == 10
        assert verify(ledgers[0]) == []
