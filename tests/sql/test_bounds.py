"""Arithmetic on intervals whose ends may be edges: what the parts allow, the whole allows."""

from __future__ import annotations

import operator
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from postri.sql.bounds import EVERYTHING, Bounds, End, Extent, computed
from proving import examples

SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
numbers = st.integers(-6, 6).map(Fraction)


@st.composite
def bounds_and_truth(draw: st.DrawFn) -> tuple[Bounds, Fraction]:
    """Bounds with or without edges, and a true value that they allow: beyond an edge too."""
    low, high = sorted((draw(numbers), draw(numbers)))
    bounds = Bounds(low, high, draw(st.booleans()), draw(st.booleans()))
    truth = low + (high - low) * draw(st.sampled_from([0, Fraction(1, 3), Fraction(1, 2), 1]))
    far = draw(st.sampled_from([0, Fraction(1, 7), 1, 5, 1_000, 10**9]))
    if bounds.low_is_edge and draw(st.booleans()):
        truth = low - far
    elif bounds.high_is_edge:
        truth = high + far
    return bounds, truth


def allows(bounds: Bounds, truth: Fraction) -> bool:
    above = bounds.low_is_edge or bounds.low <= truth
    return above and (bounds.high_is_edge or truth <= bounds.high)


@pytest.mark.slow
@examples(1_000)
@given(bounds_and_truth(), bounds_and_truth(), bounds_and_truth(), *[st.sampled_from("+-*/")] * 2)
def test_what_the_parts_allow_the_whole_allows(one, other, third, sign, next_sign):
    """Two steps, so that edges of what is computed are computed with again."""
    bounds, truth = one
    for (right, number), step in ((other, sign), (third, next_sign)):
        if step == "/":
            assume(not right.shown.holds_zero and number != 0)
        bounds = bounds.computed(step, right)
        truth = SIGNS[step](truth, number)
    assert bounds.low <= bounds.high
    assert allows(bounds, truth)


@pytest.mark.slow
@examples(300)
@given(bounds_and_truth(), bounds_and_truth(), st.sampled_from("+-*/"))
def test_without_edges_nothing_becomes_one(one, other, sign):
    left = Bounds(one[0].low, one[0].high)
    right = Bounds(other[0].low, other[0].high)
    assume(sign != "/" or not right.shown.holds_zero)
    found = left.computed(sign, right)
    assert not (found.low_is_edge or found.high_is_edge)


CLAMPED = Bounds(Fraction(900), Fraction(1_000), high_is_edge=True)
KNOWN = {
    # An edge travels where the expression rises or falls, and changes its side where it falls.
    ("*", Bounds(Fraction(2), Fraction(2))): Bounds(1_800, 2_000, high_is_edge=True),
    ("*", Bounds(Fraction(-2), Fraction(-2))): Bounds(-2_000, -1_800, low_is_edge=True),
    ("-", Bounds(Fraction(1), Fraction(3))): Bounds(897, 999, high_is_edge=True),
    ("/", Bounds(Fraction(-5), Fraction(-4))): Bounds(-250, -180, low_is_edge=True),
    # A product with 0 or more stays at 0 or more.
    ("*", Bounds(Fraction(0), Fraction(3))): Bounds(0, 3_000, high_is_edge=True),
    ("*", Bounds(Fraction(0), Fraction(0))): Bounds(0, 0),
    # With either sign it can be anywhere, and so can a quotient whose divisor may be 0.
    ("*", Bounds(Fraction(-1), Fraction(2))): Bounds(-1_000, 2_000, True, True),
    ("/", Bounds(Fraction(1), Fraction(2), low_is_edge=True)): Bounds(450, 1_000, True, True),
}


@pytest.mark.parametrize("given_as", KNOWN)
def test_a_clamped_value(given_as):
    sign, right = given_as
    assert CLAMPED.computed(sign, right) == KNOWN[given_as]


def test_a_divisor_at_an_edge_brings_a_quotient_close_to_0():
    one = Bounds(Fraction(1), Fraction(1))
    found = one.computed("/", CLAMPED)
    assert found == Bounds(Fraction(1, 1_000), Fraction(1, 900), low_is_edge=True)


def test_the_range_of_an_expression():
    age = Bounds(Fraction(18), Fraction(120)).shown
    count = Extent(End(0, Fraction(0)), EVERYTHING.high)
    assert computed("/", age, count.at_least_one()) == Extent(End(0, Fraction(0)), age.high)
    assert computed("/", age, count) == EVERYTHING
    assert computed("-", count, count) == EVERYTHING
