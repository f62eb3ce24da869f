"""Private means: a pure function of a total on a grid, public numbers and coins.

The sum of the distances from the middle of the domain is half as sensitive as the sum: half of
epsilon goes to it, half to the number of rows.
"""

from __future__ import annotations

from postri.answer import Answer
from postri.answer.drawn import NoisyMean
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.statistics.count import Ask, noisy_count, released
from postri.statistics.sum import noisy_sum


def mean_answer(n: int, indexes: int, grid: Grid, ask: Ask, coins: Coins) -> Answer:
    """The mean of n cells whose grid indexes have this sum."""
    lower, upper = (grid.base + end * grid.step for end in (grid.first, grid.last))
    half = ask.epsilon / 2
    total = noisy_sum(n, indexes, grid, (lower + upper) / 2, ask, half, coins)
    return released(
        "mean",
        NoisyMean(total, noisy_count(n, ask, half, coins), lower, upper, grid.step),
        ask,
        coins,
    )
