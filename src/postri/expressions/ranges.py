"""The public domain of an expression: what it can be by the domains of its columns alone, and the
expression that is computed.

Each part of an expression has a range, and a unit of which all its values are whole multiples:

    a number      itself, of the unit that it is
    a column      its domain, of the largest unit of which lower bound and step are multiples
    a sum         the sums of the ends, of the largest common unit
    a product     the products of the ends, of the product of the units
    a choice      all that one of its values can be, of the largest common unit
    a quotient    the quotients of the ends, of the quotient of the units
    the least     up to the least of the upper ends, of the largest common unit
    a size        from the smallest to the largest size, of the same unit
    rounding      the ends, rounded, of the step that is rounded to
    days between  the differences of the ends, in days
    a truncation  the truncated ends, of a day, or of its hour, minute or second
    a field       what it can be at all, and the years of the ends, of 1
    a bin         the number of the first and of the last, of 1

A quotient has that unit only if its divisor is a number with a short inverse; any other has none.
The domain then has the largest power of ten as its step that makes a million steps or more, and so
fewer than about ten million: a value is rounded by at most half a step.

For this to hold, each column is clamped to its own domain before anything is computed. A condition
of a CASE looks at cells as they stand, as a predicate does; where it compares a column of numbers
with a number, it narrows what that column can be in the branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import reduce, singledispatch
from math import ceil, floor, log10
from operator import mul, truediv
from typing import TypeVar

from postri.columns import Kind
from postri.domain import EPOCH, MICROSECOND, Domain, Point, kind_of, position
from postri.errors import InputError
from postri.exact import decimal_places, plain
from postri.expressions import tree
from postri.expressions.binding import CONDITIONS, KINDS, column_named
from postri.expressions.calendar import FIELDS, TIME_UNITS, truncated
from postri.expressions.measures import EXACT, FLIPPED, SECONDS, common_unit, small, to_whole
from postri.expressions.tree import Expression, brief

MOST_POINTS = 2**62
ROUNDED_DIGITS = 6
# A divisor whose inverse is no longer is multiplied by instead: few whole numbers of 64 bits are
# too large for that.
LONGEST_INVERSE = 10**9
COMPUTED = (
    tree.Arithmetic,
    tree.Negate,
    tree.Case,
    tree.Coalesce,
    tree.Extreme,
    tree.Absolute,
    tree.Rounded,
    tree.Cast,
    tree.DaysBetween,
)
OPPOSITE: dict[tree.Comparison, tree.Comparison] = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}


@dataclass(frozen=True)
class Range:
    """What a part of an expression can be.

    Dates are days, timestamps are seconds; without a unit, values are multiples of nothing.
    """

    low: Fraction
    high: Fraction
    unit: Fraction | None
    kind: Kind = "number"
    zoned: bool = False

    @classmethod
    def of(cls, domain: Domain) -> Range:
        """What a column can be once it is clamped."""
        low = position(domain.lower)
        high = position(domain.upper)
        unit = common_unit(low, Fraction(domain.step))
        return cls(low, high, unit, domain.kind, domain.zoned)

    @classmethod
    def at(cls, point: Fraction | Point) -> Range:
        """One value alone."""
        place = point if isinstance(point, Fraction) else position(point)
        zoned = isinstance(point, datetime) and point.tzinfo is not None
        return cls(place, place, abs(place), kind_of(point), zoned)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the largest value."""
        return self.low, self.high

    def narrowed(self, comparison: tree.Comparison, number: Fraction) -> Range:
        """The same where a cell also compares so with a number.

        A limit between two multiples counts as the one outside.
        """
        assert self.unit is not None
        low = self.low
        high = self.high
        limit = min(max(number, low), high)
        if comparison in (">", ">=", "="):
            low = floor(limit / self.unit) * self.unit
        if comparison in ("<", "<=", "="):
            high = ceil(limit / self.unit) * self.unit
        return replace(self, low=low, high=max(low, high))


Ranges = Mapping[str, Range | None]
Bounds = TypeVar("Bounds")


