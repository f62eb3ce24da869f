"""The interquartile range: by how much the third quartile of a column is more than the first.

Both quartiles are drawn with half of the budget each, or follow from one release of noisy counts,
whichever is narrower by the forecast; the range follows from their intervals (Theorem 39).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

from postri.answer import Answer
from postri.answer.drawn import QUARTILES, range_between
from postri.answer.forecast import ExpectedRows, Forecast, Unknown
from postri.cost import Cost
from postri.domain import Domain, check_domain
from postri.errors import InputError
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.privacy import Spend
from postri.statistics.quantile import COLUMN, Quantile, QuantileBatch
from postri.statistics.quantiles import Quantiles
from postri.statistics.registry import Form, check_column, register, written
from postri.statistics.statistic import Fits, Statistic, Terms


class RangeBatch(QuantileBatch):
    """Interquartile ranges of one column on one domain."""

    def draw_groups(self, counted: Iterable[Any], coins: Coins) -> Iterator[list[Answer]]:
        """Both quartiles of each, and what is between them."""
        for answers in super().draw_groups(counted, coins):
            pairs = zip(answers[::2], answers[1::2], strict=True)
            yield [between(first, third) for first, third in pairs]


class InterquartileRange(Statistic):
    """The third quartile of a column less the first."""

    title = "interquartile range"
    fits: ClassVar[Fits] = "ordered"
    batch = RangeBatch
    draws_interval: ClassVar = True

    def quantiles(self, terms: Terms) -> list[tuple[Quantile, Terms]]:
        """Both quartiles, each with half of the budget; both intervals hold at once."""
        return self._quartiles.quantiles(replace(terms, beta=terms.beta / len(QUARTILES)))

    @property
    def _quartiles(self) -> Quantiles:
        return Quantiles(self.column, self.domain, QUARTILES)

    def written(self) -> str:
        """As text.

        >>> iqr("fare").written()
        'iqr("fare")'
        """
        return written("iqr", self.column)

    def fields(self) -> dict[str, Any]:
        """The column and the domain."""
        return {"iqr": self.column, "domain": self.domain}

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """As for one quartile."""
        (quartile, own), *_ = self.quantiles(terms)
        return quartile.draw_fields(own)

    def check_grid(self, column: str | None, grid: Grid) -> None:
        """Only numbers have a range that is one."""
        if grid.kind != "number":
            raise InputError(
                f"there is no {self.title} of a column of {grid.kind}s; ask for its quantiles"
            )

    def check_domain(self) -> None:
        """The same before there is a table."""
        if self.domain is not None and self.domain.kind != "number":
            raise InputError(
                f"there is no {self.title} of a column of {self.domain.kind}s; ask for its "
                "quantiles"
            )

    def cost(self, terms: Terms) -> Cost:
        """What both quartiles cost together."""
        first, third = (quartile.cost(own) for quartile, own in self.quantiles(terms))
        return first + third

    def forecasts(self, terms: Terms, rows: ExpectedRows | Unknown) -> Mapping[str, Forecast]:
        """Those of both quartiles."""
        found = (quartile.forecast(own, rows) for quartile, own in self.quantiles(terms))
        return dict(zip(self._quartiles.suffixes, found, strict=True))


def between(first: Answer, third: Answer) -> Answer:
    """By how much the third quartile is more than the first: both intervals hold at once."""
    spends = (first.spend, third.spend)
    rho = None
    if first.spend.rho is not None:
        rho = sum((each.rho or Fraction(0) for each in spends), start=Fraction(0))
    return replace(
        first,
        value=third.value - first.value,
        interval=range_between(first.interval, third.interval),
        spend=Spend(
            sum((each.value for each in spends), start=Fraction(0)),
            sum((each.interval for each in spends), start=Fraction(0)),
            rho,
            first.spend.release,
        ),
        p=None,
        notes=tuple(dict.fromkeys((*first.notes, *third.notes))),
        statistic=InterquartileRange.title,
    )


def iqr(column: str, *, domain: Domain | None = None) -> InterquartileRange:
    """The interquartile range of a column."""
    return InterquartileRange(check_column(column), check_domain(domain))


register(
    Form(
        name="iqr",
        make=iqr,
        meaning="The interquartile range: how wide the middle half of the rows lies.",
        parameters=(COLUMN,),
        sql=("IQR",),
        examples=("iqr(x)",),
        called="interquartile range",
        family="spread",
        place=19,
    )
)
