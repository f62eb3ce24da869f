"""Exact discrete Laplace noise, from coins and whole numbers alone (Canonne, Kamath and Steinke,
2020, algorithms 1 and 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.mechanisms.coins import Coins, Draw, ManyWanted, Wanted, below
from postri.mechanisms.uniforms import Uniform, ball, surprises
from postri.noise import DiscreteLaplace

WholeNumbers = NDArray[Any]
"""Whole numbers of 64 bits, or Python's where one of them needs more."""

# By which share of itself, and how much more, a product of floats may be off.
OFF = 1e-12
# Below this a float is a whole number, if it is said to be one.
LARGEST = 2.0**52
# A sum of a few numbers up to this one has 64 bits.
MOST_SHORT = 1 << 60


def discrete_laplace(noise: DiscreteLaplace, coins: Coins) -> int:
    """One number of this noise."""
    return laplace_number(noise.scale, Flips(coins.draw(), "laplace"))


def discrete_laplaces(noises: Sequence[DiscreteLaplace], wanted: Sequence[Wanted]) -> list[int]:
    """Independent numbers, with the coins of some keys: for each as many as are wanted, of its own
    noise.
    """
    which = np.arange(len(wanted))
    found: list[int] = laplace_numbers(noises, which, ManyWanted.of(wanted)).tolist()
    return found


def laplace_numbers(
    noises: Sequence[DiscreteLaplace], which: NDArray[np.intp], wanted: ManyWanted
) -> WholeNumbers:
    """The same, where many keys share a noise: `which` of the noises each has.

    The difference of two geometric numbers has this law, and scale * -ln(U), rounded down, is a
    geometric number. Where 64 bits of U leave open which one, more are drawn.
    """
    words = wanted.words(times=2)
    numbers = wanted.numbers
    # Where the words of each key begin.
    starts = np.cumsum(2 * numbers) - 2 * numbers
    spreads = np.array([noise.spread for noise in noises])
    scales = np.repeat(spreads[which], 2 * numbers)
    least, most = surprises(words)
    low = np.floor(least * scales * (1 - OFF) - OFF)
    high = np.floor(most * scales * (1 + OFF) + OFF)
    is_open = (low != high) | (low >= LARGEST)
    geometric: WholeNumbers = np.where(is_open, 0.0, low).astype(np.int64)
    places = np.flatnonzero(is_open)
    if len(places):
        geometric = geometric.astype(object)
        owners = starts.searchsorted(places, "right") - 1
        for place, owner in zip(places.tolist(), owners.tolist(), strict=True):
            draw, key, _ = wanted[owner]
            uniform = Uniform(draw, (*key, place - int(starts[owner])), int(words[place]))
            geometric[place] = _geometric(uniform, noises[int(which[owner])].scale)
        geometric = as_whole(geometric)
    # Of the words of a key the first half makes the numbers that are added.
    halves = np.tile([True, False], len(numbers))
    is_added = np.repeat(halves, np.repeat(numbers, 2))
    found: WholeNumbers = geometric[is_added] - geometric[~is_added]
    return found


def as_whole(numbers: Sequence[int] | WholeNumbers) -> WholeNumbers:
    """Python's numbers as those of 64 bits, if all are small enough to be added."""
    found = np.array(numbers, object)
    if len(found) and np.abs(found).max() > MOST_SHORT:
        return found
    return found.astype(np.int64)


def _geometric(uniform: Uniform, scale: Fraction) -> int:
    """Scale * -ln(U), rounded down, by as many bits of U as that takes."""
    from flint import ctx

    while True:
        with ctx.workprec(2 * uniform.bits + scale.numerator.bit_length() + 64):
            product = uniform.surprise_ball() * ball(scale)
            ends = (product.lower().fmpq(), product.upper().fmpq())
        low, high = (floor(Fraction(int(end.p), int(end.q))) for end in ends)
        if low == high:
            return max(low, 0)
        uniform.refine()


def laplace_number(scale: Fraction, flips: Flips) -> int:
    """A whole number z with a chance in proportion to exp(-|z| / scale)."""
    while True:
        # A geometric number of scale `numerator`: its remainder, then its whole turns.
        start = flips.below(scale.numerator)
        if not flips.decays(Fraction(start, scale.numerator)):
            continue
        turns = 0
        while flips.decays(Fraction(1)):
            turns += 1
        number = (start + scale.numerator * turns) // scale.denominator
        negative = bool(flips.below(2))
        if not negative:
            return number
        # Zero has no sign: half of its draws are thrown away.
        if number:
            return -number


class Flips:
    """Coins that are used one after the other, for the noise of this name."""

    def __init__(self, draw: Draw, name: str) -> None:
        self._draw = draw
        self._name = name
        self._turn: Iterator[int] = count()

    def below(self, bound: int) -> int:
        """A uniform whole number in `0..bound-1`."""
        return below(self._draw, (self._name, next(self._turn)), bound)

    def decays(self, rate: Fraction) -> bool:
        """True with probability exp(-rate), for a rate of at most 1."""
        # The first k with a failure is odd with probability 1 - rate + rate^2/2! - ...
        for k in count(1):
            if self.below(k * rate.denominator) >= rate.numerator:
                return k % 2 == 1
        raise AssertionError("unreachable")

    def fades(self, rate: Fraction) -> bool:
        """True with probability exp(-rate), for any rate of at least 0."""
        whole = int(rate)
        if not all(self.decays(Fraction(1)) for _ in range(whole)):
            return False
        return self.decays(rate - whole)
