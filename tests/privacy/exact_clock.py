"""The exact chance of every link of a clock, in ball arithmetic, from the definition.

It is written down here once more, link by link: intervals by their offsets, depths by
counting rows, levels as minima over all later links, and the chance to be running from reading to
reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, count, pairwise

import flint
from flint import arb, fmpq

from postri.audit.exact_links import Ends
from postri.audit.tiny_tables import Rows
from postri.grid import Grid
from postri.methods.depth import Depth
from postri.methods.method import QuantileTerms
from postri.methods.value import Shape


def defined_chances(
    method: Depth, terms: QuantileTerms, grid: Grid, index: int, shape: Shape, rows: Rows
) -> list[tuple[Ends, arb]]:
    """Each interval with its chance, by the definition."""
    lean = method.lean
    left = lean if shape == "right" else 1
    right = lean if shape == "left" else 1
    ends: list[Ends] = []
    for b in count():
        ends.append((max(index - b // left, grid.first), min(index + b // right, grid.last)))
        if ends[-1] == (grid.first, grid.last):
            break
    rate = terms.spend.interval / terms.sensitivity
    target = terms.p * len(rows)
    # The last link is the whole grid: it takes what is left.
    times = [reading(method, abs(index - grid.zero), b) for b in range(len(ends) - 1)]
    terms_of = [
        rate * depth(low, high, rows, target, grid) - time
        for (low, high), time in zip(ends, times, strict=False)
    ]
    # The least over a link and all later ones, gathered from the last.
    levels = list(accumulate(reversed(terms_of), min))[::-1]
    slack = rate * (1 - Fraction(1, terms.p.denominator))
    # What has stopped before a jump may be next to nothing, and is a difference here.
    with flint.ctx.workprec(700):
        return list(zip(ends, stopping(levels, times, terms.beta, slack), strict=True))


def depth(low: int, high: int, rows: Rows, target: Fraction, grid: Grid) -> Fraction:
    """By how many rows an interval that is not the whole grid holds the quantile."""
    sides = []
    if low > grid.first:
        sides.append(target - sum(x < low for x in rows))
    if high < grid.last:
        sides.append(sum(x <= high for x in rows) - target)
    return min(sides)


def reading(method: Depth, away: int, b: int) -> Fraction:
    """The reading of an offset around a value so far from 0, cut off after forty binary places."""
    knees = [0, *(knee * (1 + away) for knee in method.knees)]
    with flint.ctx.workprec(400):
        time = arb(0)
        for pace, before, after in zip(method.paces, knees, [*knees[1:], b], strict=True):
            reached = arb(1 + min(b, after)) / (1 + min(b, before))
            time += reached.log() * _fmpq(pace)
        cut = (time * 2**40).floor().unique_fmpz() if b else 0
    return Fraction(int(cut), 2**40)


def stopping(
    levels: Sequence[Fraction], times: Sequence[Fraction], beta: Fraction, slack: Fraction
) -> list[arb]:
    """The chance to stop between one reading and the next, and what is left past the last."""
    running = [arb(1)]
    stopped = arb(0)
    free: tuple[arb, arb] | None = None
    for k, (level, time) in enumerate(zip(levels, times, strict=True)):
        height = arb(_fmpq(beta)).log() + _fmpq(level - slack)
        since = times[k - 1] if k else None
        begins = (height + _fmpq(since)).exp() if since is not None else arb(0)
        ends = (height + _fmpq(time)).exp()
        if free is None and since is not None and 4 * stopped * begins >= 1:
            # E jumps past 1/(4A).
            free = arb(_fmpq(since)), stopped
        if free is None and 4 * (stopped + ends - begins) * ends >= 1:
            # E rises to 1/(4A), with A = E and what had stopped before, less E at the beginning.
            before = stopped - begins
            reached = (((before * before + 1).sqrt()) - before) / 2
            free = reached.log() - height, reached + before
        if free is None:
            stopped += ends - begins
            running.append(1 - stopped)
        else:
            moment, chance = free
            running.append(run_out(chance, (moment - _fmpq(time)).exp()))
    return [before - after for before, after in pairwise([*running, arb(0)])]


def run_out(stopped: arb, t: arb) -> arb:
    """The chance to be running where t is left of a clock that runs out at rate 1, if it was free
    to run out when it had stopped with a chance.
    """
    q = 2 * stopped
    if abs(1 - q) < arb(10) ** -150:
        return t / 2
    if t >= (1 - q**3) / (1 + q):
        return 1 - stopped - (1 - t) / (2 * q)
    s = root(t * (1 - q * q))
    return q * (1 / s - 3 * s + 2 * s * s) / (2 * (1 - q * q))


def root(goal: arb) -> arb:
    """The s from 0 to 1 at which (1 - s)(1 - s^3) falls to the goal."""
    # In floats to begin with, by 1 - s, which may be small.
    low, high, aim = 0.0, 1.0, float(goal)
    while low < (middle := (low + high) / 2) < high:
        if middle * (1 - (1 - middle) ** 3) < aim:
            low = middle
        else:
            high = middle
    s = 1 - arb(high)
    for _ in range(12):
        s = (s - ((1 - s) * (1 - s**3) - goal) / (4 * s**3 - 3 * s**2 - 1)).mid()
    return s


def _fmpq(number: Fraction) -> fmpq:
    return fmpq(number.numerator, number.denominator)
