"""The closed forms of the PostRI paper, each named by its equation.

Logarithms are natural; both sensitivities are 1 unless given.

`size` is the number of points of the grid in use: the expanded one, n*N, where ties were removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

from postri.errors import InputError
from postri.exact import shown


def gamma1(epsilon1: float, size: float, beta1: float) -> float:
    """How far the rank of the drawn median may be off, with probability 1 - beta1 (Eq. 3).

    It is (2/eps1) ln(N/beta1).

    >>> round(gamma1(0.5, 10**8, 0.005), 2)
    94.88
    """
    _check(epsilon1=epsilon1, size=size, beta1=beta1)
    return 2 / epsilon1 * log(size / beta1)


def gamma2(epsilon2: float, size: float, step: float, beta2: float) -> float:
    """How far the chosen interval may miss its aim, in rows, with probability 1 - beta2 (Eq. 4).

    It is (2/eps2) ln(N/(s*beta2)).

    >>> round(gamma2(0.5, 10**8, 4, 0.005), 2)
    89.33
    """
    _check(epsilon2=epsilon2, size=size, step=step, beta2=beta2)
    return 2 / epsilon2 * log(size / (step * beta2))


def optimal_step(epsilon2: float, lipschitz: float = 1.0) -> float:
    """The step between candidates that makes the interval shortest (Eq. 7): s = 2/(eps2*L).

    Methods take its whole part, at least 1.

    >>> optimal_step(0.5)
    4.0
    """
    _check(epsilon2=epsilon2, lipschitz=lipschitz)
    return 2 / (epsilon2 * lipschitz)


def optimal_ratio(
    size: float, step: float, beta1: float, beta2: float, sensitivity2: float = 1.0
) -> float:
    """The ratio eps1/eps2 that makes the interval shortest (Eq. 6): sqrt(ln(N/beta1) /
    ln(N/(s*beta2))).

    The paper's interval step has sensitivity 1. With another one, the second logarithm counts
    `sensitivity2` times.

    >>> round(optimal_ratio(10**8, 4, 0.005, 0.005), 3)
    1.031
    """
    _check(size=size, step=step, beta1=beta1, beta2=beta2, sensitivity2=sensitivity2)
    return sqrt(log(size / beta1) / (sensitivity2 * log(size / (step * beta2))))


@dataclass(frozen=True)
class Optimum:
    """The split and the step that solve Eq. 6 and Eq. 7 at once, and how many substitutions that
    took.
    """

    epsilon1: float
    epsilon2: float
    step: int
    iterations: int


def optimum(
    epsilon: float, size: float, beta1: float, beta2: float, sensitivity2: float = 1.0
) -> Optimum:
    """Substitute the optimal split (Eq. 6) and the optimal step (Eq. 7) into each other until both
    stand still (Section 3.3).

    A larger step makes eps2 smaller, which makes the step larger: from the smallest step on the
    steps only grow. They stay below the size of the grid, so they come to a stand.

    >>> optimum(1, 45_211 * 10**8, 0.005, 0.005).iterations
    2
    """
    _check(epsilon=epsilon)
    step = 1
    iterations = 0
    while True:
        iterations += 1
        epsilon2 = epsilon / (1 + optimal_ratio(size, step, beta1, beta2, sensitivity2))
        following = min(whole_step(epsilon2), max(1, int(size)))
        if following == step:
            return Optimum(epsilon - epsilon2, epsilon2, step, iterations)
        step = following


def whole_step(epsilon2: float) -> int:
    """The optimal step as a whole number: its whole part, at least 1."""
    # The released code computes the same from floats: 2/0.05 may come out as 39.999..., which is
    # 40.
    return max(1, int(optimal_step(epsilon2) + 1e-9))


def threshold_error(epsilon: float, counts: float, beta: float) -> float:
    """How far AboveThreshold may be off over K `counts`, with probability 1 - beta.

    It is (8/eps)(ln K + ln(2/beta)), by Theorem 3.24 of Dwork and Roth, "The Algorithmic
    Foundations of Differential Privacy".

    >>> round(threshold_error(0.5, 10**8, 0.005), 1)
    390.6
    """
    _check(epsilon=epsilon, counts=counts, beta=beta)
    return 8 / epsilon * (log(counts) + log(2 / beta))


def eta(epsilon: float, size: float, beta: float) -> float:
    """The unit of the paper's utility analysis (Appendix B): (2/eps) ln(2N/beta).

    >>> round(eta(1, 10**8, 0.01), 2)
    47.44
    """
    _check(epsilon=epsilon, size=size, beta=beta)
    return 2 / epsilon * log(2 * size / beta)


def rank_lower_bound(epsilon: float, beta: float) -> float:
    """How many rows an end must lie from the target rank (the median of its draws), for any method
    that is private and covers always.

    That is ln(1/(2 beta))/eps under one replaced row; docs/theory.md has the proof.

    >>> round(rank_lower_bound(1, 0.01), 1)
    3.9
    """
    _check(epsilon=epsilon, beta=beta)
    return log(1 / (2 * beta)) / epsilon


def _check(**numbers: float) -> None:
    for name, number in numbers.items():
        if not number > 0:
            raise InputError(f"{name} must be positive, got {shown(number)}")
