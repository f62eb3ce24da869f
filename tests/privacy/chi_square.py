"""Pearson's chi-square test of draws against exact chances, at a level that a test suite can live
with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping

import numpy as np
from scipy.stats import chi2

# A sound sampler fails one run in a million. The samples are large enough to reject 30 % less noise
# all the same.
LEVEL = 1e-6
# Cells that expect fewer draws share one: their counts are not normal.
FEWEST = 20
# How often a test looks at its draws that waits for a rejection.
LOOKS = 8


def fits(drawn: Counter[Hashable], chances: Mapping[Hashable, float]) -> bool:
    """Whether the draws could come from these chances."""
    return chance_of_worse(drawn, chances) >= LEVEL


def rejected(
    draw: Callable[[int], Counter[Hashable]], chances: Mapping[Hashable, float], most: int
) -> bool:
    """Whether so many draws at most show that these are not their chances; once they do, no more
    are drawn.

    Each look at a sound sampler rejects it once in a million times, so all of them eight times.
    """
    found: Counter[Hashable] = Counter()
    for _ in range(LOOKS):
        found += draw(most // LOOKS)
        if not fits(found, chances):
            return True
    return False


def chance_of_worse(drawn: Counter[Hashable], chances: Mapping[Hashable, float]) -> float:
    """The p-value; 0 where something was drawn that has no chance."""
    if not drawn.keys() <= chances.keys():
        return 0.0
    expected = np.array([drawn.total() * chance for chance in chances.values()])
    seen = np.array([drawn[outcome] for outcome in chances])
    rare = expected < FEWEST
    group = np.where(rare, 0, np.arange(1, len(expected) + 1))
    if expected[rare].sum() < FEWEST and not rare.all():
        # Even together they expect too few: they join the least of the others.
        group[rare] = group[~rare][expected[~rare].argmin()]
    expected, seen = (
        np.bincount(group, weights=each)[np.unique(group)] for each in (expected, seen)
    )
    statistic = float(((seen - expected) ** 2 / expected)[expected > 0].sum())
    return float(chi2.sf(statistic, max(1, len(expected) - 1)))