def domain_of(expression: Expression, domains: Mapping[str, Domain | None]) -> Domain:
    """The domain of an expression over columns of these domains (None: no bounds), or InputError
    that says what to do.

    >>> from postri.expressions.reader import read_expression
    >>> print(domain_of(read_expression("cents / 100"), {"cents": Domain(0, 5_000)}))
    0 to 50 in steps of 0.01
    """
    known = {name: Range.of(domain) if domain else None for name, domain in domains.items()}
    found = _range(expression, known)
    if found is None or found.low == found.high:
        raise InputError(
            f"{brief(expression)} has one value at most, of which nothing can be asked; count "
            "the rows instead"
        )
    step = found.unit
    if step is None:
        step = _step(found.high - found.low)
    low = floor(found.low / step) * step
    high = ceil(found.high / step) * step
    if (high - low) / step >= MOST_POINTS:
        raise _too_large(expression, step)
    for number in low, high, step:
        small(number)
    return Domain(_point(low, found), _point(high, found), step)


def clamped(expression: Expression, domains: Mapping[str, Domain | None]) -> Expression:
    """The expression that is computed: each column is clamped to its domain first.

    Its values lie in `domain_of`, or are NULL.

    A division by a number with a short inverse is written as a product, which is exact where a
    quotient would be a float.

    >>> from postri.expressions.reader import read_expression
    >>> print(clamped(read_expression("x / 100"), {"x": Domain(0, 500)}))
    CASE WHEN x < 0 THEN 0 WHEN x > 500 THEN 500 ELSE x END * 0.01
    """

    def inside(part: Expression) -> Expression:
        return clamped(part, domains)

    if isinstance(expression, tree.Column):
        return _clamped(expression, _bounds(expression, domains))
    if isinstance(expression, tree.Case):
        whens = tuple((condition, inside(value)) for condition, value in expression.whens)
        return tree.Case(whens, expression.otherwise and inside(expression.otherwise))
    if isinstance(expression, tree.LITERALS) or _is_cast_condition(expression):
        return expression
    if isinstance(expression, tree.Truncate) or tree.is_year(expression):
        return tree.mapped(expression, inside)
    if isinstance(expression, tree.Extract | tree.WidthBucket | tree.Bins):
        # A field or a bin is one of a few numbers, whatever its columns are.
        return expression
    if isinstance(expression, COMPUTED):
        return _multiplied(tree.mapped(expression, inside))
    # A node that is forgotten here must not leave its columns as they are.
    raise TypeError(f"nothing says how the columns of {type(expression).__name__} are clamped")


def _is_cast_condition(expression: Expression) -> bool:
    """Whether it is a condition as a number, which looks at cells as they stand."""
    return isinstance(expression, tree.Cast) and isinstance(expression.operand, CONDITIONS)


def _multiplied(expression: Expression) -> Expression:
    if not isinstance(expression, tree.Arithmetic):
        return expression
    inverse = _inverse(expression)
    if inverse is None:
        return expression
    return tree.Arithmetic("*", expression.left, tree.Number(inverse))


def _clamped(column: tree.Column, domain: Domain) -> Expression:
    low = _literal(domain.lower)
    high = _literal(domain.upper)
    below = tree.Compare("<", column, low)
    above = tree.Compare(">", column, high)
    return tree.Case(((below, low), (above, high)), column)


def _literal(point: Point) -> Expression:
    if isinstance(point, datetime):
        return tree.Moment(point)
    if isinstance(point, date):
        return tree.Day(point)
    return tree.Number(Fraction(point))


def _bounds(column: tree.Column, known: Mapping[str, Bounds | None]) -> Bounds:
    name = column_named(column, list(known))
    found = known[name]
    if found is None:
        raise InputError(
            f"the column {name!r} has no public bounds, without which nobody may compute with "
            "it; give it a domain"
        )
    return found


# Ranges.


def _range(expression: Expression, known: Ranges) -> Range | None:
    """What an expression can be; None if it is always NULL.

    Refuses what whole numbers of 64 bits may have no room for.
    """
    found = _found(expression, known)
    if found is not None and found.unit is not None and isinstance(expression, COMPUTED):
        digits = Fraction(1, 10 ** (decimal_places(found.unit) or 0))
        if max(abs(found.low), abs(found.high)) >= MOST_POINTS * digits:
            raise _too_large(expression, digits)
    return found


def _too_large(expression: Expression, step: Fraction) -> InputError:
    return InputError(
        f"{brief(expression)} can be more than 2^62 steps of {plain(step)}; "
        "take fewer factors, or columns with closer bounds or larger steps"
    )


@singledispatch
def _found(expression: Expression, known: Ranges) -> Range | None:
    kind = KINDS[type(expression)].value
    hint = ""
    if isinstance(expression, tree.Text):
        hint = "; write a date as DATE '2024-01-31'"
    raise InputError(f"{brief(expression)} is {kind}, where a number is expected{hint}")


@_found.register
def _(expression: tree.Null, known: Ranges) -> None:
    return None


