"""From a text to a tree: predicates, and expressions of rows.

What is not on the list here is refused. The words are looked at one by one before they are put
together, so that nothing is read that is too long, too deep, or calls a function.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import TokenType

from postri.errors import InputError
from postri.exact import exact, shown
from postri.expressions import tree
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
from postri.expressions.tree import Expression
from postri.expressions.words import LONGEST, SourceText, Word, Words

DEEPEST = 20
MOST_BETWEENS = 3
ALLOWED = (
    "allowed are comparisons, AND, OR, NOT, IN, BETWEEN, IS NULL, LIKE, CASE, COALESCE and + - * /"
)

WORD = re.compile(r"[^\W\d]\w*")
SIGNS = {
    TokenType.L_PAREN,
    TokenType.R_PAREN,
    TokenType.COMMA,
    TokenType.PLUS,
    TokenType.DASH,
    TokenType.STAR,
    TokenType.SLASH,
    TokenType.EQ,
    TokenType.NEQ,
    TokenType.LT,
    TokenType.LTE,
    TokenType.GT,
    TokenType.GTE,
    TokenType.NULLSAFE_EQ,
    TokenType.STRING,
    TokenType.NUMBER,
    TokenType.IDENTIFIER,
}
# Words before which a parenthesis calls no function.
KEYWORDS = {
    TokenType.AND,
    TokenType.OR,
    TokenType.NOT,
    TokenType.IN,
    TokenType.BETWEEN,
    TokenType.IS,
    TokenType.NULL,
    TokenType.LIKE,
    TokenType.ESCAPE,
    TokenType.CASE,
    TokenType.WHEN,
    TokenType.THEN,
    TokenType.ELSE,
    TokenType.END,
    TokenType.TRUE,
    TokenType.FALSE,
    TokenType.DISTINCT,
    TokenType.FROM,
}
PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS}
# After the word INTERVAL these begin an interval of SQL; before others it is a column.
INTERVALS = {
    TokenType.STRING,
    TokenType.NUMBER,
    TokenType.PLUS,
    TokenType.DASH,
    TokenType.STAR,
}
# Columns of these names stand in double quotes.
RESERVED = frozenset(
    """
    ALTER AND ANY AS BETWEEN CASE CONNECT_BY_ROOT CREATE CROSS CURRENT_DATE CURRENT_DATETIME
    CURRENT_ROLE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DISTINCT DROP ELSE EXCEPT FETCH FOR
    FROM GLOB GRANT HAVING ILIKE INNER INSERT INTERSECT INTO JOIN LATERAL LIKE NOTNULL ON OR OUTER
    PARTITIONED_BY QUALIFY REGEXP RETURNING REVOKE RLIKE ROLLBACK SELECT TABLESAMPLE THEN UNCACHE
    UNION USING WHEN WHERE WITH XOR
    """.split()  # noqa: SIM905 - sixty words read best as one text
)
# What SQL has and predicates do not, as refusals call it.
REFUSED = {
    "AT": "AT TIME ZONE",
    "COLLATE": "COLLATE",
    "CURRENT_DATE": "CURRENT DATE",
    "CURRENT_TIME": "CURRENT TIME",
    "CURRENT_TIMESTAMP": "CURRENT TIMESTAMP",
    "CURRENT_USER": "CURRENT USER",
    "DISTINCT": "DISTINCT",
    "DIV": "INT DIV",
    "GLOB": "GLOB",
    "ILIKE": "ILIKE",
    "INTERVAL": "INTERVAL",
    "OVERLAPS": "OVERLAPS",
    "REGEXP": "REGEXP LIKE",
    "RLIKE": "REGEXP LIKE",
    "SELECT": "SELECT",
    "*": "STAR",
}


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
    _check_characters(check_text(text))
    source = SourceText(text, "predicate")
    if not source.words:
        raise InputError("the predicate is empty; leave it out to take all rows")
    return read_words(source, source.words)


def read_words(source: SourceText, words: Words) -> Expression:
    """The tree of some words of a text."""
    _check_words(words)
    _check_depth(words)
    expression = TreeReader(source, words).read_all().expression
    if len(str(expression)) > LONGEST:
        raise _too_long()
    return expression


def _check_characters(text: str) -> None:
    if len(text) > LONGEST:
        raise _too_long()
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError(
            "a predicate must not contain the character NUL or half of a surrogate pair, "
            "which no database holds"
        )


def _check_words(words: Words) -> None:
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word.has_comment:
            raise InputError("comments are not allowed in a predicate")
        if word.kind in SIGNS:
            continue
        if word.kind == TokenType.DOT:
            if following is None or following.kind != TokenType.NUMBER:
                raise InputError(
                    'a column is written without its table in a predicate: as x or as "x"'
                )
            continue
        if not WORD.fullmatch(word.text):
            raise _refused(word.text)
        is_called = following is not None and following.kind == TokenType.L_PAREN
        if is_called and word.kind not in KEYWORDS and word.upper != "COALESCE":
            raise InputError(f"the function {word.text} is not allowed in a predicate; {ALLOWED}")


def _check_depth(words: Words) -> None:
    """Refuse what would be too deep for whoever recurses: the reader here, and the parsers of
    databases.
    """
    parentheses = cases = signs = 0
    for word in words:
        kind = word.kind
        parentheses += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        cases += (kind == TokenType.CASE) - (kind == TokenType.END)
        signs = signs + 1 if kind in PREFIXES else 0
        if max(parentheses, cases, signs) > DEEPEST:
            raise _too_deep()


def _too_long() -> InputError:
    return InputError(
        f"a predicate may have at most {LONGEST:,} characters; add a column to the data for "
        "what it tells"
    )


def _too_deep() -> InputError:
    return InputError(
        f"a predicate may be nested at most {DEEPEST} deep; use fewer parentheses and shorter sums"
    )


def _refused(what: str) -> InputError:
    hint = ""
    if any(map(str.isalnum, what)):
        hint = ". A column of that name stands in double quotes"
    return InputError(f"{shown(what)} is not allowed in a predicate; {ALLOWED}{hint}")


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
            raise _too_deep()
        return cls(expression, height)


class TreeReader(ExpressionReader[Read]):
    """Reads predicates and expressions of rows."""

    typed = {  # noqa: RUF012 - never changed
        TokenType.DATE: lambda text: tree.Day(read_day(text)),
        TokenType.TIMESTAMP: lambda text: tree.Moment(read_moment(text)),
    }
    # Levels of the tree, parentheses and plus signs around them. All were looked at, but a column
    # may be called end, and then CASE is deeper than it seems.
    deepest = 3 * DEEPEST + 2

    def unexpected(self, word: Word) -> NoReturn:
        name = REFUSED.get(word.upper)
        if name is not None and word.kind not in (TokenType.IDENTIFIER, TokenType.STRING):
            raise _refused(name)
        near = shown(self.source.within([word]))
        raise InputError(
            f"the predicate cannot be read near {near}; write it as after WHERE in SQL"
        )

    def incomplete(self) -> NoReturn:
        near = shown(self.source.within(self.words[-1:]))
        raise InputError(
            f"the predicate cannot be read near {near}; write it as after WHERE in SQL"
        )

    def too_deep(self) -> NoReturn:
        raise _too_deep()

    # Literals and operators.

    def literal(self, literal: Expression) -> Read:
        following = self.peek()
        adjacent = following is not None and following.kind == TokenType.STRING
        if isinstance(literal, tree.Text) and adjacent:
            raise _refused("CONCAT")
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

    # Columns, CASE and COALESCE.

    def atom(self, word: Word, depth: int) -> Read:
        if word.kind == TokenType.PLUS:
            while self.skip(TokenType.PLUS):
                pass
            return self.expression(SIGN, depth + 1)
        if word.kind == TokenType.NULL:
            return Read(tree.Null())
        if word.kind == TokenType.CASE:
            return self._case(depth)
        if word.upper == "COALESCE" and self.skip(TokenType.L_PAREN):
            return self._coalesce(word, depth)
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
            raise _refused("TUPLE")
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

    def _coalesce(self, name: Word, depth: int) -> Read:
        values = self._list(depth)
        if not values:
            self.unexpected(name)
        return Read.above(tree.Coalesce(tuple(each.expression for each in values)), *values)

    def _list(self, depth: int) -> list[Read]:
        """What stands between commas, up to the closing parenthesis. Nothing may stand there."""
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
                raise _refused("BETWEEN with SYMMETRIC")
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
            raise _refused(f"IS {word.upper}")
        return _not(found) if negated else found


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
