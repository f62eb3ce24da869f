"""Private counts, and what every answer with additive noise shares: pure functions of counted rows,
public numbers and coins.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from postri.answer import Answer
from postri.answer.drawn import Drawn, Noisy
from postri.mechanisms.coins import Coins
from postri.mechanisms.laplace import discrete_laplace
from postri.noise import DiscreteLaplace
from postri.privacy import ProtectedChange, Spend, moved_rows

LAPLACE = "discrete-laplace"


@dataclass(frozen=True)
class Ask:
    """One question in each of some groups, which share its epsilon: public numbers only."""

    epsilon: Fraction
    beta: Fraction
    confidence: Fraction
    protect: ProtectedChange
    groups: int = 1
    notes: tuple[str, ...] = ()


def count_answer(n: int, ask: Ask, coins: Coins) -> Answer:
    """The number of rows."""
    return released("count", noisy_count(n, ask, ask.epsilon, coins), ask, coins)


def noisy_count(n: int, ask: Ask, epsilon: Fraction, coins: Coins) -> Noisy:
    """The number of rows with noise; there is no negative one."""
    noise = count_noise(ask, epsilon)
    return Noisy(n + discrete_laplace(noise, coins), Fraction(1), noise, negative=False)


def count_noise(ask: Ask, epsilon: Fraction) -> DiscreteLaplace:
    """The noise of a number of rows: it follows from public numbers."""
    return DiscreteLaplace(moved_rows(ask.protect, ask.groups) / epsilon)


def released(statistic: str, drawn: Drawn, ask: Ask, coins: Coins) -> Answer:
    """What was drawn, as an answer. Its interval costs nothing."""
    return Answer(
        value=drawn.value,
        interval=drawn.interval(ask.beta),
        confidence=float(ask.confidence),
        spend=Spend(ask.epsilon, Fraction(0)),
        protect=ask.protect,
        method=LAPLACE,
        private=coins.private,
        notes=ask.notes,
        statistic=statistic,
        drawn=drawn,
    )