@_found.register
def _(literal: tree.Number | tree.Day | tree.Moment, known: Ranges) -> Range:
    return Range.at(literal.value)


@_found.register
def _(column: tree.Column, known: Ranges) -> Range:
    return _bounds(column, known)


@_found.register
def _(choice: tree.Case, known: Ranges) -> Range | None:
    found = [_range(value, reached) for value, reached in _branches(choice, known)]
    return _either(choice, found)


@_found.register
def _(choice: tree.Coalesce, known: Ranges) -> Range | None:
    return _either(choice, [_range(value, known) for value in choice.values])


@_found.register
def _(opposite: tree.Negate, known: Ranges) -> Range | None:
    return _computed(opposite, "-", Range.at(Fraction(0)), _range(opposite.operand, known))


@_found.register
def _(expression: tree.Arithmetic, known: Ranges) -> Range | None:
    left = _range(expression.left, known)
    right = _range(expression.right, known)
    return _computed(expression, expression.operator, left, right)


@_found.register
def _(expression: tree.Extreme, known: Ranges) -> Range | None:
    ranges = [_range(item, known) for item in expression.items]
    if any(each is None for each in ranges):
        return None
    both = _either(expression, ranges)
    if both is None:
        return None
    alike = _of_one_kind(expression, ranges)
    pick = min if expression.function == "LEAST" else max
    return replace(
        both, low=pick(each.low for each in alike), high=pick(each.high for each in alike)
    )


@_found.register
def _(size: tree.Absolute, known: Ranges) -> Range | None:
    found = _numbers(size, _range(size.operand, known))
    if found is None:
        return None
    ends = abs(found.low), abs(found.high)
    low = Fraction(0) if found.low <= 0 <= found.high else min(ends)
    return replace(found, low=low, high=max(ends))


@_found.register
def _(expression: tree.Rounded, known: Ranges) -> Range | None:
    found = _numbers(expression, _range(expression.operand, known))
    if found is None:
        return None
    return _rounded(found, expression.function, expression.step)


@_found.register
def _(cast: tree.Cast, known: Ranges) -> Range | None:
    if _is_cast_condition(cast):
        found: Range | None = Range(Fraction(0), Fraction(1), Fraction(1))
    else:
        found = _range(cast.operand, known)
    if found is None:
        return None
    if cast.type == "DATE":
        return _days(cast, found)
    if cast.type == "TIMESTAMP":
        return _moments(cast, found)
    if found.kind != "number":
        raise _not_cast(cast, found)
    return _cast_numbers(cast, found)


def _cast_numbers(cast: tree.Cast, found: Range) -> Range | None:
    if cast.type == "DOUBLE":
        return found
    step = Fraction(10) ** -cast.places
    whole = _rounded(found, "ROUND", step)
    if cast.type == "INTEGER":
        return whole
    # What has more digits is NULL.
    most = (10**cast.digits - 1) * step
    if whole.low > most or whole.high < -most:
        return None
    return replace(whole, low=max(whole.low, -most), high=min(whole.high, most))


def _moments(cast: tree.Cast, found: Range) -> Range:
    if found.kind == "number" or found.zoned:
        raise _not_cast(cast, found)
    return found if found.kind == "timestamp" else _first_moments(found)


@_found.register
def _(days: tree.DaysBetween, known: Ranges) -> Range | None:
    start = _range(days.start, known)
    end = _range(days.end, known)
    if start is None or end is None:
        return None
    return _days_between(_days(days, start), _days(days, end))


def _numbers(expression: Expression, found: Range | None) -> Range | None:
    """What a function of numbers is asked of."""
    if found is not None and found.kind != "number":
        raise InputError(f"{brief(expression)} is asked of a {found.kind}; it takes numbers")
    return found


def _rounded(found: Range, function: tree.Rounding, step: Fraction) -> Range:
    if found.unit is not None and (found.unit / step).denominator == 1:
        return found
    low, high = (to_whole(function, end / step) * step for end in (found.low, found.high))
    return Range(low, high, step)


def _days(expression: Expression, found: Range) -> Range:
    """The days of dates or moments."""
    if found.kind == "number":
        raise InputError(f"{brief(expression)} is asked of a number; it takes dates or timestamps")
    if found.kind == "date":
        return found
    low, high = (Fraction(floor(end / SECONDS)) for end in (found.low, found.high))
    return Range(low, high, Fraction(1), "date")


