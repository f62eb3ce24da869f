"""What every store of the ledger does: charges come first, nothing is refunded, limits hold in one
transaction, answers are found again.
"""

from __future__ import annotations

import io
from fractions import Fraction

import pytest
from some_charges import ENOUGH, charge, key, limits

from postri.errors import BudgetExceeded, InputError, LedgerError
from postri.ledger import (
    ZCDP,
    Attempt,
    Charge,
    Cost,
    Limits,
    Pure,
    Recorded,
    Usage,
    bounded_range,
    export_csv,
    gaussian_draw,
    pure_draw,
    verify,
)

EVERY_STORE = True
TENTH = bounded_range(Fraction(1, 10))


def kinds(ledger):
    return [entry.kind for entry in ledger.entries()]


def reserve_all(ledger, charges, limits):
    for each in charges:
        ledger.reserve(each, limits)


class TestViews:
    """A ledger at one moment, and what was asked."""

    def test_a_view_stays_as_it_was(self, ledger):
        before = ledger.view()
        assert (before.head.number, before.usage) == (0, {})
        ledger.reserve(charge(), ENOUGH)
        after = ledger.view(before)
        assert (before.head.number, before.usage) == (0, {})
        assert after.head == ledger.head() and after.usage == ledger.summary()
        assert after.usage["bank"].of("ann").cost == TENTH
        assert after.usage["bank"].of("ben") == Usage()

    def test_a_view_is_taken_anew_when_something_was_written_alone(self, ledger):
        number = ledger.reserve(charge(), ENOUGH)
        view = ledger.view()
        assert ledger.view(view) is view
        ledger.record(number, "{}")
        assert ledger.view(view).head.number == view.head.number + 1

    def test_what_was_asked_is_the_history_without_its_fates(self, ledger):
        for place, (analyst, words) in enumerate([("ann", "a"), ("ben", "b"), ("ann", "c")]):
            asked = charge(place, analyst=analyst)
            ledger.reserve(asked, ENOUGH, Attempt(words))
        for before in (None, 4, 2):
            history = ledger.history("ann", before, 50)
            asked = ledger.asked("ann", before, 50)
            assert [each.number for each in asked] == [past.id for past in history]
            assert [each.wording for each in asked] == [past.wording for past in history]
        newest, oldest = ledger.asked("ann")
        assert ledger.asked("ann", limit=1) == [newest]
        hashes = {entry.number: entry.hash for entry in ledger.entries()}
        assert [newest.hash, oldest.hash] == [hashes[newest.number], hashes[oldest.number]]


