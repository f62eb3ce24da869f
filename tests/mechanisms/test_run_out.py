"""How the clock runs out: three ways to compute it agree, and no move of the levels is worth more
than its largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from random import Random

import flint
import numpy as np
import pytest
from flint import arb

from postri.mechanisms.clock import Clock, LinkNumbers, Plateaus
from postri.mechanisms.run_out import running_after, running_ball, time_of
from postri.mechanisms.uniforms import Floats, ball
from proving import sized

STOPPED = [Fraction(1, 10**n) for n in (1, 2, 6, 30)] + [
    Fraction(1, 3),
    Fraction(1, 2) - Fraction(1, 10**9),
    Fraction(1, 2),
]
TIMES = [0.0, 1e-12, 1e-6, 0.01, 0.3, 1.0, 4.0, 30.0]


@pytest.mark.parametrize("stopped", STOPPED, ids=str)
def test_floats_and_balls_agree(stopped: Fraction):
    running = running_after(float(stopped), np.array(TIMES))
    with flint.ctx.workprec(300):
        exact = [running_ball(ball(stopped), arb(time)) for time in TIMES]
        assert all(chance.rad() < arb(10) ** -40 for chance in exact)
    assert running == pytest.approx([float(chance) for chance in exact], rel=1e-9, abs=1e-15)


# Where less has stopped, all happens within a time that floats do not tell from none.
@pytest.mark.parametrize("stopped", [each for each in STOPPED if each > 1e-9], ids=str)
def test_the_time_of_a_chance_has_this_chance(stopped: Fraction):
    chances = [share * (1 - float(stopped)) for share in (1e-15, 1e-6, 0.1, 0.5, 0.7, 0.999)]
    times = np.array([time_of(float(stopped), chance) for chance in chances])
    assert running_after(float(stopped), times) == pytest.approx(chances, rel=1e-6)
    assert time_of(float(stopped), 0.0) == np.inf


def test_it_runs_out_at_rate_1_where_half_has_stopped_and_faster_where_less_has():
    times = np.array(TIMES)
    assert running_after(0.5, times) == pytest.approx(np.exp(-times) / 2)
    slow, fast = (running_after(stopped, times) / (1 - stopped) for stopped in (0.4, 0.1))
    assert np.all(fast <= slow + 1e-12)
    assert running_after(0.001, np.array([0.002]))[0] < 0.5
    # Less than floats can tell.
    assert time_of(0.0, 0.3) == 0
    assert list(running_after(0.0, np.array([0.0, 1e-9]))) == [1, 0]


# Any levels, not those of tables alone: each depth may move by a row on its own, as long as deeper
# links stay deeper.


class Dial:
    """Readings that are given one by one."""

    def __init__(self, readings: list[Fraction]) -> None:
        self.given = readings

    def reading(self, link: int) -> Fraction:
        return self.given[link]

    def readings(self, links: LinkNumbers) -> Floats:
        return np.array([float(self.given[link]) for link in links])

    def first_after(self, time: float) -> int:
        return sum(float(reading) < time for reading in self.given)


EDGE = Plateaus(np.empty(0, np.int64), np.empty(0, np.int64), 0)


def clock(dial: Dial, depths: list[int], rate: Fraction, odds: Fraction) -> Clock:
    side = Plateaus(np.arange(len(depths)), np.array(depths), len(depths))
    return Clock(dial, (side, EDGE), odds, rate)


def log_chances(clock: Clock) -> Iterator[arb]:
    running = [arb(1), *(clock.running_after(link) for link in range(clock.last)), arb(0)]
    for before, after in pairwise(running):
        yield (before - after).log()


def neighbours(random: Random) -> tuple[Dial, list[int], list[int]]:
    number = random.randint(1, 7)
    gaps = [Fraction(random.choice([1, 20, 300, 3_000]), 1_000) for _ in range(number)]
    dial = Dial([sum(gaps[:k], Fraction(0)) for k in range(number)])
    depths = [random.randint(-8, 2)]
    while len(depths) < number:
        depths.append(depths[-1] + random.choice([0, 0, 1, 2, 9]))
    moved = [depth + random.choice([-1, 1]) for depth in depths]
    return dial, depths, [max(moved[: k + 1]) for k in range(number)]


def test_no_link_is_dearer_than_the_largest_move_of_a_level():
    """The log ratio of every link is at most epsilon for a row of epsilon nats, and is epsilon on
    some: nothing is left over.
    """
    random = Random(7)
    largest = 0.0
    for _ in range(sized(150, 5_000)):
        dial, depths, moved = neighbours(random)
        rate = Fraction(random.choice([1, 3, 10, 40]), 10)
        odds = Fraction(1, random.choice([2, 20, 1_000]))
        with flint.ctx.workprec(400):
            one, other = (log_chances(clock(dial, each, rate, odds)) for each in (depths, moved))
            for a, b in zip(one, other, strict=True):
                ratio = abs(a - b) / ball(rate)
                assert ratio < 1 + arb(10) ** -30
                largest = max(largest, float(ratio))
    assert largest > 1 - 1e-9
