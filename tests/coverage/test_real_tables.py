"""The paper's three tables: the figures that the design page measured in a prototype come out, and
the intervals hold the median.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import postri
from postri import Domain, ReplaceRows, SeededCoins

RUNS = 400
# Mean error and mean half-width in DESIGN.md 3.3: beta 0.01, replace-one, domain 0..1e8, even
# split, 400 runs.
MEASURED = {
    ("bank", "balance", 448, "1"): (0.17, 2.0),
    ("bank", "balance", 448, "1/4"): (0.87, 6.1),
    ("adult", "fnlwgt", 178144.5, "1"): (31, 177),
    ("adult", "fnlwgt", 178144.5, "1/4"): (74, 503),
    ("airplane", "capacity", 162, "1"): (0.0, 3.7),
    ("airplane", "capacity", 162, "1/4"): (0.8, 9.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", MEASURED, ids=lambda case: f"{case[0]}-{case[3]}")
def test_error_and_width_on_a_real_table_are_those_of_the_prototype(tables, case):
    name, column, median, epsilon = case
    table = postri.open(tables / f"{name}.csv", columns={column: "integer"})
    how = {
        "domain": Domain(0, 10**8),
        "confidence": "0.99",
        "protect": ReplaceRows(1),
        "coins": SeededCoins(2026),
    }
    answers = [postri.median(table, column=column, epsilon=epsilon, **how) for _ in range(RUNS)]
    errors = np.array([abs(float(answer.value) - median) for answer in answers])
    halves = np.array([answer.interval.width / 2 for answer in answers])
    for seen, told in zip((errors, halves), MEASURED[case], strict=True):
        # Both are means of 400 runs: four standard errors of their difference, and half a unit of
        # the last printed digit.
        assert seen.mean() == pytest.approx(told, abs=4 * seen.std() * np.sqrt(2 / RUNS) + 0.05)
    misses = sum(median not in answer.interval for answer in answers)
    assert binom.sf(misses - 1, RUNS, 0.01) > 1e-6
