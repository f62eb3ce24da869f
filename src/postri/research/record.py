"""What was published: the paper's table and claims, and the results file that goes with them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

RESULTS = "published_results.csv"


@dataclass(frozen=True)
class Published:
    """One published cell: means and standard deviations over its runs.

    Half-widths, whatever they were called.
    """

    subject: str
    method: str
    epsilon: Fraction
    runs: int
    error: float
    error_sd: float
    half_width: float
    half_width_sd: float
    coverage: float


def _cell(
    subject: str,
    method: str,
    runs: int,
    error: float,
    error_sd: float,
    half_width: float,
    half_width_sd: float,
) -> Published:
    return Published(
        subject, method, Fraction(1), runs, error, error_sd, half_width, half_width_sd, 1.0
    )


TABLE_1 = (
    _cell("bank", "postri-default", 100, 0.06, 0.24, 14.19, 0.67),
    _cell("bank", "sun2023", 100, 0.57, 0.62, 13.63, 0.55),
    _cell("adult", "postri-default", 100, 32.40, 28.61, 1264.00, 74.33),
    _cell("adult", "sun2023", 100, 166.88, 17.23, 1146.56, 17.11),
    _cell("airplane", "postri-default", 50, 7.88, 4.81, 13.13, 2.58),
    _cell("airplane", "sun2023", 50, 9.00, 0.00, 9.00, 0.00),
)
"""Table 1 of the paper: epsilon 1, beta 0.01."""

CLAIMED_GAIN = (0.14, 8.5)
"""The abstract:

"14%-850% higher utility than related work"; it is the baseline's median error over PostRI's in
Table 1, minus 1.
"""


def published_cells(folder: Path | None) -> tuple[Published, ...]:
    """Every published cell, if the folder has the results file; those of Table 1 otherwise."""
    if folder is None or not (folder / RESULTS).is_file():
        return TABLE_1
    with (folder / RESULTS).open(newline="", encoding="utf-8") as stream:
        return tuple(_from_row(row) for row in csv.DictReader(stream))


def _from_row(row: dict[str, str]) -> Published:
    error, error_sd, half_width, half_width_sd, coverage = (
        float(row[name])
        for name in (
            "median_error_mean",
            "median_error_sd",
            "ri_half_width_mean",
            "ri_half_width_sd",
            "coverage",
        )
    )
    return Published(
        row["dataset"],
        row["method"],
        Fraction(row["epsilon"]),
        int(row["runs"]),
        error,
        error_sd,
        half_width,
        half_width_sd,
        coverage,
    )