class TestCharges:
    """What is spent, and when."""

    def test_a_reservation_is_spent_before_there_is_an_answer(self, ledger):
        ledger.reserve(charge(), ENOUGH)
        assert ledger.spent("bank") == TENTH

    def test_an_answer_adds_nothing(self, ledger):
        ledger.record(ledger.reserve(charge(), ENOUGH), "{}")
        assert ledger.spent("bank") == TENTH

    def test_a_failure_refunds_nothing(self, ledger):
        ledger.fail(ledger.reserve(charge(), ENOUGH), "EngineError")
        assert ledger.spent("bank") == ledger.spent("bank", "ann") == TENTH

    def test_a_reservation_of_unknown_fate_stays_spent(self, store, ledger):
        ledger.reserve(charge(), ENOUGH)
        ledger.close()
        assert store.open().spent("bank") == TENTH

    def test_ten_questions_at_a_tenth_spend_exactly_one(self, ledger):
        for number in range(10):
            ledger.reserve(charge(number), limits(1))
        assert ledger.spent("bank").epsilon == 1
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge(11, "1/1000000"), limits(1))

    def test_thirds_add_up_exactly(self, ledger):
        for number in range(3):
            ledger.reserve(charge(number, "1/3"), limits(1))
        assert ledger.spent("bank").epsilon == 1

    def test_versions_of_a_dataset_add_up(self, ledger):
        ledger.reserve(charge(version="1"), ENOUGH)
        ledger.reserve(charge(version="2"), ENOUGH)
        assert ledger.spent("bank") == TENTH + TENTH

    def test_datasets_and_analysts_are_kept_apart(self, ledger):
        ledger.reserve(charge(analyst="ann"), ENOUGH)
        ledger.reserve(charge(analyst="bob"), ENOUGH)
        ledger.reserve(charge(dataset="shop", analyst="bob"), ENOUGH)
        assert ledger.spent("bank") == TENTH + TENTH
        assert (
            ledger.spent("bank", "ann")
            == ledger.spent("bank", "bob")
            == ledger.spent("shop")
            == TENTH
        )
        assert (
            ledger.spent("shop", "ann") == ledger.spent("nowhere") == Cost(Fraction(0), Fraction(0))
        )

    def test_epsilon_and_rho_are_charged_each(self, ledger):
        ledger.reserve(charge(cost=bounded_range(Fraction(1, 2))), ENOUGH)
        assert ledger.spent("bank") == Cost(Fraction(1, 2), Fraction(1, 32))

    def test_gaussian_noise_is_charged_its_rho_and_has_no_epsilon_from_then_on(self, store, ledger):
        concentrated = limits(100, accountant=ZCDP(Fraction("1e-6")))
        ledger.reserve(charge(1, cost=pure_draw(Fraction(1, 2))), concentrated)
        ledger.reserve(charge(2, cost=gaussian_draw(Fraction(1, 3))), concentrated)
        ledger.reserve(charge(3, cost=TENTH), concentrated)
        total = Cost(None, pure_draw(Fraction(1, 2)).rho + Fraction(1, 3) + TENTH.rho)
        assert ledger.spent("bank") == ledger.spent("bank", "ann") == total
        assert [ledger.past(number).cost.epsilon for number in (2, 3, 4)] == [
            Fraction(1, 2),
            None,
            Fraction(1, 10),
        ]
        ledger.close()
        again = store.open()
        assert again.spent("bank") == total
        assert verify(again) == []
        # Whoever goes back to the pure accountant is refused: no sum of epsilons is true any more.
        with pytest.raises(LedgerError, match='keep accountant = "zcdp"'):
            again.reserve(charge(4), ENOUGH)

    def test_everything_is_there_after_the_ledger_was_closed(self, store, ledger):
        number = ledger.reserve(charge(), ENOUGH)
        ledger.record(number, "the answer")
        before = list(ledger.entries())
        ledger.close()
        again = store.open()
        assert list(again.entries()) == before
        assert again.recorded("bank", "1", charge().key).id == number

    def test_a_closed_ledger_says_so(self, ledger):
        ledger.close()
        with pytest.raises(LedgerError, match="is closed"):
            ledger.reserve(charge(), ENOUGH)


class TestAnswers:
    """The same question again."""

    def test_the_recorded_answer_comes_back_with_what_is_known_of_it(self, ledger):
        number = ledger.reserve(charge(), ENOUGH)
        ledger.record(number, '{"value": 7}')
        found = ledger.recorded("bank", "1", charge().key)
        assert found == Recorded(
            number, '{"value": 7}', TENTH, "ann", list(ledger.entries())[-1].time
        )

    def test_a_reservation_alone_is_no_answer(self, ledger):
        ledger.reserve(charge(), ENOUGH)
        assert ledger.recorded("bank", "1", charge().key) is None

    def test_a_failure_is_no_answer(self, ledger):
        ledger.fail(ledger.reserve(charge(), ENOUGH), "EngineError")
        assert ledger.recorded("bank", "1", charge().key) is None

    @pytest.mark.parametrize(
        ("dataset", "version", "name"),
        [("shop", "1", "q"), ("bank", "2", "q"), ("bank", "1", "other")],
    )
    def test_another_dataset_version_or_question_finds_nothing(
        self, ledger, dataset, version, name
    ):
        ledger.record(ledger.reserve(charge("q"), ENOUGH), "x")
        assert ledger.recorded("bank", "1", key("q")) is not None
        assert ledger.recorded(dataset, version, key(name)) is None

    def test_the_newest_answer_counts(self, ledger):
        first = ledger.reserve(charge(), ENOUGH)
        second = ledger.reserve(charge(), ENOUGH)
        ledger.record(second, "newer")
        ledger.record(first, "older")
        assert ledger.recorded("bank", "1", charge().key).answer_text == "newer"

    def test_texts_come_back_as_they_were(self, ledger):
        text = 'ü "quoted" \\ \n 💡 \x00 end'
        ledger.record(ledger.reserve(charge(), ENOUGH), text)
        assert ledger.recorded("bank", "1", charge().key).answer_text == text
        assert verify(ledger) == []

    @pytest.mark.parametrize("answer", [{"value": 7}, b"x", None, 7])
    def test_what_could_not_be_read_again_is_never_written(self, ledger, answer):
        number = ledger.reserve(charge(), ENOUGH)
        with pytest.raises(InputError, match="the answer must be a text"):
            ledger.record(number, answer)
        ledger.record(number, "x")


