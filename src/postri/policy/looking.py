"""What types, bounds, keys and units do to the rows. NOT PRIVATE: exact counts, for the steward
alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Literal

from postri.engines.csv_format import CsvFormat
from postri.engines.lost import Lost, LostCells
from postri.engines.resolve import policy_source_of
from postri.engines.rows import Key, Rows, Units
from postri.engines.table import Table
from postri.errors import InputError, Problem, nearest
from postri.exact import shown
from postri.expressions import Predicate, tree
from postri.policy.checking import open_dataset
from postri.policy.model import ColumnPolicy, Dataset, Policy, type_name
from postri.privacy import AddOrRemoveUnits, ReplaceUnits

# How many lines or rows are told of each kind of loss.
FIRST_FEW = 5
# The bounds on the rows of each unit that are tried, and the share of rows that is worth keeping.
BOUNDS = (1, 2, 5, 10, 20, 50, 100)
WORTH_KEEPING = Fraction(95, 100)
# What a CSV column is tried as where nobody says what it holds: the narrowest first.
READINGS = ("integer", "decimal", "date", "timestamp")
TEXT = "text"
# The shares that a steward may be offered to accept, in per cent.
OFFERS = tuple(map(Fraction, ("0", "0.1", "0.5", "1", "2", "5", "10", "20", "50", "100")))


@dataclass(frozen=True)
class ColumnLook:
    """What becomes of the cells of a column, read as a type; None where it has no bounds or no
    keys.

    Of `rows` rows some are no records, some cells are empty, some cannot be read: these are
    dropped. `accepted` is the share of the latter that the policy accepts.
    """

    name: str
    type: str
    rows: int
    read: int
    empty: Lost
    unreadable: Lost
    below: int | None
    above: int | None
    unknown: int | None
    accepted: Fraction | None = None
    line: int = 0

    @property
    def dropped(self) -> int:
        """How many cells do not count."""
        return self.rows - self.read

    @property
    def lost_share(self) -> Fraction:
        """The share of the rows whose cell cannot be read, or that are no records; an empty cell is
        not lost, for there is nothing in it.
        """
        if self.rows == 0:
            return Fraction(0)
        return Fraction(self.dropped - self.empty.count, self.rows)

    @property
    def offer(self) -> Fraction:
        """The least round share that accepts what is lost."""
        return next(each / 100 for each in OFFERS if each / 100 >= self.lost_share)


@dataclass(frozen=True)
class UnitLook:
    """How many rows count if at most a number of each unit do: `kept`, by that number."""

    unit: str
    kept: Mapping[int, int]

    @property
    def units(self) -> int:
        """How many units there are."""
        return self.kept[1]

    def recommended(self, rows: int) -> int | None:
        """The least bound that keeps nearly all rows; None if none does, or there are none."""
        if rows == 0:
            return None
        for bound, kept in self.kept.items():
            if kept >= WORTH_KEEPING * rows:
                return bound
        return None


@dataclass(frozen=True)
class Look:
    """The rows of a table, and what happens to them in each column. Exact, so not private.

    `numbered` says what the numbers of losses are of. `left_out` are columns that cannot be looked
    at, each with the reason.
    """

    dataset: str
    rows: int
    columns: tuple[ColumnLook, ...]
    no_record: Lost
    numbered: Literal["line", "row"] = "row"
    units: UnitLook | None = None
    left_out: Mapping[str, str] | None = None

    @property
    def excesses(self) -> list[Problem]:
        """Where more is lost than the policy accepts."""
        return [
            Problem(
                column.line,
                f"more cells of {column.name!r} cannot be read than the "
                f"{float(100 * column.accepted):.10g}% that unreadable accepts",
            )
            for column in self.columns
            if column.accepted is not None and column.lost_share > column.accepted
        ]


def look(policy: Policy, dataset: Dataset) -> Look:
    """Count the cells that are dropped, clamped to a bound, or have a key that is not listed, and
    the rows that bounds on units keep.

    NOT PRIVATE.
    """
    table = open_dataset(policy, dataset)
    own = [column for column in dataset.columns.values() if column.public is None]
    seen = _look(dataset.name, table, [*own, *_unit_column(dataset)])
    if isinstance(dataset.protect, AddOrRemoveUnits | ReplaceUnits):
        bounds = sorted({*BOUNDS, dataset.protect.rows})
        return replace(seen, units=_unit_look(table, dataset.protect.unit, bounds))
    return seen


def look_at_file(
    source: str,
    table: str | None = None,
    *,
    csv: CsvFormat | None = None,
    names: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    unit: str | None = None,
) -> Look:
    """The same for a file or a table that no policy names, as far as that can be told without
    bounds and keys.

    A CSV column whose type is not given is tried as each of several. NOT PRIVATE.
    """
    kind = policy_source_of(source, table)
    style = csv or CsvFormat()
    known = types or {}

    def opened(declared: Mapping[str, str | None]) -> Table:
        return Table(kind.open(source, table, declared, style))

    first = opened(dict.fromkeys(names))
    for name in (*known, *([] if unit is None else [unit])):
        if name not in first.columns:
            raise InputError(f"there is no column {shown(name)}; {nearest(name, first.columns)}")
    if kind.declares_types:
        if known:
            raise InputError("the source declares the types of its columns; leave out --type")
        columns, left_out = _declared_columns(first)
        seen = _look(source, first, columns)
    else:
        columns, left_out = _declared_columns(first)
        tried = []
        for reading in (*READINGS, TEXT):
            read_as = {each.name: known.get(each.name, reading) for each in columns}
            of_type = [replace(each, type=read_as[each.name]) for each in columns]
            tried.append(_look(source, opened({**dict.fromkeys(names), **read_as}), of_type))
        seen = replace(tried[-1], columns=tuple(_telling(tried, known)))
    units = None
    if unit is not None:
        units = _unit_look(first, unit, BOUNDS)
    return replace(seen, units=units, left_out=left_out)


def _declared_columns(table: Table) -> tuple[list[ColumnPolicy], dict[str, str]]:
    """The columns with their declared types, and those that cannot be asked about, with the
    reason.
    """
    columns = []
    left_out = {}
    for name in table.columns:
        try:
            declared = table.declared(name)
        except InputError as error:
            left_out[name] = str(error)
            continue
        columns.append(ColumnPolicy(name, type_name(declared) or TEXT, None, None, 0))
    return columns, left_out


def _telling(tried: Sequence[Look], known: Mapping[str, str]) -> Iterator[ColumnLook]:
    """Of each column the readings that tell something: each that reads more cells than a narrower
    one, and text where no other reads half of them.
    """
    for looks in zip(*(look.columns for look in tried), strict=True):
        *readings, text = looks
        if text.name in known:
            yield text
            continue
        most = 0
        for each in readings:
            if each.read > most:
                most = each.read
                yield each
        if 2 * most < text.read or text.read == 0:
            yield text


def _look(name: str, table: Table, columns: Sequence[ColumnPolicy]) -> Look:
    read = {column.name: Predicate(_readable(table, column)) for column in columns}
    lost = table.lost(read, FIRST_FEW)
    tests = {
        (column.name, what): Predicate(test)
        for column in columns
        for what, test in _tests(column).items()
    }
    found: dict[tuple[str, str], int] = {}
    if tests:
        # All are counted in one scan.
        found = dict(zip(tests, table.matching(list(tests.values())), strict=True))
    looks = tuple(_column_look(column, lost, found) for column in columns)
    return Look(name, lost.rows, looks, lost.no_record, lost.numbered)


def _unit_column(dataset: Dataset) -> Iterator[ColumnPolicy]:
    """The column of units, where analysts do not see it: rows without a unit are dropped."""
    protect = dataset.protect
    if isinstance(protect, AddOrRemoveUnits | ReplaceUnits) and protect.unit not in dataset.columns:
        yield ColumnPolicy(protect.unit, TEXT, None, None, dataset.line)


def _unit_look(table: Table, unit: str, bounds: Sequence[int]) -> UnitLook:
    """The rows that each bound keeps, by a scan for each."""
    kept = {}
    for bound in bounds:
        (kept[bound],) = table.sizes(None, table.bind(Rows(units=Units(unit, bound))))
    return UnitLook(unit, kept)


def _tests(column: ColumnPolicy) -> dict[str, tree.Expression]:
    """Whether a cell lies below or above the bounds, and is one of the keys."""
    cell = tree.Column(column.name, quoted=True)
    tests: dict[str, tree.Expression] = {}
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
    column: ColumnPolicy, lost: LostCells, found: Mapping[tuple[str, str], int]
) -> ColumnLook:
    name = column.name
    empty = lost.empty[name]
    unreadable = lost.unreadable[name]
    read = lost.rows - lost.no_record.count - empty.count - unreadable.count
    unknown = None
    if column.keys is not None:
        unknown = read - found[name, "known"]
    return ColumnLook(
        name=name,
        type=column.type,
        rows=lost.rows,
        read=read,
        empty=empty,
        unreadable=unreadable,
        below=found.get((name, "below")),
        above=found.get((name, "above")),
        unknown=unknown,
        accepted=column.unreadable,
        line=column.line,
    )
