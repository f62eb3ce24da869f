"""The forecast: how far an interval will reach, from public numbers alone.

On smooth data (no value holds many rows, no gap at the quantile) the counts around the drawn value
grow in proportion to the distance, and everything scales: in units of the chain's noise, the mean
reach is one number. It is computed here from the chain's own scores.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, log, log10

import numpy as np

from postri.answer import Plan
from postri.domain import Domain
from postri.errors import InputError
from postri.exact import plain
from postri.methods.depth import Depth
from postri.methods.method import Question
from postri.privacy import split_spend

# On a default domain every octave has the same weight, whatever its size: 128 of them compete with
# the data's own.
DEFAULT_CHOICES, DEFAULT_POINTS = 128, 2**64
HUGE = 10**300
PHASES, ERRORS, NODES = 12, 16, 48


def reach_in_rows(question: Question, method: Depth) -> float:
    """How many rows the interval reaches to each side of the target rank on average, on smooth
    data.
    """
    return 1 + _float(method.chain(question).scale) * _mean_reach(
        method, question.beta, _error_ratio(question)
    )


def rows_needed(question: Question, method: Depth, domain: Domain | None) -> int:
    """About how many rows it takes before value and interval stay off the domain's edges."""
    value, chain = method.value_step(question), method.chain(question)
    choices, points = (
        (DEFAULT_CHOICES, DEFAULT_POINTS) if domain is None else (domain.points, domain.points)
    )
    value_rows = _float(value.scale) * (log(choices) + 3)
    # Past the data the depth stays where it is while the links' bonus goes on growing, to the edge.
    bonus = log(points) / log(method.growth) * log(1 + 1 / method.weight)
    chain_rows = 1 + _float(chain.scale) * (float(chain.log_odds) + bonus)
    return ceil(
        Fraction(max(value_rows, chain_rows, reach_in_rows(question, method)))
        / min(question.p, 1 - question.p)
    )


def epsilon_for(reach_rows: float, question: Question, method: Depth) -> Fraction:
    """The epsilon whose interval reaches so many rows, at the split of the question; rounded up to
    three digits.
    """
    share = question.spend.interval / question.spend.epsilon
    noise = _mean_reach(method, question.beta, _error_ratio(question))
    exact = 2 * _float(question.sensitivity) * noise / ((reach_rows - 1) * float(share))
    digits = 2 - int(np.floor(log10(exact)))
    return Fraction(ceil(Fraction(exact) * Fraction(10) ** digits)) / Fraction(10) ** digits


def _error_ratio(question: Question) -> float:
    """The noise scale of the value in units of the interval's: the released value is off by about
    so much.
    """
    return _float(question.spend.interval / question.spend.value)


def _float(number: Fraction) -> float:
    """The number, or one that is large enough."""
    return float(number if number < HUGE else HUGE)


@lru_cache(maxsize=256)
def _mean_reach(method: Depth, beta: Fraction, error_ratio: float) -> float:
    """The mean reach in units of the chain's noise scale: over the chain's phase, the value's error
    and the chain's noise.
    """
    gumbel = method.noise == "gumbel"
    odds = (
        (beta.denominator - beta.numerator, beta.numerator)
        if gumbel
        else (beta.denominator, 2 * beta.numerator)
    )
    threshold = log(method.weight * odds[0]) - log(odds[1])
    growth, ratio = float(method.growth), log(1 + 1 / method.weight)
    links = np.arange(-40, 60)
    errors = -error_ratio * np.log(1 - (np.arange(ERRORS) + 0.5) / ERRORS)
    total = 0.0
    for phase in (np.arange(PHASES) + 0.5) / PHASES:
        reaches = threshold * growth ** (links + phase) / 4
        for error in errors:
            depths = reaches - error
            before = np.concatenate(([-np.inf], depths[:-1]))
            scores = (
                -np.maximum(np.maximum(threshold - depths, before - threshold), 0) + links * ratio
            )
            total += float((_gumbel_chances(scores) if gumbel else _chances(scores)) @ reaches)
    return total / (PHASES * ERRORS)


def _chances(scores: np.ndarray) -> np.ndarray:
    """Each link's chance to win with exponential noise: q_i times the integral over [0, 1] of the
    others' 1 - q_j y.
    """
    weights = np.exp(scores - scores.max())
    nodes, masses = _nodes()
    factors = 1 - weights[:, None] * (nodes + 1) / 2
    chances = weights * ((factors.prod(axis=0) / factors) @ (masses / 2))
    return np.asarray(chances / chances.sum())


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    nodes, masses = np.polynomial.legendre.leggauss(NODES)
    return nodes, masses


def _gumbel_chances(scores: np.ndarray) -> np.ndarray:
    """The same with Gumbel noise: in proportion to the exponentials."""
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def forecast(
    question: Question,
    method: Depth,
    *,
    rows: int,
    groups: int,
    domain: Domain | None,
    reach: Fraction | None,
) -> Plan:
    """The plan for so many rows; with a reach, the epsilon that it takes."""
    each = rows // groups
    if reach is not None:
        if each * reach <= 2:
            raise InputError(
                f"reach {plain(reach)} of {each:,} rows is less than two rows; ask for more "
                f"than {plain(Fraction(2, max(each, 1)))}"
            )
        share = question.spend.value / question.spend.epsilon
        epsilon = epsilon_for(_float(each * reach), question, method)
        question = replace(question, spend=split_spend(epsilon, share))
    return Plan(
        rows=rows,
        epsilon=question.spend.epsilon,
        reach=float(Fraction(reach_in_rows(question, method)) / max(each, 1)),
        p=question.p,
        confidence=float(1 - question.beta),
        protect=question.protect,
        groups=groups,
        rows_needed=rows_needed(question, method, domain),
    )
