"""Shares: the mean of 0 and 1, with numbers of rows behind it; asked through every surface.

Losses of all small tables stand in `tests/audit/test_exact_attack.py`. Coins are seeded, so nothing
depends on luck.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from unittest.mock import patch

import pytest
from test_mean import BETA, chance, missed
from typer.testing import CliRunner

import postri
from bank import STAFF_COLUMNS, dataset_text, in_duckdb, seeded, write_policy
from postri import (
    AddOrRemoveRows,
    AddOrRemoveUnits,
    Domain,
    InputError,
    ReplaceRows,
    SeededCoins,
    agg,
)
from postri.answer.drawn import Noisy, read_drawn
from postri.answer.words import UNREADABLE
from postri.audit.exact_additive import AdditiveCase, largest_loss
from postri.cli import app
from postri.noise import DiscreteGaussian, DiscreteLaplace
from postri.question.checking import plain_question
from postri.statistics import mean
from postri.statistics.share import ShareFromBoth, ShareFromLead

ONE = Fraction(1)
# Narrow noise: what lies further out than FAR has a chance below 1e-6.
NARROW = DiscreteLaplace(Fraction(1, 2))
FAR = 7
TABLE = {"x": [None, 1, 5, 9, 20] * 200, "g": ["a", "b"] * 500}


def asked(condition: str, change: object, **how: object) -> postri.Answer:
    return postri.share(TABLE, condition, epsilon=1, protect=change, coins=SeededCoins(3), **how)


@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)
def test_it_is_as_narrow_as_the_mean_of_0_and_1(change):
    marked = {"y": [0 if cell is None else int(cell > 5) for cell in TABLE["x"]]}
    for concentrated in (False, True):
        how = {
            "epsilon": 1,
            "confidence": 0.95,
            "protect": change,
            "concentrated": concentrated,
        }
        wanted = {"a": agg.mean("y", domain=Domain(0, 1))}
        average = plain_question(wanted, coins=SeededCoins(3), **how)
        share = plain_question({"a": agg.share("x > 5")}, coins=SeededCoins(3), **how)
        (one,), (other,) = (
            question.bound(postri.open(table)).answers()[0]
            for question, table in ((average, marked), (share, TABLE))
        )
        assert (one.value, one.interval.width) == (other.value, other.interval.width)


def test_a_condition_that_is_unknown_does_not_hold():
    """Two cells of five are above 5, one is null."""
    assert Fraction(2, 5) in asked("x > 5", AddOrRemoveRows(1)).interval
    assert Fraction(3, 5) not in asked("NOT x > 5", AddOrRemoveRows(1)).interval
    assert Fraction(2, 5) in asked("NOT x > 5", AddOrRemoveRows(1)).interval
    assert "unknown" in str(asked("x > 5", AddOrRemoveRows(1)).population)


def test_ends_are_no_edges():
    """A share has no "or beyond": it lies between 0 and 1."""
    nowhere = asked("x > 20", AddOrRemoveRows(1)).interval
    assert nowhere.low == 0 and not nowhere.low_is_edge
    hardly = postri.share({"x": [1]}, "x > 0", epsilon="0.01", coins=SeededCoins(3)).interval
    assert (hardly.low, hardly.high) == (0, 1) and not hardly.is_whole_domain


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("noise", [NARROW, DiscreteGaussian(Fraction(1, 2))], ids=str)
@pytest.mark.parametrize(("holds", "fails"), [(3, 9), (1, 0)])
def test_an_interval_misses_the_share_with_probability_beta_at_most(holds, fails, noise):
    """By adding up the chances of all noises of both numbers."""
    exact = ShareFromBoth(
        Noisy(holds, ONE, noise), Noisy(fails, ONE, noise), Fraction(0), ONE, Fraction(1)
    )
    assert missed(exact, Fraction(holds, holds + fails), FAR) <= float(BETA) - 1e-5


@pytest.mark.slow
def test_an_interval_for_less_noise_than_is_drawn_is_found():
    """The check above, with intervals for noise of half the scale."""
    numbers = range(-FAR, FAR + 1)
    total = sum(chance(NARROW, number) for number in numbers)
    half = DiscreteLaplace(Fraction(1, 4))
    wrong = 0.0
    for z, y in product(numbers, numbers):
        drawn = ShareFromBoth(
            Noisy(3 + z, ONE, half), Noisy(9 + y, ONE, half), Fraction(0), ONE, Fraction(1)
        )
        interval = drawn.interval(BETA)
        if not interval.low <= Fraction(1, 4) <= interval.high:
            wrong += chance(NARROW, z) * chance(NARROW, y) / total**2
    assert wrong > float(BETA)


def test_noise_for_an_added_row_costs_twice_as_much_where_it_is_replaced():
    """A row on which the condition holds becomes one on which it does not: both numbers move."""
    case = AdditiveCase(
        agg.share("x > 0"), ReplaceRows(1), Fraction(1, 2), False, Domain(-1, 2), most_rows=1
    )
    assert largest_loss(case)[0] == case.budget
    with (
        patch.object(mean, "counts_rows", lambda terms: False),
        patch.object(mean, "moved_ends", lambda change: Fraction(1)),
    ):
        assert largest_loss(case)[0] == 2 * case.budget


def test_what_was_drawn_is_read_back():
    for change, kind in (AddOrRemoveRows(1), ShareFromBoth), (ReplaceRows(1), ShareFromLead):
        drawn = asked("x > 5", change).drawn
        assert type(drawn) is kind
        assert read_drawn(json.loads(json.dumps(drawn.to_fields()))) == drawn


def test_units_are_bounded_by_whether_the_condition_holds():
    """Ten rows of one person, of which two count: what is drawn moves by two rows."""
    table = {"x": list(range(10)) + [100] * 500, "id": [1] * 10 + list(range(2, 502))}
    answer = postri.share(
        table,
        "x >= 100",
        epsilon=1_000,
        protect=AddOrRemoveUnits("id", rows=2),
        coins=SeededCoins(1),
    )
    assert Fraction(500, 502) in answer.interval
    assert answer.interval.width < 0.001


CONDITIONS = [
    "age < 40 AND job IN ('admin.', 'services')",
    "vip",
    "since > DATE '2010-01-01' OR balance BETWEEN 0 AND 500",
]


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_surface_gives_the_same_answer(condition, tmp_path):
    with seeded(in_duckdb(tmp_path)) as db:
        one = db.share("bank", condition, epsilon=1)
        again = db.ask("bank", {"s": f"share({condition})"}, epsilon=1)
        assert again.charged == 0
        in_sql = db.sql(f"SELECT SHARE({condition}) AS s FROM bank", epsilon=1)
        assert in_sql.charged == 0
        assert {answer.value for answer in (one, again.answer("s"), in_sql.answer("s"))} == {
            one.value
        }
        price = db.price("bank", {"s": agg.share(condition)}, epsilon=1)
        assert one.interval.width / 2 <= price.forecasts["s"].reach
        n, where = (db.count("bank", epsilon=2, where=each).value for each in (None, condition))
    assert abs(Fraction(one.value) - Fraction(where, n)) < Fraction(1, 20)


def test_a_filter_and_a_wish_of_its_own_hold_under_a_policy(tmp_path):
    with seeded(write_policy(tmp_path)) as db:
        assert db.ask("bank", {"s": agg.share("age < 40")}, epsilon=1).charged == 1
        some = db.ask("bank", {"s": agg.share("age < 40", where="balance > 0")}, epsilon=1)
        assert some.charged == 1
        assert some.population.startswith("rows for which balance > 0")
        text = "SELECT SHARE(age < 40) FILTER (WHERE balance > 0) AS s FROM bank"
        assert db.sql(text, epsilon=1).charged == 0
        wished = db.ask("bank", {"s": "share(age < 40) within 0.05"}).answer("s")
        assert wished.epsilon < 1 and wished.interval.width <= Fraction(1, 10)


def test_no_row_is_left_out_of_it(tmp_path):
    (tmp_path / "staff.csv").write_text("salary,team\n" + "100,red\nnothing,red\n" * 500)
    policy = tmp_path / "postri.toml"
    policy.write_text(dataset_text("staff", source="staff.csv", columns=STAFF_COLUMNS))
    with seeded(policy) as db:
        asked = {"s": "share(salary > 50)", "n": "count(salary)"}
        share, n = db.ask("staff", asked, epsilon=2).answers
    assert Fraction(1, 2) in share.interval
    assert UNREADABLE in n.notes and UNREADABLE not in share.notes


def test_groups_and_arithmetic_in_sql(tmp_path):
    text = "SELECT job, SHARE(age < 40) AS s, 100 * SHARE(age < 40) AS p FROM bank GROUP BY job"
    with seeded(write_policy(tmp_path)) as db:
        result = db.sql(text, epsilon=2)
        assert result.charged == 2
        for _, answers in result.groups:
            share, percent = answers
            assert percent.interval.high == 100 * share.interval.high


def test_the_command_line_asks_it(tmp_path):
    policy = str(write_policy(tmp_path))
    words = ["ask", "bank", "share(age < 40 AND job IN ('admin.', 'services'))", "--epsilon", "1"]
    done = CliRunner().invoke(app, [*words, "--policy", policy, "--json"])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["rows"]
    (name,) = [each for each in row if each.endswith("_high")]
    assert 0 < row[name] <= 1


def test_it_is_asked_over_http(tmp_path):
    from serving import in_thread
    from serving import write_policy as served_policy

    question = {"dataset": "bank", "aggregates": {"s": "share(x < 40)"}, "epsilon": "1"}
    with in_thread(served_policy(tmp_path)) as served:
        (row,) = served.ask(served.ann, question).json["rows"]
        listed = served.get("/v1/statistics", served.ann).json["statistics"]
        with postri.connect(f"http://127.0.0.1:{served.port}", token=served.ann) as remote:
            again = remote.share("bank", "x < 40", epsilon=1)
            assert float(again.value) == row["s"]
    (share,) = [each for each in listed if each["name"] == "share"]
    assert share["parameters"][0]["kind"] == "condition"
    assert share["sql"] == "SHARE({condition})"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("x >", "cannot be read near '>'"),
        ("TRUE", "must depend on a column"),
        ("zz > 1", "there is no column 'zz'"),
        ("x + 1", "is a number, where a condition is expected"),
        (5, "a share is of a condition in SQL"),
    ],
)
def test_what_is_no_condition_is_refused(condition, words):
    with pytest.raises(InputError, match=words.replace("+", "[+]")):
        postri.share(TABLE, condition, epsilon=1)


def test_a_column_that_the_policy_does_not_have_does_not_exist(tmp_path):
    with seeded(write_policy(tmp_path)) as db:
        with pytest.raises(InputError, match="no column 'secret'"):
            db.share("bank", "secret > 1", epsilon=1)
        with pytest.raises(InputError, match="no column 'secret'"):
            db.sql("SELECT SHARE(secret > 1) FROM bank", epsilon=1)
        assert db.budget("bank")["bank"].spent == 0


def test_a_source_without_names_has_no_conditions():
    with pytest.raises(InputError, match="one column without a name"):
        postri.share([1, 2, 3], "x > 1", epsilon=1)
