"""`postri compare` and `postri reproduce`: what they print, and their exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from postri.research import reproduce
from postri.research.report import figures
from program import run
from proving import PROVE, sized
from run_here import run_experiments

pytestmark = pytest.mark.slow

DOMAIN = ("--lower", 0, "--upper", 100_000)
NAMES = ["depth", "postri-default", "sun2023"]


@pytest.fixture
def salaries(tmp_path) -> Path:
    path = tmp_path / "salaries.csv"
    path.write_text("name,salary\n" + "".join(f"p{i},{30_000 + i}\n" for i in range(2_000)))
    return path


# compare


def test_compare_warns_first_and_prints_a_line_for_each_method(salaries):
    out, _ = run(
        "compare",
        salaries,
        "salary",
        "--epsilon",
        1,
        *DOMAIN,
        "--methods",
        ",".join(NAMES),
        "--runs",
        5,
    )
    warning, *lines = out.splitlines()
    assert warning.startswith("NOT PRIVATE") and "raw data" in warning
    assert "2,000 rows, true median 30,999.5; means of 5 runs" in out
    (header,) = (line.split() for line in lines if line.split()[:1] == ["method"])
    assert header == [
        "method",
        "error",
        "half-width",
        "in",
        "rows",
        "coverage",
        "at",
        "least",
        "edge",
        "ms",
    ]
    found = [line.split() for line in lines if line.split()[:1] and line.split()[0] in NAMES]
    assert [words[0] for words in found] == NAMES
    assert {len(words) for words in found} == {8}
    for _, error, half_width, *_ in found:
        assert 0 <= float(error) < 100 and 1 < float(half_width) < 400
    assert max(map(len, lines)) <= 80


def test_compare_cuts_no_number_to_fit_80_columns(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("x\n" + "".join(f"{i * 997_331}\n" for i in range(60)))
    methods = [
        "postri-optimal",
        "postri-default",
        "sun2023-svt",
        "sun2023-9",
        "depth-gumbel",
        "postri-svt",
    ]
    out, _ = run(
        "compare",
        path,
        "x",
        "--epsilon",
        "0.01",
        "--lower",
        0,
        "--upper",
        10**9,
        "--methods",
        ",".join(methods),
        "--runs",
        3,
    )
    lines = out.splitlines()[1:]
    assert max(map(len, lines)) <= 80
    assert [
        line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in methods
    ] == methods
    assert "…" not in out


def test_compare_as_json_says_that_it_is_not_private(salaries):
    names = ["sun2023", "depth"]
    out, err = run(
        "compare",
        salaries,
        "salary",
        "--epsilon",
        1,
        *DOMAIN,
        "--methods",
        "sun2023, depth",
        "--runs",
        5,
        "--json",
    )
    found = json.loads(out.splitlines()[0])
    assert len(out.splitlines()) == 1 and err == ""
    assert found["private"] is False
    assert found["warning"].startswith("NOT PRIVATE") and "raw data" in found["warning"]
    assert [line["method"] for line in found["methods"]] == names
    keys = [
        "method",
        "error",
        "half_width",
        "half_width_rows",
        "coverage",
        "coverage_low",
        "coverage_high",
        "at_edge",
        "milliseconds",
    ]
    for line in found["methods"]:
        assert list(line) == keys
        assert 0 <= line["coverage_low"] <= line["coverage"] <= line["coverage_high"] <= 1
        assert line["half_width_rows"] == pytest.approx(line["half_width"], abs=1)


def test_compare_takes_the_usual_methods_unless_told(salaries):
    out, _ = run("compare", salaries, "salary", "--epsilon", 1, *DOMAIN, "--runs", 2, "--json")
    assert [line["method"] for line in json.loads(out)["methods"]] == [
        "depth",
        "postri-default",
        "sun2023",
        "sun2023-4",
    ]


def test_compare_gives_the_same_draws_again(salaries):
    words = (
        "compare",
        salaries,
        "salary",
        "--epsilon",
        1,
        *DOMAIN,
        "--methods",
        "depth",
        "--runs",
        5,
        "--json",
    )
    first, again = (json.loads(run(*words)[0])["methods"][0] for _ in range(2))
    assert first.pop("milliseconds") > 0 and again.pop("milliseconds") > 0
    assert first == again


WRONG = {
    "unknown method": (
        ("salary", "--epsilon", 1, *DOMAIN, "--methods", "depth,sun2032"),
        "there is no method 'sun2032'; did you mean 'sun2023'",
    ),
    "no method": (
        ("salary", "--epsilon", 1, *DOMAIN, "--methods", " , "),
        "name at least one method",
    ),
    "no domain": (
        ("salary", "--epsilon", 1, "--methods", "depth,postri-default"),
        "give a smaller one, or use depth",
    ),
    "epsilon": (("salary", "--epsilon", 0, *DOMAIN), "epsilon must be positive, got '0'"),
    "confidence": (
        ("salary", "--epsilon", 1, *DOMAIN, "--confidence", 1),
        "confidence must lie strictly between 0 and 1, got '1'",
    ),
    "runs": (
        ("salary", "--epsilon", 1, *DOMAIN, "--runs", 0),
        "runs must be a whole number of at least 1, got 0",
    ),
    "unknown column": (
        ("salery", "--epsilon", 1, *DOMAIN),
        "there is no column 'salery'; did you mean 'salary'?",
    ),
    "no number of quantiles": (
        ("salary", "--epsilon", 1, *DOMAIN, "--quantiles", "0.5"),
        "quantiles must be whole numbers, such as 9 or 3,9,99, got '0.5'",
    ),
    "a published way without a domain": (
        ("salary", "--epsilon", 1, "--quantiles", 3, "--methods", "halving"),
        "give --lower and --upper",
    ),
    "a method of medians": (
        ("salary", "--epsilon", 1, *DOMAIN, "--quantiles", 3, "--methods", "postri"),
        "postri-default answers for the median alone",
    ),
    "no readable quantile": (
        ("name", "--epsilon", 1, *DOMAIN, "--quantiles", 3),
        "there is no quantile to compare with",
    ),
    "no readable value": (
        ("name", "--epsilon", 1, *DOMAIN),
        "the column holds no value that can be read",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_comparison_exits_with_2_and_says_what_was_wrong(salaries, what: str):
    words, message = WRONG[what]
    out, err = run("compare", salaries, *words, code=2)
    assert err.startswith("postri: ") and message in err
    assert out == ""


def test_depth_alone_needs_no_domain(salaries):
    out, _ = run(
        "compare", salaries, "salary", "--epsilon", 1, "--methods", "depth", "--runs", 3, "--json"
    )
    assert [line["method"] for line in json.loads(out)["methods"]] == ["depth"]


def test_the_tree_is_compared_like_every_other_method(salaries):
    """It counts as it draws, so it has no window that could be fetched before."""
    names = ["depth", "tree"]
    out, _ = run(
        *("compare", salaries, "salary", "--epsilon", 1, *DOMAIN),
        *("--methods", ",".join(names), "--runs", 3, "--json"),
    )
    found = json.loads(out)["methods"]
    assert [line["method"] for line in found] == names
    assert all(0 < line["half_width_rows"] < 500 for line in found)


def test_compare_shows_ways_to_many_quantiles(salaries):
    names = ["depth", "tree", "halving", "joint-exp"]
    out, err = run(
        *("compare", salaries, "salary", "--epsilon", 1, *DOMAIN, "--quantiles", "3,4"),
        *("--runs", 2),
    )
    warning, *lines = out.splitlines()
    assert warning.startswith("NOT PRIVATE") and "raw data" in warning
    found = [line.split() for line in lines if line.split()[:1] and line.split()[0] in names]
    assert [words[:2] for words in found] == [[name, m] for m in ("3", "4") for name in names]
    assert [words[3:5] == ["-", "-"] for words in found] == [False, False, True, True] * 2
    assert max(map(len, lines)) <= 80
    assert "values alone" in err


def test_compare_gives_many_quantiles_as_json(salaries):
    out, _ = run(
        *("compare", salaries, "salary", "--epsilon", 1, *DOMAIN, "--quantiles", 3),
        *("--methods", "halving,depth", "--runs", 2, "--json"),
    )
    found = json.loads(out)
    assert found["private"] is False and found["warning"].startswith("NOT PRIVATE")
    halving, depth = found["quantiles"]
    assert (halving["method"], depth["method"]) == ("halving", "depth")
    assert halving["half_width_rows"] is None and depth["half_width_rows"] > 0
    assert 0 <= halving["rank_error"] < 100


# reproduce


def test_reproduce_refuses_a_folder_that_does_not_exist(tmp_path):
    out, err = run("reproduce", "--data", tmp_path / "nowhere", code=2, folder=tmp_path)
    assert err.startswith("postri: there is no folder ") and "nowhere" in err
    assert out == "" and list(tmp_path.iterdir()) == []


def test_reproduce_refuses_a_single_run(tmp_path):
    out, err = run("reproduce", "--data", tmp_path, "--runs", 1, code=2, folder=tmp_path)
    assert err == "postri: runs must be a whole number of at least 2, got 1\n"
    assert out == "" and list(tmp_path.iterdir()) == []


def test_reproduce_names_each_table_that_a_folder_lacks(tmp_path):
    out, err = run("reproduce", "--data", tmp_path, code=1, folder=tmp_path)
    assert all(
        f"{name}: there is no {name}.csv in " in err for name in ("bank", "adult", "airplane")
    )
    assert out == "" and list(tmp_path.iterdir()) == []


def test_the_environment_names_the_folder_and_the_option_wins_over_it(tmp_path):
    (tmp_path / "empty").mkdir()
    _, err = run("reproduce", code=2, folder=tmp_path, POSTRI_DATA="nowhere")
    assert "there is no folder nowhere" in err
    _, err = run("reproduce", "--data", "empty", code=1, folder=tmp_path, POSTRI_DATA="nowhere")
    assert "bank: there is no bank.csv in empty." in err


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("reproduce", "--data --runs --out"),
        ("compare", "--methods --quantiles --epsilon --runs --json"),
    ],
)
def test_the_researchers_commands_have_help(command: str, options: str):
    out, _ = run(command, "--help")
    assert f"Usage: postri {command}" in out
    assert all(f"  {option} " in out for option in options.split())


def test_reproduce_writes_the_report_and_prints_where(
    tables, tmp_path, tmp_path_factory, monkeypatch
):
    """Of the smallest table alone: tests/research has the whole report."""
    monkeypatch.setattr(reproduce, "run_all", run_experiments)
    if not PROVE:
        # The picture of all shapes takes longer than the rest: another one twice in its place.
        monkeypatch.setattr(
            figures,
            "_shapes",
            lambda results, folder: figures._against_epsilon(
                results, "airplane", figures.METRICS[0], folder
            ),
        )
    data = tmp_path_factory.mktemp("data")
    for name in ("airplane.csv", "published_results.csv"):
        shutil.copy(tables / name, data)
    out, err = run(
        "reproduce", "--data", data, "--runs", 2, "--out", "deep/report", folder=tmp_path
    )
    assert out.splitlines() == [
        f"deep/report/{name}" for name in ("report.html", "report.md", "runs.csv", "figures")
    ]
    assert all((tmp_path / line).exists() for line in out.splitlines())
    assert "drawing" in err and "100%" in err
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]
    assert len(list((tmp_path / "deep" / "report" / "figures").iterdir())) == sized(4, 6)
