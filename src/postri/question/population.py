"""What the answers to a question are about: from the question and from declared types alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import product
from typing import TYPE_CHECKING

from postri.answer import Answer
from postri.answer.lazy import LazySequence
from postri.answer.population import Population
from postri.answer.words import shown
from postri.columns import DECLARABLE, ColumnType
from postri.domain import Domain
from postri.engines.rows import Key
from postri.engines.table import Table
from postri.errors import InputError
from postri.expressions import Predicate
from postri.grid import grid_of
from postri.question.dataset import KnownDataset
from postri.statistics.statistic import Asked, Statistic

if TYPE_CHECKING:
    from postri.expressions import tree
    from postri.question.question import Question

LOWEST = "a cell that cannot be read counted as the lower end of the domain"
CLAMPED_FIRST = "its columns clamped to their domains first"


@dataclass(frozen=True)
class CellWords:
    """Which cells of a column an answer looks at, and what becomes of those beyond its domain."""

    which: str | None = None
    taken: str | None = None


def cells_of_table(asked: Asked, table: Table) -> CellWords:
    """The cells of a column by its declared type, on the rows that its own filter leaves."""
    return _filtered(asked.statistic, _cells_of_table(asked, table))


def _filtered(statistic: Statistic, words: CellWords) -> CellWords:
    if statistic.where is None:
        return words
    from postri.expressions.spoken import spoken

    own = f"for which {spoken(statistic.where.expression)}"
    if words.which is None:
        return replace(words, which=own)
    return replace(words, which=f"{own}, {words.which}")


def _cells_of_table(asked: Asked, table: Table) -> CellWords:
    statistic = asked.statistic
    if not statistic.needs_column and statistic.column is None:
        return CellWords()
    if statistic.computed:
        return CellWords(taken=statistic.left_out)
    column = table.column(statistic.column)
    declared = table.declared(column)
    if asked.terms.method.every_row and statistic.needs_column:
        if declared.complete:
            return CellWords()
        return CellWords(taken=LOWEST)
    rounded = True
    if statistic.needs_column:
        rounded = grid_of(declared, statistic.domain).rounded
    return CellWords(_which(statistic, column, declared), _taken(statistic, rounded=rounded))


def _which(statistic: Statistic, column: str | None, declared: ColumnType) -> str | None:
    """The cells that are not left out; None where no cell can be."""
    if declared.complete:
        return None
    if declared.kind is None and statistic.needs_column:
        kind = "number" if statistic.domain is None else statistic.domain.kind
        return f"whose {column or 'cell'} is a {kind}"
    if column is None:
        return "that can be read"
    return f"on which {column} can be read"


def cells_of_dataset(dataset: KnownDataset, asked: Asked) -> CellWords:
    """The same by the policy alone, so that a recorded answer is told as a new one is."""
    return _filtered(asked.statistic, _cells_of_dataset(dataset, asked.statistic))


def _cells_of_dataset(dataset: KnownDataset, statistic: Statistic) -> CellWords:
    if statistic.column is None:
        return CellWords()
    if statistic.computed:
        return CellWords(taken=statistic.left_out)
    known = dataset.columns.get(statistic.column)
    if known is None and statistic.is_of_units(dataset.protect):
        return CellWords(f"on which {statistic.column} can be read")
    if known is None:
        return _cells_of_expression(statistic)
    rounded = True
    if known.type in ("integer", "date") and isinstance(known.domain, Domain):
        rounded = grid_of(DECLARABLE[known.type], known.domain).rounded
    return CellWords(f"on which {known.name} can be read", _taken(statistic, rounded=rounded))


def _cells_of_expression(statistic: Statistic) -> CellWords:
    """Those of an expression, whose text is its name. Its columns are clamped before it is
    computed: what lies beyond their bounds may move it anywhere, and not to an edge alone.
    """
    from postri.expressions.spoken import plain_names

    words = plain_names(str(statistic.column)[1:-1])
    which = f"on which {words} has a value"
    if statistic.fits == "any":
        return CellWords(which)
    own = _taken(statistic, rounded=True)
    if own is None:
        return CellWords(which, CLAMPED_FIRST)
    return CellWords(which, f"{CLAMPED_FIRST}, {own}")


def _taken(statistic: Statistic, *, rounded: bool) -> str | None:
    """What a sum makes of the cells. The interval of a quantile covers it, or says "or beyond"."""
    words = []
    if statistic.about_grid and statistic.domain is not None:
        domain = statistic.domain
        clamped = f"cells clamped to {shown(domain.lower)} to {shown(domain.upper)}"
        if rounded:
            clamped += f" and rounded to steps of {_step(domain)}"
        words.append(clamped)
    if statistic.left_out is not None:
        words.append(statistic.left_out)
    return ", ".join(words) or None


def _step(domain: Domain) -> str:
    """The step in words: "0.01", "7 days", "1 second"."""
    words = shown(domain.step)
    unit = {"number": "", "date": " day", "timestamp": " second"}[domain.kind]
    if unit and domain.step != 1:
        unit += "s"
    return words + unit


def texts_of_table(table: Table) -> set[str]:
    """The columns of texts, by their declared types; those that have one."""
    found = set()
    for name in table.columns:
        with suppress(InputError):
            if table.declared(name).kind == "text":
                found.add(str(name))
    return found


def texts_of_dataset(dataset: KnownDataset) -> set[str]:
    """The same by the policy alone."""
    return {name for name, column in dataset.columns.items() if column.type == "text"}


def misses_texts(where: Predicate, texts: Collection[str]) -> bool:
    """Whether a filter may hold for a text that is too long to be read, but for that.

    One that asks for texts of its own never does: those are short.

    >>> [misses_texts(Predicate.parse(text), {"t"}) for text in ("x > 1 AND t = 'a'", "t <> 'a'")]
    [False, True]
    """
    from postri.expressions import tree

    known = {name.casefold() for name in texts}
    waiting = [where.expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tree.And | tree.Or):
            waiting += part.parts
        elif isinstance(part, tree.Like) or (not _asks_for_literals(part) and _names(part) & known):
            return True
    return False


def _names(part: tree.Expression) -> set[str]:
    from postri.expressions import tree

    return {name.casefold() for name in tree.columns_of(part)}


def _asks_for_literals(part: tree.Expression) -> bool:
    """Whether it holds where a column is one of some literals."""
    from postri.expressions import tree

    if isinstance(part, tree.In):
        return isinstance(part.operand, tree.Column)
    if not isinstance(part, tree.Compare) or part.operator != "=":
        return False
    kinds = [isinstance(side, tree.Column) for side in part.parts]
    literals = [isinstance(side, tree.LITERALS) for side in part.parts]
    return any(kinds) and any(literals)


def about(
    question: Question,
    answers: Sequence[Sequence[Answer]],
    cells: Sequence[CellWords],
    texts: int | None,
) -> LazySequence[list[Answer]]:
    """The answers of all groups, each with the rows that it is about; all in the order of the
    draws. `texts` is how long a text may be that the filter sees, if that matters.
    """
    # Groups may be many: what all of them have in common is made once.
    common = vars(whole_population(question, texts))
    keys = _keys(question)
    assert len(keys) == len(answers)

    def in_group(place: int) -> list[Answer]:
        told = []
        words = tuple(map(_key, keys[place]))
        for answer, each in zip(answers[place], cells, strict=True):
            own = {
                "keys": words,
                "cells": each.which,
                "taken": each.taken,
                "sampled": answer.covers == "population",
            }
            about_rows = Population(**{**common, **own})
            told.append(answer.about(about_rows))
        return told

    return LazySequence(len(keys), in_group)


def whole_population(question: Question, texts: int | None) -> Population:
    """The rows of all groups together."""
    where = None
    if question.where is not None:
        from postri.expressions.spoken import spoken

        where = spoken(question.where.expression)
    rows = Population(where=where, by=question.by, texts=texts, outside=_outside(question))
    units = question.rows.units
    if units is None:
        return rows
    return replace(rows, unit=units.column, most=units.rows)


def _outside(question: Question) -> str | None:
    """What is in no group by the ranges of the keys."""
    if question.groups is None:
        return None
    told = [column.outside for column in question.groups.columns if column.outside is not None]
    return " or ".join(told) or None


def _keys(question: Question) -> list[tuple[Key, ...]]:
    """The keys of each group, in the order in which the question names their columns."""
    columns: dict[str, Sequence[Key]] = {}
    if question.groups is not None:
        columns = {column.name: column.keys for column in question.groups.columns}
    names = list(columns)
    order = [names.index(name) for name in question.by]
    groups = product(*columns.values())
    if order == list(range(len(names))):
        return list(groups)
    return [tuple(keys[place] for place in order) for keys in groups]


def _key(key: Key) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, datetime):
        return key.isoformat(sep=" ")
    if isinstance(key, date):
        return key.isoformat()
    return str(key)
