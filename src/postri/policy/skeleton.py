"""A first policy from a schema alone: no row, no statistic and no size of a file is looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from postri.columns import ColumnType
from postri.engines.csv_format import CsvFormat
from postri.engines.duckdb import COMPRESSED, PATTERN
from postri.engines.resolve import PolicySource, policy_source_of
from postri.engines.table import Table
from postri.errors import InputError
from postri.policy.model import BOUNDED, TYPES, type_name
from postri.policy.section import TODO

BARE = re.compile(r"[A-Za-z0-9_-]+")
ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}
WIDTH = 36

HEAD = """\
# A policy of postri: what may be asked of these data, and what it may cost. Everything in it is \
public.
# It was written from the schema alone. Fill in what is marked TODO, then run: postri check
# Choose bounds and keys from what everybody knows about the subject, never from the rows.
"""
# Lines of the file with what is said beside them.
LEDGER = (
    ('ledger = "postri.ledger"', "where spends are recorded; guard it like the data"),
    (
        '# ledger_head = "head.txt"',
        "better on another disk: the head of the ledger's chain, against tampering",
    ),
)
DATASET: tuple[tuple[str, str], ...] = (
    (
        'version = "1"',
        "another one when the rows change: recorded answers are then no longer given, spends stay",
    ),
    (f'budget = "{TODO}"', 'what all questions together may cost in epsilon, such as "5"'),
    ('accountant = "pure"', 'or "zcdp", with delta = "1e-6"'),
    (
        "# What one person may change: add-or-remove-rows or replace-rows, with rows = how many "
        "rows belong to one person at most;",
        "",
    ),
    (
        '# or add-or-remove-units or replace-units, with unit = "the column of persons" and '
        "rows = how many rows of each count.",
        "",
    ),
    (f'protect = {{ change = "{TODO}", rows = "{TODO}" }}', ""),
    ("# rows = 45000", "about how many rows there are, if that is public: forecasts use it"),
    ("# units = 4000", "about how many persons there are, likewise, if protect names a unit"),
    ('# max_epsilon_per_question = "1"', "the most that one question may cost"),
    ('# allowances = { ann = "2" }', "what an analyst may spend on this dataset in all"),
)
BOUNDS = (
    (f'# lower = "{TODO}"', "a public bound: cells below count as this"),
    (f'# upper = "{TODO}"', "a public bound: cells above count as this"),
)
STEPS = {
    **dict.fromkeys(
        ("decimal", "float"), ('# step = "0.01"', "cells are rounded to it; 1 if left out")
    ),
    "timestamp": ("# step = 1", "in seconds; cells are rounded to it"),
}
UNREADABLE = (
    '# unreadable = "up to 2%"',
    "which share of cells may be lost: after postri check --look, and not for text",
)
KEYS = {
    "text": (f'# keys = ["{TODO}"]', "the public keys to group by: never taken from the rows"),
    "boolean": ("# keys = [true, false]", "to group by it"),
}


def skeleton(
    source: str,
    table: str | None = None,
    *,
    csv: CsvFormat | None = None,
    names: tuple[str, ...] = (),
    folder: str | os.PathLike[str] | None = None,
) -> str:
    """The text of a policy for a source, with places to be filled in.

    `csv` and `names` say how a CSV file is written. The path of a file is written as it is seen
    from `folder`.
    """
    style = csv or CsvFormat()
    kind = policy_source_of(source, table)
    opened = Table(kind.open(source, table, dict.fromkeys(names), style))
    name = toml_key(_dataset_name(source, table))
    dataset = [
        *_source(source, table, kind, folder),
        *_vouching(opened),
        *_style(style, names),
        *DATASET,
    ]
    lines = [HEAD, *_aligned(LEDGER), "", f"[datasets.{name}]", *_aligned(dataset)]
    for column in opened.columns:
        lines += ["", *_column(name, column, opened, kind)]
    return "\n".join(lines) + "\n"


def _aligned(pairs: Iterable[tuple[str, str]]) -> list[str]:
    lines = []
    for line, comment in pairs:
        if comment and len(line) < WIDTH:
            lines.append(f"{line:<{WIDTH}}# {comment}")
        elif comment:
            lines.append(f"{line}  # {comment}")
        else:
            lines.append(line)
    return lines


def _dataset_name(source: str, table: str | None) -> str:
    """The last part of the table's name, or the file's name without its ending; a pattern's folder
    where the name says nothing.
    """
    if table is not None and "/" not in table:
        return re.split(r"\.", table.replace('"', "").replace("`", ""))[-1] or "data"
    path = Path(table or source)
    if path.suffix.lower() in COMPRESSED:
        path = path.with_suffix("")
    for part in (path.stem, path.absolute().parent.name):
        if bare := "".join(sign for sign in part if sign not in PATTERN).strip("-_. "):
            return bare
    return "data"


def _source(
    source: str, table: str | None, kind: PolicySource, folder: str | os.PathLike[str] | None
) -> list[tuple[str, str]]:
    written, comment = kind.written(source, folder)
    lines = [(f"source = {toml_text(written)}", comment)]
    if table is not None:
        lines.append((f"table = {toml_text(table)}", ""))
    return lines


def _vouching(table: Table) -> list[tuple[str, str]]:
    """A source that may fail on a row is refused until the steward has thought about it."""
    if not table.doubts:
        return []
    return [("# vouched = true", f"only if no row can fail: it is {'; '.join(table.doubts)}")]


def _style(style: CsvFormat, names: tuple[str, ...]) -> list[tuple[str, str]]:
    usual = CsvFormat()
    lines = []
    if style.delimiter is not None:
        lines.append(f"delimiter = {toml_text(style.delimiter)}")
    if style.quote != usual.quote:
        lines.append(f"quote = {toml_text(style.quote)}")
    if not style.header:
        lines += ["header = false", f"names = [{', '.join(map(toml_text, names))}]"]
    lines += [f"{name} = {toml_text(getattr(style, name))}" for name in style.formats]
    return [(line, "") for line in lines]


def _column(dataset: str, name: str, table: Table, kind: PolicySource) -> Iterator[str]:
    header = f"[datasets.{dataset}.columns.{toml_key(name)}]"
    try:
        declared = table.declared(name)
    except InputError as error:
        yield from (f"# {header}", f"# left out: {toml_text(str(error))[1:-1]}")
        return
    yield header
    yield from _aligned(_typed(declared, kind))


def _typed(declared: ColumnType, kind: PolicySource) -> list[tuple[str, str]]:
    if not kind.declares_types:
        choices = " | ".join(each for each in TYPES if each != "boolean")
        return [
            ('type = "text"', f"say what it holds: {choices}"),
            *BOUNDS,
            STEPS["decimal"],
            KEYS["text"],
            UNREADABLE,
        ]
    named = type_name(declared) or "text"
    lines = [(f'type = "{named}"', "")]
    if named in BOUNDED:
        lines += BOUNDS
    if named in STEPS:
        lines.append(STEPS[named])
    if named in KEYS:
        lines.append(KEYS[named])
    return lines


def toml_key(name: str) -> str:
    r"""A key as TOML writes it.

    >>> toml_key("age"), toml_key('say "hi"')
    ('age', '"say \\"hi\\""')
    """
    if BARE.fullmatch(name):
        return name
    return toml_text(name)


def toml_text(text: str) -> str:
    """A text as TOML writes it, on one line."""
    signs = []
    for sign in text:
        if sign in ESCAPES:
            signs.append(ESCAPES[sign])
        elif sign.isprintable():
            signs.append(sign)
        else:
            signs.append(f"\\U{ord(sign):08x}")
    return f'"{"".join(signs)}"'