class TestFates:
    """A reservation ends once."""

    @pytest.mark.parametrize("first", ["record", "fail"])
    @pytest.mark.parametrize("second", ["record", "fail"])
    def test_it_ends_only_once(self, ledger, first, second):
        number = ledger.reserve(charge(), ENOUGH)
        getattr(ledger, first)(number, "Word")
        before = kinds(ledger)
        with pytest.raises(LedgerError, match="has its fate already"):
            getattr(ledger, second)(number, "Word")
        assert kinds(ledger) == before

    @pytest.mark.parametrize("number", [0, 1, 3, 99, -1])
    def test_what_is_no_reservation_cannot_end(self, ledger, number):
        ledger.record(ledger.reserve(charge(), ENOUGH), "x")
        with pytest.raises(LedgerError, match="no reservation"):
            ledger.record(number, "x")
        with pytest.raises(LedgerError, match="no reservation"):
            ledger.fail(number, "EngineError")

    @pytest.mark.parametrize("reason", ["could not read 'Smith'", "", "a b", "x" * 201, "Error: 5"])
    def test_a_reason_is_a_name_and_never_a_message(self, ledger, reason):
        number = ledger.reserve(charge(), ENOUGH)
        with pytest.raises(InputError) as caught:
            ledger.fail(number, reason)
        assert "Smith" not in str(caught.value)
        assert kinds(ledger) == ["terms", "reserve"]


class TestLimits:
    """Budget, allowance, the most of one question."""

    def test_a_refusal_writes_nothing(self, ledger):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge(epsilon="2"), limits(1))
        assert kinds(ledger) == []
        ledger.reserve(charge(epsilon="1"), limits(1))
        before = kinds(ledger)
        head = ledger.head()
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge(), limits(1))
        assert (kinds(ledger), ledger.head()) == (before, head)

    def test_a_budget_can_be_used_up_to_the_last_part(self, ledger):
        ledger.reserve(charge(epsilon="1"), limits(1))
        assert ledger.spent("bank").epsilon == 1

    def test_the_budget_is_the_datasets_whoever_asks(self, ledger):
        ledger.reserve(charge(epsilon="3/4", analyst="ann"), limits(1))
        with pytest.raises(BudgetExceeded, match="the budget of 'bank'") as caught:
            ledger.reserve(charge(epsilon="1/2", analyst="bob"), limits(1))
        error = caught.value
        assert (error.requested, error.remaining, error.short_by) == (
            Fraction(1, 2),
            Fraction(1, 4),
            Fraction(1, 4),
        )
        assert error.limit == "the budget of 'bank'"

    def test_an_allowance_is_the_analysts(self, ledger):
        one = limits(5, allowance=Fraction(1))
        ledger.reserve(charge(epsilon="3/4", analyst="ann"), one)
        ledger.reserve(charge(epsilon="3/4", analyst="bob"), one)
        with pytest.raises(BudgetExceeded) as caught:
            ledger.reserve(charge(epsilon="1/2", analyst="ann"), one)
        error = caught.value
        assert (error.requested, error.remaining, error.short_by) == (
            Fraction(1, 2),
            Fraction(1, 4),
            Fraction(1, 4),
        )
        assert error.limit == "the allowance of 'ann' on 'bank'"

    def test_one_question_may_cost_no_more_than_the_most(self, ledger):
        most = limits(5, per_question=Fraction(1, 2))
        ledger.reserve(charge(epsilon="1/2"), most)
        with pytest.raises(BudgetExceeded) as caught:
            ledger.reserve(charge(epsilon="3/4"), most)
        error = caught.value
        assert (error.requested, error.remaining, error.short_by) == (
            Fraction(3, 4),
            Fraction(1, 2),
            Fraction(1, 4),
        )
        assert error.limit == "the most that one question may cost on 'bank'"

    @pytest.mark.parametrize("most", ["1/2", "1/3"])
    def test_gaussian_noise_is_held_to_the_rho_of_the_largest_question(self, ledger, most):
        largest = Fraction(most)
        allowed = limits(100, accountant=ZCDP(Fraction("1e-6")), per_question=largest)
        rho = largest**2 / 2
        ledger.reserve(charge(1, cost=gaussian_draw(rho)), allowed)
        with pytest.raises(BudgetExceeded) as caught:
            ledger.reserve(charge(2, cost=gaussian_draw(rho * Fraction(121, 100))), allowed)
        assert caught.value.limit == "the most that one question may cost on 'bank'"
        assert float(caught.value.requested) == pytest.approx(1.1 * float(largest))
        assert caught.value.short_by > 0

    def test_failed_and_open_reservations_count_against_the_budget(self, ledger):
        ledger.fail(ledger.reserve(charge(epsilon="1/2"), limits(1)), "EngineError")
        ledger.reserve(charge(epsilon="1/2"), limits(1))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge(), limits(1))

    def test_under_zcdp_the_sum_means_less_and_the_limit_still_holds(self, ledger):
        accountant = ZCDP(Fraction("1e-6"))
        cost = bounded_range(Fraction(1, 20)) + bounded_range(Fraction(1, 20))
        many = limits("1.8", accountant=accountant)
        for number in range(100):
            ledger.reserve(charge(number, cost=cost), many)
        assert ledger.spent("bank").epsilon == 10
        with pytest.raises(BudgetExceeded) as caught:
            reserve_all(ledger, (charge("more", cost=cost) for _ in range(100)), many)
        error = caught.value
        spent = ledger.spent("bank")
        assert accountant.epsilon(spent) <= Fraction("1.8") < accountant.epsilon(spent + cost)
        assert error.requested == accountant.epsilon(spent + cost) - accountant.epsilon(spent)
        assert error.remaining == Fraction("1.8") - accountant.epsilon(spent)
        assert error.short_by == error.requested - error.remaining

    def test_odd_fractions_cannot_make_the_sum_too_long_and_decimals_still_pass(self, ledger):
        primes = [
            number
            for number in range(10_000, 12_000)
            if all(number % other for other in range(2, 110))
        ]
        with pytest.raises(InputError, match="use a decimal"):
            reserve_all(ledger, (charge(prime, f"1/{prime}") for prime in primes), ENOUGH)
        ledger.reserve(charge("decimal", "0.000000000001"), ENOUGH)
        assert verify(ledger) == []


