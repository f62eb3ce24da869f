"""The tails of sums of noise, against exact ones: the laws of single noises, convolved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, log
from statistics import NormalDist

import numpy as np
import pytest
from scipy.signal import fftconvolve

from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.tree import tails as tails_module
from postri.tree.tails import NoiseSum
from proving import sized

# What convolutions by floats may be off, beside tails from 1e-7 on.
OFF = 1e-12
CHANCES = (1e-1, 2.5e-2, 1e-2, 3.5e-3, 1e-3, 1e-4, 1e-5)
# Within these a test of a tree has its place.
LARGEST, SMALLEST = 1e-2, 1e-5


@dataclass(frozen=True)
class Case:
    """A sum of noises with rational weights."""

    noises: tuple[tuple[Noise, Fraction], ...]

    @property
    def sum(self) -> NoiseSum:
        return noise_sum(self.noises, [float(weight) for _, weight in self.noises])

    @cached_property
    def unit(self) -> Fraction:
        """Of which all values of the sum are whole multiples."""
        return Fraction(1, lcm(*(weight.denominator for _, weight in self.noises)))

    @cached_property
    def tail(self) -> np.ndarray:
        """P(sum >= unit * i) for i from -most to most."""
        law = np.ones(1)
        for noise, weight in self.noises:
            chances = law_of(noise)
            step = abs(int(weight / self.unit))
            spread = np.zeros((len(chances) - 1) * step + 1)
            spread[::step] = chances
            law = convolved(law, spread)
        return np.cumsum(law[::-1])[::-1]

    def exact(self, number: float) -> float:
        """The chance that the sum is this number or more."""
        place = int(np.ceil(number / float(self.unit) - 1e-9)) + len(self.tail) // 2
        return float(self.tail[place]) if place < len(self.tail) else 0.0


def noise_sum(noises: Sequence[tuple[Noise, Fraction]], weights: Sequence[float]) -> NoiseSum:
    squares = np.array([noise.mean_square for noise, _ in noises])
    return NoiseSum(type(noises[0][0]), squares, np.array(weights))


def law_of(noise: Noise) -> np.ndarray:
    """The chances of whole numbers, as far out as they are more than 1e-17."""
    if isinstance(noise, DiscreteLaplace):
        most = int(40 * noise.spread) + 2
        numbers = np.arange(-most, most + 1)
        chances = np.exp(-np.abs(numbers) / noise.spread)
    else:
        most = int(9 * noise.spread) + 2
        numbers = np.arange(-most, most + 1)
        chances = np.exp(-(numbers**2) / (2 * float(noise.variance)))
    return np.asarray(chances / chances.sum())


def convolved(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    if min(len(one), len(other)) < 100:
        return np.convolve(one, other)
    return np.maximum(fftconvolve(one, other), 0.0)


def laplace(*parts: tuple[object, object]) -> Case:
    """Of scales and weights."""
    return Case(tuple((DiscreteLaplace(Fraction(s)), Fraction(w)) for s, w in parts))


def gaussian(*parts: tuple[object, object]) -> Case:
    """Of variances and weights."""
    return Case(tuple((DiscreteGaussian(Fraction(v)), Fraction(w)) for v, w in parts))


# Sums whose atoms lie close together against their deviation: their tails are told closely.
SMOOTH = {
    "one Laplace": laplace((40, 1)),
    "eight Laplace": laplace(*[(7, 1)] * 8),
    "two scales": laplace((5, 1), (5, 1), (9, "1/2"), (9, "-1/2")),
    "a path": laplace(*[(5, "1/2")] * 6, *[(6, "3/8")] * 5, *[(7, "-1/8")] * 8),
    "wide and narrow": laplace((100, 1), ("1/10", 50), (3, "1/2")),
    "weights of many sizes": laplace((20, 1), (20, "1/10"), (20, "1/100")),
    "one Gaussian": gaussian((1_600, 1)),
    "eight Gaussian": gaussian(*[(50, 1)] * 8),
    "wide and narrow Gaussian": gaussian((10_000, 1), ("1/100", 20), (4, 3)),
}
ROUGH = {
    "one narrow Laplace": laplace(("1/10", 1)),
    "narrow Laplace": laplace(*[("1/5", 1)] * 4),
    "narrow and halves": laplace(("1/3", 1), ("1/3", "1/2"), ("1/2", "-1/2")),
    "one Laplace of scale 1": laplace((1, 1)),
    "one heavy among light": laplace((1, 30), *[(2, 1)] * 6),
    "one narrow Gaussian": gaussian(("1/100", 1)),
    "narrow Gaussian": gaussian(*[("1/50", 1)] * 3, *[("1/20", "1/2")] * 4),
    "small Gaussian": gaussian(*[("1/10", 1)] * 5, ("1/3", "1/2")),
    "Gaussian of variance 1": gaussian((1, 1), (2, "1/3")),
    "heavy Gaussian among light": gaussian(("1/4", 30), *[(2, 1)] * 6),
}
CASES = SMOOTH | ROUGH


def numbers(case: Case) -> np.ndarray:
    """Where to look: all over the tail, at atoms, and a little beside them."""
    unit, deviation = float(case.unit), case.sum.deviation
    spread = np.linspace(0.05, 9, sized(25, 200)) * deviation
    atoms = np.ceil(spread / unit) * unit
    return np.concatenate((spread, atoms, atoms + 1e-7 * deviation))


@pytest.mark.parametrize("name", CASES)
def test_a_tail_is_never_below_the_exact_one(name: str):
    case = CASES[name]
    noise = case.sum
    for number in numbers(case):
        exact = case.exact(number)
        assert noise.upper_tail(number) >= exact - OFF
        assert noise.chernoff(number) >= log(max(exact - OFF, 1e-300))


@pytest.mark.parametrize("name", SMOOTH)
def test_a_tail_is_close_to_the_exact_one(name: str, figures: Callable[[str], None]):
    """By the chance itself, and by how far a test reaches: that matters for an interval.

    The smoothing moves a tail by 4 % of a deviation: by 8 to 20 % of the chance, and more
    beyond 7 deviations, where single noises have a chance of 1e-5.
    """
    case = SMOOTH[name]
    noise = case.sum
    ratios = []
    for number in numbers(case):
        # A step earlier, for the sum has atoms.
        exact = case.exact(number - float(case.unit))
        if SMALLEST <= exact <= LARGEST:
            ratios.append(noise.upper_tail(number) / exact)
    figures(f"at most {max(ratios):.3f} of the exact chance")
    assert max(ratios) < 1.5
    for chance in CHANCES:
        if SMALLEST < chance <= LARGEST:
            assert case.exact(0.97 * noise.reach(chance) - float(case.unit)) > chance


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_reach_is_passed_no_more_often_than_it_says(name: str):
    case = CASES[name]
    for chance in CHANCES:
        reach = case.sum.reach(chance)
        assert case.exact(reach) <= chance + OFF
        assert case.sum.passes_seldom(reach, chance)


@pytest.mark.one_in(5)
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_passes_seldom_passes_seldom(name: str):
    """Whatever bound tells, and whatever is not certain is not said."""
    case = CASES[name]
    for number in numbers(case):
        for chance in CHANCES:
            if case.sum.passes_seldom(number, chance):
                assert case.exact(number) <= chance + OFF


@pytest.mark.parametrize("name", CASES)
def test_farther_numbers_are_passed_no_more_often(name: str):
    """Where the tail is told by its waves; from 1e-4 on the other tail comes around the circle."""
    case = CASES[name]
    noise = case.sum
    for chance in CHANCES[:-2]:
        told = [noise.passes_seldom(number, chance) for number in np.sort(numbers(case))]
        assert told == sorted(told)


@pytest.mark.parametrize("chance", [1e-9, 1e-12, 1e-30, 1e-60])
@pytest.mark.parametrize("name", ["a path", "one Gaussian", "one narrow Laplace"])
def test_chances_below_what_floats_tell_are_left_to_chernoff(name: str, chance: float):
    noise = CASES[name].sum
    reach = noise.reach(chance)
    assert noise.chernoff(reach) <= log(chance)


@pytest.mark.slow
def test_one_tilt_tells_of_all_sums_between_two():
    """Of the same noises, with weights and numbers between theirs."""
    noises = SMOOTH["a path"].noises
    first = [1.0] * 6 + [0.5] * 5 + [0.0] * 8
    last = [0.25] * 6 + [0.0] * 5 + [0.5] * 8
    one, other = (noise_sum(noises, weights) for weights in (first, last))
    told = 0
    for chance in CHANCES:
        for far, far_too in ((2.0, 3.0), (3.0, 3.0), (4.0, 2.5), (5.0, 5.0)):
            ends = (far * one.deviation, far_too * other.deviation)
            if not one.tilted_together(ends[0], other, ends[1], chance):
                continue
            told += 1
            for part in (0, 1, 3, 4):
                share = Fraction(part, 4)
                mixed = [
                    (noise, (1 - share) * Fraction(a) + share * Fraction(b))
                    for (noise, _), a, b in zip(noises, first, last, strict=True)
                ]
                between = Case(tuple(each for each in mixed if each[1]))
                number = (1 - float(share)) * ends[0] + float(share) * ends[1]
                assert between.exact(number) <= chance + OFF
    assert told > 5


def test_no_noise_passes_nothing():
    noise = noise_sum([(DiscreteLaplace(Fraction(3)), Fraction(1))], [0.0])
    assert noise.passes_seldom(0.5, 1e-9)
    assert not noise.passes_seldom(0.0, 0.5)
    assert noise.reach(1e-9) == 0


@pytest.mark.parametrize("rate", [10, 600, 699, 701, 10**5, 10**12], ids=str)
def test_noise_that_is_hardly_there_is_told_from_none(rate: int):
    """At epsilon 10^5 the mean square has no float of its own."""
    noise = DiscreteLaplace(Fraction(1, rate))
    assert 0 < noise.mean_square < 1e-3
    both = noise_sum([(noise, Fraction(1))] * 3, [1.0, 1.0, -0.5])
    assert both.passes_seldom(1.0, 0.01)


# The checks can fail.


def bounds_fail(case: Case) -> bool:
    noise = case.sum
    return any(noise.upper_tail(number) < case.exact(number) - OFF for number in numbers(case))


@pytest.mark.parametrize("name", ["a path", "one heavy among light", "eight Gaussian"])
def test_a_tail_that_is_not_moved_is_caught(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tails_module, "SHIFT", 0.0)
    monkeypatch.setattr(tails_module, "erf", lambda _: 1.0)
    assert bounds_fail(CASES[name])


def test_normal_tails_are_caught(monkeypatch: pytest.MonkeyPatch):
    """Laplace noise reaches farther than normal noise of the same deviation."""

    def normal(noise: NoiseSum, number: float) -> float:
        return 1 - NormalDist().cdf(number / noise.deviation)

    monkeypatch.setattr(NoiseSum, "upper_tail", normal)
    assert bounds_fail(SMOOTH["two scales"])


def test_too_few_frequencies_are_caught(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tails_module, "LAST_FREQUENCY", 0.04)
    assert bounds_fail(SMOOTH["a path"])
