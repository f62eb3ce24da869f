"""The aggregates that SQL can name, and why others are not answered."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import TokenType

from postri.agg import Aggregate, Count, Mean, Quantile, Sum
from postri.errors import InputError, nearest
from postri.exact import exact
from postri.privacy import check_share
from postri.sql.text import SqlText, Word, Words

MEDIAN = exact("1/2", "p")
COUNT, SUM = ("COUNT",), ("SUM",)
MEAN = ("AVG", "MEAN")
QUANTILE = ("QUANTILE_CONT", "QUANTILE")
ORDERED = ("PERCENTILE_CONT",)
KNOWN = (*COUNT, *SUM, *MEAN, "MEDIAN", *QUANTILE, *ORDERED)
ENDS = ("LOW", "HIGH")
EXTREME = (
    "{0} is one person's value, so no private answer can be near it; ask for a quantile close to "
    "it, such as QUANTILE_CONT({1}, {2})"
)
SPREAD = (
    "{0} is not answered; ask for two quantiles, such as QUANTILE_CONT({1}, 0.25) and "
    "QUANTILE_CONT({1}, 0.75)"
)
REASONS = {
    "MIN": EXTREME,
    "MAX": EXTREME,
    **dict.fromkeys(
        ("STDDEV", "STDDEV_SAMP", "STDDEV_POP", "VARIANCE", "VAR_SAMP", "VAR_POP"), SPREAD
    ),
    "MODE": (
        "{0} is not answered; GROUP BY a column with public keys and COUNT(*) tell how often "
        "each occurs"
    ),
    **dict.fromkeys(
        ("FIRST", "LAST", "ANY_VALUE", "LIST", "ARRAY_AGG", "STRING_AGG", "GROUP_CONCAT"),
        "{0} shows single rows, which are private",
    ),
    **dict.fromkeys(
        ("PERCENTILE_DISC", "QUANTILE_DISC"),
        "{0} is not answered; QUANTILE_CONT({1}, p) is, and its interval holds this too",
    ),
    "APPROX_QUANTILE": "{0} is not answered; ask for QUANTILE_CONT({1}, p)",
    "APPROX_COUNT_DISTINCT": "{0} is not answered: a private count of distinct values is another mechanism",
}


def aggregate_of(
    source: SqlText, name: Word, inside: Words, within: Words, operand: Callable[[Words], str]
) -> Aggregate:
    """The aggregate that a call means; `operand` makes a column of the words of an expression."""
    function = name.upper
    if function in REASONS:
        low = "0.01" if function == "MIN" else "0.99"
        raise source.error(
            [name], REASONS[function].format(function, source.within(inside) or "x", low)
        )
    if function not in KNOWN:
        raise source.error(
            [name], f"there is no function {name.text}; {nearest(function, (*KNOWN, *ENDS))}"
        )
    if within and function not in ORDERED:
        raise source.error(within, f"WITHIN GROUP belongs to PERCENTILE_CONT, not to {function}")
    if function in COUNT:
        return _count(source, inside, operand)
    if function in ORDERED:
        return _ordered(source, name, inside, within, operand)
    arguments = commas(inside)
    if function in QUANTILE:
        if len(arguments) != 2:
            raise source.error(
                [name, *inside], f"write {function}(x, 0.9): a column and which quantile"
            )
        return Quantile(operand(arguments[0]), _share(source, arguments[1]))
    if len(arguments) != 1 or not arguments[0]:
        raise source.error([name, *inside], f"write {function}(x): one column or expression")
    column = operand(arguments[0])
    return (
        Sum(column)
        if function in SUM
        else Mean(column)
        if function in MEAN
        else Quantile(column, MEDIAN)
    )


def _count(source: SqlText, inside: Words, operand: Callable[[Words], str]) -> Aggregate:
    if not inside:
        raise source.error(
            inside, "write COUNT(*) for rows, or COUNT(x) for those in which x is known"
        )
    return Count() if [word.kind for word in inside] == [TokenType.STAR] else Count(operand(inside))


def _ordered(
    source: SqlText, name: Word, inside: Words, within: Words, operand: Callable[[Words], str]
) -> Aggregate:
    if not within or within[0].kind != TokenType.ORDER_BY or len(within) < 2:
        raise source.error([name], f"write {name.upper}(0.9) WITHIN GROUP (ORDER BY x)")
    share, words = _share(source, inside), list(within[1:])
    if words[-1].upper in ("ASC", "DESC"):
        share = 1 - share if words[-1].upper == "DESC" else share
        words.pop()
    return Quantile(operand(words), share)


def _share(source: SqlText, words: Words) -> Fraction:
    try:
        return check_share(source.within(words), "the quantile")
    except InputError as error:
        raise source.error(words, str(error)) from None


def commas(words: Words) -> list[Words]:
    """The parts between commas, outside of parentheses."""
    parts: list[list[Word]] = [[]]
    depth = 0
    for word in words:
        depth += (word.kind == TokenType.L_PAREN) - (word.kind == TokenType.R_PAREN)
        if word.kind == TokenType.COMMA and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return list(parts)
