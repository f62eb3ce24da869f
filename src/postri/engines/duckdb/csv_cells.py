"""The cells of CSV files as typed columns inside DuckDB, which reads most of them itself.

Numbers of up to 18 digits are whole multiples of 1 or of 10^-6, 10^-12 or 10^-16, days are days and
moments microseconds: from there on whole-number arithmetic is exact. Longer numbers are read in
double precision where that leaves no doubt of their index. For all other cells DuckDB calls the one
grammar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from postri.columns import BOOLEAN, TEXT, ColumnType, Kind, integer_type
from postri.engines.csv_format import CsvFormat, NumberFormat
from postri.engines.duckdb.dialect import DuckDialect
from postri.engines.duckdb.source import Function, literal
from postri.engines.engine import Bracket
from postri.engines.grammar import is_whole, key_of, read, read_as, read_index, unit_of
from postri.engines.reading import FLOAT_INDEX, Reading, index_of
from postri.engines.rows import KeyColumn, Selection, UnitColumn
from postri.engines.sql.dialect import Cells, filled
from postri.engines.sql.index_keys import keys_of
from postri.expressions import Input, Value
from postri.grid import Grid

INDEX = "index"
# How many digits a number may have to be read as a whole one, and how many of them may stand after
# the point.
DIGITS = 18
SCALES = (6, 12, 16)
MICROSECOND = Fraction(1, 10**6)
# The signs of whole numbers as DuckDB writes them.
SIGNS = frozenset("-0123456789")
# The patterns of usual cells, and how DuckDB reads the cell `{0}`.
WHOLE = f"[+-]?[0-9]{{1,{DIGITS}}}"
WHOLE_NUMBER = "TRY_CAST({0} AS BIGINT)"
PLAIN = "[+-]?[0-9]{1,40}([.][0-9]{0,40})?"
DOUBLE_NUMBER = "TRY_CAST({0} AS DOUBLE)"
SHORT = "[+-]?([0-9]{1,40}[.]?[0-9]{0,40}|[.][0-9]{1,40})([eE][+-]?[0-9]{1,2})?"
NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity)"
# DuckDB knows a year before the first.
DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
DAY_NUMBER = (
    "CASE WHEN {0} >= '0001' THEN date_diff('day', DATE '1970-01-01', TRY_CAST({0} AS DATE)) END"
)
# In UTC, whether it says so or not.
MOMENT = f"{DAY}([ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{{1,6}})?Z?)?"
MOMENT_NUMBER = "CASE WHEN {0} >= '0001' THEN epoch_us(TRY_CAST(rtrim({0}, 'Z') AS TIMESTAMP)) END"
# Cells that are alike are read once, as far as there is room.
REMEMBERED = 1 << 16

# The columns that a question asks for, from the texts of the cells.
TYPED = """
    SELECT {columns}
    FROM {texts}
"""
# Rows with the index of a cell: which form it has, its number in that form, and the index by that.
INDEXED = """
    SELECT *, CASE kind {indexes} END AS "{index}"
    FROM (
        SELECT *, {raw} AS raw, {near} AS near
        FROM (
            SELECT *, CASE {kinds} END AS kind
            FROM ({typed}) AS typed
        ) AS named
    ) AS numbered
"""
# A decimal of a scale, as a multiple of its unit. With 38 digits to compute with, no product
# overflows.
SCALED = """
    TRY_CAST(
        CAST(TRY_CAST({{0}} AS DECIMAL({digits},{scale})) AS DECIMAL(38,{scale}))
        * CAST({factor} AS DECIMAL(38,0)) AS BIGINT
    )
"""
# The index of a number to which `near` is the nearest of double precision; where its place is in
# doubt, a function is called.
NEAR_INDEX = """
    CASE
        WHEN {place} < {below} THEN {first}
        WHEN {place} > {above} THEN {last}
        WHEN abs({place} - {nearest}) < {sure}
            THEN CAST(least(greatest({nearest}, {first_double}), {last_double}) AS BIGINT)
        ELSE {called}
    END
