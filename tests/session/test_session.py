"""A session: reserve, touch data, record, hand over; what is refused costs nothing, what fails
after that is paid for.
"""

from __future__ import annotations

import json
from fractions import Fraction
from unittest.mock import patch

import pyarrow as pa
import pytest

import postri
from bank import bank, seeded, session, spent, write_policy
from postri import (
    BudgetExceeded,
    EngineError,
    InputError,
    LedgerError,
    PolicyError,
    QuestionFailed,
    ServiceError,
    agg,
)
from postri.ledger import Cost, SqliteLedger
from postri.policy import read_policy
from postri.question import BoundQuestion
from postri.session import LocalSession
from postri.session import local as module
from proving import sized
from result_columns import RESULT_KEYS, columns_of

WANTED = {
    "mid": agg.median("balance"),
    "n": agg.count(),
    "average": agg.mean("rate"),
    "total": agg.sum("age"),
    "day": agg.median("since"),
}


class TestAnswers:
    def test_every_aggregate_comes_with_its_interval_in_one_spend(self, policy):
        with session(policy) as db:
            result = db.ask("bank", WANTED, by=["job"], epsilon=2)
        assert result.columns == [
            "job",
            *columns_of(*WANTED),
        ]
        assert [row["job"] for row in result.rows] == ["admin.", "technician", "nobody"]
        assert (result.epsilon, result.charged, result.recorded) == (2, 2, False)
        assert spent(policy) == 2
        for row in result.rows:
            assert all(row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] for name in WANTED)

    def test_answers_are_those_of_the_bare_function_with_the_same_coins(self, policy):
        with seeded(policy) as db:
            result = db.ask(
                "bank",
                {"mid": agg.median("balance"), "n": agg.count()},
                where="age < 40",
                epsilon=1,
            )
        domain = postri.Domain(-1000, 9000)
        # The normal order of aggregates: counts before quantiles.
        wanted = {"n": agg.count(), "mid": agg.median("balance", domain=domain)}
        bare = postri.ask(bank(), wanted, where="age < 40", epsilon=1, coins=postri.SeededCoins(3))
        assert {name: result.rows[0][name] for name in bare.columns} == bare.rows[0]

    def test_weights_divide_epsilon(self, policy):
        with session(policy) as db:
            result = db.ask(
                "bank",
                {"mid": agg.median("balance"), "n": agg.count()},
                weights={"mid": 3, "n": 1},
                epsilon=1,
            )
        assert [answer.epsilon for answer in result.answers] == [Fraction(3, 4), Fraction(1, 4)]

    @pytest.mark.slow
    def test_each_method_gives_its_answer(self, policy):
        with session(policy) as db:
            answers = [
                db.median("bank", "balance", epsilon="0.5", where="age < 40"),
                db.quantile("bank", "balance", 0.9, epsilon="0.5"),
                db.count("bank", epsilon="0.5"),
                db.count("bank", "age", epsilon="0.5"),
                db.sum("bank", "age", epsilon="0.5"),
                db.mean("bank", "age", epsilon="0.5", confidence=0.9),
            ]
            with pytest.raises(
                InputError, match="there is no parameter 'were'; did you mean 'where'"
            ):
                db.count("bank", epsilon=1, were="age < 40")
        assert [answer.statistic for answer in answers] == [
            "quantile",
            "quantile",
            "count",
            "count",
            "sum",
            "mean",
        ]
        assert spent(policy) == 3

    def test_a_result_as_json_says_what_was_charged(self, policy):
        with session(policy) as db:
            found = json.loads(db.ask("bank", {"n": "count()"}, epsilon="1/2").to_json())
            again = json.loads(db.ask("bank", {"n": "count()"}, epsilon="1/2").to_json())
        assert list(found) == RESULT_KEYS
        assert (found["epsilon"], found["charged"], again["charged"]) == ("1/2", "1/2", "0")
        assert found["answer_id"] == again["answer_id"]


