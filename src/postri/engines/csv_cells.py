"""The cells of CSV files as typed columns inside DuckDB, which reads most of them itself.

Numbers of up to 18 digits are whole multiples of 1 or of 10^-6, 10^-12 or 10^-16, days are days and
moments microseconds: from there on whole-number arithmetic is exact. Longer numbers are read in
double precision where that leaves no doubt of their index. For all other cells DuckDB calls the one
grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from postri.columns import BOOLEAN, TEXT, ColumnType, integer_type
from postri.engines.base import Bracket
from postri.engines.dialects.duckdb import DuckDialect
from postri.engines.dialects.protocol import Cells
from postri.engines.duckdb import Function
from postri.engines.grammar import read, read_index
from postri.engines.held import key_of, read_as, unit_of
from postri.engines.keys import keys_of
from postri.engines.reading import FLOAT_INDEX, Reading
from postri.engines.rows import KeyColumn, Selection, UnitColumn
from postri.expressions import Input
from postri.grid import Grid

INDEX = "index"
DIGITS, SCALES, MICROSECOND = 18, (6, 12, 16), Fraction(1, 10**6)
WHOLE, WHOLE_NUMBER = f"[+-]?[0-9]{{1,{DIGITS}}}", "TRY_CAST({0} AS BIGINT)"
PLAIN, DOUBLE_NUMBER = "[+-]?[0-9]{1,40}([.][0-9]{0,40})?", "TRY_CAST({0} AS DOUBLE)"
SHORT = "[+-]?([0-9]{1,40}[.]?[0-9]{0,40}|[.][0-9]{1,40})([eE][+-]?[0-9]{1,2})?"
NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity)"
# DuckDB knows a year before the first.
DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
DAY_NUMBER = (
    "CASE WHEN {0} >= '0001' THEN date_diff('day', DATE '1970-01-01', TRY_CAST({0} AS DATE)) END"
)
MOMENT = f"{DAY}([ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{{1,6}})?)?"
MOMENT_NUMBER = "CASE WHEN {0} >= '0001' THEN epoch_us(TRY_CAST({0} AS TIMESTAMP)) END"
# Cells that are alike are read once, as far as there is room.
REMEMBERED = 1 << 16


@dataclass(frozen=True)
class Form:
    """A usual form of cells: the pattern that they match, the whole number that a cell `{0}` means,
    and of which unit.
    """

    pattern: str
    number: str
    unit: Fraction


class TypedRecords:
    """Typed columns of the records of a file, as a question asks for them: a relation, and the
    functions that it calls.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._places: set[int] = set()
        self._expressions: dict[str, str] = {}
        self._indexed: Callable[[str], str] | None = None
        self.types: dict[str, str] = {}
        self.inputs: dict[str | Input, Cells] = {}
        self.functions: dict[str, Function] = {}

    @property
    def places(self) -> list[int]:
        """The places of the columns whose texts are wanted; the text at place 3 is called `cell3`."""
        return sorted(self._places)

    def relation(self, texts: str) -> str:
        """The typed columns from a relation of such texts."""
        typed = (
            "SELECT "
            f"{', '.join(['*', *(f'{each} AS {name}' for name, each in self._expressions.items())])} "
            f"FROM {texts}"
        )
        return f"({typed if self._indexed is None else self._indexed(typed)}) AS records"

    def select(self, rows: Selection) -> Selection:
        """The rows that a question selects, in terms of typed columns."""
        self.read(rows.where.inputs if rows.where else ())
        keys = tuple(self._key(f"key{i}", key) for i, key in enumerate(rows.keys))
        if rows.units is None:
            return replace(rows, keys=keys)
        unit = self._add(
            "unit", "VARCHAR", self._unit(self._cell(rows.units.column), rows.units.type)
        )
        return replace(rows, keys=keys, units=UnitColumn(unit, TEXT, rows.units.rows))

    def read(self, inputs: Iterable[Input]) -> None:
        """Columns as predicates and expressions read them."""
        for wanted in inputs:
            if wanted not in self.inputs:
                name = f"input{len(self.inputs)}"
                self._expressions[name] = self._typed(self._cell(wanted.column), wanted.type)
                self.inputs[wanted] = Cells(wanted.type, name)

    def present(self, column: str, declared: ColumnType) -> str:
        """A column that is null where a cell cannot be read as what was declared; where it is
        empty, if nothing was.
        """
        cell, whole = (
            self._cell(column),
            declared.unit == 1 and declared.kind == "number" and declared != BOOLEAN,
        )
        read = (
            self._unit(cell, declared)
            if whole
            else self._typed(cell, TEXT if declared.kind is None else declared)
        )
        return self._add(
            "present", "BIGINT", f"CASE WHEN {read} IS NOT NULL THEN CAST(1 AS BIGINT) END"
        )

    def index(self, column: str, grid: Grid, *, whole: bool) -> str:
        """A column that tells where on a grid the cells of another lie.

        `whole` reads whole numbers only.
        """
        cell = self._cell(column)
        called = self._called(cell, lambda text: read_index(text, grid, whole=whole), "BIGINT")
        self._indexed = lambda typed: _indexed(typed, cell, grid, called, whole=whole)
        self.types[INDEX] = "BIGINT"
        return INDEX

    def _cell(self, column: str) -> str:
        place = self._names.index(column)
        self._places.add(place)
        return f"cell{place}"

    def _add(self, name: str, declared: str, expression: str) -> str:
        self._expressions[name], self.types[name] = expression, declared
        return name

    def _called(
        self, cell: str, read: Callable[[str], int | float | str | None], returns: str
    ) -> str:
        name = f"postri_read{len(self.functions)}"
        self.functions[name] = Function(lru_cache(REMEMBERED)(read), returns)
        return f"{name}({cell})"

    def _typed(self, cell: str, wanted: ColumnType) -> str:
        """A cell read as this type: raw, a text, or null."""
        if wanted.kind == "text":
            return f"nullif({cell}, '')"
        if wanted == BOOLEAN:
            return "CAST(NULL AS BIGINT)"
        usual = None
        if wanted.kind == "number":
            usual = (
                (PLAIN, DOUBLE_NUMBER)
                if wanted.unit is None
                else (WHOLE, WHOLE_NUMBER)
                if wanted.unit == 1
                else None
            )
        elif wanted.kind == "date":
            usual = DAY, DAY_NUMBER
        elif not wanted.zoned and wanted.unit == MICROSECOND:
            usual = MOMENT, MOMENT_NUMBER
        return _either(
            cell,
            usual,
            self._called(
                cell,
                lambda text: read_as(text, wanted),
                "DOUBLE" if wanted.unit is None else "BIGINT",
            ),
        )

    def _unit(self, cell: str, declared: ColumnType) -> str:
        """The text of a unit."""
        if declared.kind != "number":
            return self._typed(cell, TEXT)
        usual = WHOLE, f"CAST({WHOLE_NUMBER} AS VARCHAR)"
        return _either(
            cell, usual, self._called(cell, lambda text: unit_of(text, declared), "VARCHAR")
        )

    def _key(self, name: str, keys: KeyColumn) -> KeyColumn:
        """A column of keys: of texts, of whole numbers, or of the numbers that keys have among all
        others.
        """
        cell = self._cell(keys.column)
        if keys.type.kind == "text":
            return KeyColumn(self._add(name, "VARCHAR", self._typed(cell, TEXT)), TEXT, keys.raws)
        exact = [
            None if raw is None or isinstance(raw, str) else Fraction(raw * (keys.type.unit or 1))
            for raw in keys.raws
        ]
        known: Mapping[Any, int] = {
            each: number for number, each in enumerate(exact) if each is not None
        }
        raws: tuple[int | None, ...] = tuple(range(len(exact)))
        if (
            keys.type.kind == "number"
            and keys.type != BOOLEAN
            and all(each.denominator == 1 and abs(each) < 2**63 for each in known)
        ):
            raws, called = (
                tuple(None if each is None else int(each) for each in exact),
                self._called(cell, _whole_of(known), "BIGINT"),
            )
            expression = _either(cell, (WHOLE, WHOLE_NUMBER), called)
        else:
            expression = _either(
                cell,
                None,
                self._called(cell, lambda text: known.get(key_of(text, keys.type)), "BIGINT"),
            )
        return KeyColumn(self._add(name, "BIGINT", expression), integer_type(64), raws)


