"""What earlier spends count for when a dataset protects something else."""

from __future__ import annotations

import io
import random
from fractions import Fraction

import numpy as np
import pytest
from some_charges import charge

from postri.cost import NOTHING, Cost, gaussian_draw
from postri.errors import BudgetExceeded, InputError, LedgerError, TermsRefused
from postri.ledger import ZCDP, Limits, People, Pure, export_csv, verify
from postri.privacy import (
    AddOrRemoveRows,
    AddOrRemoveUnits,
    ReplaceRows,
    ReplaceUnits,
    group_factor,
)

EVERY_STORE = True
ROW = AddOrRemoveRows(1)
HUNDRED = AddOrRemoveRows(100)
PERSON = AddOrRemoveUnits("who", rows=3)
TENTH = charge().cost


def under(protect, budget=1_000, accountant=None, **others):
    return Limits(Fraction(budget), accountant or Pure(), people=People(protect, **others))


def kinds(ledger):
    return [entry.kind for entry in ledger.entries()]


def ask(ledger, protect, *names, **others):
    for name in names:
        ledger.reserve(charge(name, **others), under(protect))


class TestFactors:
    @pytest.mark.parametrize(
        ("before", "now", "factor"),
        [
            (ROW, ROW, 1),
            (ROW, HUNDRED, 100),
            (HUNDRED, ROW, 1),
            (AddOrRemoveRows(3), AddOrRemoveRows(10), 4),
            (ReplaceRows(3), ReplaceRows(10), 4),
            (ROW, ReplaceRows(1), 2),
            (AddOrRemoveRows(5), ReplaceRows(5), 2),
            (AddOrRemoveRows(3), ReplaceRows(5), 4),
            (AddOrRemoveRows(2), ReplaceRows(1), 1),
            (ReplaceRows(1), ROW, None),
            (ReplaceRows(100), ROW, None),
            (ROW, PERSON, None),
            (HUNDRED, PERSON, None),
            (ReplaceRows(1), ReplaceUnits("who"), None),
            # How many rows of a unit count is not what is protected (Theorem 21).
            (PERSON, AddOrRemoveUnits("who", rows=1), 1),
            (PERSON, AddOrRemoveUnits("who", rows=50), 1),
            (ReplaceUnits("who", 1), ReplaceUnits("who", 9), 1),
            (PERSON, ReplaceUnits("who", rows=3), 2),
            (ReplaceUnits("who", 3), PERSON, None),
            (PERSON, AddOrRemoveUnits("household", rows=3), None),
            (PERSON, AddOrRemoveRows(4), 8),
            (PERSON, ReplaceRows(4), 16),
            (ReplaceUnits("who"), ROW, None),
        ],
    )
    def test_steps_of_one_change_that_make_another(self, before, now, factor):
        assert group_factor(before, now) == factor

    def test_rows_by_brute_force(self):
        """Tables as numbers of equal rows: k0 at a time, the far one is reached in so many steps
        and in no fewer.
        """
        for k0 in range(1, 7):
            for k1 in range(1, 7):
                steps = next(n for n in range(1, 99) if n * k0 >= k1)
                assert group_factor(AddOrRemoveRows(k0), AddOrRemoveRows(k1)) == steps
                swapped = next(n for n in range(1, 99) if n * k0 >= 2 * k1)
                assert group_factor(AddOrRemoveRows(k0), ReplaceRows(k1)) == swapped

    @pytest.mark.slow
    def test_rhos_of_two_steps_add_up_by_their_roots(self):
        """The step of Theorem 21's proof, on random distributions of three outcomes.

        Rhos are the largest of D(order)/order over a grid, which misses little of the supremum.
        """
        draw = np.random.default_rng(20)
        orders = np.concatenate([1 + np.geomspace(1e-3, 1, 60), np.geomspace(2.01, 300, 200)])

        def rho(one, other):
            logs = orders[:, None] * np.log(one / other) + np.log(other)
            top = logs.max(axis=1)
            sums = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
            return np.max(sums / (orders - 1) / orders)

        closest = 0
        for _ in range(2_000):
            first, second, third = (
                weights / weights.sum() for weights in np.exp(draw.normal(0, draw.random(), (3, 3)))
            )
            steps = np.sqrt(rho(first, second)) + np.sqrt(rho(second, third))
            share = rho(first, third) / steps**2
            assert share < 1.001
            closest = max(closest, share)
        # The bound is nearly met: to add the rhos up, which is less by half, would not be enough.
        assert closest > 0.9

    def test_costs_of_groups(self):
        assert TENTH.for_group(100) == Cost(Fraction(10), TENTH.rho * 10_000)
        assert gaussian_draw(Fraction(1, 7)).for_group(3) == Cost(None, Fraction(9, 7))


