"""The baseline: Sun, Dong and Yi, "Confidence Intervals for Private Query Processing" (VLDB 2023),
for the median.

Each end of the interval is drawn on its own, at a rank that lies a bound below or above the middle;
the median is the interval's middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log

import numpy as np

from postri.cost import Cost, bounded_range
from postri.errors import InputError
from postri.exact import Number, exact, plain
from postri.grid import Grid
from postri.mechanisms.coins import Coins, below
from postri.mechanisms.noisy_max import noisy_max
from postri.methods.method import QuantileTerms, Span
from postri.methods.published import (
    HALF,
    MOST_POINTS,
    PATIENCE,
    UNIT,
    Published,
    Ranks,
    Steps,
    Tieless,
    size_of,
)
from postri.privacy import Spend
from postri.window import Windows


@dataclass(frozen=True)
class Sun2023(Published):
    """Both ends by the exponential mechanism, each with eps/2, at the ranks n/2 - tau and n/2 +
    tau, tau = (constant/eps) ln(2N/beta).

    `constant` is 8 in the code that PostRI was compared with, 9 in the paper of 2023, and 4
    suffices by the textbook's tail bound. Median only, one replaced row, n public, and the promise
    needs tau rows on both sides of the middle. A cell that is null or cannot be read counts as the
    domain's lower end, so that n is the number of rows. Use `depth` for answers to rely on.

    `as_released` repeats two slips of the code whose figures were published: both targets lie two
    ranks too high, and above its target the weight of each gap between two rows goes to the gap
    after it. That is not differentially private any more, so it takes seeded coins.
    """

    constant: Number = 8
    as_released: bool = False

    def __post_init__(self) -> None:
        constant = exact(self.constant, "constant")
        if constant <= 0:
            raise InputError(f"constant must be positive, got {plain(constant)}")

    @property
    def name(self) -> str:
        """How answers and the command line call it."""
        name = "sun2023"
        constant = exact(self.constant, "constant")
        if constant != 8:
            name += f"-{plain(constant)}"
        if self.as_released:
            name += "-as-released"
        return name

    def tau(self, terms: QuantileTerms, size: int) -> Fraction:
        """How far from the middle the ends are aimed, in rows."""
        constant = exact(self.constant, "constant")
        rows = constant / terms.spend.epsilon * Fraction(log(2 * size / terms.beta))
        if self.as_released:
            return Fraction(int(rows))
        return rows

    def half(self, terms: QuantileTerms, grid: Grid) -> int:
        """The rows that hold both targets and what a draw may be off."""
        self.check(terms, grid)
        noise = 4 / terms.spend.epsilon * Fraction(PATIENCE)
        return ceil(self.tau(terms, MOST_POINTS) + noise)

    def draw(self, windows: Windows, terms: QuantileTerms, grid: Grid, coins: Coins) -> Span:
        """Each end costs half of epsilon; the middle costs nothing more."""
        draw_end = _end
        if self.as_released:
            if coins.private:
                raise InputError(
                    "Sun2023(as_released=True) repeats slips that break its privacy; it draws "
                    "with coins=SeededCoins(seed) alone"
                )
            draw_end = _end_as_released
        n = windows(0).n
        tau = self.tau(terms, size_of(n, grid))
        # Each end has half of epsilon and a utility of sensitivity 1.
        rate = terms.spend.epsilon / (4 * UNIT)
        one = draw_end(windows, grid, n * HALF - tau, rate, coins)
        other = draw_end(windows, grid, n * HALF + tau, rate, coins)
        return between(one, other, Tieless.of(windows(0), grid), terms)

    def cost(self, terms: QuantileTerms) -> Cost:
        """Two draws of the exponential mechanism."""
        end = bounded_range(terms.spend.epsilon / 2)
        return end + end


def between(one: int, other: int, seen: Tieless, terms: QuantileTerms) -> Span:
    """The interval between two drawn positions, with its middle as the value."""
    low, high = sorted((seen.index(one), seen.index(other)))
    spend = Spend(Fraction(0), terms.spend.epsilon)
    return Span(Fraction(low + high, 2), low, high, spend)


def _end(windows: Windows, grid: Grid, target: Fraction, rate: Fraction, coins: Coins) -> int:
    ranks = Ranks.near(target, windows, grid)
    return noisy_max(ranks, rate=rate, noise="gumbel", coins=coins).copy


def _end_as_released(
    windows: Windows, grid: Grid, target: Fraction, rate: Fraction, coins: Coins
) -> int:
    """An end as the released code draws it, from the runs that the window shows."""
    gaps = Ranks.near(target, windows, grid)
    # The first slip: two ranks too high.
    aim = floor(target) + 2
    seen = Tieless.of(windows(0), grid)
    ranks = seen.below + np.searchsorted(seen.positions, gaps.starts, side="right")
    under = np.flatnonzero(gaps.known & (ranks < aim))
    over = np.flatnonzero(gaps.known & (ranks >= aim))
    over = over[over > 0]
    # The target itself is one candidate more, at the row that begins its gap.
    row = over[:1]
    starts = np.concatenate((gaps.starts[under], gaps.starts[over - 1], gaps.starts[row]))
    ends = np.concatenate((gaps.ends[under], gaps.ends[over - 1], gaps.starts[row]))
    misses = np.abs(np.concatenate((ranks[under], ranks[over], ranks[row])) - aim)
    known = np.ones(len(starts), dtype=bool)
    runs = _Misplaced(starts, ends, -UNIT * misses, known)
    won = noisy_max(runs, rate=rate, noise="gumbel", coins=coins)
    if not len(under) <= won.run < len(under) + len(over):
        return won.copy
    # The second: a gap above the target was drawn by the weight of the one before it.
    gap = over[won.run - len(under)]
    return int(gaps.starts[gap]) + 1 + below(coins.draw(), ("place",), int(gaps.sizes[gap]))


class _Misplaced(Steps):
    """Gaps, some with the weight of the one before; all are known."""

    def open(self, j: int) -> _Misplaced:
        raise AssertionError("every run is known")