class TestShortcuts:
    def test_several_quantiles_come_in_their_order_for_one_epsilon(self, policy):
        with session(policy) as db:
            high, low = db.quantiles("bank", "balance", [0.9, "1/4"], epsilon=1, where="age < 40")
            assert (high.p, low.p, low.value <= high.value) == (
                Fraction(9, 10),
                Fraction(1, 4),
                True,
            )
            assert "at once" not in str(high)
            joint = db.quantiles("bank", "balance", [0.9, 0.25], epsilon=1, simultaneous=True)
            assert all("at once" in str(answer) for answer in joint)
            assert spent(policy) == 2

    @pytest.mark.parametrize("ps", ["0.5", [], [0.5, 2], 3])
    def test_wrong_quantiles_are_refused_for_nothing(self, policy, ps):
        with session(policy) as db, pytest.raises(postri.InputError):
            db.quantiles("bank", "balance", ps, epsilon=1)
        assert spent(policy) == 0

    def test_one_dataset_is_described_by_its_name(self, policy):
        with session(policy) as db:
            facts = db.describe("bank")
            assert facts == db.describe()["bank"]
            assert "balance: integer, -1000 to 9000" in str(facts)
            assert "keys admin., technician, nobody" in str(facts)
            with pytest.raises(postri.InputError, match="did you mean 'bank'"):
                db.describe("bnak")


class TestRecordedAnswers:
    def test_the_same_question_costs_nothing_and_says_so(self, policy):
        with session(policy) as db:
            first = db.ask("bank", WANTED, by=["job"], epsilon=1)
        with session(policy, "bob") as db:
            again = db.ask("bank", WANTED, by=["job"], epsilon=1)
        assert again.rows == first.rows
        assert (again.charged, again.recorded, again.answer_id) == (0, True, first.answer_id)
        assert "from the ledger" in str(again) and "from the ledger" not in str(first)
        assert spent(policy) == 1

    def test_a_fresh_one_is_paid_for(self, policy):
        with session(policy) as db:
            values = {db.sum("bank", "balance", epsilon="1/10", fresh=True).value for _ in range(5)}
        assert len(values) == 5
        assert spent(policy) == Fraction(1, 2)

    @pytest.mark.slow
    def test_another_confidence_of_a_count_sum_or_mean_is_free(self, policy):
        wanted = {"n": agg.count(), "total": agg.sum("age"), "average": agg.mean("age")}
        with session(policy) as db:
            narrow = db.ask("bank", wanted, epsilon=1, confidence=0.5)
            wide = db.ask("bank", wanted, epsilon=1, confidence=0.999)
            joint = db.ask("bank", wanted, epsilon=1, confidence=0.999, simultaneous=True)
        assert (wide.charged, joint.charged) == (0, 0)
        for one, two, three in zip(narrow.answers, wide.answers, joint.answers, strict=True):
            assert one.value == two.value == three.value
            assert three.interval.low < two.interval.low < one.interval.low
            assert (one.confidence, two.confidence) == (0.5, 0.999)
        assert "all intervals of this question hold at once" in str(joint) and "at once" not in str(
            wide
        )

    def test_a_new_version_retires_answers_and_not_spends(self, policy):
        with session(policy) as db:
            db.count("bank", epsilon=1)
        policy.write_text(policy.read_text().replace('version = "1"', 'version = "2"'))
        with session(policy) as db:
            assert db.ask("bank", {"n": agg.count()}, epsilon=1).charged == 1
        assert spent(policy) == 2

    def test_an_answer_of_a_form_that_is_not_known_is_not_guessed_at(self, policy):
        with session(policy) as db, patch.object(module, "write_answers", lambda _: '{"form": 99}'):
            db.count("bank", epsilon=1)
        with (
            session(policy) as db,
            pytest.raises(LedgerError, match="not of a form that this version knows"),
        ):
            db.count("bank", epsilon=1)