class TestBudgets:
    """A budget is a fact of its own."""

    def test_it_is_recorded_before_the_first_reservation(self, ledger):
        assert ledger.reserve(charge(), limits(5)) == 2
        assert kinds(ledger) == ["terms", "reserve"]
        assert '"budget":"5"' in next(ledger.entries()).body

    def test_the_same_budget_is_recorded_once(self, ledger):
        ledger.reserve(charge(1), limits(5))
        ledger.reserve(charge(2), limits(5))
        assert kinds(ledger) == ["terms", "reserve", "reserve"]

    @pytest.mark.parametrize(
        "changed",
        [
            limits(6),
            limits(5, accountant=ZCDP(Fraction(1, 10**6))),
            limits(5, per_question=Fraction(1)),
            limits(5, allowance=Fraction(1)),
        ],
    )
    def test_a_changed_one_is_an_entry(self, ledger, changed):
        for each in (limits(5), changed, changed, limits(5)):
            ledger.reserve(charge(), each)
        assert kinds(ledger) == [
            "terms",
            "reserve",
            "terms",
            "reserve",
            "reserve",
            "terms",
            "reserve",
        ]

    def test_allowances_of_two_analysts_stand_beside_each_other(self, ledger):
        for analyst in ("ann", "bob", "ann", "bob"):
            ledger.reserve(charge(analyst=analyst), limits(5, allowance=Fraction(1)))
        assert kinds(ledger).count("terms") == 2
        assert (
            '"allowances":{"ann":"1","bob":"1"}'
            in [entry.body for entry in ledger.entries() if entry.kind == "terms"][-1]
        )

    def test_the_steward_can_set_it_alone(self, ledger):
        terms = (Fraction(5), Pure(), Fraction(1), {"ann": Fraction(2)})
        assert ledger.set_budget("bank", *terms) == 1
        assert ledger.set_budget("bank", *terms) is None
        ledger.reserve(charge(), limits(5, per_question=Fraction(1), allowance=Fraction(2)))
        assert kinds(ledger) == ["terms", "reserve"]

    @pytest.mark.parametrize(
        "wrong",
        [
            ("", Fraction(1), Pure()),
            ("bank", 5, Pure()),
            ("bank", Fraction(5), "pure"),
            ("bank", Fraction(5), Pure(), None, {"": Fraction(1)}),
            ("bank", Fraction(5), Pure(), None, {"ann": 1.5}),
        ],
    )
    def test_wrong_terms_are_an_input_error(self, ledger, wrong):
        with pytest.raises(InputError):
            ledger.set_budget(*wrong)
        assert kinds(ledger) == []

    def test_a_smaller_budget_than_was_spent_refuses_all(self, ledger):
        ledger.reserve(charge(epsilon="2"), limits(5))
        with pytest.raises(BudgetExceeded) as caught:
            ledger.reserve(charge(epsilon="1"), limits(1))
        assert (caught.value.remaining, caught.value.short_by) == (-1, 2)