class TestRaising:
    def test_earlier_spends_count_a_hundred_times(self, ledger):
        ask(ledger, ROW, "a", "b")
        ask(ledger, HUNDRED, "c")
        assert kinds(ledger) == ["terms", "reserve", "reserve", "restated", "terms", "reserve"]
        assert ledger.spent("bank").epsilon == Fraction(20) + Fraction(1, 10)
        assert ledger.spent("bank").rho == (2 * 10_000 + 1) * TENTH.rho
        assert ledger.spent("bank") == ledger.spent("bank", "ann")
        assert verify(ledger) == []

    def test_it_is_told_before_a_question_is_asked(self, ledger):
        ask(ledger, ROW, "a")
        raised = People(HUNDRED)
        assert ledger.spent("bank").epsilon == Fraction(1, 10)
        assert ledger.spent("bank", people=raised).epsilon == 10
        assert ledger.spent("bank", "ann", raised).epsilon == 10
        assert ledger.spent("bank", "bob", raised) == NOTHING
        usage = ledger.usage("bank", raised)
        assert usage.cost.epsilon == usage.analysts["ann"].cost.epsilon == 10
        assert kinds(ledger) == ["terms", "reserve"]

    def test_each_analyst_is_charged_for_what_was_theirs(self, ledger):
        ask(ledger, ROW, "a", analyst="ann")
        ask(ledger, ROW, "b", "c", analyst="bob")
        ask(ledger, HUNDRED, "d", analyst="cid")
        spent = {name: ledger.spent("bank", name).epsilon for name in ("ann", "bob", "cid")}
        assert spent == {"ann": 10, "bob": 20, "cid": Fraction(1, 10)}
        assert ledger.spent("bank").epsilon == sum(spent.values())
        assert ledger.summary()["bank"].entries == len(kinds(ledger))

    def test_an_allowance_knows_of_it(self, ledger):
        ask(ledger, ROW, "a")
        limits = Limits(Fraction(1_000), Pure(), allowance=Fraction(5), people=People(HUNDRED))
        with pytest.raises(BudgetExceeded) as caught:
            ledger.reserve(charge("b"), limits)
        assert caught.value.remaining == -5

    @pytest.mark.parametrize("accountant", [Pure(), ZCDP(Fraction("1e-6"))])
    def test_the_budget_refuses_what_no_longer_fits_and_what_was_restated_stays(
        self, ledger, accountant
    ):
        ledger.reserve(charge("a"), under(ROW, 2, accountant))
        for _ in range(2):
            with pytest.raises(BudgetExceeded):
                ledger.reserve(charge("b"), under(HUNDRED, 2, accountant))
            assert kinds(ledger) == ["terms", "reserve", "restated", "terms"]
        assert ledger.spent("bank").epsilon == 10
        assert verify(ledger) == []

    def test_lowering_and_raising_again_multiplies_nothing_twice(self, ledger):
        ask(ledger, ROW, "a")
        ask(ledger, HUNDRED, "b")
        before = ledger.spent("bank")
        ask(ledger, ROW, "c")
        assert ledger.spent("bank") == before + TENTH
        ask(ledger, HUNDRED, "d")
        # a and c count a hundred times, b and d once.
        assert ledger.spent("bank").epsilon == Fraction(2 * 100 + 2, 10)
        ask(ledger, ROW, "e")
        ask(ledger, HUNDRED, "f")
        assert ledger.spent("bank").epsilon == Fraction(3 * 100 + 3, 10)
        assert verify(ledger) == []

    def test_any_walk_through_protections_is_counted_as_by_hand(self, store):
        """Totals are never below what the spends mean under the last protection, and never above
        the most that any protection so far made of them.
        """
        draw = random.Random(5)
        ledger = store.open()
        most = AddOrRemoveRows(20)
        spends = []

        def meaning(now):
            return Fraction(sum(group_factor(spend, now) for spend in spends), 10)

        for number in range(60):
            protect = AddOrRemoveRows(draw.choice([1, 2, 3, 7, 20]))
            ask(ledger, protect, number)
            spends.append(protect)
            total = ledger.spent("bank").epsilon
            assert meaning(protect) <= total <= meaning(most)
            assert ledger.spent("bank", people=People(most)).epsilon == meaning(most)
            if number % 20 == 0:
                # Another process computes the same from the entries.
                other = store.open().spent("bank", people=People(most))
                assert other.epsilon == meaning(most)
        assert verify(ledger) == []

    def test_gaussian_noise_has_no_epsilon_and_its_rho_is_squared(self, ledger):
        noise = gaussian_draw(Fraction(1, 100))
        zcdp = ZCDP(Fraction("1e-6"))
        ledger.reserve(charge("a", cost=noise), under(ROW, 10**6, zcdp))
        ledger.reserve(charge("b", cost=noise), under(AddOrRemoveRows(3), 10**6, zcdp))
        assert ledger.spent("bank") == Cost(None, Fraction(9 + 1, 100))
        assert verify(ledger) == []

    def test_what_a_restored_ledger_was_charged_counts_too(self, store, ledger, tmp_path):
        ask(ledger, ROW, "a")
        ledger.backup(tmp_path / "copy")
        ask(ledger, ROW, "b")
        ledger.close()
        store.path.write_bytes((tmp_path / "copy").read_bytes())
        store.audit().accept_restored()
        again = store.open()
        ask(again, HUNDRED, "c")
        assert again.spent("bank").epsilon == Fraction(201, 10)
        assert again.spent("bank", "ann").epsilon == Fraction(101, 10)
        assert verify(again) == []

    def test_the_trail_and_the_head_tell_it(self, ledger):
        ask(ledger, ROW, "a")
        ask(ledger, HUNDRED, "b")
        file = io.StringIO()
        export_csv(ledger, file)
        restated = file.getvalue().splitlines()[3]
        assert "restated,bank,,ann,99/10," in restated
        assert "protects adding or removing any 100 rows" in restated
        assert ledger.head().spent["bank"] == ledger.spent("bank")


