"""Public tables: files that the steward vouches for, whose rows stand beside those of datasets.

Nothing in them is private, so they are read when the policy is, and what is wrong is told with its
line. A table has one row a key: a row of a dataset has one partner at most.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from io import StringIO
from pathlib import Path

from postri.columns import DECLARABLE, ColumnType
from postri.domain import EPOCH, Domain
from postri.engines.csv_format import CsvFormat
from postri.engines.grammar import read_as
from postri.errors import InputError, nearest
from postri.exact import shown
from postri.expressions.lookup import Cell, Key, looked_up
from postri.expressions.predicate import Value
from postri.ledger.entries import canonical
from postri.policy.model import ColumnPolicy, PublicColumn

# A join with more rows is better made in the data.
MOST_ROWS = 100_000
# By what a row may be found.
KEY_TYPES = ("text", "integer", "date")
DIGEST = 16


@dataclass(frozen=True)
class PublicTable:
    """A public table: its columns, by the names that a dataset has for them.

    The one that is called as the table itself is 1 where a row has a partner, and NULL elsewhere.
    """

    name: str
    key: str
    columns: Mapping[str, ColumnPolicy]


def read_public_table(
    name: str, path: Path, key: str, columns: Mapping[str, ColumnPolicy], style: CsvFormat
) -> PublicTable:
    """The table of a file, or InputError for the first thing that is wrong with it."""
    header, rows = _records(path, style)
    for wanted in (key, *columns):
        if wanted not in header:
            raise InputError(
                f"{path.name} has no column {shown(wanted)}; {nearest(wanted, header)}"
            )
        if header.count(wanted) > 1:
            raise InputError(f"{path.name} has more than one column {shown(wanted)}")
    declared = columns.get(key) or ColumnPolicy(key, "text", None, None, 0)
    if declared.type not in KEY_TYPES:
        raise InputError(
            f"the key {key!r} has type {declared.type!r}; rows are found by {', '.join(KEY_TYPES)}"
        )
    cells = {
        column.name: _cells(path, rows, header.index(column.name), column)
        for column in (declared, *columns.values())
    }
    keys = _keys(path, key, cells[key])
    partner = ColumnPolicy(name, "integer", None, None, declared.line)
    found = {name: _public(name, declared, partner, keys, [1] * len(keys))}
    for column in columns.values():
        own = replace(column, name=f"{name}.{column.name}")
        found[own.name] = _public(name, declared, own, keys, cells[column.name])
    return PublicTable(name, key, found)


def _records(path: Path, style: CsvFormat) -> tuple[list[str], list[list[str]]]:
    try:
        text = path.read_text(
            encoding=f"{style.encoding}-sig" if _is_utf8(style) else style.encoding
        )
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise InputError(f"{path.name} is not written in {style.encoding}") from None
    if "\0" in text:
        raise InputError(f"{path.name} holds the character NUL, which no database does")
    reader = csv.reader(
        StringIO(text, newline=""),
        delimiter=style.separator(str(path)),
        quotechar=style.quote or None,
        quoting=csv.QUOTE_MINIMAL if style.quote else csv.QUOTE_NONE,
        strict=True,
    )
    try:
        lines = [line for line in reader if line]
    except csv.Error as error:
        raise InputError(f"{path.name} cannot be read in line {reader.line_num}: {error}") from None
    if len(lines) < 2:
        raise InputError(f"{path.name} has no rows below its header")
    header, *rows = lines
    if len(rows) > MOST_ROWS:
        raise InputError(
            f"{path.name} has {len(rows):,} rows; a public table may have {MOST_ROWS:,}"
        )
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise InputError(
                f"row {number} of {path.name} has {len(row)} cells, its header {len(header)}"
            )
    return header, rows


def _is_utf8(style: CsvFormat) -> bool:
    return style.encoding == "utf-8"


def _cells(
    path: Path, rows: Sequence[Sequence[str]], place: int, column: ColumnPolicy
) -> list[Cell | None]:
    """The cells of a column; an empty one is null, and every other must be of its type."""
    declared = DECLARABLE[column.type]
    found = []
    for number, row in enumerate(rows, start=1):
        text = row[place] if declared.kind == "text" else row[place].strip()
        cell = read_as(text, declared) if text else None
        if text and cell is None:
            raise InputError(
                f"row {number} of {path.name}: {shown(text)} in column {column.name!r} is no "
                f"{column.type}"
            )
        found.append(cell)
    if all(cell is None for cell in found):
        raise InputError(f"column {column.name!r} of {path.name} is empty; leave it out")
    return found


def _keys(path: Path, key: str, cells: Sequence[Cell | None]) -> list[Key]:
    first: dict[Key, int] = {}
    for number, cell in enumerate(cells, start=1):
        if cell is None:
            raise InputError(f"row {number} of {path.name} has no key: {key!r} is empty")
        assert not isinstance(cell, float)
        if cell in first:
            raise InputError(
                f"rows {first[cell]} and {number} of {path.name} have the same key; a public "
                "table has one row a key"
            )
        first[cell] = number
    return list(first)


def _public(
    table: str,
    key: ColumnPolicy,
    column: ColumnPolicy,
    keys: Sequence[Key],
    cells: Sequence[Cell | None],
) -> ColumnPolicy:
    rows = tuple(zip(keys, cells, strict=True))
    digest = sha256(canonical([list(map(str, row)) for row in rows]).encode()).hexdigest()
    public = PublicColumn(table, key.name, digest[:DIGEST], key.type, rows)
    domain = column.domain or _domain(column.type, cells)
    return replace(column, domain=domain, public=public, parsed=False)


def _domain(declared: str, cells: Sequence[Cell | None]) -> Domain | None:
    """The range of whole numbers and dates, which the table tells: it is public."""
    known = sorted(int(cell) for cell in cells if isinstance(cell, int))
    if declared not in ("integer", "date") or known[0] == known[-1]:
        return None
    if declared == "integer":
        return Domain(known[0], known[-1])
    first = EPOCH.date().toordinal()
    lower, upper = (type(EPOCH.date()).fromordinal(first + day) for day in (known[0], known[-1]))
    return Domain(lower, upper)


def joined_column(column: ColumnPolicy, declared: ColumnType) -> Value:
    """The cells of a public column beside those of a dataset's key, whose declared type this is."""
    public = column.public
    assert public is not None
    wanted = DECLARABLE[public.key_type]
    if declared.kind is not None:
        fits = declared.kind == wanted.kind and declared.unit == wanted.unit
        if not fits:
            raise InputError(
                f"column {public.key!r} is {declared.name}, and the key of the public table "
                f"{public.table!r} has type {public.key_type!r}; declare the type of the key"
            )
        wanted = declared
    return looked_up(public.key, wanted, public.rows, DECLARABLE[column.type])
