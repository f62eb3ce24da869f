"""Three numbers with the same noise, of which a weighted sum is nothing for the true answer: how
far its noise reaches, and which answers are left open.

The noise is wide, so that it is nearly the continuous noise of the same name, whose sum has a
closed form and reaches further the larger a weight is (Theorem 29). So a reach that holds for a
range of answers is that of the largest weights in the range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx, fmpq

from postri.noise import MARGIN, DiscreteGaussian, DiscreteLaplace, Noise
from postri.statistics.balance import least_reach

# The least spread of noise, in its unit: then the unit is hardly seen.
WIDE = 1024
# By which share Gaussian noise of whole numbers may be likelier somewhere than normal noise.
LIKELIER = Fraction(1, 10**6)
# Weights are rounded up to so many parts of the largest.
GRADES = 256
# How near a reach is to the least one, as a share of it.
NEAR = 2**-12
# What a float may have lost of a root.
ROUNDED_UP = 1 + Fraction(1, 10**12)
# How many bits are computed with, beyond those of beta.
BITS = 128

Weights = Sequence[fmpq]
"""Exact rationals of a library in which they are quick."""


def quick(number: Fraction | int) -> fmpq:
    """A number as a quick rational."""
    return fmpq(number.numerator, number.denominator)


def slow(number: fmpq) -> Fraction:
    """A quick rational as a fraction."""
    return Fraction(int(number.p), int(number.q))


def units_for(spread: float) -> int:
    """Into how many parts a unit is divided so that noise of this spread is wide."""
    parts = 1
    while spread * parts < WIDE:
        parts *= 2
    return parts


def reach(noise: Noise, weights: Weights, beta: Fraction) -> fmpq:
    """What the sum of three wide noises, times weights of at most these sizes, passes to either
    side with probability at most beta.
    """
    third, second, largest = sorted(weights)
    if largest == 0:
        return largest
    grades = (int((each * GRADES / largest).ceil()) for each in (second, third))
    of_one = _unit_reach(isinstance(noise, DiscreteGaussian), *grades, beta)
    # A noise is less than a unit off the continuous one.
    return largest * _quick_spread(noise) * of_one + third + second + largest


@lru_cache(maxsize=256)
def _quick_spread(noise: Noise) -> fmpq:
    return quick(spread_of(noise))


@lru_cache(maxsize=65_536)
def _unit_reach(normal: bool, second: int, third: int, beta: Fraction) -> fmpq:
    """The same for continuous noise of the spread 1 and the weights 1 and these of GRADES parts."""
    make = _laplace_tail
    if normal:
        make = _normal_tail
        beta = beta * (1 - LIKELIER)
    with ctx.workprec(BITS + 2 * beta.denominator.bit_length()):
        chance = _ball(beta)
        passes = make(second, third)

        def missed(number: float) -> float:
            """The chance of passing it, as a share of what may be missed."""
            return float((passes(arb(number)) / chance).upper()) * MARGIN

        return quick(Fraction(least_reach(missed, 1.0, NEAR)))


def _laplace_tail(second: int, third: int) -> Callable[[arb], arb]:
    """The chance that Laplace noises with these weights pass a number, to either side.

    The characteristic function 1/((1 + a^2 t^2) (1 + b^2 t^2) (1 + c^2 t^2)) is a sum of those of
    one noise each, with numbers in front. Weights must differ for that: equal ones are raised.
    """
    weights = [each for each in (third, max(second, third + 1 if third else second)) if each]
    weights.append(max([GRADES, *(each + 1 for each in weights)]))
    shares = []
    for weight in weights:
        share = Fraction(1)
        for other in weights:
            if other != weight:
                share *= Fraction(weight**2, weight**2 - other**2)
        shares.append((_ball(Fraction(GRADES, weight)), _ball(share)))

    def passes(number: arb) -> arb:
        return sum((share * (-number * rate).exp() for rate, share in shares), start=arb(0))

    return passes


def _normal_tail(second: int, third: int) -> Callable[[arb], arb]:
    """The same for normal noises."""
    square = 1 + Fraction(second**2 + third**2, GRADES**2)
    width = (2 * _ball(square)).sqrt()

    def passes(number: arb) -> arb:
        return (number / width).erfc()

    return passes


def _ball(number: Fraction) -> arb:
    return arb(quick(number))


def spread_of(noise: Noise) -> Fraction:
    """The scale of Laplace noise; at least the deviation of Gaussian noise."""
    if isinstance(noise, DiscreteLaplace):
        return noise.scale
    return Fraction(noise.spread) * ROUNDED_UP


IsOpen = Callable[[fmpq, fmpq], bool]
"""Whether a range of answers may hold one that is left open; False only if it surely holds none."""


def left_open(low: fmpq, high: fmpq, is_open: IsOpen, fine: fmpq) -> tuple[fmpq, fmpq] | None:
    """Beyond which answers from low to high none is left open; None if none is. Ranges shorter than
    `fine` are not divided.
    """
    first = _first(low, high, is_open, fine)
    if first is None:
        return None
    last = _first(-high, -low, lambda one, other: is_open(-other, -one), fine)
    assert last is not None
    return first, -last


def _first(low: fmpq, high: fmpq, is_open: IsOpen, fine: fmpq) -> fmpq | None:
    """The lower end of the first short range that may hold an answer."""
    waiting = [(low, high)]
    while waiting:
        start, end = waiting.pop()
        if not is_open(start, end):
            continue
        if end - start <= fine:
            return start
        middle = (start + end) / 2
        waiting += [(middle, end), (start, middle)]
    return None
