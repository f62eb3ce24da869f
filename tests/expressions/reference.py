"""What a predicate means, slowly and plainly: a row at a time, with exact fractions and
three-valued logic.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from typing import Any

from postri.columns import BOOLEAN, ColumnType
from postri.expressions import tree
from postri.expressions.binding import CONDITIONS
from postri.expressions.pattern import Pattern

COMPARE = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPUTE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
Row = Mapping[str, Any]


class Reference:
    """The meaning of expressions over columns of these types.

    A cell is a fraction, a float, a text, a truth value or None.
    """

    def __init__(self, types: Mapping[str, ColumnType]) -> None:
        self.types = types

    def holds(self, expression: tree.Expression, row: Row) -> bool:
        return self.value(expression, row) is True

    def value(self, e: tree.Expression, row: Row) -> Any:
        return getattr(self, f"_{type(e).__name__.lower()}")(e, row)

    def _column(self, e, row):
        return row[e.name]

    def _number(self, e, row):
        return e.value

    _text = _boolean = _number

    def _null(self, e, row):
        return None

    def _day(self, e, row):
        return seconds(e.value)

    _moment = _day

    def _and(self, e, row):
        found = [self.value(item, row) for item in e.items]
        return False if False in found else None if None in found else True

    def _or(self, e, row):
        found = [self.value(item, row) for item in e.items]
        return True if True in found else None if None in found else False

    def _not(self, e, row):
        found = self.value(e.operand, row)
        return None if found is None else not found

    def _compare(self, e, row):
        return self.compared(e.operator, e.left, e.right, row)

    def compared(self, sign, left, right, row):
        one, other = self.pair(left, right, row)
        return None if one is None or other is None else COMPARE[sign](one, other)

    def pair(self, left, right, row):
        """Two values that can be compared: both floats where one is, and texts as moments beside
        moments.
        """
        one, other = self.value(left, row), self.value(right, row)
        if isinstance(one, str) and isinstance(other, Fraction):
            one = seconds(datetime.fromisoformat(one))
        if isinstance(other, str) and isinstance(one, Fraction):
            other = seconds(datetime.fromisoformat(other))
        if self.is_float(left) != self.is_float(right):
            one, other = self.as_float(left, one), self.as_float(right, other)
        return one, other

    def _distinct(self, e, row):
        one, other = self.pair(e.left, e.right, row)
        return (one is None) != (other is None) if one is None or other is None else one != other

    def _between(self, e, row):
        return self._and(
            tree.And((tree.Compare(">=", e.operand, e.low), tree.Compare("<=", e.operand, e.high))),
            row,
        )

    def _in(self, e, row):
        return self._or(tree.Or(tuple(tree.Compare("=", e.operand, item) for item in e.items)), row)

    def _isnull(self, e, row):
        return self.value(e.operand, row) is None

    def _istruth(self, e, row):
        return self.value(e.operand, row) is e.value

    def _like(self, e, row):
        found = self.value(e.operand, row)
        return None if found is None else like(found, e.pattern)

    def _case(self, e, row):
        for condition, value in e.whens:
            if self.value(condition, row) is True:
                return self.brought(e, value, row)
        return None if e.otherwise is None else self.brought(e, e.otherwise, row)

    def _coalesce(self, e, row):
        found = [item for item in e.values if self.value(item, row) is not None]
        return self.brought(e, found[0], row) if found else None

    def brought(self, whole, part, row):
        """A value of a CASE or COALESCE: a float if one of the others is, else of 64 bits in the
        finest unit of all.
        """
        value = self.value(part, row)
        if self.is_float(whole):
            return self.as_float(part, value)
        return (
            fitted(value, self.places(whole))
            if isinstance(value, Fraction) and not self.is_calendar(whole)
            else value
        )

    def _extreme(self, e, row):
        pick = min if e.function == "LEAST" else max
        values = [self.value(item, row) for item in e.items]
        if None in values:
            return None
        if self.is_calendar(e):
            return pick(map(as_moment, values))
        if self.is_float(e):
            return pick(map(self.as_float, e.items, values))
        return pick(values) if self.is_literal(e) else self.bounded(e, pick(values))

    def _absolute(self, e, row):
        found = self.value(e.operand, row)
        if found is None:
            return None
        if self.is_float(e):
            found = moderate(found)
            return None if found is None else abs(found)
        if self.is_literal(e):
            return abs(found)
        found = self.bounded(e, found)
        return None if found is None else self.bounded(e, abs(found))

    def _rounded(self, e, row):
        found = self.value(e.operand, row)
        if found is None:
            return None
        if self.is_float(e):
            steps = float_steps(e.function, found, e.places)
            return None if steps is None else scaled(steps, -e.places)
        if self.is_literal(e):
            return exact_steps(e.function, found, e.places) / Fraction(10) ** e.places
        if self.is_as_coarse(e.operand, e.places):
            return found
        found = self.bounded(e.operand, found)
        if found is None:
            return None
        return exact_steps(e.function, found, e.places) / Fraction(10) ** e.places

    def _cast(self, e, row):
        found = self.value(e.operand, row)
        if found is None:
            return None
        if e.type == "TIMESTAMP":
            return as_moment(found)
        if e.type == "DATE":
            return Fraction(days(found) * 86_400)
        if isinstance(found, bool):
            found = Fraction(int(found))
        if e.type == "DOUBLE":
            return self.as_float(e.operand, found)
        steps = self.cast_steps(e, found)
        if steps is None or (e.type == "DECIMAL" and abs(steps) >= 10**e.digits):
            return None
        found = steps / Fraction(10) ** e.places
        return fitted(found, e.places) if self.is_literal(e) else self.bounded(e, found)

    def cast_steps(self, e, found):
        """How many steps of the last decimal place a number is that is cast."""
        if self.is_float(e.operand):
            steps = float_steps("ROUND", found, e.places)
            fits = steps is not None and -(2.0**63) <= steps < 2.0**63
            return int(steps) if fits else None
        exact = self.is_literal(e.operand) or not self.is_number(e.operand)
        if not exact and not self.is_as_coarse(e.operand, e.places):
            found = self.bounded(e.operand, found)
        return None if found is None else exact_steps("ROUND", found, e.places)

    def _daysbetween(self, e, row):
        start, end = self.value(e.start, row), self.value(e.end, row)
        return None if start is None or end is None else Fraction(days(end) - days(start))

    def bounded(self, e, value):
        """A whole number of 64 bits with a sign, in the unit of an expression."""
        return fitted(value, self.places(e))

    def _truncate(self, e, row):
        moment = self._calendar(e, row)
        if moment is None:
            return None
        if e.unit == "week":
            moment -= timedelta(days=moment.weekday())
        month = {"year": 1, "quarter": (moment.month - 1) // 3 * 3 + 1}.get(e.unit, moment.month)
        day = 1 if e.unit in ("year", "quarter", "month") else moment.day
        clock = [moment.hour, moment.minute, moment.second]
        kept = {"hour": 1, "minute": 2, "second": 3}.get(e.unit, 0)
        return seconds(datetime(moment.year, month, day, *clock[:kept]))

    def _extract(self, e, row):
        moment = self._calendar(e, row)
        if moment is None:
            return None
        _, week, weekday = moment.isocalendar()
        fields = {
            "QUARTER": (moment.month + 2) // 3,
            "WEEK": week,
            "DOY": moment.timetuple().tm_yday,
            "DOW": weekday % 7,
            "ISODOW": weekday,
        }
        return Fraction(fields.get(e.field, getattr(moment, e.field.lower(), None)))

    def _calendar(self, e, row) -> datetime | None:
        """The moment of an operand, rounded down to microseconds."""
        found = self.value(e.operand, row)
        if found is None:
            return None
        return datetime(1970, 1, 1) + timedelta(microseconds=floor(found * 10**6))

    def _widthbucket(self, e, row):
        width = (e.high.value - e.low.value) / e.number
        return self._place(e, [e.low.value + width * i for i in range(e.number + 1)], row)

    def _bins(self, e, row):
        edges = [self.value(edge, row) for edge in e.edges]
        is_moment = self.is_calendar(e.operand)
        edges = [
            seconds(datetime.fromisoformat(edge)) if is_moment and isinstance(edge, str) else edge
            for edge in edges
        ]
        place = self._place(e, edges, row)
        if place is None or place == 0:
            return None
        value = self.value(e.operand, row)
        last = float(edges[-1]) if self.is_float(e.operand) else edges[-1]
        if value == last:
            return Fraction(len(edges) - 1)
        return place if place < len(edges) else None

    def _place(self, e, edges, row):
        """How many edges something has reached."""
        value = self.value(e.operand, row)
        if value is None:
            return None
        if self.is_float(e.operand):
            edges = [float(edge) for edge in edges]
        return Fraction(sum(edge <= value for edge in edges))

    def _negate(self, e, row):
        return self._arithmetic(tree.Arithmetic("-", tree.Number(Fraction(0)), e.operand), row)

    def _arithmetic(self, e, row):
        one, other = self.value(e.left, row), self.value(e.right, row)
        if one is None or other is None:
            return None
        if self.is_calendar(e.left) or self.is_calendar(e.right):
            return Fraction(days(one) - days(other))
        if self.is_float(e):
            one, other = (
                moderate(self.as_float(e.left, one)),
                moderate(self.as_float(e.right, other)),
            )
            return (
                None
                if one is None or other is None or (e.operator == "/" and other == 0)
                else COMPUTE[e.operator](one, other)
            )
        if self.is_literal(e):
            return COMPUTE[e.operator](one, other)
        fits = (
            fitted(one, self.places(e.left)) is not None
            and fitted(other, self.places(e.right)) is not None
        )
        return fitted(COMPUTE[e.operator](one, other), self.places(e)) if fits else None

    # What is known of an expression without a row.

    def is_float(self, e) -> bool:
        if isinstance(e, tree.Column):
            return self.types[e.name].kind == "number" and self.types[e.name].unit is None
        if isinstance(e, tree.Arithmetic):
            return e.operator == "/" or self.is_float(e.left) or self.is_float(e.right)
        if isinstance(e, tree.Negate | tree.Absolute | tree.Rounded):
            return self.is_float(e.operand)
        if isinstance(e, tree.Cast):
            return e.type == "DOUBLE"
        if isinstance(e, tree.Extreme):
            return any(map(self.is_float, e.items))
        return isinstance(e, tree.Case | tree.Coalesce) and any(map(self.is_float, e.values))

    def is_number(self, e) -> bool:
        """Whether it is no condition."""
        return not isinstance(e, CONDITIONS) and not (
            isinstance(e, tree.Column) and e.name in self.types and self.types[e.name] == BOOLEAN
        )

    def is_as_coarse(self, e, places: int) -> bool:
        """Whether it has no more decimal places, whatever it is."""
        return self.places(e) <= places

    def is_literal(self, e) -> bool:
        """Whether it is a number that is known exactly, of any size."""
        if isinstance(e, tree.Arithmetic):
            return e.operator != "/" and self.is_literal(e.left) and self.is_literal(e.right)
        if isinstance(e, tree.Extreme):
            return all(map(self.is_literal, e.items))
        if isinstance(e, tree.Cast) and e.type not in ("INTEGER", "DECIMAL"):
            return False
        return isinstance(e, tree.Number) or (
            isinstance(e, tree.Negate | tree.Absolute | tree.Rounded | tree.Cast)
            and self.is_literal(e.operand)
        )

    def is_calendar(self, e) -> bool:
        if isinstance(e, tree.Column):
            return self.types[e.name].kind in ("date", "timestamp")
        if isinstance(e, tree.Cast):
            return e.type in ("DATE", "TIMESTAMP")
        if isinstance(e, tree.Extreme):
            return any(map(self.is_calendar, e.items))
        return isinstance(e, tree.Day | tree.Moment | tree.Truncate) or (
            isinstance(e, tree.Case | tree.Coalesce) and any(map(self.is_calendar, e.values))
        )

    def places(self, e) -> int:
        """The decimal places of an exact number; below zero for tens and hundreds."""
        if isinstance(e, tree.Column):
            return len(str(self.types[e.name].unit.denominator)) - 1
        if self.is_literal(e):
            return places_of(self.value(e, {}))
        if isinstance(e, tree.Negate | tree.Absolute):
            return self.places(e.operand)
        if isinstance(e, tree.Rounded | tree.Cast):
            return self.rounded_places(e)
        if isinstance(e, tree.Arithmetic):
            return self.computed_places(e)
        values = []
        if isinstance(e, tree.Case | tree.Coalesce):
            values = [each for each in e.values if not isinstance(each, tree.Null)]
        elif isinstance(e, tree.Extreme):
            values = e.items
        return max(map(self.places, values), default=0)

    def rounded_places(self, e) -> int:
        if self.is_float(e.operand):
            return e.places
        return min(self.places(e.operand), e.places) if self.is_number(e.operand) else 0

    def computed_places(self, e) -> int:
        if self.is_calendar(e.left) or self.is_calendar(e.right):
            return 0
        places = self.places(e.left), self.places(e.right)
        return sum(places) if e.operator == "*" else max(places)

    def as_float(self, e, value):
        """A literal is the nearest float; another exact number is its whole number, divided by a
        power of ten.
        """
        if not isinstance(value, Fraction):
            return value
        if self.is_literal(e):
            return float(value)
        places = self.places(e)
        return scaled(float(int(value * Fraction(10) ** places)), -places)


def places_of(value: Fraction) -> int:
    return next(places for places in range(1_000) if (value * 10**places).denominator == 1)


def fitted(value: Fraction, places: int) -> Fraction | None:
    return value if -(2**63) <= value * Fraction(10) ** places <= 2**63 - 1 else None


def moderate(value: float) -> float | None:
    return value if value == 0 or 1e-150 <= abs(value) <= 1e150 else None


def exact_steps(function: str, value: Fraction, places: int) -> int:
    """How many steps of a power of ten a number is, with halves away from zero."""
    steps = value * Fraction(10) ** places
    if function == "FLOOR":
        return floor(steps)
    if function == "CEIL":
        return ceil(steps)
    return floor(steps + Fraction(1, 2)) if steps > 0 else ceil(steps - Fraction(1, 2))


def float_steps(function: str, value: float, places: int) -> float | None:
    """The same of a float, which is multiplied or divided in double precision."""
    if moderate(value) is None:
        return None
    return float(exact_steps(function, Fraction(scaled(value, places)), 0))


def scaled(value: float, places: int) -> float:
    """A float times a power of ten, by one operation."""
    return value * float(10**places) if places > 0 else value / float(10**-places)


def as_moment(value: Any) -> Any:
    return seconds(datetime.fromisoformat(value)) if isinstance(value, str) else value


def days(value: Any) -> int:
    return floor(as_moment(value) / 86_400)


def seconds(point: date) -> Fraction:
    if not isinstance(point, datetime):
        point = datetime(point.year, point.month, point.day)
    if point.tzinfo is not None:
        point = point.astimezone(UTC).replace(tzinfo=None)
    return Fraction((point - datetime(1970, 1, 1)) // timedelta(microseconds=1), 10**6)


def like(text: str, pattern: Pattern) -> bool:
    """By the set of places in the pattern that a beginning of the text can lead to."""
    signs: list[str | int | None] = []
    for segment in pattern.segments:
        signs += [None] * bool(segment is not pattern.segments[0])
        signs += [
            sign
            for piece in segment.pieces
            for sign in (piece if isinstance(piece, str) else [1] * piece)
        ]

    def further(places: set[int]) -> set[int]:
        for place in range(len(signs)):
            if place in places and signs[place] is None:
                places.add(place + 1)
        return places

    places = further({0})
    for character in text:
        stay = {place for place in places if place < len(signs) and signs[place] is None}
        places = further(
            stay
            | {
                place + 1
                for place in places
                if place < len(signs) and signs[place] in (1, character)
            }
        )
    return len(signs) in places
