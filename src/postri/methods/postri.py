"""PostRI as published: a median by the exponential mechanism, then a half-width around it by a
second one.

The docstrings name the equations of the paper, "Interpreting the Error of Differentially Private
Median Queries through Randomization Intervals" (2026). The method is kept as published, with its
defects: docs/published-methods.md lists them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal

import numpy as np

from postri.errors import InputError
from postri.exact import Number, exact, shown
from postri.grid import Grid
from postri.mechanisms.above_threshold import above_threshold
from postri.mechanisms.coins import Coins
from postri.mechanisms.noisy_max import noisy_max
from postri.methods.formulas import Optimum, gamma1, gamma2, optimum, threshold_error, whole_step
from postri.methods.method import Question, Span
from postri.methods.tieless import (
    MOST_POINTS,
    PATIENCE,
    UNIT,
    Ranks,
    Tieless,
    Widths,
    distinct,
    reach_numbers,
    size_of,
)
from postri.privacy import ReplaceRows, Spend, check_share, split_spend
from postri.research.subject import ALL_ROWS
from postri.window import Windows

Split = Literal["default", "optimal", "median-focused"] | Number

HALF = Fraction(1, 2)
SPLITS = {"default": Fraction(1, 2), "median-focused": Fraction(9, 10)}
# An optimal split is irrational: it is taken to so many parts of epsilon.
PARTS = 1 << 30


@dataclass(frozen=True)
class Setting:
    """The public numbers of one run: both budgets, the beta of each, the step, the two error
    bounds, the substitutions of the split.
    """

    spend: Spend
    beta: float
    step: int
    gamma1: float
    gamma2: float
    iterations: int

    @property
    def aim(self) -> Fraction:
        """How many rows the half-width is to hold on each side: gamma1 + gamma2 + s*L, with L = 1
        (Eq. 5).
        """
        return Fraction(self.gamma1) + Fraction(self.gamma2) + self.step


@dataclass(frozen=True)
class _MedianFirst(ABC):
    """A median by the exponential mechanism, then a half-width around it: what the two variants
    share.
    """

    split: Split = "default"
    step: int | None = None

    def __post_init__(self) -> None:
        if self.split not in ("optimal", *SPLITS):
            try:
                check_share(exact(self.split, "split"), "split")
            except InputError:
                options = (
                    "'default', 'optimal', 'median-focused' or the median's share of epsilon, "
                    "such as 0.7"
                )
                raise InputError(f"split must be {options}, got {shown(self.split)}") from None
        if self.step is not None and (
            isinstance(self.step, bool) or not isinstance(self.step, int) or self.step < 1
        ):
            raise InputError(f"step must be a whole number of at least 1, got {shown(self.step)}")

    @property
    @abstractmethod
    def name(self) -> str:
        """How answers call it."""

    @property
    def _split_name(self) -> str:
        if self.split in ("default", "optimal"):
            return str(self.split)
        return f"{self._share.numerator}:{self._share.denominator - self._share.numerator}"

    @property
    def _share(self) -> Fraction:
        return SPLITS.get(str(self.split)) or exact(self.split, "split")

    def setting(self, question: Question, size: int) -> Setting:
        """The public numbers for a grid of so many points (n*N without ties); beta is shared evenly
        between the two draws.
        """
        spend, iterations = self._spend(question, size)
        beta, step = float(question.beta / 2), self.step or whole_step(float(spend.interval))
        bounds = (
            gamma1(float(spend.value), size, beta),
            gamma2(float(spend.interval), size, step, beta),
        )
        return Setting(spend, beta, step, *bounds, iterations)

    def _spend(self, question: Question, size: int) -> tuple[Spend, int]:
        epsilon = question.spend.epsilon
        if self.split != "optimal":
            return split_spend(epsilon, self._share), 0
        best = self._optimum(float(epsilon), size, float(question.beta / 2))
        return split_spend(
            epsilon, Fraction(round(best.epsilon1 / float(epsilon) * PARTS), PARTS)
        ), best.iterations

    def _optimum(self, epsilon: float, size: int, beta: float) -> Optimum:
        return optimum(epsilon, size, beta, beta)

    def draw(self, windows: Windows, question: Question, grid: Grid, coins: Coins) -> Span:
        """The median costs eps1, the half-width around it eps2."""
        n = windows(0).n
        setting = self.setting(question, size_of(n, grid))
        value_rate = setting.spend.value / (2 * UNIT)
        position = noisy_max(
            Ranks.near(n * HALF, windows, grid), rate=value_rate, noise="gumbel", coins=coins
        ).copy
        half_width = setting.step * self._number(windows, grid, position, setting, coins)
        seen = Tieless.of(windows(0), grid)
        return Span(
            seen.index(position),
            seen.index(position - half_width),
            seen.index(position + half_width),
            setting.spend,
        )

    @abstractmethod
    def _number(
        self, windows: Windows, grid: Grid, position: int, setting: Setting, coins: Coins
    ) -> int:
        """The chosen half-width, in steps."""


@dataclass(frozen=True)
class PostRI(_MedianFirst):
    """The paper's method: median only, one replaced row, n public.

    `split` is "default" (1:1), "optimal" (Eq. 6 and 7, iterated), "median-focused" (9:1) or the
    median's share of epsilon; `step` is that of Eq. 7 unless given. The promise of its interval
    needs enough rows for the aim to be reached on both sides of the drawn median, which also must
    not lie near the edge of the domain. Use `depth` for answers to rely on.

    `as_released` repeats two slips of the released code, which the published figures carry: it
    draws the half-width as if its sensitivity were 2 (and so leaves half of eps2 unused), and it
    derives the optimal split for a sensitivity of 2.
    """

    as_released: bool = False

    @property
    def name(self) -> str:
        """How answers call it."""
        return f"postri-{self._split_name}" + ("-as-released" if self.as_released else "")

    @property
    def _sensitivity(self) -> int:
        """What the half-width's draw takes its sensitivity to be."""
        return 2 if self.as_released else 1

    def _optimum(self, epsilon: float, size: int, beta: float) -> Optimum:
        return optimum(epsilon, size, beta, beta, sensitivity2=self._sensitivity)

    def half(self, question: Question, grid: Grid) -> int:
        """The rows that hold the aim on both sides of a median that is as far off as hardly ever
        happens.
        """
        check_question(question, grid, self.name)
        most = self.setting(question, MOST_POINTS)
        noise = (
            (1 / most.spend.value + self._sensitivity / most.spend.interval)
            * 2
            * Fraction(PATIENCE)
        )
        return ceil(most.aim + noise)

    def _number(
        self, windows: Windows, grid: Grid, position: int, setting: Setting, coins: Coins
    ) -> int:
        rate = setting.spend.interval / (2 * self._sensitivity * UNIT)
        widths = Widths.around(position, setting.step, setting.aim, windows, grid)
        return noisy_max(widths, rate=rate, noise="gumbel", coins=coins).copy


