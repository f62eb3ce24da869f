"""What the published methods share: what they can be asked, and why n must be public.

They work on the grid without ties, whose points, and with them the answers that can come out,
depend on the number of rows n. So n must be the same on neighbouring tables: they answer for every
row of a table, and a cell that is null or cannot be read counts as the domain's lower end.
"""

from __future__ import annotations

from abc import ABC
from fractions import Fraction
from typing import ClassVar

from postri.errors import InputError
from postri.grid import Grid
from postri.methods.method import Method, QuantileTerms
from postri.methods.tieless import size_of
from postri.privacy import ReplaceRows

HALF = Fraction(1, 2)
ROWS_ARE_PUBLIC = (
    "the number of rows is taken to be public; a cell that is null or cannot be read counts as "
    "the domain's lower end"
)


class Published(Method, ABC):
    """A method from a paper: the median alone, one replaced row, n public."""

    notes: ClassVar[tuple[str, ...]] = (ROWS_ARE_PUBLIC,)
    every_row: ClassVar[bool] = True

    def check(self, terms: QuantileTerms, grid: Grid) -> None:
        """Refuse what the method cannot answer: InputError."""
        if terms.p != HALF:
            raise InputError(
                f"{self.name} answers for the median alone, not for p = {terms.p}; use "
                "method='depth'"
            )
        if terms.protect != ReplaceRows(1):
            raise InputError(
                f"{self.name} protects against one replaced row alone; ask with "
                "protect=ReplaceRows(1), or use method='depth'"
            )
        size_of(1, grid)
