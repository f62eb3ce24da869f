"""The rows that count, as a relation: cells with the number of their group, and their unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from postri.columns import BOOLEAN, ColumnType
from postri.engines.dialects.common import between
from postri.engines.dialects.protocol import Cells, Dialect
from postri.engines.rows import KeyColumn, Selection
from postri.expressions import Input

# Rows are grouped before they are joined with the keys if there are at most so many times as many
# combinations as groups.
SPREAD = 2


@dataclass(frozen=True)
class Selected:
    """One column of a database table, with the rows that a question selects.

    A cell is raw, or stands as it does in the table where the dialect can compare it with literals
    of its own type.
    """

    dialect: Dialect
    column: str | None
    types: Mapping[str, str]
    rows: Selection
    computed: Mapping[str | Input, Cells] = field(default_factory=dict)

    @cached_property
    def cells(self) -> Cells:
        """How the column is read."""
        return self.cells_of(str(self.column))

    def cells_of(self, column: str) -> Cells:
        """How any column is read."""
        return (
            self.computed[column]
            if column in self.computed
            else self.dialect.cells(column, self.types[column])
        )

    def read(self, wanted: Input) -> Cells:
        """How a predicate reads a column."""
        return self.computed[wanted] if wanted in self.computed else self.cells_of(wanted.column)

    def raw(self, cell: str) -> str:
        """The raw number of a cell that stands under this name."""
        return (
            cell
            if self.cells.literal is None
            else self.dialect.cells(str(self.column), self.types[str(self.column)], cell).raw
        )

    def kept(self, relation: str) -> str:
        """Each `cell` that counts, the number of its group, and with units the text of its unit."""
        return self._kept(relation, ["cell"])

    def present(self, relation: str) -> str:
        """The number of the group, and with units the unit, of each row in which the column has a
        cell; of each row without a column.
        """
        return self._kept(relation, [] if self.column is None else ["cell"])

    def _kept(self, relation: str, cell: Sequence[str]) -> str:
        unit = ["unit"] if self.rows.units is not None else []
        joins = "".join(
            f" JOIN {self._keys(i, key)} ON key{i} = keys{i}.name"
            for i, key in enumerate(self.rows.keys)
        )
        columns = ", ".join([*cell, f"{self._number} AS grp", *unit])
        where = f" WHERE {self._keep}" if self._keep else ""
        return f"(SELECT {columns} FROM {self._chosen(relation)}{joins}{where}) AS kept"

    def beside(self, relation: str, others: str, columns: Sequence[str]) -> str:
        """Each `cell` that counts, the number of its group, and columns that another relation has
        for that group: by one join.
        """
        beside = (
            f"(SELECT named.*, {', '.join(columns)} FROM {self._named} JOIN {others} AS others "
            "USING (grp)) AS beside"
        )
        joined = f"{self._chosen(relation)} JOIN {beside} ON {self._same}"
        return f"(SELECT cell, grp, {', '.join(columns)} FROM {joined} WHERE {self._keep}) AS kept"

    def tallied(self, relation: str, aggregates: Mapping[str, str]) -> str:
        """For each group that has cells, aggregates of them by name.

        Keys have to be `dense`: no row is joined with them.
        """
        keys = ", ".join(f"key{i}" for i in range(len(self.rows.keys)))
        tallied = (
            f"SELECT {keys}, {named(aggregates)} FROM {self._dense_cells(relation)} WHERE "
            f"{self._keep} GROUP BY {keys}"
        )
        return (
            f"SELECT grp, {', '.join(aggregates)} FROM ({tallied}) AS tallied JOIN {self._named} "
            f"ON {self._same}"
        )

    @property
    def dense(self) -> bool:
        """Whether the keys are whole numbers, and their ranges hold few others: so few that rows
        may be grouped before they are joined.
        """
        found = self._spans
        return (
            bool(found)
            and prod(high - low + 1 for _, low, high in found) <= SPREAD * self.rows.number
        )

    @property
    def _spans(self) -> list[tuple[str, int, int]]:
        """Each key column with its least and its largest key; nothing if one has none, or holds
        other cells than whole numbers.
        """
        whole = [
            [raw for raw in key.raws if isinstance(raw, int)]
            for key in self.rows.keys
            if is_integer(key.type)
        ]
        if len(whole) < len(self.rows.keys) or not all(whole):
            return []
        return [
            (self.dialect.name(key.column), min(raws), max(raws))
            for key, raws in zip(self.rows.keys, whole, strict=True)
        ]

    def _dense_cells(self, relation: str) -> str:
        """The cells of the keys' ranges.

        Keys stand as they do in the table: databases know most of such columns.
        """
        ends = [
            wider(key.type, low, high)
            for key, (_, low, high) in zip(self.rows.keys, self._spans, strict=True)
        ]
        names = [name for name, _, _ in self._spans]
        inside = " AND ".join(
            f"{name} BETWEEN {low} AND {high}"
            for name, (low, high) in zip(names, ends, strict=True)
        )
        return self._chosen(relation, names, inside)

    @property
    def _number(self) -> str:
        """The number of a group, by its keys."""
        return (
            " + ".join(f"keys{i}.number * {self.rows.place(i)}" for i in range(len(self.rows.keys)))
            or "0"
        )

    @cached_property
    def _named(self) -> str:
        """The keys of each group, and its number."""
        keys = [self._keys(i, key) for i, key in enumerate(self.rows.keys)]
        names = [f"keys{i}.name AS name{i}" for i in range(len(keys))]
        return (
            f"(SELECT {', '.join([*names, f'{self._number} AS grp'])} FROM "
            f"{' CROSS JOIN '.join(keys)}) AS named"
        )

    @property
    def _same(self) -> str:
        return " AND ".join(f"key{i} = name{i}" for i in range(len(self.rows.keys)))

    @property
    def _keep(self) -> str:
        """Which cells count; where there is no column, which rows."""
        conditions = [] if self.column is None else [self._readable]
        return " AND ".join(
            [*conditions, *(["unit IS NOT NULL"] if self.rows.units is not None else [])]
        )

    @property
    def _readable(self) -> str:
        if self.cells.literal is not None:
            return self.cells.present.format("cell")
        whole = self.cells.type.unit is not None or self.cells.type.kind == "text"
        return "cell IS NOT NULL" if whole else self.dialect.is_number("cell")

    def _chosen(self, relation: str, keys: Sequence[str] | None = None, inside: str = "") -> str:
        """The cells on whose rows the predicate holds, with their keys: raw ones, if not others are
        given.
        """
        keys = [self._key(key) for key in self.rows.keys] if keys is None else keys
        columns = [*self._cell, *(f"{key} AS key{i}" for i, key in enumerate(keys))]
        if self.rows.units is not None:
            columns.append(f"{self._unit()} AS unit")
        conditions = [
            *([inside] if inside else []),
            *([f"({self.rows.where.sql(self.dialect, self.read)})"] if self.rows.where else []),
        ]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"(SELECT {', '.join(columns or ['1 AS one'])} FROM {relation}{where}) AS cells"

    @property
    def _cell(self) -> list[str]:
        if self.column is None:
            return []
        return [
            (
                f"{self.cells.raw if self.cells.literal is None else self.dialect.name(self.column)} "
                "AS cell"
            )
        ]

    def raws(self, relation: str) -> str:
        """The same with `raw` numbers in place of cells."""
        unit = ", unit" if self.rows.units is not None else ""
        return f"(SELECT {self.raw('cell')} AS raw, grp{unit} FROM {self.kept(relation)}) AS raws"

    def _key(self, key: KeyColumn) -> str:
        raw = self.cells_of(key.column).raw
        return raw if key.ends is None else between(f"({raw})", *map(str, key.ends))

    def _keys(self, i: int, column: KeyColumn) -> str:
        """The keys that a cell can be equal to, with their numbers.

        There is always one row, if only one that equals nothing.
        """
        found = [(raw, number) for number, raw in enumerate(column.raws) if raw is not None]
        names = [self._raw_key(raw, column) for raw, _ in found] or [
            self.dialect.integer("NULL", unsigned=False)
        ]
        return self.dialect.listed_rows(
            {"name": names, "number": [str(number) for _, number in found] or ["0"]}, f"keys{i}"
        )

    def _raw_key(self, raw: object, column: KeyColumn) -> str:
        if isinstance(raw, str):
            return self.dialect.text_literal(raw)
        return self.dialect.integer(
            str(raw), unsigned=(column.type.low, column.type.high) == (0, 2**64 - 1)
        )

    def _unit(self) -> str:
        assert self.rows.units is not None
        cells = self.cells_of(self.rows.units.column)
        return cells.raw if cells.type.kind == "text" else self.dialect.text_of_integer(cells.raw)


def named(columns: Mapping[str, str]) -> str:
    """Expressions, each under its name."""
    return ", ".join(f"{expression} AS {name}" for name, expression in columns.items())


def is_integer(declared: ColumnType) -> bool:
    """Whether cells are whole numbers, each its own raw cell."""
    return (
        declared.kind == "number"
        and declared.unit == 1
        and declared != BOOLEAN
        and not declared.name.startswith("decimal")
    )


def wider(declared: ColumnType, low: int, high: int) -> tuple[int, int]:
    """A range of keys with a few others, where no more bits are needed to count them.

    A database that knows that a column has no cell beyond the range tests none of them, which saves
    a quarter of a pass.
    """
    number = high - low + 1
    room = min(((1 << (number + 3).bit_length()) - 4 - number) // 2, number // 64 + 1)
    least, most = (
        low if declared.low is None else declared.low,
        high if declared.high is None else declared.high,
    )
    return max(low - room, least), min(high + room, most)
