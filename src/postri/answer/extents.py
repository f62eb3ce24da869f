"""What an axis of values shows: one rule for pictures in files and for those in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postri.answer.answer import Answer
    from postri.answer.drawn import Interval

# How much is left free to both sides, as a share of what is shown.
MARGIN = 0.04


def place(point: Any) -> float:
    """Where a value stands on an axis: a number as it is, a moment by its days.

    >>> place(12), place(date(1970, 1, 3))
    (12.0, 2.0)
    """
    if isinstance(point, datetime):
        # A moment without a zone is drawn as if it were in UTC.
        moment = point if point.tzinfo is not None else point.replace(tzinfo=UTC)
        return moment.timestamp() / 86_400
    if isinstance(point, date):
        return float((point - date(1970, 1, 1)).days)
    return float(point)


def extent(answers: Sequence[Answer]) -> tuple[float, float]:
    """All values and ends, but for far edges of the domain, which would squeeze the rest: arrows
    point to those. An answer that tells nothing has no say.
    """
    telling = [answer for answer in answers if not answer.interval.is_whole_domain]
    near, edges = [], []
    for answer in telling or answers:
        near.append(place(answer.value))
        inner, outer = _ends(answer.interval)
        near += inner
        edges += outer
    low, high = min(near), max(near)
    room = high - low or float("inf")
    for edge in edges:
        if low - edge <= room:
            low = min(low, edge)
        if edge - high <= room:
            high = max(high, edge)
    margin = MARGIN * (high - low or abs(high) or 1)
    if low == high and all_whole(answers):
        margin = 1.5
    return low - margin, high + margin


def _ends(interval: Interval) -> tuple[list[float], list[float]]:
    """The ends that are bounds, and those that are edges."""
    inner: list[float] = []
    edges: list[float] = []
    pairs = ((interval.low, interval.low_is_edge), (interval.high, interval.high_is_edge))
    for end, is_edge in pairs:
        (edges if is_edge else inner).append(place(end))
    return inner, edges


def all_whole(answers: Sequence[Answer]) -> bool:
    """Whether all values and ends are whole numbers."""
    return all(
        isinstance(point, int)
        for answer in answers
        for point in (answer.value, answer.interval.low, answer.interval.high)
    )
