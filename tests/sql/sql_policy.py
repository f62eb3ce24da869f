"""A policy to read texts against: nothing of it is opened."""

from __future__ import annotations

from pathlib import Path

from postri.policy import Dataset, read_policy

POLICY = """
[datasets.bank]
source = "bank.parquet"
version = "1"
budget = "5"
rows = 2000
protect = { change = "add-or-remove-rows", rows = 1 }
[datasets.bank.columns.balance]
type = "integer"
lower = -1000
upper = 9000
[datasets.bank.columns.age]
type = "integer"
lower = 18
upper = 120
[datasets.bank.columns.rate]
type = "decimal"
lower = 0
upper = 10
step = "0.25"
[datasets.bank.columns.id]
type = "integer"
[datasets.bank.columns.since]
type = "date"
lower = 2000-01-01
upper = 2030-12-31
[datasets.bank.columns.job]
type = "text"
keys = ["admin.", "technician"]
[datasets.bank.columns.vip]
type = "boolean"
keys = [true, false]
[datasets.bank.columns."odd name"]
type = "integer"
lower = 0
upper = 5
keys = [0, 1]
[datasets."Other Set"]
source = "other.parquet"
version = "1"
budget = "5"
protect = { change = "add-or-remove-rows", rows = 1 }
[datasets."Other Set".columns.x]
type = "integer"
"""


def datasets(folder: Path) -> dict[str, Dataset]:
    path = folder / "postri.toml"
    path.write_text(POLICY)
    return dict(read_policy(path).datasets)
