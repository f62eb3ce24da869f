"""Quantiles of a population, as they are asked and told: in Python, as text, in SQL, in a session
and on the command line.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import postri
from bank import session, write_policy
from postri import AddOrRemoveRows, AddOrRemoveUnits, Domain, InputError, SeededCoins, agg
from postri.answer.forms import read_answers, read_result, result_text, write_answers
from postri.answer.words import SELECTED
from postri.statistics.quantile import Quantile
from program import run

ROWS = np.random.default_rng(7).lognormal(8, 1, 4_000).astype(np.int64)
DOMAIN = Domain(0, 1_000_000)
QUANTILES = 'population_quantiles("x", 1/10, 9/10)'


def asked(covers: str, **how: object) -> postri.Answer:
    coins = SeededCoins(7)
    return postri.median(ROWS, epsilon=1, domain=DOMAIN, covers=covers, coins=coins, **how)


def test_the_interval_is_wider_than_that_of_the_rows():
    """By what 4,000 rows may be off."""
    rows, population = asked("table"), asked("population")
    assert population.interval.width > 5 * rows.interval.width
    assert population.interval.low < rows.interval.low < rows.interval.high
    assert rows.covers == "table" and population.covers == "population"


def test_the_answer_says_what_it_covers():
    answer = asked("population")
    assert answer.population == "the population behind all rows"
    assert "about the population behind all rows" in str(answer)
    told = answer.explain()
    assert "of the population that these rows were drawn from lies between" in told
    assert "and sampling error" in told and "independently of one another" in told
    assert json.loads(answer.to_json())["covers"] == "population"
    assert asked("table").to_dict()["covers"] == "table"


def test_a_record_reads_back_as_the_same():
    for covers in ("table", "population"):
        answer = asked(covers)
        ((read,),) = read_answers(write_answers([[answer]]), answer.protect)
        assert read.covers == covers
    assert '"covers"' not in write_answers([[asked("table")]])


@pytest.mark.parametrize(
    ("statistic", "text"),
    [
        (agg.median("x", covers="population"), 'population_median("x")'),
        (agg.quantile("x", 0.9, covers="population"), 'population_quantile("x", 9/10)'),
        (agg.quantiles("x", [0.1, 0.9], covers="population"), QUANTILES),
    ],
)
def test_each_has_a_text_that_reads_back(statistic, text):
    assert statistic.written() == text
    assert agg.read(text) == statistic
    assert statistic.reversed().covers == "population"


def test_rows_and_population_are_two_questions():
    rows, population = Quantile("x"), Quantile("x", covers="population")
    assert rows.fields() == {"quantile": "x", "p": "1/2", "domain": None}
    assert population.fields() == {"population_quantile": "x", "p": "1/2", "domain": None}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"covers": "rows"}, "covers must be 'table'"),
        ({"covers": None}, "covers must be 'table'"),
        ({"covers": "population", "method": "tree"}, "tree covers the rows alone"),
        ({"covers": "population", "method": "sun2023"}, "sun2023 covers the rows alone"),
        ({"covers": "population", "protect": AddOrRemoveRows(2)}, "one person may have 2"),
        ({"covers": "population", "protect": AddOrRemoveUnits("id", 3)}, "one person may have 3"),
    ],
)
def test_what_cannot_be_covered_is_refused(how, words):
    """Before the source is looked at."""
    with pytest.raises(InputError, match=words):
        postri.median("no such file.csv", "x", epsilon=1, **how)


@pytest.mark.slow
def test_many_quantiles_of_a_population_are_drawn_one_by_one():
    """A tree does not cover populations, however many there are."""
    ps = [k / 20 for k in range(1, 20)]
    how = {"epsilon": 20, "domain": DOMAIN, "coins": SeededCoins(7)}
    assert {each.method for each in postri.quantiles(ROWS, ps, **how)} == {"tree"}
    answers = postri.quantiles(ROWS, ps, covers="population", **how)
    assert {each.method for each in answers} == {"depth"}
    values = [each.value for each in answers]
    assert values == sorted(values)


def test_intervals_of_rows_and_population_are_not_cut_by_one_another():
    """Both hold at once, each among its own kind: the two medians are different numbers."""
    aggregates = {
        "rows": agg.median("x", domain=DOMAIN),
        "population": agg.median("x", domain=DOMAIN, covers="population"),
    }
    result = postri.ask({"x": ROWS}, aggregates, epsilon=2, simultaneous=True, coins=SeededCoins(7))
    rows, population = result.answers
    assert population.interval.width > 5 * rows.interval.width


def test_groups_and_words_for_several_aggregates():
    table = {"x": ROWS, "g": ["a", "b"] * 2_000}
    aggregates = {"mid": agg.median("x", domain=DOMAIN, covers="population"), "n": "count()"}
    result = postri.ask(table, aggregates, by={"g": ["a", "b"]}, epsilon=2, coins=SeededCoins(7))
    assert result.population == "rows of each g (mid: the population behind them)"
    assert result.populations["mid"] == "the population behind rows of each g"


class TestForecast:
    def test_it_is_about_both_errors(self):
        plan = postri.plan(rows=10_000, epsilon=1, covers="population")
        # 98 rows by sampling, some more by privacy and by chance.
        assert 105 < plan.reach * 10_000 < 130
        assert "of the population behind 10,000 rows" in str(plan)
        assert plan.to_dict()["covers"] == "population"

    @pytest.mark.slow
    def test_an_epsilon_for_a_reach(self):
        plan = postri.plan(rows=10_000, reach=0.015, covers="population")
        again = postri.plan(rows=10_000, epsilon=plan.epsilon, covers="population")
        assert 0.0145 < again.reach <= 0.015

    def test_no_epsilon_reaches_less_than_sampling(self):
        with pytest.raises(InputError, match="the error of sampling alone"):
            postri.plan(rows=10_000, reach=0.005, covers="population")

    def test_it_is_what_is_drawn(self):
        """On smooth rows, on average over 40 draws: 3 percent is what they vary by."""
        rows = np.arange(20_000)
        widths = [
            float(
                postri.median(
                    rows, epsilon=1, covers="population", coins=SeededCoins(seed)
                ).interval.width
            )
            for seed in range(40)
        ]
        forecast = postri.plan(rows=20_000, epsilon=1, covers="population")
        # Rows that lie at random have two sides that differ, and these do not.
        assert 0.85 < np.mean(widths) / 2 / (forecast.reach * 20_000) < 1.05


class TestCommandLine:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "pay.csv"
        path.write_text("pay\n" + "\n".join(map(str, ROWS[:500])))
        return path

    def test_median(self, file):
        words = ["--type", "integer", "--lower", 0, "--upper", 1_000_000, "--json"]
        told, _ = run("median", file, "pay", "--epsilon", 1, "--covers", "population", *words)
        assert json.loads(told)["covers"] == "population"

    def test_plan(self):
        told, _ = run("plan", "--rows", 10_000, "--epsilon", 1, "--covers", "population")
        assert "the population behind 10,000 rows" in told

    def test_another_word_is_refused(self, file):
        _, told = run("median", file, "pay", "--epsilon", 1, "--covers", "rows", code=2)
        assert "--covers" in told


class TestSession:
    @pytest.fixture
    def db(self, tmp_path):
        with session(write_policy(tmp_path, budget="1000")) as db:
            yield db

    def test_it_is_another_question_than_that_of_the_rows(self, db):
        """Each is paid for, and each is found again."""
        rows = db.median("bank", "age", epsilon=1)
        population = db.median("bank", "age", epsilon=1, covers="population")
        assert population.interval.width > rows.interval.width
        assert db.budget("bank")["bank"].spent == 2
        again = db.ask("bank", {"mid": "population_median(age)"}, epsilon=1)
        assert again.recorded
        (answer,) = again.answers
        assert answer.covers == "population"
        assert answer.interval == population.interval
        assert answer.population == population.population
        assert answer.population.startswith("the population behind rows on which age")

    def test_sql_has_functions_for_it(self, db):
        select = "POPULATION_MEDIAN(age) AS mid, POPULATION_QUANTILE(age, 0.9) AS high"
        result = db.sql(f"SELECT {select}, MEDIAN(age) AS m FROM bank", epsilon=3)
        assert [answer.covers for answer in result.answers] == ["population", "population", "table"]

    def test_what_is_computed_from_it_covers_the_population(self, db):
        text = "SELECT POPULATION_MEDIAN(age) - MEDIAN(age) AS d FROM bank"
        (answer,) = db.sql(text, epsilon=3).answers
        assert answer.covers == "population"

    def test_a_price_forecasts_both_errors(self, db):
        def forecast(text):
            return db.price("bank", {"mid": text}, epsilon=1).forecasts["mid"]

        assert forecast("population_median(age)").reach > 2 * forecast("median(age)").reach
        assert "the population behind" in str(forecast("population_median(age)"))

    @pytest.mark.slow
    @pytest.mark.parametrize("rest", ["HAVING n > 0", "ORDER BY m LIMIT 1", "ORDER BY n LIMIT 1"])
    def test_rows_that_any_draw_selects_have_a_part_of_beta(self, db, rest):
        """What is drawn from the rows tells how they err, whatever it is."""
        select = "SELECT job, POPULATION_MEDIAN(age) AS m, COUNT(*) AS n FROM bank GROUP BY job "
        result = db.sql(select + rest, epsilon=1)
        assert all(SELECTED in result.answer("m", *keys).notes for keys, _ in result.groups)
        unselected = db.sql(select, epsilon=1)
        assert not unselected.recorded


def test_a_result_reads_back_over_the_wire():
    how = {"epsilon": 2, "coins": SeededCoins(7)}
    aggregates = {"mid": agg.median("x", domain=DOMAIN, covers="population")}
    result = postri.ask({"x": ROWS}, aggregates, **how)
    fields = json.loads(result_text(result))
    assert fields["groups"][0]["answers"]["mid"]["covers"] == "population"
    again = read_result(fields)
    assert again.answers == result.answers
    assert again.population == "the population behind all rows"
