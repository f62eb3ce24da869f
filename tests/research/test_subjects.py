"""Each synthetic column is what its name says, and a resample holds rows of its subject."""

from __future__ import annotations

import numpy as np
import pytest

from postri.mechanisms.coins import SeededCoins
from postri.research.subjects import LARGEST, SHAPES, bootstrap, shape_subject

ROWS = 20_000


def column(name: str, rows: int = ROWS, seed: int = 7) -> np.ndarray:
    return SHAPES[name](SeededCoins(seed), rows)


@pytest.mark.parametrize("name", SHAPES)
class TestEveryShape:
    @pytest.mark.parametrize("rows", [1, 2, 101, ROWS])
    def test_it_holds_so_many_whole_numbers_of_the_domain(self, name, rows):
        cells = column(name, rows)
        assert cells.shape == (rows,) and cells.dtype == np.int64
        assert cells.min() >= 0 and cells.max() <= LARGEST

    def test_a_seed_repeats_it_and_another_does_not(self, name):
        assert np.array_equal(column(name), column(name))
        assert not np.array_equal(column(name), column(name, seed=8))

    def test_its_subject_has_all_rows_on_the_domain(self, name):
        subject = shape_subject(name, 1_000, 3)
        assert subject.rows == 1_000 and subject.whole.whole
        assert (subject.name, subject.grid.first, subject.grid.last, subject.grid.rounded) == (
            name,
            0,
            LARGEST,
            False,
        )
        assert shape_subject(name, 1_000, 3).whole == subject.whole
        assert shape_subject(name, 1_000, 4).whole != subject.whole

    def test_a_resample_has_as_many_rows_and_only_old_values(self, name):
        subject = shape_subject(name, 1_000, 3)
        drawn = bootstrap(subject, SeededCoins(1))
        assert drawn.rows == subject.rows == drawn.whole.counts.sum()
        assert drawn.grid == subject.grid
        assert set(drawn.whole.indexes) <= set(subject.whole.indexes)
        assert drawn.whole != subject.whole
        assert (
            drawn.whole
            == bootstrap(subject, SeededCoins(1)).whole
            != bootstrap(subject, SeededCoins(2)).whole
        )


def test_a_longer_column_does_not_begin_with_the_shorter_one():
    assert shape_subject("uniform", 50, 1).whole.indexes.tolist() != sorted(
        column("uniform", 50, 1)
    )
    short, long = (set(shape_subject("uniform", rows, 1).whole.indexes) for rows in (50, 500))
    assert not short & long


def test_a_normal_column_has_the_quantiles_of_a_bell():
    """The standard normal's quartiles lie at 0.6745, and 2.28 % of it above 2."""
    scores = (column("normal") - 5e7) / 5e6
    assert np.quantile(scores, [0.25, 0.5, 0.75]) == pytest.approx([-0.6745, 0, 0.6745], abs=0.04)
    assert np.mean(scores > 2) == pytest.approx(0.0228, abs=0.005)


def test_a_lognormal_column_has_a_normal_logarithm():
    scores = np.log(column("lognormal") / 3e4)
    assert np.quantile(scores, [0.25, 0.5, 0.75]) == pytest.approx([-0.6745, 0, 0.6745], abs=0.04)
    assert column("lognormal").mean() > 1.4 * np.median(column("lognormal"))


def test_a_uniform_column_fills_the_domain_evenly():
    tenths = np.bincount(column("uniform") * 10 // (LARGEST + 1), minlength=10)
    assert len(tenths) == 10
    assert tenths == pytest.approx(ROWS / 10, rel=0.15)


def test_an_exponential_column_halves_with_every_median():
    cells, median = column("exponential"), 5e4 * np.log(2)
    assert [np.mean(cells > k * median) for k in (1, 2, 3)] == pytest.approx(
        [1 / 2, 1 / 4, 1 / 8], abs=0.015
    )


def test_a_bimodal_column_has_a_wide_gap_at_its_median():
    cells = column("bimodal")
    median = np.median(cells)
    assert abs(cells - median).min() > 1e7
    assert np.sum(cells < median) == np.sum(cells > median) == ROWS / 2


def test_ties_are_a_dozen_values_that_differ_from_table_to_table():
    values, counts = np.unique(column("ties"), return_counts=True)
    assert 6 <= len(values) <= 12
    assert counts.max() > ROWS / 12
    assert set(values) != set(column("ties", seed=8))


def test_a_zipf_column_has_word_k_as_often_as_one_kth_of_the_first():
    counts = np.bincount(column("zipf"))
    assert counts[0] == 0 and len(counts) <= 1_001
    assert counts[1] / ROWS == pytest.approx(1 / np.sum(1 / np.arange(1, 1_001)), rel=0.1)
    assert counts[[2, 4, 8]] / counts[1] == pytest.approx([1 / 2, 1 / 4, 1 / 8], rel=0.2)


def test_a_nearly_constant_column_has_one_value_and_a_spread_rest():
    values, counts = np.unique(column("constant"), return_counts=True)
    assert 0.93 < counts.max() / ROWS < 0.97
    rest = np.delete(values, counts.argmax())
    assert len(rest) > 900 and np.ptp(rest) > 0.9 * LARGEST


def test_resampled_counts_scatter_like_draws_with_replacement():
    """A row is drawn once on average with variance 1 - 1/n; a value of share s is drawn s*n times,
    give or take sqrt(s*(1-s)*n).
    """
    spread = shape_subject("uniform", 10_000, 1)
    times = np.zeros(10_000)
    drawn = bootstrap(spread, SeededCoins(5)).whole
    times[np.searchsorted(spread.whole.indexes, drawn.indexes)] = drawn.counts
    assert times[: len(spread.whole.indexes)].var() == pytest.approx(1, rel=0.1)
    tied = shape_subject("constant", 10_000, 1)
    usual = tied.whole.counts.argmax()
    share = tied.whole.counts[usual] / 10_000
    counts = np.array(
        [bootstrap(tied, SeededCoins(seed)).whole.counts.max() for seed in range(200)]
    )
    assert counts.mean() == pytest.approx(
        10_000 * share, abs=4 * np.sqrt(10_000 * share * (1 - share) / 200)
    )
    assert counts.std() == pytest.approx(np.sqrt(10_000 * share * (1 - share)), rel=0.2)
