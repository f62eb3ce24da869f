"""`postri ask` and `postri budget` as people run them: a steward's policy, an analyst's questions,
exit codes, two streams.
"""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

import program
from bank import STAFF_COLUMNS, dataset_text
from result_columns import columns_of

pytestmark = pytest.mark.slow

POLICY = dataset_text(
    "staff",
    source="staff.csv",
    budget="3",
    more='max_epsilon_per_question = "2"',
    columns=STAFF_COLUMNS,
)


@pytest.fixture
def folder(tmp_path):
    people = random.Random(4)
    rows = [
        f"{30_000 + people.randint(0, 5_000)},{people.choice(['blue', 'red'])},hidden"
        for _ in range(2_000)
    ]
    (tmp_path / "staff.csv").write_text("\n".join(["salary,team,note", *rows]))
    (tmp_path / "postri.toml").write_text(POLICY)
    return tmp_path


def run(folder: Path, *words: object, **how) -> tuple[str, str]:
    return program.run(*words, folder=folder, **how)


def asked(folder: Path, *words: object, **how) -> tuple[str, str]:
    return run(folder, "ask", "staff", *words, **how)


def test_a_table_with_an_interval_beside_every_value(folder):
    out, err = asked(
        folder, "mid=median(salary)", "count()", "mean(salary)", "--by", "team", "--epsilon", 1
    )
    head, blue, red, about, footing, note = out.splitlines()
    assert head.split() == [
        "team",
        "mid",
        "mid_low",
        "mid_high",
        "count",
        "count_low",
        "count_high",
        *(f"mean_salary{end}" for end in ("", "_low", "_high")),
    ]
    assert (blue.split()[0], red.split()[0]) == ("blue", "red")
    assert about.startswith("about rows of each team (mid: those on which salary can be read;")
    assert (
        footing
        == "95% confidence in each interval; protects adding or removing any one row at epsilon 1"
    )
    assert note == "mid, mean_salary: cells that cannot be read are left out"
    assert err == ""


def test_json_and_csv_and_the_second_time_for_nothing(folder):
    first = json.loads(
        asked(folder, "count()", "--epsilon", "1/2", "--json", "--analyst", "ann")[0]
    )
    again = json.loads(
        asked(folder, "n = count(*)", "--epsilon", "0.5", "--json", "--analyst", "bob")[0]
    )
    assert (first["charged"], again["charged"], first["answer_id"]) == (
        "1/2",
        "0",
        again["answer_id"],
    )
    rows = list(csv.reader(asked(folder, "count()", "--epsilon", "0.5", "--csv")[0].splitlines()))
    numbers = [str(first["rows"][0][name]) for name in ("count", "count_low", "count_high")]
    assert rows == [
        [*columns_of("count"), "population"],
        [*numbers, "false", "false", "all rows"],
    ]
    fresh = json.loads(asked(folder, "count()", "--epsilon", "0.5", "--json", "--fresh")[0])
    assert fresh["charged"] == "1/2"


def test_a_picture(folder):
    _, err = asked(
        folder, "median(salary)", "count()", "--by", "team", "--epsilon", 1, "--plot", "staff.svg"
    )
    assert err == "saved staff.svg\n"
    picture = (folder / "staff.svg").read_text()
    assert picture.count("<path") > 10


def test_a_picture_that_cannot_be_saved_costs_nothing(folder):
    asked(folder, "count()", "--epsilon", 1, "--plot", "staff.txt", code=2)
    assert json.loads(run(folder, "budget", "--json")[0])["staff"]["spent"] == "0"


def test_a_price_is_free(folder):
    out, _ = asked(
        folder, "median(salary)", "sum(salary)", "--epsilon", 1, "--price", "--weights", "1,3"
    )
    assert out.startswith(
        "costs epsilon 1, of 3 that is left\nmedian_salary: at epsilon 0.25 the 95% interval"
    )
    price = json.loads(asked(folder, "count()", "--epsilon", 1, "--price", "--json")[0])
    assert (price["charged"], price["remaining"], price["refused"]) == ("1", "3", None)
    assert json.loads(run(folder, "budget", "--json")[0]) == {
        "staff": {"budget": "3", "spent": "0", "remaining": "3", "entries": 0}
    }


