"""What a sample tells about how the cells of groups lie."""

from __future__ import annotations

from fractions import Fraction
from math import isinf

import numpy as np
import pytest

from postri.engines.sql.sampling import SampleRanks, even_cells
from postri.grid import Grid
from postri.window import Target

SIZE = 100_000
SHARE = 1 / 8
ROWS = int(SIZE / SHARE)
GRID = Grid(0, 10**9, Fraction(0), Fraction(1))
RANKS = SampleRanks.of(Target(Fraction(1, 2), 100), SHARE, SIZE)

EVEN = np.arange(SIZE) * 1_000
GAP = np.where(np.arange(SIZE) < SIZE // 2, EVEN, EVEN + 10**8)
ALIKE = EVEN // 10**6 * 10**6
LEAST = np.where(np.arange(SIZE) < SIZE * 0.6, 0, EVEN)


def told(*samples: np.ndarray) -> list[float]:
    """How many indexes should hold a thousand rows of each group, by its sample."""
    shares = np.array(RANKS.shares)
    places = np.minimum((shares * SIZE).astype(np.int64), SIZE - 1)
    marks = np.array([sample[places] for sample in samples])
    number = len(RANKS.spares)
    sizes = np.full(len(samples), SIZE)
    even = even_cells(RANKS, sizes, marks[:, :number], marks[:, number:], GRID)
    return even.reach(np.full(len(samples), 1_000.0), np.full(len(samples), ROWS)).tolist()


def test_cells_that_lie_evenly_tell_how_far_some_rows_reach():
    (reach,) = told(EVEN)
    # A thousand rows are 125 cells of the sample, which lie 1,000 indexes apart.
    assert 125_000 < reach < 160_000


@pytest.mark.parametrize("sample", [GAP, ALIKE, LEAST], ids=["a gap", "alike", "at an edge"])
def test_others_tell_nothing(sample: np.ndarray):
    (reach,) = told(sample)
    assert isinf(reach)


def test_few_groups_with_cells_alike_leave_the_others_as_they_are():
    reaches = told(*[EVEN] * 4, ALIKE)
    assert [isinf(reach) for reach in reaches] == [False] * 4 + [True]


def test_many_groups_with_cells_alike_mislead_about_all():
    assert all(isinf(reach) for reach in told(EVEN, ALIKE))
