"""The normal form of an expression: the same for texts that mean the same in other words, or in
another order.

What is brought to one form: the names of columns, the order of AND and OR, of sums and products and
of the sides of a comparison, lists with repetitions, BETWEEN, lists of one. Each step holds for
NULL as well, so an expression and its normal form have the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from itertools import chain
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
        return _joined(
            tree.And,
            (
                tree.Compare("<=", part.low, part.operand),
                tree.Compare("<=", part.operand, part.high),
            ),
        )
    if isinstance(part, tree.In):
        items = _once(part.items)
        return (
            tree.In(part.operand, items)
            if len(items) > 1
            else _ordered(tree.Compare("=", part.operand, items[0]))
        )
    if isinstance(part, tree.Compare) and part.operator in MIRRORED:
        return tree.Compare(MIRRORED[part.operator], part.right, part.left)
    if isinstance(part, tree.Distinct) or (
        isinstance(part, tree.Compare | tree.Arithmetic) and part.operator in EITHER_WAY
    ):
        return _either_way(part)
    return part


def _joined(kind: type[tree.And] | type[tree.Or], items: tuple[Expression, ...]) -> Expression:
    """Conditions without nesting of the same kind, each once, in order."""
    flat = _once(
        tuple(
            chain.from_iterable(each.items if isinstance(each, kind) else (each,) for each in items)
        )
    )
    return kind(flat) if len(flat) > 1 else flat[0]


def _once(items: tuple[Expression, ...]) -> tuple[Expression, ...]:
    return tuple(sorted(dict.fromkeys(items), key=str))


def _either_way(part: tree.Compare | tree.Distinct | tree.Arithmetic) -> Expression:
    left, right = sorted((part.left, part.right), key=str)
    return replace(part, left=left, right=right)