def _either(cell: str, usual: tuple[str, str] | None, called: str) -> str:
    """A cell of the usual form as DuckDB reads it, any other by a function; null where it is empty."""
    form = (
        f"WHEN regexp_full_match({cell}, '{usual[0]}') THEN {usual[1].format(cell)} "
        if usual
        else ""
    )
    return f"CASE {form}WHEN {cell} <> '' THEN {called} END"


def _whole_of(known: Mapping[Any, int]) -> Callable[[str], int | None]:
    """The whole number that a text means, if it is one of those that are known."""

    def whole(text: str) -> int | None:
        number = read(text, "number")
        return int(number) if isinstance(number, Fraction) and number in known else None

    return whole


def _indexed(typed: str, cell: str, grid: Grid, called: str, *, whole: bool) -> str:
    """Rows with the index of a cell beside what they have."""
    forms = [(form, index) for form in _forms(grid, whole=whole) if (index := _index(form, grid))]
    patterns, indexes = [form.pattern for form, _ in forms], [index for _, index in forms]
    near = None if whole or grid.kind != "number" else _near_index(grid, called)
    doubles = (
        f"CASE kind WHEN {len(patterns)} THEN {DOUBLE_NUMBER.format(cell)} END" if near else "NULL"
    )
    if near:
        patterns, indexes = [*patterns, SHORT], [*indexes, near]
    if grid.kind != "date":
        patterns, indexes = (
            [*patterns, NUMBER if grid.kind == "number" else f"{DAY}.+"],
            [*indexes, called],
        )
    kinds = " ".join(
        f"WHEN regexp_full_match({cell}, '{pattern}') THEN {i}"
        for i, pattern in enumerate(patterns)
    )
    raws = " ".join(
        f"WHEN {i} THEN {form.number.format(cell)}" for i, (form, _) in enumerate(forms)
    )
    found = " ".join(f"WHEN {i} THEN {index}" for i, index in enumerate(indexes))
    named = f"SELECT *, CASE {kinds} END AS kind FROM ({typed}) AS typed"
    numbered = (
        f"SELECT *, {f'CASE kind {raws} END' if raws else 'NULL'} AS raw, {doubles} AS near FROM "
        f"({named}) AS named"
    )
    return f'SELECT *, CASE kind {found} END AS "{INDEX}" FROM ({numbered}) AS numbered'


