"""Draws of unknown keys: each bit of the coins that can matter does, and nothing else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from postri.errors import InputError
from postri.keeping import WORD, KeepingLaw
from postri.mechanisms.coins import SeededCoins
from postri.mechanisms.kept_keys import kept_keys
from postri.privacy import AddOrRemoveRows, ReplaceRows

LAWS = [
    KeepingLaw(Fraction(1), Fraction("1e-6")),
    KeepingLaw(Fraction(1, 10), Fraction("1e-3")),
    KeepingLaw(Fraction(900), Fraction("1e-12")),
]
MANY = 10**9


class Scripted:
    """Coins whose uniform number is known to the last bit."""

    private = False

    def __init__(self, number: int, bits: int) -> None:
        self.words_left = [
            number >> (bits - WORD * (i + 1)) & (2**WORD - 1) for i in range(bits // WORD)
        ]

    def draw(self) -> Scripted:
        return self

    def words(self, key: object, number: int) -> np.ndarray:
        assert number == 1
        return np.array([self.words_left.pop(0)], np.uint64)


def drawn(law: KeepingLaw, uniform: int) -> int:
    """The j that this uniform number gives."""
    _, noisy = kept_keys(law, np.array([MANY]), Scripted(uniform, law.bits))
    return law.threshold + MANY - int(noisy[0])


@pytest.mark.parametrize("law", LAWS)
def test_each_chance_begins_and_ends_where_it_should(law):
    assert law.bits % WORD == 0 and law.whole == 1 << law.bits
    for j in range(1, law.surely + 1):
        assert drawn(law, law.parts(j - 1)) == j
        assert drawn(law, law.parts(j) - 1) == j


def test_a_key_is_kept_from_its_own_number_on():
    law = LAWS[0]
    for j in (1, 5, law.surely):
        for rows in (j - 1, j, j + 3):
            coins = Scripted(law.parts(j) - 1, law.bits)
            places, noisy = kept_keys(law, np.array([rows]), coins)
            if rows < j:
                assert not len(places)
            else:
                assert noisy.tolist() == [law.threshold + rows - j]


def test_keys_are_drawn_apart_and_few_rows_are_hardly_told():
    """How many of many keys are told: a binomial number, off by more than six standard deviations
    less than once in a hundred million.
    """
    law = KeepingLaw(Fraction(1, 2), Fraction(1, 100))
    number = 100_000
    for rows in (1, 4, law.threshold, law.surely - 1):
        chance = float(law.chance(rows))
        places, noisy = kept_keys(law, np.full(number, rows), SeededCoins(rows))
        deviation = (number * chance * (1 - chance)) ** 0.5
        assert abs(len(places) - number * chance) < 6 * deviation + 1
        assert noisy.min() >= law.threshold


def test_no_key_at_all():
    places, noisy = kept_keys(LAWS[0], np.empty(0, np.int64), SeededCoins(1))
    assert len(places) == len(noisy) == 0


def test_an_epsilon_that_finds_nothing_is_refused():
    for change in (AddOrRemoveRows(1), ReplaceRows(1000)):
        with pytest.raises(InputError, match="larger epsilon, or declare the keys"):
            KeepingLaw.for_person(Fraction(1, 10**5), Fraction("1e-9"), change)
