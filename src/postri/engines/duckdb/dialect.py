"""How DuckDB writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

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
from postri.engines.reading import Raw
from postri.engines.sql.dialect import (
    DAYS,
    EPOCH,
    FURTHEST,
    UNIT,
    BucketedCells,
    Cells,
    between,
    bucket_counts_by,
    by_code_points,
    check_digits,
    decimal_text,
    even_bucket,
    filled,
    like,
    regular,
)

if TYPE_CHECKING:
    from postri.expressions.pattern import Pattern

NANOSECONDS = ("TIMESTAMP_NS", "TIMESTAMPTZ_NS")
ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
# Types whose literals are as precise as the raw numbers of their cells.
MICROSECONDS = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
RAW_ZERO = datetime(1970, 1, 1)
# A day in raw numbers.
DAY = 86_400 * 10**6
# From here on a number takes more than 16 bits.
SHORT = 1 << 16


@dataclass(frozen=True)
class Microseconds:
    """The cells of a column of this declared type, whose literals end with a `zone`."""

    cell: str
    declared: str
    zone: str

    def clamped(self, low: int, high: int) -> str:
        """The raw cells between two raw numbers. An infinity lies beyond them, and whoever reads
        one fails: TRY is for an optimizer that reads before it compares.
        """
        return (
            f"(CASE WHEN {self.cell} > {self._literal(high)} THEN {high} "
            f"WHEN {self.cell} < {self._literal(low)} THEN {low} "
            f"ELSE TRY(epoch_us({self.cell})) END)"
        )

    def days(self, low: int, high: int, *, first: int, last: int) -> str | None:
        """The day of a moment without a time zone, whose date does not follow the session's. That
        of an infinity is infinitely far, and no error, whatever is read before it is compared.
        """
        if self.zone:
            return None
        days = f"CAST({self.cell} AS DATE) - DATE '1970-01-01'"
        # On the first and on the last day of the calendar stand all cells beyond it. Where nobody
        # looks for these two, DuckDB knows between which days all rows lie, and counts in an array.
        if low // DAY < first and last < high // DAY:
            return f"({days})"
        return (
            f"(CASE WHEN {self.cell} > {self._literal(high)} THEN {high // DAY} "
            f"WHEN {self.cell} < {self._literal(low)} THEN {low // DAY} "
            f"ELSE {days} END)"
        )

    def inside(self, low: int, high: int) -> str:
        """Whether a cell lies between two raw numbers. A database knows between which ones all
        cells of a table lie, and may test none.
        """
        return f"{self.cell} BETWEEN {self._literal(low)} AND {self._literal(high)}"

    def _literal(self, raw: int) -> str:
        moment = RAW_ZERO + timedelta(microseconds=raw)
        return f"{self.declared} '{moment.isoformat(' ')}{self.zone}'"


@dataclass(frozen=True)
class ListText:
    """A list as an expression; with a type, as a text that is cast to it."""

    text: str
    type: str = ""


# How many cells there are in each bucket, by an aggregate that looks for the bucket of each cell by
# halves; beyond the last it adds one more. The list stands in a query of its own: as a constant it
# would be built anew for every two thousand cells.
HISTOGRAM = """
    SELECT grp, bucket, number
    FROM (
        SELECT grp, generate_subscripts(numbers, 1) - 1 AS bucket, unnest(numbers) AS number
        FROM (
            SELECT {group}, map_values(histogram({cell}, (SELECT {lasts}))) AS numbers
            FROM {relation}{by_group}
        ) AS counted
    ) AS buckets
    WHERE number > 0
"""


# The bucket of a cell where all but the first and the last are alike, less one, and the largest
# number of 16 bits for the first one. Each branch has 16 bits: as such buckets are counted in an
# array, whatever cells lie outside. To add one to every row would take a third more time.
SHORT_BUCKET = """
    CASE
        WHEN {cell} < {first} THEN CAST(65535 AS USMALLINT)
        WHEN {cell} >= {last} THEN CAST({above} AS USMALLINT)
        ELSE CAST({quotient} AS USMALLINT)
    END
