"""The baseline of Sun, Dong and Yi with both ends found by sparse-vector walks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from postri.cost import Cost, pure_draw
from postri.grid import Grid
from postri.mechanisms.above_threshold import above_threshold
from postri.mechanisms.coins import Coins
from postri.methods.formulas import threshold_error
from postri.methods.method import ALL_ROWS, QuantileTerms, Span
from postri.methods.published import HALF, Published, Tieless, distinct
from postri.methods.sun2023 import between
from postri.window import Indexes, Windows


@dataclass(frozen=True)
class Sun2023SVT(Published):
    """Both ends by AboveThreshold, each with eps/2: a walk from the lower edge stops where the rank
    reaches n/2 - tau, one from the upper.

    tau is AboveThreshold's own error bound over all positions, so each walk stops before the middle
    with probability 1 - beta/2. Median only, one replaced row, n public, and the promise needs more
    than tau rows on both sides. A cell that is null or cannot be read counts as the domain's lower
    end, so that n is the number of rows. Use `depth` for answers to rely on.
    """

    @property
    def name(self) -> str:
        """How answers and the command line call it."""
        return "sun2023-svt"

    def half(self, terms: QuantileTerms, grid: Grid) -> int:
        """Every row: the walks begin at the edges of the domain."""
        self.check(terms, grid)
        return ALL_ROWS

    def draw(self, windows: Windows, terms: QuantileTerms, grid: Grid, coins: Coins) -> Span:
        """Each end costs half of epsilon; the middle costs nothing more."""
        seen = Tieless.of(windows(0), grid)
        epsilon = terms.spend.epsilon / 2
        tau = threshold_error(float(epsilon), seen.last + 1, float(terms.beta / 2))
        threshold = ceil(seen.n * HALF - Fraction(tau))
        low = _first_above(seen.positions, seen.last, threshold, epsilon, coins)
        # The same walk from the other edge, over positions counted from there.
        mirrored = seen.last - seen.positions[::-1]
        high = seen.last - _first_above(mirrored, seen.last, threshold, epsilon, coins)
        return between(low, high, seen, terms)

    def cost(self, terms: QuantileTerms) -> Cost:
        """Two walks."""
        walk = pure_draw(terms.spend.epsilon / 2)
        return walk + walk


def _first_above(
    positions: Indexes, last: int, threshold: int, epsilon: Fraction, coins: Coins
) -> int:
    """The first position whose rank reaches the threshold by its noise; the last position if none
    does.
    """
    # Ranks change at rows alone: the positions between two rows are a run of equal counts.
    starts = distinct(np.concatenate(([0], positions)))
    counts = np.searchsorted(positions, starts, side="right")
    sizes = np.diff(np.concatenate((starts, [last + 1])))
    stop = above_threshold(
        counts, sizes, threshold, epsilon=epsilon, sensitivity=Fraction(1), coins=coins
    )
    if stop is None:
        return last
    run, place = stop
    return int(starts[run]) + place
