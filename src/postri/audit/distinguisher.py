"""Telling two tables apart by draws alone: an event is chosen on one half of the draws, and the
other half bounds the log ratio of its chances.

The bound is exact (Clopper and Pearson), and the event does not depend on the half that it is
tested on. So the bound passes the true log ratio with odds of ALPHA at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from time import monotonic

from postri.research.report.statistics import binomial_interval

# The odds that one bound is wrong. All bounds of an audit together: below one in a million.
ALPHA = 5e-8
# How many standard deviations an event must stand out by, to be chosen.
STANDS_OUT = 5.0

Label = Hashable
Draw = Callable[[], Label]


@dataclass(frozen=True)
class Found:
    """The largest log ratio that is certain, and what was seen of its event."""

    bound: float
    hits: tuple[int, int]
    tested: int

    def told(self, epsilon: float) -> str:
        """In words."""
        one, other = self.hits
        if self.bound <= 0:
            return f"nothing that is certain of {epsilon:g}, in {self.tested:,} draws"
        return (
            f"at least {self.bound:.3f} of {epsilon:g}, by an event seen {one:,} and {other:,} "
            f"times in {self.tested:,} draws"
        )


def draw_both(
    draws: tuple[Draw, Draw], *, least: int, until: float
) -> tuple[list[Label], list[Label]]:
    """Equally many labels of both tables: `least`, and more until a moment of the clock."""
    one: list[Label] = []
    other: list[Label] = []
    while len(one) < least or monotonic() < until:
        # In turns, so that a change over time touches both.
        one.append(draws[0]())
        other.append(draws[1]())
    return one, other


def distinguish(one: Sequence[Label], other: Sequence[Label]) -> Found:
    """Choose an event on the first half of the labels, and test it on the second."""
    half = len(one) // 2
    first = Counter(one[:half]), Counter(other[:half])
    second = Counter(one[half:]), Counter(other[half:])
    tested = len(one) - half
    found = Found(-inf, (0, 0), tested)
    for a, b in ((0, 1), (1, 0)):
        event = best_event(first[a], first[b], half)
        hits = tuple(sum(second[side][label] for label in event) for side in (a, b))
        bound = certain_ratio(hits[0], hits[1], tested)
        found = max(found, Found(bound, (hits[0], hits[1]), tested), key=lambda each: each.bound)
    return found


def best_event(likely: Counter[Label], unlikely: Counter[Label], draws: int) -> set[Label]:
    """The labels, from the most telling on, whose share stands out most from that on the other
    table.
    """
    labels = sorted(
        {*likely, *unlikely}, key=lambda label: -(likely[label] + 0.5) / (unlikely[label] + 0.5)
    )
    hits = misses = 0
    best, largest = 0, -inf
    for number, label in enumerate(labels, start=1):
        hits += likely[label]
        misses += unlikely[label]
        low = _moved(hits, draws, -STANDS_OUT)
        high = _moved(misses, draws, STANDS_OUT)
        if low > 0 and log(low / high) > largest:
            best, largest = number, log(low / high)
    return set(labels[:best])


def _moved(hits: int, draws: int, deviations: float) -> float:
    """A share, moved by standard deviations."""
    share = (hits + 1) / (draws + 2)
    return share + deviations * sqrt(share * (1 - share) / draws)


def certain_ratio(hits: int, misses: int, draws: int) -> float:
    """A lower bound on the log ratio of two chances, wrong with odds of ALPHA at most."""
    low, _ = binomial_interval(hits, draws, 1 - ALPHA)
    _, high = binomial_interval(misses, draws, 1 - ALPHA)
    if low <= 0:
        return -inf
    return log(low / high)
