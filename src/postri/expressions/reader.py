"""From a text to a tree.

The only module that loads sqlglot, which reads the text; what is not on the list here is refused.

The words are looked at before sqlglot puts them together: it recurses, has functions of many names,
and reads more than one statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import Token, Tokenizer, TokenType, exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.parser import Parser

from postri.errors import InputError
from postri.exact import exact, shown
from postri.expressions import tree
from postri.expressions.kinds import read_day, read_moment
from postri.expressions.pattern import Pattern
from postri.expressions.tree import Expression

LONGEST = 10_000
DEEPEST = 20
MOST_BETWEENS = 3
ALLOWED = (
    "allowed are comparisons, AND, OR, NOT, IN, BETWEEN, IS NULL, LIKE, CASE, COALESCE and + - * /"
)

WORD = re.compile(r"[^\W\d]\w*")
SIGNS = {
    *(
        TokenType.L_PAREN,
        TokenType.R_PAREN,
        TokenType.COMMA,
        TokenType.PLUS,
        TokenType.DASH,
        TokenType.STAR,
        TokenType.SLASH,
    ),
    *(
        TokenType.EQ,
        TokenType.NEQ,
        TokenType.LT,
        TokenType.LTE,
        TokenType.GT,
        TokenType.GTE,
        TokenType.NULLSAFE_EQ,
    ),
    *(TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER),
}
KEYWORDS = {
    *(
        TokenType.AND,
        TokenType.OR,
        TokenType.NOT,
        TokenType.IN,
        TokenType.BETWEEN,
        TokenType.IS,
        TokenType.NULL,
        TokenType.LIKE,
    ),
    *(
        TokenType.ESCAPE,
        TokenType.CASE,
        TokenType.WHEN,
        TokenType.THEN,
        TokenType.ELSE,
        TokenType.END,
        TokenType.TRUE,
        TokenType.FALSE,
    ),
    *(TokenType.DISTINCT, TokenType.FROM),
}
PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS}


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
    tokens = _tokens(text)
    _check_words(tokens)
    _check_depth(tokens)
    expression = _read(_parsed(tokens, text), 0)
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


def _too_long() -> InputError:
    return InputError(
        f"a predicate may have at most {LONGEST:,} characters; add a column to the data for "
        "what it tells"
    )


def _tokens(text: str) -> Sequence[Token]:
    try:
        tokens: Sequence[Token] = Tokenizer().tokenize(text)
    except SqlglotError:
        raise InputError(
            "a quote or comment in the predicate is not closed; write ' inside a text as ''"
        ) from None
    if not tokens:
        raise InputError("the predicate is empty; leave it out to take all rows")
    return tokens


def _check_words(tokens: Sequence[Token]) -> None:
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.comments:
            raise InputError("comments are not allowed in a predicate")
        number = following is not None and following.token_type == TokenType.NUMBER
        if token.token_type in SIGNS or (token.token_type == TokenType.DOT and number):
            continue
        if token.token_type == TokenType.DOT:
            raise InputError('a column is written without its table in a predicate: as x or as "x"')
        if not WORD.fullmatch(token.text):
            raise _refused(token.text)
        called = following is not None and following.token_type == TokenType.L_PAREN
        if token.token_type not in KEYWORDS and called and token.text.upper() != "COALESCE":
            raise InputError(f"the function {token.text} is not allowed in a predicate; {ALLOWED}")


def _check_depth(tokens: Sequence[Token]) -> None:
    """Refuse what would be too deep for sqlglot, which recurses, and for the parsers of databases."""
    parentheses = cases = signs = 0
    for kind in (token.token_type for token in tokens):
        parentheses += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        cases += (kind == TokenType.CASE) - (kind == TokenType.END)
        signs = signs + 1 if kind in PREFIXES else 0
        if max(parentheses, cases, signs) > DEEPEST:
            raise _too_deep()


def _too_deep() -> InputError:
    return InputError(
        f"a predicate may be nested at most {DEEPEST} deep; use fewer parentheses and shorter sums"
    )


def _refused(what: str) -> InputError:
    hint = ". A column of that name stands in double quotes" if any(map(str.isalnum, what)) else ""
    return InputError(f"{shown(what)} is not allowed in a predicate; {ALLOWED}{hint}")


def _words(node: exp.Expr) -> str:
    """What sqlglot calls a node, as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()


