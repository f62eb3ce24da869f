"""Expressions of released values: what SELECT, HAVING and ORDER BY compute after the draws, with
intervals that follow from their parts.

All of it is post-processing: it costs nothing, and looks at no table.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, NoReturn

from sqlglot import TokenType

from postri.answer import Answer
from postri.errors import InputError
from postri.exact import exact
from postri.expressions import tree
from postri.expressions.grammar import COMPARISONS, OPERATORS, STRENGTH, SUM, ExpressionReader
from postri.expressions.kinds import read_day
from postri.expressions.tree import DEEPEST, nested_too_deep
from postri.sql.bounds import EVERYTHING, Bounds, Extent, computed
from postri.sql.text import SqlText, Word, Words

Kind = Literal["number", "date", "timestamp", "text", "truth"]
Betas = Mapping[str, Fraction]
"""How often the interval of each aggregate may fail."""

# The most digits of a computed value, and how many a count or a sum of 64 bits may have at most.
MOST_DIGITS = 2_000
DIGITS_OF_AGGREGATE = 50
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LITERALS: dict[type[tree.Expression], Kind] = {
    tree.Boolean: "truth",
    tree.Number: "number",
    tree.Text: "text",
    tree.Day: "date",
}


@dataclass(frozen=True)
class Row:
    """The answers of one group by their names, its keys by column, and how often an interval of the
    question may fail.
    """

    answers: Mapping[str, Answer]
    keys: Mapping[str, Any]
    beta: Fraction


@dataclass(frozen=True)
class ReleasedNode(ABC):
    """A part of an expression."""

    kind: Kind

    @abstractmethod
    def value(self, row: Row) -> Any:
        """What it is in one group."""

    def bounds(self, row: Row, betas: Betas) -> Bounds:
        """Between which numbers the true value lies, if each aggregate's interval holds at its
        beta; what is known lies at itself.
        """
        value = self.value(row)
        return Bounds(value, value)

    @property
    def range(self) -> Extent:
        """Between which numbers its interval lies whatever is drawn, by the domains."""
        return EVERYTHING

    @property
    def parts(self) -> tuple[ReleasedNode, ...]:
        """What it is made of."""
        return ()

    @cached_property
    def height(self) -> int:
        """How many levels lie below it."""
        return max((1 + part.height for part in self.parts), default=0)

    @cached_property
    def digits(self) -> int:
        """How many digits its value has at most, above and below the line of a fraction."""
        return sum(1 + part.digits for part in self.parts)

    @property
    def is_count(self) -> bool:
        """Whether it is a bare count."""
        return False

    def drawn(self) -> Iterator[str]:
        """The names of the aggregates in it."""
        for part in self.parts:
            yield from part.drawn()

    def ended(self) -> Iterator[str]:
        """The names of those of which an end of the interval is in it."""
        for part in self.parts:
            yield from part.ended()


@dataclass(frozen=True)
class Constant(ReleasedNode):
    """A literal."""

    literal: Any

    def value(self, row: Row) -> Any:
        return self.literal

    @property
    def range(self) -> Extent:
        return Bounds(self.literal, self.literal).shown

    @cached_property
    def digits(self) -> int:
        return digits_of(self.literal) if self.kind == "number" else 0


@dataclass(frozen=True)
class Key(ReleasedNode):
    """A column that rows are divided by."""

    column: str

    def value(self, row: Row) -> Any:
        return _plain(row.keys[self.column])


@dataclass(frozen=True)
class ReleasedAggregate(ReleasedNode):
    """An aggregate. A quotient by a count means something only where that is at least 1.

    `widest` is the range of its intervals by its domain, and `domain_digits` how many digits the
    numbers of that have. By `finds_key` its answer is about a key that it found.
    """

    name: str
    counts: bool = False
    widest: Extent = EVERYTHING
    domain_digits: int = 0
    finds_key: bool = False

    def value(self, row: Row) -> Any:
        return _plain(row.answers[self.name].value)

    def bounds(self, row: Row, betas: Betas) -> Bounds:
        answer = row.answers[self.name]
        interval = answer.interval
        if answer.drawn is not None:
            interval = answer.drawn.interval(betas[self.name])
        return Bounds(
            Fraction(interval.low),
            Fraction(interval.high),
            interval.low_is_edge,
            interval.high_is_edge,
        )

    @property
    def range(self) -> Extent:
        return self.widest

    @cached_property
    def digits(self) -> int:
        return DIGITS_OF_AGGREGATE + self.domain_digits

    @property
    def is_count(self) -> bool:
        return self.counts

    def drawn(self) -> Iterator[str]:
        yield self.name


@dataclass(frozen=True)
class ReleasedSeveral(ReleasedNode):
    """An aggregate of several answers, each of which is a column: nothing is computed from all of
    them at once.
    """

    function: str
    answers: Mapping[str, ReleasedAggregate]

    @property
    def parts(self) -> tuple[ReleasedNode, ...]:
        return tuple(self.answers.values())

    def value(self, row: Row) -> Any:
        raise AssertionError(f"the answers of {self.function} are columns of their own")


@dataclass(frozen=True)
class ReleasedEnd(ReleasedNode):
    """LOW or HIGH of a value, at the confidence of the question."""

    end: Literal["low", "high"]
    of: ReleasedNode

    @property
    def parts(self) -> tuple[ReleasedNode, ...]:
        return (self.of,)

    def value(self, row: Row) -> Any:
        if isinstance(self.of, ReleasedAggregate):
            return _plain(getattr(row.answers[self.of.name].interval, self.end))
        return getattr(self.of.bounds(row, betas_of(self.of, row.beta)), self.end)

    def ended(self) -> Iterator[str]:
        yield from self.of.drawn()


@dataclass(frozen=True)
class ReleasedArithmetic(ReleasedNode):
    """A sum, difference, product or quotient.

    No divisor's interval can hold 0, but that of a bare count, which is taken as 1 at least.
    """

    sign: str
    left: ReleasedNode
    right: ReleasedNode

    @property
    def parts(self) -> tuple[ReleasedNode, ...]:
        return self.left, self.right

    def value(self, row: Row) -> Fraction:
        left = self.left.value(row)
        right = self.right.value(row)
        # A released count may be 0.
        if self._by_count:
            right = max(right, 1)
        number: Fraction = ARITHMETIC[self.sign](left, right)
        return number

    def bounds(self, row: Row, betas: Betas) -> Bounds:
        right = self.right.bounds(row, betas)
        if self._by_count:
            right = right.at_least_one()
        return self.left.bounds(row, betas).computed(self.sign, right)

    @property
    def range(self) -> Extent:
        right = self.right.range
        if self._by_count:
            right = right.at_least_one()
        return computed(self.sign, self.left.range, right)

    @property
    def _by_count(self) -> bool:
        return self.sign == "/" and self.right.is_count


@dataclass(frozen=True)
class Test(ReleasedNode):
    """A comparison of released values."""

    sign: str
    left: ReleasedNode
    right: ReleasedNode

    @property
    def parts(self) -> tuple[ReleasedNode, ...]:
        return self.left, self.right

    def value(self, row: Row) -> bool:
        return bool(TESTS[self.sign](self.left.value(row), self.right.value(row)))


@dataclass(frozen=True)
class Logic(ReleasedNode):
    """AND, OR, or NOT of one."""

    word: str
    items: tuple[ReleasedNode, ...]

    @property
    def parts(self) -> tuple[ReleasedNode, ...]:
        return self.items

    def value(self, row: Row) -> bool:
        values = (item.value(row) for item in self.items)
        if self.word == "NOT":
            return not next(values)
        return all(values) if self.word == "AND" else any(values)


def betas_of(node: ReleasedNode, beta: Fraction) -> dict[str, Fraction]:
    """How often the interval of each aggregate in a value may fail, so that all of them hold at
    once as often as the value's is to hold: the union bound.
    """
    names = set(node.drawn())
    return {name: beta / len(names) for name in names}


def _plain(value: Any) -> Any:
    """A number as an exact one; everything else as it is."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return Fraction(value)
    return value


