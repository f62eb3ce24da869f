"""How many persons there are, or how many of some public keys occur (Theorem 30).

A person is a value of the column that a unit is protected by, and counts once, however many rows it
has. Another column needs a public list of keys: how many values it holds beside these is not told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

from postri.answer import Answer
from postri.answer.drawn import Interval, Noisy, register_drawn
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.cost import Cost
from postri.errors import InputError
from postri.exact import shown
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.noise import Noise
from postri.privacy import (
    ProtectedChange,
    moved_groups,
    moved_rows,
    moved_rows_squared,
    protected_unit,
)
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


@dataclass(frozen=True)
class DrawnKeys:
    """The number of keys that occur, of so many in all: never more are shown."""

    noisy: Noisy
    most: int

    @property
    def noise(self) -> Noise:
        """That of the number."""
        return self.noisy.noise

    @property
    def value(self) -> int:
        """The number, as far as there are keys."""
        return min(int(self.noisy.value), self.most)

    def interval(self, beta: Fraction) -> Interval:
        """Holds the number with probability at least 1 - beta."""
        found = self.noisy.interval(beta)
        return Interval(min(int(found.low), self.most), min(int(found.high), self.most))

    def to_fields(self) -> dict[str, Any]:
        """As plain values."""
        return {"keys_present": self.noisy.to_fields(), "most": self.most}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        return cls(Noisy.from_fields(fields["keys_present"]), fields["most"])


class DistinctBatch(Batch):
    """Distinct counts of one column: of units, or of lists of keys."""

    def count(self, table: Countable, rows: Any) -> Sequence[Mapping[Keys | None, int]]:
        """For each group and each list of keys how many occur; under None, how many units."""
        wanted = {cast("DistinctCount", each.statistic).keys for each in self.asked}
        found: dict[Keys | None, list[int]] = {}
        for keys in wanted:
            if keys is None:
                found[None] = table.unit_counts(rows)
            else:
                groups = table.key_counts(self.column, keys, rows)
                found[keys] = [sum(number > 0 for number in numbers) for numbers in groups]
        number = len(next(iter(found.values())))
        return [{keys: counts[place] for keys, counts in found.items()} for place in range(number)]


@dataclass(frozen=True)
class DistinctCount(Statistic):
    """How many different values a column has: units, or some of the keys."""

    keys: Keys | None = None

    title: ClassVar = "distinct count"
    batch = DistinctBatch
    needs_column: ClassVar = False
    counts_rows: ClassVar = True

    @property
    def public_keys(self) -> Keys | None:
        """The keys that are counted."""
        return self.keys

    def with_keys(self, keys: Keys | None) -> Statistic:
        """The keys of the policy, where none were given."""
        if self.keys is not None:
            return self
        return replace(self, keys=keys)

    def is_of_units(self, protect: ProtectedChange) -> bool:
        """Whether the values of its column are the persons."""
        return self.keys is None and self.column in protected_unit(protect)

    def check_protect(self, protect: ProtectedChange) -> None:
        """Without keys, only units can be counted."""
        if self.keys is None and not self.is_of_units(protect):
            units = "no unit is protected here"
            for unit in protected_unit(protect):
                units = f"the unit that is protected is {unit!r}"
            raise InputError(
                f"the distinct values of {shown(self.column)} cannot be counted: one person may "
                f"bring any number of them, and {units}; give the public keys to count, such as "
                "distinct('city', keys=['Oslo', 'Bergen'])"
            )

    @property
    def left_out(self) -> str | None:
        """Values that are no keys."""
        if self.keys is None:
            return None
        keys = "key" if len(self.keys) == 1 else f"{len(self.keys)} keys"
        return f"values beside the {keys} not counted"

    def written(self) -> str:
        """As text.

        >>> print(distinct("city", keys=["Oslo", "Bergen"]).written())
        distinct("city", 'Oslo', 'Bergen')
        """
        return written("distinct", self.column, *map(written_key, self.keys or ()))

    def fields(self) -> dict[str, Any]:
        """The column and the keys, whose order does not matter."""
        keys = None
        if self.keys is not None:
            keys = sorted(map(written_key, self.keys))
        return {"distinct": self.column, "keys": keys}

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """Which noise is drawn."""
        return additive_fields(terms)

    def draw(
        self, counted: Mapping[Keys | None, int], grid: Grid | None, terms: Terms, coins: Coins
    ) -> Answer:
        """One draw of noise."""
        noise = self._noise(terms)
        number = counted[self.keys] + drawn_noise(noise, coins)
        noisy = Noisy(number, Fraction(1), noise, negative=False)
        if self.keys is None:
            return released(self.title, noisy, terms, coins)
        return released(self.title, DrawnKeys(noisy, len(self.keys)), terms, coins)

    def cost(self, terms: Terms) -> Cost:
        """That of one draw."""
        return additive_cost(terms)

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """It reaches as far as the noise, whatever the number of rows."""
        reach = self._noise(terms).reach(terms.beta)
        return Reach(self.title, Fraction(reach), float(terms.confidence))

    def _noise(self, terms: Terms) -> Noise:
        """The noise of the number in each group: it follows from public numbers."""
        if self.keys is None:
            # A person moves a group's number by 1 or not at all: squares are the same.
            groups = moved_groups(terms.protect, terms.groups)
            return noise_of(terms, groups, groups)
        moved = moved_rows(terms.protect, terms.groups)
        squared = moved_rows_squared(terms.protect, terms.groups)
        # There are no more keys than all of them, in each group.
        most = Fraction(len(self.keys))
        return noise_of(
            terms, min(moved, most * terms.groups), min(squared, most**2 * terms.groups)
        )


def distinct(column: str, keys: Sequence[Any] | None = None) -> DistinctCount:
    """How many different values a column has: persons, if it is the unit that is protected, or some
    of these keys.
    """
    return DistinctCount(check_column(column), None, check_keys(keys))


register_drawn("keys_present", DrawnKeys)
register(
    Form(
        name="distinct",
        make=distinct,
        meaning="How many persons there are, or how many of a column's public keys occur.",
        parameters=(
            Parameter("column", "column", fits="any"),
            Parameter(
                "keys",
                "keys",
                optional=True,
                meaning="Keys to count, such as 'Oslo', 'Bergen'; those of the policy if left out",
            ),
        ),
        sql_distinct=("COUNT",),
        sql_usage="COUNT(DISTINCT x): the unit that is protected, or a column with public keys",
        examples=("distinct(x)",),
        called="number of distinct values",
        family="keys and persons",
        place=12,
    )
)
