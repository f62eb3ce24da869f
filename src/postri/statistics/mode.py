"""The key that most rows have, of some public keys, and the k keys that most rows have.

Keys are disjoint, as groups are: noisy counts of all of them cost what one does (Theorem 26). So
the keys with the largest noisy counts win, and by how much follows from the same draw (Theorem 37).
What is told of a key is its lead: by how many rows it is ahead of the k-th of the others. It is one
of the k keys that most rows have if and only if its lead is not negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, ClassVar, Self, cast

import numpy as np

from postri.answer import Answer
from postri.answer.drawn import Interval, Noisy, register_drawn
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.answer.result import LEAD
from postri.answer.words import register_words
from postri.cost import Cost
from postri.errors import InputError
from postri.exact import exact, shown
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.noise import Noise, read_noise
from postri.privacy import ProtectedChange, moved_rows, moved_rows_squared
from postri.statistics.additive import (
    additive_cost,
    additive_fields,
    drawn_noise,
    noise_of,
    released,
)
from postri.statistics.keys import Keys, check_keys, written_key
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import Batch, Countable, Statistic, Terms
from postri.tree.tails import NoiseSum

# How many keys may win, and how many numbers a result may hold: each winner keeps all counts.
MOST_PLACES = 100
MOST_NUMBERS = 100_000
EXPLANATION = (
    "The lead is by how many rows this key is ahead of the {other} of the others: where it is not "
    "negative, the key is {place}. An interval that holds no negative number says so with its "
    "confidence."
)


@dataclass(frozen=True)
class DrawnLead:
    """The noisy counts of all keys, in their order, and the place of one among the largest, of so
    many `places` that win.
    """

    counts: tuple[Noisy, ...]
    place: int
    places: int

    @property
    def noise(self) -> Noise:
        """That of each count."""
        return self.counts[0].noise

    @property
    def value(self) -> int:
        """By how many rows the key is ahead of the first one that does not win."""
        ranked = sorted((count.drawn for count in self.counts), reverse=True)
        return ranked[self.place] - ranked[self.places]

    def interval(self, beta: Fraction) -> Interval:
        """Holds the lead with probability at least 1 - beta, and so do those of all winners."""
        reach = lead_reach(self.noise, len(self.counts), self.places, beta)
        return Interval(self.value - reach, self.value + reach)

    def to_fields(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "leading": [str(count.drawn) for count in self.counts],
            **self.noise.to_fields(),
            "place": self.place,
            "places": self.places,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        noise = read_noise(fields)
        counts = tuple(_noisy(int(drawn), noise) for drawn in fields["leading"])
        return cls(counts, fields["place"], fields["places"])


def _noisy(drawn: int, noise: Noise) -> Noisy:
    return Noisy(drawn, Fraction(1), noise, negative=False)


@lru_cache(maxsize=1024)
def lead_reach(noise: Noise, keys: int, places: int, beta: Fraction) -> int:
    """How far the leads of all winners are off at most, with probability at least 1 - beta: that
    far go the differences of two noises, of which no more than keys * places matter (Theorem 37).
    """
    square = noise.mean_square
    difference = NoiseSum(type(noise), np.array([square, square]), np.array([1.0, -1.0]))
    passed = difference.reach(float(beta / (keys * places)))
    # A whole number that is more than the reach is at least the one that is passed.
    return max(ceil(passed) - 1, 0)


class KeyBatch(Batch):
    """Statistics of how many rows have each of some keys in one column."""

    def count(self, table: Countable, rows: Any) -> Sequence[Mapping[Keys, list[int]]]:
        """For each group and each list of keys how many rows have each of them."""
        wanted = {cast("TopKeys", each.statistic).known_keys for each in self.asked}
        found = {keys: table.key_counts(self.column, keys, rows) for keys in wanted}
        number = len(next(iter(found.values())))
        return [{keys: counts[place] for keys, counts in found.items()} for place in range(number)]


@dataclass(frozen=True)
class TopKeys(Statistic):
    """The `places` keys of a column that most rows have, the one with the most rows first."""

    places: int = 1
    keys: Keys | None = None

    title: ClassVar = "top k"
    batch = KeyBatch
    needs_column: ClassVar = False
    finds_key: ClassVar = True

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The place of each winner, whose lead an answer is.

        >>> top_k("city", 2).suffixes
        ('_1_lead', '_2_lead')
        """
        return tuple(f"_{place}{LEAD}" for place in range(1, self.places + 1))

    @property
    def public_keys(self) -> Keys | None:
        """The keys that may win."""
        return self.keys

    @property
    def known_keys(self) -> Keys:
        """The same, where some are known."""
        assert self.keys is not None
        return self.keys

    def with_keys(self, keys: Keys | None) -> Statistic:
        """The keys of the policy, where none were given."""
        if self.keys is not None:
            return self
        return replace(self, keys=keys)

    def check_protect(self, protect: ProtectedChange) -> None:
        """Only public keys can win, and not all of them."""
        if self.keys is None:
            raise InputError(
                f"which values {shown(self.column)} has is private, so the {self.title} takes "
                "public keys; give them, such as keys=['Oslo', 'Bergen']"
            )
        if len(self.keys) <= self.places:
            raise InputError(
                f"the {self.title} needs more keys than win, which are {self.places}, got "
                f"{len(self.keys)}; name more keys"
            )
        if len(self.keys) * self.places > MOST_NUMBERS:
            raise InputError(
                f"keys times winners may be at most {MOST_NUMBERS:,}, got "
                f"{len(self.keys) * self.places:,}; name fewer of either"
            )

    @property
    def left_out(self) -> str | None:
        """Values that are no keys."""
        if self.keys is None:
            return None
        return f"values beside the {len(self.keys)} keys not counted"

    def written(self) -> str:
        """As text.

        >>> print(top_k("city", 1, keys=["Oslo", "Bergen"]).written())
        top_k("city", 1, 'Oslo', 'Bergen')
        """
        return written("top_k", self.column, self.places, *map(written_key, self.keys or ()))

    def fields(self) -> dict[str, Any]:
        """The column, how many win, and the keys, whose order does not matter."""
        return {"top_k": self.column, "k": self.places, "keys": self._sorted_keys}

    @property
    def _sorted_keys(self) -> list[str] | None:
        if self.keys is None:
            return None
        return sorted(map(written_key, self.keys))

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """Which noise is drawn."""
        return additive_fields(terms)

    def draw_all(
        self, counted: Mapping[Keys, list[int]], grid: Grid | None, terms: Terms, coins: Coins
    ) -> list[Answer]:
        """One draw of noise for each key; those with the largest counts win."""
        noise = self._noise(terms)
        exact_counts = counted[self.known_keys]
        counts = tuple(_noisy(count + drawn_noise(noise, coins), noise) for count in exact_counts)
        # Of two keys with one count the first of the public list wins.
        order = sorted(range(len(counts)), key=lambda number: -counts[number].drawn)
        answers = []
        for place, number in enumerate(order[: self.places]):
            drawn = DrawnLead(counts, place, self.places)
            answer = released(self.title, drawn, terms, coins)
            answers.append(replace(answer, key=self.known_keys[number]))
        return answers

    def cost(self, terms: Terms) -> Cost:
        """That of one draw: keys share it."""
        return additive_cost(terms)

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """It reaches as far as the noise, whatever the number of rows."""
        reach = lead_reach(self._noise(terms), len(self.known_keys), self.places, terms.beta)
        return Reach(f"lead ({self.title})", Fraction(reach), float(terms.confidence))

    def _noise(self, terms: Terms) -> Noise:
        """That of numbers of rows of so many groups: the keys of each are groups themselves."""
        disjoint = terms.groups * len(self.known_keys)
        moved = moved_rows(terms.protect, disjoint)
        return noise_of(terms, moved, moved_rows_squared(terms.protect, disjoint))