def test_a_price_with_a_filter_asks_how_many_rows_match(folder):
    question = ("median(salary)", "--where", "salary > 30000", "--epsilon", 1)
    assert (
        "unknown: tell about how many rows match (--expect 30000)"
        in asked(folder, *question, "--price")[0]
    )
    told, _ = asked(folder, *question, "--price", "--expect", 400)
    assert "interval of the median of 400 rows will reach" in told
    sql = ("sql", "SELECT AVG(salary) FROM staff WHERE salary > 30000", "--epsilon", 1, "--price")
    assert "(--expect 30000)" in run(folder, *sql)[0]
    assert "at most, if at least 400 rows count" in run(folder, *sql, "--expect", 400)[0]
    assert "expect, about how many rows match" in asked(folder, *question, "--expect", 0, code=2)[1]
    assert json.loads(run(folder, "budget", "--json")[0])["staff"]["spent"] == "0"


def test_exit_code_3_is_the_budget(folder):
    asked(folder, "count()", "--epsilon", 2)
    out, err = asked(folder, "sum(salary)", "--epsilon", 2, code=3)
    assert out == ""
    assert err == (
        "postri: the question costs epsilon 2, and the budget of 'staff' leaves 1: short by "
        "1; nothing was spent\n"
    )
    assert "one question may cost" in asked(folder, "sum(salary)", "--epsilon", "2.5", code=3)[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ask", "stuff", "count()", "--epsilon", 1), "did you mean 'staff'"),
        (("ask", "staff", "median(note)", "--epsilon", 1), "'staff' has no column 'note'"),
        (
            ("ask", "staff", "count()", "--where", "note = 'x'", "--epsilon", 1),
            "there is no column 'note'",
        ),
        (("ask", "staff", "count()", "--by", "salary", "--epsilon", 1), "no public keys"),
        (("ask", "staff", "modus(salary)", "--epsilon", 1), "there is no aggregate 'modus'"),
        (
            ("ask", "staff", "count()", "count()", "--epsilon", 1),
            "two aggregates have the name 'count'",
        ),
        (
            ("ask", "staff", "count()", "--weights", "1,2", "--epsilon", 1),
            "give each of the 1 aggregates its weight",
        ),
        (("ask", "staff", "count()", "--epsilon", 1, "--policy", "other.toml"), "other.toml"),
    ],
)
def test_exit_code_2_is_a_wrong_request(folder, words, message):
    assert message in run(folder, *words, code=2)[1]


def test_a_wrong_policy_says_every_line(folder):
    (folder / "postri.toml").write_text(
        POLICY.replace("lower = 0", "lowr = 0").replace('budget = "3"', 'budget = "-3"')
    )
    err = asked(folder, "count()", "--epsilon", 1, code=2)[1]
    assert "line 4" in err and "lowr" in err


