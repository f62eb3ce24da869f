"""A distribution is paid for once: it is asked through every surface, and all that follows from it
costs nothing.

Coins are seeded, so nothing depends on luck.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import postri
from bank import session, write_policy
from postri import Distribution, Domain, InputError, SeededCoins, agg
from postri.cli import app
from postri.cost import pure_draw
from postri.question import plain_question
from postri.statistics.quantile import Quantile

DECILES = [Fraction(k, 10) for k in range(1, 10)]


def test_a_session_pays_for_it_once_whatever_the_confidence(tmp_path):
    with session(write_policy(tmp_path)) as db:
        ages = db.distribution("bank", "age", epsilon=1)
        spent = db.budget("bank")["bank"].spent
        again = db.distribution("bank", "age", epsilon=1, confidence="0.99")
        assert spent == db.budget("bank")["bank"].spent == ages.epsilon == 1
    assert again.median.value == ages.median.value
    assert again.confidence == 0.99
    assert again.median.interval.width >= ages.median.interval.width
    for answer in ages.quantiles(DECILES):
        assert answer.epsilon == 0
        assert answer.value in answer.interval
        assert answer.population == ages.population


def test_groups_have_one_each(tmp_path):
    with session(write_policy(tmp_path)) as db:
        by_job = db.distribution("bank", "age", by=["job"], epsilon=1)
        by_both = db.distribution("bank", "age", by=["job", "vip"], epsilon=1)
    assert list(by_job) == ["admin.", "technician", "nobody"]
    assert "job = technician" in by_job["technician"].population
    assert ("nobody", False) in by_both


def test_sql_shows_its_median_and_hands_over_the_rest(tmp_path):
    with session(write_policy(tmp_path)) as db:
        result = db.sql("SELECT DISTRIBUTION(age) AS d FROM bank WHERE vip", epsilon=1)
        price = db.price("bank", {"d": agg.distribution("age")}, epsilon=1)
    (answer,) = result.answers
    assert result.charged == 1
    assert answer.distribution.median.value == answer.value
    assert "rows where" in answer.distribution.quantile(0.9).population
    assert price.forecasts["d"].reach > 0


def test_other_answers_are_none():
    answer = postri.count(range(100), epsilon=1, coins=SeededCoins(1))
    with pytest.raises(InputError, match="a count is no release of a distribution"):
        _ = answer.distribution


@pytest.mark.slow
def test_it_travels_over_http_and_back(tmp_path):
    from serving import in_thread
    from serving import write_policy as write_served

    with in_thread(write_served(tmp_path)) as served:
        with postri.connect(f"http://127.0.0.1:{served.port}", token=served.ann) as remote:
            ages = remote.distribution("bank", "x", epsilon="1/2")
            again = remote.distribution("bank", "x", epsilon="1/2")
            assert remote.budget("bank")["bank"].spent == Fraction(1, 2)
        listed = served.get("/v1/statistics", served.ann).json["statistics"]
    assert again.median.value == ages.median.value
    assert "distribution" in [each["name"] for each in listed]
    assert ages.quantile(0.9).value >= ages.median.value


@pytest.mark.slow
def test_a_text_holds_all_of_it():
    pay = postri.distribution(
        range(3_000), epsilon=1, domain=Domain(0, 9_999), coins=SeededCoins(4)
    )
    again = Distribution.from_json(pay.to_json())
    assert list(again.quantiles(DECILES)) == list(pay.quantiles(DECILES))
    assert again.share(below=700) == pay.share(below=700)
    assert str(again.histogram([0, 100, 5_000])) == str(pay.histogram([0, 100, 5_000]))
    assert json.loads(pay.to_json())["answer"]["private"] is False
    for wrong in ("", "{}", '{"form": 2}', "[1]", '{"form": 1, "protect": {}, "answer": {}}'):
        with pytest.raises(InputError, match=r"give what Distribution\.to_json wrote"):
            Distribution.from_json(wrong)


@pytest.mark.slow
def test_the_command_prints_quantiles_or_the_release(tmp_path: Path):
    file = tmp_path / "rows.csv"
    file.write_text("x\n" + "\n".join(map(str, range(2_000))), encoding="utf-8")
    words = ["distribution", str(file), "x", "--epsilon", "1", "--lower", "0", "--upper", "5000"]
    picture = tmp_path / "curve.svg"
    done = CliRunner().invoke(app, [*words, "--quantiles", "0.5,0.9", "--plot", str(picture)])
    assert done.exit_code == 0, done.output
    assert "median" in done.stdout and "90th percentile" in done.stdout
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    release = CliRunner().invoke(app, [*words, "--json"])
    assert Distribution.from_json(release.stdout).epsilon == 1
    for wrong in ("0.5,x", "1.5", ""):
        with pytest.raises(InputError):
            CliRunner().invoke(app, [*words, "--quantiles", wrong], catch_exceptions=False)


@pytest.mark.slow
def test_several_quantiles_take_the_tree_where_that_is_narrower():
    """By the forecast at epsilon 1: separate draws for three, one release for fifty."""
    rows, domain = range(50_000), Domain(0, 99_999)
    few, many = [Fraction(k, 4) for k in (1, 2, 3)], [Fraction(k, 51) for k in range(1, 51)]
    asked = {"epsilon": 1, "domain": domain}
    assert {each.method for each in postri.quantiles(rows, few, **asked)} == {"depth"}
    together = postri.quantiles(rows, many, **asked)
    assert {each.method for each in together} == {"tree"}
    assert together.epsilon == 1
    assert {each.spend.release for each in together} == {1}
    assert "at epsilon 1, paid once" in str(together[0])
    assert {each.method for each in postri.quantiles(rows, few, method="tree", **asked)} == {"tree"}
    fixed = postri.quantiles(rows, many, method="depth", **asked)
    assert {each.method for each in fixed} == {"depth"}


def test_quantiles_of_a_policy_choose_too(tmp_path):
    with session(write_policy(tmp_path)) as db:
        wanted = [Fraction(k, 31) for k in range(1, 31)]
        together = db.quantiles("bank", "balance", wanted, epsilon=1)
        price = db.price(
            "bank", {f"q{k}": agg.quantile("balance", p) for k, p in enumerate(wanted)}, epsilon=1
        )
    assert {each.method for each in together} == {"tree"}
    assert price.recorded
    values = [each.value for each in together]
    assert values == sorted(values)


def test_a_plan_for_several_tells_the_reach_of_each():
    plan = postri.plan(rows=48_842, epsilon=1, quantiles=99, domain=Domain(0, 2_000_000))
    alone = postri.plan(rows=48_842, epsilon=1, domain=Domain(0, 2_000_000))
    assert plan.epsilon == 1
    assert 5 * alone.reach < plan.reach < 20 * alone.reach
    assert "intervals of 99 quantiles" in str(plan)
    with pytest.raises(InputError, match="for several give epsilon"):
        postri.plan(rows=1_000, reach="0.1", quantiles=2)


@pytest.mark.slow
def test_a_concentrated_budget_has_gaussian_noise_which_is_narrower(tmp_path):
    extra = 'accountant = "zcdp"\ndelta = "1e-6"\n'
    with session(write_policy(tmp_path, budget="20", more=extra)) as db:
        ages = db.distribution("bank", "balance", epsilon=1)
    assert ages.spend.rho == Fraction(1, 2)
    assert "rho 0.5 (zCDP)" in str(ages.median)
    assert ages.drawn.noise.name == "discrete-gaussian"


@pytest.mark.parametrize("weights", [None, {"low": 3, "mid": 1, "high": 1}])
def test_quantiles_of_one_release_cost_what_one_draw_costs(weights):
    """The rho of an epsilon-DP release is more than the sum of those of its parts (Theorem 13)."""
    wanted = {
        "low": Quantile("x", None, Fraction(1, 4)),
        "mid": Quantile("x", None, Fraction(1, 2)),
        "high": Quantile("x", None, Fraction(3, 4)),
    }
    question = plain_question(
        wanted,
        epsilon=1,
        confidence="0.95",
        protect=postri.AddOrRemoveRows(1),
        method="tree",
        weights=weights,
    )
    assert question.cost == pure_draw(Fraction(1))