class TestRefusals:
    def test_a_question_beyond_the_budget_says_how_far_and_costs_nothing(self, policy):
        with session(policy) as db:
            db.count("bank", epsilon=4)
            with pytest.raises(BudgetExceeded) as refused:
                db.count("bank", "age", epsilon="3/2")
        assert (refused.value.requested, refused.value.remaining, refused.value.short_by) == (
            Fraction(3, 2),
            1,
            Fraction(1, 2),
        )
        assert spent(policy) == 4

    def test_the_most_of_a_question_and_an_allowance_bind(self, tmp_path):
        path = write_policy(
            tmp_path, more='max_epsilon_per_question = "1"\nallowances = { ann = "3/2" }'
        )
        with session(path) as db, session(path, "bob") as other:
            with pytest.raises(BudgetExceeded, match="one question may cost"):
                db.count("bank", epsilon="1.01")
            db.count("bank", epsilon=1)
            with pytest.raises(
                BudgetExceeded, match=r"the allowance of 'ann' on 'bank' leaves 0\.5"
            ):
                db.sum("bank", "age", epsilon=1)
            other.sum("bank", "age", epsilon=1)
            assert (db.budget("bank")["bank"].own, other.budget("bank")["bank"].spent) == (1, 2)

    @pytest.mark.parametrize(
        ("how", "words"),
        [
            ({"dataset": "bnk"}, "did you mean 'bank'"),
            ({"aggregates": {"a": "median(job)"}}, "have no order of numbers"),
            ({"aggregates": {"a": "sum(since)"}}, "no sum of dates"),
            ({"where": "job < 3"}, "job"),
            ({"aggregates": {"job": "count()"}, "by": ["job"]}, "two columns of the result"),
        ],
    )
    def test_a_wrong_question_costs_nothing(self, policy, how, words):
        with session(policy) as db, pytest.raises(InputError, match=words):
            db.ask(**{"dataset": "bank", "aggregates": {"n": "count()"}, "epsilon": 1, **how})
        assert spent(policy) == 0

    def test_a_source_that_is_gone_costs_nothing(self, policy):
        (policy.parent / "bank.parquet").unlink()
        with session(policy) as db, pytest.raises(InputError):
            db.count("bank", epsilon=1)
        assert spent(policy) == 0

    @pytest.mark.parametrize(
        ("place", "how", "words"),
        [
            ("http://example.invalid", {"token": "secret"}, "in the clear"),
            ("https://user:pass@example.invalid", {"token": "secret"}, "without a user"),
            (
                "https://example.invalid?token=secret",
                {"token": "secret"},
                "without a user or a query",
            ),
            ("https://example.invalid:99999", {"token": "secret"}, "port"),
            ("https://example.invalid", {}, "postri token add"),
            ("https://example.invalid", {"token": "sec\nret"}, "postri token add"),
            ("https://example.invalid", {"token": "secret", "analyst": "ann"}, "by the token"),
            ("postri.toml", {"token": "secret"}, "address of a service"),
        ],
    )
    def test_a_service_that_cannot_be_asked_is_refused_before_anything_is_sent(
        self, place, how, words, monkeypatch
    ):
        monkeypatch.delenv("POSTRI_TOKEN", raising=False)
        with pytest.raises(InputError, match=words) as refused:
            postri.connect(place, **how)
        assert "secret" not in str(refused.value)

    def test_a_service_that_is_not_there_says_so(self):
        with pytest.raises(ServiceError, match="cannot be reached"):
            postri.connect("https://example.invalid", token="secret")

    def test_a_policy_that_is_wrong_says_where(self, policy):
        policy.write_text(policy.read_text().replace("budget", "bugdet"))
        with pytest.raises(PolicyError, match="budget"):
            postri.connect(policy)


# ---- the order of things, and bugs that must not pass


class Watched(SqliteLedger):
    """A ledger that notes what is done to it."""

    def __init__(self, *places, events):
        super().__init__(*places)
        self.events = events

    def reserve(self, charge, limits, attempt=None):
        number = super().reserve(charge, limits, attempt)
        self.events.append("reserve")
        return number

    def record(self, reservation, answer):
        super().record(reservation, answer)
        self.events.append("record")


def events_of(policy, kind: type[LocalSession] = LocalSession) -> list[str]:
    """What happens when a question is asked, in order."""
    events: list[str] = []
    found = read_policy(policy)
    counted = BoundQuestion.answers

    def touched(self):
        events.append("touch data")
        return counted(self)

    with (
        Watched(found.ledger, found.head, events=events) as ledger,
        patch.object(BoundQuestion, "answers", touched),
    ):
        kind(found, ledger, "ann").count("bank", epsilon=1)
        events.append("hand over")
    return events


