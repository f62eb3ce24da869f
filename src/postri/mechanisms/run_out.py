"""How a clock runs out, from the moment in which it is free to.

By then it has stopped with the chance A, at most 1/2; write q = 2A. At a time u later, with
t = exp(-u), it stops with the density

    t/(2q)          as long as t >= (1 - q^3)/(1 + q),
    q*t/(2*s^2)     from then on, where s in [q, 1] solves (1 - s)(1 - s^3) = t*(1 - q^2),

which leaves it running with the chance 1 - A - (1 - t)/(2q) first, then with the chance
q*(1 - s)^2*(1 + 2s)/(2s*(1 - q^2)). If A is 1/2 that is exp(-u)/2: it runs out at rate 1. The less
has stopped before, the faster it runs out. Theorem 4 of docs/theory.md has the proof that this is
private.

Numbers are written by r = 1 - s, for which (1 - s)(1 - s^3) = r^2*(3 - 3r + r^2).
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, log, log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np

from postri.mechanisms.uniforms import Floats, ball

if TYPE_CHECKING:
    from flint import arb

# So near to 1, q is 1: the chances differ by less than this part of them.
NEARLY = 1e-12
# Halvings after which an interval of floats is a point, however far its point lies from 1; half as
# many where it is near.
HALVINGS = 110
# A step of Newton's that moves a number by no more than this part of it moves it no further.
SETTLED = 2.0**-51


def time_of(stopped: float, running: float) -> float:
    """How long after it was free to the clock still runs with this chance."""
    if running <= 0:
        return inf
    q = 2 * stopped
    if q >= 1 - NEARLY:
        return -log(2 * running)
    if q == 0:
        return 0.0
    if running >= _running_at_turn(q):
        return -log1p(-2 * q * (1 - stopped - running))
    rest = (1 - q) * (1 + q)
    r = _root(running * 2 * rest / q, 1 - q)
    return -log(r * r * (3 - 3 * r + r * r) / rest)


def running_after(stopped: float, times: Floats) -> Floats:
    """The chance that the clock still runs so long after it was free to."""
    q = 2 * stopped
    left: Floats = np.exp(-times)
    if q >= 1 - NEARLY:
        return left / 2
    if q == 0:
        return np.where(times > 0, 0.0, 1.0)
    rest = (1 - q) * (1 + q)
    goal = left * rest
    low = np.zeros(len(times))
    high = np.full(len(times), 1 - q)
    for _ in range(HALVINGS):
        r = (low + high) / 2
        below = r * r * (3 - 3 * r + r * r) < goal
        low = np.where(below, r, low)
        high = np.where(below, high, r)
    late = q * high * high * (3 - 2 * high) / (2 * (1 - high) * rest)
    early = 1 - stopped + np.expm1(-times) / (2 * q)
    return np.where(left >= (1 - q**3) / (1 + q), early, late)


def running_ball(stopped: arb, time: arb) -> arb:
    """The same in balls."""
    q = 2 * stopped
    left = (-time).exp()
    if q == 1:
        return left / 2
    turn = (1 - q**3) / (1 + q)
    early = 1 - stopped - (1 - left) / (2 * q)
    if left > turn:
        return early
    rest = 1 - q * q
    r = _root_ball(left * rest)
    late = q * r * r * (3 - 2 * r) / (2 * (1 - r) * rest)
    if left < turn:
        return late
    # The two meet at the turn, so nothing is lost.
    return early.union(late)


def _running_at_turn(q: float) -> float:
    return (1 - q) * (1 + 2 * q) / (2 * (1 + q))


def _root(goal: float, most: float) -> float:
    """The r from 0 to `most` at which r^2*(3 - 2r)/(1 - r) reaches the goal.

    By Newton's steps, which are some five; a step that leaves what is known of r halves it instead.
    """
    low, high = 0.0, most
    r = min(sqrt(goal / 3), most)
    for _ in range(HALVINGS):
        over = r * r * (3 - 2 * r) - goal * (1 - r)
        if over < 0:
            low = r
        else:
            high = r
        step = r - over / (6 * r * (1 - r) + goal)
        if not low <= step <= high:
            step = (low + high) / 2
        if abs(step - r) <= SETTLED * r:
            return step
        r = step
    return high


def _root_ball(goal: arb) -> arb:
    """The r from 0 to 1 at which r^2*(3 - 3r + r^2) reaches the goal."""
    from flint import arb, ctx

    middle = arb(goal.mid())
    r = (middle / 3).sqrt().mid()
    # Newton's steps, which double the digits each time; the last ones are for nothing.
    for _ in range(ctx.prec.bit_length() + 4):
        slope = r * (6 - 9 * r + 4 * r * r)
        r = (r - (r * r * (3 - 3 * r + r * r) - middle) / slope).mid()
    # It rises with r: what lies below the goal on one side and above it on the other holds it.
    width = ball(Fraction(1, 1 << (ctx.prec - 8)))
    for _ in range(ctx.prec):
        low, high = r * (1 - width), r * (1 + width)
        if _rising(low) < goal and _rising(high) > goal:
            return low.union(high)
        width *= 4
    return arb.nan()


def _rising(r: arb) -> arb:
    return r * r * (3 - 3 * r + r * r)
