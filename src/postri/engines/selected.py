"""The rows that count, as a relation: cells with the number of their group, and their unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from postri.engines.dialects.common import between
from postri.engines.dialects.protocol import Cells, Dialect
from postri.engines.rows import KeyColumn, Selection


@dataclass(frozen=True)
class Selected:
    """One column of a database table, with the rows that a question selects.

    A cell is raw, or stands as it does in the table where the dialect can compare it with literals of its own type.
    """

    dialect: Dialect
    column: str | None
    types: Mapping[str, str]
    rows: Selection
    computed: Mapping[str, Cells] = field(default_factory=dict)

    @property
    def cells(self) -> Cells:
        """How the column is read."""
        return self.cells_of(str(self.column))

    def cells_of(self, column: str) -> Cells:
        """How any column is read."""
        return self.computed[column] if column in self.computed else self.dialect.cells(column, self.types[column])

    def raw(self, cell: str) -> str:
        """The raw number of a cell that stands under this name."""
        return cell if self.cells.literal is None else self.dialect.cells(str(self.column), self.types[str(self.column)], cell).raw

    def kept(self, relation: str) -> str:
        """Each `cell` that counts, the number of its group, and with units the text of its unit."""
        cells = self.cells
        if cells.literal is None:
            whole = cells.type.unit is not None or cells.type.kind == "text"
            cell, keep = cells.raw, "cell IS NOT NULL" if whole else self.dialect.is_number("cell")
        else:
            cell, keep = self.dialect.name(str(self.column)), cells.present.format("cell")
        return self._rows(relation, ["cell"], [f"{cell} AS cell"], [keep])

    def present(self, relation: str) -> str:
        """The number of the group, and with units the unit, of each row in which the column has a cell; of each row without a column."""
        return self._rows(relation, [], [], []) if self.column is None else self.kept(relation)

    def _rows(self, relation: str, names: Sequence[str], cells: Sequence[str], keep: Sequence[str]) -> str:
        columns = [*cells, *(f"{self._key(key)} AS key{i}" for i, key in enumerate(self.rows.keys))]
        unit: list[str] = []
        if self.rows.units is not None:
            columns.append(f"{self._unit()} AS unit")
            unit, keep = ["unit"], [*keep, "unit IS NOT NULL"]
        where = f" WHERE {self.rows.where.sql(self.dialect, self.cells_of)}" if self.rows.where else ""
        joins = "".join(f" JOIN {self._keys(i, key)} ON key{i} = keys{i}.name" for i, key in enumerate(self.rows.keys))
        group = " + ".join(f"keys{i}.number * {self.rows.place(i)}" for i in range(len(self.rows.keys))) or "0"
        chosen = f"SELECT {', '.join(columns or ['1 AS one'])} FROM {relation}{where}"
        kept = f" WHERE {' AND '.join(keep)}" if keep else ""
        return f"(SELECT {', '.join([*names, f'{group} AS grp', *unit])} FROM ({chosen}) AS cells{joins}{kept}) AS kept"

    def raws(self, relation: str) -> str:
        """The same with `raw` numbers in place of cells."""
        unit = ", unit" if self.rows.units is not None else ""
        return f"(SELECT {self.raw('cell')} AS raw, grp{unit} FROM {self.kept(relation)}) AS raws"

    def _key(self, key: KeyColumn) -> str:
        raw = self.cells_of(key.column).raw
        return raw if key.ends is None else between(f"({raw})", *map(str, key.ends))

    def _keys(self, i: int, column: KeyColumn) -> str:
        """The keys that a cell can be equal to, with their numbers. There is always one row, if only one that equals nothing."""
        found = [(raw, number) for number, raw in enumerate(column.raws) if raw is not None]
        names = [self._raw_key(raw, column) for raw, _ in found] or [self.dialect.integer("NULL", unsigned=False)]
        return self.dialect.listed_rows({"name": names, "number": [str(number) for _, number in found] or ["0"]}, f"keys{i}")

    def _raw_key(self, raw: object, column: KeyColumn) -> str:
        if isinstance(raw, str):
            return self.dialect.text_literal(raw)
        return self.dialect.integer(str(raw), unsigned=(column.type.low, column.type.high) == (0, 2**64 - 1))

    def _unit(self) -> str:
        assert self.rows.units is not None
        cells = self.cells_of(self.rows.units.column)
        return cells.raw if cells.type.kind == "text" else self.dialect.text_of_integer(cells.raw)