"""
NEXT_NUMBER = "(CAST(bucket AS INTEGER) + 1) % 65536 AS bucket"
# All whole numbers of some stretches, with their places one after the other.
PLACES = """
    (
        SELECT unnest(range(first, first + {length})) AS spot,
            CAST(unnest(range(line * {length}, (line + 1) * {length})) AS {type}) AS place
        FROM (
            SELECT unnest(firsts::{list_type}) AS first, unnest(range({number})) AS line
            FROM (VALUES ({firsts})) AS texts(firsts)
        ) AS stretches
    ) AS places
"""


class DuckDialect:
    """DuckDB."""

    BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}  # noqa: RUF012
    FLOATS = {"FLOAT": 32, "DOUBLE": 64}  # noqa: RUF012
    TYPED = re.compile(
        r"CAST\((?P<whole>-?\d+(?:\.\d+)?) AS (?P<type>\w+(?:\(\d+,\d+\))?)\)"
        r"|'(?P<double>[^']+)'::DOUBLE"
        r"|(?P<bare>\d+)"
    )
    DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")

    def name(self, identifier: str) -> str:
        """A name, quoted."""
        return '"' + identifier.replace('"', '""') + '"'

    def double(self, number: float) -> str:
        """A number as a literal of double precision."""
        return f"'{number!r}'::DOUBLE"

    def divided(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient of whole numbers that are not negative."""
        return f"({dividend} // {divisor})"

    def floored(self, expression: str) -> str:
        """The largest whole number that is not above, in double precision."""
        return f"floor({expression})"

    def integer(self, expression: str, *, unsigned: bool) -> str:
        """An expression as a whole number of 64 bits."""
        return f"CAST({expression} AS {'UBIGINT' if unsigned else 'BIGINT'})"

    def is_number(self, expression: str) -> str:
        """Neither null nor NaN.

        Where a Parquet footer shows no NaN, which it never does, `NOT isnan` would be optimized
        away.
        """
        return f"(isfinite({expression}) OR isinf({expression}))"

    def count_of(self, condition: str) -> str:
        """The number of rows on which a condition holds: much faster than a filtered count, and for
        groups a fifth faster than `count_if`.
        """
        return f"CAST(coalesce(sum({condition}), 0) AS BIGINT)"

    def listed_rows(self, columns: Mapping[str, Sequence[str]], name: str) -> str:
        """A relation whose cells are the literals of each column."""
        return self.listed_columns(
            {column: self.list_of_literals(cells) for column, cells in columns.items()}, name
        )

    def listed_columns(self, lists: Mapping[str, ListText], name: str) -> str:
        """A relation whose columns are lists.

        Texts are cast while the query runs: a plan with long lists in it is copied slowly.
        """
        texts = {column: each.text for column, each in lists.items() if each.type}
        values = ""
        if texts:
            values = f" FROM (VALUES ({', '.join(texts.values())})) AS texts({', '.join(texts)})"
        columns = []
        for column, each in lists.items():
            cells = f"{column}::{each.type}" if each.type else each.text
            columns.append(f"unnest({cells}) AS {column}")
        return f"(SELECT {', '.join(columns)}{values}) AS {name}"

    def list_of_literals(self, cells: Sequence[str], length: int = 0) -> ListText:
        """Literals as a list, or as lists of some length.

        Numbers of one type become one text, read a hundred times as fast as casts.
        """
        numbers = []
        types = set()
        for cell in cells:
            match = self.TYPED.fullmatch(cell)
            if match is None:
                return ListText(_bracketed(cells, length))
            numbers.append(match["whole"] or match["double"] or match["bare"])
            types.add(match["type"] or ("DOUBLE" if match["double"] else "BIGINT"))
        if len(types) != 1:
            return ListText(_bracketed(cells, length))
        return _typed_list(numbers, types.pop(), length)

    def list_of_integers(
        self, numbers: Sequence[int], length: int = 0, *, unsigned: bool = False
    ) -> ListText:
        """Whole numbers of 64 bits as a list, or as lists of some length."""
        return _typed_list(list(map(str, numbers)), "UBIGINT" if unsigned else "BIGINT", length)

    def list_of_doubles(self, numbers: Sequence[float]) -> ListText:
        """Numbers of double precision as a list."""
        return _typed_list(list(map(repr, numbers)), "DOUBLE", 0)

    def buckets_raw(self, declared: ColumnType) -> bool:
        """All are: histograms would compare decimals in double precision."""
        return True

    def bucket_counts(self, cells: BucketedCells) -> str:
        """How many cells each group has in each bucket: by a division where all are alike, else by
        halves.
        """
        if not cells.cuts:
            return bucket_counts_by("0", cells)
        if cells.step is not None:
            if len(cells.cuts) < SHORT:
                return bucket_counts_by(_short_bucket(cells, cells.step, self), cells, NEXT_NUMBER)
            return bucket_counts_by(even_bucket(cells, cells.step, self), cells)
        lasts = self.list_of_literals(cells.lasts)
        group = "0 AS grp"
        by_group = ""
        if cells.grouped:
            group = "grp"
            by_group = " GROUP BY grp"
        return filled(
            HISTOGRAM,
            group=group,
            cell=cells.cell,
            lasts=f"{lasts.text}::{lasts.type}",
            relation=cells.relation,
            by_group=by_group,
        )

    def numbered_places(self, firsts: Sequence[int], length: int) -> str:
        """All whole numbers from each of these on, in a relation `places`."""
        listed = self.list_of_integers(firsts)
        # Numbers of 16 bits are counted in an array.
        declared = "USMALLINT" if len(firsts) * length <= SHORT else "BIGINT"
        return filled(
            PLACES,
            length=length,
            type=declared,
            number=len(firsts),
            firsts=listed.text,
            list_type=listed.type,
        )

    def order_statistics(
        self, cell: str, shares: Sequence[float]
    ) -> tuple[dict[str, str], list[str]]:
        """Aggregates by name; in their terms, for each share the cell below which about that share
        of them lies.
        """
        listed = ", ".join(map(repr, shares))
        # Written once: each time costs DuckDB milliseconds to read, and to read again.
        return {"found": f"quantile_disc({cell}, [{listed}])"}, [
            f"found[{i + 1}]" for i in range(len(shares))
        ]

    def list_between(self, cell: str, low: str, last: str) -> str:
        """The cells from one to another, gathered.

        False is less than true. To compare truth values saves a list of the rows from the first
        cell on, half of all; and what is counted below that cell is not compared twice.
        """
        return f"list({cell}) FILTER (WHERE ({cell} < {low}) < ({cell} <= {last}))"

    def unnested(self, expression: str) -> str:
        """A row for each value of such a list."""
        return f"unnest({expression})"

    def total(self, whole: str) -> tuple[str, str]:
        """The sum of whole numbers, in units of 2^48, and the rest. DuckDB adds with 128 bits."""
        return f"CAST(sum({whole}) // {UNIT} AS BIGINT)", f"CAST(sum({whole}) % {UNIT} AS BIGINT)"

    def as_double(self, whole: str) -> str:
        """The nearest number of double precision to a whole number of 64 bits."""
        return f"CAST({whole} AS DOUBLE)"

    def wide(self, whole: str) -> str:
        """A whole number of 64 bits with room for the product of two."""
        return f"CAST({whole} AS HUGEINT)"

    def narrow(self, wide: str) -> str:
        """A wide whole number as one of 64 bits; null where it does not fit."""
        return f"TRY_CAST({wide} AS BIGINT)"

    def quotient(self, whole: str, divisor: int) -> str:
        """A whole number that is not negative, divided and rounded down."""
        return f"({whole} // {divisor})"

    def of_day(self, function: str, days: str) -> str:
        """A function of a day; `week` is the one of ISO 8601."""
        day = f"(DATE '1970-01-01' + CAST({days} AS INTEGER))"
        if function.startswith("first of "):
            unit = function.removeprefix("first of ")
            return f"date_diff('day', DATE '1970-01-01', date_trunc('{unit}', {day}))"
        name = "dayofyear" if function == "doy" else function
        return f"{name}({day})"

    def let(self, value: str, body: Callable[[str], str]) -> str:
        """An expression of a name that stands for a value, which is computed once."""
        return f"list_transform([{value}], lambda v: {body('v')})[1]"

    def let_all(self, values: Sequence[str], body: Callable[[Sequence[str]], str]) -> str:
        """An expression of names that stand for values, each of which is computed once."""
        members = ", ".join(f"v{i} := {value}" for i, value in enumerate(values))
        names = [f"v.v{i}" for i in range(len(values))]
        return f"list_transform([struct_pack({members})], lambda v: {body(names)})[1]"

    def wide_quotient(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient of wide whole numbers that are not negative."""
        return f"({dividend} // {self.wide(str(divisor))})"

    def lookup(
        self, key: str, keys: Sequence[str | int], cells: Sequence[str | int | float]
    ) -> str:
        """The cell that stands beside a key, by a join that DuckDB makes of it."""
        # No name inside may be one of a column outside.
        name = "public"
        while name in key.casefold():
            name += "_"
        listed = self.listed_columns(
            {f"{name}_key": self._listed(keys), f"{name}_cell": self._listed(cells)}, name
        )
        found = f"(SELECT max({name}_cell) FROM {listed} WHERE {name}_key = {key})"
        if cells and isinstance(cells[0], str):
            return f'({found} COLLATE "binary")'
        return found

    def _listed(self, cells: Sequence[str | int | float]) -> ListText:
        if not cells:
            return ListText("[NULL]")
        if isinstance(cells[0], str):
            return ListText(_bracketed([_quoted(str(cell)) for cell in cells], 0))
        declared = "DOUBLE" if isinstance(cells[0], float) else "BIGINT"
        return _typed_list(list(map(repr, cells)), declared, 0)

    def whole(self, real: str) -> str:
        """A whole number in double precision as one of 64 bits; null where it does not fit."""
        return f"TRY_CAST({real} AS BIGINT)"

    def text_literal(self, text: str) -> str:
        """A text as a literal, which compares by its code points whatever the session's collation
        is.
        """
        return f'(({_quoted(text)}) COLLATE "binary")'

    def sent_text(self, text: str) -> str:
        """The text itself."""
        return text

    def short_text(self, text: str, most: int) -> str:
        """A text, null where it has more characters, which DuckDB counts in no time."""
        return f'(CASE WHEN length({text}) <= {most} THEN {text} END COLLATE "binary")'

    def like(self, text: str, pattern: Pattern) -> str:
        """Whether a text fits a pattern.

        DuckDB's LIKE tries each place for each part. Its regular expressions do not, but would take
        too many states for gaps.
        """
        if pattern.has_gaps:
            return like(text, self.text_literal(pattern.written()))
        written = regular(pattern, by_code_points, r"(?s)\A", r"\z")
        return f"regexp_matches({text}, '{written}')"

    def text_of_integer(self, expression: str, shift: int = 0) -> str:
        """The decimal digits of a whole number plus `shift`."""
        return f"CAST(CAST({expression} AS HUGEINT) + {shift} AS VARCHAR)"

    def joined_text(self, parts: Sequence[str]) -> str:
        """Texts with colons between them."""
        return "(" + " || ':' || ".join(parts) + ")"

    def md5(self, expression: str) -> str:
        """The md5 of a text's UTF-8 bytes, as lower-case digits."""
        return f"md5({expression})"

    def cells(self, column: str, declared: str, cell: str | None = None) -> Cells:
        """How a column of this declared type is read."""
        cell = cell or self.name(column)
        if machine := self._machine_number(declared, cell):
            return machine
        if declared == "DATE":
            # Compared as a number: some dates lie beyond DuckDB's own infinities.
            return Cells(DATE, f"date_diff('day', {EPOCH}, {between(cell, *DAYS)})")
        if declared.startswith("TIMESTAMP"):
            return self._timestamp(declared, cell)
        if found := self.DECIMAL.fullmatch(declared):
            return self._decimal(declared, cell, int(found[1]), int(found[2]))
        if declared == "VARCHAR" or declared.startswith("ENUM(") or declared == "UUID":
            return Cells(text_type(declared), f'(CAST({cell} AS VARCHAR) COLLATE "binary")')
        raise no_order(column, declared)

    def _decimal(self, declared: str, cell: str, digits: int, scale: int) -> Cells:
        """A file or an array may hold more digits than it declares, and nobody checks that: such a
        cell counts as the last number of its type.
        """
        check_digits(declared, digits, scale)

        def literal(number: Raw) -> str:
            return f"CAST({decimal_text(number, digits, scale)} AS {declared})"

        most = 10**digits - 1
        own = between(cell, literal(-most), literal(most))
        # With 38 digits to compute with, no product of two numbers of 18 digits overflows.
        raw = (
            f"CAST(CAST({own} AS DECIMAL(38,{scale})) * CAST({10**scale} AS DECIMAL(38,0)) "
            "AS BIGINT)"
        )
        return Cells(decimal_type(digits, scale), raw, literal, own=f"({own})")

    def _machine_number(self, declared: str, cell: str) -> Cells | None:
        if declared == "BOOLEAN":
            return Cells(BOOLEAN, f"CAST({cell} AS BIGINT)")
        if declared in self.FLOATS:
            return Cells(float_type(self.FLOATS[declared]), f"CAST({cell} AS DOUBLE)")
        signed = declared.removeprefix("U")
        if signed not in self.BITS:
            return None
        raw = cell if declared == "UBIGINT" else f"CAST({cell} AS BIGINT)"
        return Cells(integer_type(self.BITS[signed], signed=signed == declared), raw)

    def _timestamp(self, declared: str, cell: str) -> Cells:
        """Microseconds (nanoseconds where declared so). An infinity lies beyond all others."""
        unit, reader = 10**6, "epoch_us"
        if declared in NANOSECONDS:
            unit, reader = 10**9, "epoch_ns"
        zoned = declared in ZONED
        zone = "+00" if zoned else ""
        middle = f"{declared} '2000-01-01 00:00:00{zone}'"
        beyond = (
            f"CASE WHEN {cell} > {middle} THEN {FURTHEST} WHEN {cell} < {middle} THEN {-FURTHEST} "
            "END"
        )
        moments = None
        if declared in MICROSECONDS:
            moments = Microseconds(cell, declared, zone)
        return Cells(
            timestamp_type(declared, unit, zoned=zoned),
            f"coalesce(TRY({reader}({cell})), {beyond})",
            moments=moments,
        )


def _short_bucket(cells: BucketedCells, step: int, dialect: DuckDialect) -> str:
    """The number of a cell's bucket less one, of fewer than 2^16."""
    first = cells.literal(cells.cuts[0])
    away = f"({cells.cell} - {first})"
    quotient = dialect.divided(away, step)
    if step.bit_count() == 1:
        # Quicker. Statistics of the table do not tell the range of a shift, but the type does.
        quotient = f"({away} >> {step.bit_length() - 1})"
    return filled(
        SHORT_BUCKET,
        cell=cells.cell,
        first=first,
        last=cells.literal(cells.cuts[-1]),
        above=len(cells.cuts) - 1,
        quotient=quotient,
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''").replace("\0", "' || chr(0) || '") + "'"


def _typed_list(numbers: Sequence[str], declared: str, length: int) -> ListText:
    lists = "[][]" if length else "[]"
    return ListText(f"'{_bracketed(numbers, length)}'", f"{declared}{lists}")


def _bracketed(cells: Sequence[str], length: int) -> str:
    if not length:
        return f"[{', '.join(cells)}]"
    starts = range(0, len(cells), length)
    return _bracketed([_bracketed(cells[start : start + length], 0) for start in starts], 0)
