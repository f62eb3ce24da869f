"""Keys that are found: at least as many as by Google's rules, computed and not drawn."""

from __future__ import annotations

from fractions import Fraction

import pytest

from postri.research.unknown_keys import (
    comparison,
    expected,
    google_after,
    google_before,
    ours,
    zipf,
)

SETTINGS = [
    (epsilon, delta) for epsilon in ("1/20", "1/2", "1", "3") for delta in ("1e-4", "1e-6", "1e-10")
]
# What doubles lose in the other rule's recurrence.
ROUNDING = 1e-9


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_at_least_as_many_keys_as_pre_thresholding_finds(epsilon, delta):
    budget = Fraction(epsilon), Fraction(delta)
    rows = zipf(5_000, 5_000)
    own = expected(ours(*budget), rows)
    # It keeps a key with the largest chance that privacy allows, and tells no number of rows.
    assert own >= expected(google_before(*budget), rows) - ROUNDING
    # With a pre-threshold it drops what has fewer persons; with the count it adds more noise.
    assert own > expected(google_before(*budget, 10), rows)
    assert own > expected(google_after(*budget), rows)


def test_one_rule_is_an_upper_bound_for_the_other():
    """The comparison is able to fail: at nine tenths of epsilon fewer keys are found."""
    rows = zipf(5_000, 5_000)
    less = expected(ours(Fraction(9, 10), Fraction("1e-6")), rows)
    assert less < expected(google_before(Fraction(1), Fraction("1e-6")), rows) - 1


def test_the_comparison_is_a_table():
    lines = comparison().splitlines()
    assert len(lines) == 9 and lines[2].count("|") == 8
