"""The published methods by brute force, from their definitions: every position, every half-width,
every place of a walk.

A table is the sorted grid indexes of its rows, on the points 0..points-1. Nothing here knows runs
or windows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, log

from mechanisms.exact_walks import stop_chances
from postri import PostRI, PostRISVT, Sun2023, Sun2023SVT
from postri.methods.method import QuantileTerms

Rows = tuple[int, ...]
Output = tuple[Fraction, int, int]
"""What is released: the value and both ends, as grid indexes."""
Method = PostRI | PostRISVT | Sun2023 | Sun2023SVT


@dataclass(frozen=True)
class Expanded:
    """A table without ties: the k copies of x are n*x, n*x + 1, ..., n*x + k - 1."""

    rows: Rows
    points: int

    @property
    def size(self) -> int:
        """n*N: what the formulas take for the number of points."""
        return max(len(self.rows), 1) * (self.points - 1)

    @property
    def last(self) -> int:
        """The last position that can be drawn."""
        return self.size + max(len(self.rows), 1) - 1

    @property
    def copies(self) -> list[int]:
        return [len(self.rows) * row + self.rows[:k].count(row) for k, row in enumerate(self.rows)]

    def rank(self, position: int) -> int:
        """R(y): the rows at or below a position."""
        return sum(copy <= position for copy in self.copies)

    def index(self, position: int) -> int:
        """Back to the grid by floor division, with what lies outside moved to the edge."""
        return min(max(position, 0), self.last) // max(len(self.rows), 1)

    def half_widths(self, step: int) -> list[int]:
        """s, 2s, ..., s*floor(N/s), and s where that is none."""
        return [step * k for k in range(1, max(1, self.size // step) + 1)]

    def fewer(self, position: int, half_width: int) -> int:
        """f(b): the fewer of the rows to the two sides."""
        here = self.rank(position)
        return min(self.rank(position + half_width) - here, here - self.rank(position - half_width))


def utility(table: Expanded, target: Fraction) -> list[Fraction]:
    """u(y) = -|R(y) - target| of each position."""
    return [-abs(table.rank(position) - target) for position in range(table.last + 1)]


def exponential(scores: list[Fraction], epsilon: Fraction) -> list[float]:
    """The exponential mechanism for scores of sensitivity 1: weights exp(epsilon*score/2)."""
    best = max(scores)
    weights = [exp(float(epsilon * (score - best) / 2)) for score in scores]
    return [weight / sum(weights) for weight in weights]


def walk(counts: list[int], threshold: int, epsilon: Fraction) -> list[float]:
    """The chance of each place of a walk; one that never stops ends at the last."""
    stops = stop_chances(counts, [1] * len(counts), threshold, epsilon=epsilon)
    return [*stops.runs[:-1], stops.runs[-1] + stops.none]


def around_median(
    table: Expanded, epsilon1: Fraction, half_widths: list[int], chances: Mapping[int, list[float]]
) -> dict[Output, float]:
    """A median by the exponential mechanism, then a half-width with the chances that it has around
    that position.
    """
    found: defaultdict[Output, float] = defaultdict(float)
    for position, chance in enumerate(
        exponential(utility(table, Fraction(len(table.rows), 2)), epsilon1)
    ):
        for half_width, given in zip(half_widths, chances[position], strict=True):
            ends = table.index(position - half_width), table.index(position + half_width)
            found[Fraction(table.index(position)), *ends] += chance * given
    return found


def two_ends(table: Expanded, lower: list[float], upper: list[float]) -> dict[Output, float]:
    """Two ends drawn apart from each other; the value is the middle."""
    found: defaultdict[Output, float] = defaultdict(float)
    for one, chance in enumerate(lower):
        for other, given in enumerate(upper):
            low, high = sorted((table.index(one), table.index(other)))
            found[Fraction(low + high, 2), low, high] += chance * given
    return found


def postri_chances(
    table: Expanded, epsilon1: Fraction, epsilon2: Fraction, step: int, aim: Fraction
) -> dict[Output, float]:
    half_widths = table.half_widths(step)
    scores = {
        y: [-abs(table.fewer(y, b) - aim) for b in half_widths] for y in range(table.last + 1)
    }
    return around_median(
        table, epsilon1, half_widths, {y: exponential(each, epsilon2) for y, each in scores.items()}
    )


def postri_svt_chances(
    table: Expanded, epsilon1: Fraction, epsilon2: Fraction, step: int, threshold: int
) -> dict[Output, float]:
    half_widths = table.half_widths(step)
    counts = {y: [table.fewer(y, b) for b in half_widths] for y in range(table.last + 1)}
    return around_median(
        table,
        epsilon1,
        half_widths,
        {y: walk(each, threshold, epsilon2) for y, each in counts.items()},
    )


def sun_chances(table: Expanded, epsilon: Fraction, tau: Fraction) -> dict[Output, float]:
    middle = Fraction(len(table.rows), 2)
    return two_ends(
        table, *(exponential(utility(table, middle + side * tau), epsilon / 2) for side in (-1, 1))
    )


def sun_svt_chances(table: Expanded, epsilon: Fraction, threshold: int) -> dict[Output, float]:
    """Up from the lower edge over the rows at or below each position, down from the upper edge over
    those at or above.
    """
    positions = range(table.last + 1)
    up = walk([table.rank(y) for y in positions], threshold, epsilon / 2)
    # Copies that lie beyond the last position are above every one.
    down = walk(
        [len(table.rows) - table.rank(y - 1) for y in reversed(positions)], threshold, epsilon / 2
    )
    return two_ends(table, up, down[::-1])


def defined_chances(
    method: Method, rows: Rows, points: int, terms: QuantileTerms
) -> dict[Output, float]:
    """The chance of every output of a method, as its docstrings define it; split and step are
    public numbers.
    """
    table = Expanded(rows, points)
    epsilon, beta = terms.spend.epsilon, float(terms.beta)
    if isinstance(method, Sun2023):
        return sun_chances(
            table, epsilon, Fraction(float(method.constant / epsilon) * log(2 * table.size / beta))
        )
    if isinstance(method, Sun2023SVT):
        tau = 8 / float(epsilon / 2) * (log(table.last + 1) + log(2 / (beta / 2)))
        return sun_svt_chances(table, epsilon, ceil(len(rows) / 2 - tau))
    setting = method.setting(terms, table.size)
    spend, step = setting.spend, setting.step
    gamma1 = 2 / float(spend.value) * log(table.size / (beta / 2))
    if isinstance(method, PostRISVT):
        own = 8 / float(spend.interval) * (log(len(table.half_widths(step))) + log(2 / (beta / 2)))
        return postri_svt_chances(table, spend.value, spend.interval, step, ceil(gamma1 + own))
    gamma2 = 2 / float(spend.interval) * log(table.size / (step * beta / 2))
    return postri_chances(
        table, spend.value, spend.interval, step, Fraction(gamma1 + gamma2 + step)
    )
