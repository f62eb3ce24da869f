"""A policy to read texts against: nothing of it is opened."""

from __future__ import annotations

from pathlib import Path

from bank import COLUMNS, dataset_text
from postri.policy import Dataset, read_policy

# The bank with what SQL has words for: a decimal, a column without bounds, an odd name.
SQL_COLUMNS = {
    "balance": COLUMNS["balance"],
    "age": """
        type = "integer"
        lower = 18
        upper = 120
    """,
    "rate": """
        type = "decimal"
        lower = 0
        upper = 10
        step = "0.25"
    """,
    "id": 'type = "integer"',
    "since": COLUMNS["since"],
    "job": """
        type = "text"
        keys = ["admin.", "technician"]
    """,
    "vip": COLUMNS["vip"],
    "odd name": """
        type = "integer"
        lower = 0
        upper = 5
        keys = [0, 1]
    """,
}
POLICY = dataset_text(columns=SQL_COLUMNS) + dataset_text(
    "Other Set", source="other.parquet", rows=None, columns={"x": 'type = "integer"'}
)


def datasets(folder: Path) -> dict[str, Dataset]:
    path = folder / "postri.toml"
    path.write_text(POLICY)
    return dict(read_policy(path).datasets)