RIGHT_ORDER = ["reserve", "touch data", "record", "hand over"]


class ChargesAfterwards(LocalSession):
    """A bug: the answer is drawn before it is paid for."""

    def _answer(self, question, attempt, *, fresh):
        table = module.open_dataset(self._policy, question.dataset)
        answers = question.bound(table).answers()
        limits = self._limits(question.dataset)
        number = self._ledger.reserve(self._charge(question), limits, attempt)
        self._ledger.record(number, module.write_answers(answers))
        return postri.Result(question.by, question.names, question.arranged(answers))


def test_reserve_touch_data_record_hand_over(policy):
    assert events_of(policy) == RIGHT_ORDER


def test_a_charge_after_the_answer_would_be_found(policy):
    assert events_of(policy, ChargesAfterwards) != RIGHT_ORDER


def fail_while_counting(policy, ledger_kind: type[SqliteLedger] = SqliteLedger) -> Fraction:
    """What is spent after the engine failed."""
    found = read_policy(policy)
    with ledger_kind(found.ledger, found.head) as ledger:
        db = LocalSession(found, ledger, "ann")
        with (
            patch.object(BoundQuestion, "answers", side_effect=EngineError("failed")),
            pytest.raises(QuestionFailed),
        ):
            db.count("bank", epsilon=1)
    return spent(policy)