def _parsed(tokens: Sequence[Token], text: str) -> exp.Expr:
    try:
        found = Parser(error_level=ErrorLevel.IMMEDIATE).parse_into(
            exp.Condition, list(tokens), text
        )
    except RecursionError:
        raise _too_deep() from None
    except SqlglotError as error:
        where = next(
            (
                str(each.get("highlight"))
                for each in getattr(error, "errors", ())
                if each.get("highlight")
            ),
            None,
        )
        near = f" near {shown(where)}" if where else ""
        raise InputError(
            f"the predicate cannot be read{near}; write it as after WHERE in SQL"
        ) from None
    if len(found) != 1 or found[0] is None:
        raise InputError("the predicate cannot be read; write it as after WHERE in SQL")
    return found[0]


# From sqlglot's tree to ours.


def _read(node: exp.Expr, depth: int) -> Expression:
    """The tree of a node, `depth` deep in the whole."""
    while type(node) is exp.Paren:
        node = _arguments(node, "this")[0]
    if depth > DEEPEST:
        raise _too_deep()
    reader = READERS.get(type(node))
    if reader is None:
        raise _refused(_words(node))
    return reader(node, depth + 1)


def _arguments(node: exp.Expr, *names: str) -> list[Any]:
    """The arguments of a node, which must have no others."""
    others = [name for name, value in node.args.items() if value and name not in names]
    if others:
        raise _refused(f"{_words(node)} with {others[0].upper()}")
    return [node.args.get(name) for name in names]


def _column(node: exp.Expr, _: int) -> Expression:
    (identifier,) = _arguments(node, "this")
    if type(identifier) is not exp.Identifier:
        raise _refused(_words(node))
    name, quoted = _arguments(identifier, "this", "quoted")
    return tree.Column(name, bool(quoted))


def _literal(node: exp.Expr, _: int) -> Expression:
    text, is_string = _arguments(node, "this", "is_string")
    return tree.Text(text) if is_string else tree.Number(exact(text, "a number of the predicate"))


def _typed_literal(node: exp.Expr, _: int) -> Expression:
    """`DATE '...'` or `TIMESTAMP '...'`. sqlglot takes it for a cast, and real casts are functions,
    which were refused by name.
    """
    literal, kind = _arguments(node, "this", "to", "_type")[:2]
    readers: dict[Any, Callable[[str], Expression]] = {
        exp.DataType.Type.DATE: lambda text: tree.Day(read_day(text)),
        exp.DataType.Type.TIMESTAMP: lambda text: tree.Moment(read_moment(text)),
    }
    read = readers.get(kind.this)
    if (
        read is None
        or type(literal) is not exp.Literal
        or not literal.is_string
        or kind.expressions
    ):
        raise InputError(
            "a literal of this type is not allowed in a predicate; write DATE '2024-01-31' "
            "or TIMESTAMP '2024-01-31 18:30:00'"
        )
    return read(literal.this)


def _compare(operator: tree.Comparison) -> Callable[[exp.Expr, int], Expression]:
    def read(node: exp.Expr, depth: int) -> Expression:
        left, right = _arguments(node, "this", "expression")
        return tree.Compare(operator, _read(left, depth), _read(right, depth))

    return read


def _compute(operator: tree.Operator) -> Callable[[exp.Expr, int], Expression]:
    def read(node: exp.Expr, depth: int) -> Expression:
        left, right = _arguments(node, "this", "expression")
        return tree.Arithmetic(operator, _read(left, depth), _read(right, depth))

    return read


def _several(
    kind: type[exp.Expr], make: Callable[[tuple[Expression, ...]], Expression]
) -> Callable[[exp.Expr, int], Expression]:
    """A chain of AND or of OR, however long, is one part."""

    def read(node: exp.Expr, depth: int) -> Expression:
        items: list[Expression] = []
        waiting = [node]
        while waiting:
            each = waiting.pop()
            while type(each) is exp.Paren:
                each = _arguments(each, "this")[0]
            if type(each) is kind:
                waiting += reversed(_arguments(each, "this", "expression"))
            else:
                items.append(_read(each, depth))
        return make(tuple(items))

    return read


def _not(node: exp.Expr, depth: int) -> Expression:
    (operand,) = _arguments(node, "this")
    return tree.Not(_read(operand, depth))


