"""Rows divided by an expression, whose keys are public: months of a year, bins, labels of a CASE.

The keys never come from rows. They follow from what the expression is (an hour is one of 24), from
a range that the question declares, or from what is public of a column. A row whose value is none of
them is in no group. The keys of a `Discovery` alone come from rows, by a draw that is paid for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any

from postri.domain import Point, position
from postri.errors import InputError
from postri.exact import as_decimal, decimal_places, shown
from postri.expressions import tree
from postri.expressions.calendar import FIELDS, following, in_utc, truncated
from postri.expressions.kinds import DAY, MOST_KEYS, Key, read_moment
from postri.expressions.spoken import spoken
from postri.expressions.tree import Expression, brief

# A year, a month of it, or a quarter.
PART_OF_YEAR = re.compile(r"(\d{4})(?:-(\d\d)|-?Q([1-4]))?", re.ASCII)
HOUR = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d", re.ASCII)
WHAT_DIVIDES = (
    "rows are divided by DATE_TRUNC, EXTRACT, WIDTH_BUCKET, BINS, a CASE of literals, or a column "
    "with public keys"
)


@dataclass(frozen=True)
class KeyedExpression:
    """An expression of a row, and the value that it has in each group. `keys` are those values as
    the result shows them; `outside` says what is in no group, where that is no matter of course.
    """

    expression: Expression
    values: tuple[Key, ...]
    keys: tuple[Key, ...]
    outside: str | None = None


@dataclass(frozen=True)
class MomentRange:
    """Between which moments those of a column lie, by public numbers alone; both ends are inside.

    An end is None where nothing tells it.
    """

    first: date | None = None
    last: date | None = None

    def within(self, other: MomentRange) -> MomentRange:
        """What two limits say together."""
        firsts = [each for each in (self.first, other.first) if each is not None]
        lasts = [each for each in (self.last, other.last) if each is not None]
        return MomentRange(
            max(firsts, key=_second, default=None), min(lasts, key=_second, default=None)
        )


ANY_MOMENT = MomentRange()


@dataclass(frozen=True)
class Discovery:
    """A column whose keys nobody declared: those that many rows have are found by a private draw,
    and `delta` is the chance with which that may fail to protect a person.
    """

    column: str
    delta: Fraction


def _second(moment: date) -> Fraction:
    if isinstance(moment, datetime):
        return position(moment)
    return position(moment) * 86_400


@dataclass(frozen=True)
class Grouping:
    """How rows are divided: by an expression, and where its keys do not follow from it, from the
    `first` to the `last` of them, or by a list.

    `str` gives a text that `read_grouping` reads back as the same.

    >>> print(read_grouping("date_trunc('month', t) between '2013-01' and '2013-12'"))
    DATE_TRUNC('month', t) BETWEEN DATE '2013-01-01' AND DATE '2013-12-01'
    """

    expression: Expression
    first: int | date | None = None
    last: int | date | None = None
    listed: tuple[Key, ...] | None = None

    def __post_init__(self) -> None:
        tree.check_size(self.expression)
        if (self.first is None) != (self.last is None):
            raise InputError(
                f"{brief(self.expression)} takes the first and the last key, or neither"
            )
        for name in ("first", "last"):
            value = getattr(self, name)
            if value is not None:
                end = _checked_end(self.expression, value, last=name == "last")
                object.__setattr__(self, name, end)

    @property
    def column(self) -> tree.Column | None:
        """The column that rows are divided by as it is, if it is one."""
        return self.expression if isinstance(self.expression, tree.Column) else None

    @property
    def moments(self) -> tree.Column | None:
        """The column from whose limits the keys follow, if they do."""
        found = self.expression
        if self.first is not None or self.listed is not None:
            return None
        if not isinstance(found, tree.Truncate) and not tree.is_year(found):
            return None
        operand = found.operand
        return operand if isinstance(operand, tree.Column) else None

    def named(self, change: Callable[[Expression], Expression]) -> Grouping:
        """The same with another form of its expression, such as the normal form."""
        return replace(self, expression=change(self.expression))

    def __str__(self) -> str:
        text = self.expression.within(tree.SUM)
        if self.first is not None and self.last is not None:
            return f"{text} BETWEEN {_literal(self.first)} AND {_literal(self.last)}"
        if self.listed is not None:
            return f"{text} IN ({', '.join(str(_literal(key)) for key in self.listed)})"
        return text

    def keyed(self, limits: MomentRange = ANY_MOMENT) -> KeyedExpression:
        """The keys, or InputError if nothing public tells them."""
        found = self.expression
        if isinstance(found, tree.Case):
            return self._picked(_labelled(found))
        if isinstance(found, tree.Truncate):
            return self._picked(self._truncations(found, limits))
        if isinstance(found, tree.Extract):
            return self._picked(self._fields(found, limits))
        if isinstance(found, tree.WidthBucket):
            buckets = tuple(range(found.number + 2))
            return self._picked(KeyedExpression(found, buckets, buckets))
        if isinstance(found, tree.Bins):
            return self._picked(_bins(found))
        raise InputError(f"{brief(found)} has no public keys; {WHAT_DIVIDES}")

    def _picked(self, all_keys: KeyedExpression) -> KeyedExpression:
        """Of all keys those that are listed, in their order."""
        if self.listed is None:
            return all_keys
        value_of = dict(zip(all_keys.keys, all_keys.values, strict=True))
        unknown = [key for key in self.listed if key not in value_of]
        if unknown:
            raise InputError(f"{brief(self.expression)} is never {shown(unknown[0])}; leave it out")
        values = tuple(value_of[key] for key in self.listed)
        return replace(all_keys, values=values, keys=self.listed)

    def _truncations(self, found: tree.Truncate, limits: MomentRange) -> KeyedExpression:
        if self.listed is not None:
            return KeyedExpression(found, self.listed, self.listed)
        first, last = self._ends(limits)
        keys = tuple(islice(_units(first, last, found.unit), MOST_KEYS + 1))
        _check_number(found, len(keys))
        return KeyedExpression(found, keys, keys, self._outside(keys[0], keys[-1]))

    def _fields(self, found: tree.Extract, limits: MomentRange) -> KeyedExpression:
        low, high = FIELDS[found.field]
        outside = None
        if self.first is not None and isinstance(self.first, int) and isinstance(self.last, int):
            if not low <= self.first <= self.last <= high:
                raise InputError(
                    f"{brief(found)} goes from {low} to {high}, got {self.first} to {self.last}"
                )
            low, high = self.first, self.last
            outside = self._outside(low, high)
        elif tree.is_year(found) and self.listed is None:
            first, last = self._ends(limits)
            low, high = first.year, last.year
            outside = self._outside(low, high)
        keys = tuple(range(low, high + 1))
        return KeyedExpression(found, keys, keys, outside)

    def _ends(self, limits: MomentRange) -> tuple[date, date]:
        """The first and the last moment of a range, or InputError."""
        first, last = self.first, self.last
        if first is None:
            first, last = limits.first, limits.last
        if not isinstance(first, date) or not isinstance(last, date):
            raise InputError(
                f"nothing public tells the keys of {brief(self.expression)}: "
                f"{_how_to_limit(self.expression)}"
            )
        unit = "year"
        if isinstance(self.expression, tree.Truncate):
            unit = self.expression.unit
        begin, end = truncated(first, unit), truncated(last, unit)
        if _second(begin) > _second(end):
            raise InputError(
                f"the keys of {brief(self.expression)} must not end before they begin, got "
                f"{_words(begin)} to {_words(end)}"
            )
        return begin, end

    def _outside(self, first: Key, last: Key) -> str:
        return f"{spoken(self.expression)} outside of {_words(first)} to {_words(last)}"


def _how_to_limit(expression: Expression) -> str:
    name = "t"
    columns = tree.columns_of(expression)
    if columns:
        name = columns[0]
    unit = getattr(expression, "unit", "year")
    example = {"year": "2013, 2015", "hour": "'2013-01-31 00:00', '2013-01-31 23:00'"}
    ends = example.get(unit, "'2013-01-01', '2013-12-31'")
    return f"declare their range, such as by.{unit}({name!r}, {ends}), or give it a domain"


def _check_number(expression: Expression, number: int) -> None:
    if number > MOST_KEYS:
        raise InputError(
            f"{brief(expression)} has more than {MOST_KEYS:,} keys; declare a shorter range, or "
            "take a longer unit"
        )


def _units(first: date, last: date, unit: str) -> Iterator[date]:
    """The first moments of all units from one to another."""
    start = first
    while start <= last:
        yield start
        try:
            start = following(start, unit)
        except OverflowError:
            return


# What a filter tells.

FLIPPED: dict[str, tree.Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
INSTANT = timedelta(microseconds=1)


def limits_in(condition: Expression, column: tree.Column) -> MomentRange:
    """Between which moments a column lies where a condition holds: by its comparisons with literals
    that hold all at once. The condition is public, and so are they.
    """
    limits = MomentRange()
    if isinstance(condition, tree.And):
        for part in condition.items:
            limits = limits.within(limits_in(part, column))
    elif isinstance(condition, tree.Between) and condition.operand == column:
        limits = _limit(">=", condition.low).within(_limit("<=", condition.high))
    elif isinstance(condition, tree.Compare):
        if condition.left == column:
            limits = _limit(condition.operator, condition.right)
        elif condition.right == column and condition.operator in FLIPPED:
            limits = _limit(FLIPPED[condition.operator], condition.left)
    return limits


def _limit(comparison: tree.Comparison, literal: Expression) -> MomentRange:
    moment: date
    if isinstance(literal, tree.Text):
        try:
            moment = read_moment(literal.value)
        except InputError:
            return MomentRange()
    elif isinstance(literal, tree.Day | tree.Moment):
        moment = literal.value
    else:
        return MomentRange()
    instant = in_utc(moment)
    first = last = None
    with suppress(OverflowError):
        if comparison in (">", ">=", "="):
            first = instant + INSTANT if comparison == ">" else instant
        if comparison in ("<", "<=", "="):
            last = instant - INSTANT if comparison == "<" else instant
    return MomentRange(first, last)


# Labels and bins.


def _labelled(case: tree.Case) -> KeyedExpression:
    """A CASE of literals as one of numbers: the places of its labels, in the order in which they
    stand.
    """
    labels: dict[tuple[str, Key], int] = {}

    def number(value: Expression | None) -> Expression | None:
        if value is None or isinstance(value, tree.Null):
            return value
        if not isinstance(value, tree.Text | tree.Number | tree.Boolean):
            raise InputError(
                f"{brief(case)} has no public keys: write a literal behind each THEN and ELSE, "
                f"got {brief(value)}"
            )
        key = _key_of(value)
        place = labels.setdefault((type(value).__name__, key), len(labels))
        return tree.Number(Fraction(place))

    whens = tuple((condition, number(value) or value) for condition, value in case.whens)
    numbered = tree.Case(whens, number(case.otherwise))
    if not labels:
        raise InputError(f"{brief(case)} is always NULL; write a literal behind a THEN")
    kinds = {kind for kind, _ in labels}
    if len(kinds) > 1:
        raise InputError(f"the labels of {brief(case)} must be of one kind")
    keys = tuple(key for _, key in labels)
    return KeyedExpression(numbered, tuple(range(len(keys))), keys)


def _bins(found: tree.Bins) -> KeyedExpression:
    edges = [_key_of(edge) for edge in found.edges]
    names = []
    for number, (low, high) in enumerate(pairwise(edges), start=1):
        end = "]" if number == len(edges) - 1 else ")"
        names.append(f"[{_words(low)}, {_words(high)}{end}")
    outside = f"{spoken(found.operand)} outside of {_words(edges[0])} to {_words(edges[-1])}"
    return KeyedExpression(found, tuple(range(1, len(edges))), tuple(names), outside)


# Literals, and the ends of a range.


def read_grouping(text: str) -> Grouping:
    """The grouping of a text: an expression, with `BETWEEN first AND last` or `IN (keys)` where its
    keys need that.

    >>> read_grouping("EXTRACT(hour FROM t)").keyed().keys[-1]
    23
    """
    from postri.expressions.reader import read_expression

    return grouping_of(read_expression(text))


def grouping_of(expression: Expression) -> Grouping:
    """The grouping of an expression that was read."""
    if isinstance(expression, tree.Between):
        low, high = _key_of(expression.low), _key_of(expression.high)
        return Grouping(expression.operand, low, high)  # type: ignore[arg-type]  # it checks
    if isinstance(expression, tree.In):
        items = [item for item in expression.items if not isinstance(item, tree.Null)]
        return Grouping(expression.operand, listed=_listed(expression.operand, items))
    return Grouping(expression)


def _listed(operand: Expression, items: Sequence[Expression]) -> tuple[Key, ...]:
    keys = [_key_of(item) for item in items]
    if isinstance(operand, tree.Truncate):
        keys = [_checked_end(operand, key) for key in keys]
    return tuple(dict.fromkeys(keys))


def _key_of(literal: Expression) -> Key:
    if isinstance(literal, tree.Number):
        places = decimal_places(literal.value) or 0
        return as_decimal(literal.value, places) if places else int(literal.value)
    if isinstance(literal, tree.Text | tree.Boolean | tree.Day | tree.Moment):
        return literal.value
    raise InputError(f"{brief(literal)} is no literal, so it is no public key")


def _literal(key: Key) -> Expression:
    if isinstance(key, bool):
        return tree.Boolean(key)
    if isinstance(key, str):
        return tree.Text(key)
    if isinstance(key, datetime):
        return tree.Moment(key)
    if isinstance(key, date):
        return tree.Day(key)
    return tree.Number(Fraction(key))


def edge_of(point: Point) -> Expression:
    """The literal of a point of a domain, or of an edge."""
    return _literal(point)


def _checked_end(expression: Expression, value: object, *, last: bool = False) -> Any:
    """The first or last key of a range as what keys are.

    Of a year, a month or a day that is given as the last, the last key inside is meant.
    """
    if isinstance(expression, tree.Extract):
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value[:9])
        if isinstance(value, date) and expression.field == "YEAR":
            value = value.year
        if isinstance(value, bool) or not isinstance(value, int):
            raise InputError(
                f"the keys of {brief(expression)} are whole numbers, got {shown(value)}"
            )
        return value
    if not isinstance(expression, tree.Truncate):
        raise InputError(
            f"{brief(expression)} has no range of keys: only DATE_TRUNC and EXTRACT do; "
            f"{WHAT_DIVIDES}"
        )
    first_moment, last_moment = _moments(value)
    return truncated(last_moment if last else first_moment, expression.unit)


def _moments(value: object) -> tuple[date, date]:
    """The first and the last moment of what is given as a date or timestamp, as a year, or as a
    text of one of them.
    """
    if isinstance(value, datetime):
        moment = in_utc(value)
        return moment, moment
    if isinstance(value, date):
        return value, datetime.combine(value, time.max)
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:04}"
    if isinstance(value, str):
        found = PART_OF_YEAR.fullmatch(value)
        with suppress(ValueError, OverflowError):
            if found is not None:
                return _moments_of_part(*found.groups())
            if DAY.fullmatch(value):
                return _moments(date.fromisoformat(value))
            return _moments(read_moment(f"{value}:00" if HOUR.fullmatch(value) else value))
    raise InputError(
        f"a range goes from one date or timestamp to another, such as '2013-01' or "
        f"'2013-01-31 08:00', got {shown(value)}"
    )


def _moments_of_part(year: str, month: str | None, quarter: str | None) -> tuple[date, date]:
    """Those of a year, or of a month or a quarter of it."""
    unit = "year"
    first = date(int(year), 1, 1)
    if month:
        unit = "month"
        first = first.replace(month=int(month))
    elif quarter:
        unit = "quarter"
        first = first.replace(month=int(quarter) * 3 - 2)
    if first.year == date.max.year:
        return first, datetime.max
    return first, datetime.combine(following(first, unit), time.min) - timedelta(microseconds=1)


def _words(key: Key) -> str:
    if isinstance(key, datetime):
        return key.isoformat(" ", "minutes" if key.second == 0 else "seconds")
    return str(key)
