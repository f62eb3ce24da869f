"""How PostgreSQL writes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

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
from postri.engines.postgres.catalogue import UNCHECKED_ENCODING, UNCHECKED_TEXT
from postri.engines.reading import Raw
from postri.engines.sql.dialect import (
    DAYS,
    EPOCH,
    FURTHEST,
    MOST_DIGITS,
    UNIT,
    BucketedCells,
    Cells,
    between,
    bucket_counts_by,
    check_digits,
    date_literal,
    decimal_text,
    like,
    power,
    regular,
    short_text,
)
from postri.errors import InputError
from postri.expressions.pattern import Pattern

# A sign of ASCII, which may mean something in a regular expression.
SIGN = re.compile(r"[!-/:-@\[-^`{-~]")
DAY = 86_400 * 10**6
# The calendar's first and last moment, in microseconds since 1970, and how they are written.
FIRST = -62_135_596_800 * 10**6
LAST = 253_402_300_800 * 10**6 - 1
# To PostgreSQL NaN is larger than all other numbers.
BELOW_NAN = "{} < 'NaN'"
MOMENTS = ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")


class PostgresDialect:
    """PostgreSQL."""

    BITS = {"smallint": 16, "integer": 32, "bigint": 64}  # noqa: RUF012
    FLOATS = {"real": 32, "double precision": 64}  # noqa: RUF012
    NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
    TEXT = re.compile(r"text|uuid|(?:character varying|character|bpchar)(?:\(\d+\))?")
    TIMESTAMP = re.compile(r"timestamp(?:\(\d\))? (with|without) time zone")

    def name(self, identifier: str) -> str:
        """A name, quoted."""
        return '"' + identifier.replace('"', '""') + '"'

    def double(self, number: float) -> str:
        """A number as a literal of double precision."""
        return f"'{number!r}'::double precision"

    def divided(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient; a literal beyond 64 bits makes a dividend numeric, whose
        quotient would have digits.
        """
        return f"(CAST({dividend} AS bigint) / {divisor})"

    def floored(self, expression: str) -> str:
        """The largest whole number that is not above, in double precision."""
        return f"floor({expression})"

    def integer(self, expression: str, *, unsigned: bool) -> str:
        """An expression as a whole number of 64 bits.

        There is no unsigned one: what is beyond a signed one wraps around.

        That keeps the order: no cell lies beyond, so all of them are clamped there, or none is.
        """
        if unsigned:
            expression = (
                f"CASE WHEN {expression} > {FURTHEST} THEN {expression} - {2**64} ELSE "
                f"{expression} END"
            )
        return f"CAST({expression} AS bigint)"

    def is_number(self, expression: str) -> str:
        """Neither null nor NaN, which equals itself here."""
        return f"({expression} <> 'NaN'::double precision)"

    def count_of(self, condition: str) -> str:
        """The number of rows on which a condition holds."""
        return f"count(*) FILTER (WHERE {condition})"

    def listed_rows(self, columns: Mapping[str, Sequence[str]], name: str) -> str:
        """A relation whose cells are the literals of each column."""
        lists = ", ".join(f"ARRAY[{', '.join(cells)}]" for cells in columns.values())
        return f"unnest({lists}) AS {name}({', '.join(columns)})"

    def numbered_places(self, firsts: Sequence[int], length: int) -> str | None:
        """Rows are found by divisions."""
        return None

    def buckets_raw(self, declared: ColumnType) -> bool:
        """Decimals are: their widths differ, so that `width_bucket` walks along all of them to come
        to one.
        """
        return declared.name.startswith("decimal")

    def bucket_counts(self, cells: BucketedCells) -> str:
        """How many cells each group has in each bucket, which PostgreSQL finds by halves."""
        bucket = "0"
        if cells.cuts:
            bucket = f"width_bucket({cells.cell}, ARRAY[{', '.join(cells.firsts)}])"
        return bucket_counts_by(bucket, cells)

    def order_statistics(
        self, cell: str, shares: Sequence[float]
    ) -> tuple[dict[str, str], list[str]]:
        """Aggregates by name; in their terms, for each share the cell below which about that share
        of them lies.
        """
        listed = ", ".join(map(repr, shares))
        aggregate = f"percentile_disc(ARRAY[{listed}]::float8[]) WITHIN GROUP (ORDER BY {cell})"
        return {"found": aggregate}, [f"found[{i + 1}]" for i in range(len(shares))]

    def list_between(self, cell: str, low: str, last: str) -> str:
        """The cells from one to another, gathered."""
        return f"array_agg({cell}) FILTER (WHERE {cell} >= {low} AND {cell} <= {last})"

    def unnested(self, expression: str) -> str:
        """A row for each value of such a list."""
        return f"unnest({expression})"

    def as_double(self, whole: str) -> str:
        """The nearest number of double precision to a whole number of 64 bits."""
        return f"CAST({whole} AS double precision)"

    def total(self, whole: str) -> tuple[str, str]:
        """The sum of whole numbers, in units of 2^48, and the rest.

        PostgreSQL adds without a limit.
        """
        return (
            f"CAST(div(sum({whole}), {UNIT}) AS bigint)",
            f"CAST(mod(sum({whole}), {UNIT}) AS bigint)",
        )

    def wide(self, whole: str) -> str:
        """A whole number with room for any product."""
        return f"CAST({whole} AS numeric)"

    def narrow(self, wide: str) -> str:
        """A wide whole number as one of 64 bits; null where it does not fit."""
        return self.let(
            wide,
            lambda value: (
                f"CASE WHEN {value} BETWEEN {-FURTHEST - 1} AND {FURTHEST} THEN CAST({value} "
                "AS bigint) END"
            ),
        )

    def quotient(self, whole: str, divisor: int) -> str:
        """A whole number that is not negative, divided and rounded down."""
        return f"({whole} / {divisor})"

    def of_day(self, function: str, days: str) -> str:
        """A function of a day; `week` is the one of ISO 8601.

        A date that is truncated as it is would become a moment in the session's time zone.
        """
        day = f"(DATE '1970-01-01' + CAST({days} AS integer))"
        if function.startswith("first of "):
            unit = function.removeprefix("first of ")
            first = f"CAST(date_trunc('{unit}', CAST({day} AS timestamp)) AS date)"
            return f"({first} - DATE '1970-01-01')"
        return f"extract({function} FROM {day})"

    def let(self, value: str, body: Callable[[str], str]) -> str:
        """An expression of a name that stands for a value, which is computed once.

        OFFSET keeps the planner from putting it in place.
        """
        return f"(SELECT {body('v')} FROM (SELECT {value} AS v OFFSET 0) AS let)"

    def let_all(self, values: Sequence[str], body: Callable[[Sequence[str]], str]) -> str:
        """An expression of names that stand for values, each of which is computed once."""
        columns = ", ".join(f"{value} AS v{i}" for i, value in enumerate(values))
        names = [f"v{i}" for i in range(len(values))]
        return f"(SELECT {body(names)} FROM (SELECT {columns} OFFSET 0) AS let)"

    def wide_quotient(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient of wide whole numbers that are not negative."""
        return f"div({dividend}, {self.wide(str(divisor))})"

    def lookup(
        self, key: str, keys: Sequence[str | int], cells: Sequence[str | int | float]
    ) -> str:
        """The cell that stands beside a key: members of a JSON object are found by halves."""
        members = {str(key): str(cell) for key, cell in zip(keys, cells, strict=True)}
        text = json.dumps(members, ensure_ascii=False)
        found = f"({_escaped_literal(text)}::jsonb ->> CAST({key} AS text))"
        if not cells or isinstance(cells[0], str):
            return f'({found} COLLATE "C")'
        declared = "double precision" if isinstance(cells[0], float) else "bigint"
        return f"CAST({found} AS {declared})"

    def whole(self, real: str) -> str:
        """A whole number in double precision as one of 64 bits; null where it does not fit."""
        low = self.double(float(-FURTHEST - 1))
        high = self.double(float(FURTHEST))
        return self.let(
            real,
            lambda value: (
                f"CASE WHEN {value} >= {low} AND {value} < {high} THEN CAST({value} AS bigint) END"
            ),
        )

    def text_literal(self, text: str) -> str:
        """A text as a literal, which compares by its code points.

        One with a NUL, which no cell holds, equals nothing.
        """
        literal = "NULL" if "\0" in text else _escaped_literal(text)
        return f'(CAST({literal} AS text) COLLATE "C")'

    def sent_text(self, text: str) -> str:
        """A text as bytes of UTF-8: the encoding of a connection may not have all its letters."""
        return f"convert_to({text}, 'UTF8')"

    def short_text(self, text: str, most: int) -> str:
        """A text, null where it has more characters."""
        return f'({short_text(text, "octet_length", "char_length", most)} COLLATE "C")'

    def like(self, text: str, pattern: Pattern) -> str:
        """Whether a text fits a pattern.

        PostgreSQL's LIKE tries each place for each part that is looked for. Its regular expressions
        do not, but would take too many states for gaps, and make their states anew for each row: so
        what stands before the first `%` is left to LIKE.
        """
        if pattern.has_gaps or not pattern.looked_for:
            return like(text, self.text_literal(pattern.written()))
        start, rest = pattern.split()
        literal = self.text_literal(regular(rest, _escaped, "^", "$"))
        if not start.length:
            return f"({text} ~ {literal})"
        begins = like(text, self.text_literal(f"{start.written()}%"))
        return f"({begins} AND substr({text}, {start.length + 1}) ~ {literal})"

    def text_of_integer(self, expression: str, shift: int = 0) -> str:
        """The decimal digits of a whole number plus `shift`."""
        return f"CAST(CAST({expression} AS numeric) + {shift} AS text)"

    def joined_text(self, parts: Sequence[str]) -> str:
        """Texts with colons between them."""
        return "(" + " || ':' || ".join(parts) + ")"

    def md5(self, expression: str) -> str:
        """The md5 of a text's bytes, as lower-case digits.

        They are not converted to UTF-8, which could fail: almost all servers use it.
        """
        return f"md5({expression})"

    def cells(self, column: str, declared: str, cell: str | None = None) -> Cells:
        """How a column of this declared type is read."""
        cell = cell or self.name(column)
        if machine := self._machine_number(declared, cell):
            return machine
        if declared == "date":
            return Cells(DATE, f"CAST({between(cell, *DAYS)} - {EPOCH} AS bigint)", date_literal)
        if found := self.TIMESTAMP.fullmatch(declared):
            return self._timestamp(declared, cell, zoned=found[1] == "with")
        if declared == "numeric":
            raise InputError(
                f"the column {column!r} is declared numeric without a number of digits; "
                f"cast it to a numeric of at most {MOST_DIGITS} digits, such as "
                "numeric(18,2), in a materialized view"
            )
        if found := self.NUMERIC.fullmatch(declared):
            return self._decimal(*check_digits(declared, int(found[1]), int(found[2])), cell)
        if self.TEXT.fullmatch(declared):
            return Cells(text_type(declared), f'(CAST({cell} AS text) COLLATE "C")')
        if declared == UNCHECKED_TEXT:
            raise InputError(
                f"the column {column!r} is text in a database whose encoding is "
                f"{UNCHECKED_ENCODING}, in which nobody checks that texts are texts; keep it in "
                "a database with another encoding, such as UTF8"
            )
        raise no_order(column, declared)

    def _machine_number(self, declared: str, cell: str) -> Cells | None:
        if declared == "boolean":
            return Cells(BOOLEAN, f"CAST(CAST({cell} AS integer) AS bigint)")
        if declared in self.FLOATS:
            return Cells(
                float_type(self.FLOATS[declared]),
                f"CAST({cell} AS double precision)",
                self.double,
                BELOW_NAN,
            )
        if declared not in self.BITS:
            return None
        return Cells(
            integer_type(self.BITS[declared]), f"CAST({cell} AS bigint)", self._integer_literal
        )

    def _decimal(self, digits: int, scale: int, cell: str) -> Cells:
        """NaN lies above all numbers, and is dropped.

        The limits keep a cell that is not what its type declares from failing.
        """
        most = 10**digits - 1
        limit = power(most, -scale)
        factor = power(1, scale)
        beyond = f"CASE WHEN {cell} = 'NaN'::numeric THEN NULL ELSE {most} END"
        whole = f"CAST({cell} * {factor} AS bigint)"
        raw = (
            f"CASE WHEN {cell} > {limit} THEN {beyond} WHEN {cell} < -{limit} THEN -{most} ELSE "
            f"{whole} END"
        )
        return Cells(
            decimal_type(digits, scale),
            raw,
            lambda number: decimal_text(number, digits, scale),
            BELOW_NAN,
        )

    def _timestamp(self, declared: str, cell: str, *, zoned: bool) -> Cells:
        """Microseconds. Infinities, and what lies outside the calendar, are clamped to it.

        The day is a whole number. The time of day is one of at most 37 bits by a million in double
        precision: multiplied by a million it is within 2^-15 of that whole number, to which the
        cast rounds.
        """
        first, last = (_moment_literal(each, zoned=zoned) for each in MOMENTS)
        moment = f"({cell} AT TIME ZONE 'UTC')" if zoned else cell
        days = f"CAST(CAST({moment} AS date) - {EPOCH} AS bigint) * {DAY}"
        time = f"CAST(date_part('epoch', CAST({moment} AS time)) * 1000000 AS bigint)"
        raw = (
            f"CASE WHEN {cell} > {last} THEN {LAST} WHEN {cell} < {first} THEN {FIRST} ELSE "
            f"{days} + {time} END"
        )
        return Cells(
            timestamp_type(declared, 10**6, zoned=zoned),
            raw,
            lambda number: self._moment(number, zoned=zoned),
        )

    def _integer_literal(self, number: Raw) -> str:
        return self.integer(str(int(min(max(number, -FURTHEST - 1), FURTHEST))), unsigned=False)

    def _moment(self, number: Raw, *, zoned: bool) -> str:
        """A moment of the calendar; what lies outside it is as good as infinite, as cells are that
        do.
        """
        if not FIRST <= number <= LAST:
            declared = "TIMESTAMPTZ" if zoned else "TIMESTAMP"
            sign = "" if number > 0 else "-"
            return f"{declared} '{sign}infinity'"
        moment = datetime(1970, 1, 1) + timedelta(microseconds=int(number))
        return _moment_literal(moment.isoformat(sep=" "), zoned=zoned)


def _escaped_literal(text: str) -> str:
    doubled = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{doubled}'"


def _escaped(text: str) -> str:
    """A text that stands for itself in a regular expression: letters and digits do."""
    return SIGN.sub(r"\\\g<0>", text)


def _moment_literal(text: str, *, zoned: bool) -> str:
    return f"TIMESTAMPTZ '{text}+00'" if zoned else f"TIMESTAMP '{text}'"
