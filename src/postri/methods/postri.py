"""PostRI as published: a median by the exponential mechanism, then a half-width around it by a
second one.

The docstrings name the equations of the paper, "Interpreting the Error of Differentially Private
Median Queries through Randomization Intervals" (2026). The method is kept as published, with its
defects: docs/published-methods.md lists them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal

from postri.cost import Cost, bounded_range
from postri.errors import InputError
from postri.exact import Number, exact, shown
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.mechanisms.noisy_max import noisy_max
from postri.methods.formulas import Optimum, gamma1, gamma2, optimum, whole_step
from postri.methods.method import QuantileTerms, Span
from postri.methods.published import (
    HALF,
    MOST_POINTS,
    PATIENCE,
    UNIT,
    Published,
    Ranks,
    Tieless,
    Widths,
    size_of,
)
from postri.privacy import Spend, check_share, split_spend
from postri.window import Windows

Split = Literal["default", "optimal", "median-focused"] | Number

SPLITS = {"default": Fraction(1, 2), "median-focused": Fraction(9, 10)}
# An optimal split is irrational: it is rounded to this many parts of epsilon.
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
class MedianFirst(Published):
    """A median by the exponential mechanism, then a half-width around it: what PostRI and its
    sparse-vector variant share.
    """

    split: Split = "default"
    step: int | None = None

    def __post_init__(self) -> None:
        if self.split not in ("optimal", *SPLITS):
            _check_split(self.split)
        if self.step is not None:
            _check_step(self.step)

    @property
    def _split_name(self) -> str:
        if self.split in ("default", "optimal"):
            return str(self.split)
        share = self._share
        return f"{share.numerator}:{share.denominator - share.numerator}"

    @property
    def _share(self) -> Fraction:
        return SPLITS.get(str(self.split)) or exact(self.split, "split")

    def setting(self, terms: QuantileTerms, size: int) -> Setting:
        """The public numbers for a grid of `size` points (n*N without ties); beta is shared evenly
        between the two draws.
        """
        spend, iterations = self._spend(terms, size)
        beta = float(terms.beta / 2)
        step = self.step or whole_step(float(spend.interval))
        return Setting(
            spend=spend,
            beta=beta,
            step=step,
            gamma1=gamma1(float(spend.value), size, beta),
            gamma2=gamma2(float(spend.interval), size, step, beta),
            iterations=iterations,
        )

    def _spend(self, terms: QuantileTerms, size: int) -> tuple[Spend, int]:
        """How epsilon is divided, and how many substitutions that took."""
        epsilon = terms.spend.epsilon
        if self.split != "optimal":
            return split_spend(epsilon, self._share), 0
        best = self._optimum(float(epsilon), size, float(terms.beta / 2))
        share = Fraction(round(best.epsilon1 / float(epsilon) * PARTS), PARTS)
        return split_spend(epsilon, share), best.iterations

    def _optimum(self, epsilon: float, size: int, beta: float) -> Optimum:
        return optimum(epsilon, size, beta, beta)

    def draw(self, windows: Windows, terms: QuantileTerms, grid: Grid, coins: Coins) -> Span:
        """The median costs eps1, the half-width around it eps2."""
        n = windows(0).n
        setting = self.setting(terms, size_of(n, grid))
        ranks = Ranks.near(n * HALF, windows, grid)
        # Sensitivity 1: a row weighs eps1/2 in the exponent.
        rate = setting.spend.value / (2 * UNIT)
        position = noisy_max(ranks, rate=rate, noise="gumbel", coins=coins).copy
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


def _check_split(split: object) -> None:
    try:
        check_share(exact(split, "split"), "split")
    except InputError:
        options = (
            "'default', 'optimal', 'median-focused' or the median's share of epsilon, such as 0.7"
        )
        raise InputError(f"split must be {options}, got {shown(split)}") from None


def _check_step(step: object) -> None:
    if isinstance(step, bool) or not isinstance(step, int) or step < 1:
        raise InputError(f"step must be a whole number of at least 1, got {shown(step)}")


@dataclass(frozen=True)
class PostRI(MedianFirst):
    """The paper's method: median only, one replaced row, n public.

    `split` is "default" (1:1), "optimal" (Eq. 6 and 7, iterated), "median-focused" (9:1) or the
    median's share of epsilon; `step` is that of Eq. 7 unless given. The promise of its interval
    needs enough rows for the aim to be reached on both sides of the drawn median, which also must
    not lie near the edge of the domain. A cell that is null or cannot be read counts as the
    domain's lower end, so that n is the number of rows. Use `depth` for answers to rely on.

    `as_released` repeats two slips that the published figures carry. The released code draws the
    half-width as if its sensitivity were 2, and so leaves half of eps2 unused. The results that
    were stored beside it have an optimal split for a sensitivity of 2, which no commit of that
    code computes: older code made them.
    """

    as_released: bool = False

    @property
    def name(self) -> str:
        """How answers and the command line call it."""
        name = f"postri-{self._split_name}"
        if self.as_released:
            name += "-as-released"
        return name

    @property
    def _sensitivity(self) -> int:
        """What the half-width's draw takes its sensitivity to be."""
        if self.as_released:
            return 2
        return 1

    def _optimum(self, epsilon: float, size: int, beta: float) -> Optimum:
        return optimum(epsilon, size, beta, beta, sensitivity2=self._sensitivity)

    def half(self, terms: QuantileTerms, grid: Grid) -> int:
        """The rows that hold the aim on both sides of a median that is as far off as hardly ever
        happens.
        """
        self.check(terms, grid)
        most = self.setting(terms, MOST_POINTS)
        median_scale = 2 / most.spend.value
        interval_scale = 2 * self._sensitivity / most.spend.interval
        noise = (median_scale + interval_scale) * Fraction(PATIENCE)
        return ceil(most.aim + noise)

    def cost(self, terms: QuantileTerms) -> Cost:
        """Two draws of the exponential mechanism."""
        if self.split == "optimal":
            # The split depends on n. Two squares are at most the square of their sum.
            return bounded_range(terms.spend.epsilon)
        spend = split_spend(terms.spend.epsilon, self._share)
        return bounded_range(spend.value) + bounded_range(spend.interval)

    def _number(
        self, windows: Windows, grid: Grid, position: int, setting: Setting, coins: Coins
    ) -> int:
        rate = setting.spend.interval / (2 * self._sensitivity * UNIT)
        widths = Widths.around(position, setting.step, setting.aim, windows, grid)
        return noisy_max(widths, rate=rate, noise="gumbel", coins=coins).copy
