"""The reach of two noises together, against the sum over all pairs of numbers; and what two noisy
numbers leave open.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.statistics.balance import CELLS, Balance, Part
from postri.statistics.mean import ends_balance, middle_balance

BETA = Fraction(1, 20)
MOST = 400
CELL = Fraction(1, CELLS)

BALANCES = {
    "coarse": ends_balance(DiscreteLaplace(Fraction(1))),
    "finer": ends_balance(DiscreteLaplace(Fraction(9, 2))),
    "Gaussian": ends_balance(DiscreteGaussian(Fraction(9))),
    "wider Gaussian": ends_balance(DiscreteGaussian(Fraction(400))),
    "of a middle": middle_balance(
        Fraction(1, 10), DiscreteLaplace(Fraction(20)), DiscreteLaplace(Fraction(2))
    ),
}
PLACES = ["0", "1/512", "1/10", "1/3", "1/2", "511/512"]


def chances(noise: Noise) -> np.ndarray:
    numbers = np.arange(-MOST, MOST + 1, dtype=float)
    if isinstance(noise, DiscreteLaplace):
        weights = np.exp(-np.abs(numbers) / float(noise.scale))
    else:
        weights = np.exp(-(numbers**2) / (2 * float(noise.variance)))
    return weights / weights.sum()


def beyond(balance: Balance, place: Fraction, reach: Fraction) -> float:
    """The chance that the weighted sum is further off than the reach, from all pairs."""
    numbers = np.arange(-MOST, MOST + 1, dtype=float)
    one, other = (float(part.weight(place)) for part in (balance.first, balance.second))
    sums = np.abs(one * numbers[:, None] + other * numbers[None, :])
    joint = chances(balance.first.noise)[:, None] * chances(balance.second.noise)[None, :]
    # Sums that are equal but for their last digits are within.
    return float(joint[sums > float(reach) + 1e-6].sum())


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("balance", BALANCES.values(), ids=BALANCES)
def test_noise_passes_its_reach_nowhere_in_a_cell_but_with_probability_beta(balance, place):
    low = Fraction(place)
    high = low + CELL
    reach = balance.reach(low, high, BETA)
    for inside in (low, low + CELL / 3, high):
        assert beyond(balance, inside, reach) <= float(BETA) * (1 + 1e-9)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("balance", BALANCES.values(), ids=BALANCES)
def test_a_reach_is_hardly_longer_than_it_must_be(balance, place):
    """A hundredth shorter, it is passed too often."""
    low = Fraction(place)
    shorter = balance.reach(low, low + CELL, BETA) * Fraction(99, 100)
    assert beyond(balance, low, shorter) > float(BETA)


def test_wide_noise_has_the_reach_of_continuous_noise():
    """Two Laplace noises of scale 1 with weights of a half pass t with probability exp(-2t)(1 + t):
    1/20 at 2.05650.
    """
    reach = ends_balance(DiscreteLaplace(Fraction(10**9))).reach(
        Fraction(1, 2), Fraction(1, 2), BETA
    )
    assert 2.05650 <= reach / 10**9 <= 2.05650 * 1.001


@pytest.mark.slow
def test_what_is_left_open_is_all_that_is_not_rejected():
    """Place by place, at places within cells and on their ends."""
    balance = BALANCES["finer"]
    for first, second in [(300, 500), (40, 3), (-5, 60), (8, 8), (0, 0), (-9, -9)]:
        low, high = balance.left_open(first, second, BETA)
        for place in (Fraction(number, 300) for number in range(301)):
            sums = balance.first.weight(place) * first + balance.second.weight(place) * second
            if abs(sums) <= balance.reach(place, place, BETA) * Fraction(999, 1000):
                assert low <= place <= high


def test_numbers_that_no_place_explains_leave_nothing_open():
    assert BALANCES["coarse"].left_open(-50, 60, BETA) is None


def test_a_smaller_beta_leaves_more_open():
    balance = Balance(
        Part(DiscreteLaplace(Fraction(7)), (Fraction(1), Fraction(0))),
        Part(DiscreteLaplace(Fraction(7)), (Fraction(0), Fraction(-1))),
    )
    narrow = balance.left_open(500, 300, Fraction(1, 2))
    wide = balance.left_open(500, 300, Fraction(1, 1000))
    assert wide[0] < narrow[0] < Fraction(5, 8) < narrow[1] < wide[1]
