"""The number of rows that decides whether a key is told which nobody declared.

It is no statistic that is asked for by a name: where the keys of a column are to be found, it takes
the place of `count()`, or stands beside what is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from postri.answer import Answer
from postri.answer.drawn import Interval, Kept
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.answer.lazy import LazySequence
from postri.answer.words import FOUND
from postri.cost import Cost, approximate_draw
from postri.keeping import KeepingLaw
from postri.mechanisms.coins import Coins
from postri.mechanisms.kept_keys import kept_keys
from postri.privacy import Spend
from postri.statistics.count import Count
from postri.statistics.statistic import Terms


@dataclass(frozen=True)
class FoundCount(Count):
    """The numbers of rows of the keys that a column `found` has, by which they are kept or not,
    with a chance of `delta` to tell of a person.
    """

    found: str = ""
    delta: Fraction = Fraction(0)

    decides: ClassVar = True

    def fields(self) -> dict[str, Any]:
        """A count, the column and the delta."""
        return {"count": None, "found": self.found, "delta": str(self.delta)}

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """Nothing else: its noise is the same whatever the accountant."""
        return {}

    def check_terms(self, terms: Terms) -> None:
        """InputError if epsilon is too small to find a key."""
        self.law(terms)

    def note_to_all(self, terms: Terms) -> str:
        """How the keys are found."""
        return FOUND.format(threshold=self.law(terms).threshold, delta=f"{float(self.delta):g}")

    def law(self, terms: Terms) -> KeepingLaw:
        """The noise on each number: it follows from public numbers."""
        return KeepingLaw.for_person(terms.epsilon, self.delta, terms.protect)

    def cost(self, terms: Terms) -> Cost:
        """That of one draw with a delta: all keys share it."""
        return approximate_draw(terms.epsilon, self.delta)

    def draw_kept(
        self, rows: NDArray[np.int64], most: int, terms: Terms, coins: Coins
    ) -> tuple[Sequence[int], Sequence[int]]:
        """Which of some keys are kept, by their places, and their noisy numbers of rows. Of more
        than `most` those with the largest: that follows from what is released.
        """
        places, noisy = kept_keys(self.law(terms), rows, coins)
        if len(places) > most:
            largest = np.sort(np.argsort(-noisy, kind="stable")[:most])
            places, noisy = places[largest], noisy[largest]
        return places.tolist(), noisy.tolist()

    def told(
        self, keys: Sequence[Any], noisy: Sequence[int], terms: Terms, coins: Coins
    ) -> LazySequence[Answer]:
        """The numbers of rows of the keys that were kept, which may be many: what they have in
        common is made once, and each when it is looked at.
        """
        law = self.law(terms)
        common = vars(self.nothing(terms, coins))

        def answer(place: int) -> Answer:
            drawn = Kept(noisy[place], keys[place], law)
            own = {"value": drawn.value, "interval": drawn.interval(terms.beta), "drawn": drawn}
            return Answer(**{**common, **own})

        return LazySequence(len(keys), answer)

    def nothing(self, terms: Terms, coins: Coins) -> Answer:
        """What stands for a result in which no key was kept: no row of it."""
        return Answer(
            value=0,
            interval=Interval(0, 0),
            confidence=float(terms.confidence),
            spend=Spend(terms.epsilon, Fraction(0)),
            protect=terms.protect,
            method=KeepingLaw.name,
            private=coins.private,
            notes=terms.notes,
            statistic=self.title,
        )

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """How far it reaches for a key that is kept for sure, whatever its number of rows."""
        law = self.law(terms)
        noisy = 2 * law.surely + law.threshold
        low, high = law.rows_between(noisy, terms.beta)
        reach = max(noisy - low, high - noisy)
        return Reach(self.title, Fraction(reach), float(terms.confidence))