def test_the_policy_and_the_analyst_may_stand_in_the_environment(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    environment = {"POSTRI_POLICY": str(folder / "postri.toml"), "POSTRI_ANALYST": "eve"}
    asked(elsewhere, "count()", "--epsilon", 1, **environment)
    out, _ = run(elsewhere, "budget", **environment)
    assert "eve" in out and "staff" in out


class TestBudget:
    def test_a_table_with_a_bar_and_the_analysts(self, folder):
        asked(folder, "count()", "--epsilon", 1, "--analyst", "ann")
        out, _ = run(folder, "budget")
        assert "█" in out and "░" in out and "ann" in out
        assert json.loads(run(folder, "budget", "--json")[0]) == {
            "staff": {"budget": "3", "spent": "1", "remaining": "2", "entries": 3}
        }

    def test_the_trail_as_csv(self, folder):
        asked(folder, "count()", "--epsilon", 1)
        assert "saved trail.csv" in run(folder, "budget", "--export", "trail.csv")[1]
        with (folder / "trail.csv").open(newline="") as file:
            kinds = [row["kind"] for row in csv.DictReader(file)]
        assert kinds == ["terms", "reserve", "answer"]

    def test_verify_finds_an_edit_and_an_old_copy(self, folder):
        asked(folder, "count()", "--epsilon", 1)
        assert "the ledger is good" in run(folder, "budget", "--verify")[1]
        run(folder, "budget", "--backup", "copy.ledger")
        head = run(folder, "budget", "--head")[0].strip()
        asked(folder, "sum(salary)", "--epsilon", 1)
        assert "the ledger is good" in run(folder, "budget", "--verify", "--expected-head", head)[1]
        for name in ("postri.ledger-wal", "postri.ledger-shm"):
            (folder / name).unlink(missing_ok=True)
        (folder / "postri.ledger").write_bytes((folder / "copy.ledger").read_bytes())
        assert "this is an old copy" in run(folder, "budget", "--verify", code=1)[1]
        assert asked(folder, "count()", "--epsilon", 1, code=1)[0] == ""
        assert "accepted" in run(folder, "budget", "--accept-restored")[1]
        assert json.loads(run(folder, "budget", "--json")[0])["staff"]["spent"] == "2"
        assert "the ledger is good" in run(folder, "budget", "--verify")[1]


class TestTerms:
    def test_a_protection_that_tells_nothing_of_earlier_spends_is_accepted(self, folder):
        asked(folder, "count()", "--epsilon", 1)
        units = 'change = "add-or-remove-units", unit = "note"'
        (folder / "postri.toml").write_text(POLICY.replace('change = "add-or-remove-rows"', units))
        err = asked(folder, "count()", "--epsilon", 1, code=2)[1]
        assert "postri budget --accept-protection staff" in err
        assert "--accept-protection staff" in run(folder, "check", code=2)[0]
        # What was spent is told all the same.
        assert json.loads(run(folder, "budget", "--json")[0])["staff"]["spent"] == "1"
        assert "stuff" in run(folder, "budget", "--accept-protection", "stuff", code=2)[1]
        assert "by entry 4 " in run(folder, "budget", "--accept-protection", "staff")[1]
        assert (
            "nothing to accept" in run(folder, "budget", "--accept-protection", "staff", code=1)[1]
        )
        asked(folder, "count()", "--epsilon", 1)
        assert "the ledger is good" in run(folder, "budget", "--verify")[1]

    def test_a_renamed_dataset_goes_on_where_it_was(self, folder):
        asked(folder, "count()", "--epsilon", 2)
        renamed = POLICY.replace("datasets.staff", "datasets.team")
        (folder / "postri.toml").write_text(renamed)
        assert 'same_people_as = "staff"' in run(folder, "check", code=2)[0]
        assert (
            'same_people_as = "staff"'
            in run(folder, "ask", "team", "count()", "--epsilon", 1, code=2)[1]
        )
        joined = renamed.replace("[datasets.team]\n", '[datasets.team]\nsame_people_as = "staff"\n')
        (folder / "postri.toml").write_text(joined)
        assert "all is well" in run(folder, "check")[0]
        assert "spent" in run(folder, "ask", "team", "count()", "--epsilon", 2, code=3)[1]
        assert json.loads(run(folder, "budget", "--json")[0])["team"] == {
            "budget": "3",
            "spent": "2",
            "remaining": "1",
            "entries": 3,
        }


class TestSql:
    QUESTION = (
        "SELECT team, MEDIAN(salary) AS mid, COUNT(*) AS n FROM staff GROUP BY team ORDER BY n DESC"
    )

    def test_a_table_json_and_csv(self, folder):
        out, err = run(folder, "sql", self.QUESTION, "--epsilon", 1)
        assert out.splitlines()[0].split() == [
            "team",
            "mid",
            "mid_low",
            "mid_high",
            "n",
            "n_low",
            "n_high",
        ]
        assert err == ""
        again = json.loads(run(folder, "sql", self.QUESTION, "--epsilon", 1, "--json")[0])
        assert (again["charged"], len(again["rows"])) == ("0", 2)
        rows = list(
            csv.reader(run(folder, "sql", self.QUESTION, "--epsilon", 1, "--csv")[0].splitlines())
        )
        assert rows[0] == [*again["columns"], "population"] and len(rows) == 3

    def test_standard_input_a_price_and_a_picture(self, folder):
        out, _ = run(folder, "sql", "-", "--epsilon", 1, "--price", typed=self.QUESTION)
        assert out.startswith("costs epsilon 1, of 3 that is left\nmedian_salary: ")
        assert (
            run(folder, "sql", self.QUESTION, "--epsilon", 1, "--plot", "teams.png")[1]
            == "saved teams.png\n"
        )
        nothing = "SELECT COUNT(*) AS n FROM staff HAVING n < 0"
        assert (
            "nothing to draw"
            in run(folder, "sql", nothing, "--epsilon", 1, "--plot", "none.png", code=2)[1]
        )

    def test_an_error_points_at_its_place(self, folder):
        err = run(folder, "sql", "SELECT MAX(salary) FROM staff", "--epsilon", 1, code=2)[1]
        assert err.splitlines()[1:] == ["  SELECT MAX(salary) FROM staff", "         ^^^"]
        assert "QUANTILE_CONT(salary, 0.99)" in err
        assert (
            run(folder, "sql", "SELECT SUM(salary) FROM staff", "--epsilon", "2.5", code=3)[0] == ""
        )
