"""Uniform numbers of which as many bits are known as were needed, and their surprise -ln(U), which
is exponentially distributed.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, log, log1p
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from postri.mechanisms.coins import Draw, Key, Words

if TYPE_CHECKING:
    from flint import arb

Floats = NDArray[np.float64]

WORD = 2.0**64
LAST_WORD = (1 << 64) - 1
# From this word on, the distance of a uniform number from 1 tells its surprise more exactly.
NEAR_ONE = 15 << 60
# To add one to a float from here on changes nothing.
EXACT = 1 << 54


class Uniform:
    """A uniform number that starts with one word and draws more bits when asked to."""

    def __init__(self, draw: Draw, key: Key, word: int) -> None:
        self._draw = draw
        self._key = key
        self.numerator = word
        self.bits = 64

    def refine(self) -> None:
        """Draw 64 more bits."""
        word = self._draw.words((*self._key, "bits", self.bits), 1)[0]
        self.numerator = (self.numerator << 64) | int(word)
        self.bits += 64

    @property
    def first_word(self) -> int:
        """The 64 bits that it began with."""
        return self.numerator >> (self.bits - 64)

    def as_ball(self) -> arb:
        """The number as far as the bits tell it."""
        from flint import arb

        half = Fraction(1, 1 << (self.bits + 1))
        return arb(ball((2 * self.numerator + 1) * half), ball(half))

    def surprise_ball(self) -> arb:
        """The surprise as far as the bits tell it."""
        # Of a number that begins with zeros alone nothing is known from above.
        while self.numerator == 0:
            self.refine()
        return -self.as_ball().log()


def ball(number: Fraction) -> arb:
    """A rational as a ball of the precision in force."""
    from flint import arb, fmpq

    return arb(fmpq(number.numerator, number.denominator))


def least_surprise(words: Words) -> Floats:
    """The surprise that uniforms beginning with these words have at least, but for rounding."""
    return _surprise(words, 1.0)


def most_surprise(words: Words) -> Floats:
    """The surprise that they have at most; infinite for the word 0."""
    with np.errstate(divide="ignore"):
        return _surprise(words, 0.0)


def surprises(words: Words) -> tuple[Floats, Floats]:
    """The surprise that they have at least, and at most: both at once, for they differ only where
    one more changes a float.
    """
    least = least_surprise(words)
    most = least.copy()
    is_exact = (words < np.uint64(EXACT)) | (~words < np.uint64(EXACT))
    (places,) = is_exact.nonzero()
    most[places] = most_surprise(words[places])
    return least, most


def most_surprise_of(word: int) -> float:
    """The same of one of them."""
    if word == 0:
        return inf
    if word > NEAR_ONE:
        return -log1p((LAST_WORD - word + 1) / -WORD)
    return -log(word / WORD)


def _surprise(words: Words, more: float) -> Floats:
    """-ln((words + more) / 2^64), accurate also where it is small."""
    surprise = words.astype(np.float64)
    surprise += more
    surprise /= WORD
    np.log(surprise, out=surprise)
    np.negative(surprise, out=surprise)
    # Near U = 1 the quotient has lost its last bits: its distance from 1 has not.
    (small,) = (words > np.uint64(NEAR_ONE)).nonzero()
    surprise[small] = -np.log1p(((~words[small]).astype(np.float64) + (1.0 - more)) / -WORD)
    return surprise