class TestListing:
    """Entries, totals, the trail."""

    def test_the_summary_counts_by_dataset_and_analyst(self, ledger):
        ledger.record(ledger.reserve(charge(analyst="ann"), ENOUGH), "x")
        ledger.reserve(charge(analyst="bob"), ENOUGH)
        usage = ledger.summary()["bank"]
        assert (usage.cost, usage.entries) == (TENTH + TENTH, 4)
        assert usage.analysts == {
            "ann": Usage(TENTH, 2, questions=1),
            "bob": Usage(TENTH, 1, questions=1),
        }

    def test_entries_are_listed_from_where_one_asks(self, ledger):
        for number in range(4):
            ledger.reserve(charge(number), ENOUGH)
        assert [entry.number for entry in ledger.entries()] == [1, 2, 3, 4, 5]
        assert [entry.number for entry in ledger.entries(after=3)] == [4, 5]
        assert [entry.number for entry in ledger.entries_before(6)] == [5, 4, 3, 2, 1]
        assert [entry.number for entry in ledger.entries_before(3)] == [2, 1]

    def test_entries_can_be_added_while_they_are_listed(self, ledger):
        ledger.reserve(charge(), ENOUGH)
        listing = ledger.entries()
        next(listing)
        ledger.reserve(charge(), ENOUGH)
        assert [entry.number for entry in listing][:1] == [2]

    def test_a_good_ledger_verifies(self, ledger):
        assert verify(ledger) == []
        ledger.record(ledger.reserve(charge(1), limits(5)), "x")
        ledger.fail(ledger.reserve(charge(2), limits(6, allowance=Fraction(1))), "EngineError")
        ledger.reserve(charge(3, dataset="shop"), ENOUGH)
        assert verify(ledger) == []

    def test_the_trail_has_a_line_for_each_entry(self, ledger):
        ledger.record(ledger.reserve(charge("q1"), ENOUGH), "x")
        ledger.fail(ledger.reserve(charge("q2"), ENOUGH), "EngineError")
        ledger.reserve(charge("q3"), ENOUGH)
        file = io.StringIO()
        export_csv(ledger, file)
        assert len(file.getvalue().splitlines()) == 1 + len(list(ledger.entries()))


class TestCharge:
    """Values validate themselves."""

    @pytest.mark.parametrize(
        "wrong",
        [
            {"dataset": ""},
            {"dataset": "a\nb"},
            {"analyst": "x" * 201},
            {"version": "\ud800"},
            {"key": "abc"},
            {"key": "A" * 64},
            {"normal": 7},
            {"cost": Cost(Fraction(0), Fraction(0))},
        ],
    )
    def test_a_wrong_charge_is_an_input_error(self, wrong):
        right = {
            "dataset": "d",
            "version": "1",
            "analyst": "a",
            "key": key(1),
            "normal": "q",
            "cost": TENTH,
        }
        Charge(**right)
        with pytest.raises(InputError):
            Charge(**{**right, **wrong})

    @pytest.mark.parametrize(
        "wrong",
        [
            (Fraction(-1), Pure()),
            (1.5, Pure()),
            (Fraction(1), "pure"),
            (Fraction(1), Pure(), Fraction(-1)),
        ],
    )
    def test_wrong_limits_are_an_input_error(self, wrong):
        with pytest.raises(InputError):
            Limits(*wrong)

    def test_a_very_long_question_is_cut_and_says_so(self, ledger):
        ledger.reserve(charge("x" * 10_000), ENOUGH)
        body = list(ledger.entries())[-1].body
        assert "[cut; 10000 characters in all]" in body and len(body) < 4_600

    def test_a_question_is_marked_as_the_analysts_text(self, ledger):
        ledger.reserve(charge("median of x"), ENOUGH)
        assert '"analyst_text":"median of x"' in list(ledger.entries())[-1].body