def _days_between(start: Range, end: Range) -> Range:
    """Days, as a number."""
    ends = _ends(EXACT["-"], end, start)
    return Range(min(ends), max(ends), _unit("-", start.unit, end.unit))


def _not_cast(cast: tree.Cast, found: Range) -> InputError:
    return InputError(f"{brief(cast.operand)} is a {found.kind}, which is not cast to {cast.type}")


@_found.register
def _(expression: tree.Truncate, known: Ranges) -> Range | None:
    moments = _truncated_moments(expression, known)
    if moments is None:
        return None
    low, high = (truncated(_as_date(place, moments), expression.unit) for place in moments.ends)
    kind: Kind = "date"
    unit = Fraction(1)
    if expression.unit in TIME_UNITS:
        kind = "timestamp"
        unit = Fraction(TIME_UNITS[expression.unit])
    zoned = moments.zoned and kind == "timestamp"
    return Range(position(low), position(high), unit, kind, zoned)


@_found.register
def _(expression: tree.Extract, known: Ranges) -> Range | None:
    low, high = FIELDS[expression.field]
    if tree.is_year(expression):
        moments = _truncated_moments(expression, known)
        if moments is None:
            return None
        low, high = (_as_date(place, moments).year for place in moments.ends)
    return Range(Fraction(low), Fraction(high), Fraction(1))


@_found.register
def _(expression: tree.WidthBucket, known: Ranges) -> Range:
    return Range(Fraction(0), Fraction(expression.number + 1), Fraction(1))


@_found.register
def _(expression: tree.Bins, known: Ranges) -> Range:
    return Range(Fraction(1), Fraction(len(expression.edges) - 1), Fraction(1))


def _truncated_moments(expression: tree.Truncate | tree.Extract, known: Ranges) -> Range | None:
    found = _range(expression.operand, known)
    if found is not None and found.kind == "number":
        raise InputError(
            f"{brief(expression.operand)} is a number, where a date or timestamp is expected"
        )
    return found


def _as_date(place: Fraction, found: Range) -> date:
    point = _point(place, found)
    assert isinstance(point, date)
    return point


def _computed(
    expression: Expression, operator: tree.Operator, left: Range | None, right: Range | None
) -> Range | None:
    if left is None or right is None:
        return None
    is_difference = isinstance(expression, tree.Arithmetic) and operator == "-"
    if is_difference and (left.kind, right.kind) == ("date", "date"):
        return _days_between(right, left)
    if (left.kind, right.kind) != ("number", "number"):
        raise InputError(
            "there is no arithmetic with dates and timestamps but the days between them, as in "
            f"DATE_DIFF('day', start, end), got {brief(expression)}"
        )
    if isinstance(expression, tree.Arithmetic) and operator == "/":
        return _quotient(expression, left, right)
    ends = _ends(EXACT[operator], left, right)
    return Range(min(ends), max(ends), _unit(operator, left.unit, right.unit))


def _ends(
    compute: Callable[[Fraction, Fraction], Fraction], left: Range, right: Range
) -> list[Fraction]:
    """What is computed from the ends of two ranges: nothing between them gives more or less."""
    lefts = (left.low, left.high)
    rights = (right.low, right.high)
    return [compute(one, other) for one in lefts for other in rights]


def _unit(operator: tree.Operator, one: Fraction | None, other: Fraction | None) -> Fraction | None:
    if one is None or other is None:
        return None
    return one * other if operator == "*" else common_unit(one, other)


def _quotient(expression: tree.Arithmetic, left: Range, right: Range) -> Range:
    if right.low <= 0 <= right.high:
        raise InputError(
            f"{brief(expression.right)} can be 0, so that {brief(expression)} has no bounds; "
            "give it bounds without 0, "
            "or divide by a column x inside CASE WHEN x >= 1 THEN ... END"
        )
    ends = _ends(truediv, left, right)
    inverse = _inverse(expression)
    unit = None
    if inverse is not None and left.unit is not None:
        unit = left.unit * abs(inverse)
    return Range(min(ends), max(ends), unit)


def _inverse(expression: tree.Arithmetic) -> Fraction | None:
    """By what a dividend can be multiplied instead; None if the divisor is no number, or one
    without a short inverse.
    """
    divisor = _number(expression.right) if expression.operator == "/" else None
    if not divisor:
        return None
    inverse = 1 / divisor
    is_whole = (inverse * LONGEST_INVERSE).denominator == 1
    return inverse if is_whole and abs(inverse) <= LONGEST_INVERSE else None


