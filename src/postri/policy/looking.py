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
    """How many rows a column loses or moves; None where the policy gives it no bounds or no keys."""

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
    rows, *counts = _counts(table, [EVERYTHING, *tests.values()])
    found = dict(zip(tests, counts, strict=True))
    return Look(dataset.name, rows, tuple(_seen(column, rows, found) for column in columns))


def _counts(table: Table, tests: list[tree.Expression]) -> list[int]:
    """How many rows there are on which each test holds."""
    return table.matching([Predicate(test) for test in tests])


def _unit_column(dataset: Dataset) -> Iterator[ColumnPolicy]:
    """The column of units, where analysts do not see it: rows without a unit are dropped."""
    protect = dataset.protect
    if isinstance(protect, AddOrRemoveUnits | ReplaceUnits) and protect.unit not in dataset.columns:
        yield ColumnPolicy(protect.unit, "text", None, None, dataset.line)


def _tests(table: Table, column: ColumnPolicy) -> dict[str, tree.Expression]:
    """Whether a cell is read at all, lies below or above the bounds, and is one of the keys."""
    cell, tests = tree.Column(column.name, quoted=True), {"read": _readable(table, column)}
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
    like = _literal(column.domain.lower if column.domain else column.keys[0] if column.keys else "")
    return tree.Or((tree.Compare("<", cell, like), tree.Compare(">=", cell, like)))


def _literal(value: Key) -> tree.Expression:
    if isinstance(value, str | bool):
        return tree.Text(value) if isinstance(value, str) else tree.Boolean(value)
    if isinstance(value, date):
        return tree.Moment(value) if isinstance(value, datetime) else tree.Day(value)
    return tree.Number(Fraction(value))


def _seen(column: ColumnPolicy, rows: int, found: Mapping[tuple[str, str], int]) -> ColumnLook:
    name, read = column.name, found[column.name, "read"]
    unknown = read - found[name, "known"] if column.keys is not None else None
    return ColumnLook(
        name, rows - read, found.get((name, "below")), found.get((name, "above")), unknown
    )