def _negate(node: exp.Expr, depth: int) -> Expression:
    operand = _read(_arguments(node, "this")[0], depth)
    return tree.Number(-operand.value) if isinstance(operand, tree.Number) else tree.Negate(operand)


def _distinct(node: exp.Expr, depth: int) -> Expression:
    left, right = _arguments(node, "this", "expression")
    return tree.Distinct(_read(left, depth), _read(right, depth))


def _is(node: exp.Expr, depth: int) -> Expression:
    operand, what = _arguments(node, "this", "expression")
    if type(what) is exp.Null:
        return tree.IsNull(_read(operand, depth))
    if type(what) is exp.Boolean:
        return tree.IsTruth(_read(operand, depth), bool(what.this))
    raise _refused(f"IS {_words(what)}")


def _in(node: exp.Expr, depth: int) -> Expression:
    operand, listed = _arguments(node, "this", "expressions")
    items = tuple(_read(item, depth) for item in listed or ())
    if not items or not all(isinstance(item, tree.LITERALS) for item in items):
        raise InputError(
            "IN takes a list of literals, such as IN ('a', 'b'); compare columns with = and OR"
        )
    return tree.In(_read(operand, depth), items)


def _between(node: exp.Expr, depth: int) -> Expression:
    operand, low, high = _arguments(node, "this", "low", "high")
    found = tree.Between(_read(operand, depth), _read(low, depth), _read(high, depth))
    if _betweens(found) > MOST_BETWEENS:
        raise InputError(
            f"BETWEEN may stand inside another at most {MOST_BETWEENS} deep; write >= and <="
        )
    return found


def _betweens(expression: Expression) -> int:
    """How many are nested: each is written as two comparisons, which doubles what stands in it."""
    return isinstance(expression, tree.Between) + max(map(_betweens, expression.parts), default=0)


def _like(node: exp.Expr, depth: int, escape: str | None = None) -> Expression:
    operand, pattern, negated = _arguments(node, "this", "expression", "negate")
    if type(pattern) is not exp.Literal or not pattern.is_string:
        raise InputError("LIKE takes a text literal as its pattern, such as LIKE 'adm%'")
    like = tree.Like(_read(operand, depth), Pattern.read(pattern.this, escape))
    return tree.Not(like) if negated else like


def _escape(node: exp.Expr, depth: int) -> Expression:
    like, escape = _arguments(node, "this", "expression")
    if type(escape) is not exp.Literal or not escape.is_string or type(like) is not exp.Like:
        raise InputError("ESCAPE takes one character in quotes, after LIKE and its pattern")
    return _like(like, depth, escape.this)


def _case(node: exp.Expr, depth: int) -> Expression:
    if node.args.get("this"):
        raise InputError(
            "CASE x WHEN ... is not allowed in a predicate; write CASE WHEN x = ... THEN ... END"
        )
    ifs, otherwise = _arguments(node, "ifs", "default")
    whens = [_arguments(each, "this", "true") for each in ifs]
    return tree.Case(
        tuple((_read(condition, depth), _read(value, depth)) for condition, value in whens),
        None if otherwise is None else _read(otherwise, depth),
    )


def _coalesce(node: exp.Expr, depth: int) -> Expression:
    first, others = _arguments(node, "this", "expressions")
    return tree.Coalesce(tuple(_read(each, depth) for each in (first, *(others or ()))))


READERS: dict[type[exp.Expr], Callable[[exp.Expr, int], Expression]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Cast: _typed_literal,
    exp.Boolean: lambda node, _: tree.Boolean(bool(node.this)),
    exp.Null: lambda node, _: tree.Null(),
    exp.EQ: _compare("="),
    exp.NEQ: _compare("<>"),
    exp.LT: _compare("<"),
    exp.LTE: _compare("<="),
    exp.GT: _compare(">"),
    exp.GTE: _compare(">="),
    exp.NullSafeNEQ: _distinct,
    exp.NullSafeEQ: lambda node, depth: tree.Not(_distinct(node, depth)),
    exp.And: _several(exp.And, tree.And),
    exp.Or: _several(exp.Or, tree.Or),
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.Escape: _escape,
    exp.Case: _case,
    exp.Coalesce: _coalesce,
    exp.Add: _compute("+"),
    exp.Sub: _compute("-"),
    exp.Mul: _compute("*"),
    exp.Div: _compute("/"),
    exp.Neg: _negate,
}
