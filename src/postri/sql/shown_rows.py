"""Which rows are shown, in which order, and what that does to their intervals.

Of a hundred equal groups the first by size is the one with the largest noise, and its interval
misses. So the intervals of rows that are shown because of their own noise are wider: those of beta
times rows shown over rows drawn. By the false coverage rate they hold among the rows shown
(Theorem 19).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from math import ceil

from postri.sql.released import ReleasedNode, Row


@dataclass(frozen=True)
class ShownRows:
    """HAVING, ORDER BY, LIMIT and OFFSET."""

    having: ReleasedNode | None = None
    order: Sequence[tuple[ReleasedNode, bool]] = ()
    limit: int | None = None
    offset: int = 0

    def of(self, rows: Sequence[Row]) -> tuple[list[Row], Fraction]:
        """The rows that are shown, in order, and which share they are of those that could be.

        What follows from public keys alone leaves nothing to chance, and takes no share.
        """
        candidates = len(rows)
        shown = list(rows)
        if self.having is not None:
            shown = [row for row in shown if self.having.value(row)]
            if not _is_drawn(self.having):
                candidates = len(shown)
        if self.order:
            shown.sort(key=cmp_to_key(self._compared))
        shown = shown[self.offset :]
        if self.limit is not None:
            shown = shown[: self.limit]
        return shown, Fraction(max(len(shown), 1), max(candidates, 1))

    def _compared(self, one: Row, other: Row) -> int:
        for node, descending in self.order:
            left = node.value(one)
            right = node.value(other)
            if left != right:
                comes_first = (left < right) != descending
                return -1 if comes_first else 1
        return 0

    @property
    def _deciding(self) -> list[ReleasedNode]:
        """What decides whether a row is shown."""
        nodes = [] if self.having is None else [self.having]
        if self.limit is not None or self.offset:
            nodes += [node for node, _ in self.order]
        return nodes

    @property
    def by_draws(self) -> frozenset[str]:
        """The aggregates whose draws decide which rows are shown."""
        return frozenset(name for node in self._deciding for name in node.drawn())

    @property
    def by_ends(self) -> frozenset[str]:
        """Those among them of which an end of the interval does."""
        return frozenset(name for node in self._deciding for name in node.ended())

    def division(self, groups: int) -> int:
        """By how much beta is divided for an interval that is drawn before it is known how many of
        the groups are shown: public numbers alone.
        """
        # HAVING may leave one row, LIMIT leaves as many as it says.
        surely_shown = 1
        if self.having is None:
            surely_shown = groups - self.offset
            if self.limit is not None:
                surely_shown = min(surely_shown, self.limit)
        return ceil(Fraction(groups, max(surely_shown, 1)))


def _is_drawn(node: ReleasedNode) -> bool:
    return any(True for _ in node.drawn())
