"""The closed forms against numbers worked out by hand, and the optima against their neighbours."""

from __future__ import annotations

from itertools import product

import pytest

from postri.errors import InputError
from postri.methods.formulas import threshold_error, whole_step
from postri.research import (
    eta,
    gamma1,
    gamma2,
    optimal_ratio,
    optimal_step,
    optimum,
    rank_lower_bound,
)

LN2, LN10 = 0.6931471805599453, 2.302585092994046
SIZES = (10, 1_000, 10**8, 45_213 * 10**8, 10**18)
EPSILONS = (1e-3, 0.01, 0.25, 1, 10, 1e3)


def test_gamma1_of_a_hundred_million_points():
    """(2/0.5) ln(10^8/0.005) = 4 ln(2*10^10)."""
    assert gamma1(0.5, 10**8, 0.005) == pytest.approx(4 * (LN2 + 10 * LN10), rel=1e-12)
    assert gamma1(2, 1_000, 0.1) == pytest.approx(4 * LN10, rel=1e-12)


def test_gamma2_of_a_step_of_four():
    """(2/0.5) ln(10^8/(4*0.005)) = 4 ln(5*10^9) = 4 (10 ln 10 - ln 2)."""
    assert gamma2(0.5, 10**8, 4, 0.005) == pytest.approx(4 * (10 * LN10 - LN2), rel=1e-12)
    assert gamma2(0.25, 10**8, 1, 0.01) == pytest.approx(80 * LN10, rel=1e-12)


def test_eta_of_a_hundred_million_points():
    """2 ln(2*10^8/0.01) = 2 ln(2*10^10)."""
    assert eta(1, 10**8, 0.01) == pytest.approx(2 * (LN2 + 10 * LN10), rel=1e-12)


def test_threshold_error_of_a_hundred_million_counts():
    """(8/0.5) (ln 10^8 + ln 400) = 16 (10 ln 10 + 2 ln 2)."""
    assert threshold_error(0.5, 10**8, 0.005) == pytest.approx(
        16 * (10 * LN10 + 2 * LN2), rel=1e-12
    )


def test_rank_lower_bound_of_one_percent():
    """ln(50)/2 = (2 ln 10 - ln 2)/2."""
    assert rank_lower_bound(2, 0.01) == pytest.approx(LN10 - LN2 / 2, rel=1e-12)


def test_optimal_step_is_two_over_epsilon_and_lipschitz():
    assert optimal_step(0.5) == 4
    assert optimal_step(0.25, 2) == 4


@pytest.mark.parametrize(
    ("epsilon2", "step"), [(0.05, 40), (0.3, 6), (0.29, 6), (1, 2), (2, 1), (100, 1)]
)
def test_a_whole_step_is_the_whole_part_and_at_least_one(epsilon2: float, step: int):
    assert whole_step(epsilon2) == step


def test_optimal_ratio_of_logarithms_that_are_four_to_one():
    """ln(10^4/0.01) = 6 ln 10, ln(10^4/(10^2.5 * 1)) = 1.5 ln 10: the root of their ratio is 2."""
    assert optimal_ratio(10**4, 10**2.5, 0.01, 1) == pytest.approx(2, rel=1e-12)
    assert optimal_ratio(10**4, 10**2.5, 0.01, 1, sensitivity2=4) == pytest.approx(1, rel=1e-12)
    assert optimal_ratio(10**8, 1, 0.01, 0.01) == 1


@pytest.mark.parametrize("epsilon2", EPSILONS)
@pytest.mark.parametrize("lipschitz", [0.5, 1, 3])
def test_no_other_step_makes_the_interval_shorter(epsilon2: float, lipschitz: float):
    def width(step: float) -> float:
        return gamma2(epsilon2, 10**12, step, 0.005) + step * lipschitz

    best = optimal_step(epsilon2, lipschitz)
    assert all(width(best * factor) > width(best) for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2))


