"""How Spark writes.

Its queries are format strings, in which `{source}` stands for the data frame: a brace in a name is
doubled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isinf

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
    FURTHEST,
    UNIT,
    BucketedCells,
    Cells,
    between,
    bucket_counts_by,
    by_code_points,
    check_digits,
    even_bucket,
    filled,
    short_text,
)
from postri.errors import InputError
from postri.expressions.pattern import Pattern, Segment

# Stands for the declared type of columns whose names Spark does not tell apart.
AMBIGUOUS = "ambiguous"
LOCAL_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
LOCAL_TIMES = ("TIMESTAMP_NTZ '0001-01-01 00:00:00'", "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'")


# Cells with the half of all buckets in which they lie, then with the half of that, and so on: 0
# for the lower one, 1 for the upper, as the digits of a number. Each step is a query of its own,
# which Spark compiles into a few instructions; a tree of conditions would be too large for that.
UNDIVIDED = """
    (
        SELECT grp, {cell}, 0 AS half
        FROM {relation}
    ) AS undivided
"""
HALVED = """
    (
        SELECT grp, {cell}, 2 * half + CASE WHEN {cell} >= {middles}[half] THEN 1 ELSE 0 END AS half
        FROM {relation}
    ) AS halved
"""


class SparkDialect:
    """Spark's SQL, with or without its ANSI mode."""

    BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}  # noqa: RUF012
    FLOATS = {"float": 32, "double": 64}  # noqa: RUF012
    DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
    TEXT = re.compile(r"(?:var)?char\(\d+\)")
    VARIABLE = re.compile(r"\$\{[^}$ ]+\}")

    def name(self, identifier: str) -> str:
        """A name, quoted."""
        if self.VARIABLE.search(identifier):
            raise InputError(
                f"the column {identifier!r} has a name in which Spark replaces a variable; "
                "rename it"
            )
        return "`" + identifier.replace("`", "``").replace("{", "{{").replace("}", "}}") + "`"

    def double(self, number: float) -> str:
        """A number as a literal of double precision."""
        return f"CAST('{number!r}' AS DOUBLE)" if isinf(number) else f"{float(number)!r}D"

    def divided(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient of whole numbers that are not negative."""
        return f"({dividend} DIV {divisor})"

    def floored(self, expression: str) -> str:
        """The largest whole number that is not above.

        Spark's own `floor` is one of 64 bits and fails beyond them; `rint` never fails.
        """
        return (
            f"(rint({expression}) - CASE WHEN rint({expression}) > {expression} THEN 1D ELSE 0D "
            "END)"
        )

    def integer(self, expression: str, *, unsigned: bool) -> str:
        """An expression as a whole number of 64 bits; Spark has no type without a sign."""
        return f"CAST({expression} AS {'DECIMAL(20,0)' if unsigned else 'BIGINT'})"

    def is_number(self, expression: str) -> str:
        """Neither null nor NaN, which to Spark is larger than all numbers."""
        return f"({expression} IS NOT NULL AND NOT isnan({expression}))"

    def count_of(self, condition: str) -> str:
        """The number of rows on which a condition holds."""
        return f"count_if({condition})"

    def listed_rows(self, columns: Mapping[str, Sequence[str]], name: str) -> str:
        """A relation whose cells are the literals of each column."""
        rows = ", ".join(f"({', '.join(cells)})" for cells in zip(*columns.values(), strict=True))
        return f"(VALUES {rows}) AS {name}({', '.join(columns)})"

    def numbered_places(self, firsts: Sequence[int], length: int) -> str | None:
        """Rows are found by divisions."""
        return None

    def buckets_raw(self, declared: ColumnType) -> bool:
        """All are, as in all that Spark counts."""
        return True

    def bucket_counts(self, cells: BucketedCells) -> str:
        """How many cells each group has in each bucket: by a division where all are alike, else by
        halves.
        """
        if not cells.cuts:
            return bucket_counts_by("0", cells)
        if cells.step is not None:
            return bucket_counts_by(even_bucket(cells, cells.step, self), cells)
        bucket = f"least(half, {len(cells.cuts)})"
        return bucket_counts_by(bucket, replace(cells, relation=_halved(cells)))

    def order_statistics(
        self, cell: str, shares: Sequence[float]
    ) -> tuple[dict[str, str], list[str]]:
        """Aggregates by name; in their terms, for each share the cell below which about that share
        of them lies.
        """
        ranks = [f"CAST(greatest(1, ceil({share!r}D * count(*))) AS INT)" for share in shares]
        cells = {
            f"cell{i}": f"element_at(array_sort(collect_list({cell})), {rank})"
            for i, rank in enumerate(ranks)
        }
        return cells, list(cells)

    def list_between(self, cell: str, low: str, last: str) -> str:
        """The cells from one to another, gathered."""
        return f"collect_list({cell}) FILTER (WHERE {cell} >= {low} AND {cell} <= {last})"

    def unnested(self, expression: str) -> str:
        """A row for each value of such a list."""
        return f"explode({expression})"

    def as_double(self, whole: str) -> str:
        """The nearest number of double precision to a whole number of 64 bits."""
        return f"CAST({whole} AS DOUBLE)"

    def total(self, whole: str) -> tuple[str, str]:
        """The sum of whole numbers, in units of 2^48, and the rest.

        Spark adds decimals of 30 digits, and would wrap others around.
        """
        added = f"sum(CAST({whole} AS DECIMAL(20,0)))"
        unit = f"CAST({UNIT} AS DECIMAL(20,0))"
        return f"CAST({added} DIV {unit} AS BIGINT)", f"CAST({added} % {unit} AS BIGINT)"

    def wide(self, whole: str) -> str:
        """A whole number of 64 bits with room for the product of two."""
        return f"CAST({whole} AS DECIMAL(38,0))"

    def narrow(self, wide: str) -> str:
        """A wide whole number as one of 64 bits; null where it does not fit."""
        return f"try_cast({wide} AS BIGINT)"

    def quotient(self, whole: str, divisor: int) -> str:
        """A whole number that is not negative, divided and rounded down."""
        return f"({whole} div {divisor})"

    def of_day(self, function: str, days: str) -> str:
        """A function of a day; `week` is the one of ISO 8601."""
        day = f"date_add(DATE'1970-01-01', CAST({days} AS INT))"
        if function.startswith("first of "):
            unit = function.removeprefix("first of ")
            return f"datediff(trunc({day}, '{unit}'), DATE'1970-01-01')"
        names = {"day": "dayofmonth", "doy": "dayofyear", "week": "weekofyear"}
        return f"{names.get(function, function)}({day})"

    def let(self, value: str, body: Callable[[str], str]) -> str:
        """An expression of a name that stands for a value, which is computed once."""
        return f"transform(array({value}), v -> {body('v')})[0]"

    def let_all(self, values: Sequence[str], body: Callable[[Sequence[str]], str]) -> str:
        """An expression of names that stand for values, each of which is computed once."""
        members = ", ".join(f"'v{i}', {value}" for i, value in enumerate(values))
        names = [f"v.v{i}" for i in range(len(values))]
        return f"transform(array(named_struct({members})), v -> {body(names)})[0]"

    def wide_quotient(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient of wide whole numbers that are not negative."""
        return f"({dividend} DIV {self.wide(str(divisor))})"

    def lookup(
        self, key: str, keys: Sequence[str | int], cells: Sequence[str | int | float]
    ) -> str:
        """The cell that stands beside a key, by halves: steps of half the length, of a quarter,
        and so on lead to the last key that is not above.
        """
        known = self._array(keys)
        steps = [1 << bit for bit in reversed(range(max(len(keys), 1).bit_length()))]

        def found(wanted: str) -> str:
            next_one = f"CASE WHEN get({known}, place + step) <= {wanted} THEN place + step"
            place = f"aggregate(array({', '.join(map(str, steps))}), 0, (place, step) -> {next_one}"
            return self.let(
                f"named_struct('at', {place} ELSE place END), 'key', {wanted})",
                lambda v: (
                    f"CASE WHEN get({known}, {v}.at) = {v}.key THEN get({self._array(cells)}, "
                    f"{v}.at) END"
                ),
            )

        return found(key)

    def _array(self, cells: Sequence[str | int | float]) -> str:
        if not cells:
            return "CAST(array() AS ARRAY<STRING>)"
        if isinstance(cells[0], str):
            listed = self.text_literal("\0".join(map(str, cells)))
            return f"split({listed}, {self.text_literal(chr(0))}, -1)"
        declared = "DOUBLE" if isinstance(cells[0], float) else "BIGINT"
        return f"CAST(split('{' '.join(map(repr, cells))}', ' ') AS ARRAY<{declared}>)"

    def whole(self, real: str) -> str:
        """A whole number in double precision as one of 64 bits; null where it does not fit.

        Spark takes 2^63 for the largest of them.
        """
        low = self.double(float(-FURTHEST - 1))
        high = self.double(float(FURTHEST))
        return self.let(
            real,
            lambda value: (
                f"CASE WHEN {value} >= {low} AND {value} < {high} THEN try_cast({value} AS BIGINT) "
                "END"
            ),
        )

    def text_literal(self, text: str) -> str:
        """A text as a literal, by its bytes: in quotes, Spark would look for escapes, variables and
        the names of data frames.
        """
        return f"CAST(X'{text.encode().hex()}' AS STRING)"

    def sent_text(self, text: str) -> str:
        """The text itself."""
        return text

    def short_text(self, text: str, most: int) -> str:
        """A text, null where it has more characters."""
        return f"({short_text(text, 'octet_length', 'char_length', most)})"

    def like(self, text: str, pattern: Pattern) -> str:
        """Whether a text fits a pattern.

        Spark's own LIKE can take for ever, and fails on a long text where there are many `_`. Its
        regular expressions compare character by character at each place: enough for the few that
        are looked for where there are gaps. Longer texts are located, by words of eight bytes.
        """
        if pattern.has_gaps or not pattern.looked_for:
            return f"({text} RLIKE {self.text_literal(_regular(pattern))})"
        # By a name, for the text may be a long expression, and is wanted several times.
        return f"element_at(transform(array({text}), cell -> {self._located(pattern)}), 1)"

    def _located(self, pattern: Pattern) -> str:
        """Whether the text `cell` fits a pattern without gaps."""
        first, *parts, last = pattern.segments
        conditions = []
        if first.length:
            begins = Pattern((first, Segment(())))
            conditions.append(f"cell RLIKE {self.text_literal(_regular(begins))}")
        if last.length:
            conditions.append(f"endswith(cell, {self._part(last)})")
        room = f"char_length(cell) - {last.length}"
        if parts:
            conditions.append(self._in_order(first, parts, room))
        else:
            conditions.append(f"{first.length} <= {room}")
        return f"({' AND '.join(conditions)})"

    def _in_order(self, first: Segment, parts: Sequence[Segment], room: str) -> str:
        """Whether parts are found in `cell`, each after the end of the one before, and the last of
        them within this number of characters.

        Each place is used by its name: written out it would stand in the next one twice. No place
        is 0, and from there on nothing is located.
        """
        before = [first, *parts]
        steps = [
            f"named_struct('text', {self._part(part)}, 'skipped', {previous.length})"
            for previous, part in zip(before, parts, strict=False)
        ]
        start = "CASE WHEN place > 0 THEN place + step.skipped ELSE 0 END"
        found = f"place > 0 AND place + {parts[-1].length - 1} <= {room}"
        return (
            f"aggregate(array({', '.join(steps)}), 1, "
            f"(place, step) -> locate(step.text, cell, {start}), place -> {found})"
        )

    def _part(self, segment: Segment) -> str:
        return self.text_literal("".join(map(str, segment.pieces)))

    def text_of_integer(self, expression: str, shift: int = 0) -> str:
        """The decimal digits of a whole number plus `shift`."""
        return (
            f"CAST(CAST({expression} AS DECIMAL(38,0)) + CAST({shift} AS DECIMAL(20,0)) AS STRING)"
        )

    def joined_text(self, parts: Sequence[str]) -> str:
        """Texts with colons between them."""
        return f"concat_ws(':', {', '.join(parts)})"

    def md5(self, expression: str) -> str:
        """The md5 of a text's UTF-8 bytes, as lower-case digits."""
        return f"md5(CAST({expression} AS BINARY))"

    def cells(self, column: str, declared: str, cell: str | None = None) -> Cells:
        """How a column of this declared type is read."""
        if declared == AMBIGUOUS:
            raise InputError(
                f"the data frame has more than one column that Spark takes for {column!r}; "
                "rename them"
            )
        cell = cell or self.name(column)
        if machine := self._machine_number(declared, cell):
            return machine
        if declared == "date":
            # This one and `unix_micros` hand over the number that Spark stores: they fail on none,
            # however far off.
            return Cells(DATE, f"CAST(unix_date({cell}) AS BIGINT)")
        if declared in ("timestamp", "timestamp_ntz"):
            zoned = declared == "timestamp"
            raw = f"unix_micros({cell})" if zoned else _local_micros(cell)
            return Cells(timestamp_type(declared, 10**6, zoned=zoned), raw)
        if found := self.DECIMAL.fullmatch(declared):
            digits, scale = check_digits(declared, int(found[1]), int(found[2]))
            # The product has at most 38 digits, which no cell exceeds.
            return Cells(
                decimal_type(digits, scale),
                f"CAST({cell} * CAST({10**scale} AS DECIMAL({scale + 1},0)) AS BIGINT)",
            )
        if declared == "string" or self.TEXT.fullmatch(declared):
            return Cells(text_type(declared), f"CAST({cell} AS STRING)")
        raise no_order(column, declared)

    def _machine_number(self, declared: str, cell: str) -> Cells | None:
        if declared == "boolean":
            return Cells(BOOLEAN, f"CAST({cell} AS BIGINT)")
        if declared in self.FLOATS:
            return Cells(float_type(self.FLOATS[declared]), f"CAST({cell} AS DOUBLE)")
        if declared in self.BITS:
            return Cells(integer_type(self.BITS[declared]), f"CAST({cell} AS BIGINT)")
        return None


def _halved(cells: BucketedCells) -> str:
    """The cells, each with the number of cuts up to it; of those, the last one is there as often as
    halves need it.
    """
    depth = len(cells.cuts).bit_length()
    repeated = [cells.cuts[-1]] * (2**depth - 1 - len(cells.cuts))
    cuts = [*cells.cuts, *repeated]
    relation = filled(UNDIVIDED, cell=cells.cell, relation=cells.relation)
    for level in reversed(range(depth)):
        middles = _listed(cuts[2**level - 1 :: 2 ** (level + 1)], whole=cells.whole)
        relation = filled(HALVED, cell=cells.cell, middles=middles, relation=relation)
    return relation


def _listed(cuts: Sequence[Raw], *, whole: bool) -> str:
    """Numbers as an array, by a text that is read once: Spark takes long to read literals."""
    declared = "DOUBLE"
    if whole:
        declared = "BIGINT"
        if cuts[-1] > FURTHEST:
            declared = "DECIMAL(20,0)"
    return f"CAST(split('{' '.join(map(repr, cuts))}', ' ') AS ARRAY<{declared}>)"


def _local_micros(cell: str) -> str:
    """Microseconds of a timestamp without a zone.

    A difference of two such ones, unlike a conversion, looks at no session's time zone.
    """
    since = f"({between(cell, *LOCAL_TIMES)} - {LOCAL_EPOCH})"
    return (
        f"CAST(CAST(CAST({since} AS INTERVAL SECOND) AS DECIMAL(20,6)) * CAST(1000000 AS "
        "DECIMAL(7,0)) AS BIGINT)"
    )


def _regular(pattern: Pattern) -> str:
    """A pattern as a regular expression of Java.

    The first place for a segment is the best one, so the groups never try another.
    """
    first, *others = [segment.regular(by_code_points) for segment in pattern.segments]
    if not others:
        return rf"(?s)\A{first}\z"
    return rf"(?s)\A{first}{''.join(f'(?>.*?{part})' for part in others[:-1])}.*{others[-1]}\z"
