"""The commands for files: what they print, and their exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from postri.cli import app
from program import run
from result_columns import ANSWER_KEYS


@pytest.fixture
def salaries(tmp_path):
    path = tmp_path / "salaries.csv"
    path.write_text(
        "name,salary,hired,rate\n"
        + "".join(f"p{i},{30_000 + i},2020-01-{1 + i % 28:02},{i / 100}\n" for i in range(2_000))
    )
    return path


def test_median_prints_one_line_that_names_value_interval_confidence_and_protection(salaries):
    out, err = run("median", salaries, "salary", "--epsilon", 1)
    numbers = r"median [\d,]+, between [\d,]+\.5 and [\d,]+\.5 with 95% confidence; "
    protection = (
        r"about rows whose salary is a number; "
        r"protects adding or removing any one row at epsilon 1 "
        r"\[rounded to whole numbers: give a domain with a step for more digits\]\n"
    )
    assert re.fullmatch(numbers + protection, out)
    assert err == ""


def test_json_of_an_answer_has_the_stable_keys(salaries):
    out, _ = run("median", salaries, "salary", "--epsilon", "1/2", "--type", "integer", "--json")
    answer = json.loads(out)
    assert list(answer) == ANSWER_KEYS
    assert answer["low"] <= answer["value"] <= answer["high"]
    assert all(isinstance(answer[key], int) for key in ("value", "low", "high"))
    assert (answer["epsilon"], answer["confidence"], answer["method"], answer["private"]) == (
        "1/2",
        0.95,
        "depth",
        True,
    )


def test_json_keeps_the_digits_of_the_step(salaries):
    out, _ = run(
        "median",
        salaries,
        "rate",
        "--epsilon",
        8,
        "--lower",
        0,
        "--upper",
        100,
        "--step",
        "0.10",
        "--json",
    )
    assert re.search(r'"value": \d+\.\d,', out) and re.search(r'"low": \d+\.\d\d,', out)


def test_dates_are_iso_text_in_json(salaries):
    out, _ = run(
        "median",
        salaries,
        "hired",
        "--epsilon",
        1,
        "--lower",
        "2000-01-01",
        "--upper",
        "2029-12-31",
        "--json",
    )
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", json.loads(out)["value"])


def test_a_declared_integer_is_never_widened(salaries):
    bounds = ("--lower", 0, "--upper", 100_000, "--json")
    assert isinstance(
        json.loads(
            run("median", salaries, "salary", "--epsilon", 1, "--type", "integer", *bounds)[0]
        )["low"],
        int,
    )
    assert (
        json.loads(run("median", salaries, "salary", "--epsilon", 1, *bounds)[0])["low"] % 1 == 0.5
    )


def test_quantile_takes_p_and_every_other_option(salaries):
    options = (
        "--confidence",
        "0.99",
        "--protect",
        "replace-rows",
        "--rows-per-person",
        2,
        "--split",
        "0.7",
        "--json",
    )
    answer = json.loads(run("quantile", salaries, "salary", 0.9, "--epsilon", 2, *options)[0])
    assert answer["protects"] == "replacing any 2 rows" and answer["confidence"] == 0.99
    assert abs(answer["value"] - 31_800) < 200


def test_where_selects_rows(tmp_path):
    """A column of a CSV file is read as what it is compared with."""
    table = tmp_path / "staff.csv"
    table.write_text(
        "salary,team,age\n"
        + "".join(f"{1_000 + i},{'ab'[i % 2]},{20 + i % 40}\n" for i in range(4_000))
    )
    out, _ = run(
        "median",
        table,
        "salary",
        "--epsilon",
        50,
        "--where",
        "team = 'b' AND salary >= 3000 AND age < 60",
        "--json",
    )
    assert 3_900 <= json.loads(out)["value"] <= 4_100


def test_a_wrong_predicate_exits_with_2_and_says_what_was_wrong(salaries):
    for predicate, words in (
        ("salry < 1", "did you mean 'salary'"),
        ("salary < random()", "random"),
        ("salary <", "predicate"),
    ):
        _, said = run("median", salaries, "salary", "--epsilon", 1, "--where", predicate, code=2)
        assert words in said.lower()


def test_a_file_without_a_header_and_with_other_marks_is_read(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("".join(f"'x';{i}\n" for i in range(500)))
    out, _ = run(
        "median",
        path,
        "b",
        "--epsilon",
        1,
        "--no-header",
        "--names",
        "a,b",
        "--delimiter",
        ";",
        "--quote",
        "'",
        "--json",
    )
    assert abs(json.loads(out)["value"] - 250) < 150


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_picture_is_saved_and_words_go_to_standard_error(salaries, tmp_path, ending):
    picture = tmp_path / f"answer.{ending}"
    out, err = run("median", salaries, "salary", "--epsilon", 1, "--plot", picture)
    assert (
        picture.stat().st_size > 1_000 and out.startswith("median ") and err == f"saved {picture}\n"
    )


def test_plan_tells_the_reach_of_an_epsilon_and_the_epsilon_of_a_reach():
    reach = json.loads(run("plan", "--rows", 45_000, "--epsilon", 1, "--json")[0])
    assert 0.49 < reach["low"] < 0.5 < reach["high"] < 0.51 and reach["enough"]
    back = json.loads(run("plan", "--rows", 45_000, "--reach", reach["reach"], "--json")[0])
    assert float(back["epsilon"].split("/")[0]) / float(
        (back["epsilon"] + "/1").split("/")[1]
    ) == pytest.approx(1, rel=0.02)
    assert "percentile" in run("plan", "--rows", 45_000, "--epsilon", 1)[0]


WRONG = {
    "epsilon zero": (("--epsilon", 0), "epsilon must be positive, got '0'"),
    "epsilon no number": (("--epsilon", "lots"), "epsilon must be a finite number, got 'lots'"),
    "confidence": (
        ("--epsilon", 1, "--confidence", "95"),
        "confidence must lie strictly between 0 and 1, got '95'",
    ),
    "split": (("--epsilon", 1, "--split", "1"), "split must lie strictly between 0 and 1, got '1'"),
    "half a domain": (("--epsilon", 1, "--lower", 0), "needs both --lower and --upper"),
    "reversed domain": (
        ("--epsilon", 1, "--lower", 5, "--upper", 1),
        "--lower must be below --upper",
    ),
    "off the grid": (("--epsilon", 1, "--lower", 0, "--upper", 10, "--step", 3), "take 9 or 12"),
    "rows per person": (("--epsilon", 1, "--rows-per-person", 0), "at least 1, got 0"),
    "delimiter": (("--epsilon", 1, "--delimiter", ",,"), "delimiter must be one ASCII character"),
    "picture": (
        ("--epsilon", 1, "--plot", "x.jpegs"),
        "a picture's name must end in .png, .svg or .pdf, got 'x.jpegs'",
    ),
    "picture's folder": (
        ("--epsilon", 1, "--plot", "no/such/folder/x.png"),
        "there is no folder 'no/such/folder'",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_request_exits_with_2_and_says_what_was_wrong(salaries, what):
    words, message = WRONG[what]
    out, err = run("median", salaries, "salary", *words, code=2)
    assert message in err and err.startswith("postri: ")
    assert out == ""


def test_a_misspelt_column_or_file_is_answered_with_the_nearest_names(salaries):
    assert "did you mean 'salary'?" in run("median", salaries, "salery", "--epsilon", 1, code=2)[1]
    assert (
        "did you mean 'salaries.csv'?"
        in run("median", salaries.with_name("salary.csv"), "salary", "--epsilon", 1, code=2)[1]
    )


def test_usage_errors_exit_with_2():
    for words in (
        ("median",),
        ("median", "x.csv", "y"),
        ("no-such-command",),
        ("median", "x.csv", "y", "--epsilon", 1, "--protect", "nobody"),
    ):
        run(*words, code=2)


def test_a_damaged_file_exits_with_1(tmp_path):
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 broken")
    assert "damaged" in run("median", tmp_path / "broken.parquet", "x", "--epsilon", 1, code=1)[1]


def test_every_command_has_help_and_stands_in_the_readme():
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    for command in ("median", "quantile", "plan", "demo", "init", "check"):
        assert "Usage: postri" in run(command, "--help")[0]
        assert f"postri {command}" in readme
    assert run("--version")[0].strip() == "0.1.0"


def test_the_list_of_commands_cuts_no_sentence_short():
    assert "..." not in run("--help")[0].partition("Commands:")[2]


def test_another_statistic_is_no_command_and_says_where_it_is_asked():
    _, err = run("mean", "staff.csv", "salary", "--epsilon", 1, code=2)
    assert "postri ask" in err and "'mean(x)'" in err


@pytest.mark.slow
def test_the_demo_ends_well_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr("postri.cli.demo.find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert done.exit_code == 0
    assert "pip install 'postri[plot]'" in done.output
    assert not (tmp_path / "salaries.png").exists()


@pytest.mark.slow
def test_the_demo_shows_three_answers_beside_the_truth_and_saves_a_picture(tmp_path):
    out, err = run("demo", "--out", "shown", folder=tmp_path)
    assert "made-up" in out and "true median" in out
    # The private median may be the true one: it is counted in its own column alone.
    assert len(re.findall(r"44,355 +[│|] +(?:yes|no)", out)) == 3
    assert (tmp_path / "shown" / "salaries.png").stat().st_size > 10_000 and "salaries.png" in err
