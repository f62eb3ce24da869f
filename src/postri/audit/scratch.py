"""An installation of the audit's own, in a folder that goes away: a small table as a file or in a
database, and the policy of it. No table of the user is touched.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import postri
from postri.engines.table import Table
from postri.ledger import StoredLedger
from postri.mechanisms.coins import Coins
from postri.policy import Dataset, read_policy
from postri.session.local import LocalSession

Row = tuple[int | None, float | None, str | None, int | None]

NAMES = ("x", "y", "g", "who")
SQL_TYPES = ("BIGINT", "DOUBLE", "VARCHAR", "BIGINT")
COLUMNS = """
[datasets.people.columns.x]
type = "integer"
lower = -1000
upper = 1000
[datasets.people.columns.y]
type = "float"
lower = 0
upper = 10
step = "0.25"
[datasets.people.columns.g]
type = "text"
keys = ["a", "b", "c"]
[datasets.people.columns.who]
type = "integer"
"""
POLICY = """
[service]
port = 0
{service}

[datasets.people]
source = "{source}"
{table}
version = "1"
budget = "{budget}"
min_epsilon = "1/1000"
rows = 100
{more}
protect = {{ {protect} }}
"""
KINDS = ("duckdb", "csv", "parquet")
ONE_ROW = 'change = "add-or-remove-rows", rows = 1'


def some_rows(number: int) -> list[Row]:
    """Plain rows: numbers within the bounds, three groups and one that is no key."""
    return [((i * 37) % 500 - 100, (i % 40) / 4, "abcd"[i % 4], i // 3) for i in range(number)]


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for the time of a block."""
    with TemporaryDirectory(prefix="postri-audit-") as name:
        yield Path(name)


def write_table(folder: Path, kind: str, rows: Sequence[Row]) -> str:
    """Write the rows; returns the lines of a policy that name their source."""
    if kind == "csv":
        with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(NAMES)
            writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
        return "people.csv"
    import duckdb

    database = folder / "people.duckdb"
    database.unlink(missing_ok=True)
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(NAMES, SQL_TYPES, strict=True))
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE TABLE people ({declared})")
        if rows:
            connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", [*map(list, rows)])
        if kind == "parquet":
            place = str(folder / "people.parquet").replace("'", "''")
            connection.execute(f"COPY people TO '{place}' (FORMAT parquet)")
            return "people.parquet"
    return "people.duckdb"


def table_in_memory(rows: Sequence[Row]) -> Table:
    """The rows as columns of Python, with their declared types."""
    columns = {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}
    types = dict(zip(NAMES, ("integer", "float", None, "integer"), strict=True))
    return postri.open(columns, columns=types)


def write_policy(
    folder: Path,
    kind: str,
    rows: Sequence[Row],
    *,
    budget: str = "1000000",
    more: str = "",
    service: str = "",
    protect: str = ONE_ROW,
) -> Path:
    """The table and its policy; returns the policy's file."""
    folder.mkdir(exist_ok=True)
    source = write_table(folder, kind, rows)
    table = ""
    if kind == "duckdb":
        table = 'table = "main.people"'
    path = folder / "postri.toml"
    text = POLICY.format(
        service=service, source=source, table=table, budget=budget, more=more, protect=protect
    )
    path.write_text(text + COLUMNS, encoding="utf-8")
    return path


class MemorySession(LocalSession):
    """A session whose dataset is a table in memory, whatever the policy says of its source."""

    table: Table

    def _open(self, dataset: Dataset) -> Table:
        return self.table


@contextmanager
def opened(
    path: Path,
    coins: Callable[[], Coins | None] = lambda: None,
    *,
    in_memory: Table | None = None,
) -> Iterator[tuple[LocalSession, StoredLedger]]:
    """A session of the policy, and its ledger; with a table `in_memory` in place of its file."""
    policy = read_policy(path)
    with policy.open_ledger() as ledger:
        if in_memory is None:
            yield LocalSession(policy, ledger, "ann", coins=coins), ledger
        else:
            session = MemorySession(policy, ledger, "ann", coins=coins)
            session.table = in_memory
            yield session, ledger


def spent(ledger: StoredLedger) -> Fraction:
    """What was spent on the table: its questions draw no Gaussian noise, so it has an epsilon."""
    epsilon = ledger.spent("people").epsilon
    assert epsilon is not None
    return epsilon


def plain_shape(value: Any) -> Any:
    """What may be seen of a value without what was drawn: the names and kinds of its parts.

    AttackNotes follow from the answer, such as whether it lies on an edge.
    """
    if isinstance(value, dict):
        return {
            name: "notes" if name == "notes" else plain_shape(each) for name, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain_shape(each) for each in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__
