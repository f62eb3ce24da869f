"""Questions in SQL have the session's answers; what comes after the draws is free, and its
intervals hold.
"""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from unittest.mock import patch

import pytest
from scipy.stats import binom

import postri
from bank import bank, seeded, session, write_policy
from postri import agg
from postri.expressions.reader import TreeReader
from postri.expressions.words import SourceText
from postri.sql import reader as sql_reader
from proving import sized
from result_columns import columns_of


@pytest.fixture
def policy(tmp_path):
    return write_policy(tmp_path, budget="100")


def test_the_example_of_the_documentation(policy):
    with session(policy) as db:
        text = (
            "SELECT job, MEDIAN(balance) AS mid, COUNT(*) AS n FROM bank WHERE age < 40 GROUP BY "
            "job ORDER BY mid DESC"
        )
        result = db.sql(text, epsilon=1)
    assert result.columns == ["job", *columns_of("mid", "n")]
    assert [row["mid"] for row in result.rows] == sorted(
        (row["mid"] for row in result.rows), reverse=True
    )
    assert (result.epsilon, result.charged) == (1, 1)


def test_a_text_is_cut_into_words_once_and_its_filter_is_read_and_normalised_once(policy):
    def counted(owner, name):
        return patch.object(owner, name, autospec=True, side_effect=getattr(owner, name))

    with (
        session(policy) as db,
        counted(SourceText, "__init__") as cut,
        counted(TreeReader, "read_all") as read,
        counted(sql_reader, "normal") as normalised,
    ):
        db.sql("SELECT COUNT(*) AS n FROM bank WHERE age < 40 AND vip", epsilon=1)
    assert (cut.call_count, read.call_count, normalised.call_count) == (1, 1, 1)


def test_conditions_on_released_values_are_read_as_predicates_are(policy):
    """= binds less tightly than <, and == is another way to write it."""
    text = "SELECT COUNT(*) AS n FROM bank HAVING TRUE = n >= 0 AND n == n"
    with session(policy) as db:
        assert len(db.sql(text, epsilon=1).rows) == 1


def test_the_history_keeps_the_text_as_it_was_put(policy):
    text = "SELECT COUNT(*) AS n FROM bank WHERE 40 > AGE"
    with session(policy) as db:
        db.sql(text, epsilon=1)
        (past,) = db.answers()
    assert (past.question.sql, past.question.where) == (text, None)


SAME = {
    "SELECT COUNT(*) AS n FROM bank": ({"n": agg.count()}, {}),
    "SELECT MEDIAN(balance) AS mid, COUNT(*) AS n FROM bank WHERE age < 40": (
        {"n": agg.count(), "mid": agg.median("balance")},
        {"where": "age < 40"},
    ),
    "SELECT vip, SUM(age) AS s, AVG(rate) AS a FROM bank GROUP BY vip": (
        {"s": agg.sum("age"), "a": agg.mean("rate")},
        {"by": ["vip"]},
    ),
    "SELECT job, vip, QUANTILE_CONT(since, 0.9) AS q FROM bank GROUP BY job, vip": (
        {"q": agg.quantile("since", "0.9")},
        {"by": ["job", "vip"]},
    ),
}


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("text", SAME)
def test_answers_are_the_sessions_with_the_same_coins(text, tmp_path):
    wanted, how = SAME[text]
    with (
        seeded(write_policy(tmp_path / "one")) as one,
        seeded(write_policy(tmp_path / "two")) as two,
    ):
        by_sql, asked = one.sql(text, epsilon=2), two.ask("bank", wanted, epsilon=2, **how)
    rows = [{name: row[name] for name in by_sql.columns} for row in asked.rows]
    assert by_sql.rows == rows


