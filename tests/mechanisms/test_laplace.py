"""Many numbers of discrete Laplace noise at once, against their closed form, and where the first 64
bits of a uniform number leave open which number it is.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp, floor, log

import numpy as np
import pytest
from scipy.stats import chi2

from postri.mechanisms import laplace as laplace_module
from postri.mechanisms.coins import Draw, Key, SeededCoins, SystemCoins, Wanted, Words
from postri.mechanisms.laplace import discrete_laplace, discrete_laplaces
from postri.mechanisms.uniforms import least_surprise, most_surprise, surprises
from postri.noise import DiscreteLaplace
from proving import WITH_SYSTEM_COINS, sized

pytestmark = WITH_SYSTEM_COINS

SCALES = [Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(40)]
DRAWS = sized(20_000, 1_000_000)
# A sound sampler fails once in ten million runs.
LEVEL = 1e-7
WORD = 2**64


def laplaces(noise: DiscreteLaplace, number: int, draw: Draw, key: Key) -> list[int]:
    return discrete_laplaces([noise], [Wanted(draw, key, number)])


def drawn(scale: Fraction, number: int) -> Counter[int]:
    noise, draw = DiscreteLaplace(scale), SystemCoins().draw()
    return Counter(laplaces(noise, number, draw, ("many",)))


def p_value(numbers: Counter[int], scale: float) -> float:
    """Pearson's test against (1-q)/(1+q) q^|z|; numbers that expect fewer than 20 share a cell."""
    q = exp(-1 / scale)
    total = numbers.total()
    most = 0
    while total * (1 - q) / (1 + q) * q ** (most + 1) >= 20:
        most += 1
    cells = {z: total * (1 - q) / (1 + q) * q ** abs(z) for z in range(-most, most + 1)}
    seen = [numbers[z] for z in cells]
    rest = total - sum(cells.values())
    expected = [*cells.values()]
    if rest >= 20:
        seen.append(total - sum(seen))
        expected.append(rest)
    statistic = sum((a - b) ** 2 / b for a, b in zip(seen, expected, strict=True))
    return float(chi2.sf(statistic, max(1, len(expected) - 1)))


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_many_numbers_have_the_discrete_laplace_distribution(scale: Fraction):
    assert p_value(drawn(scale, DRAWS), float(scale)) > LEVEL


@pytest.mark.parametrize("scale", SCALES[1:], ids=str)
def test_thirty_percent_less_noise_is_rejected(scale: Fraction):
    assert p_value(drawn(scale * Fraction(7, 10), DRAWS), float(scale)) < LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 2)], ids=str)
def test_the_sampler_that_flips_coins_has_the_same_distribution(scale: Fraction):
    coins = SystemCoins()
    noise = DiscreteLaplace(scale)
    numbers = Counter(discrete_laplace(noise, coins) for _ in range(sized(2_000, 100_000)))
    assert p_value(numbers, float(scale)) > LEVEL


class Scripted:
    """Coins that begin with these words, and keep the keys of all others."""

    def __init__(self, first: list[int], later: list[int]) -> None:
        self.first, self.later = first, later
        self.asked: list[Key] = []

    def words(self, key: Key, number: int) -> Words:
        if key == ("key",):
            assert number == len(self.first)
            return np.array(self.first, np.uint64)
        assert number == 1
        self.asked.append(key)
        return np.array([self.later[len(self.asked) - 1]], np.uint64)


def borders(scale: Fraction, numbers: range) -> list[int]:
    """The words in which -ln(U) * scale passes a whole number."""
    from flint import arb, ctx, fmpq

    found = []
    with ctx.workprec(300):
        for number in numbers:
            rate = arb(fmpq(number * scale.denominator, scale.numerator))
            found.append(int(((-rate).exp() * WORD).floor().unique_fmpz()))
    return found


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(10**6, 7)], ids=str)
def test_a_word_at_a_border_draws_more_bits_and_falls_on_the_side_that_they_say(scale: Fraction):
    """U a little below exp(-k/scale) gives k, a little above it k - 1."""
    for number, word in zip(range(1, 8), borders(scale, range(1, 8)), strict=True):
        for more, expected in ((0, number), (WORD - 1, number - 1)):
            # The other number of the pair is 0: U next to 1.
            coins = Scripted([word, WORD - 2**40], [more] * 9)
            noise = DiscreteLaplace(scale)
            if scale > 1_000:
                coins.first[1] = WORD - 2
            (found,) = laplaces(noise, 1, coins, ("key",))
            assert found == expected
            assert coins.asked[0] == ("key", 0, "bits", 64)