class Mode(TopKeys):
    """The key that most rows have."""

    title: ClassVar = "mode"

    @property
    def suffixes(self) -> tuple[str, ...]:
        """One winner, whose lead the answer is."""
        return (LEAD,)

    def written(self) -> str:
        """As text.

        >>> print(mode("city").written())
        mode("city")
        """
        return written("mode", self.column, *map(written_key, self.keys or ()))

    def fields(self) -> dict[str, Any]:
        """The column and the keys."""
        return {"mode": self.column, "keys": self._sorted_keys}


def mode(column: str, keys: Sequence[Any] | None = None) -> Mode:
    """The key of a column that most rows have, of these keys or of those of the policy."""
    return Mode(check_column(column), None, 1, check_keys(keys))


def top_k(column: str, k: Any, keys: Sequence[Any] | None = None) -> TopKeys:
    """The k keys of a column that most rows have, of these keys or of those of the policy."""
    return TopKeys(check_column(column), None, _check_places(k), check_keys(keys))


def _check_places(k: Any) -> int:
    number = exact(k, "k")
    if number.denominator != 1 or not 1 <= number <= MOST_PLACES:
        raise InputError(
            f"k, how many keys win, must be a whole number from 1 to {MOST_PLACES}, got {shown(k)}"
        )
    return int(number)


COLUMN = Parameter("column", "column", fits="any")
KEYS = Parameter(
    "keys",
    "keys",
    optional=True,
    meaning="Keys that may win, such as 'Oslo', 'Bergen'; those of the policy if left out",
)

register_drawn("leading", DrawnLead)
register_words(Mode.title, explanation=EXPLANATION.format(other="first", place="the mode"))
register_words(
    TopKeys.title,
    explanation=EXPLANATION.format(other="k-th", place="one of the k that most rows have"),
)
register(
    Form(
        name="mode",
        make=mode,
        meaning="The key that most rows have, and by how many rows it leads.",
        parameters=(COLUMN, KEYS),
        sql=("MODE",),
        sql_usage="MODE(x): a column with public keys, which may be listed after it",
        examples=("mode(x)",),
        called="most frequent key",
        family="keys and persons",
        place=15,
    )
)
register(
    Form(
        name="top_k",
        make=top_k,
        meaning="The k keys that most rows have, and by how many rows each leads.",
        parameters=(
            COLUMN,
            Parameter("k", "number", meaning="How many keys win", usual="3"),
            KEYS,
        ),
        sql=("TOP_K", "APPROX_TOP_K"),
        sql_usage="{function}(x, 3): a column with public keys, and how many of them win",
        examples=("top_k(x, 3)",),
        called="most frequent keys",
        family="keys and persons",
        place=16,
    )
)
