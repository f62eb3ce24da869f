"""What is wrong with a command is said in the words of the command line, not in Python's."""

from __future__ import annotations

import re

import pytest

from program import run

PYTHON = re.compile(r"\b\w+=[\w'.{\[]|Domain\(|AddOrRemove|Replace\w+\(|\bagg\.|\bpostri\.open")
WRONG = {
    "no bounds for decimals": (
        ("median", "t.csv", "rate", "--type", "float", "--epsilon", 1),
        "--lower 0 --upper 1000 --step 0.01",
    ),
    "reversed bounds": (
        ("median", "t.csv", "pay", "--epsilon", 1, "--lower", 5, "--upper", 1),
        "--lower must be below --upper, got lower '5' and upper '1'",
    ),
    "a step that does not fit": (
        ("median", "t.csv", "pay", "--epsilon", 1, "--lower", 0, "--upper", 10, "--step", 3),
        "--upper must be --lower plus a whole number of steps",
    ),
    "no budget": (("median", "t.csv", "pay", "--epsilon", 0), "--epsilon must be positive"),
    "a confidence in percent": (
        ("median", "t.csv", "pay", "--epsilon", 1, "--confidence", 95),
        "--confidence must lie strictly between 0 and 1",
    ),
    "another quantile of a method for medians": (
        ("quantile", "t.csv", "pay", 0.9, "--epsilon", 1, "--method", "postri"),
        "use --method depth",
    ),
    "a method for replaced rows": (
        ("median", "t.csv", "pay", "--epsilon", 1, "--method", "postri"),
        "ask with --protect replace-rows, or use --method depth",
    ),
    "a filter for a method of all rows": (
        ("median", "t.csv", "pay", "--epsilon", 1, "--method", "postri", "--where", "pay > 1"),
        "use --method depth",
    ),
    "no rows of a person": (
        ("median", "t.csv", "pay", "--epsilon", 1, "--rows-per-person", 0),
        "--rows-per-person must be a whole number of at least 1",
    ),
    "a filter on a column that nothing tells how to read": (
        ("median", "t.csv", "pay", "--epsilon", 1, "--where", "rate IS NULL"),
        "declare it in a policy",
    ),
    "neither of two": (("plan", "--rows", 10), "give either --epsilon (to learn how far"),
    "names without a header": (
        ("median", "t.csv", "pay", "--epsilon", 1, "--no-header"),
        "--names first,second,...",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("words")
    (place / "t.csv").write_text("pay,rate\n1,0.5\n2,0.7\n")
    return place


@pytest.mark.parametrize("name", WRONG)
def test_an_error_names_options(name, folder):
    words, expected = WRONG[name]
    _, error = run(*words, folder=folder, code=2)
    assert expected in error
    assert not PYTHON.search(error), error
