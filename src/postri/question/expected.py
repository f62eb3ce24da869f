"""About how many rows count, from public numbers and the analyst's word alone."""

from __future__ import annotations

from dataclasses import dataclass

from postri.answer.forecast import ExpectedRows, Unknown
from postri.privacy import AddOrRemoveUnits, ProtectedChange, ReplaceUnits


@dataclass(frozen=True)
class PublicRows:
    """What is public of the number of rows: about how many `rows` a table has, of how many `units`,
    and how many the analyst expects to match, in each group.
    """

    rows: int | None = None
    units: int | None = None
    expect: int | None = None

    def expected(
        self, protect: ProtectedChange, groups: int, *, filtered: bool
    ) -> ExpectedRows | Unknown:
        """About how many rows count, in all groups together.

        The public numbers are about all rows, so under a filter they tell nothing. A unit bound
        leaves at least a row of each unit, and at most as many as it says. What the analyst expects
        is about the rows of each group that count.
        """
        unit = None
        per_unit = None
        if isinstance(protect, AddOrRemoveUnits | ReplaceUnits):
            unit = protect.unit
            per_unit = protect.rows
        limits = []
        if self.rows is not None:
            limits.append(self.rows)
        if per_unit is not None and self.units is not None:
            limits.append(self.units * per_unit)
        if self.expect is not None:
            return ExpectedRows(min([self.expect, *limits]) * groups)
        if not filtered and per_unit is None and self.rows is not None:
            return ExpectedRows(self.rows)
        if not filtered and per_unit is not None and self.units is not None:
            return _range(self.units, min(limits))
        return Unknown(groups, unit, per_unit)


def _range(least: int, most: int) -> ExpectedRows:
    if most <= least:
        return ExpectedRows(most)
    return ExpectedRows(least, most)
