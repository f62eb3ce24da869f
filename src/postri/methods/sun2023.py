"""The baseline:

Sun, Dong and Yi, "Confidence Intervals for Private Query Processing" (VLDB 2023), for the median.

Each end of the interval is drawn on its own, at a rank that lies a bound below or above the middle;
the median is the interval's middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log

import numpy as np

from postri.errors import InputError
from postri.exact import Number, exact, plain
from postri.grid import Grid
from postri.mechanisms.above_threshold import above_threshold
from postri.mechanisms.coins import Coins, below
from postri.mechanisms.noisy_max import noisy_max
from postri.methods.formulas import threshold_error
from postri.methods.method import Question, Span
from postri.methods.postri import HALF, check_question
from postri.methods.tieless import (
    MOST_POINTS,
    PATIENCE,
    UNIT,
    Ranks,
    Steps,
    Tieless,
    distinct,
    size_of,
)
from postri.privacy import Spend
from postri.research.subject import ALL_ROWS
from postri.window import Indexes, Windows


@dataclass(frozen=True)
class Sun2023:
    """Both ends by the exponential mechanism, each with eps/2, at the ranks n/2 - tau and n/2 +
    tau, tau = (constant/eps) ln(2N/beta).

    `constant` is 8 in the code that PostRI was compared with, 9 in the paper of 2023, and 4
    suffices by the textbook's tail bound. Median only, one replaced row, n public, and the promise
    needs tau rows on both sides of the middle. Use `depth` for answers to rely on.

    `as_released` repeats two slips of the code whose figures were published: both targets lie two
    ranks too high, and above its target the weight of each gap between two rows goes to the gap
    after it. That is not differentially private any more, so it takes seeded coins.
    """

    constant: Number = 8
    as_released: bool = False

    def __post_init__(self) -> None:
        if exact(self.constant, "constant") <= 0:
            raise InputError(
                f"constant must be positive, got {plain(exact(self.constant, 'constant'))}"
            )

    @property
    def name(self) -> str:
        """How answers call it."""
        constant = exact(self.constant, "constant")
        return (
            "sun2023"
            + ("" if constant == 8 else f"-{plain(constant)}")
            + ("-as-released" if self.as_released else "")
        )

    def tau(self, question: Question, size: int) -> Fraction:
        """How far from the middle the ends are aimed, in rows."""
        rows = (
            exact(self.constant, "constant")
            / question.spend.epsilon
            * Fraction(log(2 * size / question.beta))
        )
        return Fraction(int(rows)) if self.as_released else rows

    def half(self, question: Question, grid: Grid) -> int:
        """The rows that hold both targets and what a draw may be off."""
        check_question(question, grid, self.name)
        return ceil(
            self.tau(question, MOST_POINTS) + 4 / question.spend.epsilon * Fraction(PATIENCE)
        )

    def draw(self, windows: Windows, question: Question, grid: Grid, coins: Coins) -> Span:
        """Each end costs half of epsilon; the middle costs nothing more."""
        if self.as_released and coins.private:
            raise InputError(
                "Sun2023(as_released=True) repeats slips that break its privacy; it draws "
                "with coins=SeededCoins(seed) alone"
            )
        n = windows(0).n
        tau, rate = self.tau(question, size_of(n, grid)), question.spend.epsilon / (4 * UNIT)
        end = _end_as_released if self.as_released else _end
        return _interval(
            [end(windows, grid, n * HALF + side * tau, rate, coins) for side in (-1, 1)],
            windows,
            question,
            grid,
        )


@dataclass(frozen=True)
class Sun2023SVT:
    """Both ends by AboveThreshold, each with eps/2: a walk from the lower edge stops where the rank
    reaches n/2 - tau, one from the upper.

    tau is AboveThreshold's own error bound over all positions, so each walk stops before the middle
    with probability 1 - beta/2. Median only, one replaced row, n public, and the promise needs more
    than tau rows on both sides. Use `depth` for answers to rely on.
    """

    @property
    def name(self) -> str:
        """How answers call it."""
        return "sun2023-svt"

    def half(self, question: Question, grid: Grid) -> int:
        """Every row: the walks begin at the edges of the domain."""
        check_question(question, grid, self.name)
        return ALL_ROWS

    def draw(self, windows: Windows, question: Question, grid: Grid, coins: Coins) -> Span:
        """Each end costs half of epsilon; the middle costs nothing more."""
        seen = Tieless.of(windows(0), grid)
        epsilon = question.spend.epsilon / 2
        tau = threshold_error(float(epsilon), seen.last + 1, float(question.beta / 2))
        threshold = ceil(seen.n * HALF - Fraction(tau))
        low = _first_above(seen.positions, seen.last, threshold, epsilon, coins)
        high = seen.last - _first_above(
            seen.last - seen.positions[::-1], seen.last, threshold, epsilon, coins
        )
        return _interval([low, high], windows, question, grid)


def _interval(ends: list[int], windows: Windows, question: Question, grid: Grid) -> Span:
    seen = Tieless.of(windows(0), grid)
    low, high = sorted(seen.index(end) for end in ends)
    return Span(Fraction(low + high, 2), low, high, Spend(Fraction(0), question.spend.epsilon))


def _end(windows: Windows, grid: Grid, target: Fraction, rate: Fraction, coins: Coins) -> int:
    return noisy_max(Ranks.near(target, windows, grid), rate=rate, noise="gumbel", coins=coins).copy


def _first_above(
    positions: Indexes, last: int, threshold: int, epsilon: Fraction, coins: Coins
) -> int:
    """The first position whose rank reaches the threshold by its noise; the last position if none
    does.
    """
    starts = distinct(np.concatenate(([0], positions)))
    counts = np.searchsorted(positions, starts, side="right")
    sizes = np.diff(np.concatenate((starts, [last + 1])))
    stop = above_threshold(
        counts, sizes, threshold, epsilon=epsilon, sensitivity=Fraction(1), coins=coins
    )
    return last if stop is None else int(starts[stop[0]]) + stop[1]


def _end_as_released(
    windows: Windows, grid: Grid, target: Fraction, rate: Fraction, coins: Coins
) -> int:
    """An end as the released code draws it, from the runs that the window shows."""
    gaps, aim = Ranks.near(target, windows, grid), floor(target) + 2
    seen = Tieless.of(windows(0), grid)
    ranks = seen.below + np.searchsorted(seen.positions, gaps.starts, side="right")
    under, over = (np.flatnonzero(gaps.known & side) for side in (ranks < aim, ranks >= aim))
    over = over[over > 0]
    # The target itself is one candidate more, at the row that begins its gap.
    starts = np.concatenate((gaps.starts[under], gaps.starts[over - 1], gaps.starts[over[:1]]))
    ends = np.concatenate((gaps.ends[under], gaps.ends[over - 1], gaps.starts[over[:1]]))
    scores = -UNIT * np.abs(np.concatenate((ranks[under], ranks[over], ranks[over[:1]])) - aim)
    won = noisy_max(
        _Misplaced(starts, ends, scores, np.ones(len(starts), dtype=bool)),
        rate=rate,
        noise="gumbel",
        coins=coins,
    )
    if not len(under) <= won.run < len(under) + len(over):
        return won.copy
    gap = over[won.run - len(under)]
    return int(gaps.starts[gap]) + 1 + below(coins.draw(), ("place",), int(gaps.sizes[gap]))


class _Misplaced(Steps):
    """Gaps, some with the weight of the one before; all are known."""

    def open(self, j: int) -> _Misplaced:
        raise AssertionError("every run is known")
