"""The noise that decides which unknown keys are told, and the number of rows that it tells of them.

A key that nobody declared may be told only if many rows have it: a key of one person would tell of
that person. So noise is added to each key's number of rows, and the key is kept if the noisy number
reaches a threshold. The chances of the noise are those that keep a key as often as its privacy
allows (Desfontaines, Voss, Gipson and Mandayam, 2022), and the noisy number of a key that is kept
costs nothing more (Theorem 35). They are whole numbers of parts of a power of two: what is drawn
has this law and no other, and every chance below is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, log
from typing import ClassVar

from postri.errors import InputError
from postri.exact import plain
from postri.privacy import ProtectedChange, most_rows, replaces

# How many outcomes the noise may have: a table of their chances is kept.
MOST_OUTCOMES = 1 << 18
# From here on a larger epsilon makes no noise smaller.
LARGEST_EPSILON = Fraction(500)
# How many bits a chance has beyond those that the smallest one needs, and of how many units its
# rounding may fall short.
SPARE_BITS = 128
ROUNDED = 1 << 20
# The bits behind the point of e^epsilon, rounded down.
RATIO_BITS = 192
WORD = 64
# The tails of an interval are compared with a little less than what they may miss, so that the
# rounding of chances cannot turn the comparison (Theorem 36).
GUARD = 1 << 60


@dataclass(frozen=True)
class KeepingLaw:
    """The law of the noise by what one row may tell: its `epsilon` and its `delta`.

    A key of n rows draws a number j from 1 on. It is kept if j is at most n, and then its noisy
    number of rows is `threshold` + n - j.

    >>> law = KeepingLaw(Fraction(1), Fraction("1e-6"))
    >>> law.threshold, law.surely
    (14, 28)
    >>> float(law.chance(1)), float(law.chance(14))
    (1e-06, 0.6...)
    """

    name: ClassVar[str] = "truncated-geometric"

    epsilon: Fraction
    delta: Fraction

    @classmethod
    def for_person(cls, epsilon: Fraction, delta: Fraction, protect: ProtectedChange) -> KeepingLaw:
        """The law by which all keys of one person tell no more than epsilon and delta: a person's
        rows may all have one key, and replaced rows leave keys and enter others (Theorem 35).

        InputError if epsilon is so small that no key could be found.
        """
        rows = most_rows(protect)
        if replaces(protect):
            law = cls(epsilon / (2 * rows), _of_one_row(epsilon / 2, delta / 2, rows))
        else:
            law = cls(epsilon / rows, _of_one_row(epsilon, delta, rows))
        law.check()
        return law

    def check(self) -> None:
        """InputError if the noise would have more outcomes than a table can hold."""
        outcomes = 2 * log(1 / self.delta) / float(self.epsilon)
        if outcomes > MOST_OUTCOMES:
            raise InputError(
                f"the keys of a column are found by their noisy numbers of rows, and at epsilon "
                f"{plain(self.epsilon)} for a row the noise reaches over more than "
                f"{MOST_OUTCOMES // 2:,} rows; give a larger epsilon, or declare the keys"
            )

    @cached_property
    def whole(self) -> int:
        """The parts that make up the chance 1, a power of two."""
        return self.table[-1]

    @property
    def bits(self) -> int:
        """Its logarithm: a multiple of 64."""
        return self.whole.bit_length() - 1

    @cached_property
    def table(self) -> tuple[int, ...]:
        """In how many parts of the whole j is at most 0, 1, 2 and so on."""
        return _table(self.epsilon, self.delta)

    @cached_property
    def surely(self) -> int:
        """From how many rows on a key is kept for sure."""
        return len(self.table) - 1

    @cached_property
    def threshold(self) -> int:
        """The least noisy number of rows of a key that is kept: that number of rows is the least
        with which a key is as likely to be kept as not.
        """
        half = self.whole // 2
        return next(n for n, parts in enumerate(self.table) if parts >= half)

    def parts(self, number: int) -> int:
        """In how many parts of the whole j is at most this number."""
        return self.table[min(max(number, 0), self.surely)]

    def chance(self, rows: int) -> Fraction:
        """That a key of so many rows is kept."""
        return Fraction(self.parts(rows), self.whole)

    def rows_between(self, noisy: int, beta: Fraction) -> tuple[int, int]:
        """Between which numbers of rows those of a key lie that was kept with this noisy number:
        but for a chance of beta at most, given that it was kept (Theorem 36).
        """
        above = noisy - self.threshold
        # From here on it was kept for sure, and the interval lies as far around each number.
        first = min(above, self.surely)
        low, high = _rows_between(self, first, beta)
        return low + above - first, high + above - first

    def _rows_above(self, above: int, beta: Fraction) -> tuple[int, int]:
        """The same of a key whose noisy number is so much above the threshold."""
        missed = beta / 2 * Fraction(GUARD - 1, GUARD)

        def is_too_high(rows: int) -> bool:
            """Whether so few rows hardly ever have so high a number, once they are kept."""
            return self.parts(rows - above) <= missed * self.parts(rows)

        def is_too_low(rows: int) -> bool:
            kept = self.parts(rows)
            return kept - self.parts(rows - above - 1) <= missed * kept

        least, most = above, above + self.surely + 1
        low = _first(lambda rows: not is_too_high(rows), least, most)
        high = _first(is_too_low, least, most) - 1
        return min(low, high), max(low, high)


@lru_cache(maxsize=1 << 16)
def _rows_between(law: KeepingLaw, above: int, beta: Fraction) -> tuple[int, int]:
    return law._rows_above(above, beta)


def _first(holds: Callable[[int], bool], below: int, end: int) -> int:
    """The least whole number above one at which something holds that goes on to hold; it holds at
    the end.
    """
    while end - below > 1:
        middle = (below + end) // 2
        if holds(middle):
            end = middle
        else:
            below = middle
    return end


def _of_one_row(epsilon: Fraction, delta: Fraction, rows: int) -> Fraction:
    """The delta of one row of a person, of whose rows all in one key have this epsilon and delta:
    delta / (1 + r + ... + r^(rows-1)) with r = e^(epsilon/rows), rounded down.
    """
    if rows == 1:
        return delta
    from flint import arb, ctx, fmpq

    bits = SPARE_BITS + delta.denominator.bit_length() + ceil(2 * epsilon) + rows.bit_length()
    with ctx.workprec(2 * bits):
        one = (arb(fmpq(epsilon.numerator, epsilon.denominator)) / rows).expm1()
        all_rows = arb(fmpq(epsilon.numerator, epsilon.denominator)).expm1()
        exact = arb(fmpq(delta.numerator, delta.denominator)) * one / all_rows
        bottom = (exact * arb(2) ** bits).lower().fmpq()
    return Fraction(int(bottom.p) // int(bottom.q), 1 << bits)


@lru_cache(maxsize=64)
def _table(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """The chances to be kept, each as large as the one before it allows: either a row more makes it
    e^epsilon times as large and delta more, or a row less does so to the chance to be dropped.
    """
    ratio = _ratio(min(epsilon, LARGEST_EPSILON))
    largest = (ratio >> RATIO_BITS) + 1
    needed = (1 / delta).__ceil__().bit_length() + largest.bit_length() + SPARE_BITS
    bits = -(-needed // WORD) * WORD
    whole = 1 << bits
    allowed = whole * delta.numerator // delta.denominator
    step = allowed - ROUNDED * largest
    table = [0]
    chance = step
    while table[-1] < whole:
        kept = table[-1]
        # At least what is left beyond a step, divided by the ratio: rounded up.
        left = max(0, whole - kept - step)
        dropped = -((-left << RATIO_BITS) // ratio)
        table.append(min(kept + chance, whole - dropped))
        chance = (table[-1] - kept) * ratio >> RATIO_BITS
    assert told_beyond(table, ratio) <= allowed << RATIO_BITS
    return tuple(table)


def told_beyond(table: Sequence[int], ratio: int) -> int:
    """By how much one row more, or less, moves the chance of some outcomes beyond `ratio` times:
    the larger of the two, in parts of the whole and of 2^RATIO_BITS.
    """
    chances = [after - before for before, after in pairwise(table)]
    more = less = 0
    for before, after in zip([0, *chances], [*chances, 0], strict=True):
        more += max(0, (after << RATIO_BITS) - before * ratio)
        less += max(0, (before << RATIO_BITS) - after * ratio)
    return max(more, less)


def _ratio(epsilon: Fraction) -> int:
    """e^epsilon, in parts of 2^RATIO_BITS, rounded down."""
    from flint import arb, ctx, fmpq

    with ctx.workprec(2 * RATIO_BITS + 2 * ceil(epsilon)):
        ball = arb(fmpq(epsilon.numerator, epsilon.denominator)).exp() * arb(2) ** RATIO_BITS
        bottom = ball.lower().fmpq()
    return int(bottom.p) // int(bottom.q)
