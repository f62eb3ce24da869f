"""Which rows count and how they are divided: a predicate, public keys, and a bound on the rows of
each unit.

All of it is public, and checked against names and declared types before a cell is touched. A row
stays or goes by what stands in it, and in the rows of the same unit, alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import ceil, floor, prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from postri.columns import BOOLEAN, TEXT, UNTYPED, ColumnType, text_type
from postri.domain import MICROSECOND, days, kind_of, microseconds, position
from postri.errors import InputError, nearest
from postri.exact import as_decimal, decimal_places, exact, shown, shown_few
from postri.expressions import Bound, Predicate, Value, kinds

if TYPE_CHECKING:
    from postri.expressions.grouping import Discovery, Grouping, KeyedExpression
    from postri.expressions.tree import Expression

MOST_GROUPS = kinds.MOST_KEYS

Key = kinds.Key
RawKey = int | str | Fraction | None
Keys: TypeAlias = "Sequence[Key] | Grouping | KeyedExpression | Discovery"


@dataclass(frozen=True)
class GroupColumn:
    """What divides rows, under the name that the result has for it: a column and its public keys,
    or an expression and the value that it has for each key. With a `delta` the keys of the column
    are to be found, and there are none until they are.
    """

    name: str
    keys: tuple[Key, ...]
    column: str
    expression: Expression | None = None
    values: tuple[Key, ...] = ()
    outside: str | None = None
    delta: Fraction | None = None

    @property
    def source(self) -> str:
        """What it is whatever it is called: the column, or the text of the expression."""
        if self.expression is None:
            return self.column
        return str(self.expression)


@dataclass(frozen=True)
class Groups:
    """Columns with their public keys. The groups are all combinations, in the order of the keys."""

    columns: tuple[GroupColumn, ...]

    @classmethod
    def of(cls, by: Mapping[str, Keys]) -> Groups:
        """The groups that a caller names, or InputError."""
        if not isinstance(by, Mapping) or not by:
            raise InputError(
                f"by must map columns to their public keys, such as {{'city': ['Oslo', "
                f"'Bergen']}}, or names to what divides rows, such as {{'month': "
                f"by.month('t', '2013-01', '2013-12')}} or {{'city': by.discover('city', "
                f"delta='1e-6')}} for keys that nobody knows, got {shown_few(by)}"
            )
        groups = cls(tuple(group_column(name, keys) for name, keys in by.items()))
        unknown = [column.name for column in groups.columns if column.delta is not None]
        if len(unknown) > 1:
            raise InputError(
                f"the keys of one column can be found in a question, got "
                f"{' and '.join(map(repr, unknown))}; declare the keys of the others"
            )
        if groups.size > MOST_GROUPS:
            raise InputError(
                f"there may be at most {MOST_GROUPS:,} groups, got {groups.size:,}; name fewer keys"
            )
        return groups

    @property
    def size(self) -> int:
        """How many groups there are."""
        return prod(len(column.keys) for column in self.columns)

    @property
    def keys(self) -> list[tuple[Key, ...]]:
        """The keys of each group."""
        return list(product(*(column.keys for column in self.columns)))

    @property
    def unknown(self) -> GroupColumn | None:
        """The column whose keys are to be found, if there is one."""
        for column in self.columns:
            if column.delta is not None and not column.keys:
                return column
        return None

    @property
    def declared_size(self) -> int:
        """How many groups the declared keys make of each key that is found."""
        return prod(len(column.keys) for column in self.columns if column.delta is None)

    def with_found(self, keys: Sequence[Key]) -> Groups:
        """The same with the keys that were found."""
        return Groups(
            tuple(
                column if column.delta is None else replace(column, keys=tuple(keys))
                for column in self.columns
            )
        )


def group_column(name: str, keys: Keys) -> GroupColumn:
    """What divides rows under this name: keys of a column, or an expression with its own."""
    from postri.expressions.grouping import Discovery, Grouping, KeyedExpression

    if isinstance(keys, Grouping):
        if keys.column is not None:
            listed = _checked_keys(name, keys.listed or ())
            return GroupColumn(name, listed, keys.column.name)
        keys = keys.keyed()
    if isinstance(keys, Discovery):
        return GroupColumn(name, (), keys.column, delta=keys.delta)
    if isinstance(keys, KeyedExpression):
        checked = _checked_keys(name, keys.keys)
        return GroupColumn(name, checked, name, keys.expression, keys.values, keys.outside)
    return GroupColumn(name, _checked_keys(name, keys), name)


def _checked_keys(name: object, keys: object) -> tuple[Key, ...]:
    if isinstance(keys, str | bytes | Mapping) or not isinstance(keys, Iterable):
        raise InputError(
            f"the public keys of {shown(name)} must be a list, such as ['Oslo', 'Bergen'], "
            f"got {shown(keys)}"
        )
    found = tuple(keys)
    if not found:
        raise InputError(
            f"name at least one public key of {shown(name)}: keys are never taken from the data"
        )
    for key in found:
        if not isinstance(key, str | int | Decimal | date):
            raise InputError(
                "a public key must be text, a whole number, a decimal, a date or True or "
                f"False, got {shown(key)}"
            )
        _check_key(key)
    if len({(kind_of_key(key), key) for key in found}) < len(found):
        raise InputError(f"the public keys of {shown(name)} must differ from one another")
    if len({kind_of_key(key) for key in found}) > 1:
        raise InputError(
            f"the public keys of {shown(name)} must be of one kind, got {shown(list(found))}"
        )
    return found


def _check_key(key: Key) -> None:
    """Refuse what no cell can be: half of a surrogate pair, NaN and infinities, a moment outside
    the calendar.
    """
    if isinstance(key, Decimal):
        exact(key, "a public key")
    try:
        if isinstance(key, str):
            key.encode()
        elif isinstance(key, datetime):
            microseconds(key)
        else:
            position(key)
    except (ValueError, OverflowError):
        raise InputError(f"no cell can be the public key {shown(key)}; leave it out") from None


def kind_of_key(key: Key) -> str:
    """What kind of column a key belongs to."""
    if isinstance(key, str):
        return "text"
    if isinstance(key, bool):
        return "boolean"
    return kind_of(key)


@dataclass(frozen=True)
class Units:
    """A person is a value of this column; at most `rows` rows of each count."""

    column: str
    rows: int


@dataclass(frozen=True)
class Rows:
    """The rows of a question: on which the predicate holds, divided by keys, bounded by unit."""

    where: Predicate | None = None
    groups: Groups | None = None
    units: Units | None = None

    @property
    def number(self) -> int:
        """How many groups there are; a question without keys has one."""
        return self.groups.size if self.groups else 1


@dataclass(frozen=True)
class KeyColumn:
    """A column to divide by: how its cells are read, and the raw cell of each key (None: no cell is
    that); none at all while its keys are unknown. Its cells are those of a `value`, if it has one.
    """

    column: str
    type: ColumnType
    raws: tuple[RawKey, ...]
    value: Value | None = None

    @property
    def columns(self) -> list[str]:
        """The columns that are read for it."""
        if self.value is None:
            return [self.column]
        return [wanted.column for wanted in self.value.inputs]

    @property
    def ends(self) -> tuple[int, int] | None:
        """The raw cells of the calendar's ends, for which cells beyond it count, as in predicates;
        None where that decides nothing.
        """
        if self.value is not None:
            # What is computed lies inside the calendar.
            return None
        if self.type.kind not in ("date", "timestamp") or self.type.unit is None:
            return None
        calendar: tuple[date, date] = (datetime.min, datetime.max)
        if self.type.kind == "date":
            calendar = (date.min, date.max)
        first, last = map(position, calendar)
        ends = ceil(first / self.type.unit), floor(last / self.type.unit)
        if not set(ends) & set(self.raws):
            return None
        return ends


@dataclass(frozen=True)
class KeySizes:
    """The raw cells that a column has, each once and in their order, and how many rows have each.

    Both are private: which keys there are is so as well.
    """

    raws: NDArray[Any]
    rows: NDArray[np.int64]

    @classmethod
    def in_order(cls, raws: NDArray[Any], rows: NDArray[Any]) -> KeySizes:
        """Those that an engine gives in any order. Texts are compared by their code points."""
        order: Any = np.argsort(raws, kind="stable")
        if raws.dtype == object:
            order = sorted(range(len(raws)), key=raws.tolist().__getitem__)
        return cls(raws[order], rows[order].astype(np.int64))


@dataclass(frozen=True)
class UnitColumn:
    """The column that tells persons apart."""

    column: str
    type: ColumnType
    rows: int


@dataclass(frozen=True)
class Selection:
    """The rows of a question, bound to the columns of a table.

    The number of a group counts its keys, the last column fastest.
    """

    where: Bound | None = None
    keys: tuple[KeyColumn, ...] = ()
    units: UnitColumn | None = None

    @property
    def number(self) -> int:
        """How many groups there are."""
        return prod(len(key.raws) for key in self.keys)

    @property
    def plain(self) -> bool:
        """Whether every row counts, in one group."""
        return self.where is None and self.one_group

    @property
    def one_group(self) -> bool:
        """Whether every row counts that the predicate keeps, in one group."""
        return not self.keys and self.units is None

    @property
    def columns(self) -> list[str]:
        """The columns that it looks at."""
        names = []
        if self.where is not None:
            names += [wanted.column for wanted in self.where.inputs]
        names += [name for key in self.keys for name in key.columns]
        if self.units is not None:
            names.append(self.units.column)
        return list(dict.fromkeys(names))

    def place(self, i: int) -> int:
        """By how much the i-th column's next key moves the number of a group."""
        return prod(len(key.raws) for key in self.keys[i + 1 :])


