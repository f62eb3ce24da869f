"""The number of rows of a key that was found: its interval is right given that the key is told.

The law of what is told is known, so the chance that an interval misses is added up and not drawn.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from postri.answer.drawn import Kept, Selected, read_drawn
from postri.keeping import KeepingLaw
from proving import sized

LAWS = [
    KeepingLaw(Fraction(epsilon), Fraction(delta))
    for epsilon, delta in [("3", "1e-4"), ("1", "1e-6"), ("1/2", "1/100"), ("1/5", "1e-3")]
]
BETAS = [Fraction(1, 20), Fraction(1, 100), Fraction(1, 3)]
MORE = sized(15, 60)


def chances(law: KeepingLaw, rows: int) -> dict[int, Fraction]:
    """The noisy numbers of a key of so many rows that is told, and how likely each is then."""
    return {
        law.threshold + rows - j: Fraction(law.parts(j) - law.parts(j - 1), law.parts(rows))
        for j in range(1, min(rows, law.surely) + 1)
    }


def coverage(law: KeepingLaw, rows: int, intervals: dict[int, tuple[int, int]]) -> Fraction:
    """How likely the interval of what is told holds the number of rows."""
    held = Fraction(0)
    for noisy, chance in chances(law, rows).items():
        low, high = intervals[noisy]
        if low <= rows <= high:
            held += chance
    return held


def told(law: KeepingLaw) -> range:
    """All numbers that may be told of the keys below."""
    return range(law.threshold, law.threshold + law.surely + MORE + 1)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("law", LAWS)
def test_the_interval_is_right_given_that_the_key_is_told(law, beta):
    intervals = {}
    for noisy in told(law):
        found = Kept(noisy, "JFK", law).interval(beta)
        intervals[noisy] = (found.low, found.high)
        assert 1 <= found.low <= found.high
    found = [coverage(law, rows, intervals) for rows in range(1, law.surely + MORE)]
    assert min(found) >= 1 - beta


@pytest.mark.parametrize("law", LAWS)
def test_the_naive_interval_is_not(law):
    """The noisy number and how far the noise reaches: right for every key before it is looked
    whether it is told, and wrong for most of those with few rows that are.
    """
    beta = Fraction(1, 20)
    most = max(noisy - law.rows_between(noisy, beta)[0] for noisy in list(told(law))[-3:])
    naive = {noisy: (noisy - most, noisy + most) for noisy in told(law)}
    assert coverage(law, law.surely + MORE - 1, naive) >= 1 - beta
    found = [coverage(law, rows, naive) for rows in range(1, law.threshold)]
    assert min(found) < Fraction(1, 2)


@pytest.mark.parametrize("law", LAWS)
def test_a_key_with_many_rows_has_the_usual_interval(law):
    """Where the key is told for sure, nothing is given: the interval is as wide as its noise."""
    beta = Fraction(1, 20)
    widths = set()
    for noisy in (3 * law.surely, 5 * law.surely):
        low, high = law.rows_between(noisy, beta)
        widths.add((noisy - low, high - noisy))
    assert len(widths) == 1
    ((below, above),) = widths
    assert abs(below - above) <= 1
    # As few misses as that allows: a number less on either side would miss too often.
    rows = 4 * law.surely
    narrower = {noisy: (noisy - below + 1, noisy + above - 1) for noisy in chances(law, rows)}
    assert coverage(law, rows, narrower) < 1 - beta


@pytest.mark.parametrize("law", LAWS)
def test_more_rows_are_told_by_higher_numbers(law):
    """What the search for the ends relies on."""
    for noisy in told(law):
        above = noisy - law.threshold
        up = [
            Fraction(law.parts(rows - above), law.parts(rows))
            for rows in range(above + 1, above + law.surely + 2)
        ]
        down = [
            1 - Fraction(law.parts(rows - above - 1), law.parts(rows))
            for rows in range(above + 1, above + law.surely + 2)
        ]
        little = Fraction(1, 2**100)
        assert all(a <= b + little for a, b in pairwise(up))
        assert all(a >= b - little for a, b in pairwise(down))


@pytest.mark.parametrize("key", ["JFK", True, 10_115])
def test_what_was_told_is_read_again(key):
    kept = Kept(40, key, LAWS[1])
    assert read_drawn(kept.to_fields()) == kept
    shown = Selected(kept, Fraction(1, 2))
    assert read_drawn(shown.to_fields()) == shown
    low, high = shown.interval(Fraction(1, 10)).low, shown.interval(Fraction(1, 10)).high
    assert (low, high) == LAWS[1].rows_between(40, Fraction(1, 20))
