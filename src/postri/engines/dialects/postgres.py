"""How PostgreSQL writes."""

from __future__ import annotations

import re

from postri.columns import BOOLEAN, DATE, decimal_type, float_type, integer_type, timestamp_type
from postri.engines.dialects.common import DAYS, EPOCH, FURTHEST, MOST_DIGITS, between, check_digits, no_order
from postri.engines.scans import Cells
from postri.errors import InputError

DAY = 86_400 * 10**6
# The calendar's first and last moment, in microseconds since 1970, and how they are written.
FIRST, LAST = -62_135_596_800 * 10**6, 253_402_300_800 * 10**6 - 1
MOMENTS = ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")


class PostgresDialect:
    """PostgreSQL."""

    BITS = {"smallint": 16, "integer": 32, "bigint": 64}  # noqa: RUF012
    FLOATS = {"real": 32, "double precision": 64}  # noqa: RUF012
    NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
    TIMESTAMP = re.compile(r"timestamp(?:\(\d\))? (with|without) time zone")

    def name(self, identifier: str) -> str:
        """A name, quoted."""
        return '"' + identifier.replace('"', '""') + '"'

    def double(self, number: float) -> str:
        """A number as a literal of double precision."""
        return f"'{number!r}'::double precision"

    def divided(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient; a literal beyond 64 bits makes a dividend numeric, whose quotient would have digits."""
        return f"(CAST({dividend} AS bigint) / {divisor})"

    def floored(self, expression: str) -> str:
        """The largest whole number that is not above, in double precision."""
        return f"floor({expression})"

    def integer(self, expression: str, *, unsigned: bool) -> str:
        """An expression as a whole number of 64 bits. There is no unsigned one: what is beyond a signed one wraps around.

        That keeps the order: no cell lies beyond, so all of them are clamped there, or none is.
        """
        if unsigned:
            expression = f"CASE WHEN {expression} > {FURTHEST} THEN {expression} - {2**64} ELSE {expression} END"
        return f"CAST({expression} AS bigint)"

    def is_number(self, expression: str) -> str:
        """Neither null nor NaN, which equals itself here."""
        return f"({expression} <> 'NaN'::double precision)"

    def count_of(self, condition: str) -> str:
        """The number of rows on which a condition holds."""
        return f"count(*) FILTER (WHERE {condition})"

    def cells(self, column: str, declared: str) -> Cells:
        """How a column of this declared type is read."""
        cell = self.name(column)
        if declared in self.BITS:
            return Cells(integer_type(self.BITS[declared]), f"CAST({cell} AS bigint)")
        if declared in self.FLOATS:
            return Cells(float_type(self.FLOATS[declared]), f"CAST({cell} AS double precision)")
        if declared == "boolean":
            return Cells(BOOLEAN, f"CAST(CAST({cell} AS integer) AS bigint)")
        if declared == "date":
            return Cells(DATE, f"CAST({between(cell, *DAYS)} - {EPOCH} AS bigint)")
        if found := self.TIMESTAMP.fullmatch(declared):
            return self._timestamp(declared, cell, zoned=found[1] == "with")
        if declared == "numeric":
            raise InputError(
                f"the column {column!r} is declared numeric without a number of digits; "
                f"cast it to a numeric of at most {MOST_DIGITS} digits, such as numeric(18,2), in a view"
            )
        if found := self.NUMERIC.fullmatch(declared):
            return self._decimal(*check_digits(declared, int(found[1]), int(found[2])), cell)
        raise no_order(column, declared)

    def _decimal(self, digits: int, scale: int, cell: str) -> Cells:
        """NaN lies above all numbers, and is dropped. The limits keep a cell that is not what its type declares from failing."""
        most = 10**digits - 1
        limit, factor = _power(most, -scale), _power(1, scale)
        beyond = f"CASE WHEN {cell} = 'NaN'::numeric THEN NULL ELSE {most} END"
        whole = f"CAST({cell} * {factor} AS bigint)"
        return Cells(
            decimal_type(digits, scale), f"CASE WHEN {cell} > {limit} THEN {beyond} WHEN {cell} < -{limit} THEN -{most} ELSE {whole} END"
        )

    def _timestamp(self, declared: str, cell: str, *, zoned: bool) -> Cells:
        """Microseconds. Infinities, and what lies outside the calendar, are clamped to it.

        The day is a whole number. The time of day is one of at most 37 bits by a million in double precision: multiplied by a million
        it is within 2^-15 of that whole number, to which the cast rounds.
        """
        first, last = (f"TIMESTAMPTZ '{each}+00'" if zoned else f"TIMESTAMP '{each}'" for each in MOMENTS)
        moment = f"({cell} AT TIME ZONE 'UTC')" if zoned else cell
        days = f"CAST(CAST({moment} AS date) - {EPOCH} AS bigint) * {DAY}"
        time = f"CAST(date_part('epoch', CAST({moment} AS time)) * 1000000 AS bigint)"
        return Cells(
            timestamp_type(declared, 10**6, zoned=zoned),
            f"CASE WHEN {cell} > {last} THEN {LAST} WHEN {cell} < {first} THEN {FIRST} ELSE {days} + {time} END",
        )


def _power(number: int, exponent: int) -> str:
    """A whole number times a power of ten, as an exact literal."""
    if exponent >= 0:
        return str(number * 10**exponent)
    digits = str(number).rjust(1 - exponent, "0")
    return f"{digits[:exponent]}.{digits[exponent:]}"
