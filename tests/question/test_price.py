"""What forecasts are told: public numbers, the analyst's word, or that nobody knows."""

from __future__ import annotations

import pytest

from bank import dataset_text, session, spent, write_policy
from postri import InputError, agg
from postri.answer.forecast import ExpectedRows, Plan, Reach, Unknown
from postri.policy import read_policy
from postri.question import dataset_question
from postri.question.price import expected_rows

BY_UNIT = 'change = "add-or-remove-units", unit = "secret", rows = 20'
UNKNOWN = "unknown: tell about how many rows match"


def asked(folder, expect=None, *, rows=2_000, units=None, protect=None, **how):
    """How many rows are expected of a question to a policy with these numbers."""
    more = ""
    if units is not None:
        more = f"units = {units}"
    known = {}
    if protect is not None:
        known["protect"] = protect
    path = folder / "postri.toml"
    path.write_text(dataset_text(rows=rows, more=more, **known))
    dataset = read_policy(path).datasets["bank"]
    question = dataset_question(dataset, {"mid": agg.median("balance")}, epsilon=1, **how)
    return expected_rows(question, expect)


class TestExpectedRows:
    def test_all_rows_are_as_many_as_the_policy_says(self, tmp_path):
        assert asked(tmp_path) == ExpectedRows(2_000)
        assert asked(tmp_path, rows=None) == Unknown()

    def test_under_a_filter_nobody_knows_but_the_analyst(self, tmp_path):
        assert asked(tmp_path, where="age < 40") == Unknown()
        assert asked(tmp_path, 300, where="age < 40") == ExpectedRows(300)

    def test_a_unit_bound_leaves_a_row_of_each_unit_at_least(self, tmp_path):
        known = {"protect": BY_UNIT, "units": 40}
        assert asked(tmp_path, **known) == ExpectedRows(40, 800)
        assert asked(tmp_path, **known, rows=300) == ExpectedRows(40, 300)
        assert asked(tmp_path, **known, rows=None) == ExpectedRows(40, 800)

    def test_without_a_number_of_units_a_unit_bound_leaves_nobody_knows_how_many(self, tmp_path):
        assert asked(tmp_path, protect=BY_UNIT) == Unknown(1, "secret", 20)
        assert asked(tmp_path, protect=BY_UNIT, units=40, where="age < 40") == Unknown(
            1, "secret", 20
        )

    def test_no_more_is_expected_than_the_policy_lets_count(self, tmp_path):
        assert asked(tmp_path, 10**6) == ExpectedRows(2_000)
        assert asked(tmp_path, 10**6, protect=BY_UNIT, units=40) == ExpectedRows(800)
        assert asked(tmp_path, 10**6, rows=None) == ExpectedRows(10**6)

    def test_what_is_expected_of_groups_is_expected_of_each(self, tmp_path):
        """There are three keys; the policy's own rows are taken as spread evenly."""
        assert asked(tmp_path, 300, by=["job"]) == ExpectedRows(900)
        assert asked(tmp_path, by=["job"]) == ExpectedRows(2_000)
        assert asked(tmp_path, by=["job"], where="age < 40") == Unknown(3)


class TestWords:
    def test_a_forecast_of_a_filter_or_of_units_is_unknown_until_somebody_tells(self, tmp_path):
        """Row 9: a forecast that ignores the unit bound or the filter promises too much."""
        path = write_policy(tmp_path)
        by_unit = path.read_text()
        by_unit = by_unit.replace('change = "add-or-remove-rows", rows = 1', BY_UNIT)
        wanted = {"average": agg.mean("age"), "mid": agg.median("balance"), "n": agg.count()}
        with session(path) as db:
            filtered = db.price("bank", wanted, where="age < 40", epsilon=1)
            told = db.price("bank", wanted, where="age < 40", epsilon=1, expect=500)
        path.write_text(by_unit)
        with session(path) as db:
            bounded = db.price("bank", wanted, epsilon=1)
        for price in (filtered, bounded):
            assert isinstance(price.forecasts["average"], Unknown)
            assert isinstance(price.forecasts["mid"], Unknown)
            assert isinstance(price.forecasts["n"], Reach)
            assert str(price).count(UNKNOWN) == 2 and "at most, if" not in str(price)
        assert f"mid: {UNKNOWN} (expect=30_000)" in str(filtered)
        assert f"{UNKNOWN}, counting at most 20 of each secret (expect=30_000)" in str(bounded)
        assert "if at least 500 rows count" in str(told.forecasts["average"])
        assert "median of 500 rows" in str(told.forecasts["mid"])

    def test_each_place_says_how_to_tell_it(self):
        assert Unknown(3).told("--expect 30000") == f"{UNKNOWN} in each group (--expect 30000)"
        assert Unknown().to_dict() == {"unknown": "tell about how many rows match"}

    def test_a_range_of_rows_promises_what_the_fewest_keep(self, tmp_path):
        path = write_policy(tmp_path, more="units = 300")
        path.write_text(
            path.read_text().replace('change = "add-or-remove-rows", rows = 1', BY_UNIT)
        )
        with session(path) as db:
            enough = db.price("bank", {"mid": "median(balance)"}, epsilon=5).forecasts["mid"]
            short = db.price("bank", {"mid": "median(balance)"}, epsilon="1/2").forecasts["mid"]
        assert isinstance(enough, Plan) and isinstance(short, Plan)
        assert (enough.rows, enough.most_rows, enough.enough) == (300, 2_000, True)
        assert "less far if more count (up to 2,000)" in str(enough)
        assert not short.enough
        assert "may end on the domain's edge" in str(short)
        assert "between 300 and 2,000 count" in str(short)


class TestExpect:
    def test_another_expectation_is_the_same_question(self, policy):
        wanted = {"mid": "median(balance)"}
        with session(policy) as db:
            first = db.ask("bank", wanted, epsilon=1, where="age < 40", expect=300)
            again = db.ask("bank", wanted, epsilon=1, where="age < 40", expect=500)
            plain = db.median("bank", "balance", epsilon=1, where="age < 40", expect=7)
            words = "SELECT MEDIAN(balance) AS mid FROM bank WHERE age < 40"
            sql = db.sql(words, epsilon=1, expect=8)
            price = db.price(words, epsilon=1, expect=9)
        assert first.rows == again.rows == sql.rows
        assert plain.value == first.answers[0].value
        assert again.recorded and sql.recorded and price.recorded
        assert spent(policy) == 1

    def test_a_retry_may_expect_something_else(self, policy):
        with session(policy) as db:
            how = {"epsilon": 1, "fresh": True, "retry": "k1"}
            first = db.ask("bank", {"n": "count()"}, **how, expect=300)
            assert db.ask("bank", {"n": "count()"}, **how).rows == first.rows
        assert spent(policy) == 1

    @pytest.mark.parametrize("expect", [0, -3, 1.5, "30000", True, 10**16], ids=repr)
    def test_it_must_be_a_number_of_rows(self, expect, policy):
        with session(policy) as db:
            for call in (db.ask, db.price):
                with pytest.raises(InputError, match="expect, about how many rows match, must be"):
                    call("bank", {"n": "count()"}, epsilon=1, expect=expect)
        assert spent(policy) == 0