class Refunds(SqliteLedger):
    """A bug: a failure gives the budget back."""

    def fail(self, reservation, reason):
        import sqlite3

        with sqlite3.connect(self.path) as connection:
            for name, kind in connection.execute(
                "SELECT name, type FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall():
                connection.execute(f"DROP {kind} {name}")
            connection.execute("DELETE FROM entries WHERE number = ?", [reservation])


def test_what_fails_after_the_reservation_stays_spent(policy):
    assert fail_while_counting(policy) == 1
    found = read_policy(policy)
    with SqliteLedger(found.ledger, found.head) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["terms", "reserve", "failure"]


def test_a_refund_on_failure_would_be_found(policy):
    with pytest.raises((AssertionError, LedgerError)):
        fail_while_counting(policy, Refunds)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_paid_for_too_and_goes_on(policy, error):
    with (
        session(policy) as db,
        patch.object(BoundQuestion, "answers", side_effect=error),
        pytest.raises(error),
    ):
        db.count("bank", epsilon=1)
    assert spent(policy) == 1


def test_without_a_record_there_is_no_answer(policy):
    no_room = patch.object(SqliteLedger, "record", side_effect=LedgerError("no room"))
    with session(policy) as db, no_room, pytest.raises(QuestionFailed):
        db.count("bank", epsilon=1)
    assert spent(policy) == 1


# ---- forecasts


def prices(policy) -> list[dict]:
    with session(policy) as db:
        return [db.price("bank", WANTED, by=by, epsilon=1).to_dict() for by in ([], ["job"])]


def test_a_forecast_does_not_change_when_the_table_is_replaced_by_an_empty_one(tmp_path):
    full = write_policy(tmp_path / "full")
    empty = write_policy(tmp_path / "empty", table=bank().slice(0, 0))
    assert prices(full) == prices(empty)


def test_a_forecast_does_not_look_at_the_table(tmp_path):
    path = write_policy(tmp_path)
    before = prices(path)
    (tmp_path / "bank.parquet").unlink()
    assert prices(path) == before


def test_a_price_from_the_real_number_of_rows_would_be_found(tmp_path):
    """A bug: the forecast of a mean takes the number of rows from the table."""
    full = write_policy(tmp_path / "full")
    empty = write_policy(tmp_path / "empty", table=bank().slice(0, 0))
    honest = module.price_of

    def peeking(question, *rest, **how):
        from dataclasses import replace

        table = module.open_dataset(read_policy(folder), question.dataset)
        (rows,) = table.sizes(None, postri.engines.rows.EVERY_ROW)
        return honest(replace(question, dataset=replace(question.dataset, rows=rows)), *rest, **how)

    with patch.object(module, "price_of", peeking):
        folder = full
        one = prices(full)
        folder = empty
        assert one != prices(empty)


class TestPrice:
    def test_it_is_free_and_says_what_is_left(self, policy):
        with session(policy) as db:
            db.count("bank", epsilon=1)
            price = db.price("bank", WANTED, epsilon=2)
            assert (
                price.epsilon,
                price.charged,
                price.remaining,
                price.recorded,
                price.refused,
            ) == (2, 2, 4, False, None)
            assert db.price("bank", {"n": "count()"}, epsilon=1).charged == 0
            assert "is recorded" in str(db.price("bank", {"n": "count()"}, epsilon=1))
            assert "short by 1" in str(db.price("bank", WANTED, epsilon=5))
        assert spent(policy) == 1

    def test_its_forecasts_are_what_the_intervals_become(self, policy):
        with session(policy) as db:
            price = db.price("bank", WANTED, epsilon=2)
            result = db.ask("bank", WANTED, epsilon=2)
        for name in ("n", "total"):
            assert price.forecasts[name].reach == (result.answer(name).interval.width) / 2
        assert (
            price.forecasts["average"].reach
            >= Fraction(result.answer("average").interval.width) / 2
        )
        assert price.forecasts["mid"].enough

    def test_without_a_number_of_rows_it_says_what_it_cannot_tell(self, tmp_path):
        path = write_policy(tmp_path)
        path.write_text(path.read_text().replace("rows = 2000\n", ""))
        with session(path) as db:
            words = str(db.price("bank", WANTED, epsilon=1))
        assert words.count("unknown: tell about how many rows match") == 3
        assert "count will reach" in words


class TestBudget:
    def test_it_counts_for_everybody_and_for_oneself(self, policy):
        with session(policy) as db, session(policy, "bob") as other:
            db.count("bank", epsilon=1)
            other.sum("bank", "age", epsilon="1/2")
            found = db.budget()
        assert found.to_dict() == {
            "bank": {"budget": "5", "spent": "3/2", "remaining": "7/2", "entries": 5}
        }
        assert str(found) == "bank: 3.5 left of 5 (pure); you spent 1"
        assert list(found) == ["bank"]

    def test_a_changed_budget_is_an_entry_of_its_own(self, policy):
        with session(policy) as db:
            db.count("bank", epsilon=5)
        policy.write_text(policy.read_text().replace('budget = "5"', 'budget = "6"'))
        with session(policy) as db:
            db.sum("bank", "age", epsilon=1)
        found = read_policy(policy)
        with SqliteLedger(found.ledger, found.head) as ledger:
            assert [entry.kind for entry in ledger.entries()] == [
                "terms",
                "reserve",
                "answer",
                "terms",
                "reserve",
                "answer",
            ]


# ---- zCDP


class TestConcentrated:
    @pytest.mark.slow
    def test_many_small_medians_cost_far_less_than_their_sum(self, tmp_path):
        number, (least, most) = sized((40, (1.4, 2)), (100, (2.5, 3)))
        path = write_policy(tmp_path, more='accountant = "zcdp"\ndelta = "1e-6"', table=bank(60))
        path.write_text(path.read_text().replace('budget = "5"', 'budget = "3"'))
        with session(path) as db:
            answers = [db.median("bank", "age", epsilon="0.1", fresh=True) for _ in range(number)]
            total = db.budget("bank")["bank"]
        assert {answer.method for answer in answers} == {"depth-gumbel"}
        assert least < total.spent < most
        assert spent(path) == number * Fraction(1, 10)

    def test_additive_noise_is_gaussian_and_says_so(self, tmp_path):
        path = write_policy(tmp_path, more='accountant = "zcdp"\ndelta = "1e-6"')
        with session(path) as db:
            first = db.count("bank", epsilon="1/2")
            again = db.count("bank", epsilon="1/2", confidence=0.99)
            mean = db.mean("bank", "age", epsilon="1/4")
            past = db.answers()
        assert {first.method, mean.method} == {"discrete-gaussian"}
        assert "at rho 0.125 (zCDP)" in str(first)
        assert "discrete Gaussian noise" in first.explain()
        assert "e^" not in first.explain()
        assert again.value == first.value
        assert again.interval.low < first.interval.low
        assert [each.epsilon for each in past] == [Fraction(1, 4), Fraction(1, 2)]
        found = read_policy(path)
        with SqliteLedger(found.ledger, found.head) as ledger:
            assert ledger.spent("bank") == Cost(None, Fraction(1, 8) + Fraction(1, 32))

    def test_aggregates_divide_rho_and_not_epsilon(self, tmp_path):
        """Four Gaussian draws of a quarter of rho each have twice the noise of one, not four times
        it.
        """
        path = write_policy(tmp_path, more='accountant = "zcdp"\ndelta = "1e-6"')
        four = {name: agg.count() for name in "abcd"}
        with session(path) as db:
            alone = db.count("bank", epsilon="1/2")
            result = db.ask("bank", four, epsilon="1/2")
            mixed = db.ask("bank", {"n": agg.count(), "mid": agg.median("age")}, epsilon="1/2")
        variances = {answer.drawn.noise.variance for answer in result.answers}
        assert variances == {4 * alone.drawn.noise.variance}
        assert "rho 0.125 at most (zCDP)" in str(result)
        assert "rho 0.125 at most (zCDP)" in str(mixed)

    def test_a_price_says_what_gaussian_noise_adds_to_the_whole(self, tmp_path):
        path = write_policy(tmp_path, more='accountant = "zcdp"\ndelta = "1e-6"')
        wanted = {"n": agg.count()}
        with session(path) as db:
            first = db.price("bank", wanted, epsilon="0.1")
            paid = db.ask("bank", wanted, epsilon="0.1")
            spent_then = db.budget("bank")["bank"].spent
            second = db.price("bank", wanted, epsilon="0.1", fresh=True)
        assert first.charged == paid.charged == spent_then
        assert paid.epsilon == Fraction("0.1")
        assert first.charged > Fraction("0.4") > second.charged > Fraction("0.1")

    @pytest.mark.slow
    def test_it_refuses_when_its_own_sum_passes_the_budget(self, tmp_path):
        path = write_policy(tmp_path, more='accountant = "zcdp"\ndelta = "1e-6"', budget="1.5")
        with session(path) as db:
            answered = 0
            while (
                answered < 100
                and not db.price("bank", {"n": agg.count()}, epsilon="0.1", fresh=True).refused
            ):
                db.count("bank", epsilon="0.1", fresh=True)
                answered += 1
            with pytest.raises(BudgetExceeded) as refused:
                db.count("bank", epsilon="0.1", fresh=True)
            assert db.budget("bank")["bank"].spent <= Fraction(3, 2)
        assert 2 < answered < 100
        assert refused.value.short_by > 0


def test_a_session_sees_a_table_that_changed(tmp_path):
    """What a steward replaces is what is counted: a session keeps nothing of it between two
    questions.
    """
    path = write_policy(tmp_path)
    with session(path) as db:
        one = db.count("bank", epsilon=1)
        write_policy(tmp_path, table=pa.concat_tables([bank(), bank()]))
        two = db.count("bank", epsilon=1, fresh=True)
    assert two.value > one.value + 1_000


def test_a_source_that_is_not_what_the_policy_says_is_refused_and_costs_nothing(policy):
    policy.write_text(
        policy.read_text().replace(
            '[datasets.bank.columns.age]\ntype = "integer"',
            '[datasets.bank.columns.age]\ntype = "float"',
        )
    )
    with (
        session(policy) as db,
        pytest.raises(
            PolicyError,
            match="column 'age' has type 'float' in the policy, and the source declares 'int64'",
        ),
    ):
        db.count("bank", epsilon=1)
    assert spent(policy) == 0


def test_a_domain_that_is_too_fine_for_a_sum_is_refused_before_anything_is_spent(policy):
    policy.write_text(policy.read_text().replace('step = "0.25"', 'step = "0.0000000000001"'))
    with session(policy) as db:
        with pytest.raises(InputError, match="a domain of fewer points"):
            db.sum("bank", "rate", epsilon=1)
        assert db.median("bank", "rate", epsilon=1)
    assert spent(policy) == 1