@dataclass(frozen=True)
class PostRISVT(_MedianFirst):
    """PostRI with the half-width found by AboveThreshold: the variant that the paper argues
    against.

    It walks the half-widths s, 2s, 3s, ... and stops at the first whose count f(b) reaches gamma1
    plus AboveThreshold's own error bound. What PostRI's promise needs, this one needs as well.
    """

    @property
    def name(self) -> str:
        """How answers call it."""
        return "postri-svt" if self.split == "default" else f"postri-svt-{self._split_name}"

    def half(self, question: Question, grid: Grid) -> int:
        """Every row: the walk may go on to the edge of the domain."""
        check_question(question, grid, self.name)
        return ALL_ROWS

    def _number(
        self, windows: Windows, grid: Grid, position: int, setting: Setting, coins: Coins
    ) -> int:
        seen = Tieless.of(windows(0), grid)
        most, epsilon = max(1, seen.size // setting.step), setting.spend.interval
        reached = reach_numbers(seen, position, setting.step)
        starts = distinct(np.concatenate(([1], reached[reached <= most])))
        sizes = np.diff(np.concatenate((starts, [most + 1])))
        counts = np.searchsorted(reached, starts, side="right")
        threshold = ceil(setting.gamma1 + threshold_error(float(epsilon), most, setting.beta))
        stop = above_threshold(
            counts, sizes, threshold, epsilon=epsilon, sensitivity=Fraction(1), coins=coins
        )
        return most if stop is None else int(starts[stop[0]]) + stop[1]


def check_question(question: Question, grid: Grid, name: str) -> None:
    """The published methods answer for the median, protect against one replaced row, and need a
    domain that is not too large.
    """
    if question.p != HALF:
        raise InputError(
            f"{name} answers for the median alone, not for p = {question.p}; use method='depth'"
        )
    if question.protect != ReplaceRows(1):
        raise InputError(
            f"{name} protects against one replaced row alone; ask with "
            "protect=ReplaceRows(1), or use method='depth'"
        )
    size_of(1, grid)
