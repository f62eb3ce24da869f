"""The rows that an answer is about, in words.

All of it is public: parts of the question, and what is declared of a column. No number of rows is a
part of it, for that is private.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self, get_args

from postri.errors import InputError
from postri.exact import shown

Covers = Literal["table", "population"]
"""Whose value an interval holds: that of the rows, or of the population they were drawn from."""

# How many names are listed one by one.
MOST_NAMES = 3


@dataclass(frozen=True)
class Population:
    """Which rows count.

    `where` is the filter. `by` are the columns that divide the rows, and `keys` are those of one
    group, or none for all groups together. Of each value of `unit` at most `most` rows count.
    Rows with what stands in `outside` are in no group.
    Of texts with more than `texts` characters the filter sees nothing. `cells` says which cells are
    looked at, `taken` what becomes of those beyond a domain, and `particular` what else holds for
    some of several values. `sampled` says that not the rows are meant, but the population that they
    were drawn from.

    >>> print(Population())
    all rows
    >>> print(Population(where="age < 40", sampled=True))
    the population behind rows where age < 40
    >>> print(Population(where="age < 40", cells="on which x can be read", unit="rider", most=3))
    rows where age < 40 on which x can be read, at most 3 of each rider
    """

    where: str | None = None
    by: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    unit: str | None = None
    most: int = 0
    cells: str | None = None
    taken: str | None = None
    particular: str | None = None
    texts: int | None = None
    sampled: bool = False
    outside: str | None = None

    def __str__(self) -> str:
        if self.sampled:
            return f"the population behind {self._rows()}"
        return self._rows()

    def _rows(self) -> str:
        rows = " ".join(["rows", *self._chosen()])
        if self.unit is not None and rows == "rows":
            rows = f"rows that count: {self._bound()}"
        elif self.unit is not None:
            rows += f", {self._bound()}"
        elif rows == "rows":
            rows = "all rows"
        if self.outside is not None and not self.keys:
            rows += f", those with {self.outside} in no group"
        if self.taken is not None:
            rows += f", {self.taken}"
        if self.texts is not None:
            rows += f", texts of more than {self.texts:,} characters taken as missing"
        if self.particular is not None:
            rows += f" ({self.particular})"
        return rows

    def _chosen(self) -> list[str]:
        words = []
        if self.keys:
            pairs = zip(self.by, self.keys, strict=True)
            words.append("with " + " and ".join(f"{name} = {key}" for name, key in pairs))
        elif self.by:
            words.append(f"of each {' and '.join(self.by)}")
        if self.where is not None:
            words.append(f"where {self.where}")
        if self.cells is not None:
            words.append(self.cells)
        return words

    def _bound(self) -> str:
        bound = f"at most {self.most} of each {self.unit}"
        if self.by:
            # A person's rows are chosen once, whatever groups they lie in.
            bound += " over all groups"
        return bound

    @property
    def whole(self) -> Population:
        """All groups together."""
        return replace(self, keys=())

    @property
    def rule(self) -> str | None:
        """How rows are chosen where a person may have more than count; None without such a bound.

        >>> print(Population(unit="rider", most=3).rule)
        Of each rider at most 3 rows count, however many there are; rows without a rider do not.
        """
        if self.unit is None:
            return None
        return (
            f"Of each {self.unit} at most {self.most} rows count, however many there are; rows "
            f"without a {self.unit} do not."
        )

    def to_fields(self) -> dict[str, Any]:
        """As plain values."""
        # All of them are plain already: nothing of them is copied.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_fields(cls, given: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote, here or on the other side of a wire."""
        # A service of an older release does not tell what is in no group.
        found = {"outside": None, **given}
        found = {field.name: found[field.name] for field in fields(cls)}
        return cls(**{**found, "by": tuple(found["by"]), "keys": tuple(found["keys"])})


ALL_ROWS = Population()


def joined(populations: Mapping[str, Population]) -> Population:
    """What several named values are about together: what they share, and in parentheses what is
    particular to each.

    >>> readable = Population(where="age < 40", cells="on which x can be read")
    >>> print(joined({"n": Population(where="age < 40"), "mid": readable}))
    rows where age < 40 (mid: those on which x can be read)
    """
    first, *others = populations.values()
    if all(other == first for other in others):
        return first
    of_words: dict[str, list[str]] = {}
    for name, population in populations.items():
        of_words.setdefault(_particular(population), []).append(name)
    order = list(populations)
    particular = [f"{listed(names, order)}: {words}" for words, names in of_words.items() if words]
    shared = replace(first, cells=None, taken=None, sampled=False)
    return replace(shared, particular="; ".join(particular))


def listed(names: Sequence[str], order: Sequence[str]) -> str:
    """Some names; of many that follow one another, as those of bins do, the first and the last."""
    if len(names) > MOST_NAMES and names[0] in order:
        start = order.index(names[0])
        if list(names) == list(order[start : start + len(names)]):
            return f"{names[0]} to {names[-1]}"
    return ", ".join(names)


def _particular(population: Population) -> str:
    words = []
    if population.cells is not None:
        words.append(f"those {population.cells}")
    if population.sampled:
        behind = "".join(words) or "them"
        words = [f"the population behind {behind}"]
    if population.taken is not None:
        words.append(population.taken)
    if population.particular is not None:
        words.append(f"its {population.particular}")
    return ", ".join(words)


def check_covers(covers: object) -> Covers:
    """What an interval is to cover, or InputError if it is something else.

    >>> check_covers("population")
    'population'
    """
    for known in get_args(Covers):
        if covers == known:
            found: Covers = known
            return found
    raise InputError(
        "covers must be 'table' (the error that privacy adds) or 'population' (that of sampling "
        f"too), got {shown(covers)}"
    )
