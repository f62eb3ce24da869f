"""What types, bounds and keys do to the rows. NOT PRIVATE: exact counts, for the steward alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

from postri.engines.rows import Key
from postri.engines.table import Table
from postri.expressions import Predicate, tree
from postri.policy.checking import open_dataset
from postri.policy.model import ColumnPolicy, Dataset, Policy
from postri.privacy import AddOrRemoveUnits, ReplaceUnits

EVERYTHING = tree.Boolean(True)


@dataclass(frozen=True)
class ColumnLook:
    """How many rows a column loses or moves; None where it has no bounds or no keys."""

    name: str
    dropped: int
    below: int | None
    above: int | None
    unknown: int | None


@dataclass(frozen=True)
class Look:
    """The rows of a dataset, and what happens to them in each column. Exact, so not private."""

    dataset: str
    rows: int
    columns: tuple[ColumnLook, ...]


def look(policy: Policy, dataset: Dataset) -> Look:
    """Count the rows that are dropped, clamped to a bound, or have a key that is not listed.

    NOT PRIVATE.
    """
    table = open_dataset(policy, dataset)
    columns = [*dataset.columns.values(), *_unit_column(dataset)]
    tests = {
        (column.name, what): test
        for column in columns
        for what, test in _tests(table, column).items()
    }
    # All are counted in one scan.
    every_test = [EVERYTHING, *tests.values()]
    rows, *counts = table.matching([Predicate(test) for test in every_test])
    found = dict(zip(tests, counts, strict=True))
    return Look(dataset.name, rows, tuple(_column_look(column, rows, found) for column in columns))


def _unit_column(dataset: Dataset) -> Iterator[ColumnPolicy]:
    """The column of units, where analysts do not see it: rows without a unit are dropped."""
    protect = dataset.protect
    if isinstance(protect, AddOrRemoveUnits | ReplaceUnits) and protect.unit not in dataset.columns:
        yield ColumnPolicy(protect.unit, "text", None, None, dataset.line)


def _tests(table: Table, column: ColumnPolicy) -> dict[str, tree.Expression]:
    """Whether a cell is read at all, lies below or above the bounds, and is one of the keys."""
    cell = tree.Column(column.name, quoted=True)
    tests = {"read": _readable(table, column)}
    if column.domain is not None:
        tests["below"] = tree.Compare("<", cell, _literal(column.domain.lower))
        tests["above"] = tree.Compare(">", cell, _literal(column.domain.upper))
    if column.keys is not None:
        tests["known"] = tree.In(cell, tuple(map(_literal, column.keys)))
    return tests


def _readable(table: Table, column: ColumnPolicy) -> tree.Expression:
    """Whether a cell is read. One without a type is read as what it is compared with."""
    cell = tree.Column(column.name, quoted=True)
    if table.declared(column.name).kind is not None:
        return tree.Not(tree.IsNull(cell))
    like: Key = ""
    if column.domain is not None:
        like = column.domain.lower
    elif column.keys:
        like = column.keys[0]
    literal = _literal(like)
    # One of the two holds for whatever is read, and neither for what is not.
    return tree.Or((tree.Compare("<", cell, literal), tree.Compare(">=", cell, literal)))


def _literal(value: Key) -> tree.Expression:
    # A truth is a number to Python, and a moment is a date.
    if isinstance(value, str):
        return tree.Text(value)
    if isinstance(value, bool):
        return tree.Boolean(value)
    if isinstance(value, datetime):
        return tree.Moment(value)
    if isinstance(value, date):
        return tree.Day(value)
    return tree.Number(Fraction(value))


def _column_look(
    column: ColumnPolicy, rows: int, found: Mapping[tuple[str, str], int]
) -> ColumnLook:
    name = column.name
    read = found[name, "read"]
    unknown = None
    if column.keys is not None:
        unknown = read - found[name, "known"]
    return ColumnLook(
        name=name,
        dropped=rows - read,
        below=found.get((name, "below")),
        above=found.get((name, "above")),
        unknown=unknown,
    )
