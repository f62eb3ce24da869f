"""From a text in SQL to a statement: the session's question, and what becomes of its answers.

Nothing else reaches a session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, count
from typing import TypeVar

from sqlglot import TokenType

from postri.domain import Domain
from postri.errors import InputError, nearest
from postri.expressions import Predicate
from postri.expressions.binding import column_named
from postri.expressions.normal import normal
from postri.expressions.ranges import clamped, domain_of
from postri.expressions.reader import read_expression
from postri.expressions.tree import Column
from postri.policy import Dataset
from postri.question.dataset import Computed, check_fits
from postri.sql.clauses import Clauses, split_clauses
from postri.sql.functions import ENDS, aggregate_of, commas
from postri.sql.parser import ExpressionParser
from postri.sql.released import Constant, Drawn, Key, Node, kind_of
from postri.sql.statement import Item, Statement
from postri.sql.text import SqlText, Word, Words
from postri.statistics.registry import usual_name
from postri.statistics.statistic import Statistic

MOST_ITEMS = 100
Found = TypeVar("Found")


def read_sql(text: object, datasets: Mapping[str, Dataset]) -> Statement:
    """The statement of a text, or InputError that points at the place and says what can be done
    instead.
    """
    source = SqlText(text)
    clauses = split_clauses(source)
    return StatementReader(source, clauses, _dataset(source, clauses, datasets)).read()


def _dataset(source: SqlText, clauses: Clauses, datasets: Mapping[str, Dataset]) -> Dataset:
    words = clauses.get(TokenType.FROM)
    if not words:
        raise source.error(
            clauses.starts.get(TokenType.FROM, ()),
            f"FROM names the dataset to ask; {nearest('', datasets)}",
        )
    if any(word.kind == TokenType.L_PAREN for word in words):
        raise source.error(
            words,
            "subqueries are not answered: ask the dataset itself, and put conditions into WHERE",
        )
    if any(word.kind == TokenType.COMMA for word in words):
        raise source.error(
            words,
            (
                "one dataset at a time: joins are not answered, because they can multiply one "
                "person's rows"
            ),
        )
    name = words[0]
    if len(words) > 1:
        raise source.error(words[1:], f"after FROM stands one name alone, such as FROM {name.text}")
    found = _named(name, datasets)
    if found is None:
        raise source.error(
            name, f"there is no dataset {name.text!r}; {nearest(name.text, datasets)}"
        )
    return datasets[found]


def _named(word: Word, names: Mapping[str, object]) -> str | None:
    """The name that a word means: to the letter in double quotes, otherwise in any case."""
    if word.text in names:
        return word.text
    alike = (
        [name for name in names if name.casefold() == word.text.casefold()]
        if word.kind != TokenType.IDENTIFIER
        else []
    )
    return alike[0] if len(alike) == 1 else None


class StatementReader:
    """Reads the clauses of one SELECT about one dataset."""

    def __init__(self, source: SqlText, clauses: Clauses, dataset: Dataset) -> None:
        self._source, self._clauses, self._dataset = source, clauses, dataset
        self._aggregates: dict[Statistic, str] = {}
        self._computed: dict[str, Computed] = {}
        self._titles: dict[str, Node] = {}
        self._by: list[str] = []

    def read(self) -> Statement:
        """The statement."""
        where = self._where()
        for words in self._listed(TokenType.GROUP_BY):
            self._by.append(self._group(words))
        items = self._items()
        having = self._having()
        order = [self._ordering(words, items) for words in self._listed(TokenType.ORDER_BY)]
        if not self._aggregates:
            raise self._source.error(
                self._clauses.get(TokenType.SELECT),
                "a question asks for at least one aggregate, such as COUNT(*); rows are private",
            )
        return Statement(
            self._source,
            self._dataset.name,
            items,
            {name: aggregate for aggregate, name in self._aggregates.items()},
            dict(self._computed),
            tuple(self._by),
            where,
            self._clauses.get(TokenType.WHERE),
            having,
            order,
            self._whole(TokenType.LIMIT),
            self._whole(TokenType.OFFSET) or 0,
        )

    def _listed(self, kind: TokenType) -> list[Words]:
        """The parts of a clause between commas; none if it is not there."""
        if kind not in self._clauses.starts:
            return []
        parts = commas(self._clauses.get(kind))
        for part in parts:
            if not part:
                raise self._source.error(
                    self._clauses.starts[kind],
                    f"something is missing in {self._clauses.starts[kind].upper}",
                )
        return parts

    # WHERE and GROUP BY.

    def _where(self) -> str | None:
        if TokenType.WHERE not in self._clauses.starts:
            return None
        words = self._clauses.get(TokenType.WHERE)
        if not words:
            raise self._source.error(
                self._clauses.starts[TokenType.WHERE], "something is missing after WHERE"
            )
        names = list(self._dataset.columns)
        return str(
            self._located(words, lambda: Predicate.parse(self._source.within(words)).normal(names))
        )

    def _located(self, words: Words, work: Callable[[], Found]) -> Found:
        """What the work gives; its error points at the word that it names, or at all of them."""
        try:
            return work()
        except InputError as error:
            raise located(self._source, words, error) from None

    def _group(self, words: Words) -> str:
        column = self._column(words[0]) if len(words) == 1 else None
        if column is None:
            raise self._source.error(
                words, f"GROUP BY takes columns with public keys; {self._with_keys()}"
            )
        if self._dataset.columns[column].keys is None:
            raise self._source.error(
                words, f"{column!r} has no public keys in the policy; {self._with_keys()}"
            )
        if column in self._by:
            raise self._source.error(words, f"{column!r} stands in GROUP BY twice")
        return column

    def _with_keys(self) -> str:
        names = [name for name, column in self._dataset.columns.items() if column.keys is not None]
        return f"such are {', '.join(map(repr, names))}" if names else "the policy has none"

    def _column(self, word: Word) -> str | None:
        return _named(word, self._dataset.columns) if word.is_name else None

    def _known(self, word: Word) -> str:
        found = self._column(word)
        if found is None:
            raise self._source.error(
                word,
                (
                    f"there is no column {word.text!r} in {self._dataset.name!r}; "
                    f"{nearest(word.text, self._dataset.columns)}"
                ),
            )
        return found

    # SELECT.

    def _items(self) -> list[Item]:
        parts = self._listed(TokenType.SELECT)
        if len(parts) > MOST_ITEMS:
            raise self._source.error(
                parts[MOST_ITEMS], f"a question may have at most {MOST_ITEMS} columns"
            )
        items = [self._item(words) for words in parts]
        for item, words in zip(items, parts, strict=True):
            if item.what in ("low", "high") and item.of not in self._titles:
                raise self._source.error(
                    words,
                    (
                        f"there is no value {item.of!r} in this question; "
                        f"{nearest(item.of, self._titles)}"
                    ),
                )
        titles = [item.title for item in items]
        for item, words in zip(items, parts, strict=True):
            if titles.count(item.title) > 1:
                raise self._source.error(
                    words, f"two columns have the name {item.title!r}; name one of them with AS"
                )
        return items

    def _item(self, words: Words) -> Item:
        if [word.kind for word in words] == [TokenType.STAR]:
            asked = ", ".join(self._dataset.columns)
            raise self._source.error(
                words,
                (
                    "rows are private, so there is no SELECT *; the columns that may be asked "
                    f"about: {asked}"
                ),
            )
        words, alias = self._alias(words)
        title = alias or usual_name(self._source.within(words))
        if words[0].upper in ENDS and len(words) > 1 and words[1].kind == TokenType.L_PAREN:
            return self._end(words, alias)
        if len(words) == 1 and (column := self._column(words[0])) is not None:
            if column not in self._by:
                raise self._source.error(
                    words,
                    (
                        f"{column!r} is not in GROUP BY, and rows are private; put it there, or "
                        "ask for an aggregate of it"
                    ),
                )
            return Item(alias or column, "key", of=column)
        node = self._released(words, aliases=False)
        if node.kind in ("truth", "text") or not set(node.drawn()):
            raise self._source.error(
                words, "a column of a question is an aggregate, or arithmetic on aggregates"
            )
        self._titles[title] = node
        return Item(title, "value", node)

    def _alias(self, words: Words) -> tuple[Words, str | None]:
        if len(words) > 2 and words[-2].kind == TokenType.ALIAS:
            return words[:-2], self._alias_name(words[-1])
        bare = (
            len(words) > 1
            and words[-1].is_name
            and words[-1].kind in (TokenType.VAR, TokenType.IDENTIFIER)
        )
        if bare and (
            words[-2].kind == TokenType.R_PAREN
            or words[-2].is_name
            or words[-2].kind == TokenType.NUMBER
        ):
            return words[:-1], self._alias_name(words[-1])
        return words, None

    def _alias_name(self, word: Word) -> str:
        if not word.is_name or not word.text:
            raise self._source.error(
                word, "a column is named by a word, or by anything in double quotes"
            )
        return word.text

    def _end(self, words: Words, alias: str | None) -> Item:
        """LOW(alias) or HIGH(alias)."""
        if len(words) != 4 or not words[2].is_name:
            raise self._source.error(
                words, f"write {words[0].upper}(name), with the name of a value of this question"
            )
        end, name = words[0].text.lower(), words[2].text
        return Item(alias or f"{name}_{end}", "low" if end == "low" else "high", of=name)

    def _released(self, words: Words, *, aliases: bool) -> Node:
        return ExpressionParser(
            self._source, words, self._aggregate, self._alias_or_key if aliases else self._key
        ).read()

    def _aggregate(self, name: Word, inside: Words, within: Words) -> Node:
        if name.upper in ENDS:
            raise self._source.error(name, f"{name.upper}(alias) stands by itself in SELECT")
        aggregate = aggregate_of(self._source, name, inside, within, self._operand)
        column = self._dataset.columns.get(str(aggregate.column))
        if column is not None:
            self._located(inside, lambda: check_fits(aggregate, column))
        words = self._source.within([name, *inside, *within])
        known = self._aggregates.setdefault(aggregate, self._new_name(usual_name(words)))
        if aggregate.counts_rows:
            return Drawn("number", known, counts=True)
        domain = None
        if aggregate.needs_column:
            domain = self._domain(aggregate.column)
        if domain is None:
            return Drawn("number", known)
        off_zero = aggregate.stays_in_domain and domain.kind == "number" and not domain.holds_zero
        return Drawn(domain.kind, known, off_zero=off_zero)

    def _new_name(self, name: str) -> str:
        """A name for an aggregate that no other has: prices are shown by it."""
        taken = set(self._aggregates.values())
        return next(
            each
            for each in chain([name], (f"{name}_{number}" for number in count(2)))
            if each not in taken
        )

    def _operand(self, words: Words) -> str:
        """The column of an aggregate, or the name of an expression that is computed for it."""
        if not words:
            raise self._source.error(words, "something is missing in the parentheses")
        if len(words) == 1 and words[0].is_name:
            return self._known(words[0])
        return self._located(words, lambda: self._expression(self._source.within(words)))

    def _expression(self, text: str) -> str:
        names, domains = (
            list(self._dataset.columns),
            {name: column.domain for name, column in self._dataset.columns.items()},
        )
        found = normal(read_expression(text), lambda column: column_named(column, names))
        if isinstance(found, Column):
            return found.name
        name = f"({found})"
        self._computed[name] = Computed(clamped(found, domains), domain_of(found, domains))
        return name

    def _domain(self, column: str | None) -> Domain | None:
        name = str(column)
        return (
            self._computed[name].domain
            if name in self._computed
            else self._dataset.columns[name].domain
        )

    def _key(self, word: Word) -> Node:
        """A column that rows are divided by."""
        column = self._known(word)
        if column not in self._by:
            raise self._source.error(
                word,
                (
                    f"{column!r} is not in GROUP BY, and rows are private; ask for an aggregate "
                    f"of it, such as MEDIAN({column})"
                ),
            )
        keys = self._dataset.columns[column].keys or ()
        return Key(kind_of(keys[0]), column)

    def _alias_or_key(self, word: Word) -> Node:
        found = _named(word, self._titles)
        return self._titles[found] if found is not None else self._key(word)

    # HAVING, ORDER BY, LIMIT.

    def _having(self) -> Node | None:
        if TokenType.HAVING not in self._clauses.starts:
            return None
        words = self._clauses.get(TokenType.HAVING)
        if not words:
            raise self._source.error(
                self._clauses.starts[TokenType.HAVING], "something is missing after HAVING"
            )
        node = self._released(words, aliases=True)
        if node.kind != "truth":
            raise self._source.error(
                words, "HAVING takes a condition on the released values, such as HAVING n > 100"
            )
        return node

    def _ordering(self, words: Words, items: list[Item]) -> tuple[Node, bool]:
        descending = words[-1].upper == "DESC"
        if words[-1].upper in ("ASC", "DESC"):
            words = words[:-1]
        if not words:
            raise self._source.error(
                self._clauses.starts[TokenType.ORDER_BY], "something is missing in ORDER BY"
            )
        node = self._released(words, aliases=True)
        if isinstance(node, Constant):
            place = (
                int(node.literal) if node.kind == "number" and node.literal.denominator == 1 else 0
            )
            if not 1 <= place <= len(items) or items[place - 1].what in ("low", "high"):
                raise self._source.error(
                    words, "ORDER BY takes a value, a key, or the number of one of the columns"
                )
            item = items[place - 1]
            node = item.node or self._key_node(item.of)
        return node, descending

    def _key_node(self, column: str) -> Node:
        return Key(kind_of((self._dataset.columns[column].keys or ("",))[0]), column)

    def _whole(self, kind: TokenType) -> int | None:
        if kind not in self._clauses.starts:
            return None
        words = self._clauses.get(kind)
        if (
            len(words) != 1
            or words[0].kind != TokenType.NUMBER
            or not words[0].text.isdigit()
            or len(words[0].text) > 9
        ):
            name = self._clauses.starts[kind]
            raise self._source.error(words or name, f"{name.upper} takes a whole number")
        return int(words[0].text)


def located(source: SqlText, words: Words, error: InputError) -> InputError:
    """An error that points at the word that it names, or at all words that it is about."""
    message = str(error)
    if "\n" in message:
        return error
    # What is wrong is named before what is meant instead.
    places = {
        word: max(message.find(repr(word.text)), message.find(f"function {word.text} "))
        for word in words
    }
    named = sorted((place, word.start, word) for word, place in places.items() if place >= 0)
    return source.error(named[0][-1] if named else words, message.replace("in a predicate", "here"))
