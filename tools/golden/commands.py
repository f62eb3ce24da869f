"""The command line in this process: exit codes, standard output, standard error."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from golden.book import Book
from golden.sessions import LIMITED, without_clock, write_policy
from postri.cli import main

QUESTION = "SELECT city, MEDIAN(salary) AS mid, COUNT(*) AS n FROM staff GROUP BY city ORDER BY n"
COMMANDS = [
    "--version",
    "median staff.csv salary --epsilon 1",
    "median staff.csv salary --epsilon 1 --json --type integer --where 'age < 40'",
    "median staff.parquet rate --epsilon 1 --lower 0 --upper 10 --step 0.25 --json",
    "median staff.parquet born --epsilon 1 --json",
    "quantile staff.parquet age 0.9 --epsilon 0.5 --protect replace-rows --rows-per-person 2",
    "quantile staff.csv age 1/4 --epsilon 1/3 --split 0.7 --confidence 0.99 --json",
    "plan --rows 45000 --epsilon 1",
    "plan --rows 45000 --reach 0.001 --json",
    "plan --rows 4500 --epsilon 1 --p 0.9 --groups 3 --lower 0 --upper 100 --json",
    "compare staff.parquet salary --epsilon 1 --lower 0 --upper 100000 --runs 3 --json",
    "compare staff.parquet age --epsilon 1 --runs 3 --methods depth,depth-gumbel",
    "compare staff.parquet age --epsilon 1 --methods dept",
    "compare staff.parquet age --epsilon 1 --lower 0 --upper 99 --quantiles 3 --runs 2 --json",
    # Wrong requests.
    "",
    "nothing",
    "median",
    "median staff.csv salary",
    "median staff.csv slary --epsilon 1",
    "median stuff.csv salary --epsilon 1",
    "median staff.csv salary --epsilon nan",
    "median staff.csv salary --epsilon 0 --json",
    "median staff.csv salary --epsilon 1 --lower 0",
    "median staff.csv salary --epsilon 1 --lower 9 --upper 0",
    "median staff.csv salary --epsilon 1 --where 'slary < 3'",
    "median staff.csv salary --epsilon 1 --protect nothing",
    "median staff.csv salary --epsilon 1 --rows-per-person 0",
    "median staff.csv salary --epsilon 1 --plot staff.txt",
    "median staff.parquet rate --epsilon 1",
    "median staff.parquet city --epsilon 1",
    "quantile staff.csv salary 2 --epsilon 1",
    "plan --rows 100",
    "plan --rows x --epsilon 1",
]
ON_A_POLICY = [
    "ask staff 'mid=median(salary)' 'count()' --by city --epsilon 1 --price",
    "ask staff 'median(salary)' 'sum(age)' --epsilon 1 --weights 1,3 --price --json",
    "ask staff 'mid=median(salary)' 'count()' 'mean(age)' --by city --epsilon 1",
    "ask staff 'count()' --epsilon 1/2 --json",
    "ask staff 'n = count(*)' --epsilon 0.5 --csv",
    "ask staff 'count()' --epsilon 0.5 --json --fresh --analyst bob",
    "ask staff 'sum(age)' --epsilon 9",
    "ask staff 'sum(age)' --epsilon 2 --analyst bob",
    "ask stuff 'count()' --epsilon 1",
    "ask staff 'median(seen)' --epsilon 1",
    "ask staff 'count()' --where 'seen = 1' --epsilon 1",
    "ask staff 'count()' --by age --epsilon 1",
    "ask staff 'mode(age)' --epsilon 1",
    "ask staff 'count()' 'count()' --epsilon 1",
    "ask staff 'count()' --weights 1,2 --epsilon 1",
    "ask staff 'count()' --epsilon 1 --policy other.toml",
    f"sql '{QUESTION}' --epsilon 1 --price",
    f"sql '{QUESTION}' --epsilon 1/2",
    f"sql '{QUESTION}' --epsilon 1/2 --json",
    f"sql '{QUESTION}' --epsilon 1/2 --csv",
    "sql - --epsilon 1 --price --json",
    "sql 'SELECT MAX(salary) FROM staff' --epsilon 1",
    "sql 'SELECT SUM(age) FROM staff' --epsilon 5/2",
    "budget",
    "budget --json",
    "budget --verify",
    "budget --export trail.csv",
    "check",
    "check --json",
    "check --look",
    "check --look --json",
    "init staff.parquet",
    "init staff.parquet --out new.toml",
    "init nowhere.csv --out other.toml",
    "token add ann --role nobody",
    "token list",
    "token revoke 00000000",
]
HELP = [
    *("median", "quantile", "plan", "demo", "init", "check", "ask", "sql", "shell", "budget"),
    *("serve", "reproduce", "compare", "token", "token add", "token list", "token revoke"),
]


def ask_commands(book: Book, folder: Path) -> None:
    """Everything in this file."""
    for command in COMMANDS:
        book.ask(f"command/{command}", lambda words=command: run(words))
    for command in HELP:
        book.ask(f"command/{command} --help", lambda words=command: run(f"{words} --help"))
    write_policy(folder / "commands", "parquet", LIMITED, budget="5")
    os.chdir(folder / "commands")
    for command in ON_A_POLICY:
        book.ask(f"command/{command}", lambda words=command: run(words))
    book.ask("command/the trail", lambda: without_clock(Path("trail.csv").read_text()))
    book.ask("command/the new policy", lambda: Path("new.toml").read_text())
    os.chdir(folder)


def run(command: str) -> dict[str, Any]:
    """Run a line as a shell would; what is asked on standard input is always the same question."""
    out, err = io.StringIO(), io.StringIO()
    words: Sequence[str] = ["postri", *shlex.split(command)]
    given = io.TextIOWrapper(io.BytesIO(QUESTION.encode()))
    with (
        patch.object(sys, "argv", words),
        patch.object(sys, "stdin", given),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = _exit_code()
    return {"code": code, "out": _without_timings(out.getvalue()), "err": err.getvalue()}


def _without_timings(text: str) -> str:
    """A comparison of methods tells how long each took: in JSON, or in the last column of a table,
    whose width depends on it.
    """
    if "milliseconds" in text:
        return re.sub(r'("milliseconds": )[\d.e-]+', r"\1TIME", text)
    if " ms " in text:
        narrow = re.sub(r"[ ─]{2,}", "  ", text)
        return re.sub(r"(%  )[\d.,]+ *$", r"\1TIME", narrow, flags=re.MULTILINE)
    return text


def _exit_code() -> Any:
    try:
        main()
    except SystemExit as end:
        return 0 if end.code is None else end.code
    return 0
