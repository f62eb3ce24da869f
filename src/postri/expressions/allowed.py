"""What may stand in a predicate, word by word, and how the rest is refused.

It is a list: what is not on it is refused before any words are put together, so that nothing is
read that is too long, too deep, or calls a function.
"""

from __future__ import annotations

import re

from sqlglot import TokenType

from postri.errors import InputError
from postri.exact import shown
from postri.expressions.tree import DEEPEST, nested_too_deep
from postri.expressions.words import LONGEST, Words

ALLOWED = (
    "allowed are comparisons, AND, OR, NOT, IN, BETWEEN, IS NULL, LIKE, CASE, COALESCE, LEAST, "
    "GREATEST, ABS, ROUND, FLOOR, CEIL, CAST, DATE_DIFF, DATE_TRUNC, EXTRACT, WIDTH_BUCKET, BINS "
    "and + - * /"
)
# What a field of a date or timestamp is called as a function of its own.
FIELD_FUNCTIONS = {
    "YEAR": "YEAR",
    "QUARTER": "QUARTER",
    "MONTH": "MONTH",
    "WEEK": "WEEK",
    "WEEKOFYEAR": "WEEK",
    "DAY": "DAY",
    "DAYOFMONTH": "DAY",
    "DAYOFYEAR": "DOY",
    "ISODOW": "ISODOW",
    "HOUR": "HOUR",
    "MINUTE": "MINUTE",
    "SECOND": "SECOND",
}
FUNCTIONS = frozenset(
    {
        "ABS",
        "BINS",
        "CAST",
        "CEIL",
        "CEILING",
        "COALESCE",
        "DATEDIFF",
        "DATE_DIFF",
        "DATE_PART",
        "DATE_TRUNC",
        "EXTRACT",
        "FLOOR",
        "GREATEST",
        "LEAST",
        "ROUND",
        "WIDTH_BUCKET",
        *FIELD_FUNCTIONS,
    }
)
# The types of CAST that have digits in parentheses, or consist of two words.
DECIMALS = ("DECIMAL", "NUMERIC")
DOUBLE_PRECISION = "DOUBLE PRECISION"

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


def check_characters(text: str) -> None:
    if len(text) > LONGEST:
        raise written_too_long()
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError(
            "a predicate must not contain the character NUL or half of a surrogate pair, "
            "which no database holds"
        )


def check_words(words: Words) -> None:
    neighbours = zip([None, *words[:-1]], words, [*words[1:], None], strict=True)
    for before, word, following in neighbours:
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
        is_type = before is not None and before.kind == TokenType.ALIAS
        if is_type and word.upper in (*DECIMALS, DOUBLE_PRECISION):
            continue
        if not WORD.fullmatch(word.text):
            raise refused(word.text)
        is_called = following is not None and following.kind == TokenType.L_PAREN
        if is_called and word.kind not in KEYWORDS and word.upper not in FUNCTIONS:
            raise InputError(f"the function {word.text} is not allowed in a predicate; {ALLOWED}")


def check_depth(words: Words) -> None:
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
            raise nested_too_deep()


def written_too_long() -> InputError:
    return InputError(
        f"a predicate may have at most {LONGEST:,} characters; add a column to the data for "
        "what it tells"
    )


def refused(what: str) -> InputError:
    hint = ""
    if any(map(str.isalnum, what)):
        hint = ". A column of that name stands in double quotes"
    return InputError(f"{shown(what)} is not allowed in a predicate; {ALLOWED}{hint}")
