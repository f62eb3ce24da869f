"""Trips whose destinations nobody declared: a policy that lets keys be found, and its table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

POLICY = """
[datasets.trips]
source = "trips.parquet"
version = "1"
budget = "100"
accountant = "zcdp"
delta = "1e-6"
protect = { change = "add-or-remove-rows", rows = 1 }

[datasets.trips.columns.dest]
type = "text"
keys = "discover"

[datasets.trips.columns.zip]
type = "integer"
keys = "discover"

[datasets.trips.columns.kind]
type = "text"
keys = ["bus", "tram"]

[datasets.trips.columns.fare]
type = "integer"
lower = 0
upper = 100
"""
MANY = {"Oslo": 600, "Rome": 300}
FEW = {"Nowhere": 1, "Elsewhere": 2}


def write_trips(folder: Path, service: str = "") -> Path:
    """The policy and its table in a folder; with lines about the service before it."""
    dests = [dest for dest, rows in (MANY | FEW).items() for _ in range(rows)]
    columns = {
        "dest": dests,
        "zip": [len(dest) * 1000 for dest in dests],
        "kind": [("bus", "tram")[i % 2] for i in range(len(dests))],
        "fare": [i % 100 for i in range(len(dests))],
    }
    pq.write_table(pa.table(columns), folder / "trips.parquet")
    path = folder / "postri.toml"
    path.write_text(service + POLICY)
    return path