def _forms(grid: Grid, *, whole: bool) -> Iterator[Form]:
    if grid.kind == "date":
        yield Form(DAY, DAY_NUMBER, Fraction(1))
        return
    if grid.kind == "timestamp":
        if not grid.zoned:
            yield Form(MOMENT, MOMENT_NUMBER, MICROSECOND)
        return
    yield Form(WHOLE, WHOLE_NUMBER, Fraction(1))
    for scale in SCALES:
        scaled = (
            f"CAST(TRY_CAST({{0}} AS DECIMAL({DIGITS},{scale})) AS DECIMAL(38,{scale})) * "
            f"CAST({10**scale} AS DECIMAL(38,0))"
        )
        number, unit = f"TRY_CAST({scaled} AS BIGINT)", Fraction(1, 10**scale)
        if whole:
            number, unit = (
                f"CASE WHEN {number} % {10**scale} = 0 THEN {number} // {10**scale} END",
                Fraction(1),
            )
        yield Form(f"[+-]?[0-9]{{1,{DIGITS - scale}}}[.][0-9]{{1,{scale}}}", number, unit)


def _index(form: Form, grid: Grid) -> str | None:
    """The index of a raw number of this form; None if whole numbers of 64 bits cannot tell it on
    this grid.
    """
    keys = keys_of(Reading(grid, form.unit), Bracket(grid.first, grid.last), DuckDialect())
    return (
        None
        if keys.shift is None
        else f"CAST(CAST({keys.key} AS HUGEINT) + {keys.shift} AS BIGINT)"
    )


def _near_index(grid: Grid, called: str) -> str | None:
    """The index of a number to which `near` is the nearest of double precision; None on a grid that
    is too fine for that.

    Where its place is in doubt, a function is called.
    """
    start, step, double = float(grid.base), float(grid.step), DuckDialect().double
    if max(abs(grid.first), abs(grid.last), abs(start) / step) + 1 >= FLOAT_INDEX:
        return None
    place = f"((near - {double(start)}) / {double(step)})"
    nearest = f"floor({place} + {double(0.5)})"
    beyond = (
        f"WHEN {place} < {double(grid.first - 1.0)} THEN {grid.first} WHEN {place} > "
        f"{double(grid.last + 1.0)} THEN {grid.last}"
    )
    inside = (
        f"CAST(least(greatest({nearest}, {double(float(grid.first))}), "
        f"{double(float(grid.last))}) AS BIGINT)"
    )
    return (
        f"CASE {beyond} WHEN abs({place} - {nearest}) < {double(0.5 - Reading(grid, None).doubt)} "
        f"THEN {inside} ELSE {called} END"
    )
