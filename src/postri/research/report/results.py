"""All outcomes of a reproduction, by what they are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from postri.research.experiment import AS_RELEASED, COMPARED, Cell, Floats, Outcome
from postri.research.record import Published
from postri.research.shapes import SHAPES, shape_subject
from postri.research.subject import Subject

EPSILONS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
ONE = Fraction(1)
SIZES = (100, 1_000, 10_000, 100_000)
PAIRED = ("depth", "postri-default")
# Resamples of a table for each run: 200 at the default of 100 runs.
RESAMPLES_PER_RUN = 2
EVEN_ROWS, EVEN_GAP = 20_000, 50
SEED = 2026


def shape_name(shape: str, rows: int) -> str:
    """What a shape of so many rows is called."""
    return f"{shape}-{rows}"


def synthetic_subjects() -> dict[str, Subject]:
    """The eight shapes in four sizes, and evenly spaced rows for the paper's analysis."""
    shapes = {
        shape_name(shape, rows): shape_subject(shape, rows, SEED)
        for shape in SHAPES
        for rows in SIZES
    }
    return shapes | {"even": even_subject()}


def even_subject() -> Subject:
    """Rows at equal distances in the middle of the domain: no ties, and a unit of length is as good
    as a row.
    """
    from postri.domain import Domain

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
    published: tuple[Published, ...]
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
        """The same with the slips of the released code."""
        return self.of(subject, AS_RELEASED[method].name, epsilon)

    def resampled_errors(self, table: str, method: str, epsilon: Fraction) -> Floats:
        """The error on each resample of a table."""
        return np.array(self._resampled[table, method, epsilon])

    def published_of(self, subject: str, method: str, epsilon: Fraction) -> Published | None:
        """The published cell, if there is one."""
        same = (subject, method, epsilon)
        return next(
            (cell for cell in self.published if (cell.subject, cell.method, cell.epsilon) == same),
            None,
        )