EVERY_ROW = Selection()


def bind(
    rows: Rows, names: Sequence[str] | None, type_of: Callable[[str], ColumnType]
) -> Selection:
    """The rows in terms of a table's columns, or InputError.

    Looks at names and declared types alone.
    """
    if names is None and rows != Rows():
        raise InputError(
            "the source is one column without a name; where=, by= and units need a table "
            "with named columns"
        )
    known = list(names or ())
    where = None
    if rows.where is not None:
        where = rows.where.bind(known, type_of)
    keys = []
    if rows.groups is not None:
        for each in rows.groups.columns:
            if each.delta is not None and not each.keys:
                keys.append(_unknown_keys(_known(each.column, known), type_of))
            elif each.expression is None:
                keys.append(_key_column(_known(each.column, known), each.keys, type_of))
            else:
                keys.append(_computed_keys(each, each.expression, known, type_of))
    units = None
    if rows.units is not None:
        units = _unit_column(rows.units, known, type_of)
    return Selection(where, tuple(keys), units)


def _known(name: Any, names: Sequence[str]) -> str:
    same = [known for known in names if str(known) == str(name)]
    if not same:
        raise InputError(f"there is no column {shown(name)}; {nearest(str(name), map(str, names))}")
    return same[0]


def _key_column(
    column: str, keys: Sequence[Key], type_of: Callable[[str], ColumnType]
) -> KeyColumn:
    declared = type_of(column)
    if declared.kind is None:
        raws = tuple(key if isinstance(key, str) else position(key) for key in keys)
        return KeyColumn(column, _read_as(keys[0]), raws)
    kind = kind_of_key(keys[0])
    has = "boolean" if declared == BOOLEAN else declared.kind
    if has != kind or (declared.unit is None and has != "text"):
        advice = f"give keys of kind {has}"
        if has == kind and declared.unit is None:
            advice = "divide by bins of it, or give it a type without rounding: whole numbers"
        raise InputError(
            f"the column {column!r} has the declared type {declared.name}, which has no such "
            f"key as {shown(keys[0])}; {advice}"
        )
    if has == "timestamp" and any(
        isinstance(key, datetime) and (key.tzinfo is not None) != bool(declared.zoned)
        for key in keys
    ):
        raise InputError(
            f"the keys of {column!r} must have a time zone just where its declared type "
            f"{declared.name} has one"
        )
    return KeyColumn(column, declared, tuple(_raw_key(key, declared) for key in keys))


