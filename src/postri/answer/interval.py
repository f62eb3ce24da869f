"""An interval, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, both included. An end on the domain's edge means "here or beyond".

    >>> 3 in Interval(2, 5)
    True
    """

    low: Any
    high: Any
    low_is_edge: bool = False
    high_is_edge: bool = False

    @property
    def width(self) -> Any:
        """How wide it is: a number, or a timedelta."""
        return self.high - self.low

    def __contains__(self, value: Any) -> bool:
        return bool(self.low <= value <= self.high)

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"
