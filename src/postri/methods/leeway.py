"""How much deeper an interval must be to hold the quantile of a population, and not that of its
rows alone.

Rows that were drawn independently have a binomial number B of cells up to the quantile of the
population, so the target rank p*n is off by |B - p*n| rows. The clock errs by X rows with the
chance exp(-c*X), c nats a row. The leeway is what makes both together fail with probability beta
at most: the proof is Theorem 32 of docs/theory.md. It depends on n, which may be private, so it
must not move much when a row is added: Theorem 33.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from math import ceil, erfc, log, sqrt
from typing import NamedTuple

import numpy as np

from postri.mechanisms.uniforms import Floats
from postri.methods.scores import units_per_row

# A row is about this many units at least: the leeway is a whole number of them.
FINE_UNITS = 2**20
# No table has more rows.
MOST_ROWS = 2**50
# The leeway is computed for so many numbers of rows in each octave, and between two of them it
# is that of the larger.
KNOTS_PER_OCTAVE = 24
# A normal deviate is taken as the next larger of so many.
DEVIATES = 1_024
# Floats are off by far less than this part of beta.
DOUBT = 1e-9
# A drift costs at most this part of what rows cost.
MOST_DRIFT = Fraction(1, 8)
# The chance of a larger deviate is a small part of beta.
FAR_OUT = 6.0


def fineness(p: Fraction) -> int:
    """How many times finer than the usual unit of depths that of a leeway is."""
    return -(-FINE_UNITS // units_per_row(p))


def usual_drift(p: Fraction, beta: Fraction, nats_per_row: Fraction) -> Fraction:
    """How far the leeway may move with one row, in rows: a choice, for any is proved.

    A larger one costs noise. A smaller one makes the leeway of few rows larger than it need be:
    here of so few that the interval tells little anyway.
    """
    from statistics import NormalDist

    rows = 4 * (_log_odds(beta) + 5) / float(nats_per_row * min(p, 1 - p))
    deviate = NormalDist().inv_cdf(1 - max(float(beta), 1e-15) / 2)
    drift = max(deviate, 1.0) / 2 * sqrt(float(p * (1 - p)) / rows)
    units = units_per_row(p, fineness(p))
    most = max(p, 1 - p) * MOST_DRIFT
    return Fraction(ceil(min(Fraction(drift), most) * units), units)


@dataclass(frozen=True)
class Leeway:
    """The leeway for each number of rows; `drift` is the most that it moves with one of them.

    >>> half = Fraction(1, 2)
    >>> leeway = Leeway(half, Fraction(1, 20), Fraction(1), Fraction(1, 16))
    >>> [round(leeway.rows(n), 1) for n in (100, 10_000, 1_000_000)]
    [9.2, 97.4, 990.6]
    """

    p: Fraction
    beta: Fraction
    nats_per_row: Fraction
    drift: Fraction

    @cached_property
    def fine(self) -> int:
        """How many times finer than that of depths its unit is."""
        return fineness(self.p)

    @cached_property
    def units_per_row(self) -> int:
        """How many units one row is."""
        return units_per_row(self.p, self.fine)

    def rows(self, n: int) -> float:
        """The leeway in rows, for people."""
        return self.units(n) / self.units_per_row

    def units(self, n: int) -> int:
        """The leeway of a table of n rows: the most of what any number of rows needs, less the
        drift for each row that this is more.
        """
        knots = _knots()
        place = bisect_left(knots, n)
        needed = self._needed
        if place + 1 == len(knots):
            return needed[place]
        return max(needed[place], self._slope * n + self._ahead[place + 1])

    @cached_property
    def _slope(self) -> int:
        """The drift in units."""
        units = self.drift * self.units_per_row
        assert units.denominator == 1
        return int(units)

    @cached_property
    def _ahead(self) -> Sequence[int]:
        """At each knot, the most that it or a later one needs where a line of the drift's slope
        meets n = 0.
        """
        knots = _knots()
        lines = [
            units - self._slope * (before + 1)
            for units, before in zip(self._needed, [-1, *knots], strict=False)
        ]
        return list(accumulate(reversed(lines), max))[::-1]

    @cached_property
    def _needed(self) -> Sequence[int]:
        """What each knot needs, in units; never less than one before it."""
        return _needed_units(self.p, self.beta, self.nats_per_row)


@lru_cache(maxsize=1)
def _knots() -> list[int]:
    """Numbers of rows, rising: the leeway of n is that of the first which is not less."""
    octaves = MOST_ROWS.bit_length() - 1
    knots = {ceil(2 ** (place / KNOTS_PER_OCTAVE)) for place in range(octaves * KNOTS_PER_OCTAVE)}
    return sorted({0, *knots, MOST_ROWS})


@lru_cache(maxsize=64)
def _needed_units(p: Fraction, beta: Fraction, nats_per_row: Fraction) -> Sequence[int]:
    units = units_per_row(p, fineness(p))
    rows = (needed_rows(p, beta, nats_per_row, n) for n in _knots())
    return list(accumulate((ceil(Fraction(each) * units) for each in rows), max))


def _log_odds(beta: Fraction) -> float:
    """About ln(1/beta)."""
    return log(beta.denominator) - log(beta.numerator)


def needed_rows(p: Fraction, beta: Fraction, nats_per_row: Fraction, n: int) -> float:
    """What n rows need, in rows: W with P( |B - p*n| + X > W + ln(1/beta)/c ) <= beta, by the
    bounds of Theorem 32.

    A deviate is one of finitely many, z_1 < ... < z_K, each with the chance of all from the one
    before it on. So |B - p*n| is one of x_1 < ... < x_K, and beyond them with a chance that counts
    as a failure.
    """
    rate = float(nats_per_row)
    normal = _deviates(beta)
    off = _most_off(normal.deviates, n, p)
    # The sum of chance * exp(c*(x_i - x_k)) over all i up to k.
    log_sums = np.logaddexp.accumulate(normal.log_chances + rate * off) - rate * off
    # If W + ln(1/beta)/c lies between x_k and the next one, this is W; for any other k it is enough
    # as well, since what is beyond x_k then counts as a failure more often than it is one.
    spare = float(beta) * (1 - DOUBT) - normal.beyond
    enough = spare > 0
    needed = off[enough] + (log_sums[enough] - np.log(spare[enough] / float(beta))) / rate
    needed = np.maximum(needed, off[enough] - _log_odds(beta) / rate)
    return float((needed + DOUBT * off[enough]).min())


class _Normal(NamedTuple):
    """Deviates of a normal number without its sign, with the logarithm of the chance of each, and
    the chance of a larger one.
    """

    deviates: Floats
    log_chances: Floats
    beyond: Floats


@lru_cache(maxsize=16)
def _deviates(beta: Fraction) -> _Normal:
    farthest = sqrt(2 * (_log_odds(beta) + log(2))) + FAR_OUT
    deviates = np.linspace(0, farthest, DEVIATES + 1)
    beyond = np.array([erfc(deviate / sqrt(2)) for deviate in deviates])
    return _Normal(deviates[1:], np.log(-np.diff(beyond)), beyond[1:])


def _most_off(deviates: Floats, n: int, p: Fraction) -> Floats:
    """How far B may be from p*n where a normal deviate is so large, in rows."""
    skew = deviates**2 * abs(float(1 - 2 * p)) / 6
    off: Floats = 1 + skew + np.sqrt(skew**2 + deviates**2 * n * float(p * (1 - p)))
    return off
