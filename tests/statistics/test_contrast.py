"""How far a weighted sum of three noises reaches: by adding up all chances, and which answers a
search leaves open.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from flint import fmpq

from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.statistics import contrast
from postri.statistics.contrast import WIDE, quick, slow, units_for
from proving import sized

WEIGHTS = [
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)),
    (Fraction(1), Fraction(0), Fraction(0)),
    (Fraction(9, 100), Fraction(21, 100), Fraction(49, 100)),
    (Fraction(1, 2), Fraction(1, 2), Fraction(0)),
]
NOISES = [DiscreteLaplace(Fraction(sized(8, 25))), DiscreteGaussian(Fraction(sized(40, 600)))]


def reach(noise: Noise, weights: tuple[Fraction, ...], beta: Fraction) -> Fraction:
    return slow(contrast.reach(noise, [quick(weight) for weight in weights], beta))


def chances(noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers as far out as matters, and the chance of each."""
    most = int(14 * noise.spread) if isinstance(noise, DiscreteLaplace) else int(7 * noise.spread)
    numbers = np.arange(-most, most + 1)
    if isinstance(noise, DiscreteLaplace):
        heights = np.exp(-np.abs(numbers) / noise.spread)
    else:
        heights = np.exp(-(numbers**2) / (2 * float(noise.variance)))
    return numbers, heights / heights.sum()


def passed(noise: Noise, weights: tuple[Fraction, ...], number: float) -> float:
    """The chance that the sum passes a number to either side, added up."""
    numbers, each = chances(noise)
    one, two, three = (float(weight) * numbers for weight in weights)
    total = 0.0
    pairs = np.outer(each, each)
    for first, chance in zip(one, each, strict=True):
        sums = np.abs(first + two[:, None] + three[None, :])
        total += chance * float(pairs[sums > number].sum())
    return total


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("beta", [Fraction(1, 5), Fraction(1, 100)], ids=str)
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda weights: " ".join(map(str, weights)))
def test_a_reach_is_passed_with_probability_beta_at_most(weights, noise, beta):
    found = reach(noise, weights, beta)
    # Narrow Gaussian noise may be likelier than normal noise, by more than wide noise is.
    likelier = 1.0
    if isinstance(noise, DiscreteGaussian):
        likelier = (1 + 1 / (12 * float(noise.variance))) ** 3
    assert passed(noise, weights, float(found)) <= float(beta) * likelier
    # Without the unit that is added for each noise it would hardly hold, and with a tenth less not.
    shorter = 0.9 * float(found - sum(weights))
    assert passed(noise, weights, shorter) > float(beta)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_a_larger_weight_never_reaches_less_far(noise):
    sizes = [Fraction(number, 20) for number in range(0, 21, 4)]
    for first in sizes:
        for second in sizes:
            reaches = [reach(noise, (first, second, third), Fraction(1, 20)) for third in sizes]
            assert reaches == sorted(reaches)


def test_the_reach_of_one_noise_is_its_own():
    """exp(-r/s) = beta for Laplace noise, and 1.96 deviations for normal noise."""
    wide = DiscreteLaplace(Fraction(10**6))
    alone = (Fraction(1), Fraction(0), Fraction(0))
    assert float(reach(wide, alone, Fraction(1, 20))) == pytest.approx(2.9957e6, rel=1e-3)
    normal = DiscreteGaussian(Fraction(10**12))
    assert float(reach(normal, alone, Fraction(1, 20))) == pytest.approx(1.95996e6, rel=1e-3)
    three = (Fraction(1),) * 3
    assert float(reach(normal, three, Fraction(1, 20))) == pytest.approx(
        1.95996e6 * sqrt(3), rel=1e-3
    )


def test_a_tiny_beta_has_a_reach():
    found = reach(DiscreteLaplace(Fraction(WIDE)), WEIGHTS[0], Fraction(1, 10**40))
    # One of three equal noises alone passes it about as seldom; three do somewhat more often.
    assert 40 * 2.302 < float(found) / (WIDE / 4) < 40 * 2.302 + 12


def test_noise_is_made_wide_by_dividing_its_unit():
    assert units_for(2_000.0) == 1
    assert all(WIDE <= spread * units_for(spread) < 2 * WIDE for spread in (0.01, 1.0, 700.0))


def test_a_search_finds_the_ends_of_what_is_left_open():
    """Two stretches with a gap between: the ends of both together."""
    zero, one = fmpq(0), fmpq(1)

    def is_open(low: fmpq, high: fmpq) -> bool:
        in_first = low <= fmpq(2, 10) and high >= fmpq(1, 10)
        return in_first or (low <= fmpq(3, 4) and high >= fmpq(7, 10))

    found = contrast.left_open(zero, one, is_open, fmpq(1, 2**12))
    assert found is not None
    low, high = (float(slow(end)) for end in found)
    assert 0.1 - exp(-8) <= low <= 0.1
    assert 0.75 <= high <= 0.75 + exp(-8)
    assert contrast.left_open(zero, one, lambda low, high: False, fmpq(1, 8)) is None
