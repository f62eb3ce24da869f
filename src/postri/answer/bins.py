"""The bin of a histogram, of which an answer tells how many cells lie in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from postri.answer.words import shown

ENDS = ("from", "to")  # the keys of a result that has a row for each bin


@dataclass(frozen=True)
class Bin:
    """Cells from `low` to below `high`; where `high` is the domain's upper end, that too, and the
    bin is `closed`.

    `number` is its place among the bins of its histogram, from 0 on.

    >>> print(Bin(0, 10, 0), "and", Bin(10, 100, 1, closed=True))
    from 0 to below 10 and from 10 to 100
    """

    low: Any
    high: Any
    number: int
    closed: bool = False

    def __str__(self) -> str:
        end = shown(self.high)
        if not self.closed:
            end = f"below {end}"
        return f"from {shown(self.low)} to {end}"
