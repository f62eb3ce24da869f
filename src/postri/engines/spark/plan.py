"""Whether a data frame reads stored rows, by its plan: never by a row.

A frame over files of Parquet or ORC, or over rows that the program gave, can be read whatever is in
them; so can some of its columns, under other names. Whatever else a plan holds may compute: casts
and quotients fail on a row, and so may code of Python behind an RDD.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from postri.engines.doubts import doubt

COMPUTES = doubt("a data frame that is not a plain scan", "what its plan computes")

# The steps of a plan that pass rows on as they are, and those that hold them.
PASSING = frozenset(
    ("SubqueryAlias", "View", "Repartition", "RebalancePartitions", "GlobalLimit", "LocalLimit")
)
STORED = frozenset(("LocalRelation", "Range"))
STORED_FORMATS = ("ParquetFileFormat", "OrcFileFormat")
ATTRIBUTE = "AttributeReference"


def doubts_of(frame: Any) -> tuple[str, ...]:
    """Why reading the frame may fail on a row.

    The plan of a frame of Spark Connect is on another machine: it could be anything.
    """
    with suppress(Exception):
        if _is_plain(frame._jdf.queryExecution().analyzed()):
            return ()
    return (COMPUTES,)


def _is_plain(plan: Any) -> bool:
    kind = _kind(plan)
    if kind in STORED:
        return True
    if kind == "LogicalRelation":
        relation = plan.relation()
        is_file = _kind(relation) == "HadoopFsRelation"
        return is_file and _kind(relation.fileFormat()).endswith(STORED_FORMATS)
    if kind == "Project":
        renames = all(map(_is_rename, _items(plan.projectList())))
    else:
        renames = kind in PASSING
    return renames and all(map(_is_plain, _items(plan.children())))


def _is_rename(expression: Any) -> bool:
    """Whether a column is one of those below it, under whatever name."""
    kind = _kind(expression)
    if kind == "Alias":
        kind = _kind(expression.child())
    return kind == ATTRIBUTE


def _kind(thing: Any) -> str:
    return str(thing.getClass().getSimpleName())


def _items(sequence: Any) -> Iterator[Any]:
    """The items of a sequence of Scala."""
    return (sequence.apply(place) for place in range(sequence.size()))
