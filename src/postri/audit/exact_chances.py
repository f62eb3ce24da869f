"""The exact chance of every candidate of a noisy max, in ball arithmetic: rigorous bounds, not
estimates.

A candidate has a log-weight s (its score plus its bonus, in noise scales) and a number of copies,
each with its own noise. Everything is written in the relative weights q_i = exp(s_i - s_max).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from operator import mul

import flint
import numpy as np
from flint import arb, arb_poly, fmpq
from numpy.typing import NDArray

from postri.grid import Grid
from postri.mechanisms.noisy_max import BOOST_BITS, Noise, Runs
from postri.methods.value import Shape, ValueRuns

PRECISION = 256
# ChanceBounds are whole numbers of 2^-BITS, rounded outward: their sums and differences are exact.
BITS = 54
# Above this many copies the polynomial gives way to the sandwich.
MOST_FACTORS = 64

Whole = NDArray[np.int64]
Place = tuple[Shape, int]


@contextmanager
def precisely() -> Iterator[None]:
    with flint.ctx.workprec(PRECISION):
        yield


def chances(noise: Noise, logs: Sequence[fmpq], copies: Sequence[int]) -> list[arb]:
    """The chance that one of a candidate's copies wins, for each candidate."""
    largest = max(logs)
    with precisely():
        weights = [arb(log - largest).exp() for log in logs]
        if noise == "gumbel":
            return gumbel_chances(weights, copies)
        if sum(copies) <= MOST_FACTORS:
            return exponential_chances(weights, copies)
        return crowded_chances(weights, copies)


def gumbel_chances(weights: list[arb], copies: Sequence[int]) -> list[arb]:
    """The exponential mechanism (the Gumbel-max trick): in proportion to w_i q_i for w_i copies."""
    total = sum((q * w for q, w in zip(weights, copies, strict=True)), start=arb(0))
    return [q * w / total for q, w in zip(weights, copies, strict=True)]


def exponential_chances(weights: list[arb], copies: Sequence[int]) -> list[arb]:
    """P(i) = w_i q_i * integral over y in [0, 1] of (1 - q_i y)^(w_i - 1) * product over j != i of
    (1 - q_j y)^(w_j).

    One copy with the log-weight s_i and the noise E_i wins where every other noisy score is below
    its own, x = s_i + E_i. That has the density exp(-(x - s_i)) for x >= s_i, and a rival is below
    x with the chance 1 - exp(-(x - s_j)), or 0 where x < s_j: so only x >= s_max counts. Put y =
    exp(-(x - s_max)): x from s_max to infinity is y from 1 to 0, the density times dx is q_i dy,
    and the rival's chance is 1 - q_j y. The w_i copies win with the same chance each. The integrand
    is a polynomial, integrated exactly.
    """
    factors = [arb_poly([1, -q]) for q in weights]
    powers = [factor**w for factor, w in zip(factors, copies, strict=True)]
    before = list(accumulate(powers, mul, initial=arb_poly([1])))
    after = list(accumulate(reversed(powers), mul, initial=arb_poly([1])))[::-1]
    return [
        q * w * (before[i] * factors[i] ** (w - 1) * after[i + 1]).integral()(arb(1))
        for i, (q, w) in enumerate(zip(weights, copies, strict=True))
    ]


def crowded_chances(weights: list[arb], copies: Sequence[int]) -> list[arb]:
    """ChanceBounds on the same integrals for many copies, tight to about one part in the number of
    copies.

    With W the sum of all w_j q_j, 1 - z <= exp(-z) gives P(i) <= w_i q_i * integral over y >= 0 of
    exp(-(W - q_i) y) = w_i q_i / (W - q_i), and P(i) = 1 - (the others' chances).
    """
    total = sum((q * w for q, w in zip(weights, copies, strict=True)), start=arb(0))
    most = [q * w / (total - q) for q, w in zip(weights, copies, strict=True)]
    spare = 1 - sum(most, start=arb(0))
    return [(spare + upper).union(upper) for upper in most]


@dataclass(frozen=True, eq=False)
class ChanceBounds:
    """Rigorous bounds on the chances, in 2^-BITS: of their logarithms from both sides, of
    themselves from above.
    """

    log_low: Whole
    log_high: Whole
    high: Whole


@lru_cache(maxsize=1 << 16)
def bounds(noise: Noise, logs: tuple[fmpq, ...], copies: tuple[int, ...]) -> ChanceBounds:
    return bounds_of(chances(noise, logs, copies))


def bounds_of(exact: Sequence[arb]) -> ChanceBounds:
    """ChanceBounds on chances that are known as balls."""
    with precisely():
        ends = [
            (_down(log), _up(log), _up(chance))
            for chance, log in ((chance, chance.log()) for chance in exact)
        ]
    return ChanceBounds(*np.array(ends, dtype=np.int64).T)


def _down(number: arb) -> int:
    return _whole((number.lower() * (1 << BITS)).floor())


def _up(number: arb) -> int:
    return _whole((number.upper() * (1 << BITS)).ceil())


def _whole(number: arb) -> int:
    """The whole number that a ball of no width is."""
    found = number.unique_fmpz()
    assert found is not None
    return int(found)


def log_weights(runs: Runs, rate: Fraction) -> tuple[fmpq, ...]:
    """Score plus bonus in noise scales, exactly, of runs whose scores are all known."""
    assert runs.known.all()
    unit = fmpq(rate.numerator, rate.denominator)
    return tuple(
        unit * int(score) + fmpq(int(boost), 1 << BOOST_BITS)
        for score, boost in zip(runs.scores, runs.boosts, strict=True)
    )


def places(runs: ValueRuns, grid: Grid) -> list[tuple[Place, int]]:
    """Every (shape, grid index) of the runs with the number of its run, in one order for all
    tables.
    """
    spans = [runs.span(j) for j in range(len(runs.scores))]
    found = [
        ((runs.shape(j), index), j)
        for j, (first, end) in enumerate(spans)
        for index in range(grid.at(first), grid.at(end - 1) + 1)
    ]
    return sorted(found)


def value_candidates(
    runs: ValueRuns, grid: Grid, rate: Fraction
) -> tuple[list[Place], tuple[fmpq, ...], tuple[int, ...]]:
    """What `chances` needs of the value step, and where its candidates are."""
    logs, found = log_weights(runs, rate), places(runs, grid)
    copies = tuple(grid.copies(index + 1) - grid.copies(index) for (_, index), _ in found)
    return [place for place, _ in found], tuple(logs[j] for _, j in found), copies
