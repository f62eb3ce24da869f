"""From a tree to a plan: each part gets its kind, by the declared types of the columns.

What does not fit is refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import singledispatchmethod
from itertools import pairwise

from postri.columns import ColumnType
from postri.domain import position
from postri.errors import InputError, nearest
from postri.exact import shown
from postri.expressions import conditions, tree
from postri.expressions.calendar import DAY_UNITS, TIME_UNITS, Finer, extraction, truncation
from postri.expressions.kinds import CALENDAR, READ_AS, Kind, kind_of_type, read_day, read_moment
from postri.expressions.measures import (
    SECONDS,
    UNKNOWN,
    Operand,
    cast_to_decimal,
    cast_to_float,
    cell_of,
    chosen,
    compared,
    computed,
    distinct,
    extreme,
    first_days,
    member,
    placed,
    rounded,
    size_of,
)
from postri.expressions.plan import Input, Node
from postri.expressions.tree import Expression, brief

CONDITIONS = (
    tree.Boolean,
    tree.Compare,
    tree.Distinct,
    tree.And,
    tree.Or,
    tree.Not,
    tree.In,
    tree.Between,
    tree.IsNull,
    tree.IsTruth,
    tree.Like,
)
LITERALS = (tree.Text, tree.Number)
NUMBERS = (
    tree.Number,
    tree.Arithmetic,
    tree.Negate,
    tree.Absolute,
    tree.Rounded,
    tree.DaysBetween,
    tree.Extract,
    tree.WidthBucket,
    tree.Bins,
)
CAST_KINDS = {"DATE": Kind.DATE, "TIMESTAMP": Kind.TIMESTAMP}
TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.ZONED)
KINDS: dict[type[Expression], Kind] = {
    **dict.fromkeys(CONDITIONS, Kind.TRUTH),
    **dict.fromkeys(NUMBERS, Kind.NUMBER),
    tree.Text: Kind.TEXT,
    tree.Day: Kind.DATE,
}

TypeOf = Callable[[str], ColumnType]
MakeChoice = Callable[[Sequence[Node | None], Fraction | None], Node]


def column_named(column: tree.Column, names: Sequence[str]) -> str:
    """The column that is meant; InputError if there is none, or more than one."""
    if column.name in names:
        return column.name
    alike = []
    if not column.quoted:
        wanted = column.name.casefold()
        alike = [name for name in names if str(name).casefold() == wanted]
    if len(alike) > 1:
        raise InputError(
            f"the name {shown(column.name)} may mean {' or '.join(map(repr, alike))}; write "
            "one of them in double quotes"
        )
    if not alike:
        hint = nearest(column.name, map(str, names))
        if column.quoted:
            hint = as_text(column.name, hint)
        raise InputError(f"there is no column {shown(column.name)}; {hint}")
    return alike[0]


def as_text(name: str, hint: str) -> str:
    """What to do about a name in double quotes that is none: it may be meant as a text.

    >>> as_text("UA", "there are: 'carrier'")
    "a text stands in single quotes: 'UA'; there are: 'carrier'"
    """
    quoted = name.replace("'", "''")
    return f"a text stands in single quotes: '{quoted}'; {hint}"


class Binder:
    """Binds an expression to the columns of a table.

    `readings` tells what columns without a type are used as; None while that is being found out.
    """

    def __init__(
        self, names: Sequence[str], type_of: TypeOf, readings: dict[str, set[Kind]] | None = None
    ) -> None:
        self._names = names
        self._type_of = type_of
        self._readings = readings
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
        if isinstance(expression, tree.Extreme):
            return self._common(expression.items)
        if isinstance(expression, tree.Cast):
            return CAST_KINDS.get(expression.type, Kind.NUMBER)
        if isinstance(expression, tree.Moment | tree.Truncate):
            return self._kind_of_moment(expression)
        return KINDS.get(type(expression))

    def _kind_of_moment(self, expression: tree.Moment | tree.Truncate) -> Kind:
        if isinstance(expression, tree.Truncate):
            if expression.unit in DAY_UNITS:
                return Kind.DATE
            return self._calendar_kind(expression)
        return Kind.TIMESTAMP if expression.value.tzinfo is None else Kind.ZONED

    def _calendar_kind(self, expression: tree.Truncate | tree.Extract) -> Kind:
        """The kind of the moments that are truncated, or of which a field is taken.

        Where nothing tells, they are timestamps without a time zone.
        """
        operand = expression.operand
        kind = self.kind(operand) or Kind.TIMESTAMP
        if kind not in CALENDAR or isinstance(operand, tree.Null | tree.Text):
            raise _misplaced(operand, kind, Kind.TIMESTAMP)
        unit = expression.unit if isinstance(expression, tree.Truncate) else expression.field
        if kind == Kind.DATE and unit.casefold() in TIME_UNITS:
            raise InputError(
                f"{brief(operand)} is a date, which has no {unit.casefold()}; take the day"
            )
        return kind

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
            self._check_column_as_text(left, right)
            hint = ""
            is_literal = isinstance(left, LITERALS) or isinstance(right, LITERALS)
            if is_literal and {one, other} == {Kind.TEXT, Kind.NUMBER}:
                hint = ": a text stands in single quotes, a number in none"
            raise InputError(
                f"{brief(left)} is {one.value} and {brief(right)} is {other.value}; they "
                f"cannot be put side by side{hint}"
            )
        return next(iter(kinds), None)

    def _decided(self, *expressions: Expression) -> Kind:
        kind = self._common(expressions)
        if kind is None:
            raise _undeclared(expressions)
        if all(isinstance(each, tree.Text) for each in expressions):
            self._check_column_as_text(*expressions)
        return kind

    def _check_column_as_text(self, *expressions: Expression) -> None:
        """Refuse the name of a column as a text where a column must have been meant."""
        for each in expressions:
            if isinstance(each, tree.Text) and each.value in self._names:
                column = tree.Column(each.value, quoted=True)
                raise InputError(
                    f"{brief(each)} is a text here; the column stands in double quotes or in none: "
                    f"{brief(column)}"
                )

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
        if isinstance(expression, tree.Extreme):
            return self._extreme(expression, kind)
        if kind == Kind.TRUTH:
            return self._condition(expression)
        if kind == Kind.TEXT:
            return self._text(expression)
        return self._measure(expression, kind)

    def truth(self, expression: Expression) -> Node:
        """The plan of a condition."""
        found = self.value(expression, Kind.TRUTH)
        return found if isinstance(found, Node) else UNKNOWN

    def _chosen(self, expression: tree.Case | tree.Coalesce, kind: Kind) -> Operand:
        make: MakeChoice = _make_coalesce
        if isinstance(expression, tree.Case):
            make = self._case(expression)
        return chosen(make, [self.value(part, kind) for part in expression.values])

    def _case(self, case: tree.Case) -> MakeChoice:
        """Makes the plan of a CASE, from the nodes of its values."""
        tests = [self.truth(condition) for condition, _ in case.whens]

        def make(nodes: Sequence[Node | None], unit: Fraction | None) -> Node:
            whens = zip(tests, nodes[: len(tests)], strict=True)
            otherwise = nodes[-1] if case.otherwise else None
            return conditions.CaseChoice(tuple(whens), otherwise, unit)

        return make

    def _text(self, expression: Expression) -> Node:
        if isinstance(expression, tree.Text):
            return conditions.TextConstant(expression.value)
        if isinstance(expression, tree.Column):
            return conditions.TextCell(self._input(expression, Kind.TEXT))
        raise _misplaced(expression, self.kind(expression), Kind.TEXT)

    def _measure(self, expression: Expression, kind: Kind) -> Operand:
        if isinstance(expression, tree.Column):
            return cell_of(self._input(expression, kind), kind)
        if kind in CALENDAR and isinstance(expression, tree.Day | tree.Moment | tree.Text):
            return _place(expression, kind)
        if kind == Kind.NUMBER:
            return self._number(expression)
        if kind in CALENDAR and isinstance(expression, tree.Truncate):
            return self._truncated(expression, kind)
        if isinstance(expression, tree.Cast):
            return self._cast_to_calendar(expression, kind)
        raise _misplaced(expression, self.kind(expression), kind)

    def _extreme(self, expression: tree.Extreme, kind: Kind) -> Operand:
        if kind not in (Kind.NUMBER, *CALENDAR):
            raise InputError(
                f"{expression.function} takes numbers, dates or timestamps, got {brief(expression)}"
            )
        return extreme(expression.function, [self.value(item, kind) for item in expression.items])

    # Numbers.

    @singledispatchmethod
    def _number(self, expression: Expression) -> Operand:
        raise _misplaced(expression, self.kind(expression), Kind.NUMBER)

    @_number.register
    def _(self, literal: tree.Number) -> Operand:
        return literal.value

    @_number.register
    def _(self, expression: tree.Arithmetic) -> Operand:
        left, right = expression.parts
        kind = Kind.NUMBER
        if expression.operator == "-" and self._are_dated(left, right):
            kind = self._dates(expression)
        return computed(expression.operator, self.value(left, kind), self.value(right, kind))

    @_number.register
    def _(self, opposite: tree.Negate) -> Operand:
        return computed("-", Fraction(0), self.value(opposite.operand, Kind.NUMBER))

    @_number.register
    def _(self, size: tree.Absolute) -> Operand:
        return size_of(self.value(size.operand, Kind.NUMBER))

    @_number.register
    def _(self, expression: tree.Rounded) -> Operand:
        operand = self.value(expression.operand, Kind.NUMBER)
        return rounded(expression.function, operand, expression.places)

    @_number.register
    def _(self, days: tree.DaysBetween) -> Operand:
        return computed("-", self._day(days.end, 1), self._day(days.start, 1))

    @_number.register
    def _(self, cast: tree.Cast) -> Operand:
        kind = self.kind(cast.operand) or Kind.NUMBER
        if cast.type in CAST_KINDS:
            raise _misplaced(cast, self.kind(cast), Kind.NUMBER)
        if kind not in (Kind.NUMBER, Kind.TRUTH):
            raise _no_cast(cast, kind)
        operand = self.value(cast.operand, kind)
        if kind == Kind.TRUTH and isinstance(operand, Node):
            operand = conditions.TruthNumber(operand)
        if cast.type == "DOUBLE":
            return cast_to_float(operand)
        digits = cast.digits if cast.type == "DECIMAL" else None
        return cast_to_decimal(operand, digits, cast.places)

    # Dates and timestamps.

    def _are_dated(self, *expressions: Expression) -> bool:
        """Whether some are dates or timestamps, and the others can be read as such."""
        kinds = [None if isinstance(each, tree.Text) else self.kind(each) for each in expressions]
        known = {kind for kind in kinds if kind is not None}
        return bool(known) and known <= CALENDAR

    def _dates(self, difference: tree.Arithmetic) -> Kind:
        """Dates, of which there is a difference in days."""
        kind = self._common(difference.parts)
        if kind != Kind.DATE:
            raise InputError(
                "a difference of timestamps is not allowed in a predicate, got "
                f"{brief(difference)}; write DATE_DIFF('day', start, end) for days"
            )
        return kind

    def _day(self, expression: Expression, unit: int) -> Operand:
        """Days since 1970, of which one is this unit."""
        kind = self.kind(expression)
        if kind is None or isinstance(expression, tree.Text):
            kind = Kind.DATE
        if kind not in CALENDAR:
            raise _misplaced(expression, kind, Kind.DATE)
        if kind == Kind.DATE:
            return self.value(expression, Kind.DATE if unit == 1 else Kind.TIMESTAMP)
        return first_days(self.value(expression, kind), unit)

    def _cast_to_calendar(self, cast: tree.Cast, kind: Kind) -> Operand:
        if cast.type not in CAST_KINDS or kind == Kind.ZONED:
            raise _misplaced(cast, self.kind(cast), kind)
        own = self.kind(cast.operand)
        is_text = isinstance(cast.operand, tree.Text)
        if not is_text and own not in (None, *CALENDAR):
            raise _no_cast(cast, own)
        if cast.type == "DATE":
            # A date beside timestamps is the first moment of its day.
            return self._day(cast.operand, 1 if kind == Kind.DATE else SECONDS)
        if own == Kind.ZONED or kind == Kind.DATE:
            raise _no_cast(cast, own)
        return self.value(cast.operand, Kind.TIMESTAMP)

    # The calendar, and bins.

    def _moment(self, expression: tree.Truncate | tree.Extract) -> tuple[Operand, Kind]:
        """The moments of which something is told, and their kind."""
        kind = self._calendar_kind(expression)
        return self.value(expression.operand, kind), kind

    def _truncated(self, expression: tree.Truncate, kind: Kind) -> Operand:
        own = self.kind(expression)
        if own != kind and (own, kind) != (Kind.DATE, Kind.TIMESTAMP):
            raise _misplaced(expression, own, kind)
        moment, of_kind = self._moment(expression)
        if not isinstance(moment, Node):
            raise _of_no_column(expression)
        found = truncation(moment, expression.unit, days=of_kind == Kind.DATE)
        if own == kind or found.unit is None:
            return found
        # The first moment of a day, beside timestamps.
        return Finer(found, 1, found.unit * SECONDS)

    @_number.register
    def _(self, expression: tree.Extract) -> Operand:
        moment, kind = self._moment(expression)
        if not isinstance(moment, Node):
            raise _of_no_column(expression)
        return extraction(moment, expression.field, days=kind == Kind.DATE)

    @_number.register
    def _(self, expression: tree.WidthBucket) -> Operand:
        low, high = expression.low.value, expression.high.value
        width = (high - low) / expression.number
        edges = [low + width * i for i in range(expression.number + 1)]
        operand = self.value(expression.operand, Kind.NUMBER)
        return placed(operand, edges, range(len(edges) + 1), closed=False)

    @_number.register
    def _(self, expression: tree.Bins) -> Operand:
        kind = self._decided(expression.operand, *expression.edges)
        if kind not in (Kind.NUMBER, *CALENDAR):
            raise _misplaced(expression.operand, kind, Kind.NUMBER)
        edges = [self.value(edge, kind) for edge in expression.edges]
        known = [edge for edge in edges if isinstance(edge, Fraction)]
        if any(one >= other for one, other in pairwise(known)):
            raise InputError(f"the edges of bins must ascend, got {brief(expression)}")
        numbers = [None, *range(1, len(known)), None]
        return placed(self.value(expression.operand, kind), known, numbers, closed=True)

    # Conditions.

    @singledispatchmethod
    def _condition(self, expression: Expression) -> Node:
        raise _misplaced(expression, self.kind(expression), Kind.TRUTH)

    @_condition.register
    def _(self, column: tree.Column) -> Node:
        return conditions.TruthCell(self._input(column, Kind.TRUTH))

    @_condition.register
    def _(self, literal: tree.Boolean) -> Node:
        return conditions.TruthConstant(literal.value)

    @_condition.register
    def _(self, several: tree.And) -> Node:
        return conditions.AllOf(tuple(map(self.truth, several.items)))

    @_condition.register
    def _(self, several: tree.Or) -> Node:
        return conditions.AnyOf(tuple(map(self.truth, several.items)))

    @_condition.register
    def _(self, opposite: tree.Not) -> Node:
        return conditions.Opposite(self.truth(opposite.operand))

    @_condition.register
    def _(self, test: tree.IsTruth) -> Node:
        operand = self.truth(test.operand)
        return conditions.IsTrue(operand if test.value else conditions.Opposite(operand))

    @_condition.register
    def _(self, test: tree.Like) -> Node:
        operand = self.value(test.operand, Kind.TEXT)
        return (
            conditions.PatternTest(operand, test.pattern) if isinstance(operand, Node) else UNKNOWN
        )

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
        return conditions.AllOf((compared(">=", operand, low), compared("<=", operand, high)))

    @_condition.register
    def _(self, test: tree.Distinct) -> Node:
        for one, other in (test.left, test.right), (test.right, test.left):
            if isinstance(one, tree.Null):
                return conditions.Opposite(self.truth(tree.IsNull(other)))
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
        return found if len(items) == len(test.items) else conditions.AnyOf((found, UNKNOWN))

    @_condition.register
    def _(self, test: tree.IsNull) -> Node:
        if isinstance(test.operand, tree.Null):
            return conditions.TruthConstant(True)
        kind = self.kind(test.operand)
        if kind is None and self._readings is None:
            return UNKNOWN
        operand = self.value(test.operand, kind or self._reading(test.operand))
        if isinstance(operand, Node):
            return conditions.NullTest(operand)
        return conditions.TruthConstant(operand is None)

    def _reading(self, expression: Expression) -> Kind:
        """What a column without a type is used as elsewhere."""
        used: set[Kind] = set()
        if isinstance(expression, tree.Column) and self._readings is not None:
            used = self._readings.get(column_named(expression, self._names), used)
        if len(used) != 1:
            raise _undeclared([expression])
        return next(iter(used))


def _make_coalesce(nodes: Sequence[Node | None], unit: Fraction | None) -> Node:
    return conditions.CoalesceChoice(tuple(node for node in nodes if node is not None), unit)


def _member(operand: Node | Fraction, items: Sequence[Operand], kind: Kind) -> Node:
    if kind == Kind.TRUTH:
        return conditions.AnyOf(
            tuple(compared("=", operand, item) for item in dict.fromkeys(items))
        )
    if kind == Kind.TEXT and isinstance(operand, Node):
        texts = tuple(item for item in items if isinstance(item, conditions.TextConstant))
        return conditions.OneOf(operand, texts)
    return member(operand, [item for item in items if isinstance(item, Fraction)])


def _place(literal: tree.Day | tree.Moment | tree.Text, kind: Kind) -> Fraction:
    """A literal as days for dates, as seconds for timestamps."""
    point = literal.value
    if isinstance(point, str):
        if kind == Kind.DATE:
            return position(read_day(point))
        moment = read_moment(point)
        is_zoned = moment.tzinfo is not None
        if is_zoned != (kind == Kind.ZONED):
            raise InputError(
                f"{brief(literal)} must be {kind.value}; add +00:00 to it, or leave its zone out"
            )
        return position(moment)
    # A date beside timestamps is the first moment of its day.
    if isinstance(literal, tree.Day) and kind != Kind.DATE:
        return position(point) * SECONDS
    return position(point)


def _of_no_column(expression: Expression) -> InputError:
    return InputError(
        f"{brief(expression)} is the same in every row; write what it is, or name a column"
    )


def _misplaced(expression: Expression, own: Kind | None, wanted: Kind) -> InputError:
    found = own.value if own else "NULL"
    hint = ""
    if own == Kind.NUMBER and wanted == Kind.TRUTH:
        hint = "; write for example x <> 0"
    if own == Kind.TEXT and wanted in TIMES and isinstance(expression, tree.Column):
        hint = "; convert the column first, or declare it as one where nothing is declared"
    return InputError(f"{brief(expression)} is {found}, where {wanted.value} is expected{hint}")


def _no_cast(cast: tree.Cast, own: Kind | None) -> InputError:
    found = own.value if own else "NULL"
    hint = "; declare the type of the column, or convert it in the data"
    if own in CALENDAR:
        hint = "; write DATE_DIFF('day', DATE '1970-01-01', x) for a number of days"
    if own == Kind.ZONED and cast.type == "TIMESTAMP":
        hint = "; it has one already, in its zone"
    return InputError(f"{brief(cast.operand)} is {found}, which is not cast to {cast.type}{hint}")


def _undeclared(expressions: Sequence[Expression]) -> InputError:
    names = [name for each in expressions for name in tree.columns_of(each)]
    unread = " and ".join(map(repr, names)) or "NULL"
    example = repr(names[0]) if names else "'x'"
    return InputError(
        f"nothing tells how to read {unread}, which has no declared type; "
        f"declare it: postri.open(..., columns={{{example}: 'text'}})"
    )