def _unknown_keys(column: str, type_of: Callable[[str], ColumnType]) -> KeyColumn:
    """A column whose keys are to be found. Cells of which nothing is declared are read as texts."""
    declared = type_of(column)
    if declared.kind is None:
        declared = TEXT
    if declared.kind == "text" or (declared.kind == "number" and declared.unit is not None):
        return KeyColumn(column, declared, ())
    advice = "declare its keys"
    if declared.kind in ("date", "timestamp"):
        advice = f"divide by a range of it, such as by.day({column!r}, '2013-01-01', '2013-12-31')"
    raise InputError(
        f"the column {column!r} has the declared type {declared.name}; keys can be found of texts "
        f"and of whole numbers: {advice}"
    )


def keys_of_raws(raws: NDArray[Any], declared: ColumnType) -> tuple[Key, ...]:
    """The keys of raw cells that were found.

    >>> keys_of_raws(np.array([1250, 7]), ColumnType("decimal(6,2)", unit=Fraction(1, 100)))
    (Decimal('12.50'), Decimal('0.07'))
    """
    cells = raws.tolist()
    if declared.kind == "text":
        return tuple(map(str, cells))
    if declared == BOOLEAN:
        return tuple(map(bool, cells))
    unit = declared.unit or Fraction(1)
    places = decimal_places(unit) or 0
    if places:
        return tuple(as_decimal(int(cell) * unit, places) for cell in cells)
    return tuple(int(int(cell) * unit) for cell in cells)


