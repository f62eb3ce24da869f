"""The whole distribution of a column: one release, from which quantiles, shares, counts and
histograms follow.

As an answer by itself it tells the median; `Answer.distribution` gives the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, ClassVar

from postri.answer import Answer
from postri.answer.forecast import ExpectedRows, Forecast, Unknown
from postri.answer.words import register_words
from postri.cost import Cost
from postri.domain import Domain, check_domain
from postri.mechanisms.coins import Coins
from postri.methods.method import QuantileTerms
from postri.methods.tree import Tree, TreeCounts, released_trees, tree_noise
from postri.privacy import Spend
from postri.statistics.additive import additive_cost, additive_fields
from postri.statistics.quantile import HALF, QuantileCounts
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import Batch, Countable, Fits, Statistic, Terms
from postri.tree.distribution import PERCENTILES, USUAL_BARS
from postri.tree.drawn_tree import DrawnTree
from postri.tree.front import Wish
from postri.tree.shape import bar_edges

# For which quantiles a release is made if there are many groups, which share the time.
FEW = tuple(Fraction(k, 20) for k in range(1, 20))
MANY_GROUPS = 20


class DistributionBatch(Batch):
    """Distributions of one column on one domain; all groups share the scans."""

    def count(self, table: Countable, rows: Any) -> list[TreeCounts]:
        """Nothing yet: what is worth a look shows itself in the draw."""
        assert self.grid is not None
        column = QuantileCounts(table, self.column, self.grid, rows)
        return [TreeCounts(column, group) for group in range(column.groups)]

    def draw_groups(self, counted: Iterable[TreeCounts], coins: Coins) -> Iterator[list[Answer]]:
        """A tree for each group and each time that it is asked for."""
        assert self.grid is not None
        groups = list(counted)
        drawn = []
        for each in self.asked:
            terms = each.terms
            noise = tree_noise(terms.epsilon, terms.rho, terms.protect)
            ps = PERCENTILES
            if len(groups) > MANY_GROUPS:
                ps = FEW
            wish = Wish(ps, terms.beta, self._edges)
            trees = released_trees(groups, noise, self.grid, wish, coins)
            drawn.append([_released(DrawnTree(tree), terms, coins) for tree in trees])
        for answers in zip(*drawn, strict=True):
            yield list(answers)

    @property
    def _edges(self) -> list[int]:
        """Those of a usual histogram, where the domain has an even division."""
        if self.grid is None or self.grid.anchor is not None:
            return []
        return bar_edges(self.grid, USUAL_BARS)


class ColumnDistribution(Statistic):
    """The distribution of a column, on the domain that it is asked on."""

    title: ClassVar = "distribution"
    fits: ClassVar[Fits] = "ordered"
    batch = DistributionBatch
    stays_in_domain: ClassVar = True
    looks_further: ClassVar = True

    def written(self) -> str:
        """As text.

        >>> distribution("fare").written()
        'distribution("fare")'
        """
        return written("distribution", self.column)

    def fields(self) -> dict[str, Any]:
        """The column and the domain."""
        return {"distribution": self.column, "domain": self.domain}

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """Which noise is drawn. An interval of any confidence follows from it."""
        return additive_fields(terms)

    @property
    def follows_from_distribution(self) -> bool:
        """It is one."""
        return True

    def cost(self, terms: Terms) -> Cost:
        """That of one release."""
        return additive_cost(terms)

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """How far the interval of a quantile in the middle will reach."""
        if isinstance(rows, Unknown):
            return rows
        spend = Spend(terms.epsilon, Fraction(0))
        own = QuantileTerms(HALF, spend, terms.beta, terms.protect, terms.groups, terms.rho)
        plan = Tree().forecast(own, rows=rows.rows, groups=terms.groups, domain=self.domain)
        assert plan is not None
        return plan


def _released(drawn: DrawnTree, terms: Terms, coins: Coins) -> Answer:
    return Answer.told_by(
        drawn,
        terms.beta,
        confidence=float(terms.confidence),
        spend=Spend(terms.epsilon, Fraction(0), terms.rho),
        protect=terms.protect,
        method=Tree().name,
        p=HALF,
        private=coins.private,
        notes=terms.notes,
        statistic=ColumnDistribution.title,
    )


def distribution(column: str, *, domain: Domain | None = None) -> ColumnDistribution:
    """The distribution of a column."""
    return ColumnDistribution(check_column(column), check_domain(domain))


register_words(
    ColumnDistribution.title,
    explanation=(
        "It is a release of the whole distribution: every quantile, share, count and histogram "
        "follows from it, each with its interval, and costs nothing more."
    ),
)
register(
    Form(
        name="distribution",
        make=distribution,
        meaning="All quantiles, shares, counts and histograms for one epsilon.",
        parameters=(Parameter("column", "column", fits="ordered"),),
        sql=("DISTRIBUTION",),
        examples=("distribution(x)",),
        family="everyday",
        place=6,
    )
)
