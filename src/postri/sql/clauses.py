"""The clauses of a SELECT, and what is refused with a reason before any of them is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import TokenType

from postri.sql.text import SqlText, Word, Words
from postri.statistics.registry import distinct_functions

ORDER = (
    TokenType.SELECT,
    TokenType.FROM,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
    TokenType.OFFSET,
)
# Inside parentheses these begin a subquery; ORDER BY may stand there, after WITHIN GROUP.
OF_SUBQUERIES = (TokenType.SELECT, TokenType.FROM, TokenType.WHERE)
LITERALS = (TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER)

ONLY_SELECT = "only SELECT is answered, and nothing can be written"
SUBQUERIES = "subqueries are not answered: ask the dataset itself, and put conditions into WHERE"
JOINS = (
    "such joins are not answered: they can multiply one person's rows beyond what the policy "
    "protects; a public table of the policy may be joined by its key, as in FROM flights JOIN "
    "planes USING (tailnum), or with LEFT JOIN"
)
# What FROM may hold beside names: a join with a public table.
OF_JOINS = ("JOIN", "INNER", "LEFT", "OUTER", "USING")
TWO_QUESTIONS = "{} is not answered: ask two questions"
REFUSED = {
    "UNION": TWO_QUESTIONS,
    "INTERSECT": TWO_QUESTIONS,
    "EXCEPT": TWO_QUESTIONS,
    "WITH": "WITH is not answered: ask the dataset itself",
    "JOIN": JOINS,
    "INNER": JOINS,
    "LEFT": JOINS,
    "RIGHT": JOINS,
    "FULL": JOINS,
    "CROSS": JOINS,
    "NATURAL": JOINS,
    "LATERAL": JOINS,
    "USING": JOINS,
    "OVER": "windows are not answered: they tell of single rows; ask group by group with GROUP BY",
    "QUALIFY": "QUALIFY is not answered: there are no windows",
    "DISTINCT": (
        "DISTINCT is answered in COUNT(DISTINCT x) alone; GROUP BY a column with public keys"
    ),
    "EXISTS": "subqueries are not answered: put the condition into WHERE",
    "INTO": ONLY_SELECT,
    "ROLLUP": "ROLLUP is not answered: ask for the totals in another question",
    "CUBE": "CUBE is not answered: ask for the totals in another question",
    "GROUPING": "GROUPING SETS are not answered: ask for the totals in another question",
}


@dataclass(frozen=True)
class Clauses:
    """The words of each clause, without the keyword that begins it; and that keyword."""

    words: dict[TokenType, list[Word]] = field(default_factory=dict)
    starts: dict[TokenType, Word] = field(default_factory=dict)

    def get(self, kind: TokenType) -> Words:
        """The words of a clause; none if it is not there."""
        return self.words.get(kind, ())


def split_clauses(source: SqlText) -> Clauses:
    """The clauses of a text, or InputError that says what is not answered."""
    first = source.words[0]
    if first.kind != TokenType.SELECT and first.upper not in REFUSED:
        raise source.error(first, f"a question begins with SELECT: {ONLY_SELECT}")
    clauses = Clauses()
    depth = 0
    current: list[Word] = []
    for place, word in enumerate(source.words):
        if TokenType.FROM not in clauses.starts or len(clauses.starts) > 2 or not _joins(word):
            _check_refused(source, word, place)
        depth += (word.kind == TokenType.L_PAREN) - (word.kind == TokenType.R_PAREN)
        if depth > 0 and word.kind in OF_SUBQUERIES and not _is_of_function(source, place):
            raise source.error(word, SUBQUERIES)
        if depth == 0 and word.kind in ORDER:
            _check_order(source, clauses, word)
            current = []
            clauses.starts[word.kind] = word
            clauses.words[word.kind] = current
        else:
            current.append(word)
    return clauses


def _joins(word: Word) -> bool:
    return word.kind not in LITERALS and word.upper in OF_JOINS


def _is_of_function(source: SqlText, place: int) -> bool:
    """Whether a word is the FROM of EXTRACT, or the WHERE of FILTER."""
    before = [word.upper for word in source.words[max(place - 3, 0) : place]]
    if source.words[place].kind == TokenType.FROM:
        return before[:2] == ["EXTRACT", "("]
    return source.words[place].kind == TokenType.WHERE and before[-2:] == ["FILTER", "("]


def _check_refused(source: SqlText, word: Word, place: int) -> None:
    if word.kind in LITERALS or word.upper not in REFUSED:
        return
    if word.kind == TokenType.DISTINCT and _is_in_function(source.words[:place]):
        return
    # A column may be called left, if it is used as one.
    following = source.words[place + 1 : place + 2]
    is_called = bool(following) and following[0].kind == TokenType.L_PAREN
    if word.kind != TokenType.VAR or is_called:
        raise source.error(word, REFUSED[word.upper].format(word.upper))


def _is_in_function(before: Words) -> bool:
    """Whether a word stands first in the parentheses of a function that takes DISTINCT."""
    if len(before) < 2 or before[-1].kind != TokenType.L_PAREN:
        return False
    return before[-2].upper in distinct_functions()


def _check_order(source: SqlText, clauses: Clauses, word: Word) -> None:
    if word.kind in clauses.starts:
        raise source.error(word, f"{word.upper} stands here a second time")
    for kind, start in clauses.starts.items():
        if ORDER.index(kind) > ORDER.index(word.kind):
            raise source.error(word, f"{word.upper} must stand before {start.upper}")
