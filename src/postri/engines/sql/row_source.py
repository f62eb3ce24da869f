"""The rows that count, as a relation: cells with the number of their group, and their unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from postri.columns import BOOLEAN, ColumnType
from postri.engines.rows import KeyColumn, Selection
from postri.engines.sql.dialect import Cells, Dialect, between, filled
from postri.expressions import Input

# Rows are grouped before they are joined with the keys if there are at most this many times as many
# combinations as groups.
SPREAD = 2

NOT_NULL = "{} IS NOT NULL"
NONE_ELSE: Mapping[str, str] = {}

# The cells on whose rows the predicate holds, with their keys and their unit.
CELLS = """
    (
        SELECT {columns}
        FROM {relation}{where}
    ) AS cells
"""
# Those that count, with the number of their group.
KEPT = """
    (
        SELECT {columns}
        FROM {cells}{joins}{where}
    ) AS kept
"""
# The same with columns that another relation has for each group: by one join.
KEPT_BESIDE = """
    (
        SELECT cell, grp, {columns}
        FROM {cells}
            JOIN {beside} AS beside ON {same_keys}
        WHERE {keep}
    ) AS kept
"""
GROUPS_BESIDE = """
    SELECT named.*, {columns}
    FROM {named_groups}
        JOIN {others} AS others USING (grp)
"""
# The keys of each group, and its number.
NAMED_GROUPS = """
    (
        SELECT {columns}
        FROM {keys}
    ) AS named
"""
# Aggregates of each group: rows are grouped by their keys, and then numbered.
TALLIED = """
    SELECT grp, {names}
    FROM (
        SELECT {keys}, {aggregates}
        FROM {cells}
        WHERE {keep}
        GROUP BY {keys}
    ) AS tallied
        JOIN {named_groups} ON {same_keys}
"""
# The keys of the rows that count, of a column whose keys are unknown.
KEYS = """
    (
        SELECT {columns}
        FROM {cells}{where}
    ) AS named
"""
RAWS = """
    (
        SELECT {raw} AS raw, grp{unit}
        FROM {kept}
    ) AS raws
"""
# The same of several columns, with null for what does not count.
RAWS_OF_COLUMNS = """
    (
        SELECT grp, {raws}
        FROM {kept}
    ) AS raws