def test_the_ledger_recognises_the_same_question_in_other_words(policy):
    with session(policy) as db:
        first = db.sql(
            (
                "SELECT job, COUNT(*) AS n, MEDIAN(age) AS m FROM bank WHERE age < 40 AND vip "
                "GROUP BY job ORDER BY n"
            ),
            epsilon=1,
        )
        others = [
            (
                "select median(Age), count(*), job from BANK where vip and 40 > age group by job "
                "order by 1 desc limit 1;"
            ),
            (
                "SELECT QUANTILE_CONT(age, 0.5) * 2 AS twice, COUNT(*) + 1 AS more FROM bank "
                "WHERE age < 40 AND vip GROUP BY job"
            ),
            (
                "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) AS m, COUNT(*) AS n "
                "FROM bank WHERE vip AND age < 40 GROUP BY job"
            ),
        ]
        assert [db.sql(text, epsilon=1).charged for text in others] == [0, 0, 0]
        again = db.ask(
            "bank",
            {"a": agg.count(), "b": agg.median("age")},
            by=["job"],
            where="vip AND age < 40",
            epsilon=1,
        )
        assert (again.charged, again.answer_id) == (0, first.answer_id)
        assert db.budget("bank")["bank"].spent == 1


def test_one_aggregate_is_drawn_once_however_often_it_is_named(policy):
    with session(policy) as db:
        (row,) = db.sql(
            "SELECT COUNT(*) AS n, COUNT(*) * 3 AS thrice, 2 - COUNT(*) AS less FROM bank",
            epsilon=1,
        ).rows
        assert (row["thrice"], row["thrice_low"], row["less"], row["less_low"]) == (
            3 * row["n"],
            3 * row["n_low"],
            2 - row["n"],
            2 - row["n_high"],
        )
        assert db.budget("bank")["bank"].spent == 1


def rows_of(db, rest: str) -> list[tuple]:
    return [
        tuple(row.values())
        for row in db.sql(
            f"SELECT job, COUNT(*) AS n, HIGH(n) AS up FROM bank GROUP BY job {rest}", epsilon=1
        ).rows
    ]


def test_having_order_and_limit_look_at_released_values_and_cost_nothing(policy):
    with session(policy) as db:
        plain = rows_of(db, "")
        assert [row[0] for row in plain] == ["admin.", "technician", "nobody"]
        assert rows_of(db, "ORDER BY n") == sorted(plain, key=lambda row: row[1])
        assert rows_of(db, "ORDER BY n DESC LIMIT 2") == sorted(plain, key=lambda row: -row[1])[:2]
        assert rows_of(db, "ORDER BY job DESC") == sorted(plain, reverse=True)
        assert rows_of(db, "ORDER BY job LIMIT 1 OFFSET 1") == sorted(plain)[1:2]
        assert rows_of(db, "HAVING n > 100") == [row for row in plain if row[1] > 100]
        assert rows_of(db, "HAVING NOT (job = 'nobody' OR n < 0)") == plain[:2]
        assert rows_of(db, "HAVING job <> 'nobody' AND n + 1 > n") == plain[:2]
        assert db.budget("bank")["bank"].spent == 1


def test_a_result_without_rows_still_tells_what_it_cost(policy):
    with session(policy) as db:
        result = db.sql("SELECT COUNT(*) AS n FROM bank HAVING n < 0", epsilon=1)
    assert (result.rows, result.epsilon, len(result)) == ([], 1, 0)
    assert "at epsilon 1" in str(result)
    assert result.to_csv() == ",".join([*columns_of("n"), "population\n"])
    assert '"rows": []' in result.to_json()


def test_dates_are_compared_with_days(policy):
    with session(policy) as db:
        early = db.sql(
            "SELECT MEDIAN(since) AS day FROM bank HAVING day > DATE '2001-01-01'", epsilon=5
        )
        late = db.sql(
            "SELECT MEDIAN(since) AS day FROM bank HAVING day > DATE '2029-01-01'", epsilon=5
        )
    assert isinstance(early.rows[0]["day"], date)
    assert (late.rows, late.charged) == ([], 0)


def test_an_expression_is_asked_on_the_domain_of_its_parts(policy):
    with session(policy) as db:
        (row,) = db.sql(
            "SELECT MEDIAN(balance / 100) AS m, AVG(age + balance) AS a, SUM(CASE WHEN vip "
            "THEN age ELSE 0 END) AS s, "
            "COUNT(COALESCE(age, 0)) AS n FROM bank",
            epsilon=40,
            confidence="0.9999999",
        ).rows
    table = bank().to_pydict()
    balances = [min(max(cell, -1_000), 9_000) for cell in table["balance"]]
    assert row["m_low"] <= sorted(balances)[1_000] / 100 <= row["m_high"]
    assert row["a_low"] <= (sum(balances) + sum(table["age"])) / 2_000 <= row["a_high"]
    assert (
        row["s_low"]
        <= sum(age for age, vip in zip(table["age"], table["vip"], strict=True) if vip)
        <= row["s_high"]
    )
    assert row["n_low"] <= 2_000 <= row["n_high"]


