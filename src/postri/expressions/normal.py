"""The normal form of an expression: the same for texts that mean the same in other words, or in
another order.

What is brought to one form: the names of columns, the order of AND and OR, of sums and products, of
LEAST and GREATEST and of the sides of a comparison, lists with repetitions, BETWEEN, lists of one,
differences of dates that can be told by themselves. Each step holds for NULL as well, so an
expression and its normal form have the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch

from postri.expressions import tree
from postri.expressions.tree import Expression

EITHER_WAY = ("=", "<>", "+", "*")
MIRRORED: dict[str, tree.Comparison] = {">": "<", ">=": "<="}


def normal(expression: Expression, name_of: Callable[[tree.Column], str]) -> Expression:
    """The normal form, with the columns that `name_of` finds."""
    if isinstance(expression, tree.Column):
        return tree.Column(name_of(expression), quoted=True)
    return _ordered(tree.mapped(expression, lambda part: normal(part, name_of)))


@singledispatch
def _ordered(part: Expression) -> Expression:
    """One part whose own parts are in normal form."""
    return part


@_ordered.register
def _(several: tree.And | tree.Or) -> Expression:
    return _joined(type(several), several.items)


@_ordered.register
def _(test: tree.Between) -> Expression:
    low = tree.Compare("<=", test.low, test.operand)
    high = tree.Compare("<=", test.operand, test.high)
    return _joined(tree.And, (low, high))


@_ordered.register
def _(test: tree.In) -> Expression:
    items = _once(test.items)
    if len(items) > 1:
        return tree.In(test.operand, items)
    return _ordered(tree.Compare("=", test.operand, items[0]))


@_ordered.register
def _(extreme: tree.Extreme) -> Expression:
    return replace(extreme, items=tuple(sorted(extreme.items, key=str)))


@_ordered.register
def _(days: tree.DaysBetween) -> Expression:
    return _days(days.start, days.end)


@_ordered.register
def _(part: tree.Compare | tree.Distinct | tree.Arithmetic) -> Expression:
    if (
        isinstance(part, tree.Arithmetic)
        and part.operator == "-"
        and all(map(_is_date, part.parts))
    ):
        return _days(part.right, part.left)
    if isinstance(part, tree.Compare) and part.operator in MIRRORED:
        return tree.Compare(MIRRORED[part.operator], part.right, part.left)
    if isinstance(part, tree.Distinct) or part.operator in EITHER_WAY:
        left, right = sorted((part.left, part.right), key=str)
        return replace(part, left=left, right=right)
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
