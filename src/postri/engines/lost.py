"""What is lost of rows and cells, in exact numbers: NOT PRIVATE, for the steward alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

from postri.expressions import Bound


@dataclass(frozen=True)
class Lost:
    """How many there are, and the numbers of the first few; none where rows have no numbers."""

    count: int
    first: tuple[int, ...] = ()


NOTHING = Lost(0)


@dataclass(frozen=True)
class LostCells:
    """What is lost of `rows` rows: lines that are no records, and of each column the cells that are
    empty and those that cannot be read. `numbered` says what numbers are of: lines of a text, or
    rows.
    """

    rows: int
    no_record: Lost
    empty: Mapping[str, Lost]
    unreadable: Mapping[str, Lost]
    numbered: Literal["line", "row"] = "row"

    def with_unreadable(self, empty: Mapping[str, Lost]) -> LostCells:
        """The same where of some columns no more cells than these are empty: the others cannot be
        read.
        """
        really_empty = dict(self.empty)
        unreadable = dict(self.unreadable)
        for column, few in empty.items():
            both = self.empty[column]
            if few.count < both.count:
                others = tuple(number for number in both.first if number not in few.first)
                unreadable[column] = Lost(both.count - few.count, others)
                really_empty[column] = few
        return replace(self, empty=really_empty, unreadable=unreadable)


@runtime_checkable
class NumbersRows(Protocol):
    """An engine that can tell where something is lost: that of a file."""

    def lost(self, read: Mapping[str, Bound], most: int) -> LostCells:
        """What is lost of each column, whose cells are read where its condition holds; the numbers
        of the first `most` of each kind.
        """
