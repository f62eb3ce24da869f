"""Trimmed and winsorized means and interquartile ranges that follow from a release (Theorem 38).

Coverage is judged by a binomial test that fails by luck less often than once in a million.
"""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import binom

import postri
from postri import Domain, InputError, SeededCoins
from postri.tree import distribution as module
from proving import sized

RNG = np.random.default_rng(8)
TABLES = {
    "smooth": RNG.integers(0, 1_000, 1_000),
    "ties": RNG.choice([0, 10, 20, 900], 700),
    "odd": RNG.integers(0, 1_000, 33),
    "one row": np.array([300]),
}
DOMAIN = Domain(0, 1_000)
FEW_LEVELS = 16


def exact(cells: np.ndarray, p: Fraction) -> tuple[Fraction, Fraction]:
    """The trimmed and the winsorized mean."""
    ordered = np.sort(cells)
    outer = int(p * len(cells))
    middle = ordered[outer : len(cells) - outer]
    moved = np.clip(ordered, middle[0], middle[-1])
    return Fraction(int(middle.sum()), len(middle)), Fraction(int(moved.sum()), len(moved))


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_means_and_ranges_of_a_release_hold(name):
    """Fails by luck less often than once in a million."""
    cells = TABLES[name]
    p = Fraction(1, 7)
    trimmed, moved = exact(cells, p)
    spread = float(np.subtract(*np.quantile(cells, [0.75, 0.25])))
    table = postri.open({"x": cells})
    runs = sized(12, 500)
    missed = np.zeros(3)
    with patch.object(module, "LEVELS", FEW_LEVELS):
        for _ in range(runs):
            release = postri.distribution(
                table, column="x", domain=DOMAIN, epsilon=1, confidence=0.8
            )
            found = (release.trimmed_mean(p), release.winsorized_mean(p), release.iqr())
            truths = (trimmed, moved, spread)
            for place, (answer, truth) in enumerate(zip(found, truths, strict=True)):
                assert answer.value in answer.interval and answer.epsilon == 0
                missed[place] += truth not in answer.interval
    assert binom.sf(missed.max() - 1, runs, 0.2) > 1e-6


def test_without_noise_the_interval_is_that_of_the_levels():
    cells = np.arange(1_000)
    release = postri.distribution(
        {"x": cells}, column="x", domain=DOMAIN, epsilon=10_000, coins=SeededCoins(1)
    )
    trimmed, _ = exact(cells, Fraction(1, 10))
    answer = release.trimmed_mean("0.1")
    assert trimmed in answer.interval
    # Two steps for what is next to a quantile, and a level of the middle 800.
    assert answer.interval.width < 800 / module.LEVELS + 5
    assert release.iqr().interval.width < 10
    assert release.trimmed_mean("0.1", confidence=0.5).confidence == 0.5


def test_dates_have_no_mean_and_no_range_that_is_one():
    days = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]")
    release = postri.distribution({"x": days}, column="x", epsilon=1)
    for ask in (release.iqr, lambda: release.trimmed_mean(0.1)):
        with pytest.raises(InputError, match="of dates; ask for its quantiles"):
            ask()
    numbers = postri.distribution({"x": TABLES["odd"]}, column="x", epsilon=1)
    with pytest.raises(InputError, match="must be below 0"):
        numbers.winsorized_mean(0.5)