class TestUnknownProtection:
    """Terms of older versions say nothing of it, nor do limits without people."""

    def test_it_counts_as_the_first_that_is_recorded(self, ledger):
        ask(ledger, None, "a")
        ask(ledger, ROW, "b")
        assert ledger.spent("bank").epsilon == Fraction(2, 10)
        ask(ledger, HUNDRED, "c")
        assert ledger.spent("bank").epsilon == Fraction(201, 10)
        assert verify(ledger) == []

    def test_limits_that_say_nothing_change_nothing(self, ledger):
        ask(ledger, ROW, "a")
        ask(ledger, None, "b")
        assert kinds(ledger) == ["terms", "reserve", "reserve"]
        ledger.set_budget("bank", Fraction(7), Pure())
        ask(ledger, HUNDRED, "c")
        assert ledger.spent("bank").epsilon == Fraction(201, 10)


class TestWithoutANumber:
    def test_it_is_refused_until_the_steward_accepts(self, ledger):
        ask(ledger, ROW, "a", "b")
        with pytest.raises(TermsRefused, match="postri budget --accept-protection bank") as caught:
            ask(ledger, PERSON, "c")
        assert "all rows of any one who" in str(caught.value)
        assert kinds(ledger) == ["terms", "reserve", "reserve"]
        (accepted,) = ledger.accept_protection("bank", People(PERSON))
        # What is refused may leave a gap in the numbers.
        assert [each.kind for each in ledger.entries() if each.number == accepted] == ["protection"]
        ask(ledger, PERSON, "c")
        assert ledger.spent("bank").epsilon == Fraction(3, 10)
        assert kinds(ledger)[3:] == ["protection", "terms", "reserve"]
        assert verify(ledger) == []

    def test_what_was_accepted_is_where_counting_starts(self, ledger):
        ask(ledger, ROW, "a")
        ask(ledger, HUNDRED, "b")
        ledger.accept_protection("bank", People(PERSON))
        ask(ledger, PERSON, "c")
        ask(ledger, ReplaceUnits("who", 3), "d")
        # All of 10.1 + 0.1 count twice, and d once.
        assert ledger.spent("bank").epsilon == 2 * Fraction(102, 10) + Fraction(1, 10)
        assert verify(ledger) == []

    def test_an_acceptance_is_of_one_protection(self, ledger):
        ask(ledger, ROW, "a")
        ledger.accept_protection("bank", People(PERSON))
        with pytest.raises(TermsRefused):
            ask(ledger, AddOrRemoveUnits("household"), "b")

    def test_there_must_be_something_to_accept(self, ledger):
        ask(ledger, ROW, "a")
        for people in (People(ROW), People(HUNDRED), People()):
            with pytest.raises(LedgerError, match="nothing to accept"):
                ledger.accept_protection("bank", people)
        with pytest.raises(LedgerError, match="nothing to accept"):
            ledger.accept_protection("nowhere", People(PERSON))
        assert kinds(ledger) == ["terms", "reserve"]

    def test_usage_is_told_all_the_same(self, ledger):
        ask(ledger, ROW, "a")
        assert ledger.usage("bank", People(PERSON)).cost == TENTH


class TestVerify:
    def test_terms_without_a_restatement_are_found(self, store, ledger):
        ask(ledger, ROW, "a")
        body = next(ledger.entries()).body
        for change in ("replace-rows", "add-or-remove-units"):
            store.add(
                "terms",
                body.replace("add-or-remove-rows", change).replace(
                    '"rows":1', '"rows":1' + ',"unit":"who"' * change.endswith("units")
                ),
            )
        problems = verify(store.audit())
        found = [each for each in problems if "does not count as it should" in each]
        assert [each.split()[1] for each in found] == ["3", "4"]

    def test_a_place_that_was_taken_out_is_found(self, store, ledger):
        place = "a" * 64
        ledger.reserve(charge(), under(ROW, places=frozenset([place]), same_people=("shop",)))
        store.tamper("DELETE FROM places")
        assert verify(store.audit()) == ["The index of where rows lie does not fit the entries."]
        store.tamper(f"INSERT INTO places VALUES ('bank', '{place}')", "DELETE FROM same_people")
        assert verify(store.audit()) == [
            "The index of datasets about the same people does not fit the entries."
        ]


def test_a_subject_is_checked():
    with pytest.raises(InputError, match="protect must be"):
        People("rows")
    with pytest.raises(InputError, match="SHA-256"):
        People(places=frozenset(["/home/ann/bank.csv"]))
    with pytest.raises(InputError, match="name of the dataset"):
        People(same_people=("",))
