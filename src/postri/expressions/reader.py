"""From a text to a tree: predicates, and expressions of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from sqlglot import TokenType

from postri.errors import InputError
from postri.exact import exact, shown
from postri.expressions import tree
from postri.expressions.allowed import (
    DECIMALS,
    DOUBLE_PRECISION,
    FIELD_FUNCTIONS,
    FUNCTIONS,
    INTERVALS,
    KEYWORDS,
    REFUSED,
    RESERVED,
    WORD,
    check_characters,
    check_depth,
    check_words,
    refused,
    written_too_long,
)
from postri.expressions.calendar import field_named, unit_named
from postri.expressions.grammar import (
    COMPARISONS,
    OPERATORS,
    OR,
    SIGN,
    SUM,
    ExpressionReader,
)
from postri.expressions.kinds import read_day, read_moment
from postri.expressions.pattern import Pattern
from postri.expressions.tree import DEEPEST, Expression, nested_too_deep
from postri.expressions.words import LONGEST, SourceText, Word, Words

MOST_BETWEENS = 3
# The decimal places that a number may be rounded to, before and behind the point.
MOST_PLACES = 18
CAST_TYPES: dict[str, tree.CastType] = {
    "INTEGER": "INTEGER",
    "INT": "INTEGER",
    "BIGINT": "INTEGER",
    "DOUBLE": "DOUBLE",
    DOUBLE_PRECISION: "DOUBLE",
    **dict.fromkeys(DECIMALS, "DECIMAL"),
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
}
MOST_BINS = 1_000
EDGES = (tree.Number, tree.Text, tree.Day, tree.Moment)
USAGES = {
    "DATE_TRUNC": "DATE_TRUNC('month', t)",
    "DATE_PART": "DATE_PART('hour', t)",
    "EXTRACT": "EXTRACT(hour FROM t)",
    "WIDTH_BUCKET": "WIDTH_BUCKET(x, 0, 100, 10)",
    "BINS": "BINS(x, 0, 10, 50)",
}
OF_CALENDAR_OR_BINS = frozenset({*USAGES, *FIELD_FUNCTIONS})


def check_text(text: object) -> str:
    """The text of a predicate, or InputError if it is none."""
    if not isinstance(text, str):
        raise InputError(
            "a predicate is a text in SQL, such as \"age < 40 AND job = 'clerk'\", got "
            f"{shown(text)}"
        )
    return text


def read_expression(text: str) -> Expression:
    """The tree of a text, or InputError that names what is not allowed in it."""
    check_characters(check_text(text))
    source = SourceText(text, "predicate")
    if not source.words:
        raise InputError("the predicate is empty; leave it out to take all rows")
    return read_words(source, source.words)


def is_computed(text: str, names: Iterable[str]) -> bool:
    """Whether a text that is no column is an expression of columns that there are."""
    try:
        used = tree.columns_of(read_expression(text))
    except InputError:
        return False
    return bool(used) and set(used) <= set(map(str, names))


def read_words(source: SourceText, words: Words) -> Expression:
    """The tree of some words of a text."""
    check_words(words)
    check_depth(words)
    expression = TreeReader(source, words).read_all().expression
    if len(str(expression)) > LONGEST:
        raise written_too_long()
    return expression


@dataclass(frozen=True)
class Read:
    """A tree, and how many levels lie below its root.

    The levels are those of the text. A chain of AND or of OR is one level, and so is a test with
    its NOT inside it (`NOT LIKE`, `IS NOT DISTINCT FROM`), which is two parts of the tree.
    """

    expression: Expression
    height: int = 0

    @classmethod
    def above(cls, expression: Expression, *parts: Read) -> Read:
        """A tree that is made of these parts."""
        height = 1 + max(part.height for part in parts)
        if height > DEEPEST:
            raise nested_too_deep()
        return cls(expression, height)


class TreeReader(ExpressionReader[Read]):
    """Reads predicates and expressions of rows."""

    typed: ClassVar = {
        TokenType.DATE: lambda text: tree.Day(read_day(text)),
        TokenType.TIMESTAMP: lambda text: tree.Moment(read_moment(text)),
    }
    # Levels of the tree, parentheses and plus signs around them. All were looked at, but a column
    # may be called end, and then CASE is deeper than it seems.
    deepest = 3 * DEEPEST + 2

    def unexpected(self, word: Word) -> NoReturn:
        name = REFUSED.get(word.upper)
        if name is not None and word.kind not in (TokenType.IDENTIFIER, TokenType.STRING):
            raise refused(name)
        self._unreadable(word)

    def incomplete(self) -> NoReturn:
        self._unreadable(self.words[-1])

    def _unreadable(self, word: Word) -> NoReturn:
        near = shown(self.source.within([word]))
        raise InputError(
            f"the predicate cannot be read near {near}; write it as after WHERE in SQL"
        )

    def too_deep(self) -> NoReturn:
        raise nested_too_deep()

    # Literals and operators.

    def literal(self, literal: Expression) -> Read:
        # Standard SQL joins texts that stand side by side, and databases do not agree on it.
        if isinstance(literal, tree.Text) and self.follows(TokenType.STRING):
            raise refused("CONCAT")
        return Read(literal)

    def number(self, word: Word, digits: str) -> tree.Number:
        return tree.Number(exact(digits, "a number of the predicate"))

    def typed_literal(self, word: Word, text: Word) -> Expression:
        return self.typed[word.kind](text.text)

    def negative(self, sign: Word, operand: Read) -> Read:
        found = operand.expression
        if isinstance(found, tree.Number):
            return Read.above(tree.Number(-found.value), operand)
        return Read.above(tree.Negate(found), operand)

    def opposite(self, negation: Word, operand: Read) -> Read:
        return Read.above(tree.Not(operand.expression), operand)

    def joined(self, operator: Word, left: Read, right: Read, place: Words) -> Read:
        if operator.kind == TokenType.AND:
            return _chain(tree.And, left, right)
        if operator.kind == TokenType.OR:
            return _chain(tree.Or, left, right)
        one, other = left.expression, right.expression
        if operator.kind == TokenType.NULLSAFE_EQ:
            return Read.above(tree.Not(tree.Distinct(one, other)), left, right)
        if operator.kind in COMPARISONS:
            return Read.above(tree.Compare(COMPARISONS[operator.kind], one, other), left, right)
        return Read.above(tree.Arithmetic(OPERATORS[operator.kind], one, other), left, right)

    # Columns, CASE and functions.

    def atom(self, word: Word, depth: int) -> Read:
        if word.kind == TokenType.PLUS:
            while self.skip(TokenType.PLUS):
                pass
            return self.expression(SIGN, depth + 1)
        if word.kind == TokenType.NULL:
            return Read(tree.Null())
        if word.kind == TokenType.CASE:
            return self._case(depth)
        is_name = word.kind not in (TokenType.IDENTIFIER, TokenType.STRING)
        if is_name and word.upper in FUNCTIONS and self.skip(TokenType.L_PAREN):
            return self._function(word, depth)
        if word.kind == TokenType.TIMESTAMP and self._says("WITHOUT", "TIME", "ZONE"):
            self._at += 3
            return self.literal(self.typed_literal(word, self.next()))
        return self._column(word)

    def _says(self, *texts: str) -> bool:
        """Whether these words and then a text are the next ones."""
        coming = self.words[self._at : self._at + len(texts)]
        following = self.peek(len(texts))
        if following is None or following.kind != TokenType.STRING:
            return False
        return tuple(word.upper for word in coming) == texts

    def _column(self, word: Word) -> Read:
        if word.kind == TokenType.IDENTIFIER:
            return Read(tree.Column(word.text, quoted=True))
        # What has other quotes around it, such as N'a', is no name.
        is_bare = WORD.fullmatch(self.source.within([word])) is not None
        if not is_bare or word.upper in RESERVED:
            self.unexpected(word)
        following = self.peek()
        if following is not None and word.kind not in {TokenType.VAR, *KEYWORDS}:
            if word.kind == TokenType.INTERVAL and following.kind in INTERVALS:
                self.unexpected(word)
            if following.kind in (TokenType.STRING, TokenType.NUMBER):
                raise InputError(
                    "a literal of this type is not allowed in a predicate; write "
                    "DATE '2024-01-31' or TIMESTAMP '2024-01-31 18:30:00'"
                )
        return Read(tree.Column(word.text))

    def close(self) -> None:
        if self.follows(TokenType.COMMA):
            raise refused("TUPLE")
        super().close()

    def _case(self, depth: int) -> Read:
        if not self.follows(TokenType.WHEN):
            self.expression(OR, depth + 1)
            raise InputError(
                "CASE x WHEN ... is not allowed in a predicate; write CASE WHEN x = ... THEN "
                "... END"
            )
        whens = []
        parts = []
        while self.skip(TokenType.WHEN):
            condition = self.expression(OR, depth + 1)
            # Texts without THEN, and without the AND of BETWEEN, were read from the beginning.
            self.skip(TokenType.THEN)
            value = self.expression(OR, depth + 1)
            whens.append((condition.expression, value.expression))
            parts += [condition, value]
        otherwise = None
        if self.skip(TokenType.ELSE):
            last = self.expression(OR, depth + 1)
            otherwise = last.expression
            parts.append(last)
        end = self.next()
        if end.kind != TokenType.END:
            self.unexpected(end)
        return Read.above(tree.Case(tuple(whens), otherwise), *parts)

    def _function(self, name: Word, depth: int) -> Read:
        """A function, behind its name and the opening parenthesis."""
        if name.upper == "CAST":
            return self._cast(depth)
        if name.upper == "EXTRACT":
            return self._extract(name, depth)
        values = self._list(depth)
        expressions = [each.expression for each in values]
        if name.upper in OF_CALENDAR_OR_BINS:
            return Read.above(_function(name, expressions), *values)
        if not values:
            self.unexpected(name)
        return Read.above(_called(name.upper, tuple(expressions)), *values)

    def _extract(self, name: Word, depth: int) -> Read:
        field = self.next()
        if not self.skip(TokenType.FROM):
            raise InputError(f"the function {name.text} is written as {USAGES['EXTRACT']}")
        operand = self.expression(OR, depth + 1)
        self.close()
        return Read.above(tree.Extract(field_named(field.text), operand.expression), operand)

    def _cast(self, depth: int) -> Read:
        operand = self.expression(OR, depth + 1)
        if not self.skip(TokenType.ALIAS):
            raise InputError("write CAST(x AS type), such as CAST(x AS INTEGER)")
        name = self.next()
        found = CAST_TYPES.get(name.upper)
        if found is None or name.kind in (TokenType.IDENTIFIER, TokenType.STRING):
            raise InputError(
                f"CAST to {shown(name.text)} is not allowed in a predicate; allowed are INTEGER, "
                "DECIMAL(p, s), DOUBLE, DATE and TIMESTAMP"
            )
        digits, places = 0, 0
        if found == "DECIMAL":
            digits, places = self._digits(depth)
        self.close()
        return Read.above(tree.Cast(operand.expression, found, digits, places), operand)

    def _digits(self, depth: int) -> tuple[int, int]:
        """How many digits a DECIMAL has, and how many of them behind the point."""
        written: list[int | None] = []
        if self.skip(TokenType.L_PAREN):
            written = [_whole(each.expression) for each in self._list(depth)]
        if len(written) == 1:
            written.append(0)
        if len(written) == 2:
            digits, places = written
            if digits and places is not None and 0 <= places <= digits <= MOST_PLACES:
                return digits, places
        raise InputError(
            f"write DECIMAL(p, s) with p digits, at most {MOST_PLACES}, of which s stand behind "
            "the point, such as DECIMAL(12, 2)"
        )

    def _list(self, depth: int) -> list[Read]:
        """What stands between commas, up to the closing parenthesis. Spare commas are skipped."""
        found = []
        while not self.follows(TokenType.R_PAREN):
            if self.skip(TokenType.COMMA):
                continue
            found.append(self.expression(OR, depth + 1))
            if not self.follows(TokenType.COMMA):
                break
        self.close()
        return found

    # Tests.

    def test(self, operand: Read, depth: int) -> Read | None:
        start = self._at
        negated = self.skip(TokenType.NOT)
        if self.skip(TokenType.LIKE):
            return self._like(operand, depth, negated=negated)
        if self.skip(TokenType.IN):
            found = self._in(operand, depth)
        elif self.skip(TokenType.BETWEEN):
            found = self._between(operand, depth)
        elif self.skip(TokenType.IS):
            found = self._is(operand, depth)
        elif self.skip(TokenType.ISNULL) or (negated and self.skip(TokenType.NULL)):
            found = _is_null(operand)
        elif self.skip(TokenType.NOTNULL):
            found = _not(_is_null(operand))
        else:
            self._at = start
            return None
        return _not(found) if negated else found

    def _like(self, operand: Read, depth: int, *, negated: bool) -> Read:
        pattern = self.next()
        is_whole = not _continues(self.peek()) and not self.follows(TokenType.STRING)
        if pattern.kind != TokenType.STRING or not is_whole:
            raise InputError("LIKE takes a text literal as its pattern, such as LIKE 'adm%'")
        escape = None
        if self.skip(TokenType.ESCAPE):
            character = self.next()
            if character.kind == TokenType.NULL:
                raise InputError("ESCAPE takes one character in quotes, after LIKE and its pattern")
            if character.kind != TokenType.STRING:
                self.unexpected(character)
            escape = character.text
        like = tree.Like(operand.expression, Pattern.read(pattern.text, escape))
        return Read.above(tree.Not(like) if negated else like, operand)

    def _in(self, operand: Read, depth: int) -> Read:
        if not self.skip(TokenType.L_PAREN):
            raise _no_list()
        items = self._list(depth)
        if not items or not all(isinstance(item.expression, tree.LITERALS) for item in items):
            raise _no_list()
        found = tree.In(operand.expression, tuple(item.expression for item in items))
        return Read.above(found, operand, *items)

    def _between(self, operand: Read, depth: int) -> Read:
        following = self.peek()
        if following is not None and following.kind == TokenType.VAR:
            if following.upper == "SYMMETRIC":
                raise refused("BETWEEN with SYMMETRIC")
            if following.upper == "ASYMMETRIC":
                self.next()
        low = self.expression(SUM, depth + 1)
        self.skip(TokenType.AND)
        high = self.expression(SUM, depth + 1)
        found = tree.Between(operand.expression, low.expression, high.expression)
        if _betweens(found) > MOST_BETWEENS:
            raise InputError(
                f"BETWEEN may stand inside another at most {MOST_BETWEENS} deep; write >= and <="
            )
        return Read.above(found, operand, low, high)

    def _is(self, operand: Read, depth: int) -> Read:
        negated = self.skip(TokenType.NOT)
        if self.skip(TokenType.DISTINCT, TokenType.FROM):
            other = self.expression(SUM, depth + 1)
            distinct = tree.Distinct(operand.expression, other.expression)
            return Read.above(tree.Not(distinct) if negated else distinct, operand, other)
        word = self.next()
        if word.kind in (TokenType.NULL, TokenType.UNKNOWN):
            found = _is_null(operand)
        elif word.kind in (TokenType.TRUE, TokenType.FALSE) and not _continues(self.peek()):
            value = word.kind == TokenType.TRUE
            found = Read.above(tree.IsTruth(operand.expression, value), operand)
        else:
            raise refused(f"IS {self.source.within([word])}")
        return _not(found) if negated else found


def _called(name: str, values: tuple[Expression, ...]) -> Expression:
    """What a function makes of its arguments, of which there is one at least."""
    if name == "COALESCE":
        return tree.Coalesce(values)
    if name in ("LEAST", "GREATEST"):
        if len(values) < 2:
            raise InputError(f"write {name}(x, y), with two values or more")
        return tree.Extreme("LEAST" if name == "LEAST" else "GREATEST", values)
    if name in ("DATEDIFF", "DATE_DIFF"):
        return _days_between(values)
    if name == "ROUND":
        return _rounded(values)
    if len(values) > 1:
        raise InputError(f"write {name}(x), with one number")
    (operand,) = values
    if name == "ABS":
        return tree.Absolute(operand)
    return tree.Rounded("FLOOR" if name == "FLOOR" else "CEIL", operand)


def _rounded(values: tuple[Expression, ...]) -> Expression:
    places: int | None = 0
    if len(values) == 2:
        places = _whole(values[1])
    if len(values) > 2 or places is None or abs(places) > MOST_PLACES:
        raise InputError(
            f"write ROUND(x) or ROUND(x, n), with n from -{MOST_PLACES} to {MOST_PLACES}"
        )
    return tree.Rounded("ROUND", values[0], places)


def _days_between(values: tuple[Expression, ...]) -> Expression:
    unit = values[0]
    is_day = isinstance(unit, tree.Text) and unit.value.lower() == "day"
    if len(values) != 3 or not is_day:
        raise InputError(
            "write DATE_DIFF('day', start, end): the days from one date to another; other units "
            "are not allowed in a predicate"
        )
    return tree.DaysBetween(values[1], values[2])


def _whole(expression: Expression) -> int | None:
    """The whole number that a literal is."""
    if not isinstance(expression, tree.Number) or expression.value.denominator != 1:
        return None
    return int(expression.value)


def _function(name: Word, arguments: list[Expression]) -> Expression:
    """The call of a function by its arguments; InputError if they are others than it takes."""
    function = name.upper
    if function in FIELD_FUNCTIONS and len(arguments) == 1:
        return tree.Extract(FIELD_FUNCTIONS[function], arguments[0])
    if function in ("DATE_TRUNC", "DATE_PART") and len(arguments) == 2:
        return _of_calendar(function, *arguments)
    if function == "WIDTH_BUCKET" and len(arguments) == 4:
        return _width_bucket(arguments)
    if function == "BINS" and len(arguments) >= 3:
        return _bins(arguments)
    usage = USAGES.get(function, f"{function}(t)")
    raise InputError(f"the function {name.text} takes other arguments: write {usage}")


def _of_calendar(function: str, unit: Expression, operand: Expression) -> Expression:
    if not isinstance(unit, tree.Text):
        raise InputError(f"write {USAGES[function]}, with the unit in single quotes")
    if function == "DATE_TRUNC":
        return tree.Truncate(unit_named(unit.value), operand)
    return tree.Extract(field_named(unit.value), operand)


def _width_bucket(arguments: list[Expression]) -> Expression:
    operand, low, high, number = arguments
    is_whole = isinstance(number, tree.Number) and number.value.denominator == 1
    if not is_whole or not isinstance(low, tree.Number) or not isinstance(high, tree.Number):
        raise InputError(
            f"write {USAGES['WIDTH_BUCKET']}: the ends and the number of buckets are numbers"
        )
    assert isinstance(number, tree.Number)
    if not 1 <= number.value <= MOST_BINS:
        raise InputError(f"WIDTH_BUCKET takes from 1 to {MOST_BINS:,} buckets, got {number}")
    if low.value >= high.value:
        raise InputError(f"the buckets must begin below where they end, got {low} and {high}")
    return tree.WidthBucket(operand, low, high, int(number.value))


def _bins(arguments: list[Expression]) -> Expression:
    operand, *edges = arguments
    if not all(isinstance(edge, EDGES) for edge in edges):
        raise InputError(f"write {USAGES['BINS']}: edges are numbers, dates or timestamps")
    if len(edges) > MOST_BINS + 1:
        raise InputError(f"there may be at most {MOST_BINS:,} bins, got {len(edges) - 1:,}")
    return tree.Bins(operand, tuple(edges))


def _chain(kind: type[tree.And] | type[tree.Or], left: Read, right: Read) -> Read:
    """A chain of AND or of OR, however long, is one part."""
    items: list[Expression] = []
    height = 0
    for side in left, right:
        if isinstance(side.expression, kind):
            items += side.expression.parts
            height = max(height, side.height - 1)
        else:
            items.append(side.expression)
            height = max(height, side.height)
    return Read.above(kind(tuple(items)), Read(left.expression, height))


def _not(found: Read) -> Read:
    return Read.above(tree.Not(found.expression), found)


def _is_null(operand: Read) -> Read:
    return Read.above(tree.IsNull(operand.expression), operand)


def _continues(following: Word | None) -> bool:
    """Whether arithmetic goes on with this word."""
    return following is not None and following.kind in OPERATORS


def _betweens(expression: Expression) -> int:
    """How many are nested: each is written as two comparisons, which doubles what stands in it."""
    inside = max(map(_betweens, expression.parts), default=0)
    return isinstance(expression, tree.Between) + inside


def _no_list() -> InputError:
    return InputError(
        "IN takes a list of literals, such as IN ('a', 'b'); compare columns with = and OR"
    )