"""


@dataclass(frozen=True)
class CellForm:
    """A usual form of cells: the pattern that they match, the whole number that a cell `{0}` means,
    and of which unit.
    """

    pattern: str
    number: str
    unit: Fraction


WHOLE_FORM = CellForm(WHOLE, WHOLE_NUMBER, Fraction(1))


class TypedRecords:
    """Typed columns of the records of a file, as a question asks for them: a relation, and the
    functions that it calls.
    """

    def __init__(
        self, names: Sequence[str], style: CsvFormat, computed: Mapping[str, Value] | None = None
    ) -> None:
        self._names = names
        self._computed = computed or {}
        self._style = style
        self._text_places: set[int] = set()
        # How many typed columns are read from each.
        self._cell_places: Counter[int] = Counter()
        # Cells that are written in a declared way, as the grammar writes them.
        self._rewritten: dict[str, str] = {}
        self._expressions: dict[str, str] = {}
        self._indexed: Callable[[str], str] | None = None
        self._index_place: int | None = None
        self.types: dict[str, str] = {}
        self.inputs: dict[str | Input, Cells] = {}
        self.functions: dict[str, Function] = {}

    @property
    def text_places(self) -> list[int]:
        """The places of the columns that are wanted as they stand: at place 3, `text3`."""
        return sorted(self._text_places)

    @property
    def cell_places(self) -> list[int]:
        """The places of those that are wanted without the blanks around them: `cell3`."""
        return sorted(self._cell_places)

    @property
    def plain_place(self) -> int | None:
        """The place of the column of which `plain` is wanted too: the whole number that a cell is
        where DuckDB writes it as it stands, else null; its `cell3` is wanted where `plain` is null.
        None if there is no such column, or if others are read from the same cells.
        """
        place = self._index_place
        if place is None or self._cell_places[place] > 1:
            return None
        return place

    @property
    def drops_other_lines(self) -> bool:
        """Whether a line without any cell counts for nothing: an index alone is asked for."""
        return self._indexed is not None and not self._expressions

    def relation(self, texts: str) -> str:
        """The typed columns from a relation of such texts."""
        if self._rewritten:
            rewritten = [f"{each} AS {name}" for name, each in self._rewritten.items()]
            inner = filled(TYPED, columns=", ".join(["*", *rewritten]), texts=texts)
            texts = f"({inner}) AS rewritten"
        columns = [f"{each} AS {name}" for name, each in self._expressions.items()]
        typed = filled(TYPED, columns=", ".join(["*", *columns]), texts=texts)
        if self._indexed is not None:
            typed = self._indexed(typed)
        return f"({typed}) AS records"

    def select(self, rows: Selection) -> Selection:
        """The rows that a question selects, in terms of typed columns."""
        self.read(rows.where.inputs if rows.where else ())
        keys = tuple(self._key(f"key{i}", key) for i, key in enumerate(rows.keys))
        if rows.units is None:
            return replace(rows, keys=keys)
        unit = self._add("unit", "VARCHAR", self._unit(rows.units.column, rows.units.type))
        return replace(rows, keys=keys, units=UnitColumn(unit, TEXT, rows.units.rows))

    def read(self, inputs: Iterable[Input]) -> None:
        """Columns as predicates and expressions read them."""
        for wanted in inputs:
            if wanted not in self.inputs:
                name = f"input{len(self.inputs)}"
                self._expressions[name] = self._typed(wanted.column, wanted.type)
                self.inputs[wanted] = Cells(wanted.type, name)

    def present(self, column: str, declared: ColumnType) -> str:
        """A column that is null where a cell cannot be read as what was declared; where it is
        empty, if nothing was.
        """
        if is_whole(declared):
            read = self._unit(column, declared)
        elif declared.kind is None:
            read = self._typed(column, TEXT)
        else:
            read = self._typed(column, declared)
        present = f"CASE WHEN {read} IS NOT NULL THEN CAST(1 AS BIGINT) END"
        return self._add("present", "BIGINT", present)

    def index(self, column: str, grid: Grid, *, whole: bool) -> str:
        """A column that tells where on a grid the cells of another lie.

        `whole` reads whole numbers only.
        """
        cell = self._cell(column, grid.kind)
        called = self._called(cell, lambda text: read_index(text, grid, whole=whole), "BIGINT")
        self._indexed = lambda typed: _indexed(
            typed, cell, grid, called, whole=whole, plain=self.plain_place is not None
        )
        if self._may_be_plain(grid) and _index(WHOLE_FORM, grid) is not None:
            self._index_place = self._names.index(column)
        self.types[INDEX] = "BIGINT"
        return INDEX

    def _may_be_plain(self, grid: Grid) -> bool:
        """Whether a cell that is written like a whole number always means it."""
        style = self._style
        return grid.kind == "number" and style.numbers.usual and style.quote not in SIGNS

    def _text(self, column: str) -> str:
        """A cell as it stands: every blank of a text counts."""
        place = self._names.index(column)
        self._text_places.add(place)
        return f"text{place}"

    def _cell(self, column: str, kind: Kind) -> str:
        """A cell of a number, a date or a timestamp, in the form that the grammar reads."""
        place = self._names.index(column)
        self._cell_places[place] += 1
        cell = f"cell{place}"
        name = f"{kind}{place}"
        if kind == "number":
            if self._style.numbers.usual:
                return cell
            self._rewritten[name] = _plain_number(cell, self._style.numbers)
            return name
        moments = self._style.dates if kind == "date" else self._style.timestamps
        if moments is None:
            return cell
        if name not in self._rewritten:
            called = self._called(cell, moments.plain, "VARCHAR")
            self._rewritten[name] = f"CASE WHEN {cell} <> '' THEN {called} END"
        return name

    def _add(self, name: str, declared: str, expression: str) -> str:
        self._expressions[name] = expression
        self.types[name] = declared
        return name

    def _called(
        self, cell: str, read: Callable[[str], int | float | str | None], returns: str
    ) -> str:
        name = f"postri_read{len(self.functions)}"
        self.functions[name] = Function(lru_cache(REMEMBERED)(read), returns)
        return f"{name}({cell})"

    def _typed(self, column: str, wanted: ColumnType) -> str:
        """A cell read as this type: raw, a text, or null."""
        if column in self._computed:
            return self._computed[column].sql(DuckDialect(), self._own_cells)
        if wanted.kind == "text":
            return f"nullif({self._text(column)}, '')"
        if wanted == BOOLEAN:
            return "CAST(NULL AS BIGINT)"
        cell = self._cell(column, wanted.kind or "number")
        returns = "DOUBLE" if wanted.unit is None else "BIGINT"
        called = self._called(cell, lambda text: read_as(text, wanted), returns)
        return _either(cell, _usual_form(wanted), called)

    def _own_cells(self, wanted: Input) -> Cells:
        return Cells(wanted.type, self._typed(wanted.column, wanted.type))

    def _unit(self, column: str, declared: ColumnType) -> str:
        """The text of a unit."""
        if declared.kind != "number":
            return self._typed(column, TEXT)
        cell = self._cell(column, "number")
        called = self._called(cell, lambda text: unit_of(text, declared), "VARCHAR")
        return _either(cell, (WHOLE, f"CAST({WHOLE_NUMBER} AS VARCHAR)"), called)

    def _key(self, name: str, keys: KeyColumn) -> KeyColumn:
        """A column of keys: of texts, of whole numbers, or of the numbers that keys have among all
        others.
        """
        if keys.value is not None:
            self.read(keys.value.inputs)
            return keys
        if keys.type.kind == "text":
            text = self._typed(keys.column, TEXT)
            return KeyColumn(self._add(name, "VARCHAR", text), TEXT, keys.raws)
        if keys.column in self._computed or not keys.raws:
            number = self._typed(keys.column, keys.type)
            return replace(keys, column=self._add(name, "BIGINT", number))
        cell = self._cell(keys.column, keys.type.kind or "number")
        unit = keys.type.unit or 1
        exact = [
            None if raw is None or isinstance(raw, str) else Fraction(raw * unit)
            for raw in keys.raws
        ]
        known: Mapping[Any, int] = {
            each: number for number, each in enumerate(exact) if each is not None
        }
        raws: tuple[int | None, ...]
        is_number = keys.type.kind == "number" and keys.type != BOOLEAN
        if is_number and all(each.denominator == 1 and abs(each) < 2**63 for each in known):
            raws = tuple(None if each is None else int(each) for each in exact)
            called = self._called(cell, _whole_of(known), "BIGINT")
            expression = _either(cell, (WHOLE, WHOLE_NUMBER), called)
        else:
            raws = tuple(range(len(exact)))
            called = self._called(cell, lambda text: known.get(key_of(text, keys.type)), "BIGINT")
            expression = _either(cell, None, called)
        return KeyColumn(self._add(name, "BIGINT", expression), integer_type(64), raws)


def _plain_number(cell: str, numbers: NumberFormat) -> str:
    """A number as the grammar writes it; empty where the cell is not written as was declared."""
    plain = cell
    if numbers.thousands:
        plain = f"replace({plain}, {literal(numbers.thousands)}, '')"
    if numbers.decimal != ".":
        plain = f"replace({plain}, {literal(numbers.decimal)}, '.')"
    pattern = literal(numbers.pattern)
    return f"CASE WHEN regexp_full_match({cell}, {pattern}) THEN {plain} ELSE '' END"


def _usual_form(wanted: ColumnType) -> tuple[str, str] | None:
    """The pattern of most cells of a type, and how DuckDB reads them; None if it cannot."""
    if wanted.kind == "number" and wanted.unit is None:
        return PLAIN, DOUBLE_NUMBER
    if wanted.kind == "number":
        return (WHOLE, WHOLE_NUMBER) if wanted.unit == 1 else None
    if wanted.kind == "date":
        return DAY, DAY_NUMBER
    if wanted.unit == MICROSECOND:
        return MOMENT, MOMENT_NUMBER
    return None


def _either(cell: str, usual: tuple[str, str] | None, called: str) -> str:
    """A cell of the usual form as DuckDB reads it, any other by a function; null where empty."""
    if usual is None:
        return f"CASE WHEN {cell} <> '' THEN {called} END"
    pattern, number = usual
    return (
        f"CASE WHEN regexp_full_match({cell}, '{pattern}') THEN {number.format(cell)} "
        f"WHEN {cell} <> '' THEN {called} END"
    )


def _whole_of(known: Mapping[Any, int]) -> Callable[[str], int | None]:
    """The whole number that a text means, if it is one of those that are known."""

    def whole(text: str) -> int | None:
        number = read(text, "number")
        return int(number) if isinstance(number, Fraction) and number in known else None

    return whole


def _indexed(typed: str, cell: str, grid: Grid, called: str, *, whole: bool, plain: bool) -> str:
    """Rows with the index of a cell beside what they have. Where a plain number is among that, the
    cell is a whole number, the first of all forms.
    """
    patterns: list[str] = []
    raws: list[str] = []
    indexes: list[str] = []
    for form in _forms(grid, whole=whole):
        index = _index(form, grid)
        if index is not None:
            raws.append(f"WHEN {len(patterns)} THEN {form.number.format(cell)}")
            patterns.append(form.pattern)
            indexes.append(index)
    near = None
    if grid.kind == "number" and not whole:
        near = _near_index(grid, called)
    doubles = "NULL"
    if near is not None:
        doubles = f"CASE kind WHEN {len(patterns)} THEN {DOUBLE_NUMBER.format(cell)} END"
        patterns.append(SHORT)
        indexes.append(near)
    if grid.kind != "date":
        patterns.append(NUMBER if grid.kind == "number" else f"{DAY}.+")
        indexes.append(called)
    kinds = [
        f"WHEN regexp_full_match({cell}, '{pattern}') THEN {i}"
        for i, pattern in enumerate(patterns)
    ]
    found = [f"WHEN {i} THEN {index}" for i, index in enumerate(indexes)]
    raw = f"CASE kind {' '.join(raws)} END" if raws else "NULL"
    if plain:
        kinds.insert(0, "WHEN plain IS NOT NULL THEN 0")
        raw = f"CASE WHEN plain IS NOT NULL THEN plain ELSE {raw} END"
    return filled(
        INDEXED,
        indexes=" ".join(found),
        index=INDEX,
        raw=raw,
        near=doubles,
        kinds=" ".join(kinds),
        typed=typed,
    )


def _forms(grid: Grid, *, whole: bool) -> Iterator[CellForm]:
    if grid.kind == "date":
        yield CellForm(DAY, DAY_NUMBER, Fraction(1))
        return
    if grid.kind == "timestamp":
        yield CellForm(MOMENT, MOMENT_NUMBER, MICROSECOND)
        return
    yield WHOLE_FORM
    for scale in SCALES:
        factor = 10**scale
        number = filled(SCALED, digits=DIGITS, scale=scale, factor=factor)
        unit = Fraction(1, factor)
        if whole:
            number = f"CASE WHEN {number} % {factor} = 0 THEN {number} // {factor} END"
            unit = Fraction(1)
        yield CellForm(f"[+-]?[0-9]{{1,{DIGITS - scale}}}[.][0-9]{{1,{scale}}}", number, unit)


def _index(form: CellForm, grid: Grid) -> str | None:
    """The index of a raw number of this form; None if whole numbers of 64 bits cannot tell it on
    this grid.
    """
    near = _within_reach(grid, form)
    reading = Reading(near, form.unit)
    if reading.shift == 0 and grid.first < near.first and near.last < grid.last:
        # Every number is its own index, and none lies beyond the grid.
        return "raw"
    keys = keys_of(reading, Bracket(near.first, near.last), DuckDialect())
    if keys.shift is None:
        return None
    if keys.shift == 0:
        return keys.key
    return f"CAST(CAST({keys.key} AS HUGEINT) + {keys.shift} AS BIGINT)"


def _within_reach(grid: Grid, form: CellForm) -> Grid:
    """The part of a grid that numbers of this form can lie on: 64 bits can tell indexes there that
    they could not tell on the whole grid.
    """
    furthest = 10**DIGITS * form.unit
    if grid.kind != "number":
        return grid
    first, last = (index_of(number, grid) for number in (-furthest, furthest))
    if first == last:
        return grid
    return replace(grid, first=first, last=last)


def _near_index(grid: Grid, called: str) -> str | None:
    """The index of a number in double precision; None on a grid that is too fine for that."""
    start = float(grid.base)
    step = float(grid.step)
    if max(abs(grid.first), abs(grid.last), abs(start) / step) + 1 >= FLOAT_INDEX:
        return None
    double = DuckDialect().double
    place = f"((near - {double(start)}) / {double(step)})"
    return filled(
        NEAR_INDEX,
        place=place,
        below=double(grid.first - 1.0),
        first=grid.first,
        above=double(grid.last + 1.0),
        last=grid.last,
        nearest=f"floor({place} + {double(0.5)})",
        sure=double(0.5 - Reading(grid, None).doubt),
        first_double=double(float(grid.first)),
        last_double=double(float(grid.last)),
        called=called,
    )
