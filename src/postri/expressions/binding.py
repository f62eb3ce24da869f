"""From a tree to a plan: each part gets its kind, by the declared types of the columns.

What does not fit is refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import singledispatchmethod

from postri.columns import ColumnType
from postri.domain import position
from postri.errors import InputError, nearest
from postri.exact import shown
from postri.expressions import choices, texts, tree, truths
from postri.expressions.kinds import CALENDAR, READ_AS, Kind, kind_of_type, read_day, read_moment
from postri.expressions.measures import (
    SECONDS,
    UNKNOWN,
    Operand,
    cell_of,
    chosen,
    compared,
    computed,
    distinct,
    member,
)
from postri.expressions.node import Node
from postri.expressions.tree import Expression, brief
from postri.expressions.vectors import Input

CONDITIONS = (
    *(tree.Boolean, tree.Compare, tree.Distinct, tree.And, tree.Or, tree.Not),
    *(tree.In, tree.Between, tree.IsNull, tree.IsTruth, tree.Like),
)
KINDS: dict[type[Expression], Kind] = {
    **dict.fromkeys(CONDITIONS, Kind.TRUTH),
    **dict.fromkeys((tree.Number, tree.Arithmetic, tree.Negate), Kind.NUMBER),
    tree.Text: Kind.TEXT,
    tree.Day: Kind.DATE,
}

TypeOf = Callable[[str], ColumnType]


def column_named(column: tree.Column, names: Sequence[str]) -> str:
    """The column that is meant; InputError if there is none, or more than one."""
    if column.name in names:
        return column.name
    alike = (
        []
        if column.quoted
        else [name for name in names if str(name).casefold() == column.name.casefold()]
    )
    if len(alike) > 1:
        raise InputError(
            f"the name {shown(column.name)} may mean {' or '.join(map(repr, alike))}; write "
            "one of them in double quotes"
        )
    if not alike:
        raise InputError(
            f"there is no column {shown(column.name)}; {nearest(column.name, map(str, names))}"
        )
    return alike[0]


class Binder:
    """Binds an expression to the columns of a table.

    `readings` tells what columns without a type are used as; None while that is being found out.
    """

    def __init__(
        self, names: Sequence[str], type_of: TypeOf, readings: dict[str, set[Kind]] | None = None
    ) -> None:
        self._names, self._type_of, self._readings = names, type_of, readings
        self.used: dict[str, set[Kind]] = {}
        self.inputs: dict[Input, None] = {}

    @classmethod
    def bind(
        cls, expression: Expression, names: Sequence[str], type_of: TypeOf
    ) -> tuple[Node, tuple[Input, ...]]:
        """The plan of a condition, and what it reads."""
        first = cls(names, type_of)
        first.truth(expression)
        second = cls(names, type_of, first.used)
        return second.truth(expression), tuple(second.inputs)

    @classmethod
    def bind_value(
        cls, expression: Expression, names: Sequence[str], type_of: TypeOf
    ) -> tuple[Operand, Kind, tuple[Input, ...]]:
        """The plan of numbers, dates or timestamps, which of these they are, and what it reads.

        Where nothing tells, they are numbers.
        """
        first = cls(names, type_of)
        kind = first.kind(expression) or Kind.NUMBER
        if kind not in (Kind.NUMBER, *CALENDAR):
            raise _misplaced(expression, kind, Kind.NUMBER)
        first.value(expression, kind)
        second = cls(names, type_of, first.used)
        return second.value(expression, kind), kind, tuple(second.inputs)

    # What an expression is by itself.

    def kind(self, expression: Expression) -> Kind | None:
        """The kind of an expression; None where only its use can tell."""
        if isinstance(expression, tree.Column):
            return kind_of_type(self._type_of(column_named(expression, self._names)))
        if isinstance(expression, tree.Case | tree.Coalesce):
            return self._common(expression.values)
        if isinstance(expression, tree.Moment):
            return Kind.TIMESTAMP if expression.value.tzinfo is None else Kind.ZONED
        return KINDS.get(type(expression))

    def _common(self, expressions: Sequence[Expression]) -> Kind | None:
        """The kind of several expressions.

        A text literal beside dates is a date, a date beside timestamps is one of them.
        """
        found = [(self.kind(each), each) for each in expressions]
        sure = {
            kind for kind, each in found if kind is not None and not isinstance(each, tree.Text)
        }
        dated = bool(sure) and sure <= CALENDAR
        kinds = {
            kind: each
            for kind, each in found
            if kind is not None and not (dated and isinstance(each, tree.Text))
        }
        if set(kinds) == {Kind.DATE, Kind.TIMESTAMP}:
            return Kind.TIMESTAMP
        if len(kinds) > 1:
            (one, left), (other, right) = list(kinds.items())[:2]
            raise InputError(
                f"{brief(left)} is {one.value} and {brief(right)} is {other.value}; they "
                "cannot be put side by side"
            )
        return next(iter(kinds), None)

    def _decided(self, *expressions: Expression) -> Kind:
        kind = self._common(expressions)
        if kind is None:
            raise _undeclared(expressions)
        return kind

    # Columns.

    def _input(self, column: tree.Column, kind: Kind) -> Input:
        """How the cells of a column are read as this kind."""
        name = column_named(column, self._names)
        declared = self._type_of(name)
        own = kind_of_type(declared)
        if own is None:
            self.used.setdefault(name, set()).add(kind)
        elif own != kind and (own, kind) != (Kind.DATE, Kind.TIMESTAMP):
            raise _misplaced(column, own, kind)
        found = Input(name, READ_AS[kind] if own is None else declared)
        self.inputs[found] = None
        return found

    # Values.

    def value(self, expression: Expression, kind: Kind) -> Operand:
        """The plan of an expression that is used as this kind; a number where it is a literal, None
        where it is NULL.
        """
        if isinstance(expression, tree.Null):
            return UNKNOWN if kind == Kind.TRUTH else None
        if isinstance(expression, tree.Case | tree.Coalesce):
            return self._chosen(expression, kind)
        if kind == Kind.TRUTH:
            return self._condition(expression)
        return self._text(expression) if kind == Kind.TEXT else self._measure(expression, kind)

    def truth(self, expression: Expression) -> Node:
        """The plan of a condition."""
        found = self.value(expression, Kind.TRUTH)
        return found if isinstance(found, Node) else UNKNOWN

    def _chosen(self, expression: tree.Case | tree.Coalesce, kind: Kind) -> Operand:
        conditions = (
            [self.truth(condition) for condition, _ in expression.whens]
            if isinstance(expression, tree.Case)
            else []
        )

        def make(nodes: Sequence[Node | None], unit: Fraction | None) -> Node:
            if isinstance(expression, tree.Coalesce):
                return choices.Coalesce(tuple(node for node in nodes if node is not None), unit)
            whens = tuple(zip(conditions, nodes, strict=False))
            return choices.Case(whens, nodes[-1] if expression.otherwise else None, unit)

        return chosen(make, [self.value(part, kind) for part in expression.values])

    def _text(self, expression: Expression) -> Node:
        if isinstance(expression, tree.Text):
            return texts.TextConstant(expression.value)
        if isinstance(expression, tree.Column):
            return texts.TextCell(self._input(expression, Kind.TEXT))
        raise _misplaced(expression, self.kind(expression), Kind.TEXT)

    def _measure(self, expression: Expression, kind: Kind) -> Operand:
        if isinstance(expression, tree.Column):
            return cell_of(self._input(expression, kind), kind)
        if kind in CALENDAR and isinstance(expression, tree.Day | tree.Moment | tree.Text):
            return _place(expression, kind)
        if kind == Kind.NUMBER and isinstance(expression, tree.Number):
            return expression.value
        if kind == Kind.NUMBER and isinstance(expression, tree.Arithmetic):
            return computed(
                expression.operator,
                self.value(expression.left, kind),
                self.value(expression.right, kind),
            )
        if kind == Kind.NUMBER and isinstance(expression, tree.Negate):
            return computed("-", Fraction(0), self.value(expression.operand, kind))
        raise _misplaced(expression, self.kind(expression), kind)

    # Conditions.

    @singledispatchmethod
    def _condition(self, expression: Expression) -> Node:
        raise _misplaced(expression, self.kind(expression), Kind.TRUTH)

    @_condition.register
    def _(self, column: tree.Column) -> Node:
        return truths.TruthCell(self._input(column, Kind.TRUTH))

    @_condition.register
    def _(self, literal: tree.Boolean) -> Node:
        return truths.TruthConstant(literal.value)

    @_condition.register
    def _(self, several: tree.And) -> Node:
        return truths.And(tuple(map(self.truth, several.items)))

    @_condition.register
    def _(self, several: tree.Or) -> Node:
        return truths.Or(tuple(map(self.truth, several.items)))

    @_condition.register
    def _(self, opposite: tree.Not) -> Node:
        return truths.Not(self.truth(opposite.operand))

    @_condition.register
    def _(self, test: tree.IsTruth) -> Node:
        operand = self.truth(test.operand)
        return truths.IsTrue(operand if test.value else truths.Not(operand))

    @_condition.register
    def _(self, test: tree.Like) -> Node:
        operand = self.value(test.operand, Kind.TEXT)
        return texts.Like(operand, test.pattern) if isinstance(operand, Node) else UNKNOWN

    @_condition.register
    def _(self, test: tree.Compare) -> Node:
        if isinstance(test.left, tree.Null) or isinstance(test.right, tree.Null):
            return UNKNOWN
        kind = self._decided(test.left, test.right)
        return compared(test.operator, self.value(test.left, kind), self.value(test.right, kind))

    @_condition.register
    def _(self, test: tree.Between) -> Node:
        kind = self._decided(test.operand, test.low, test.high)
        operand, low, high = (self.value(each, kind) for each in test.parts)
        return truths.And((compared(">=", operand, low), compared("<=", operand, high)))

    @_condition.register
    def _(self, test: tree.Distinct) -> Node:
        for one, other in (test.left, test.right), (test.right, test.left):
            if isinstance(one, tree.Null):
                return truths.Not(self.truth(tree.IsNull(other)))
        kind = self._decided(test.left, test.right)
        return distinct(self.value(test.left, kind), self.value(test.right, kind))

    @_condition.register
    def _(self, test: tree.In) -> Node:
        items = [item for item in test.items if not isinstance(item, tree.Null)]
        if not items:
            return UNKNOWN
        kind = self._decided(test.operand, *items)
        operand = self.value(test.operand, kind)
        if operand is None:
            return UNKNOWN
        found = _member(operand, [self.value(item, kind) for item in items], kind)
        return found if len(items) == len(test.items) else truths.Or((found, UNKNOWN))

    @_condition.register
    def _(self, test: tree.IsNull) -> Node:
        if isinstance(test.operand, tree.Null):
            return truths.TruthConstant(True)
        kind = self.kind(test.operand)
        if kind is None and self._readings is None:
            return UNKNOWN
        operand = self.value(test.operand, kind or self._reading(test.operand))
        return (
            truths.IsNull(operand)
            if isinstance(operand, Node)
            else truths.TruthConstant(operand is None)
        )

    def _reading(self, expression: Expression) -> Kind:
        """What a column without a type is used as elsewhere."""
        used = (
            (self._readings or {}).get(column_named(expression, self._names), set())
            if isinstance(expression, tree.Column)
            else set()
        )
        if len(used) != 1:
            raise _undeclared([expression])
        return next(iter(used))


def _member(operand: Node | Fraction, items: Sequence[Operand], kind: Kind) -> Node:
    if kind == Kind.TRUTH:
        return truths.Or(tuple(compared("=", operand, item) for item in dict.fromkeys(items)))
    if kind == Kind.TEXT and isinstance(operand, Node):
        return truths.In(
            operand, tuple(item for item in items if isinstance(item, texts.TextConstant))
        )
    return member(operand, [item for item in items if isinstance(item, Fraction)])


def _place(literal: tree.Day | tree.Moment | tree.Text, kind: Kind) -> Fraction:
    """A literal as days for dates, as seconds for timestamps."""
    point = literal.value
    if isinstance(point, str):
        point = read_day(point) if kind == Kind.DATE else read_moment(point)
        if kind != Kind.DATE and (getattr(point, "tzinfo", None) is not None) != (
            kind == Kind.ZONED
        ):
            raise InputError(
                f"{brief(literal)} must be {kind.value}; add +00:00 to it, or leave its zone out"
            )
    return position(point) * (SECONDS if isinstance(literal, tree.Day) and kind != Kind.DATE else 1)


def _misplaced(expression: Expression, own: Kind | None, wanted: Kind) -> InputError:
    hint = "; write for example x <> 0" if wanted == Kind.TRUTH and own == Kind.NUMBER else ""
    return InputError(
        f"{brief(expression)} is {own.value if own else 'NULL'}, where {wanted.value} is "
        f"expected{hint}"
    )


def _undeclared(expressions: Sequence[Expression]) -> InputError:
    names = [name for each in expressions for name in tree.columns_of(each)]
    return InputError(
        f"nothing tells how to read {' and '.join(map(repr, names)) or 'NULL'}, which has no "
        "declared type; "
        f"declare it: columns={{{names[0] if names else 'x'!r}: 'text'}}"
    )
