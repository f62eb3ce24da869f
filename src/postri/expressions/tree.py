"""The parts of an expression, as they are written.

`str` gives the normal form, which reads back as the same tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeGuard

from postri.errors import InputError
from postri.exact import as_decimal, decimal_places
from postri.expressions.pattern import ESCAPE, Pattern

Comparison = Literal["=", "<>", "<", "<=", ">", ">="]
Operator = Literal["+", "-", "*", "/"]
Extremum = Literal["LEAST", "GREATEST"]
Rounding = Literal["ROUND", "FLOOR", "CEIL"]
CastType = Literal["INTEGER", "DECIMAL", "DOUBLE", "DATE", "TIMESTAMP"]

# Numbers with more digits than this, or more decimal places, are written with an exponent.
MOST_DIGITS = 20

# How deep all expressions may be nested as they are written, of rows and of released values alike.
# A tree is deeper: `NOT LIKE` is one level of a text and two parts, and BETWEEN becomes two
# comparisons.
DEEPEST = 20
DEEPEST_TREE = 2 * DEEPEST + 5
# A text has at most as many characters, and so no tree has more parts.
MOST_PARTS = 10_000

# How tightly a part binds: one that binds less tightly than its place asks for stands in
# parentheses.
OR, AND, NOT, TEST, SUM, PRODUCT, SIGN, ATOM = range(8)


@dataclass(frozen=True)
class Expression:
    """A part of a predicate, or of any other expression of a row."""

    rank: ClassVar[int] = ATOM

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that it is made of."""
        return ()

    def within(self, rank: int) -> str:
        """Its text in a place that asks for this rank."""
        return str(self) if self.rank >= rank else f"({self})"


@dataclass(frozen=True)
class Column(Expression):
    """A column by its name. One in quotes is meant to the letter, another in any case."""

    name: str
    quoted: bool = False

    def __str__(self) -> str:
        if not self.quoted:
            return self.name
        escaped = self.name.replace('"', '""')
        return f'"{escaped}"'


@dataclass(frozen=True)
class Number(Expression):
    """An exact number."""

    value: Fraction

    @property
    def rank(self) -> int:  # type: ignore[override]  # a negative one has a sign
        """A sign binds less tightly than digits."""
        return SIGN if self.value < 0 else ATOM

    def __str__(self) -> str:
        places = decimal_places(self.value) or 0
        digits = str(abs(self.value.numerator))
        if places == 0 and len(digits) > MOST_DIGITS:
            sign = "-" if self.value < 0 else ""
            leading = digits.rstrip("0")
            return f"{sign}{leading}e{len(digits) - len(leading)}"
        if places > MOST_DIGITS:
            return f"{self.value * 10**places}e-{places}"
        return format(as_decimal(self.value, places), "f")


@dataclass(frozen=True)
class Text(Expression):
    """A text."""

    value: str

    def __str__(self) -> str:
        return _quoted(self.value)


@dataclass(frozen=True)
class Boolean(Expression):
    """TRUE or FALSE."""

    value: bool

    def __str__(self) -> str:
        return str(self.value).upper()


@dataclass(frozen=True)
class Null(Expression):
    """NULL."""

    def __str__(self) -> str:
        return "NULL"


@dataclass(frozen=True)
class Day(Expression):
    """A date."""

    value: date

    def __str__(self) -> str:
        return f"DATE '{self.value.isoformat()}'"


@dataclass(frozen=True)
class Moment(Expression):
    """A timestamp, with a time zone or without."""

    value: datetime

    def __str__(self) -> str:
        return f"TIMESTAMP '{self.value.isoformat(' ')}'"


@dataclass(frozen=True)
class Compare(Expression):
    """A comparison."""

    rank: ClassVar[int] = TEST
    operator: Comparison
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.left, self.right

    def __str__(self) -> str:
        return f"{self.left.within(SUM)} {self.operator} {self.right.within(SUM)}"


@dataclass(frozen=True)
class Distinct(Expression):
    """`IS DISTINCT FROM`: whether two differ, where NULL is a value like others."""

    rank: ClassVar[int] = TEST
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.left, self.right

    def __str__(self) -> str:
        return f"{self.left.within(SUM)} IS DISTINCT FROM {self.right.within(SUM)}"


