"""Random conditions over the columns of the extreme cells, each of which has a kind; and random
numbers over columns with domains.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction
from random import Random

from postri.expressions import tree
from postri.expressions.pattern import Pattern

NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "100",
    "0.5",
    "0.005",
    "-0.01",
    "1e-7",
    "0.1",
    "123456.789",
    "1e19",
    "1e30",
    "-1e30",
    "1e-19",
    "1e150",
    "5e-324",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
]
TEXTS = [
    "",
    "a",
    "ab",
    "a%b",
    "${x}",
    "\\",
    "it's",
    "{source}",
    "\U0001f600",
    "é",
    "z",
    "\n",
    "2024-01-31",
]
PATTERNS = [
    "%",
    "",
    "_",
    "a%",
    "%b",
    "%a%",
    "a_b",
    "a!%b",
    "_%_",
    "%!_%",
    "%\\%",
    "$%",
    "__",
    "a%b%",
    "!!%",
    "{%}",
    "%\n%",
]
DAYS = [date.min, date.max, date(1970, 1, 1), date(2024, 1, 31)]
MOMENTS = [
    datetime.min,
    datetime.max,
    datetime(2024, 1, 31, 12, 30),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
]


class Expressions:
    """Draws expressions; `columns` are names by kind."""

    def __init__(self, source: Random, *, unsigned: bool) -> None:
        self.source = source
        self.numbers = ["i", "j", "s", "d", "e", "f", "h", "g", *(["u"] if unsigned else [])]

    def truth(self, depth: int) -> tree.Expression:
        make = [
            self._compare,
            self._compare,
            self._in,
            self._between,
            self._is_null,
            self._like,
            self._flag,
        ]
        if depth > 0:
            make += [
                self._connected,
                self._connected,
                self._not,
                self._is_truth,
                self._case,
                self._distinct,
            ]
        return self.source.choice(make)(depth - 1)

    def value(self, kind: str, depth: int) -> tree.Expression:
        """An expression of a kind: a column, a literal, or for numbers something computed."""
        chance = self.source.random()
        if depth <= 0 or chance < 0.45:
            return (
                tree.Column(self.source.choice(self.numbers))
                if kind == "number"
                else tree.Column(self._column(kind))
            )
        if chance < 0.6:
            return self.literal(kind)
        if chance < 0.67 and kind in ("day", "ts", "tz"):
            return self._truncated(kind)
        if chance < 0.75 or kind != "number":
            return self._choice(kind, depth - 1)
        if chance < 0.93:
            return self._called(depth - 1)
        return tree.Arithmetic(
            self.source.choice("+-*/"), self.value(kind, depth - 1), self.value(kind, depth - 1)
        )

    def _called(self, depth: int) -> tree.Expression:
        return self.source.choice([self._placed, self._function])(depth)

    def _function(self, depth: int) -> tree.Expression:
        """A function of numbers, or one that makes a number of something else."""
        make = [self._size, self._rounded, self._rounded, self._cast, self._cast, self._days]
        return self.source.choice(make)(depth)

    def _size(self, depth: int) -> tree.Expression:
        return tree.Absolute(self.value("number", depth))

    def _rounded(self, depth: int) -> tree.Expression:
        operand = self.value("number", depth)
        if self.source.random() < 0.4:
            return tree.Rounded(self.source.choice(["FLOOR", "CEIL"]), operand)
        places = self.source.choice([0, 0, 1, 2, -1, -2, 9, 18, -18])
        return tree.Rounded("ROUND", operand, places)

    def _cast(self, depth: int) -> tree.Expression:
        chance = self.source.random()
        if chance < 0.25:
            return tree.Cast(self.truth(0), "INTEGER")
        operand = self.value("number", depth)
        if chance < 0.7:
            return tree.Cast(operand, self.source.choice(["INTEGER", "DOUBLE"]))
        return tree.Cast(
            operand, "DECIMAL", *self.source.choice([(18, 2), (3, 0), (9, 6), (18, 18)])
        )

    def _days(self, depth: int) -> tree.Expression:
        kinds = [self.source.choice(["day", "ts", "tz"]) for _ in range(2)]
        ends = [self.value(kind, depth) for kind in kinds]
        if self.source.random() < 0.5:
            return tree.DaysBetween(*ends)
        return tree.Arithmetic("-", *(tree.Cast(each, "DATE") for each in ends))

    def _truncated(self, kind: str) -> tree.Expression:
        """Of a date or timestamp; a date of a timestamp too."""
        if kind == "day":
            unit = self.source.choice(["year", "quarter", "month", "week", "day"])
            return tree.Truncate(unit, tree.Column(self.source.choice(["day", "ts", "tz"])))
        unit = self.source.choice(["hour", "minute", "second"])
        return tree.Truncate(unit, tree.Column(kind))

    def _placed(self, depth: int) -> tree.Expression:
        """A number with a sign, the number of a bin, or a field."""
        chance = self.source.random()
        if chance < 0.3:
            return tree.Negate(tree.Column(self.source.choice(self.numbers)))
        if chance < 0.6:
            fields = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW"]
            kind = self.source.choice(["day", "ts", "tz"])
            if kind != "day":
                fields += ["HOUR", "MINUTE", "SECOND"]
            return tree.Extract(self.source.choice(fields), tree.Column(kind))
        # Numbers beyond all floats are told apart by whole numbers alone.
        edges = sorted(Fraction(each) for each in self.source.sample(NUMBERS, 4))
        if chance < 0.8:
            literals = tuple(map(tree.Number, edges))
            return tree.Bins(self.value("number", depth), literals)
        low, high = tree.Number(edges[0]), tree.Number(edges[-1])
        return tree.WidthBucket(self.value("number", depth), low, high, self.source.randint(1, 5))

    def literal(self, kind: str) -> tree.Expression:
        choose = self.source.choice
        if kind == "number":
            return tree.Number(Fraction(choose(NUMBERS)))
        if kind == "text":
            return tree.Text(choose(TEXTS))
        if kind == "day":
            return tree.Day(choose(DAYS))
        return tree.Moment(
            choose(MOMENTS) if kind == "ts" else choose(MOMENTS[2:]).replace(tzinfo=UTC)
        )

    def _column(self, kind: str) -> str:
        return "t" if kind == "text" else kind

    def _kind(self) -> str:
        return self.source.choice(["number"] * 6 + ["text", "text", "day", "ts", "tz"])

    def _sign(self) -> tree.Comparison:
        return self.source.choice(["=", "<>", "<", "<=", ">", ">="])

    def _compare(self, depth: int) -> tree.Expression:
        kind = self._kind()
        left = self.value(kind, depth)
        if kind in ("day", "ts") and self.source.random() < 0.2:
            return tree.Compare(
                self._sign(),
                tree.Column(kind),
                tree.Text(self.source.choice(["2024-01-31", "0001-01-01", "9999-12-31"])),
            )
        if kind in ("day", "ts") and self.source.random() < 0.2:
            return tree.Compare(self._sign(), tree.Column("day"), tree.Column("ts"))
        return tree.Compare(
            self._sign(),
            left,
            self.literal(kind) if self.source.random() < 0.5 else self.value(kind, depth),
        )

    def _distinct(self, depth: int) -> tree.Expression:
        kind = self._kind()
        return tree.Distinct(self.value(kind, depth), self.value(kind, depth))

    def _in(self, depth: int) -> tree.Expression:
        kind = self._kind()
        items = [self.literal(kind) for _ in range(self.source.randint(1, 4))] + [tree.Null()] * (
            self.source.random() < 0.2
        )
        return tree.In(self.value(kind, depth), tuple(items))

    def _between(self, depth: int) -> tree.Expression:
        kind = self._kind()
        return tree.Between(self.value(kind, depth), self.literal(kind), self.value(kind, depth))

    def _is_null(self, depth: int) -> tree.Expression:
        return tree.IsNull(self.value(self._kind(), depth))

    def _like(self, depth: int) -> tree.Expression:
        return tree.Like(self.value("text", depth), Pattern.read(self.source.choice(PATTERNS), "!"))

    def _flag(self, depth: int) -> tree.Expression:
        return tree.Column(self.source.choice("bc"))

    def _connected(self, depth: int) -> tree.Expression:
        items = tuple(self.truth(depth) for _ in range(self.source.randint(2, 3)))
        return self.source.choice([tree.And, tree.Or])(items)

    def _not(self, depth: int) -> tree.Expression:
        return tree.Not(self.truth(depth))

    def _is_truth(self, depth: int) -> tree.Expression:
        return tree.IsTruth(self.truth(depth), self.source.random() < 0.5)

    def _case(self, depth: int) -> tree.Expression:
        return tree.Case(
            ((self.truth(depth), self.truth(depth)),),
            self.truth(depth) if self.source.random() < 0.5 else None,
        )

    def _choice(self, kind: str, depth: int) -> tree.Expression:
        one, other = (
            self.value(kind, depth),
            self.literal(kind) if self.source.random() < 0.3 else self.value(kind, depth),
        )
        if self.source.random() < 0.5:
            return tree.Coalesce((one, other))
        if kind != "text" and self.source.random() < 0.4:
            return tree.Extreme(self.source.choice(["LEAST", "GREATEST"]), (one, other))
        return tree.Case(((self.truth(0), one), (self.truth(0), tree.Null())), other)


class NumberExpressions:
    """Draws numbers that are computed from columns: mostly such ones as have a range."""

    LITERALS = ("0", "1", "-1", "2", "3", "-4", "7", "0.5", "0.125", "-0.3", "100", "1e-3")

    def __init__(self, source: Random, columns: list[str]) -> None:
        self.source, self.columns = source, columns

    def value(self, depth: int) -> tree.Expression:
        make = [self._column, self._column, self._number]
        if depth > 0:
            make += [
                self._arithmetic,
                self._arithmetic,
                self._arithmetic,
                self._quotient,
                self._case,
                self._coalesce,
                self._negate,
                self._extreme,
                self._extreme,
                self._size,
                self._rounded,
                self._cast,
            ]
        return self.source.choice(make)(depth - 1)

    def _extreme(self, depth: int) -> tree.Expression:
        items = (self.value(depth), self.value(depth), self._number(0))
        return tree.Extreme(
            self.source.choice(["LEAST", "GREATEST"]), items[: self.source.randint(2, 3)]
        )

    def _size(self, depth: int) -> tree.Expression:
        return tree.Absolute(self.value(depth))

    def _rounded(self, depth: int) -> tree.Expression:
        if self.source.random() < 0.5:
            return tree.Rounded(self.source.choice(["FLOOR", "CEIL"]), self.value(depth))
        return tree.Rounded("ROUND", self.value(depth), self.source.choice([0, 1, 2, -1]))

    def _cast(self, depth: int) -> tree.Expression:
        if self.source.random() < 0.3:
            return tree.Cast(self.truth(1), "INTEGER")
        if self.source.random() < 0.5:
            return tree.Cast(self.value(depth), self.source.choice(["INTEGER", "DOUBLE"]))
        return tree.Cast(self.value(depth), "DECIMAL", *self.source.choice([(3, 0), (9, 2)]))

    def truth(self, depth: int) -> tree.Expression:
        chance = self.source.random()
        if depth > 0 and chance < 0.3:
            return self.source.choice([tree.And, tree.Or])(
                (self.truth(depth - 1), self.truth(depth - 1))
            )
        if depth > 0 and chance < 0.4:
            return tree.Not(self.truth(depth - 1))
        if chance < 0.5:
            return tree.Between(self._column(0), self._number(0), self._number(0))
        sides = [self._column(0), self._number(0) if chance < 0.9 else self._column(0)]
        self.source.shuffle(sides)
        return tree.Compare(self.source.choice(["=", "<>", "<", "<=", ">", ">="]), *sides)

    def _column(self, depth: int) -> tree.Expression:
        return tree.Column(self.source.choice(self.columns))

    def _number(self, depth: int) -> tree.Expression:
        return tree.Number(Fraction(self.source.choice(self.LITERALS)))

    def _arithmetic(self, depth: int) -> tree.Expression:
        return tree.Arithmetic(self.source.choice("+-*"), self.value(depth), self.value(depth))

    def _quotient(self, depth: int) -> tree.Expression:
        return tree.Arithmetic(
            "/",
            self.value(depth),
            self._number(0) if self.source.random() < 0.6 else self.value(depth),
        )

    def _negate(self, depth: int) -> tree.Expression:
        return tree.Negate(self.value(depth))

    def _case(self, depth: int) -> tree.Expression:
        whens = tuple(
            (self.truth(1), self._guarded(depth)) for _ in range(self.source.randint(1, 3))
        )
        return tree.Case(whens, self._guarded(depth) if self.source.random() < 0.7 else None)

    def _guarded(self, depth: int) -> tree.Expression:
        """A value, NULL, or a quotient by a column, which a condition may have kept from 0."""
        chance = self.source.random()
        if chance < 0.1:
            return tree.Null()
        return (
            tree.Arithmetic("/", self.value(depth - 1), self._column(0))
            if chance < 0.3
            else self.value(depth)
        )

    def _coalesce(self, depth: int) -> tree.Expression:
        return tree.Coalesce((self.value(depth), self.value(depth), self._number(0)))