def digits_of(number: Fraction) -> int:
    """How many decimal digits a number has at most, above or below the line of its fraction."""
    bits = max(number.numerator.bit_length(), number.denominator.bit_length())
    return 1 + bits * 31 // 100


def kind_of(value: object) -> Kind:
    """The kind of a key."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, date):
        return "timestamp" if hasattr(value, "hour") else "date"
    return "text" if isinstance(value, str) else "number"


# How a wish is written, and the units that ranks have.
WISH = "COUNT(*) WITHIN 50, or for a quantile MEDIAN(x) WITHIN 1 PERCENTILE or WITHIN 75 ROWS"
RANKS = ("PERCENTILE", "PERCENTILES", "ROW", "ROWS")


class ReleasedReader(ExpressionReader[ReleasedNode]):
    """Reads one expression of released values, with the grammar of all expressions.

    It is as deep as one of rows may be, whatever is meant by the names in it.

    `call` reads an aggregate from its name, the words inside its parentheses, those of WITHIN
    GROUP, those of FILTER and those of its wish; `name` reads a bare name.
    """

    binary = frozenset(STRENGTH) - {TokenType.NULLSAFE_EQ}
    typed: ClassVar = {TokenType.DATE: lambda text: tree.Day(read_day(text))}
    # Levels of the tree, and parentheses around them.
    deepest = 2 * DEEPEST + 2

    def __init__(
        self,
        source: SqlText,
        words: Words,
        call: Callable[[Word, Words, Words, Words, Words], ReleasedNode],
        name: Callable[[Word], ReleasedNode],
    ) -> None:
        super().__init__(source, words)
        self._call = call
        self._name = name

    def _refuse(self, place: Word | Words, message: str) -> NoReturn:
        raise self.source.error(place, message)

    def unexpected(self, word: Word) -> NoReturn:
        self._refuse(word, f"{word.text!r} is not expected here")

    def incomplete(self) -> NoReturn:
        self._refuse(self.words[-1:], "something is missing after this")

    def too_deep(self) -> NoReturn:
        last = self.words[self._at - 1]
        self._refuse(last, str(nested_too_deep()))

    def _made(self, node: ReleasedNode) -> ReleasedNode:
        """A part that is made of others, if they are not too deep."""
        if node.height > DEEPEST:
            self.too_deep()
        if node.kind == "number" and node.digits > MOST_DIGITS:
            last = self.words[self._at - 1]
            self._refuse(
                last,
                f"what is computed here may have more than {MOST_DIGITS:,} digits; use smaller "
                "numbers, or fewer of them",
            )
        return node

    # Atoms.

    def literal(self, literal: tree.Expression) -> ReleasedNode:
        assert isinstance(literal, tree.Boolean | tree.Number | tree.Text | tree.Day)
        return Constant(LITERALS[type(literal)], literal.value)

    def number(self, word: Word, digits: str) -> tree.Number:
        try:
            return tree.Number(exact(digits, "a number"))
        except InputError as error:
            self._refuse(word, str(error))

    def typed_literal(self, word: Word, text: Word) -> tree.Expression:
        try:
            return self.typed[word.kind](text.text)
        except InputError as error:
            self._refuse(text, str(error))

    def atom(self, word: Word, depth: int) -> ReleasedNode:
        if self.follows(TokenType.L_PAREN):
            return self._called(word)
        if not word.is_name:
            self.unexpected(word)
        return self._name(word)

    def _called(self, name: Word) -> ReleasedNode:
        """A function with what stands in its parentheses, and what `WITHIN GROUP`, `FILTER` and
        `WITHIN` add to it.
        """
        inside = self._inside()
        within: Words = ()
        following = self.words[self._at : self._at + 2]
        if [word.upper for word in following] == ["WITHIN", "GROUP"]:
            self._at += 2
            within = self._inside()
        return self._call(name, inside, within, self._filter(), self._wish())

    def _wish(self) -> Words:
        """The words of `WITHIN 50` or `WITHIN 1 PERCENTILE` after the first; none if there are
        none.
        """
        following = self.peek()
        if following is None or following.upper != "WITHIN":
            return ()
        self.next()
        amount = self.peek()
        if amount is None or amount.kind != TokenType.NUMBER:
            self._refuse(following, f"write {WISH}")
        words = [self.next()]
        unit = self.peek()
        if unit is not None and unit.upper in RANKS:
            words.append(self.next())
        return words

    def _filter(self) -> Words:
        """The condition of `FILTER (WHERE ...)`; no words if there is none."""
        following = self.peek()
        is_called = [word.kind for word in self.words[self._at + 1 : self._at + 2]]
        if following is None or following.upper != "FILTER" or is_called != [TokenType.L_PAREN]:
            return ()
        self.next()
        inside = self._inside()
        if len(inside) < 2 or inside[0].kind != TokenType.WHERE:
            self._refuse([following, *inside], "write FILTER (WHERE ...), with a condition")
        return inside[1:]

    def _inside(self) -> Words:
        """The words up to the parenthesis that closes the one here."""
        opening = self.next()
        if opening.kind != TokenType.L_PAREN:
            self._refuse(opening, "a parenthesis is missing here")
        start = self._at
        depth = 1
        while depth:
            word = self.next()
            depth += (word.kind == TokenType.L_PAREN) - (word.kind == TokenType.R_PAREN)
        return self.words[start : self._at - 1]

    # Operators, with their checks of kinds.

    def _single(self, place: Word | Words, *operands: ReleasedNode) -> None:
        """Refuse what is more than one value."""
        for operand in operands:
            if isinstance(operand, ReleasedSeveral):
                self._refuse(place, several_columns(operand))

    def negative(self, sign: Word, operand: ReleasedNode) -> ReleasedNode:
        self._single(sign, operand)
        return self._computed(sign, Constant("number", Fraction(0)), operand, [sign])

    def opposite(self, negation: Word, operand: ReleasedNode) -> ReleasedNode:
        self._single(negation, operand)
        if operand.kind != "truth":
            self._refuse(negation, "NOT takes a condition")
        return self._made(Logic("truth", "NOT", (operand,)))

    def joined(
        self, operator: Word, left: ReleasedNode, right: ReleasedNode, place: Words
    ) -> ReleasedNode:
        self._single(place, left, right)
        if operator.kind in OPERATORS:
            return self._computed(operator, left, right, place)
        if operator.kind in COMPARISONS:
            if left.kind != right.kind:
                self._refuse(place, f"a {left.kind} is compared with a {right.kind} here")
            return self._made(Test("truth", COMPARISONS[operator.kind], left, right))
        if (left.kind, right.kind) != ("truth", "truth"):
            self._refuse(operator, f"{operator.upper} takes two conditions")
        return self._made(_chain(operator.upper, left, right))

    def test(self, operand: ReleasedNode, depth: int) -> ReleasedNode | None:
        """BETWEEN: two comparisons. No other test is there, for no released value is NULL."""
        negated = self.follows(TokenType.NOT, TokenType.BETWEEN)
        if negated:
            self.skip(TokenType.NOT)
        word = self.peek()
        if word is None or not self.skip(TokenType.BETWEEN):
            return None
        low = self.expression(SUM, depth + 1)
        conjunction = self.next()
        if conjunction.kind != TokenType.AND:
            self.unexpected(conjunction)
        high = self.expression(SUM, depth + 1)
        place = [word]
        self._single(place, operand, low, high)
        for end in low, high:
            if end.kind != operand.kind:
                self._refuse(place, f"a {operand.kind} is compared with a {end.kind} here")
        inside = _chain(
            "AND", Test("truth", ">=", operand, low), Test("truth", "<=", operand, high)
        )
        if negated:
            return self._made(Logic("truth", "NOT", (inside,)))
        return self._made(inside)

    def _computed(
        self, operator: Word, left: ReleasedNode, right: ReleasedNode, place: Words
    ) -> ReleasedNode:
        for operand in left, right:
            if operand.kind != "number":
                self._refuse(
                    place,
                    "only numbers can be added, subtracted, multiplied and divided; one of these "
                    f"is a {operand.kind}",
                )
        sign = OPERATORS[operator.kind]
        if sign == "/" and right.range.holds_zero and not right.is_count:
            self._refuse(
                place,
                "the interval of this divisor may hold 0; divide by a number, by COUNT, or "
                "by a median or mean whose domain has no 0",
            )
        return self._made(ReleasedArithmetic("number", sign, left, right))


def several_columns(node: ReleasedSeveral) -> str:
    """Why no value can be computed from an aggregate, and what can be."""
    first = next(iter(node.answers))
    return (
        f"{node.function} gives several columns, so it stands by itself in SELECT; where it is "
        f'named AS h, HAVING and ORDER BY know the first as "h{first}"'
    )


def _chain(word: str, left: ReleasedNode, right: ReleasedNode) -> Logic:
    """A chain of AND or of OR, however long, is one part."""
    items: list[ReleasedNode] = []
    for side in left, right:
        if isinstance(side, Logic) and side.word == word:
            items += side.items
        else:
            items.append(side)
    return Logic("truth", word, tuple(items))
