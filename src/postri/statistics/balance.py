"""Two noisy numbers whose weighted sum is 0 for the true answer: which answers they leave open.

A mean m of n cells makes `sum - m * n` nothing. Both are known with noise, so what the sum comes to
for the true m is noise alone, of a public law: a candidate for which it comes to more than that
noise reaches is rejected (Theorem 16). The weights change evenly from one end of the domain, place
0, to the other, place 1.

The reach is computed for cells, which are ranges of places: a number that the noise passes nowhere
in the cell, but with probability beta. Every chance is rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm, log

import numpy as np

from postri.noise import MARGIN, TINY, Floats, Noise

# The finest cells. An interval is longer than with a reach for each place alone by about two parts
# in so many.
CELLS = 512
# Noise of the lesser part is rounded up to about so many numbers for each of its spread.
FINENESS = 200
# Columns end where what is left has this share of beta.
LEFT_OVER = Fraction(1, 10**5)
# How near a reach is to the least one, as a share of it, and how far beside the place at which that
# is thought to be a search looks, as a share of its range.
NEAR = 1e-4
BESIDE = 1e-2
# What floats may have lost of a number, as a share of those that it is computed from.
LOST = 1e-10

HALF = Fraction(1, 2)
Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Part:
    """A noisy number's noise, and its weight at place 0 and at place 1."""

    noise: Noise
    weights: Ends

    def weight(self, place: Fraction) -> Fraction:
        """The weight at a place."""
        first, last = self.weights
        return first + (last - first) * place


@dataclass(frozen=True)
class Balance:
    """Two parts with independent noise. No weight changes its sign within a half of the places."""

    first: Part
    second: Part

    def left_open(self, first: int, second: int, beta: Fraction) -> Ends | None:
        """The least and the largest place that these two numbers leave open; None if there is none.

        The true place is left open with probability at least 1 - beta.
        """
        at_start, at_end = (
            self.first.weight(place) * first + self.second.weight(place) * second
            for place in (Fraction(0), Fraction(1))
        )
        search = _Search.between(at_start, at_end, _reaches(self, beta))
        lowest = next(search.open_from_left(0, CELLS), None)
        if lowest is None:
            return None
        return lowest, next(search.open_from_right(0, CELLS))

    def reach(self, low: Fraction, high: Fraction, beta: Fraction) -> Fraction:
        """What the weighted sum of the noises passes with probability at most beta, at each place
        from low to high.
        """
        parts = tuple(
            (part.noise, (abs(part.weight(low)), abs(part.weight(high))))
            for part in (self.first, self.second)
        )
        # The part that matters most comes first: it is never rounded.
        one, other = sorted(parts, key=lambda part: -min(part[1]) * part[0].spread)
        # A long range has a reach that is too long anyway: it need not be found so exactly.
        return _reach(*one, *other, beta, max(NEAR, float(high - low) / 10))


class _Reaches:
    """The reaches of one balance at one beta, by cell: all answers of a question share them."""

    def __init__(self, balance: Balance, beta: Fraction) -> None:
        self._balance = balance
        self._beta = beta
        self._found: dict[tuple[int, int], Fraction] = {}

    def of(self, low: int, high: int) -> Fraction:
        """The reach of the places from low to high, in the finest cells."""
        found = self._found.get((low, high))
        if found is None:
            found = self._balance.reach(Fraction(low, CELLS), Fraction(high, CELLS), self._beta)
            self._found[low, high] = found
        return found


@lru_cache(maxsize=256)
def _reaches(balance: Balance, beta: Fraction) -> _Reaches:
    return _Reaches(balance, beta)


