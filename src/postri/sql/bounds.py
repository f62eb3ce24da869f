"""Between which numbers a true value lies, and what arithmetic makes of that.

An end on an edge means "here or beyond": a median that is clamped at 1,000 lies at 1,000 or above,
and twice of it at 2,000 or above. So each step is computed twice, with the ends as they are shown
and with those on an edge moved out to infinity. Where the second reaches further than the first,
the shown end is an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

ZERO = Fraction(0)


class End(NamedTuple):
    """A number, or infinity: `beyond` is -1 below all numbers, 1 above all of them. Ends compare as
    the numbers that they are.
    """

    beyond: int
    number: Fraction

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return self.beyond or (self.number > 0) - (self.number < 0)

    def plus(self, other: End) -> End:
        """The sum of two lower or of two upper ends: those are never infinite to both sides."""
        beyond = self.beyond or other.beyond
        if beyond:
            return End(beyond, ZERO)
        return End(0, self.number + other.number)

    def times(self, other: End) -> End:
        """The product. Zero times infinity is 0, for no value is infinite."""
        sign = self.sign * other.sign
        if sign and (self.beyond or other.beyond):
            return End(sign, ZERO)
        return End(0, self.number * other.number)

    def negative(self) -> End:
        """The same on the other side of 0."""
        return End(-self.beyond, -self.number)

    def inverse(self) -> End:
        """One by a number that is not 0; what infinity comes close to is 0."""
        if self.beyond:
            return End(0, ZERO)
        return End(0, 1 / self.number)


LEAST = End(-1, ZERO)
MOST = End(1, ZERO)


class Extent(NamedTuple):
    """All numbers between two ends."""

    low: End
    high: End

    @property
    def holds_zero(self) -> bool:
        """Whether 0 is among them."""
        return self.low.sign <= 0 <= self.high.sign

    def at_least_one(self) -> Extent:
        """The part of it that is 1 or more, and at least 1 itself."""
        one = End(0, Fraction(1))
        return Extent(max(self.low, one), max(self.high, one))


EVERYTHING = Extent(LEAST, MOST)


def computed(sign: str, left: Extent, right: Extent) -> Extent:
    """All results for numbers of two ranges; everything, if a divisor may be 0."""
    if sign == "-":
        right = Extent(right.high.negative(), right.low.negative())
    if sign in "+-":
        return Extent(left.low.plus(right.low), left.high.plus(right.high))
    if sign == "/":
        if right.holds_zero:
            return EVERYTHING
        right = Extent(right.high.inverse(), right.low.inverse())
    corners = [one.times(other) for one in left for other in right]
    return Extent(min(corners), max(corners))


@dataclass(frozen=True)
class Bounds:
    """An interval as it is shown, and which of its ends are edges."""

    low: Fraction
    high: Fraction
    low_is_edge: bool = False
    high_is_edge: bool = False

    @property
    def shown(self) -> Extent:
        """Between the ends as they stand."""
        return Extent(End(0, self.low), End(0, self.high))

    @property
    def possible(self) -> Extent:
        """Where the true value can lie: beyond an edge too."""
        low, high = self.shown
        if self.low_is_edge:
            low = LEAST
        if self.high_is_edge:
            high = MOST
        return Extent(low, high)

    def computed(self, sign: str, other: Bounds) -> Bounds:
        """The bounds of a sum, difference, product or quotient.

        No divisor that is shown holds 0; beyond an edge it may.
        """
        shown = computed(sign, self.shown, other.shown)
        possible = computed(sign, self.possible, other.possible)
        return Bounds(
            shown.low.number,
            shown.high.number,
            possible.low < shown.low,
            possible.high > shown.high,
        )

    def at_least_one(self) -> Bounds:
        """The same for a number of rows that is divided by: 1 or more, and without edges."""
        return Bounds(max(self.low, Fraction(1)), max(self.high, Fraction(1)))

    def over(self, widest: Extent) -> Bounds:
        """The same, out to the ends of a public range as far as it has ends."""
        low, high = self.shown
        if not widest.low.beyond:
            low = min(low, widest.low)
        if not widest.high.beyond:
            high = max(high, widest.high)
        return Bounds(low.number, high.number, self.low_is_edge, self.high_is_edge)