@pytest.mark.parametrize(("size", "epsilon"), list(product(SIZES, EPSILONS)))
@pytest.mark.parametrize("sensitivity2", [1, 2])
def test_no_other_split_makes_the_interval_shorter(size: int, epsilon: float, sensitivity2: float):
    def width(ratio: float) -> float:
        epsilon2 = epsilon / (1 + ratio)
        return gamma1(epsilon - epsilon2, size, 0.001) + sensitivity2 * gamma2(
            epsilon2, size, 3, 0.02
        )

    best = optimal_ratio(size, 3, 0.001, 0.02, sensitivity2)
    assert all(width(best * factor) > width(best) for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2))


@pytest.mark.parametrize("sensitivity2", [1, 2])
@pytest.mark.parametrize(("size", "epsilon"), list(product(SIZES, EPSILONS)))
def test_the_optimum_solves_both_equations(size: int, epsilon: float, sensitivity2: float):
    found = optimum(epsilon, size, 0.005, 0.005, sensitivity2)
    assert found.epsilon1 + found.epsilon2 == pytest.approx(epsilon, rel=1e-12)
    assert found.epsilon1 / found.epsilon2 == pytest.approx(
        optimal_ratio(size, found.step, 0.005, 0.005, sensitivity2), rel=1e-9
    )
    assert found.step == min(int(2 / found.epsilon2 + 1e-9) or 1, size)
    assert 1 <= found.iterations <= 50


def test_the_optimum_is_there_at_once_where_the_step_is_one():
    assert optimum(1e3, 10**8, 0.005, 0.005).iterations == 1


def test_the_optimum_tells_its_substitutions():
    """By hand: step 1 gives eps1 = eps2 = 1/2, so step 4; that gives eps2 = 1/(1 + 1.0149...) =
    0.496..., so step 4 again.
    """
    found = optimum(1, 45_211 * 10**8, 0.005, 0.005)
    assert (found.step, found.iterations) == (4, 2)
    assert found.epsilon2 == pytest.approx(
        1 / (1 + optimal_ratio(45_211 * 10**8, 4, 0.005, 0.005)), rel=1e-12
    )


@pytest.mark.parametrize(
    ("epsilon", "epsilon1", "epsilon2", "step", "digits"),
    [
        (0.25, 0.10590844685545094, 0.14409155314454908, 13, 1e-10),
        (0.5, 0.2103551, 0.2896448, 6, 1e-7),
    ],
)
def test_a_sensitivity_of_two_gives_the_split_of_the_released_code(
    epsilon: float, epsilon1: float, epsilon2: float, step: int, digits: float
):
    """Its figures for the bank table: 45,211 rows and the domain's two ends."""
    found = optimum(epsilon, 45_213 * 10**8, 0.005, 0.005, sensitivity2=2)
    assert found.step == step
    assert (found.epsilon1, found.epsilon2) == pytest.approx((epsilon1, epsilon2), abs=digits)


ARGUMENTS = {
    gamma1: (1, 100, 0.1),
    gamma2: (1, 100, 2, 0.1),
    optimal_step: (1, 1),
    optimal_ratio: (100, 2, 0.1, 0.1, 1),
    optimum: (1, 100, 0.1, 0.1, 1),
    threshold_error: (1, 100, 0.1),
    eta: (1, 100, 0.1),
    rank_lower_bound: (1, 0.1),
}


@pytest.mark.parametrize("wrong", [0, -1, -0.5, float("nan")])
@pytest.mark.parametrize(
    ("formula", "place"),
    [(formula, place) for formula, given in ARGUMENTS.items() for place in range(len(given))],
)
def test_a_number_that_is_not_positive_is_refused(formula, place: int, wrong: float):
    given = list(ARGUMENTS[formula])
    assert formula(*given)
    given[place] = wrong
    with pytest.raises(InputError, match=f"must be positive, got {wrong}"):
        formula(*given)