@dataclass(frozen=True)
class And(Expression):
    """All of several conditions."""

    rank: ClassVar[int] = AND
    items: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.items

    def __str__(self) -> str:
        return " AND ".join(part.within(NOT) for part in self.items)


@dataclass(frozen=True)
class Or(Expression):
    """One of several conditions."""

    rank: ClassVar[int] = OR
    items: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.items

    def __str__(self) -> str:
        return " OR ".join(part.within(AND) for part in self.items)


@dataclass(frozen=True)
class Not(Expression):
    """The opposite of a condition."""

    rank: ClassVar[int] = NOT
    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"NOT {self.operand.within(NOT)}"


@dataclass(frozen=True)
class In(Expression):
    """Whether something equals one of some literals."""

    rank: ClassVar[int] = TEST
    operand: Expression
    items: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.operand, *self.items

    def __str__(self) -> str:
        return f"{self.operand.within(SUM)} IN ({', '.join(map(str, self.items))})"


@dataclass(frozen=True)
class Between(Expression):
    """Whether something lies between two others, or is one of them."""

    rank: ClassVar[int] = TEST
    operand: Expression
    low: Expression
    high: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.operand, self.low, self.high

    def __str__(self) -> str:
        return (
            f"{self.operand.within(SUM)} BETWEEN {self.low.within(SUM)} AND {self.high.within(SUM)}"
        )


@dataclass(frozen=True)
class IsNull(Expression):
    """Whether something is NULL."""

    rank: ClassVar[int] = TEST
    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"{self.operand.within(SUM)} IS NULL"


@dataclass(frozen=True)
class IsTruth(Expression):
    """Whether a condition is TRUE, or whether it is FALSE: never NULL."""

    rank: ClassVar[int] = TEST
    operand: Expression
    value: bool

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"{self.operand.within(SUM)} IS {str(self.value).upper()}"


@dataclass(frozen=True)
class Like(Expression):
    """Whether a text fits a pattern."""

    rank: ClassVar[int] = TEST
    operand: Expression
    pattern: Pattern

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        written = self.pattern.written()
        escape = f" ESCAPE '{ESCAPE}'" if ESCAPE in written else ""
        return f"{self.operand.within(SUM)} LIKE {_quoted(written)}{escape}"


@dataclass(frozen=True)
class Case(Expression):
    """What stands at the first condition that is TRUE; NULL if none is and there is no other."""

    whens: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None = None

    @property
    def parts(self) -> tuple[Expression, ...]:
        found = [part for when in self.whens for part in when]
        if self.otherwise:
            found.append(self.otherwise)
        return tuple(found)

    @property
    def values(self) -> tuple[Expression, ...]:
        """What it can be."""
        found = [value for _, value in self.whens]
        if self.otherwise:
            found.append(self.otherwise)
        return tuple(found)

    def __str__(self) -> str:
        words = [f"WHEN {condition} THEN {value}" for condition, value in self.whens]
        if self.otherwise:
            words.append(f"ELSE {self.otherwise}")
        return f"CASE {' '.join(words)} END"


@dataclass(frozen=True)
class Coalesce(Expression):
    """The first of several that is not NULL."""

    values: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.values

    def __str__(self) -> str:
        return f"COALESCE({', '.join(map(str, self.values))})"


@dataclass(frozen=True)
class Arithmetic(Expression):
    """A sum, difference, product or quotient."""

    operator: Operator
    left: Expression
    right: Expression

    @property
    def rank(self) -> int:  # type: ignore[override]  # it depends on the operator
        """Products bind more tightly than sums."""
        return SUM if self.operator in "+-" else PRODUCT

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.left, self.right

    def __str__(self) -> str:
        return f"{self.left.within(self.rank)} {self.operator} {self.right.within(self.rank + 1)}"


@dataclass(frozen=True)
class Negate(Expression):
    """A number with the opposite sign."""

    rank: ClassVar[int] = SIGN
    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"-{self.operand.within(ATOM)}"


@dataclass(frozen=True)
class Extreme(Expression):
    """The least or the greatest of several; NULL if one of them is."""

    function: Extremum
    items: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.items

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.items))})"


@dataclass(frozen=True)
class Absolute(Expression):
    """The size of a number."""

    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"ABS({self.operand})"


