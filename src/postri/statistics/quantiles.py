"""Several quantiles of a column as one aggregate, which divides its epsilon among them evenly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from postri.answer.forecast import ExpectedRows, Forecast, Unknown
from postri.cost import Cost
from postri.domain import Domain, check_domain
from postri.errors import InputError
from postri.exact import Number, plain
from postri.privacy import check_shares
from postri.statistics.quantile import COLUMN, Quantile, QuantileBatch
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import Fits, Statistic, Terms


@dataclass(frozen=True)
class Quantiles(Statistic):
    """Some quantiles of a column: each is drawn with its share of epsilon, as if it were asked by
    itself.
    """

    ps: tuple[Fraction, ...] = ()

    title: ClassVar = "quantile"
    fits: ClassVar[Fits] = "ordered"
    batch = QuantileBatch
    stays_in_domain: ClassVar = True
    draws_interval: ClassVar = True

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
        return [(Quantile(self.column, self.domain, p), own) for p in self.ps]

    def written(self) -> str:
        """As text.

        >>> quantiles("fare", [0.25, 0.5]).written()
        'quantiles("fare", 1/4, 1/2)'
        """
        return written("quantiles", self.column, *self.ps)

    def fields(self) -> dict[str, Any]:
        """The column, which quantiles, and the domain."""
        ps = ", ".join(map(str, self.ps))
        return {"quantiles": self.column, "ps": ps, "domain": self.domain}

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


def quantiles(column: str, ps: Sequence[Number], *, domain: Domain | None = None) -> Quantiles:
    """Several quantiles of a column: `quantiles("fare", [0.25, 0.5, 0.75])` are its quartiles."""
    checked = check_shares(ps, "ps")
    if len(set(checked)) < len(checked):
        raise InputError("each of several quantiles must be another one: leave out the second")
    return Quantiles(check_column(column), check_domain(domain), checked)


register(
    Form(
        name="quantiles",
        make=quantiles,
        meaning="Several quantiles of one column, which share epsilon evenly.",
        parameters=(
            COLUMN,
            Parameter(
                "ps",
                "shares",
                meaning="Quantiles between 0 and 1, separated by commas",
                usual="0.25, 0.5, 0.75",
            ),
        ),
        sql=("QUANTILES",),
        sql_usage="QUANTILES(x, 0.25, 0.5, 0.75): a column and some quantiles",
        examples=("quantiles(x, 0.25, 0.5)",),
        place=2,
    )
)
