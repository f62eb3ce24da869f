"""What was drawn for a count, a sum or a mean: whole numbers with noise that is public, so that an
interval of any confidence is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from postri.answer.interval import Interval
from postri.exact import as_decimal, decimal_places
from postri.noise import DiscreteLaplace

# A mean is written with so many more digits than the domain's step has.
FINER = 3


@dataclass(frozen=True)
class Noisy:
    """A whole number of `unit`s with noise on it; one that cannot be negative, as a count, is shown
    as 0 at least.
    """

    drawn: int
    unit: Fraction
    noise: DiscreteLaplace
    negative: bool = True

    @property
    def value(self) -> int | Decimal:
        """The number, as people write it."""
        return self._written(self.drawn)

    def interval(self, beta: Fraction) -> Interval:
        """Holds the number without its noise with probability at least 1 - beta."""
        low, high = self.within(beta)
        return Interval(self._written(low), self._written(high))

    def within(self, beta: Fraction) -> tuple[int, int]:
        """The same in units."""
        reach = self.noise.reach(beta)
        return self.drawn - reach, self.drawn + reach

    def _written(self, number: int) -> int | Decimal:
        exact = (number if self.negative else max(number, 0)) * self.unit
        places = decimal_places(self.unit) or 0
        return as_decimal(exact, places) if places else int(exact)


@dataclass(frozen=True)
class NoisyMean:
    """The sum of the distances from the middle of the domain, and the number of rows, each with its
    noise.
    """

    total: Noisy
    count: Noisy
    lower: Fraction
    upper: Fraction
    step: Fraction

    @property
    def value(self) -> Decimal:
        """The mean that both give, clamped to the domain, to some digits."""
        mean = self._middle + self.total.drawn * self.total.unit / max(self.count.drawn, 1)
        return self._written(Fraction(round(self._scaled(mean))))

    def interval(self, beta: Fraction) -> Interval:
        """Holds the mean with probability at least 1 - beta: half of beta for the sum, half for the
        number of rows.

        There is a mean only if there is a row, and it lies in the domain.
        """
        rows = [max(number, 1) for number in self.count.within(beta / 2)]
        low, high = (number * self.total.unit for number in self.total.within(beta / 2))
        least, most = min(low / number for number in rows), max(high / number for number in rows)
        ends = floor(self._scaled(self._middle + least)), ceil(self._scaled(self._middle + most))
        edges = self._middle + least <= self.lower, self._middle + most >= self.upper
        return Interval(self._written(Fraction(ends[0])), self._written(Fraction(ends[1])), *edges)

    @property
    def _middle(self) -> Fraction:
        return (self.lower + self.upper) / 2

    @property
    def _places(self) -> int:
        return (decimal_places(self.step) or 0) + FINER

    def _scaled(self, mean: Fraction) -> Fraction:
        return min(max(mean, self.lower), self.upper) * Fraction(10) ** self._places

    def _written(self, scaled: Fraction) -> Decimal:
        return as_decimal(scaled / 10**self._places, self._places)


Drawn = Noisy | NoisyMean
