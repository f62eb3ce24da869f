"""From words to expressions of released values: aggregates, arithmetic, comparisons.

What an aggregate is of, the reader tells.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn, TypeVar

from sqlglot import TokenType

from postri.errors import InputError
from postri.exact import exact
from postri.expressions.kinds import read_day
from postri.sql.released import Arithmetic, Constant, Logic, Node, Test, is_count
from postri.sql.text import SqlText, Word, Words

DEEPEST = 20
BINDING = {
    **{TokenType.OR: 1, TokenType.AND: 2},
    **dict.fromkeys(
        (TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE), 4
    ),
    **{TokenType.PLUS: 5, TokenType.DASH: 5, TokenType.STAR: 6, TokenType.SLASH: 6},
}
NOT_BINDING, TEST, SUM = 3, 4, 5
SIGNS = {TokenType.NEQ: "<>"}
Found = TypeVar("Found")
ARITHMETIC = "numbers can be added, subtracted, multiplied and divided"


class ExpressionParser:
    """Reads one expression.

    `call` reads an aggregate from its name and the words inside its parentheses, `name` a bare
    name.
    """

    def __init__(
        self,
        source: SqlText,
        words: Words,
        call: Callable[[Word, Words, Words], Node],
        name: Callable[[Word], Node],
    ) -> None:
        self._source, self._words, self._call, self._name = source, words, call, name
        self._at = 0

    def read(self) -> Node:
        """The expression that all words make."""
        node = self._expression(0, 0)
        if self._at < len(self._words):
            self._refuse(
                self._words[self._at], f"{self._words[self._at].text!r} is not expected here"
            )
        return node

    def _refuse(self, place: Word | Words, message: str) -> NoReturn:
        raise self._source.error(place, message)

    def _next(self) -> Word:
        if self._at >= len(self._words):
            self._refuse(self._words[-1:], "something is missing after this")
        self._at += 1
        return self._words[self._at - 1]

    def _peek(self) -> Word | None:
        return self._words[self._at] if self._at < len(self._words) else None

    def _expression(self, binding: int, depth: int) -> Node:
        if depth > DEEPEST:
            self._refuse(
                self._words[self._at - 1], f"an expression may be nested at most {DEEPEST} deep"
            )
        start = self._at
        left = self._first(depth)
        while (word := self._peek()) is not None and BINDING.get(word.kind, 0) > binding:
            self._at += 1
            right = self._expression(BINDING[word.kind], depth + 1)
            left = self._joined(word, left, right, self._words[start : self._at])
        return left

    def _first(self, depth: int) -> Node:
        word = self._next()
        if word.kind == TokenType.L_PAREN:
            node = self._expression(0, depth + 1)
            closing = self._next()
            if closing.kind != TokenType.R_PAREN:
                self._refuse(closing, f"{closing.text!r} is not expected here")
            return node
        if word.kind == TokenType.DASH:
            operand = self._expression(BINDING[TokenType.STAR], depth + 1)
            return self._joined(word, Constant("number", Fraction(0)), operand, [word])
        if word.kind == TokenType.NOT:
            operand = self._expression(NOT_BINDING, depth + 1)
            if operand.kind != "truth":
                self._refuse(word, "NOT takes a condition")
            return Logic("truth", "NOT", (operand,))
        return self._atom(word)

    def _atom(self, word: Word) -> Node:
        following = self._peek()
        if (literal := self._literal(word, following)) is not None:
            return literal
        if following is not None and following.kind == TokenType.L_PAREN:
            return self._called(word)
        if not word.is_name:
            self._refuse(word, f"{word.text!r} is not expected here")
        return self._name(word)

    def _literal(self, word: Word, following: Word | None) -> Node | None:
        if word.kind in (TokenType.TRUE, TokenType.FALSE):
            return Constant("truth", word.kind == TokenType.TRUE)
        if word.kind in (TokenType.NUMBER, TokenType.STRING):
            return (
                Constant("number", self._number(word))
                if word.kind == TokenType.NUMBER
                else Constant("text", word.text)
            )
        if following is not None and (word.kind, following.kind) == (
            TokenType.DOT,
            TokenType.NUMBER,
        ):
            self._at += 1
            return Constant("number", exact(f"0.{following.text}", "a number"))
        if following is not None and word.upper == "DATE" and following.kind == TokenType.STRING:
            self._at += 1
            return Constant("date", self._read(following, read_day))
        return None

    def _number(self, word: Word) -> Fraction:
        return self._read(word, lambda text: exact(text, "a number"))

    def _read(self, word: Word, read: Callable[[str], Found]) -> Found:
        try:
            return read(word.text)
        except InputError as error:
            self._refuse(word, str(error))

    def _called(self, name: Word) -> Node:
        """A function with what stands in its parentheses, and what `WITHIN GROUP` adds to it."""
        inside = self._inside()
        within: Words = ()
        following = self._words[self._at : self._at + 2]
        if [word.upper for word in following] == ["WITHIN", "GROUP"]:
            self._at += 2
            within = self._inside()
        return self._call(name, inside, within)

    def _inside(self) -> Words:
        """The words up to the parenthesis that closes the one here."""
        opening = self._next()
        if opening.kind != TokenType.L_PAREN:
            self._refuse(opening, "a parenthesis is missing here")
        start, depth = self._at, 1
        while depth:
            word = self._next()
            depth += (word.kind == TokenType.L_PAREN) - (word.kind == TokenType.R_PAREN)
        return self._words[start : self._at - 1]

    def _joined(self, word: Word, left: Node, right: Node, place: Words) -> Node:
        binding = BINDING[word.kind]
        if binding < NOT_BINDING:
            if (left.kind, right.kind) != ("truth", "truth"):
                self._refuse(word, f"{word.upper} takes two conditions")
            return Logic("truth", word.upper, (left, right))
        if binding == TEST:
            if left.kind != right.kind:
                self._refuse(place, f"a {left.kind} is compared with a {right.kind} here")
            return Test("truth", SIGNS.get(word.kind, word.text), left, right)
        if (left.kind, right.kind) != ("number", "number"):
            self._refuse(
                place,
                (
                    f"only {ARITHMETIC}; one of these is a "
                    f"{left.kind if left.kind != 'number' else right.kind}"
                ),
            )
        if word.kind == TokenType.SLASH and right.may_be_zero and not is_count(right):
            self._refuse(
                place,
                (
                    "the interval of this divisor may hold 0; divide by a number, by COUNT, or "
                    "by a median or mean whose domain has no 0"
                ),
            )
        return Arithmetic("number", word.text, left, right)
