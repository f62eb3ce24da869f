"""Several quantiles of a column as one aggregate, which divides its epsilon among them evenly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from postri.answer.forecast import ExpectedRows, Forecast, Unknown
from postri.answer.population import Covers, check_covers
from postri.cost import Cost
from postri.domain import Domain, check_domain
from postri.errors import InputError
from postri.exact import Number, plain
from postri.privacy import check_shares
from postri.statistics.quantile import COLUMN, Quantile, QuantileBatch, named
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import Fits, Statistic, Terms


@dataclass(frozen=True)
class Quantiles(Statistic):
    """Some quantiles of a column: each is drawn with its share of epsilon, as if it were asked by
    itself.
    """

    ps: tuple[Fraction, ...] = ()
    covers: Covers = "table"

    title: ClassVar = "quantile"
    fits: ClassVar[Fits] = "ordered"
    batch = QuantileBatch
    stays_in_domain: ClassVar = True
    draws_interval: ClassVar = True

    @property
    def follows_from_distribution(self) -> bool:
        """If they are about the rows."""
        return self.covers == "table"

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Which quantile each answer is.

        >>> quantiles("fare", [0.25, 0.5]).suffixes
        ('_0.25', '_0.5')
        """
        return tuple(f"_{plain(p)}" for p in self.ps)

    def quantiles(self, terms: Terms) -> list[tuple[Quantile, Terms]]:
        """Each quantile with its share of epsilon."""
        number = len(self.ps)
        rho = None
        if terms.rho is not None:
            rho = terms.rho / number
        own = replace(terms, epsilon=terms.epsilon / number, rho=rho)
        return [(Quantile(self.column, self.domain, p, self.covers), own) for p in self.ps]

    @property
    def errs_with_rows(self) -> bool:
        """Whether the population is meant."""
        return self.covers == "population"

    def check_terms(self, terms: Terms) -> None:
        """As for one quantile."""
        (quantile, own), *_ = self.quantiles(terms)
        quantile.check_terms(own)

    def written(self) -> str:
        """As text.

        >>> quantiles("fare", [0.25, 0.5]).written()
        'quantiles("fare", 1/4, 1/2)'
        """
        return written(named("quantiles", self.covers), self.column, *self.ps)

    def fields(self) -> dict[str, Any]:
        """The column, which quantiles, and the domain."""
        ps = ", ".join(map(str, self.ps))
        name = named("quantiles", self.covers)
        return {name: self.column, "ps": ps, "domain": self.domain}

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """As for one quantile."""
        (quantile, own), *_ = self.quantiles(terms)
        return quantile.draw_fields(own)

    def reversed(self) -> Quantiles:
        """The same quantiles counted from the largest value down."""
        return replace(self, ps=tuple(1 - p for p in self.ps))

    def cost(self, terms: Terms) -> Cost:
        """What they cost together."""
        first, *rest = (quantile.cost(own) for quantile, own in self.quantiles(terms))
        return sum(rest, start=first)

    def forecasts(self, terms: Terms, rows: ExpectedRows | Unknown) -> Mapping[str, Forecast]:
        """That of each quantile."""
        found = (quantile.forecast(own, rows) for quantile, own in self.quantiles(terms))
        return dict(zip(self.suffixes, found, strict=True))


def quantiles(
    column: str, ps: Sequence[Number], *, domain: Domain | None = None, covers: Covers = "table"
) -> Quantiles:
    """Several quantiles of a column: `quantiles("fare", [0.25, 0.5, 0.75])` are its quartiles."""
    checked = check_shares(ps, "ps")
    if len(set(checked)) < len(checked):
        raise InputError("each of several quantiles must be another one: leave out the second")
    return Quantiles(check_column(column), check_domain(domain), checked, check_covers(covers))


PS = Parameter(
    "ps",
    "shares",
    meaning="Quantiles between 0 and 1, separated by commas",
    usual="0.25, 0.5, 0.75",
)

register(
    Form(
        name="population_quantiles",
        make=partial(quantiles, covers="population"),
        meaning="Several quantiles of the population that the rows were drawn from, independently.",
        parameters=(COLUMN, PS),
        sql=("POPULATION_QUANTILES",),
        sql_usage="POPULATION_QUANTILES(x, 0.25, 0.5, 0.75): a column and some quantiles",
        called="several population quantiles",
        family="the population behind the rows",
        place=14,
    )
)
register(
    Form(
        name="quantiles",
        make=quantiles,
        meaning="Several quantiles of one column, which share epsilon evenly.",
        parameters=(COLUMN, PS),
        sql=("QUANTILES",),
        sql_usage="QUANTILES(x, 0.25, 0.5, 0.75): a column and some quantiles",
        examples=("quantiles(x, 0.25, 0.5)",),
        called="several quantiles",
        family="everyday",
        place=2,
    )
)
