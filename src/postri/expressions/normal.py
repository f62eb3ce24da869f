"""The normal form of an expression: the same for texts that mean the same in other words, or in
another order.

What is brought to one form: the names of columns, the order of AND and OR, of sums and products, of
LEAST and GREATEST and of the sides of a comparison, lists with repetitions, BETWEEN, lists of one,
differences of dates that can be told by themselves. Each step holds for NULL as well, so an
expression and its normal form have the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from postri.expressions import tree
from postri.expressions.tree import Expression

EITHER_WAY = ("=", "<>", "+", "*")
MIRRORED: dict[str, tree.Comparison] = {">": "<", ">=": "<="}


def normal(expression: Expression, name_of: Callable[[tree.Column], str]) -> Expression:
    """The normal form, with the columns that `name_of` finds."""
    if isinstance(expression, tree.Column):
        return tree.Column(name_of(expression), quoted=True)
    changes = {
        field.name: _inside(getattr(expression, field.name), name_of)
        for field in fields(expression)
    }
    return _ordered(replace(expression, **changes))


def _inside(value: Any, name_of: Callable[[tree.Column], str]) -> Any:
    if isinstance(value, Expression):
        return normal(value, name_of)
    if isinstance(value, tuple) and not is_dataclass(value):
        return tuple(_inside(each, name_of) for each in value)
    return value


def _ordered(part: Expression) -> Expression:
    """One part whose own parts are in normal form."""
    if isinstance(part, tree.And | tree.Or):
        return _joined(type(part), part.items)
    if isinstance(part, tree.Between):
        low = tree.Compare("<=", part.low, part.operand)
        high = tree.Compare("<=", part.operand, part.high)
        return _joined(tree.And, (low, high))
    if isinstance(part, tree.In):
        items = _once(part.items)
        if len(items) > 1:
            return tree.In(part.operand, items)
        return _ordered(tree.Compare("=", part.operand, items[0]))
    if isinstance(part, tree.Extreme):
        return replace(part, items=tuple(sorted(part.items, key=str)))
    if isinstance(part, tree.DaysBetween):
        return _days(part.start, part.end)
    if isinstance(part, tree.Compare | tree.Distinct | tree.Arithmetic):
        return _ordered_sides(part)
    return part


def _joined(kind: type[tree.And] | type[tree.Or], items: tuple[Expression, ...]) -> Expression:
    """Conditions without nesting of the same kind, each once, in order."""
    flat: list[Expression] = []
    for item in items:
        if isinstance(item, kind):
            flat += item.items
        else:
            flat.append(item)
    found = _once(flat)
    return kind(found) if len(found) > 1 else found[0]


def _is_date(part: Expression) -> bool:
    """Whether it is a date whatever the types of the columns are."""
    return isinstance(part, tree.Day) or (isinstance(part, tree.Cast) and part.type == "DATE")


def _days(start: Expression, end: Expression) -> Expression:
    """The days between two moments, which are cast to dates by it anyway."""
    first, last = (
        part.operand if isinstance(part, tree.Cast) and part.type == "DATE" else part
        for part in (start, end)
    )
    return tree.DaysBetween(first, last)


def _once(items: Sequence[Expression]) -> tuple[Expression, ...]:
    return tuple(sorted(dict.fromkeys(items), key=str))


def _ordered_sides(part: tree.Compare | tree.Distinct | tree.Arithmetic) -> Expression:
    if isinstance(part, tree.Arithmetic) and part.operator == "-" and all(map(_is_date, part.parts)):
        return _days(part.right, part.left)
    if isinstance(part, tree.Compare) and part.operator in MIRRORED:
        return tree.Compare(MIRRORED[part.operator], part.right, part.left)
    if isinstance(part, tree.Distinct) or part.operator in EITHER_WAY:
        left, right = sorted((part.left, part.right), key=str)
        return replace(part, left=left, right=right)
    return part
