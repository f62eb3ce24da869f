"""How near an answer is wanted: a wish that a forecast can be held against.

Intervals of counts, sums and means are forecast in values, so a wish for one is a number. Those of
quantiles are forecast in ranks, because a distance in values depends on the data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Literal

from postri.answer.forecast import Forecast, Plan, Reach
from postri.errors import InputError
from postri.exact import Number, parameter, plain, shown, written

Unit = Literal["values", "percentiles", "rows"]

IN_RANKS = re.compile(
    r"\s*(?P<amount>[0-9][0-9_.e/+-]*|\.[0-9]+)\s*(?P<unit>percentiles?|rows?)\s*", re.IGNORECASE
)
# How a wish is written, for messages.
RANKS = "'1 percentile' or '75 rows'"
FORMS = f"a number, such as 500, or for a quantile {RANKS}"
DIGITS = 4


@dataclass(frozen=True)
class Within:
    """An interval that reaches no further than this to each side, by its forecast.

    >>> print(Within.of(500), Within.of("1 percentile"), Within.of("75 rows"))
    500 1 percentile 75 rows
    """

    amount: Fraction
    unit: Unit = "values"

    @classmethod
    def of(cls, given: Number | Within) -> Within:
        """The wish of a number, or of a text such as `"1 percentile"` or `"75 rows"`."""
        if isinstance(given, Within):
            return given
        unit: Unit = "values"
        amount = given
        if isinstance(given, str) and (in_ranks := IN_RANKS.fullmatch(given)):
            unit = "rows"
            if in_ranks["unit"].lower().startswith("percentile"):
                unit = "percentiles"
            amount = in_ranks["amount"]
        try:
            number = parameter(amount, "within")
        except InputError as error:
            if isinstance(given, str) and amount == given:
                raise InputError(f"within must be {FORMS}, got {shown(given)}") from None
            raise error from None
        if number <= 0:
            raise InputError(f"within must be positive, got {shown(given)}")
        if unit == "percentiles" and number >= 50:
            raise InputError(
                f"within must be less than 50 percentiles, which is half of all rows, got "
                f"{shown(given)}"
            )
        return cls(number, unit)

    def __str__(self) -> str:
        return self._in_unit(written(self.amount), one=self.amount == 1)

    def _in_unit(self, number: str, *, one: bool = False) -> str:
        if self.unit == "values":
            return number
        if one:
            return f"{number} {self.unit.removesuffix('s')}"
        return f"{number} {self.unit}"

    @property
    def words(self) -> str:
        """As a sentence has it."""
        return self._in_unit(plain(self.amount), one=self.amount == 1)

    def check(self, forecast: Forecast) -> None:
        """InputError if the forecast is in another unit."""
        if isinstance(forecast, Plan) and self.unit == "values":
            raise InputError(
                "the interval of a quantile is forecast in ranks, because its width in values "
                f"depends on the data: write {RANKS}, got {plain(self.amount)}"
            )
        if isinstance(forecast, Reach) and self.unit != "values":
            raise InputError(
                f"the interval of a {forecast.statistic} is forecast in its own unit: write a "
                f"number, such as 500, got {self.words}"
            )

    def ratio(self, forecast: Plan | Reach) -> float:
        """How far the interval will reach, in parts of what is wished: at most 1 if it is met."""
        return float(self._reached(forecast) / self.amount)

    def met_ratio(self, forecast: Plan | Reach) -> float:
        """The same; infinite where the interval will end on the domain's edge."""
        if isinstance(forecast, Plan) and not forecast.enough:
            return inf
        return self.ratio(forecast)

    def _reached(self, forecast: Plan | Reach) -> Fraction:
        """How far it will reach, in the unit of the wish."""
        if isinstance(forecast, Reach):
            return forecast.reach
        share = Fraction(forecast.reach)
        if self.unit == "rows":
            return share * (forecast.rows // forecast.groups)
        return share * 100

    def reached_words(self, forecast: Plan | Reach) -> str:
        """How far it will reach, in words."""
        return self._in_unit(f"{float(self._reached(forecast)):,.{DIGITS}g}")
