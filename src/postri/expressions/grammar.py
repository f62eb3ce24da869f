"""The grammar of all expressions, from words to whatever a reader makes of them.

    loosest     OR    AND    = <>    < <= > >=    tests    + -    * /    signs, NOT    tightest

Signs and NOT stand before their operand, which for NOT goes as far as a comparison does. Operators
of one strength are read from the left. Tests (`IS NULL`, `IN`, `LIKE`, `BETWEEN`) follow their
operand.

Predicates and row expressions (`reader`) have all of it, and make trees. Expressions of released
values (`postri.sql.released`) have their own atoms, aggregates and keys, and of the tests BETWEEN.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, NoReturn, TypeVar

from sqlglot import TokenType

from postri.expressions import tree
from postri.expressions.words import SourceText, Word, Words

OR, AND, EQUALITY, COMPARISON, TEST, SUM, PRODUCT, SIGN = range(8)
STRENGTH = {
    TokenType.OR: OR,
    TokenType.AND: AND,
    TokenType.EQ: EQUALITY,
    TokenType.NEQ: EQUALITY,
    TokenType.NULLSAFE_EQ: EQUALITY,
    TokenType.LT: COMPARISON,
    TokenType.LTE: COMPARISON,
    TokenType.GT: COMPARISON,
    TokenType.GTE: COMPARISON,
    TokenType.PLUS: SUM,
    TokenType.DASH: SUM,
    TokenType.STAR: PRODUCT,
    TokenType.SLASH: PRODUCT,
}
COMPARISONS: dict[TokenType, tree.Comparison] = {
    TokenType.EQ: "=",
    TokenType.NEQ: "<>",
    TokenType.LT: "<",
    TokenType.LTE: "<=",
    TokenType.GT: ">",
    TokenType.GTE: ">=",
}
OPERATORS: dict[TokenType, tree.Operator] = {
    TokenType.PLUS: "+",
    TokenType.DASH: "-",
    TokenType.STAR: "*",
    TokenType.SLASH: "/",
}

Part = TypeVar("Part")


class ExpressionReader(ABC, Generic[Part]):
    """Reads one expression. What it is made of, a subclass tells.

    `binary` are the operators between two operands, `typed` the words that make a literal of the
    text after them, `deepest` is how deep an expression may be nested.
    """

    binary: ClassVar[frozenset[TokenType]] = frozenset(STRENGTH)
    typed: ClassVar[Mapping[TokenType, Callable[[str], tree.Expression]]]
    deepest: ClassVar[int]

    def __init__(self, source: SourceText, words: Words) -> None:
        self.source = source
        self.words = words
        self._at = 0

    def read_all(self) -> Part:
        """The expression that all words make."""
        found = self.expression(OR, 0)
        leftover = self.peek()
        if leftover is not None:
            self.unexpected(leftover)
        return found

    # What a subclass makes of the parts.

    @abstractmethod
    def literal(self, literal: tree.Expression) -> Part:
        """A literal: a number, a text, TRUE, FALSE, or one of `typed`."""

    @abstractmethod
    def atom(self, word: Word, depth: int) -> Part:
        """What begins with a word that is no sign, parenthesis or literal."""

    @abstractmethod
    def joined(self, operator: Word, left: Part, right: Part, place: Words) -> Part:
        """Two operands with an operator of `binary` between them."""

    @abstractmethod
    def negative(self, sign: Word, operand: Part) -> Part:
        """A minus sign and its operand."""

    @abstractmethod
    def opposite(self, negation: Word, operand: Part) -> Part:
        """NOT and its operand."""

    def test(self, operand: Part, depth: int) -> Part | None:
        """The test that follows an operand; None if none does."""
        return None

    @abstractmethod
    def number(self, word: Word, digits: str) -> tree.Number:
        """The number that digits mean."""

    @abstractmethod
    def typed_literal(self, word: Word, text: Word) -> tree.Expression:
        """The literal of one of `typed` and the text after it."""

    # Errors.

    @abstractmethod
    def unexpected(self, word: Word) -> NoReturn:
        """Refuse a word that cannot stand where it stands."""

    @abstractmethod
    def incomplete(self) -> NoReturn:
        """Refuse words that end too early."""

    @abstractmethod
    def too_deep(self) -> NoReturn:
        """Refuse what is nested deeper than `deepest`."""

    # The words, one after the other.

    def peek(self, ahead: int = 0) -> Word | None:
        """A word that was not read yet."""
        place = self._at + ahead
        return self.words[place] if place < len(self.words) else None

    def next(self) -> Word:
        """Read one word."""
        word = self.peek()
        if word is None:
            self.incomplete()
        self._at += 1
        return word

    def follows(self, *kinds: TokenType) -> bool:
        """Whether words of these kinds are the next ones."""
        coming = self.words[self._at : self._at + len(kinds)]
        return tuple(word.kind for word in coming) == kinds

    def skip(self, *kinds: TokenType) -> bool:
        """Read words of these kinds, if they are the next ones."""
        found = self.follows(*kinds)
        if found:
            self._at += len(kinds)
        return found

    # The grammar.

    def expression(self, loosest: int, depth: int) -> Part:
        """The expression that begins here, with operators that bind at least as tightly."""
        if depth > self.deepest:
            self.too_deep()
        start = self._at
        left = self._operand(depth)
        # What follows a test is no part of its operand: x IS NULL + 1 is refused.
        tightest = SIGN
        while (operator := self.peek()) is not None:
            strength = STRENGTH[operator.kind] if operator.kind in self.binary else TEST
            if not loosest <= strength <= tightest:
                break
            if operator.kind in self.binary:
                self._at += 1
                right = self.expression(strength + 1, depth + 1)
                left = self.joined(operator, left, right, self.words[start : self._at])
            else:
                tested = self.test(left, depth)
                if tested is None:
                    break
                left = tested
            tightest = strength
        return left

    def _operand(self, depth: int) -> Part:
        word = self.next()
        if word.kind == TokenType.L_PAREN:
            inside = self.expression(OR, depth + 1)
            self.close()
            return inside
        if word.kind == TokenType.DASH:
            return self.negative(word, self.expression(SIGN, depth + 1))
        if word.kind == TokenType.NOT:
            return self.opposite(word, self.expression(EQUALITY, depth + 1))
        literal = self._literal(word)
        if literal is not None:
            return self.literal(literal)
        return self.atom(word, depth)

    def close(self) -> None:
        """Read the parenthesis that closes one."""
        word = self.next()
        if word.kind != TokenType.R_PAREN:
            self.unexpected(word)

    def _literal(self, word: Word) -> tree.Expression | None:
        if word.kind in (TokenType.TRUE, TokenType.FALSE):
            return tree.Boolean(word.kind == TokenType.TRUE)
        if word.kind == TokenType.STRING:
            return tree.Text(word.text)
        if word.kind == TokenType.NUMBER:
            return self.number(word, word.text)
        following = self.peek()
        if word.kind == TokenType.DOT and following and following.kind == TokenType.NUMBER:
            self._at += 1
            return self.number(following, f"0.{following.text}")
        if word.kind in self.typed and following and following.kind == TokenType.STRING:
            self._at += 1
            return self.typed_literal(word, following)
        return None