@dataclass(frozen=True)
class Rounded(Expression):
    """The nearest number of some decimal places, or the next one below or above.

    Halves go away from zero. Places below zero are powers of ten.
    """

    function: Rounding
    operand: Expression
    places: int = 0

    @property
    def step(self) -> Fraction:
        """All that it can be are multiples of this."""
        return Fraction(10) ** -self.places

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        places = f", {self.places}" if self.places else ""
        return f"{self.function}({self.operand}{places})"


@dataclass(frozen=True)
class Cast(Expression):
    """A value as one of another type; NULL where it does not fit.

    `digits` and `places` are those of a DECIMAL.
    """

    operand: Expression
    type: CastType
    digits: int = 0
    places: int = 0

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        room = f"({self.digits}, {self.places})" if self.type == "DECIMAL" else ""
        return f"CAST({self.operand} AS {self.type}{room})"


@dataclass(frozen=True)
class DaysBetween(Expression):
    """How many midnights lie between two moments; below zero where the second is the earlier."""

    start: Expression
    end: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.start, self.end

    def __str__(self) -> str:
        return f"DATE_DIFF('day', {self.start}, {self.end})"


@dataclass(frozen=True)
class Truncate(Expression):
    """The first moment of the month, or of another `unit`, that a date or timestamp lies in."""

    unit: str
    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"DATE_TRUNC('{self.unit}', {self.operand})"


@dataclass(frozen=True)
class Extract(Expression):
    """A field of a date or timestamp, such as its hour, as a whole number."""

    field: str
    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"EXTRACT({self.field} FROM {self.operand})"


@dataclass(frozen=True)
class WidthBucket(Expression):
    """In which of `number` bins of one width, from `low` to below `high`, a number lies: from 1 on,
    with 0 for what is below all of them and `number` + 1 for what is above.
    """

    operand: Expression
    low: Number
    high: Number
    number: int

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"WIDTH_BUCKET({self.operand}, {self.low}, {self.high}, {self.number})"


@dataclass(frozen=True)
class Bins(Expression):
    """In which bin something lies, from 1 on: from an edge to below the next, of the last bin up to
    its end. NULL outside of all of them.
    """

    operand: Expression
    edges: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.operand, *self.edges

    def __str__(self) -> str:
        return f"BINS({', '.join(map(str, self.parts))})"


def is_year(expression: Expression) -> TypeGuard[Extract]:
    """Whether it is a year, which follows from its operand; other fields may be anything."""
    return isinstance(expression, Extract) and expression.field == "YEAR"


LITERALS = (Number, Text, Boolean, Null, Day, Moment)


def check_size(expression: Expression) -> None:
    """InputError if an expression that nobody read from a text is too deep or too large to compute.

    Looks at it without recursion.
    """
    waiting = [(expression, 0)]
    parts = 0
    while waiting:
        part, depth = waiting.pop()
        parts += 1
        if depth > DEEPEST_TREE:
            raise nested_too_deep()
        if parts > MOST_PARTS:
            raise InputError(f"an expression may have at most {MOST_PARTS:,} parts")
        waiting.extend((each, depth + 1) for each in part.parts)


def nested_too_deep() -> InputError:
    """The refusal of what would be too deep for whoever recurses."""
    return InputError(
        f"an expression may be nested at most {DEEPEST} deep, and a sum of n terms is n - 1 deep; "
        "use fewer parentheses and shorter sums"
    )


def mapped(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The same expression, of other parts."""

    def changed(value: Any) -> Any:
        if isinstance(value, Expression):
            return change(value)
        if isinstance(value, tuple) and not is_dataclass(value):
            return tuple(map(changed, value))
        return value

    changes = {field.name: changed(getattr(expression, field.name)) for field in fields(expression)}
    return replace(expression, **changes)


def columns_of(expression: Expression) -> tuple[str, ...]:
    """The names in an expression, each once, in their order."""
    found: dict[str, None] = {}
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Column):
            found[part.name] = None
        waiting.extend(reversed(part.parts))
    return tuple(found)


def brief(expression: Expression) -> str:
    """Its text as an error message shows it."""
    text = str(expression)
    if isinstance(expression, Column) and expression.name.isidentifier():
        text = expression.name
    return text if len(text) <= 60 else text[:57] + "..."


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
