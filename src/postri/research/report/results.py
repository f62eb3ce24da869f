"""All outcomes of a reproduction, beside what was published: the paper's table and claims, and the
results file that goes with them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from postri.domain import Domain
from postri.research.experiment import AS_RELEASED, COMPARED, Cell, Floats, Outcome
from postri.research.subjects import SHAPES, Subject, shape_subject

EPSILONS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
ONE = Fraction(1)
SIZES = (100, 1_000, 10_000, 100_000)
PAIRED = ("depth", "postri-default")
# Resamples of a table for each run: 200 at the default of 100 runs.
RESAMPLES_PER_RUN = 2
# Evenly spaced rows, this far apart.
EVEN_ROWS = 20_000
EVEN_GAP = 50
SEED = 2026
PUBLISHED_FILE = "published_results.csv"


@dataclass(frozen=True)
class PublishedCell:
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
    coverage: float = 1.0


TABLE_1 = (
    PublishedCell("bank", "postri-default", ONE, 100, 0.06, 0.24, 14.19, 0.67),
    PublishedCell("bank", "sun2023", ONE, 100, 0.57, 0.62, 13.63, 0.55),
    PublishedCell("adult", "postri-default", ONE, 100, 32.40, 28.61, 1264.00, 74.33),
    PublishedCell("adult", "sun2023", ONE, 100, 166.88, 17.23, 1146.56, 17.11),
    PublishedCell("airplane", "postri-default", ONE, 50, 7.88, 4.81, 13.13, 2.58),
    PublishedCell("airplane", "sun2023", ONE, 50, 9.00, 0.00, 9.00, 0.00),
)
"""Table 1 of the paper: epsilon 1, beta 0.01."""

CLAIMED_GAIN = (0.14, 8.5)
"""What the abstract says: "14%-850% higher utility than related work".

It is the baseline's median error over PostRI's in Table 1, minus 1.
"""


def published_cells(folder: Path | None) -> tuple[PublishedCell, ...]:
    """Every published cell, if the folder has the results file; those of Table 1 otherwise."""
    if folder is None or not (folder / PUBLISHED_FILE).is_file():
        return TABLE_1
    with (folder / PUBLISHED_FILE).open(newline="", encoding="utf-8") as stream:
        return tuple(_published_cell(row) for row in csv.DictReader(stream))


def _published_cell(row: dict[str, str]) -> PublishedCell:
    return PublishedCell(
        subject=row["dataset"],
        method=row["method"],
        epsilon=Fraction(row["epsilon"]),
        runs=int(row["runs"]),
        error=float(row["median_error_mean"]),
        error_sd=float(row["median_error_sd"]),
        half_width=float(row["ri_half_width_mean"]),
        half_width_sd=float(row["ri_half_width_sd"]),
        coverage=float(row["coverage"]),
    )


def shape_name(shape: str, rows: int) -> str:
    """What a subject of this shape with `rows` rows is called."""
    return f"{shape}-{rows}"


def synthetic_subjects() -> dict[str, Subject]:
    """The eight shapes in four sizes, and evenly spaced rows for the paper's analysis."""
    subjects = {"even": even_subject()}
    for shape in SHAPES:
        for rows in SIZES:
            subjects[shape_name(shape, rows)] = shape_subject(shape, rows, SEED)
    return subjects


def even_subject() -> Subject:
    """Rows at equal distances in the middle of the domain: no ties, and a unit of length is as good
    as a row.
    """
    first = 10**8 // 2 - EVEN_ROWS * EVEN_GAP // 2
    return Subject.of_values("even", first + EVEN_GAP * np.arange(EVEN_ROWS), Domain(0, 10**8))


def all_cells(tables: Sequence[str], runs: int) -> list[Cell]:
    """Everything that the report is made from."""
    released = [method.name for method in AS_RELEASED.values()]
    cells = [
        Cell(table, method, epsilon, runs)
        for table in tables
        for epsilon in EPSILONS
        for method in (*COMPARED, *released)
    ]
    cells += [Cell("even", method, ONE, runs) for method in ("postri-default", "sun2023", "depth")]
    cells += [
        Cell(shape_name(shape, rows), method, ONE, runs)
        for shape in SHAPES
        for rows in SIZES
        for method in COMPARED
    ]
    resamples = range(1, RESAMPLES_PER_RUN * runs + 1)
    cells += [
        Cell(table, method, epsilon, 1, resample=number)
        for table in tables
        for number in resamples
        for epsilon in EPSILONS
        for method in PAIRED
    ]
    return cells


@dataclass(frozen=True)
class Results:
    """Outcomes with the public facts that they are read beside."""

    tables: dict[str, Subject]
    published: tuple[PublishedCell, ...]
    runs: int
    missing: tuple[str, ...] = ()
    _outcomes: dict[tuple[str, str, Fraction], Outcome] = field(default_factory=dict)
    _resampled: dict[tuple[str, str, Fraction], list[float]] = field(default_factory=dict)

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Take in what was drawn."""
        for outcome in outcomes:
            key = (outcome.cell.subject, outcome.cell.method, outcome.cell.epsilon)
            if outcome.cell.resample:
                self._resampled.setdefault(key, []).append(float(outcome.errors[0]))
            else:
                self._outcomes[key] = outcome

    def of(self, subject: str, method: str, epsilon: Fraction = ONE) -> Outcome:
        """The outcome of one cell."""
        return self._outcomes[subject, method, epsilon]

    def released(self, subject: str, method: str, epsilon: Fraction = ONE) -> Outcome:
        """The same with the slips that the published figures carry."""
        return self.of(subject, AS_RELEASED[method].name, epsilon)

    def resampled_errors(self, table: str, method: str, epsilon: Fraction) -> Floats:
        """The error on each resample of a table."""
        return np.array(self._resampled[table, method, epsilon])

    def published_of(self, subject: str, method: str, epsilon: Fraction) -> PublishedCell | None:
        """The published cell, if there is one."""
        for cell in self.published:
            if (cell.subject, cell.method, cell.epsilon) == (subject, method, epsilon):
                return cell
        return None
