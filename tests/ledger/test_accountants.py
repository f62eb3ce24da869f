"""Accountants against closed forms and against another implementation (dp-accounting)."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, log

import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given
from hypothesis import strategies as some

from postri.errors import InputError, LedgerError
from postri.ledger import ZCDP, Cost, Pure, bounded_range, gaussian_draw, pure_draw
from postri.ledger.accountants import lines
from proving import examples

RHOS = ("0.0001", "0.001", "0.01", "0.0625", "0.1", "0.5", "1", "3", "10", "100")
DELTAS = ("1e-3", "1e-5", "1e-6", "1e-9", "1e-12")
# The other implementation chooses between given orders: first 2 % apart, then around the best of
# them as near as it takes.
ORDERS = [1 + 1.02**power for power in range(-200, 800)]
ENDLESS = Fraction(10**9)


def theirs(rho: str, delta: str) -> float:
    _, order = best(ORDERS, rho, delta)
    return best(
        [1 + (order - 1) * (1 + number / 100_000) for number in range(-2_500, 2_500)], rho, delta
    )[0]


def best(orders: list[float], rho: str, delta: str) -> tuple[float, float]:
    accountant = rdp_privacy_accountant.RdpAccountant(orders)
    accountant.compose(dp_event.ZCDpEvent(rho=float(rho)))
    return accountant.get_epsilon_and_optimal_order(float(delta))


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("delta", DELTAS)
def test_zcdp_is_never_below_the_tight_conversion_and_within_a_thousandth_of_it(delta):
    for rho in RHOS:
        ours, tight = (
            float(ZCDP(Fraction(delta)).epsilon(Cost(ENDLESS, Fraction(rho)))),
            theirs(rho, delta),
        )
        assert tight - 1e-9 <= ours <= tight * 1.001, rho


def test_every_number_of_the_conversion_is_rounded_up():
    """Against decimal arithmetic with 60 digits, whose logarithms are correctly rounded."""
    table = lines(Fraction("1e-6"))
    with localcontext() as context:
        context.prec = 60
        for order, constant in list(zip(table.orders, table.constants, strict=True))[::7]:
            alpha, given = (
                Decimal(order.numerator) / order.denominator,
                Decimal(constant.numerator) / constant.denominator,
            )
            exact = -(alpha / 10**6).ln() / (alpha - 1) + (1 - 1 / alpha).ln()
            assert exact < given < exact + Decimal("1e-29")
    for rho in RHOS:
        epsilon = ZCDP(Fraction("1e-6")).epsilon(Cost(ENDLESS, Fraction(rho)))
        assert (
            0 <= epsilon - table.least(Fraction(rho)) < Fraction("1e-12")
            and (epsilon * 10**12).denominator == 1
        )


def test_the_comparison_rejects_a_conversion_that_is_a_hundredth_too_small():
    assert not theirs("0.1", "1e-6") - 1e-9 <= 0.99 * float(
        ZCDP(Fraction("1e-6")).epsilon(Cost(ENDLESS, Fraction("0.1")))
    )


def test_a_hundred_medians_at_a_tenth_cost_less_than_one_point_eight():
    median = bounded_range(Fraction(1, 20)) + bounded_range(Fraction(1, 20))
    total = Cost(100 * median.epsilon, 100 * median.rho)
    assert Pure().epsilon(total) == 10
    assert ZCDP(Fraction("1e-6")).epsilon(total) < Fraction("1.8")


def test_zcdp_never_means_more_than_the_sum_of_the_epsilons():
    assert ZCDP(Fraction("1e-6")).epsilon(pure_draw(Fraction(1, 10))) == Fraction(1, 10)
    assert ZCDP(Fraction("1e-6")).epsilon(Cost(Fraction(0), Fraction(0))) == 0


some_rho = some.fractions(min_value=0, max_value=1_000, max_denominator=10**9)


@examples(100)
@given(some_rho, some_rho, some.sampled_from(DELTAS))
def test_more_is_never_cheaper(one, other, delta):
    accountant, (less, more) = ZCDP(Fraction(delta)), sorted((one, other))
    assert accountant.epsilon(Cost(ENDLESS, less)) <= accountant.epsilon(Cost(ENDLESS, more))


@examples(100)
@given(
    some_rho,
    some.fractions(min_value=0, max_value=20, max_denominator=1_000),
    some.sampled_from([Pure(), ZCDP(Fraction(1, 10**6))]),
)
def test_a_budget_allows_what_it_means(rho, budget, accountant):
    cost = Cost(Fraction(10), rho)
    assert accountant.allows(cost, budget) == (accountant.epsilon(cost) <= budget)


def divergence(alpha: float, high: float, low: float) -> float:
    """The Rényi divergence of two distributions on two outcomes whose log ratios are `high` and
    `low`.
    """
    chance = (1 - exp(low)) / (exp(high) - exp(low))
    return log(chance * exp(alpha * high) + (1 - chance) * exp(alpha * low)) / (alpha - 1)


ALPHAS = (1.001, 1.1, 2.0, 3.0, 10.0, 50.0)
SHARES = [number / 20 for number in range(1, 20)]


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 4.0])
def test_a_draw_of_bounded_range_has_its_rho_and_hardly_less(epsilon):
    """Log ratios span epsilon: two outcomes are the worst case (Dong, Durfee and Rogers 2020)."""
    rho = float(bounded_range(Fraction(str(epsilon))).rho)
    worst = max(
        divergence(alpha, share * epsilon, (share - 1) * epsilon) / alpha
        for alpha in ALPHAS
        for share in SHARES
    )
    assert worst <= rho
    assert epsilon > 0.5 or worst > 0.98 * rho


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 4.0])
def test_a_pure_draw_has_its_rho_and_hardly_less(epsilon):
    """Log ratios lie between -epsilon and epsilon: randomised response is the worst case, at orders
    next to 1 (Theorem 13).
    """
    rho = float(pure_draw(Fraction(str(epsilon))).rho)
    worst = max(divergence(alpha, epsilon, -epsilon) / alpha for alpha in ALPHAS)
    assert 0.998 * rho < worst <= rho


@pytest.mark.parametrize("epsilon", ["1e-9", "1/200", "1/3", "1", "12", "1000000"])
def test_the_rho_of_a_pure_draw_is_rounded_up_by_next_to_nothing(epsilon):
    """Against decimal arithmetic with 60 digits."""
    number = Fraction(epsilon)
    rho = pure_draw(number).rho
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(number.numerator) / number.denominator
        shrunk = (-exact).exp()
        least = exact * (1 - shrunk) / (1 + shrunk)
        charged = Decimal(rho.numerator) / rho.denominator
        # The least is itself good to 60 digits.
        assert least * (1 - Decimal("1e-45")) <= charged <= least + Decimal("1e-18")
    assert rho <= number**2 / 2


def test_costs_add_up_exactly():
    assert bounded_range(Fraction(1, 10)) + gaussian_draw(Fraction(1, 3)) == Cost(
        None, Fraction(1, 800) + Fraction(1, 3)
    )
    pure = pure_draw(Fraction(1, 3))
    assert bounded_range(Fraction(1, 10)) + pure == Cost(
        Fraction(13, 30), Fraction(1, 800) + pure.rho
    )


def test_gaussian_noise_has_no_pure_epsilon_and_no_sum_hides_it():
    total = gaussian_draw(Fraction(1, 200)) + pure_draw(Fraction(1, 10))
    assert total.epsilon is None
    with pytest.raises(LedgerError, match="no pure epsilon"):
        Pure().epsilon(total)
    # The sum of the epsilons would be 1/10 and say too little.
    least = lines(Fraction("1e-6")).least(total.rho)
    assert Fraction(1, 2) < least <= ZCDP(Fraction("1e-6")).epsilon(total)


@pytest.mark.parametrize(
    ("have", "want", "missing"),
    [
        (Cost(Fraction(1), Fraction(1)), Cost(None, Fraction(3)), Cost(None, Fraction(2))),
        (Cost(None, Fraction(1)), Cost(None, Fraction(3)), Cost(Fraction(0), Fraction(2))),
        (Cost(None, Fraction(3)), Cost(Fraction(9), Fraction(1)), Cost(Fraction(0), Fraction(0))),
        (
            Cost(Fraction(1), Fraction(1)),
            Cost(Fraction(3), Fraction(1)),
            Cost(Fraction(2), Fraction(0)),
        ),
    ],
)
def test_what_is_lacking_makes_up_for_all_of_it(have, want, missing):
    assert have.lacking(want) == missing


@pytest.mark.parametrize(
    "wrong",
    [
        Fraction(0),
        Fraction(1),
        Fraction("0.9998"),
        Fraction("0.0101"),
        Fraction(-1, 2),
        1e-6,
        "1e-6",
    ],
)
def test_delta_lies_between_nought_and_a_hundredth_and_is_exact(wrong):
    with pytest.raises(InputError, match="delta must be"):
        ZCDP(wrong)


def test_the_largest_delta_still_has_lines_for_every_rho():
    for rho in (Fraction(0), *map(Fraction, RHOS), Fraction(10**9)):
        assert ZCDP(Fraction("0.01")).epsilon(Cost(None, rho)) >= 0


@pytest.mark.parametrize(
    "wrong", [(Fraction(-1), Fraction(0)), (0.5, Fraction(0)), (Fraction(1), -1)]
)
def test_a_cost_is_exact_and_not_negative(wrong):
    with pytest.raises(InputError, match="must be a Fraction of at least 0"):
        Cost(*wrong)
