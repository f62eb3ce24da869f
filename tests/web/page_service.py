"""A real service for the tests of the page:

`postri serve` in a process of its own, on a table made here.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

from served import new_token, served

import postri
from bank import COLUMNS, dataset_text
from postri.session import Session

ROWS = 3_000
# What people of a job have, on average. No two are alike, and some are close.
JOBS = {
    "admin.": 900,
    "cook": 700,
    "driver": 690,
    "nurse": 1_000,
    "retired": 1_300,
    "technician": 1_100,
}
PAGE_COLUMNS = {
    "balance": """
        type = "integer"
        lower = -10000
        upper = 20000
    """,
    "fee": """
        type = "decimal"
        lower = 0
        upper = 100
        step = "0.01"
    """,
    "opened": """
        type = "date"
        lower = 2015-01-01
        upper = 2030-12-31
    """,
    "age": COLUMNS["age"],
    "order": """
        type = "integer"
        lower = 0
        upper = 100
    """,
    "job": """
        type = "text"
        keys = ["admin.", "cook", "driver", "nurse", "retired", "technician"]
    """,
}
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
def serving(
    folder: Path, budgets: Mapping[str, str], loans: Sequence[str] = ("yes", "no")
) -> Iterator[Served]:
    """A service with datasets of these budgets, and these keys of `loan`: ann and bob are analysts,
    new is one who has asked nothing, sam is the steward.
    """
    # A file of its own for each: budgets of datasets about the same people would add up.
    for name in budgets:
        _write_table(folder / f"{name}.csv")
    loan = f'type = "text"\nkeys = {json.dumps(loans)}'
    datasets = [
        dataset_text(
            name,
            source=f"{name}.csv",
            budget=budget,
            rows=3_000,
            more='max_epsilon_per_question = "2"',
            columns={**PAGE_COLUMNS, "loan": loan},
        )
        for name, budget in budgets.items()
    ]
    (folder / "postri.toml").write_text("".join(datasets) + SERVICE)
    policy = folder / "postri.toml"
    tokens = {
        "ann": new_token(policy, "ann", allowance="4"),
        "bob": new_token(policy, "bob"),
        "new": new_token(policy, "new"),
        "sam": new_token(policy, "sam", "steward"),
    }
    with served(policy) as service:
        yield Served(service.url, tokens)


def _write_table(file: Path) -> None:
    people = random.Random(7)
    lines = ["balance,fee,opened,age,order,job,loan"]
    for _ in range(ROWS):
        job = people.choice(list(JOBS))
        opened = date(2020, 1, 1) + timedelta(days=people.randint(0, 1_500))
        balance, fee = round(people.gauss(JOBS[job], 400)), people.randint(0, 9_000) / 100
        age, order, loan = (
            people.randint(18, 90),
            people.randint(0, 100),
            people.choice(["yes", "no"]),
        )
        lines.append(f"{balance},{fee:.2f},{opened},{age},{order},{job},{loan}")
    file.write_text("\n".join(lines))