def width(row, name):
    return row[f"{name}_high"] - row[f"{name}_low"]


def test_limits_in_an_expression_make_its_noise_small(policy):
    """Nothing is declared: the domain of the difference is 10,120 wide, that of the limits 120."""
    with session(policy) as db:
        (row,) = db.sql(
            "SELECT AVG(balance - age) AS wild, "
            "AVG(GREATEST(LEAST(balance - age, 60), -60)) AS tame FROM bank",
            epsilon=2,
        ).rows
    table = bank().to_pydict()
    cells = [
        min(max(min(max(balance, -1_000), 9_000) - age, -60), 60)
        for balance, age in zip(table["balance"], table["age"], strict=True)
    ]
    assert 20 * width(row, "tame") < width(row, "wild")
    # At 95 %, with these coins.
    assert row["tame_low"] <= sum(cells) / len(cells) <= row["tame_high"]


def test_a_condition_inside_an_aggregate_is_one_or_zero(policy):
    with session(policy) as db:
        (row,) = db.sql(
            "SELECT AVG(age BETWEEN 30 AND 40) AS share, SUM(CAST(age > 40 AS INTEGER)) AS old, "
            "SUM(age > 40) AS same FROM bank",
            epsilon=40,
            confidence="0.9999999",
        ).rows
    ages = bank().to_pydict()["age"]
    assert row["share_low"] <= sum(30 <= age <= 40 for age in ages) / 2_000 <= row["share_high"]
    assert row["old_low"] <= sum(age > 40 for age in ages) <= row["old_high"]
    assert (row["old"], row["old_low"]) == (row["same"], row["same_low"])


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("AVG(LEAST(age, 60))", "AVG(least(60, AGE))"),
        ("AVG(ROUND(rate, 0))", "AVG(ROUND(rate))"),
        ("SUM(CEIL(rate))", "SUM(CEILING(rate))"),
        ("SUM(CAST(rate AS INT))", "SUM(CAST(rate AS BIGINT))"),
        (
            "MEDIAN(DATE_DIFF('day', DATE '2001-01-01', since))",
            "MEDIAN(CAST(since AS DATE) - DATE '2001-01-01')",
        ),
        ("AVG(age BETWEEN 30 AND 40)", "AVG(CAST(30 <= age AND age <= 40 AS INTEGER))"),
    ],
)
def test_another_spelling_of_an_expression_is_the_same_question(one, other, policy):
    with session(policy) as db:
        first = db.sql(f"SELECT {one} AS x FROM bank", epsilon=1)
        again = db.sql(f"SELECT {other} AS x FROM bank", epsilon=1)
    assert (first.charged, again.charged) == (1, 0)
    assert first.rows == again.rows


