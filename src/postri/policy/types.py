"""The types that a policy names, and what they are beside the types that sources declare."""

from __future__ import annotations

from postri.columns import BOOLEAN, ColumnType

NUMBERS = ("integer", "decimal", "float")
BOUNDED = (*NUMBERS, "date", "timestamp")
TYPES = (*BOUNDED, "text", "boolean")


def type_name(declared: ColumnType) -> str | None:
    """What a policy calls a declared type; None where nothing is declared.

    >>> type_name(BOOLEAN)
    'boolean'
    """
    if declared == BOOLEAN:
        return "boolean"
    if declared.kind != "number":
        return declared.kind
    if declared.name.startswith("decimal"):
        return "decimal"
    return "float" if declared.unit is None else "integer"


def agrees(named: str, declared: ColumnType) -> bool:
    """Whether a policy may call a declared type so.

    A decimal without places holds whole numbers as well.
    """
    return type_name(declared) in (named, None) or (
        named == "integer" and type_name(declared) == "decimal" and declared.unit == 1
    )
