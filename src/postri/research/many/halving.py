"""Recursive halving: Kaplan, Schnapp and Stemmer, "Differentially Private Approximate Quantiles"
(ICML 2022).

The middle one of m quantiles is drawn by the exponential mechanism, the rows are split at it, and
both halves of the quantiles are drawn in the same way from the rows of their side. A row takes part
in one draw a level, so every draw gets epsilon divided by the number of levels.

One added or removed row moves a count by 1 and the target rank p*n by p, so a utility by at most
max(p, 1 - p). The draws are exact, so the values are epsilon-private. They have no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from postri.mechanisms.coins import Coins
from postri.mechanisms.noisy_max import noisy_max
from postri.methods.published import Steps
from postri.methods.scores import Step, over_target
from postri.privacy import AddOrRemoveRows
from postri.research.many.positions import Positions

ONE_ROW = AddOrRemoveRows(1)


def halved(rows: Positions, ps: Sequence[Fraction], epsilon: Fraction, coins: Coins) -> list[int]:
    """A candidate for each of some rising quantiles; all of them cost epsilon together."""
    return _halved(rows, ps, epsilon / levels(len(ps)), coins)


def levels(quantiles: int) -> int:
    """How many draws a row takes part in at most.

    The larger part of m - 1 quantiles has m // 2 of them. The paper says log2(m) + 1, which is no
    less.
    """
    return quantiles.bit_length()


def _halved(rows: Positions, ps: Sequence[Fraction], epsilon: Fraction, coins: Coins) -> list[int]:
    if not ps:
        return []
    middle = len(ps) // 2
    p = ps[middle]
    candidate = _draw(rows, p, epsilon, coins)
    below, above = rows.split(candidate)
    # What share of the rows of its side lies below each of the others.
    smaller = [each / p for each in ps[:middle]]
    larger = [(each - p) / (1 - p) for each in ps[middle + 1 :]]
    return [
        *_halved(below, smaller, epsilon, coins),
        candidate,
        *_halved(above, larger, epsilon, coins),
    ]


def _draw(rows: Positions, p: Fraction, epsilon: Fraction, coins: Coins) -> int:
    """One quantile by the exponential mechanism with the utility -|R(y) - p*n|."""
    step = Step(p, ONE_ROW.sensitivity(p), epsilon)
    return noisy_max(_runs(rows, p), rate=step.rate, noise="gumbel", coins=coins).copy


@dataclass(frozen=True, eq=False)
class _Seen(Steps):
    """Runs of which nothing is hidden."""

    def open(self, j: int) -> _Seen:
        raise AssertionError(f"run {j} has a known score")


def _runs(rows: Positions, p: Fraction) -> _Seen:
    """All candidates, those of one rank in one run."""
    ranks = np.flatnonzero(rows.sizes)
    starts = rows.starts[ranks]
    return _Seen(
        starts=starts,
        ends=starts + rows.sizes[ranks] - 1,
        scores=-np.abs(over_target(ranks, rows.n, p, 0)),
        known=np.ones(len(ranks), dtype=bool),
    )
