"""Joins with public tables: one partner a row, and everything else refused in words."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import postri
from bank import dataset_text, session
from postri import agg
from postri.errors import InputError, PolicyError
from postri.policy import check_policy, read_policy

JOBS = """\
job,wage,field,begun
admin.,30,office,2001-05-01
technician,45,"it's, a shop",1999-01-31
nobody,99,,2003-01-01
"""
PUBLIC = """
[public.jobs]
source = "jobs.csv"
key = "job"
[public.jobs.columns.wage]
type = "integer"
[public.jobs.columns.field]
type = "text"
keys = ["office", "it's, a shop"]
[public.jobs.columns.begun]
type = "date"
"""
COLUMNS = {"age": 'type = "integer"\nlower = 0\nupper = 100\nkeys = [20, 30]'}
PEOPLE = pa.table(
    {
        "job": pa.array(["admin."] * 900 + ["technician"] * 500 + ["cook"] * 300 + [None] * 100),
        "age": pa.array([20, 30] * 900),
    }
)
WITH_PARTNER = 1_400


def policy(folder: Path, public: str = PUBLIC, jobs: str = JOBS, joins: str = '["jobs"]') -> Path:
    (folder / "jobs.csv").write_text(jobs)
    pq.write_table(PEOPLE, folder / "people.parquet")
    dataset = dataset_text(
        "people", source="people.parquet", budget="1000", more=f"joins = {joins}", columns=COLUMNS
    )
    path = folder / "postri.toml"
    path.write_text(public + dataset)
    return path


def asked(path: Path, text: str) -> postri.Result:
    with session(path) as db:
        return db.sql(text, epsilon=100)


def test_a_join_drops_rows_without_a_partner_and_a_left_join_keeps_them(tmp_path):
    path = policy(tmp_path)
    inner = asked(path, "SELECT COUNT(*) AS n FROM people JOIN jobs USING (job)")
    left = asked(path, "SELECT COUNT(*) AS n FROM people LEFT OUTER JOIN jobs USING (job)")
    assert (inner.rows[0]["n"], left.rows[0]["n"]) == (WITH_PARTNER, len(PEOPLE))
    assert str(inner.population) == "rows where NOT jobs IS NULL"
    # The left join is the question without it.
    assert asked(path, "SELECT COUNT(*) AS n FROM people").charged == 0


def test_columns_of_a_public_table_filter_divide_and_are_measured(tmp_path):
    result = asked(
        policy(tmp_path),
        "SELECT j.field, COUNT(*) AS n, SUM(p.age * 0 + wage) AS w, "
        "SUM(begun - DATE '1999-01-31') AS d "
        "FROM people AS p INNER JOIN jobs j USING (job) "
        "WHERE jobs.wage < 90 GROUP BY field ORDER BY field".replace("jobs.wage", "j.wage"),
    )
    assert [(row["jobs.field"], row["n"]) for row in result.rows] == [
        ("it's, a shop", 500),
        ("office", 900),
    ]
    assert [row["w"] for row in result.rows] == pytest.approx([500 * 45, 900 * 30], abs=50)
    assert [row["d"] for row in result.rows] == pytest.approx([0, 900 * 821], abs=500)


def test_python_names_the_columns_with_their_table(tmp_path):
    with session(policy(tmp_path)) as db:
        result = db.ask(
            "people", {"n": agg.count()}, by=["jobs.field"], where='"jobs.wage" > 40', epsilon=100
        )
        assert db.mean("people", "jobs.wage", epsilon=100).interval.low > 30
    assert [row["n"] for row in result.rows] == [0, 500]


def test_other_content_of_a_public_table_is_another_question(tmp_path):
    text = "SELECT COUNT(*) AS n FROM people JOIN jobs USING (job) WHERE wage > 40"
    path = policy(tmp_path)
    assert (asked(path, text).charged, asked(path, text).charged) == (100, 0)
    policy(tmp_path, jobs=JOBS.replace("30,office", "41,office"))
    again = asked(path, text)
    assert (again.charged, again.rows[0]["n"]) == (100, WITH_PARTNER)


FROM = "SELECT COUNT(*) AS n FROM people"
MULTIPLY = "can multiply one person's rows"
REFUSED = {
    f"{FROM} JOIN people USING (job)": MULTIPLY,
    f"{FROM} JOIN other USING (job)": "'other' is no public table that the policy joins 'people'",
    f"{FROM}, jobs": MULTIPLY,
    f"{FROM} CROSS JOIN jobs": MULTIPLY,
    f"{FROM} RIGHT JOIN jobs USING (job)": MULTIPLY,
    f"{FROM} FULL JOIN jobs USING (job)": MULTIPLY,
    f"{FROM} NATURAL JOIN jobs": MULTIPLY,
    f"{FROM} INNER LEFT JOIN jobs USING (job)": MULTIPLY,
    f"{FROM} JOIN (SELECT 1) USING (job)": "subqueries|multiply",
    f"{FROM} JOIN jobs": r"'jobs' is joined by its key: JOIN jobs USING \(job\)",
    f"{FROM} JOIN jobs ON people.job = jobs.job": "is joined by its key",
    f"{FROM} JOIN jobs USING (age)": "is joined by its key",
    f"{FROM} JOIN jobs USING (job, age)": "is joined by its key",
    f"{FROM} JOIN jobs USING (job) JOIN jobs USING (job)": "'jobs' is joined twice",
    f"{FROM} JOIN jobs USING (job) WHERE jobs.wages > 1": "there is no column 'wages' in 'jobs'",
    f"{FROM} JOIN jobs USING (job) WHERE other.wage > 1": "there is no table 'other'",
    f"{FROM} JOIN jobs USING (job) WHERE job = 'cook'": "there is no column 'job'",
    f"{FROM} WHERE age > 1 JOIN jobs USING (job)": MULTIPLY,
    "SELECT COUNT(*) AS n FROM JOIN jobs USING (job)": "FROM names the dataset to ask",
    "SELECT COUNT(*) AS n FROM jobs": "there is no dataset 'jobs'",
}


def test_all_other_joins_are_refused_and_cost_nothing(tmp_path):
    with session(policy(tmp_path)) as db:
        for text, message in REFUSED.items():
            with pytest.raises(InputError, match=message):
                db.sql(text, epsilon=1)
        assert db.budget("people")["people"].spent == 0


WRONG = {
    "two rows of one key": ({"jobs": JOBS + "admin.,1,office,2001-01-01\n"}, "rows 1 and 4 .*same"),
    "a row without a key": ({"jobs": JOBS + ",1,office,2001-01-01\n"}, "row 4 of jobs.csv has no"),
    "a cell of another type": ({"jobs": JOBS.replace("45", "much")}, "row 2 .*'much'.* no integer"),
    "a short row": ({"jobs": JOBS + "cook,1\n"}, "row 4 of jobs.csv has 2 cells"),
    "no rows": ({"jobs": "job,wage,field,begun\n"}, "jobs.csv has no rows"),
    "no such column": ({"jobs": JOBS.replace("wage", "pay", 1)}, "has no column 'wage'"),
    "no such file": ({"public": PUBLIC.replace("jobs.csv", "x.csv")}, "x.csv cannot be read"),
    "a key of another type": (
        {"public": PUBLIC.replace('key = "job"', 'key = "wage"').replace("integer", "float")},
        "the key 'wage' has type 'float'",
    ),
    "no such table": ({"joins": '["shops"]'}, "there is no public table 'shops'"),
    "no key": ({"public": PUBLIC.replace('key = "job"', "")}, "key is missing"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_public_table_is_told_with_the_policy(case, tmp_path):
    given, message = WRONG[case]
    with pytest.raises(PolicyError, match=message):
        read_policy(policy(tmp_path, **given))


def test_a_dataset_without_the_key_is_an_error_of_the_policy(tmp_path):
    path = policy(tmp_path, public=PUBLIC.replace('"job"', '"begun"'))
    errors, warnings = check_policy(read_policy(path))
    assert ["there is no column 'begun', by which" in str(each) for each in errors] == [True]
    assert warnings == []


def test_a_right_policy_has_no_problems(tmp_path):
    assert check_policy(read_policy(policy(tmp_path))) == ([], [])
