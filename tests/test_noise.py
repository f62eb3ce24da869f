"""How far noise reaches, against sums of its chances."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise, read_noise

BETAS = [Fraction(9, 10), Fraction(1, 3), Fraction(1, 20), Fraction(1, 10**9)]
VARIANCES = ["1/100", "1/3", "1", "10", "255", "257", "10000"]


def tails(noise: Noise, most: int) -> np.ndarray:
    """P(Z >= z) for z from -most to most, added up from the far end."""
    numbers = np.arange(-most, most + 1, dtype=np.longdouble)
    if isinstance(noise, DiscreteLaplace):
        weights = np.exp(-np.abs(numbers) / np.longdouble(float(noise.scale)))
    else:
        weights = np.exp(-(numbers**2) / (2 * np.longdouble(float(noise.variance))))
    return np.cumsum((weights / weights.sum())[::-1])[::-1]


@pytest.mark.parametrize("beta", BETAS, ids=str)
@pytest.mark.parametrize("variance", VARIANCES)
def test_gaussian_noise_passes_its_reach_with_probability_beta_at_most(variance, beta):
    noise = DiscreteGaussian(Fraction(variance))
    most = 60 * (int(noise.spread) + 1)
    above = tails(noise, most)
    reach = noise.reach(beta)
    assert 2 * above[most + reach + 1] <= float(beta) * (1 + 1e-9)
    # One less would not do; by the integral, two less.
    spare = 1 if Fraction(variance) < 256 else 2
    if reach >= spare:
        assert 2 * above[most + reach + 1 - spare] > float(beta) * (1 - 1e-9)


def test_the_reach_of_wide_gaussian_noise_is_that_of_the_normal_distribution():
    """1.959963985 and 6.109410205 standard deviations, as tables of the normal distribution say."""
    noise = DiscreteGaussian(Fraction(10) ** 24)
    assert noise.reach(Fraction(1, 20)) == pytest.approx(1.959963985e12, rel=1e-9)
    assert noise.reach(Fraction(1, 10**9)) == pytest.approx(6.109410205e12, rel=1e-9)


@pytest.mark.slow
def test_a_reach_is_found_however_small_beta_is():
    for variance in (Fraction(1), Fraction(10_000)):
        assert (
            DiscreteGaussian(variance).reach(Fraction(1, 10**3_000)) > 100 * float(variance) ** 0.5
        )


@pytest.mark.parametrize(
    "noise",
    [
        *(DiscreteLaplace(Fraction(scale)) for scale in ("1/3", "1", "40")),
        *(DiscreteGaussian(Fraction(variance)) for variance in VARIANCES),
    ],
    ids=str,
)
def test_upper_tails_are_at_least_the_chances_and_hardly_more(noise):
    most = 60 * (int(noise.spread) + 1)
    exact = tails(noise, most).astype(float)
    numbers = np.arange(-most, most + 1, dtype=float)
    near = np.abs(numbers) <= 8 * noise.spread + 2
    bounds = noise.upper_tail(numbers)[near]
    assert (bounds >= exact[near] * (1 - 1e-12)).all()
    # By the integral a hundredth more, far out, from a standard deviation of 16 on.
    assert (bounds <= exact[near] * 1.02).all()
    assert (
        noise.upper_tail(np.array([1e30, -1e30])) == [noise.upper_tail(np.array([1e31]))[0], 1]
    ).all()


def test_tails_of_wide_gaussian_noise_come_from_a_table_and_are_rounded_up():
    noise = DiscreteGaussian(Fraction(10) ** 12)
    numbers = np.array([0.0, 1e6, 1.9999e6, 2e6, 3e6])
    normal = np.array([0.5, 0.158655254, 0.022755532, 0.022750132, 0.001349898])
    bounds = noise.upper_tail(numbers)
    assert (bounds >= normal * (1 - 1e-6)).all()
    assert (bounds <= normal * 1.01).all()


def test_noise_reads_back():
    for noise in (DiscreteLaplace(Fraction(1, 3)), DiscreteGaussian(Fraction(7, 2))):
        assert read_noise({"drawn": "3", **noise.to_fields()}) == noise


WAVES = [
    *(DiscreteLaplace(Fraction(scale)) for scale in ("1/10", "1/3", "1", "40")),
    *(DiscreteGaussian(Fraction(variance)) for variance in ("1/200", "1/20", "99/100", *VARIANCES)),
]


@pytest.mark.parametrize("noise", WAVES, ids=str)
def test_waves_are_sums_of_cosines(noise):
    """The characteristic function, by its definition; at whole turns and far beyond them too."""
    most = 45 * (int(noise.spread) + 1)
    above = tails(noise, most)
    chances = above - np.append(above[1:], 0)
    frequencies = np.concatenate((np.linspace(0, 7, 60), [2 * np.pi, 9 * np.pi, 1_000.5]))
    cosines = np.cos(np.outer(frequencies, np.arange(-most, most + 1)))
    found = type(noise).characteristic(frequencies[:, None], np.array([noise.mean_square]))
    assert found[:, 0] == pytest.approx((cosines @ chances).astype(float), abs=1e-11)


@pytest.mark.parametrize("noise", WAVES, ids=str)
def test_moments_are_at_least_those_of_the_noise(noise):
    """Those of Laplace noise are exact, those of Gaussian noise are bounds."""
    most = 60 * (int(noise.spread) + 1)
    above = tails(noise, most)
    chances = above - np.append(above[1:], 0)
    numbers = np.arange(-most, most + 1, dtype=np.longdouble)
    for share in (0.1, 0.3, 0.6):
        tilt = share / noise.spread
        exact = float(np.log(np.sum(chances * np.exp(np.longdouble(tilt) * numbers))))
        found = type(noise).log_moments(np.array([tilt]), np.array([noise.mean_square]))[0]
        assert found >= exact - 1e-9
        if isinstance(noise, DiscreteLaplace):
            assert found == pytest.approx(exact, rel=1e-6)
