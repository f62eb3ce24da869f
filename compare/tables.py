"""What is asked about: the three real tables, six generated ones, and the public bounds of each."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compare.registry import ROOT
from postri.errors import SourceError
from postri.mechanisms.coins import SeededCoins
from postri.research.subjects import SHAPES
from postri.research.tables import SOURCES
from postri.window import Indexes

GENERATED_ROWS = 20_000
SEED = 1


@dataclass(frozen=True)
class Bounds:
    """What an analyst knows before asking: the least and the largest value a row may have."""

    lower: int
    upper: int


REAL = {
    "bank": Bounds(-10_000, 200_000),
    "adult": Bounds(0, 2_000_000),
    "airplane": Bounds(0, 1_000),
}
GENERATED = {
    "normal": Bounds(0, 10**8),
    "lognormal": Bounds(0, 5_000_000),
    "uniform": Bounds(0, 10**8),
    "bimodal": Bounds(0, 10**8),
    "ties": Bounds(0, 10**6),
    "zipf": Bounds(0, 10_000),
}
TABLES = {**REAL, **GENERATED}


def data_folder() -> Path:
    """Where the real tables lie."""
    return Path(os.environ.get("POSTRI_DATA") or ROOT.parent / "shared" / "data")


def column(table: str) -> Indexes:
    """The rows of a table's column."""
    if table in GENERATED:
        return SHAPES[table](SeededCoins(SEED), GENERATED_ROWS)
    file = data_folder() / f"{table}.csv"
    if not file.is_file():
        raise SourceError(f"there is no {file.name} in {file.parent}; set POSTRI_DATA")
    name = SOURCES[table].column
    with file.open(newline="", encoding="utf-8") as stream:
        return np.array([int(row[name]) for row in csv.DictReader(stream)], dtype=np.int64)


def salaries(rows: int) -> Indexes:
    """A lognormal column of any size, for what is timed."""
    generator = np.random.default_rng(SEED)
    data = np.empty(rows, np.int64)
    for start in range(0, rows, 1 << 20):
        part = data[start : start + (1 << 20)]
        part[:] = np.exp(generator.normal(10.7, 0.45, len(part)))
    return data


def stored(name: str, values: Indexes, folder: Path) -> Path:
    """The column as a file that every program can read."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.npy"
    np.save(file, values)
    return file
