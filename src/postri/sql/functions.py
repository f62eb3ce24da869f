"""The aggregates that SQL can name, and why others are not answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from sqlglot import TokenType

from postri.domain import Domain
from postri.errors import InputError, nearest
from postri.expressions import Predicate
from postri.expressions.reader import read_words
from postri.privacy import check_share
from postri.sql.bounds import EVERYTHING, MOST, Bounds, End, Extent
from postri.sql.released import Kind, digits_of
from postri.sql.text import SqlText, Word, Words
from postri.statistics.keys import Key, read_keys
from postri.statistics.registry import Form, Parameter, distinct_functions, sql_functions
from postri.statistics.statistic import Statistic

ENDS = ("LOW", "HIGH")
EXTREME = (
    "{0} is one person's value, so no private answer can be near it; ask for a quantile close to "
    "it, such as QUANTILE_CONT({1}, {2})"
)
SINGLE = "{0} shows single rows, which are private"
DISCRETE = "{0} is not answered; QUANTILE_CONT({1}, p) is, and its interval holds this too"
REASONS = {
    "MIN": EXTREME,
    "MAX": EXTREME,
    "FIRST": SINGLE,
    "LAST": SINGLE,
    "ANY_VALUE": SINGLE,
    "LIST": SINGLE,
    "ARRAY_AGG": SINGLE,
    "STRING_AGG": SINGLE,
    "GROUP_CONCAT": SINGLE,
    "PERCENTILE_DISC": DISCRETE,
    "QUANTILE_DISC": DISCRETE,
    "APPROX_QUANTILE": "{0} is not answered; ask for QUANTILE_CONT({1}, p)",
    "APPROX_COUNT_DISTINCT": "{0} is not answered; ask for COUNT(DISTINCT {1})",
}

# What may stand before the text of a date or timestamp.
MOMENTS = (TokenType.DATE, TokenType.TIMESTAMP, TokenType.TIMESTAMPTZ)

Operand = Callable[[Words], str]
"""Makes a column of the words of an expression."""


def aggregate_of(
    source: SqlText, name: Word, inside: Words, within: Words, operand: Operand
) -> Statistic:
    """The statistic that a call means; `within` are the words behind WITHIN GROUP."""
    function = name.upper
    functions = sql_functions()
    # A statistic that is registered is answered, whatever was said of its name before it was.
    if function not in functions and function in REASONS:
        share = "0.01" if function == "MIN" else "0.99"
        of = source.within(inside) or "x"
        raise source.error([name], REASONS[function].format(function, of, share))
    if function not in functions:
        known = (*functions, *ENDS)
        raise source.error([name], f"there is no function {name.text}; {nearest(function, known)}")
    form = functions[function]
    if inside and inside[0].kind == TokenType.DISTINCT:
        form = distinct_functions()[function]
        inside = inside[1:]
    if function in form.sql_ordered:
        return _ordered(source, name, inside, within, operand, form)
    if within:
        raise source.error(within, f"WITHIN GROUP belongs to PERCENTILE_CONT, not to {function}")
    values = _values(source, name, inside, operand, form)
    try:
        return form.make(*values)
    except InputError as error:
        raise source.error([name, *inside], str(error)) from None


def _values(
    source: SqlText, name: Word, inside: Words, operand: Operand, form: Form
) -> list[object]:
    """What stands for each parameter, read from the words in the parentheses."""
    optional = form.takes_column and form.parameters[0].optional
    if optional and [word.kind for word in inside] == [TokenType.STAR]:
        return []
    arguments = commas(inside)
    if not form.parameters and not inside:
        return []
    missing = len(form.parameters) - form.takes_keys - len(arguments)
    if missing > 0 or (missing < 0 and not form.takes_list) or not arguments[0]:
        usage = form.usage.format(function=name.upper)
        # What is missing is marked where it should stand.
        place = inside if optional else [name, *inside]
        raise source.error(place, f"write {usage}")
    alone = form.parameters
    if form.takes_list:
        alone = form.parameters[:-1]
    values = [
        _value(source, parameter, words, operand)
        for parameter, words in zip(alone, arguments, strict=False)
    ]
    if form.takes_keys:
        keys = [source.within(words) for words in arguments[len(alone) :]]
        values.append(_located_keys(source, inside, keys) or None)
    elif form.takes_list:
        values.append([_literal(source, words) for words in arguments[len(alone) :]])
    return values


def _located_keys(source: SqlText, words: Words, texts: Sequence[str]) -> list[Key]:
    """Keys as literals of SQL."""
    try:
        return read_keys(", ".join(texts))
    except InputError as error:
        raise source.error(words, str(error)) from None


def _literal(source: SqlText, words: Words) -> str:
    """A number, or a date or timestamp in quotes, as the text that it means."""
    typed = [word.kind for word in words[:1]]
    if typed and typed[0] in MOMENTS:
        words = words[1:]
    if len(words) == 1 and words[0].kind == TokenType.STRING:
        return words[0].text
    return source.within(words)


def _value(source: SqlText, parameter: Parameter, words: Words, operand: Operand) -> object:
    if parameter.kind == "column":
        return operand(words)
    if parameter.kind == "condition":
        return _condition(source, words)
    if parameter.kind == "number":
        return source.within(words)
    try:
        return check_share(source.within(words), "the quantile")
    except InputError as error:
        raise source.error(words, str(error)) from None


def _condition(source: SqlText, words: Words) -> Predicate:
    """A condition on a row, as WHERE has it."""
    try:
        return Predicate(read_words(source, words))
    except InputError as error:
        raise source.located(words, error) from None


def _ordered(
    source: SqlText, name: Word, inside: Words, within: Words, operand: Operand, form: Form
) -> Statistic:
    """A function whose column stands behind WITHIN GROUP, and may be ordered downwards."""
    if not within or within[0].kind != TokenType.ORDER_BY or len(within) < 2:
        raise source.error([name], f"write {name.upper}(0.9) WITHIN GROUP (ORDER BY x)")
    share = _value(source, form.parameters[1], inside, operand)
    words = list(within[1:])
    descending = words[-1].upper == "DESC"
    if words[-1].upper in ("ASC", "DESC"):
        words.pop()
    statistic = form.make(operand(words), share)
    if descending:
        return statistic.reversed()
    return statistic


def commas(words: Words) -> list[Words]:
    """The parts between commas, outside of parentheses."""
    parts: list[list[Word]] = [[]]
    depth = 0
    for word in words:
        if word.kind == TokenType.L_PAREN:
            depth += 1
        elif word.kind == TokenType.R_PAREN:
            depth -= 1
        if word.kind == TokenType.COMMA and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return list(parts)


def kind_of_values(statistic: Statistic, domain: Domain | None) -> Kind:
    """What its values are: those of a domain are of its kind."""
    if statistic.stays_in_domain and domain is not None:
        return domain.kind
    return "number"


def widest(statistic: Statistic, domain: Domain | None) -> Extent:
    """Between which numbers its intervals lie, by what it is and by its domain."""
    if statistic.counts_rows:
        return Extent(End(0, Fraction(0)), MOST)
    if not statistic.stays_in_domain or domain is None or domain.kind != "number":
        return EVERYTHING
    lower, upper, _ = domain.bounds
    return Bounds(lower, upper).shown


def domain_digits(domain: Domain | None) -> int:
    """How many digits the numbers of a domain have at most."""
    if domain is None or domain.kind != "number":
        return 0
    return max(map(digits_of, domain.bounds))