@dataclass(frozen=True)
class _Search:
    """Where a weighted sum, which changes evenly from place to place, is within its reach.

    A range of cells in which it is nowhere within the reach of them all need not be divided.
    """

    # Fractions are slow to compute with, so the sum is told in whole parts of 1 / scale: at the
    # first place, and by how many of them it rises from one of the finest cells to the next.
    at_start: int
    rise: int
    scale: int
    reaches: _Reaches

    @classmethod
    def between(cls, at_start: Fraction, at_end: Fraction, reaches: _Reaches) -> _Search:
        """For a sum that comes to these at places 0 and 1."""
        common = lcm(at_start.denominator, at_end.denominator)
        start, end = (each.numerator * (common // each.denominator) for each in (at_start, at_end))
        return cls(CELLS * start, end - start, CELLS * common, reaches)

    def open_from_left(self, low: int, high: int) -> Iterator[Fraction]:
        """The least place in each of the finest cells that has one, from the left."""
        share = self._share(low, high, low, high)
        if share is None:
            return
        if high - low == 1:
            yield (low + share) / CELLS
            return
        middle = (low + high) // 2
        yield from self.open_from_left(low, middle)
        yield from self.open_from_left(middle, high)

    def open_from_right(self, low: int, high: int) -> Iterator[Fraction]:
        """The largest place in each of the finest cells that has one, from the right."""
        share = self._share(low, high, high, low)
        if share is None:
            return
        if high - low == 1:
            yield (high - share) / CELLS
            return
        middle = (low + high) // 2
        yield from self.open_from_right(middle, high)
        yield from self.open_from_right(low, middle)

    def _share(self, low: int, high: int, start: int, end: int) -> Fraction | None:
        """How far it is from start to the first place within the reach of a range of cells."""
        if high - low > CELLS // 2:
            # A weight may change its sign in the middle: halves have their own reach.
            return Fraction(0)
        reach = self.reaches.of(low, high)
        first, last = (
            (self.at_start + self.rise * place) * reach.denominator for place in (start, end)
        )
        return _first_within(first, last, reach.numerator * self.scale)


def _first_within(start: int, end: int, reach: int) -> Fraction | None:
    """How far it is, as a share of the way from start to end, to a number within the reach."""
    if abs(start) <= reach:
        return Fraction(0)
    if start < 0:
        start, end = -start, -end
    if end > reach:
        return None
    return Fraction(start - reach, start - end)


@lru_cache(maxsize=16_384)
def _reach(
    noise: Noise, weights: Ends, other: Noise, other_weights: Ends, beta: Fraction, near: float
) -> Fraction:
    """P(w*Z + v*Y > reach for w, v at one of both ends) is at most beta/2: between the ends the sum
    lies between those at the ends. By symmetry as much lies below -reach.
    """
    # Y is rounded up to multiples of a step: columns, each with the chance of what it stands for.
    step = max(1, int(other.spread / FINENESS))
    last = other.reach(beta * LEFT_OVER) // step + 1
    columns = np.arange(-last, last + 1, dtype=np.float64) * step
    tails = _falling(other.upper_tail(columns - step + 1))
    tails[0] = 1.0
    chances = tails - np.append(tails[1:], other.upper_tail(columns[-1:] + 1))
    left_over = float(other.upper_tail(columns[-1:] + 1)[0])
    lines = [(float(w), columns * float(v)) for w, v in zip(weights, other_weights, strict=True)]

    def missed(reach: float) -> float:
        """The chance of passing it, as a share of what may be missed."""
        least = np.minimum(*((reach - passed) / w for w, passed in lines))
        lost = LOST * (np.abs(least) + reach / min(w for w, _ in lines))
        passes = noise.upper_tail(np.floor(least - lost) + 1)
        # The chance rises with the column; floats may say otherwise. (Not by a dot product: that
        # starts threads, which cost far more than they save.)
        total = float(np.sum(chances * np.maximum.accumulate(passes))) + left_over
        return float(total * MARGIN / (beta / 2))

    high = float(max(weights)) * noise.reach(beta / 4)
    high += float(max(other_weights)) * (other.reach(beta / 4) + step)
    return Fraction(least_reach(missed, high, near))


def least_reach(missed: Callable[[float], float], high: float, near: float) -> float:
    """A reach that misses no more than it may, and is near to the least, as a share of it."""
    at_high = missed(high)
    while at_high > 1:
        high = 2 * high + TINY
        at_high = missed(high)
    low = 0.0
    at_low = missed(low)
    if at_low <= 1:
        return low
    while high - low > near * high:
        # What is missed falls about as fast as a power of e: the search looks on both sides of
        # where it would come to 1, then in the middle of what is left.
        share = log(at_low) / log(at_low / max(at_high, TINY))
        size = high - low
        guess = low + share * size
        for beside in (BESIDE, -BESIDE, None):
            middle = (low + high) / 2
            if beside is not None:
                middle = guess + beside * size
            if low < middle < high:
                at_middle = missed(middle)
                if at_middle <= 1:
                    high, at_high = middle, at_middle
                else:
                    low, at_low = middle, at_middle
    return high


def _falling(tails: Floats) -> Floats:
    """The least numbers that are at least these and do not rise."""
    return np.maximum.accumulate(tails[::-1])[::-1].copy()