def test_days_between_dates_are_numbers(policy):
    with session(policy) as db:
        (row,) = db.sql("SELECT MEDIAN(since - DATE '2000-01-01') AS m FROM bank", epsilon=20).rows
    days = sorted((day - date(2000, 1, 1)).days for day in bank().to_pydict()["since"] if day)
    assert row["m_low"] <= days[len(days) // 2] <= row["m_high"]


def test_between_is_two_comparisons_of_a_released_value(policy):
    text = "SELECT job, COUNT(*) AS n FROM bank GROUP BY job"
    with session(policy) as db:
        rows = db.sql(text, epsilon=1).rows
        inside = db.sql(f"{text} HAVING n BETWEEN 1 + 1 AND 5000", epsilon=1)
        outside = db.sql(f"{text} HAVING n NOT BETWEEN 2 AND 5000 AND TRUE", epsilon=1)
    kept = [row["job"] for row in rows if 2 <= row["n"] <= 5_000]
    left = [row["job"] for row in rows if row["job"] not in kept]
    assert [row["job"] for row in inside.rows] == kept
    assert [row["job"] for row in outside.rows] == left
    assert (inside.charged, outside.charged) == (0, 0)


@pytest.mark.parametrize(
    ("having", "message"),
    [
        ("n BETWEEN 1 AND 'a'", "a number is compared with a text here"),
        ("n BETWEEN 1", "something is missing after this"),
        ("n BETWEEN 1 OR 2", "'OR' is not expected here"),
        ("n IS NULL", "'IS' is not expected here"),
    ],
)
def test_what_is_no_between_is_refused(having, message, policy):
    with session(policy) as db, pytest.raises(postri.InputError, match=message):
        db.sql(f"SELECT COUNT(*) AS n FROM bank HAVING {having}", epsilon=1)


def test_a_changed_bound_makes_an_expression_another_question(policy):
    text = "SELECT MEDIAN(CASE WHEN vip THEN age ELSE 0 END + balance - balance) AS m FROM bank"
    with session(policy) as db:
        db.sql(text, epsilon=1)
    policy.write_text(policy.read_text().replace("upper = 9000", "upper = 9001"))
    with session(policy) as db:
        assert db.sql(text, epsilon=1).charged == 1


def test_a_price_of_a_text(policy):
    with session(policy) as db:
        price = db.price("SELECT MEDIAN(balance) AS m, COUNT(*) / 2 AS n FROM bank", epsilon=1)
        assert (price.charged, list(price.forecasts)) == (1, ["median_balance", "count"])
        assert db.budget("bank")["bank"].spent == 0


def test_what_does_not_fit_the_source_points_at_its_place(policy):
    with session(policy) as db, pytest.raises(postri.InputError, match=r"job < 3\n +\^+"):
        db.sql("SELECT COUNT(*) FROM bank WHERE job < 3", epsilon=1)


def test_keys_that_are_numbers_can_be_computed_with(tmp_path):
    path = write_policy(tmp_path)
    path.write_text(
        path.read_text().replace(
            "lower = 0\nupper = 120", "lower = 0\nupper = 120\nkeys = [20, 30]"
        )
    )
    with session(path) as db:
        for row in db.sql(
            (
                "SELECT age, COUNT(*) AS n, COUNT(*) + age * 2 AS more FROM bank GROUP BY age "
                "HAVING age + n > age"
            ),
            epsilon=1,
        ).rows:
            assert (row["more"], row["more_low"]) == (
                row["n"] + 2 * row["age"],
                row["n_low"] + 2 * row["age"],
            )


@pytest.mark.slow
def test_intervals_of_arithmetic_hold_what_they_are_about(tmp_path, figures):
    """Sums, quotients and products of several draws, each at the confidence of the question."""
    path = write_policy(tmp_path, budget="100000")
    table = bank().to_pydict()
    ages, balances = table["age"], [min(max(cell, -1_000), 9_000) for cell in table["balance"]]
    middle = Fraction(sum(sorted(ages)[999:1001]), 2)
    true = {
        "average": Fraction(sum(ages), 2_000),
        "gap": middle - Fraction(sum(sorted(balances)[999:1001]), 2),
        "product": middle * sum(ages),
        "ratio": sum(balances) / middle,
        "share": Fraction(2_000 * 3, 2_000) - 1,
    }
    text = (
        "SELECT SUM(age) / COUNT(*) AS average, MEDIAN(age) - MEDIAN(balance) AS gap, "
        "MEDIAN(age) * SUM(age) AS product, "
        "SUM(balance) / MEDIAN(age) AS ratio, COUNT(age) * 3 / COUNT(*) - 1 AS share FROM bank"
    ).replace("SUM(balance) / MEDIAN(age)", "SUM(balance) / MEDIAN(age + 1)")
    true["ratio"] = Fraction(sum(balances)) / (middle + 1)
    runs, beta, missed = sized(18, 2_000), 0.2, dict.fromkeys(true, 0)
    with session(path) as db:
        for _ in range(runs):
            (row,) = db.sql(text, epsilon=1, confidence="0.8", fresh=True).rows
            for name, value in true.items():
                missed[name] += not row[f"{name}_low"] <= value <= row[f"{name}_high"]
    figures(f"arithmetic on aggregates: missed {missed} of {runs} at beta {beta}")
    for name, misses in missed.items():
        assert binom.sf(misses - 1, runs, beta) > 1e-6, name
