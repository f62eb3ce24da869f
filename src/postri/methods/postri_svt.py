"""PostRI with its half-width found by a sparse-vector walk: the variant that the paper argues
against, so that its claim can be tested.
"""

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
from postri.methods.method import ALL_ROWS, QuantileTerms
from postri.methods.postri import MedianFirst, Setting
from postri.methods.published import Tieless, distinct, reach_numbers
from postri.window import Windows


@dataclass(frozen=True)
class PostRISVT(MedianFirst):
    """PostRI with the half-width found by AboveThreshold.

    It walks the half-widths s, 2s, 3s, ... and stops at the first whose count f(b) reaches gamma1
    plus AboveThreshold's own error bound. What PostRI's promise needs, this one needs as well.
    """

    @property
    def name(self) -> str:
        """How answers and the command line call it."""
        if self.split == "default":
            return "postri-svt"
        return f"postri-svt-{self._split_name}"

    def half(self, terms: QuantileTerms, grid: Grid) -> int:
        """Every row: the walk may go on to the edge of the domain."""
        self.check(terms, grid)
        return ALL_ROWS

    def cost(self, terms: QuantileTerms) -> Cost:
        """A draw and a walk: no more than one draw of the whole epsilon, however it is split."""
        return pure_draw(terms.spend.epsilon)

    def _number(
        self, windows: Windows, grid: Grid, position: int, setting: Setting, coins: Coins
    ) -> int:
        seen = Tieless.of(windows(0), grid)
        most = max(1, seen.size // setting.step)
        # Half-widths between two of these hold the same rows: they form a run of equal counts.
        reached = reach_numbers(seen, position, setting.step)
        starts = distinct(np.concatenate(([1], reached[reached <= most])))
        sizes = np.diff(np.concatenate((starts, [most + 1])))
        counts = np.searchsorted(reached, starts, side="right")

        epsilon = setting.spend.interval
        own_error = threshold_error(float(epsilon), most, setting.beta)
        stop = above_threshold(
            counts,
            sizes,
            ceil(setting.gamma1 + own_error),
            epsilon=epsilon,
            sensitivity=Fraction(1),
            coins=coins,
        )
        if stop is None:
            return most
        run, place = stop
        return int(starts[run]) + place
