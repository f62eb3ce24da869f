"""The experiments without their pool, whose processes load the package anew: outcomes are the same.

`test_report.py` compares the two; under `make prove` all experiments run on every core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from postri.research.experiment import Cell, Outcome, run_all, run_cell, seeded_coins
from postri.research.subjects import Subject, bootstrap
from proving import sized


def run_here(cells: Sequence[Cell], subjects: Mapping[str, Subject]) -> Iterator[Outcome]:
    """The outcomes in the order of the cells, from this process."""

    @lru_cache(maxsize=8)
    def resampled(name: str, resample: int) -> Subject:
        subject = subjects[name]
        if resample == 0:
            return subject
        return bootstrap(subject, seeded_coins(name, resample))

    return (run_cell(cell, resampled(cell.subject, cell.resample)) for cell in cells)


run_experiments = sized(run_here, run_all)