def test_the_words_of_both_ends_draw_more_bits():
    """Of U near 0 nothing is known from above, and U next to 1 may be 1."""
    noise = DiscreteLaplace(Fraction(5))
    coins = Scripted([0, WORD - 1], [0, 2**63, 77])
    (found,) = laplaces(noise, 1, coins, ("key",))
    # -ln(2^-128 / 2) * 5, and 0.
    assert found == floor(5 * 129 * log(2))
    assert {key[:2] for key in coins.asked} == {("key", 0), ("key", 1)}


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), Fraction(10**9)], ids=str)
def test_floats_decide_as_exact_arithmetic_does(scale: Fraction, monkeypatch: pytest.MonkeyPatch):
    """With the same words; with a margin that leaves nothing to floats."""
    noise = DiscreteLaplace(scale)
    draws = [SeededCoins(9).draw() for _ in range(2)]
    by_floats = laplaces(noise, 200, draws[0], ("key",))
    monkeypatch.setattr(laplace_module, "LARGEST", -2.0)
    assert laplaces(noise, 200, draws[1], ("key",)) == by_floats


@pytest.mark.parametrize("scale", [Fraction(10**18), Fraction(10**60, 7)], ids=str)
def test_noise_that_no_float_holds_is_exact(scale: Fraction):
    """Its last digits are not zeros, as those of a float would be."""
    noise = DiscreteLaplace(scale)
    numbers = laplaces(noise, 60, SeededCoins(3).draw(), ("key",))
    assert len({number % 1_024 for number in numbers}) > 20
    assert max(map(abs, numbers)) < 100 * scale


def test_tiny_scales_draw_zeros():
    """Another number once in more than 10^40 draws."""
    noise = DiscreteLaplace(Fraction(1, 100_000))
    assert set(laplaces(noise, 1_000, SystemCoins(), ("key",))) == {0}


# The checks can fail.


def test_a_rounded_number_is_rejected(monkeypatch: pytest.MonkeyPatch):
    """Rounding to the nearest in place of down makes 0 rarer."""
    monkeypatch.setattr(laplace_module.np, "floor", np.round)
    assert p_value(drawn(Fraction(1), DRAWS), 1.0) < LEVEL


def test_floats_that_are_taken_for_exact_are_caught(monkeypatch: pytest.MonkeyPatch):
    """At a border they fall on one side whatever later bits say."""
    monkeypatch.setattr(laplace_module, "OFF", 0.0)
    monkeypatch.setattr(laplace_module, "surprises", lambda words: [least_surprise(words)] * 2)
    word = borders(Fraction(1), range(3, 4))[0]
    noise = DiscreteLaplace(Fraction(1))
    found = {
        laplaces(noise, 1, Scripted([word, WORD - 2**40], [more] * 9), ("key",))[0]
        for more in (0, WORD - 1)
    }
    assert len(found) == 1


def test_both_surprises_at_once_are_those_of_each():
    """Around zero, around one, and where floats begin to leave bits out."""
    near = [2**bits + more for bits in range(4, 64) for more in (-3, -1, 0, 1, 2, 3)]
    words = np.array([0, 1, *near, *(WORD - 1 - each for each in near), WORD - 1], np.uint64)
    least, most = surprises(words)
    assert np.array_equal(least, least_surprise(words))
    assert np.array_equal(most, most_surprise(words))


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_numbers_of_many_keys_are_those_of_each_by_itself(scale: Fraction):
    """With seeded coins, and noises that differ."""
    noises = [DiscreteLaplace(scale * (1 + place)) for place in range(40)]
    draw = SeededCoins(5).draw()
    wanted = [Wanted(draw, ("key", place), place % 9) for place in range(40)]
    expected = []
    for noise, own in zip(noises, wanted, strict=True):
        expected += laplaces(noise, own.number, own.draw, own.key)
    assert discrete_laplaces(noises, wanted) == expected