def _number(expression: Expression) -> Fraction | None:
    """The number that an expression is, by literals alone."""
    if isinstance(expression, tree.Number):
        return expression.value
    if isinstance(expression, tree.Negate):
        operand = _number(expression.operand)
        return None if operand is None else -operand
    if isinstance(expression, tree.Arithmetic):
        left = _number(expression.left)
        if expression.operator == "/":
            compute = mul
            right = _inverse(expression)
        else:
            compute = EXACT[expression.operator]
            right = _number(expression.right)
        return None if left is None or right is None else compute(left, right)
    return None


def _either(expression: Expression, ranges: Sequence[Range | None]) -> Range | None:
    """All that one of several can be."""
    found = _of_one_kind(expression, ranges)
    return reduce(_joined, found) if found else None


def _of_one_kind(expression: Expression, ranges: Sequence[Range | None]) -> list[Range]:
    """The ranges of several values that stand side by side; dates beside moments are moments."""
    found = [each for each in ranges if each is not None]
    kinds = {(each.kind, each.zoned) for each in found}
    if kinds == {("date", False), ("timestamp", False)}:
        found = [_first_moments(each) if each.kind == "date" else each for each in found]
        kinds = {("timestamp", False)}
    if len(kinds) > 1:
        raise InputError(
            f"the values of {brief(expression)} must be of one kind: numbers, dates, or "
            "timestamps with or without a zone"
        )
    return found


def _joined(one: Range, other: Range) -> Range:
    return replace(
        one,
        low=min(one.low, other.low),
        high=max(one.high, other.high),
        unit=_unit("+", one.unit, other.unit),
    )


def _first_moments(days: Range) -> Range:
    assert days.unit is not None
    return Range(days.low * SECONDS, days.high * SECONDS, days.unit * SECONDS, "timestamp")


# What a CASE tells of columns in its branches. Where a condition is NULL, the columns that decide
# it are, and compute to NULL.


def _branches(case: tree.Case, known: Ranges) -> Iterator[tuple[Expression, Ranges]]:
    """Each value, with what the columns can be where it is reached."""
    for condition, value in case.whens:
        yield value, _narrowed(condition, known, holds=True)
        known = _narrowed(condition, known, holds=False)
    if case.otherwise is not None:
        yield case.otherwise, known


def _narrowed(condition: Expression, known: Ranges, *, holds: bool) -> Ranges:
    """What the columns can be where a condition holds or is NULL, or where it does not hold or is
    NULL.
    """
    if isinstance(condition, tree.Not):
        return _narrowed(condition.operand, known, holds=not holds)
    # All parts of an AND hold where it holds; no part of an OR holds where it does not.
    if isinstance(condition, tree.And if holds else tree.Or):
        for part in condition.parts:
            known = _narrowed(part, known, holds=holds)
        return known
    if isinstance(condition, tree.Between) and holds:
        low = tree.Compare(">=", condition.operand, condition.low)
        high = tree.Compare("<=", condition.operand, condition.high)
        return _narrowed(tree.And((low, high)), known, holds=True)
    if isinstance(condition, tree.Compare):
        return _compared(condition, known, holds=holds)
    return known


def _compared(condition: tree.Compare, known: Ranges, *, holds: bool) -> Ranges:
    comparison = condition.operator
    column = condition.left
    number = _number(condition.right)
    if number is None:
        comparison = FLIPPED[comparison]
        column = condition.right
        number = _number(condition.left)
    if number is None or not isinstance(column, tree.Column):
        return known
    if not holds:
        comparison = OPPOSITE[comparison]
    # A condition may look at columns without bounds, and at those that nobody may ask about.
    with suppress(InputError):
        name = column_named(column, list(known))
        found = known[name]
        if found is not None and found.kind == "number":
            return {**known, name: found.narrowed(comparison, number)}
    return known


# From a range to a domain.


def _step(width: Fraction) -> Fraction:
    """The largest power of ten that goes a million times, or more, into a width."""
    power = floor(log10(width.numerator) - log10(width.denominator))
    # The logarithms are floats, which may be off by one at a power of ten.
    power += (Fraction(10) ** (power + 1) <= width) - (Fraction(10) ** power > width)
    return Fraction(10) ** (power - ROUNDED_DIGITS)


def _point(place: Fraction, found: Range) -> Fraction | date:
    if found.kind == "number":
        return place
    if found.kind == "date":
        return date.fromordinal(EPOCH.toordinal() + int(place))
    moment = EPOCH + timedelta(microseconds=int(place / MICROSECOND))
    if found.zoned:
        return moment.replace(tzinfo=UTC)
    return moment