"""


@dataclass(frozen=True)
class RowSource:
    """One column of a database table, with the rows that a question selects.

    A cell is raw, or stands as it does in the table where the dialect can compare it with literals
    of its own type. A text of more than `max_text` characters cannot be read; without that number
    they were looked at before.
    """

    dialect: Dialect
    column: str | None
    types: Mapping[str, str]
    rows: Selection
    computed: Mapping[str | Input, Cells] = field(default_factory=dict)
    max_text: int | None = None

    @property
    def columns(self) -> list[str]:
        """The columns that are read, computed ones by their own names."""
        own = [] if self.column is None else [self.column]
        return [*own, *self.rows.columns]

    @cached_property
    def cells(self) -> Cells:
        """How the column is read."""
        return self._cells_of(str(self.column))

    def _cells_of(self, column: str) -> Cells:
        if column in self.computed:
            return self.computed[column]
        cells = self.dialect.cells(column, self.types[column])
        if cells.type.kind != "text" or self.max_text is None:
            return cells
        return replace(cells, raw=self.dialect.short_text(cells.raw, self.max_text))

    def input_cells(self, wanted: Input) -> Cells:
        """How a predicate reads a column."""
        if wanted in self.computed:
            return self.computed[wanted]
        return self._cells_of(wanted.column)

    def raw(self, cell: str) -> str:
        """The raw number of a cell that stands under this name."""
        if self.cells.literal is None:
            return cell
        column = str(self.column)
        return self.dialect.cells(column, self.types[column], cell).raw

    def cells_that_count(self, relation: str) -> str:
        """Each `cell` that counts, the number of its group, and with units the text of its unit."""
        return self._kept(relation, ["cell"])

    def cells_or_nulls(self, relation: str) -> str:
        """Each `cell`, nulls among them: for whoever compares cells, which no null passes."""
        return filled(KEPT, columns="cell", cells=self._cells(relation, []), joins="", where="")

    @property
    def counts_unless_null(self) -> bool:
        """Whether a row counts wherever its cell is not null: there is one group, and no other
        condition.
        """
        return not self.rows.keys and self._keep == [NOT_NULL.format("cell")]

    def rows_that_count(self, relation: str) -> str:
        """The number of the group, and with units the unit, of each row in which the column has a
        cell; of each row without a column.
        """
        if self.column is None:
            return self._kept(relation, [])
        return self._kept(relation, ["cell"])

    def _kept(
        self, relation: str, columns: Sequence[str], others: Mapping[str, str] = NONE_ELSE
    ) -> str:
        joins = [
            f" JOIN {listed} ON key{i} = keys{i}.name" for i, listed in enumerate(self._key_lists)
        ]
        return filled(
            KEPT,
            columns=", ".join([*columns, f"{self._group_number} AS grp", *self._unit_name]),
            cells=self._cells(relation, self._raw_keys, others=others),
            joins="".join(joins),
            where=_where(self._keep),
        )

    def keys_that_count(self, relation: str) -> str:
        """The `name` that each row has in the one column that divides them, and with units the
        unit, where neither is null.
        """
        return filled(
            KEYS,
            columns=", ".join(["key0 AS name", *self._unit_name]),
            cells=self._cells(relation, self._raw_keys),
            where=_where([*self._keep, "key0 IS NOT NULL"]),
        )

    def raws_that_count(self, relation: str) -> str:
        """Each cell that counts as a `raw` number, with its group and its unit."""
        return filled(
            RAWS,
            raw=self.raw("cell"),
            unit="".join(f", {name}" for name in self._unit_name),
            kept=self.cells_that_count(relation),
        )

    def raws_of(self, relation: str, others: Sequence[RowSource]) -> str:
        """Of each row its group, and the raw numbers of other columns in their order, as `raw0` and
        so on: null where a cell does not count.
        """
        cells = {f"cell{i}": other._cell for i, other in enumerate(others)}
        raws = [
            f"{other._raw_or_null(cell)} AS raw{i}"
            for i, (cell, other) in enumerate(zip(cells, others, strict=True))
        ]
        kept = self._kept(relation, list(cells), cells)
        return filled(RAWS_OF_COLUMNS, raws=", ".join(raws), kept=kept)

    def _raw_or_null(self, cell: str) -> str:
        readable = self._readable(cell)
        if readable == NOT_NULL.format(cell):
            return self.raw(cell)
        return f"CASE WHEN {readable} THEN {self.raw(cell)} END"

    def groups_beside(self, others: str, columns: Sequence[str]) -> str:
        """The keys of each group, its number, and columns that another relation has for it."""
        return filled(
            GROUPS_BESIDE,
            columns=", ".join(columns),
            named_groups=self._named_groups,
            others=others,
        )

    def cells_beside(self, relation: str, beside: str, columns: Sequence[str]) -> str:
        """Each `cell` that counts, the number of its group, and columns that are `beside` it in
        what `groups_beside` selects.
        """
        return filled(
            KEPT_BESIDE,
            columns=", ".join(columns),
            cells=self._cells(relation, self._raw_keys),
            beside=beside,
            same_keys=self._same_keys,
            keep=" AND ".join(self._keep),
        )

    def tallied(self, relation: str, aggregates: Mapping[str, str]) -> str:
        """For each group that has cells, aggregates of them by name.

        Keys have to be `dense`: no row is joined with them.
        """
        return filled(
            TALLIED,
            names=", ".join(aggregates),
            keys=", ".join(f"key{i}" for i in range(len(self.rows.keys))),
            aggregates=named(aggregates),
            cells=self._dense_cells(relation),
            keep=" AND ".join(self._keep),
            named_groups=self._named_groups,
            same_keys=self._same_keys,
        )

    @property
    def dense(self) -> bool:
        """Whether the keys are whole numbers, and their ranges hold few others: so few that rows
        may be grouped before they are joined.
        """
        spans = self._key_spans
        if not spans:
            return False
        combinations = prod(high - low + 1 for _, low, high in spans)
        return combinations <= SPREAD * self.rows.number

    @property
    def _key_spans(self) -> list[tuple[str, int, int]]:
        """Each key column with its least and its largest key; nothing if one has none, or holds
        other cells than whole numbers.
        """
        spans = []
        for key in self.rows.keys:
            span = _span(key)
            if span is None or not (_is_integer(key.type) or key.value is not None):
                return []
            # A column that is computed does not stand in the table.
            if key.column in self.computed and key.value is None:
                return []
            name = self.dialect.name(key.column)
            if key.value is not None:
                name = self._raw_key(key)
            spans.append((name, *span))
        return spans

    def _dense_cells(self, relation: str) -> str:
        """The cells of the keys' ranges.

        Keys stand as they do in the table: databases know most of such columns.
        """
        names = []
        inside = []
        for key, (name, low, high) in zip(self.rows.keys, self._key_spans, strict=True):
            least, most = _wider(key.type, low, high)
            names.append(name)
            if key.value is None:
                inside.append(f"{name} BETWEEN {least} AND {most}")
            else:
                inside.append(key.value.inside_sql(self.dialect, self.input_cells, least, most))
        return self._cells(relation, names, inside)

    def _cells(
        self,
        relation: str,
        keys: Sequence[str],
        inside: Sequence[str] = (),
        others: Mapping[str, str] = NONE_ELSE,
    ) -> str:
        columns = [f"{cell} AS {name}" for name, cell in others.items()]
        columns += [f"{key} AS key{i}" for i, key in enumerate(keys)]
        if self.column is not None:
            columns.insert(0, f"{self._cell} AS cell")
        if self.rows.units is not None:
            columns.append(f"{self._unit} AS unit")
        conditions = list(inside)
        if self.rows.where is not None:
            conditions.append(f"({self.rows.where.sql(self.dialect, self.input_cells)})")
        return filled(
            CELLS,
            columns=", ".join(columns or ["1 AS one"]),
            relation=relation,
            where=_where(conditions),
        )

    @property
    def _cell(self) -> str:
        if self.cells.literal is None:
            return self.cells.raw
        return self.cells.own or self.dialect.name(str(self.column))

    @property
    def _keep(self) -> list[str]:
        """On which conditions a cell counts; where there is no column, a row."""
        conditions = []
        if self.column is not None:
            conditions.append(self._readable("cell"))
        if self.rows.units is not None:
            conditions.append("unit IS NOT NULL")
        return conditions

    def _readable(self, cell: str) -> str:
        """Whether a cell under this name counts."""
        if self.cells.literal is not None:
            return self.cells.present.format(cell)
        if self.cells.type.unit is None and self.cells.type.kind != "text":
            return self.dialect.is_number(cell)
        return NOT_NULL.format(cell)

    @property
    def _group_number(self) -> str:
        """The number of a group, by its keys."""
        places = [f"keys{i}.number * {self.rows.place(i)}" for i in range(len(self.rows.keys))]
        return " + ".join(places) or "0"

    @cached_property
    def _named_groups(self) -> str:
        names = [f"keys{i}.name AS name{i}" for i in range(len(self._key_lists))]
        return filled(
            NAMED_GROUPS,
            columns=", ".join([*names, f"{self._group_number} AS grp"]),
            keys=" CROSS JOIN ".join(self._key_lists),
        )

    @property
    def _same_keys(self) -> str:
        return " AND ".join(f"key{i} = name{i}" for i in range(len(self.rows.keys)))

    @property
    def _raw_keys(self) -> list[str]:
        return [self._raw_key(key) for key in self.rows.keys]

    def _raw_key(self, key: KeyColumn) -> str:
        """The raw cell of a key column; a moment beyond the calendar is as good as its end."""
        if key.value is not None:
            span = _span(key)
            if span is None:
                return key.value.sql(self.dialect, self.input_cells)
            return key.value.among_sql(self.dialect, self.input_cells, *span)
        raw = self._cells_of(key.column).raw
        if key.ends is None:
            return raw
        return between(f"({raw})", *map(str, key.ends))

    @cached_property
    def _key_lists(self) -> list[str]:
        """For each column of keys a relation of them, which several statements name."""
        return [self._listed_keys(i, key) for i, key in enumerate(self.rows.keys)]

    def _listed_keys(self, i: int, column: KeyColumn) -> str:
        """The keys that a cell can be equal to, with their numbers.

        There is always one row, if only one that equals nothing.
        """
        found = [(raw, number) for number, raw in enumerate(column.raws) if raw is not None]
        names = [self._key_literal(raw, column) for raw, _ in found]
        numbers = [str(number) for _, number in found]
        if not found:
            names = [self.dialect.integer("NULL", unsigned=False)]
            numbers = ["0"]
        return self.dialect.listed_rows({"name": names, "number": numbers}, f"keys{i}")

    def _key_literal(self, raw: object, column: KeyColumn) -> str:
        if isinstance(raw, str):
            return self.dialect.text_literal(raw)
        unsigned = (column.type.low, column.type.high) == (0, 2**64 - 1)
        return self.dialect.integer(str(raw), unsigned=unsigned)

    @property
    def _unit_name(self) -> list[str]:
        return [] if self.rows.units is None else ["unit"]

    @property
    def _unit(self) -> str:
        assert self.rows.units is not None
        cells = self._cells_of(self.rows.units.column)
        if cells.type.kind == "text":
            return cells.raw
        return self.dialect.text_of_integer(cells.raw)


def named(columns: Mapping[str, str]) -> str:
    """Expressions, each under its name."""
    return ", ".join(f"{expression} AS {name}" for name, expression in columns.items())


def _where(conditions: Sequence[str]) -> str:
    if not conditions:
        return ""
    return f" WHERE {' AND '.join(conditions)}"


def _span(key: KeyColumn) -> tuple[int, int] | None:
    """The least and the largest key of a column that is a whole number; None if none is."""
    raws = [raw for raw in key.raws if isinstance(raw, int)]
    if not raws:
        return None
    return min(raws), max(raws)


def _is_integer(declared: ColumnType) -> bool:
    """Whether cells are whole numbers, each its own raw cell."""
    return (
        declared.kind == "number"
        and declared.unit == 1
        and declared != BOOLEAN
        and not declared.name.startswith("decimal")
    )


def _wider(declared: ColumnType, low: int, high: int) -> tuple[int, int]:
    """A range of keys with a few others, where no more bits are needed to count them.

    A database that knows that a column has no cell beyond the range tests none of them, which saves
    a quarter of a pass.
    """
    number = high - low + 1
    room = min(((1 << (number + 3).bit_length()) - 4 - number) // 2, number // 64 + 1)
    least = low if declared.low is None else declared.low
    most = high if declared.high is None else declared.high
    return max(low - room, least), min(high + room, most)
