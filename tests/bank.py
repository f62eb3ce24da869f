"""The policy of all tests: a small bank as a dataset, in every kind of source, and the writer of
policies for those that need another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from textwrap import dedent
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import postri
from postri import SeededCoins, Session
from postri.ledger import SqliteLedger, verify
from postri.mechanisms.coins import Coins
from postri.policy import read_policy
from postri.policy.skeleton import toml_key
from postri.session import LocalSession
from postri.session import local as module

JOBS = ["admin.", "technician", "services"]
# What the policy says of each column of the bank; `secret` is none of them.
COLUMNS = {
    "balance": """
        type = "integer"
        lower = -1000
        upper = 9000
    """,
    "age": """
        type = "integer"
        lower = 0
        upper = 120
    """,
    "since": """
        type = "date"
        lower = 2000-01-01
        upper = 2030-12-31
    """,
    "rate": """
        type = "float"
        lower = 0
        upper = 10
        step = "0.25"
    """,
    "job": """
        type = "text"
        keys = ["admin.", "technician", "nobody"]
    """,
    "vip": """
        type = "boolean"
        keys = [true, false]
    """,
}
# A smaller table, of which the command line is asked.
STAFF_COLUMNS = {
    "salary": """
        type = "integer"
        lower = 0
        upper = 100000
    """,
    "team": """
        type = "text"
        keys = ["blue", "red"]
    """,
}
ONE_ROW = 'change = "add-or-remove-rows", rows = 1'


def dataset_text(
    name: str = "bank",
    *,
    source: str = "bank.parquet",
    table: str | None = None,
    version: str = "1",
    budget: str = "5",
    rows: int | None = 2_000,
    more: str = "",
    protect: str = ONE_ROW,
    columns: Mapping[str, str] = COLUMNS,
) -> str:
    """A dataset as a policy has it: the bank, or another one of these columns.

    `more` are further lines of its table. A budget that is large so that it never runs out allows
    small questions too. This writer is the one of all tests, so that what a policy must say stands
    in one place.
    """
    if Fraction(budget) > 20 and "min_epsilon" not in more:
        more += '\nmin_epsilon = "0.001"'
    key = toml_key(name)
    lines = [f"[datasets.{key}]", f'source = "{source}"']
    if table is not None:
        lines.append(f'table = "{table}"')
    lines += [f'version = "{version}"', f'budget = "{budget}"']
    if rows is not None:
        lines.append(f"rows = {rows}")
    lines += [*more.strip().splitlines(), f"protect = {{ {protect} }}"]
    for column, declared in columns.items():
        lines.append(f"[datasets.{key}.columns.{toml_key(column)}]")
        lines += dedent(declared).strip().splitlines()
    return "\n".join(lines) + "\n"


def bank(rows: int = 2_000) -> pa.Table:
    source = np.random.default_rng(11)
    return pa.table(
        {
            "balance": pa.array(source.normal(1_400, 2_000, rows).astype(np.int64)),
            "age": pa.array(source.integers(18, 95, rows)),
            "since": pa.array(
                (np.datetime64("2005-03-01") + source.integers(0, 6_000, rows)).astype(
                    "datetime64[D]"
                )
            ),
            "rate": pa.array(np.round(source.uniform(-1, 11, rows), 2)),
            "job": pa.array(source.choice(JOBS, rows)),
            "vip": pa.array(source.random(rows) < 0.3),
            "secret": pa.array(source.integers(0, 9, rows)),
        }
    )


def write_policy(
    folder: Path,
    *,
    table: pa.Table | None = None,
    source: str = "bank.parquet",
    budget: str = "5",
    version: str = "1",
    name: str | None = None,
    more: str = "",
) -> Path:
    """The policy, and its Parquet file if none is there."""
    folder.mkdir(exist_ok=True)
    if source == "bank.parquet" and (table is not None or not (folder / source).exists()):
        pq.write_table(bank() if table is None else table, folder / source)
    path = folder / "postri.toml"
    path.write_text(
        dataset_text(source=source, table=name, version=version, budget=budget, more=more)
    )
    return path


def session(
    path: Path, analyst: str = "ann", coins: Callable[[], Coins | None] = lambda: None
) -> Session:
    """A session, with coins of the test's own if it has some."""
    policy = read_policy(path)
    ledger = SqliteLedger(policy.ledger, policy.head)
    return LocalSession(policy, ledger, analyst, coins=coins)


def spent(path: Path) -> Fraction:
    """What was spent on the bank, by a ledger that verifies."""
    found = read_policy(path)
    with SqliteLedger(found.ledger, found.head) as ledger:
        assert verify(ledger) == []
        return ledger.spent("bank").epsilon


def seeded(path: Path, seed: int = 3) -> Session:
    return session(path, coins=lambda: SeededCoins(seed))


@contextmanager
def in_memory(rows: int = 50) -> Iterator[None]:
    """A bank that takes no time to open: what is left is the session and its ledger."""
    table = postri.open(bank(rows))
    with patch.object(module, "open_dataset", lambda policy, dataset, opener: table):
        yield


def in_duckdb(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    with duckdb.connect(str(folder / "bank.duckdb")) as connection:
        connection.register("given", bank())
        connection.execute("CREATE TABLE accounts AS SELECT * FROM given")
    return write_policy(folder, source="bank.duckdb", name="main.accounts")
