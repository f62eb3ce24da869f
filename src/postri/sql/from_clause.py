"""FROM: the dataset that is asked, and the name by which its columns may be called."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from sqlglot import TokenType

from postri.errors import nearest
from postri.question.dataset import KnownDataset
from postri.sql.clauses import SUBQUERIES, Clauses
from postri.sql.text import SqlText, Word, Words

NAMES = (TokenType.VAR, TokenType.IDENTIFIER)


def read_from(
    source: SqlText, clauses: Clauses, datasets: Mapping[str, KnownDataset]
) -> tuple[KnownDataset, Clauses]:
    """The dataset, and the clauses with its columns called by their own names: `b.age` in
    `FROM bank AS b` is `age`.
    """
    words = clauses.get(TokenType.FROM)
    if not words:
        start = clauses.starts.get(TokenType.FROM, ())
        raise source.error(start, f"FROM names the dataset to ask; {nearest('', datasets)}")
    if any(word.kind == TokenType.L_PAREN for word in words):
        raise source.error(words, SUBQUERIES)
    if any(word.kind == TokenType.COMMA for word in words):
        raise source.error(
            words,
            "one dataset at a time: joins are not answered, because they can multiply one "
            "person's rows",
        )
    name = words[0]
    qualifier = _alias(source, words) or name
    found = named(name, datasets)
    if found is None:
        raise source.error(
            name, f"there is no dataset {name.text!r}; {nearest(name.text, datasets)}"
        )
    return datasets[found], _unqualified(source, clauses, qualifier)


def _alias(source: SqlText, words: Words) -> Word | None:
    """The other name of the dataset, if it has one; AS may be left out."""
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


def _unqualified(source: SqlText, clauses: Clauses, qualifier: Word) -> Clauses:
    """The clauses without the name of the dataset before those of its columns."""
    found: dict[TokenType, list[Word]] = {}
    for kind, words in clauses.words.items():
        if kind == TokenType.FROM:
            found[kind] = words
        else:
            found[kind] = _without(source, words, qualifier)
    return replace(clauses, words=found)


def _without(source: SqlText, words: Words, qualifier: Word) -> list[Word]:
    kept = []
    place = 0
    while place < len(words):
        word = words[place]
        following = words[place + 1 : place + 3]
        if word.is_name and [each.kind for each in following[:1]] == [TokenType.DOT]:
            if len(following) < 2:
                raise source.error(following, "something is missing after this")
            if named(word, {qualifier.text: None}) is None:
                raise source.error(
                    word,
                    f"there is no table {word.text!r} in this question; write "
                    f"{qualifier.text}.x, or x alone",
                )
            source.leave_out(word.start, following[0].end)
            place += 2
        else:
            kept.append(word)
            place += 1
    return kept


def named(word: Word, names: Collection[str]) -> str | None:
    """The name that a word means: to the letter in double quotes, otherwise in any case."""
    if word.text in names:
        return word.text
    if word.kind == TokenType.IDENTIFIER:
        return None
    alike = [name for name in names if name.casefold() == word.text.casefold()]
    return alike[0] if len(alike) == 1 else None
