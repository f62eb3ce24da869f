"""A real service for the tests of the page: `postri serve` in a process of its own, on a table made here."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import postri
from postri.session import Session

POSTRI = Path(sys.executable).with_name("postri")
ROWS = 3_000
# What people of a job have, on average. No two are alike, and some are close.
JOBS = {"admin.": 900, "cook": 700, "driver": 690, "nurse": 1_000, "retired": 1_300, "technician": 1_100}
DATASET = """
[datasets.{name}]
source = "bank.csv"
version = "1"
budget = "{budget}"
rows = 3000
max_epsilon_per_question = "2"
protect = {{ change = "add-or-remove-rows", rows = 1 }}
[datasets.{name}.columns.balance]
type = "integer"
lower = -10000
upper = 20000
[datasets.{name}.columns.fee]
type = "decimal"
lower = 0
upper = 100
step = "0.01"
[datasets.{name}.columns.opened]
type = "date"
lower = 2015-01-01
upper = 2030-12-31
[datasets.{name}.columns.age]
type = "integer"
lower = 0
upper = 120
[datasets.{name}.columns.order]
type = "integer"
lower = 0
upper = 100
[datasets.{name}.columns.job]
type = "text"
keys = ["admin.", "cook", "driver", "nurse", "retired", "technician"]
[datasets.{name}.columns.loan]
type = "text"
keys = {loans}
"""
SERVICE = """
[service]
time_grid = "0"
"""


@dataclass(frozen=True)
class Served:
    """A running service, and the tokens of its people by name."""

    url: str
    tokens: Mapping[str, str]

    def session(self, name: str) -> Session:
        """What this person sees from Python."""
        return postri.connect(self.url, token=self.tokens[name])

    def spent(self, dataset: str) -> Fraction:
        """What all have spent on a dataset."""
        with self.session("sam") as db:
            return db.budget(dataset)[dataset].spent


@contextmanager
def serving(folder: Path, budgets: Mapping[str, str], loans: Sequence[str] = ("yes", "no")) -> Iterator[Served]:
    """A service with datasets of these budgets, and these keys of `loan`: ann and bob are analysts, sam is the steward."""
    _write_table(folder / "bank.csv")
    datasets = "".join(DATASET.format(name=name, budget=budget, loans=json.dumps(loans)) for name, budget in budgets.items())
    (folder / "postri.toml").write_text(datasets + SERVICE)
    people = {"ann": ["--allowance", "4"], "bob": [], "sam": ["--role", "steward"]}
    tokens = {name: _token(folder, name, *how) for name, how in people.items()}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [POSTRI, "serve", "postri.toml", "--port", "0"], cwd=folder, env=_environment(), stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "listening on" in line, (folder / "log").read_text()
            yield Served(line.split()[-1], tokens)
        finally:
            process.terminate()
            process.communicate(timeout=60)


def _write_table(file: Path) -> None:
    people = random.Random(7)
    lines = ["balance,fee,opened,age,order,job,loan"]
    for _ in range(ROWS):
        job = people.choice(list(JOBS))
        opened = date(2020, 1, 1) + timedelta(days=people.randint(0, 1_500))
        balance, fee = round(people.gauss(JOBS[job], 400)), people.randint(0, 9_000) / 100
        age, order, loan = people.randint(18, 90), people.randint(0, 100), people.choice(["yes", "no"])
        lines.append(f"{balance},{fee:.2f},{opened},{age},{order},{job},{loan}")
    file.write_text("\n".join(lines))


def _token(folder: Path, name: str, *how: str) -> str:
    role = [] if "--role" in how else ["--role", "analyst"]
    command = [POSTRI, "token", "add", name, *role, *how]
    out = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True, check=True).stdout
    return out.splitlines()[-1]


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "POSTRI_POLICY"} | {"PYTHONUNBUFFERED": "1"}
