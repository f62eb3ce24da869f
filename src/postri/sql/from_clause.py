"""FROM: the dataset that is asked, the public tables that stand beside it, and the names by which
their columns may be called.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from sqlglot import TokenType

from postri.errors import InputError, nearest
from postri.question.dataset import KnownDataset
from postri.sql.clauses import JOINS, OF_JOINS, SUBQUERIES, Clauses
from postri.sql.text import SqlText, Word, Words

NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
# Where the names that SELECT gives to values may stand for columns.
OF_RESULTS = (TokenType.HAVING, TokenType.ORDER_BY)


@dataclass(frozen=True)
class Join:
    """A public table, what it is called in the question, and whether rows without a partner
    stay.
    """

    table: str
    qualifier: Word
    keeps_all: bool


def read_from(
    source: SqlText, clauses: Clauses, datasets: Mapping[str, KnownDataset]
) -> tuple[KnownDataset, Clauses, list[str]]:
    """The dataset, the clauses with its columns called by their own names (`b.age` in
    `FROM bank AS b` is `age`, and `p.seats` in `JOIN planes AS p` is `planes.seats`), and the
    public tables in which a row must have a partner.
    """
    words = clauses.get(TokenType.FROM)
    if not words:
        start = clauses.starts.get(TokenType.FROM, ())
        raise source.error(start, f"FROM names the dataset to ask; {nearest('', datasets)}")
    first, joins = _parts(words)
    if not first:
        raise source.error(words, f"FROM names the dataset to ask; {nearest('', datasets)}")
    if any(word.kind == TokenType.L_PAREN for word in first):
        raise source.error(words, SUBQUERIES)
    if any(word.kind == TokenType.COMMA for word in first):
        raise source.error(words, f"one dataset at a time: {JOINS}")
    name = first[0]
    qualifier = _alias(source, first) or name
    found = named(name, datasets)
    if found is None:
        raise source.error(
            name, f"there is no dataset {name.text!r}; {nearest(name.text, datasets)}"
        )
    dataset = datasets[found]
    joined = [_join(source, part, dataset) for part in joins]
    tables = [join.table for join in joined]
    if len(set(tables)) < len(tables):
        raise source.error(words, f"{tables[-1]!r} is joined twice")
    names = Names(source, dataset, qualifier, joined, _aliases(clauses))
    inner = [join.table for join in joined if not join.keeps_all]
    return dataset, names.own(clauses), inner


def _parts(words: Words) -> tuple[list[Word], list[list[Word]]]:
    """The words of the dataset, and those of each join from its first word on."""
    parts: list[list[Word]] = [[]]
    for place, word in enumerate(words):
        begins = _says(word, "JOIN", "INNER", "LEFT")
        continues = place > 0 and _says(words[place - 1], "INNER", "LEFT", "OUTER")
        if begins and not continues:
            parts.append([])
        parts[-1].append(word)
    return parts[0], parts[1:]


def _says(word: Word, *texts: str) -> bool:
    is_keyword = word.kind not in (TokenType.IDENTIFIER, TokenType.STRING)
    return is_keyword and word.upper in texts


def _join(source: SqlText, words: Words, dataset: KnownDataset) -> Join:
    """`[INNER | LEFT [OUTER]] JOIN table [AS name] USING (key)`."""
    kinds = [word.upper for word in words if _says(word, *OF_JOINS)]
    keeps_all = kinds[:1] == ["LEFT"]
    before = [each for each in kinds if each != "USING"]
    rest = words[len(before) :]
    if before not in (["JOIN"], ["INNER", "JOIN"], ["LEFT", "JOIN"], ["LEFT", "OUTER", "JOIN"]):
        raise source.error(words, JOINS)
    using = [place for place, word in enumerate(rest) if _says(word, "USING")]
    tables = _public_tables(dataset)
    if not rest or rest[0].kind not in NAMES:
        raise source.error(words, JOINS)
    table = named(rest[0], tables)
    if table is None:
        raise source.error(rest[0], _not_public(rest[0], dataset, tables))
    key = tables[table]
    form = [TokenType.L_PAREN, None, TokenType.R_PAREN]
    condition = rest[using[0] + 1 :] if using else ()
    is_key = (
        len(condition) == len(form)
        and condition[0].kind == form[0]
        and condition[2].kind == form[2]
        and named(condition[1], {key: None}) is not None
    )
    if not is_key:
        raise source.error(words, f"{table!r} is joined by its key: JOIN {table} USING ({key})")
    qualifier = _alias(source, rest[: using[0]]) or rest[0]
    return Join(table, qualifier, keeps_all)


def _public_tables(dataset: KnownDataset) -> dict[str, str]:
    """The public tables that the policy joins a dataset with, and the keys of each."""
    parts = [column.public for column in dataset.columns.values()]
    return {part.table: part.key for part in parts if part is not None}


def _not_public(word: Word, dataset: KnownDataset, tables: Mapping[str, str]) -> str:
    known = "it has none"
    if tables:
        known = nearest(word.text, tables)
    return (
        f"{word.text!r} is no public table that the policy joins {dataset.name!r} with, and other "
        "joins are not answered: they can multiply one person's rows beyond what the policy "
        f"protects; {known}"
    )


def _alias(source: SqlText, words: Words) -> Word | None:
    """The other name of a table, if it has one; AS may be left out."""
    rest = words[1:]
    if not rest:
        return None
    alias = rest[-1]
    kinds = [word.kind for word in rest[:-1]]
    if kinds not in ([], [TokenType.ALIAS]) or alias.kind not in NAMES or not alias.text:
        raise source.error(
            rest,
            f"after FROM stands one name, or one and an alias: FROM {words[0].text} AS t",
        )
    return alias


def _aliases(clauses: Clauses) -> set[str]:
    """The names that SELECT gives to its values."""
    words = clauses.get(TokenType.SELECT)
    return {
        word.text.casefold() for before, word in pairwise(words) if before.kind == TokenType.ALIAS
    }


@dataclass(frozen=True)
class Names:
    """What the names in the clauses of a question mean."""

    source: SqlText
    dataset: KnownDataset
    qualifier: Word
    joins: list[Join]
    aliases: Collection[str]

    def own(self, clauses: Clauses) -> Clauses:
        """The clauses, in which each column is called by its own name."""
        found: dict[TokenType, list[Word]] = {}
        for kind, words in clauses.words.items():
            if kind == TokenType.FROM:
                found[kind] = words
            else:
                found[kind] = self._own_words(words, of_result=kind in OF_RESULTS)
        return replace(clauses, words=found)

    def _own_words(self, words: Words, *, of_result: bool) -> list[Word]:
        kept: list[Word] = []
        place = 0
        while place < len(words):
            word = words[place]
            following = words[place + 1 : place + 3]
            kinds = [each.kind for each in following]
            if word.is_name and kinds[:1] == [TokenType.DOT]:
                kept.append(self._qualified(word, following))
                place += 3
                continue
            is_alias = bool(kept) and kept[-1].kind == TokenType.ALIAS
            is_result = of_result and word.text.casefold() in self.aliases
            is_call = kinds[:1] == [TokenType.L_PAREN]
            if self.joins and not (is_alias or is_result or is_call):
                word = self._bare(word)
            kept.append(word)
            place += 1
        return kept

    def _qualified(self, word: Word, following: Words) -> Word:
        """A column with the name of its table before it."""
        if len(following) < 2:
            raise self.source.error(following, "something is missing after this")
        dot, column = following
        for join in self.joins:
            if named(word, {join.qualifier.text: None}) is not None:
                return self._public(join, column, [word, dot, column])
        if named(word, {self.qualifier.text: None}) is None:
            raise self._no_table(word)
        self.source.leave_out(word.start, dot.end)
        return column

    def _no_table(self, word: Word) -> InputError:
        known = [join.qualifier.text for join in self.joins]
        others = "".join(f"{name}.x, " for name in known)
        return self.source.error(
            word,
            f"there is no table {word.text!r} in this question; write {others}"
            f"{self.qualifier.text}.x, or x alone",
        )

    def _public(self, join: Join, column: Word, place: Words) -> Word:
        prefix = f"{join.table}."
        known = {
            name.removeprefix(prefix): None
            for name in self.dataset.columns
            if name.startswith(prefix)
        }
        found = named(column, known)
        if found is None:
            raise self.source.error(
                column,
                f"there is no column {column.text!r} in {join.table!r}; "
                f"{nearest(column.text, known)}",
            )
        return _called(f"{prefix}{found}", place)

    def _bare(self, word: Word) -> Word:
        """A name without a table: of a column of the dataset, or of the one public table that has
        it.
        """
        if not word.is_name:
            return word
        own = named(word, self.dataset.columns)
        found = []
        for join in self.joins:
            prefix = f"{join.table}."
            columns = {
                name.removeprefix(prefix): name
                for name in self.dataset.columns
                if name.startswith(prefix)
            }
            column = named(word, columns)
            is_key = own is not None and own == _public_tables(self.dataset)[join.table]
            if column is not None and not is_key:
                found.append(columns[column])
        if own is not None and found:
            found.append(f"{self.qualifier.text}.{own}")
        if len(found) > 1:
            raise self.source.error(
                word, f"{word.text!r} may mean {' or '.join(found)}; write one of them"
            )
        return _called(found[0], [word]) if found else word


def _called(name: str, place: Words) -> Word:
    """A name, to the letter, that stands for some words."""
    return Word(TokenType.IDENTIFIER, name, name.upper(), place[0].start, place[-1].end)


def named(word: Word, names: Collection[str]) -> str | None:
    """The name that a word means: to the letter in double quotes, otherwise in any case."""
    if word.text in names:
        return word.text
    if word.kind == TokenType.IDENTIFIER:
        return None
    alike = [name for name in names if name.casefold() == word.text.casefold()]
    return alike[0] if len(alike) == 1 else None
