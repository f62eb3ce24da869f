"""Where a filter may miss texts that are too long to be read, the answer says so: by the question
and by declared types alone.
"""

from __future__ import annotations

import pytest

import postri
from bank import in_memory, seeded, write_policy
from postri import Result

TABLE = {"age": [30, 40, 50], "job": ["cook", "clerk", "x" * 20_000]}
MISSED = ", texts of more than 10,000 characters taken as missing"


def population(where: str) -> str:
    table = postri.open(TABLE, columns={"age": "integer", "job": "text"})
    return postri.count(table, epsilon=1, where=where).population


@pytest.mark.parametrize(
    "where",
    [
        "job LIKE 'c%'",
        "NOT job LIKE 'c%'",
        "job <> 'cook'",
        "NOT job = 'cook'",
        "job IS NULL",
        "JOB > 'c'",
        "age > 3 AND job IS NOT NULL",
        "(job = 'cook') IS NOT TRUE",
        "COALESCE(job, 'none') = 'none'",
        "(job <> 'cook') = TRUE",
    ],
)
def test_a_filter_that_could_miss_a_long_text_says_so(where):
    assert population(where).endswith(MISSED)


@pytest.mark.parametrize(
    "where",
    ["age > 3", "job = 'cook'", "'cook' = job", "job IN ('cook', 'x') OR age = 3", "age IS NULL"],
)
def test_a_filter_that_asks_for_short_texts_misses_none(where):
    assert MISSED not in population(where)


def test_a_recorded_answer_is_told_as_it_was_and_another_limit_is_another_question(tmp_path):
    asked = "SELECT COUNT(*) AS n FROM bank WHERE job LIKE 'a%'"

    def ask(more: str = "") -> Result:
        path = write_policy(tmp_path, more=more)
        with in_memory(), seeded(path) as session:
            return session.sql(asked, epsilon="0.1")

    first, again = ask(), ask()
    assert (first.recorded, again.recorded) == (False, True)
    assert str(first.population) == str(again.population)
    assert str(first.population).endswith(MISSED)
    other = ask("max_text = 500")
    assert not other.recorded
    assert str(other.population).endswith(", texts of more than 500 characters taken as missing")
