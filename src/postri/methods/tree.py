"""The tree method: many quantiles of a column from one release of noisy counts.

The counts of a tree over the grid are paid for once, and every quantile follows from them with its
interval (Theorems 22 to 25). So a hundred quantiles cost as much as one: from a few quantiles on
their intervals are narrower than those of as many separate draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import ceil, sqrt
from typing import ClassVar

from postri.answer import Plan
from postri.answer.words import whole_domain
from postri.cost import Cost, gaussian_draw, pure_draw
from postri.domain import Domain
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.methods.method import ColumnCounts, Method, QuantileTerms, Span
from postri.methods.tree_release import release
from postri.noise import DiscreteGaussian, DiscreteLaplace, Noise
from postri.privacy import ProtectedChange, Spend, moved_cells, moved_cells_squared
from postri.tree.forecast import reach_in_rows, rows_needed
from postri.tree.front import Wish
from postri.tree.noisy_tree import NoisyTree, index_within
from postri.tree.shape import shape_of
from postri.window import Indexes, OrderedCells, PointCounts

# Within how many deviations of the noise of a whole budget the intervals of quantiles end, about.
FAR = 512


@dataclass(frozen=True)
class TreeCounts:
    """What is counted for the tree of one group: the cells below any points, when they are asked
    for.
    """

    column: ColumnCounts
    group: int


@dataclass(frozen=True)
class Tree(Method):
    """Quantiles from one tree of noisy counts, which all quantiles of a column share.

    `quantiles` is how many pay for it together, and `epsilon` what they pay; without it, each pays
    as much as any other.
    """

    quantiles: int = 1
    epsilon: Fraction | None = None

    shared: ClassVar[bool] = True
    divides: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """How answers call it."""
        return "tree"

    def count(
        self, column: ColumnCounts, terms: Sequence[QuantileTerms], grid: Grid
    ) -> list[TreeCounts]:
        """Nothing yet: what is worth a look shows itself in the draw."""
        return [TreeCounts(column, group) for group in range(column.groups)]

    def draw_groups(
        self,
        counted: Iterable[TreeCounts],
        terms: Sequence[QuantileTerms],
        grid: Grid,
        coins: Coins,
    ) -> Iterator[list[Span]]:
        """One tree a group; all groups share the scans."""
        wish = Wish([each.p for each in terms], terms[0].beta, everywhere=False)
        for tree in released_trees(list(counted), _noise(terms), grid, wish, coins):
            yield _spans(tree, terms)

    def cost(self, terms: QuantileTerms) -> Cost:
        """A share of the release: the quantiles of a column pay for it together."""
        if terms.rho is not None:
            return gaussian_draw(terms.rho)
        # The release is one draw: its rho is more than the sum of those of its parts.
        whole = pure_draw(self._paid(terms))
        share = terms.spend.epsilon / self._paid(terms)
        return Cost(terms.spend.epsilon, whole.rho * share)

    def forecast(
        self,
        terms: QuantileTerms,
        *,
        rows: int,
        groups: int,
        domain: Domain | None,
        reach: Fraction | None = None,
    ) -> Plan | None:
        """For smooth data. The epsilon for a reach that is asked for is not known."""
        if reach is not None:
            return None
        each = rows // groups
        reached = self.reach_in_rows(terms, domain, each)
        return Plan(
            rows=rows,
            epsilon=terms.spend.epsilon,
            reach=min(1.0, reached / max(1, each)),
            p=terms.p,
            confidence=float(1 - terms.beta),
            protect=terms.protect,
            groups=groups,
            rows_needed=rows_needed(reached, terms.p),
        )

    def shared_by(self, quantiles: int, epsilon: Fraction) -> Tree:
        """One release for so many quantiles."""
        return Tree(quantiles, epsilon)

    def _paid(self, terms: QuantileTerms) -> Fraction:
        """What all quantiles pay together, by the terms of one of them."""
        if self.epsilon is not None:
            return self.epsilon
        return self.quantiles * terms.spend.epsilon

    def reach_in_rows(self, terms: QuantileTerms, domain: Domain | None, rows: int | None) -> float:
        """That of a release for which all quantiles pay as much."""
        epsilon = self._paid(terms)
        rho = None
        if terms.rho is not None:
            rho = terms.rho * epsilon / terms.spend.epsilon
        return reach_in_rows(tree_noise(epsilon, rho, terms.protect), domain, terms.beta, rows)

    def advice(
        self, span: Span, terms: QuantileTerms, grid: Grid, domain: Domain | None
    ) -> tuple[str, ...]:
        """How many rows it takes, where the interval is the whole domain."""
        if (span.low, span.high) != (grid.first, grid.last):
            return ()
        reached = self.reach_in_rows(terms, domain, None)
        return (whole_domain(rows_needed(reached, terms.p), self._paid(terms)),)


def released_trees(
    counted: Sequence[TreeCounts], noise: Noise, grid: Grid, wish: Wish, coins: Coins
) -> list[NoisyTree]:
    """For each group its tree."""
    if not counted:
        return []
    groups = [each.group for each in counted]
    reach = ceil(FAR * sqrt(noise.mean_square))
    counts_below = counted[0].column.counts_below(wish.ps, reach)
    if isinstance(counts_below, OrderedCells):
        ordered = counts_below.of(groups)
        return release(shape_of(grid), noise, len(groups), ordered, wish, coins)

    def below(points: Indexes) -> list[PointCounts]:
        found = counts_below(points)
        return [found[group] for group in groups]

    return release(shape_of(grid), noise, len(groups), below, wish, coins)


def tree_noise(epsilon: Fraction, rho: Fraction | None, protect: ProtectedChange) -> Noise:
    """The noise of the counts of a level that gets all of the budget (Theorem 22)."""
    if rho is None:
        return DiscreteLaplace(moved_cells(protect) / epsilon)
    return DiscreteGaussian(moved_cells_squared(protect) / (2 * rho))


def _noise(terms: Sequence[QuantileTerms]) -> Noise:
    """That of a release for which these quantiles pay together."""
    return tree_noise(*_budget(terms), terms[0].protect)


def _spans(tree: NoisyTree, terms: Sequence[QuantileTerms]) -> list[Span]:
    """Value and interval of each quantile; an end never lies beyond that of a larger quantile."""
    order = sorted(range(len(terms)), key=lambda place: terms[place].p)
    ps, betas = zip(*((terms[place].p, terms[place].beta) for place in order), strict=True)
    ends = tree.intervals(ps, betas)
    # An interval may only grow by this, so it holds what it held.
    lows = list(accumulate((low.first for low, _ in reversed(ends)), min))[::-1]
    highs = list(accumulate((high.last for _, high in ends), max))
    spans: dict[int, Span] = {}
    epsilon, rho = _budget(terms)
    release = None
    if len(terms) > 1:
        release = rho or epsilon
    for place, low, high in zip(order, lows, highs, strict=True):
        node, within = tree.crossing(terms[place].p)
        value = min(max(index_within(tree.shape.grid, node, within), low), high)
        own = terms[place]
        # The part of one quantile, of a release that others follow from too.
        spend = Spend(own.spend.epsilon, Fraction(0), own.rho, release)
        spans[place] = Span(value, low, high, spend)
    return [spans[place] for place in range(len(terms))]


def _budget(terms: Sequence[QuantileTerms]) -> tuple[Fraction, Fraction | None]:
    """What the quantiles of a column pay together, in epsilon and in rho."""
    epsilon = sum((each.spend.epsilon for each in terms), start=Fraction(0))
    if terms[0].rho is None:
        return epsilon, None
    return epsilon, sum((each.rho or Fraction(0) for each in terms), start=Fraction(0))
