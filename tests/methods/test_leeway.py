"""The leeway for the error of sampling: enough for every number of rows, and it moves by no more
than its drift.

Chances of binomial numbers are exact, in ball arithmetic.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import comb

import pytest
from flint import arb, ctx, fmpq

from postri.methods.leeway import Leeway, usual_drift
from proving import sized

HALF = Fraction(1, 2)
PS = (HALF, Fraction(1, 4), Fraction(9, 10), Fraction(1, 100))
BETAS = (Fraction(1, 20), Fraction(1, 1_000), Fraction(2, 3))
RATES = (Fraction(1, 50), Fraction(1), Fraction(20))
ALL_CASES = [(p, beta, rate) for p in PS for beta in BETAS for rate in RATES]
# A quarter of them has each p, each beta and each rate.
CASES = sized(ALL_CASES[::4], ALL_CASES)
FEW_ROWS = (0, 1, 2, 3, 5, 8, 13, 34, 55)
MORE_ROWS = (100, 101, 377, 1_000, 2_047)


def ball(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator))


def usual(p: Fraction, beta: Fraction, rate: Fraction) -> Leeway:
    return Leeway(p, beta, rate, usual_drift(p, beta, rate))


def binomial(n: int, p: Fraction) -> list[arb]:
    """The chance of each number of n independent rows to lie up to the quantile p."""
    below, above = ball(p), ball(1 - p)
    return [comb(n, k) * below**k * above ** (n - k) for k in range(n + 1)]


def failure(leeway: Leeway, n: int, units: int) -> arb:
    """The most that intervals with these units of leeway fail on n rows: E min(1, beta *
    exp(c * (|B - p*n| - W))).
    """
    with ctx.workprec(128):
        total = arb(0)
        room = Fraction(units, leeway.units_per_row)
        for k, chance in enumerate(binomial(n, leeway.p)):
            nats = leeway.nats_per_row * (abs(k - leeway.p * n) - room)
            missed = ball(leeway.beta) * ball(nats).exp()
            total += chance * missed.min(arb(1))
        return total


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(("p", "beta", "rate"), CASES, ids=str)
def test_no_number_of_rows_fails_more_often_than_beta(p, beta, rate):
    """Whatever the distribution: none enters."""
    leeway = usual(p, beta, rate)
    for n in (*FEW_ROWS, *sized((100,), MORE_ROWS)):
        assert failure(leeway, n, leeway.units(n)) <= ball(beta), n


@pytest.mark.slow
@pytest.mark.parametrize("p", PS, ids=str)
def test_two_rows_less_are_too_few(p):
    """The bound is good to about a row; so the test above can fail."""
    beta, rate, n = Fraction(1, 20), Fraction(2), 400
    leeway = Leeway(p, beta, rate, drift=Fraction(1))
    fewer = leeway.units(n) - 2 * leeway.units_per_row
    assert failure(leeway, n, fewer) > ball(beta)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(("p", "beta", "rate"), CASES, ids=str)
def test_one_more_row_moves_it_by_the_drift_at_most(p, beta, rate):
    leeway = usual(p, beta, rate)
    drift = leeway.drift * leeway.units_per_row
    far = (10**6, 10**9, 10**15)
    starts = [0, *(n - 1_000 for n in far)]
    for start in starts:
        units = [leeway.units(n) for n in range(start, start + sized(2_000, 50_000))]
        moves = [after - before for before, after in pairwise(units)]
        assert 0 <= min(moves) <= max(moves) <= drift


def test_the_drift_is_used_up():
    """With few rows the leeway rises by the whole drift, so less noise would not do."""
    leeway = usual(HALF, Fraction(1, 20), Fraction(1))
    assert leeway.units(1) - leeway.units(0) == leeway.drift * leeway.units_per_row


@pytest.mark.parametrize("p", PS, ids=str)
def test_the_drift_costs_at_most_an_eighth(p):
    for rate in (Fraction(1, 10**6), Fraction(1), Fraction(10**6)):
        assert 0 < usual_drift(p, Fraction(1, 20), rate) <= max(p, 1 - p) / 8 + Fraction(1, 2**20)


def test_it_is_less_than_the_error_of_sampling_where_the_clock_errs_more():
    """Two errors are hardly ever large together: beta need not be divided among them."""
    leeway = usual(HALF, Fraction(1, 20), Fraction(1, 10))
    sampling = 1.96 * 1_000**0.5 / 2
    assert leeway.rows(1_000) < 0.7 * sampling


@pytest.mark.parametrize("n", sized((1, 2, 7, 24), (1, 2, 3, 5, 7, 12, 24, 60, 150)))
@pytest.mark.parametrize("p", PS, ids=str)
def test_a_binomial_number_is_off_as_a_normal_one(n, p):
    """The inequality of Zubkov and Serov, of which the proof makes use, in the form in which it
    does: P( B <= k ) <= 1 - Phi(z) wherever p*n - (k + 1) is x(z).
    """
    with ctx.workprec(128):
        chances = binomial(n, p)
        variance = ball(p * (1 - p)) * n
        # The side of the longer tail; the other is bounded by the same.
        skew = abs(ball(1 - 2 * p)) / 6
        below = above = arb(0)
        for k in range(n + 1):
            below += chances[k]
            above += chances[n - k]
            for tail, off in ((below, p * n - (k + 1)), (above, (n - k - 1) - p * n)):
                if off < 0:
                    continue
                # x(z) = z^2*skew + sqrt(z^4*skew^2 + z^2*variance), solved for z^2.
                x = ball(off)
                z = (x * x / (variance + 2 * skew * x)).sqrt()
                assert tail <= (z / arb(2).sqrt()).erfc() / 2
