"""From a text in SQL to a statement: the session's question, and what becomes of its answers.

Nothing else reaches a session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from math import prod
from typing import Literal, TypeVar

from sqlglot import TokenType

from postri.answer.within import Within
from postri.domain import Domain
from postri.engines.rows import MOST_GROUPS, GroupColumn, group_column
from postri.errors import InputError, nearest
from postri.expressions import Predicate
from postri.expressions.binding import CONDITIONS, as_text, column_named
from postri.expressions.grouping import Grouping
from postri.expressions.normal import normal
from postri.expressions.ranges import clamped, domain_of
from postri.expressions.reader import OF_CALENDAR_OR_BINS, read_words
from postri.expressions.spoken import spoken
from postri.expressions.tree import And, Cast, Column, Expression, IsNull, Not
from postri.privacy import protected_unit
from postri.question.dataset import (
    Computed,
    KnownColumn,
    KnownDataset,
    as_grouping,
    check_fits,
    keys_of,
)
from postri.sql.clauses import Clauses, split_clauses
from postri.sql.from_clause import named, read_from
from postri.sql.functions import ENDS, aggregate_of, commas, domain_digits, kind_of_values, widest
from postri.sql.released import (
    RANKS,
    WISH,
    Constant,
    Key,
    ReleasedAggregate,
    ReleasedEnd,
    ReleasedNode,
    ReleasedReader,
    ReleasedSeveral,
    kind_of,
    several_columns,
)
from postri.sql.shown_rows import ShownRows
from postri.sql.statement import Item, Statement
from postri.sql.text import SqlText, Word, Words
from postri.statistics.count import Count
from postri.statistics.registry import usual_name
from postri.statistics.statistic import Statistic

MOST_ITEMS = 100
COUNTS_IF = ("COUNTIF", "COUNT_IF")
# The functions of a row that rows can be divided by.
DIVIDING = OF_CALENDAR_OR_BINS
# The most digits of LIMIT and OFFSET.
MOST_DIGITS = 9
Found = TypeVar("Found")


def read_sql(text: object, datasets: Mapping[str, KnownDataset]) -> Statement:
    """The statement of a text, or InputError that points at the place and says what can be done
    instead.
    """
    source = SqlText(text)
    dataset, clauses, partners = read_from(source, split_clauses(source), datasets)
    return StatementReader(source, clauses, dataset, partners).read()


class StatementReader:
    """Reads the clauses of one SELECT about one dataset.

    `partners` are the public tables in which a row must have one.
    """

    def __init__(
        self,
        source: SqlText,
        clauses: Clauses,
        dataset: KnownDataset,
        partners: Sequence[str] = (),
    ) -> None:
        self._source = source
        self._partners = partners
        self._clauses = clauses
        self._dataset = dataset
        self._aggregates: dict[Statistic, str] = {}
        self._wishes: dict[str, Within] = {}
        self._computed: dict[str, Computed] = {}
        self._titles: dict[str, ReleasedNode] = {}
        self._ends: dict[str, ReleasedEnd] = {}
        # What divides rows, with its keys: a column under its name, an expression under its text.
        self._by: dict[str, GroupColumn] = {}
        self._groupings: dict[str, str | Grouping] = {}
        self._key_titles: dict[str, str] = {}

    def read(self) -> Statement:
        """The statement."""
        where = self._with_partners(self._where())
        for words in self._listed(TokenType.GROUP_BY):
            self._group(words, where)
        items = self._items()
        having = self._having()
        order = [self._ordering(words, items) for words in self._listed(TokenType.ORDER_BY)]
        if not self._aggregates:
            raise self._source.error(
                self._clauses.get(TokenType.SELECT),
                "a question asks for at least one aggregate, such as COUNT(*); rows are private",
            )
        return Statement(
            source=self._source,
            dataset=self._dataset.name,
            items=items,
            aggregates={
                name: aggregate.wished(self._wishes.get(name))
                for aggregate, name in self._aggregates.items()
            },
            computed=dict(self._computed),
            by=dict(self._groupings),
            where=where,
            where_words=self._clauses.get(TokenType.WHERE),
            rows=ShownRows(
                having,
                order,
                self._whole(TokenType.LIMIT),
                self._whole(TokenType.OFFSET) or 0,
            ),
            groups=prod(_most_keys(column) for column in self._by.values()),
        )

    def _listed(self, kind: TokenType) -> list[Words]:
        """The parts of a clause between commas; none if it is not there."""
        if kind not in self._clauses.starts:
            return []
        start = self._clauses.starts[kind]
        parts = commas(self._clauses.get(kind))
        if not all(parts):
            raise self._source.error(start, f"something is missing in {start.upper}")
        return parts

    def _condition(self, kind: TokenType) -> Words:
        """The words of a clause that is there."""
        words = self._clauses.get(kind)
        if not words:
            start = self._clauses.starts[kind]
            raise self._source.error(start, f"something is missing after {start.upper}")
        return words

    # WHERE and GROUP BY.

    def _where(self) -> Predicate | None:
        if TokenType.WHERE not in self._clauses.starts:
            return None
        words = self._condition(TokenType.WHERE)
        return self._predicate(words)

    def _with_partners(self, where: Predicate | None) -> Predicate | None:
        """The filter of a join: rows without a partner are none of the question's."""
        if not self._partners:
            return where
        there = [Not(IsNull(Column(table, quoted=True))) for table in self._partners]
        items = [*there, where.expression] if where else there
        return Predicate(And(tuple(items))).normal(list(self._dataset.columns))

    def _located(self, words: Words, work: Callable[[], Found]) -> Found:
        """What the work gives; its error points at the word that it names, or at all of them."""
        try:
            return work()
        except InputError as error:
            raise self._source.located(words, error) from None

    def _group(self, words: Words, where: Predicate | None) -> None:
        """A part of GROUP BY: a column, an expression, or a name or a number from SELECT."""
        meant = words
        if len(words) == 1 and words[0].kind == TokenType.NUMBER:
            meant = self._select_part(words[0])
        elif len(words) == 1 and self._column(words[0]) is None:
            meant = self._named_part(words[0]) or words
        column = self._column(meant[0]) if len(meant) == 1 else None
        if column is not None and not self._divides(column):
            raise self._source.error(
                words, f"{column!r} has no public keys in the policy; {self._with_keys()}"
            )
        divides: str | Grouping | None = column
        if divides is None and _is_row_expression(meant):
            divides = self._located(meant, lambda: Grouping(self._row_expression(meant)))
        if divides is None:
            raise self._source.error(
                words,
                "GROUP BY takes columns with public keys, and DATE_TRUNC, EXTRACT, WIDTH_BUCKET, "
                f"BINS or CASE; {self._with_keys()}",
            )
        name = column or spoken(as_grouping(divides, self._dataset).expression)
        if name in self._by:
            raise self._source.error(words, f"{name!r} stands in GROUP BY twice")
        by = {name: divides}
        found = self._located(meant, lambda: keys_of(by, self._dataset, where))
        self._by[name] = group_column(name, found[name])
        self._groupings[name] = divides

    def _row_expression(self, words: Words) -> Expression:
        """The normal form of an expression of rows."""
        names = list(self._dataset.columns)
        found = read_words(self._source, words)
        return normal(found, lambda column: column_named(column, names))

    def _named_part(self, word: Word) -> Words:
        """The words of the column of the result that is named so; none if there is no such one."""
        for words in self._listed(TokenType.SELECT):
            part, alias = self._alias(words)
            if alias is not None and named(word, {alias: None}) is not None:
                return part
        return ()

    def _grouped(self, words: Words) -> str | None:
        """The name of the expression of GROUP BY that some words mean; None if they mean none."""
        if not _is_row_expression(words):
            return None
        expression = self._located(words, lambda: self._row_expression(words))
        for name, divides in self._groupings.items():
            if isinstance(divides, Grouping) and divides.expression == expression:
                return name
        raise self._source.error(
            words,
            f"{self._source.within(words)} is not in GROUP BY, and rows are private; put it there, "
            "or ask for an aggregate",
        )

    def _select_part(self, number: Word) -> Words:
        """The words of the column of the result with this number, from 1 on."""
        parts = self._listed(TokenType.SELECT)
        digits = number.text
        if not digits.isdigit() or not 1 <= int(digits[:MOST_DIGITS]) <= len(parts):
            raise self._source.error(
                number, f"GROUP BY {digits} names no column: SELECT has {len(parts)}"
            )
        part, _ = self._alias(parts[int(digits) - 1])
        return part

    def _with_keys(self) -> str:
        names = [name for name in self._dataset.columns if self._divides(name)]
        if not names:
            return "the policy has none"
        return f"columns with keys: {', '.join(map(repr, names))}"

    def _divides(self, name: str) -> bool:
        """Whether rows can be divided by a column: it has public keys, or its keys are found."""
        column = self._dataset.columns[name]
        return column.keys is not None or column.discover

    def _column(self, word: Word) -> str | None:
        return named(word, self._dataset.columns) if word.is_name else None

    def _known(self, word: Word) -> str:
        found = self._column(word)
        if found is None:
            raise self._no_column(word, repr(self._dataset.name), self._dataset.columns)
        return found

    def _no_column(self, word: Word, place: str, names: Iterable[str]) -> InputError:
        hint = nearest(word.text, names)
        if word.kind == TokenType.IDENTIFIER:
            hint = as_text(word.text, hint)
        return self._source.error(word, f"there is no column {word.text!r} in {place}; {hint}")

    # SELECT.

    def _items(self) -> list[Item]:
        parts = self._listed(TokenType.SELECT)
        if len(parts) > MOST_ITEMS:
            raise self._source.error(
                parts[MOST_ITEMS], f"a question may have at most {MOST_ITEMS} columns"
            )
        written = [(item, words) for words in parts for item in self._items_of(words)]
        for item, words in written:
            if item.what in ("low", "high") and item.of not in self._titles:
                raise self._source.error(
                    words,
                    f"there is no value {item.of!r} in this question; "
                    f"{nearest(item.of, self._titles)}",
                )
        items = [item for item, _ in written]
        titles = Counter(item.title for item in items)
        for item, words in written:
            if titles[item.title] > 1:
                raise self._source.error(
                    words, f"two columns have the name {item.title!r}; name one of them with AS"
                )
        self._name_ends(items)
        return items

    def _name_ends(self, items: Sequence[Item]) -> None:
        """By which names conditions and orders know the ends of intervals: those of the columns
        that are written, and those of the columns that are added.
        """
        for item in items:
            if item.what in ("low", "high"):
                self._ends[item.title] = _end_of(item.what, self._titles[item.of])
        for title, node in self._titles.items():
            self._ends.setdefault(f"{title}_low", _end_of("low", node))
            self._ends.setdefault(f"{title}_high", _end_of("high", node))

    def _items_of(self, words: Words) -> list[Item]:
        """The columns that an item of SELECT stands for: one, but for aggregates of several."""
        if [word.kind for word in words] == [TokenType.STAR]:
            asked = ", ".join(self._dataset.columns)
            raise self._source.error(
                words,
                "rows are private, so there is no SELECT *; the columns that may be asked "
                f"about: {asked}",
            )
        words, alias = self._alias(words)
        is_call = len(words) > 1 and words[1].kind == TokenType.L_PAREN
        if is_call and words[0].upper in ENDS:
            return [self._end(words, alias)]
        column = self._column(words[0]) if len(words) == 1 else None
        if column is not None:
            if column not in self._by:
                raise self._not_grouped(words, column)
            return [Item(alias or column, "key", of=column)]
        grouped = self._grouped(words)
        if grouped is not None:
            title = alias or usual_name(self._source.within(words))
            self._key_titles[title] = grouped
            return [Item(title, "key", of=grouped)]
        node = self._released(words, aliases=False)
        name = alias or usual_name(self._source.within(words))
        if isinstance(node, ReleasedSeveral):
            found = {f"{name}{suffix}": each for suffix, each in node.answers.items()}
            self._titles.update(found)
            return [Item(title, "value", each) for title, each in found.items()]
        if node.kind in ("truth", "text") or not set(node.drawn()):
            raise self._source.error(
                words, "a column of a question is an aggregate, or arithmetic on aggregates"
            )
        self._titles[name] = node
        return [Item(name, "value", node)]

    def _alias(self, words: Words) -> tuple[Words, str | None]:
        """An item without its name, and the name if it has one."""
        if len(words) < 2:
            return words, None
        before, last = words[-2], words[-1]
        if last.upper in RANKS and [word.upper for word in words[-3:-2]] == ["WITHIN"]:
            # The unit of a wish, and no name.
            return words, None
        if len(words) > 2 and before.kind == TokenType.ALIAS:
            return words[:-2], self._alias_name(last)
        # AS may be left out: two words side by side, of which the last names the first.
        ends = before.kind in (TokenType.R_PAREN, TokenType.NUMBER) or before.is_name
        is_name = last.is_name and last.kind in (TokenType.VAR, TokenType.IDENTIFIER)
        if ends and is_name:
            return words[:-1], self._alias_name(last)
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
        name = words[2].text
        if words[0].upper == "LOW":
            return Item(alias or f"{name}_low", "low", of=name)
        return Item(alias or f"{name}_high", "high", of=name)

    def _released(self, words: Words, *, aliases: bool) -> ReleasedNode:
        if aliases:
            return ReleasedReader(
                self._source, words, self._aggregate_or_end, self._alias_or_key
            ).read_all()
        return ReleasedReader(self._source, words, self._aggregate, self._key).read_all()

    def _key(self, word: Word) -> ReleasedNode:
        """A column that rows are divided by."""
        column = self._known(word)
        if column not in self._by:
            raise self._not_grouped([word], column)
        return self._key_node(column)

    def _not_grouped(self, words: Words, column: str) -> InputError:
        hint = f"ask for an aggregate of it, such as COUNT({column})"
        if self._dataset.columns[column].keys is not None:
            hint = "put it there, or " + hint
        return self._source.error(
            words, f"{column!r} is not in GROUP BY, and rows are private; {hint}"
        )

    def _key_node(self, column: str) -> ReleasedNode:
        return Key(kind_of(self._by[column].keys[0]), column)

    def _alias_or_key(self, word: Word) -> ReleasedNode:
        title = named(word, self._titles)
        if title is not None:
            return self._titles[title]
        key_title = named(word, self._key_titles)
        if key_title is not None:
            return self._key_node(self._key_titles[key_title])
        end = named(word, self._ends)
        if end is not None and self._column(word) not in self._by:
            return self._ends[end]
        if self._column(word) is None:
            known = [*self._by, *self._key_titles, *self._titles]
            raise self._no_column(word, "the result", known)
        return self._key(word)

    def _aggregate_or_end(
        self, name: Word, inside: Words, within: Words, only: Words, wish: Words
    ) -> ReleasedNode:
        if name.upper not in ENDS:
            return self._aggregate(name, inside, within, only, wish)
        if wish:
            raise self._source.error(wish, f"a wish stands behind an aggregate: write {WISH}")
        title = named(inside[0], self._titles) if len(inside) == 1 else None
        if title is None:
            raise self._source.error(
                [name, *inside],
                f"write {name.upper}(name), with the name of a value of this question; "
                f"{nearest(self._source.within(inside), self._titles)}",
            )
        return _end_of("low" if name.upper == "LOW" else "high", self._titles[title])

    # Aggregates.

    def _aggregate(
        self, name: Word, inside: Words, within: Words, only: Words, wish: Words
    ) -> ReleasedNode:
        """An aggregate, of those rows alone on which the condition of FILTER holds, and as near as
        its wish says.
        """
        if name.upper in ENDS:
            raise self._source.error(name, f"{name.upper}(alias) stands by itself in SELECT")
        if name.upper in COUNTS_IF:
            statistic = self._count_if(name, inside, within)
        else:
            asked = aggregate_of(self._source, name, inside, within, self._operand)
            columns = list(self._dataset.columns)
            statistic = self._located(inside, lambda: asked.normal(columns))
        if only:
            statistic = statistic.filtered(self._both(statistic.where, self._predicate(only)))
        column = self._policy_of(statistic.column)
        if column is not None:
            self._located(inside, lambda: check_fits(statistic, column))
        domain = statistic.domain or self._domain(statistic.column)
        self._located(inside, replace(statistic, domain=domain).check_domain)
        text = self._source.within([name, *inside, *within])
        new_name = self._new_name(usual_name(f"{text}) {self._source.within(only)}"))
        only_name = self._aggregates.setdefault(statistic, new_name)
        if wish:
            self._wish(only_name, wish)
        aggregate = ReleasedAggregate(
            kind_of_values(statistic, domain),
            only_name,
            counts=statistic.counts_rows,
            widest=widest(statistic, domain),
            domain_digits=domain_digits(domain),
            finds_key=statistic.finds_key,
        )
        if statistic.suffixes == ("",):
            return aggregate
        answers = {
            suffix: replace(aggregate, name=aggregate.name + suffix)
            for suffix in statistic.suffixes
        }
        return ReleasedSeveral(aggregate.kind, name.upper, answers)

    def _wish(self, name: str, words: Words) -> None:
        """How near an aggregate is wanted. It is drawn once, so it has one wish."""
        wish = self._located(words, lambda: Within.of(self._source.within(words)))
        if self._wishes.setdefault(name, wish) != wish:
            raise self._source.error(
                words,
                f"the same aggregate is wanted within {self._wishes[name].words} elsewhere, and it "
                "is drawn once: write one of both",
            )

    def _count_if(self, name: Word, inside: Words, within: Words) -> Statistic:
        """COUNTIF(condition): the number of rows on which it holds."""
        if not inside or within:
            raise self._source.error([name, *inside], f"write {name.upper}(x > 10): one condition")
        return Count().filtered(self._predicate(inside))

    def _predicate(self, words: Words) -> Predicate:
        """A condition on rows, in normal form."""
        return self._located(words, lambda: Predicate(self._row_expression(words)))

    def _both(self, one: Predicate | None, other: Predicate) -> Predicate:
        if one is None:
            return other
        both = And((one.expression, other.expression))
        return Predicate(both).normal(list(self._dataset.columns))

    def _new_name(self, name: str) -> str:
        """A name for an aggregate that no other has: prices are shown by it."""
        taken = set(self._aggregates.values())
        names = chain([name], (f"{name}_{number}" for number in count(2)))
        return next(each for each in names if each not in taken)

    def _operand(self, words: Words) -> str:
        """The column of an aggregate, or the name of an expression that is computed for it."""
        if not words:
            raise self._source.error(words, "something is missing in the parentheses")
        if len(words) == 1 and words[0].is_name:
            # The unit need not be a column that may be asked about: who is protected is public.
            unit = named(words[0], protected_unit(self._dataset.protect))
            return unit or self._known(words[0])
        return self._located(words, lambda: self._expression(words))

    def _expression(self, words: Words) -> str:
        domains = {name: column.domain for name, column in self._dataset.columns.items()}
        expression = self._row_expression(words)
        if isinstance(expression, Column):
            return expression.name
        if isinstance(expression, CONDITIONS):
            expression = Cast(expression, "INTEGER")
        name = f"({expression})"
        self._computed[name] = Computed(
            clamped(expression, domains), domain_of(expression, domains)
        )
        return name

    def _domain(self, column: str | None) -> Domain | None:
        """The public domain of an expression or a column; None where there is none."""
        if column is not None and column in self._computed:
            return self._computed[column].domain
        declared = self._policy_of(column)
        return None if declared is None else declared.domain

    def _policy_of(self, column: str | None) -> KnownColumn | None:
        return None if column is None else self._dataset.columns.get(column)

    # HAVING, ORDER BY, LIMIT.

    def _having(self) -> ReleasedNode | None:
        if TokenType.HAVING not in self._clauses.starts:
            return None
        words = self._condition(TokenType.HAVING)
        node = self._released(words, aliases=True)
        if node.kind != "truth":
            raise self._source.error(
                words, "HAVING takes a condition on the released values, such as HAVING n > 100"
            )
        return node

    def _ordering(self, words: Words, items: list[Item]) -> tuple[ReleasedNode, bool]:
        """What rows are ordered by, and whether the largest come first."""
        descending = words[-1].upper == "DESC"
        if words[-1].upper in ("ASC", "DESC"):
            words = words[:-1]
        if not words:
            raise self._source.error(
                self._clauses.starts[TokenType.ORDER_BY], "something is missing in ORDER BY"
            )
        grouped = self._grouped(words)
        if grouped is not None:
            return self._key_node(grouped), descending
        node = self._released(words, aliases=True)
        if isinstance(node, Constant):
            node = self._item_at(node, words, items)
        if isinstance(node, ReleasedSeveral):
            raise self._source.error(words, several_columns(node))
        return node, descending

    def _item_at(self, number: Constant, words: Words, items: list[Item]) -> ReleasedNode:
        """The column of the result with this number, from 1 on."""
        place = 0
        if number.kind == "number" and number.literal.denominator == 1:
            place = int(number.literal)
        if not 1 <= place <= len(items):
            raise self._source.error(
                words, "ORDER BY takes a value, a key, or the number of one of the columns"
            )
        item = items[place - 1]
        if item.what in ("low", "high"):
            return self._ends[item.title]
        return item.node or self._key_node(item.of)

    def _whole(self, kind: TokenType) -> int | None:
        if kind not in self._clauses.starts:
            return None
        words = self._clauses.get(kind)
        digits = words[0].text if len(words) == 1 and words[0].kind == TokenType.NUMBER else ""
        if not digits.isdigit() or len(digits) > MOST_DIGITS:
            start = self._clauses.starts[kind]
            raise self._source.error(
                words or start, f"{start.upper} takes a whole number, such as 10"
            )
        return int(digits)


def _is_row_expression(words: Words) -> bool:
    """Whether words begin as an expression of a row does that can divide rows."""
    if not words:
        return False
    is_called = len(words) > 1 and words[1].kind == TokenType.L_PAREN
    return words[0].kind == TokenType.CASE or (is_called and words[0].upper in DIVIDING)


def _end_of(end: Literal["low", "high"], node: ReleasedNode) -> ReleasedEnd:
    return ReleasedEnd(node.kind, end, node)


def _most_keys(column: GroupColumn) -> int:
    """How many keys a column has, at most where they are to be found."""
    if column.delta is not None:
        return MOST_GROUPS
    return len(column.keys)