def _computed_keys(
    group: GroupColumn,
    expression: Expression,
    names: Sequence[str],
    type_of: Callable[[str], ColumnType],
) -> KeyColumn:
    """The values of an expression to divide by."""
    value = Value.bind(expression, names, type_of)
    raws = tuple(_raw_key(key, value.type) for key in group.values)
    return KeyColumn(group.name, value.type, raws, value)


def _read_as(key: Key) -> ColumnType:
    """How the cells of an untyped column are read: as what the keys are."""
    if isinstance(key, bool):
        return BOOLEAN
    if isinstance(key, str):
        return text_type("text")
    zoned = isinstance(key, datetime) and key.tzinfo is not None
    return replace(UNTYPED, kind=kind_of(key), zoned=zoned)


def _raw_key(key: Key, declared: ColumnType) -> RawKey:
    if isinstance(key, str):
        return key
    whole = _whole_key(key, declared.unit)
    if whole is not None:
        return whole if _is_inside(whole, declared) else None
    raw = position(key) / (declared.unit or 1)
    if raw.denominator != 1 or not _is_inside(raw, declared):
        return None
    return int(raw)


def _whole_key(key: Key, unit: Fraction | None) -> int | None:
    """The raw cell of a key that is whole in the unit: whole numbers are much faster than
    fractions, and keys are many.
    """
    if isinstance(key, datetime):
        return microseconds(key) if unit == MICROSECOND else None
    if unit != 1:
        return None
    if isinstance(key, date):
        return days(key)
    return key if type(key) is int else None


def _is_inside(raw: int | Fraction, declared: ColumnType) -> bool:
    """Whether a cell of this type can be so small, and so large."""
    if declared.low is not None and raw < declared.low:
        return False
    return declared.high is None or raw <= declared.high


def _unit_column(
    units: Units, names: Sequence[str], type_of: Callable[[str], ColumnType]
) -> UnitColumn:
    column = _known(units.column, names)
    declared = type_of(column)
    whole = declared.kind == "number" and declared.unit == 1 and declared != BOOLEAN
    if declared.kind not in ("text", None) and not whole:
        raise InputError(
            f"the column {column!r} has the declared type {declared.name}; a unit column must "
            "hold whole numbers or text"
        )
    return UnitColumn(column, declared, units.rows)
