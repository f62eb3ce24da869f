"""Plain commands are read without typer, and mean what typer takes them for."""

from __future__ import annotations

import gc
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import postri
from postri.cli import app, files, main, plain
from postri.cli import quantile as commands
from postri.cli.plain import plain_request

PLAIN = (
    "median t.csv x --epsilon 1",
    "median --epsilon 1 t.csv --type integer x --json",
    "quantile t.csv x 0.9 --within 500 --method sun2023 --confidence 0.99 --split 0.3",
    "median t.csv x --lower 0 --upper 10 --step 0.5 --where a=1 --epsilon 1/3 --plot out.svg",
    "median t.csv x --names x,y --delimiter ; --quote ' --encoding latin-1 --decimal , --epsilon 1",
    "median t.csv x --thousands . --date-format %d.%m.%Y --timestamp-format %c --epsilon 1",
    "median t.csv x",
)
# Among them what reads options, which takes longer to load than an answer takes.
NOT_LOADED = {
    "numpy.ma",
    "postri.engines.duckdb.guided_scan",
    "postri.engines.lost",
    "postri.engines.sql.units",
    "postri.expressions.tree",
    "postri.methods.groups",
    "pydantic",
    "rich",
    "sqlglot",
    "subprocess",
    "typer",
}
FOR_TYPER = (
    "",
    "--help",
    "median",
    "median --help",
    "median t.csv",
    "median t.csv x y --epsilon 1",
    "median t.csv x --epsilon",
    "median t.csv x --epsilon 1 --epsilon 2",
    "median t.csv x --epsilon=1",
    "median t.csv x --lower -10 --upper 10 --epsilon 1",
    "median t.csv x --type text --epsilon 1",
    "median t.csv x --type",
    "median t.csv x --no-header --epsilon 1",
    "median t.csv x --rows-per-person 3 --epsilon 1",
    "median t.csv x --protect replace-rows --epsilon 1",
    "median -- t.csv x",
    "quantile t.csv x --epsilon 1",
    "plan --rows 10 --epsilon 1",
)


def with_defaults(request: dict[str, Any]) -> dict[str, Any]:
    """What is asked for, with what is left out filled in from those who take it."""
    usual = {
        name: each.default
        for taker in (postri.quantile, files.show_quantile)
        for name, each in inspect.signature(taker).parameters.items()
        if each.default is not inspect.Parameter.empty
    }
    ways = {
        name: each.default
        for name, each in inspect.signature(postri.open).parameters.items()
        if name not in ("source", "columns", "vouched")
    }
    return {**usual, **request, "formats": {**ways, **request["formats"]}}


def by_typer(words: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What typer takes the words for."""
    asked: list[dict[str, Any]] = []

    def show(file: str, column: str, p: str, **rest: Any) -> None:
        asked.append({"file": file, "column": column, "p": p, **rest})

    monkeypatch.setattr(commands, "show_quantile", show)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return asked[0]


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_command_means_what_typer_takes_it_for(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = text.split()
    request = plain_request(words)
    assert request is not None
    own = with_defaults(request)
    others = with_defaults(by_typer(words, monkeypatch))
    # A float means the decimal that it prints as.
    assert {name: str(each) for name, each in own.items()} == {
        name: str(each) for name, each in others.items()
    }


@pytest.mark.parametrize("text", FOR_TYPER)
def test_what_is_not_plain_is_left_to_typer(text: str) -> None:
    assert plain_request(text.split()) is None


def test_every_option_that_is_read_here_is_one_of_both_commands() -> None:
    for command in (commands.median, commands.quantile):
        names = set(inspect.signature(command).parameters)
        assert {*plain.ASKED.values(), *plain.FORMATS.values(), "declared", "json"} <= names
    assert tuple(each.value for each in files.Type) == plain.TYPES


def test_a_plain_command_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    file.write_text("x\n" + "\n".join(map(str, range(100))) + "\n")
    words = ["postri", "median", str(file), "x", "--type", "integer", "--epsilon", "1"]
    code = f"import sys; sys.argv = {words!r}; from postri.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    answer, modules = done.stdout.splitlines()
    assert answer.startswith("median ")
    assert not set(modules.split()) & NOT_LOADED
    assert done.stderr == ""


@pytest.mark.parametrize("own", [None, "3"])
def test_a_plain_command_starts_no_threads_for_matrices_unless_the_user_does(
    own: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = "OPENBLAS_NUM_THREADS"
    # Whatever it is set to, it is put back.
    monkeypatch.setenv(threads, own or "")
    if own is None:
        monkeypatch.delenv(threads)
    monkeypatch.setattr(files, "show_quantile", lambda **request: None)
    monkeypatch.setattr(sys, "argv", ["postri", "median", "t.csv", "x", "--epsilon", "1"])
    main()
    assert os.environ[threads] == (own or "1")


def test_a_plain_command_leaves_garbage_collection_as_it_is_usual(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    enabled: list[bool] = []
    monkeypatch.setattr(files, "show_quantile", lambda **request: enabled.append(gc.isenabled()))
    monkeypatch.setattr(sys, "argv", ["postri", "median", "t.csv", "x", "--epsilon", "1"])
    main()
    assert enabled == [False]
    assert gc.isenabled()
