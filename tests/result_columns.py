"""The columns that a result has for each aggregate, and the keys of its JSON."""

from __future__ import annotations

PARTS = ("", "_low", "_high", "_low_is_edge", "_high_is_edge")
ANSWER_KEYS = [
    "value",
    "low",
    "high",
    "low_is_edge",
    "high_is_edge",
    "confidence",
    "epsilon",
    "method",
    "protects",
    "population",
    "covers",
    "private",
    "notes",
]
RESULT_KEYS = [
    "columns",
    "rows",
    "confidence",
    "population",
    "populations",
    "notes",
    "epsilon",
    "charged",
    "answer_id",
]


def columns_of(*names: str) -> list[str]:
    """The columns of these aggregates."""
    return [name + part for name in names for part in PARTS]
