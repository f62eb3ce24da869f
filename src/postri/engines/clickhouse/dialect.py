"""How ClickHouse writes, under the settings of `source.py`.

Its whole numbers wrap around and its floats become infinite. A cast of a float to a whole number
and a product of decimals could fail on a cell: neither stands here without room for every cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from postri.columns import (
    BOOLEAN,
    DATE,
    ColumnType,
    decimal_type,
    float_type,
    integer_type,
    no_order,
    text_type,
    timestamp_type,
)
from postri.engines.sql.dialect import (
    UNIT,
    BucketedCells,
    Cells,
    between,
    bucket_counts_by,
    by_code_points,
    check_digits,
    even_bucket,
    regular,
    short_text,
)
from postri.expressions.pattern import Pattern

# What may stand around a type, and says nothing of its cells.
WRAPPED = re.compile(r"(?:Nullable|LowCardinality)\((.*)\)")
DECIMAL = re.compile(r"Decimal\((\d+), (\d+)\)")
MOMENT = re.compile(r"DateTime(?:64\((\d))?(.*)")
NUMBERS = {
    "Bool": (BOOLEAN, "toInt64"),
    **dict.fromkeys(("Date", "Date32"), (DATE, "toInt64")),
    **{f"Float{bits}": (float_type(bits), "toFloat64") for bits in (32, 64)},
    **{f"Int{bits}": (integer_type(bits), "toInt64") for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": (integer_type(bits, signed=False), "toInt64") for bits in (8, 16, 32)},
    "UInt64": (integer_type(64, signed=False), "toUInt64"),
}


class ClickHouseDialect:
    """ClickHouse."""

    def name(self, identifier: str) -> str:
        return "`" + identifier.replace("\\", "\\\\").replace("`", "\\`") + "`"

    def double(self, number: float) -> str:
        return repr(float(number))

    def divided(self, dividend: str, divisor: int) -> str:
        return f"intDiv({dividend}, {divisor})"

    def floored(self, expression: str) -> str:
        return f"floor({expression})"

    def integer(self, expression: str, *, unsigned: bool) -> str:
        return f"CAST({expression} AS {'UInt64' if unsigned else 'Int64'})"

    def is_number(self, expression: str) -> str:
        return f"({expression} IS NOT NULL AND NOT isNaN({expression}))"

    def count_of(self, condition: str) -> str:
        return f"countIf({condition})"

    def listed_rows(self, columns: Mapping[str, Sequence[str]], name: str) -> str:
        lists = ", ".join(f"[{', '.join(cells)}]" for cells in columns.values())
        cells = ", ".join(f"listed.{i} AS {column}" for i, column in enumerate(columns, 1))
        return f"(SELECT {cells} FROM (SELECT arrayJoin(arrayZip({lists})) AS listed)) AS {name}"

    def numbered_places(self, firsts: Sequence[int], length: int) -> str | None:
        return None

    def buckets_raw(self, declared: ColumnType) -> bool:
        return True

    def bucket_counts(self, cells: BucketedCells) -> str:
        """By a division where all buckets are alike, else by halves."""
        if not cells.cuts:
            return bucket_counts_by("0", cells)
        if cells.step is not None:
            return bucket_counts_by(even_bucket(cells, cells.step, self), cells)
        cuts = f"[{', '.join(cells.firsts)}]"
        numbers = f"range(1, {len(cells.cuts) + 1})"
        found = f"transform(roundDown({cells.cell}, {cuts}), {cuts}, {numbers}, 0)"
        return bucket_counts_by(f"if({cells.cell} < {cells.firsts[0]}, 0, {found})", cells)

    def order_statistics(
        self, cell: str, shares: Sequence[float]
    ) -> tuple[dict[str, str], list[str]]:
        found = {"found": f"quantilesExact({', '.join(map(repr, shares))})({cell})"}
        return found, [f"found[{i + 1}]" for i in range(len(shares))]

    def list_between(self, cell: str, low: str, last: str) -> str:
        return f"groupArrayIf({cell}, {cell} >= {low} AND {cell} <= {last})"

    def unnested(self, expression: str) -> str:
        return f"arrayJoin({expression})"

    def as_double(self, whole: str) -> str:
        return f"toFloat64({whole})"

    def total(self, whole: str) -> tuple[str, str]:
        added = f"sum(toInt128({whole}))"
        return f"CAST(intDiv({added}, {UNIT}) AS Int64)", f"CAST({added} % {UNIT} AS Int64)"

    def wide(self, whole: str) -> str:
        return f"toInt128({whole})"

    def narrow(self, wide: str) -> str:
        return f"accurateCastOrNull({wide}, 'Int64')"

    quotient = divided

    def wide_quotient(self, dividend: str, divisor: int) -> str:
        return f"intDiv({dividend}, {self.wide(str(divisor))})"

    whole = narrow

    def of_day(self, function: str, days: str) -> str:
        day = f"toDate32(toInt32({days}))"
        if function.startswith("first of "):
            return f"toInt64(dateTrunc('{function.removeprefix('first of ')}', {day}))"
        parts = {"doy": "toDayOfYear", "day": "toDayOfMonth", "week": "toISOWeek"}
        return f"{parts.get(function, 'to' + function.title())}({day})"

    def let(self, value: str, body: Callable[[str], str]) -> str:
        return f"arrayMap(v -> {body('v')}, [{value}])[1]"

    def let_all(self, values: Sequence[str], body: Callable[[Sequence[str]], str]) -> str:
        names = [f"v{i}" for i in range(len(values))]
        lists = ", ".join(f"[{value}]" for value in values)
        return f"arrayMap(({', '.join(names)}) -> {body(names)}, {lists})[1]"

    def lookup(
        self, key: str, keys: Sequence[str | int], cells: Sequence[str | int | float]
    ) -> str:
        if not keys:
            return "NULL"
        return f"transform({key}, {self._array(keys)}, {self._array(cells)}, NULL)"

    def _array(self, cells: Sequence[str | int | float]) -> str:
        kinds = {str: "String", int: "Int64", float: "Float64"}
        texts = [self.text_literal(cell) if isinstance(cell, str) else repr(cell) for cell in cells]
        return f"CAST([{', '.join(texts)}] AS Array({kinds[type(cells[0])]}))"

    def text_literal(self, text: str) -> str:
        """By its bytes, for a backslash in quotes would begin an escape."""
        return f"unhex('{text.encode().hex()}')"

    def sent_text(self, text: str) -> str:
        return text

    def short_text(self, text: str, most: int) -> str:
        return f"({short_text(text, 'length', 'lengthUTF8', most)})"

    def like(self, text: str, pattern: Pattern) -> str:
        written = regular(pattern, by_code_points, r"(?s)\A", r"\z")
        return f"match({text}, {self.text_literal(written)})"

    def text_of_integer(self, expression: str, shift: int = 0) -> str:
        return f"toString(toInt128({expression}) + ({shift}))"

    def joined_text(self, parts: Sequence[str]) -> str:
        return "concat(" + ", ':', ".join(parts) + ")"

    def md5(self, expression: str) -> str:
        return f"lower(hex(MD5({expression})))"

    def cells(self, column: str, declared: str, cell: str | None = None) -> Cells:
        cell = cell or self.name(column)
        bare = declared
        while found := WRAPPED.fullmatch(bare):
            bare = found[1]
        if found := DECIMAL.fullmatch(bare):
            digits, scale = check_digits(declared, int(found[1]), int(found[2]))
            raw = f"toInt64(toDecimal128({cell}, {scale}) * {10**scale})"
            # Sums of decimals are stored as they are, whatever digits a column declares.
            most = 10**digits - 1
            return Cells(decimal_type(digits, scale), between(raw, str(-most), str(most)))
        if found := MOMENT.fullmatch(bare):
            kind = timestamp_type(declared, 10 ** int(found[1] or 0), zoned="'" in found[2])
            return Cells(kind, f"reinterpretAsInt64({cell})")
        if bare in ("String", "UUID") or bare.startswith("Enum"):
            text = f"toString({cell})"
            return Cells(text_type(declared), f"CASE WHEN isValidUTF8({text}) THEN {text} END")
        if bare not in NUMBERS:
            raise no_order(column, declared)
        kind, conversion = NUMBERS[bare]
        return Cells(kind, f"{conversion}({cell})")
