"""Which intervals are widened because of which rows are shown, and by how much.

That they hold is in `tests/coverage/test_selected_rows.py`.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from sql_policy import datasets

from bank import session, write_policy
from postri import agg
from postri.answer.forms import read_result, result_fields
from postri.answer.words import SELECTED
from postri.sql import read_sql

SELECT = (
    "SELECT job, COUNT(*) AS n, SUM(age) AS s, MEDIAN(age) AS m, COUNT(*) * MEDIAN(age) AS nm "
    "FROM bank GROUP BY job "
)
# Three groups of some 670 rows, and one without rows: nobody.
BETA = Fraction(1, 20)


@pytest.fixture
def db(tmp_path):
    with session(write_policy(tmp_path, budget="1000")) as db:
        yield db


def asked(db, rest: str, **how):
    return db.sql(SELECT + rest, epsilon=Fraction(1, 10), **how)


def widened(result) -> set[str]:
    """The values that say so."""
    return {
        name
        for _, answers in result.groups
        for name, answer in zip(result.names, answers, strict=True)
        if SELECTED in answer.notes
    }


UNSELECTED = [
    "",
    "ORDER BY n DESC",
    "HAVING job <> 'nobody'",
    "ORDER BY job LIMIT 1",
    "LIMIT 2",
    "HAVING n > -1",
    "ORDER BY n LIMIT 3",
]


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("rest", UNSELECTED)
def test_what_leaves_nothing_to_chance_widens_nothing(rest, db):
    """Public keys decide, or every row is shown."""
    plain = {row["job"]: row for row in asked(db, "").rows}
    result = asked(db, rest)
    assert [plain[row["job"]] for row in result.rows] == result.rows
    assert not widened(result)


def test_what_a_row_is_selected_by_is_widened_to_its_share_of_beta(db):
    plain = asked(db, "")
    shown = asked(db, "HAVING n > 300")
    assert [row["job"] for row in shown.rows] == ["admin.", "technician"]
    for key in ("admin.", "technician"):
        before, after = plain.answer("n", key), shown.answer("n", key)
        assert after.value == before.value
        assert after.interval == before.drawn.interval(BETA * Fraction(2, 3))
        assert after.interval.width > before.interval.width
        assert after.confidence == before.confidence
        # In a product each part has half of beta, and the one that selects its share of that.
        product = shown.answer("nm", key).interval
        count = before.drawn.interval(BETA / 2 * Fraction(2, 3))
        assert product.low == count.low * shown.answer("m", key).interval.low
        # What has coins of its own keeps its interval.
        for name in ("s", "m"):
            assert shown.answer(name, key) == _as_recorded(plain.answer(name, key), shown)
    assert widened(shown) == {"n", "nm"}
    assert SELECTED in str(shown)


def _as_recorded(answer, result):
    """The same answer with the note that it comes from the ledger."""
    (note,) = [note for note in result.answers[0].notes if note.startswith("from the ledger")]
    return type(answer)(**{**vars(answer), "notes": (*answer.notes, note)})


def test_the_first_rows_are_widened_for_those_that_are_left_out(db):
    plain = asked(db, "")
    shown = asked(db, "ORDER BY s DESC LIMIT 1")
    (row,) = shown.rows
    drawn = plain.answer("s", row["job"]).drawn
    assert shown.answer("s", row["job"]).interval == drawn.interval(BETA / 3)
    assert widened(shown) == {"s"}


def test_a_condition_on_an_end_is_about_the_interval_at_the_questions_confidence(db):
    plain = asked(db, "")
    lows = {row["job"]: row["n_low"] for row in plain.rows}
    least = lows["admin."]
    shown = asked(db, f"HAVING LOW(n) >= {least}")
    assert {row["job"] for row in shown.rows} == {key for key, low in lows.items() if low >= least}
    assert shown.answer("n", "admin.").interval.low < least


def test_the_same_statement_gives_the_same_result_from_the_ledger(db):
    first = asked(db, "HAVING n > 300 ORDER BY s LIMIT 1")
    again = asked(db, "HAVING n > 300 ORDER BY s LIMIT 1")
    assert (first.charged, again.charged) == (Fraction(1, 10), 0)
    assert first.rows == again.rows


def test_another_confidence_is_about_the_rows_shown_too(db):
    plain = asked(db, "")
    (answer, *_) = asked(db, "ORDER BY n DESC LIMIT 1").answers
    (drawn,) = [each.drawn for each in plain.answers if each.value == answer.value and each.drawn]
    assert answer.at("0.99").interval == drawn.interval(Fraction(1, 100) / 3)


def test_a_service_sends_it_as_it_is(db):
    result = asked(db, "ORDER BY n DESC LIMIT 1")
    sent = read_result(result_fields(result))
    assert sent.answers == result.answers
    assert sent.answers[0].at("0.99") == result.answers[0].at("0.99")


def test_intervals_that_hold_at_once_hold_for_any_rows(db):
    plain = asked(db, "", simultaneous=True)
    shown = asked(db, "HAVING n > 300 AND LOW(m) > 0", simultaneous=True)
    assert shown.charged == 0
    assert not widened(shown)
    assert shown.rows == plain.rows[:2]


def test_a_median_that_is_selected_by_an_end_is_another_question(db):
    """It is drawn with a third of beta: which of the three groups are shown is not known yet."""
    text = "SELECT job, MEDIAN(age) AS m FROM bank GROUP BY job "
    db.ask("bank", {"m": agg.median("age")}, by=["job"], epsilon=1, confidence=1 - BETA / 3)
    by_value = db.sql(text + "HAVING m > 0", epsilon=1)
    by_end = db.sql(text + "HAVING LOW(m) >= 0", epsilon=1)
    assert (by_value.charged, by_end.charged) == (1, 0)
    assert (widened(by_value), widened(by_end)) == (set(), {"m"})
    assert {answer.confidence for answer in by_end.answers} == {0.95}


@pytest.mark.parametrize(
    ("rest", "division"),
    [
        ("HAVING m > 50", 1),
        ("ORDER BY m LIMIT 1", 1),
        ("ORDER BY LOW(m)", 1),
        ("HAVING LOW(m) > 50", 4),
        ("HAVING n > 5 ORDER BY LOW(m) LIMIT 3", 4),
        ("ORDER BY LOW(m) LIMIT 1", 4),
        ("ORDER BY LOW(m) LIMIT 3", 2),
        ("ORDER BY LOW(m) LIMIT 9", 1),
        ("ORDER BY LOW(m) LIMIT 2 OFFSET 3", 4),
        ("ORDER BY m_high LIMIT 2 OFFSET 1", 2),
        ("ORDER BY LOW(m) LIMIT 0", 4),
    ],
)
def test_beta_is_divided_by_what_the_text_and_the_keys_tell(rest, division, tmp_path):
    """Two jobs and two truths make four groups."""
    text = f"SELECT COUNT(*) AS n, MEDIAN(age) AS m FROM bank GROUP BY job, vip {rest}"
    statement = read_sql(text, datasets(tmp_path))
    assert statement.groups == 4
    assert statement.selected().get("median_age", 1) == division
    assert statement.parts() == {"count": 1, "median_age": 1}


def test_a_forecast_knows_of_the_selection(db):
    """It is of the fewest rows that may be shown: one of three."""
    text = "SELECT job, COUNT(*) AS n FROM bank GROUP BY job "
    plain = db.price(text, epsilon=Fraction(1, 10), confidence=1 - BETA / 3)
    for rest in ("HAVING n > 5", "ORDER BY n LIMIT 1"):
        price = db.price(text + rest, epsilon=Fraction(1, 10), confidence=1 - BETA)
        assert price.forecasts["count"].reach == plain.forecasts["count"].reach
    plain = db.price(text, epsilon=Fraction(1, 10), confidence=1 - BETA)
    price = db.price(text + "ORDER BY n", epsilon=Fraction(1, 10), confidence=1 - BETA)
    assert price.forecasts["count"].reach == plain.forecasts["count"].reach
