"""`postri compare`: methods side by side on a user's own column.

Its output is computed from the raw data and is not private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from postri.domain import Domain
from postri.engines.table import Table
from postri.errors import InputError
from postri.exact import shown
from postri.grid import grid_of
from postri.research.experiment import Cell, Outcome, method_of, run_cell
from postri.research.report.statistics import binomial_interval
from postri.research.subjects import Subject

WARNING = "NOT PRIVATE: computed from the raw data, to compare methods; do not release it."


@dataclass(frozen=True)
class MethodLine:
    """What a method did on the column: means over the runs, and the share of runs whose interval
    held the true median.
    """

    method: str
    error: float
    half_width: float
    half_width_rows: float
    coverage: float
    coverage_low: float
    coverage_high: float
    at_edge: float
    milliseconds: float


class Study:
    """A number of runs of each method on one column.

    Wrong requests are refused before the column is read.
    """

    def __init__(
        self,
        table: Table,
        column: str,
        domain: Domain | None,
        methods: Sequence[str],
        epsilon: Fraction,
        beta: Fraction,
        runs: int,
    ) -> None:
        if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
            raise InputError(f"runs must be a whole number of at least 1, got {shown(runs)}")
        self.runs = runs
        self._cells = [Cell(column, method, epsilon, runs, beta) for method in methods]
        grid = grid_of(table.type_of(table.column(column)), domain)
        # A method that cannot answer says so here, where there is nothing to count.
        nothing = Subject.without_rows(column, grid)
        for cell in self._cells:
            method_of(cell.method).count(nothing, [cell.terms], grid)
        self.subject = Subject.of_table(column, table, column, domain)
        if self.subject.rows == 0:
            raise InputError(
                "the column holds no value that can be read, so there is no median to compare with"
            )

    def lines(self) -> list[MethodLine]:
        """One line for each method."""
        return [_line(run_cell(cell, self.subject)) for cell in self._cells]


def check_methods(names: str) -> list[str]:
    """The names of a comma-separated list, or InputError for the first that is not one."""
    return [method_of(name).name for name in chosen_names(names)]


def chosen_names(names: str) -> list[str]:
    """What a comma-separated list holds, or InputError if that is nothing."""
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    if not chosen:
        raise InputError("name at least one method, such as --methods depth,postri-default")
    return chosen


def _line(outcome: Outcome) -> MethodLine:
    hits = int(outcome.covered.sum())
    runs = len(outcome.covered)
    low, high = binomial_interval(hits, runs)
    return MethodLine(
        method=outcome.cell.method,
        error=float(outcome.errors.mean()),
        half_width=float(outcome.half_widths.mean()),
        half_width_rows=float(outcome.half_width_rows.mean()),
        coverage=hits / runs,
        coverage_low=low,
        coverage_high=high,
        at_edge=float(outcome.at_edge.mean()),
        milliseconds=float(np.median(outcome.milliseconds)),
    )
